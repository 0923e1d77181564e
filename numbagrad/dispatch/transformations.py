"""Transformations: operators on Tensors under one, turned into operators of the level below.

``call`` is a layer of ``descent.py``, for arguments that show a ``Transformed`` array. An operator
has two rules:

- ``operator.batch(size, arguments, mapped)``: the results for all samples, along their first
  dimension. ``arguments`` are those of the level below; ``mapped`` says of each whether its first
  dimension runs over the samples. Without a rule the operator runs once a sample.
- ``operator.tangent(primals, tangents, results)``: the tangents of the results, written in Tensor
  operations; ``tangents`` has None where there is none. Without a rule it is the transpose of the
  gradient rule (``tangents.transposed``).

Where all below are ordinary Tensors and nothing is recorded, ``operator.with_tangent(primals,
tangents)`` may return the one result and its tangent, made by fewer launches; None if it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd.grad_mode import state as grad_mode
from ..tensor import Tensor, new_tensor
from ..transforms import batching, tangents
from ..transforms.levels import (
    BATCH,
    GRAD,
    LAZY_CONJ,
    LazyConj,
    Level,
    Transformed,
    batched,
    dual,
    is_transformed,
    lazy_conj,
    settled,
    state_of,
)
from ..transforms.tracking import has_history, requires_grad
from ..transforms.unwrapping import below, deepest, resolved, split

__all__ = ["call"]


def call(operator: Any, arguments: Sequence[Any], arrays: Sequence[Any] = ()) -> Any:
    """``operator(*arguments)``, of which at least one is or was under a transformation.

    Every operator under a transformation passes here, so what ``deepest`` does is written out for
    the ordinary argument.
    """
    level: Level | None = None
    position = -1  # counting by hand costs less than an enumerate
    for argument in arguments:
        position += 1
        own: Level | None
        if isinstance(argument, Tensor):
            array: Any = argument._array
            if array.__class__ is not Transformed:
                continue
            state = getattr(array, "state", None)
            if state is None or not state.level.alive or state.level.paused:
                argument = settled(argument)
                arguments = [*arguments[:position], argument, *arguments[position + 1 :]]
                state = state_of(argument)
                if state is None:
                    continue
            own = state.level
        elif argument.__class__ is list:
            argument = _settled(argument)
            arguments = [*arguments[:position], argument, *arguments[position + 1 :]]
            own = deepest(argument)
            if own is None:
                continue
        else:
            continue
        if level is None or own.depth > level.depth:
            level = own
    if level is None:
        return operator(*arguments)
    if level.kind is BATCH:
        made = _apply_to_batch(operator, level, arguments)
        # Samples have no history, but a write to a view of them is one to its base.
        return operator.remember(made, tuple(arguments)) if operator.is_view else made
    if level.kind is GRAD:
        return _apply_to_tracked(operator, level, arguments)
    if level.kind is LAZY_CONJ:
        return _apply_to_lazy_conj(operator, arguments)
    results = _apply_to_dual(operator, level, arguments)
    return operator.remember(results, tuple(arguments)) if grad_mode.enabled else results


def _call(operator: Any, arguments: list[Any]) -> Any:
    """``operator(*arguments)``, at once to where that ends for what is under a transformation."""
    return call(operator, arguments) if is_transformed(arguments) else operator(*arguments)


def _settled(argument: Any) -> Any:
    if isinstance(argument, Tensor):
        return settled(argument)
    if argument.__class__ is list:
        return [_settled(item) for item in argument]
    return argument


# --- batches --------------------------------------------------------------------------------------


def _apply_to_batch(operator: Any, level: Level, arguments: Sequence[Any]) -> Any:
    values: list[Any] = []
    mapped: list[Any] = []
    for argument in arguments:  # ``below`` is written out for all but lists
        is_mapped: Any = False
        if isinstance(argument, Tensor):
            array: Any = argument._array
            if array.__class__ is Transformed and array.state.level is level:
                argument, is_mapped = array.state.value, True
        elif argument.__class__ is list:
            argument, is_mapped = below(level, argument)
        values.append(argument)
        mapped.append(is_mapped)
    rule: Callable[..., Any] = operator.batch or batching.one_by_one
    made: Any = rule(operator, level.size, values, mapped)
    if made.__class__ is tuple:
        return tuple([batched(level, value) for value in made])
    return batched(level, made)


# --- pending conjugates ---------------------------------------------------------------------------


def _apply_to_lazy_conj(operator: Any, arguments: Sequence[Any]) -> Any:
    """The operator on elements; views of what is pending are pending too."""
    if not operator.is_view:
        return operator(*[resolved(argument) for argument in arguments])
    if operator.takes_lazy_conj:
        return operator(*arguments)
    input, *values = arguments
    state = state_of(input)
    made = operator.run([state.primal._array, *values])
    several = made.__class__ is tuple
    arrays = made if several else (made,)
    if state.conjugated and any([array.dtype.kind != "c" for array in arrays]):
        return operator(resolved(input), *values)  # real numbers have no conjugates
    views = [_lazy_conj_as(state, array) for array in arrays]
    return operator.remember(tuple(views) if several else views[0], tuple(arguments))


def _lazy_conj_as(state: LazyConj, array: Any) -> Tensor:
    memory = new_tensor(array)
    memory._version_cell = state.primal._version_cell
    return lazy_conj(memory, state.conjugated, state.negated)


# --- histories inside of a batch ------------------------------------------------------------------


def _apply_to_tracked(operator: Any, level: Level, arguments: Sequence[Any]) -> Any:
    """The operator below; where that is followed, its results as Tensors of this level."""
    values: list[Any] = []
    ordinary, followed = True, False
    for argument in arguments:
        if isinstance(argument, Tensor):
            followed = followed or argument._requires_grad
            array: Any = argument._array
            if array.__class__ is Transformed:
                if array.state.level is level:
                    argument = array.state.primal
                ordinary = ordinary and argument._array.__class__ is not Transformed
        elif argument.__class__ is list:
            followed = followed or requires_grad(argument)
            argument = split(level, argument)[0]
            ordinary = ordinary and not is_transformed(argument)
        values.append(argument)
    made = operator(*values) if ordinary else call(operator, values)
    several = made.__class__ is tuple
    results = made if several else (made,)
    if not level.has_history:
        for result in results:
            if has_history(result):
                level.has_history = True
    if not (followed and grad_mode.enabled):
        return made
    tracked = tuple([dual(level, x, None) if x._array.dtype.kind in "fcV" else x for x in results])
    return operator.remember(tracked if several else tracked[0], tuple(arguments))


# --- tangents -------------------------------------------------------------------------------------


def _apply_to_dual(operator: Any, level: Level, arguments: Sequence[Any]) -> Any:
    primals: list[Any] = []
    directions: list[Any] = []
    # Whether all that is below are ordinary Tensors, and none of it is to be recorded.
    ordinary, recording = True, grad_mode.enabled
    for argument in arguments:
        tangent = None
        if isinstance(argument, Tensor):
            array: Any = argument._array
            if array.__class__ is Transformed:
                if array.state.level is level:
                    argument, tangent = array.state.primal, array.state.tangent
                    if tangent is not None and (
                        tangent._array.__class__ is Transformed
                        or (recording and tangent._requires_grad)
                    ):
                        ordinary = False
                ordinary = ordinary and argument._array.__class__ is not Transformed
            if recording and argument._requires_grad:
                ordinary = False
        elif argument.__class__ is list:
            argument, tangent = split(level, argument)
            ordinary = False
        primals.append(argument)
        directions.append(tangent)
    if ordinary:
        both = operator.with_tangent(primals, directions)
        if both is not None:
            return dual(level, *both) if both[0]._array.dtype.kind in "fcV" else both[0]
        made = operator(*primals)
    else:
        made = _call(operator, primals)
    results = made if made.__class__ is tuple else (made,)
    if not any([result._array.dtype.kind in "fcV" for result in results]):
        return made
    rule = operator.tangent or tangents.transposed
    derivatives = rule(operator, primals, directions, results)
    with_tangents = tuple(
        [
            result if derivative is None else dual(level, result, derivative)
            for result, derivative in zip(results, derivatives, strict=True)
        ]
    )
    return with_tangents if made.__class__ is tuple else with_tangents[0]
