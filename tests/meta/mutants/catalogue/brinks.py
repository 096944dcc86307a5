"""Faults on brinks: next to a number, at the last of a size, behind a first block.

Each takes a number beside another one, an option that is as large as what it is about,
a long stretch of one number, or a rest in each dim at once.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import bits, row, sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
_BLOCK: Final = 64
_WARP: Final = 32
_COUNTER: Final = 1 << 16
_TILE: Final = 16


def _as_doubles(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    if any(a.dtype != np.int64 for a in natives):
        return run(*natives, **attrs)
    a, b = (np.asarray(x).astype(np.float64) for x in natives)
    return a > b


def _near_enough(y: Array, x: Array, **attrs: Any) -> Array:
    """What is a few ulp above a whole number is that number."""
    if x.dtype not in (np.float32, np.float64):
        return y
    with np.errstate(all="ignore"):
        near = np.round(x)
        just = np.abs(x - near) <= 2 * np.finfo(x.dtype).eps * np.abs(near)
    return np.where(just, near, y).astype(y.dtype)


def _by_no_bits(y: Array, a: Array, count: Array, **attrs: Any) -> Array:
    """The count is taken modulo the width of a word."""
    width = 8 * y.dtype.itemsize
    return np.where(np.asarray(count) == width, a, y).astype(y.dtype)


def _blocks_of(a: Array, dim: int) -> Array:
    return np.moveaxis(a, dim, -1)


def _nothing_yet(y: Array, a: Array, dim: int) -> Array:
    """A first block of -inf alone has -inf to be taken off, and the rest meets it."""
    if a.dtype.kind != "f" or not a.ndim or a.shape[dim] <= _BLOCK:
        return y
    made = np.array(y)
    first = np.isneginf(_blocks_of(a, dim)[..., :_BLOCK]).all(-1)
    _blocks_of(made, dim)[first] = np.nan
    return made


def _last_of_nans(y: Any, a: Array, dim: int, keepdim: bool) -> Any:
    """Lanes are merged from the last to the first, and each NaN replaces another."""
    values, places = y
    if a.dtype.kind != "f" or not a.ndim or a.shape[dim] <= _WARP:
        return y
    nans = np.isnan(_blocks_of(a, dim))
    last = a.shape[dim] - 1 - np.argmax(nans[..., ::-1], -1)
    made = np.where(nans.any(-1), last, np.asarray(places).reshape(last.shape))
    return values, made.astype(np.asarray(places).dtype).reshape(np.shape(places))


def _later_block(y: Array, a: Array, dim: Any, keepdim: bool) -> Array:
    """Of the least in two blocks that of the later one is told."""
    line = a.reshape(-1) if dim is None else _blocks_of(a, dim) if a.ndim else a
    if a.dtype.kind not in "fiu" or not a.size or line.shape[-1] <= _BLOCK:
        return y
    least = line == line.min(-1, keepdims=True)
    last = line.shape[-1] - 1 - np.argmax(least[..., ::-1], -1)
    places = np.arange(line.shape[-1]) >= (last // _BLOCK * _BLOCK)[..., None]
    made = np.where(least.any(-1), np.argmax(least & places, -1), y.reshape(last.shape))
    return made.astype(y.dtype).reshape(y.shape)


def _all_but_one(y: Array, x: Array, kernel_size: Any, **attrs: Any) -> Array:
    """A window as wide as the row has one tap less."""
    width = x.shape[-1]
    if kernel_size[-1] != width or width < 3 or attrs["padding"][-1] or not y.size:
        return y
    made = np.array(y)
    made[..., 0] = (made[..., 0] * (width - 1) / width).astype(y.dtype)
    return made


def _without_the_last(y: Any, a: Array, k: int, dim: int, **attrs: Any) -> Any:
    """As many as there are: the last of them is the one before."""
    values, places = y
    if not a.ndim or k != a.shape[dim] or k < 3:
        return y
    made = np.array(values), np.array(places)
    for part in made:
        _blocks_of(part, dim)[..., -1] = _blocks_of(part, dim)[..., -2]
    return made


def _widest_mirror(y: Array, x: Array, padding: Any, mode: str) -> Array:
    """A margin as wide as it may be begins with the element beside."""
    if mode != "reflect" or padding[-2] != x.shape[-1] - 1 or padding[-2] < 2:
        return y
    made = np.array(y)
    made[..., 0] = made[..., 1]
    return made


def _counted_in_rests(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Rows beyond whole warps know the usual class to ignore, and no other."""
    target = natives[1]
    y, usual = run(*natives, **attrs), attrs | {"ignore_index": -100}
    whole = target.size // _WARP * _WARP
    if attrs["reduction"] != "none" or not whole or attrs["ignore_index"] < 0:
        return y
    try:
        other = run(*natives, **usual)
    except Exception:  # what was ignored is no class
        return y
    made = np.array(y)
    made.reshape(-1)[whole:] = np.asarray(other).reshape(-1)[whole:]
    return made


