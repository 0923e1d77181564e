"""The engine: what backward and grad return, what they free and what they raise.

Only public names are used, and ``torch`` in place of ``numbagrad`` passes the same tests, but for
those that say so.
"""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict

import numpy as np
import pytest
from engine_tools import FREED, Failing, Spy, Undefined, leaf, values

import numbagrad as nb
from numbagrad.autograd.function import Function

# Gradients and their sums


def test_product_and_sum():
    a, b = leaf(1.0, 2.0, 3.0), leaf(4.0, 5.0, 6.0)
    (a * b).sum().backward()
    assert values(a.grad) == [4.0, 5.0, 6.0]
    assert values(b.grad) == [1.0, 2.0, 3.0]


def test_one_tensor_used_several_times_gets_the_sum():
    x = leaf(1.0, 2.0)
    y = x * 3
    (y + y + y * x + x).sum().backward()
    assert values(x.grad) == [6 + 6 * 1.0 + 1, 6 + 6 * 2.0 + 1]


def test_gradient_of_an_intermediate_is_complete_before_its_node_runs():
    x = leaf(2.0)
    early = x * x
    late = early
    for _ in range(20):
        late = late + early
    late.sum().backward()
    assert values(x.grad) == [21 * 2 * 2.0]


def test_a_chain_of_nodes_waits_where_another_path_joins():
    x = leaf(2.0)
    shared = x * x
    chain = shared.exp().log().sqrt()
    (chain + shared.neg()).sum().backward()
    np.testing.assert_allclose(values(x.grad), [1 - 2 * 2.0], rtol=1e-6)


def test_hooks_and_several_outputs_within_a_chain():
    x = leaf(1.0, 2.0)
    middle = (x * 2).exp()
    middle.retain_grad()
    seen = []
    logarithm = middle.log()
    logarithm.register_hook(lambda grad: seen.append(values(grad)))
    first, second = logarithm.neg().unbind(0)
    (first.abs() + second.neg()).backward()
    assert seen == [[1.0, 1.0]]
    np.testing.assert_allclose(values(middle.grad), 1 / np.exp([2.0, 4.0]), rtol=1e-6)
    np.testing.assert_allclose(values(x.grad), [2.0, 2.0], rtol=1e-6)


def test_backward_adds_to_grad_in_place():
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    assert values(first) == [5.0, 5.0]


def test_several_roots():
    x = leaf(1.0, 2.0)
    nb.autograd.backward([(x * 2).sum(), x * x], [None, nb.tensor([1.0, 10.0])])
    assert values(x.grad) == [2 + 2.0, 2 + 40.0]


def test_a_root_used_inside_another_root():
    x = leaf(3.0)
    y = x * x
    z = y * y
    nb.autograd.backward([y, z])
    assert values(x.grad) == [2 * 3.0 + 4 * 27.0]


def test_a_leaf_as_root():
    x = leaf(3.0)
    x.backward()
    assert values(x.grad) == [1.0]


def test_gradient_of_a_root_takes_its_dtype():
    x = leaf(1.0, 2.0)
    (x * 2).backward(nb.tensor([1.0, 2.0], dtype=nb.float64))
    assert x.grad.dtype == nb.float32
    assert values(x.grad) == [2.0, 4.0]


def test_undefined_gradients_stay_undefined():
    x = leaf(1.0)
    Undefined.apply(x * 2).sum().backward()
    assert x.grad is None


def test_a_custom_function_gets_zeros_for_an_undefined_gradient():
    x = leaf(1.0)
    Undefined.apply(Spy.apply(x)).sum().backward()
    assert values(x.grad) == [0.0]


# Who owns a gradient


def test_grad_does_not_share_memory_with_the_gradient_of_the_user():
    x, given = leaf(1.0, 2.0), nb.tensor([1.0, 1.0])
    x.backward(given)
    given.mul_(100)
    assert values(x.grad) == [1.0, 1.0]


