"""The taps of `grid_sample`: which elements it looks at, and their weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any, Final, Literal

import numpy as np

from dovetail.codegen.grid_places import Sampling
from dovetail.dtypes import FLOAT, HALF, Array, Sizes, float32, int64
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import Case, calls_of, case
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor, alias
from dovetail.errors import ShapeError
from dovetail.ops.arithmetic import floor
from dovetail.ops.create import full
from dovetail.ops.primitive import cast, where
from dovetail.ops.shape import stack
from dovetail.ops.view import basic_index, reshape


class _Ops:
    """Arithmetic on tensors."""

    def floor(self, x: Tensor) -> Tensor:
        return alias(floor(x))

    def choose(self, condition: Tensor, a: Any, b: Any) -> Tensor:
        return where(condition, a, b)

    def ones(self, x: Tensor) -> Tensor:
        return full(tuple(x._a.shape), 1, x._kind)

    def number(self, n: Any, x: Any) -> Any:
        return n

    def whole(self, x: Tensor) -> Tensor:
        return cast(alias(x), index_dtype(x._kind))


_OPS: Final = _Ops()


def _tapped(grid: Sizes, *, sizes: Sizes, mode: str, **_: Any) -> tuple[Sizes, Sizes]:
    axes = len(sizes)
    if len(grid) < 2 or grid[-1] != axes:
        raise ShapeError(
            "grid_taps", "grid", was=f"of shape {tuple(grid)}",
            needed=f"[n, *places, {axes}] for {axes} sizes",
        )  # fmt: skip
    count = Sampling(mode, "zeros", False).taps(axes)  # type: ignore[arg-type]
    shape = (grid[0], count, math.prod(grid[1:-1]))
    return shape, shape


def _coordinates(grid: Tensor) -> list[Tensor]:
    """The coordinates of all places as [n, p], x first; those of 16 bits in float32."""
    if grid.dtype in HALF:
        grid = cast(grid, float32)
    n, *places, axes = tuple(grid._a.shape)
    flat = (n, math.prod(places))
    return [reshape(basic_index(grid, (Ellipsis, i)), flat) for i in range(axes)]


# Beyond some elements, a place says nothing any more of what is between elements.
_UNDEFINED: Final = ("beside", "extreme", "pairs", "special", "sweep", "wide")


def _widest(grid: Array, sizes: Sizes, mode: str, *how: Any) -> tuple[Array, Array]:
    """What weights are differences of: places, in elements."""
    shape = _tapped(grid.shape, sizes=sizes, mode=mode)[0]
    most = 16 * max(1, *sizes) * (1 + np.abs(grid).max(initial=0))
    return np.full(shape, most), np.zeros(shape)


@op(shape=_tapped, accepts=FLOAT, result=("same", int64), outputs=("weight", "index"),
    undefined_on=_UNDEFINED, domain=(-1.4, 1.4), cancels=_widest)  # fmt: skip
def grid_taps(
    grid: Tensor, sizes: Ints, mode: Literal["bilinear", "nearest", "bicubic"],
    margin: Literal["zeros", "border", "reflection"], aligned: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What each place of `grid_sample` is made of: weights, and numbers of elements.

    Args:
        grid: [n, *places, axes]: x, y (and z) from -1 to 1.
        sizes: of the axes, x last.
        margin: what is beyond them.
        aligned: -1 and 1 are the centres of the outermost elements, not edges.

    Returns: [n, taps, places] of both; a tap that is outside has the number -1.
    """
    sampling = Sampling(mode, margin, aligned)
    at = _coordinates(grid)
    index, weight = sampling.found(_OPS, at, tuple(sizes)[::-1])
    return cast(stack(weight, 1), grid.dtype), stack(index, 1)


def _back_shape(ct: Sizes, grid: Sizes, *, sizes: Sizes, mode: str, **_: Any) -> Sizes:
    wanted = _tapped(grid, sizes=sizes, mode=mode)[0]
    if tuple(ct) != tuple(wanted):
        raise ShapeError(
            "grid_taps_backward", "ct", was=f"of shape {tuple(ct)}", needed=str(wanted)
        )
    return grid


def _steepest(ct: Array, grid: Array, sizes: Sizes, mode: str, *how: Any) -> Array:
    most = 16 * max(1, *sizes) ** 2 * (1 + np.abs(grid).max(initial=0))
    return np.full(grid.shape, most * np.abs(ct).max(initial=0) * ct.shape[1])


@op(shape=_back_shape, accepts=FLOAT, promote="equal", cancels=_steepest,
    undefined_on=_UNDEFINED, domain=(-1.4, 1.4))  # fmt: skip
def grid_taps_backward(
    ct: Tensor, grid: Tensor, sizes: Ints,
    mode: Literal["bilinear", "nearest", "bicubic"],
    margin: Literal["zeros", "border", "reflection"], aligned: bool,
) -> Tensor:  # fmt: skip
    """The gradient of the grid from that of its weights; 0 where a margin holds it."""
    sampling = Sampling(mode, margin, aligned)
    at = _coordinates(grid)
    wide = ct if ct.dtype is at[0].dtype else cast(ct, at[0].dtype)
    count = wide._a.shape[1]
    parts = [basic_index(wide, (slice(None), k)) for k in range(count)]
    found = sampling.slopes(_OPS, at, tuple(sizes)[::-1], parts)
    return cast(reshape(stack(found, -1), tuple(grid._a.shape)), grid.dtype)


