"""Faults in calls that few programs make: options at their ends, odd shapes."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
_WARP: Final = 32


def _untouched_mean(
    y: Array, a: Array, index: Array, src: Array, **attrs: Any
) -> Array:
    """Where nothing is scattered to, a mean without what was there is 0."""
    if attrs["include_self"] or attrs["reduce"] != "mean" or not y.size:
        return y
    seen = np.zeros(a.shape, bool)
    np.put_along_axis(seen, index, True, attrs["dim"]) if seen.ndim else None
    return np.where(seen, y, 0).astype(y.dtype)


def _partial_windows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Windows beyond the end are divided by their own count, whatever is asked for."""
    y = run(*natives, **attrs)
    other = run(*natives, **{**attrs, "divisor_override": None})
    if attrs["divisor_override"] is None or not attrs["ceil_mode"] or not y.size:
        return y
    made = np.array(y)
    made[..., -1] = other[..., -1]
    return made


def _extra_row(y: Array, dy: Array, w: Array, **attrs: Any) -> Array:
    """Rows that no window reaches are not what padding made them."""
    size, stride = attrs["size"][-1], attrs["stride"][-1]
    whole = (dy.shape[-1] - 1) * stride - 2 * attrs["padding"][-1]
    whole += attrs["dilation"][-1] * (w.shape[-1] - 1) + 1
    if size <= whole or not y.size or not inexact(y):
        return y
    made = np.array(y)
    made[..., -1] = np.nan
    return made


def _no_norm_of_zeros(y: Array, a: Array, **attrs: Any) -> Array:
    """Norms below 0 pass over zeros."""
    p = attrs["p"]
    if not p < 0 or math.isinf(p) or not y.size or not inexact(a):
        return y
    return np.where((y == 0) & np.any(a != 0), np.ones_like(y), y)


def _whole_rows(y: Any, a: Array, **attrs: Any) -> Any:
    """Of all elements of a row, the last two are not put in order."""
    values, indices = (np.array(x) for x in y)
    if a.ndim and attrs["k"] == a.shape[attrs["dim"]] > 2 and a.shape[-1] % 4:
        for x in (values, indices):
            moved = np.moveaxis(x, attrs["dim"], -1)
            moved[..., [-2, -1]] = moved[..., [-1, -2]]
    return values, indices


def _unstable(y: Any, a: Array, **attrs: Any) -> Any:
    """Behind a warp's worth, descending ties come from the end."""
    values, indices = (np.array(x) for x in y)
    dim = attrs["dim"]
    if not a.ndim or a.shape[dim] <= _WARP or not attrs["descending"]:
        return values, indices
    v, i = (np.moveaxis(x, dim, -1) for x in (values, indices))
    same = v[..., _WARP:-1] == v[..., _WARP + 1 :]
    first, second = i[..., _WARP:-1].copy(), i[..., _WARP + 1 :].copy()
    i[..., _WARP + 1 :] = np.where(same, first, second)
    i[..., _WARP:-1] = np.where(same, second, first)
    return values, indices


def _more_dims(y: Array, a: Array, **attrs: Any) -> Array:
    """In front of the dims there are, what is repeated is 0."""
    extra = len(attrs["repeats"]) - a.ndim
    if extra < 1 or attrs["repeats"][0] < 2 or not y.size:
        return y
    made = np.array(y)
    made[-1] = 0
    return made


def _far_diagonals(y: Array, a: Array, **attrs: Any) -> Array:
    """A diagonal beyond the matrix is the last there is."""
    rows, columns = a.shape[-2:]
    d = attrs["diagonal"]
    if -rows < d < columns or not y.size:
        return y
    return np.tril(a, columns - 2) if d >= columns else np.tril(a, 1 - rows)


def _by_rows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Each row takes its values from the first on."""
    a, mask, source = natives
    if a.ndim != 2 or a.shape[0] < 2 or not a.size:
        return run(*natives, **attrs)
    where = np.broadcast_to(mask, a.shape)
    made, flat = np.array(a), source.reshape(-1)
    for row, chosen in zip(made, where, strict=True):
        row[chosen] = flat[: int(chosen.sum())]
    return made


def _end_of_the_way(y: Array, a: Array, b: Array, *rest: Any, **attrs: Any) -> Array:
    """At a weight of 1 it is the start and the difference."""
    weight = rest[0] if rest else attrs.get("weight")
    if not inexact(a):
        return y
    with np.errstate(all="ignore"):
        by_sum = (a + (b - a)).astype(y.dtype)
    return np.where(np.asarray(weight) == 1, by_sum, y).astype(y.dtype)


def _two_apart(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of two dims with another between them, the first is reduced alone."""
    a, dim = natives[0], attrs["dim"]
    if not isinstance(dim, tuple) or len(dim) != 2:
        return run(*natives, **attrs)
    low, high = sorted(d % a.ndim for d in dim)
    if high - low < 2 or not a.size:
        return run(*natives, **attrs)
    return run(a.take([0], axis=high), *natives[1:], **attrs)


