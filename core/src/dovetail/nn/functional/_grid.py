"""Images sampled at any places: `affine_grid` and `grid_sample`.

Spatial transformer networks (Jaderberg et al. 2015, arXiv:1506.02025).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Final

from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, ShapeError
from dovetail.ops.create import counted, full
from dovetail.ops.grid import grid_taps
from dovetail.ops.matmul import matmul
from dovetail.ops.primitive import cast
from dovetail.ops.shape import stack
from dovetail.ops.taps import tap_sum
from dovetail.ops.view import expand, reshape, transpose

_MODES: Final = ("bilinear", "nearest", "bicubic")
_MARGINS: Final = ("zeros", "border", "reflection")


@public("F.affine_grid")
def affine_grid(
    theta: Tensor, size: Sequence[int], align_corners: bool | None = None
) -> Tensor:
    """The places that `grid_sample` is to look at for affine maps of images.

    Args:
        theta: [n, 2, 3] for images, [n, 3, 4] for volumes.
        size: of the result, [n, channels, *spatial].
        align_corners: -1 and 1 are the centres of the outermost elements, not edges.

    Returns: [n, *spatial, number of spatial axes].
    """
    axes = len(size) - 2
    if not theta.dtype.is_floating_point:
        raise DTypeError(
            "affine_grid", "theta", was=theta.dtype.name, needed="floating point"
        )
    if axes not in (2, 3):
        raise ArgumentError(
            "affine_grid", "size", was=tuple(size), needed="4 or 5 lengths"
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (axes, axes + 1):
        raise ArgumentError(
            "affine_grid", "theta", was=f"of shape {tuple(theta.shape)}",
            needed=f"[n, {axes}, {axes + 1}] for a size of {len(size)} lengths",
        )  # fmt: skip
    if min(size) < 1:
        raise ArgumentError(
            "affine_grid", "size", was=tuple(size), needed="positive lengths"
        )
    spatial = tuple(size[2:])
    lines = []
    for i in reversed(range(axes)):  # x comes first
        line = _normalised(theta, spatial[i], bool(align_corners))
        shape = [1] * axes
        shape[i] = spatial[i]
        lines.append(expand(reshape(line, tuple(shape)), spatial))
    lines.append(full(spatial, 1, theta._kind))
    base = reshape(stack(lines, -1), (1, math.prod(spatial), axes + 1))
    found = matmul(base, transpose(theta, 1, 2))
    return reshape(found, (size[0], *spatial, axes))


def _normalised(like: Tensor, n: int, aligned: bool) -> Tensor:
    """The places of `n` elements from -1 to 1."""
    at = cast(counted(n, like), like.dtype)
    if aligned:
        return at * (2 / (n - 1)) - 1 if n > 1 else at
    return (at * 2 + 1) / n - 1


@public("F.grid_sample", autocast="float32")
def grid_sample(
    input: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:  # fmt: skip
    """`input` at the places of `grid`, between whose elements it is interpolated.

    Args:
        input: [n, channels, h, w], or [n, channels, d, h, w].
        grid: [n, *places, 2 or 3]: x, y (and z) from -1 to 1.
        mode: "bilinear", "nearest" or (of images) "bicubic".
        padding_mode: what is beyond: "zeros", "border" or "reflection".
        align_corners: -1 and 1 are the centres of the outermost elements, not edges.

    Returns: [n, channels, *places].
    """
    _check_grid(input, grid, mode, padding_mode)
    n, channels, *size = tuple(input.shape)
    how = mode, padding_mode, bool(align_corners)
    weight, index = grid_taps(grid, tuple(size), *how)
    lines = reshape(input, (n, channels, math.prod(size)))
    found = tap_sum(lines, index, weight)
    return reshape(found, (n, channels, *tuple(grid.shape)[1:-1]))


def _by_numbers(name: str, *axes: int) -> Callable[..., Tensor]:
    """`grid_sample` for inputs of so many spatial dims, its modes given as numbers."""
    dims = " or ".join(f"{n + 2}-d" for n in axes)

    @public(f"torch.{name}", autocast="float32")
    def sampler(
        input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int,
        align_corners: bool,
    ) -> Tensor:  # fmt: skip
        """`nn.functional.grid_sample`, its modes by their places in torch's lists.

        Args:
            interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
            padding_mode: 0 zeros, 1 border, 2 reflection.
        """
        if input.ndim - 2 not in axes:
            raise ShapeError(name, "input", was=f"{input.ndim}-d", needed=dims)
        mode = _numbered(name, "interpolation_mode", interpolation_mode, _MODES)
        margin = _numbered(name, "padding_mode", padding_mode, _MARGINS)
        return grid_sample(input, grid, mode, margin, align_corners)

    return sampler


def _numbered(op: str, argument: str, number: int, names: tuple[str, ...]) -> str:
    if not 0 <= number < len(names):
        last = len(names) - 1
        raise ArgumentError(
            op, argument, was=number, needed=f"0 to {last}, for one of {names}"
        )
    return names[number]


grid_sampler = _by_numbers("grid_sampler", 2, 3)
grid_sampler_2d = _by_numbers("grid_sampler_2d", 2)
grid_sampler_3d = _by_numbers("grid_sampler_3d", 3)


def _check_grid(input: Tensor, grid: Tensor, mode: str, padding_mode: str) -> None:
    for name, value, known in (
        ("mode", mode, _MODES), ("padding_mode", padding_mode, _MARGINS),
    ):  # fmt: skip
        if value not in known:
            raise ArgumentError(
                "grid_sample", name, was=repr(value), needed=f"one of {known}"
            )
    axes = input.ndim - 2
    if axes not in (2, 3) or grid.ndim != input.ndim or grid.shape[-1] != axes:
        raise ShapeError(
            "grid_sample", "grid",
            was=f"{tuple(grid.shape)} for an input {tuple(input.shape)}",
            needed="[n, *places, 2] for images, [n, *places, 3] for volumes",
        )  # fmt: skip
    if grid.shape[0] != input.shape[0]:
        raise ShapeError(
            "grid_sample", "grid", was=f"a batch of {grid.shape[0]}",
            needed=f"{input.shape[0]}, as input has",
        )  # fmt: skip
    if grid.dtype is not input.dtype:
        raise DTypeError(
            "grid_sample", "grid", was=grid.dtype.name,
            needed=f"{input.dtype.name}, the dtype of input",
        )  # fmt: skip
    if min(tuple(input.shape)[2:]) < 1:
        raise ShapeError(
            "grid_sample", "input", was=f"of shape {tuple(input.shape)}",
            needed="spatial axes that are not empty",
        )  # fmt: skip
    if mode == "bicubic" and axes != 2:
        raise ArgumentError(
            "grid_sample", "mode", was="bicubic for volumes", needed="images"
        )
