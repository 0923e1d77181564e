"""The engine: what backward and grad return, what they free, what they raise, what hooks see.

Only public names are used, and ``torch`` in place of ``numbagrad`` passes the same tests, but for
the two that say so.
"""

from __future__ import annotations

import gc
import logging
import threading
import weakref
from collections import OrderedDict

import numpy as np
import pytest

import numbagrad as nb
from numbagrad.autograd.function import Function

FREED = "Trying to backward through the graph a second time"


def leaf(*values, dtype=None):
    return nb.tensor(values, dtype=dtype or nb.float32, requires_grad=True)


def values(tensor):
    return None if tensor is None else tensor.detach().numpy().tolist()


class Spy(Function):
    """Twice its input; counts how often its backward ran."""

    runs = 0

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        Spy.runs += 1
        return grad * 2


class Undefined(Function):
    """The identity, without a gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return None


class Failing(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 1

    @staticmethod
    def backward(ctx, grad):
        raise ValueError("no gradient today")


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
    unused = nb.autograd.grad(
        y, {"u": leaf(1.0), **inputs}, retain_graph=True, allow_unused=True
    )
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


# Hooks


def test_a_tensor_hook_replaces_the_gradient():
    x = leaf(1.0, 2.0)
    y = x * 2
    handle = y.register_hook(lambda grad: grad * 10)
    y.sum().backward(retain_graph=True)
    assert values(x.grad) == [20.0, 20.0]
    handle.remove()
    handle.remove()
    y.sum().backward()
    assert values(x.grad) == [22.0, 22.0]


def test_a_hook_sees_the_whole_gradient_once():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: seen.append(values(grad)))
    x.register_hook(lambda grad: seen.append(values(grad)))
    (y + y * 3 + x).sum().backward()
    assert seen == [[4.0], [9.0]]


def test_a_hook_outlives_its_tensor():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda grad: seen.append(values(grad)))
    z = y * 5
    del y
    z.sum().backward()
    assert seen == [[5.0]]


def test_hooks_run_for_grad_too():
    """As in torch, the gradient of ``y`` is that before its hook if ``x`` is asked for too."""
    x = leaf(1.0)
    x.register_hook(lambda grad: grad * 10)
    y = x * 2
    y.register_hook(lambda grad: grad + 1)
    gx, gy = nb.autograd.grad(y.sum(), [x, y], retain_graph=True)
    assert (values(gx), values(gy)) == ([40.0], [1.0])
    (gy,) = nb.autograd.grad(y.sum(), [y])
    assert values(gy) == [2.0]


def test_hooks_see_undefined_gradients():
    seen = []
    x = leaf(1.0)
    y = x * 2
    y.register_hook(seen.append)
    x.register_hook(seen.append)
    Undefined.apply(y).sum().backward()
    assert seen == [None, None]


def test_retain_grad():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.register_hook(lambda grad: grad * 3)
    (y * y).sum().backward(retain_graph=True)
    assert values(y.grad) == [12.0, 24.0]
    (y * y).sum().backward()
    assert values(y.grad) == [24.0, 48.0]


def test_post_accumulate_grad_hook():
    seen = []
    x = leaf(1.0)
    handle = x.register_post_accumulate_grad_hook(lambda tensor: seen.append(values(tensor.grad)))
    (x * 2).sum().backward()
    (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    assert seen == [[2.0], [4.0]]


def test_node_hooks():
    seen = []
    x = leaf(1.0)
    y = x * 3
    y.grad_fn.register_prehook(lambda grads: (grads[0] * 2,))
    y.grad_fn.register_hook(
        lambda inputs, outputs: seen.append((values(inputs[0]), values(outputs[0])))
    )
    y.sum().backward()
    assert seen == [([6.0], [2.0])]
    assert values(x.grad) == [6.0]


def test_hooks_of_the_accumulation():
    seen = []
    x = leaf(1.0)
    y = x * 3
    accumulate = y.grad_fn.next_functions[0][0]
    accumulate.register_hook(
        lambda inputs, outputs: seen.append((inputs, values(outputs[0]), values(x.grad)))
    )
    y.sum().backward()
    assert seen == [((), [3.0], [3.0])]


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (lambda grad: 3, TypeError, "expected Variable, but hook returned 'int'"),
        (lambda grad: grad[:1], RuntimeError, "has changed the size of value"),
        (
            lambda grad: grad.to(nb.float64),
            RuntimeError,
            r"has changed the type of value \(was torch.FloatTensor got torch.DoubleTensor\)",
        ),
    ],
)
def test_bad_results_of_tensor_hooks(hook, error, message):
    y = leaf(1.0, 2.0) * 2
    y.register_hook(hook)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("result", "error", "message"),
    [
        (3, TypeError, "expected tuple, but hook returned 'int'"),
        ((), RuntimeError, r"incorrect number of values \(got 0, but expected 1\)"),
    ],
)
def test_bad_results_of_node_hooks(result, error, message):
    y = leaf(1.0, 2.0) * 2
    y.grad_fn.register_prehook(lambda grads: result)
    with pytest.raises(error, match=message):
        y.sum().backward()


@pytest.mark.parametrize(
    ("register", "message"),
    [
        (
            lambda: nb.ones(3).register_hook(print),
            "cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            lambda: nb.ones(3).register_post_accumulate_grad_hook(print),
            "cannot register a hook on a tensor that doesn't require gradient",
        ),
        (
            lambda: (leaf(1.0) * 2).register_post_accumulate_grad_hook(print),
            "post accumulate grad hooks cannot be registered on non-leaf tensors",
        ),
        (
            lambda: nb.ones(3).retain_grad(),
            "can't retain_grad on Tensor that has requires_grad=False",
        ),
    ],
)
def test_refused_hooks(register, message):
    with pytest.raises(RuntimeError, match=message):
        register()


# Nodes


def test_what_a_node_shows():
    x = leaf(1.0)
    node = (x * x).grad_fn
    assert node.name() == "MulBackward0"
    assert repr(node).startswith("<MulBackward0 object at 0x")
    (first, number), second = node.next_functions
    assert number == 0
    assert first.variable is x
    assert first == second[0]
    assert first.name() == "torch::autograd::AccumulateGrad"
    node.metadata["note"] = 1
    assert node.metadata == {"note": 1}


def test_next_functions():
    x = leaf(1.0)
    y = x * nb.ones(1)
    node = (y + x).grad_fn
    assert node.next_functions[0] == (y.grad_fn, 0)
    assert y.grad_fn.next_functions[1] == (None, 0)


def test_sequence_numbers_grow():
    x = leaf(1.0)
    y = x * 2
    z = y * 2
    assert z.grad_fn._sequence_nr() > y.grad_fn._sequence_nr()


def test_sequence_numbers_of_users_decide_between_nodes_that_are_ready():
    def order(first, second):
        x, seen = leaf(1.0), []
        a = x * 2
        b = x * 3
        c = a * b
        for name, tensor in (("a", a), ("b", b), ("c", c)):
            tensor.register_hook(lambda grad, name=name: seen.append(name))
        a.grad_fn._set_sequence_nr(first)
        b.grad_fn._set_sequence_nr(second)
        c.grad_fn._set_sequence_nr(0)
        assert a.grad_fn._sequence_nr() == first
        for gradient in nb.autograd.grad(c, x, retain_graph=True):
            assert values(gradient) == [12.0]
        c.backward()
        assert values(x.grad) == [12.0]
        return seen

    assert order(10**9, 10) == 2 * ["c", "a", "b"]
    assert order(10, 10**9) == 2 * ["c", "b", "a"]
    assert order(-1, -1) == 2 * ["c", "b", "a"]  # the younger of equals
    with pytest.raises(TypeError):
        leaf(1.0).exp().grad_fn._set_sequence_nr("first")


def test_the_log_tells_what_runs(caplog):
    x = leaf(1.0, 2.0)
    total = (x * 2 / 3).sum()
    copy = total.clone()
    with caplog.at_level(logging.DEBUG, logger="numbagrad.autograd.graph"):
        nb.autograd.backward((total, copy))
    lines = [record.getMessage() for record in caplog.records]
    names = ["CloneBackward0", "SumBackward0", "DivBackward0", "MulBackward0", "AccumulateGrad"]
    for line, name in zip(lines, names, strict=True):
        assert line.startswith(f"Executing: <{name} object at 0x")
    assert lines[0].endswith(" with grad_outputs: [f32[]]")
    assert lines[-1].endswith(" with grad_outputs: [f32[2]]")
    caplog.clear()
    (x * 2).sum().backward()
    assert not caplog.records


def test_a_walk_knows_whether_it_keeps_the_graph():
    x, kept = leaf(1.0), []
    y = x * x
    y.register_hook(
        lambda grad: kept.append(nb._C._autograd._get_current_graph_task_keep_graph())
    )
    y.backward(retain_graph=True)
    y.backward()
    assert kept == [True, False]
    assert nb._C._autograd._get_current_graph_task_keep_graph()


# Inside each other, and at the same time


def test_backward_inside_a_hook():
    x, other = leaf(3.0), leaf(5.0)
    y = x * 2
    y.register_hook(lambda grad: (other * other).sum().backward() or None)
    with nb.enable_grad():
        y.sum().backward(create_graph=True)
    assert values(other.grad) == [10.0]
    assert values(x.grad) == [2.0]


def test_backward_inside_a_function():
    class Inner(Function):
        """exp, differentiated by a graph of its own."""

        @staticmethod
        def forward(ctx, x):
            with nb.enable_grad():
                ctx.x = x.detach().requires_grad_()
                ctx.y = (ctx.x * ctx.x).sum()
            return ctx.y.detach()

        @staticmethod
        def backward(ctx, grad):
            with nb.enable_grad():
                ctx.y.backward()
            return ctx.x.grad * grad

    x = leaf(1.0, 2.0)
    (Inner.apply(x * 3) * 2).backward()
    assert values(x.grad) == [2 * 2 * 3 * 3.0, 2 * 2 * 3 * 6.0]


def run_threads(count, work):
    errors = []

    def guarded(index):
        try:
            work(index)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(index,)) for index in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_eight_threads_with_graphs_of_their_own():
    def train(index):
        x = leaf(*[float(index + 1)] * 100)
        for _ in range(20):
            with nb.no_grad():
                y = x * 2
            assert not y.requires_grad
            (x * x * y).sum().backward()
            assert values(x.grad) == [4.0 * (index + 1) ** 2] * 100
            x.grad = None

    run_threads(8, train)


def test_eight_threads_add_to_one_leaf():
    x = leaf(*[1.0] * 64)

    def add(index):
        for _ in range(50):
            (x * 2).sum().backward()

    run_threads(8, add)
    assert values(x.grad) == [800.0] * 64


# Grad modes


def test_no_grad_and_enable_grad():
    x = leaf(1.0)
    with nb.no_grad():
        assert not nb.is_grad_enabled()
        assert not (x * 2).requires_grad
        with nb.enable_grad():
            assert (x * 2).requires_grad
        assert not nb.is_grad_enabled()
    assert nb.is_grad_enabled()


def test_grad_modes_end_with_an_error():
    with pytest.raises(ValueError, match="out"), nb.no_grad():
        raise ValueError("out")
    assert nb.is_grad_enabled()


def test_grad_modes_decorate():
    @nb.no_grad()
    def called():
        return nb.is_grad_enabled()

    @nb.no_grad
    def plain():
        return nb.is_grad_enabled()

    @nb.set_grad_enabled(False)
    def chosen():
        return nb.is_grad_enabled()

    @nb.inference_mode()
    def inference():
        return nb.is_grad_enabled()

    assert nb.is_grad_enabled()
    assert [called(), plain(), chosen(), inference()] == [False] * 4
    assert nb.is_grad_enabled()


def test_a_decorated_generator_leaves_its_consumer_alone():
    @nb.no_grad()
    def produce():
        received = yield nb.is_grad_enabled()
        yield nb.is_grad_enabled(), received

    generator = produce()
    assert next(generator) is False
    assert nb.is_grad_enabled()
    assert generator.send(5) == (False, 5)
    assert nb.is_grad_enabled()


def test_set_grad_enabled_as_a_call():
    nb.set_grad_enabled(False)
    try:
        assert not nb.is_grad_enabled()
    finally:
        nb.set_grad_enabled(True)
    with nb.set_grad_enabled(False):
        assert not nb.is_grad_enabled()
    assert nb.is_grad_enabled()


def test_a_new_thread_records():
    seen = []
    with nb.no_grad():
        run_threads(1, lambda index: seen.append(nb.is_grad_enabled()))
    assert seen == [True]
