"""Pipes that read several."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..checks import check_pipes, length_of
from ..datapipe import IterDataPipe
from ..decorators import functional_datapipe


class Joined(IterDataPipe[Any]):
    """A pipe of several."""

    def __init__(self, *datapipes: IterDataPipe[Any]) -> None:
        check_pipes(type(self).__name__, datapipes, IterDataPipe, empty=False)
        self.datapipes = datapipes

    def _lengths(self) -> list[int]:
        return [length_of(self, pipe) for pipe in self.datapipes]


@functional_datapipe("concat")
class Concater(Joined):
    """The items of one pipe after those of the other."""

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(self._lengths())


@functional_datapipe("mux")
class Multiplexer(Joined):
    """An item of each pipe in turn, while all have one."""

    def __iter__(self) -> Iterator[Any]:
        for items in zip(*self.datapipes, strict=False):
            yield from items

    def __len__(self) -> int:
        return min(self._lengths()) * len(self.datapipes)


@functional_datapipe("zip")
class Zipper(Joined):
    """Tuples of an item of each pipe, while all have one."""

    def __iter__(self) -> Iterator[Any]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(self._lengths())
