"""The law on graphs: sound devices pass, faults are caught."""

from __future__ import annotations

from typing import Any

import pytest
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.planted import verdict, verdict_on

from dovetail.conformance.verdicts import Outcome
from dovetail.device_api import graphs
from dovetail.engine import kinds
from dovetail.testing.chaos_device.backend import ChaosBackend
from dovetail.testing.chaos_device.graphs import Graph, Plan


class DoesItToo(Chaotic):
    """What is recorded is also done."""

    def end_graph(self, stream: Any, index: int) -> Graph:
        made = super().end_graph(stream, index)
        made.launch(self.default_stream(index))
        self.device(index).synchronize()
        return made


class DoesNothing(Chaotic):
    """A launch forgets the last piece of the work."""

    def launch_graph(self, graph: Graph, stream: Any, index: int) -> None:
        held, graph.plans = graph.plans, graph.plans[:-1]
        super().launch_graph(graph, stream, index)
        graph.plans = held


class OnlyOnce(Chaotic):
    """From the second launch on, nothing is done."""

    def launch_graph(self, graph: Graph, stream: Any, index: int) -> None:
        super().launch_graph(graph, stream, index)
        graph.plans = []


class LetsGo(Chaotic):
    """Another tensor gets memory that was made while a graph was recorded."""

    _gone: Any = None

    def end_graph(self, stream: Any, index: int) -> Graph:
        made = super().end_graph(stream, index)
        self._gone = made.kept[-1]
        return made

    def allocate(self, shape: Any, dtype: Any, index: int, op: str) -> Any:
        gone, self._gone = self._gone, None
        if gone is not None and gone.shape == shape and gone.cell.dtype is dtype:
            return gone
        return super().allocate(shape, dtype, index, op)


class OldInputs(Chaotic):
    """A launch reads what the inputs held when they were recorded."""

    def begin_graph(self, stream: Any, index: int) -> None:
        super().begin_graph(stream, index)
        self._as_it_was: dict[int, Any] = {}

    def end_graph(self, stream: Any, index: int) -> Graph:
        made = super().end_graph(stream, index)
        new = {id(a.cell) for a in made.kept}
        old = {c for p in made.plans for c in p.reads if id(c) not in new}
        saved = [(c, self.wrapped.copy_out(c.body)) for c in old]

        def restore() -> None:
            for cell, values in saved:
                self.wrapped.copy(cell.body, self.wrapped.copy_in(values, index))

        made.plans.insert(0, Plan("restore", restore, (), tuple(old)))
        return made


class FillsAtOnce(Chaotic):
    """Fills are done while a graph is recorded, and by none of its launches."""

    def fill(self, a: Any, value: complex) -> None:
        if graphs.recording.get():
            self.wrapped.fill(a.inner, value)
        else:
            super().fill(a, value)


class Waits(Chaotic):
    """Reading values is not refused."""

    def copy_out(self, a: Any) -> Any:
        held = graphs.recording.get()
        graphs.recording.set(None)
        try:
            return super().copy_out(a)
        finally:
            graphs.recording.set(held)


@pytest.mark.parametrize(
    "fault", [DoesItToo, DoesNothing, OnlyOnce, LetsGo, OldInputs, FillsAtOnce, Waits]
)
def test_faults_are_caught(fault: type[ChaosBackend]) -> None:
    """The law calls the planted fault wrong."""
    found = verdict(fault, "graphs", "-")
    assert found.outcome is Outcome.WRONG, found


def test_a_sound_device_passes() -> None:
    """The device of which the faulty ones are made; others claim nothing."""
    assert verdict(Chaotic, "graphs", "-").outcome is Outcome.PASSED
    assert verdict_on("cpu", "graphs", "-").outcome is Outcome.UNCLAIMED


def test_core_that_shares_a_graphs_numbers_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A number that only a graph wrote is nobody else's."""

    class Never:
        """Says that nothing is being recorded."""

        def get(self) -> None:
            """None."""

    monkeypatch.setattr(kinds, "recording", Never())
    assert verdict(Chaotic, "graphs", "-").outcome is Outcome.WRONG
