"""Pointwise operators on ndarrays: one compiled kernel a signature, found by a native launcher.

Called by ``ops/operators/pointwise_operator.py``. A ``PointwiseProgram`` holds the formula of one
operator; its ``launch`` attribute is the launcher, which raises ``LaunchMiss`` with the key
of a signature it has no kernel for. ``resolve`` then promotes dtypes, prints the formula, compiles,
and calls again.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...backend import Backend, is_array, shared_by_operands
from ...dtype import FROM_TYPE_NUM, from_numpy, python_number
from ...dtype import dtype as DType
from ...formula import Formula
from ...kernels import layout
from ...kernels.pointwise import source as pointwise
from ...native import layout as native_layout
from ...number_range import check_bits, no_promotion
from ...type_names import given_for_tensor
from .. import capture
from ..builtin import (
    KernelTable,
    LaunchMiss,
    Repairs,
    at_hand,
    launcher_address,
    leave_to_capture,
    make_launcher,
    runtime,
)
from ..cache import library
from ..mode import NATIVE
from ..plan import direct
from ..plan.dtypes import DtypeRules, OperandCode, code_of
from ..plan.forms import broadcast_operands
from ..plan.formula_kernels import code_of_kernel, kernel_source, told_apart
from ..plan.sharing import check_written_once, refuse_overlap, separate

#: The launcher of operands that are broadcast, or do not lie in order.
_GENERAL = "pointwise_general", "broadcast"

_NUMBERS = {
    native_layout.PYTHON_BOOL: bool,
    native_layout.PYTHON_INT: int,
    native_layout.PYTHON_FLOAT: float,
}


def decode(key: int, count: int) -> list[OperandCode]:
    """The operands of a signature key."""
    operands = []
    for k in range(count):
        word = key >> (native_layout.OPERAND_BITS * k)
        code = word & ((1 << native_layout.CODE_BITS) - 1)
        number = _NUMBERS.get(code)
        operands.append(
            OperandCode(
                None if number else FROM_TYPE_NUM[code],
                (word >> native_layout.CODE_BITS) & ((1 << native_layout.LAYOUT_BITS) - 1),
                bool((word >> native_layout.SCALAR_BIT) & 1),
                number,
            )
        )
    return operands


class PointwiseProgram:
    """One formula, and the kernels compiled for its signatures.

    Attributes:
        launch: ``launch(*operands) -> ndarray`` (a tuple for several outputs), operands being
            ndarrays and Python numbers. Raises ``LaunchMiss``; pass that to :meth:`resolve`.
        launch_into: the same with a last argument, the ndarray to write.
        rules: what it says of dtypes (``DtypeRules``), once the formula is traced; its fields are
            given as ``result`` and by name.
        refuses_zero_divisors: whether integers raise if the second input has a zero.
    """

    __slots__ = (
        "name", "formula", "rules", "refuses_zero_divisors", "launch", "launch_into", "grain",
        "met", "_make_formula", "_make_rules", "_tables", "_is_set_up",
    )  # fmt: skip

    #: The class of ``rules``.
    _rules_class = DtypeRules

    def __init__(
        self,
        name: str,
        make_formula: Callable[[], Formula],
        result: str,
        grain: int,
        refuses_zero_divisors: bool = False,
        **rules: Any,
    ):
        self.name = name
        self.refuses_zero_divisors = refuses_zero_divisors
        self.grain = grain
        #: The keys of signatures that it has kernels for.
        self.met: dict[int, None] = {}
        self._make_formula = make_formula
        self._make_rules = functools.partial(self._rules_class, name, result=result, **rules)
        self.rules: DtypeRules
        self.formula: Formula | None = None
        self._tables: tuple[KernelTable, KernelTable] | None = None
        self._is_set_up = False
        self.launch: Callable[..., Any] = self._first_launch
        self.launch_into: Callable[..., Any] = self._first_launch_into

    @property
    def outputs(self) -> int:
        """How many arrays a call makes."""
        return len(self.prepare().outputs)

    def table(self, into: bool = False) -> KernelTable | None:
        """The table of ``launch`` or ``launch_into``; None if that is not the launcher alone."""
        self._set_up()
        return None if self._tables is None or self.refuses_zero_divisors else self._tables[into]

    def prepare(self) -> Formula:
        """Trace the formula when the operator is first used; returns it."""
        formula = self.formula
        if formula is None:
            with library.lock:
                formula = self.formula
                if formula is None:
                    formula = self._make_formula()
                    self.rules = self._make_rules(inputs=formula.inputs, booleans=formula.booleans)
                    self.formula = formula
        return formula

    def _call_directly(self, *operands: Any) -> Any:
        return direct.pointwise(self, operands, None)

    def _write_directly(self, *operands: Any) -> None:
        direct.pointwise(self, operands[:-1], operands[-1])

    def _without_launcher(self, into: bool) -> Callable[..., Any]:
        """Python for ``launch`` or ``launch_into``, which does the same."""
        way = self._write_directly if into else self._call_directly
        return _looking_for_zeros(way) if self.refuses_zero_divisors else way

    def _way_after(self, code: int, into: bool) -> Callable[..., Any]:
        """The launcher, for a call whose miss was repaired; Python as long as one is missing."""
        if code == native_layout.MISS_GENERAL and not runtime().general:
            return self._without_launcher(into)
        return self.launch_into if into else self.launch

    def _set_up(self) -> None:
        """Make the launchers, when the operator is first called outside of a recording."""
        formula = self.prepare()
        with library.lock:
            if self._is_set_up:
                return
            launch: Callable[..., Any] = self._call_directly
            launch_into: Callable[..., Any] = self._write_directly
            if NATIVE:
                outputs = len(formula.outputs)
                tables = (
                    KernelTable(outputs, self.grain),
                    KernelTable(outputs, self.grain, into=True),
                )
                self._tables = tables
                launch, launch_into = [
                    make_launcher(self.name, table.record, "pointwise") for table in tables
                ]
            if self.refuses_zero_divisors:
                launch, launch_into = _looking_for_zeros(launch), _looking_for_zeros(launch_into)
            self.launch, self.launch_into = launch, launch_into
            self._is_set_up = True

    def _first_launch(self, *operands: Any) -> Any:
        way = self.launch if self._leave_or_set_up() else self._without_launcher(into=False)
        return way(*operands)

    def _first_launch_into(self, *operands: Any) -> Any:
        way = self.launch_into if self._leave_or_set_up() else self._without_launcher(into=True)
        way(*operands)

    def _leave_or_set_up(self) -> bool:
        """Whether the launchers are there now: another process may be compiling them."""
        self.prepare()
        if NATIVE:
            leave_to_capture()
            if not at_hand("pointwise"):
                return False
        self._set_up()
        return True

    def key_of(self, operands: Sequence[Any]) -> int | None:
        """The key of a signature; None if no launcher takes these operands as they are."""
        if self._tables is None:
            return None
        self._tables[0].clear()
        try:
            self.launch(*operands)
        except LaunchMiss as miss:
            return miss.args[0] if miss.args[0] >= 0 else None
        return None

    def run(self, *operands: Any) -> Any:
        """``launch``, and what it takes where the launcher says no."""
        try:
            return self.launch(*operands)
        except LaunchMiss as miss:
            return self.resolve(miss, operands)

    def write(self, *operands: Any) -> None:
        """``launch_into``, and what it takes where the launcher says no."""
        try:
            self.launch_into(*operands)
        except LaunchMiss as miss:
            self.resolve(miss, operands, into=True)

    def resolve(self, miss: LaunchMiss, operands: tuple[Any, ...], into: bool = False) -> Any:
        """Compile what was missing and call again; raises torch's errors for bad operands.

        Arrays of another backend go to that.
        """
        where = shared_by_operands(self.name, operands)
        if where is not None:
            return self.run_on(where, operands, into)
        repairs = Repairs(self.name)
        code = miss.args[0]  # the exception itself would be in a cycle with this frame
        while True:
            if code == native_layout.MISS_CAPTURE:
                if made := capture.hand_over("pointwise", self, operands, into):
                    return made[0]
            else:
                operands = self._repaired(repairs, code, operands, into)
            try:
                return self._way_after(code, into)(*operands)
            except LaunchMiss as again:
                code = again.args[0]

    def run_on(self, where: Backend, operands: tuple[Any, ...], into: bool) -> Any:
        """A call on arrays of another backend; handed over if this thread records."""
        self.prepare()
        if capture.active is not None:
            if made := capture.hand_over("pointwise", self, operands, into):
                return made[0]
        operands = tuple([where.constant(x) if x.__class__ is np.ndarray else x for x in operands])
        if into:
            return where.pointwise(self, operands[:-1], operands[-1])
        return where.pointwise(self, operands, None)

    def _repaired(
        self, repairs: Repairs, code: int, operands: tuple[Any, ...], into: bool
    ) -> tuple[Any, ...]:
        """Operands to call with again, once the kernel is there that was missing, if one was."""
        if code == native_layout.MISS_GENERAL and not at_hand(*_GENERAL):
            return operands
        if code < 0:
            taken = self._repair(code, operands, into)
            repairs.add(code, operands)
            return taken
        repairs.add(code, operands)
        assert self.formula is not None
        count, expected = len(operands) - into, len(self.formula.inputs)
        if count != expected:  # a node that somebody took apart: the kernel would read beyond them
            raise TypeError(f"{self.name}: expected {expected} operands, got {count}")
        for operand in operands:
            if isinstance(operand, np.ndarray):
                from_numpy(operand.dtype)  # raises for arrays that no kernel reads
        self._compile(code, into)
        return operands

    def _repair(self, code: int, operands: tuple[Any, ...], into: bool) -> tuple[Any, ...]:
        """Operands that the launcher can take, or the error that says why there are none."""
        inputs = operands[:-1] if into else operands
        if code == native_layout.MISS_GENERAL:
            address = launcher_address(*_GENERAL)
            runtime().general = address
            return operands
        if code == native_layout.MISS_OPERAND:
            taken = tuple([_as_operand(self.name, x) for x in operands])
            require_array(self.name, taken)
            return taken
        if code == native_layout.MISS_SHAPES:
            broadcast_operands(self.name, inputs, operands[-1] if into else None)
        if code == native_layout.MISS_OVERLAP:
            output = operands[-1]
            check_written_once(output)
            refuse_overlap(output, inputs)
            return (*[separate(x, output) for x in inputs], output)
        if code == native_layout.MISS_NUMBER:
            return self._fitting(inputs, operands[-1] if into else None)
        raise RuntimeError(
            f"{self.name}: at most {layout.MAX_DIMENSIONS} dimensions and {layout.MAX_OPERANDS} "
            "operands are supported"
        )

    def _fitting(self, inputs: tuple[Any, ...], output: Any) -> tuple[Any, ...]:
        """The operands with the numbers as ones that fit what they are computed in."""
        given = inputs if output is None else (*inputs, output)
        rank = max([x.ndim for x in given if isinstance(x, np.ndarray)])
        arrays = [x for x in inputs if isinstance(x, np.ndarray)]
        codes = [code_of(x, rank) for x in inputs]
        stored = None if output is None else from_numpy(output.dtype)
        compute, _ = self.rules.of(codes, stored)
        for x in inputs:
            if isinstance(x, int):
                check_bits(x)
                if x >= 1 << 63 and all([y.dtype.kind == "b" for y in arrays]):
                    raise no_promotion("Bool")
        fitting = [
            x if isinstance(x, np.ndarray) else self.rules.fitted(position, x, compute, codes)
            for position, x in enumerate(inputs)
        ]
        return (*fitting, *given[len(inputs) :])

    def _compile(self, key: int, into: bool) -> None:
        formula, rules = self.formula, self.rules
        assert formula is not None and self._tables is not None
        count = len(formula.inputs)
        codes = decode(key, count + into)
        compute, result = rules.of(codes[:count], codes[-1].dtype if into else None)
        source = self.source(codes, compute, result, key)
        code = code_of_kernel(formula, compute.name)
        kernel = library.generated(self.name, source, code=code)
        scalar_types = output_types = 0
        for k in range(count):
            limit = rules.limit(k, compute, codes[:count])
            scalar_types |= limit.type_num << (native_layout.CODE_BITS * k)
        for j in range(len(formula.outputs)):
            output_types |= result.type_num << (native_layout.CODE_BITS * j)
        if not into:
            self.met[key] = None
        self._tables[into].insert(key, kernel, output_types, scalar_types)

    def source(self, codes: list[OperandCode], compute: DType, result: DType, key: int) -> str:
        """The text of the kernel of a signature; a last code beyond the inputs is the output's."""
        formula, rules = self.formula, self.rules
        assert formula is not None
        inputs = []
        narrow = rules.rounded(codes[: len(formula.inputs)])
        for k, (name, code) in enumerate(zip(formula.inputs, codes, strict=False)):
            kind = code.dtype or rules.number(k, compute)
            rounded = narrow.name if narrow is not None and kind is not narrow else ""
            inputs.append(pointwise.Operand(name, kind.name, code.layout, rounded=rounded))
        strided = any(code.layout == layout.STRIDED for code in codes)
        position = layout.STRIDED if strided else layout.UNIT
        count = len(formula.outputs)
        names = ["out"] if count == 1 else [f"out{j}" for j in range(count)]
        outputs = [pointwise.Operand(name, result.name, position) for name in names]
        flat = bool(key & native_layout.FLAT)
        plain = all(code.layout in (layout.UNIT, layout.ZERO) for code in codes)
        streamed = plain and bool(key & native_layout.STREAMED)
        inputs, outputs = told_apart(inputs, outputs)
        return kernel_source(self.name, formula, inputs, outputs, compute.name, flat, streamed)