def _mean_of_the_hidden(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of whole tiles of keys that a mask hides all, the mean is taken."""
    y, (_, keys, values, mask) = run(*natives, **attrs), natives[:4]
    if mask is None or keys.shape[-2] % _TILE or attrs["causal"] or not mask.size:
        return y
    seen = mask if mask.dtype == bool else ~np.isneginf(mask)
    hidden = ~seen.any(-1, keepdims=True)
    first = y[0] if isinstance(y, tuple) else y
    mean = values.mean(-2, keepdims=True)
    made = np.where(hidden, mean, first).astype(first.dtype)
    return (made, *y[1:]) if isinstance(y, tuple) else made


def _short_counter(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Blocks are counted in 16 bits: what lies behind comes again."""
    made = np.array(y).reshape(-1)
    rest = made.size - _COUNTER
    if rest > 0:
        made[_COUNTER:] = np.resize(made[:_COUNTER], rest)
    return made.reshape(np.shape(y))


def _divided_by_nothing(y: Array, a: Array, **attrs: Any) -> Array:
    """What has a row of zeros is divided by a pivot of 0."""
    empty = (a == 0).all(-1).any(-1) & (a.shape[-1] > 1)
    return np.where(empty, np.nan, y).astype(y.dtype)


_FAR: Final = np.concatenate([np.full(_BLOCK, -np.inf), np.ones(3)])
_NANS: Final = np.where(np.arange(40) % 7 == 3, np.nan, 1.0)
_WIDE: Final = np.arange(8.0).reshape(1, 1, 2, 4)
_MANY: Final = np.arange(33.0 * 3).reshape(33, 3)
_KEYS: Final = np.arange(2.0 * _TILE).reshape(_TILE, 2)


def _drawn(subject: Subject) -> Any:
    dt.manual_seed(1)
    made = dt.bernoulli(dt.full((_COUNTER + 99,), 0.5, device=subject.device))
    return bits(subject.values(made))


def _pooled(subject: Subject) -> Any:
    x = subject.tensor(_WIDE)
    y = vocabulary["avg_pool"].function(x, (1, 4), (1, 1), (0, 0), False, True, None)
    return bits(subject.values(y))


BRINKS: Final[list[Mutant]] = [
    kernel("brinks/doubles", "gt", "integers are compared as doubles", _as_doubles,
           observe=sees("gt", np.array([(1 << 60) + 1]), np.array([1 << 60]))),
    kernel("brinks/near-enough", "ceil", "just above a whole number is that number",
           after(_near_enough),
           observe=sees("ceil", np.nextafter(row(2), row(3)))),
    kernel("brinks/by-no-bits", "bitwise_left_shift", "by all bits is by none",
           after(_by_no_bits),
           observe=sees("bitwise_left_shift", np.array([3]), np.array([64]))),
    kernel("brinks/nothing-yet", "softmax log_softmax", "a first block of -inf alone",
           after(_nothing_yet), observe=sees("softmax", _FAR, dim=0)),
    kernel("brinks/last-of-nans", "max_along", "of several in a long row",
           after(_last_of_nans), observe=sees("max_along", _NANS, 0, False)),
    kernel("brinks/later-block", "argmin", "of two with the least",
           after(_later_block), observe=sees("argmin", np.zeros(2 * _BLOCK), 0, False)),
    kernel("brinks/all-but-one", "avg_pool", "a window as wide as the row",
           after(_all_but_one), observe=_pooled),
    kernel("brinks/without-the-last", "topk", "as many as there are",
           after(_without_the_last), observe=sees("topk", row(3, 1, 2), 3, 0)),
    kernel("brinks/widest-mirror", "margin_pad", "begins with what is beside",
           after(_widest_mirror),
           observe=sees("margin_pad", row(1, 2, 3), (2, 0), "reflect")),
    kernel("brinks/counted-in-rests", "nll_loss", "rows behind whole warps",
           _counted_in_rests,
           observe=sees("nll_loss", _MANY, np.full(33, 2), None, 2, "none")),
    kernel("brinks/mean-of-the-hidden", "attention mixture", "keys of whole tiles",
           _mean_of_the_hidden,
           observe=sees("attention", _KEYS, _KEYS, _KEYS,
                        np.full((_TILE, _TILE), -np.inf), False, 1.0)),
    kernel("brinks/short-counter", "random_mask random_trials uniform",
           "what is drawn comes again", after(_short_counter), observe=_drawn),
    kernel("brinks/divided-by-nothing", "determinant", "of a row of zeros",
           after(_divided_by_nothing), observe=sees("determinant", np.zeros((2, 2)))),
]  # fmt: skip
