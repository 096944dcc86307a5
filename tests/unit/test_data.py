"""Datasets, samplers, collating, and the loader."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)
from dovetail.data.collate import collate, collate_tensor_fn, default_collate_fn_map
from dovetail.errors import ArgumentError, DovetailError, NotSupported, ShapeError

Point = namedtuple("Point", ["x", "y"])


class Squares(Dataset[int]):
    """The squares of 0 … n - 1."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, index: int) -> int:
        return index * index


class Stream(IterableDataset[int]):
    """0 … n - 1, one after another."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.n))

    def __len__(self) -> int:
        return self.n


def generator(seed: int) -> dt.Generator:
    return dt.Generator().manual_seed(seed)


# ---- datasets


def test_tensor_dataset_gives_rows() -> None:
    """Sample i is the i-th row of each tensor."""
    data = TensorDataset(dt.arange(6).reshape(3, 2), dt.arange(3))
    assert len(data) == 3
    row, label = data[-1]
    assert (row.tolist(), label.item()) == ([4, 5], 2)
    with pytest.raises(ShapeError, match="needed the same length in all"):
        TensorDataset(dt.ones(2), dt.ones(3))


def test_concat_and_chain() -> None:
    """One behind the other, by number or by iteration."""
    data = Squares(3) + Squares(4)
    assert isinstance(data, ConcatDataset)
    assert data.cumulative_sizes == [3, 7]
    assert [data[i] for i in range(7)] == [0, 1, 4, 0, 1, 4, 9]
    assert data[-1] == 9
    with pytest.raises(IndexError, match="index is 7, needed -7 to 6"):
        data[7]
    chained = Stream(2) + Stream(1)
    assert isinstance(chained, ChainDataset)
    assert list(chained) == [0, 1, 0]
    assert len(chained) == 3
    with pytest.raises(ValueError, match="needed at least one"):
        ConcatDataset([])
    with pytest.raises(TypeError, match="ChainDataset"):
        ConcatDataset([Stream(1)])


def test_random_split_is_a_partition() -> None:
    """Every sample is in one part; the generator decides which."""
    parts = random_split(Squares(10), [7, 3], generator=generator(1))
    assert [len(part) for part in parts] == [7, 3]
    numbers = [i for part in parts for i in part.indices]
    assert sorted(numbers) == list(range(10))
    assert numbers != list(range(10))
    again = random_split(Squares(10), [7, 3], generator=generator(1))
    assert [i for part in again for i in part.indices] == numbers
    shares = random_split(Squares(10), [0.5, 0.25, 0.25])
    assert [len(part) for part in shares] == [6, 2, 2]
    with pytest.raises(ValueError, match="needed 10 in all"):
        random_split(Squares(10), [5, 4])


def test_subset_in_its_order() -> None:
    """Samples by the numbers given, alone and in batches."""
    part = Subset(Squares(9), [4, 2])
    assert (len(part), part[0], part.__getitems__([1, 0])) == (2, 16, [4, 16])


# ---- samplers


def test_random_samplers_are_permutations() -> None:
    """All samples once, another order each pass, the same from the same seed."""
    sampler = RandomSampler(Squares(20), generator=generator(3))
    first, second = list(sampler), list(sampler)
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    assert list(RandomSampler(Squares(20), generator=generator(3))) == first
    assert list(SequentialSampler(Squares(3))) == [0, 1, 2]
    assert sorted(SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]


def test_random_sampler_with_replacement_and_counts() -> None:
    """More samples than there are: with repeats, or round after round."""
    drawn = list(RandomSampler(Squares(4), replacement=True, num_samples=100))
    assert (len(drawn), set(drawn)) == (100, {0, 1, 2, 3})
    rounds = list(RandomSampler(Squares(4), num_samples=10))
    assert sorted(rounds[:4]) == sorted(rounds[4:8]) == [0, 1, 2, 3]
    assert len(rounds) == 10
    with pytest.raises(ValueError, match="needed a positive int"):
        RandomSampler(Squares(4), num_samples=0)


def test_weighted_sampler_never_draws_weight_zero() -> None:
    """Samples come in proportion to their weights."""
    sampler = WeightedRandomSampler([0.0, 1.0, 3.0], 2000, generator=generator(0))
    counts = np.bincount(list(sampler), minlength=3)
    assert counts[0] == 0
    assert counts[2] / counts[1] == pytest.approx(3.0, rel=0.25)


def test_batch_sampler() -> None:
    """Lists of numbers; the short last one may be left out."""
    assert list(BatchSampler(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert len(BatchSampler(range(5), 2, False)) == 3
    assert len(BatchSampler(range(5), 2, True)) == 2
    with pytest.raises(ValueError, match="batch_size is 0"):
        BatchSampler(range(5), 0, False)


# ---- collating


def test_collate_numbers_tensors_and_arrays() -> None:
    """Each becomes a tensor with one more axis, of torch's dtype."""
    assert default_collate([1, 2]).dtype is dt.int64
    assert default_collate([1.0, 2.0]).dtype is dt.float64
    assert default_collate([True, False]).dtype is dt.bool
    assert default_collate([np.float32(1), np.float32(2)]).dtype is dt.float32
    stacked = default_collate([dt.ones(2), dt.zeros(2)])
    assert stacked.tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert default_collate([np.ones(2, np.int32)] * 3).dtype is dt.int32
    assert default_collate(["a", "b"]) == ["a", "b"]


