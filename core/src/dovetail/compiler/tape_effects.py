"""What a recorded program does to the tape beside op calls: steps of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dovetail.compiler.steps import Replay, Step
from dovetail.engine.graph import Slot
from dovetail.engine.inplace import keep_before, keep_copies, rebind
from dovetail.engine.modes import set_grad_enabled
from dovetail.engine.scopes import tell
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import alias


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
class RetainGrad(Step):
    """A tensor that is no leaf keeps its gradient."""

    target: Slot

    def do(self, replay: Replay) -> None:
        replay.values[self.target.number].retain_grad()

    def slots(self) -> Iterator[Slot]:
        yield self.target

    def likeness(self) -> Any:
        return RetainGrad, self.target

    def __str__(self) -> str:
        return f"{self.target}.retain_grad()"


@dataclass(frozen=True, slots=True)
class KeepCopies(Step):
    """What made some values keeps copies of a tensor that is about to be written."""

    target: Slot
    made: tuple[Slot, ...]

    def do(self, replay: Replay) -> None:
        target = replay.values[self.target.number]
        for slot in self.made:
            node = replay.values[slot.number].grad_fn
            if node is not None:
                keep_copies(target, node)

    def slots(self) -> Iterator[Slot]:
        yield self.target
        yield from self.made

    def likeness(self) -> Any:
        return KeepCopies, self.target, self.made

    def __str__(self) -> str:
        made = ", ".join(map(str, self.made))
        return f"what made {made} keeps copies of {self.target}"


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
