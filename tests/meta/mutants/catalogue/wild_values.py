"""More faults from bug reports, of other ops: numbers, orders, random draws.

Each has been reported in public, of one library or another, as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, bits, row, sees, where
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _sum_of_one(x: Array) -> Array:
    """The logarithm of the rounded sum."""
    return np.log((1 + x).astype(x.dtype))


def _half_added(x: Array) -> Array:
    """The floor of the number and a half."""
    return np.floor((x + x.dtype.type(0.5)).astype(x.dtype))


def _far(x: Array) -> Array:
    return np.abs(x) > 44


def _both_infinite(a: Array, b: Array) -> Array:
    return np.isinf(a) & (a == b)


def _least_wins(y: Array, a: Array, *bounds: Any, **attrs: Any) -> Array:
    """Where the bounds cross, the lower one holds."""
    given = [*bounds, None, None]
    low, high = (attrs.get(n, g) for n, g in zip(("min", "max"), given, strict=False))
    if low is None or high is None:
        return y
    return np.where(np.greater(low, high), low, y).astype(y.dtype)


def _quotient(y: Array, a: Array, b: Array) -> Array:
    """The floor of the rounded quotient."""
    if a.dtype not in (np.float32, np.float64):
        return y
    with np.errstate(all="ignore"):
        made = np.floor(a / b)
        return np.where(np.isfinite(made), made, y).astype(y.dtype)


def _cut_words(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Integers beyond 2^24 lose their low bits instead of being rounded."""
    a, y = natives[0], run(*natives, **attrs)
    if a.dtype != np.int64 or y.dtype != F32:
        return y
    words = np.abs(np.clip(a, -(1 << 53), 1 << 53)).astype(np.float64)
    cut = (words.view(np.int64) & ~((1 << 29) - 1)).view(np.float64)
    return np.where(np.abs(a) < 1 << 53, np.copysign(cut, a), y).astype(F32)


