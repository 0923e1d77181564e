"""From an operator to its forward on arrays: the way of a call that no launcher takes.

Launchers take the ordinary case and answer no to all others; then ``call`` goes the way of every
kind of operator. It looks once at the arguments, and what it sees is a word with a bit for each
layer that may have to act. Where none has, it runs the forward and records the result. Else the
first of ``LAYERS`` whose bit is set answers the call, most often with a simpler one: of the
operator for complex numbers, of the Tensors below a transformation.

A layer is a file of this folder with a function ``call(operator, arguments, arrays)``, where
``arrays`` are the arguments with the memory of Tensors in their places. ``Operator.layers``
(``ops/operators/base.py``) has the bits of those that a kind of operator needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..backend import is_array
from ..dtype import bfloat16, complex64, complex128, float16
from ..executor import capture
from ..tensor import Tensor
from ..tensor.sparse_array import SparseArray
from ..transforms.levels import Transformed
from . import complex_operands, half_precision, interception, sparse, transformations
from .bits import COMPLEX, HALF, INTERCEPTED, SPARSE, TRANSFORMED

if TYPE_CHECKING:
    from ..ops.operators.base import Operator

__all__ = ["LAYERS", "call"]

Layer = Callable[["Operator", Sequence[Any], list[Any]], Any]

#: The layers in their order. Behind them are the backend, which is ``operator.run``, and autograd,
#: which is ``operator.finish``.
LAYERS: tuple[tuple[int, Layer], ...] = (
    (TRANSFORMED, transformations.call),
    (SPARSE, sparse.call),
    (COMPLEX, complex_operands.call),
    (INTERCEPTED, interception.call),
    (HALF, half_precision.call),
)


class _Bits(dict[Any, int]):
    """The bits of arrays, by the number of their dtype."""

    def __missing__(self, number: int) -> int:
        return 0


_OF_DTYPE = _Bits(
    {kind.numpy.num: COMPLEX for kind in (complex64, complex128)}
    | {kind.numpy.num: HALF for kind in (float16, bfloat16)}
)
ndarray = np.ndarray
_OTHER = (complex, ndarray)


def call(operator: Operator, arguments: Sequence[Any]) -> Any:
    """``operator(*arguments)`` in Python: a Tensor, or a tuple of them."""
    word = 0
    arrays: list[Any] = []
    for argument in arguments:
        if isinstance(argument, Tensor):
            argument = argument._array
        kind = argument.__class__
        if kind is ndarray:
            word |= _OF_DTYPE[argument.dtype.num]
        elif kind is Transformed:
            word |= TRANSFORMED  # whose layer is the first, and looks at all arguments itself
            break
        elif kind is SparseArray:
            word |= SPARSE
        elif kind is list:
            argument, bits = _of_list(argument)
            word |= bits
        elif isinstance(argument, _OTHER) or is_array(argument):  # also NumPy's complex numbers
            word |= COMPLEX if isinstance(argument, complex) else _OF_DTYPE[argument.dtype.num]
        arrays.append(argument)
    if capture.active is not None and interception.is_open():
        word |= INTERCEPTED
    word &= operator.layers | SPARSE
    if word:
        for bit, layer in LAYERS:
            if word & bit:
                return layer(operator, arguments, arrays)
    return operator.finish(operator.run(arrays), arguments)


def _of_list(items: list[Any]) -> tuple[list[Any], int]:
    """The memory of the Tensors in a list, and the bits of all of it."""
    word = 0
    arrays = []
    for item in items:
        if isinstance(item, Tensor):
            item = item._array
            if item.__class__ is SparseArray:
                word |= SPARSE
            else:
                word |= TRANSFORMED if item.__class__ is Transformed else _OF_DTYPE[item.dtype.num]
        arrays.append(item)
    return arrays, word
