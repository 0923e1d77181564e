"""Composite operators: definitions in Python that run as a fused forward and backward."""

import functools
import threading
import warnings

import numpy as np
import pytest
from compile_checks import needs_programs

import numbagrad as torch
from numbagrad import executor
from numbagrad.ops.operators.composite import (
    MANY_CALLS,
    MANY_FORMS,
    TRACED_AT_ONCE,
    Composite,
    composite,
)

F = torch.nn.functional


@composite("CubedNormBackward0")
def cubed_norm(input, weight, scale=1.0):
    """The cubes of rows over the mean of their squares, times a weight and a number."""
    if weight.ndim != 1:
        raise RuntimeError(f"cubed_norm: the weight has {weight.ndim} dimensions, not 1")
    mean = input.square().mean(-1, keepdim=True)
    return input * input * input / (mean + 1.0) * weight * scale


@pytest.fixture(autouse=True)
def _no_forms_are_known():
    cubed_norm.composite.forget()


def operator():
    """The pairs of ``cubed_norm``, none of them made."""
    cubed_norm.composite.forget()
    return cubed_norm.composite


def operands(*shape, dtype=torch.float32):
    torch.manual_seed(1)
    input = torch.randn(*shape, dtype=dtype, requires_grad=True)
    weight = torch.randn(shape[-1], dtype=dtype, requires_grad=True)
    return input, weight


def compiled_kernels():
    return executor.stats().compiled


def plain(*arguments):
    return cubed_norm.__wrapped__(*arguments)


def agree(a, b, rtol=1e-4):
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=rtol, atol=1e-5)


def gradients(function, input, weight, *rest):
    made = function(input, weight, *rest)
    grad = torch.cos(torch.arange(made.numel(), dtype=made.dtype)).reshape(made.shape)
    return made, *torch.autograd.grad(made, (input, weight), grad)


@pytest.mark.parametrize("shape", [(3, 5), (7,), (2, 3, 4), (130, 33), (1, 1), (700, 300)])
def test_it_computes_what_its_definition_does(shape):
    for a, b in zip(
        gradients(cubed_norm, *operands(*shape)), gradients(plain, *operands(*shape)), strict=True
    ):
        agree(a, b)


@needs_programs
def test_a_call_is_one_launch_and_leaves_one_node():
    input, weight = operands(4, 6)
    made = cubed_norm(input, weight)
    assert type(made.grad_fn).__name__ == made.grad_fn.name() == "CubedNormBackward0"
    targets = [node.variable for node, _ in made.grad_fn.next_functions]
    assert targets[0] is input and targets[1] is weight
    found = operator()
    cubed_norm(input, weight)
    (pair,) = found.pairs
    assert len(pair.forward.program.launches) == 1


@needs_programs
def test_nodes_of_the_library_are_named_as_those_of_torch():
    x, w = operands(4, 6)
    F.layer_norm.composite.forget()  # the many other forms that this process may have met
    assert F.layer_norm(x, (6,)).grad_fn.name() == "NativeLayerNormBackward0"
    assert F.layer_norm(x, (6,), w, w).grad_fn.name() == "NativeLayerNormBackward0"


@needs_programs
def test_a_signature_is_traced_once():
    found = operator()
    input, weight = operands(4, 6)
    for _ in range(3):
        cubed_norm(input, weight)
    assert len(found.pairs) == 1
    cubed_norm(input, weight, 2.0)
    cubed_norm(input, weight, 0.0)
    cubed_norm(input, weight, -0.0)
    assert len(found.pairs) == 4
    cubed_norm(input.detach(), weight)
    with torch.no_grad():
        cubed_norm(input, weight)
    assert len(found.pairs) == 6
    cubed_norm(weight=weight, input=input, scale=2.0)
    assert len(found.pairs) == 6


def test_another_size_compiles_nothing():
    def step(*shape):
        made, *_ = gradients(cubed_norm, *operands(*shape))
        return made

    step(40, 20)
    step(400, 200)
    before = compiled_kernels()
    for rows in (3, 17, 399):
        step(rows, 21)
    assert compiled_kernels() == before


@needs_programs
def test_old_forms_are_let_go_of():
    found = Composite(plain, None, traced_at_once=MANY_FORMS)
    with torch.no_grad():
        for size in range(1, MANY_FORMS + 4):
            for _ in range(2):
                found(torch.ones(size), torch.ones(size))
    assert len(found.pairs) == MANY_FORMS