def test_two_leaves_do_not_share_a_gradient():
    a, b = leaf(1.0, 2.0), leaf(1.0, 2.0)
    (a + b).sum().backward()
    a.grad.mul_(100)
    assert values(b.grad) == [1.0, 1.0]


def test_a_gradient_that_a_hook_kept_is_not_written():
    kept = []
    x = leaf(1.0, 2.0)
    y = x * 1
    y.register_hook(lambda grad: kept.append(grad) or None)
    (y * 2).sum().backward()
    x.grad.mul_(100)
    (x * 1).sum().backward()
    assert values(kept[0]) == [2.0, 2.0]


def test_sums_do_not_write_into_a_gradient_that_a_node_still_uses():
    x = leaf(1.0, 2.0)
    kept = []

    class Keep(Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            kept.append(grad)
            return grad

    y = x * 1
    (Keep.apply(y) + y * 2 + y * 3).sum().backward()
    assert values(x.grad) == [6.0, 6.0]
    assert values(kept[0]) == [1.0, 1.0]


# Graphs: retained, freed, differentiated again


def test_a_freed_graph_raises():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(RuntimeError, match=FREED):
        loss.backward()


def test_a_graph_that_saves_nothing_may_run_again():
    x = leaf(1.0, 2.0)
    loss = (x + x).sum()
    loss.backward()
    loss.backward()
    assert values(x.grad) == [4.0, 4.0]


def test_retain_graph():
    x = leaf(1.0, 2.0)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    assert values(x.grad) == [4.0, 8.0]


def test_gradients_of_gradients():
    x = leaf(2.0)
    y = x * x * x * x
    expected = [4 * 8.0, 12 * 4.0, 24 * 2.0, 24.0]
    for value in expected:
        (y,) = nb.autograd.grad(y.sum(), x, create_graph=True)
        assert values(y) == [value]


def test_grad_of_create_graph_is_part_of_the_graph():
    x = leaf(2.0)
    (x * x * x).sum().backward(create_graph=True)
    first = x.grad
    assert first.requires_grad
    x.grad = None
    first.sum().backward()
    assert values(x.grad) == [12.0]


def test_create_graph_adds_to_grad_out_of_place():
    x = leaf(2.0)
    (x * x).sum().backward()
    first = x.grad
    (x * x).sum().backward(create_graph=True)
    assert values(first) == [4.0]
    assert values(x.grad) == [8.0]
    x.grad = None


def test_backward_does_not_record():
    x = leaf(2.0)
    (x * x).sum().backward()
    assert not x.grad.requires_grad
    assert x.grad.grad_fn is None


def test_chains_of_any_length():
    x = leaf(1.0)
    y = x
    for _ in range(100_000):
        y = y + x
    y.sum().backward()
    assert values(x.grad) == [100_001.0]
    del y


def test_a_graph_dies_with_its_last_tensor():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x * x).exp()
        watched = weakref.ref(y)
        y.sum().backward()
        del y
        assert watched() is None
    finally:
        gc.enable()


def test_training_leaves_nothing_to_the_collector():
    x = leaf(1.0, 2.0)

    def step():
        loss = (Spy.apply(x).exp() * x).sum()
        loss.backward()
        nb.autograd.grad((x * x).sum(), x, create_graph=True)[0].sum().backward()

    step()
    gc.collect()
    gc.disable()
    try:
        for _ in range(5):
            step()
        assert gc.collect() == 0
    finally:
        gc.enable()


# autograd.grad and backward(inputs=...)


def test_grad_leaves_grad_alone():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    gx, gy = nb.autograd.grad((x * y).sum(), (x, y))
    assert (values(gx), values(gy)) == ([3.0, 4.0], [1.0, 2.0])
    assert x.grad is None
    assert y.grad is None


def test_grad_of_an_intermediate_and_of_the_root_itself():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    gz, gy, gx = nb.autograd.grad(z, [z, y, x])
    assert (values(gz), values(gy), values(gx)) == (1.0, [4.0, 8.0], [8.0, 16.0])


