"""Arrays and scalars of NumPy beside tensors: Python's operators compute what torch's compute.

Functions and methods take no arrays, which ``wrong_inputs.py`` covers. The operators leave an array
to NumPy, which asks the tensor for one and gives it the result to wrap; ``==`` takes it as a
tensor. Where NumPy cannot read torch's tensor, or an array stands first, torch raises; here the
operator is that of the tensor, and recorded.
"""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
import torch

import numbagrad

OPERATORS = [
    getattr(operator, name)
    for name in """
    add sub mul truediv floordiv mod pow matmul and_ or_ xor lshift rshift eq ne lt le gt ge iadd
    isub imul itruediv ipow iand ior ixor ifloordiv imod ilshift imatmul
    """.split()
]

OTHERS = {
    "float64": lambda: np.array([1.0, 2.0, 3.0]),
    "float32": lambda: np.array([1, 2, 3], dtype=np.float32),
    "int64": lambda: np.array([1, 2, 3]),
    "int32": lambda: np.array([1, 2, 3], dtype=np.int32),
    "complex128": lambda: np.array([1j, 2, 3]),
    "no dimensions": lambda: np.array(2),
    "no elements": lambda: np.ones(0),
    "another shape": lambda: np.ones((2, 2)),
    "np.float64": lambda: np.float64(2),
    "np.int64": lambda: np.int64(2),
    "a list": lambda: [1, 2, 3],
    "text": lambda: "a",
    "nothing": lambda: None,
}

TENSORS = {
    "float32": lambda t: t.tensor([1.0, 2.0, 3.0]),
    "int64": lambda t: t.tensor([1, 2, 3]),
    "no dimensions": lambda t: t.tensor(3),
    "with a history": lambda t: t.tensor([1.0, 2.0, 3.0], requires_grad=True) * 1,
}


def described(value):
    """A result as both libraries show it: its class, dtype and elements."""
    if isinstance(value, list):
        return [described(x) for x in value]
    if not hasattr(value, "dtype"):
        return type(value), value
    return type(value).__name__, str(value.dtype), repr(value.tolist())


def outcome(function):
    """The result, or the class of the error."""
    try:
        return described(function())
    except Exception as error:
        return type(error)


def is_as_of_arrays(function, make, other, order, ours):
    """Whether a result is what NumPy computes of arrays, where torch's tensors take none.

    There, ``!=`` is whether both are one object, ``array /= tensor`` a tensor, and all else raises.
    """
    pair = make(numbagrad).detach().numpy(), other()
    if order == "tensor first":  # in place, too, a new tensor
        function = getattr(operator, function.__name__.removeprefix("i"), function)
    else:
        pair = pair[::-1]
    made = np.asarray(function(*pair))
    same = np.allclose(np.array(eval(ours[2], {"nan": np.nan, "inf": np.inf})), made, 1e-6)
    return same and ours[1].removeprefix("torch.") == str(made.dtype)


#: Bits of floats: torch complains about dtypes in another order. No derivative, here and in torch.
ODD = frozenset(("iand", "ior", "ixor", "ilshift"))


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_operators_of_python_with_arrays(function):
    found = []
    by_identity = function in (operator.ne, operator.itruediv)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, other in OTHERS.items():
            if function.__name__ in ODD and name in ("np.float64", "a list", "text", "nothing"):
                continue
            for kind, make in TENSORS.items():
                for order in ("tensor first", "tensor second"):

                    def call(library, other=other, make=make, order=order):
                        pair = make(library), other()
                        return function(*(pair if order == "tensor first" else pair[::-1]))

                    expected, ours = outcome(lambda: call(torch)), outcome(lambda: call(numbagrad))
                    if ours == expected or isinstance(ours, type):
                        agree = ours == expected or isinstance(expected, type) or by_identity
                    else:
                        agree = is_as_of_arrays(function, make, other, order, ours)
                    if not agree:
                        found.append((name, kind, order, expected, ours))
    assert not found


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t, a: t.exp(a), r"exp\(\): argument 'input' \(position 1\) must be Tensor"),
        (lambda t, a: t.add(a, t.ones(3)), r"add\(\): argument 'input' \(position 1\)"),
        (lambda t, a: t.ones(3).mul(a), r"mul\(\): argument 'other' \(position 2\)"),
        (lambda t, a: t.ones(3).mul_(a), r"mul\(\): argument 'other' \(position 2\)"),
        (lambda t, a: t.nn.functional.relu(a), r"relu\(\): argument 'input' \(position 1\)"),
        (lambda t, a: t.where(t.ones(3) > 0, a, t.ones(3)), r"where\(\): argument"),
        (lambda t, a: t.prod(a), r"prod\(\): argument 'input' \(position 1\)"),
        (lambda t, a: t.mm(a, t.ones(3, 3)), r"mm\(\): argument 'input' \(position 1\)"),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_functions_say_that_an_array_is_no_tensor(call, text, again):
    if again:  # the kernel of such operands is there
        call(numbagrad, numbagrad.ones(3, 3) if "mm" in text else numbagrad.ones(3))
    for array in (np.ones(3, dtype=np.float32), np.ones(3)):
        with pytest.raises(TypeError, match=text):
            call(numbagrad, array)
        with pytest.raises(TypeError):
            call(torch, array)


def test_compiled_launchers_take_no_arrays(monkeypatch):
    from numbagrad.executor.cache import deferred

    monkeypatch.setattr(deferred, "CALLS_WORTH_COMPILING", 0)
    x, array = numbagrad.ones(3), np.ones(3, dtype=np.float32)
    dual_level = numbagrad.autograd.forward_ad.dual_level
    for _ in range(3):
        assert (x + x).tolist() == [2.0] * 3
        x.clone().add_(x)
        with pytest.raises(TypeError, match="must be Tensor, not numpy.ndarray"):
            numbagrad.add(x, array)
        with numbagrad.no_grad(), pytest.raises(TypeError, match="must be Tensor"):
            x.add_(array)
        with dual_level():
            dual = numbagrad.autograd.forward_ad.make_dual(x, x)
            assert (dual * x).tolist() == [1.0] * 3
            with pytest.raises(TypeError, match="must be Tensor"):
                numbagrad.mul(dual, array)
    assert x.tolist() == [1.0] * 3
