"""Operators seen as Functions: ``functions.Mm.apply``, ``forward``, ``backward``, ``kernels``."""

import pickle

import numpy as np
import pytest

import numbagrad as torch
from numbagrad import functions
from numbagrad.autograd import Function
from numbagrad.ops.operators.base import Operator

NAMES = sorted({*dir(functions)} - {*vars(functions)})

X = torch.arange(6.0).reshape(2, 3) - 2
CALLS = [
    ("Add", (X, X)), ("Mul", (X, X + 1)), ("Relu", (X,)), ("Clamp", (X, -1, 1)), ("Exp", (X,)),
    ("Mm", (X, X.t())), ("Sum", (X,)), ("Softmax", (X, 1)), ("LayerNorm", (X, (3,))),
    ("Transpose", (X, 0, 1)), ("Gather", (X, 1, torch.tensor([[0], [2]]))), ("Amax", (X, 1)),
    ("Cumsum", (X, 0)), ("Where", (X > 0, X, X * 2)), ("Gelu", (X,)),
]  # fmt: skip


def test_every_operator_has_a_class():
    assert len(NAMES) > 300
    assert {"Mm", "Relu", "Clamp", "Conv2d", "CrossEntropy", "ScaledDotProductAttention"} <= {
        *NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_a_class_is_a_function(name):
    made = getattr(functions, name)
    assert issubclass(made, Function) and made is getattr(functions, name)
    assert made.__name__ == name and made.__doc__
    assert pickle.loads(pickle.dumps(made)) is made


@pytest.fixture(autouse=True)
def no_forms():
    """Of many forms, a new one is not fused at its first call."""
    torch.nn.functional.layer_norm.composite.forget()


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_forward_and_backward_are_those_of_the_operator(name, arguments):
    made = getattr(functions, name)
    arguments = [
        x.clone().requires_grad_() if isinstance(x, torch.Tensor) and x.is_floating_point() else x
        for x in arguments
    ]
    result = made.apply(*arguments)
    computed = made.forward(*arguments)
    assert result.grad_fn is not None and computed.grad_fn is None
    assert torch.equal(result, computed)
    inputs = [x for x in arguments if isinstance(x, torch.Tensor) and x.requires_grad]
    gradient = torch.rand_like(result)
    expected = torch.autograd.grad(result, inputs, gradient, retain_graph=True)
    found = made.backward(result.grad_fn, gradient)
    found = found if isinstance(found, tuple) else (found,)
    found = [x for x in found if x is not None]
    assert len(found) == len(expected)
    assert all([torch.allclose(a, b) for a, b in zip(found, expected, strict=True)])


@pytest.mark.parametrize(("name", "arguments"), CALLS, ids=[name for name, _ in CALLS])
def test_the_kernels_of_a_class_are_its_pair(name, arguments):
    made = getattr(functions, name)
    found = made.kernels(*arguments)
    node = made.apply(*[x + 0.0 if x is X else x for x in arguments])
    assert found.saved and torch.equal(found.result, node)
    assert f"backward of {made.operator().__name__}" in str(found)


def test_backward_takes_a_node():
    with pytest.raises(TypeError, match="Relu.backward takes the grad_fn of a result"):
        functions.Relu.backward(X, X)


def test_there_is_no_class_of_what_is_no_operator():
    for name in ("Zeros", "NoGrad", "relu", "Manual_seed"):
        with pytest.raises(AttributeError, match=name):
            getattr(functions, name)


def test_a_class_that_overrides_is_asked():
    before = functions.Relu.apply(X)

    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__

    assert functions.Relu.apply(X.as_subclass(Asked)) == "relu"
    assert functions.Softmax.apply(X.as_subclass(Asked), 1) == "softmax"
    assert torch.equal(functions.Relu.apply(X), before)


@pytest.mark.parametrize(
    ("name", "operators"),
    [
        ("Mm", ["mm"]), ("Exp", ["exp"]), ("Mul", ["mul"]), ("Sum", ["sum"]), ("Where", ["where"]),
        ("Gather", ["gather"]), ("Transpose", ["transpose"]), ("Softmax", ["softmax"]),
        ("LayerNorm", ["layer_norm"]), ("Linear", ["addmm"]), ("Add", ["add", "add_scaled"]),
    ],
)  # fmt: skip
def test_a_class_has_the_operators_of_its_function(name, operators):
    found = getattr(functions, name).operators()
    assert all([isinstance(x, Operator) for x in found])
    assert [x.name for x in found] == operators


def test_an_operator_says_what_it_takes():
    (mm,) = functions.Mm.operators()
    assert mm.parameters == ("a", "b") and mm.tensors == {"a", "b"} and not mm.is_view
    (where,) = functions.Where.operators()
    assert len(where.parameters) == 3 and where.run([np.array(True), 1.0, 2.0]) == 1
    (transpose,) = functions.Transpose.operators()
    assert transpose.is_view and transpose.run([np.ones((2, 3)), 0, 1]).shape == (3, 2)


def test_most_functions_of_one_operator_show_it():
    shown = [len(getattr(functions, name).operators()) for name in NAMES]
    assert shown.count(1) > 250