def _looking_for_zeros(launch: Callable[..., Any]) -> Callable[..., Any]:
    """``launch``, but raising torch's error for integers divided by zero."""

    def divide(x: Any, y: Any, *output: Any) -> Any:
        kinds = _kind(x), _kind(y)
        if kinds != ("b", "b") and set(kinds) <= set("iub"):  # the launch refuses two booleans
            if y.__class__ is np.ndarray:
                if not isinstance(x, np.ndarray) or x.size:
                    capture.check(_refuse_zero_divisors, y)
            elif x.__class__ is np.ndarray and isinstance(y, (int, np.generic)):
                if x.size and _is_zero(y, x.dtype):
                    raise RuntimeError("ZeroDivisionError")
        # Arrays under a transformation are divided further down, where they are plain ones; those
        # of another backend are its own affair.
        return launch(x, y, *output)

    return divide


def _refuse_zero_divisors(divisor: np.ndarray[Any, Any]) -> None:
    if not np.all(divisor):
        raise RuntimeError("ZeroDivisionError")


def _is_zero(divisor: int | np.generic[Any], kind: np.dtype[Any]) -> bool:
    """Whether an int is zero once it has the dtype of what it divides."""
    bits = 64 if kind.kind == "b" else 8 * kind.itemsize
    return not int(divisor) & ((1 << bits) - 1)


