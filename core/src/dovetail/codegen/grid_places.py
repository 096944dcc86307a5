"""Where `grid_sample` looks, and with which weights: arithmetic on elements.

It is written once, for tensors, for arrays and for values of kernels: whatever has
Python's operators, and a `Steps` for what they lack.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

Mode = Literal["bilinear", "nearest", "bicubic"]
Margin = Literal["zeros", "border", "reflection"]
_SHARP: Final = -0.75  # the cubic's slope at one, as torch has it
_WIDTHS: Final = {"nearest": 1, "bilinear": 2, "bicubic": 4}


class Steps(Protocol):
    """Arithmetic that is no operator of Python's."""

    def floor(self, x: Any) -> Any:
        """The greatest whole number that is not above; a constant to gradients."""

    def choose(self, condition: Any, a: Any, b: Any) -> Any:
        """`a` where the condition holds, else `b`."""

    def ones(self, x: Any) -> Any:
        """Ones, as many as `x` has elements."""

    def number(self, n: Any, x: Any) -> Any:
        """A size as what meets coordinates."""

    def whole(self, x: Any) -> Any:
        """A whole number as int64."""


@dataclass(frozen=True, slots=True)
class Sampling:
    """How places are looked at.

    Attributes:
        aligned: -1 and 1 are the centres of the outermost elements, not their edges.
    """

    mode: Mode
    margin: Margin
    aligned: bool

    def taps(self, axes: int) -> int:
        """How many elements one result is made of."""
        return int(_WIDTHS[self.mode] ** axes)

    def found(
        self, m: Steps, at: Sequence[Any], sizes: Sequence[Any]
    ) -> tuple[list[Any], list[Any]]:
        """The numbers of the elements (-1 outside), and their weights.

        Args:
            at: the coordinates from -1 to 1, x first.
            sizes: of the axes, the last one first.
        """
        axes = [self._axis(m, x, n) for x, n in zip(at, sizes, strict=True)][::-1]
        lengths = tuple(sizes)[::-1]
        indices, weights = [], []
        for corner in itertools.product(range(_WIDTHS[self.mode]), repeat=len(at)):
            index, within, weight = None, None, None
            for i, axis, n in zip(corner, axes, lengths, strict=True):
                place, fits = axis.places[i]
                index = place if index is None else index * n + place
                within = fits if within is None else within & fits
                weight = _times(weight, axis.weights[i])
            weights.append(weight)
            indices.append(m.choose(within, index, -1))
        return indices, weights

    def slopes(
        self, m: Steps, at: Sequence[Any], sizes: Sequence[Any], ct: Sequence[Any]
    ) -> list[Any]:
        """The gradients of the coordinates, from those of the weights."""
        if self.mode == "nearest":
            return [0 * m.ones(x) for x in at]
        axes = [self._axis(m, x, n) for x, n in zip(at, sizes, strict=True)][::-1]
        corners = itertools.product(range(_WIDTHS[self.mode]), repeat=len(at))
        totals: list[Any] = [None] * len(at)
        for corner, c in zip(corners, ct, strict=True):
            for d in range(len(at)):
                share = c
                for e, (i, axis) in enumerate(zip(corner, axes, strict=True)):
                    share = share * (axis.slopes if e == d else axis.weights)[i]
                totals[d] = share if totals[d] is None else totals[d] + share
        scaled = [t * axis.scale for t, axis in zip(totals, axes, strict=True)]
        return scaled[::-1]

    def _axis(self, m: Steps, x: Any, n: Any) -> _Axis:
        """What one axis says of a coordinate, for `n` elements."""
        n = m.number(n, x)
        at = (x + 1) / 2 * (n - 1) if self.aligned else ((x + 1) * n - 1) / 2
        scale = (n - 1) / 2 if self.aligned else n / 2
        if self.mode == "bicubic":
            low = m.floor(at)
            weights, slopes = _cubic(at - low)
            taps = [self._inside(m, low + (i - 1), n)[0] for i in range(4)]
            return _Axis([_within(m, t, n) for t in taps], weights, slopes, scale)
        at, slope = self._inside(m, at, n)
        if self.mode == "nearest":
            return _Axis([_within(m, _nearest(m, at), n)], [m.ones(x)], [], scale)
        low = m.floor(at)
        part = at - low
        places = [_within(m, low + side, n) for side in (0, 1)]
        return _Axis(places, [1 - part, part], [0 - slope, slope], scale)

    def _inside(self, m: Steps, x: Any, n: Any) -> tuple[Any, Any]:
        """A place moved to where elements are, and how fast it moves."""
        turned = one = m.ones(x)
        if self.margin == "zeros":
            return x, one
        if self.margin == "reflection":
            low, span = (0.0, n - 1) if self.aligned else (-0.5, n)
            far = x - low
            turned = m.choose(far < 0, -1.0, one)
            far = m.choose(far < 0, 0 - far, far)
            turns = m.floor(far / span)
            rest, half = far - turns * span, turns / 2
            odd = half > m.floor(half)
            turned = m.choose(odd, 0 - turned, turned)
            x = m.choose(odd, span - rest, rest) + low
        inner = (x > 0) & (x < n - 1)
        x = m.choose(x > 0, x, 0.0)
        return m.choose(x < n - 1, x, (n - 1) * one), m.choose(inner, turned, 0.0)


@dataclass(frozen=True, slots=True)
class _Axis:
    """What an axis says of one coordinate.

    Attributes:
        places: the elements, each with whether there is one.
        weights: of them.
        slopes: of the weights, by the place.
        scale: by how many elements the place moves with the coordinate.
    """

    places: list[tuple[Any, Any]]
    weights: list[Any]
    slopes: list[Any]
    scale: Any


def _times(a: Any, b: Any) -> Any:
    return b if a is None else a * b


def _within(m: Steps, x: Any, n: Any) -> tuple[Any, Any]:
    """A whole number that names an element, and whether it did before."""
    fits = (x >= 0) & (x <= n - 1)
    return m.whole(m.choose(fits, x, 0.0)), fits


def _nearest(m: Steps, x: Any) -> Any:
    """The nearest whole number; of two, the even one."""
    low = m.floor(x)
    rest, half = x - low, low / 2
    odd = half > m.floor(half)
    return m.choose((rest > 0.5) | ((rest >= 0.5) & odd), low + 1, low)


def _cubic(near: Any, a: float = _SHARP) -> tuple[list[Any], list[Any]]:
    """The weights of four neighbours (Keys 1981), and their slopes."""
    far = 1 - near
    weights = [_outer(near + 1, a), _inner(near, a), _inner(far, a), _outer(far + 1, a)]
    slopes = [
        _outer_slope(near + 1, a), _inner_slope(near, a),
        0 - _inner_slope(far, a), 0 - _outer_slope(far + 1, a),
    ]  # fmt: skip
    return weights, slopes


def _inner(x: Any, a: float) -> Any:
    return ((a + 2) * x - (a + 3)) * x * x + 1


def _outer(x: Any, a: float) -> Any:
    return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a


def _inner_slope(x: Any, a: float) -> Any:
    return (3 * (a + 2) * x - 2 * (a + 3)) * x


def _outer_slope(x: Any, a: float) -> Any:
    return (3 * a * x - 10 * a) * x + 8 * a


__all__ = ["Margin", "Mode", "Sampling", "Steps"]
