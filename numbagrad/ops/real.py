"""What torch asks of complex tensors, answered for real ones: most functions return their input."""

from __future__ import annotations

import numpy as np

from ..tensor import Tensor, new_tensor
from .registry import method

__all__ = [
    "conj", "conj_physical", "detach", "imag", "is_conj", "is_neg", "isreal", "real",
    "resolve_conj", "resolve_neg",
]  # fmt: skip


@method()
def conj(input: Tensor) -> Tensor:
    """The complex conjugate: the tensor itself."""
    return input


@method()
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory: the tensor itself."""
    return input


@method()
def resolve_conj(input: Tensor) -> Tensor:
    """The tensor without a pending conjugation: itself."""
    return input


@method()
def resolve_neg(input: Tensor) -> Tensor:
    """The tensor without a pending negation: itself."""
    return input


@method()
def is_conj(input: Tensor) -> bool:
    """Whether a conjugation is pending: never."""
    return False


@method()
def is_neg(input: Tensor) -> bool:
    """Whether a negation is pending: never."""
    return False


@method()
def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part: always."""
    return new_tensor(np.ones(input._array.shape, bool))


def real(input: Tensor) -> Tensor:
    """The real part: the tensor itself."""
    return input


def imag(input: Tensor) -> Tensor:
    """The imaginary part, which only complex tensors have.

    Raises:
        RuntimeError: always.
    """
    raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")


method("imag")(property(imag))


def detach(input: Tensor) -> Tensor:
    """``input.detach()``: the same memory without history."""
    return input.detach()