def test_collate_keeps_containers() -> None:
    """Mappings, tuples, named tuples and lists, joined item by item."""
    batch = [(1, {"a": dt.ones(1)}), (2, {"a": dt.zeros(1)})]
    numbers, named = default_collate(batch)
    assert numbers.tolist() == [1, 2]
    assert named["a"].tolist() == [[1.0], [0.0]]
    points = default_collate([Point(1, 2.0), Point(3, 4.0)])
    assert type(points) is Point
    assert points.x.tolist() == [1, 3]
    ordered = default_collate([OrderedDict(b=1, a=2)] * 2)
    assert type(ordered) is OrderedDict
    assert list(ordered) == ["b", "a"]
    assert [t.tolist() for t in default_collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]


class Tagged(list[Any]):
    """A list that has a name besides."""

    def __init__(self, items: Any, name: str) -> None:
        super().__init__(items)
        self.name = name


def test_collate_keeps_what_containers_have_besides() -> None:
    """The factory of a defaultdict, an attribute of a list: the first sample's."""
    counts = [defaultdict(int, a=i) for i in range(2)]
    tagged = [Tagged([i], "first") for i in range(2)]
    for join in (default_collate, default_convert):
        of_counts = join(counts if join is default_collate else counts[0])
        assert type(of_counts) is defaultdict
        assert of_counts["b"] == 0
        of_tagged = join(tagged if join is default_collate else tagged[0])
        assert of_tagged.name == "first"
    assert counts[0]["a"] == 0  # and is not written
    assert type(default_convert((1, 2))) is list


class Note:
    """A sample that no table knows."""


def test_collate_by_a_table() -> None:
    """A type's own entry, one of a base, also within containers and of all loaders."""
    table = {Note: lambda batch, *, collate_fn_map: f"{len(batch)} notes"}
    assert collate([Note(), Note()], collate_fn_map=table) == "2 notes"

    class Longer(Note): ...

    assert collate([[Longer()]] * 3, collate_fn_map=table) == ["3 notes"]
    with pytest.raises(TypeError, match="batch must contain tensors"):
        collate([1, 2], collate_fn_map=table)
    with pytest.raises(TypeError, match="batch must contain tensors"):
        default_collate([Note()])
    default_collate_fn_map.update(table)
    try:
        samples = [{"x": i, "note": Note()} for i in range(4)]
        batch = next(iter(DataLoader(samples, batch_size=3)))  # type: ignore[arg-type]
        assert batch["note"] == "3 notes"
        assert batch["x"].tolist() == [0, 1, 2]
    finally:
        del default_collate_fn_map[Note]
    assert collate_tensor_fn([dt.ones(2)] * 3).shape == (3, 2)
    assert default_collate(["a", np.str_("b")]) == ["a", "b"]


def test_collate_refuses() -> None:
    """Unequal samples and types that nothing is known about."""
    with pytest.raises(ArgumentError, match=r"of \[1, 2\] items, .* of equal size"):
        default_collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="give the DataLoader a collate_fn"):
        default_collate([object(), object()])
    with pytest.raises(DovetailError, match="each tensor to be equal size"):
        default_collate([dt.ones(2), dt.ones(3)])


def test_convert_reaches_into_containers() -> None:
    """Arrays become tensors; the rest stays."""
    found = default_convert({"a": [np.ones(2)], "b": "text", "c": Point(np.ones(1), 3)})
    assert isinstance(found["a"][0], dt.Tensor)
    assert found["b"] == "text"
    assert isinstance(found["c"].x, dt.Tensor)
    assert found["c"].y == 3


