"""Pointwise operators with complex operands: formulas lifted to real and imaginary parts.

``operators/pointwise_operator.py`` comes here when a launcher gave up and an operand turns out to
be complex. What the operator computes is its formula, lifted (``formula/complex.py``). Gradients
follow torch's convention, that of the direction of steepest ascent: the gradient of a complex input
is the derivative by its real part plus ``1j`` times that by its imaginary part. For a formula with
a complex derivative this is the conjugate of that times the gradient of the result; the definition
says so by ``HOLOMORPHIC``, and says more where a function has none (``abs``). Of gradients, the
gradients are derived from the lifted formula, part by part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...autograd import tensor_interface
from ...dispatch.bits import INTERCEPTED, TRANSFORMED
from ...executor.families.complex_pointwise import ComplexProgram, LiftedFormula, refused
from ...executor.plan.dtypes import promoted
from ...formula import Expression, Formula, simplify, substitute, symbol
from ...formula.complex import Complex, conj, lift, parts_of, real
from ...formula.differentiate import ZERO, differentiate, is_zero, scale
from ...formula.expression import postorder
from ...formula.trace import parameters
from ...tensor import Tensor, new_tensor
from ..operators.definition import ComplexRule, PointwiseDefinition, Refused
from ..operators.gradient_rule import second_name
from ..operators.pointwise_operator import PointwiseOperator
from ..operators.pointwise_operator import is_complex as has_parts

__all__ = ["derived"]

#: Gives the lifted gradient of an input, or the lifted tangent that given ones add up to.
Derivative = Callable[..., Any]


def _variant_of(operator: PointwiseOperator, operands: Sequence[Any]) -> ComplexOperator:
    """The variant of ``operator`` for operands of these kinds, some of them complex.

    Raises:
        NotImplementedError: if it has no meaning for complex numbers.
    """
    kinds = tuple([has_parts(x) for x in operands])
    variant = operator.variants.get(kinds)
    if variant is None:
        definition = operator.definition
        rule = definition.complex
        if isinstance(rule, Refused):
            raise rule.kind(rule.message)
        if rule is None:
            arrays = [x._array if isinstance(x, Tensor) else x for x in operands]
            raise refused(operator.name, promoted(arrays))
        variant = operator.variants[kinds] = _lifted(definition, rule, kinds)
    return variant


tensor_interface.register(complex_variant=_variant_of)


def _value(name: str, is_complex: bool) -> Any:
    """An input as a symbol, or as one for each part."""
    return Complex(symbol(f"{name}_re"), symbol(f"{name}_im")) if is_complex else symbol(name)


def _formula_of(names: Sequence[str], kinds: Sequence[bool], value: Any) -> LiftedFormula:
    """The formula of a lifted value of these inputs."""
    inputs: list[str] = []
    for name, is_complex in zip(names, kinds, strict=True):
        inputs += [f"{name}_re", f"{name}_im"] if is_complex else [name]
    is_complex = isinstance(value, Complex)
    outputs = parts_of(value) if is_complex else (value,)
    return LiftedFormula(tuple(names), tuple(kinds), Formula(inputs, outputs), is_complex)


def _lifted(
    definition: PointwiseDefinition, rule: ComplexRule, kinds: tuple[bool, ...]
) -> ComplexOperator:
    """The operator of a definition for operands of these kinds."""
    plain = definition.traced
    values = {x: _value(x, kind) for x, kind in zip(plain.inputs, kinds, strict=True)}
    compute = rule.formula
    if compute is None:
        value = lift(plain.outputs[0], _converted(plain.outputs[0], values))
    else:
        value = compute(**values)
    result = _value("result", isinstance(value, Complex))

    def local(name: str, incoming: Any) -> Any:
        """The gradient formula of the definition, read as one of complex numbers."""
        formula = plain.gradient(name, definition.gradient.get(name))
        return lift(formula.outputs[0], {**values, "result": result, "grad": incoming})

    def gradient(name: str, grad: Any) -> Any:
        own = rule.gradient.get(name)
        if rule.by_parts:
            return _gradient_by_parts(value, values[name], grad)
        if own is not None:
            found = _called(own, {**values, "result": result, "grad": grad})
        else:
            found = conj(local(name, conj(grad)))
        return _as_kind(found, isinstance(values[name], Complex))

    def tangent(tangents: dict[str, Any]) -> Any:
        if rule.by_parts:
            return _tangent_by_parts(value, values, tangents)
        total: Any = None
        for name, direction in tangents.items():
            own = rule.tangent.get(name)
            given = {**values, "result": result, "tangent": direction}
            term = local(name, direction) if own is None else _called(own, given)
            total = term if total is None else _sum(total, term)
        return _as_kind(total, isinstance(value, Complex))

    return ComplexOperator(definition, _formula_of(plain.inputs, kinds, value), gradient, tangent)


def _converted(output: Expression, values: dict[str, Any]) -> dict[str, Any]:
    """The inputs of a formula, with real ones converted, as torch does before it computes.

    The imaginary part of 0 decides on the sign of zeros: ``3 - (1+0j)`` is ``2+0j``, whose root has
    another sign than that of ``2-0j``. Conditions stay what they are, and so do numbers that others
    are compared with by size, as the tolerances of ``isclose``.
    """
    nodes = list(postorder((output,)))
    real = [node.operands[0] for node in nodes if node.operation == "where"]
    real = [x for x in real if x.operation == "input"]
    real += postorder([node for node in nodes if node.operation in ("lt", "le", "gt", "ge")])
    kept = {node.value for node in real if node.operation == "input"}
    return {
        name: x if name in kept or isinstance(x, Complex) else Complex(x, 0)
        for name, x in values.items()
    }


def _called(function: Callable[..., Any], given: dict[str, Any]) -> Any:
    """``function`` of those of the given values that its parameters name."""
    return function(*[given[x] for x in parameters(function)])


def _as_kind(value: Any, is_complex: bool) -> Any:
    if is_complex:
        return value if isinstance(value, Complex) else Complex(real(value), 0)
    return real(value)


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, Complex) or isinstance(b, Complex):
        return _as_kind(a, True) + _as_kind(b, True)
    return a + b


# --- derivatives by parts -------------------------------------------------------------------------


def _parts(value: Any) -> tuple[Expression, ...]:
    return parts_of(value) if isinstance(value, Complex) else (value,)


def _gradient_by_parts(value: Any, input: Any, grad: Any) -> Any:
    """The gradient of an input from that of a lifted value, by the derivatives of both parts."""
    found = []
    for part in _parts(input):
        total: Any = ZERO
        for output, incoming in zip(_parts(value), _parts(grad), strict=True):
            term = scale(incoming, differentiate(simplify(output), part.value))
            total = term if is_zero(total) else total if is_zero(term) else total + term
        found.append(total)
    return Complex(*found) if len(found) == 2 else found[0]


def _tangent_by_parts(value: Any, values: dict[str, Any], tangents: dict[str, Any]) -> Any:
    """The tangent of a lifted value, by the derivatives of both parts."""
    found = []
    for output in _parts(value):
        total: Any = ZERO
        for name, direction in tangents.items():
            for part, along in zip(_parts(values[name]), _parts(direction), strict=True):
                term = scale(along, differentiate(simplify(output), part.value))
                total = term if is_zero(total) else total if is_zero(term) else total + term
        found.append(total)
    return Complex(*found) if len(found) == 2 else found[0]


def derived(
    name: str, grad_fn: str, names: tuple[str, ...], kinds: tuple[bool, ...], value: Any
) -> ComplexOperator:
    """An operator of a lifted value whose own derivatives are taken by parts."""
    values = {x: _value(x, kind) for x, kind in zip(names, kinds, strict=True)}
    definition = PointwiseDefinition(name, None, grad_fn=grad_fn)  # type: ignore[arg-type]
    return ComplexOperator(
        definition,
        _formula_of(names, kinds, value),
        lambda name, grad: _gradient_by_parts(value, values[name], grad),
        lambda tangents: _tangent_by_parts(value, values, tangents),
    )


class ComplexOperator(PointwiseOperator):
    """A pointwise operator for operands of which some, or the result, are complex.

    ``gradient(name, grad)`` is the lifted gradient of an input, and ``push(tangents)`` the lifted
    tangent of the result.
    """

    __slots__ = ("gradient", "push")

    layers = TRANSFORMED | INTERCEPTED

    def __init__(
        self,
        definition: PointwiseDefinition,
        formula: LiftedFormula,
        gradient: Derivative,
        push: Derivative,
    ):
        super().__init__(definition)
        self.program: Any = ComplexProgram(
            definition.name,
            formula,
            result=definition.result,
            weak=definition.weak,
            bounded=definition.bounded,
            check=definition.check,
        )
        self.gradient = gradient
        self.push = push

    def __call__(self, *operands: Any) -> Tensor:
        """Compute the operator and record it; no launcher takes complex arrays."""
        return self.compute(operands)

    def _for(self, operands: Sequence[Any]) -> ComplexOperator:
        """This one, which is for operands of these kinds already."""
        return self

    variant = _for

    def rule(self, needed: tuple[int | None, ...]) -> Any:
        """The gradient rule for the operands that need a gradient."""
        rule: Any = self._rules.get(needed)
        if rule is None:
            rule = self._rules[needed] = ComplexGradientRule(self, needed)  # type: ignore[assignment]
        return rule

    def tangent(
        self, operator: Any, primals: list[Any], tangents: list[Any], results: tuple[Tensor, ...]
    ) -> tuple[Tensor | None, ...]:
        """The tangent of the result, from a formula derived from the gradients."""
        which = tuple([tangent is not None for tangent in tangents])
        derived: Any = self._tangents.get(which)
        if derived is None:
            derived = self._tangents[which] = self._make_tangent(which)
        pushed, uses = derived
        sources = (primals, tangents, results)
        return (pushed(*[sources[source][position] for source, position in uses]),)

    def _make_tangent(self, which: tuple[bool, ...]) -> Any:
        formula = self.program.formula
        names = [x for x, needed in zip(formula.inputs, which, strict=True) if needed]
        kinds = dict(zip(formula.inputs, formula.kinds, strict=True))
        kinds["result"] = formula.is_complex
        inner = {x: f"tangent_{_free(formula.inputs)}_{x}" for x in names}
        value = self.push({x: _value(inner[x], kinds[x]) for x in names})
        used = _used(value, (*formula.inputs, "result"), kinds)
        free = f"result_{_free(formula.inputs)}"
        own = {x: free if x == "result" else x for x in used}
        value = _renamed(value, {x: (new, kinds[x]) for x, new in own.items() if x != new})
        operator = derived(
            f"{self.name}_jvp",
            second_name(self.definition.grad_fn),
            (*own.values(), *inner.values()),
            tuple([kinds[x] for x in (*used, *names)]),
            value,
        )
        uses = [(2, 0) if x == "result" else (0, formula.inputs.index(x)) for x in used]
        return operator, uses + [(1, formula.inputs.index(x)) for x in names]

    def with_tangent(self, primals: list[Any], tangents: list[Any]) -> None:
        """No kernel computes both."""
        return None

    def into(self, output: Tensor, operands: tuple[Any, ...]) -> None:
        """See ``PointwiseOperator``."""
        self._into_in_python(output, operands)


def _free(taken: Sequence[str]) -> int:
    """A number that no input has in its name."""
    order = 1
    while any([str(order) in name for name in taken]):
        order += 1
    return order


def _used(value: Any, names: Sequence[str], kinds: dict[str, bool]) -> list[str]:
    """The inputs that a lifted value depends on."""
    found = Formula(_all_inputs(value), _parts(value)).uses
    return [
        x for x in names
        if (found & {f"{x}_re", f"{x}_im"} if kinds[x] else x in found)
    ]  # fmt: skip


def _all_inputs(value: Any) -> list[str]:
    return sorted({x.value for x in postorder(_parts(value)) if x.operation == "input"})


def _renamed(value: Any, names: dict[str, tuple[str, bool]]) -> Any:
    """A lifted value with some of its inputs renamed."""
    new: dict[str, Expression] = {}
    for name, (other, is_complex) in names.items():
        if is_complex:
            new[f"{name}_re"] = symbol(f"{other}_re")
            new[f"{name}_im"] = symbol(f"{other}_im")
        else:
            new[name] = symbol(other)
    found = substitute(_parts(value), new)
    return Complex(*found) if len(found) == 2 else found[0]


class ComplexGradientRule:
    """The gradients of a ``ComplexOperator``: the part of a ``GradientRule`` that nodes call.

    One operator computes each gradient, recorded or not.
    """

    def __init__(self, operator: ComplexOperator, needed: tuple[int | None, ...]):
        self.operator = operator
        self.needed = needed
        self.nothing = (None,) * len(needed)
        formula = operator.program.formula
        groups = list(dict.fromkeys(number for number in needed if number is not None))
        grad = _value("grad", formula.is_complex)
        values = {group: self._summed(group, grad) for group in groups}
        passed = [group for group in groups if _is_same(values[group], grad)]
        self._passed = [needed.index(group) for group in passed]
        kinds = dict(zip(formula.inputs, formula.kinds, strict=True))
        kinds |= {"result": formula.is_complex, "grad": formula.is_complex}
        self._single: list[tuple[int, ComplexOperator, list[int]]] = []
        used = [
            _used(values[group], ("grad", *formula.inputs, "result"), kinds)
            for group in groups if group not in passed
        ]  # fmt: skip
        together = [x for x in (*formula.inputs, "result") if any([x in names for names in used])]
        self.uses = tuple([formula.inputs.index(x) for x in together if x != "result"])
        self.uses_result = "result" in together
        #: None if all gradients are the incoming one.
        self.joint: Any = self if used else None
        order = _free(formula.inputs)
        for group, names in zip([g for g in groups if g not in passed], used, strict=True):
            names = ["grad", *[x for x in names if x != "grad"]]
            own = {x: f"{x}{order}" if x in ("grad", "result") else x for x in names}
            value = _renamed(values[group], {x: (own[x], kinds[x]) for x in names if own[x] != x})
            made = derived(
                f"{operator.name}_backward",
                second_name(operator.definition.grad_fn),
                tuple(own.values()),
                tuple([kinds[x] for x in names]),
                value,
            )
            positions = [together.index(x) for x in names[1:]]
            self._single.append((needed.index(group), made, positions))

    def _summed(self, group: int, grad: Any) -> Any:
        names = self.operator.program.formula.inputs
        total: Any = None
        for name, number in zip(names, self.needed, strict=True):
            if number == group:
                term = self.operator.gradient(name, grad)
                total = term if total is None else _sum(total, term)
        return total

    def launch(self, node: Any, grad: Tensor) -> None:
        """Nothing is compiled that takes nodes."""
        return None

    def passed(self, grad: Tensor) -> tuple[Any, ...]:
        """The gradients where all of them are the incoming one."""
        return tuple([None if number is None else grad for number in self.needed])

    def __call__(self, grad: Tensor, arrays: list[Any]) -> tuple[Any, ...]:
        """The gradients, in the places of the inputs; not recorded."""
        return self.record(
            grad, [new_tensor(x) if isinstance(x, np.ndarray) else x for x in arrays]
        )

    def record(self, grad: Tensor, arguments: list[Any]) -> tuple[Any, ...]:
        """The gradients as operators, recorded if this thread records."""
        placed: list[Any] = [None] * len(self.needed)
        for position in self._passed:
            placed[position] = grad
        for position, operator, positions in self._single:
            placed[position] = operator(grad, *[arguments[k] for k in positions])
        return tuple(placed)


def _is_same(value: Any, grad: Any) -> bool:
    """Whether a lifted value is the incoming gradient itself."""
    if isinstance(value, Complex) != isinstance(grad, Complex):
        return False
    return all(
        [
            a.operation == "input" and a.value == b.value
            for a, b in zip(map(simplify, _parts(value)), _parts(grad), strict=True)
        ]
    )
