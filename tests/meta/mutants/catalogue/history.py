"""Kernels that remember: right alone, wrong after calls like them."""

from __future__ import annotations

import weakref
from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Fault, Mutant, Run, with_faults

from dovetail.conformance.subject import Subject
from dovetail.dtypes import float32
from dovetail.engine.op import vocabulary

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def _packed() -> Fault:
    """A second operand is packed once for as long as it lives."""
    packed: dict[int, tuple[Any, Array]] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        a, b, *rest = natives
        known = packed.get(id(b))
        if known is None or known[0]() is not b:
            packed[id(b)] = known = (weakref.ref(b), b.copy())
        return run(a, known[1], *rest, **attrs)

    return fault


def _by_equal_numbers() -> Fault:
    """A number that was prepared is found again by what equals it, signs apart."""
    prepared: dict[Any, Array] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        x, number = natives
        if not number.ndim:
            number = prepared.setdefault((number.dtype, number.item()), number.copy())
        return run(x, number, **attrs)

    return fault


def _by_seed() -> Fault:
    """A stream goes on where the first call with its seed and size began."""
    begun: dict[Any, int] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        key = attrs["seed"], attrs.get("shape")
        attrs = {**attrs, "offset": begun.setdefault(key, attrs["offset"])}
        return run(*natives, **attrs)

    return fault


def _by_width() -> Fault:
    """A kernel is chosen once by the sizes and the width of a number."""
    chosen: dict[Any, Any] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        (x,) = natives
        dtype = chosen.setdefault((x.shape, x.itemsize), x.dtype)
        if dtype.kind == x.dtype.kind:
            return run(x, **attrs)
        return run(x.view(dtype), **attrs).view(x.dtype)

    return fault


def _ring() -> Fault:
    """Results lie in three buffers in turn, one set for each size."""
    rings: dict[Any, list[Array]] = {}

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        y = np.asarray(run(*natives, **attrs))
        ring = rings.setdefault((y.shape, y.dtype), [])
        if len(ring) < 3:
            ring.append(y)
            return y
        ring.append(ring.pop(0))
        ring[-1][...] = y
        return ring[-1]

    return fault


def _stale_tail() -> Fault:
    """The workspace of the last call serves a call of half the length, uncleared."""
    last: list[Any] = [None]

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        x, *rest = natives
        before, last[0] = last[0], x.copy()
        half = before is not None and before.dtype == x.dtype and before.ndim == x.ndim
        if half and x.size > 1 and (before.shape[-1] + 1) // 2 == x.shape[-1]:
            x = x.copy()
            x[..., -1] = before.reshape(-1)[-1]
        return run(x, *rest, **attrs)

    return fault


def _twice(op: str, change: Any) -> Any:
    """What a second call gives that differs from the first in one thing."""

    def observe(subject: Subject) -> Any:
        function = vocabulary[op].function
        first, second = change(subject)
        found = function(*first)
        kept = subject.values(found)
        then = [subject.values(function(*second)) for _ in range(3)]
        return [kept, *then, subject.values(found)]

    return observe


def _matrices(subject: Subject) -> Any:
    a, b = (subject.tensor(np.full((4, 4), n, np.float32)) for n in (1, 2))
    vocabulary["matmul"].function(a, b)
    b.fill_(5)
    return (a, b), (a, b)


def _zeros(subject: Subject) -> Any:
    x = subject.tensor(np.ones(3, np.float32))
    return (x, 0.0), (x, -0.0)


def _uniforms(subject: Subject) -> Any:
    kind = subject.kind(float32)
    return ((5,), 0, 1, 3, 0, kind), ((5,), 0, 1, 3, 8, kind)


def _negated(subject: Subject) -> Any:
    x = np.array([3, 5], np.int32)
    return (subject.tensor(x),), (subject.tensor(x.astype(np.float32)),)


def _squares(subject: Subject) -> Any:
    return (subject.tensor(np.ones(4, np.float32)),), (
        subject.tensor(np.full(4, 3, np.float32)),
    )


def _halves(subject: Subject) -> Any:
    x = np.arange(8, dtype=np.float32)
    return (subject.tensor(x), 0), (subject.tensor(x[:4]), 0)


def _history(name: str, op: str, describes: str, make: Any, change: Any) -> Mutant:
    """A mutant that has forgotten all whenever it is planted."""
    return Mutant(
        f"history/{name}", describes, (op,), lambda: with_faults({op: make()}),
        observe=_twice(op, change), dtypes=("float32",), laws=("history",),
    )  # fmt: skip


HISTORY: Final[list[Mutant]] = [
    _history("packed-operand", "matmul", "an operand is packed once and never again",
             _packed, _matrices),
    _history("equal-numbers", "copysign", "-0.0 is found under 0.0", _by_equal_numbers,
             _zeros),
    _history("first-offset", "uniform", "the place is that of the first call by seed",
             _by_seed, _uniforms),
    _history("kernel-by-width", "neg", "int32 and float32 share what was compiled",
             _by_width, _negated),
    _history("ring-of-results", "square", "the fourth result lies in the first",
             _ring, _squares),
    _history("stale-workspace", "logsumexp", "half a row ends as the last call did",
             _stale_tail, _halves),
]  # fmt: skip