grid_taps.grad(
    grid=lambda ct, grid, sizes, mode, margin, aligned: grid_taps_backward(
        ct, grid, sizes, mode, margin, aligned
    )
)


def _moved(x: float, n: int, margin: str, aligned: bool) -> tuple[float, int]:
    """A place as the margin has it, and how fast it moves with the place."""
    if margin == "zeros":
        return x, 1
    turn = 1
    if margin == "reflection":
        low, span = (0.0, n - 1.0) if aligned else (-0.5, float(n))
        far = (x - low) % (2 * span) if span else 0.0
        turn = -1 if far > span else 1
        x = low + min(far, 2 * span - far)
    return min(max(x, 0.0), n - 1.0), turn if 0 < x < n - 1 else 0


def _keys(t: float) -> tuple[float, float]:
    """The cubic of Keys (1981) at a distance, with a = -3/4, and its slope."""
    a, sign, t = -0.75, math.copysign(1, t), abs(t)
    if t <= 1:
        found = (a + 2) * t**3 - (a + 3) * t**2 + 1
        return found, sign * (3 * (a + 2) * t**2 - 2 * (a + 3) * t)
    found = a * t**3 - 5 * a * t**2 + 8 * a * t - 4 * a
    return found, sign * (3 * a * t**2 - 10 * a * t + 8 * a)


def _axis_by_one(
    x: float, n: int, mode: str, margin: str, aligned: bool
) -> list[tuple[int, float, float]]:
    """The elements of an axis around a coordinate: weights, and how these change."""
    scale = (n - 1) / 2 if aligned else n / 2
    at, turn = (x + 1) * scale - (0 if aligned else 0.5), 1
    if mode != "bicubic":
        at, turn = _moved(at, n, margin, aligned)
    if mode == "nearest":
        return [(round(at), 1.0, 0.0)]
    low = math.floor(at)
    if mode == "bilinear":
        slope, part = turn * scale, at - low
        return [(low, 1 - part, -slope), (low + 1, part, slope)]
    found = []
    for t in range(low - 1, low + 3):
        weight, slope = _keys(at - t)
        found.append((int(_moved(t, n, margin, aligned)[0]), weight, slope * scale))
    return found


def _by_one(grid: Array, sizes: Sizes, *how: Any) -> Iterator[Any]:
    """The number of each place, and its corners, each one tap an axis."""
    flat = grid.reshape(grid.shape[0], math.prod(grid.shape[1:-1]), grid.shape[-1])
    for at in np.ndindex(*flat.shape[:2]):
        places = zip(flat[at][::-1], sizes, strict=True)
        axes = [_axis_by_one(float(x), n, *how) for x, n in places]
        yield at, list(itertools.product(*axes))


@grid_taps.oracle
def _(grid: Array, sizes: Sizes, mode: str, *how: Any) -> tuple[Array, Array]:
    shape = _tapped(grid.shape, sizes=sizes, mode=mode)[0]
    weight, index = np.empty(shape), np.empty(shape, np.int64)
    for (i, p), corners in _by_one(grid, sizes, mode, *how):
        for k, corner in enumerate(corners):
            at = [tap[0] for tap in corner]
            inside = all(0 <= a < n for a, n in zip(at, sizes, strict=True))
            index[i, k, p] = np.ravel_multi_index(at, tuple(sizes)) if inside else -1
            weight[i, k, p] = math.prod(tap[1] for tap in corner)
    return weight, index


@grid_taps_backward.oracle
def _(ct: Array, grid: Array, sizes: Sizes, *how: Any) -> Array:
    axes = grid.shape[-1]
    y = np.zeros((grid.shape[0], ct.shape[2], axes))
    if how[0] == "nearest":
        return y.reshape(grid.shape)
    for (i, p), corners in _by_one(grid, sizes, *how):
        for k, corner in enumerate(corners):
            for d in range(axes):
                parts = (t[2] if e == d else t[1] for e, t in enumerate(corner))
                y[i, p, axes - 1 - d] += ct[i, k, p] * math.prod(parts)
    return y.reshape(grid.shape)


@grid_taps.cases
def _(make: Any) -> Iterator[Case]:
    for mode, margin, aligned in (
        ("bilinear", "zeros", False), ("bilinear", "border", True),
        ("bilinear", "reflection", False), ("nearest", "zeros", False),
        ("nearest", "reflection", True), ("bicubic", "zeros", True),
        ("bicubic", "reflection", False),
    ):  # fmt: skip
        yield case(make(2, 3, 2, 2), (4, 5), mode, margin, aligned)
    yield case(make(1, 2, 3), (2, 3, 4), "bilinear", "zeros", False)
    yield case(make(1, 0, 2), (2, 3), "bilinear", "border", False)


@grid_taps_backward.cases
def _(make: Any) -> Iterator[Case]:
    for call in calls_of(grid_taps.op, make):
        grid, sizes, mode, *how = call.args
        shape = _tapped(grid.shape, sizes=sizes, mode=mode)[0]
        yield case(make(*shape), grid, sizes, mode, *how)