@needs_programs
def test_where_forms_are_many_one_is_traced_when_it_came_often():
    """The more pairs there are, the more often: a trace takes as long as hundreds of calls."""
    found = operator()
    lengths = range(1, 95)
    expected = [float(plain(torch.ones(n), torch.ones(n)).sum()) for n in lengths]
    pairs = {}
    for times in range(1, MANY_CALLS + 2):
        with torch.no_grad():
            made = [float(cubed_norm(torch.ones(n), torch.ones(n)).sum()) for n in lengths]
        np.testing.assert_allclose(made, expected, rtol=1e-6)
        pairs[times] = len(found.pairs)
    at_once = TRACED_AT_ONCE
    assert [pairs[k] for k in (1, 2, 3, 4, 8)] == [
        at_once, at_once + 8, at_once + 8, at_once + 16, at_once + 24,
    ]  # fmt: skip
    assert pairs[MANY_CALLS - 1] == at_once + 40 and pairs[MANY_CALLS] == len(lengths)


def test_checkpoints_trace_forms_at_once():
    """What is computed again saves the same tensors in the same order."""
    for n in range(1, TRACED_AT_ONCE + 2):  # so that forms are many
        gradients(cubed_norm, *operands(n, 2))
    expected = gradients(plain, *operands(77, 3))
    again = functools.partial(torch.utils.checkpoint.checkpoint, cubed_norm, use_reentrant=False)
    for left, right in zip(gradients(again, *operands(77, 3)), expected, strict=True):
        agree(left, right)


def test_without_a_name_the_node_is_called_as_that_of_the_definition():
    @composite()
    def halved(input, reduction):
        return (input / 2).sum() if reduction else (input / 2).exp()

    input, _ = operands(3, 5)
    assert halved(input, True).grad_fn.name() == "SumBackward0"
    assert halved(input, False).grad_fn.name() == "ExpBackward0"


def test_without_gradients_nothing_is_kept():
    input, weight = operands(4, 6)
    with torch.no_grad():
        made = cubed_norm(input, weight)
    assert made.grad_fn is None and not made.requires_grad


@needs_programs
def test_only_gradients_that_are_needed_are_made():
    input, weight = operands(4, 6)
    made = cubed_norm(input.detach(), weight)
    assert made.grad_fn.next_functions[0] == (None, 0)
    made.sum().backward()
    assert weight.grad is not None and input.grad is None


def test_a_saved_tensor_that_was_written_raises():
    input, weight = operands(4, 6)
    made = cubed_norm(input, weight)
    with torch.no_grad():
        input.mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        made.sum().backward()


def test_backward_twice_needs_the_graph_retained():
    input, weight = operands(4, 6)
    made = cubed_norm(input, weight).sum()
    made.backward(retain_graph=True)
    first = input.grad.clone()
    made.backward()
    agree(input.grad, 2 * first)
    with pytest.raises(RuntimeError, match="a second time"):
        made.backward()


def test_derivatives_of_every_order():
    input, weight = operands(3, 4, dtype=torch.float64)

    def f(input, weight):
        return cubed_norm(torch.sin(input), weight * weight)

    assert torch.autograd.gradcheck(f, (input, weight))
    assert torch.autograd.gradgradcheck(f, (input, weight))
    total = f(input, weight).sum()
    expected = plain(torch.sin(input), weight * weight).sum()
    for _ in range(3):
        (total,) = torch.autograd.grad(total, input, create_graph=True)
        (expected,) = torch.autograd.grad(expected, input, create_graph=True)
        agree(total, expected, 1e-8)
        total, expected = total.sum(), expected.sum()


@needs_programs
def test_what_the_backward_reads_may_depend_on_an_input_that_it_does_not_read():
    @composite("WeightedSumsBackward0")
    def weighted(input, weight):
        return input.cumsum(-1) * weight

    input, weight = operands(3, 5, dtype=torch.float64)
    assert torch.autograd.gradgradcheck(weighted, (input, weight))
    made = weighted(input, weight)
    (pair,) = weighted.composite.pairs
    assert pair.saved == (1, 0) and pair.read == 1
    (expected,) = torch.autograd.grad(made.sum(), input, retain_graph=True)
    with torch.no_grad():
        input.zero_()
    agree(torch.autograd.grad(made.sum(), input, retain_graph=True)[0], expected, 1e-12)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(made.sum(), input, create_graph=True)


def test_memory_of_many_sizes_is_not_held():
    found = operator()
    for rows in range(2000, 2040):
        cubed_norm(*operands(rows, 300)).sum().backward()
    assert sum(pair.nbytes for pair in found.pairs) < 64 << 20


def test_inputs_that_depend_on_each_other():
    input, _ = operands(4, 4, dtype=torch.float64)

    def f(function):
        row = input.mean(0)
        made = function(input, row)
        (grad,) = torch.autograd.grad(made.sum(), input, create_graph=True)
        (second,) = torch.autograd.grad(grad.square().sum(), input)
        return grad, second

    for a, b in zip(f(cubed_norm), f(plain), strict=True):
        agree(a, b, 1e-8)


