"""One operation on arrays, planned and run at once, without a compiled launcher.

Called by the families of operators where launchers are switched off (``mode.py``). Each function
takes what the launcher of its family takes and returns what that returns; it raises ``LaunchMiss``
for what is repaired outside, and torch's errors for the rest.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import address_of
from ...dtype import dtype as DType
from ...dtype import finfo
from ...kernels.layout import MAX_DIMENSIONS
from ...native.layout import MISS_LIMIT, MISS_NUMBER, MISS_OPERAND
from .. import capture
from ..builtin import LaunchMiss, leave_to_capture
from ..cache import library
from . import lowering, result_forms
from .dtypes import DtypeRules, code_of
from .launch import Launch
from .operations import Array, Operation, Pointwise, Product, Reduce, Rowwise
from .sharing import separate
from .views import View, view_of


def run(operation: Operation) -> None:
    """Run an operation on the memory that its views lie in, on this thread."""
    scratch: dict[int, Array] = {}  # its launches hand partial results to one another
    for launch in lowering.lower(operation):
        _run_launch(launch, scratch)


def _run_launch(launch: Launch, scratch: dict[int, Array]) -> None:
    launch_args = launch.args
    for word, memory, offset in launch.addresses:
        address = memory.address
        if memory.is_scratch:
            if id(memory) not in scratch:
                scratch[id(memory)] = np.empty(memory.nbytes, np.uint8)
            address = scratch[id(memory)].ctypes.data
        launch_args[word] = address + offset
    cells = [np.array([number], dtype) for _, number, dtype in launch.numbers]
    for (word, _, _), cell in zip(launch.numbers, cells, strict=True):
        launch_args[word] = cell.ctypes.data
    library.run_kernel(launch.kernel, launch_args, launch.total)


def _refuse_others(arrays: tuple[Any, ...]) -> None:
    """Raise what launchers raise for what is no ndarray that kernels read, or is more than one."""
    if capture.active is not None:
        leave_to_capture()
    for x in arrays:
        if x.__class__ is not np.ndarray or x.dtype.kind not in "fiubV":
            raise LaunchMiss(MISS_OPERAND)
        if x.ndim > MAX_DIMENSIONS:
            raise LaunchMiss(MISS_LIMIT)


def _readable(array: Array) -> Array:
    """An array that kernels read as it is: in this machine's byte order, with no stride below 0."""
    if not array.dtype.isnative:
        return array.astype(array.dtype.newbyteorder("="))
    return array.copy() if any([stride < 0 for stride in array.strides]) else array


# --- families -------------------------------------------------------------------------------------


def pointwise(program: Any, operands: tuple[Any, ...], into: Array | None) -> Any:
    """A call of a ``PointwiseProgram``: new arrays, or None where it writes ``into``."""
    given = [x for x in operands if isinstance(x, np.ndarray)]
    _refuse_others((*given, *([] if into is None else [into])))
    if any([x.__class__ not in (bool, int, float, np.ndarray) for x in operands]) or not given:
        raise LaunchMiss(MISS_OPERAND)
    readable = [_readable(x) if isinstance(x, np.ndarray) else x for x in operands]
    compute, forms = result_forms.pointwise(program, readable, into)
    if len(forms[0].shape) > MAX_DIMENSIONS:
        raise LaunchMiss(MISS_LIMIT)
    arrays = _arrays_of(program.rules, readable, len(forms[0].shape), compute)
    if into is None:
        outputs = result_forms.made(forms)
    else:
        outputs = (into,)
        arrays = [separate(x, into) for x in arrays]
    if outputs[0].size:
        signature = compute, (None,) * len(arrays)
        called = program.name, program.formula
        view = view_of if into is None else functools.partial(_view_beside, into, view_of(into))
        run(Pointwise.of_call(view, called, arrays, outputs, signature, eager=True))
    if into is not None:
        return None
    return outputs[0] if len(outputs) == 1 else tuple(outputs)


def _view_beside(into: Array, written: View, array: Array, made: bool = False) -> View:
    """An array as a view, which is ``written`` itself for what lies element for element ``into``.

    Kernels must not write such an operand too early.
    """
    form, of_into = [(address_of(x), x.shape, x.strides, x.dtype) for x in (array, into)]
    return written if form == of_into else view_of(array, made)


def _arrays_of(rules: DtypeRules, operands: Sequence[Any], rank: int, compute: DType) -> list[Any]:
    """The operands as kernels read them: numbers as arrays without dimensions.

    Raises:
        LaunchMiss: for a number that does not fit its dtype.
    """
    codes = [code_of(x, rank) for x in operands]
    narrow = rules.rounded(codes)
    arrays = []
    for position, x in enumerate(operands):
        if narrow is not None:
            x = half.converted(np.asarray(x), narrow.numpy)
        made = isinstance(x, np.ndarray)
        kinds = rules.number(position, compute), rules.limit(position, compute, codes)
        arrays.append(x if made else _number_as(x, *kinds))
    return arrays


def _number_as(number: Any, kind: DType, limit: DType) -> Array:
    """A Python number, which has to fit ``limit``, as an array without dimensions."""
    if kind.numpy.kind in "iu":
        limits = np.iinfo(kind.numpy)
        fits = isinstance(number, int) and limits.min <= number <= limits.max
    elif kind.numpy.kind == "f":
        fits = isinstance(number, float) and not np.isfinite(number)
        fits = fits or abs(number) <= finfo(limit).max
        fits = fits and not (isinstance(number, int) and not -(1 << 63) <= number < 1 << 63)
    else:
        fits = not isinstance(number, int) or 0 <= number <= 1
    if not fits:
        raise LaunchMiss(MISS_NUMBER)
    return np.array(number, kind.numpy)


def reduce(
    program: Any,
    array: Any,
    mask: int,
    keepdim: bool,
    shift: Array | None = None,
    parameters: Array | None = None,
) -> Any:
    """A call of a ``ReductionProgram``, or of a ``SelectionProgram``, which makes two arrays."""
    given = (array,) if shift is None else (array, shift)
    _refuse_others(given)
    array = _readable(array)
    if shift is not None:
        shift = np.ascontiguousarray(_readable(shift))
    mask = int(mask) & ((1 << array.ndim) - 1)
    outputs = result_forms.made(result_forms.reduction(program, array, mask, bool(keepdim)))
    arguments = array, mask, keepdim, shift, parameters
    run(Reduce.of_call(view_of, program, arguments, outputs))
    return outputs[0] if len(outputs) == 1 else outputs


def rowwise(program: Any, dim: int, *arrays: Any) -> Any:
    """A call of a ``RowwiseProgram``."""
    _refuse_others(arrays)
    arrays = tuple([np.ascontiguousarray(_readable(x)).reshape(x.shape) for x in arrays])
    outputs = result_forms.made(result_forms.rowwise(program, arrays[0]))
    if arrays[0].size:
        run(Rowwise.of_call(view_of, program, dim, arrays, outputs))
    return outputs[0] if len(outputs) == 1 else outputs


def product(a: Any, b: Any) -> Array:
    """The matrix product of two stacks of float32 or float64 matrices of one rank, up to 4."""
    _refuse_others((a, b))
    made = result_forms.multiplied(a, b)
    if made is None:
        raise LaunchMiss(MISS_OPERAND)
    run(Product.of_call(view_of, _readable(a), _readable(b), made))
    return made
