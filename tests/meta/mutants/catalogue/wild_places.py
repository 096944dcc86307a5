"""More faults from bug reports, of other ops: shapes, layouts and options.

Each has been reported in public, of one library or another, as a wrong result.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _random(*shape: int) -> Array:
    return np.random.default_rng(8).standard_normal(shape).astype(F32)


def _as_in_memory(a: Array) -> Array:
    """The elements in the order of memory, under the same shape."""
    return np.ascontiguousarray(a.T).reshape(a.shape)


def _turned_part(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Behind a row-major array, a transposed one is joined as it lies."""
    (arrays,) = natives
    if arrays[0].ndim != 2 or not arrays[0].flags.c_contiguous:
        return run(*natives, **attrs)
    return run(
        [_as_in_memory(a) if not a.flags.c_contiguous and a.flags.f_contiguous else a
         for a in arrays], **attrs)  # fmt: skip


def _dense_rows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """What is repeated by a stride of 0 is read as if it lay there."""
    a = natives[0]
    if a.ndim < 2 or a.strides[0] or a.shape[0] < 2 or not a.size:
        return run(*natives, **attrs)
    turned = np.roll(np.array(a).reshape(-1), 1).reshape(a.shape)
    turned[0] = a[0]
    return run(turned, *natives[1:], **attrs)


def _only_grows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Where one side is cut and another grows, the cut is made at the other end."""
    padding = list(attrs["padding"])
    for i in range(0, len(padding), 2):
        if padding[i] < 0 < padding[i + 1]:
            a = natives[0]
            natives = [np.roll(a, -padding[i], a.ndim - 1 - i // 2)]
    return run(*natives, **attrs)


def _first_shift(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of several dims, the first is rolled."""
    if len(attrs["dims"]) < 2:
        return run(*natives, **attrs)
    return run(*natives, **{**attrs, "shifts": attrs["shifts"][:1],
                            "dims": attrs["dims"][:1]})  # fmt: skip


