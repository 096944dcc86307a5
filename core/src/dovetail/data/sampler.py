"""Samplers: in which order a DataLoader asks for samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.generator import Generator
from dovetail.errors import ArgumentError

T_co = TypeVar("T_co", covariant=True)


class Sampler(Generic[T_co]):
    """Base class: a subclass has `__iter__`, which yields numbers of samples."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All samples in order."""

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples at random.

    Args:
        data_source: the dataset.
        replacement: whether each draw is from all samples; else each sample comes
            once before any comes again.
        num_samples: how many; None for as many as there are.
        generator: where the order comes from; None is the CPU's default generator.
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Any = None,
    ) -> None:
        _check_bool("RandomSampler", replacement)
        if num_samples is not None:
            _check_count("RandomSampler", "num_samples", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator

    @property
    def num_samples(self) -> int:
        """How many samples are drawn, by the length that the dataset has now."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        size, left = len(self.data_source), self.num_samples
        generator = self.generator or _own_generator()
        if left and not size:
            raise ArgumentError(
                "RandomSampler", "data_source", was="empty", needed="samples to draw"
            )
        while left > 0:
            if self.replacement:
                order = _integers(size, min(left, 4096), generator)
            else:
                order = _permutation(size, generator)[:left]
            yield from order
            left -= len(order)

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The samples `indices`, each once, at random."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        order = _permutation(len(self.indices), self.generator)
        return (self.indices[i] for i in order)

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples with probabilities in proportion to `weights`.

    Args:
        weights: one for each sample; they need not sum to one.
        num_samples: how many to draw.
        replacement: whether a sample may come more than once.
        generator: where the draws come from.
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Any = None,
    ) -> None:
        _check_bool("WeightedRandomSampler", replacement)
        _check_count("WeightedRandomSampler", "num_samples", num_samples)
        self.weights = ft.as_tensor(weights, dtype=dtypes.float64)
        if self.weights.ndim != 1:
            raise ArgumentError(
                "WeightedRandomSampler", "weights",
                was=f"{self.weights.ndim}-dimensional", needed="1 dimension",
            )  # fmt: skip
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        draws = ft.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        return iter(draws.tolist())

    def __len__(self) -> int:
        return self.num_samples


class DistributedSampler(Sampler[T_co]):
    """The part of a dataset's samples that is one process's.

    All processes have as many; without `drop_last` the first samples come twice for
    that.

    Args:
        dataset: the dataset.
        num_replicas: how many processes there are; asked of the group, if None.
        rank: which of them this is; asked of the group, if None.
        shuffle: whether each epoch has a random order, the same in all processes.
        seed: of that order.
        drop_last: whether samples are left out rather than taken twice.
    """

    def __init__(
        self,
        dataset: Sized,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            from dovetail.distributed.groups import get_rank, get_world_size

            num_replicas = get_world_size() if num_replicas is None else num_replicas
            rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ArgumentError(
                "DistributedSampler",
                "rank",
                was=rank,
                needed=f"0 to {num_replicas - 1}",
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        size = len(dataset)
        each, rest = divmod(size, num_replicas)
        self.num_samples = each + (1 if rest and not drop_last else 0)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[Any]:
        order = list(range(len(self.dataset)))
        if self.shuffle:
            generator = Generator().manual_seed(self.seed + self.epoch)
            order = _permutation(len(order), generator)
        while order and len(order) < self.total_size:
            order += order[: self.total_size - len(order)]
        return iter(order[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch, of which the random order depends."""
        self.epoch = epoch


class BatchSampler(Sampler[list[int]]):
    """The numbers of another sampler in lists of `batch_size`.

    Args:
        sampler: what to take the numbers from.
        batch_size: length of the lists.
        drop_last: whether a shorter last list is left out.
    """

    def __init__(
        self, sampler: Iterable[int], batch_size: int, drop_last: bool
    ) -> None:
        _check_count("BatchSampler", "batch_size", batch_size)
        _check_bool("BatchSampler", drop_last, "drop_last")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # type: ignore[arg-type]
        full, rest = divmod(count, self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


def _own_generator() -> Generator:
    """One seeded by the default generator, of which later draws are independent."""
    seed = int(ft.randint(2**63 - 1, ()).item())
    return Generator().manual_seed(seed)


def _permutation(size: int, generator: Any) -> list[int]:
    order: list[int] = ft.randperm(size, generator=generator, device="cpu").tolist()
    return order


def _integers(size: int, count: int, generator: Any) -> list[int]:
    drawn = ft.randint(size, (count,), generator=generator, device="cpu")
    numbers: list[int] = drawn.tolist()
    return numbers


def _check_count(op: str, name: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ArgumentError(op, name, was=repr(value), needed="a positive int")


def _check_bool(op: str, value: Any, name: str = "replacement") -> None:
    if not isinstance(value, bool):
        raise ArgumentError(op, name, was=repr(value), needed="a bool")
