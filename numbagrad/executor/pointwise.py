"""Pointwise operators on ndarrays: one compiled kernel a signature, found by a native launcher.

Called by ``ops/operator.py``. A ``PointwiseProgram`` holds the formula of one operator; its
``call`` attribute is the compiled launcher, which raises ``LaunchMiss`` with the key of a signature
it has no kernel for. ``resolve`` then promotes dtypes, prints the formula, compiles, and calls
again.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import half_precision as half
from ..codegen import loader
from ..dtype import (
    FROM_TYPE_NUM,
    bool_,
    can_cast,
    computed_as,
    from_numpy,
    get_default_dtype,
    promote_types,
    python_number,
    result_type_of,
    scalar_dtype,
)
from ..dtype import dtype as DType
from ..formula import Formula, print_numba
from ..formula import abs as magnitude
from ..formula.expression import postorder
from ..formula.lowering import Lowering
from ..kernels import layout, pointwise
from ..kernels.vector_math import CPU_BOUNDED, CPU_INSTRUCTED, CPU_LOWERING
from ..native import layout as native_layout
from ..type_names import given_for_tensor
from . import capture, library
from .builtin import (
    KernelTable,
    LaunchMiss,
    Repairs,
    launcher,
    leave_to_recorder,
    make_builtin,
    runtime,
)
from .mode import NATIVE

#: Elements that are worth a thread of their own: cheap formulas are bound by memory.
GRAIN = 32768


@dataclasses.dataclass(frozen=True)
class OperandCode:
    """What a signature key says of one operand."""

    dtype: DType | None  # None for a Python number
    layout: int
    zero_dim: bool
    number: type | None


#: NumPy kinds of the dtypes that a definition's ``dtypes`` admits.
_ACCEPTED = {"any": "fiub", "number": "fiu", "float": "f", "integral": "iub", "integer": "iu"}

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


def promote(operands: list[OperandCode]) -> DType:
    """The dtype torch computes in: dimensioned tensors, then 0-dim ones, then Python numbers."""
    arrays: list[DType | None] = [None, None]
    scalar = None
    for operand in operands:
        if operand.number is not None:
            kind = scalar_dtype(operand.number(0))
            scalar = kind if scalar is None else promote_types(scalar, kind)
        else:
            place, own = int(operand.zero_dim), operand.dtype
            before = arrays[place]
            assert own is not None
            arrays[place] = own if before is None else promote_types(before, own)
    return result_type_of(arrays[0], arrays[1], scalar)


class PointwiseProgram:
    """One formula, and the kernels compiled for its signatures.

    Attributes:
        call: ``call(*operands) -> ndarray`` (a tuple for several outputs), operands being ndarrays
            and Python numbers. Raises ``LaunchMiss``; pass that to :meth:`resolve`.
        into: the same with a last argument, the ndarray to write.
        accepts: the dtypes it computes in, a key of ``_ACCEPTED``.
        weak_dtype_inputs: names of the inputs that take the dtype of the others.
        check: raises for dtypes of operands, by name, that the operator refuses.
        refuses_zero_divisors: whether integers raise if the second input has a zero.
        rounds_operands: whether numbers beside operands of half precision are rounded first.
    """

    __slots__ = (
        "name", "formula", "result", "accepts", "weak_dtype_inputs", "check",
        "refuses_zero_divisors", "rounds_operands", "call", "into", "grain",
        "_make_formula", "_signatures", "_tables", "_is_set_up",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        make_formula: Callable[[], Formula],
        result: str,
        grain: int,
        accepts: str = "any",
        weak_dtype_inputs: frozenset[str] = frozenset(),
        check: Callable[[dict[str, DType]], None] | None = None,
        refuses_zero_divisors: bool = False,
        rounds_operands: bool = False,
    ):
        self.name = name
        self.accepts = accepts
        self.weak_dtype_inputs = weak_dtype_inputs
        self.check = check
        self.refuses_zero_divisors = refuses_zero_divisors
        self.rounds_operands = rounds_operands
        self.result = result
        self.grain = grain
        self._make_formula = make_formula
        #: What ``signature_of`` found, by all that it depends on.
        self._signatures: dict[Any, tuple[DType, tuple[str | None, ...]]] = {}
        self.formula: Formula | None = None
        self._tables: tuple[KernelTable, KernelTable] | None = None
        self._is_set_up = False
        self.call: Callable[..., Any] = self._first_call
        self.into: Callable[..., Any] = self._first_into

    def table(self, into: bool = False) -> KernelTable | None:
        """The table that ``call`` (or ``into``) reads; None if that is not the launcher alone."""
        self._set_up()
        return None if self._tables is None or self.refuses_zero_divisors else self._tables[into]

    def prepare(self) -> Formula:
        """Trace the formula when the operator is first used; returns it."""
        formula = self.formula
        if formula is None:
            with library.lock:
                formula = self.formula
                if formula is None:
                    formula = self.formula = self._make_formula()
        return formula

    def _set_up(self) -> None:
        """Make the launchers, when the operator is first called outside of a recording."""
        formula = self.prepare()
        with library.lock:
            if self._is_set_up:
                return
            call: Callable[..., Any]
            into: Callable[..., Any]
            if not NATIVE:
                call, into = self._call_directly, self._write_directly
            else:
                outputs = len(formula.outputs)
                tables = (
                    KernelTable(outputs, self.grain),
                    KernelTable(outputs, self.grain, into=True),
                )
                launch = launcher("pointwise")
                self._tables = tables
                call = make_builtin(self.name, launch, tables[0].words)
                into = make_builtin(self.name, launch, tables[1].words)
            self.call = _looking_for_zeros(call) if self.refuses_zero_divisors else call
            self.into = _looking_for_zeros(into) if self.refuses_zero_divisors else into
            self._is_set_up = True

    def _first_call(self, *operands: Any) -> Any:
        self.prepare()
        if NATIVE:
            leave_to_recorder()
        self._set_up()
        return self.call(*operands)

    def _first_into(self, *operands: Any) -> Any:
        self.prepare()
        if NATIVE:
            leave_to_recorder()
        self._set_up()
        return self.into(*operands)

    def resolve(self, miss: LaunchMiss, operands: tuple[Any, ...], into: bool = False) -> Any:
        """Compile what was missing and call again; raises torch's errors for bad operands."""
        repairs = Repairs(self.name)
        code = miss.args[0]  # the exception itself would be in a cycle with this frame
        while True:
            if code == native_layout.MISS_CAPTURE:
                if made := capture.hand_over("pointwise", self, operands, into):
                    return made[0]
            else:
                operands = self._repaired(repairs, code, operands, into)
            try:
                return (self.into if into else self.call)(*operands)
            except LaunchMiss as again:
                code = again.args[0]

    def _repaired(
        self, repairs: Repairs, code: int, operands: tuple[Any, ...], into: bool
    ) -> tuple[Any, ...]:
        """Operands to call with again, once the kernel is there that was missing, if one was."""
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
            address = launcher("pointwise_general", "broadcast")
            runtime()[native_layout.RUNTIME_GENERAL] = address
            return operands
        if code == native_layout.MISS_OPERAND:
            taken = tuple([_as_operand(self.name, x) for x in operands])
            require_array(self.name, taken)
            return taken
        if code == native_layout.MISS_SHAPES:
            raise_shapes(self.name, inputs, operands[-1] if into else None)
        if code == native_layout.MISS_OVERLAP:
            output = operands[-1]
            check_written_once(output)
            copies = [x.copy() if isinstance(x, np.ndarray) else x for x in inputs]
            return (*copies, output)
        if code == native_layout.MISS_NUMBER:
            whole = self._whole(inputs)
            if any(new is not old for new, old in zip(whole, inputs, strict=True)):
                return (*whole, *operands[len(inputs) :])
            numbers = [x for x in inputs if not isinstance(x, np.ndarray)]
            if any([isinstance(x, int) and not -(1 << 63) <= x < 1 << 64 for x in numbers]):
                raise OverflowError(f"{self.name}: int too big to convert: {numbers}")
            raise RuntimeError(
                f"{self.name}: value cannot be converted without overflow: {numbers}"
            )
        raise RuntimeError(
            f"{self.name}: at most {layout.MAX_DIMENSIONS} dimensions and {layout.MAX_OPERANDS} "
            "operands are supported"
        )

    def _whole(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        """The operands, with what follows the dtype of integers cut to whole numbers."""
        assert self.formula is not None
        return tuple(
            [
                int(x)
                if name in self.weak_dtype_inputs and isinstance(x, float) and np.isfinite(x)
                else x
                for name, x in zip(self.formula.inputs, inputs, strict=True)
            ]
        )

    def dtypes_of(self, operands: list[OperandCode]) -> tuple[DType, DType]:
        """The dtype the formula computes in (for half ones: float32), and that of the result."""
        formula = self.formula
        assert formula is not None
        values = [
            operand
            for name, operand in zip(formula.inputs, operands, strict=True)
            if name not in formula.booleans and name not in self.weak_dtype_inputs
        ]
        compute = promote(values or operands)
        if self.check is not None:
            self.check(
                {
                    name: operand.dtype or scalar_dtype(operand.number(0))  # type: ignore[misc]
                    for name, operand in zip(formula.inputs, operands, strict=True)
                }
            )
        if self.result == "float" and not compute.is_floating_point:
            compute = get_default_dtype()
        kind = "f" if compute.is_floating_point else compute.numpy.kind
        if kind not in _ACCEPTED[self.accepts]:
            raise NotImplementedError(
                f"\"{self.name}\" not implemented for '{scalar_type_name(compute)}'"
            )
        result = bool_ if self.result == "bool" else compute
        return computed_as(compute), result

    def signature_of(
        self, operands: tuple[Any, ...], output: np.ndarray[Any, Any]
    ) -> tuple[DType, tuple[str | None, ...]]:
        """The dtype a call computes in, and those in which numbers among the operands reach it."""
        rank = output.ndim
        kinds = [(x.dtype, x.ndim) if isinstance(x, np.ndarray) else type(x) for x in operands]
        form = get_default_dtype(), rank, *kinds
        found = self._signatures.get(form)
        if found is None:
            codes = [code_of(x, rank) for x in operands]
            compute, _ = self.dtypes_of(codes)
            numbers = [
                None if code.dtype else self.number_dtype(k, compute).name
                for k, code in enumerate(codes)
            ]
            found = self._signatures[form] = compute, tuple(numbers)
        return found

    def result_dtype(self, operands: tuple[Any, ...]) -> DType:
        """The dtype of what a call makes of operands that broadcast."""
        rank = max([x.ndim for x in operands if isinstance(x, np.ndarray)], default=0)
        return self.dtypes_of([code_of(x, rank) for x in operands])[1]

    def _compile(self, key: int, into: bool) -> None:
        formula = self.formula
        assert formula is not None and self._tables is not None
        count = len(formula.inputs)
        codes = decode(key, count + into)
        compute, result = self.dtypes_of(codes[:count])
        if into:
            stored = codes[-1].dtype
            assert stored is not None
            check_cast(result, stored)
            result = stored
        source = self.source(codes, compute, result, key)
        code = "guarded" if guard_of(formula, compute.name) else "formula"
        kernel = library.generated(self.name, source, code=code)
        scalar_types = output_types = 0
        for k in range(count):
            scalar_types |= self.number_dtype(k, compute).type_num << (native_layout.CODE_BITS * k)
        for j in range(len(formula.outputs)):
            output_types |= result.type_num << (native_layout.CODE_BITS * j)
        self._tables[into].insert(key, kernel, output_types, scalar_types)

    def _rounds_to(self, operands: list[OperandCode]) -> DType | None:
        """The dtype of half precision to which operands are rounded first; None if they are not."""
        if not self.rounds_operands:
            return None
        common = promote(operands)
        return common if common.is_half else None

    def rounds_to(self, operands: tuple[Any, ...], rank: int) -> np.dtype[Any] | None:
        """The same for operands; ``rank`` is that of the result."""
        found = self._rounds_to([code_of(x, rank) for x in operands])
        return None if found is None else found.numpy

    def number_dtype(self, k: int, compute: DType) -> DType:
        """The dtype as which a Python number in place ``k`` reaches the kernel."""
        assert self.formula is not None
        return bool_ if self.formula.inputs[k] in self.formula.booleans else compute

    def source(self, codes: list[OperandCode], compute: DType, result: DType, key: int) -> str:
        """The text of the kernel of a signature; a last code beyond the inputs is the output's."""
        formula = self.formula
        assert formula is not None
        inputs = []
        narrow = self._rounds_to(codes[: len(formula.inputs)])
        for k, (name, code) in enumerate(zip(formula.inputs, codes, strict=False)):
            kind = code.dtype or self.number_dtype(k, compute)
            rounded = narrow.name if narrow is not None and kind is not narrow else ""
            inputs.append(pointwise.Operand(name, kind.name, code.layout, rounded=rounded))
        strided = any(code.layout == layout.STRIDED for code in codes)
        place = layout.STRIDED if strided else layout.UNIT
        count = len(formula.outputs)
        names = ["out"] if count == 1 else [f"out{j}" for j in range(count)]
        outputs = [pointwise.Operand(name, result.name, place) for name in names]
        flat = bool(key & native_layout.FLAT)
        plain = all(code.layout in (layout.UNIT, layout.ZERO) for code in codes)
        streamed = plain and bool(key & native_layout.STREAMED)
        inputs, outputs = told_apart(inputs, outputs)
        return kernel_source(self.name, formula, inputs, outputs, compute.name, flat, streamed)

    # --- without launchers: what ``plan/direct.py`` asks ---

    def _call_directly(self, *operands: Any) -> Any:
        from .plan import direct  # which asks this file

        return direct.pointwise(self, operands, None)

    def _write_directly(self, *operands: Any) -> None:
        from .plan import direct

        direct.pointwise(self, operands[:-1], operands[-1])

    def broadcast(self, operands: tuple[Any, ...], output: Any) -> tuple[int, ...]:
        """The shape of the result; raises torch's error where there is none, or another output."""
        try:
            shape = np.broadcast_shapes(*[np.shape(x) for x in operands])
        except ValueError:
            raise_shapes(self.name, operands, output)
            raise
        if output is not None and shape != output.shape:
            raise_shapes(self.name, operands, output)
        return shape

    def computed_as(self, operands: tuple[Any, ...], rank: int, output: Any) -> tuple[DType, DType]:
        """The dtype a call computes in, and that of its result; raises for one that is refused."""
        compute, result = self.dtypes_of([code_of(x, rank) for x in operands])
        if output is not None:
            check_cast(result, from_numpy(output.dtype))
        return compute, result

    def arrays_of(self, operands: tuple[Any, ...], rank: int, compute: DType) -> list[Any]:
        """The operands as kernels read them: numbers as arrays without dimensions.

        Raises:
            LaunchMiss: for a number that does not fit its dtype.
        """
        narrow = self._rounds_to([code_of(x, rank) for x in operands])
        arrays = []
        for k, x in enumerate(operands):
            if narrow is not None:
                x = half.converted(np.asarray(x), narrow.numpy)
            arrays.append(
                x if isinstance(x, np.ndarray) else _number_as(x, self.number_dtype(k, compute))
            )
        return arrays


def _number_as(number: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """A Python number as an array without dimensions."""
    if dtype.numpy.kind in "iu":
        limits = np.iinfo(dtype.numpy)
        fits = isinstance(number, int) and limits.min <= number <= limits.max
    elif dtype.numpy.kind == "f":
        largest = float(np.finfo(dtype.numpy).max)
        fits = not np.isfinite(number) if isinstance(number, float) else False
        fits = fits or abs(number) <= largest
    else:
        fits = True
    if not fits:
        raise LaunchMiss(native_layout.MISS_NUMBER)
    return np.array(number, dtype.numpy)


def check_cast(result: DType, stored: DType) -> None:
    """Raise torch's error unless results of this dtype may be written to memory of that one."""
    if not can_cast(result, stored):
        raise RuntimeError(
            f"result type {scalar_type_name(result)} can't be cast to the desired output "
            f"type {scalar_type_name(stored)}"
        )


def check_written_once(output: np.ndarray[Any, Any]) -> None:
    """Raise torch's error for an output that has elements in one place of memory."""
    repeats = [s == 0 and n > 1 for s, n in zip(output.strides, output.shape, strict=True)]
    if output.size and any(repeats):
        raise RuntimeError(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single memory location. Please clone() the tensor before performing the operation."
        )


#: The lowering of formulas whose arguments are within the bounds of every function.
@functools.cache
def _fastest() -> Lowering:
    """The fastest rules for this CPU, some of which hold only within bounds."""
    bounded = {key: rule for key, (_, rule) in CPU_BOUNDED.items()}
    instructed = CPU_INSTRUCTED if loader.host_vector_bits() == 512 else {}
    return {**CPU_LOWERING, **bounded, **instructed}


def kernel_source(
    name: str,
    formula: Formula,
    inputs: list[pointwise.Operand],
    outputs: list[pointwise.Operand],
    compute: str,
    flat: bool = False,
    streamed: bool = False,
    tile: bool = False,
    repeated: frozenset[str] = frozenset(),
) -> str:
    """The text of the kernel of a formula over operands of these dtypes and layouts.

    ``flat``, ``streamed``, ``tile`` and ``repeated`` are as ``kernels/pointwise.py`` has them.
    """
    body = pointwise.Body(*print_numba(formula, compute, _fastest()))
    guard = guard_of(formula, compute)
    return pointwise.source(
        name,
        inputs,
        outputs,
        compute,
        body,
        formula.booleans,
        guard,
        flat,
        streamed,
        tile,
        repeated,
    )


def told_apart(
    inputs: list[pointwise.Operand], outputs: list[pointwise.Operand]
) -> tuple[list[pointwise.Operand], list[pointwise.Operand]]:
    """The operands of an eager call, with memory of their own for its outputs.

    Launchers see to it that an output shares no byte with an input, unless that is the output
    itself, element for element; which of strided operands are is not in the signature.
    """
    if any([x.layout == layout.STRIDED for x in (*inputs, *outputs)]):
        return inputs, outputs
    first = 2
    return (
        [dataclasses.replace(x, memory=first if x.layout == layout.ALIAS else 1) for x in inputs],
        [dataclasses.replace(x, memory=first + k) for k, x in enumerate(outputs)],
    )


def is_guarded(formula: Formula, compute: str) -> bool:
    """Whether the kernel of a formula computes some elements a second time."""
    used = {(node.operation, compute) for node in postorder(formula.outputs)}
    return not used.isdisjoint(CPU_BOUNDED)


def guard_of(formula: Formula, compute: str) -> pointwise.Guard | None:
    """Where the functions of a formula are used beyond the bounds of their fastest lowering."""
    bounds = {name: bound for (name, dtype), (bound, _) in CPU_BOUNDED.items() if dtype == compute}
    outside = [
        magnitude(node.operands[0]) > bounds[node.operation]
        for node in postorder(formula.outputs)
        if node.operation in bounds
    ]
    if not outside:
        return None
    conditions = Formula(formula.inputs, list(dict.fromkeys(outside)))
    return pointwise.Guard(
        pointwise.Body(*print_numba(conditions, compute, CPU_LOWERING)),
        pointwise.Body(*print_numba(formula, compute, CPU_LOWERING)),
    )


def _looking_for_zeros(call: Callable[..., Any]) -> Callable[..., Any]:
    """``call``, but raising torch's error for integers divided by zero."""

    def divide(x: Any, y: Any, *output: Any) -> Any:
        arrays = isinstance(x, np.ndarray) or isinstance(y, np.ndarray)
        if arrays and not (_has_fractions(x) or _has_fractions(y)):
            zero = not np.all(y) if isinstance(y, np.ndarray) else y == 0
            if zero and np.size(x) and not (_is_bool(x) and _is_bool(y)):  # refused by the call
                raise RuntimeError("ZeroDivisionError")
        return call(x, y, *output)

    return divide


def _has_fractions(operand: Any) -> bool:
    if isinstance(operand, np.ndarray):
        return operand.dtype.kind in "fcV"
    return isinstance(operand, (float, complex, np.inexact))


def _is_bool(operand: Any) -> bool:
    return np.asarray(operand).dtype.kind == "b"


def code_of(operand: Any, rank: int) -> OperandCode:
    """What an operand is to the rules of promotion; ``rank`` is that of the result."""
    if isinstance(operand, np.ndarray):
        zero_dim = operand.ndim == 0 and rank > 0
        return OperandCode(from_numpy(operand.dtype), layout.UNIT, zero_dim, None)
    return OperandCode(None, layout.ZERO, False, type(operand))


def require_array(name: str, operands: Sequence[Any]) -> None:
    """Raise torch's TypeError for operands of which all are numbers."""
    if not any([isinstance(x, np.ndarray) for x in operands]):
        raise TypeError(
            f"{name}(): argument 'input' (position 1) must be Tensor, not "
            f"{given_for_tensor(operands[0])}"
        )


def is_operand(operand: Any) -> bool:
    """Whether launchers take the operand, as it is or after conversion."""
    return isinstance(operand, np.ndarray | np.generic | bool | int | float | complex)


def _is_complex(operand: Any) -> bool:
    if isinstance(operand, np.ndarray):
        return operand.dtype.kind == "c"
    return isinstance(operand, complex)


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


def raise_shapes(name: str, operands: tuple[Any, ...], output: Any) -> None:
    """Raise torch's error for shapes that cannot be broadcast together."""
    shapes = [np.shape(x) for x in operands]
    rank = max(len(s) for s in shapes)
    common = [1] * rank
    for position in range(1, rank + 1):
        sizes = [(s[-position] if position <= len(s) else 1) for s in shapes]
        for size in sizes:
            if common[-position] == 1:
                common[-position] = size
            elif size not in (1, common[-position]):
                raise RuntimeError(
                    f"The size of tensor a ({common[-position]}) must match the size of tensor b "
                    f"({size}) at non-singleton dimension {rank - position} in {name}, which got "
                    f"shapes {', '.join(str(list(s)) for s in shapes)}"
                )
    raise RuntimeError(
        f"output with shape {list(np.shape(output))} doesn't match the broadcast shape {common} "
        f"in {name}"
    )


_SCALAR_TYPE_NAMES = {
    "float16": "Half", "bfloat16": "BFloat16", "float32": "Float", "float64": "Double",
    "int8": "Char", "uint8": "Byte", "int16": "Short", "int32": "Int", "int64": "Long",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def scalar_type_name(kind: DType) -> str:
    """The name torch's messages use for a dtype, as ``Float``."""
    return _SCALAR_TYPE_NAMES[kind.name]