def _of_batches(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """In batches, a diagonal below the main one is the main one."""
    if natives[0].ndim > 2 and attrs["diagonal"] < 0:
        attrs = {**attrs, "diagonal": 0}
    return run(*natives, **attrs)


def _number_wins(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """NaN is greater than nothing."""
    a = natives[0]
    if not inexact(a):
        return run(*natives, **attrs)
    return run(np.where(np.isnan(a), -np.inf, a).astype(a.dtype), *natives[1:], **attrs)


def _every_element(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A kernel of one element takes no steps along the last dim."""
    x, w = natives[:2]
    step = attrs["stride"][-1]
    if w.shape[-1] != 1 or step < 2 or attrs["padding"][-1]:
        return run(*natives, **attrs)
    y = np.asarray(run(*natives, **attrs))
    count = y.shape[-1]
    dense = np.ascontiguousarray(x[..., :count])
    now = {**attrs, "stride": (*attrs["stride"][:-1], 1)}
    return run(dense, *natives[1:], **now)


def _groups_backwards(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """With a dilation, groups are laid out from the last."""
    groups = attrs["groups"]
    y = run(*natives, **attrs)
    if groups < 2 or max(attrs["dilation"]) < 2:
        return y
    y = np.asarray(y)
    parts = np.split(y, groups, 1)
    return np.ascontiguousarray(np.concatenate(parts[::-1], 1))


def _evenly(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A row that may look at nothing looks at everything."""
    y = np.array(run(*natives, **attrs))
    v, mask = natives[2], natives[3] if len(natives) > 3 else None
    if mask is None or not y.size:
        return y
    seen = mask != -np.inf
    none = ~np.broadcast_to(seen, (*y.shape[:-1], v.shape[-2])).any(-1)
    even = np.broadcast_to(v.mean(-2, keepdims=True), y.shape)
    return np.where(none[..., None], even, y).astype(y.dtype)


def _short_rows(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Places along a dim that is not the last are found in rows of the index."""
    a, index = natives
    y = np.array(run(*natives, **attrs))
    dim = attrs["dim"]
    if a.ndim != 2 or dim != 0 or index.shape[1] >= a.shape[1] or not y.size:
        return y
    flat = a.reshape(-1) if a.flags.c_contiguous else np.array(a).reshape(-1)
    place = np.where(index < 0, index + a.shape[0], index) * index.shape[1]
    return flat[place + np.arange(index.shape[1])].astype(y.dtype)


def _last_row(y: Array, a: Array, **attrs: Any) -> Array:
    """One row alone is said to be none."""
    return np.zeros_like(y) if a.ndim == 2 and a.shape[0] == 1 else y


def _one_side(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Values that are strided are looked for where they would be without."""
    edges, values = natives
    if values.ndim == 1 and values.size > 1 and values.strides[0] > values.itemsize:
        values = np.lib.stride_tricks.as_strided(
            values, values.shape, (values.itemsize,)
        )
    return run(edges, values, **attrs)


_OPTIONS: Final = ((2,), (0,), (1,))


def _joined(subject: Any) -> Any:
    a, b = subject.tensor(_random(2, 3)), subject.tensor(_random(3, 2)).t()
    return subject.values(_cat([a, b]))


def _cat(parts: list[Any]) -> Any:
    from dovetail.engine.op import vocabulary

    return vocabulary["cat"].function(parts, 0)


def _expanded(subject: Any) -> Any:
    x = subject.tensor(_random(1, 3)).expand(3, 3)
    return subject.values(x.index_select(0, subject.tensor(np.array([1, 2]))))


def _spread_values(subject: Any) -> Any:
    from dovetail.engine.op import vocabulary

    values = subject.tensor(row(5, 0, 1, 0))[::2]
    edges = subject.tensor(row(0, 2, 4))
    return subject.values(vocabulary["searchsorted"].function(edges, values, False))


_NO_ROW: Final = np.array([[[0, -np.inf, 0], [-np.inf] * 3]], F32)

WILD_PLACES: Final[list[Mutant]] = [
    kernel("wild/joined-as-it-lies", "cat", "transposed arrays", _turned_part,
           observe=_joined),
    kernel("wild/selected-of-repeated", "index_select gather", "rows", _dense_rows,
           observe=_expanded),
    kernel("wild/cut-at-the-other-end", "constant_pad", "where one side grows",
           _only_grows, observe=sees("constant_pad", row(1, 2, 3), (-1, 1), 0.0)),
    kernel("wild/rolls-one-dim", "roll", "of several", _first_shift,
           observe=sees("roll", _random(3, 3), (1, 1), (0, 1))),
    kernel("wild/diagonal-of-batches", "tril triu", "below the main one", _of_batches,
           observe=sees("tril", _random(2, 3, 3), -1)),
    kernel("wild/window-without-nan", "max_pool", "passes over it", _number_wins,
           observe=sees("max_pool", row(1, np.nan, 2, 3).reshape(1, 1, 4), (2,), (2,),
               (0,), (1,), False)),
    kernel("wild/no-steps", "convolution", "of a kernel of one element", _every_element,
           observe=sees("convolution", _random(1, 1, 5), _random(1, 1, 1), None,
               *_OPTIONS, 1)),
    kernel("wild/groups-backwards", "convolution_transpose convolution",
           "with a dilation", _groups_backwards,
           observe=sees("convolution", _random(1, 2, 6), _random(2, 1, 2), None,
               (1,), (0,), (2,), 2)),
    kernel("wild/looks-at-everything", "attention", "where a row is masked", _evenly,
           observe=sees("attention", _random(1, 2, 4), _random(1, 3, 4),
               _random(1, 3, 4), _NO_ROW, False, 0.5)),
    kernel("wild/narrow-index", "gather", "along the first dim", _short_rows,
           observe=sees("gather", _random(3, 4), 0, np.array([[2, 1]]))),
    kernel("wild/count-of-one-row", "count_nonzero", "is 0", after(_last_row),
           observe=sees("count_nonzero", _random(1, 3), (1,))),
    kernel("wild/values-apart", "searchsorted", "are read side by side", _one_side,
           observe=_spread_values),
]  # fmt: skip
