"""Faults of options, shapes and places that programs seldom combine.

Each is of a kind that has been reported of some library as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import Mutant, Run, kernel
from tests.meta.mutants.operators import inexact

from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _random(*shape: int) -> Array:
    return np.random.default_rng(9).standard_normal(shape).astype(F32)


def _downwards(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The kept maximum counts only on the way down."""
    if natives[4] is None or not attrs["maximize"]:
        return run(*natives, **attrs)
    return run(*natives, **{**attrs, "maximize": False})


def _looks_ahead_down(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Nesterov's momentum goes down, whichever way was asked for."""
    if attrs["nesterov"]:
        attrs = {**attrs, "maximize": False}
    return run(*natives, **attrs)


def _until_an_empty_one(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What follows an empty parameter makes no step."""
    sizes = [p.size for p in natives[0]]
    if 0 not in sizes:
        return run(*natives, **attrs)
    count = sizes.index(0)
    return run(*[many[:count] for many in natives], **attrs)


def _overhang(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Windows that hang over have no gradient."""
    dy = natives[0]
    if not attrs["ceil_mode"] or not dy.size or max(attrs["padding"]) == 0:
        return run(*natives, **attrs)
    dy = np.array(dy)
    dy[..., -1] = 0
    return run(dy, *natives[1:], **attrs)


def _own_divisor(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A divisor is forgotten where padding does not count."""
    if not attrs["count_include_pad"]:
        attrs = {**attrs, "divisor_override": None}
    return run(*natives, **attrs)


def _whole_blocks(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Rows beyond the last whole block of 32 add nothing."""
    ct = natives[0]
    rows = ct.shape[0] if ct.ndim else 0
    if rows < 256 or rows % 32 == 0:
        return run(*natives, **attrs)
    ct = np.array(ct)
    ct[rows - rows % 32 :] = 0
    return run(ct, *natives[1:], **attrs)


def _passes_by(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A softmax of one passes its gradient on."""
    ct = natives[0]
    if ct.ndim and ct.shape[attrs["dim"]] == 1:
        return np.array(ct)
    return run(*natives, **attrs)


def _ignored_weigh(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Weights of targets that are ignored are part of the mean."""
    y, target, weight = run(*natives, **attrs), natives[1], natives[-1]
    if attrs["reduction"] != "mean" or weight is None or weight.ndim != 1:
        return y
    classes = np.asarray(weight).shape[0]
    inside = (target >= 0) & (target < classes)
    counted = inside & (target != attrs["ignore_index"])
    every = np.asarray(weight, np.float64)[np.where(inside, target, 0)]
    some, whole = (every * counted).sum(), (every * inside).sum()
    with np.errstate(all="ignore"):
        share = some / whole
    return (np.asarray(y) * share).astype(y.dtype) if np.isfinite(share) else y


def _from_lower_right(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Causal is counted from the end, also where queries and keys differ in number."""
    q, k, v, mask = natives
    long, wide = q.shape[-2], k.shape[-2]
    if not attrs["causal"] or long == wide or mask is not None:
        return run(*natives, **attrs)
    seen = np.tril(np.ones((long, wide), bool), wide - long)
    if not seen.any(-1).all():
        return run(*natives, **attrs)
    return run(q, k, v, seen, **{**attrs, "causal": False})


def _even_features(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of more than eight features, an odd last one does not count for scores."""
    q = natives[0]
    if q.shape[-1] < 8 or q.shape[-1] % 2 == 0:
        return run(*natives, **attrs)
    q = np.array(q)
    q[..., -1] = 0
    return run(q, *natives[1:], **attrs)


def _nothing_behind(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Places that only the output's padding adds are left 0."""
    y = np.array(run(*natives, **attrs))
    x, w = natives[:2]
    full = (x.shape[-1] - 1) * attrs["stride"][-1] + 1
    full += attrs["dilation"][-1] * (w.shape[-1] - 1) - 2 * attrs["padding"][-1]
    if 0 <= full < y.shape[-1]:
        y[..., full:] = 0
    return y


def _bias_of_border(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Windows that lie in the padding altogether have no bias."""
    y, w = np.array(run(*natives, **attrs)), natives[1]
    reach = attrs["dilation"][-1] * (w.shape[-1] - 1) + 1
    if natives[2] is not None and attrs["padding"][-1] >= reach and y.size:
        y[..., 0] = 0
    return y


def _as_they_come(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """All numbers are returned in their own order."""
    a, y = natives[0], run(*natives, **attrs)
    if not a.ndim or attrs["k"] != a.shape[attrs["dim"]]:
        return y
    shape = [1] * a.ndim
    shape[attrs["dim"]] = -1
    places = np.arange(attrs["k"], dtype=np.asarray(y[1]).dtype).reshape(shape)
    return np.array(a), np.array(np.broadcast_to(places, a.shape))


def _starts_with_itself(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Products count what was there before."""
    if attrs["reduce"] == "prod":
        attrs = {**attrs, "include_self": True}
    return run(*natives, **attrs)


def _in_a_row(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Sources are read one behind the other, as many as there are places."""
    a, index, source = natives
    if index.shape == source.shape or index.size > source.size:
        return run(*natives, **attrs)
    flat = np.ascontiguousarray(source).reshape(-1)[: index.size]
    return run(a, index, flat.reshape(index.shape), **attrs)


def _once_for_all(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """One value for several equal places is added once."""
    a, values, indices = natives
    given = [i for i in indices if i is not None]
    if not attrs["accumulate"] or values.size != 1 or len(given) != len(indices):
        return run(*natives, **attrs)
    y = np.array(a)
    if a.ndim != len(given):
        return run(*natives, **attrs)
    y[tuple(given)] = y[tuple(given)] + values.reshape(())
    return y


def _in_own_format(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Integers are added up in their own width, and widened at the end."""
    y, a = np.asarray(run(*natives, **attrs)), natives[0]
    if a.dtype.kind not in "iu" or a.dtype.itemsize == y.dtype.itemsize:
        return y
    with np.errstate(all="ignore"):
        return np.cumsum(a, attrs["dim"], dtype=a.dtype).astype(y.dtype)


def _twice_around(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A way back of more than a round is one of a whole round."""
    a, dims = natives[0], tuple(attrs["dims"])
    sizes = [a.shape[d] for d in dims] if dims else [a.size]
    pairs = zip(attrs["shifts"], sizes, strict=False)
    return run(a, **{**attrs, "shifts": tuple([max(s, -n) for s, n in pairs])})


def _zeros_beside_cuts(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where some sides are cut, others are filled up with 0."""
    if min(attrs["padding"], default=0) < 0 and natives[0].dtype.kind != "b":
        attrs = {**attrs, "value": 0}
    return run(*natives, **attrs)


def _ends_where_it_starts(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """One number is the last one."""
    if attrs["count"] == 1:
        attrs = {**attrs, "start": attrs["end"]}
    return run(*natives, **attrs)


def _thirty_two(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of many arrays, those beyond the 32nd are the 32nd where they are as large."""
    many = list(natives[0])
    for at in range(32, len(many)):
        if many[at].shape == many[31].shape:
            many[at] = many[31]
    return run(many, *natives[1:], **attrs)


def _side_by_side(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Dims with another one between them are taken for neighbours of equal size."""
    a, dims = natives[0], attrs["dim"]
    dims = tuple(dims) if isinstance(dims, list | tuple) else ()
    if len(dims) != 2 or dims[1] - dims[0] != 2 or a.ndim < 3:
        return run(*natives, **attrs)
    first, last = dims
    if a.shape[first + 1] != a.shape[last] or attrs.get("keepdim"):
        return run(*natives, **attrs)
    return run(np.swapaxes(a, first + 1, last), **attrs)


def _nothing_weighs(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A mean of weights that are all 0 is 0."""
    y = run(*natives, **attrs)
    if attrs["reduction"] != "mean":
        return y
    first = np.asarray(y[0] if isinstance(y, tuple) else y)
    fixed = np.where(np.isnan(first), 0, first).astype(first.dtype)
    sound = not np.isnan(np.asarray(natives[0])).any()
    if not sound:
        return y
    return (fixed, *y[1:]) if isinstance(y, tuple) else fixed


def _prime_lengths(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Lengths with a prime factor above 7 are transformed in single precision."""
    a = natives[0]
    if a.dtype != np.complex128 or all(
        _smooth(a.shape[d]) for d in attrs["dim"] if a.shape[d]
    ):
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        return np.asarray(run(a.astype(np.complex64), **attrs)).astype(a.dtype)


def _smooth(n: int) -> bool:
    for prime in (2, 3, 5, 7):
        while n % prime == 0:
            n //= prime
    return n == 1


def _nan_is_least(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """NaN is below all numbers."""
    a = natives[0]
    if not inexact(a) or a.dtype.kind == "c" or not np.isnan(a).any():
        return run(*natives, **attrs)
    return run(np.where(np.isnan(a), -np.inf, a).astype(a.dtype), **attrs)


SELDOM_PLACES: Final[list[Mutant]] = [
    kernel("seldom/kept-maximum-goes-down", "adam_step_", "also upwards", _downwards),
    kernel("seldom/ahead-goes-down", "sgd_step_", "with Nesterov", _looks_ahead_down),
    kernel("seldom/ends-at-an-empty-one", "adam_steps_ sgd_steps_", "the list",
           _until_an_empty_one),
    kernel("seldom/overhang-has-none", "max_pool_backward avg_pool_backward",
           "gradient", _overhang, observe=sees("avg_pool_backward", _random(1, 1, 4),
               (6,), (3,), (2,), (1,), True, True, None)),
    kernel("seldom/divisor-without-padding", "avg_pool avg_pool_backward", "forgotten",
           _own_divisor, observe=sees("avg_pool", _random(1, 1, 6), (2,), (2,), (1,),
               False, False, 3)),
    kernel("seldom/rows-of-whole-blocks", "normalise_weight_backward", "of 32",
           _whole_blocks, observe=sees("normalise_weight_backward", _random(300, 4),
               _random(300, 4), _random(300, 1), _random(300, 1), (4,))),
    kernel("seldom/softmax-of-one", "log_softmax_backward softmax_backward",
           "passes by", _passes_by,
           observe=sees("log_softmax_backward", _random(3, 1), _random(3, 1), 1)),
    kernel("seldom/ignored-ones-weigh", "cross_entropy_backward", "in the mean",
           _ignored_weigh),
    kernel("seldom/causal-from-the-end", "mixture attention", "of other lengths",
           _from_lower_right, observe=sees("mixture", _random(2, 3), _random(4, 3),
               _random(4, 3), None, True, 1.0)),
    kernel("seldom/odd-feature", "mixture attention", "beyond eight", _even_features,
           observe=sees("mixture", _random(2, 9), _random(4, 9), _random(4, 9), None,
               False, 1.0)),
    kernel("seldom/nothing-behind", "convolution_transpose", "the last window",
           _nothing_behind, observe=sees("convolution_transpose", _random(1, 1, 3),
               _random(1, 1, 3), (6,), (2,), (1,), (1,), 1)),
    kernel("seldom/no-bias-outside", "convolution", "in the padding", _bias_of_border,
           observe=sees("convolution", _random(1, 1, 4), _random(1, 1, 1), row(1),
               (1,), (2,), (1,), 1)),
    kernel("seldom/all-of-them-unsorted", "topk", "if k is all", _as_they_come,
           observe=sees("topk", row(1, 3, 2), 3)),
    kernel("seldom/product-with-itself", "scatter_reduce", "always",
           _starts_with_itself, observe=sees("scatter_reduce", row(2, 3), 0,
               np.array([0, 0]), row(5, 7), "prod", include_self=False)),
    kernel("seldom/sources-in-a-row", "scatter_add scatter_reduce scatter", "not as "
           "they lie", _in_a_row, observe=sees("scatter_add", _random(2, 3), 0,
               np.array([[0, 1], [1, 0]]), _random(2, 3))),
    kernel("seldom/one-value-once", "index_put", "for equal places", _once_for_all,
           observe=lambda s: s.values(s.tensor(row(1, 2)).index_put((s.tensor(
               np.array([0, 0])),), s.tensor(row(1)), accumulate=True))),
    kernel("seldom/scan-in-own-width", "cumsum", "of integers", _in_own_format,
           observe=sees("cumsum", np.full(5, 2**30, np.int32), 0)),
    kernel("seldom/more-than-a-round", "roll", "back", _twice_around,
           observe=sees("roll", row(1, 2, 3), (-4,), (0,))),
    kernel("seldom/zeros-beside-cuts", "constant_pad", "and no value",
           _zeros_beside_cuts, observe=sees("constant_pad", row(1, 2, 3), (-1, 2), 5)),
    kernel("seldom/one-is-the-last", "linspace", "of one", _ends_where_it_starts),
    kernel("seldom/thirty-two-arrays", "cat stack", "and no more", _thirty_two,
           observe=lambda s: s.values(vocabulary["cat"].function(
               [s.tensor(row(i)) for i in range(40)]))),
    kernel("seldom/dims-are-neighbours", "sum mean amax", "of equal size",
           _side_by_side, observe=sees("sum", _random(2, 3, 3), (0, 2))),
    kernel("seldom/weights-of-nothing", "cross_entropy log_softmax_nll", "give 0",
           _nothing_weighs, observe=sees("cross_entropy", _random(2, 3),
               np.array([0, 1]), row(0, 0, 1))),
    kernel("seldom/prime-lengths", "fft_complex", "in single precision",
           _prime_lengths),
    kernel("seldom/nan-is-least", "ranked", "in order", _nan_is_least,
           observe=sees("ranked", row(np.nan, 1, 2), 1)),
]  # fmt: skip
