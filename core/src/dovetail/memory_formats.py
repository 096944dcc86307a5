"""How the elements of a tensor may lie in memory: torch's layouts and memory formats.

All tensors but sparse ones are strided. A memory format is an order of dims, the last
of which is the one whose elements are neighbours.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail.errors import ArgumentError


class layout:
    """Whether and how elements are left out: they are not in `strided` tensors."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"dovetail.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.name,)


class memory_format:
    """An order in which the dims of a tensor lie in memory."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"dovetail.{self.name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _by_name, (self.name,)


strided: Final = layout("strided")
contiguous_format: Final = memory_format("contiguous_format")
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")
LAYOUTS: Final = {
    name: layout(name)
    for name in (
        "sparse_coo",
        "sparse_csr",
        "sparse_csc",
        "sparse_bsr",
        "sparse_bsc",
        "jagged",
    )
} | {"strided": strided}
FORMATS: Final = {
    f.name: f
    for f in (contiguous_format, preserve_format, channels_last, channels_last_3d)
}
_LAST: Final = {channels_last: (0, 2, 3, 1), channels_last_3d: (0, 2, 3, 4, 1)}


def _by_name(name: str) -> Any:
    return (LAYOUTS | FORMATS)[name]


def rank_of(wanted: memory_format) -> int | None:
    """How many dims a format is for, None where for any number."""
    order = _LAST.get(wanted)
    return None if order is None else len(order)


def order_in(name: str, wanted: memory_format, ndim: int) -> tuple[int, ...]:
    """The dims from the outermost to the innermost, in a format that says so.

    Args:
        name: of what was called, for errors.

    Raises: ArgumentError for a format of tensors with another number of dims.
    """
    order = _LAST.get(wanted, tuple(range(ndim)))
    if len(order) != ndim:
        raise ArgumentError(
            name, "memory_format", was=f"{wanted} for {ndim} dims",
            needed=f"a tensor of rank {len(order)}: required rank {len(order)} tensor "
            f"to use {wanted.name} format",
        )  # fmt: skip
    return order
