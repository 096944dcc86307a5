"""Arguments of a recorded function: which are tensors, and what must stay the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from dovetail.engine.generator import Generator, existing_generators
from dovetail.engine.graph import Slot
from dovetail.engine.naming import spec_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import CaptureError

T = TypeVar("T")


def leaves(value: Any) -> Iterator[Tensor]:
    """The tensors in lists, tuples and dicts, in order."""
    return _all_of(Tensor, value)


def generators(value: Any) -> list[Generator]:
    """The generators in lists, tuples and dicts, each once."""
    return list(dict.fromkeys(_all_of(Generator, value)))


def _all_of(cls: type[T], value: Any, within: tuple[Any, ...] = ()) -> Iterator[T]:
    if isinstance(value, cls):
        yield value
    elif isinstance(value, list | tuple | dict) and not _holds(within, value):
        for v in value.values() if isinstance(value, dict) else value:
            yield from _all_of(cls, v, (*within, value))


def _holds(outer: tuple[Any, ...], value: Any) -> bool:
    """Whether a container is one of those around it."""
    return any(value is v for v in outer)


def pattern(
    value: Any, name: Callable[[Tensor], Any], within: tuple[Any, ...] = ()
) -> Any:
    """The structure of a value with `name(tensor)` in the places of tensors."""
    if isinstance(value, Tensor):
        return name(value)
    if isinstance(value, list | tuple | dict):
        if _holds(within, value):
            return (type(value), "within itself")
        inner = (*within, value)
        if isinstance(value, dict):
            return (dict, *((k, pattern(v, name, inner)) for k, v in value.items()))
        return (type(value), *(pattern(v, name, inner) for v in value))
    if isinstance(value, Generator):
        return (Generator, value.device, value in existing_generators())
    return (type(value), value)


def looks(x: Tensor) -> tuple[Any, ...]:
    """What two tensors share for which one program does, beside values."""
    return (type(x), spec_of(x), x._kind, x.requires_grad, x.is_leaf)


def sharing(tensors: list[Tensor]) -> tuple[int, ...]:
    """For each tensor, the first one with the same memory."""
    roots = [id(root_of(x)) for x in tensors]
    return tuple(roots.index(r) for r in roots)


def root_of(x: Tensor) -> Any:
    """The memory that a tensor looks into."""
    return x._a if x._storage is None else x._storage.root


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a call has to share with the recorded one.

    Attributes:
        slots: of the tensors among the arguments, in order.
        streams: how many generators are among them.
        structure: of all arguments, with the looks of tensors.
        shared: which tensors have the same memory.
    """

    slots: tuple[Slot, ...]
    streams: int
    structure: Any
    shared: tuple[int, ...]

    @staticmethod
    def of(
        args: tuple[Any, ...], kwargs: dict[str, Any], name: Callable[[Tensor], Slot]
    ) -> Arguments:
        """The arguments of the call that is recorded."""
        tensors = list(leaves((args, kwargs)))
        return Arguments(
            tuple(map(name, tensors)), len(generators((args, kwargs))),
            pattern((args, kwargs), looks), sharing(tensors),
        )  # fmt: skip

    def numbers(self) -> set[int]:
        """The numbers of the slots."""
        return {s.number for s in self.slots}

    def mismatch(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """In what a call differs from the recorded one, None if in values only."""
        tensors = list(leaves((args, kwargs)))
        try:
            same = pattern((args, kwargs), looks) == self.structure
        except Exception:  # an argument that does not compare
            return "an argument that cannot be compared"
        if not same:
            return "structure, numbers, or shape, dtype, layout of tensors"
        if sharing(tensors) != self.shared:
            return "which of them share memory"
        if len(generators((args, kwargs))) != self.streams:
            return "which of them are one generator"
        return None

    def bind(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> dict[int, Any]:
        """The tensors by slot.

        Raises:
            CaptureError: the call differs in more than values.
        """
        wrong = self.mismatch(args, kwargs)
        if wrong is not None:
            raise CaptureError(
                name, "arguments", was=f"other than the recorded ones in {wrong}",
                needed="arguments that differ in values only",
                remedy="record the function for these arguments",
            )  # fmt: skip
        tensors = leaves((args, kwargs))
        return {s.number: x for s, x in zip(self.slots, tensors, strict=True)}

    def __str__(self) -> str:
        return ", ".join(s.describe() for s in self.slots)
