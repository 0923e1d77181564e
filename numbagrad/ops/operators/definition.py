"""The classes of operator definitions, and the registers of all of them.

The files of this folder call `define` once for every operator; the executor, the tensor's methods
and the tests read the register `POINTWISE`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...dtype import dtype as DType
from ...formula import Formula, trace

Interval = tuple[float, float]

#: Every pointwise operator by name.
POINTWISE: dict[str, PointwiseDefinition] = {}


@dataclass(frozen=True)
class ComplexRule:
    """The formula of a pointwise operator for complex operands, where its own does not hold.

    All functions take values of ``formula/complex.py`` by name: inputs, ``result``, and ``grad`` or
    ``tangent``. `formula` replaces that of real numbers. `gradient` and `tangent` have, by input,
    what has no complex derivative, or one that the formula for real numbers does not show; with
    `by_parts` derivatives are taken by the real and the imaginary part.
    """

    formula: Callable[..., Any] | None = None
    gradient: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    tangent: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    by_parts: bool = False


@dataclass(frozen=True)
class Refused:
    """torch's error of an operator that does not take complex operands."""

    message: str
    kind: type[Exception] = NotImplementedError


#: The properties of formulas with a complex derivative, and of those without a gradient.
HOLOMORPHIC = ComplexRule()


@dataclass(frozen=True)
class PointwiseDefinition:
    """A pointwise operator: a formula, and what cannot be read from it.

    `gradient` maps inputs to functions of `grad`, inputs and `result`, for the inputs whose derived
    gradient would be less accurate or would save more. `scalars` maps the inputs that are numbers,
    not tensors, to their defaults; those in `promoting` take part in the choice of the dtype, the
    others take the dtype of the tensors. `domain` maps inputs to the intervals where tests draw
    from: there the operator is defined and smooth. `dtypes` is "any", "number" (not bool), "float",
    "integral" (integers and bool) or "integer"; `result` is "same", "bool", or "float" (integers
    become the default float first). `check` is given the dtype of every operand by name and raises
    for what torch refuses beyond that. An operator that `refuses_zero_divisors` raises for integers
    whose divisor, the second input, has a zero. One that is not `differentiable` raises in
    backward. `complex` says what it is for complex operands: None where there is no such thing,
    `Refused` if torch has an error of its own for that. One that is `discontinuous`, as each with a
    result of bool does, has numbers beside operands of half precision rounded to these first; else
    only results are. One that `takes_numbers` takes operands none of which is a Tensor, as torch's
    arithmetic does. A number among the `scalars` or the `bounded_inputs` that does not fit is
    refused, but for those that are `converted`; `refuses_numbers` is what it has to fit, as
    ``DtypeRules.bounded`` has it. One that is `masked` has gradients that compare the inputs and do
    nothing else with them: recorded, they depend on the incoming gradient alone, as torch's do.
    """

    name: str
    formula: Callable[..., Any]
    gradient: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    domain: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)
    scalars: Mapping[str, float | None] = field(default_factory=dict)
    promoting: tuple[str, ...] = ()
    dtypes: str = "any"
    result: str = "same"
    check: Callable[[Mapping[str, DType]], None] | None = None
    refuses_zero_divisors: bool = False
    aliases: tuple[str, ...] = ()
    in_place: bool = True
    differentiable: bool = True
    grad_fn: str = ""
    complex: ComplexRule | Refused | None = None
    discontinuous: bool = False
    takes_numbers: bool = False
    refuses_numbers: str = "result"
    converted: tuple[str, ...] = ()
    bounded_inputs: tuple[str, ...] = ()
    masked: bool = False

    @property
    def bounded(self) -> dict[str, str]:
        """The inputs where a number has to fit, and what (``DtypeRules``)."""
        names = set(self.scalars).difference(self.converted).union(self.bounded_inputs)
        return dict.fromkeys(sorted(names), self.refuses_numbers)

    @property
    def weak(self) -> frozenset[str]:
        """The inputs that take the dtype of the others."""
        return frozenset(self.scalars).difference(self.promoting)

    @property
    def rounds_operands(self) -> bool:
        """Whether operands are rounded to their common dtype of half precision."""
        return self.discontinuous or self.result == "bool"

    @cached_property
    def traced(self) -> Formula:
        """The formula as a graph, made on first use."""
        return trace(self.formula)


def define(
    name: str,
    formula: Callable[..., Any],
    *,
    domain: Mapping[str, Interval | tuple[Interval, ...]] | None = None,
    grad_fn: str = "",
    **rest: Any,
) -> PointwiseDefinition:
    """Add a pointwise operator to the register; the arguments are those of its class.

    An interval of the domain may stand alone; `grad_fn` is given where torch's name is not the
    operator's in camel case and "Backward0".
    """
    if name in POINTWISE:
        raise ValueError(f"the pointwise operator {name} is defined twice")
    intervals = {
        x: tuple(given) if isinstance(given[0], tuple) else (given,)
        for x, given in (domain or {}).items()
    }
    grad_fn = grad_fn or "".join(part.capitalize() for part in name.split("_")) + "Backward0"
    definition = PointwiseDefinition(name, formula, domain=intervals, grad_fn=grad_fn, **rest)
    POINTWISE[name] = definition
    return definition


#: A function of floats, to which integers are converted, whose formula holds for complex operands.
analytic = functools.partial(define, result="float", complex=HOLOMORPHIC)
