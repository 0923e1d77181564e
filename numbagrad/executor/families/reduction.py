"""Reductions of ndarrays: one compiled kernel a dtype and walk, found by a native launcher.

Called by ``ops/reductions/reduction.py``. A ``Reduction`` says what is computed: a formula for
every element, how two partial results combine, and a formula for the result. A ``ReductionProgram``
is one of them for one requested dtype; its ``launch`` attribute is the compiled launcher.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...backend import foreign, shared_by
from ...codegen.template import renamed
from ...dtype import bool_, computed_as, dtype_from_name, from_numpy, int64
from ...dtype import dtype as DType
from ...formula import Formula, print_numba, trace
from ...kernels import layout
from ...kernels.reduction import layout as reduction_layout
from ...kernels.reduction import source as reduction
from ...kernels.vector_math import CPU_LOWERING
from ...native import layout as native_layout
from ...type_names import given_for_tensor
from .. import capture
from ..builtin import (
    KernelTable,
    LaunchMiss,
    Repairs,
    at_hand,
    leave_to_capture,
    make_launcher,
)
from ..cache import library
from ..mode import NATIVE
from ..plan import direct
from ..plan.forms import reduced_shape
from .complex_parts import from_parts, parts_of_array
from .complex_pointwise import refused

Array = np.ndarray[Any, Any]

#: Complex numbers in a row of those that are added up by rows: vectors of both parts.
_ROW = 16
#: Complex numbers of an array, and of each result, from which on that takes less time.
_WORTH_ROWS, _RUN = 8192, 128


def _not_zero(array: Array) -> Array:
    return np.asarray(array != 0)


def _product_of_complex(array: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
    return np.asarray(array.prod(axes, keepdims=keepdim))


@dataclasses.dataclass(frozen=True)
class Reduction:
    """The definition of a reduction: map, combine, finalise.

    `combine` names a function of ``kernels/reduction/combine.py``. `map` is a formula of ``x``,
    and if need be of ``shift`` (one value for each result) and ``p`` (a number); None takes the
    elements as they are. `finalise` is a formula of ``total``, ``number`` (of reduced elements)
    and ``p``. `result` is "same" (as the input), "sum" (integers become int64) or the name of a
    dtype; `map_input` computes the map in the dtype of the input rather than in that of the
    result.
    """

    name: str
    combine: str
    map: Callable[..., Any] | None = None
    finalise: Callable[..., Any] | None = None
    result: str = "same"
    map_input: bool = False

    def dtypes_of(self, stored: DType, requested: DType | None) -> tuple[str, str, str]:
        """Names of the dtypes of the map, of the partial results and of the result."""
        if requested is not None:
            result = requested
        elif self.result == "same":
            result = stored
        elif self.result == "sum":
            result = stored if stored.has_fractions else int64
        else:
            result = dtype_from_name(self.result)
        state = computed_as(result).name
        computed = state
        if self.map_input:
            computed = "uint8" if stored is bool_ else computed_as(stored).name
        return computed, state, result.name


def _printed(formula: Formula | None, name: str, dtype: str) -> tuple[list[str], str]:
    """The statements of a formula and the variable with its value."""
    if formula is None:
        return [], name
    lines, results = print_numba(formula, dtype, CPU_LOWERING)
    return lines, results[0]


class ReductionProgram:
    """A reduction with a requested dtype (or None), and the kernels compiled for its signatures.

    Attributes:
        launch: ``launch(array, mask, keepdim, shift=None, parameters=None) -> ndarray``, where bit
            d of ``mask`` says that dimension d is reduced. Raises ``LaunchMiss``; pass that to
            :meth:`resolve` with the arguments.
    """

    __slots__ = ("definition", "requested", "launch", "_table", "_formulas")

    def __init__(self, definition: Reduction, requested: DType | None = None):
        self.definition = definition
        self.requested = requested
        self._table: KernelTable | None = None
        self._formulas: tuple[Formula | None, Formula | None] | None = None
        self.launch: Callable[..., Array] = self._first_launch if NATIVE else self._call_directly

    #: How many arrays a call returns.
    outputs = 1

    def _first_launch(self, *arguments: Any) -> Array:
        leave_to_capture()
        function = "reduce_all" if self.outputs == 1 else "reduce"
        if not at_hand(function, "reduction_launch"):
            return self._call_directly(*arguments)
        with library.lock:
            if self._table is None:
                table = KernelTable(self.outputs, reduction_layout.GRAIN)
                self._install(function, table)
                self._table = table
        return self.launch(*arguments)

    def _install(self, function: str, table: KernelTable) -> None:
        """Make a launcher of this program what ``launch`` is."""
        self.launch = make_launcher(
            self.definition.name, table.record, function, "reduction_launch"
        )

    def resolve(self, miss: LaunchMiss, *arguments: Any) -> Array:
        """Compile what a call missed, and call again; arrays of another backend go to that."""
        special = self._special_way(arguments[0])
        if special is not None:
            return special(*arguments)
        repairs = Repairs(self.definition.name)
        code = miss.args[0]  # the exception itself would be in a cycle with this frame
        while True:
            if code == native_layout.MISS_CAPTURE:
                if made := capture.hand_over("reduce", self, arguments):
                    return made[0]
            elif not self._repair(repairs, code, arguments):
                return self._call_directly(*arguments)
            try:
                return self.launch(*arguments)
            except LaunchMiss as again:
                code = again.args[0]

    def _repair(self, repairs: Repairs, code: int, arguments: tuple[Any, ...]) -> bool:
        """Compile what a call missed; False for a launcher that another process compiles."""
        if code == native_layout.MISS_GENERAL and not at_hand("reduce", "reduction_launch"):
            return False
        repairs.add(code, arguments)
        self._compile(code, arguments[0])
        return True

    def _special_way(self, array: Array) -> Callable[..., Array] | None:
        """The function that reduces an array no kernel of the CPU takes; None for others."""
        if foreign(array) is not None:
            return self._run_elsewhere
        return self._of_complex if array.dtype.kind == "c" else None

    def _run_elsewhere(self, *arguments: Any) -> Array:
        """A call on an array of another backend; handed over if this thread records."""
        where: Any = shared_by(self.definition.name, (arguments[0], *arguments[3:4]))
        if arguments[0].dtype.kind == "c":
            return self._of_complex(*arguments)
        if capture.active is not None:
            if made := capture.hand_over("reduce", self, arguments):
                return made[0]
        found: Array = where.reduce(self, *arguments)
        return found

    def _of_complex(self, array: Array, mask: int, keepdim: bool, *rest: Any) -> Array:
        """A sum or a mean of each part, a product by NumPy, or a question for zeros."""
        combine = self.definition.combine
        if combine in ("either", "both"):
            return self.run(capture.call(_not_zero, array), mask, keepdim)
        if rest or self.definition.map is not None or combine not in ("add", "multiply"):
            raise refused(self.definition.name, from_numpy(array.dtype))
        capture.refuse("a reduction of complex numbers")
        axes = tuple([d for d in range(array.ndim) if (mask >> d) & 1])
        if combine == "multiply":
            made: Array = capture.call(_product_of_complex, array, axes, keepdim)
            return made
        if not axes:
            return array.copy()
        if self._is_worth_rows(array, axes):
            return self._by_rows(array, axes, keepdim)
        return from_parts(self.run(parts_of_array(array), mask & ((1 << array.ndim) - 1), keepdim))

    def _is_worth_rows(self, array: Array, axes: tuple[int, ...]) -> bool:
        """Whether the complex numbers of each result lie in one long run.

        A mean is one of means, if these are of as many.
        """
        if foreign(array) is not None or array.size < _WORTH_ROWS:
            return False
        if not array.flags.c_contiguous:
            return False
        count = math.prod(array.shape[axes[0] :])
        is_run = axes[0] + len(axes) == array.ndim and count >= _RUN
        return is_run and (self.definition.finalise is None or count % _ROW == 0)

    def _by_rows(self, array: Array, axes: tuple[int, ...], keepdim: bool) -> Array:
        """Reduce rows of several numbers, which are vectors of both parts, and then those numbers.

        Real and imaginary parts by themselves would be reduced one by one.
        """
        shape = reduced_shape(array.shape, sum([1 << d for d in axes]), keepdim)
        kept = math.prod(array.shape[: axes[0]])
        parts = parts_of_array(array).reshape(kept, -1, 2)
        whole = parts.shape[1] // _ROW * _ROW
        rows = parts[:, :whole].reshape(kept, -1, 2 * _ROW)
        reduced = self.run(rows, 1 << 1, False).reshape(kept, _ROW, 2)
        if whole < parts.shape[1]:
            reduced = np.concatenate([reduced, parts[:, whole:]], 1)
        return from_parts(self.run(reduced, 1 << 1, False).reshape(*shape, 2))

    def run(self, *arguments: Any) -> Array:
        """``launch``, and what it takes where a kernel is missing."""
        try:
            return self.launch(*arguments)
        except LaunchMiss as miss:
            return self.resolve(miss, *arguments)

    @property
    def formulas(self) -> tuple[Formula | None, Formula | None]:
        """The traced map and finalise, None where there is none."""
        if self._formulas is None:
            made = self.definition
            self._formulas = (
                trace(made.map) if made.map is not None else None,
                trace(made.finalise) if made.finalise is not None else None,
            )
        return self._formulas

    def _compile(self, key: int, array: Array) -> None:
        """Compile the kernel, or the launcher, that a call missed."""
        if key == native_layout.MISS_GENERAL:
            assert self._table is not None
            self._install("reduce", self._table)
            return
        if key == native_layout.MISS_LIMIT:
            raise RuntimeError(
                f"{self.definition.name}: at most {layout.MAX_DIMENSIONS} dimensions are "
                f"supported, got {array.ndim}"
            )
        if key < 0:
            raise TypeError(
                f"{self.definition.name}: expected a Tensor, got {given_for_tensor(array)}"
            )
        assert self._table is not None
        stored = from_numpy(array.dtype)
        _, _, result = self.definition.dtypes_of(stored, self.requested)
        kernel = self.kernel(key, stored)
        type_code = dtype_from_name(result).type_num
        self._table.insert(key, kernel, type_code, self.state_size(stored))

    def state_size(self, stored: DType) -> int:
        """Bytes of a partial result."""
        _, state, _ = self.definition.dtypes_of(stored, self.requested)
        return dtype_from_name(state).itemsize

    def kernel(self, key: int, stored: DType) -> int:
        """The address of the kernel of a signature."""
        return library.generated(self.definition.name, self.source(key, stored), code="rows")

    def source(self, key: int, stored: DType) -> str:
        """The text of the kernel of a signature."""
        computed, state, result = self.definition.dtypes_of(stored, self.requested)
        variant = (key >> reduction_layout.VARIANT_SHIFT) & 3
        map_formula, finalise = self.formulas
        uses: set[str] = set()
        lines, mapped = _printed(None, "x", computed)
        input_dtype = stored.name
        if (key >> reduction.JOIN_SHIFT) & 1:
            input_dtype = computed = state
        elif map_formula is not None:
            lines, mapped = _printed(map_formula, "x", computed)
            uses |= map_formula.uses
        final_lines, finalised = renamed(*_printed(finalise, "total", state), "last")
        uses |= finalise.uses if finalise is not None else frozenset()
        return reduction.source(
            self.definition.name,
            (input_dtype, computed, state, result),
            variant,
            self.definition.combine,
            reduction.Formulas(lines, mapped, final_lines, finalised, frozenset(uses)),
        )

    def _call_directly(self, *arguments: Any) -> Any:
        return direct.reduce(self, *arguments)

    def results(self, stored: DType) -> tuple[DType, ...]:
        """The dtypes of what a call returns."""
        return (dtype_from_name(self.definition.dtypes_of(stored, self.requested)[2]),)


class SelectionProgram(ReductionProgram):
    """``max`` or ``min`` with the index of the first element that reaches it.

    ``call(array, mask, keepdim)`` returns values and indices; the index counts the reduced elements
    in memory order, so several dimensions are to be merged before. No dimension is empty.
    """

    __slots__ = ()
    outputs = 2

    def source(self, key: int, stored: DType) -> str:
        """The text of the kernel of a signature."""
        variant = (key >> reduction_layout.VARIANT_SHIFT) & 3
        return reduction.selection_source(self.definition.name, stored.name, variant)

    def results(self, stored: DType) -> tuple[DType, ...]:
        """The dtypes of values and indices."""
        return stored, int64

    def state_size(self, stored: DType) -> int:
        """Bytes of an element: no result is made of parts."""
        return stored.itemsize
