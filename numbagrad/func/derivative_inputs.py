"""Inputs of reverse derivatives: copies of the arguments, and whether others follow them too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..autograd.node import Node
from ..autograd.tensor_interface import alias
from ..structure import flatten_registered as flatten
from ..structure import rebuild
from ..tensor import Tensor
from ..transforms import levels
from ..transforms.levels import DUAL, GRAD, Level, settled, state_of
from ..transforms.tracking import follow, has_history

__all__ = ["Followed", "handed_out"]


class Followed:
    """The Tensors among some arguments as copies of their own, and whether others follow them too.

    Copies share memory and are differentiated with respect to; ``needed_outside`` says whether what
    is computed here may be differentiated again by something around it, so that a backward pass has
    to be recorded. Recording it always would be right, and cost twice the time and memory.
    """

    def __init__(self, level: Level, value: Any, what: str) -> None:
        leaves, self.structure = flatten(value)
        for leaf in leaves:
            if not isinstance(leaf, Tensor):
                raise ValueError(f"Thing passed to transform API must be Tensor, got {type(leaf)}")
        if not leaves:
            raise RuntimeError(f"{what}: there is no Tensor to differentiate with respect to")
        self.originals: list[Tensor] = [settled(leaf) for leaf in leaves]
        for original in self.originals:
            if not (original.is_floating_point() or original.is_complex()):
                raise RuntimeError("only Tensors of floating point dtype can require gradients")
        self.copies = [follow(level, original) for original in self.originals]
        self._level = level

    @property
    def value(self) -> Any:
        """The arguments with the copies in place."""
        return rebuild(self.structure, iter(self.copies))

    def rebuild(self, tensors: Sequence[Any]) -> Any:
        """Something for each Tensor, in the structure of the arguments."""
        return rebuild(self.structure, iter(tensors))

    def needed_outside(self, outputs: Sequence[Tensor]) -> bool:
        """Whether derivatives of ``outputs`` may themselves be differentiated from outside."""
        if any([has_history(original) for original in self.originals]):
            return True
        if any([_is_of(self._level, copy) for copy in self.copies]):
            return self._level.has_history
        for level in levels.stack.levels:
            # The tangent of a captured Tensor may have a history that no leaf shows.
            if level.kind is GRAD or (level.kind is DUAL and level.has_history):
                return True
        own = {id(copy) for copy in self.copies}
        return any([id(leaf) not in own for leaf in _leaves_of(outputs)])


def _is_of(level: Level, tensor: Tensor) -> bool:
    state = state_of(tensor)
    return state is not None and state.level is level


def _leaves_of(outputs: Sequence[Tensor]) -> list[Tensor]:
    """The leaves of a graph."""
    seen: set[int] = set()
    waiting: list[Any] = [x._producer for x in outputs if x._producer is not None]
    found = [x for x in outputs if x._requires_grad and x._producer is None]
    while waiting:
        node = waiting.pop()
        for edge in node.next_edges:
            if edge is None or id(edge[0]) in seen:
                continue
            seen.add(id(edge[0]))
            (waiting if isinstance(edge[0], Node) else found).append(edge[0])
    return found


def handed_out(value: Any, needed: bool) -> Any:
    """A result handed out of a level: without a history, unless something outside may follow it."""
    leaves, structure = flatten(value)
    made = [settled(x) if isinstance(x, Tensor) else x for x in leaves]
    if not needed:
        made = [alias(x) if isinstance(x, Tensor) else x for x in made]
    return rebuild(structure, iter(made))