def test_one_tensor_as_two_arguments():
    input, _ = operands(5)
    cubed_norm(input, input).sum().backward()
    other = input.detach().requires_grad_()
    plain(other, other).sum().backward()
    agree(input.grad, other.grad)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.t(), lambda x: x[:, 1:-1], lambda x: x[::2], lambda x: x[1].expand(4, -1),
        lambda x: x[3:, 2:],
    ],
    ids=["transposed", "columns", "every other row", "repeated", "corner"],
)  # fmt: skip
def test_inputs_that_are_not_contiguous(change):
    base = torch.randn(12, 10, requires_grad=True)
    view = change(base)
    weight = torch.randn(view.shape[-1], requires_grad=True)
    grad = torch.randn(*view.shape)
    found = torch.autograd.grad(cubed_norm(view, weight), (base, weight), grad)
    expected = torch.autograd.grad(plain(view, weight), (base, weight), grad)
    for a, b in zip(found, expected, strict=True):
        agree(a, b)


@pytest.mark.parametrize(
    "grad",
    [
        lambda: torch.randn(6, 4).t(), lambda: torch.ones(()).expand(4, 6),
        lambda: torch.randn(6).expand(4, 6), lambda: torch.randn(8, 12)[::2, ::2],
    ],
    ids=["transposed", "one number", "one row", "strided"],
)  # fmt: skip
def test_gradients_that_are_not_contiguous(grad):
    input, weight = operands(4, 6)
    grad = grad()
    found = torch.autograd.grad(cubed_norm(input, weight), (input, weight), grad)
    expected = torch.autograd.grad(plain(input, weight), (input, weight), grad)
    for a, b in zip(found, expected, strict=True):
        agree(a, b)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_no_elements(shape):
    input = torch.ones(*shape, requires_grad=True)
    made = cubed_norm(input, torch.ones(shape[1]))
    assert made.shape == shape
    made.sum().backward()
    assert input.grad.shape == shape


def test_integers_and_mixed_dtypes_go_by_the_definition():
    whole = torch.arange(6).reshape(2, 3)
    agree(cubed_norm(whole.float(), torch.ones(3, dtype=torch.float64)),
          plain(whole.float(), torch.ones(3, dtype=torch.float64)))  # fmt: skip
    half = torch.ones(2, 3, dtype=torch.float16)
    assert cubed_norm(half, half[0]).dtype == torch.float16


def test_errors_are_those_of_the_definition():
    input, weight = operands(4, 6)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="the weight has 2 dimensions, not 1"):
            cubed_norm(input, input)
        with pytest.raises(RuntimeError, match="The size of tensor a"):
            cubed_norm(input, weight[:5])
        with pytest.raises(TypeError, match="missing 1 required positional argument"):
            cubed_norm(input)
        with pytest.raises(TypeError, match="unexpected keyword argument 'other'"):
            cubed_norm(input, weight, other=1)


def test_constants_are_part_of_both_programs():
    @composite("MaskedPowersBackward0")
    def masked_powers(x):
        positions = torch.arange(4)
        below = positions.unsqueeze(-1) > positions
        return (x.masked_fill(below, 2.0) ** 2).cumsum(0).exp() * torch.arange(4) @ torch.eye(4)

    def both(function):
        x = (torch.arange(16.0).view(4, 4) / 16).requires_grad_()
        made = function(x)
        (gradient,) = torch.autograd.grad(made, x, torch.ones(4, 4).cumsum(1))
        return made, gradient

    for _ in range(2):
        for a, b in zip(both(masked_powers), both(masked_powers.__wrapped__), strict=True):
            agree(a, b)
        with torch.no_grad():
            agree(masked_powers(torch.ones(4, 4)), masked_powers.__wrapped__(torch.ones(4, 4)))


def test_what_asks_for_values_goes_by_the_definition():
    @composite("AskingBackward0")
    def asking(input):
        return input * 2 if input.sum() > 0 else input * 3

    assert asking(torch.ones(3)).tolist() == [2, 2, 2]
    assert asking(-torch.ones(3)).tolist() == [-3, -3, -3]


def test_an_argument_that_cannot_be_hashed():
    @composite("ScaledBackward0")
    def scaled(input, options):
        return input * options["scale"]

    assert scaled(torch.ones(3), {"scale": 2.0}).tolist() == [2, 2, 2]
    assert scaled(torch.ones(3), {"scale": 3.0}).tolist() == [3, 3, 3]


@needs_programs
def test_a_composite_of_composites_has_one_node():
    @composite("TwiceBackward0")
    def twice(input, weight):
        return cubed_norm(cubed_norm(input, weight), weight)

    input, weight = operands(3, 5)
    made = twice(input, weight)
    assert made.grad_fn.name() == "TwiceBackward0"
    found = torch.autograd.grad(made, (input, weight), torch.ones(3, 5))
    expected = torch.autograd.grad(
        plain(plain(input, weight), weight), (input, weight), torch.ones(3, 5)
    )
    for a, b in zip(found, expected, strict=True):
        agree(a, b)


