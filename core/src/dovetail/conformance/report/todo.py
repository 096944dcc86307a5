"""What is still to be written for a device, in the order that unlocks most."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dovetail.conformance.run import About
from dovetail.conformance.runner.supervisor import level_zero
from dovetail.conformance.unlocks import dependents
from dovetail.device_api import Backend, DenseBackend
from dovetail.engine.op import vocabulary

_SHOWN: Final = 12
# Of memory's functions, those that the first laws ask for, in their order.
_FIRST: Final = (
    "copy_in", "copy_out", "dense_in", "dense_out", "dense_dtype", "dense_reshape",
    "view", "geometry", "copy", "dense_full", "empty", "fill",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Item:
    """One function to write.

    Attributes:
        unlocks: how many ops are made of it, itself included; None for all of them.
        doc: what it must do, in one paragraph.
    """

    name: str
    unlocks: int | None
    doc: str


def to_do(unwritten: Iterable[str], methods: Iterable[str] = ()) -> list[Item]:
    """Memory first, then the kernels that most ops are made of.

    Args:
        unwritten: ops whose kernels are to be written; `methods` of the class.
    """
    unwritten = list(unwritten)
    users = dependents() if unwritten else {}  # which takes a second the first time
    kernels = [Item(op, len(users[op]), must_do(op)) for op in unwritten if op in users]
    return [
        *(Item(name, None, must_do(name)) for name in sorted(methods, key=_place)),
        *sorted(kernels, key=lambda item: (-(item.unlocks or 0), item.name)),
    ]


def _place(method: str) -> int:
    return _FIRST.index(method) if method in _FIRST else len(_FIRST)


def must_do(name: str) -> str:
    """What a method of a backend's class, or a kernel, has to do."""
    for base in (Backend, DenseBackend):
        if name in base.__abstractmethods__:
            return " ".join((inspect.getdoc(getattr(base, name)) or "").split())
    return " ".join(vocabulary[name].doc.split()) if name in vocabulary else ""


def missing(about: About) -> list[Item]:
    """What is to be written for a device."""
    return to_do(
        about.unwritten, [m for m, there in about.methods.items() if not there]
    )


def progress(about: About, left: int) -> str:
    """How many of the functions that level 0 asks for are to be written."""
    return f"{left} of {level_zero(about)} functions"


def listed(items: Sequence[Item], title: str) -> RenderableType:
    """The first of them with what each must do, and how many there are."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for item in items[:_SHOWN]:
        count = "all" if item.unlocks is None else f"{item.unlocks} ops"
        table.add_row(item.name, f"unlocks {count}", Text(item.doc))
    more = len(items) - _SHOWN
    rest = [Text(f"  … and {more} more", "dim")] if more > 0 else []
    return Group(Text(f"To do: {title}", "bold"), Padding(table, (0, 2)), *rest)


__all__ = ["Item", "listed", "missing", "must_do", "progress", "to_do"]