def test_grad_of_one_input_given_twice():
    x = leaf(1.0)
    assert [values(g) for g in nb.autograd.grad(x.sum() * 3, [x, x])] == [[3.0], [3.0]]


def test_grad_runs_only_what_leads_to_an_input():
    x, y = leaf(1.0), leaf(1.0)
    loss = (Spy.apply(x) * y).sum()
    Spy.runs = 0
    nb.autograd.grad(loss, y, retain_graph=True)
    assert Spy.runs == 0
    nb.autograd.grad(loss, x)
    assert Spy.runs == 1


def test_grad_stops_at_an_intermediate():
    x = leaf(1.0)
    y = Spy.apply(x)
    Spy.runs = 0
    nb.autograd.grad((y * y).sum(), y)
    assert Spy.runs == 0


def test_unused_inputs():
    x, other = leaf(1.0), leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears to not"):
        nb.autograd.grad(x.sum(), [x, other])
    assert nb.autograd.grad(x.sum(), [x, other], allow_unused=True)[1] is None
    zeros = nb.autograd.grad(x.sum(), [x, other], materialize_grads=True)[1]
    assert values(zeros) == [0.0, 0.0]
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        nb.autograd.grad(x.sum(), x, allow_unused=False, materialize_grads=True)


def test_zeros_for_unused_inputs_can_be_differentiated_like_the_other_gradients():
    x, other = leaf(1.0), leaf(2.0)
    for recorded in (False, True):
        found = nb.autograd.grad(
            (x * x).sum(), [x, other], create_graph=recorded, materialize_grads=True
        )
        assert [gradient.requires_grad for gradient in found] == [recorded, recorded]
    (second,) = nb.autograd.grad(found[1].sum(), other, materialize_grads=True)
    assert values(second) == [0.0]


def test_a_leaf_that_requires_grad_no_more_gets_none():
    x, other = leaf(1.0), leaf(2.0)
    y = (x * other).sum()
    x.requires_grad_(False)
    y.backward(retain_graph=True)
    assert (x.grad, values(other.grad)) == (None, [1.0])
    x.requires_grad_()
    y.backward(retain_graph=True)
    assert values(x.grad) == [2.0]
    x.detach_()
    y.backward()
    assert values(x.grad) == [2.0]
    (x * leaf(3.0)).sum().backward()
    assert values(x.grad) == [2.0]


def test_a_dict_of_inputs_gives_a_dict_of_gradients():
    inputs = {"x": leaf(1.0), 2: leaf(3.0)}
    y = (inputs["x"] * inputs[2]).sum()
    found = nb.autograd.grad(y, inputs, retain_graph=True)
    assert {key: values(one) for key, one in found.items()} == {"x": [3.0], 2: [1.0]}
    batched = nb.autograd.grad(
        y, inputs, nb.tensor([1.0, 2.0]), retain_graph=True, is_grads_batched=True
    )
    assert {key: values(one) for key, one in batched.items()} == {
        "x": [[3.0], [6.0]], 2: [[1.0], [2.0]],
    }  # fmt: skip
    unused = nb.autograd.grad(y, {"u": leaf(1.0), **inputs}, retain_graph=True, allow_unused=True)
    assert unused["u"] is None
    y.backward(inputs=inputs, retain_graph=True)
    assert [values(one.grad) for one in inputs.values()] == [[3.0], [1.0]]
    with pytest.raises(TypeError, match=r"`grad\(\)` must be a dict, not OrderedDict"):
        nb.autograd.grad(y, OrderedDict(inputs))
    with pytest.raises(TypeError, match=r"`backward\(\)` must be a dict, not OrderedDict"):
        y.backward(inputs=OrderedDict(inputs))
    with pytest.raises(RuntimeError, match="cannot be empty"):
        y.backward(inputs={})


