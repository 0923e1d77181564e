"""Conversion between dtypes: one compiled loop for each pair of them, over any strides.

Called by ``ops/conversion.py``. The loop is the pointwise kernel of the formula ``x``, computed in
a dtype that makes the conversion C's: towards zero, and around the range of narrow integers.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ..dtype import bool_, float16, float32, int64
from ..dtype import dtype as DType
from ..dtype import from_numpy as dtype_of
from ..formula import trace
from . import library
from .builtin import LaunchMiss
from .pointwise import GRAIN, JIT_DISABLED, PointwiseProgram, decode


class ConversionProgram(PointwiseProgram):
    """``into(source, output)`` converts the elements of one ndarray to the dtype of another."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__("to_copy", lambda: trace(lambda x: x), "same", GRAIN)

    def _compile(self, key: int, into: bool) -> None:
        assert self._tables is not None
        codes = decode(key, 2)
        source, stored = codes[0].dtype, codes[1].dtype
        assert source is not None and stored is not None
        text = self.source(codes, _computed_in(source, stored), stored, key)
        self._tables[into].insert(key, library.generated(self.name, text), 0, 0)


def _computed_in(source: DType, stored: DType) -> DType:
    """The dtype that elements are loaded as: what is left is exact, or drops leading bits."""
    if stored is bool_:
        computed = source
    elif source.is_floating_point and not stored.is_floating_point:
        computed = int64
    else:
        computed = stored
    return float32 if computed is float16 else computed


@functools.lru_cache(maxsize=1)
def _program() -> ConversionProgram:
    return ConversionProgram()


def convert(array: np.ndarray[Any, Any], kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A copy of ``array`` as ``kind``; dense, in the order of its strides."""
    dtype_of(kind)
    if array.dtype == kind:
        return array.copy("K")
    if JIT_DISABLED:
        with np.errstate(invalid="ignore", over="ignore"):
            return array.astype(kind, order="K")
    converted = np.empty_like(array, kind)
    program = _program()
    try:
        program.into(array, converted)
    except LaunchMiss as miss:
        program.resolve(miss, (array, converted), into=True)
    return converted
