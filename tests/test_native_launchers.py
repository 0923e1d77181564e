"""The compiled way from Tensors to Tensors does what the Python code does, and loses no reference.

``ops/operators/native_launchers.py`` installs it; each test of a result runs once with it and once
without.
"""

import gc
import sys

import numpy as np
import pytest

import numbagrad as torch
from numbagrad.autograd.saved import SavedInput, SavedOutput
from numbagrad.executor.cache import deferred
from numbagrad.ops.operators import native_launchers
from numbagrad.ops.operators.definition import POINTWISE
from numbagrad.ops.operators.pointwise_operator import PointwiseOperator, binary, unary
from numbagrad.ops.operators.tensor_operator import TensorOperator
from numbagrad.ops.operators.view_operator import ViewOperator


@pytest.fixture(params=["compiled", "python"])
def mode(request, monkeypatch):
    """Both ways, for operators that are made within the test."""
    if request.param == "compiled":
        monkeypatch.setattr(deferred, "CALLS_WORTH_COMPILING", 0)
        for ready in (native_launchers.ready, native_launchers.operators_ready):
            ready()
            assert ready()
    else:
        monkeypatch.setattr(native_launchers, "ready", lambda: False)
        monkeypatch.setattr(native_launchers, "operators_ready", lambda: False)
        monkeypatch.setattr(native_launchers.calls, "attach", native_launchers._attach_in_python)
        monkeypatch.setattr(
            native_launchers.calls, "repeated", native_launchers._repeated_in_python
        )
    return request.param


class Operator:
    """A fresh operator; the first calls compile its kernels and find out how nodes are made."""

    def __init__(self, name):
        self.operator = PointwiseOperator(POINTWISE[name])
        operands = POINTWISE[name].formula.__code__.co_argcount
        self.function = (unary if operands == 1 else binary)(self.operator)

    def __call__(self, *operands):
        result = self.function(*operands)
        for _ in range(2):
            result = self.function(*operands)
        return result


def leaf(*shape):
    return torch.tensor(np.linspace(0.5, 1.5, int(np.prod(shape)), dtype="float32").reshape(shape),
                        requires_grad=True)  # fmt: skip


def test_the_compiled_way_is_taken(mode):
    a, b, multiply = leaf(2, 3), leaf(2, 3), Operator("mul")
    multiply(a, b)
    if mode == "compiled":
        result = multiply.operator.launch(a, b, True)
        assert result.grad_fn is not None
        assert multiply.operator.launch.__class__.__name__ == "builtin_function_or_method"
    else:
        assert multiply.operator.launch.__class__.__name__ == "method"


def test_nodes_keep_what_the_gradient_uses(mode):
    a, b, multiply = leaf(2, 3), leaf(2, 3), Operator("mul")
    node = multiply(a, b).grad_fn
    assert node.name() == "MulBackward0"
    assert [id(target) for target, _ in node.next_edges] == [id(a), id(b)]
    assert node.saved[0] is a and node.saved[1] is b
    assert node.numbers is None and node.restore is None and node._hooks is None

    node = multiply(a, b.detach()).grad_fn
    assert node.next_edges[1] is None
    assert len(node.saved) == 1 and isinstance(node.saved[0], SavedInput)

    node = multiply(a, a).grad_fn
    assert node.next_edges[0] is node.next_edges[1]

    node = multiply(a, 3.0).grad_fn
    assert node.saved == () and node.numbers == (3.0,)

    row = leaf(3)
    node = multiply(a, row).grad_fn
    assert tuple(node.restore) == (None, ((3,), np.dtype("float32")))

    node = Operator("tanh")(a).grad_fn
    assert len(node.saved) == 1 and isinstance(node.saved[0], SavedOutput)

    first = multiply(a, b)
    second = multiply(first, b)
    assert second.grad_fn.next_edges[0] == (first.grad_fn, 0)
    assert second.grad_fn.sequence_nr > first.grad_fn.sequence_nr


