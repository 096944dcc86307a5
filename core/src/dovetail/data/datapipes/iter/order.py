"""Pipes that give items in another order, or some of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any, Final, Self, TypeVar

from dovetail import frontend as ft
from dovetail.errors import ArgumentError, CallOrderError

from ...sampler import SequentialSampler
from ..checks import check_positive, length_of
from ..datapipe import IterDataPipe
from ..decorators import functional_datapipe
from ..graph import SHARDING_PRIORITIES

T_co = TypeVar("T_co", covariant=True)
_SEEDS: Final = 2**63 - 1


class Sampler(IterDataPipe[T_co]):
    """What a sampler gives of a pipe.

    Args:
        datapipe: has a length.
        sampler: a class of samplers, made of the pipe and of the other arguments.
    """

    def __init__(
        self, datapipe: Any, sampler: Any = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        length_of(self, datapipe)
        self.datapipe = datapipe
        named = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*(sampler_args or ()), **named)

    def __iter__(self) -> Iterator[Any]:
        yield from self.sampler

    def __len__(self) -> int:
        return length_of(self, self.sampler)


class Seeded(IterDataPipe[T_co]):
    """A pipe whose order is random: by a seed for each pass."""

    def __init__(self) -> None:
        self._enabled = True
        self._seed: int | None = None
        self._random = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Whether the order is random; gives the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """The seed of the next pass; gives the pipe."""
        self._seed = seed
        return self

    def reset(self) -> None:
        """Begin a pass: by the seed that was set, else by one that is drawn."""
        if self._enabled:
            seed = self._seed
            if seed is None:
                seed = int(ft.randint(_SEEDS, (), device="cpu").item())
            self._random.seed(seed)
            self._seed = None


@functional_datapipe("shuffle")
class Shuffler(Seeded[T_co]):
    """Items at random out of a buffer that is filled as they leave it.

    Args:
        buffer_size: how many it holds; as many as there are shuffle them all.
        unbatch_level: how many levels of batches are undone before.

    Examples:
        >>> from dovetail.data.datapipes.iter import IterableWrapper
        >>> list(IterableWrapper(range(6)).shuffle().set_seed(0))
        [3, 2, 0, 5, 1, 4]
    """

    def __init__(
        self, datapipe: IterDataPipe[T_co], *, buffer_size: int = 10000,
        unbatch_level: int = 0,
    ) -> None:  # fmt: skip
        check_positive("shuffle", "buffer_size", buffer_size)
        super().__init__()
        if unbatch_level:
            datapipe = datapipe.unbatch(unbatch_level=unbatch_level)
        self.datapipe, self.buffer_size = datapipe, buffer_size

    def __iter__(self) -> Iterator[T_co]:
        if not self._enabled:
            yield from self.datapipe
            return
        buffer: list[T_co] = []
        for item in self.datapipe:
            if len(buffer) < self.buffer_size:
                buffer.append(item)
                continue
            at = self._random.randint(0, len(buffer) - 1)
            chosen, buffer[at] = buffer[at], item
            yield chosen
        while buffer:
            yield buffer.pop(self._random.randint(0, len(buffer) - 1))

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


@functional_datapipe("sharding_filter")
class ShardingFilter(IterDataPipe[T_co]):
    """Each n-th item, where n instances share them; all of them before that.

    Workers of a DataLoader share what comes through it.

    Args:
        sharding_group_filter: the one group of sharers that counts; all if None.
    """

    def __init__(
        self, source_datapipe: IterDataPipe[T_co], sharding_group_filter: Any = None
    ) -> None:
        self.source_datapipe = source_datapipe
        self.sharding_group_filter = sharding_group_filter
        self.groups: dict[int, tuple[int, int]] = {}
        self.num_of_instances, self.instance_id = 1, 0

    def apply_sharding(
        self, num_of_instances: int, instance_id: int,
        sharding_group: int = SHARDING_PRIORITIES.DEFAULT,
    ) -> None:  # fmt: skip
        """Share the items among so many, of whom this is one.

        Raises: ArgumentError for a number that is none of them; CallOrderError where
            DEFAULT meets another group.
        """
        if not 0 <= instance_id < num_of_instances:
            raise ArgumentError(
                "apply_sharding", "instance_id", was=instance_id,
                needed=f"a number below num_of_instances, {num_of_instances}",
            )  # fmt: skip
        default = SHARDING_PRIORITIES.DEFAULT
        if self.groups and (default in self.groups) != (sharding_group == default):
            raise CallOrderError(
                "apply_sharding", "sharding_group", was="mixed: DEFAULT and another",
                needed="DEFAULT alone, or none of it",
            )  # fmt: skip
        self.groups[sharding_group] = num_of_instances, instance_id
        self._count()

    def _count(self) -> None:
        """Put the groups together: the last one's instances differ first."""
        self.num_of_instances, self.instance_id = 1, 0
        wanted = self.sharding_group_filter
        for group in sorted(self.groups, reverse=True):
            if wanted is None or group == wanted:
                count, at = self.groups[group]
                self.instance_id += self.num_of_instances * at
                self.num_of_instances *= count

    def __iter__(self) -> Iterator[T_co]:
        for at, item in enumerate(self.source_datapipe):
            if at % self.num_of_instances == self.instance_id:
                yield item

    def __len__(self) -> int:
        count, n = length_of(self, self.source_datapipe), self.num_of_instances
        return count // n + (self.instance_id < count % n)
