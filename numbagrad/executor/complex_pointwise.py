"""Pointwise operators on complex ndarrays: kernels over the real views of their parts.

Called by ``ops/complex_operator.py``. The formula of a ``ComplexProgram`` is one of real numbers
(``formula/complex.py``), and its kernel is made as that of any formula, so nothing is compiled that
knows complex numbers. Operands are packed here in Python, since launchers take no such arrays: a
complex one is two operands of the kernel, whose elements lie next to each other in memory.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..dtype import bool_, complex_of, float16, from_numpy, real_of, scalar_dtype
from ..dtype import dtype as DType
from ..formula import Formula
from ..kernels import layout
from ..kernels.pointwise import Operand
from ..type_names import given_for_tensor
from . import capture, library
from .mode import NATIVE
from .pointwise import (
    GRAIN,
    OperandCode,
    check_cast,
    check_written_once,
    code_of,
    guard_of,
    is_operand,
    kernel_source,
    promote,
    raise_shapes,
    scalar_type_name,
)
from .pool import pool_address

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class LiftedFormula:
    """A formula of real numbers that stands for one of complex numbers.

    ``inputs`` and ``kinds`` are the operands and whether each is complex; ``real`` has
    ``<name>_re`` and ``<name>_im`` for a complex one. Its outputs are both parts of the result if
    that ``is_complex``.
    """

    inputs: tuple[str, ...]
    kinds: tuple[bool, ...]
    real: Formula
    is_complex: bool


class ComplexProgram:
    """One lifted formula and its kernels, with the interface of a ``PointwiseProgram``.

    ``weak_dtype_inputs`` names inputs that take the dtype of the others, ``result`` is "bool" where
    the result is, and ``check`` raises for dtypes of operands, by name, that the operator refuses.
    """

    def __init__(
        self,
        name: str,
        formula: LiftedFormula,
        result: str = "same",
        weak_dtype_inputs: frozenset[str] = frozenset(),
        check: Callable[[dict[str, DType]], None] | None = None,
    ):
        self.name = name
        self.formula = formula
        self.result = result
        self.weak_dtype_inputs = weak_dtype_inputs
        self.check = check
        self._kernels: dict[Any, int] = {}
        library.when_forgetting(self._kernels.clear)

    def prepare(self) -> LiftedFormula:
        """The formula."""
        return self.formula

    def call(self, *operands: Any) -> Array:
        """The result in new memory; raises torch's errors for bad operands."""
        shape = self._shape(operands, None)
        compute = self._compute(operands, len(shape))
        dtype = self._result(compute)
        made = _dense(shape, dtype.numpy, [x for x in operands if isinstance(x, np.ndarray)])
        self._run(operands, made, compute)
        return made

    def into(self, *operands: Any) -> None:
        """The result written into the last operand."""
        *inputs, output = operands
        shape = self._shape(inputs, output)
        compute = self._compute(inputs, len(shape))
        check_cast(self._result(compute), from_numpy(output.dtype))
        check_written_once(output)
        separate = [_separate(x, output, shape) for x in inputs]
        self._run(separate, output, compute)

    def resolve(self, miss: Any, operands: tuple[Any, ...], into: bool = False) -> Any:
        """See ``PointwiseProgram``; nothing is missing here."""
        return (self.into if into else self.call)(*operands)

    def result_dtype(self, operands: tuple[Any, ...]) -> DType:
        """The dtype of what a call makes of operands that broadcast."""
        rank = max([x.ndim for x in operands if isinstance(x, np.ndarray)], default=0)
        return self._result(self._compute(operands, rank))

    def _shape(self, operands: Sequence[Any], output: Any) -> tuple[int, ...]:
        for operand in operands:
            if not (is_operand(operand) or isinstance(operand, complex)):
                raise TypeError(
                    f"{self.name}(): operands must be Tensors or Python numbers, not "
                    f"{given_for_tensor(operand)}"
                )
        try:
            shape = np.broadcast_shapes(*[np.shape(x) for x in operands])
        except ValueError:
            raise_shapes(self.name, tuple(operands), output)
            raise
        if output is not None and shape != output.shape:
            raise_shapes(self.name, tuple(operands), output)
        return shape

    def _compute(self, operands: Sequence[Any], rank: int) -> DType:
        """The dtype that is computed in, complex or real."""
        formula = self.formula
        codes: list[OperandCode] = [code_of(x, rank) for x in operands]
        if self.check is not None:
            self.check(
                {
                    name: code.dtype or scalar_dtype(code.number(0))  # type: ignore[misc]
                    for name, code in zip(formula.inputs, codes, strict=True)
                }
            )
        values = [
            code
            for name, code in zip(formula.inputs, codes, strict=True)
            if name not in formula.real.booleans and name not in self.weak_dtype_inputs
        ]
        found = promote(values or codes)
        if float16 in [code.dtype for code in values] and real_of(found).itemsize < 8:
            raise NotImplementedError(
                f"\"{self.name}\" not implemented for 'ComplexHalf'; convert float16 operands of "
                "complex ones with .to(dtype) first"
            )
        return found if found.has_fractions else complex_of(scalar_dtype(0.0))

    def _result(self, compute: DType) -> DType:
        if self.result == "bool":
            return bool_
        real = real_of(compute)
        return complex_of(real) if self.formula.is_complex else real

    # --- kernels ---

    def _run(self, operands: Sequence[Any], output: Array, compute: DType) -> None:
        if output.size == 0:
            return
        capture.refuse("arithmetic of complex numbers")
        dtype = real_of(compute)
        inputs: list[Any] = []
        for is_complex, operand in zip(self.formula.kinds, operands, strict=True):
            inputs += [operand.real, operand.imag] if is_complex else [operand]
        inputs = [self._as_array(k, x, dtype) for k, x in enumerate(inputs)]
        outputs = [output]
        if self.formula.is_complex:
            outputs = [output.real, output.imag]
        elif output.dtype.kind == "c":
            outputs = [output.real]
        self._compute_parts(inputs, outputs, dtype)
        if output.dtype.kind == "c" and not self.formula.is_complex:
            output.imag[...] = 0  # not before: an operand may lie there

    def _compute_parts(self, inputs: list[Array], outputs: list[Array], dtype: DType) -> None:
        """Write real arrays from real arrays."""
        shape = outputs[0].shape
        spread = [np.broadcast_to(x, shape) if x.ndim else x for x in inputs]
        words, total = _packed(shape, [*spread, *outputs])
        key = (dtype, *[(x.dtype.num, x.ndim == 0) for x in inputs], outputs[0].dtype.num)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._compiled(dtype, inputs, outputs)
        if not NATIVE:
            from .plan import direct  # which asks for the kernels of other families

            direct.run_kernel(kernel, words, total)
            return
        # Threads share the work, and the interpreter's lock is let go of meanwhile.
        _parallel_for()(pool_address(), kernel, words.ctypes.data, total, GRAIN)

    def _as_array(self, place: int, operand: Any, dtype: DType) -> Array:
        """An operand of the kernel; numbers in the dtype it computes in."""
        if isinstance(operand, np.ndarray):
            return operand
        is_boolean = self.formula.real.inputs[place] in self.formula.real.booleans
        return np.array(operand, bool if is_boolean else dtype.numpy)

    def _compiled(self, dtype: DType, inputs: list[Array], outputs: list[Array]) -> int:
        """Address of the kernel for operands of these dtypes."""
        formula = self.formula.real
        described = [
            Operand(name, from_numpy(x.dtype).name, layout.STRIDED if x.ndim else layout.ZERO)
            for name, x in zip(formula.inputs, inputs, strict=True)
        ]
        written = [
            Operand(f"out{k}", from_numpy(x.dtype).name, layout.STRIDED)
            for k, x in enumerate(outputs)
        ]
        source = kernel_source(self.name, formula, described, written, dtype.name)
        code = "guarded" if guard_of(formula, dtype.name) else "formula"
        return library.generated(f"{self.name}_complex", source, code=code)


