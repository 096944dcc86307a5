"""What a recorded program does beside op calls: each kind of it is a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dovetail.compiler.steps import Replay, Step
from dovetail.engine.geometry import become
from dovetail.engine.graph import Slot
from dovetail.engine.kinds import Kind
from dovetail.engine.scopes import perform, tell
from dovetail.engine.tensor import wrap


@dataclass(frozen=True, slots=True)
class Alias(Step):
    """Another tensor over the memory of `source`, outside the graph.

    Attributes:
        how: `DETACHED`, or `DATA` where writes to it do not count.
    """

    DETACHED: ClassVar[str] = "detach()"
    DATA: ClassVar[str] = "data"

    source: Slot
    made: Slot
    how: str

    def do(self, replay: Replay) -> None:
        source = replay.values[self.source.number]
        made = source.data if self.how == Alias.DATA else source.detach()
        replay.values[self.made.number] = made

    def slots(self) -> Iterator[Slot]:
        yield self.source
        yield self.made

    def likeness(self) -> Any:
        return Alias, self.source, self.made, self.how

    def __str__(self) -> str:
        return f"{self.made} = {self.source}.{self.how}"


@dataclass(frozen=True, slots=True)
class SetData(Step):
    """A tensor gets the memory of another."""

    target: Slot
    data: Slot

    def do(self, replay: Replay) -> None:
        replay.values[self.target.number].data = replay.values[self.data.number]

    def slots(self) -> Iterator[Slot]:
        yield self.target
        yield self.data

    def likeness(self) -> Any:
        return SetData, self.target, self.data

    def __str__(self) -> str:
        return f"{self.target}.data = {self.data}"


@dataclass(frozen=True, slots=True)
class Become(Step):
    """A tensor becomes a view of itself: `squeeze_` and the like."""

    target: Slot
    view: Slot

    def do(self, replay: Replay) -> None:
        become(replay.values[self.target.number], replay.values[self.view.number])

    def slots(self) -> Iterator[Slot]:
        yield self.target
        yield self.view

    def likeness(self) -> Any:
        return Become, self.target, self.view

    def __str__(self) -> str:
        return f"{self.target} becomes {self.view}"


@dataclass(frozen=True, slots=True)
class Perform(Step):
    """A change of Python's state, such as a count of steps."""

    change: Callable[[], None]

    def do(self, replay: Replay) -> None:
        perform(self.change)

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        function = getattr(self.change, "func", self.change)
        return Perform, getattr(function, "__qualname__", repr(function))

    def __str__(self) -> str:
        return f"perform {self.likeness()[1]}"


@dataclass(frozen=True, slots=True)
class Made(Step):
    """A tensor with values from the host, which a replay makes afresh."""

    made: Slot
    kind: Kind
    values: np.ndarray[Any, Any]

    def do(self, replay: Replay) -> None:
        kind = self.kind
        native = kind.backend.copy_in(self.values, kind.index)
        replay.values[self.made.number] = made = wrap(native, kind)
        tell("made", made)

    def slots(self) -> Iterator[Slot]:
        yield self.made

    def likeness(self) -> Any:
        return Made, self.made, self.kind

    def varying(self) -> tuple[Any, ...]:
        return (self.values.tobytes(),)

    def __str__(self) -> str:
        return f"{self.made.describe()} = values of the host"


@dataclass(frozen=True, slots=True)
class Note(Step):
    """A landmark that asks for nothing: where a backward pass begins and ends."""

    text: str

    def do(self, replay: Replay) -> None:
        pass

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Note, self.text

    def __str__(self) -> str:
        return f"# {self.text}"
