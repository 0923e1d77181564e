"""Pointwise operators on Tensors: run the compiled formula, record a node if a gradient is wanted.

``definition.py`` says what an operator computes; here it becomes a function on Tensors, whose
gradients of every order ``gradient_rule.py`` derives. ``tensor_operator.py`` does that for all
other operators.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ... import half_precision as half
from ...autograd import tensor_interface as tensors
from ...autograd.grad_mode import state as grad_mode
from ...autograd.node import Error, Node, edge_of, new_node
from ...autograd.saved import save, save_output
from ...autograd.writes.inplace import apply_inplace, before_write
from ...backend import is_array
from ...dispatch import descent, interception, layers, sparse
from ...dispatch.bits import COMPLEX, INTERCEPTED, TRANSFORMED
from ...dtype import python_number, scalar_dtype
from ...executor import capture
from ...executor.builtin import LaunchMiss
from ...executor.families.pointwise import PointwiseProgram, is_operand, require_array
from ...executor.plan.formula_kernels import GRAIN
from ...native.layout import MISS_OPERAND
from ...tensor import Tensor, new_tensor
from ...transforms import batching
from ...transforms.levels import is_transformed
from ...transforms.tangents import transposed
from ...transforms.tracking import requires_grad
from ..arguments.operand_kinds import check_operands
from . import native_launchers, node_calls
from .base import Operator
from .definition import POINTWISE, PointwiseDefinition
from .gradient_rule import GradientRule, PointwiseNode
from .tangent_rule import TangentRule

ndarray = np.ndarray


def without_gradient(operator: str, operands: Sequence[Any]) -> Error:
    """The node of a result that has no gradient, though it looks as if it had one."""
    edges = tuple([edge_of(x) if isinstance(x, Tensor) else None for x in operands])
    error = NotImplementedError(
        f"the derivative for '{operator}' is not implemented; detach() its inputs if the "
        "gradient should not flow through it"
    )
    return Error(error, edges)


def _array_of(operand: Any) -> Any:
    return operand._array if isinstance(operand, Tensor) else operand


def is_complex(operand: Any) -> bool:
    """Whether an operand is a complex Tensor or number."""
    if isinstance(operand, Tensor):
        return operand._array.dtype.kind == "c"
    return isinstance(operand, complex)


def _is_operand(value: Any) -> bool:
    return isinstance(value, Tensor) or (is_operand(value) and not is_array(value))


def _has_another_dtype(operands: Sequence[Any], dtype: np.dtype[Any]) -> bool:
    """Whether one of the Tensors among the operands is not of this dtype."""
    for operand in operands:
        if isinstance(operand, Tensor) and operand._array.dtype is not dtype:
            return True
    return False


class PointwiseOperator(Operator):
    """A pointwise operator on Tensors and Python numbers; ``into`` writes an existing Tensor."""

    layers = COMPLEX | TRANSFORMED | INTERCEPTED

    __slots__ = (
        "definition", "name", "launch", "launch_into", "program", "recorded", "variants",
        "_recipes", "_rules", "_node", "_tangents", "__weakref__",
    )  # fmt: skip

    def __init__(self, definition: PointwiseDefinition, formula: Any = None):
        self.definition = definition
        self.name = definition.name
        self.program = PointwiseProgram(
            definition.name,
            (lambda: formula) if formula is not None else (lambda: definition.traced),
            definition.result,
            GRAIN,
            definition.refuses_zero_divisors,
            accepts=definition.dtypes,
            weak=definition.weak,
            bounded=definition.bounded,
            check=definition.check,
            rounds=definition.rounds_operands,
        )
        self.recorded = definition.result != "bool"
        self._rules: dict[tuple[int | None, ...], GradientRule] = {}
        self._tangents: dict[tuple[bool, ...], TangentRule] = {}
        #: Operators for operands of which some are complex, by which of them.
        self.variants: dict[tuple[bool, ...], Any] = {}
        self._node: type[PointwiseNode] | None = None
        self._recipes: native_launchers.Recipes | None = None
        #: ``launch(*operands, recording)``: the result; if it requires grad but has no node, that
        #: is still to be recorded. Compiled as soon as that pays. Raises ``LaunchMiss``.
        self.launch: Callable[..., Tensor] = self._launch_in_python
        #: ``launch_into(output, *operands)``: what ``into`` does, if the kernel is there.
        self.launch_into: Callable[..., None] = self._launch_into_in_python

    def _launch_in_python(self, *arguments: Any) -> Tensor:
        if native_launchers.ready():
            found = native_launchers.operator_launcher(self.program, self.recorded)
            if found is not None:
                self._recipes = native_launchers.Recipes(self.program)
            self.launch = found or self._run
            return self.launch(*arguments)
        return self._run(*arguments)

    def _run(self, *arguments: Any) -> Tensor:
        """The compiled launcher in Python, as far as a node that is still to be recorded."""
        recording = arguments[-1]
        needed = False
        arrays = []
        for operand in arguments[:-1]:
            if isinstance(operand, Tensor):
                needed = needed or operand._requires_grad
                operand = operand._array
            elif operand.__class__ is ndarray:
                raise LaunchMiss(MISS_OPERAND)  # which is refused by ``check_operands``
            arrays.append(operand)
        return new_tensor(self.program.launch(*arrays), needed and recording and self.recorded)

    @property
    def formula(self) -> Any:
        """The traced formula."""
        return self.program.prepare()

    @property
    def parameters(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the operands."""
        return tuple(self.formula.inputs)

    @property
    def tensors(self) -> frozenset[str]:  # type: ignore[override]
        """The names of operands that may be Tensors."""
        return frozenset(self.parameters).difference(self.definition.scalars)

    @property
    def node_class(self) -> type[PointwiseNode]:
        """The class of the nodes this operator leaves."""
        if self._node is None:
            own = {"__slots__": (), "operator": self}
            self._node = type(self.definition.grad_fn, (PointwiseNode,), own)
        return self._node

    def __call__(self, *operands: Any) -> Tensor:
        """Compute the operator and record it."""
        try:
            result = self.launch(*operands, grad_mode.enabled)
        except LaunchMiss:
            return self.compute(operands)
        if result._requires_grad and result._producer is None:
            self.record(result, operands)
        return result

    def compute(self, operands: Sequence[Any]) -> Tensor:
        """The operator in Python, whatever the operands: what ``launch`` misses arrives here."""
        check_operands(self.name, operands)
        result: Tensor = descent.call(self, self.with_tensor(operands))
        return result

    def run(self, arrays: list[Any]) -> np.ndarray[Any, Any]:
        """The formula on arrays and numbers."""
        return self.program.run(*arrays)

    def with_tensor(self, operands: Sequence[Any]) -> Sequence[Any]:
        """The operands; of numbers alone the first as a Tensor, if the operator takes such."""
        for operand in operands:
            if isinstance(operand, Tensor):
                return operands
        first = operands[0]
        if not self.definition.takes_numbers or not is_operand(first):
            require_array(self.name, operands)
        value, *others = [python_number(x) if isinstance(x, np.generic) else x for x in operands]
        made = half.converted(np.array(value), scalar_dtype(value).numpy)
        return (new_tensor(made), *others)

    def variant(self, operands: Sequence[Any]) -> PointwiseOperator:
        """This operator for operands of which some, or the output, are complex."""
        found: PointwiseOperator = tensors.complex_variant(self, operands)
        return found

    @staticmethod
    def of_formula(definition: PointwiseDefinition, formula: Any) -> PointwiseOperator:
        """An operator that is derived from others, whose formula is there already."""
        return PointwiseOperator(definition, formula=formula)

    def rule(self, needed: tuple[int | None, ...]) -> GradientRule:
        """The gradient rule for the operands that need a gradient."""
        rule = self._rules.get(needed)
        if rule is None:
            rule = self._rules[needed] = GradientRule(self, needed)
        return rule

    def node_of(self, results: tuple[Tensor, ...], operands: Sequence[Any]) -> Node:
        """The node of the result, which saves what the rule for these operands uses."""
        if not self.definition.differentiable:
            return without_gradient(self.definition.name, operands)
        (result,) = results
        made = result._array
        shape, dtype = made.shape, made.dtype
        edges: list[Any] = []
        restore: list[Any] | None = None
        needed: list[int | None] = []
        # Gradients are computed in what all operands promote to: wider than a result in place.
        mixed = _has_another_dtype(operands, dtype)
        for position, operand in enumerate(operands):
            if not (isinstance(operand, Tensor) and operand._requires_grad):
                edges.append(None)
                needed.append(None)
                continue
            if position and operand is operands[0]:
                edges.append(edges[0])
                needed.append(0)
                continue
            needed.append(position)
            edges.append(edge_of(operand))
            array = operand._array
            if mixed or array.shape != shape:
                if restore is None:
                    restore = [None] * len(operands)
                restore[position] = (array.shape, array.dtype)
        which = tuple(needed)
        rule = self._rules.get(which) or self.rule(which)
        node = new_node(self._node or self.node_class, tuple(edges))
        node.rule = rule
        node.restore = restore
        node.numbers = None
        if rule.joint is not None:
            self._save(node, result, operands)
        if self._recipes is not None:
            self._recipes.add(which, rule, node.__class__)
        made_node: Node = node
        return made_node

    def _save(self, node: Any, result: Tensor, operands: Sequence[Any]) -> None:
        """Keep in the node what its gradient rule uses."""
        rule = node.rule
        saved = []
        for position in rule.uses:
            operand = operands[position]
            if isinstance(operand, Tensor):
                saved.append(operand if operand._version_cell is None else save(operand))
            else:
                node.numbers = self._numbers(rule, operands)
        if rule.uses_result:
            saved.append(save_output(result))
        node.saved = tuple(saved)

    @staticmethod
    def _numbers(rule: GradientRule, operands: Sequence[Any]) -> tuple[Any, ...]:
        used = [operands[position] for position in rule.uses]
        kept = [None if isinstance(x, Tensor) else x for x in used]
        return (*kept, None) if rule.uses_result else tuple(kept)

    # --- the pair of a signature, see ``node_calls.py`` ---

    def signature_of(self, arguments: Sequence[Any]) -> str:
        """The signature of a call: numbers by their kinds, since kernels read them."""
        kinds = [
            type(x).__name__ if isinstance(x, (bool, int, float, complex)) else None
            for x in arguments
        ]
        described = [super(PointwiseOperator, self).signature_of([x]) for x in arguments]
        return ", ".join([a or b for a, b in zip(kinds, described, strict=True)])

    def calls_of(self, node: Any, recall: Any) -> Iterable[list[Any]]:
        """The calls that leave such a node."""
        return node_calls.calls_of_formula(node, self.program, recall)

    def form_kept_by(self, node: Any) -> tuple[tuple[int, ...], Any] | None:
        """Shape and dtype of the result, which are those of the operands with a gradient."""
        return node_calls.form_kept_by_formula(node)

    # --- under transformations, see ``dispatch/transformations.py`` ---

    def batch(self, operator: Any, size: int, operands: list[Any], mapped: list[Any]) -> Tensor:
        """All samples at once: the formula does not mind another dimension in front."""
        return self(*batching.broadcast_samples(operands, mapped))

    def tangent(
        self, operator: Any, primals: list[Any], tangents: list[Any], results: tuple[Tensor, ...]
    ) -> tuple[Tensor | None, ...]:
        """The tangent of the result, from a formula derived from the gradients."""
        chosen = self._for(primals)
        if chosen is not self:
            return chosen.tangent(chosen, primals, tangents, results)
        rule = self._tangent_rule(tangents)
        if rule.operator is None:
            return transposed(self, primals, tangents, results)
        return (rule(primals, tangents, results[0]),)

    def with_tangent(self, primals: list[Any], tangents: list[Any]) -> tuple[Tensor, Tensor] | None:
        """The result and its tangent by one kernel; None without one."""
        if not self.recorded or True in map(is_complex, primals):
            return None
        return self._tangent_rule(tangents).both(primals, tangents)

    def remember(self, results: Tensor, operands: Sequence[Any]) -> Tensor:
        """Record a result that was computed by a rule."""
        if requires_grad(operands):
            self._for(operands).record(results, operands)
        return results

    def _for(self, operands: Sequence[Any]) -> PointwiseOperator:
        """The operator that computes with these operands."""
        return self.variant(operands) if True in map(is_complex, operands) else self

    def _tangent_rule(self, tangents: list[Any]) -> TangentRule:
        which = tuple([tangent is not None for tangent in tangents])
        rule = self._tangents.get(which)
        if rule is None:
            rule = self._tangents[which] = TangentRule(self, which)
        return rule

    def into(self, output: Tensor, operands: tuple[Any, ...]) -> None:
        """Write the result into ``output``, without recording. Its version is counted up."""
        try:
            self.launch_into(output, *operands)
        except LaunchMiss:
            check_operands(self.name, operands)
            if True in map(is_complex, (output, *operands)):
                self.variant(operands).into(output, operands)
            else:
                self._into_in_python(output, operands)

    def _into_in_python(self, output: Tensor, operands: tuple[Any, ...]) -> None:
        if is_transformed((output, *operands)):
            apply_inplace(output, self, operands)
            return
        before_write(output)
        if sparse.are_among((output, *operands)):
            sparse.write(self, output, operands)
            return
        write = functools.partial(self.run_into, output._array, [_array_of(x) for x in operands])
        if capture.active is not None and interception.sees_all():
            interception.written(self.name, output, operands, write)
        else:
            write()
        tensors.bump_version(output)

    def run_into(self, output: np.ndarray[Any, Any], arrays: list[Any]) -> None:
        """``run`` into an array that is there already."""
        self.program.write(*arrays, output)

    def _launch_into_in_python(self, output: Tensor, *operands: Any) -> None:
        if native_launchers.ready():
            found = native_launchers.writing_launcher(self.program)
            if found is not None:
                self.launch_into = found
                found(output, *operands)
                return
        if any([x.__class__ is ndarray for x in operands]):
            raise LaunchMiss(MISS_OPERAND)  # which is refused by ``check_operands``
        before_write(output)
        self.program.launch_into(*map(_array_of, operands), output._array)
        tensors.bump_version(output)


