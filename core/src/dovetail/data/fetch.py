"""How batches are made of a dataset, in this process or in a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple, cast

from .datapipes import IterDataPipe, MapDataPipe
from .datapipes.graph import set_random_seeds, share
from .dataset import IterableDataset


class StreamEnded(Exception):
    """A stream has no more samples."""


class Recipe(NamedTuple):
    """What a batch is made of.

    Attributes:
        dataset: samples by number, or one after another.
        batched: whether samples are joined; else they are converted one by one.
        collate: makes a batch of a list of samples, or of one sample.
        drop_last: whether what is left at the end of a stream is no batch.
    """

    dataset: Any
    batched: bool
    collate: Callable[[Any], Any]
    drop_last: bool

    def begin(self, seed: int) -> None:
        """Begin a pass: give the random steps of a datapipe their seeds."""
        if isinstance(self.dataset, IterDataPipe | MapDataPipe):
            set_random_seeds(self.dataset, seed)

    def share(self, count: int, number: int) -> None:
        """Let a datapipe give one worker's part of its items."""
        if isinstance(self.dataset, IterDataPipe):
            share(self.dataset, count, number)

    def fetcher(self) -> Callable[[Any], Any]:
        """A function from what a sampler yields to a batch.

        It raises StreamEnded where a stream has ended.
        """
        if isinstance(self.dataset, IterableDataset):
            return _Stream(self, iter(self.dataset)).next_batch
        return self._by_number

    def _by_number(self, index: Any) -> Any:
        if not self.batched:
            return self.collate(self.dataset[index])
        at_once = getattr(self.dataset, "__getitems__", None)
        if at_once is not None:
            return self.collate(cast("list[Any]", at_once(index)))
        return self.collate([self.dataset[i] for i in index])


class _Stream:
    """Batches of samples that come one after another."""

    def __init__(self, recipe: Recipe, samples: Iterator[Any]) -> None:
        self.recipe = recipe
        self.samples = samples

    def next_batch(self, index: Any) -> Any:
        """The next batch, as long as `index` is."""
        collate, drop_last = self.recipe.collate, self.recipe.drop_last
        wanted = len(index) if self.recipe.batched else 1
        batch = list(islice(self.samples, wanted))
        if not batch or (drop_last and len(batch) < wanted):
            raise StreamEnded
        return collate(batch if self.recipe.batched else batch[0])
