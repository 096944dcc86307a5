"""The parts of an array that an op takes together: along its dims, or in a window.

A maximum that begins at the least finite number, and a sum of weights that is 0, are
seen where nothing else is in such a part; slices drawn without regard to the call are
seldom one.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from dovetail.dtypes import Array, DType
from dovetail.engine.cases import Case
from dovetail.engine.op import Op

Ints = tuple[int, ...]
_SHARE: Final = 0.3  # of the parts; of several, one at least
_WARP: Final = 32
_MOST: Final = 64  # parts that are filled
# Attributes that say over which dims an op reduces; those of all dims if none is given.
_OVER: Final = frozenset({"Axes", "AxesIfAny", "AxesGiven", "AxisOrAll"})
_WINDOW: Final = "kernel_size"


def regional(op: Op) -> bool:
    """Whether the calls of an op say what it takes together, of its one operand."""
    if op.has_list or len(op.tensors) != 1 or "ct" in op.names:
        return False
    return any(p.annotation in _OVER or p.name == _WINDOW for p in op.rest)


def regions_filled(
    op: Op, call: Case, numbers: Sequence[float], bounded: list[Array], dtype: DType,
    random: np.random.Generator,
) -> Case:  # fmt: skip
    """The call, some regions of its operand one of the numbers, one of them the first.

    Unless it holds something else than numbers of the dtype, or what the case bounds.
    """
    first = call.args[0] if call.args else None
    if not isinstance(first, np.ndarray) or first.dtype != dtype.numpy:
        return call
    if not first.size or any(a is first for a in bounded):
        return call
    made = np.array(first)
    for number, at in enumerate(_chosen(op, call, first.shape, random)):
        made[at] = random.choice(numbers) if number else numbers[0]
    return Case((made, *call.args[1:]), call.kwargs)


def masked_in_whole(op: Op, call: Case, large: bool) -> bool:
    """Whether a region has nothing that is finite; in large calls, one past a warp."""
    a, over = call.args[0], _over(op, call)
    if over is None:
        return bool(np.any(~np.isfinite(a)))
    dims = tuple(_dims(over[0], a.ndim))
    whole = np.all(~np.isfinite(a), axis=dims)
    least = _WARP if large else 1
    return bool(np.any(whole)) and a.size > least * whole.size


def _over(op: Op, call: Case) -> tuple[Any] | None:
    """The dims that a call names, in a tuple of their own; None for windows."""
    given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
    found = ((given.get(p.name, p.default),) for p in op.rest if p.annotation in _OVER)
    return next(found, None)


def _chosen(
    op: Op, call: Case, shape: Ints, random: np.random.Generator
) -> Iterator[tuple[slice | int, ...]]:
    over = _over(op, call)
    if over is None:
        given = dict(zip(op.names, call.args, strict=False)) | call.kwargs
        yield from _windows(given, shape, random)
        return
    dims = _dims(over[0], len(shape))
    beside = [range(n) if d not in dims else (None,) for d, n in enumerate(shape)]
    lines = list(itertools.islice(itertools.product(*beside), _MOST))
    lines = [lines[i] for i in random.permutation(len(lines))]
    for number, line in enumerate(lines):
        share = 0.5 if len(lines) == 1 else _SHARE if number else 1.0
        if random.random() < share:
            yield tuple(slice(None) if i is None else i for i in line)


def _dims(dim: Any, ndim: int) -> set[int]:
    """The dims that are meant, of all there are if none is named."""
    many = (dim,) if isinstance(dim, int) else tuple(dim or range(ndim))
    return {d % ndim for d in many} if ndim else set()


def _windows(
    given: dict[str, Any], shape: Ints, random: np.random.Generator
) -> Iterator[tuple[slice | int, ...]]:
    """Two windows of the last dims, wherever they are; of padding, what is inside."""
    kernel = tuple(given[_WINDOW])
    lead, sizes = shape[: -len(kernel)], shape[-len(kernel) :]
    step, edge, apart = (
        _each(given.get(name), usual, kernel)
        for name, usual in (("stride", kernel), ("padding", 0), ("dilation", 1))
    )
    if not all(shape):
        return
    for _ in range(2):
        parts: list[slice | int] = [int(random.integers(n)) for n in lead]
        for n, k, s, p, d in zip(sizes, kernel, step, edge, apart, strict=True):
            start = int(random.integers((n + p) // s + 1)) * s - p
            parts.append(slice(max(start, 0), max(start + (k - 1) * d + 1, 0)))
        yield tuple(parts)


def _each(value: Any, usual: Any, kernel: Ints) -> Ints:
    found = usual if value is None or value == () else value
    return (found,) * len(kernel) if isinstance(found, int) else tuple(found)
