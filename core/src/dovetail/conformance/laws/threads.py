"""Several threads on one device, and what must not pass from one to another."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits, rng
from dovetail.conformance.subject import Subject
from dovetail.dtypes import Array, DType
from dovetail.engine.tensor import Tensor

_THREADS: Final = 4
_ROUNDS: Final = 4
# Seconds, and times what the work takes in one thread, after which threads are stuck.
_AT_LEAST: Final = 10.0
_TIMES: Final = 10.0


def _crowds(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    for at, width in enumerate((3, 33, 65)):
        yield Example(size=f"{width} x {width}", known={"at": at, "width": width})


@device_law("threads", examples=_crowds, rank=70, per_dtype=False)
def threads(trial: Trial) -> None:
    """Several threads that compute at once get what each would get alone.

    Forward and backward, on tensors of their own and on shared ones; grad mode and
    the default device stay with the thread that set them.
    """
    inputs = [_inputs(trial, salt) for salt in range(_THREADS)]
    shared = trial.subject.tensor(_inputs(trial, _THREADS)[0])
    started = time.monotonic()
    want = [_training(trial, shared, *given) for given in inputs]
    alone = time.monotonic() - started

    def rounds_of(x: Array, w: Array) -> list[tuple[Array, Array, Array]]:
        return [_training(trial, shared, x, w) for _ in range(_ROUNDS)]

    patience = _AT_LEAST + _TIMES * _ROUNDS * alone
    got = together([partial(rounds_of, *given) for given in inputs], patience)
    for number, (rounds, right) in enumerate(zip(got, want, strict=True)):
        for results in rounds:
            for name, a, b in zip(_NAMES, results, right, strict=True):
                expect_bits(f"{name} in thread {number} of {_THREADS}", a, b)
    _modes(trial)


_NAMES: Final = ("the result", "the gradient of w", "what was written in place")


def _inputs(trial: Trial, salt: int) -> tuple[Array, Array]:
    """Small whole numbers: every order of summation gives the same bits."""
    width = trial.example.known["width"]
    random = rng(trial, salt)
    made = random.integers(-2, 3, (2, width, width)).astype(np.float32)
    return made[0], made[1]


def _training(
    trial: Trial, shared: Tensor, x: Array, w: Array
) -> tuple[Array, Array, Array]:
    subject = trial.subject
    features, weights = subject.tensor(x), subject.tensor(w)
    weights.requires_grad = True
    hidden = (features @ weights + shared[0]) * shared
    y = dt.where(hidden > 0, hidden, hidden * 0)
    y.sum().backward()
    grown = features.clone()
    grown[:, ::2].mul_(2)
    grown.t().add_(shared)
    assert weights.grad is not None
    return (
        subject.values(y.detach()),
        subject.values(weights.grad),
        subject.values(grown),
    )


def together(actions: list[Callable[[], Any]], patience: float = math.inf) -> list[Any]:
    """What the actions return, each in a thread of its own, started at once.

    Args:
        patience: seconds after which threads that have not returned wait for each
            other, and are left behind.
    """
    results: list[Any] = [None] * len(actions)
    errors: list[BaseException] = []
    gate = threading.Barrier(len(actions))

    def run(at: int) -> None:
        try:
            gate.wait()
            results[at] = actions[at]()
        except BaseException as error:
            errors.append(error)

    crowd = [
        threading.Thread(target=run, args=(i,), daemon=True)
        for i in range(len(actions))
    ]
    for thread in crowd:
        thread.start()
    stuck = _left_after(crowd, patience)
    if errors:
        raise errors[0]
    if stuck:
        raise Wrong(
            f"{stuck} of {len(crowd)} threads have not returned after "
            f"{patience:.0f} s: they wait for each other"
        )
    return results


def _left_after(crowd: list[threading.Thread], patience: float) -> int:
    """How many threads still run after so many seconds, or none sooner."""
    until = time.monotonic() + patience
    for thread in crowd:
        left = until - time.monotonic()
        thread.join(None if left == math.inf else max(left, 0.0))
    return sum(thread.is_alive() for thread in crowd)


def _modes(trial: Trial) -> None:
    """Grad mode belongs to a thread: what one switches off stays on in the other."""
    gate = threading.Barrier(2)
    ones = np.ones(3, np.float32)

    def off() -> bool:
        with dt.no_grad():
            gate.wait()
            made = _recorded(trial, ones)
            gate.wait()
        return made

    def on() -> bool:
        gate.wait()
        made = _recorded(trial, ones)
        gate.wait()
        return made

    recorded = together([off, on])
    if recorded != [False, True]:
        raise Wrong(
            f"recorded under no_grad and beside it: {recorded}, needed [False, True]"
        )


def _recorded(trial: Trial, values: Array) -> bool:
    leaf = trial.subject.tensor(values)
    leaf.requires_grad = True
    return (leaf * 2).requires_grad
