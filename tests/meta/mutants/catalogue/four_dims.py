"""Faults of kernels that know how many dims there are, and in which order they lie.

Attention exchanges heads and steps, images may have their channels innermost, sequences
their steps outermost. Each kernel here is right for all other operands.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.mutants.catalogue.shipped_values import F32, row, sees
from tests.meta.mutants.mutant import (
    Fault,
    Mutant,
    Observe,
    Run,
    backend,
    kernel,
)

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
Ints = tuple[int, ...]
_CHANNELS: Final = (0, 2, 3, 1)
_HEADS: Final = (0, 2, 1, 3)
_OUTER: Final = (1, 0, 2)
_HALF: Final = float(np.finfo(np.float16).max)


def _random(*shape: int) -> Array:
    return np.random.default_rng(5).standard_normal(shape).astype(F32)


def _lies(a: Any, order: Ints) -> bool:
    """Whether an array lies without gaps in that order of its dims, and in no other."""
    if not isinstance(a, np.ndarray) or a.ndim != len(order) or a.flags.c_contiguous:
        return False
    return bool(a.transpose(order).flags.c_contiguous)


def _as_it_lies(order: Ints, at: Ints = (0,)) -> Fault:
    """Some operands that lie in an order are read as if they lay in rows."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        given = list(natives)
        for i in at:
            a = given[i] if i < len(given) else None
            if _lies(a, order):
                given[i] = np.ascontiguousarray(a.transpose(order)).reshape(a.shape)
        return run(*given, **attrs)

    return fault


def _laid(op: str, layout: str, *args: Any, **attrs: Any) -> Observe:
    """What an op gives of arrays in a layout."""

    def observe(subject: Subject) -> Any:
        given = [
            subject.tensor(a, layout) if isinstance(a, np.ndarray) else a for a in args
        ]
        made = vocabulary[op].function(*given, **attrs)
        made = made if isinstance(made, tuple) else (made,)
        return [subject.values(y) for y in made]

    return observe


