"""Pipes of items by number or key."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from dovetail.errors import IndexOutOfRange

from ..checks import check_columns, check_pipes, check_positive, length_of
from ..datapipe import DataChunk, MapDataPipe
from ..decorators import functional_datapipe
from ..iter.order import Seeded

T_co = TypeVar("T_co", covariant=True)


class SequenceWrapper(MapDataPipe[T_co]):
    """The items of a sequence, or of a mapping.

    Args:
        deepcopy: keep a deep copy of it.
    """

    def __init__(
        self, sequence: Sequence[T_co] | Mapping[Any, T_co], deepcopy: bool = True
    ) -> None:
        self.sequence: Any = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    f"SequenceWrapper: a {type(sequence).__name__} cannot be copied; "
                    "what later steps change in place stays",
                    stacklevel=2,
                )

    def __getitem__(self, index: Any) -> T_co:
        found: T_co = self.sequence[index]
        return found

    def __len__(self) -> int:
        return len(self.sequence)


@functional_datapipe("map")
class Mapper(MapDataPipe[T_co]):
    """A function of each item."""

    def __init__(self, datapipe: MapDataPipe[Any], fn: Callable[[Any], T_co]) -> None:
        check_columns("map", fn, None)
        self.datapipe, self.fn = datapipe, fn

    def __getitem__(self, index: Any) -> T_co:
        return self.fn(self.datapipe[index])

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


class _Joined(MapDataPipe[Any]):
    def __init__(self, *datapipes: Any) -> None:
        check_pipes(type(self).__name__, datapipes, MapDataPipe, empty=False)
        self.datapipes = datapipes
        self._lengths()

    def _lengths(self) -> list[int]:
        return [length_of(self, pipe) for pipe in self.datapipes]


@functional_datapipe("concat")
class Concater(_Joined):
    """The items of one pipe after those of the other."""

    def __getitem__(self, index: int) -> Any:
        start = 0
        for pipe, length in zip(self.datapipes, self._lengths(), strict=True):
            if index - start < length:
                return pipe[index - start]
            start += length
        raise IndexOutOfRange("concat", "index", was=index, needed=f"below {start}")

    def __len__(self) -> int:
        return sum(self._lengths())


@functional_datapipe("zip")
class Zipper(_Joined):
    """Tuples of an item of each pipe, as long as the shortest is."""

    def __getitem__(self, index: Any) -> Any:
        try:
            return tuple([pipe[index] for pipe in self.datapipes])
        except IndexError:
            raise IndexOutOfRange(
                "zip", "index", was=index, needed=f"below {len(self)}"
            ) from None

    def __len__(self) -> int:
        return min(self._lengths())


@functional_datapipe("batch")
class Batcher(MapDataPipe[Any]):
    """Items in batches, of which the last one may be shorter.

    Args:
        batch_size: items in a batch.
        drop_last: whether a shorter last batch is left out.
        wrapper_class: what is made of a list of items.
    """

    def __init__(
        self, datapipe: MapDataPipe[Any], batch_size: int, drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:  # fmt: skip
        check_positive("batch", "batch_size", batch_size)
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __getitem__(self, index: int) -> Any:
        batch: list[Any] = []
        start = index * self.batch_size
        try:
            for at in range(start, start + self.batch_size):
                batch.append(self.datapipe[at])
        except IndexError:
            if self.drop_last or not batch:
                raise IndexOutOfRange(
                    "batch", "index", was=index, needed=f"below {len(self)}"
                ) from None
        return self.wrapper_class(batch)

    def __len__(self) -> int:
        full, rest = divmod(length_of(self, self.datapipe), self.batch_size)
        return full + (1 if rest and not self.drop_last else 0)


class Shuffler(Seeded[Any]):
    """All items one after another, in a random order.

    Args:
        indices: the numbers or keys of the items; from 0 on, if not given.
    """

    def __init__(
        self, datapipe: MapDataPipe[Any], *, indices: list[Any] | None = None
    ) -> None:
        super().__init__()
        self.datapipe = datapipe
        count = length_of(self, datapipe)
        self.indices = list(range(count)) if indices is None else indices

    def __iter__(self) -> Iterator[Any]:
        order = self.indices
        if self._enabled:
            order = self._random.sample(order, len(order))[::-1]
        for index in order:
            yield self.datapipe[index]

    def __len__(self) -> int:
        return length_of(self, self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", Shuffler)