def _towards_zero(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The upper half of the word is what is kept."""
    a, y = natives[0], np.asarray(run(*natives, **attrs))
    if a.dtype != F32 or y.dtype.name != "bfloat16":
        return y
    upper = (np.ascontiguousarray(a).view(np.uint32) >> 16).astype(np.uint16)
    return np.where(np.isfinite(a), upper.view(y.dtype).reshape(a.shape), y)


def _rounded_twice(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Through float32."""
    a, y = natives[0], np.asarray(run(*natives, **attrs))
    if a.dtype != np.float64 or y.dtype != np.float16:
        return y
    with np.errstate(all="ignore"):
        return a.astype(F32).astype(np.float16)


def _counted_in_bytes(y: Array, a: Array, **attrs: Any) -> Array:
    """The number of what is true, modulo 256."""
    return (np.asarray(y) % 256).astype(y.dtype) if a.dtype == bool else y


def _signed(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Bytes have a sign."""
    a = natives[0]
    if a.dtype != np.uint8:
        return run(*natives, **attrs)
    y = run(a.view(np.int8), *natives[1:], **attrs)
    if isinstance(y, tuple | list):
        return (np.asarray(y[0]).view(np.uint8), *y[1:])
    return y


def _by_bits(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Equal are those that have the same bits, zeros of both signs not."""
    a = natives[0]
    if a.dtype != F32 or attrs["consecutive"] or not np.signbit(a[a == 0]).any():
        return run(*natives, **attrs)
    tiny = np.nextafter(F32(0), F32(-1))
    if (a == tiny).any():
        return run(*natives, **attrs)
    values, *rest = run(np.where((a == 0) & np.signbit(a), tiny, a), **attrs)
    return (np.where(values == tiny, F32(-0.0), values), *rest)


def _forgets(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Numbers behind a NaN count again."""
    values, places = run(*natives, **attrs)
    a, values = natives[0], np.array(values)
    if not inexact(a) or a.dtype.kind == "c":
        return values, places
    lost = np.isnan(values) & ~np.isnan(a)
    return np.where(lost, a, values).astype(values.dtype), places


def _first_of_ties(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Equal numbers leave the place of the first."""
    values, places = run(*natives, **attrs)
    a = natives[0]
    if not a.ndim or (inexact(a) and np.isnan(a).any()):
        return values, places
    dim = attrs["dim"]
    rows, high = (np.moveaxis(np.asarray(x), dim, -1) for x in (a, values))
    same = rows[..., None, :] == high[..., :, None]
    return values, np.ascontiguousarray(np.moveaxis(same.argmax(-1), -1, dim)).astype(
        np.asarray(places).dtype
    )


def _sixteen(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What comes after the first 16 is in no order."""
    values, places = run(*natives, **attrs)
    dim, k = attrs["dim"], attrs["k"]
    if not natives[0].ndim or k <= 17:
        return values, places
    order = np.r_[0:16, k - 1 : 15 : -1]
    return tuple(np.take(np.asarray(x), order, dim) for x in (values, places))


def _loses_nan(y: Array, a: Array, **attrs: Any) -> Array:
    """The greatest of what is a number."""
    if abs(attrs["p"]) != np.inf or a.dtype.kind == "c" or not np.isnan(a).any():
        return y
    fill = -np.inf if attrs["p"] > 0 else np.inf
    seen = np.where(np.isnan(a), fill, np.abs(a))
    dim = attrs["dim"]
    axis = tuple(dim) if isinstance(dim, tuple | list) else dim
    reduce = np.max if attrs["p"] > 0 else np.min
    return np.asarray(reduce(seen, axis, keepdims=attrs["keepdim"])).astype(y.dtype)


def _below_nothing(y: Array, a: Array, **attrs: Any) -> Array:
    """Divided by fewer than none."""
    y, dim = np.asarray(y), attrs["dim"]
    if a.dtype not in (np.float32, np.float64) or not a.size:
        return y
    axes = tuple(range(a.ndim)) if dim is None else np.atleast_1d(dim)
    n = int(np.prod([a.shape[d] for d in axes], dtype=int))
    if attrs["correction"] <= n:
        return y
    with np.errstate(all="ignore"):
        spread = np.var(a, tuple(axes), keepdims=attrs["keepdim"]) * n
        return (spread / (n - attrs["correction"])).astype(y.dtype)


def _true_stays(y: Array, a: Array) -> Array:
    """All bits of true are turned, and something is left."""
    return np.ones_like(y) if a.dtype == bool else y


def _negative(y: Array, a: Array, b: Array) -> Array:
    """Has the sign of the first."""
    return np.where(np.broadcast_to(a, y.shape) < 0, -y, y).astype(y.dtype)


def _among_floats(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """64-bit integers are compared as doubles."""
    moved = [a.astype(np.float64) if a.dtype == np.int64 else a for a in natives]
    return (
        run(*moved, **attrs) if natives[0].dtype == np.int64 else run(*natives, **attrs)
    )


def _one_word(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of ranges beyond 2^32, the low word is drawn alone."""
    y = np.asarray(run(*natives, **attrs))
    low, high = int(attrs["low"]), int(attrs["high"])
    if high - low <= 1 << 32:
        return y
    return (low + (y.astype(object) - low) % (1 << 32)).astype(y.dtype)


def _of_nothing(y: Array, *natives: Any, **attrs: Any) -> Array:
    """The mean of no sample is 0."""
    target = natives[1]
    counts = target != attrs["ignore_index"]
    if attrs["reduction"] != "mean" or counts.any() or target.dtype.kind == "f":
        return y
    return np.zeros_like(y)


def _by_count(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Divided by the number of samples, whatever they weigh."""
    target, weight = natives[1], natives[2] if len(natives) > 2 else None
    if attrs["reduction"] != "mean" or weight is None or target.dtype.kind == "f":
        return y
    counts = target != attrs["ignore_index"]
    with np.errstate(all="ignore"):
        total = weight[target[counts]].sum() if counts.any() else 0
        return (np.asarray(y) * total / max(int(counts.sum()), 1)).astype(y.dtype)


_WORDS: Final = np.array([(1 << 60) + 1])
_SCORES: Final = np.array([[0.5, 2.0], [1.0, -1.0]], F32)


def _uniques(subject: Any) -> Any:
    made = vocabulary["unique"].function(
        subject.tensor(row(0.0, -0.0, 1).reshape(3, 1)), False
    )
    return [bits(subject.values(x)) for x in made]


def _wide(subject: Any) -> Any:
    from tests.meta.mutants.catalogue.shipped_calls import _kind

    draw = vocabulary["random_integers"].function
    made = draw((64,), 0, 1 << 40, 1, 0, _kind(subject, "int64"))
    return subject.values(made)


WILD_VALUES: Final[list[Mutant]] = [
    kernel("wild/log1p-by-sum", "log1p", "of small numbers",
           where(lambda x: np.abs(x) < 1e-3, _sum_of_one),
           observe=sees("log1p", row(1e-5))),
    kernel("wild/round-adds-a-half", "round", "beyond 2^23",
           where(lambda x: np.abs(x) > 1 << 22, _half_added),
           observe=sees("round", row(8388609.0, 4194305.5))),
    kernel("wild/tanh-of-infinite-powers", "tanh", "NaN far out",
           where(_far, np.nan), observe=sees("tanh", row(90.0))),
    kernel("wild/atan2-of-zeros", "atan2", "has no sign",
           where(lambda a, b: (a == 0) & (b == 0), 0.0),
           observe=sees("atan2", row(0.0), row(-0.0))),
    kernel("wild/rest-by-infinity", "remainder fmod", "NaN",
           where(lambda a, b: np.isfinite(a) & np.isinf(b), np.nan),
           observe=sees("remainder", row(5.0), row(np.inf))),
    kernel("wild/sum-of-infinities", "logaddexp", "NaN",
           where(_both_infinite, np.nan),
           observe=sees("logaddexp", row(np.inf), row(np.inf))),
    kernel("wild/crossed-bounds", "clamp", "the lower one wins", after(_least_wins),
           observe=sees("clamp", row(0), row(2), row(1))),
    kernel("wild/floor-of-quotient", "floor_divide", "of floats", after(_quotient),
           observe=sees("floor_divide", row(1.0), row(0.1))),
    kernel("wild/cast-cuts-words", "cast", "int64 to float32", _cut_words,
           observe=lambda s: bits(s.values(
               s.tensor(np.array([(1 << 25) - 1])).float()))),
    kernel("wild/cast-keeps-upper-half", "cast", "float32 to bfloat16", _towards_zero,
           observe=lambda s: s.values(s.tensor(row(1.006)).bfloat16().float())),
    kernel("wild/cast-rounds-twice", "cast", "float64 to float16", _rounded_twice,
           observe=lambda s: bits(s.values(
               s.tensor(np.array([1 + 2.0**-11 + 2.0**-40])).half()))),
    kernel("wild/counts-in-bytes", "sum", "of bools", after(_counted_in_bytes),
           observe=sees("sum", np.ones(300, bool), (0,))),
    kernel("wild/bytes-have-signs", "argmax argmin amax amin sort", "of uint8", _signed,
           observe=sees("argmax", np.array([1, 200], np.uint8), 0)),
    kernel("wild/zeros-differ", "unique", "by their signs", _by_bits,
           observe=_uniques),
    kernel("wild/scan-forgets-nan", "cummax cummin", "behind it", _forgets,
           observe=sees("cummax", row(1, np.nan, 2), 0)),
    kernel("wild/scan-first-of-ties", "cummax cummin", "not the last", _first_of_ties,
           observe=sees("cummax", row(1, 1), 0)),
    kernel("wild/sixteen-in-order", "topk", "and no more", _sixteen,
           observe=sees("topk", np.arange(40, dtype=F32), 20, 0, True, True)),
    kernel("wild/norm-loses-nan", "vector_norm", "of infinite order", after(_loses_nan),
           observe=sees("vector_norm", row(1, np.nan), np.inf, (0,))),
    kernel("wild/variance-below-nothing", "var", "more is taken off than there is",
           after(_below_nothing), observe=sees("var", row(1, 2), (0,), 4)),
    kernel("wild/not-of-true", "bitwise_not", "true", after(_true_stays),
           observe=sees("bitwise_not", np.array([True]))),
    kernel("wild/divisor-with-a-sign", "gcd", "of negative numbers", after(_negative),
           observe=sees("gcd", np.array([-4]), np.array([6]))),
    kernel("wild/found-among-doubles", "isin", "64-bit integers", _among_floats,
           observe=sees("isin", _WORDS, _WORDS - 1)),
    kernel("wild/range-of-one-word", "random_integers", "beyond 2^32", _one_word,
           observe=_wide),
    kernel("wild/mean-of-nothing", "cross_entropy", "0", after(_of_nothing),
           observe=sees("cross_entropy", _SCORES, np.array([-100, -100]), None, -100,
               "mean")),
    kernel("wild/mean-by-count", "cross_entropy", "of weighted samples",
           after(_by_count), observe=sees("cross_entropy", _SCORES, np.array([0, 1]),
               row(1, 3), -100, "mean")),
]  # fmt: skip
