"""Sharing of memory: the bytes that a form takes, and whether two forms may share one.

Everything that plans asks here. A form is whatever has a ``shape``, ``strides`` in bytes and a
NumPy ``dtype`` (``forms.py``). The launchers answer for themselves, in ``native/broadcast.py``, by
the same ranges of bytes: whoever repairs their misses asks :func:`apart_or_same`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ...backend import address_of

Array = np.ndarray[Any, Any]

#: Where the first byte is, and the one after the last.
Range = tuple[int, int]

# --- the bytes of a form --------------------------------------------------------------------------


def bounds(form: Any, start: int = 0) -> Range:
    """The bytes that the elements lie in; ``start`` is where the first one is."""
    low = high = start
    if 0 in form.shape:
        return low, low
    for size, stride in zip(form.shape, form.strides, strict=True):
        if stride < 0:
            low += (size - 1) * stride
        else:
            high += (size - 1) * stride
    return low, high + form.dtype.itemsize


def extent(array: Array) -> Range:
    """The addresses that the elements of an array lie at."""
    start = address_of(array)
    if array.flags.c_contiguous:
        return start, start + array.nbytes
    return bounds(array, start)


def reach(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Elements from the first to past the last one of a view, strides in elements; 0 for none."""
    if 0 in shape:
        return 0
    return 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


# --- two of them ----------------------------------------------------------------------------------


def meet(first: Range, second: Range) -> bool:
    """Whether two ranges have a byte in common; one without bytes has none."""
    return max(first[0], second[0]) < min(first[1], second[1])


def may_overlap(first: Any, second: Any, start: int, other: int) -> bool:
    """Whether two forms in one memory may share a byte; ``start`` and ``other`` say where they are.

    They may not if they lie in different columns of rows of one length. Otherwise ranges decide.
    """
    if not meet(bounds(first, start), bounds(second, other)):
        return False
    steps = {*first.strides, *second.strides}
    return not any([_columns_differ(first, second, start, other, step) for step in steps])


def _columns_differ(first: Any, second: Any, start: int, other: int, step: int) -> bool:
    """Whether two forms lie in different columns of rows that are ``step`` bytes long."""
    if step <= 0:
        return False
    columns, others = _columns(first, start, step), _columns(second, other, step)
    return columns is not None and others is not None and not meet(columns, others)


def _columns(form: Any, start: int, step: int) -> Range | None:
    """The bytes of each row of ``step`` bytes that a form has, if they are one range."""
    start %= step
    end = start + form.dtype.itemsize
    for size, stride in zip(form.shape, form.strides, strict=True):
        if stride < 0:
            return None
        if stride % step and size > 1:
            end += (size - 1) * stride
    return (start, end) if end <= step else None


# --- what is written ------------------------------------------------------------------------------


def repeats(array: Array) -> bool:
    """Whether an array shows elements of its memory several times, as an expanded one does."""
    steps = zip(array.strides, array.shape, strict=True)
    return 0 not in array.shape and any([step == 0 and size > 1 for step, size in steps])


def check_written_once(output: Array) -> None:
    """Raise torch's error for an output that has elements in one place of memory."""
    if repeats(output):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


def is_dense(form: Any) -> bool:
    """Whether the elements of a form, in some order of its dimensions, lie one after another."""
    step = form.dtype.itemsize
    for stride, size in sorted(zip(form.strides, form.shape, strict=True)):
        if size != 1:
            if stride != step:
                return False
            step *= size
    return True


def _overlap(output: Array, operand: Array) -> str:
    """How an operand lies in the memory of an output, as far as torch looks.

    That is "whole" or "partly" where both lie without gaps, and else "apart": a copy of the operand
    is then read, where torch may read what it has written.
    """
    if output.base is None and operand.base is None and output is not operand:
        return "apart"  # each owns its memory
    if not output.size or not operand.size:
        return "apart"
    first, second = extent(output), extent(operand)
    if not meet(first, second) or not is_dense(output) or not is_dense(operand):
        return "apart"
    if first != second:
        return "partly"
    steps = [  # of a dimension of size 1 no stride is ever taken
        [x // y.dtype.itemsize for x, n in zip(y.strides, y.shape, strict=True) if n != 1]
        for y in (output, operand)
    ]
    return "whole" if steps[0] == steps[1] else "partly"


def refuse_overlap(output: Any, operands: Iterable[Any], *, whole: bool = False) -> None:
    """Raise torch's error for an operand that lies partly in the memory of the output.

    With ``whole``, for operators that read elements after they wrote others, also for one that is
    the output. Values that are no ndarrays are passed over.
    """
    if output.__class__ is not np.ndarray:
        return
    for operand in operands:
        if operand.__class__ is not np.ndarray or (operand is output and not whole):
            continue
        found = _overlap(output, operand)
        if found == "partly" or (whole and found == "whole"):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to "
                "tensor refer to a single memory location. Please clone() the tensor before "
                "performing the operation."
            )


def apart_or_same(array: Array, output: Array) -> bool:
    """Whether an operand shares no memory with the output, or is that, element for element."""
    if not meet(extent(array), extent(output)):
        return True
    return (
        address_of(array) == address_of(output)
        and array.shape == output.shape
        and array.strides == output.strides
        and array.dtype == output.dtype
    )


def separate(operand: Any, output: Array) -> Any:
    """An operand, copied if it lies in the memory of the output otherwise than that does."""
    if not isinstance(operand, np.ndarray) or apart_or_same(operand, output):
        return operand
    return operand.copy()
