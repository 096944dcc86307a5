"""Convolution as three bilinear maps: of input and weight, and its two adjoints.

With y[n, o, p] = Σ w[o, c, k] x[n, c, p·stride + k·dilation − padding], each map's
gradients are the other two, so derivatives of every order stay among them (Dumoulin &
Visin 2016, "A guide to convolution arithmetic for deep learning", arXiv:1603.07285).
The bodies are one matrix product a kernel offset, over a shifted view of the input.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.inplace import inplace
from dovetail.engine.tensor import Tensor
from dovetail.ops.conv_shapes import convolution_shape, transpose_shape, weight_shape
from dovetail.ops.create import zeros_of
from dovetail.ops.primitive import add, bmm, conj
from dovetail.ops.sums import sum_to
from dovetail.ops.view import (
    basic_index,
    contiguous,
    place,
    reshape,
    transpose,
)  # fmt: skip
from dovetail.xp.windows import places_of

Sizes = Sequence[int]
_ALL = slice(None)


def offsets(kernel: Sizes) -> Iterator[Sizes]:
    """Every place in a kernel, the last axis fastest."""
    return itertools.product(*map(range, kernel))


def window(at: Sizes, size: Sizes, stride: Sizes, dilation: Sizes) -> tuple[slice, ...]:
    """Where one place of the kernel falls in a padded input, for all results."""
    return tuple(
        slice(k * d, k * d + (n - 1) * t + 1, t)
        for k, n, t, d in zip(at, size, stride, dilation, strict=True)
    )


def _swapped(x: Tensor) -> Tensor:
    """Channels before batch."""
    return transpose(x, 0, 1)


def _padded(x: Tensor, padding: Sizes) -> Tensor:
    """`x` with zeros on both sides of its spatial axes."""
    if not any(padding):
        return x
    shape = tuple(x._a.shape)
    wide = tuple(s + 2 * p for s, p in zip(shape[2:], padding, strict=True))
    inner = tuple(slice(p, p + s) for s, p in zip(shape[2:], padding, strict=True))
    return place(x, (*shape[:2], *wide), (_ALL, _ALL, *inner))


def _taps(w: Tensor, at: Sizes, groups: int) -> Tensor:
    """The weights of one kernel offset: [groups, out / groups, in / groups]."""
    out, inner = w._a.shape[:2]
    return reshape(basic_index(w, (_ALL, _ALL, *at)), (groups, out // groups, inner))


def _grouped(x: Tensor, groups: int) -> Tensor:
    """[channels, batch, *places] as matrices [groups, channels / groups, places]."""
    shape = tuple(x._a.shape)
    places = math.prod(shape[1:])
    return reshape(x, (groups, shape[0] // groups, places))


@op(autocast="lower", sums=True, shape=convolution_shape, accepts=NUMERIC,
    promote="equal")  # fmt: skip
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """Cross-correlation of [batch, in, *spatial] with [out, in / groups, *kernel]."""
    kernel = tuple(weight._a.shape[2:])
    size = places_of(tuple(input._a.shape[2:]), kernel, stride, padding, dilation)
    wide = _swapped(_padded(input, padding))
    total: Any = 0
    for at in offsets(kernel):
        shifted = basic_index(wide, (_ALL, _ALL, *window(at, size, stride, dilation)))
        total = total + bmm(_taps(weight, at, groups), _grouped(shifted, groups))
    channels, batch = weight._a.shape[0], input._a.shape[0]
    y = contiguous(_swapped(reshape(total, (channels, batch, *size))))
    return y if bias is None else y + reshape(bias, (-1, *(1 for _ in size)))


@op(autocast="lower", sums=True, shape=transpose_shape, accepts=NUMERIC,
    promote="equal")  # fmt: skip
def convolution_transpose(
    input: Tensor, weight: Tensor, size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """The adjoint of convolution in its input: [batch, out, *places] to `size`.

    Also known as transposed convolution; `weight` is that of the convolution it
    reverses.
    """
    places = tuple(input._a.shape[2:])
    channels = weight._a.shape[1] * groups
    wide = tuple(s + 2 * p for s, p in zip(size, padding, strict=True))
    whole = zeros_of(input, (channels, input._a.shape[0], *wide))
    source = _grouped(_swapped(input), groups)
    for at in offsets(tuple(weight._a.shape[2:])):
        term = bmm(transpose(_taps(weight, at, groups), 1, 2), source)
        region = (_ALL, _ALL, *window(at, places, stride, dilation))
        target = basic_index(whole, region)
        inplace("add_", add, target, reshape(term, tuple(target._a.shape)))
    inner = tuple(slice(p, p + s) for s, p in zip(size, padding, strict=True))
    return contiguous(_swapped(basic_index(whole, (_ALL, _ALL, *inner))))


@op(sums=True, shape=weight_shape, accepts=NUMERIC, promote="equal")
def convolution_weight(
    input: Tensor, dy: Tensor, kernel: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """The adjoint of convolution in its weight: what each tap met, summed."""
    wide = _swapped(_padded(input, padding))
    source = _grouped(_swapped(dy), groups)
    out, inner = dy._a.shape[1], input._a.shape[1] // groups
    dw = zeros_of(input, (out, inner, *kernel))
    for at in offsets(tuple(kernel)):
        places = window(at, tuple(dy._a.shape[2:]), stride, dilation)
        shifted = _grouped(basic_index(wide, (_ALL, _ALL, *places)), groups)
        term = reshape(bmm(source, transpose(shifted, 1, 2)), (out, inner))
        inplace("write", lambda _, term=term: term, basic_index(dw, (_ALL, _ALL, *at)))
    return dw


# ---- gradients


def _bias_gradient(ct: Tensor) -> Tensor:
    channels = ct._a.shape[1]
    total = sum_to(ct, (1, channels, *(1 for _ in ct._a.shape[2:])))
    return reshape(total, (channels,))


convolution.grad(
    input=lambda ct, input_shape, weight, stride, padding, dilation, groups: (
        convolution_transpose(
            ct, conj(weight), input_shape[2:], stride, padding, dilation, groups
        )
    ),
    weight=lambda ct, input, weight_shape, stride, padding, dilation, groups: (
        convolution_weight(
            conj(input), ct, weight_shape[2:], stride, padding, dilation, groups
        )
    ),
    bias=_bias_gradient,
)
convolution_transpose.grad(
    input=lambda ct, weight, stride, padding, dilation, groups: convolution(
        ct, conj(weight), None, stride, padding, dilation, groups
    ),
    weight=lambda ct, input, weight_shape, stride, padding, dilation, groups: (
        convolution_weight(
            ct, conj(input), weight_shape[2:], stride, padding, dilation, groups
        )
    ),
)
convolution_weight.grad(
    input=lambda ct, input_shape, dy, stride, padding, dilation, groups: (
        convolution_transpose(
            conj(dy), ct, input_shape[2:], stride, padding, dilation, groups
        )
    ),
    dy=lambda ct, input, stride, padding, dilation, groups: convolution(
        conj(input), ct, None, stride, padding, dilation, groups
    ),
)


# ---- proof

_Array = Any


def _patches(
    x: _Array, w_shape: Sizes, size: Sizes, steps: tuple[Any, ...]
) -> Iterator[tuple[Any, slice, slice, _Array]]:
    """For each place and group: its index, channels out and in, and a view of `x`.

    `x` is padded; the view is [batch, in / groups, *kernel].
    """
    stride, _, dilation, groups = steps
    out, inner = w_shape[0] // groups, w_shape[1]
    for place_ in np.ndindex(*size):
        at = tuple(
            slice(p * t, p * t + (k - 1) * d + 1, d)
            for p, t, k, d in zip(place_, stride, w_shape[2:], dilation, strict=True)
        )
        for g in range(groups):
            channels = slice(g * inner, (g + 1) * inner)
            outs = slice(g * out, (g + 1) * out)
            yield (_ALL, outs, *place_), outs, channels, x[(_ALL, channels, *at)]


def _widened(x: _Array, padding: Sizes) -> _Array:
    return np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])


@convolution.oracle
def _(x: _Array, w: _Array, b: _Array, *steps: Any) -> _Array:
    size = places_of(x.shape[2:], w.shape[2:], *steps[:3])
    y = np.zeros((x.shape[0], w.shape[0], *size), x.dtype)
    axes = list(range(1, x.ndim))
    wide = _widened(x, steps[1])
    for at, outs, _, patch in _patches(wide, w.shape, size, steps):
        y[at] = np.tensordot(patch, w[outs], (axes, axes))
    return y if b is None else y + b.reshape(-1, *(1 for _ in size))


@convolution_transpose.oracle
def _(x: _Array, w: _Array, size: Any, *steps: Any) -> _Array:
    channels = w.shape[1] * steps[-1]
    wide = _widened(np.zeros((x.shape[0], channels, *size), x.dtype), steps[1])
    for at, outs, _, patch in _patches(wide, w.shape, x.shape[2:], steps):
        np.add(patch, np.tensordot(x[at], w[outs], 1), out=patch)
    inner = tuple(slice(p, p + s) for p, s in zip(steps[1], size, strict=True))
    return wide[(_ALL, _ALL, *inner)]


@convolution_weight.oracle
def _(x: _Array, dy: _Array, kernel: Any, *steps: Any) -> _Array:
    dw = np.zeros((dy.shape[1], x.shape[1] // steps[-1], *kernel), x.dtype)
    wide = _widened(x, steps[1])
    for at, outs, _, patch in _patches(wide, dw.shape, dy.shape[2:], steps):
        dw[outs] += np.tensordot(dy[at], patch, (0, 0))
    return dw


# x, w, stride, padding, dilation, groups
_CALLS: Any = (
    ((2, 3, 5, 5), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 6, 5), (6, 2, 2, 3), (2, 1), (0, 2), (1, 2), 2),
    ((1, 3, 7, 4), (3, 1, 3, 2), (3, 2), (1, 0), (2, 1), 3),
    ((2, 3, 4, 4), (2, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 2, 9), (3, 2, 4), (2,), (3,), (1,), 1),
    ((1, 2, 3, 4, 3), (2, 1, 2, 2, 2), (1, 2, 1), (1, 0, 1), (1, 1, 1), 2),
    ((0, 2, 4, 4), (2, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
)


@convolution.cases
def _(make: Any) -> Iterator[Any]:
    for i, (x, w, *steps) in enumerate(_CALLS):
        bias = make(w[0]) if i % 2 else None
        yield case(make(*x), make(*w), bias, *steps)


@convolution_transpose.cases
def _(make: Any) -> Iterator[Any]:
    for x, w, *steps in _CALLS:
        places = places_of(x[2:], w[2:], *steps[:3])
        yield case(make(x[0], w[0], *places), make(*w), x[2:], *steps)


@convolution_weight.cases
def _(make: Any) -> Iterator[Any]:
    for x, w, *steps in _CALLS:
        places = places_of(x[2:], w[2:], *steps[:3])
        yield case(make(*x), make(x[0], w[0], *places), w[2:], *steps)
