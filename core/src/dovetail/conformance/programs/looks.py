"""View ops of random programs: what is written in the program, and what it sees."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from dovetail.conformance.programs.model import Alias
from dovetail.dtypes import Array

Random = np.random.Generator
Look = tuple[str, Array] | None  # text behind the tensor's name, index map


def _sliced(x: Alias, random: Random) -> Look:
    texts, index = [], x.index
    key: list[Any] = []
    for size in index.shape:
        if size and random.random() < 0.25:
            at = int(random.integers(-size, size))
            key.append(at)
            texts.append(str(at))
            continue
        start, stop = _range(random, size)
        step = int(random.integers(1, 3))
        key.append(slice(start, stop, step))
        texts.append(f"{start}:{stop}:{step}")
    if not key:
        return None
    return f"[{', '.join(texts)}]", np.asarray(index[tuple(key)])


def _range(random: Random, size: int) -> tuple[int, int]:
    """Some of the places 0 … size - 1; none of them now and then."""
    start, stop = sorted(int(n) for n in random.integers(0, size + 1, 2))
    if start == stop and random.random() < 0.8:
        return 0, size
    return start, stop


def _transposed(x: Alias, random: Random) -> Look:
    if x.index.ndim < 2:
        return None
    a, b = (int(d) for d in random.choice(x.index.ndim, 2, replace=False))
    return f".transpose({a}, {b})", x.index.swapaxes(a, b)


def _permuted(x: Alias, random: Random) -> Look:
    order = tuple(int(d) for d in random.permutation(x.index.ndim))
    return (f".permute({order})", x.index.transpose(order)) if order else None


def _expanded(x: Alias, random: Random) -> Look:
    if x.index.ndim > 3:
        return None
    shape = tuple(3 if n == 1 and random.random() < 0.7 else n for n in x.index.shape)
    shape = (2, *shape) if random.random() < 0.5 else shape
    return f".expand({shape})", np.broadcast_to(x.index, shape)


def _reshaped(x: Alias, random: Random) -> Look:
    if not x.contiguous or not x.index.size:
        return None
    count = x.index.size
    divisors = [d for d in range(1, count + 1) if count % d == 0]
    first = int(random.choice(divisors))
    name = str(random.choice(["view", "reshape"]))
    shape = (first, count // first)
    return f".{name}({shape})", x.index.reshape(shape)


def _flattened(x: Alias, random: Random) -> Look:
    return (".flatten()", x.index.reshape(-1)) if x.contiguous else None


def _unsqueezed(x: Alias, random: Random) -> Look:
    if x.index.ndim > 3:
        return None
    dim = int(random.integers(0, x.index.ndim + 1))
    return f".unsqueeze({dim})", np.expand_dims(x.index, dim)


def _squeezed(x: Alias, random: Random) -> Look:
    ones = [d for d, n in enumerate(x.index.shape) if n == 1]
    if not ones:
        return None
    dim = int(random.choice(ones))
    return f".squeeze({dim})", x.index.squeeze(dim)


def _diagonal(x: Alias, random: Random) -> Look:
    if x.index.ndim < 2:
        return None
    offset = int(random.integers(-1, 2))
    if min(x.index.shape[0] + min(offset, 0), x.index.shape[1] - max(offset, 0)) < 0:
        return None
    return f".diagonal({offset})", x.index.diagonal(offset)


def _narrowed(x: Alias, random: Random) -> Look:
    if not x.index.ndim:
        return None
    dim = int(random.integers(x.index.ndim))
    size = x.index.shape[dim]
    start, stop = _range(random, size)
    seen = x.index.take(range(start, stop), dim)
    return f".narrow({dim}, {start}, {stop - start})", seen


def _as_strided(x: Alias, random: Random) -> Look:
    if x.tracked or not x.memory.ordered or not x.memory.values.size:
        return None
    size = tuple(int(n) for n in random.integers(1, 4, int(random.integers(0, 3))))
    stride = tuple(int(s) for s in random.integers(0, 4, len(size)))
    reach = sum((n - 1) * s for n, s in zip(size, stride, strict=True))
    room = x.memory.values.size - reach
    if room <= 0:
        return None
    offset = int(random.integers(room))
    index = np.full(size, offset)
    for dim, step in enumerate(stride):
        line = [1] * len(size)
        line[dim] = size[dim]
        index = index + np.arange(size[dim]).reshape(line) * step
    return f".as_strided({size}, {stride}, {offset})", index


_LOOKS: Final = (
    _sliced, _sliced, _transposed, _permuted, _expanded, _reshaped, _flattened,
    _unsqueezed, _squeezed, _diagonal, _narrowed, _as_strided,
)  # fmt: skip


def look(x: Alias, random: Random) -> Look:
    """A view op that fits the tensor, or None."""
    return _LOOKS[int(random.integers(len(_LOOKS)))](x, random)


def shape_of(random: Random) -> tuple[int, ...]:
    """A shape of at most 24 elements."""
    shapes = [(), (6,), (2, 3), (2, 3), (3, 1), (3, 3), (2, 1, 4), (0, 2), (2, 3, 2)]
    found: tuple[int, ...] = shapes[int(random.integers(len(shapes)))]
    assert math.prod(found) <= 24
    return found
