"""Shapes of convolution and its adjoints, and errors where they do not fit."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.errors import ArgumentError, ShapeError
from dovetail.xp.windows import places_of

Sizes = Sequence[int]


def _check_steps(
    name: str, n: int, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> None:
    """Each attribute has one number an axis, and one that makes sense."""
    for what, values, least in (
        ("stride", stride, 1), ("padding", padding, 0), ("dilation", dilation, 1),
    ):  # fmt: skip
        if len(values) != n:
            raise ArgumentError(name, what, was=values, needed=f"{n} numbers")
        if any(v < least for v in values):
            raise ArgumentError(name, what, was=values, needed=f"{least} or more")
    if groups < 1:
        raise ArgumentError(name, "groups", was=groups, needed="1 or more")


def _check_dims(name: str, x: Sizes, w: Sizes) -> int:
    n = len(w) - 2
    if n < 1 or len(x) != n + 2:
        raise ShapeError(
            name, "input", was=f"{len(x)}-dimensional, {x}, for a weight {w}",
            needed="(batch, channels, *spatial) and (out, in / groups, *kernel)",
        )  # fmt: skip
    return n


def _check_bias(name: str, b: Sizes | None, channels: int) -> None:
    if b is not None and b != (channels,):
        raise ShapeError(
            name,
            "bias",
            was=f"of shape {b}",
            needed=f"({channels},), one a channel out",
        )


def convolution_shape(
    x: Sizes, w: Sizes, b: Sizes | None, *, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Sizes:  # fmt: skip
    """The shape of `convolution`'s result."""
    name = "convolution"
    n = _check_dims(name, x, w)
    _check_steps(name, n, stride, padding, dilation, groups)
    if x[1] != w[1] * groups:
        raise ShapeError(
            name, "channels", was=f"{x[1]} in the input {x}",
            needed=f"{w[1] * groups}, for weight {w} in {groups} groups",
        )  # fmt: skip
    if w[0] % groups or not w[0]:
        raise ShapeError(
            name, "weight", was=f"with {w[0]} channels out",
            needed=f"a positive multiple of groups={groups}",
        )  # fmt: skip
    _check_bias(name, b, w[0])
    size = places_of(x[2:], w[2:], stride, padding, dilation)
    if any(s < 1 for s in size) or 0 in (*x[2:], *w[2:]):
        raise ShapeError(
            name, "kernel", was=f"{w[2:]} with dilation {dilation}",
            needed=f"no more than the padded input: {x[2:]} with padding {padding}",
        )  # fmt: skip
    return (x[0], w[0], *size)


def transpose_shape(
    x: Sizes, w: Sizes, *, size: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Sizes:  # fmt: skip
    """The shape of `convolution_transpose`'s result."""
    name = "convolution_transpose"
    n = _check_dims(name, x, w)
    _check_steps(name, n, stride, padding, dilation, groups)
    if x[1] != w[0] or w[0] % groups or not w[0]:
        raise ShapeError(
            name, "channels", was=f"{x[1]} in the input {x}",
            needed=f"{w[0]}, as in the weight {w}, a positive multiple of {groups=}",
        )  # fmt: skip
    if any(s < 1 for s in size):
        raise ShapeError(
            name, "output size", was=size, needed="at least 1 along every axis"
        )
    if places_of(size, w[2:], stride, padding, dilation) != x[2:]:
        raise ShapeError(
            name, "output size", was=size,
            needed=f"one that a kernel {w[2:]} with stride {stride}, padding {padding} "
            f"and dilation {dilation} takes to {x[2:]}",
        )  # fmt: skip
    return (x[0], w[1] * groups, *size)


def weight_shape(
    x: Sizes, dy: Sizes, *, kernel: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Sizes:  # fmt: skip
    """The shape of `convolution_weight`'s result."""
    name = "convolution_weight"
    n = _check_dims(name, x, dy)
    _check_steps(name, n, stride, padding, dilation, groups)
    size = places_of(x[2:], kernel, stride, padding, dilation)
    if 0 in (dy[1], *x[2:], *size):
        raise ShapeError(
            name, "x", was=f"of shape {x}",
            needed=f"sizes of at least 1 on every axis, and in dy {dy} channels",
        )  # fmt: skip
    if size != dy[2:] or x[0] != dy[0] or x[1] % groups or dy[1] % groups:
        raise ShapeError(
            name, "dy", was=f"of shape {dy}",
            needed=f"batch {x[0]} and places {size} for the input {x}, with channels "
            f"in {groups} groups",
        )  # fmt: skip
    return (dy[1], x[1] // groups, *kernel)
