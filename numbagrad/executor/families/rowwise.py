"""Definitions over rows, as softmax, and scans on ndarrays: one kernel a dtype and dimension.

Called by ``ops/reductions/softmax.py`` and ``ops/reductions/scan.py``. A program's ``launch``
attribute is the launcher; ``run`` compiles what it misses and makes inputs contiguous
first.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import half_precision as half
from ...backend import shared_by
from ...dtype import dtype as DType
from ...dtype import dtype_from_name, from_numpy, int64
from ...formula import Expression, Formula, print_numba, symbol, trace
from ...formula.rows import RowFormula, trace_rows
from ...kernels import layout
from ...kernels.pointwise.source import Operand
from ...kernels.rowwise import scan as rowwise
from ...kernels.vector_math import cpu_lowering
from ...native import layout as native_layout
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
from .complex_pointwise import refused

Array = np.ndarray[Any, Any]
Printed = tuple[list[str], str]


def _printed(formula: Formula, dtype: str) -> Printed:
    lines, results = print_numba(formula, dtype, cpu_lowering())
    return lines, results[0]


class RowwiseProgram:
    """A kernel family along one dimension; subclasses say its source and dtypes.

    Attributes:
        launch: ``launch(dim, *arrays) -> ndarray``, or a tuple of them. Raises ``LaunchMiss``.
    """

    outputs = 1

    def __init__(self, name: str):
        self.name = name
        self._table: KernelTable | None = None
        self.launch: Callable[..., Any] = self._first_launch if NATIVE else self._call_directly

    def _first_launch(self, *arguments: Any) -> Any:
        leave_to_capture()
        if not at_hand("along", "rowwise_launch"):
            return self._call_directly(*arguments)
        with library.lock:
            if self._table is None:
                table = KernelTable(self.outputs, rowwise.GRAIN)
                self.launch = make_launcher(self.name, table.record, "along", "rowwise_launch")
                self._table = table
        return self.launch(*arguments)

    def run(self, dim: int, *arrays: Array) -> Any:
        """``launch``, whatever is missing; ``dim`` counts from 0."""
        repairs = None
        while True:
            try:
                return self.launch(dim, *arrays)
            except LaunchMiss as miss:
                key = miss.args[0]
            if (where := shared_by(self.name, arrays)) is not None:
                if arrays[0].dtype.kind == "c":
                    return capture.call(self.of_complex, dim, *arrays)
                if capture.active is not None:
                    if made := capture.hand_over("rowwise", self, dim, arrays):
                        return made[0]
                return where.rowwise(self, dim, *arrays)
            if key == native_layout.MISS_CAPTURE:
                if arrays[0].dtype.kind == "c":
                    return capture.call(self.of_complex, dim, *arrays)
                if made := capture.hand_over("rowwise", self, dim, arrays):
                    return made[0]
                continue
            repairs = repairs or Repairs(self.name)
            repairs.add(key, (dim, *arrays))
            if key == rowwise.MISS_CONTIGUOUS:
                arrays = tuple([np.ascontiguousarray(x).reshape(x.shape) for x in arrays])
            elif arrays[0].__class__ is np.ndarray and arrays[0].dtype.kind == "c":
                return self.of_complex(dim, *arrays)
            elif key == native_layout.MISS_OPERAND:
                raise TypeError(f"{self.name}: expected Tensors, got {type(arrays[0]).__name__}")
            else:
                self._compile(key, from_numpy(arrays[0].dtype))

    def _compile(self, key: int, stored: DType) -> None:
        assert self._table is not None
        variant = key >> rowwise.VARIANT_SHIFT
        kernel = self.kernel(stored, variant)
        types = 0
        for j, result in enumerate(self.results(stored)):
            types |= result.type_num << (native_layout.CODE_BITS * j)
        self._table.insert(key, kernel, types, 0)

    def results(self, stored: DType) -> tuple[DType, ...]:
        """The dtypes of the outputs."""
        return (stored,)

    def kernel(self, stored: DType, variant: int) -> int:
        """The address of the kernel for a dtype and a variant of ``kernels/rowwise/scan.py``."""
        code = "rows" if variant == rowwise.ROWS else "formula"
        return library.generated(self.name, self.source(stored, variant), code=code)

    def source(self, stored: DType, variant: int) -> str:
        """The text of that kernel."""
        raise NotImplementedError(self.name)

    def of_complex(self, dim: int, *arrays: Array) -> Any:
        """The same for complex numbers, where there is such a thing."""
        raise refused(self.name, from_numpy(arrays[0].dtype))

    def _call_directly(self, dim: int, *arrays: Array) -> Any:
        return direct.rowwise(self, dim, *arrays)


# --- definitions over rows ------------------------------------------------------------------------


class RowDefinition(RowwiseProgram):
    """An operator of float32 or float64 defined in Tensor operations along one dimension.

    ``definition(*tensors, dim)`` uses arithmetic, functions of elements, and reductions of ``dim``
    that keep it; its result has the shape of the tensors. It is traced once, and fused into one
    pass over each row.
    """

    def __init__(self, name: str, definition: Callable[..., Any]):
        super().__init__(name)
        self.definition = definition

    @functools.cached_property
    def rows(self) -> RowFormula:
        """The formula over a row."""
        return trace_rows(self.definition)

    def source(self, stored: DType, variant: int) -> str:
        """See :class:`RowwiseProgram`."""
        from ...kernels.rowwise import definition  # printed only on a miss
        from ..plan.stages import Cut, Work

        reductions: list[tuple[str, str, Expression]] = []

        def combined(kind: str, value: Expression) -> Expression:
            reductions.append((f"r{len(reductions)}", kind, value))
            return symbol(reductions[-1][0])

        inputs = [f"x{k}" for k in range(len(self.rows.inputs))]
        made = self.rows.of(dict(zip(self.rows.inputs, map(symbol, inputs), strict=True)), combined)
        stores = [(Operand("out", stored.name, layout.UNIT), made)]
        work = Work(stored.name, inputs, frozenset(inputs), reductions, stores)
        cut = Cut(work)
        if cut.positions > 1:  # there is room for one value an element, where the output will be
            cut = Cut(work, keep=math.inf)
        described = f"{self.name} of {stored.name}{', long rows' * (variant == rowwise.LONG_ROWS)}"
        return definition.stages_source(described, stored.name, variant, inputs, cut.stages)


# --- scans ----------------------------------------------------------------------------------------


class Scan(RowwiseProgram):
    """``state = step(state, *inputs)`` along a dimension, with every state an output.

    Floats are carried in float64, integers in int64, and rounded when they are stored. ``widens``
    says that integers give int64, as sums do; else the result has the dtype of the input.
    ``complex_step`` is the step of arrays of complex numbers where ``step`` is more than sums and
    products.
    """

    def __init__(
        self,
        name: str,
        start: float,
        step: Callable[..., Any],
        *,
        requested: DType | None = None,
        widens: bool = False,
        reverse: bool = False,
        complex_step: Callable[..., Any] | None = None,
    ):
        super().__init__(name)
        self._start = start
        self._step = trace(step)
        self._of_numbers = step if complex_step is None else complex_step
        self._requested = requested
        self._widens = widens
        self._reverse = reverse

    def results(self, stored: DType) -> tuple[DType, ...]:
        """See :class:`RowwiseProgram`."""
        if self._requested is not None:
            return (self._requested,)
        return (int64 if self._widens and not stored.has_fractions else stored,)

    def _state(self, stored: DType) -> str:
        (result,) = self.results(stored)
        return "float64" if result.is_floating_point else "int64"

    def source(self, stored: DType, variant: int) -> str:
        """See :class:`RowwiseProgram`."""
        state = self._state(stored)
        start = "-math.inf" if self._start == -np.inf else repr(self._start)
        return rowwise.scan_source(
            self.name,
            (stored.name, state, self.results(stored)[0].name),
            variant,
            list(self._step.inputs[1:]),
            start,
            _printed(self._step, state),
            self._reverse,
        )

    def of_complex(self, dim: int, *arrays: Array) -> Array:
        """Step by step with NumPy."""
        return self._run_steps(self._of_numbers, "complex128", dim, arrays)

    def _run_steps(
        self, step: Callable[..., Any], name: str, dim: int, arrays: tuple[Array, ...]
    ) -> Array:
        stored = from_numpy(arrays[0].dtype)
        inputs = [np.moveaxis(np.atleast_1d(half.readable(x)), dim, 0).astype(name) for x in arrays]
        made = np.empty(inputs[0].shape, dtype=name)
        state = np.full(made.shape[1:], self._start, dtype=name)
        order = range(len(made))
        for k in reversed(order) if self._reverse else order:
            state = step(state, *[x[k] for x in inputs])
            made[k] = state
        result = half.converted(np.moveaxis(made, 0, dim), self.results(stored)[0].numpy)
        return np.ascontiguousarray(result).reshape(arrays[0].shape)


class RunningExtremum(RowwiseProgram):
    """``cummax`` or ``cummin``: values, and the indices where they were last reached."""

    outputs = 2

    def results(self, stored: DType) -> tuple[DType, ...]:
        """See :class:`RowwiseProgram`."""
        return stored, int64

    def source(self, stored: DType, variant: int) -> str:
        """See :class:`RowwiseProgram`."""
        return rowwise.running_extremum_source(self.name, stored.name, variant)


__all__ = [
    "RowDefinition", "RunningExtremum", "Scan", "dtype_from_name",
]  # fmt: skip
