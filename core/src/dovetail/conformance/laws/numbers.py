"""Numbers as arguments: each is right, and none makes an array of a device."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.accelerator import Graph
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, rng
from dovetail.conformance.subject import Subject
from dovetail.device_api.capabilities import Pool, Streams
from dovetail.device_api.graphs import Graphs
from dovetail.device_api.numbers import Numbers
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Tensor, wrap

_CALLS: Final[dict[str, Callable[[Any, Any], Tensor]]] = {
    "x + n": lambda x, n: x + n,
    "n - x": lambda x, n: n - x,
    "x * n": lambda x, n: x * n,
    "x < n": lambda x, n: x < n,
}
_MOVES: Final = ("copy_in", "copy_out", "empty", "fill", "copy")
_SHAPES: Final = ((), (3, 5))
_MANY: Final = 6  # numbers behind each other


def _counts(subject: Subject, dtype: DType | None) -> bool:
    return dtype is not None and dtype.category > 0


@device_law("numbers", fits=_counts, rank=54)
def numbers(trial: Trial) -> None:
    """A number reaches kernels without a transfer, and without an array made of it.

    Each call gets its own; whoever asks for the memory of one finds it there.
    """
    backend = trial.subject.backend
    if backend.capability(Numbers) is None:
        raise Unclaimed(f"{trial.subject.device} has no capability Numbers")
    for claim in (_make_nothing, _are_right, _are_there, _are_for_all, _outlive_graphs):
        contextvars.copy_context().run(claim, trial)
        dt.synchronize(trial.subject.device)


def _drawn(trial: Trial, salt: int = 0) -> list[Any]:
    """Numbers that the dtype holds, most of them only nearly; none was used before."""
    assert trial.dtype is not None
    _forget(trial)
    random = rng(trial, salt)
    if trial.dtype.category == 1:
        return [int(n) for n in random.choice(np.arange(2, 100), _MANY, replace=False)]
    found = [float(n) for n in random.uniform(-9, 9, _MANY)]
    return [complex(n, 1 - n) for n in found] if trial.dtype.is_complex else found


def _forget(trial: Trial) -> None:
    assert trial.dtype is not None
    for cache in trial.subject.kind(trial.dtype).scalars.values():
        cache.clear()


def _tensor(trial: Trial, shape: tuple[int, ...]) -> Tensor:
    assert trial.dtype is not None
    values = rng(trial, 7).integers(0, 9, shape)
    return trial.subject.tensor(np.asarray(values, trial.dtype.numpy))


def _make_nothing(trial: Trial) -> None:
    """Calls with new numbers move nothing, and take memory for their results alone."""
    subject = trial.subject
    for shape in _SHAPES:
        x = _tensor(trial, shape)
        for name, call in _CALLS.items():
            call(x, _drawn(trial)[0])  # kernels are compiled
            grown = _growth(subject, lambda: call(x, x))  # noqa: B023  called at once
            for number in _drawn(trial, 1):
                with _watched(subject) as moved:
                    more = _growth(subject, lambda: call(x, number))  # noqa: B023
                if moved:
                    raise Wrong(f"{name} of the new number {number} calls {moved[0]}")
                if more > grown:
                    raise Wrong(
                        f"{name} of the new number {number} leaves {more} bytes in "
                        f"use, of a tensor {grown}"
                    )


def _growth(subject: Subject, call: Callable[[], Tensor]) -> int:
    """How many bytes more are in use while its result is; 0 where nobody counts."""
    pool = subject.backend.capability(Pool)
    if pool is None:
        call()
        return 0
    dt.synchronize(subject.device)
    before = pool.live_bytes(subject.index)
    made = call()
    after = pool.live_bytes(subject.index)
    del made
    return after - before


@contextmanager
def _watched(subject: Subject) -> Iterator[list[str]]:
    """The memory functions that are called meanwhile."""
    seen: list[str] = []

    def watched(name: str) -> Callable[..., Any]:
        own = getattr(subject.backend, name)

        def call(*args: Any, **options: Any) -> Any:
            seen.append(name)
            return own(*args, **options)

        return call

    for name in _MOVES:
        setattr(subject.backend, name, watched(name))
    try:
        yield seen
    finally:
        for name in _MOVES:
            delattr(subject.backend, name)


def _are_right(trial: Trial) -> None:
    """Many calls, none of which waits for the one before: each has its own number."""
    subject = trial.subject
    for shape in _SHAPES:
        x = _tensor(trial, shape)
        for name, call in _CALLS.items():
            drawn = _drawn(trial, 2)
            made = [call(x, n) for n in drawn]
            for n, y in zip(drawn, made, strict=True):
                want = call(x, dt.full(shape, n, dtype=x.dtype, device=subject.device))
                what = f"{name} of the number {n} and a tensor of shape {shape}"
                expect_bits(what, subject.values(y), subject.values(want))


def _native(trial: Trial, number: Any) -> Any:
    assert trial.dtype is not None
    return trial.subject.kind(trial.dtype).scalars[type(number)][number]


def _held(trial: Trial, number: Any) -> Array:
    """A number as its dtype holds it."""
    assert trial.dtype is not None
    made = trial.subject.backend.empty((), trial.dtype, trial.subject.index)
    trial.subject.backend.fill(made, number)
    return trial.subject.backend.copy_out(made)


def _are_there(trial: Trial) -> None:
    """What reads memory finds the number: copies, views, the tape."""
    subject, backend = trial.subject, trial.subject.backend
    for n in _drawn(trial, 3):
        want = _held(trial, n)
        expect_bits(f"copy_out of the number {n}", _read(trial, n), want)
        strides, offset = backend.geometry(_native(trial, n), _native(trial, n))
        if (tuple(strides), offset) != ((), 0):
            raise Wrong(f"the geometry of the number {n} is {strides}, {offset}")
        seen = subject.values(_repeated(trial, n))
        expect_bits(f"a view of the number {n}", seen, np.repeat(want, 3))
        _on_the_tape(trial, n)


def _read(trial: Trial, number: Any) -> Array:
    return trial.subject.backend.copy_out(_native(trial, number))


def _repeated(trial: Trial, number: Any) -> Tensor:
    """A tensor that looks into the memory of a number three times."""
    assert trial.dtype is not None
    subject = trial.subject
    native = subject.backend.view(_native(trial, number), (3,), (0,), 0)
    return wrap(native, subject.kind(trial.dtype))


def _on_the_tape(trial: Trial, number: Any) -> None:
    assert trial.dtype is not None
    if not trial.dtype.is_inexact:
        return
    x = _tensor(trial, (3,)).requires_grad_()
    (x * number).backward(dt.ones_like(x))
    assert x.grad is not None
    want = np.repeat(np.conj(_held(trial, number)), 3)
    expect_bits(f"the gradient of x * {number}", trial.subject.values(x.grad), want)


def _are_for_all(trial: Trial) -> None:
    """A number whose memory one stream asked for is there for another, at once."""
    subject = trial.subject
    if subject.backend.capability(Streams) is None:
        return
    for n in _drawn(trial, 4):
        want = np.repeat(_held(trial, n), 3)
        with dt.Stream(subject.device):
            first = _repeated(trial, n).clone()
        with dt.Stream(subject.device):
            second = _repeated(trial, n).clone()
        dt.synchronize(subject.device)
        for name, y in (("first", first), ("second", second)):
            what = f"the number {n} on the {name} stream that asked for it"
            expect_bits(what, subject.values(y), want)


def _outlive_graphs(trial: Trial) -> None:
    """A number whose memory a graph asked for is right outside, and in each launch."""
    subject = trial.subject
    if subject.backend.capability(Graphs) is None:
        return
    x = _tensor(trial, (3,))
    for n in _drawn(trial, 5):
        want = _held(trial, n)
        native = _native(trial, n)  # which calls outside share
        graph = Graph()
        with dt.Stream(subject.device), graph:
            made = x * 1 + _repeated(trial, n)
        expect_bits(f"the number {n} that a graph asked for",
                    subject.backend.copy_out(native), want)  # fmt: skip
        outside = _repeated(trial, n).clone()
        expect_bits(f"a view of the number {n} that a graph asked for",
                    subject.values(outside), np.repeat(want, 3))  # fmt: skip
        graph.replay()
        dt.synchronize(subject.device)
        expect_bits(f"a graph's sum with the number {n}", subject.values(made),
                    subject.values(x + n))  # fmt: skip
