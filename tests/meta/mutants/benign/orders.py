"""Benign variants that add in another order: always, by the call, or by chance."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.benign.variant import FLOATS, Benign, otherwise
from tests.meta.mutants.mutant import Run

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]

_unseeded: Final = np.random.default_rng()


def _axes(attrs: Attrs) -> Any:
    dims = attrs.get("dim", attrs.get("dims"))
    return tuple(dims) if isinstance(dims, list | tuple) else dims


def _backwards(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Terms are added from the last one on."""
    a = natives[0]
    return run(np.flip(a, _axes(attrs)) if a.ndim else a, **attrs)


def _by_layout(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of what does not lie side by side, from the last one on."""
    a = natives[0]
    return run(a, **attrs) if a.flags.c_contiguous else _backwards(run, natives, attrs)


_COUNTED: Final = 1 << 24


def _one_by_one(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """One term after the other, which rounds the most; as far as float32 counts."""
    a, axis = natives[0], _axes(attrs)
    one = isinstance(axis, int) or (isinstance(axis, tuple) and len(axis) == 1)
    floats = a.dtype in (np.float32, np.float64)
    if not one or not floats or not a.size or attrs.get("dtype") is not None:
        return run(*natives, **attrs)
    at = axis if isinstance(axis, int) else axis[0]
    if a.shape[at] >= _COUNTED:  # no device may stop counting there
        return run(*natives, **attrs)
    last = np.add.accumulate(a, axis=at).take([-1], axis=at)
    return np.array(last if attrs.get("keepdim") else np.squeeze(last, at))


def _terms_in_any_order(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Another order of the terms in every call."""
    a, axis = natives[0], _axes(attrs)
    if axis is None or isinstance(axis, tuple) or not a.ndim:
        return run(*natives, **attrs)
    order = _unseeded.permutation(a.shape[axis])
    return run(np.take(a, order, axis), **attrs)


def _products_in_any_order(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The inner dim is gone through in another order in every call."""
    a, b = natives
    inner = max(b.ndim - 2, 0)
    if not a.ndim or not b.ndim or a.shape[-1] != b.shape[inner]:
        return run(a, b)  # which refuses it
    order = _unseeded.permutation(a.shape[-1])
    return run(np.take(a, order, -1), np.take(b, order, inner))


def _scattered_in_any_order(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Terms of equal indices are added as threads come by."""
    a, index, src = natives
    if not index.ndim or not index.size:
        return run(*natives, **attrs)
    d = attrs["dim"]
    order = _unseeded.permutation(index.shape[min(d, index.ndim - 1)])
    part = src[tuple(slice(n) for n in index.shape)] if index.ndim == src.ndim else src
    if index.ndim == src.ndim:
        return run(a, np.take(index, order, d), np.take(part, order, d), **attrs)
    return run(a, index[order], np.take(src, order, d), **attrs)


def _put_in_any_order(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The same of writes to places, which are given as lists."""
    a, value, indices = natives
    first = [i for i in indices if i is not None]
    lists = all(i.ndim == 1 and i.dtype.kind in "iu" for i in first)
    if not (attrs.get("accumulate") and lists and len(first) == len(indices)):
        return run(*natives, **attrs)
    n = max(len(i) for i in first)
    order = _unseeded.permutation(n)
    value = np.broadcast_to(value, (n, *a.shape[len(first) :]))
    moved = [np.broadcast_to(i, (n,))[order] for i in first]
    return run(a, value[order], moved, **attrs)


def _batches_backwards(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Products in batches go through the inner dim from the end."""
    a, b = natives
    if a.ndim < 3 or b.ndim < 3:
        return run(a, b, **attrs)
    return run(a[..., ::-1], b[..., ::-1, :], **attrs)


_SUMS: Final = "sum mean"
_SCATTERS: Final = "scatter_add scatter_add_ index_add"
_PUTS: Final = "index_put index_put_"

ORDERS: Final[list[Benign]] = [
    Benign("sums-backwards", "terms are added from the last one on",
           otherwise(_SUMS, _backwards), f"{_SUMS} var layer_norm softmax"),
    Benign("sums-by-layout", "another order for what does not lie side by side",
           otherwise(f"{_SUMS} logsumexp", _by_layout), f"{_SUMS} logsumexp nansum"),
    Benign("sums-one-by-one", "no pairs, no blocks", otherwise("sum", _one_by_one),
           "sum softmin nansum nanmean", dtypes=FLOATS),
    Benign("sums-in-any-order", "another order in every call, declared so",
           otherwise(f"{_SUMS} logsumexp", _terms_in_any_order, deterministic=False),
           f"{_SUMS} logsumexp nansum expand addcmul", dtypes=FLOATS),
    Benign("products-in-any-order", "another order in every call, declared so",
           otherwise("matmul bmm", _products_in_any_order, deterministic=False),
           "matmul bmm linear dot mv", dtypes=FLOATS),
    Benign("scatter-in-any-order", "another order each time, declared so",
           otherwise(_SCATTERS, _scattered_in_any_order, deterministic=False),
           "scatter_add index_add gather embedding index_select take_along"),
    Benign("puts-in-any-order", "what is added to places, declared so",
           otherwise(_PUTS, _put_in_any_order, deterministic=False),
           "index_put index_get basic_index gather", dtypes=FLOATS),
    Benign("batches-backwards", "products in batches are added in another order",
           otherwise("matmul bmm", _batches_backwards), "matmul bmm linear"),
]  # fmt: skip
