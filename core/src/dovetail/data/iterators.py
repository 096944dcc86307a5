"""One pass over a loader, by the names of torch's classes for it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self


class _BaseDataLoaderIter:
    """The batches of one pass; what it holds is let go at its end, or with it."""

    def __init__(self, batches: Iterator[Any]) -> None:
        self._batches = batches

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        return next(self._batches)

    next = __next__

    def close(self) -> None:
        """End the pass, and the workers that are nobody else's."""
        self._batches = iter(())  # whoever held workers lets them go


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches this process makes."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches workers make."""

    def _shutdown_workers(self) -> None:
        self.close()
