"""Datasets: samples by number, or one after another."""

from __future__ import annotations

import math
import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, Generic, TypeVar

from dovetail import frontend as ft
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    IndexOutOfRange,
    NotSupported,
    ShapeError,
)

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by number: a subclass has `__getitem__`, and `__len__` if it is finite.

    With `__getitems__(indices)` a DataLoader asks for the samples of a batch at once.

    Examples:
        >>> class Squares(torch.utils.data.Dataset):
        ...     def __getitem__(self, index):
        ...         return index**2
        ...     def __len__(self):
        ...         return 10
        >>> Squares()[3]
        9
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotSupported(
            type(self).__name__, "__getitem__", was="not defined", needed="a method"
        )

    def __add__(self, other: Dataset[T_co]) -> ConcatDataset[T_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after another: a subclass has `__iter__`."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotSupported(
            type(self).__name__, "__iter__", was="not defined", needed="a method"
        )

    def __add__(self, other: Dataset[T_co]) -> ChainDataset[T_co]:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors of the same length; sample i is `(tensor[i], ...)`.

    Args:
        tensors: [n, ...] each.

    Examples:
        >>> from dovetail.data import TensorDataset
        >>> pairs = TensorDataset(torch.arange(3), torch.arange(3) * 10)
        >>> pairs[2]
        (tensor(2), tensor(20))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        lengths = [tensor.shape[0] for tensor in tensors]
        if len(set(lengths)) > 1:
            raise ShapeError(
                "TensorDataset", "the tensors' first axis", was=lengths,
                needed="the same length in all",
            )  # fmt: skip
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


class StackDataset(Dataset[Any]):
    """Datasets side by side: sample i is a tuple, or a dict, of their samples i.

    Args:
        args, kwargs: datasets of the same length, all by place or all by name.

    Examples:
        >>> from dovetail.data import StackDataset
        >>> StackDataset(number=[1, 2, 3], text=["a", "b", "c"])[1]
        {'number': 2, 'text': 'b'}
    """

    datasets: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if bool(args) == bool(kwargs):
            raise ArgumentError(
                "StackDataset", "datasets",
                was=f"{len(args)} by place and {len(kwargs)} by name",
                needed="some, all by place or all by name",
            )  # fmt: skip
        self.datasets = args or kwargs
        lengths = [_length(dataset) for dataset in self._all()]
        if len(set(lengths)) > 1:
            raise ShapeError(
                "StackDataset", "the datasets' length", was=lengths,
                needed="the same for all",
            )  # fmt: skip
        self._count = lengths[0]

    def _all(self) -> Iterable[Any]:
        if isinstance(self.datasets, dict):
            return self.datasets.values()
        return tuple(self.datasets)

    def _joined(self, samples: Iterable[Any]) -> Any:
        if isinstance(self.datasets, dict):
            return dict(zip(self.datasets, samples, strict=True))
        return tuple(samples)

    def __getitem__(self, index: Any) -> Any:
        return self._joined(dataset[index] for dataset in self._all())

    def __getitems__(self, indices: list[int]) -> list[Any]:
        columns = []
        for dataset in self._all():
            fetch = getattr(dataset, "__getitems__", None)
            found = [dataset[i] for i in indices] if fetch is None else fetch(indices)
            if len(found) != len(indices):
                raise ShapeError(
                    "StackDataset", "samples of one dataset", was=f"{len(found)}",
                    needed=f"{len(indices)}, as many as were asked for",
                )  # fmt: skip
            columns.append(found)
        return [self._joined(row) for row in zip(*columns, strict=True)]

    def __len__(self) -> int:
        return self._count


