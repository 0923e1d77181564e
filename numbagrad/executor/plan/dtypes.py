"""Which dtype a pointwise operator computes in, and that of its result: promotion, written once.

Called by the programs of ``families/pointwise.py`` and ``families/complex_pointwise.py``, by the
trace, and by operators in Python that promote as those do. ``DtypeRules`` says what a definition
says of dtypes; ``of`` answers for operands that have become ``OperandCode``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...backend import is_array
from ...dtype import (
    bool_,
    can_cast,
    complex_of,
    computed_as,
    float16,
    float32,
    from_numpy,
    get_default_dtype,
    promote_types,
    real_of,
    result_type_of,
    scalar_dtype,
    scalar_type_name,
)
from ...dtype import dtype as DType
from ...kernels import layout
from ...number_range import checked_number, wrapped_number


@dataclasses.dataclass(frozen=True)
class OperandCode:
    """One operand in the key of a signature."""

    dtype: DType | None  # None for a Python number
    layout: int
    zero_dim: bool
    number: type | None

    @property
    def given(self) -> DType:
        """Its dtype; for a number that of the kind it is."""
        return self.dtype or scalar_dtype(self.number(0))  # type: ignore[misc]


def code_of(operand: Any, rank: int) -> OperandCode:
    """An operand as the rules of promotion see it; ``rank`` is that of the result."""
    if is_array(operand):
        zero_dim = operand.ndim == 0 and rank > 0
        return OperandCode(from_numpy(operand.dtype), layout.UNIT, zero_dim, None)
    return OperandCode(None, layout.ZERO, False, type(operand))


def promote(operands: Sequence[OperandCode]) -> DType:
    """The dtype torch computes in: dimensioned tensors, then 0-dim ones, then Python numbers.

    That of float16 and a complex number of a later category is complex32, which no tensor has.
    """
    arrays: list[DType | None] = [None, None]
    scalar = None
    for operand in operands:
        if operand.dtype is None:
            scalar = operand.given if scalar is None else promote_types(scalar, operand.given)
        else:
            before, own = arrays[operand.zero_dim], operand.dtype
            arrays[operand.zero_dim] = own if before is None else promote_types(before, own)
    found = result_type_of(arrays[0], arrays[1], scalar)
    if found.is_complex:
        from ...absent_dtypes import complex32

        width: DType | None = None
        for kind in (arrays[0], arrays[1], scalar):
            if kind is not None and kind.is_complex:
                return complex32 if width is float16 else found
            if kind is not None:
                width = result_type_of(width, kind)
    return found


def promoted(operands: Sequence[Any]) -> DType:
    """The dtype that arrays and numbers have in common."""
    rank = max([getattr(x, "ndim", 0) for x in operands])
    return promote([code_of(x, rank) for x in operands])


def check_cast(result: DType, stored: DType) -> None:
    """Raise torch's error unless results of this dtype may be written to memory of that one."""
    if not can_cast(result, stored):
        raise RuntimeError(
            f"result type {scalar_type_name(result)} can't be cast to the desired output "
            f"type {scalar_type_name(stored)}"
        )


#: NumPy kinds of the dtypes that a definition's ``dtypes`` admits.
_ACCEPTED = {"any": "fiub", "number": "fiu", "float": "f", "integral": "iub", "integer": "iu"}


