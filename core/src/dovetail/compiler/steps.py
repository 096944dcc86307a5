"""What a recorded program does: op calls, and changes that are no ops."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dovetail.engine.dispatch import results_of
from dovetail.engine.generator import Generator
from dovetail.engine.graph import Call, Number, Slot, is_slot
from dovetail.engine.inplace import keep_before, rebind
from dovetail.engine.kinds import Kind, scalar_native
from dovetail.engine.modes import set_grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.tape_of_views import View
from dovetail.engine.tensor import Tensor, alias, wrap
from dovetail.errors import CaptureError


@dataclass(slots=True)
class Replay:
    """A replay that goes on: tensors by slot, places drawn, and nodes of before."""

    name: str
    values: dict[int, Tensor]
    drawn: dict[int, tuple[int, int]] = field(default_factory=dict)
    before: dict[int, Any] = field(default_factory=dict)


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
    return value.read() if type(value) is Read else value


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
