"""The search for a length of step that meets the strong Wolfe conditions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.engine.tensor import Tensor

# Sufficient decrease, and how much of the slope may be left (Nocedal & Wright, 3.1).
_DECREASE = 1e-4
_SLOPE = 0.9


class Point(NamedTuple):
    """A place on the line.

    Attributes:
        t: how far along.
        f: the loss there.
        g: the gradient there.
        slope: of the loss along the line.
    """

    t: Any
    f: float
    g: Tensor
    slope: Tensor


def strong_wolfe(
    at: Callable[[Any], tuple[float, Tensor]], length: Any, loss: float,
    gradient: Tensor, slope: Tensor, direction: Tensor, *, most: int,
    least_change: float,
) -> tuple[float, Tensor, Any, int]:  # fmt: skip
    """A length at which the loss is low, and flat enough.

    Nocedal & Wright 2006, algorithms 3.5 and 3.6, with cubic interpolation.

    Args:
        at: the loss and the gradient at a length.
        length: what to try first.
        loss, gradient, slope: at length 0.
        direction: of the line.
        most: how often to go on after the first try.
        least_change: of an element, below which a bracket is not divided further.

    Returns: the loss, the gradient, the length, and how often `at` was called.
    """
    search = _Line(at, Point(0, loss, gradient.clone(), slope), direction)
    bracket, tries = search.bracket(length, most)
    if len(bracket) > 1:
        bracket, tries = search.zoom(bracket, tries, most, least_change)
    best = min(bracket, key=lambda point: point.f)
    return best.f, best.g, best.t, search.calls


class _Line:
    """The losses along a line, which are asked for one by one."""

    def __init__(
        self, at: Callable[[Any], tuple[float, Tensor]], start: Point, direction: Tensor
    ) -> None:
        self.at = at
        self.start = start
        self.direction = direction
        self.calls = 0

    def point(self, t: Any) -> Point:
        loss, gradient = self.at(t)
        self.calls += 1
        return Point(t, loss, gradient, gradient.dot(self.direction))

    def is_too_high(self, point: Point) -> bool:
        """Whether the loss has not decreased as far as the slope promised."""
        promised = _DECREASE * point.t * self.start.slope
        return bool(point.f > self.start.f + promised)

    def is_flat(self, point: Point) -> bool:
        return bool(abs(point.slope) <= -_SLOPE * self.start.slope)

    def bracket(self, length: Any, most: int) -> tuple[list[Point], int]:
        """Two points with a good one between them, or a good one alone."""
        before, point = self.start, self.point(length)
        for tries in range(most):
            if self.is_too_high(point) or (tries > 1 and point.f >= before.f):
                return [before, point], tries
            if self.is_flat(point):
                return [point], tries
            if point.slope >= 0:
                return [before, point], tries
            nearest = point.t + 0.01 * (point.t - before.t)
            further = interpolated(before, point, nearest, point.t * 10)
            before, point = point, self.point(further)
        return [self.start, point], most

    def zoom(
        self, bracket: list[Point], tries: int, most: int, least_change: float
    ) -> tuple[list[Point], int]:
        """Make a bracket smaller until one of its ends is good; the first is lower."""
        low, high = sorted(bracket, key=lambda point: point.f)
        if bracket[0].f <= bracket[1].f:
            low, high = bracket
        widest = self.direction.abs().max()
        stuck = False
        while tries < most and abs(high.t - low.t) * widest >= least_change:
            left, right = (low, high) if low.t <= high.t else (high, low)
            t = interpolated(left, right, left.t, right.t)
            t, stuck = _away_from_ends(t, left.t, right.t, stuck)
            point = self.point(t)
            tries += 1
            if self.is_too_high(point) or point.f >= low.f:
                low, high = (low, point) if low.f <= point.f else (point, low)
                continue
            if self.is_flat(point):
                return [point], tries
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return [low, high], tries


def _away_from_ends(t: Any, left: Any, right: Any, stuck: bool) -> tuple[Any, bool]:
    """A place that is not near the ends twice, and whether it is near them now."""
    margin = 0.1 * (right - left)
    if min(right - t, t - left) >= margin:
        return t, False
    if not stuck and left < t < right:
        return t, True
    return (right - margin if abs(t - right) < abs(t - left) else left + margin), False


def interpolated(a: Point, b: Point, least: Any, most: Any) -> Any:
    """Where the cubic through two points with their slopes is lowest, within bounds.

    Nocedal & Wright 2006, equation 3.59; the middle where it has no minimum.
    """
    left, right = (a, b) if a.t <= b.t else (b, a)
    chord = left.slope + right.slope - 3 * (left.f - right.f) / (left.t - right.t)
    square = chord * chord - left.slope * right.slope
    if not square >= 0:
        return (least + most) / 2.0
    root = square.sqrt()
    rest = (right.slope + root - chord) / (right.slope - left.slope + 2 * root)
    return min(max(right.t - (right.t - left.t) * rest, least), most)
