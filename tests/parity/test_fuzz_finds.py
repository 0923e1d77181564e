"""Calls in which random programs found numbagrad and torch to differ: each is made in both."""

from __future__ import annotations

import pytest
import torch

import numbagrad


def outcome(call, library):
    """The values that a call returns, or the class and text of what it raises."""
    try:
        found = call(library)
    except Exception as error:  # compared with what the other library raises
        return type(error), str(error)[:60]
    return [x.tolist() if hasattr(x, "tolist") else x for x in found]


def detached_in_inference_mode(make):
    def call(t):
        x = make(t.ones(3, requires_grad=True))
        with t.inference_mode():
            x.detach_()
        return x.requires_grad, x.grad_fn is None

    return call


def filled_by_itself(values, part):
    def call(t):
        x = t.tensor(values)
        x[x > 1.5] = part(x)
        return (x,)

    return call


def gradient_of_a_fill_by_itself(t):
    leaf = t.tensor([1.0, 2.0], requires_grad=True)
    x = leaf * 1
    x[x > 1.5] = x[:1]
    return x.detach(), t.autograd.grad(x.sum(), leaf)[0]


def phases_of_no_number(t):
    a = t.tensor([[0.0, 1.0], [-1.0, 0.0]], requires_grad=True)
    vectors = t.linalg.eig(a)[1]
    return t.autograd.grad((vectors.abs() * float("nan")).sum(), a)


def jacobian_of_complex_constants(t):
    x = t.tensor([1.0 + 2.0j], requires_grad=True)
    return (t.autograd.functional.jacobian(lambda a: a.detach() * 1, x),)


def scaled_by_powers(kind, other, shape):
    def call(t):
        x = t.ones(shape, dtype=getattr(t, kind))
        made = t.ldexp(x, t.ones(2, dtype=getattr(t, other)))
        return str(made.dtype).rpartition(".")[2], made

    return call


CALLS = {
    "detach_ of a leaf": detached_in_inference_mode(lambda x: x),
    "detach_ of a result": detached_in_inference_mode(lambda x: x.exp()),
    "detach_ of a view": detached_in_inference_mode(lambda x: x[:2]),
    "a mask and one element of the same": filled_by_itself([1.0, 2.0], lambda x: x[:1]),
    "a mask and the tensor itself": filled_by_itself([3.0], lambda x: x),
    "a mask and no element": filled_by_itself([1.0], lambda x: x),
    "a mask and several elements of the same": filled_by_itself([2.0, 3.0, 0.0], lambda x: x[1:]),
    "the gradient of such a fill": gradient_of_a_fill_by_itself,
    "phases of NaN": phases_of_no_number,
    **{
        f"ldexp of {kind}{shape} by {other}": scaled_by_powers(kind, other, shape)
        for kind in ("float64", "complex64", "complex128", "int64", "bool")
        for other in ("int64", "uint8", "bool")
        for shape in ((), (2,))
        if (kind, other) != ("float64", "bool")  # refused by both, in other words
    },
    **{
        f"cond of {kind} of {shape} by {norm}": lambda t, kind=kind, shape=shape, norm=norm: (
            t.linalg.cond(t.zeros(shape, dtype=getattr(t, kind)), norm) + 1,
            str(t.linalg.cond(t.zeros(shape, dtype=getattr(t, kind)), norm).dtype)[-7:],
        )
        for kind in ("float32", "complex64", "complex128")
        for shape in ((0, 0), (2, 0, 0), (0, 2, 2))
        for norm in (None, -2, 1, "fro")
    },
    "a Jacobian of complex constants": jacobian_of_complex_constants,
    **{
        f"stack along {dim}": lambda t, dim=dim: (t.stack([t.ones(2, 3), t.ones(3, 3)], dim),)
        for dim in (3, -4, 2)
    },
    **{
        f"{name} of complex numbers, {what}": lambda t, name=name, options=options: (
            getattr(t.fft, name)(t.ones(2, dtype=t.complex64), **options),
        )
        for name in ("rfft", "rfft2", "rfftn", "ihfft")
        for what, options in {
            "as it is": {},
            "out of range": {"dim": 5 if name in ("rfft", "ihfft") else (5, 6)},
            "of no size": {"n": 0} if name in ("rfft", "ihfft") else {"s": (0,)},
        }.items()
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_call_does_what_torch_does(name):
    assert outcome(CALLS[name], numbagrad) == outcome(CALLS[name], torch)
