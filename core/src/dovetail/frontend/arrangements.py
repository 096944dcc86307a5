"""Choices and arrangements: combinations, places, shuffles, and views written into."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Sequence
from typing import Any, Literal

from dovetail.dtypes import INTEGRAL, int32, int64
from dovetail.engine.annotations import described
from dovetail.engine.integers import axis
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from dovetail.frontend.create import tensor
from dovetail.frontend.creation import Place, creates, sizes
from dovetail.frontend.index import nonzero
from dovetail.frontend.statistics import vector_norm
from dovetail.ops import create as ops
from dovetail.ops.formats import cast, where
from dovetail.ops.scatter import scatter_reduce
from dovetail.ops.shape import cat
from dovetail.ops.view import contiguous, expand, reshape


@public("torch.combinations")
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """Rows of `r` elements of a vector, in the order of `itertools.combinations`."""
    if input.ndim != 1:
        raise ShapeError(
            "combinations", "input", was=f"{input.ndim}-d", needed="one dim"
        )
    if r < 0:
        raise ArgumentError("combinations", "r", was=r, needed="at least 0")
    if r == 0:
        return input[:0]
    choose = (
        itertools.combinations_with_replacement if with_replacement
        else itertools.combinations
    )  # fmt: skip
    rows = list(choose(range(input.shape[0]), r))
    each = [i for row in rows for i in row]
    at = tensor(each, dtype=int64, device=input.device)
    return reshape(input[at], (len(rows), r))


@public("torch.unravel_index")
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """The places that flat indices name in a tensor of `shape`, one tensor a dim.

    As torch has it, a place beyond the tensor is counted round, and not refused.
    """
    if indices.dtype not in INTEGRAL:
        raise DTypeError(
            "unravel_index", "indices", was=indices.dtype.name, needed="integers"
        )
    size = (shape,) if isinstance(shape, int) else shape
    if not isinstance(size, tuple | list) or not all(isinstance(n, int) for n in size):
        raise ArgumentTypeError(
            "unravel_index", "shape", was=described(shape), needed="ints"
        )
    if any(n < 0 for n in size):
        raise ArgumentError(
            "unravel_index", "shape", was=size, needed="no negative size"
        )
    if 0 in size and indices.numel():
        raise ShapeError(
            "unravel_index", "shape", was=size, needed="sizes above 0 for any index"
        )
    places, step, indices = [], 1, cast(indices, int64)
    for n in reversed(size):
        places.append((indices // step) % max(n, 1))
        step *= max(n, 1)
    return tuple(reversed(places))


@public("index_reduce Tensor.index_reduce_", out=True)
def index_reduce(
    input: Tensor, dim: int, index: Tensor, source: Tensor,
    reduce: Literal["prod", "mean", "amax", "amin"], *, include_self: bool = True,
) -> Tensor:  # fmt: skip
    """`input` with slices of `source` combined into the places `index` along `dim`."""
    if index.ndim > 1:
        raise ShapeError(
            "index_reduce", "index", was=f"{index.ndim}-d", needed="at most one dim"
        )
    if not input.ndim:
        line = input.reshape(1), source.reshape(1)
        y = index_reduce(
            line[0], dim, index, line[1], reduce, include_self=include_self
        )
        return y.reshape(())
    along = axis("index_reduce", "dim", dim, input.ndim)
    if index.dtype not in (int32, int64):
        raise DTypeError(
            "index_reduce", "index", was=index.dtype.name, needed="int32 or int64"
        )
    if source.ndim not in (0, input.ndim):
        raise ShapeError(
            "index_reduce", "source", was=f"{source.ndim}-d",
            needed=f"{input.ndim}-d, as input is",
        )  # fmt: skip
    rows = source.shape[along] if source.ndim else 1
    if index.numel() != rows:
        raise ShapeError(
            "index_reduce", "index", was=f"{index.numel()} places for {rows} slices",
            needed="one for each slice of source",
        )  # fmt: skip
    shape = [1] * source.ndim
    if shape:
        shape[along] = rows
    at: Tensor = expand(reshape(index.to(int64), tuple(shape)), tuple(source.shape))
    return scatter_reduce(input, dim, at, source, reduce, include_self=include_self)


@public("torch.nonzero_static Tensor.nonzero_static")
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """The first `size` rows of `nonzero`, and behind them rows of `fill_value`."""
    if size < 0:
        raise ArgumentError("nonzero_static", "size", was=size, needed="at least 0")
    rows: Tensor = nonzero(input)[:size]
    missing = size - rows.shape[0]
    if not missing:
        return rows
    return cat([rows, rows.new_full((missing, rows.shape[1]), fill_value)], 0)


@creates("empty_permuted", out=False)
def empty_permuted(
    place: Place, size: Sequence[int], physical_layout: Sequence[int]
) -> Tensor:
    """Unspecified contents, the dims lying in memory in the order given."""
    shape, order = sizes((size,)), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise ArgumentError(
            "empty_permuted", "physical_layout", was=order,
            needed=f"each of {len(shape)} dims once",
        )  # fmt: skip
    kind = place.kind()
    lying = ops.empty([shape[d] for d in order], kind)
    return lying.permute([order.index(d) for d in range(len(shape))])


@public("as_strided_scatter")
def as_strided_scatter(
    input: Tensor, src: Tensor, size: Sequence[int], stride: Sequence[int],
    storage_offset: int | None = None,
) -> Tensor:  # fmt: skip
    """`input` with `src` written over what `as_strided` shows of it."""
    y = input.clone()
    part = y.as_strided(size, stride, storage_offset)
    if part.shape != src.shape:
        raise ShapeError(
            "as_strided_scatter", "src", was=f"of shape {tuple(src.shape)}",
            needed=f"{tuple(part.shape)}, as the view has",
        )  # fmt: skip
    part.copy_(src)
    return y


@public("renorm Tensor.renorm_", out=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """`input` with slices along `dim` scaled down to a norm of `maxnorm` at most."""
    if input.ndim < 2:
        raise ShapeError(
            "renorm", "input", was=f"{input.ndim}-d", needed="at least 2 dims"
        )
    if not p > 0 or not maxnorm >= 0:
        raise ArgumentError(
            "renorm", "maxnorm" if p > 0 else "p", was=maxnorm if p > 0 else p,
            needed="a norm above 0, and a bound of at least 0",
        )  # fmt: skip
    along = axis("renorm", "dim", dim, input.ndim)
    others = tuple(d for d in range(input.ndim) if d != along)
    size = vector_norm(input, p, others, True)
    scale = where(size > maxnorm, maxnorm / (size + 1e-7), 1.0)
    return contiguous(input * scale.to(input.dtype))


def _spatial(name: str, input: Tensor, factor: int, argument: str) -> None:
    if input.ndim < 3:
        raise ShapeError(name, "input", was=f"{input.ndim}-d", needed="at least 3 dims")
    if factor <= 0:
        raise ArgumentError(name, argument, was=factor, needed="above 0")


@public("torch.pixel_shuffle F.pixel_shuffle")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., c r², h, w] as [..., c, h r, w r] (Shi et al. 2016, arXiv:1609.05158)."""
    r = upscale_factor
    _spatial("pixel_shuffle", input, r, "upscale_factor")
    *lead, channels, h, w = input.shape
    if channels % (r * r):
        raise ShapeError(
            "pixel_shuffle", "input", was=f"{channels} channels",
            needed=f"a multiple of {r * r}, the square of upscale_factor",
        )  # fmt: skip
    x = input.reshape(*lead, channels // (r * r), r, r, h, w)
    n = len(lead)
    x = x.permute(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return contiguous(x.reshape(*lead, channels // (r * r), h * r, w * r))


@public("torch.pixel_unshuffle F.pixel_unshuffle")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., c, h r, w r] as [..., c r², h, w], which pixel_shuffle undoes."""
    r = downscale_factor
    _spatial("pixel_unshuffle", input, r, "downscale_factor")
    *lead, channels, h, w = input.shape
    if h % r or w % r:
        raise ShapeError(
            "pixel_unshuffle", "input", was=f"{h} by {w}", needed=f"multiples of {r}"
        )
    x = input.reshape(*lead, channels, h // r, r, w // r, r)
    n = len(lead)
    x = x.permute(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return contiguous(x.reshape(*lead, channels * r * r, h // r, w // r))


@public("torch.channel_shuffle F.channel_shuffle")
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of several groups, one of each in turn (arXiv:1707.01083)."""
    if input.ndim < 3 or groups <= 0 or input.shape[1] % groups:
        raise ShapeError(
            "channel_shuffle", "input", was=f"{tuple(input.shape)}, {groups} groups",
            needed="at least 3 dims, and channels that the groups divide",
        )  # fmt: skip
    n, channels, *rest = input.shape
    x = input.reshape(n, groups, channels // groups, *rest)
    return contiguous(x.transpose(1, 2).reshape(n, channels, *rest))


def _put(name: str) -> Any:
    """A method that writes, as torch has it as a function too."""
    method = getattr(Tensor, name)

    def write(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        y: Tensor = method(input, *args, **kwargs)
        return y

    taken = inspect.signature(method)
    first, *others = taken.parameters.values()
    named = [first.replace(name="input", annotation=Tensor), *others]
    vars(write)["__signature__"] = taken.replace(parameters=named)
    write.__doc__ = f"`Tensor.{name}` as a function."
    return public(f"torch.{name}")(write)


for _name in ("fill_", "zero_", "detach_", "resize_as_", "as_strided_"):
    _put(_name)
