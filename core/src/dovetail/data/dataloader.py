"""`DataLoader`: batches of a dataset, made in this process or in others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast

from dovetail import frontend as ft
from dovetail.engine.missing_names import missing_name
from dovetail.errors import ArgumentError, ArgumentTypeError

from .collate import default_collate, default_convert
from .datapipes import IterDataPipe
from .datapipes.graph import set_shuffle
from .dataset import Dataset, IterableDataset
from .fetch import Recipe, StreamEnded
from .iterators import _MultiProcessingDataLoaderIter, _SingleProcessDataLoaderIter
from .pinning import pinned_batches
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .worker_pool import WorkerPool

# What is not to be set once a loader is made: the order and the batches follow from it.
_FIXED: Final = frozenset({
    "batch_sampler", "batch_size", "dataset", "drop_last", "persistent_workers",
    "sampler",
})  # fmt: skip
# Seeds of workers are below.
_SEEDS: Final = 2**63 - 1
T_co = TypeVar("T_co", covariant=True)


class DataLoader(Generic[T_co]):
    """Iterates over the batches of a dataset.

    Args:
        dataset: samples by number, or an IterableDataset.
        batch_size: samples in a batch; None gives them one by one, not joined.
        shuffle: whether each pass has a new random order; an IterDataPipe's steps
            then shuffle, or do not.
        sampler: gives the order instead.
        batch_sampler: gives the lists of numbers instead.
        num_workers: how many processes make batches; 0 makes them in this one.
        collate_fn: makes a batch of a list of samples; `default_collate` if None.
        pin_memory: whether the tensors of batches are in pinned memory, from which
            `to(device, non_blocking=True)` does not wait.
        pin_memory_device: the type of the device that they go to; the accelerator if
            not given.
        drop_last: whether a shorter last batch is left out.
        timeout: seconds after which a worker is taken to hang; 0 waits forever.
        worker_init_fn: called in each worker with its number, when it is seeded.
        multiprocessing_context: how workers start: "fork", "spawn", "forkserver", or a
            context of multiprocessing; None for the system's way.
        generator: where the random order and the workers' seeds come from.
        prefetch_factor: how many batches each worker is ahead; 2 if None.
        persistent_workers: whether workers stay from pass to pass.
        in_order: False gives batches as they are made, whatever the sampler's order.

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
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.prefetch_factor = (
            2 if num_workers and prefetch_factor is None else prefetch_factor
        )
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.multiprocessing_context = multiprocessing_context
        self._pool: WorkerPool | None = None
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.generator = generator
        self.iterable = isinstance(dataset, IterableDataset)
        if isinstance(dataset, IterDataPipe):
            self.dataset, shuffle = set_shuffle(dataset, shuffle), None
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
        if batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.batch_sampler = batch_sampler
        self.collate_fn: Callable[[Any], Any] = collate_fn or self._default_collate()
        self._is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute; not what the order or the batches were made of."""
        if name in _FIXED and self.__dict__.get("_is_made"):
            raise ArgumentError(
                "DataLoader", name, was="set after the loader was made",
                needed="an argument: it should not be set after DataLoader is "
                "initialized",
            )  # fmt: skip
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> Any:
        """The context by which workers start; None for that of the process."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        if given is not None and not self.num_workers:
            raise _for_workers("multiprocessing_context", given)
        self._multiprocessing_context = None if given is None else _context(given)

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
        return default_collate if self._batched else default_convert

    def __iter__(self) -> Iterator[Any]:
        batches = self._batches()
        if self.pin_memory:
            batches = pinned_batches(batches, self.pin_memory_device)
        if self.num_workers:
            return _MultiProcessingDataLoaderIter(batches)
        return _SingleProcessDataLoaderIter(batches)

    def _batches(self) -> Iterator[Any]:
        """The batches of a pass, wherever they are made."""
        recipe = Recipe(self.dataset, self._batched, self.collate_fn, self.drop_last)
        base_seed = int(ft.randint(_SEEDS, (), generator=self.generator).item())
        order = self.sampler if self.batch_sampler is None else self.batch_sampler
        if not self.num_workers:
            recipe.begin(base_seed)
            return _InThisProcess(recipe, iter(order))
        pool = self._pool
        if pool is None or not pool.workers:
            pool = self._start(recipe, base_seed)
        if self.persistent_workers:
            self._pool = pool
            return pool.batches(iter(order), base_seed)
        return _AndClose(pool, pool.batches(iter(order), base_seed))

    @property
    def _batched(self) -> bool:
        return self.batch_sampler is not None

    def _start(self, recipe: Recipe, base_seed: int) -> WorkerPool:
        context = self.multiprocessing_context or _context(None)
        return WorkerPool(
            context, recipe, count=self.num_workers,
            prefetch=self.prefetch_factor or 2, base_seed=base_seed,
            start=self.worker_init_fn, timeout=self.timeout, in_order=self.in_order,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_pool": None}

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


class _InThisProcess:
    """The batches of a pass, made here; after one that fails, others still come."""

    def __init__(self, recipe: Recipe, order: Iterator[Any]) -> None:
        self._fetch, self._order = recipe.fetcher(), order

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return self._fetch(next(self._order))
        except StreamEnded:
            self._order = iter(())
            raise StopIteration from None


class _AndClose:
    """Batches of workers that end when nobody wants more."""

    def __init__(self, pool: WorkerPool, batches: Iterator[Any]) -> None:
        self._pool, self._batches = pool, batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        try:
            return next(self._batches)
        except StopIteration:
            self._pool.close()
            raise

    def __del__(self) -> None:
        if self._pool.workers:
            self._pool.close()


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


def _check_workers(
    count: Any, timeout: float, prefetch: int | None, persistent: bool
) -> None:
    """Raise for options of workers that make no sense, or that nobody will read."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise ArgumentError(
            "DataLoader", "num_workers", was=repr(count), needed="an int >= 0"
        )
    if timeout < 0:
        raise ArgumentError("DataLoader", "timeout", was=timeout, needed="0 or more")
    if prefetch is not None and prefetch < 1:
        raise ArgumentError(
            "DataLoader", "prefetch_factor", was=prefetch, needed="1 or more"
        )
    if count:
        return
    for_workers = {
        "timeout": timeout,
        "prefetch_factor": prefetch,
        "persistent_workers": persistent,
    }
    for name, value in for_workers.items():
        if value:
            raise _for_workers(name, value)


def _for_workers(name: str, value: Any) -> ArgumentError:
    return ArgumentError(
        "DataLoader", name, was=f"{value!r} with num_workers=0",
        needed="its default", remedy="it is for workers: set num_workers",
    )  # fmt: skip


def _context(given: Any) -> Any:
    """The context by which processes start."""
    import multiprocessing.context

    if given is not None and not isinstance(given, str):
        if not isinstance(given, multiprocessing.context.BaseContext):
            raise ArgumentTypeError(
                "DataLoader", "multiprocessing_context", was=type(given).__name__,
                needed="a string, or a context of multiprocessing",
            )  # fmt: skip
        return given
    known = multiprocessing.get_all_start_methods()
    if given is not None and given not in known:
        raise ArgumentError(
            "DataLoader", "multiprocessing_context", was=repr(given),
            needed=f"one of {known}",
        )  # fmt: skip
    return multiprocessing.get_context(given)


if not TYPE_CHECKING:
    __getattr__ = missing_name(__name__)
