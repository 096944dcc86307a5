"""Where a recording cannot simply be done again: what Python read, or brought along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dovetail.compiler.steps import Replay, Step
from dovetail.engine.checks import values_of
from dovetail.engine.graph import Slot
from dovetail.errors import CaptureError


class Limit(Step):
    """A step that cannot be done again: it raises, whatever the values are."""


@dataclass(frozen=True, slots=True)
class ReadValue(Step):
    """Python read the values of a tensor, and may have decided by them."""

    source: Slot
    how: str
    values: bytes

    def do(self, replay: Replay) -> None:
        found = values_of(replay.values[self.source.number], self.how)
        if found.tobytes() != self.values:
            raise CaptureError(
                replay.name, f"{self.source}, which Python read by {self.how}",
                was="another value than the recorded one", needed="the same value",
                remedy="return it from the function instead, or use dovetail.compile",
            )  # fmt: skip

    def slots(self) -> Iterator[Slot]:
        yield self.source

    def likeness(self) -> Any:
        return ReadValue, self.source, self.how

    def __str__(self) -> str:
        return f"read {self.source} by {self.how}"


@dataclass(frozen=True, slots=True)
class Outside(Limit):
    """Memory that came from elsewhere, such as a NumPy array of Python's."""

    what: str

    def do(self, replay: Replay) -> None:
        raise CaptureError(
            replay.name, "memory", was=f"from elsewhere: {self.what}",
            needed="tensors that are given, or made by ops",
            remedy="do it outside of the function, or use dovetail.compile",
        )  # fmt: skip

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Outside, self.what

    def __str__(self) -> str:
        return f"memory from elsewhere: {self.what}"


@dataclass(frozen=True, slots=True)
class Begin(Limit):
    """State that outlives the call began, such as that of an optimizer."""

    what: str

    def do(self, replay: Replay) -> None:
        raise CaptureError(
            replay.name, self.what, was="made when it was recorded",
            needed="there before: a replay would begin it again",
            remedy="make it outside of the function, and run that once before",
        )  # fmt: skip

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Begin, self.what

    def __str__(self) -> str:
        return f"{self.what} begins"