def test_backward_to_chosen_inputs():
    x, other = leaf(1.0), leaf(2.0)
    y = x * 3
    (y * other).sum().backward(inputs=[y, other])
    assert values(y.grad) == [2.0]
    assert values(other.grad) == [3.0]
    assert x.grad is None


# What is refused


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda x: nb.ones(3).sum().backward(),
            "element 0 of tensors does not require grad and does not have a grad_fn",
        ),
        (
            lambda x: (x * 2).backward(),
            "grad can be implicitly created only for scalar outputs",
        ),
        (
            lambda x: (x * 2).backward(nb.ones(2)),
            r"Mismatch in shape: grad_output\[0\] has a shape of torch.Size\(\[2\]\) and "
            r"output\[0\] has a shape of torch.Size\(\[3\]\).",
        ),
        (
            lambda x: x.sum().backward(inputs=[]),
            r"`inputs` argument to `backward\(\)` cannot be empty.",
        ),
        (
            lambda x: nb.autograd.grad(x.sum(), []),
            r"`inputs` argument to `grad\(\)` cannot be empty.",
        ),
        (
            lambda x: nb.autograd.grad(x.sum(), nb.ones(1)),
            "One of the differentiated Tensors does not require grad",
        ),
        (
            lambda x: nb.autograd.grad(x.sum(), [3]),
            "all inputs have to be Tensors or GradientEdges, but got int",
        ),
    ],
)
def test_refused_calls(call, message):
    with pytest.raises(RuntimeError, match=message):
        call(leaf(1.0, 2.0, 3.0))


def test_batched_gradients_are_those_of_a_call_each():
    x = leaf(1.0, 2.0)
    given = nb.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    (batched,) = nb.autograd.grad(x * x, x, given, is_grads_batched=True)
    assert batched.tolist() == [[2.0, 0.0], [0.0, 4.0], [4.0, 12.0]]
    with pytest.raises(RuntimeError, match="we interpret the first dimension of each grad_output"):
        nb.autograd.grad(x * x, x, nb.ones(2), is_grads_batched=True)


def test_a_saved_input_that_was_written_raises():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    z = (y * y).sum()
    y.add_(1)
    with pytest.raises(RuntimeError) as error:
        z.backward()
    assert str(error.value) == (
        "one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.FloatTensor [3]], which is output 0 of Add, is at version 1; expected "
        "version 0 instead. Hint: enable anomaly detection to find the operation that failed to "
        "compute its gradient, with torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )


def test_a_saved_output_that_was_written_raises():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"which is output 0 of \w+, is at version 1; expected"):
        y.sum().backward()


def test_a_saved_constant_that_was_written_raises():
    x, constant = leaf(1.0, 2.0), nb.ones(2)
    loss = (x * constant).sum()
    constant.add_(1)
    with pytest.raises(RuntimeError, match=r"\[torch.FloatTensor \[2\]\] is at version 1; expect"):
        loss.backward()


def test_a_tensor_written_before_it_was_saved_is_fine():
    x, constant = leaf(1.0, 2.0), nb.ones(2)
    constant.add_(1)
    (x * constant).sum().backward()
    assert values(x.grad) == [2.0, 2.0]


def test_an_error_in_a_node_leaves_no_trace():
    x = leaf(1.0)
    with pytest.raises(ValueError, match="no gradient today"):
        (Failing.apply(x) + x * 3).sum().backward()
    assert x.grad is None
    assert nb.is_grad_enabled()
    (x * 2).sum().backward()
    assert values(x.grad) == [2.0]


def test_anomaly_detection_finds_nan():
    x = leaf(0.0)
    with nb.autograd.detect_anomaly():
        with pytest.raises(RuntimeError, match="returned nan values in its 0th output"):
            (x.sqrt() * 0).sum().backward()
    (x.sqrt() * 0).sum().backward()
    assert np.isnan(values(x.grad)[0])
