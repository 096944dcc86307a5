"""Graphs: work that is recorded is not done, and is done as a whole by each launch."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import Final

import numpy as np

import dovetail as dt
from dovetail.accelerator import Graph
from dovetail.conformance.law import Trial, Unclaimed, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.laws.streams import long_work, widths, work
from dovetail.conformance.subject import Subject
from dovetail.device_api.graphs import Graphs
from dovetail.dtypes import Array
from dovetail.engine.tensor import Tensor
from dovetail.errors import CaptureError

_LAUNCHES: Final = 3
_OTHERS: Final = 6  # tensors that ask for memory which a graph has
_NUMBER: Final = 1.4375  # of a graph alone, exact in every float


@device_law("graphs", examples=widths, rank=58, per_dtype=False)
def graphs(trial: Trial) -> None:
    """Recorded work is not done; each launch does it, on what its inputs hold then.

    Its memory is nobody else's, and waiting for it while it is recorded is refused.
    """
    if trial.subject.backend.capability(Graphs) is None:
        raise Unclaimed(f"{trial.subject.device} has no capability Graphs")
    claims = (
        _not_done, _on_new_values, _fills, _own_memory, _numbers, _draws, _refusals,
    )  # fmt: skip
    for claim in claims:
        contextvars.copy_context().run(claim, trial)
        dt.synchronize(trial.subject.device)


def _recorded(subject: Subject, what: Callable[[], Tensor]) -> tuple[Graph, Tensor]:
    """A graph of a call, and the call's result, which nothing has computed yet."""
    graph = Graph()
    with dt.Stream(subject.device), graph:
        made = what()
    return graph, made


def _launch(subject: Subject, graph: Graph) -> None:
    graph.replay()
    dt.synchronize(subject.device)


def _not_done(trial: Trial) -> None:
    """What is recorded is done once by each launch, and never before."""
    subject = trial.subject
    a, _, _, _ = work(trial)
    count = dt.zeros_like(a)
    dt.synchronize(subject.device)
    graph, _ = _recorded(subject, lambda: count.add_(1))
    zeros = np.zeros(tuple(a.shape), np.float32)
    for launches in range(_LAUNCHES):
        what = f"what a graph writes in place, after {launches} launches"
        expect_bits(what, subject.values(count), zeros + launches)
        _launch(subject, graph)


def _on_new_values(trial: Trial) -> None:
    """A launch reads its inputs anew, whichever stream it is given to."""
    subject = trial.subject
    a, order, want, twice = work(trial)
    graph, made = _recorded(subject, lambda: long_work(a, order))
    _launch(subject, graph)
    expect_bits("what the first launch left", subject.values(made), want)
    a.copy_(made)
    dt.synchronize(subject.device)
    with dt.Stream(subject.device):
        graph.replay()
    dt.synchronize(subject.device)
    expect_bits("what a launch left of other inputs", subject.values(made), twice)


def _fills(trial: Trial) -> None:
    """A launch fills memory again, whatever was written there since."""
    subject = trial.subject
    x = dt.zeros_like(work(trial)[0])
    dt.synchronize(subject.device)
    graph, made = _recorded(subject, lambda: x.fill_(_NUMBER) + dt.ones_like(x))
    for number in range(_LAUNCHES):
        x.fill_(number)
        made.fill_(number)
        _launch(subject, graph)
        want = np.full(tuple(x.shape), _NUMBER, np.float32)
        expect_bits("what a graph fills", subject.values(x), want)
        expect_bits("what it makes of that", subject.values(made), want + 1)


def _own_memory(trial: Trial) -> None:
    """Nobody gets what a graph reads or made, though the program let go of it."""
    subject = trial.subject
    graph, made, want = _of_what_dies(trial)
    device = subject.device
    others = [dt.full(want.shape, 7.0, device=device) for _ in range(_OTHERS)]
    dt.synchronize(device)
    _launch(subject, graph)
    expect_bits("what was made of inputs that were let go of", subject.values(made),
                want)  # fmt: skip
    sevens = np.full_like(want, 7)
    for other in others:
        expect_bits("a tensor beside a graph", subject.values(other), sevens)


def _of_what_dies(trial: Trial) -> tuple[Graph, Tensor, Array]:
    """A graph whose inputs, and what is made on the way, nobody else has."""
    a, order, want, _ = work(trial)

    start = dt.empty_like(a)
    dt.synchronize(trial.subject.device)

    def program() -> Tensor:
        start.copy_(a)  # which nothing else reads
        return long_work(start, order) + 0 * order.clone()

    graph, made = _recorded(trial.subject, program)
    return graph, made, want


def _numbers(trial: Trial) -> None:
    """A number that a graph is the first to use is right outside of it, too."""
    subject = trial.subject
    a, _, _, _ = work(trial)
    before = subject.values(a)
    graph, made = _recorded(subject, lambda: a * _NUMBER)
    expect_bits("a product beside a graph", subject.values(a * _NUMBER),
                before * np.float32(_NUMBER))  # fmt: skip
    _launch(subject, graph)
    expect_bits("a product of a graph", subject.values(made),
                before * np.float32(_NUMBER))  # fmt: skip


def _draws(trial: Trial) -> None:
    """Each launch has random numbers of its own: those that calls would draw."""
    subject = trial.subject
    a, _, _, _ = work(trial)
    values = subject.values(a)
    ours, theirs = (dt.Generator(subject.device).manual_seed(3) for _ in range(2))
    graph, made = _recorded(subject, lambda: a + dt.rand_like(a, generator=ours))
    for launches in range(_LAUNCHES):
        drawn = subject.values(dt.rand_like(a, generator=theirs))
        _launch(subject, graph)
        what = f"what launch {launches} added random numbers to"
        expect_bits(what, subject.values(made), values + drawn)


def _refusals(trial: Trial) -> None:
    """Whoever waits is refused, and the graph goes on."""
    subject = trial.subject
    a, order, want, _ = work(trial)
    host = np.zeros((2,), np.float32)
    waits: dict[str, Callable[[], object]] = {
        "copy_out": lambda: subject.backend.copy_out(a._a),
        "copy_in": lambda: subject.backend.copy_in(host, subject.index),
        "synchronize": lambda: dt.synchronize(subject.device),
    }

    def while_some_wait() -> Tensor:
        for name, wait in waits.items():
            try:
                wait()
            except CaptureError:
                continue
            raise Wrong(
                f"{name} waits while a graph is recorded: call refuse_to_wait in it"
            )
        return long_work(a, order)

    graph, made = _recorded(subject, while_some_wait)
    _launch(subject, graph)
    expect_bits("what a graph left after refusals", subject.values(made), want)
