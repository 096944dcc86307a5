"""`DataLoader`: batches of a dataset, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, cast

from dovetail.errors import ArgumentError, NotSupported

from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .sampler import BatchSampler, RandomSampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)


class DataLoader(Generic[T_co]):
    """Iterates over the batches of a dataset.

    Args:
        dataset: samples by number, or an IterableDataset.
        batch_size: samples in a batch; None gives them one by one, not joined.
        shuffle: whether each pass has a new random order.
        sampler: gives the order instead.
        batch_sampler: gives the lists of numbers instead.
        num_workers: 0; loading in other processes is not there yet.
        collate_fn: makes a batch of a list of samples; `default_collate` if None.
        pin_memory: taken, and without effect in one process.
        drop_last: whether a shorter last batch is left out.
        generator: where the random order comes from.

    Examples:
        >>> import dovetail as torch
        >>> from dovetail.data import DataLoader, TensorDataset
        >>> images, labels = torch.rand(10, 3), torch.arange(10)
        >>> loader = DataLoader(TensorDataset(images, labels), batch_size=4)
        >>> [(len(x), y.tolist()) for x, y in loader]
        [(4, [0, 1, 2, 3]), (4, [4, 5, 6, 7]), (2, [8, 9])]
    """

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[int] | None = None,
        batch_sampler: Iterable[list[int]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers != 0:
            raise NotSupported(
                "DataLoader", "num_workers", was=num_workers, needed="0",
                remedy="multi-process loading is not there yet; load in this process",
            )  # fmt: skip
        for_workers = {
            "timeout": timeout,
            "prefetch_factor": prefetch_factor,
            "persistent_workers": persistent_workers,
            "multiprocessing_context": multiprocessing_context,
        }
        for name, value in for_workers.items():
            if value:
                raise ArgumentError(
                    "DataLoader", name, was=value, needed="its default",
                    remedy="it is for loading in other processes, which is not there",
                )  # fmt: skip
        self.dataset = dataset
        self.num_workers = 0
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.iterable = isinstance(dataset, IterableDataset)
        if self.iterable:
            self._check_iterable(shuffle, sampler, batch_sampler)
        if batch_sampler is not None:
            _check_batch_sampler(batch_size, shuffle, sampler, drop_last)
            batch_size = None
        elif batch_size is None and drop_last:
            raise ArgumentError(
                "DataLoader", "drop_last", was="True without a batch_size",
                needed="a batch_size, for there is no last batch",
            )  # fmt: skip
        if sampler is not None and shuffle:
            raise ArgumentError(
                "DataLoader", "shuffle", was="True together with a sampler",
                needed="one of them, for both give the order",
            )  # fmt: skip
        self.sampler = self._order(shuffle) if sampler is None else sampler
        if batch_size is not None and not self.iterable:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.batch_sampler = batch_sampler
        self.collate_fn: Callable[[Any], Any] = collate_fn or self._default_collate()

    @staticmethod
    def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
        given = {
            "shuffle": shuffle or None,
            "sampler": sampler,
            "batch_sampler": batch_sampler,
        }
        for name, value in given.items():
            if value is not None:
                raise ArgumentError(
                    "DataLoader", name, was=f"{value!r} with an IterableDataset",
                    needed="its default", remedy="the dataset gives the order itself",
                )  # fmt: skip

    def _order(self, shuffle: bool | None) -> Iterable[int]:
        if self.iterable:
            return _Endless()
        sized = cast("Any", self.dataset)
        if shuffle:
            return RandomSampler(sized, generator=self.generator)
        return SequentialSampler(sized)

    def _default_collate(self) -> Callable[[Any], Any]:
        batched = self.batch_size is not None or self.batch_sampler is not None
        return default_collate if batched else default_convert

    def __iter__(self) -> Iterator[Any]:
        if self.iterable:
            return self._iterate_iterable()
        if self.batch_sampler is None:
            return (self.collate_fn(self.dataset[i]) for i in self.sampler)
        return (self.collate_fn(self._fetch(batch)) for batch in self.batch_sampler)

    def _fetch(self, indices: list[int]) -> list[Any]:
        at_once = getattr(self.dataset, "__getitems__", None)
        if at_once is not None:
            return cast("list[Any]", at_once(indices))
        return [self.dataset[i] for i in indices]

    def _iterate_iterable(self) -> Iterator[Any]:
        samples = iter(cast("IterableDataset[Any]", self.dataset))
        if self.batch_size is None:
            yield from map(self.collate_fn, samples)
            return
        batch: list[Any] = []
        for sample in samples:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        """The number of batches.

        Raises: TypeError for an IterableDataset without a length.
        """
        if not self.iterable:
            counted = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(cast("Any", counted))
        samples = len(cast("Any", self.dataset))
        if self.batch_size is None:
            return samples
        full, rest = divmod(samples, self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


class _Endless:
    """The order of an IterableDataset, which nobody asks by number."""

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield None


def _check_batch_sampler(
    batch_size: int | None, shuffle: bool | None, sampler: Any, drop_last: bool
) -> None:
    if batch_size != 1 or shuffle or sampler is not None or drop_last:
        raise ArgumentError(
            "DataLoader", "batch_sampler",
            was="given together with batch_size, shuffle, sampler or drop_last",
            needed="alone, for it decides all of these",
        )  # fmt: skip