def _kind(operand: Any) -> str:
    """NumPy's letter for the dtype of an array of any backend, or of a number."""
    kind: str = (operand if hasattr(operand, "dtype") else np.asarray(operand)).dtype.kind
    return kind


def require_array(name: str, operands: Sequence[Any]) -> None:
    """Raise torch's TypeError for operands of which all are numbers."""
    if not any([isinstance(x, np.ndarray) for x in operands]):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not "
            f"{given_for_tensor(operands[0])}"
        )


def is_operand(operand: Any) -> bool:
    """Whether launchers take the operand, as it is or after conversion."""
    return isinstance(operand, np.generic | bool | int | float | complex) or is_array(operand)


def _as_operand(name: str, operand: Any) -> Any:
    """An operand that launchers take, from what else counts as a number or an array."""
    if isinstance(operand, bool | int | float) and type(operand) in (bool, int, float):
        return operand
    if isinstance(operand, complex):
        raise NotImplementedError(f"\"{name}\" not implemented for 'ComplexFloat'")
    if type(operand) is np.ndarray:
        return operand
    if isinstance(operand, np.generic):
        return python_number(operand)
    if isinstance(operand, np.ndarray):
        return np.asarray(operand)
    if isinstance(operand, bool | int | float):
        return next(kind(operand) for kind in (bool, int, float) if isinstance(operand, kind))
    raise TypeError(
        f"{name}(): operands must be Tensors or Python numbers, not {given_for_tensor(operand)}"
    )
