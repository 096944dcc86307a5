"""Pipes that put items together, and take them apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from dovetail.errors import ArgumentError, CallOrderError, IndexOutOfRange

from ..checks import check_columns, check_positive, length_of
from ..datapipe import DataChunk, IterDataPipe
from ..decorators import functional_datapipe


@functional_datapipe("batch")
class Batcher(IterDataPipe[Any]):
    """Items in batches.

    Args:
        batch_size: items in a batch.
        drop_last: whether a shorter last batch is left out.
        wrapper_class: what is made of a list of items.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], batch_size: int, drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:  # fmt: skip
        check_positive("batch", "batch_size", batch_size)
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for item in self.datapipe:
            batch.append(item)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        full, rest = divmod(length_of(self, self.datapipe), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


@functional_datapipe("unbatch")
class UnBatcher(IterDataPipe[Any]):
    """The items of batches.

    Args:
        unbatch_level: how many levels of lists are taken apart; -1 for all.

    Raises: IndexOutOfRange where there are fewer.
    """

    def __init__(self, datapipe: IterDataPipe[Any], unbatch_level: int = 1) -> None:
        if unbatch_level < -1:
            raise ArgumentError(
                "unbatch", "unbatch_level", was=unbatch_level, needed="-1 or more"
            )
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        for item in self.datapipe:
            yield from self._within(item, self.unbatch_level)

    def _within(self, item: Any, level: int) -> Iterator[Any]:
        if level == 0 or (level < 0 and not isinstance(item, list)):
            yield item
            return
        if not isinstance(item, list):
            raise IndexOutOfRange(
                "unbatch", "unbatch_level", was=self.unbatch_level,
                needed=f"{self.unbatch_level - level}, the depth of the batches",
            )  # fmt: skip
        for part in item:
            yield from self._within(part, max(level - 1, -1))


@functional_datapipe("groupby")
class Grouper(IterDataPipe[Any]):
    """Items of the same key in batches, as soon as one is full.

    Args:
        group_key_fn: gives the key of an item.
        keep_key: give pairs of key and batch.
        buffer_size: how many items wait at most; then the largest group goes.
        group_size: of a full batch; None has no end.
        guaranteed_group_size: of the smallest batch that goes so; `group_size`, if not
            given.
        drop_remaining: whether a smaller one is thrown away; else it is an error.
    """

    def __init__(
        self, datapipe: IterDataPipe[Any], group_key_fn: Callable[[Any], Any], *,
        keep_key: bool = False, buffer_size: int = 10000,
        group_size: int | None = None, guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:  # fmt: skip
        check_columns("groupby", group_key_fn, None)
        if group_size is not None and not 0 < group_size <= buffer_size:
            raise ArgumentError(
                "groupby", "group_size", was=group_size,
                needed=f"from 1 to buffer_size, {buffer_size}",
            )  # fmt: skip
        least = group_size if guaranteed_group_size is None else guaranteed_group_size
        if least is not None and not 0 < least <= (group_size or 0):
            raise ArgumentError(
                "groupby", "guaranteed_group_size", was=least,
                needed=f"from 1 to group_size, {group_size}",
            )  # fmt: skip
        self.datapipe, self.group_key_fn, self.keep_key = (
            datapipe, group_key_fn, keep_key,
        )  # fmt: skip
        self.buffer_size, self.group_size, self.least = buffer_size, group_size, least
        self.drop_remaining = drop_remaining

    def __iter__(self) -> Iterator[Any]:
        groups: defaultdict[Any, list[Any]] = defaultdict(list)
        for item in self.datapipe:
            key = self.group_key_fn(item)
            groups[key].append(item)
            if len(groups[key]) == self.group_size:
                yield self._made(key, groups.pop(key))
            if sum(map(len, groups.values())) == self.buffer_size:
                key, items = self._largest(groups)
                if items:
                    yield self._made(key, items)
        for key, items in groups.items():
            yield self._made(key, items)

    def _made(self, key: Any, items: list[Any]) -> Any:
        return (key, DataChunk(items)) if self.keep_key else DataChunk(items)

    def _largest(self, groups: dict[Any, list[Any]]) -> tuple[Any, list[Any]]:
        """The largest group, taken out; without items if it is thrown away."""
        key = max(groups, key=lambda k: len(groups[k]))
        items = groups.pop(key)
        if self.least is None or len(items) >= self.least:
            return key, items
        if self.drop_remaining:
            return key, []
        raise CallOrderError(
            "groupby", f"the largest group, {key!r},", was=f"of {len(items)} items "
            f"when the buffer of {self.buffer_size} is full",
            needed=f"{self.least}, the guaranteed_group_size",
            remedy="raise buffer_size, or pass drop_remaining=True",
        )  # fmt: skip
