"""Pointwise operators on complex ndarrays: kernels over the real views of their parts.

Called by ``ops/complex/complex_operator.py``. The formula of a ``ComplexProgram`` is one of real
numbers (``formula/complex.py``), and its kernel is made as that of any formula, so nothing is
compiled that knows complex numbers. Operands are packed here in Python, since launchers take no
such arrays: a complex one is two operands of the kernel, whose elements lie next to each other in
memory.
"""

from __future__ import annotations

import ctypes
import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ...backend import Backend, address_of, is_array, shared_by_operands
from ...dtype import dtype as DType
from ...dtype import from_numpy, get_default_dtype, scalar_type_name
from ...formula import Formula
from ...kernels import layout
from ...kernels.pointwise.pairs import Parts
from ...kernels.pointwise.source import Operand
from ...number_range import check_bits, checked_number
from ...type_names import given_for_tensor
from .. import capture
from ..cache import library
from ..memory.arrays import set_all
from ..mode import NATIVE
from ..plan import result_forms
from ..plan.dtypes import ComplexRules
from ..plan.forms import Form, spread
from ..plan.formula_kernels import GRAIN, guard_of, kernel_source, pair_source
from ..plan.operations import Pointwise
from ..plan.sharing import separate
from ..plan.spaces import merged, operand_word, pointwise_words
from ..plan.views import view_of
from ..threads.pool import pool_address
from .complex_parts import from_parts
from .pointwise import is_operand

Array = np.ndarray[Any, Any]

#: A kernel, its arguments, how many elements it walks, and each argument that is an address with
#: the operand that it lies in, the output behind the others.
_Launched = tuple[int, Array, int, list[tuple[int, int]]]

#: Forms of operands for which an operator keeps what it launches.
_FORMS = 128

_REFUSED = "arithmetic of complex numbers"


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


class _Launch(NamedTuple):
    """The launch of a call for arrays of some forms, and the form of its result.

    ``addresses`` has the words that are addresses: the word, the operand or -1 for the result, and
    bytes from where that begins.
    """

    made: Form
    kernel: int
    words: Array
    total: int
    addresses: tuple[tuple[int, int, int], ...]


