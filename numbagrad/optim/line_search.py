"""A line search for the strong Wolfe conditions, by cubic interpolation; used by L-BFGS.

After Nocedal and Wright, "Numerical Optimization", algorithms 3.5 and 3.6: first a bracket that
must hold a good step, then ever smaller brackets in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from ..tensor import Tensor

__all__ = ["strong_wolfe"]

Evaluate = Callable[[float], tuple[float, Tensor]]


class Point(NamedTuple):
    """A step along the direction: its size, the loss there, the gradient and the slope."""

    size: float
    loss: float
    gradient: Tensor
    slope: float


def cubic_minimum(a: Point, b: Point, bounds: tuple[float, float] | None = None) -> float:
    """The minimum, within bounds, of the cubic through two points with their slopes."""
    low, high = bounds or (min(a.size, b.size), max(a.size, b.size))
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.size - b.size)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2.0
    d2 = math.sqrt(square)
    if a.size <= b.size:
        position = b.size - (b.size - a.size) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    else:
        position = a.size - (a.size - b.size) * ((a.slope + d2 - d1) / (a.slope - b.slope + 2 * d2))
    return min(max(position, low), high)


class _Search:
    """One search: the point it starts from and the conditions for where it may end.

    The loss has to fall by the share `decrease` of what the slope promises, and the slope to the
    share `curvature`.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        direction: Tensor,
        start: Point,
        decrease: float,
        curvature: float,
    ) -> None:
        self._evaluate = evaluate
        self._direction = direction
        self._decrease, self._curvature = decrease, curvature
        self.start = start
        self.evaluations = 0

    def at(self, size: float) -> Point:
        """The point of a step."""
        loss, gradient = self._evaluate(size)
        self.evaluations += 1
        return Point(size, loss, gradient, float(gradient.dot(self._direction)))

    def too_high(self, point: Point) -> bool:
        """Whether the loss has not fallen enough."""
        promised = self._decrease * point.size * self.start.slope
        return point.loss > self.start.loss + promised

    def flat(self, point: Point) -> bool:
        """Whether the slope is small enough."""
        return abs(point.slope) <= -self._curvature * self.start.slope

    def bracket(self, size: float, limit: int) -> tuple[list[Point], bool, int]:
        """One good point, or two with a good one between; whether it is one; and the count."""
        before, point = self.start, self.at(size)
        count = 0
        while count < limit:
            if self.too_high(point) or (count > 1 and point.loss >= before.loss):
                return [before, point], False, count
            if self.flat(point):
                return [point], True, count
            if point.slope >= 0:
                return [before, point], False, count
            bounds = (point.size + 0.01 * (point.size - before.size), point.size * 10)
            before, point = point, self.at(cubic_minimum(before, point, bounds))
            count += 1
        return [self.start, point], False, count

    def zoom(self, bracket: list[Point], count: int, limit: int, tolerance: float) -> Point:
        """The good point between two."""
        low, high = sorted(bracket, key=lambda point: point.loss)
        length = float(self._direction.abs().max())
        stuck = False
        while count < limit and abs(high.size - low.size) * length >= tolerance:
            size, stuck = self._inside(cubic_minimum(low, high), low, high, stuck)
            point = self.at(size)
            count += 1
            if self.too_high(point) or point.loss >= low.loss:
                low, high = sorted((low, point), key=lambda end: end.loss)
                continue
            if self.flat(point):
                return point
            if point.slope * (high.size - low.size) >= 0:
                high = low
            low = point
        return low

    @staticmethod
    def _inside(size: float, low: Point, high: Point, stuck: bool) -> tuple[float, bool]:
        """Keep a step away from the ends of the bracket if the last one was near one too."""
        least, most = min(low.size, high.size), max(low.size, high.size)
        margin = 0.1 * (most - least)
        if min(most - size, size - least) >= margin:
            return size, False
        if not (stuck or size >= most or size <= least):
            return size, True
        near_most = abs(size - most) < abs(size - least)
        return (most - margin if near_most else least + margin), False


def strong_wolfe(
    evaluate: Evaluate,
    direction: Tensor,
    size: float,
    loss: float,
    gradient: Tensor,
    slope: float,
    *,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    tolerance: float = 1e-9,
    max_evaluations: int = 25,
) -> tuple[float, Tensor, float, int]:
    """A step along ``direction`` that satisfies the strong Wolfe conditions.

    Args:
        evaluate: from the size of a step to loss and gradient there.
        direction: where to go.
        size: the step to try first.
        loss, gradient, slope: at the start.
        decrease, curvature: the shares of the slope that the two conditions name.
        tolerance: the least movement of an element that is worth another step.
        max_evaluations: the most steps that are tried beside the first.

    Returns:
        Loss, gradient and size of the step, and how often ``evaluate`` was called.
    """
    start = Point(0.0, loss, gradient, slope)
    search = _Search(evaluate, direction, start, decrease, curvature)
    bracket, done, count = search.bracket(size, max_evaluations)
    if done:
        found = bracket[0]
    else:
        found = search.zoom(bracket, count, max_evaluations, tolerance)
    return found.loss, found.gradient, found.size, search.evaluations
