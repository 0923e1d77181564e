"""Complex powers beside torch, of zero above all, and their gradients."""

import numpy as np
import pytest
import torch

import numbagrad

BASES = [0j, complex(-0.0, 0.0), complex(0.0, -0.0), 1 + 0j, 2 - 1j, -1j]
EXPONENTS = [
    0, 1, 2, 3, -1, -2, 0.5, -0.5, 2.5, -2.5, 0j, 1 + 0j, 2 + 0j, 1j, 1 + 1j, -1 + 1j, 3 - 2j,
    float("inf"), float("nan"),
]  # fmt: skip


def bases(t, kind, **options):
    return t.tensor(BASES, dtype=getattr(t, kind), **options)


def exponents(t, kind, e, **options):
    return t.full((len(BASES),), e, dtype=getattr(t, kind), **options)


def gradients(t, made, *inputs):
    return t.cat(t.autograd.grad(made, inputs, t.ones_like(made)))


def by_tensor(t, kind, e):
    x, y = bases(t, kind, requires_grad=True), exponents(t, kind, e, requires_grad=True)
    return gradients(t, x**y, x, y)


def by_number(t, kind, e):
    x = bases(t, kind, requires_grad=True)
    return gradients(t, x**e, x)


def of_number(t, kind, e):
    y = t.tensor([0, 1, 2 + 1j, 1j, -1], dtype=getattr(t, kind), requires_grad=True)
    return gradients(t, e**y, y)


CALLS = {
    "number": lambda t, kind, e: bases(t, kind) ** e,
    "tensor": lambda t, kind, e: bases(t, kind) ** exponents(t, kind, e),
    "tensor without dimensions": lambda t, kind, e: bases(t, kind) ** t.tensor(e),
    "in place": lambda t, kind, e: bases(t, kind).pow_(e),
    "of a number": lambda t, kind, e: e ** t.tensor(EXPONENTS, dtype=getattr(t, kind)),
    "of zero": lambda t, kind, e: 0 ** t.tensor([e], dtype=getattr(t, kind)),
    "float_power": lambda t, kind, e: t.float_power(bases(t, kind), e),
    "of reals": lambda t, kind, e: t.tensor([0.0, 1, 2, -1]) ** t.full((4,), e + 0j),
    "of reals by a number": lambda t, kind, e: t.tensor([0.0, 1, 2]) ** complex(e),
    "of integers by a number": lambda t, kind, e: t.tensor([0, 1, 2]) ** complex(e),
    "reciprocal": lambda t, kind, e: bases(t, kind).reciprocal(),
    "rsqrt": lambda t, kind, e: bases(t, kind).rsqrt(),
    "gradients by tensors": by_tensor,
    "gradient by a number": by_number,
    "gradient of a number's": of_number,
}


@pytest.mark.parametrize("kind", ["complex64", "complex128"])
@pytest.mark.parametrize("name", CALLS)
def test_complex_powers(name, kind):
    for e in EXPONENTS:
        with np.errstate(all="ignore"):
            made = CALLS[name](numbagrad, kind, e)
            expected = CALLS[name](torch, kind, e)
        assert str(made.dtype) == str(expected.dtype), e
        parts = np.stack([made.numpy().real, made.numpy().imag])
        other = np.stack([expected.numpy().real, expected.numpy().imag])
        assert np.allclose(parts, other, 1e-5, 1e-5, equal_nan=True), e
