"""Convolution as three bilinear maps: of input and weight, and its two adjoints.

With y[n, o, p] = Σ w[o, c, k] x[n, c, p·stride + k·dilation − padding], each map's
gradients are the other two, so derivatives of every order stay among them (Dumoulin &
Visin 2016, "A guide to convolution arithmetic for deep learning", arXiv:1603.07285).
The bodies are one matrix product a kernel offset, over a shifted view of the input.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import NUMERIC
from dovetail.engine.adjoints import adjoint_of
from dovetail.engine.attributes import Ints
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.primitive import bmm
from dovetail.ops.shape import stack
from dovetail.ops.sums import sum
from dovetail.ops.view import basic_index, contiguous, reshape, transpose
from dovetail.ops.windows import (
    added_back,
    check_steps,
    columns_of,
    gathered_back,
    offsets,
    windows,
)
from dovetail.xp.windows import Windows

Sizes = Sequence[int]
_ALL = slice(None)


def _shape(
    x: Sizes, w: Sizes, b: Sizes | None, *, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Sizes:  # fmt: skip
    name, n = "convolution", len(w) - 2
    if n < 1 or len(x) != n + 2:
        raise ShapeError(
            name, "input", was=f"{len(x)}-dimensional, {x}, for a weight {w}",
            needed="(batch, channels, *spatial) and (out, in / groups, *kernel)",
        )  # fmt: skip
    check_steps(name, n, stride=stride, padding=padding, dilation=dilation)
    if groups < 1:
        raise ArgumentError(name, "groups", was=groups, needed="1 or more")
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
    if b is not None and b != (w[0],):
        needed = f"({w[0]},), one a channel out"
        raise ShapeError(name, "bias", was=f"of shape {b}", needed=needed)
    size = Windows(w[2:], stride, padding, dilation).places(x[2:])
    if any(s < 1 for s in (*size, *x[2:], *w[2:])):
        raise ShapeError(
            name, "kernel", was=f"{w[2:]} with dilation {dilation}",
            needed=f"no more than the padded input: {x[2:]} with padding {padding}",
        )  # fmt: skip
    return (x[0], w[0], *size)


def _swapped(x: Tensor) -> Tensor:
    """Channels before batch."""
    return transpose(x, 0, 1)


def _taps(w: Tensor, at: Sizes, groups: int) -> Tensor:
    """The weights of one kernel offset: [groups, out / groups, in / groups]."""
    out, inner = w._a.shape[:2]
    return reshape(basic_index(w, (_ALL, _ALL, *at)), (groups, out // groups, inner))


def _grouped(x: Tensor, groups: int) -> Tensor:
    """[channels, batch, *places] as matrices [groups, channels / groups, places]."""
    shape = tuple(x._a.shape)
    places = math.prod(shape[1:])
    return reshape(x, (groups, shape[0] // groups, places))


@op(autocast="lower", sums=True, shape=_shape, accepts=NUMERIC, promote="equal")
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """Cross-correlation of [batch, in, *spatial] with [out, in / groups, *kernel]."""
    w = Windows(tuple(weight._a.shape[2:]), stride, padding, dilation)
    total: Any = 0
    for at, part in zip(offsets(w.kernel), windows(_swapped(input), w), strict=True):
        total = total + bmm(_taps(weight, at, groups), _grouped(part, groups))
    channels, batch = weight._a.shape[0], input._a.shape[0]
    size = w.places(tuple(input._a.shape[2:]))
    y = contiguous(_swapped(reshape(total, (channels, batch, *size))))
    return y if bias is None else y + reshape(bias, (-1, *(1 for _ in size)))


def _bias_gradient(ct: Tensor) -> Tensor:
    return sum(ct, (0, *range(2, len(ct._a.shape))))


@adjoint_of(
    convolution, "input", autocast="lower", sums=True,
    shape=lambda dy, w, *, size, groups, **_: (dy[0], w[1] * groups, *size),
)  # fmt: skip
def convolution_transpose(
    input: Tensor, weight: Tensor, size: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """The adjoint of convolution in its input: [batch, out, *places] to `size`.

    Also known as transposed convolution; `weight` is that of the convolution it
    reverses.
    """
    batch, _, *places = input._a.shape
    kernel, channels = tuple(weight._a.shape[2:]), weight._a.shape[1] * groups
    source = _grouped(_swapped(input), groups)
    terms = (
        bmm(transpose(_taps(weight, at, groups), 1, 2), source)
        for at in offsets(kernel)
    )
    parts = (reshape(term, (channels, batch, *places)) for term in terms)
    y = gathered_back(parts, size, Windows(kernel, stride, padding, dilation))
    return contiguous(_swapped(y))


@adjoint_of(
    convolution, "weight", sums=True, others={"bias": _bias_gradient},
    shape=lambda x, dy, *, kernel, groups, **_: (dy[1], x[1] // groups, *kernel),
)  # fmt: skip
def convolution_weight(
    input: Tensor, dy: Tensor, kernel: Ints, stride: Ints, padding: Ints,
    dilation: Ints, groups: int,
) -> Tensor:  # fmt: skip
    """The adjoint of convolution in its weight: what each tap met, summed."""
    source = _grouped(_swapped(dy), groups)
    parts = windows(_swapped(input), Windows(kernel, stride, padding, dilation))
    met = [bmm(source, transpose(_grouped(part, groups), 1, 2)) for part in parts]
    out, inner = dy._a.shape[1], input._a.shape[1] // groups
    return reshape(stack(met, -1), (out, inner, *kernel))


_Array = Any


def _rows(w: _Array, groups: int) -> list[_Array]:
    """A weight by group, as [out / groups, in / groups, offsets]."""
    return np.split(w.reshape(*w.shape[:2], math.prod(w.shape[2:])), groups)


@convolution.oracle
def _(x: _Array, w: _Array, b: _Array, *how: Any) -> _Array:
    *steps, groups = how
    columns = np.split(columns_of(x, Windows(w.shape[2:], *steps)), groups, 1)
    parts = map(_met, columns, _rows(w, groups))
    y = np.concatenate([np.moveaxis(part, -1, 1) for part in parts], 1)
    return y if b is None else y + b.reshape(-1, *(1 for _ in w.shape[2:]))


def _met(columns: _Array, rows: _Array) -> _Array:
    """Products of one group, [batch, *places, out]."""
    return np.tensordot(columns, rows, ((1, -1), (1, 2)))


@convolution_transpose.oracle
def _(dy: _Array, w: _Array, size: Any, *how: Any) -> _Array:
    *steps, groups = how
    parts = zip(np.split(dy, groups, 1), _rows(w, groups), strict=True)
    columns = [np.moveaxis(np.tensordot(a, b, (1, 0)), -2, 1) for a, b in parts]
    return added_back(np.concatenate(columns, 1), size, Windows(w.shape[2:], *steps))


@convolution_weight.oracle
def _(x: _Array, dy: _Array, kernel: Any, *how: Any) -> _Array:
    *steps, groups = how
    columns = np.split(columns_of(x, Windows(kernel, *steps)), groups, 1)
    axes = (0, *range(2, x.ndim))
    parts = zip(np.split(dy, groups, 1), columns, strict=True)
    dw = np.concatenate([np.tensordot(a, b, (axes, axes)) for a, b in parts])
    return dw.reshape(*dw.shape[:2], *kernel)


# x, w, stride, padding, dilation, groups
_CALLS: Any = (
    ((2, 3, 6, 7), (4, 3, 5, 5), (1, 1), (1, 1), (1, 1), 1),
    ((2, 4, 6, 5), (6, 2, 2, 3), (2, 1), (0, 2), (1, 2), 2),
    ((1, 3, 7, 4), (3, 1, 3, 2), (3, 2), (1, 0), (2, 1), 3),
    ((2, 3, 4, 4), (2, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 2, 9), (3, 2, 4), (2,), (3,), (1,), 1),
    ((1, 2, 3, 4, 3), (4, 1, 2, 2, 2), (1, 2, 1), (1, 0, 1), (1, 1, 1), 2),
    ((0, 2, 4, 4), (2, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((1, 4, 3, 5), (6, 2, 1, 1), (1, 1), (0, 0), (1, 1), 2),
)


@convolution.cases
def _(make: Any) -> Iterator[Any]:
    for i, (x, w, *steps) in enumerate(_CALLS):
        bias = make(w[0]) if i % 2 else None
        yield case(make(*x), make(*w), bias, *steps)
