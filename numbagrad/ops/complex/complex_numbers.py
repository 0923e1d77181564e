"""Complex tensors: how they are made, their parts, conjugates and angles.

Most functions take real tensors too, and return them. Views that are conjugates are those of
``lazy_conj.py``. Arithmetic of complex numbers is in ``complex_operator.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd import tensor_interface
from ...dispatch.policies import autocasts
from ...dtype import bfloat16, scalar_type_name
from ...dtype import dtype as DType
from ...executor.families.complex_parts import from_parts, parts_of_array
from ...executor.memory.arrays import constant_beside
from ...formula import complex as lifted
from ...formula import symbol
from ...formula.complex import Complex
from ...tensor import Tensor, new_tensor
from ...transforms.batching import stacked
from ..methods.registry import method
from ..methods.variants import install_in_place
from ..operators.pointwise_operator import pointwise
from ..operators.view_operator import ViewOperator
from ..views.parts import select
from .complex_operator import derived
from .lazy_conj import _conj_physical, _neg_view, conj, is_conj

__all__ = [
    "complex", "conj_physical", "detach", "imag", "isreal", "polar", "real", "view_as_complex",
    "view_as_real",
]  # fmt: skip


# --- from two real tensors ------------------------------------------------------------------------

_complex = derived(
    "complex", "ComplexBackward0", ("x", "y"), (False, False), Complex(symbol("x"), symbol("y"))
)
_polar = derived(
    "polar", "PolarBackward0", ("length", "turn"), (False, False),
    lifted.polar(symbol("length"), symbol("turn")),
)  # fmt: skip


def _check_parts(first: Tensor, second: Tensor) -> None:
    """Raise torch's errors unless both are tensors of one float dtype."""
    kinds: Sequence[DType] = (first.dtype, second.dtype)
    names = [scalar_type_name(kind) for kind in kinds]
    if any([not kind.is_floating_point or kind is bfloat16 for kind in kinds]):
        raise RuntimeError(
            f"Expected both inputs to be Half, Float or Double tensors but got {names[0]} and "
            f"{names[1]}"
        )
    if kinds[0] is not kinds[1]:
        raise RuntimeError(
            f"Expected object of scalar type {names[0]} but got scalar type {names[1]} for second "
            "argument"
        )


def complex(real: Tensor, imag: Tensor) -> Tensor:
    """The complex tensor with these real and imaginary parts, of one float dtype."""
    _check_parts(real, imag)
    return _complex(real, imag)


@autocasts("float32")
def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """The complex tensor of these absolute values and angles: ``abs * exp(1j * angle)``."""
    _check_parts(abs, angle)
    return _polar(abs, angle)


# --- the same memory as real numbers --------------------------------------------------------------


_view_as_real = ViewOperator(
    "view_as_real",
    lambda input: parts_of_array(input),
    lambda grad: view_as_complex(grad.contiguous()),
    batch=stacked(),
)
_view_as_complex = ViewOperator(
    "view_as_complex",
    lambda input: from_parts(input),
    lambda grad: view_as_real(grad),
    batch=stacked(),
)


def view_as_real(input: Tensor) -> Tensor:
    """The memory of a complex tensor as real numbers: a last dimension of 2 has the parts.

    Raises:
        RuntimeError: for a real tensor.
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("view_as_real is only supported for complex tensors")
    if is_conj(input):
        raise RuntimeError(
            "view_as_real doesn't work on unresolved conjugated tensors.  To resolve the conjugate "
            "tensor so you can view it as real, use self.resolve_conj(); however, be warned that "
            "the resulting tensor will NOT alias the original."
        )
    return _view_as_real(input)


@autocasts("float32")
def view_as_complex(input: Tensor) -> Tensor:
    """The memory of a float tensor whose last dimension has two parts, as complex numbers.

    Raises:
        RuntimeError: for other dtypes, and where the parts do not lie as those of complex numbers.
    """
    array = input._array
    if array.dtype not in (np.float32, np.float64):
        raise RuntimeError(
            "view_as_complex is only supported for half, float and double tensors, but got a "
            f"tensor of scalar type: {scalar_type_name(input.dtype)}"
        )
    if array.ndim == 0:
        raise RuntimeError("Input tensor must have one or more dimensions")
    if array.shape[-1] != 2:
        raise RuntimeError("Tensor must have a last dimension of size 2")
    if array.strides[-1] != array.itemsize and array.size:
        raise RuntimeError("Tensor must have a last dimension with stride 1")
    if not _has_even_strides(array):
        raise RuntimeError("Tensor must have a stride divisible by 2 for all but last dimension")
    return _view_as_complex(input)


def _has_even_strides(parts: np.ndarray[Any, Any]) -> bool:
    """Whether pairs of elements lie as complex numbers do; a size of 1 is never stepped."""
    steps = zip(parts.shape[:-1], parts.strides, strict=False)
    return not any([size > 1 and stride % (2 * parts.itemsize) for size, stride in steps])


def _whole(parts: Tensor) -> Tensor:
    """``view_as_complex``, of a copy if the parts do not lie as it asks for."""
    array = parts._array
    lies_well = array.strides[-1] == array.itemsize and _has_even_strides(array)
    return view_as_complex(parts if lies_well else parts.contiguous())


tensor_interface.register(as_real=view_as_real, as_complex=_whole)


def real(input: Tensor) -> Tensor:
    """The real part: a view of a complex tensor, a real tensor itself."""
    if input._array.dtype.kind != "c":
        return input
    return select(view_as_real(conj(input) if is_conj(input) else input), -1, 0)


def imag(input: Tensor) -> Tensor:
    """The imaginary part, a view.

    Raises:
        RuntimeError: for a real tensor, which has none.
    """
    if input._array.dtype.kind != "c":
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    if is_conj(input):
        return select(_neg_view(view_as_real(conj(input))), -1, 1)
    return select(view_as_real(input), -1, 1)


def _part(name: str, function: Any) -> property:
    def assign(self: Tensor, value: Any) -> None:
        function(self).copy_(value) if isinstance(value, Tensor) else function(self).fill_(value)

    return property(function, assign, doc=f"The {name} part.")


method("real")(_part("real", real))
method("imag")(_part("imaginary", imag))


# --- conjugates -----------------------------------------------------------------------------------


@method()
def conj_physical(input: Tensor) -> Tensor:
    """The complex conjugate in memory of its own; a real tensor itself."""
    return _conj_physical(input)


install_in_place(conj_physical, repeats=True, refused=None)


@method()
def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part."""
    if input._array.dtype.kind == "c":
        return pointwise("eq")(imag(input), 0)
    return new_tensor(constant_beside(input._array, np.ones(input._array.shape, bool)))


def detach(input: Tensor) -> Tensor:
    """``input.detach()``: the same memory without history."""
    return input.detach()