class Subset(Dataset[T_co]):
    """Some samples of a dataset, in the order of `indices`.

    Examples:
        >>> from dovetail.data import Subset
        >>> list(Subset([5, 6, 7, 8], [3, 0]))
        [8, 5]
    """

    def __init__(self, dataset: Dataset[T_co], indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> T_co:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> Sequence[T_co]:
        chosen = [self.indices[i] for i in indices]
        fetch = getattr(self.dataset, "__getitems__", None)
        if fetch is None:
            return [self.dataset[i] for i in chosen]
        found: Sequence[T_co] = fetch(chosen)
        return found

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[T_co]):
    """Datasets one behind the other, as one.

    Attributes:
        cumulative_sizes: where each of them ends.
    """

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ArgumentError(
                "ConcatDataset", "datasets", was="empty", needed="at least one"
            )
        for dataset in self.datasets:
            if isinstance(dataset, IterableDataset):
                raise ArgumentTypeError(
                    "ConcatDataset", "one of datasets", was="an IterableDataset",
                    needed="a dataset with samples by number", remedy="ChainDataset",
                )  # fmt: skip
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Where each of several datasets ends, one behind the other."""
        return list(accumulate(map(_length, sequence)))

    @property
    def cummulative_sizes(self) -> list[int]:
        """`cumulative_sizes`, as they were spelled once; warns."""
        warnings.warn(
            "cummulative_sizes attribute is renamed to cumulative_sizes",
            DeprecationWarning,
            stacklevel=2,
        )
        return self.cumulative_sizes

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: Any) -> T_co:
        if not -len(self) <= index < len(self):
            raise IndexOutOfRange(
                "ConcatDataset", "index", was=index,
                needed=f"-{len(self)} to {len(self) - 1}",
            )  # fmt: skip
        number = index % len(self)
        which = bisect_right(self.cumulative_sizes, number)
        start = self.cumulative_sizes[which - 1] if which else 0
        return self.datasets[which][number - start]


class ChainDataset(IterableDataset[T_co]):
    """Iterable datasets one behind the other, as one."""

    def __init__(self, datasets: Iterable[Dataset[T_co]]) -> None:
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[T_co]:
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise ArgumentTypeError(
                    "ChainDataset", "one of datasets", was=type(dataset).__name__,
                    needed="an IterableDataset", remedy="ConcatDataset",
                )  # fmt: skip
            yield from dataset

    def __len__(self) -> int:
        return sum(map(_length, self.datasets))


def _length(dataset: Any) -> int:
    return len(dataset)


def random_split(
    dataset: Dataset[T_co], lengths: Sequence[int | float], generator: Any = None
) -> list[Subset[T_co]]:
    """Split a dataset at random into parts of the given lengths.

    Args:
        lengths: numbers of samples, or shares that sum to 1; what rounding leaves over
            goes to the first parts, one each.
        generator: where the permutation comes from.

    Raises: ArgumentError if the lengths do not sum to the dataset's.

    Examples:
        >>> from dovetail.data import random_split
        >>> [len(part) for part in random_split(range(10), [0.8, 0.2])]
        [8, 2]
    """
    size = _length(dataset)
    counts = _counts(lengths, size)
    if sum(counts) != size:
        raise ArgumentError(
            "random_split", "lengths", was=f"{list(lengths)}, {sum(counts)} in all",
            needed=f"{size} in all, the length of the dataset",
        )  # fmt: skip
    order = ft.randperm(size, generator=generator, device="cpu").tolist()
    ends = list(accumulate(counts))
    pairs = zip(ends, counts, strict=True)
    return [Subset(dataset, order[end - count : end]) for end, count in pairs]


def _counts(lengths: Sequence[int | float], size: int) -> list[int]:
    """Lengths as numbers of samples."""
    if not (math.isclose(sum(lengths), 1) and sum(lengths) <= 1):
        return [int(length) for length in lengths]
    for share in lengths:
        if not 0 <= share <= 1:
            raise ArgumentError(
                "random_split", "lengths", was=list(lengths), needed="shares in [0, 1]"
            )
    counts = [math.floor(size * share) for share in lengths]
    for i in range(size - sum(counts)):
        counts[i % len(counts)] += 1
    return counts
