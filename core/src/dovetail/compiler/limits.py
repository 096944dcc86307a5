"""Where a recording cannot simply be done again: what Python read, or brought along."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from dovetail.compiler.results import opaque_in, tensors_of
from dovetail.compiler.steps import Replay, Step
from dovetail.engine.checks import values_of
from dovetail.engine.graph import Slot
from dovetail.engine.op import Op
from dovetail.engine.tape import Leaf, Output
from dovetail.engine.tape_of_views import edge_of
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
class Unmakable(Limit):
    """The result is one of which a replay cannot make another."""

    what: str

    def do(self, replay: Replay) -> None:
        raise CaptureError(
            replay.name, "result", was=self.what,
            needed="tensors, plain values, and containers of these, without hooks",
            remedy="run backward within the function, or use dovetail.compile",
        )  # fmt: skip

    def slots(self) -> Iterator[Slot]:
        return iter(())

    def likeness(self) -> Any:
        return Unmakable, self.what

    def __str__(self) -> str:
        return f"# {self.what}"


def limits_of(
    result: Any, start: int, was_there: Callable[[Leaf], bool]
) -> Iterator[Limit]:
    """Why there can be no other result like this one, if there are reasons.

    Args:
        start: the number from which on nodes are of this program.
        was_there: whether a leaf was there before.
    """
    for what in _python_on_tape(result, start, was_there):
        yield Unmakable(f"a differentiable one with {what}")
    opaque = opaque_in(result)
    if opaque is not None:
        yield Unmakable(f"one with an object of class {opaque}")


def _python_on_tape(
    result: Any, start: int, was_there: Callable[[Leaf], bool]
) -> Iterator[str]:
    """Functions of Python's that a program put on the tape of its result."""
    tensors = [x for x in tensors_of(result) if x._node is not None]
    edges: list[Any] = [edge_of(x._node) for x in tensors]
    seen: set[int] = set()
    while edges:
        at = edges.pop()
        node = at.node if type(at) is Output else at
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        if type(node) is Leaf:
            if (node.hooks or node.after) and not was_there(node):
                yield "a hook on a leaf that was made"
        elif node.seq >= start and node.saved is not None:  # else it was freed
            if not isinstance(node.op, Op):
                yield "a backward hook of a module"
            elif node.extra is not None and any(node.extra.hooks.values()):
                yield f"a hook on a result of {node.op.name}"
            edges += node.edges


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