@functools.cache
def pointwise(name: str) -> PointwiseOperator:
    """The operator of a definition in the register."""
    return PointwiseOperator(POINTWISE[name])


def binary(operator: PointwiseOperator) -> Callable[[Any, Any], Tensor]:
    """``operator`` for two operands, with the shortest way from call to kernel.

    Small tensors are bound by the cost of a call, so the common case is written out: it does what
    ``PointwiseOperator.__call__`` does.
    """

    def call(a: Any, b: Any) -> Tensor:
        try:
            result = operator.launch(a, b, grad_mode.enabled)
        except LaunchMiss:
            return operator.compute((a, b))
        if result._requires_grad and result._producer is None:
            operator.record(result, (a, b))
        return result

    call.__name__ = call.__qualname__ = operator.name
    return call


def python_operator(
    operator: PointwiseOperator, name: str, takes_arrays: bool = False
) -> Callable[[Any, Any], Tensor]:
    """The method ``name`` of Tensor for an operator of Python, written out like :func:`binary`.

    It returns NotImplemented for operands that are neither Tensors nor numbers: arrays compute with
    Tensors as with arrays, unless it ``takes_arrays`` as Tensors.
    """

    def call(a: Any, b: Any) -> Tensor:
        if layers.everywhere and layers.asks(call):
            return layers.descend(call, (a, b), {})
        try:
            result = operator.launch(a, b, grad_mode.enabled)
        except LaunchMiss:
            if _is_operand(a) and _is_operand(b):
                return operator.compute((a, b))
            if takes_arrays and b.__class__ is ndarray and b.dtype.kind in "fiubcV":
                return operator.compute((a, new_tensor(b)))
            return NotImplemented
        if result._requires_grad and result._producer is None:
            operator.record(result, (a, b))
        return result

    call.__name__ = call.__qualname__ = name
    return call


def unary(operator: PointwiseOperator) -> Callable[[Any], Tensor]:
    """``operator`` for one operand, written out like :func:`binary`."""

    def call(a: Tensor) -> Tensor:
        try:
            result = operator.launch(a, grad_mode.enabled)
        except LaunchMiss:
            return operator.compute((a,))
        if result._requires_grad and result._producer is None:
            operator.record(result, (a,))
        return result

    call.__name__ = call.__qualname__ = operator.name
    return call