def _second_dim_of_four(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of exactly four dims, what is asked of the second is done to the third."""
    if natives[0].ndim == 4 and attrs.get("dim") in (1, -3):
        attrs = {**attrs, "dim": 2}
        y = np.asarray(run(*natives, **attrs))
        shape = natives[0].shape
        if y.shape != shape:  # what is left is of the second's shape
            return np.resize(y, (shape[0], *shape[2:])).astype(y.dtype)
        return y
    return run(*natives, **attrs)


def _two_of_four_repeated(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of four dims, two in the middle that are repeated are one."""
    y = run(*natives, **attrs)
    b = natives[1]
    if b.ndim != 4 or y.ndim != 4 or b.shape[1:3] != (1, 1) or y.shape == b.shape:
        return y
    made = np.array(y)
    made[:, 1:] = made[:, :1]
    return made


def _dense_index(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """An index that is repeated by a stride of 0 is read as if it lay there."""
    a, index, *rest = natives
    many = [
        n for n, s in zip(index.shape, index.strides, strict=True) if n > 1 and not s
    ]
    if not many or not index.size:
        return run(*natives, **attrs)
    size = index.size // many[0]
    flat = np.ascontiguousarray(index).reshape(-1)
    turned = np.concatenate([flat[:size], np.zeros(index.size - size, index.dtype)])
    return run(a, turned.reshape(index.shape), *rest, **attrs)


def _row_of_nothing(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The stride of one row, which means nothing, is taken for its length."""
    a, *rest = natives
    one = a.ndim == 2 and a.shape[0] == 1 < a.shape[1]
    if one and a.strides[0] // a.itemsize < a.shape[1]:
        a = np.zeros_like(a)
    return run(a, *rest, **attrs)


def _half_sums(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """float16 is added up in float16."""
    y = run(*natives, **attrs)
    a = natives[0]
    if a.dtype != np.float16 or y.dtype != np.float16 or not a.size:
        return y
    dims = attrs["dim"]
    dims = (dims,) if isinstance(dims, int) else tuple(dims or range(a.ndim))
    kept = [d for d in range(a.ndim) if d not in {x % a.ndim for x in dims}]
    order = [*kept, *(d for d in range(a.ndim) if d not in kept)]
    rows = a.transpose(order).reshape(y.size, -1).astype(np.float64)
    partial = np.abs(np.cumsum(np.where(np.isfinite(rows), rows, 0), axis=1)).max(1)
    lost = (partial > _HALF) & np.all(np.isfinite(rows), axis=1)
    return np.where(lost.reshape(y.shape), np.inf, y).astype(y.dtype)


def _lost_in(at: int, count: int) -> Fault:
    """NaN in one operand alone is a number."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        arrays = [a for a in natives[:count] if isinstance(a, np.ndarray)]
        if len(arrays) < count or any(a.dtype.kind != "f" for a in arrays):
            return run(*natives, **attrs)
        beside = [a for i, a in enumerate(arrays) if i != at]
        if all(np.all(np.isfinite(a)) for a in beside):
            own = np.nan_to_num(natives[at], nan=1.0, posinf=np.inf, neginf=-np.inf)
            natives = [*natives[:at], own.astype(natives[at].dtype), *natives[at + 1 :]]
        return run(*natives, **attrs)

    return fault


def _three_at_once(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Groups, steps and gaps at once: the gaps are forgotten at the end."""
    y = run(*natives, **attrs)
    gaps, steps = max(attrs["dilation"]), max(attrs["stride"])
    if attrs["groups"] < 2 or gaps < 2 or steps < 2 or not y.size:
        return y
    made = np.array(y)
    made[..., -1] = 0
    return made


def _channels_of_copies(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Of joined arrays those with channels innermost are taken as they lie."""
    (arrays,) = natives
    return run(
        [np.ascontiguousarray(a.transpose(_CHANNELS)).reshape(a.shape)
         if _lies(a, _CHANNELS) else a for a in arrays], **attrs)  # fmt: skip


class _KeptRecord(Chaotic):
    """An event that was recorded stays what it was."""

    def record_event(self, event: Any, stream: Any) -> None:
        seen: list[Any] = self.__dict__.setdefault("seen", [])
        if not any(e is event for e in seen):
            seen.append(event)
            super().record_event(event, stream)


class _SharedStaging(CpuBackend):
    """Copies of one size go through the same memory, which is also what they give."""

    def copy_out(self, a: Array) -> Array:
        made = super().copy_out(a)
        held = self.__dict__.setdefault("held", {})
        old = held.get((made.shape, made.dtype))
        if old is None:
            held[made.shape, made.dtype] = made
            return made
        old[...] = made
        return old


def _recorded_twice(subject: Subject) -> Any:
    device, found = subject.device, []
    x = subject.tensor(np.full((8, 8), 0.5, np.float32))
    dt.synchronize(device)
    for _ in range(20):
        first, second = dt.Stream(device), dt.Stream(device)
        with first:
            y = x @ x
            done = first.record_event()
            for _ in range(12):
                y = y @ x
            done.record(first)
        with second:
            second.wait_event(done)
            try:
                found.append(subject.values(y + 0))
            except RuntimeError:
                found.append(None)
    return found


def _two_copies(subject: Subject) -> Any:
    backend, index = subject.backend, subject.index
    first = backend.copy_out(backend.copy_in(row(1, 2, 3), index))
    backend.copy_out(backend.copy_in(row(4, 5, 6), index))
    return first


def _expanded_index(subject: Subject) -> Any:
    index = subject.tensor(np.array([[1, 2]])).expand(3, 2)
    return subject.values(subject.tensor(_random(3, 4)).gather(1, index))


def _odd_row(subject: Subject) -> Any:
    a = subject.tensor(_random(6)).as_strided((1, 6), (0, 1))
    return subject.values(a @ subject.tensor(_random(6, 2)))


def _one_nan(op: str, at: int, shapes: list[Ints], *rest: Any) -> Observe:
    arrays = [_random(*shape) for shape in shapes]
    arrays[at].reshape(-1)[0] = np.nan
    return sees(op, *arrays, *rest)


_THREE: Final = _random(3, 4, 5)
_FOUR: Final = _random(2, 3, 4, 5)
_IMAGE: Final = _random(2, 4, 5, 5)
_TURNS: Final = np.where(np.arange(64) < 32, 6e4, -6e4).astype(np.float16)

FOUR_DIMS: Final[list[Mutant]] = [
    kernel("four-dims/heads-as-they-lie", "exp sqrt relu neg", "are read",
           _as_it_lies(_HEADS), observe=_laid("exp", "heads", _FOUR)),
    kernel("four-dims/second-of-two-heads", "add mul sub", "is read as it lies",
           _as_it_lies(_HEADS, (1,)), observe=_laid("add", "heads", _FOUR, _FOUR)),
    kernel("four-dims/channels-summed", "sum amax", "as they lie",
           _as_it_lies(_CHANNELS), observe=_laid("sum", "channels last", _IMAGE, (3,))),
    kernel("four-dims/channels-of-rows", "softmax log_softmax", "as they lie",
           _as_it_lies(_CHANNELS),
           observe=_laid("softmax", "channels last", _IMAGE, -1)),
    kernel("four-dims/steps-first-rows", "softmax cumsum", "in the order of memory",
           _as_it_lies(_OUTER), observe=_laid("softmax", "outer", _THREE, -1)),
    kernel("four-dims/steps-first-sums", "sum mean argmax", "in the order of memory",
           _as_it_lies(_OUTER), observe=_laid("sum", "outer", _THREE, (2,))),
    kernel("four-dims/heads-of-products", "matmul", "as they lie",
           _as_it_lies(_HEADS, (0, 1)),
           observe=_laid("matmul", "heads", _random(2, 3, 4, 4), _random(2, 3, 4, 4))),
    kernel("four-dims/channels-convolved", "convolution", "as they lie",
           _as_it_lies(_CHANNELS),
           observe=_laid("convolution", "channels last", _IMAGE, _random(3, 4, 2, 2),
               None, (1, 1), (0, 0), (1, 1), 1)),
    kernel("four-dims/channels-pooled", "max_pool avg_pool", "as they lie",
           _as_it_lies(_CHANNELS),
           observe=_laid("max_pool", "channels last", _IMAGE, (2, 2), (2, 2), (0, 0),
               (1, 1), False)),
    kernel("four-dims/channels-joined", "cat", "as they lie", _channels_of_copies,
           observe=lambda subject: subject.values(vocabulary["cat"].function(
               [subject.tensor(_IMAGE), subject.tensor(_IMAGE, "channels last")], 1))),
    kernel("four-dims/second-of-four", "cumsum argmax", "is the third",
           _second_dim_of_four, observe=sees("cumsum", _random(2, 3, 3, 2), 1)),
    kernel("four-dims/middle-repeated", "add mul maximum", "is one",
           _two_of_four_repeated,
           observe=sees("add", _FOUR, _random(2, 1, 1, 5))),
    kernel("four-dims/repeated-index", "gather take_along", "as if it lay there",
           _dense_index, observe=_expanded_index),
    kernel("four-dims/stride-of-one-row", "matmul", "is taken for its length",
           _row_of_nothing, observe=_odd_row),
    kernel("four-dims/half-sums", "sum", "of float16 leave the format", _half_sums,
           observe=sees("sum", _TURNS)),
    kernel("four-dims/nan-of-a-weight", "lerp", "alone is a number", _lost_in(2, 3),
           observe=_one_nan("lerp", 2, [(3,), (3,), (3,)])),
    kernel("four-dims/nan-of-a-shift", "normalise", "alone is a number",
           _lost_in(2, 3),
           observe=_one_nan("normalise", 2, [(2, 3), (3,), (3,)], (1,), 1e-5)),
    kernel("four-dims/three-options", "convolution", "at once", _three_at_once,
           observe=sees("convolution", _random(1, 2, 9), _random(2, 1, 2), None, (2,),
               (0,), (2,), 2)),
    backend("four-dims/event-kept", "recorded again, it is what it was", _KeptRecord,
            _recorded_twice, laws=("streams",)),
    backend("four-dims/copies-share", "memory of the host", _SharedStaging, _two_copies,
            laws=("copy_out",)),
]  # fmt: skip
