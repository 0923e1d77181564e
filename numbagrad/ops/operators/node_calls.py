"""The call that a node tells of: operands of the forms that the forward had, and its parameters.

Nodes keep what their gradients read and nothing else, so that a call costs no more. What
``explain(node)`` shows is the pair of the signature, for which the operator, which the class of the
node names, is called once more: ``Operator.calls_of(node, recall)`` has the arguments. Operands are
the tensors that are still there, or stand for them: a ``Recall`` asks the neighbours of a node for
their shapes and dtypes, and runs them again where nobody knows.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dtype import complex_of, from_numpy, real_of
from ...executor.families.pointwise import PointwiseProgram, decode
from ...kernels import layout
from ...tensor import Tensor, new_tensor

if TYPE_CHECKING:
    from .gradient_rule import PointwiseNode
    from .tensor_operator import OperatorNode

__all__ = [
    "Recall",
    "calls_of_formula",
    "calls_of_operator",
    "form_kept_by_formula",
    "standing_for",
]

#: Shape and dtype.
Form = tuple[tuple[int, ...], np.dtype[Any]]

#: Parameters that decide no gradient, so that no node keeps them, and the values that they may have
#: had as far as kernels differ.
_UNTOLD: dict[str, tuple[Any, ...]] = {
    "UPLO": ("L",),
    "atol": (0.0,),
    "by_product": (False, True),
    "hermitian": (False, True),
    "k": (1,),
    "keepdim": (False,),
    "name": ("median",),
    "rtol": (0.0,),
    "value": (1.0,),
}

#: Operators whose first operand has the form of the result.
_LIKE_RESULT = frozenset(("clone", "fill", "flip", "index_add", "index_fill", "index_put", "roll"))


class Recall:
    """Operands for the calls of some nodes, the same tensor wherever it was the same."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, int], Tensor] = {}
        self._results: dict[int, list[Tensor]] = {}
        self._known: dict[tuple[int, int], Form | None] = {}

    def operand(self, edge: Any, kept: Any = None, form: Form | None = None) -> Tensor | None:
        """A tensor that requires grad in the place of the one behind an edge; None if unknown."""
        target, number = edge
        found = self._made.get((id(target), number))
        if found is None:
            there = next((x for x in (kept, target) if isinstance(x, Tensor)), None)
            if there is None:
                form = self.form(target, number) or form
                there = None if form is None else standing_for(form)
            if there is None:
                return None
            found = self._made[id(target), number] = there.detach().requires_grad_()
        return found

    def known(self, node: Any, number: int) -> Form | None:
        """``known_form``, asked once: a node looks through all objects for its results."""
        if (id(node), number) not in self._known:
            self._known[id(node), number] = known_form(node, number)
        return self._known[id(node), number]

    def form(self, node: Any, number: int) -> Form | None:
        """The form of a result of a node; None if nobody knows."""
        form = self.known(node, number)
        if form is None:
            form = next((_form_of(x) for x in self._run_again(node)[number : number + 1]), None)
        return form

    def _run_again(self, node: Any) -> Sequence[Tensor]:
        """The results of a node's operator, called again; none if its call is not known."""
        results = self._results.get(id(node))
        if results is None:
            operator = type(node).operator
            call = None if operator is None else next(iter(operator.calls_of(node, self)), None)
            made: Any = () if call is None else operator(*call)
            results = list(made) if isinstance(made, (tuple, list)) else [made]
            self._results[id(node)] = results
        return results


def standing_for(form: Form) -> Tensor:
    """A tensor of a form with numbers that every operator takes: matrices are positive definite."""
    shape, dtype = form
    array = np.ones(shape, dtype)
    if len(shape) > 1 and shape[-1] == shape[-2] and dtype.kind in "fc":
        array += shape[-1] * np.eye(shape[-1], dtype=dtype)
    return new_tensor(array)


def known_form(node: Any, number: int) -> Form | None:
    """The form of a result, as far as the node and what it keeps tell."""
    metadata = node._input_metadata[number]
    if metadata is not None:
        return tuple(metadata.shape), metadata.dtype.numpy
    operator = type(node).operator
    return None if operator is None else operator.form_kept_by(node)


def _form_of(tensor: Tensor) -> Form:
    return tensor._array.shape, tensor._array.dtype


# --- formulas -------------------------------------------------------------------------------------


def form_kept_by_formula(node: PointwiseNode) -> Form | None:
    """The form of the result, which is that of all operands with a gradient, or None."""
    if node.restore is not None or node.saved is None:
        return None
    found = [edge[0] for edge in node.next_edges if edge is not None]
    kept, saved = _kept_by_formula(node)
    found += [x for position, x in kept.items() if node.next_edges[position] is not None]
    found += saved  # the result, if that is kept
    return next((_form_of(x) for x in found if isinstance(x, Tensor)), None)


def _kept_by_formula(node: PointwiseNode) -> tuple[dict[int, Any], list[Tensor]]:
    """The operands that a node keeps, by place, and what it keeps beside them."""
    saved = list(node.unpack())
    numbers = node.numbers or (None,) * len(node.rule.uses)
    kept = {
        position: saved.pop(0) if number is None else number
        for position, number in zip(node.rule.uses, numbers, strict=False)
    }
    return kept, saved


