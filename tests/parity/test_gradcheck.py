"""gradcheck finds what torch's finds, in every mode, and says it in the same words."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import torch

import numbagrad

NUMBER = re.compile(r"-?\d+(?:\.\d*)?(?:e-?\d+)?")
LIBRARIES = {"torch": torch, "numbagrad": numbagrad}


def wrong_square(library):
    class WrongSquare(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x

        @staticmethod
        def backward(ctx, grad):
            return grad * 3

    return WrongSquare.apply


def drifting(library):
    count = [0]

    class Drifting(library.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            count[0] += 1
            return grad * (2 + 1e-6 * count[0])

    return Drifting.apply


def affine_gradient(library):
    def function(x):
        y = x.clone()
        y.register_hook(lambda grad: grad + 1e-2)
        return y

    return function


def slightly_affine_gradient(library):
    def function(x):
        y = x.clone()
        y.register_hook(lambda grad: grad + 1e-9)
        return y

    return function


def refuses_undefined(library):
    def hook(grad):
        if grad is None:
            raise RuntimeError("the gradient is undefined")

    def function(x):
        y = x.clone()
        y.register_hook(hook)
        return y

    return function


def fails(x):
    raise RuntimeError("not an error of gradcheck")


#: Functions of one input, made for a library.
FUNCTIONS = {
    "right": lambda t: lambda x: (x * x.exp(), x.sum()),
    "wrong": wrong_square,
    "second output wrong": lambda t: lambda x: (x * 2, wrong_square(t)(x)),
    "drifting": drifting,
    "affine gradient": affine_gradient,
    "slightly affine gradient": slightly_affine_gradient,
    "cut": lambda t: lambda x: x.detach() * 2,
    "constant": lambda t: lambda x: t.ones(2, dtype=t.float64),
    "nothing": lambda t: lambda x: (),
    "shape by value": lambda t: lambda x: t.cat([x, x]) if bool((x >= 0.5).all()) else x,
    "dtype by value": lambda t: lambda x: x.float() if bool((x >= 0.5).all()) else x,
    "refuses undefined": refuses_undefined,
    "fails": lambda t: fails,
}
OPTIONS = [
    {"fast_mode": fast_mode, **more}
    for fast_mode in (False, True)
    for more in (
        {},
        {"raise_exception": False},
        {"nondet_tol": 1e-3},
        {"masked": True},
        {"check_undefined_grad": False},
        {"atol": 0.1},
        {"check_grad_dtypes": True},
    )
]


def outcome(call):
    """What a call returns or raises, and the warnings it gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except (RuntimeError, AssertionError, ValueError, TypeError) as error:
            result = type(error).__name__, str(error)
    return result, [(w.category, str(w.message)) for w in caught]


def same_outcome(call):
    expected, actual = [outcome(lambda t=t: call(t)) for t in LIBRARIES.values()]
    assert NUMBER.sub("#", str(actual)) == NUMBER.sub("#", str(expected))
    for ours, theirs in zip(
        NUMBER.findall(str(actual)), NUMBER.findall(str(expected)), strict=True
    ):
        assert float(ours) == pytest.approx(float(theirs), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_gradcheck(name, options):
    def call(library):
        x = library.tensor([[0.5, 0.75], [1.0, 2.0]], dtype=library.float64, requires_grad=True)
        return library.autograd.gradcheck(FUNCTIONS[name](library), (x,), **options)

    same_outcome(call)


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("name", ["right", "affine gradient", "wrong"])
def test_gradgradcheck(name, fast_mode):
    def call(library):
        x = library.tensor([0.5, 2.0], dtype=library.float64, requires_grad=True)
        library.manual_seed(0)
        return library.autograd.gradgradcheck(FUNCTIONS[name](library), (x,), fast_mode=fast_mode)

    same_outcome(call)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_single_precision(fast_mode):
    def call(library):
        x = library.tensor([0.5, 2.0], requires_grad=True)
        return library.autograd.gradcheck(lambda a: a, (x,), atol=1e-1, fast_mode=fast_mode)

    same_outcome(call)


@pytest.mark.parametrize(
    "check, options",
    [
        ("gradcheck", {"check_backward_ad": False}),
        ("gradcheck", {"check_backward_ad": False, "check_forward_ad": True,
                       "check_batched_grad": True}),
        ("gradcheck", {"check_batched_forward_grad": True}),
        ("gradgradcheck", {"check_rev_over_rev": False}),
        ("gradgradcheck", {"check_rev_over_rev": False, "check_fwd_over_rev": True}),
        ("gradgradcheck", {"check_rev_over_rev": False, "check_fwd_over_rev": True,
                           "check_undefined_grad": False, "check_batched_grad": True}),
    ],
)  # fmt: skip
def test_options_that_need_others(check, options):
    def call(library):
        x = library.tensor([0.5, 2.0], dtype=library.float64, requires_grad=True)
        return getattr(library.autograd, check)(lambda a: a * a, (x,), **options)

    same_outcome(call)


def test_jacobians_that_torch_once_made_public():
    results = {}
    for name, library in LIBRARIES.items():
        module = getattr(library.autograd.gradcheck, "__globals__")  # noqa: B009
        x = library.tensor([0.5, 2.0], dtype=library.float64, requires_grad=True)
        y = library.tensor([1.5, 1.0], dtype=library.float64, requires_grad=True)

        def function(inputs):
            return 2 * inputs[0] + inputs[1], inputs[0]

        with pytest.warns(FutureWarning, match="`get_numerical_jacobian` was part of PyTorch's"):
            found = module["get_numerical_jacobian"](function, (x, y), eps=1e-6)
            found += module["get_numerical_jacobian"](function, (x, y), target=y, eps=1e-6)
        with pytest.warns(FutureWarning, match="`get_analytical_jacobian` was part of PyTorch's"):
            matrices, *flags = module["get_analytical_jacobian"]((x, y), function((x, y))[0])
        with pytest.warns(FutureWarning), pytest.raises(ValueError, match="grad_out to be 1.0"):
            module["get_numerical_jacobian"](function, (x, y), grad_out=2.0)
        results[name] = [j.numpy() for j in (*found, *matrices)], flags
    assert results["torch"][1] == results["numbagrad"][1] == [True, True, True]
    for theirs, ours in zip(results["torch"][0], results["numbagrad"][0], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)
