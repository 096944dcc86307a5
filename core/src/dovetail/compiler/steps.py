"""Steps of a recorded program, and the most frequent one: an op call."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dovetail.device import device
from dovetail.engine.execution import results_of
from dovetail.engine.generator import Generator
from dovetail.engine.graph import Call, Number, Slot, is_slot
from dovetail.engine.kinds import Kind, scalar_native
from dovetail.engine.modes import set_grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.scopes import live
from dovetail.engine.tensor import Tensor, alias, wrap
from dovetail.errors import CaptureError


@dataclass(slots=True)
class Replay:
    """A replay that goes on.

    Attributes:
        values: tensors by slot.
        drawn: places drawn, by draw.
        before: what tensors that are written were on the tape, by slot.
        streams: the generators that it was given, or made, by number.
    """

    name: str
    values: dict[int, Tensor]
    drawn: dict[int, tuple[int, int]] = field(default_factory=dict)
    before: dict[int, Any] = field(default_factory=dict)
    streams: dict[int, Generator] = field(default_factory=dict)

    def generator(self, stream: Stream) -> Generator:
        """The generator of a stream: what it was, or what this replay made."""
        if stream.number is None:
            assert stream.found is not None
            return stream.found
        return self.streams[stream.number]


@dataclass(frozen=True, slots=True)
class Stream:
    """A generator of a program: one that was there before, is given, or made.

    Attributes:
        number: counts those that are given or made; None for one of before.
    """

    device: device
    number: int | None = None
    found: Generator | None = None

    def __str__(self) -> str:
        return f"{self.device}" if self.number is None else f"generator{self.number}"


@dataclass(frozen=True, slots=True)
class Drawn:
    """The seed or the offset of a draw."""

    draw: int
    which: int

    def __repr__(self) -> str:
        return f"draw{self.draw}.{'offset' if self.which else 'seed'}"


@dataclass(frozen=True, slots=True)
class Read:
    """A number that is read from Python's state at each replay."""

    read: Callable[[], float]
    value: float

    def __repr__(self) -> str:
        return f"live({self.value!r})"


class Step(ABC):
    """One thing that a program does."""

    @abstractmethod
    def do(self, replay: Replay) -> None:
        """Do it again, on the tensors of a replay."""

    @abstractmethod
    def slots(self) -> Iterator[Slot]:
        """The values that it reads, makes or changes."""

    @abstractmethod
    def likeness(self) -> Any:
        """What makes two steps the same: all but numbers that may vary."""

    def varying(self) -> tuple[Any, ...]:
        """The numbers that may vary from call to call."""
        return ()


@dataclass(frozen=True, slots=True)
class Run(Step):
    """An op call.

    Attributes:
        attrs: as the call's, with kinds, live numbers and draws.
        numbers: the kinds of the numbers among the inputs, in order.
        loose: which inputs were off the tape, counted through lists.
    """

    call: Call
    op: Op
    attrs: dict[str, Any]
    numbers: tuple[Kind, ...]
    loose: frozenset[int]

    def do(self, replay: Replay) -> None:
        given = _Given(self, replay)
        inputs = tuple(given.value(x) for x in self.call.inputs)
        attrs = {k: _read(v, replay) for k, v in self.attrs.items()}
        with set_grad_enabled(self.call.grad):
            outs = results_of(self.op, inputs, attrs)
        for slot, y in zip(self.call.outputs, outs, strict=True):
            if tuple(y._a.shape) != slot.spec.shape:
                raise CaptureError(
                    replay.name, f"{slot} of {self.op.name}",
                    was=f"of shape {tuple(y._a.shape)}",
                    needed=f"{slot.spec.shape}, as recorded",
                    remedy="record the function for such values",
                )  # fmt: skip
            replay.values[slot.number] = y

    def slots(self) -> Iterator[Slot]:
        yield from self.call.slots()
        yield from self.call.outputs

    def likeness(self) -> Any:
        scalars = self.op.scalars
        attrs = {k: type(v) if k in scalars else v for k, v in self.attrs.items()}
        inputs = tuple(
            (Number, x.dtype) if type(x) is Number else x for x in self.call.inputs
        )
        return (
            Run, self.op.name, inputs, repr(attrs), self.call.outputs, self.call.writes,
            self.call.grad, self.loose,
        )  # fmt: skip

    def varying(self) -> tuple[Any, ...]:
        found = [x.value for x in self.call.inputs if type(x) is Number]
        return (*found, *(repr(self.attrs[name]) for name in self.op.scalars))

    def __str__(self) -> str:
        return str(self.call)


class _Given:
    """The inputs of a call, counted as its `loose` are."""

    def __init__(self, run: Run, replay: Replay) -> None:
        self.run = run
        self.values = replay.values
        self.kinds = iter(run.numbers)
        self.count = 0

    def value(self, x: Any) -> Any:
        if type(x) is tuple:
            return [self.value(v) for v in x]
        at = self.count
        self.count += 1
        if is_slot(x):
            found = self.values[x.number]
            loose = at in self.run.loose and found._node is not None
            return alias(found) if loose else found
        if type(x) is Number:
            kind = next(self.kinds)
            return wrap(scalar_native(kind, x.value), kind)
        return x


def _read(value: Any, replay: Replay) -> Any:
    if type(value) is Drawn:
        return replay.drawn[value.draw][value.which]
    return live(value.read) if type(value) is Read else value
