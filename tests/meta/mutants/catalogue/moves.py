"""Kernels that put elements where they do not belong."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Mutant, Run, after, instead, kernel

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _last_write_wins(a: Array, index: Array, src: Array, dim: int = 0) -> Array:
    """Sums into one place keep the last term alone."""
    made = np.array(a)
    if not index.size:
        return made
    at = list(np.indices(index.shape))
    at[dim] = index
    part = tuple(slice(n) for n in index.shape)
    made[tuple(at)] = a[tuple(at)] + src[part]
    return made


def _diagonal(by: int) -> Any:
    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        return run(*natives, **{**attrs, "diagonal": attrs["diagonal"] + by})

    return fault


def _along_dim_0(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    try:
        return run(*natives, **{**attrs, "dim": 0})
    except Exception:
        return run(*natives, **attrs)


def _each_beside_itself(y: Array, a: Array, repeats: Any) -> Array:
    if len(repeats) != a.ndim:
        return y
    for axis, times in enumerate(repeats):
        a = np.repeat(a, times, axis)
    return a


def _negated(name: str) -> Any:
    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        value = attrs[name]
        many = isinstance(value, tuple | list)
        value = tuple(-v for v in value) if many else -value
        return run(*natives, **{**attrs, name: value})

    return fault


def _first_dim_only(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    return run(*natives, **{**attrs, "dims": tuple(attrs["dims"])[:1]})


def _drops_short_inputs(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """`cat` takes an input of one slice for none, and repeats the one before."""
    parts, d = list(natives[0]), attrs["dim"]
    y = np.array(run(*natives, **attrs))
    at = 0
    for number, part in enumerate(parts):
        size = part.shape[d]
        if number and size == 1 and at:
            place: list[Any] = [slice(None)] * y.ndim
            place[d] = slice(at, at + 1)
            before = list(place)
            before[d] = slice(at - 1, at)
            y[tuple(place)] = y[tuple(before)]
        at += size
    return y


def _by_columns(y: Array, a: Array, mask: Array) -> Array:
    wide = np.broadcast_shapes(a.shape, mask.shape)
    a, mask = np.broadcast_to(a, wide), np.broadcast_to(mask, wide)
    return np.array(a.T[mask.T]) if a.ndim == 2 else y


def _put_wins(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    return run(*natives, **{**attrs, "accumulate": False})


def _flat_where(y: Array, a: Array, **attrs: Any) -> Array:
    """Places beyond 2^16 are counted in 16 bits."""
    return (y & 0xFF).astype(y.dtype) if a.size > 256 else y


def _exclusive(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    return run(*natives, **{**attrs, "right": not attrs["right"]})


def _padded_mirror(y: Array, a: Array, padding: Any = (), value: float = 0) -> Array:
    """Padding on both sides has the width of the left one."""
    y = np.array(y)
    if y.ndim and len(padding) >= 2 and padding[0] != padding[1] and y.shape[-1]:
        y[..., -1] = y[..., 0]
    return y


MOVES: Final[list[Mutant]] = [
    kernel("moves/scatter-add-loses", "scatter_add", "of equal places the last wins",
           instead(_last_write_wins)),
    kernel("moves/tril-off-by-one", "tril", "one diagonal too many", _diagonal(1)),
    kernel("moves/triu-off-by-one", "triu", "one diagonal too few", _diagonal(1)),
    kernel("moves/roll-backwards", "roll", "the other way round", _negated("shifts")),
    kernel("moves/flip-one-dim", "flip", "only the first of the dims", _first_dim_only),
    kernel("moves/cat-short-inputs", "cat", "an input of one slice is not read",
           _drops_short_inputs),
    kernel("moves/masked-select-by-columns", "masked_select", "column by column",
           after(_by_columns)),
    kernel("moves/index-put-overwrites", "index_put index_put_",
           "`accumulate` is not heeded", _put_wins),
    kernel("moves/nonzero-in-bytes", "nonzero", "indices are kept in 8 bits",
           after(_flat_where)),
    kernel("moves/searchsorted-other-side", "searchsorted", "ties on the other side",
           _exclusive),
    kernel("moves/pad-one-side", "constant_pad", "the last column is the first",
           after(_padded_mirror)),
    kernel("moves/gather-along-dim-0", "gather", "`dim` is not heeded where it fits",
           _along_dim_0),
    kernel("moves/repeat-interleaves", "repeat", "each element beside itself",
           after(_each_beside_itself)),
    kernel("moves/stack-reversed", "stack", "from the last one on",
           lambda run, natives, attrs: run(list(natives[0])[::-1], **attrs)),
    kernel("moves/embedding-of-neighbour", "embedding", "index 2^k is read as 2^k - 1",
           lambda run, natives, attrs: run(
               natives[0], np.where(natives[1] == 4, 3, natives[1]), **attrs)
           if natives[0].ndim == 2 and natives[0].shape[0] > 4
           else run(*natives, **attrs)),
]  # fmt: skip