@pytest.mark.parametrize(
    "name, gradient",
    [("mul", lambda x, y: (y, x)), ("sub", lambda x, y: (np.ones(6), -np.ones(6))),
     ("div", lambda x, y: (1 / y, -x / y**2)), ("maximum", lambda x, y: (0.5 * (x == y),) * 2)],
)  # fmt: skip
def test_gradients_of_two_operands(mode, name, gradient):
    a, b, function = leaf(6), leaf(6), Operator(name)
    for _ in range(3):
        a.grad = b.grad = None
        function(a, b).sum().backward()
    expected = gradient(a.detach().numpy(), b.detach().numpy())
    np.testing.assert_allclose(a.grad.numpy(), expected[0], rtol=1e-6)
    np.testing.assert_allclose(b.grad.numpy(), expected[1], rtol=1e-6)


def test_gradients_of_one_operand_and_of_numbers(mode):
    a = leaf(2, 3)
    x = a.detach().numpy()
    power, sigmoid = Operator("pow"), Operator("sigmoid")
    for _ in range(3):
        a.grad = None
        power(a, 3).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), 3 * x**2, rtol=1e-6)
    for _ in range(3):
        a.grad = None
        sigmoid(a).sum().backward()
    s = 1 / (1 + np.exp(-x))
    np.testing.assert_allclose(a.grad.numpy(), s * (1 - s), rtol=1e-5)


def test_gradients_are_summed_where_an_operand_was_broadcast(mode):
    a, b, multiply = leaf(2, 3), leaf(3), Operator("mul")
    multiply(a, b).sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), a.detach().numpy().sum(0), rtol=1e-6)
    wide = torch.ones(3, dtype=torch.float64, requires_grad=True)
    multiply(a[0], wide).sum().backward()
    assert wide.grad.dtype == torch.float64


def test_a_saved_tensor_that_was_written_raises(mode):
    multiply, tanh = Operator("mul"), Operator("tanh")
    a, b = leaf(3), leaf(3)
    made = multiply(a, b)
    with torch.no_grad():
        b.add_(1)
    with pytest.raises(RuntimeError, match="is at version 1; expected version 0"):
        made.sum().backward()
    made = multiply(a, b)  # b has a count of versions now
    with torch.no_grad():
        b.add_(1)
    with pytest.raises(RuntimeError, match="is at version 2; expected version 1"):
        made.sum().backward()
    made = tanh(a)
    with torch.no_grad():
        made.mul_(2)
    with pytest.raises(RuntimeError, match="output 0 of TanhBackward0|is at version 1"):
        made.sum().backward()


def test_a_graph_that_was_freed_raises(mode):
    a, multiply = leaf(3), Operator("mul")
    total = multiply(a, a).sum()
    total.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        total.backward()


def test_recording_follows_grad_mode_and_the_operator(mode):
    a, b = leaf(3), leaf(3)
    with torch.no_grad():
        assert not Operator("mul")(a, b).requires_grad
    assert not Operator("lt")(a, b).requires_grad
    assert not Operator("mul")(a.detach(), b.detach()).requires_grad


def test_second_derivatives(mode):
    a, multiply = leaf(3), Operator("mul")
    (first,) = torch.autograd.grad(multiply(multiply(a, a), a).sum(), a, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), a)
    np.testing.assert_allclose(second.numpy(), 6 * a.detach().numpy(), rtol=1e-6)


def test_subclasses_of_tensor_are_operands(mode):
    class Weight(torch.Tensor):
        pass

    multiply, a = Operator("mul"), leaf(3)
    weight = torch.Tensor.__new__(Weight)
    for name in ("_array", "_requires_grad", "_producer", "_output_nr", "_version_cell"):
        setattr(weight, name, getattr(a, name))
    for operand in (weight, torch.nn.Parameter(a.detach())):
        result = multiply(operand, a)
        assert type(result) is torch.Tensor
        assert result.grad_fn.next_edges[0][0] is operand


def test_tensors_made_by_the_compiled_way_take_attributes(mode):
    made = Operator("mul")(leaf(3), 2)
    made.label = "double"
    assert made.label == "double" and vars(made) == {"label": "double"}
    assert made._grad is None and made.output_nr == 0
    made.retain_grad()
    made.sum().backward()
    assert made.grad.tolist() == [1.0, 1.0, 1.0]


