"""Arguments taken apart by level: what lies below a transformation, and which is applied first.

``dispatch/transformations.py`` asks here for every operator, and so do the rules of ``Function``
and of writes in place, which are no operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..autograd import tensor_interface as interface
from ..tensor import Tensor
from .levels import Batched, LazyConj, Level, Transformed, batched, settled, state_of

__all__ = [
    "below", "deepest", "like_samples", "new_samples", "resolved", "split",
]  # fmt: skip


def deepest(arguments: Sequence[Any]) -> Level | None:
    """The level that is applied first: the one opened last."""
    found: Level | None = None
    for argument in arguments:
        if isinstance(argument, Tensor):
            state = state_of(argument)
            level = None if state is None else state.level
        elif argument.__class__ is list:
            level = deepest(argument)
        else:
            continue
        if level is not None and (found is None or level.depth > found.depth):
            found = level
    return found


def below(level: Level, argument: Any) -> tuple[Any, Any]:
    """An argument at the level below a batch, and whether its first dimension is the samples.

    Lists of Tensors give lists of both.
    """
    if isinstance(argument, Tensor):
        array = argument._array
        if array.__class__ is Transformed and array.state.level is level:
            return array.state.value, True
        return argument, False
    if argument.__class__ is list:
        pairs = [below(level, item) for item in argument]
        return [value for value, _ in pairs], [mapped for _, mapped in pairs]
    return argument, False


def split(level: Level, argument: Any) -> tuple[Any, Any]:
    """An argument without its tangent of this level, and the tangent or None."""
    if isinstance(argument, Tensor):
        array = argument._array
        if array.__class__ is Transformed and array.state.level is level:
            return array.state.primal, array.state.tangent
        return argument, None
    if argument.__class__ is list:
        pairs = [split(level, item) for item in argument]
        return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]
    return argument, None


# --- new Tensors ----------------------------------------------------------------------------------


def like_samples(tensor: Tensor, make: Callable[[Tensor], Tensor]) -> Tensor:
    """A new Tensor like one under transformations: as many samples, but no tangent."""
    tensor = settled(tensor)
    state = state_of(tensor)
    if state is None:
        return make(tensor)
    if state.__class__ is Batched:
        return batched(state.level, like_samples(state.value, make))
    return like_samples(state.primal, make)


def new_samples(
    tensor: Tensor, shape: tuple[int, ...], make: Callable[[tuple[int, ...]], Tensor]
) -> Tensor:
    """``make(shape)`` for each sample of a Tensor under transformations; without a tangent."""
    tensor = settled(tensor)
    state = state_of(tensor)
    if state is None:
        return make(shape)
    if state.__class__ is Batched:
        value = state.value
        return batched(state.level, new_samples(value, (value._array.shape[0], *shape), make))
    return new_samples(state.primal, shape, make)


# --- pending conjugates ---------------------------------------------------------------------------


def resolved(argument: Any) -> Any:
    """An argument with elements as they are read; lists of Tensors give lists."""
    if isinstance(argument, Tensor):
        waits = state_of(argument).__class__ is LazyConj
        return interface.resolve_lazy_conj(argument) if waits else argument
    if argument.__class__ is list:
        return [resolved(item) for item in argument]
    return argument