class ComplexProgram:
    """One lifted formula and its kernels, with the interface of a ``PointwiseProgram``."""

    def __init__(self, name: str, formula: LiftedFormula, **rules: Any):
        self.name = name
        self.formula = formula
        names, booleans = formula.inputs, formula.real.booleans
        self.rules = ComplexRules(name, names, booleans, is_complex=formula.is_complex, **rules)
        #: Whether the kernels that compute in a dtype have a guard.
        self._is_guarded: dict[DType, bool] = {}
        self._kernels: dict[Any, int] = {}
        #: By forms of operands that are arrays, what was launched for them.
        self._launches: dict[Any, _Launch] = {}
        library.when_forgetting(self._kernels.clear)
        library.when_forgetting(self._launches.clear)

    #: How many arrays a call makes.
    outputs = 1

    def prepare(self) -> LiftedFormula:
        """The formula."""
        return self.formula

    def call(self, *operands: Any) -> Array:
        """The result in new memory; raises torch's errors for bad operands."""
        forms = None
        if all([x.__class__ is np.ndarray for x in operands]):
            forms = (get_default_dtype(), *[(x.dtype.num, x.shape, x.strides) for x in operands])
            if (known := self._launches.get(forms)) is not None:
                return self._launch_again(known, operands)
        where = shared_by_operands(self.name, operands)
        self._check_kinds(operands)
        compute, (form,) = result_forms.pointwise(self, operands)
        self._check_numbers(operands, form.dtype)
        made = form.empty() if where is None else where.allocate(*form)
        launched = self._run(where, operands, made, compute)
        if forms is not None and launched is not None:
            if len(self._launches) >= _FORMS:
                self._launches.clear()
            self._launches[forms] = self._recalled(launched, operands, made)
        return made

    def _launch_again(self, known: _Launch, operands: Sequence[Array]) -> Array:
        """The result of a launch for operands of the forms of earlier ones."""
        capture.refuse(_REFUSED)
        made = known.made.empty()
        begins = [*[address_of(x) for x in operands], address_of(made)]
        words = known.words.copy()
        for word, position, offset in known.addresses:
            words[word] = begins[position] + offset
        self._launch(known.kernel, words, known.total)
        return made

    def _recalled(self, launched: _Launched, operands: Sequence[Array], made: Array) -> _Launch:
        kernel, words, total, addressed = launched
        begins = [*[address_of(x) for x in operands], address_of(made)]
        positions = [*range(len(operands)), -1]
        addresses = [(word, positions[k], int(words[word]) - begins[k]) for word, k in addressed]
        return _Launch(Form.of(made), kernel, words, total, tuple(addresses))

    def into(self, *operands: Any) -> None:
        """The result written into the last operand."""
        *inputs, output = operands
        where = shared_by_operands(self.name, operands)
        self._check_kinds(inputs)
        compute, _ = result_forms.pointwise(self, inputs, output)
        self._check_numbers(inputs, output.dtype)
        if where is None:
            inputs = [separate(x, output) for x in inputs]
        else:
            inputs = [where.apart(x, output) if is_array(x) else x for x in inputs]
        self._run(where, inputs, output, compute)

    # There is no launcher that may say no.
    run, write = call, into

    def _check_kinds(self, operands: Sequence[Any]) -> None:
        """Raise torch's error for what is neither an array nor a number."""
        for operand in operands:
            if not is_operand(operand):
                raise TypeError(
                    f"{self.name}(): operands must be Tensors or Python numbers, not "
                    f"{given_for_tensor(operand)}"
                )

    def _check_numbers(self, operands: Sequence[Any], result: np.dtype[Any]) -> None:
        """Raise torch's error for a number that is no operand, or does not fit."""
        for name, x in zip(self.rules.inputs, operands, strict=True):
            if not is_array(x):
                check_bits(x)
                if result.kind == "c" and self.rules.bounded.get(name, "narrow") != "narrow":
                    checked_number(x, result)

    # --- kernels ---

    def _run(
        self, where: Backend | None, operands: Sequence[Any], output: Array, dtype: DType
    ) -> _Launched | None:
        """Compute the output, and return what was launched if that is all."""
        if output.size == 0:
            return None
        capture.refuse(_REFUSED)
        if where is None and self._is_one_run(operands, output, dtype):
            return self._compute_run(operands, output, dtype)
        inputs: list[Any] = []
        for is_complex, operand in zip(self.formula.kinds, operands, strict=True):
            inputs += [operand.real, operand.imag] if is_complex else [operand]
        outputs = [output]
        if self.formula.is_complex:
            outputs = [output.real, output.imag]
        elif output.dtype.kind == "c":
            outputs = [output.real]
        launched = None
        if where is None:
            inputs = [self._as_array(k, x, dtype) for k, x in enumerate(inputs)]
            launched = self._compute_parts(inputs, outputs, dtype)
        else:
            where.run(self._operation(inputs, outputs, dtype))
        if output.dtype.kind == "c" and not self.formula.is_complex:
            set_all(output.imag, 0, made=False)  # not before: an operand may lie there
            return None
        return launched

    def _operation(self, inputs: list[Any], outputs: list[Any], dtype: DType) -> Pointwise:
        """The formula of parts over arrays of another backend, and numbers."""
        formula = self.formula.real
        operands = [x.item() if isinstance(x, np.ndarray) else x for x in inputs]
        numbers = [
            None if is_array(x) else "bool" if name in formula.booleans else dtype.name
            for name, x in zip(formula.inputs, operands, strict=True)
        ]
        called, signature = (self.name, formula), (dtype, numbers)
        return Pointwise.of_call(view_of, called, operands, outputs, signature, eager=True)

    def _compute_parts(self, inputs: list[Array], outputs: list[Array], dtype: DType) -> _Launched:
        """Write real arrays from real arrays."""
        shape, operands = outputs[0].shape, [*inputs, *outputs]
        sizes, steps = merged(shape, [spread(x, shape) for x in operands])
        if len(sizes) > layout.MAX_DIMENSIONS:
            raise RuntimeError(f"at most {layout.MAX_DIMENSIONS} dimensions are supported")
        launch_args, total = pointwise_words(sizes or [1], steps)
        for position, x in enumerate(operands):
            launch_args[operand_word(position)] = x.ctypes.data
        key = (dtype, *[(x.dtype.num, x.ndim == 0) for x in inputs], outputs[0].dtype.num)
        kernel = self._kernels.get(key)
        if kernel is None:
            kernel = self._kernels[key] = self._compiled(dtype, inputs, outputs)
        self._launch(kernel, launch_args, total)
        parts = [
            k for k, is_complex in enumerate(self.formula.kinds) for _ in range(1 + is_complex)
        ]
        parts += [len(self.formula.kinds)] * len(outputs)
        return kernel, launch_args, total, [(operand_word(k), part) for k, part in enumerate(parts)]

    def _launch(self, kernel: int, launch_args: Array, total: int) -> None:
        if not NATIVE:
            library.run_kernel(kernel, launch_args, total)
            return
        # Threads share the work, and the interpreter's lock is let go of meanwhile.
        _parallel_for()(pool_address(), kernel, launch_args.ctypes.data, total, GRAIN)

    # --- operands in one run ---

    def _is_one_run(self, operands: Sequence[Any], output: Array, dtype: DType) -> bool:
        """Whether element after element of every array lies in memory as those of the output do.

        Formulas with a guard take longer to compute than to read, so their kernels stay the others.
        """
        if (output.dtype.kind == "c") != self.formula.is_complex:
            return False
        is_guarded = self._is_guarded.get(dtype)
        if is_guarded is None:
            is_guarded = guard_of(self.formula.real, dtype.name) is not None
            self._is_guarded[dtype] = is_guarded
        flags = output.flags
        order: Literal["C", "F"] = "C" if flags.c_contiguous else "F"
        if is_guarded or not flags.forc:
            return False
        return all(
            [
                x.ndim == 0 or (x.shape == output.shape and x.flags[order])
                for x in operands
                if isinstance(x, np.ndarray)
            ]
        )

    def _compute_run(self, operands: Sequence[Any], output: Array, dtype: DType) -> _Launched:
        """Write the output, which shares no byte with an operand that is not the output itself."""
        target = address_of(output)
        arrays, places, addresses = [], [], []
        position = 0  # of a part in the formula of real numbers
        for is_complex, operand in zip(self.formula.kinds, operands, strict=True):
            x = operand
            if not isinstance(x, np.ndarray) and is_complex:
                x = from_parts(np.array([x.real, x.imag], dtype.numpy))
            elif not isinstance(x, np.ndarray):
                x = self._as_array(position, x, dtype)
            position += 1 + is_complex
            address = address_of(x)
            place = layout.UNIT if x.shape == output.shape else layout.ZERO
            if address == target:
                place = layout.ALIAS
            else:
                addresses.append(address)
            arrays.append(x)
            places.append((x.dtype.num, place))
        key = (dtype, *places, output.dtype.num, "run")
        kernel = self._kernels.get(key)
        if kernel is None:
            text = self._run_source(arrays, [place for _, place in places], output, dtype)
            kernel = self._kernels[key] = library.generated(f"{self.name}_complex", text)
        words = np.array([*addresses, target], np.int64)
        self._launch(kernel, words, output.size)
        return kernel, words, output.size, [(k, k) for k in range(len(words))]

    def _run_source(
        self, arrays: Sequence[Array], places: Sequence[int], output: Array, dtype: DType
    ) -> str:
        inputs = []
        for name, is_complex, x, place in zip(
            self.formula.inputs, self.formula.kinds, arrays, places, strict=True
        ):
            memory = 2 if place == layout.ALIAS else 1
            part = Operand(name, from_numpy(x.real.dtype).name, place, "out", memory)
            inputs.append(Parts(part, (f"{name}_re", f"{name}_im") if is_complex else (name,)))
        part = Operand("out", from_numpy(output.real.dtype).name, memory=2)
        written = Parts(part, ("re", "im") if self.formula.is_complex else ("re",))
        return pair_source(self.name, self.formula.real, inputs, written, dtype.name)

    def _as_array(self, position: int, operand: Any, dtype: DType) -> Array:
        """An operand of the kernel; numbers in the dtype it computes in."""
        if isinstance(operand, np.ndarray):
            return operand
        is_boolean = self.formula.real.inputs[position] in self.formula.real.booleans
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


@library.remembered
def _parallel_for() -> Callable[..., None]:
    """``native/threads.py``'s function of that name."""
    signature = "void(int64, int64, int64, int64, int64)"
    address = library.hand_written("native.threads", "parallel_for", signature, code="calls")
    return library.callable_at(address, [ctypes.c_int64] * 5)