def refused(name: str, dtype: DType) -> NotImplementedError:
    """torch's error for an operator that complex numbers do not have."""
    return NotImplementedError(f"\"{name}\" not implemented for '{scalar_type_name(dtype)}'")


def _dense(shape: tuple[int, ...], kind: np.dtype[Any], operands: list[Array]) -> Array:
    """New memory, its dimensions in the order of those of an operand of that shape."""
    for operand in operands:
        if operand.shape == shape and not operand.flags.c_contiguous:
            return np.empty_like(operand, kind)
    return np.empty(shape, kind)


def _separate(operand: Any, output: Array, shape: tuple[int, ...]) -> Any:
    """An operand, copied if it lies in the memory of the output otherwise than that does."""
    if not isinstance(operand, np.ndarray) or not np.may_share_memory(operand, output):
        return operand
    if (
        operand.shape == shape
        and operand.strides == output.strides
        and operand.ctypes.data == output.ctypes.data
    ):
        return operand
    return operand.copy()


def _packed(shape: tuple[int, ...], operands: list[Array]) -> tuple[Array, int]:
    """The arguments of a kernel over ``shape``, with as few dimensions as strides allow."""
    dims = [d for d, size in enumerate(shape) if size != 1]
    order = sorted(dims, key=lambda d: -abs(operands[-1].strides[d]))
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in operands]
    for d in order:
        strides = [x.strides[d] if x.ndim else 0 for x in operands]
        merges = bool(sizes) and all(
            [s[-1] == stride * shape[d] for s, stride in zip(steps, strides, strict=True)]
        )
        if merges:
            sizes[-1] *= shape[d]
        else:
            sizes.append(shape[d])
        for s, stride in zip(steps, strides, strict=True):
            if merges:
                s[-1] = stride
            else:
                s.append(stride)
    if not sizes:
        sizes, steps = [1], [[0] for _ in operands]
    if len(sizes) > layout.MAX_DIMENSIONS:
        raise RuntimeError(f"at most {layout.MAX_DIMENSIONS} dimensions are supported")
    words = np.zeros(layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * len(operands), np.int64)
    words[layout.ARGUMENT_DIMENSIONS] = len(sizes)
    words[layout.ARGUMENT_SIZES : layout.ARGUMENT_SIZES + len(sizes)] = sizes
    for k, (x, step) in enumerate(zip(operands, steps, strict=True)):
        at = layout.ARGUMENT_OPERANDS + layout.OPERAND_WORDS * k
        words[at] = x.ctypes.data
        words[at + 1 : at + 1 + len(step)] = step
    total = 1
    for size in sizes:
        total *= size
    return words, total


@library.remembered
def _parallel_for() -> Callable[..., None]:
    """``native/threads.py``'s function of that name."""
    signature = "void(int64, int64, int64, int64, int64)"
    address = library.hand_written("native.threads", "parallel_for", signature, code="calls")
    return ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * 5)(address)
