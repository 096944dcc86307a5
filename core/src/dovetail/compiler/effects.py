"""What a recorded program does beside op calls: each kind of it is a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from dovetail.compiler.steps import Replay, Step
from dovetail.engine.generator import Generator
from dovetail.engine.graph import Slot
from dovetail.engine.inplace import keep_before, rebind
from dovetail.engine.kinds import Kind
from dovetail.engine.modes import set_grad_enabled
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import alias, wrap
from dovetail.errors import CaptureError


@dataclass(frozen=True, slots=True)
class SetGrad(Step):
    """`.grad` of a tensor becomes another, or None."""

    target: Slot
    grad: Slot | None

    def do(self, replay: Replay) -> None:
        grad = None if self.grad is None else replay.values[self.grad.number]
        replay.values[self.target.number].grad = grad

    def slots(self) -> Iterator[Slot]:
        yield self.target
        if self.grad is not None:
            yield self.grad

    def likeness(self) -> Any:
        return SetGrad, self.target, self.grad

    def __str__(self) -> str:
        return f"{self.target}.grad = {self.grad}"


@dataclass(frozen=True, slots=True)
class SetRequiresGrad(Step):
    """A tensor over the memory of `source` becomes a leaf, or is one no more."""

    source: Slot
    made: Slot
    wanted: bool

    def do(self, replay: Replay) -> None:
        tensor = replay.values[self.source.number]
        if self.source.number != self.made.number:
            tensor = alias(tensor)
        tensor.requires_grad = self.wanted
        replay.values[self.made.number] = tensor

    def slots(self) -> Iterator[Slot]:
        yield self.source
        yield self.made

    def likeness(self) -> Any:
        return SetRequiresGrad, self.source, self.made, self.wanted

    def __str__(self) -> str:
        return f"{self.made} = {self.source}.requires_grad_({self.wanted})"


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
class Rebind(Step):
    """A tensor that was written takes the place on the tape of what was written.

    `over` keeps what it was before on the tape, too.
    """

    target: Slot
    value: Slot
    loose: bool
    over: bool
    grad: bool

    def do(self, replay: Replay) -> None:
        target = replay.values[self.target.number]
        value = replay.values[self.value.number]
        value = alias(value) if self.loose and value._node is not None else value
        with set_grad_enabled(self.grad):
            if self.over:
                keep_before(target, value, replay.before.get(self.target.number))
                return
            node = None if type(target._node) is View else target._node
            replay.before[self.target.number] = node
            rebind(target, value._node)

    def slots(self) -> Iterator[Slot]:
        yield self.target
        yield self.value

    def likeness(self) -> Any:
        return Rebind, self.target, self.value, self.loose, self.over, self.grad

    def __str__(self) -> str:
        return f"{self.target} {'over' if self.over else 'from'} {self.value} on tape"


@dataclass(frozen=True, slots=True)
class Draw(Step):
    """A generator gives the next place in its stream."""

    number: int
    generator: Generator
    words: int
    align: int

    def do(self, replay: Replay) -> None:
        replay.drawn[self.number] = self.generator.reserve(self.words, self.align)

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Draw, self.number, id(self.generator), self.words, self.align

    def __str__(self) -> str:
        return f"draw{self.number} = {self.words} words of {self.generator.device}"


@dataclass(frozen=True, slots=True)
class Seed(Step):
    """A generator goes to a place in a stream."""

    generator: Generator
    seed: int
    offset: int

    def do(self, replay: Replay) -> None:
        self.generator._set(self.seed, self.offset)

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Seed, id(self.generator)

    def varying(self) -> tuple[Any, ...]:
        return self.seed, self.offset

    def __str__(self) -> str:
        return f"seed {self.generator.device} with {self.seed}, at {self.offset}"


@dataclass(frozen=True, slots=True)
class Perform(Step):
    """A change of Python's state, such as a count of steps."""

    change: Callable[[], None]

    def do(self, replay: Replay) -> None:
        self.change()

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
        replay.values[self.made.number] = wrap(native, kind)

    def slots(self) -> Iterator[Slot]:
        yield self.made

    def likeness(self) -> Any:
        return Made, self.made, self.kind

    def varying(self) -> tuple[Any, ...]:
        return (self.values.tobytes(),)

    def __str__(self) -> str:
        return f"{self.made.describe()} = values of the host"


@dataclass(frozen=True, slots=True)
class ReadValue(Step):
    """Python read the values of a tensor, and may have decided by them."""

    source: Slot
    how: str
    kind: Kind
    values: bytes

    def do(self, replay: Replay) -> None:
        found = self.kind.backend.copy_out(replay.values[self.source.number]._a)
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
class Outside(Step):
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