def test_hooks():
    input, weight = operands(4, 6)
    made = cubed_norm(input, weight)
    seen = []
    made.grad_fn.register_prehook(lambda grads: seen.append(len(grads)))
    made.grad_fn.register_hook(lambda inputs, outputs: seen.append((len(inputs), len(outputs))))
    input.register_hook(lambda grad: grad * 0)
    made.sum().backward()
    assert seen == [1, (2, 1)]
    assert not input.grad.any()


@needs_programs
def test_nobody_sees_how_it_is_traced():
    operator()
    saved = []
    hooks = torch.autograd.graph.saved_tensors_hooks(
        lambda x: saved.append(x.shape) or x, lambda x: x
    )
    with hooks:
        cubed_norm(*operands(3, 5))
    assert saved == [(3, 5), (5,)]
    operator()
    out = torch.utils.checkpoint.checkpoint(cubed_norm, *operands(3, 5), use_reentrant=False)
    out.sum().backward()
    operator()
    with warnings.catch_warnings(), torch.autograd.detect_anomaly():
        warnings.simplefilter("error")
        cubed_norm(*operands(3, 5)).sum().backward()
    assert len(cubed_norm.composite.pairs) == 1


def test_inside_of_compile_it_is_part_of_the_program():
    def step(input, weight):
        made = cubed_norm(input, weight).sum()
        return torch.autograd.grad(made, (input, weight))

    input, weight = operands(6, 8)
    compiled = torch.compile(step, fullgraph=True)
    for _ in range(3):
        for a, b in zip(compiled(input, weight), step(input, weight), strict=True):
            agree(a, b)


def test_forward_mode_runs_the_definition_on_duals_as_one_program():
    @composite()
    def scaled_softmax(x, weight):
        return torch.softmax(x * weight, 1) * x.sum(1, keepdim=True)

    input, weight = (x.detach() for x in operands(6, 8, dtype=torch.float64))
    ones = torch.ones_like(input)
    operator = scaled_softmax.composite

    along = ((input, weight), (ones, torch.ones_like(weight)))
    expected = torch.func.jvp(operator.definition, *along)
    for call in range(3):  # the first runs the definition, the others its pair
        for own, other in zip(torch.func.jvp(scaled_softmax, *along), expected, strict=True):
            agree(own, other, 1e-12)
        (both,) = operator._tangents.values()
        assert len(both.pairs) == min(call, 1)
    _, tangent = torch.func.jvp(lambda x: scaled_softmax(x, weight), (input,), (ones,))
    _, expected = torch.func.jvp(lambda x: operator.definition(x, weight), (input,), (ones,))
    agree(tangent, expected, 1e-12)
    assert set(operator._tangents) == {(True, True), (True, False)}
    # What is recorded, or under another transformation, is left to the definition.
    input.requires_grad_()
    _, tangent = torch.func.jvp(lambda x: scaled_softmax(x, weight), (input,), (ones,))
    assert tangent.requires_grad and len(both.pairs) == 1
    operator.forget()
    assert not operator._tangents


def test_under_transformations():
    input, weight = operands(6, 8, dtype=torch.float64)
    input, weight, ones = input.detach(), weight.detach(), torch.ones(6, 8, dtype=torch.float64)
    found = torch.func.vmap(lambda x: cubed_norm(x, weight))(input)
    agree(found, plain(input, weight), 1e-10)
    _, tangent = torch.func.jvp(lambda x: cubed_norm(x, weight), (input,), (ones,))
    _, expected = torch.func.jvp(lambda x: plain(x, weight), (input,), (ones,))
    agree(tangent, expected, 1e-10)
    input.requires_grad_()
    made = cubed_norm(input, weight)
    grads = torch.randn(3, 6, 8, dtype=torch.float64)
    batch = torch.func.vmap(
        lambda grad: torch.autograd.grad(made, input, grad, retain_graph=True)[0]
    )(grads)
    for k in range(3):
        agree(batch[k], torch.autograd.grad(made, input, grads[k], retain_graph=True)[0], 1e-10)


def test_threads():
    input, weight = operands(900, 200)
    expected = plain(input, weight)
    wrong = []

    def work():
        for _ in range(20):
            made = cubed_norm(input, weight)
            torch.autograd.grad(made.sum(), (input, weight))
            if not np.allclose(made.detach().numpy(), expected.detach().numpy(), rtol=1e-4):
                wrong.append(made)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@needs_programs
def test_a_profile_shows_what_runs():
    input, weight = operands(40, 60)
    cubed_norm(input, weight)
    with torch.profile() as found:
        made = cubed_norm(input, weight)
    agree(made, plain(input, weight))
    assert len(found.events) == 1
