"""One operation at once, run as programs run it: lowered, and without a launcher.

Called by the ``Trace``. What eager execution compiles once, to be fast at every call, would cost
a call that is captured once more than all of its kernels. So a capture uses the launchers that
are there, in this process or on disk, and otherwise does without, until they have become worth
compiling, and another process has done that. The bits are the same.

Each function returns what the call made, or None where that is left to the launcher.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from ..executor.builtin import described, launcher_address
from ..executor.cache import library
from ..executor.plan import result_forms
from ..executor.plan.operations import Array, Operation, Product, Reduce, Rowwise
from .input_numbers import DrawnNumber
from .program import Program

if TYPE_CHECKING:
    from .trace import Trace


#: Calls without a launcher after which it is compiled: each costs a fifth of a millisecond more.
CALLS_WORTH_COMPILING = 256

#: How many calls of this process did without a launcher; as many as that if it is there.
_calls: dict[str, int] = {}


def pointwise(
    trace: Trace, program: Any, inputs: tuple[Any, ...], into: Array | None
) -> tuple[Array, ...] | None:
    """A call of a ``PointwiseProgram`` with ndarrays and plain numbers."""
    if _uses_launcher("pointwise") and (
        _is_short(inputs) or _uses_launcher("pointwise_general", "broadcast")
    ):
        return None
    inputs = tuple([float(x) if isinstance(x, DrawnNumber) else x for x in inputs])
    outputs = result_forms.pointwise_outputs(program, inputs, into)
    if outputs is not None:
        new = into is None or trace.is_new(into)
        operation = trace.pointwise_operation(program, inputs, outputs, new)
        _run(trace, dataclasses.replace(operation, eager=True))
    return outputs


def reduce(trace: Trace, program: Any, arguments: tuple[Any, ...]) -> Array | None:
    """A call of a ``ReductionProgram``."""
    array, mask, keepdim, *_ = arguments
    if _uses_launcher("reduce_all", "reduction_launch") and _uses_launcher(
        "reduce", "reduction_launch"
    ):
        return None
    made = result_forms.reduced(program, array, int(mask), bool(keepdim))
    if made is None or len(made) > 1 or not array.size:
        return None
    _run(trace, Reduce.of_call(trace.view, program, arguments, made))
    return made[0]


def rowwise(trace: Trace, program: Any, dim: int, arrays: tuple[Array, ...]) -> Array | None:
    """A call of a ``RowwiseProgram``."""
    if _uses_launcher("along", "rowwise_launch"):
        return None
    made = result_forms.row_results(program, arrays)
    if made is None or len(made) > 1 or not made[0].size:
        return None
    _run(trace, Rowwise.of_call(trace.view, program, dim, arrays, made))
    return made[0]


def product(trace: Trace, a: Array, b: Array) -> Array | None:
    """A call of the matrix product."""
    if _uses_launcher("matmul", "matmul_launch"):
        return None
    made = result_forms.multiplied(a, b)
    if made is not None:
        _run(trace, Product.of_call(trace.view, a, b, made))
    return made


#: Launchers that were found to be there, by name and module; they stay.
_found: set[tuple[str, str]] = set()


def _uses_launcher(name: str, module: str = "launch") -> bool:
    """Whether a launcher is there, or has become worth compiling. Counts the calls without it."""
    calls = _calls.get(name, 0)
    if calls >= CALLS_WORTH_COMPILING:
        return library.ready([described(name, module)])
    there = _is_there(name, module)
    _calls[name] = CALLS_WORTH_COMPILING if there else calls + 1
    return there


def _is_there(name: str, module: str) -> bool:
    """Whether a launcher need not be compiled."""
    return launcher_address(name, module, compiling=False) != 0


def _is_short(operands: tuple[Any, ...]) -> bool:
    """Whether the launcher of contiguous arrays of one shape does not ask for the general one."""
    arrays = [x for x in operands if isinstance(x, np.ndarray) and x.ndim]
    one_shape = len({x.shape for x in arrays}) < 2
    return one_shape and all([x.flags.c_contiguous for x in arrays])


def _run(trace: Trace, operation: Operation) -> None:
    """Run an operation on the memory that it was captured with."""
    views = *operation.reads, *operation.writes
    arrays = {view.memory: view.memory.array for view in views}
    Program([operation], [trace.view(x) for x in arrays.values()], []).run([*arrays.values()])


__all__ = ["pointwise", "product", "reduce", "rowwise"]