@dataclasses.dataclass
class DtypeRules:
    """The dtype rule of an operator.

    Attributes:
        inputs: names of the operands; ``booleans`` are those that are conditions.
        weak: names of the inputs that take the dtype of the others.
        result: "same" as computed in, "bool", or "float" for integers too.
        accepts: the dtypes it computes in, a key of ``_ACCEPTED``.
        check: raises for dtypes of operands, by name, that the operator refuses.
        rounds: whether numbers beside operands of half precision are rounded first.
        bounded: for the inputs where a number that does not fit is refused, what it has to fit:
            the "result", what is "computed" in, the result if that is no float32 ("narrow"), or
            if it is none of half precision ("wide"). Elsewhere numbers are converted as tensors
            are.
    """

    name: str
    inputs: Sequence[str]
    booleans: frozenset[str]
    weak: frozenset[str] = frozenset()
    result: str = "same"
    accepts: str = "any"
    check: Callable[[dict[str, DType]], None] | None = None
    rounds: bool = False
    bounded: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        #: Results of ``signature``, by all that they depend on.
        self._signatures: dict[Any, tuple[DType, tuple[str | None, ...]]] = {}

    def of(self, codes: Sequence[OperandCode], stored: DType | None = None) -> tuple[DType, DType]:
        """The dtype a call computes in (for half ones: float32), and that of its result.

        ``stored`` is the dtype of the memory that is written, if there is one.

        Raises:
            RuntimeError, NotImplementedError: torch's, for dtypes that the operator refuses.
        """
        compute, result = self.computed(self._common(codes))
        if stored is None:
            return compute, result
        check_cast(result, stored)
        return compute, stored

    def _common(self, codes: Sequence[OperandCode]) -> DType:
        """The common dtype of the operands that count."""
        named = list(zip(self.inputs, codes, strict=True))
        if self.check is not None:
            self.check({name: code.given for name, code in named})
        without = self.booleans | self.weak
        return promote([code for name, code in named if name not in without] or codes)

    def computed(self, common: DType) -> tuple[DType, DType]:
        """The dtype to compute in and that of the result, for operands that promote to a dtype."""
        if self.result == "float" and not common.is_floating_point:
            common = get_default_dtype()
        kind = "f" if common.is_floating_point else common.numpy.kind
        if kind not in _ACCEPTED[self.accepts]:
            raise NotImplementedError(
                f"\"{self.name}\" not implemented for '{scalar_type_name(common)}'"
            )
        return computed_as(common), bool_ if self.result == "bool" else common

    def number(self, position: int, compute: DType) -> DType:
        """The dtype as which a Python number in this place reaches the kernel."""
        return bool_ if self.inputs[position] in self.booleans else compute

    def limit(self, position: int, compute: DType, codes: Sequence[OperandCode]) -> DType:
        """The dtype that a number in this place has to fit.

        That to which the result is cast does not count: kernels read numbers as what they compute.
        """
        if self.bounded.get(self.inputs[position]) in ("result", "narrow"):
            result = self.computed(self._common(codes))[1]
            if result.is_half:
                return result
        return self.number(position, compute)

    def fitted(
        self, position: int, value: Any, compute: DType, codes: Sequence[OperandCode]
    ) -> Any:
        """A number in this place as one that fits.

        Raises:
            RuntimeError, OverflowError: where there is none.
        """
        kind = self.limit(position, compute, codes)
        what = self.bounded.get(self.inputs[position])
        if what is None or (what == "narrow" and kind.name == "float32"):
            return wrapped_number(value, kind.numpy)
        if what == "wide" and self.computed(self._common(codes))[1].is_half:
            return wrapped_number(value, kind.numpy)
        return checked_number(value, kind.numpy)

    def rounded(self, codes: Sequence[OperandCode]) -> DType | None:
        """The dtype of half precision to which operands are rounded first; None if they are not."""
        if not self.rounds:
            return None
        common = promote(codes)
        return common if common.is_half else None

    def signature(
        self, operands: tuple[Any, ...], output: np.ndarray[Any, Any]
    ) -> tuple[DType, tuple[str | None, ...]]:
        """The dtype a call computes in, and those in which numbers among the operands reach it."""
        kinds = [(x.dtype, x.ndim) if is_array(x) else type(x) for x in operands]
        form = get_default_dtype(), output.ndim, output.dtype, *kinds
        found = self._signatures.get(form)
        if found is None:
            codes = [code_of(x, output.ndim) for x in operands]
            compute, _ = self.of(codes, from_numpy(output.dtype))
            numbers = [
                None if code.dtype else self.number(k, compute).name for k, code in enumerate(codes)
            ]
            found = self._signatures[form] = compute, tuple(numbers)
        return found


@dataclasses.dataclass
class ComplexRules(DtypeRules):
    """The rules of a lifted formula: ``is_complex`` says whether its result is."""

    is_complex: bool = True

    def computed(self, common: DType) -> tuple[DType, DType]:
        """The dtype of the parts that are computed, and that of the result.

        Raises:
            NotImplementedError: for a result of complex32, or of one that is computed from parts of
                float16 alone.
        """
        if common is float16 or common.name == "complex32":
            if self.result == "bool":
                return float32, bool_
            raise NotImplementedError(
                f"\"{self.name}\" not implemented for 'ComplexHalf'; convert float16 operands of "
                "complex ones with .to(dtype) first"
            )
        real = real_of(common if common.has_fractions else scalar_dtype(0.0))
        result = complex_of(real) if self.is_complex else real
        return real, bool_ if self.result == "bool" else result
