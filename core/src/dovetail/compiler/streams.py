"""Random numbers of a recorded program: generators, and places in their streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dovetail.compiler.steps import Replay, Step, Stream
from dovetail.engine.generator import Generator
from dovetail.engine.graph import Slot


@dataclass(frozen=True, slots=True)
class MakeGenerator(Step):
    """A generator is made, which stands where all new ones do."""

    stream: Stream

    def do(self, replay: Replay) -> None:
        assert self.stream.number is not None
        replay.streams[self.stream.number] = Generator(self.stream.device)

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return MakeGenerator, self.stream

    def __str__(self) -> str:
        return f"{self.stream} is made"


@dataclass(frozen=True, slots=True)
class Draw(Step):
    """A generator gives the next place in its stream."""

    number: int
    stream: Stream
    words: int
    align: int

    def do(self, replay: Replay) -> None:
        generator = replay.generator(self.stream)
        replay.drawn[self.number] = generator.reserve(self.words, self.align)

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Draw, self.number, self.stream, self.words, self.align

    def __str__(self) -> str:
        return f"draw{self.number} = {self.words} words of {self.stream}"


@dataclass(frozen=True, slots=True)
class Seed(Step):
    """A generator goes to a place in a stream."""

    stream: Stream
    seed: int
    offset: int

    def do(self, replay: Replay) -> None:
        replay.generator(self.stream)._set(self.seed, self.offset)

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Seed, self.stream

    def varying(self) -> tuple[Any, ...]:
        return self.seed, self.offset

    def __str__(self) -> str:
        return f"seed {self.stream} with {self.seed}, at {self.offset}"


@dataclass(frozen=True, slots=True)
class GetState(Step):
    """A tensor is made of the place that a generator has reached."""

    stream: Stream
    made: Slot

    def do(self, replay: Replay) -> None:
        state = replay.generator(self.stream).get_state()
        replay.values[self.made.number] = state

    def slots(self) -> Iterator[Slot]:
        yield self.made

    def likeness(self) -> Any:
        return GetState, self.stream, self.made

    def __str__(self) -> str:
        return f"{self.made} = state of {self.stream}"


@dataclass(frozen=True, slots=True)
class SetState(Step):
    """A generator goes to the place that a tensor names."""

    stream: Stream
    state: Slot

    def do(self, replay: Replay) -> None:
        state = replay.values[self.state.number]
        replay.generator(self.stream).set_state(state)

    def slots(self) -> Iterator[Slot]:
        yield self.state

    def likeness(self) -> Any:
        return SetState, self.stream, self.state

    def __str__(self) -> str:
        return f"state of {self.stream} = {self.state}"


@dataclass(frozen=True, slots=True)
class CloneState(Step):
    """A generator is put where another one stands."""

    source: Stream
    made: Stream

    def do(self, replay: Replay) -> None:
        assert self.made.number is not None
        clone = replay.generator(self.source).clone_state()
        replay.streams[self.made.number] = clone

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return CloneState, self.source, self.made

    def __str__(self) -> str:
        return f"state of {self.made} = state of {self.source}"
