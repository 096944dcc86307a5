"""Values to the device and back: nothing else can be judged before this holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import (
    expect_bits,
    expect_native,
    patterns,
    rng,
    sizes,
)
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType

Ints = tuple[int, ...]


def _frozen(a: Array) -> Array:
    a.flags.writeable = False
    return a


def _backwards() -> dict[str, Callable[[Array], Any]]:
    """Looks that run backwards in some of their dims, in every choice of two and three.

    A driver that takes a pitch may see the sign of one stride and not of another.
    """
    found: dict[str, Callable[[Array], Any]] = {}
    for shape in ((6, 5), (2, 3, 5)):
        for steps in product((1, -1), repeat=len(shape)):
            turn = tuple(slice(None, None, step) for step in steps)

            def look(a: Array, shape: Ints = shape, turn: Any = turn) -> Any:
                return a.reshape(shape)[turn]

            if min(steps) < 0:
                found[f"steps of {steps}"] = look
    return found


# Host arrays that are not plain rows: what of `a`, a [6, 5] array, is sent.
_LOOKS: Final[dict[str, Callable[[Array], Any]]] = {
    "contiguous": lambda a: a,
    "transposed": lambda a: a.T,
    "strided": lambda a: a[1::2, ::3],
    **_backwards(),
    "broadcast": lambda a: np.broadcast_to(a[:1], a.shape),
    "0-d": lambda a: a[2, 3],
    "empty": lambda a: a[:, :0],
    "read-only": _frozen,
}


def _transports(
    subject: Subject, dtype: DType | None, budget: Budget
) -> Iterator[Example]:
    for at, look in enumerate(_LOOKS):
        yield Example(layout=look, size="6 x 5", known={"at": at})
    for at, count in enumerate(sizes(subject, budget), len(_LOOKS)):
        yield Example(size=str(count), known={"at": at, "shape": (count,)})
    yield Example(size="5 dims", known={"at": 99, "shape": (2, 1, 3, 2, 2)})


@device_law("copy_out", examples=_transports, rank=0, first=True, carries=True)
def copy_out(trial: Trial) -> None:
    """What `copy_in` takes, `copy_out` gives back: the same bits, in memory of its own.

    Whatever the host array looks like and whatever becomes of it afterwards.
    """
    backend, host = trial.subject.backend, _host(trial)
    want = np.array(host, order="C")
    native = backend.copy_in(host, trial.subject.index)
    twin = backend.copy_in(host, trial.subject.index)
    if host.flags.writeable and host.size:
        _scrub(host)  # never read again
    expect_native(trial, "copy_in", native, want.shape)
    first = backend.copy_out(native)
    expect_bits("copy_out(copy_in(host))", first, want)
    if first.size:
        _expect_fresh(first)
        _scrub(first)
        expect_bits("copy_out, after its last result was written,",
                    backend.copy_out(native), want)  # fmt: skip
    kept = backend.copy_out(twin)
    expect_bits("another copy of the host array", kept, want)
    if kept.size:  # memory that copies go through is not what they give
        other = np.array(want)
        _scrub(other)
        backend.copy_out(backend.copy_in(other, trial.subject.index))
        expect_bits("a copy that was kept while another was made", kept, want)


def _host(trial: Trial) -> Array:
    dtype = trial.dtype
    assert dtype is not None
    shape = trial.example.known.get("shape")
    if shape is not None:
        return patterns(dtype, shape, rng(trial))
    a = patterns(dtype, (6, 5), rng(trial))
    return np.asarray(_LOOKS[trial.example.layout](a))


def _scrub(a: Array) -> None:
    """Change every bit."""
    if a.dtype == bool:
        np.logical_not(a, out=a)
        return
    unsigned = np.dtype(f"u{min(a.itemsize, 8)}")
    raw = np.invert(np.ascontiguousarray(a).reshape(-1).view(unsigned))
    a[...] = raw.view(a.dtype).reshape(a.shape)


def _expect_fresh(a: Array) -> None:
    if not a.flags.writeable:
        raise Wrong("copy_out gives a read-only array, needed a fresh one of its own")


# ---- fresh memory


def _empties(
    subject: Subject, dtype: DType | None, budget: Budget
) -> Iterator[Example]:
    shapes: list[Ints] = [(), (0,), (3, 0, 2), (1,), (4, 3), (2, 1, 3, 2)]
    shapes += [(n,) for n in sizes(subject, budget) if n > 7]
    for at, shape in enumerate(shapes):
        yield Example(size=str(list(shape)), known={"at": at, "shape": shape})


@device_law("empty", examples=_empties, rank=3, first=True)
def empty(trial: Trial) -> None:
    """`empty` gives contiguous memory that belongs to nobody else who is alive."""
    backend, index = trial.subject.backend, trial.subject.index
    dtype, shape = trial.dtype, trial.example.known["shape"]
    assert dtype is not None
    values = [patterns(dtype, shape, rng(trial, salt)) for salt in range(4)]
    alive = backend.copy_in(values[0], index)
    fresh = []
    for value in values[1:]:
        made = backend.empty(shape, dtype, index)
        expect_native(trial, "empty", made, shape)
        backend.copy(made, backend.copy_in(value, index))
        fresh.append(made)
    for native, value in zip([alive, *fresh], values, strict=True):
        expect_bits("memory, after more was allocated and written,",
                    backend.copy_out(native), value)  # fmt: skip
    strides, offset = backend.geometry(fresh[0], fresh[0])
    _expect_row_major(shape, tuple(strides), offset)


def _expect_row_major(shape: Ints, strides: Ints, offset: int) -> None:
    step, wrong = 1, offset != 0
    for size, stride in zip(shape[::-1], strides[::-1], strict=True):
        wrong = wrong or (size > 1 and stride != step)
        step *= size
    if wrong and all(shape):
        raise Wrong(
            f"empty({shape}) has element strides {strides} and offset {offset}, "
            "needed row-major order from 0"
        )