def calls_of_formula(node: PointwiseNode, program: Any, recall: Recall) -> Iterator[list[Any]]:
    """The calls of a formula that leave such a node, which differ in their kernels.

    The node says nothing of an operand that no gradient reads: the kernels that the operator has
    tell what it was.
    """
    kept, _ = _kept_by_formula(node)
    result = recall.known(node, 0)
    arguments: list[Any] = []
    for position, edge in enumerate(node.next_edges):
        if edge is None:
            arguments.append(kept.get(position))
            continue
        restored = None if node.restore is None else node.restore[position]
        form = result if restored is None else (tuple(restored[0]), np.dtype(restored[1]))
        arguments.append(recall.operand(edge, kept.get(position), form))
        if arguments[-1] is None:
            return
    unknown = [position for position, x in enumerate(arguments) if x is None]
    if not unknown:
        yield arguments
    elif isinstance(program, PointwiseProgram) and result is not None:
        yield from _completed(program, arguments, unknown, result[0])


def _completed(
    program: PointwiseProgram, arguments: list[Any], unknown: list[int], shape: tuple[int, ...]
) -> Iterator[list[Any]]:
    """The arguments with operands in the unknown places, one for each kernel that there is."""
    arrays = [x._array if isinstance(x, Tensor) else x for x in arguments]
    for key in list(program.met):
        codes = decode(key, len(arrays))
        if not all([_fits(code, x) for code, x in zip(codes, arrays, strict=True)]):
            continue
        for choice in itertools.product(
            *[_operands(codes[position], shape) for position in unknown]
        ):
            completed = list(arrays)
            for position, operand in zip(unknown, choice, strict=True):
                completed[position] = operand
            if program.key_of(completed) == key:
                made = dict(zip(unknown, choice, strict=True))
                yield [_as_argument(made[k]) if k in made else x for k, x in enumerate(arguments)]
                break


def _fits(code: Any, operand: Any) -> bool:
    """Whether a kernel may be one for an operand, which is None if unknown."""
    if isinstance(operand, np.ndarray):
        return code.dtype is not None and bool(code.dtype.numpy == operand.dtype)
    return operand is None or code.number is type(operand)


def _operands(code: Any, shape: tuple[int, ...]) -> Iterator[Any]:
    """Numbers or arrays that a kernel of this signature may have been compiled for."""
    if code.number is not None:
        yield code.number(1)
        return
    dtype = code.dtype.numpy
    if code.zero_dim or not shape:
        yield np.ones((), dtype)
        return
    yield np.ones(shape, dtype)
    if code.layout == layout.STRIDED:
        yield np.ones((*shape, 2), dtype)[..., 0]
        yield np.ones(shape[::-1], dtype).T
    for first in range(1, len(shape)):
        yield np.ones(shape[first:], dtype)
    yield np.ones((*shape[:-1], 1), dtype)
    yield np.ones((1,) * len(shape), dtype)


def _as_argument(operand: Any) -> Any:
    return new_tensor(operand) if isinstance(operand, np.ndarray) else operand


# --- other operators ------------------------------------------------------------------------------


def calls_of_operator(node: OperatorNode, recall: Recall) -> Iterator[list[Any]]:
    """The calls of a ``TensorOperator`` that leave such a node, which may differ in kernels."""
    operator, plan = node.operator, node.plan
    result = recall.known(node, 0)
    told = dict(zip(plan.saves, node.unpack(), strict=False))
    shapes: dict[int, Any] = {}
    for (position, is_shape), value in zip(plan.keeps, node.values, strict=True):
        (shapes if is_shape else told)[position] = value
    edges = list(node.next_edges)
    arguments: list[Sequence[Any]] = []
    for position, name in enumerate(operator.parameters):
        if name == operator.variadic:
            later = len([k for k in plan.inputs if k > position])
            own = edges[: len(edges) - later]
            del edges[: len(own)]
            arguments.append(_list_behind(own, shapes.get(position), result, recall))
        elif name in operator.tensors:
            edge = edges.pop(0)
            shape = shapes.get(position)
            form = _form_of_operand(operator, position, shape, result)
            found: Any = told.get(position)
            if edge is not None:
                found = recall.operand(edge, found, form)
            elif found is None and position not in told:
                if name in _UNTOLD:
                    arguments.append(_UNTOLD[name])
                    continue
                found = None if form is None else standing_for(form)
            arguments.append([] if found is None and position not in told else [found])
        elif position in told:
            arguments.append([told[position]])
        elif name == "shape":
            arguments.append([] if result is None else [result[0]])
        else:
            arguments.append(_UNTOLD.get(name, ()))
    yield from [list(call) for call in itertools.product(*arguments)]


def _form_of_operand(operator: Any, position: int, shape: Any, result: Form | None) -> Form | None:
    """The form of an operand by its shape, if the node keeps that, and the form of the result."""
    if result is None:
        return None
    if shape is None:
        return result if position == 0 and operator.name in _LIKE_RESULT else None
    dtype = result[1]
    if operator.name in ("fft_r2c", "fft_c2r"):
        other = real_of if operator.name == "fft_r2c" else complex_of
        dtype = other(from_numpy(dtype)).numpy
    return tuple(shape), dtype


def _list_behind(
    edges: list[Any], shapes: Any, result: Form | None, recall: Recall
) -> list[list[Tensor]]:
    """The one list of operands behind these edges; none if one of them is not known."""
    found: list[Any] = []
    for number, edge in enumerate(edges):
        shape = None if shapes is None else shapes[number]
        form = None if shape is None or result is None else (tuple(shape), result[1])
        if edge is not None:
            found.append(recall.operand(edge, None, form))
        else:
            found.append(None if form is None else standing_for(form))
    return [] if None in [x if x is None else 0 for x in found] else [found]