# ---- the loader


def test_loader_in_order() -> None:
    """Batches in order, the last one short or left out."""
    loader = DataLoader(Squares(5), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, 1], [4, 9], [16]]
    assert len(loader) == 3
    dropped = DataLoader(Squares(5), batch_size=2, drop_last=True)
    assert [batch.tolist() for batch in dropped] == [[0, 1], [4, 9]]
    assert len(dropped) == 2


def test_loader_shuffles_anew_each_pass() -> None:
    """The generator decides; every sample comes once a pass."""
    data = TensorDataset(dt.arange(50))

    def passes() -> list[list[int]]:
        loader = DataLoader(data, 8, shuffle=True, generator=generator(5))
        return [[i for (b,) in loader for i in b.tolist()] for _ in range(2)]

    first, second = passes()
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second
    assert passes() == [first, second]


def test_manual_seed_decides_the_order() -> None:
    """Without a generator the default one is used."""
    orders = []
    for _ in range(2):
        dt.manual_seed(7)
        loader = DataLoader(Squares(30), 30, shuffle=True)
        orders.append(next(iter(loader)).tolist())
    assert orders[0] == orders[1]


def test_loader_without_batches() -> None:
    """`batch_size=None` gives samples one by one, arrays as tensors."""
    loader = DataLoader(Squares(3), batch_size=None)
    assert list(loader) == [0, 1, 4]
    assert len(loader) == 3


def test_loader_of_a_stream() -> None:
    """Iterable datasets are cut into batches; their order is their own."""
    assert [b.tolist() for b in DataLoader(Stream(5), 2)] == [[0, 1], [2, 3], [4]]
    dropped = DataLoader(Stream(5), 2, drop_last=True)
    assert [b.tolist() for b in dropped] == [[0, 1], [2, 3]]
    assert (len(DataLoader(Stream(5), 2)), len(dropped)) == (3, 2)
    assert list(DataLoader(Stream(2), None)) == [0, 1]
    with pytest.raises(ArgumentError, match="the dataset gives the order itself"):
        DataLoader(Stream(5), shuffle=True)


def test_loader_with_samplers_and_collate_fn() -> None:
    """Orders, batches and joining may come from outside."""
    loader = DataLoader(Squares(5), 2, sampler=[4, 0, 1], collate_fn=list)
    assert list(loader) == [[16, 0], [1]]
    batches = DataLoader(Squares(5), batch_sampler=[[1, 2], [3]], collate_fn=list)
    assert list(batches) == [[1, 4], [9]]
    assert len(batches) == 2


def test_loader_asks_for_whole_batches() -> None:
    """A dataset with `__getitems__` is asked once a batch."""

    class Whole(Squares):
        asked: list[list[int]] = []  # noqa: RUF012

        def __getitems__(self, indices: list[int]) -> list[int]:
            self.asked.append(indices)
            return [-i for i in indices]

    loader = DataLoader(Whole(3), 2, collate_fn=list)
    assert list(loader) == [[0, -1], [-2]]
    assert Whole.asked == [[0, 1], [2]]


def test_loader_refuses() -> None:
    """Contradictions are named."""
    faults: list[dict[str, Any]] = [
        {"shuffle": True, "sampler": [1]},
        {"batch_sampler": [[1]], "batch_size": 3},
        {"batch_size": None, "drop_last": True},
        {"batch_size": 0},
        {"persistent_workers": True},
    ]
    for fault in faults:
        with pytest.raises(ArgumentError):
            DataLoader(Squares(3), **fault)
    with pytest.raises(NotSupported, match="__getitem__"):
        Dataset()[0]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_pass_is_of_the_class_that_programs_ask_for(workers: int) -> None:
    """By torch's names; what it holds can be let go before its end."""
    from dovetail.data.dataloader import (
        _BaseDataLoaderIter,
        _MultiProcessingDataLoaderIter,
    )

    loader = DataLoader(list(range(6)), batch_size=2, num_workers=workers)
    found = iter(loader)
    assert isinstance(found, _BaseDataLoaderIter)
    assert isinstance(found, _MultiProcessingDataLoaderIter) is bool(workers)
    assert iter(found) is found
    assert next(found).tolist() == [0, 1]
    found.close()
    with pytest.raises(StopIteration):
        next(found)
