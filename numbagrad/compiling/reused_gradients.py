"""Gradients that one run of a program made and the next may write again.

``captured_call.py`` remembers here what a run attached, and asks before the next one. Owners of the
objects are counted, so nobody who kept a gradient sees it change.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Sequence
from typing import Any

from ..executor.plan.operations import Array
from ..native.replay_layout import OWNERS_OF_ARRAY, OWNERS_OF_GRADIENT
from ..tensor import Tensor
from .effects import MADE, Effects

_array_of = operator.attrgetter("_array")
_gradient_of = operator.attrgetter("_accumulated")
_flag_of = operator.attrgetter("_requires_grad")


def _count_of(owners: int) -> int:
    """The count by ``map(sys.getrefcount, ...)`` of an object that so many owners hold."""
    owned = [object()] * owners
    return next(map(sys.getrefcount, owned))


#: The owners of a gradient are its tensor and ``ReusedGradients``; those of its memory are the
#: gradient, ``ReusedGradients``, and ``CapturedCall``, which found that it lies as it should.
_GRADIENT_COUNT = _count_of(OWNERS_OF_GRADIENT)
_ARRAY_COUNT = _count_of(OWNERS_OF_ARRAY)


class ReusedGradients:
    """Gradients of the run before, whose memory the next run may write if nobody else has them."""

    def __init__(self, effects: Effects, possible: bool):
        made = [value for kind, value in effects.returned if kind == MADE]
        returned = {value.result for value in made}
        gradients = [value for _, (kind, value) in effects.gradients if kind == MADE]
        counts = [made.result for made in gradients if made.result is not None]
        #: Results that are a gradient and nothing else.
        self._positions = [x for x in counts if counts.count(x) == 1 and x not in returned]
        known = all([position.argument is None for position, _ in effects.gradients])
        self._possible = possible and known and len(self._positions) == len(effects.gradients)
        self._tensors: list[Tensor] = []
        self._gradients: list[Tensor] = []
        self._arrays: list[Array] = []

    def kept(self) -> list[tuple[Tensor, Tensor, Array, int]]:
        """Tensors, their gradients, the arrays of these, and which results they were."""
        return list(
            zip(self._tensors, self._gradients, self._arrays, self._positions, strict=True)
            if self._gradients
            else ()
        )

    def keep(self, results: Sequence[Array], attached: list[tuple[Tensor, Any]]) -> bool:
        """Remember what a run made, if it may be used again."""
        if not self._possible or not attached:
            return False
        self._tensors = [tensor for tensor, _ in attached]
        self._gradients = [gradient for _, gradient in attached]
        self._arrays = [results[position] for position in self._positions]
        whole = map(operator.is_, map(_array_of, self._gradients), self._arrays)
        if not all(whole):
            self._possible = False
            self._gradients = []
        return True

    def take(self) -> dict[int, Array] | None:
        """The results of the run before that this one may overwrite, or None."""
        if not self._gradients:
            return None
        if not all(map(operator.is_, map(_gradient_of, self._tensors), self._gradients)):
            return None
        if any(map(_flag_of, self._gradients)):  # somebody gave one a graph
            return None
        if max(map(sys.getrefcount, self._gradients)) > _GRADIENT_COUNT:
            return None
        if max(map(sys.getrefcount, self._arrays)) > _ARRAY_COUNT:
            return None
        return dict(zip(self._positions, self._arrays, strict=True))


__all__ = ["ReusedGradients"]
