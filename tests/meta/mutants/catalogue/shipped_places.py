"""Faults of the kind that accelerators have shipped: lengths, tiles, lanes, layouts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_products import drawn
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import Fault, Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

from dovetail.conformance.subject import Subject

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


# ---- reductions


def _rows(a: Array, attrs: Attrs) -> tuple[Array, int] | None:
    """The array with the dim that is reduced last, and which one that is."""
    dim = attrs.get("dim")
    dim = dim[0] if isinstance(dim, tuple | list) and len(dim) == 1 else dim
    if not isinstance(dim, int) or not a.ndim or not a.size:
        return None
    return np.moveaxis(a, dim, -1), dim


def _without_rows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Rows of -inf alone give 0."""
    y = np.asarray(run(*natives, **attrs))
    a = natives[0]
    with np.errstate(all="ignore"):
        none = np.all(np.isneginf(a.astype(np.float64)), attrs["dim"], keepdims=True)
    return np.where(none, 0, y).astype(y.dtype)


def _minus_infinity(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The shift of rows of -inf is -inf as well."""
    a, y = natives[0], np.asarray(run(*natives, **attrs))
    if not inexact(a) or a.dtype.kind == "c" or not a.size:
        return y
    return np.where(np.isneginf(y.astype(np.float64)), np.nan, y).astype(y.dtype)


def _tail_of_lanes(lanes: int) -> Fault:
    """A NaN behind the last full group of lanes is not seen."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        a, found = natives[0], _rows(natives[0], attrs)
        if found is None or not inexact(a) or a.dtype.kind == "c":
            return run(*natives, **attrs)
        rows, dim = found
        tail = rows.shape[-1] // lanes * lanes
        if not tail:
            return run(*natives, **attrs)
        seen = np.array(rows)
        part = seen[..., tail:]
        part[np.isnan(part)] = -np.inf
        return run(np.ascontiguousarray(np.moveaxis(seen, -1, dim)), **attrs)

    return fault


def _nan_elsewhere(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """NaN counts in the first place alone."""
    a, found = natives[0], _rows(natives[0], attrs)
    if found is None or not inexact(a):
        return run(*natives, **attrs)
    rows, dim = found
    seen = np.array(rows)
    seen[..., 1:][np.isnan(seen[..., 1:])] = -np.inf
    return run(np.ascontiguousarray(np.moveaxis(seen, -1, dim)), **attrs)


def _two_moments(y: Array, a: Array, **attrs: Any) -> Array:
    """Of long rows, E[x²] - E[x]²."""
    found = _rows(a, attrs)
    if found is None or a.dtype != F32 or found[0].shape[-1] <= 64 or not y.size:
        return y
    rows = found[0]
    n = rows.shape[-1]
    mean = np.mean(rows, -1)
    with np.errstate(all="ignore"):
        moment = (np.mean(rows * rows, -1) - mean * mean) * F32(n)
        return np.asarray(moment / F32(max(n - attrs["correction"], 0))).reshape(
            y.shape
        )


def _in_turn(y: Array, a: Array, **attrs: Any) -> Array:
    """Long sums are added one by one."""
    found = _rows(a, attrs)
    if found is None or a.dtype != F32 or y.dtype != F32 or found[0].shape[-1] < 4096:
        return y
    with np.errstate(all="ignore"):
        return np.cumsum(found[0], -1, dtype=F32)[..., -1].reshape(y.shape)


def _carry_of_columns(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Beyond 64, sums down the columns start anew."""
    a, dim = natives[0], attrs["dim"]
    y = np.array(run(*natives, **attrs))
    if a.ndim < 2 or dim in (-1, a.ndim - 1) or a.shape[dim] <= 64:
        return y
    rest = run(np.take(a, range(64, a.shape[dim]), dim), **attrs)
    at: list[Any] = [slice(None)] * y.ndim
    at[dim] = slice(64, None)
    y[tuple(at)] = rest
    return y


def _later_block(y: Array, a: Array, **attrs: Any) -> Array:
    """Of equal extremes in two blocks of 64 the later one is given."""
    found = _rows(a, attrs)
    if found is None or found[0].shape[-1] <= 64 or (inexact(a) and np.isnan(a).any()):
        return y
    rows = found[0]
    flat = np.asarray(y).reshape(rows.shape[:-1])
    best = np.take_along_axis(rows, flat[..., None], -1)
    same = rows == best
    last = rows.shape[-1] - 1 - np.argmax(same[..., ::-1], -1)
    block = last // 64 * 64
    within = np.argmax(same & (np.arange(rows.shape[-1]) >= block[..., None]), -1)
    return within.reshape(np.shape(y)).astype(np.asarray(y).dtype)


# ---- places


def _in_floats(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Indices go through float32."""
    moved = [
        a.astype(F32).astype(a.dtype)
        if isinstance(a, np.ndarray) and a.dtype.kind == "i" and i
        else a
        for i, a in enumerate(natives)
    ]
    return run(*moved, **attrs)


def _far(subject: Subject) -> Any:
    long = np.zeros((1 << 24) + 8, np.int8)
    long[(1 << 24) + 1] = 7
    at = subject.tensor(np.array([(1 << 24) + 1]))
    return subject.values(subject.tensor(long).index_select(0, at))


def _lost_in_a_warp(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of three equal places side by side the middle one is not added."""
    a, index, src = natives
    if index.ndim != 1 or index.size < 3:
        return run(*natives, **attrs)
    lost = np.zeros(index.shape, bool)
    lost[1:-1] = (index[:-2] == index[1:-1]) & (index[1:-1] == index[2:])
    cut = np.where(lost, 0, src[: index.size]).astype(src.dtype)
    return run(a, index, cut, **attrs)


def _four_dims(a: Any) -> Any:
    """Of more than four dims the first ones are taken to be dense."""
    if not isinstance(a, np.ndarray) or a.ndim <= 4 or a.flags.c_contiguous:
        return a
    return np.ascontiguousarray(a)[::-1] if a.shape[0] > 1 else a


def _pitch(a: Any) -> Any:
    """The pitch of rows is their length."""
    if not isinstance(a, np.ndarray) or a.ndim != 2 or not a.size:
        return a
    inner, outer = a.strides[1], a.strides[0]
    if inner != a.itemsize or outer <= inner * a.shape[1] or a.shape[0] < 2:
        return a
    return np.lib.stride_tricks.as_strided(a, a.shape, (inner * a.shape[1], inner))


def _last_broadcast(a: Any) -> Any:
    """A broadcast last dim is read as dense."""
    if not isinstance(a, np.ndarray) or a.ndim < 2 or a.shape[-1] < 2 or a.strides[-1]:
        return a
    return np.roll(np.array(a), 1, 0)


def _inputs(change: Any) -> Fault:
    return lambda run, natives, attrs: run(*[change(a) for a in natives], **attrs)


def _padded(subject: Subject) -> Any:
    whole = subject.tensor(np.arange(12, dtype=F32).reshape(3, 4))
    return [subject.values(whole[:, :3].exp()), subject.values(whole[:, :3] + 1)]


def _six(subject: Subject) -> Any:
    whole = subject.tensor(np.arange(64, dtype=F32).reshape((2,) * 6))
    return subject.values(whole.permute(5, 4, 3, 2, 1, 0).sqrt())


def _wide(subject: Subject) -> Any:
    column = subject.tensor(np.arange(3, dtype=F32).reshape(3, 1))
    return subject.values(column.expand(3, 4).square())


def _one_group(y: Array, *natives: Any, **attrs: Any) -> Array:
    """The last of the groups is that before it, where there is padding."""
    groups, padding = attrs["groups"], attrs["padding"]
    if groups < 2 or not any(padding) or y.ndim < 3 or y.shape[1] % groups:
        return y
    y, each = np.array(y), y.shape[1] // groups
    y[:, -each:] = y[:, -2 * each : -each]
    return y


def _no_padding(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Stride and dilation above 1 together: the edge is taken for 0."""
    y = np.array(run(*natives, **attrs))
    if max(attrs["stride"]) > 1 and max(attrs["dilation"]) > 1 and y.size:
        y[..., -1] = 0
    return y


def _padded_with_zeros(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Windows that reach over the edge have a 0 in them."""
    found = run(*natives, **attrs)
    y = np.array(found[0] if isinstance(found, tuple) else found)
    if any(attrs["padding"]) and y.size and y.dtype.kind == "f":
        y[..., 0] = np.maximum(y[..., 0], 0)
    return (y, *found[1:]) if isinstance(found, tuple) else y


_ONES: Final = np.ones((2, 5000), F32) / F32(3)
_FAR: Final = (drawn(4, 100) + F32(1000)).astype(F32)

SHIPPED_PLACES: Final[list[Mutant]] = [
    kernel("shipped/softmax-of-nothing", "softmax", "rows of -inf", _without_rows,
           observe=sees("softmax", row(-np.inf, -np.inf), 0)),
    kernel("shipped/logsumexp-of-nothing", "logsumexp", "rows of -inf",
           _minus_infinity, observe=sees("logsumexp", row(-np.inf, -np.inf), (0,))),
    kernel("shipped/extreme-loses-tail", "amax", "a NaN behind groups of 32",
           _tail_of_lanes(32), observe=sees("amax", np.append(
               np.zeros(32, F32), F32(np.nan)), (0,))),
    kernel("shipped/argmax-nan-first", "argmax", "a NaN in another place",
           _nan_elsewhere, observe=sees("argmax", row(1, np.nan, 2), 0)),
    kernel("shipped/var-of-long-rows", "var std", "two moments", after(_two_moments),
           observe=sees("var", _FAR, (1,), 1)),
    kernel("shipped/sum-in-turn", "sum", "long rows", after(_in_turn), laws=("vast",),
           observe=sees("sum", np.ones((1, 1 << 25), F32), (1,))),
    kernel("shipped/cumsum-of-columns", "cumsum", "blocks of 64", _carry_of_columns,
           observe=sees("cumsum", np.ones((70, 2), F32), 0)),
    kernel("shipped/argmax-later-block", "argmax argmin", "ties in two blocks",
           after(_later_block), observe=sees("argmax", np.ones((1, 130), F32), 1)),
    kernel("shipped/index-in-floats", "index_select gather take_along embedding",
           "beyond 2^24", _in_floats, observe=_far, laws=("vast",)),
    kernel("shipped/scatter-add-in-a-warp", "scatter_add", "three in a row",
           _lost_in_a_warp, observe=sees("scatter_add", np.zeros(2, F32), 0,
               np.array([1, 1, 1]), row(1, 2, 3))),
    kernel("shipped/six-dims", "sqrt exp neg", "strided, of more than four dims",
           _inputs(_four_dims), observe=_six),
    kernel("shipped/pitch", "exp add", "padded rows", _inputs(_pitch), observe=_padded),
    kernel("shipped/last-broadcast", "square mul", "a stride of 0 at last",
           _inputs(_last_broadcast), observe=_wide),
    kernel("shipped/groups-with-padding", "convolution", "the last group",
           after(_one_group), observe=sees("convolution", drawn(1, 4, 5),
               drawn(4, 2, 3), None, (1,), (1,), (1,), 2)),
    kernel("shipped/stride-with-dilation", "convolution", "the last window",
           _no_padding, observe=sees("convolution", drawn(1, 2, 12),
               drawn(2, 2, 3), None, (2,), (0,), (2,), 1)),
    kernel("shipped/pool-pads-zeros", "max_pool max_pool_slots", "not with -inf",
           _padded_with_zeros, observe=sees("max_pool", -1 - np.abs(drawn(1, 1, 6)),
               (3,), (2,), (1,), (1,), False)),
]  # fmt: skip
