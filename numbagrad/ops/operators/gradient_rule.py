"""The gradient of a pointwise operator: derived from its definition, run by the node of a result.

``pointwise_operator.py`` makes a rule for each choice of inputs that need a gradient;
``tangent_rule.py`` has the other direction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd import tensor_interface as tensors
from ...autograd.grad_mode import state as grad_mode
from ...dispatch import interception
from ...executor import capture
from ...executor.builtin import LaunchMiss
from ...formula import Formula, symbol
from ...formula.differentiate import is_zero
from ...formula.expression import Expression, postorder
from ...native import layout
from ...tensor import Tensor, new_tensor
from ...transforms.levels import is_transformed
from . import chains, native_launchers, saved_names
from .definition import PointwiseDefinition

if TYPE_CHECKING:
    from .pointwise_operator import PointwiseOperator

_new = object.__new__


#: Elements up to which one kernel for all gradients is quicker than what chooses those wanted.
_FEW = 4096


class PointwiseNode(native_launchers.PointwiseState):
    """Node of a pointwise operator. Subclasses are named as torch's nodes."""

    __slots__ = ()
    _computes_wanted = True
    _begins_chains = True

    rule: GradientRule

    def backward(  # type: ignore[override]  # the engine gives as many gradients as outputs
        self, grad: Tensor | None, *, wanted: tuple[bool, ...] | None = None
    ) -> tuple[Any, ...]:
        """The gradients of the inputs that need one, None for the others."""
        rule = self.rule
        if grad is None:
            return rule.nothing
        if wanted is not None and (grad_mode.enabled or grad._array.size > _FEW):
            return self._chosen(grad, wanted)
        if rule.joint is None:
            results = rule.passed(grad)
        elif grad_mode.enabled:
            results = None
        else:
            try:
                results = rule.launch(self, grad)
            except LaunchMiss:  # the kernel is to be compiled
                results = None
        if results is None:
            results = self._computed(grad, rule)
        return results if self.restore is None else _all_restored(results, self.restore)

    def run_chain(
        self, grad: Tensor, buffers: Collection[int], ready: Sequence[int]
    ) -> tuple[list[PointwiseNode], tuple[Any, ...]] | None:
        """The nodes that run as one kernel, from this one on, and the gradients of the last."""
        return chains.run_chain(self, grad, buffers, ready)

    def _chosen(self, grad: Tensor, wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """The gradients that are wanted, by the rule for these inputs."""
        rule, uses = self.rule.narrowed(wanted)
        results = rule.passed(grad) if rule.joint is None else self._computed(grad, rule, uses)
        return results if self.restore is None else _all_restored(results, self.restore)

    def _computed(
        self, grad: Tensor, rule: GradientRule, uses: Sequence[int] | None = None
    ) -> tuple[Any, ...]:
        """The gradients as Python computes them, by a rule that ``uses`` these arguments."""
        saved = self.unpack()
        arguments = _with_numbers(saved, self.numbers)
        if uses is not None:
            arguments = [arguments[k] for k in uses]
        seen = capture.active is not None and interception.sees_all()
        if grad_mode.enabled or seen or is_transformed(grad) or is_transformed(saved):
            return rule.record(grad, arguments)
        return rule(grad, [x._array if isinstance(x, Tensor) else x for x in arguments])

    def _saved_fields(self) -> dict[str, tuple[str, Any]]:
        return saved_names.of_pointwise(self)

    def _possible_fields(self) -> list[str]:
        return saved_names.possible(type(self), self.rule.operator.formula.inputs)


def _all_restored(results: tuple[Any, ...], restore: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(
        [
            result if result is None or how is None else _restored(result, how)
            for result, how in zip(results, restore, strict=True)
        ]
    )


def _with_numbers(saved: Sequence[Any], numbers: tuple[Any, ...] | None) -> list[Any]:
    """The arguments of a gradient: what was saved, in the places where ``numbers`` has None."""
    if numbers is None:
        return list(saved)
    remaining = iter(saved)
    return [next(remaining) if number is None else number for number in numbers]


def _restored(gradient: Tensor, how: tuple[tuple[int, ...], np.dtype[Any]]) -> Tensor:
    """A gradient summed to the shape and cast to the dtype of the operand it belongs to."""
    shape, dtype = how
    if gradient._array.shape != shape:
        gradient = tensors.sum_to_size(gradient, shape)
    if gradient._array.dtype != dtype:
        gradient = tensors.cast(gradient, dtype)
    return gradient


class GradientRule:
    """The gradient of an operator for one choice of inputs that need it.

    Derived from the definition: which tensors it uses, hence what the node saves, and the operators
    that compute it. An ordinary backward runs one kernel for all gradients; a recorded one runs an
    operator for each, so that each has a gradient of its own.

    ``needed`` has an entry an input: None, or a number that inputs share if they are one Tensor,
    whose gradients are then summed by the formula.
    """

    __slots__ = ("needed", "uses", "uses_result", "nothing", "joint", "launch", "_passed",
                 "_positions", "_single", "_narrowed", "operator", "only", "adds_to_gradient",
                 "chains")  # fmt: skip

    def __init__(self, operator: PointwiseOperator, needed: tuple[int | None, ...]):
        self.needed = needed
        self.nothing = (None,) * len(needed)
        self.operator = operator
        groups = list(dict.fromkeys(number for number in needed if number is not None))
        passed = [group for group in groups if self._passes(group)]
        computed = [group for group in groups if group not in passed]
        #: Where the incoming gradient goes as it is, and where the outputs of ``joint`` go.
        self._passed = tuple([needed.index(group) for group in passed])
        self._positions = tuple([needed.index(group) for group in computed])
        self.joint = self._derived(computed) if computed else None
        self._single: list[tuple[PointwiseOperator, tuple[int, ...]]] | None = None
        self._narrowed: dict[tuple[bool, ...], tuple[GradientRule, tuple[int, ...]]] = {}
        names = operator.formula.inputs
        used = () if self.joint is None else self.joint.formula.inputs[1:]
        self.uses = tuple([names.index(name) for name in used if name in names])
        self.uses_result = len(self.uses) < len(used)
        positions = [k for k, group in enumerate(needed) if group is not None]
        #: The only input that needs a gradient.
        self.only = positions[0] if len(positions) == 1 else None
        self.adds_to_gradient = self.joint is not None and _adds_to_gradient(self.joint.formula)
        #: Chains that begin with this rule, by the rules behind it (``chains.py``).
        self.chains: dict[tuple[GradientRule, ...], Any] = {}
        #: ``launch(node, grad)``: the gradients, not recorded; None if Python has to compute them.
        self.launch: Callable[..., Any] = self._launch_in_python

    def narrowed(self, wanted: tuple[bool, ...]) -> tuple[GradientRule, tuple[int, ...]]:
        """The rule for the inputs that are wanted, and which arguments of this one it uses."""
        found = self._narrowed.get(wanted)
        if found is None:
            pairs = zip(self.needed, wanted, strict=True)
            rule = self.operator.rule(tuple([group if want else None for group, want in pairs]))
            own = self._arguments()
            found = rule, tuple([own.index(name) for name in rule._arguments()])
            self._narrowed[wanted] = found
        return found

    def _arguments(self) -> list[str]:
        """The arguments of ``joint`` behind the gradient: names of inputs, and of the result."""
        names = [self.operator.formula.inputs[k] for k in self.uses]
        return [*names, "result"] if self.uses_result else names

    def _launch_in_python(self, node: PointwiseNode, grad: Tensor) -> None:
        """Leave the node to Python, as the compiled launcher does if it meets what is unusual."""
        if not native_launchers.ready():
            return
        assert self.joint is not None
        positions = [layout.SOURCE_NOTHING] * len(self.needed)
        for position in self._passed:
            positions[position] = layout.SOURCE_PASSED
        for output, position in enumerate(self._positions):
            positions[position] = layout.SOURCE_OUTPUT + output
        found = native_launchers.gradient_launcher(self.joint.program, positions)
        if found is not None:
            self.launch = found

    def _gradients(self, groups: list[int]) -> tuple[tuple[str, ...], list[Any]]:
        """Inputs of the gradient formula, and the gradient of each of these groups of inputs."""
        formula = self.operator.formula
        members = [
            [name for name, n in zip(formula.inputs, self.needed, strict=True) if n == group]
            for group in groups
        ]
        names = [name for group in members for name in group]
        gradients = formula.gradients(names, self.operator.definition.gradient)
        remaining = iter(gradients.outputs)
        sums = []
        for group in members:
            total = next(remaining)
            for _ in group[1:]:
                total = total + next(remaining)
            sums.append(total)
        return gradients.inputs, sums

    def _passes(self, group: int) -> bool:
        """Whether the gradient of a group is the incoming one, as for the operands of a sum."""
        _, (gradient,) = self._gradients([group])
        return gradient.operation == "input" and gradient.value == "grad"

    def _derived(self, groups: list[int]) -> PointwiseOperator:
        """The operator that computes the gradients of these groups of inputs."""
        inputs, outputs = self._gradients(groups)
        definition = self.operator.definition
        derived = PointwiseDefinition(
            f"{definition.name}_backward",
            None,  # type: ignore[arg-type]
            grad_fn=second_name(definition.grad_fn),
        )
        formula = _renamed(inputs, outputs, self.operator.formula.inputs)
        return self.operator.of_formula(derived, formula)

    def passed(self, grad: Tensor) -> tuple[Any, ...]:
        """The gradients where all of them are the incoming one."""
        if len(self._passed) == len(self.needed):
            return (grad,) * len(self.needed)
        return self._placed(grad, ())

    def __call__(self, grad: Tensor, arrays: list[Any]) -> tuple[Any, ...]:
        """The gradients, in the places of the inputs; not recorded.

        ``arrays`` are the ndarrays and numbers that the gradient uses.
        """
        made = self.joint.program.run(grad._array, *arrays)  # type: ignore[union-attr]
        if made.__class__ is tuple:
            if len(made) == len(self.needed):
                return tuple([new_tensor(array) for array in made])
            return self._placed(grad, [new_tensor(array) for array in made])
        result = _new(Tensor)  # as in binary(), what new_tensor() does
        result._array = made
        result._requires_grad = False
        result._producer = None
        result._output_nr = 0
        result._version_cell = None
        result._accumulated = result._viewed = None
        count = len(self.needed)
        if count == 1:
            return (result,)
        if count == 2 and not self._passed:
            return (result, None) if self._positions[0] == 0 else (None, result)
        return self._placed(grad, (result,))

    def _placed(self, grad: Tensor, results: Sequence[Tensor]) -> tuple[Any, ...]:
        placed: list[Any] = [None] * len(self.needed)
        for position in self._passed:
            placed[position] = grad
        for position, result in zip(self._positions, results, strict=True):
            placed[position] = result
        return tuple(placed)

    @property
    def passes(self) -> bool:
        """Whether an input gets the incoming gradient as it is."""
        return bool(self._passed)

    def of_chain(self, results: Sequence[Tensor]) -> tuple[Any, ...]:
        """The gradients at the end of a chain: ``joint``'s outputs, and what is passed on."""
        if self.joint is None:
            return self.passed(results[0])
        return self._placed(results[-1], results[: len(self._positions)])

    def record(self, grad: Tensor, arguments: list[Any]) -> tuple[Any, ...]:
        """The gradients as recorded operators, for gradients of higher order."""
        assert self.joint is not None
        if len(self._positions) == 1:
            return self._placed(grad, [self._recorded(self.joint, grad, arguments)])
        single = self._single
        if single is None:
            order = self.joint.formula.inputs[1:]
            single = []
            for position in self._positions:
                operator = self._derived([self.needed[position]])  # type: ignore[list-item]
                positions = tuple([order.index(x) for x in operator.formula.inputs[1:]])
                single.append((operator, positions))
            self._single = single
        return self._placed(
            grad,
            [
                self._recorded(operator, grad, [arguments[i] for i in positions])
                for operator, positions in single
            ],
        )

    def _recorded(self, operator: PointwiseOperator, grad: Tensor, arguments: list[Any]) -> Tensor:
        """One gradient, which requires grad if something that it depends on does."""
        nothing = is_zero(operator.formula.outputs[0])
        if nothing or self.operator.definition.masked:
            arguments = [_detached(x) for x in arguments]
        return operator(_detached(grad) if nothing else grad, *arguments)


def _detached(operand: Any) -> Any:
    """An operand, of which no gradient is to be recorded if it is a Tensor."""
    return operand.detach() if isinstance(operand, Tensor) else operand


def _renamed(inputs: tuple[str, ...], outputs: list[Any], taken: tuple[str, ...]) -> Formula:
    """A gradient formula whose ``grad`` and ``result`` are inputs like any other.

    They get names of their own, since the gradient of this formula will again speak of ``grad``,
    meaning its own incoming gradient, and of ``result``.
    """
    order = 1
    while f"grad{order}" in taken or f"result{order}" in taken:
        order += 1
    names = {"grad": f"grad{order}", "result": f"result{order}"}
    renamed = tuple([names.get(name, name) for name in inputs])
    replacements = {name: symbol(new) for name, new in names.items() if name in inputs}
    return Formula(inputs, outputs).substitute(replacements, renamed)


def _adds_to_gradient(formula: Formula) -> bool:
    """Whether the incoming gradient, the first input, is itself a term of a sum."""
    gradient = {formula.inputs[0]}
    return any(
        [
            node.operation in ("add", "sub", "fma") and not gradient.isdisjoint(_terms(node))
            for node in postorder(formula.outputs)
        ]
    )


def _terms(node: Expression) -> set[str]:
    """The inputs that are terms of a sum, but for their signs or under a condition."""
    found, terms = set(), list(node.operands)
    while terms:
        term = terms.pop()
        if term.operation in ("neg", "where"):
            terms += term.operands
        elif term.operation == "input":
            found.add(term.value)
    return found


def second_name(grad_fn: str) -> str:
    """``SigmoidBackward0`` -> ``SigmoidBackwardBackward0``, as torch names second derivatives."""
    return grad_fn.rstrip("0123456789") + "Backward0"
