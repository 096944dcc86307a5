"""What a recorded program does beside op calls: each kind of it is a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dovetail.compiler.steps import Replay, Step
from dovetail.engine.graph import Slot
from dovetail.engine.inplace import keep_before, rebind
from dovetail.engine.kinds import Kind
from dovetail.engine.modes import set_grad_enabled
from dovetail.engine.scopes import perform, tell
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import alias, wrap


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
    """A tensor becomes a leaf that requires gradients, or is one no more."""

    target: Slot
    wanted: bool

    def do(self, replay: Replay) -> None:
        replay.values[self.target.number].requires_grad = self.wanted

    def slots(self) -> Iterator[Slot]:
        yield self.target

    def likeness(self) -> Any:
        return SetRequiresGrad, self.target, self.wanted

    def __str__(self) -> str:
        return f"{self.target}.requires_grad = {self.wanted}"


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
class LeaveTape(Step):
    """A tensor forgets what made it: `detach_`."""

    target: Slot

    def do(self, replay: Replay) -> None:
        replay.values[self.target.number].detach_()

    def slots(self) -> Iterator[Slot]:
        yield self.target

    def likeness(self) -> Any:
        return LeaveTape, self.target

    def __str__(self) -> str:
        return f"{self.target}.detach_()"


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
                tell("overwrite", target, value)
                return
            node = None if type(target._node) is View else target._node
            replay.before[self.target.number] = node
            rebind(target, value._node)
            tell("rebind", target, value)

    def slots(self) -> Iterator[Slot]:
        yield self.target
        yield self.value

    def likeness(self) -> Any:
        return Rebind, self.target, self.value, self.loose, self.over, self.grad

    def __str__(self) -> str:
        return f"{self.target} {'over' if self.over else 'from'} {self.value} on tape"


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