def test_writing_counts_versions(mode):
    operator = PointwiseOperator(POINTWISE["add"])
    a, b = torch.ones(3), torch.ones(3)
    for count in range(1, 4):
        operator.into(a, (a, b))
        assert a._version == count
    assert a.tolist() == [4.0, 4.0, 4.0]
    with pytest.raises(RuntimeError, match="shape"):
        operator.into(a, (a, torch.ones(2)))
    assert a._version == 3


@pytest.mark.parametrize("mode", ["python"], indirect=True)
def test_compiling_waits_until_it_pays(mode, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(deferred, "CALLS_WORTH_COMPILING", 3)
    installed = []
    group = deferred.Deferred(
        {"never_compiled": "pointwise_operator"}, lambda: installed.append(True)
    )
    monkeypatch.setattr(deferred, "launcher_address", lambda *names, compiling: 0)
    assert [group.ready() for _ in range(5)] == [False, False, False, True, True]
    assert installed == [True]


def steps():
    """A function that goes through every builtin, their misses included."""
    multiply, tanh, add = Operator("mul"), Operator("tanh"), PointwiseOperator(POINTWISE["add"])
    a, b, row = leaf(4, 4), leaf(4, 4), leaf(4)
    turn = ViewOperator("turn", lambda input: input.T, lambda grad: turn(grad))
    scale = scaled()

    def step():
        made = tanh(multiply(multiply(a, b), 2.0))
        total = multiply(made, row).sum() + made.mm(b).sum()
        total = total + scale(turn(made), b, 2.0).sum() + torch.cat([made, b]).max(1)[0].sum()
        total.backward()
        for x in (a, b, row):
            add.into(x.grad, (x.grad, 1))
            x.grad = None
        refused = False
        try:  # pytest.raises would keep objects of its own, which this counts
            multiply(a, "no operand")
        except TypeError:
            refused = True
        assert refused

    return step


def test_no_reference_is_lost_or_kept(mode):
    step = steps()
    for _ in range(50):
        step()
    gc.collect()
    gc.disable()
    try:
        step()
        objects = len(gc.get_objects())
        blocks = sys.getallocatedblocks()
        shared = [sys.getrefcount(x) for x in (None, True, False, 0, torch.Tensor, SavedInput)]
        for _ in range(300):
            step()
        assert abs(len(gc.get_objects()) - objects) < 20
        assert abs(sys.getallocatedblocks() - blocks) < 280  # a block a step would be 300
        after = [sys.getrefcount(x) for x in (None, True, False, 0, torch.Tensor, SavedInput)]
        assert max(abs(x - y) for x, y in zip(after, shared, strict=True)) < 50
    finally:
        gc.enable()


def test_a_tensor_without_memory_raises(mode):
    multiply, a = Operator("mul"), leaf(3)
    multiply(a, a)
    with pytest.raises(AttributeError):
        multiply(object.__new__(torch.Tensor), a)


# --- views and operators that are no formula ------------------------------------------------------


def test_views_share_memory_and_history(mode):
    make = ViewOperator("turn", lambda input: input.T, lambda grad: make(grad))
    a = leaf(2, 3)
    view = [make(a) for _ in range(3)][-1]
    assert view.grad_fn.name() == "TurnBackward0"
    assert view.grad_fn.next_edges == ((a, 0),) and view.grad_fn.saved == ()
    assert view._base is a and view._version_cell is a._version_cell
    assert view._view_origin is None and view._array.base is a._array
    again = make(view)
    assert again._base is a and again.grad_fn.next_edges == ((view.grad_fn, 0),)
    with torch.no_grad():
        hidden = make(a)
    assert hidden.is_leaf and hidden._requires_grad and hidden._view_origin == "no_grad"
    assert make(hidden)._view_origin == "no_grad"
    assert make(torch.arange(6).view(2, 3)).grad_fn is None
    (view * 2).sum().backward()
    assert a.grad.tolist() == [[2.0] * 3] * 2


def test_dead_views_are_forgotten(mode):
    make = ViewOperator("turn", lambda input: input.T, lambda grad: make(grad))
    a, kept = leaf(2, 3), []
    for k in range(1000):
        view = make(a)
        if k < 3:
            kept.append(view)
    assert len(a._version_cell) < 200
    alive = [reference() for reference in a._version_cell[1:]]
    assert all([any([x is view for x in alive]) for view in kept])


def test_views_follow_writes(mode):
    make = ViewOperator("turn", lambda input: input.T, lambda grad: make(grad))
    for _ in range(3):
        a = leaf(2, 3)
        base = a * 1
        view = make(base)
        view.mul_(3)
        assert type(base.grad_fn).__name__ == "CopySlices"
        base.sum().backward()
        assert a.grad.tolist() == [[3.0] * 3] * 2


def scaled():
    """An operator that uses an input, a shape, a value and its result in gradients."""
    return TensorOperator(
        "scaled",
        lambda input, other, factor: input * other * factor,
        {
            "input": lambda grad, input_shape, other, factor: (grad * other * factor).reshape(
                input_shape
            ),
            "other": lambda grad, other, result: grad * result / other,
        },
    )


def test_operators_are_recorded(mode):
    operator = scaled()
    for _ in range(3):
        a, b = leaf(2, 3), leaf(2, 3)
        result = operator(a, b, 2.0)
        node = result.grad_fn
        assert node.name() == "ScaledBackward0" and node._output_count == 1
        assert [target for target, _ in node.next_edges] == [a, b]
        assert node.saved[0] is b and isinstance(node.saved[1], SavedOutput)
        result.sum().backward()
        np.testing.assert_allclose(a.grad.numpy(), 2 * b.detach().numpy(), rtol=1e-6)
        np.testing.assert_allclose(b.grad.numpy(), 2 * a.detach().numpy(), rtol=1e-6)
        plain = operator(a.detach(), b, 2.0).grad_fn
        assert plain.next_edges[0] is None
        with torch.no_grad():
            assert operator(a, b, 2.0).grad_fn is None


def test_operators_of_lists_and_of_several_results(mode):
    joined = TensorOperator(
        "joined",
        lambda dim, tensors: np.concatenate(tensors, dim),
        {"tensors": lambda grad, tensors_shape, dim: [
            grad.narrow(dim, k, 1) for k in range(len(tensors_shape))]},
        variadic="tensors",
    )  # fmt: skip
    largest = TensorOperator(
        "largest",
        lambda input: (input.max(1), input.argmax(1)),
        {"input": lambda grad, result1, input_shape: grad[0].unsqueeze(1)
            * torch.nn.functional.one_hot(result1, input_shape[1])},
    )  # fmt: skip
    for _ in range(3):
        a, b = leaf(1, 3), torch.ones(1, 3)
        both = joined(0, [a, b, a])
        assert both.grad_fn.next_edges == ((a, 0), None, (a, 0))
        assert both.grad_fn.values == ([(1, 3)] * 3, 0)
        values, positions = largest(both)
        assert values.grad_fn.name() == "LargestBackward0" and values.output_nr == 0
        assert positions.grad_fn is None and not positions.requires_grad
        values.sum().backward()
        assert a.grad.tolist() == [[0.0, 0.0, 2.0]]


def test_operators_without_a_gradient_say_so(mode):
    picked = TensorOperator(
        "picked", lambda input, other: input + other, {"input": lambda grad: grad}
    )
    a = leaf(3)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="picked: there is no gradient .* 'other'"):
            picked(torch.ones(3), a)
        assert picked(a, torch.ones(3)).grad_fn is not None


def test_operators_without_any_gradient_take_what_requires_one(mode):
    """Whole numbers have no history; results that could have one raise."""
    largest = TensorOperator("largest", lambda input: input.argmax(1), {})
    doubled = TensorOperator("doubled", lambda input: input * 2, {})
    a = leaf(2, 3)
    for _ in range(3):
        positions = largest(a)
        assert not positions.requires_grad and positions.grad_fn is None
        assert positions.tolist() == a.detach().numpy().argmax(1).tolist()
        with pytest.raises(RuntimeError, match="doubled: there is no gradient .* 'input'"):
            doubled(a)
        assert doubled(a.detach()).tolist() == (a.detach() * 2).tolist()
        with torch.no_grad():
            assert not doubled(a).requires_grad