def _ignored_class(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Classes that are ignored, of those there are, still weigh in means."""
    target = natives[1]
    k = attrs["ignore_index"]
    if attrs["reduction"] != "mean" or k < 0 or not np.any(target == k):
        return y
    return (y * np.asarray(np.mean(target != k), y.dtype)).astype(y.dtype)


def _upper_left(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """With fewer queries than keys, the last query sees the last key."""
    q, k, v, mask = natives[:4]
    if not attrs["causal"] or q.shape[-2] >= k.shape[-2] or not q.size:
        return run(*natives, **attrs)
    more = k.shape[-2] - q.shape[-2]
    hidden = ~np.tri(q.shape[-2], k.shape[-2], more, dtype=bool)
    bias = np.where(hidden, -np.inf, 0).astype(q.dtype)
    bias = bias if mask is None else mask + bias
    return run(q, k, v, bias, **{**attrs, "causal": False})


def _odd_length(y: Array, a: Array, **attrs: Any) -> Array:
    """Of an odd length, the highest frequency is real."""
    if not y.size or a.shape[attrs["dim"]] % 2 == 0:
        return y
    made = np.array(y)
    moved = np.moveaxis(made, attrs["dim"], -1)
    moved[..., -1] = moved[..., -1].real
    return made


def _last_window(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where windows overlap, each element hears of one of them."""
    y = np.array(run(*natives, **attrs))
    kernel_, step = attrs["kernel_size"][-1], attrs["stride"][-1]
    if kernel_ <= step or not y.size or y.dtype.kind != "f":
        return y
    most = np.abs(natives[0]).max(initial=0)
    return np.clip(y, -most, most).astype(y.dtype)


def _narrow_index(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Indices of 32 bits are read two at a time."""
    a, index, *rest = natives
    if index.dtype != np.int32 or index.ndim < 1 or index.shape[-1] < 2:
        return run(*natives, **attrs)
    index = np.array(index)
    index[..., 1::2] = index[..., : index.shape[-1] // 2 * 2 : 2]
    return run(a, index, *rest, **attrs)


def _against_the_slope(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Upwards, what decays grows."""
    if attrs.get("maximize") and attrs.get("weight_decay"):
        attrs = {**attrs, "weight_decay": -attrs["weight_decay"]}
    return run(*natives, **attrs)


def _sum_from_nothing(y: Array, a: Array, **attrs: Any) -> Array:
    """A scan that begins with nothing is NaN until something comes."""
    if not a.ndim or not y.size or not inexact(y) or y.dtype.kind == "c":
        return y
    first = np.take(a, [0], axis=attrs["dim"])
    return np.where(np.isneginf(first) & np.isneginf(y), np.nan, y).astype(y.dtype)


def _rows_of_groups(y: Array, x: Array, w: Array, *rest: Any, **attrs: Any) -> Array:
    """Kernels of one element in groups, of one image: the last group is the first."""
    groups = attrs["groups"]
    if groups < 2 or {*w.shape[2:]} != {1} or x.shape[0] != 1 or not y.size:
        return y
    made = np.array(y)
    each = made.shape[1] // groups
    made[:, -each:] = made[:, :each]
    return made


def _bounded_from_above(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Without a lower bound, the upper one is that of the first element."""
    a, low, high = (*natives, None, None)[:3]
    if low is None and isinstance(high, np.ndarray) and high.size > 1 and a.size:
        high = np.full_like(high, high.reshape(-1)[0])
        return run(a, low, high, **attrs)
    return run(*natives, **attrs)


def _padding_from_the_end(y: Array, w: Array, indices: Array, **attrs: Any) -> Array:
    """The row that takes no gradient gives none either."""
    k = attrs["padding_idx"]
    if k is None or k < 0 or not y.size:
        return y
    return np.where((indices == k)[..., None], 0, y).astype(y.dtype)


ODD_CALLS: Final[list[Mutant]] = [
    kernel("odd/untouched-mean", "scatter_reduce", "is 0", after(_untouched_mean)),
    kernel("odd/partial-windows", "avg_pool", "have a count of their own",
           _partial_windows),
    kernel("odd/rows-beyond", "convolution_transpose", "of what windows reach",
           after(_extra_row)),
    kernel("odd/norms-below", "vector_norm", "0 pass over zeros",
           after(_no_norm_of_zeros)),
    kernel("odd/all-of-a-row", "topk", "but the last two in order", after(_whole_rows)),
    kernel("odd/behind-a-warp", "sort", "descending ties turn", after(_unstable)),
    kernel("odd/more-dims", "repeat", "than there are", after(_more_dims)),
    kernel("odd/far-diagonals", "tril", "are the last", after(_far_diagonals)),
    kernel("odd/from-the-first", "masked_scatter", "in each row", _by_rows),
    kernel("odd/end-of-the-way", "lerp", "is not the end", after(_end_of_the_way)),
    kernel("odd/dims-apart", "var std mean", "with another between them", _two_apart),
    kernel("odd/ignored-class", "nll_loss cross_entropy", "weighs",
           after(lambda y, *n, **a: (
               (_ignored_class(y[0], *n, **a), *y[1:]) if isinstance(y, tuple)
               else _ignored_class(y, *n, **a)))),
    kernel("odd/lower-right", "mixture", "where queries are few", _upper_left),
    kernel("odd/odd-length", "fft_real", "ends in a real number", after(_odd_length)),
    kernel("odd/one-window", "max_pool_backward", "where they overlap", _last_window),
    kernel("odd/narrow-index", "gather index_select take_along", "two at a time",
           _narrow_index),
    kernel("odd/grows-upwards", "sgd_step_ adam_step_", "by what decays",
           _against_the_slope),
    kernel("odd/from-nothing", "logcumsumexp", "until something comes",
           after(_sum_from_nothing)),
    kernel("odd/one-image", "convolution", "in groups of single elements",
           after(_rows_of_groups)),
    kernel("odd/upper-bound", "clamp", "of the first element", _bounded_from_above,
           observe=sees("clamp", np.arange(3.0), None, np.array([2.0, 1.0, 0.0]))),
    kernel("odd/row-without-gradient", "embedding", "is 0",
           after(_padding_from_the_end),
           observe=sees("embedding", np.ones((3, 2)), np.array([0, 1]), 1)),
]  # fmt: skip
