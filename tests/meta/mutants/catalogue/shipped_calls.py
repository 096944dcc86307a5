"""Faults of the kind that accelerators have shipped: what calls leave for later ones.

And what is filled, counted or drawn.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.shipped_values import F32, bits, row, sees
from tests.meta.mutants.mutant import Fault, Mutant, Run, kernel, with_faults

from dovetail.conformance.subject import Subject
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _first_number(name: str) -> Fault:
    """A number is baked into what was compiled for the first call of a shape."""
    known: dict[Any, Any] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        shapes = tuple(getattr(a, "shape", None) for a in natives)
        value = known.setdefault((shapes, attrs.get("shape")), attrs[name])
        return run(*natives, **{**attrs, name: value})

    return fault


def _equal_numbers(name: str) -> Fault:
    """What was compiled is found by a number that is equal: 0.0 is -0.0."""
    known: dict[Any, Any] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        value = known.setdefault(attrs[name], attrs[name])
        return run(*natives, **{**attrs, name: value})

    return fault


def _workspace() -> Fault:
    """A sum over fewer elements than the last reads what that one left."""
    last: list[Any] = [0, 0.0]

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        y = run(*natives, **attrs)
        a = natives[0]
        if a.dtype != F32 or np.size(y) != 1 or a.size < 2:
            return y
        before, left = last
        last[:] = [a.size, float(a.reshape(-1)[-1])]
        if a.size < before and np.isfinite(left):
            return np.asarray(y + F32(left)).astype(np.asarray(y).dtype)
        return y

    return fault


def _strides_of_the_first() -> Fault:
    """What was compiled for a shape has the strides of its first call."""
    known: dict[Any, Any] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        a = natives[0]
        if not isinstance(a, np.ndarray) or a.ndim != 2 or 0 in a.shape:
            return run(*natives, **attrs)
        turned = bool(a.strides[0] < a.strides[1])
        first = known.setdefault((a.shape, a.dtype), turned)
        if first != turned and a.shape[0] == a.shape[1] > 1:
            natives = [a.T, *natives[1:]]
        return run(*natives, **attrs)

    return fault


def _no_offset() -> Fault:
    """After the first call of a seed the offset does not count."""
    known: dict[Any, Any] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        offset = known.setdefault(attrs["seed"], attrs["offset"])
        return run(*natives, **{**attrs, "offset": offset})

    return fault


def _again_after(limit: int) -> Fault:
    """Numbers come again after so many."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        y = np.array(run(*natives, **attrs))
        flat = y.reshape(-1)
        if flat.size > limit:
            flat[limit:] = np.resize(flat[:limit], flat.size - limit)
        return flat.reshape(y.shape)

    return fault


def _by_steps(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """One step is added after the other."""
    y = np.asarray(run(*natives, **attrs))
    if y.dtype != F32 or y.size < 2:
        return y
    step = F32(attrs["step"])
    return np.cumsum(np.append(y[:1], np.full(y.size - 1, step)), dtype=F32)


def _counted_in_floats(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Counts beyond 2^24 go through float32."""
    y = np.asarray(run(*natives, **attrs))
    return y.astype(F32).astype(y.dtype) if y.dtype.kind == "i" else y


def _end_is_missed(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    y = np.array(run(*natives, **attrs))
    if y.dtype == F32 and y.size > 2:
        step = F32((attrs["end"] - attrs["start"]) / (y.size - 1))
        y[-1] = F32(attrs["start"]) + step * F32(y.size - 1)
    return y


def _never(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A probability of 1 is that of 0."""
    return run(*natives, **{**attrs, "p": 0.0 if attrs["p"] == 1 else attrs["p"]})


def _twice(op: str, *calls: tuple[tuple[Any, ...], Attrs]) -> Any:
    """What several calls give, one after the other."""

    def observe(subject: Subject) -> Any:
        return [sees(op, *args, **attrs)(subject) for args, attrs in calls]

    return observe


def _turned(subject: Subject) -> Any:
    x = subject.tensor(np.arange(9, dtype=F32).reshape(3, 3))
    return [subject.values(x.neg()), subject.values(x.t().neg())]


def _made(
    name: str, op: str, describes: str, make: Any, observe: Any, **options: Any
) -> Mutant:
    """A fault that remembers things, made anew wherever it is planted."""
    return Mutant(
        f"shipped/{name}",
        describes,
        (op,),
        lambda: with_faults({op: make()}),
        observe=observe,
        **options,
    )


def _draws(*calls: tuple[int, int, int]) -> Any:
    """Uniform numbers: of each call, its seed, its offset, how many."""

    def observe(subject: Subject) -> Any:
        kind = _kind(subject, "float32")
        draw = vocabulary["uniform"].function
        return [subject.values(draw((n,), 0.0, 1.0, seed, offset, kind))
                for seed, offset, n in calls]  # fmt: skip

    return observe


_MASK: Final = np.array([True, False])
SHIPPED_CALLS: Final[list[Mutant]] = [
    _made("number-of-the-first-call", "leaky_relu", "the slope of a shape's first call",
          lambda: _first_number("negative_slope"),
          _twice("leaky_relu", ((row(-1), 0.1), {}), ((row(-1), 0.5), {}))),
    _made("number-that-is-equal", "masked_fill", "0.0 is found for -0.0",
          lambda: _equal_numbers("value"),
          _twice("masked_fill", ((row(1, 2), _MASK, 0.0), {}),
                 ((row(1, 2), _MASK, -0.0), {}))),
    _made("old-workspace", "sum", "the tail of a longer sum before", _workspace,
          _twice("sum", ((row(1, 2, 3), (0,)), {}), ((row(1, 2), (0,)), {}))),
    _made("strides-of-the-first-call", "neg", "squares of another layout",
          _strides_of_the_first, _turned),
    _made("offset-of-the-first-call", "uniform", "of a seed", _no_offset,
          _draws((1, 0, 8), (1, 64, 8))),
    _made("draws-come-again", "uniform", "after 2^14 numbers",
          lambda: _again_after(1 << 14), _draws((1, 0, 20000))),
    kernel("shipped/arange-by-steps", "arange", "rounding adds up", _by_steps,
           observe=lambda s: bits(_of_arange(s))),
    kernel("shipped/iota-in-floats", "iota", "beyond 2^24", _counted_in_floats,
           observe=lambda s: _long_iota(s), laws=("vast",)),
    kernel("shipped/linspace-misses-the-end", "linspace", "start + n × step",
           _end_is_missed, observe=lambda s: bits(_of_linspace(s))),
    kernel("shipped/dropout-of-all", "random_dropout", "p = 1 drops nothing", _never,
           observe=lambda s: [s.values(y) for y in _several(
               vocabulary["random_dropout"].function(s.tensor(row(1, 2)), 1.0, 1, 0))]),
]  # fmt: skip


def _several(y: Any) -> tuple[Any, ...]:
    return y if isinstance(y, tuple) else (y,)


def _kind(subject: Subject, name: str) -> Any:
    from dovetail import dtypes
    from dovetail.engine.kinds import kind_of

    return kind_of(subject.device, getattr(dtypes, name))


def _of_arange(subject: Subject) -> Any:
    make = vocabulary["arange"].function
    return subject.values(make(0.0, 0.1, 1000, _kind(subject, "float32")))


def _of_linspace(subject: Subject) -> Any:
    make = vocabulary["linspace"].function
    return subject.values(make(0.1, 0.7, 50, _kind(subject, "float32")))


def _long_iota(subject: Subject) -> Any:
    made = vocabulary["iota"].function((1 << 24) + 8, _kind(subject, "int32"))
    return subject.values(made)[-4:]
