"""The planner's answers: from the forms of operands to the forms of results.

``pointwise``, ``reduction``, ``rowwise`` and ``product`` answer for their kind of kernel; what is
gathered or scattered has the shape of an operand. Calls that Python plans make arrays of these
forms: those without launchers, those of complex numbers, and those of recordings. The functions
behind them (``pointwise_outputs`` and the others) make the arrays that launchers would make,
without elements, and return None for a call that is not of the ordinary kind: one that a launcher
refuses, or does more for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...backend import is_array
from ...dtype import dtype as DType
from ...dtype import from_numpy
from ...kernels import layout
from ...number_range import SAFE
from .dtypes import code_of
from .forms import (
    Array,
    Form,
    ShapesDiffer,
    broadcast,
    broadcast_operands,
    contiguous,
    dense,
    reduced_shape,
)
from .sharing import apart_or_same, check_written_once, refuse_overlap, repeats

#: Numbers of a smaller magnitude are exact, or at least finite, in every dtype for fractions.
_ORDINARY = 2.0**53


def pointwise(
    program: Any, operands: Sequence[Any], into: Array | None = None
) -> tuple[DType, tuple[Form, ...]]:
    """The dtype a call on ndarrays and numbers computes in, and what it makes, or writes ``into``.

    Raises:
        RuntimeError, NotImplementedError: torch's, for shapes and dtypes that do not fit.
    """
    shape = broadcast_operands(program.name, operands, into)
    codes = [code_of(x, len(shape)) for x in operands]
    stored = None if into is None else from_numpy(into.dtype)
    compute, result = program.rules.of(codes, stored)
    if into is not None:
        check_written_once(into)
        refuse_overlap(into, operands)
        return compute, (Form.of(into),)
    arrays = [x for x in operands if is_array(x)]
    return compute, (dense(shape, result.numpy, arrays),) * program.outputs


def reduction(program: Any, source: Any, mask: int, keepdim: bool) -> tuple[Form, ...]:
    """The forms of the results of a reduction; bit d of ``mask`` says that d is reduced."""
    shape = reduced_shape(source.shape, mask, keepdim)
    kinds = program.results(from_numpy(source.dtype))
    return tuple([contiguous(shape, kind.numpy) for kind in kinds])


def rowwise(program: Any, source: Any) -> tuple[Form, ...]:
    """The forms of the results of a ``RowwiseProgram``."""
    kinds = program.results(from_numpy(source.dtype))
    return tuple([contiguous(source.shape, kind.numpy) for kind in kinds])


def product(a: Any, b: Any) -> Form:
    """The form of the product of two stacks of matrices whose leading dimensions fit."""
    batch = broadcast([a.shape[:-2], b.shape[:-2]])
    return contiguous((*batch, a.shape[-2], b.shape[-1]), a.dtype)


# --- arrays in the place of those of launchers ----------------------------------------------------


def pointwise_outputs(
    program: Any, inputs: tuple[Any, ...], into: Array | None = None
) -> tuple[Array, ...] | None:
    """The outputs of a call of a ``PointwiseProgram``; ``into`` if that is what it writes.

    Raises what the call would raise for the dtypes of its operands.
    """
    arrays = [x for x in inputs if isinstance(x, np.ndarray)]
    given = arrays if into is None else [*arrays, into]
    if not arrays or not all([_is_plain(x) for x in given]):
        return None
    rank = max([x.ndim for x in given])
    if rank > layout.MAX_DIMENSIONS or len(inputs) + program.outputs > layout.MAX_OPERANDS:
        return None
    if not _fit(arrays, into):
        return None
    compute, forms = pointwise(program, inputs, into)
    codes = [code_of(x, rank) for x in inputs]
    rules, whole = program.rules, not compute.is_floating_point
    if program.refuses_zero_divisors and whole:
        return None
    for position, x in enumerate(inputs):
        if isinstance(x, np.ndarray):
            continue
        # Where a number has to fit float16, only that is narrower than what is computed in.
        narrow = rules.limit(position, compute, codes).name == "float16" and abs(x) > SAFE
        kind = rules.number(position, compute).name
        if narrow or (whole and rules.inputs[position] in rules.weak) or not _is_ordinary(x, kind):
            return None
    if into is None:
        return made(forms)
    return (into,) if all([apart_or_same(x, into) for x in arrays]) else None


def _fit(arrays: list[Array], into: Array | None) -> bool:
    """Whether arrays broadcast, to the shape of what is written if there is that."""
    try:
        shape = broadcast([x.shape for x in arrays])
    except ShapesDiffer:
        return False
    return into is None or (into.shape == shape and not repeats(into))


def reduced(program: Any, array: Array, mask: int, keepdim: bool) -> tuple[Array, ...] | None:
    """The results of a ``ReductionProgram`` for an array."""
    if not _is_plain(array) or array.ndim > layout.MAX_DIMENSIONS:
        return None
    return made(reduction(program, array, mask, keepdim))


def row_results(program: Any, arrays: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """The results of a ``RowwiseProgram`` for contiguous arrays."""
    if not all([_is_plain(x) and x.flags.c_contiguous for x in arrays]):
        return None
    return made(rowwise(program, arrays[0]))


def multiplied(a: Array, b: Array) -> Array | None:
    """The product of two stacks of matrices."""
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.itemsize < 4:
        return None
    if a.ndim != b.ndim or not 2 <= a.ndim <= 4 or a.shape[-1] != b.shape[-2]:
        return None
    return product(a, b).empty()


def made(forms: Sequence[Form]) -> tuple[Array, ...]:
    """New arrays of these forms."""
    return tuple([form.empty() for form in forms])


def _is_plain(array: Array) -> bool:
    """Whether kernels read an array as it is."""
    return (
        array.__class__ is np.ndarray
        and array.dtype.kind in "fiubV"
        and array.dtype.isnative
        and not any([stride < 0 for stride in array.strides])
    )


def _is_ordinary(number: Any, kind: str) -> bool:
    """Whether a Python number reaches a kernel in a dtype without a question."""
    if kind == "bool":
        return number.__class__ is bool
    if number.__class__ is float:
        return kind.startswith("float") and (abs(number) < _ORDINARY or not math.isfinite(number))
    if number.__class__ is bool:
        return True
    if number.__class__ is not int:
        return False
    if kind.startswith("float"):
        return abs(number) < _ORDINARY
    limits = np.iinfo(kind)
    return bool(limits.min <= number <= limits.max)
