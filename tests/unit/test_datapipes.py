"""Datapipes: steps, their order and lengths, seeds, workers, and what is refused."""

from __future__ import annotations

import gc
import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import dovetail as dt
from dovetail.data import (
    DataChunk,
    DataLoader,
    DFIterDataPipe,
    IterDataPipe,
    MapDataPipe,
    argument_validation,
    functional_datapipe,
    guaranteed_datapipes_determinism,
    non_deterministic,
    runtime_validation,
    runtime_validation_disabled,
)
from dovetail.data.datapipes import iter as iters
from dovetail.data.datapipes import map as maps

Numbers = iters.IterableWrapper


def _double(x: Any) -> Any:
    return x * 2


def _parity(x: int) -> int:
    return x % 2


def test_steps_follow_one_another() -> None:
    """By methods, by classes; twice the same."""
    pipe = Numbers(range(10)).map(_double).filter(lambda x: x % 3 == 0).batch(3)
    assert list(pipe) == list(pipe) == [[0, 6, 12], [18]]
    assert isinstance(next(iter(pipe)), DataChunk)
    assert list(iters.Batcher(iters.Mapper(Numbers(range(3)), _double), 2)) == [
        [0, 2], [4]
    ]  # fmt: skip
    assert [x.as_str(" ") for x in Numbers(range(3)).batch(2)] == [" [0, 1]", " [2]"]


def test_lengths_are_those_of_the_items() -> None:
    """Where one is known; else it is a TypeError."""
    n = Numbers(range(7))
    pipes = [
        n.map(_double), n.batch(3), n.batch(3, drop_last=True), n.shuffle(),
        n.concat(Numbers(range(2))), n.zip(Numbers(range(2))), n.mux(Numbers("ab")),
        n.sharding_filter(), iters.Sampler(n), *n.fork(2),
    ]  # fmt: skip
    for pipe in pipes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # branches that are not read to the end
            assert len(pipe) == sum(1 for _ in pipe)
    for pipe in (n.filter(bool), n.unbatch(), n.groupby(_parity), *n.demux(2, _parity)):
        with pytest.raises(TypeError):
            len(pipe)


def test_columns_are_mapped() -> None:
    """One or several go in; the result replaces the first, or goes where it shall."""
    rows = Numbers([(1, 2, 3)])
    add = lambda a, b: a + b  # noqa: E731
    assert list(rows.map(_double, input_col=1)) == [(1, 4, 3)]
    assert list(rows.map(add, input_col=[0, 2])) == [(4, 2)]
    assert list(rows.map(add, input_col=[0, 2], output_col=-1)) == [(1, 2, 3, 4)]
    named = Numbers([{"a": 1, "b": 2}])
    assert list(named.map(add, ["a", "b"], "c")) == [{"a": 1, "b": 2, "c": 3}]
    assert list(rows.filter(lambda a: a == 1, input_col=0)) == [(1, 2, 3)]
    with pytest.raises(ValueError, match="can be called with 2 by place"):
        rows.map(_double, input_col=[0, 1])
    with pytest.raises(ValueError, match="without input_col"):
        rows.map(_double, output_col=1)
    with pytest.raises(TypeError, match="fn is a int"):
        rows.map(3)


def test_groups_leave_when_full_or_when_the_buffer_is() -> None:
    """The largest first; a smaller one than was guaranteed is an error."""
    n = Numbers([1, 3, 2, 5, 4])
    assert list(n.groupby(_parity)) == [[1, 3, 5], [2, 4]]
    assert list(n.groupby(_parity, group_size=2)) == [[1, 3], [2, 4], [5]]
    assert list(n.groupby(_parity, keep_key=True, buffer_size=3)) == [
        (1, [1, 3]), (0, [2, 4]), (1, [5])
    ]  # fmt: skip
    few = {"group_size": 3, "guaranteed_group_size": 3, "buffer_size": 3}
    with pytest.raises(RuntimeError, match=r"of 2 items when the buffer of 3 is full"):
        list(n.groupby(_parity, **few))
    assert list(n.groupby(_parity, drop_remaining=True, **few)) == [[5]]


def test_batches_are_undone() -> None:
    """Level by level, or all."""
    nested = Numbers([[[0, 1], [2]], [[3]]])
    assert list(nested.unbatch()) == [[0, 1], [2], [3]]
    assert list(nested.unbatch(2)) == list(nested.unbatch(-1)) == [0, 1, 2, 3]
    with pytest.raises(IndexError, match="2, the depth"):
        list(nested.unbatch(3))


def test_the_last_iterator_is_the_valid_one() -> None:
    """A former one says why it ends, whether it is of a generator or not."""

    class Own(IterDataPipe[int]):
        def __iter__(self) -> Iterator[int]:
            return iter(range(3))

    for pipe in (Numbers(range(3)), Own()):
        first, second = iter(pipe), None
        assert next(first) == 0
        second = iter(pipe)
        assert next(second) == 0
        with pytest.raises(RuntimeError, match=r"invalidated.*use \.fork\(\)"):
            next(first)
        assert list(second) == [1, 2]


def test_forks_give_all_items_each() -> None:
    """As far apart as the buffer allows; a second pass begins for all."""
    a, b = Numbers(range(4)).fork(2)
    assert list(zip(a, b, strict=True)) == [(i, i) for i in range(4)]
    assert list(a) == list(b) == [0, 1, 2, 3]
    a, b = Numbers(range(5)).fork(2, buffer_size=2)
    read = iter(a)
    assert [next(read), next(read)] == [0, 1]
    with pytest.raises(BufferError, match="buffer_size is 2, and full"):
        next(read)
    first, second = Numbers([[1]]).fork(2, copy="deep")
    assert next(iter(first)) is not next(iter(second))
    assert Numbers("a").fork(1).__class__ is Numbers
    a, b = Numbers(range(4)).fork(2)
    old = iter(b)
    next(old)
    next(iter(a))
    with pytest.warns(UserWarning, match="begins again before"):
        iter(a)
    with pytest.raises(RuntimeError, match="another branch has begun again"):
        next(old)


def test_items_are_shared_among_branches() -> None:
    """By a number for each; None is left out if it shall be."""
    even, odd = Numbers(range(6)).demux(2, _parity)
    assert (list(even), list(odd)) == ([0, 2, 4], [1, 3, 5])
    (some,) = Numbers([1, 2]).demux(1, lambda x: None if x == 1 else 0, drop_none=True)
    assert list(some) == [2]
    (wrong,) = Numbers([1]).demux(1, lambda x: 7)
    with pytest.raises(ValueError, match="classifier_fn gave is 7"):
        list(wrong)
    first, _ = Numbers([1] * 5).demux(2, lambda x: 1, buffer_size=3)
    with pytest.raises(BufferError):
        list(first)


def test_files_are_listed_opened_and_read(tmp_path: Path) -> None:
    """Sorted, by masks, in text or bytes; streams are closed at their end."""
    (tmp_path / "in").mkdir()
    for name in ("b.txt", "a.txt", "in/c.txt", "d.bin"):
        (tmp_path / name).write_text(name[0] * 3)
    texts = iters.FileLister(str(tmp_path), "*.txt", recursive=True)
    assert [Path(p).name for p in texts] == ["a.txt", "b.txt", "c.txt"]
    opened = list(texts.open_files())
    read = Numbers(opened, deepcopy=False).read_from_stream()
    assert [text for _, text in read] == ["aaa", "bbb", "iii"]
    assert all(stream.closed for _, stream in opened)
    parts = iters.FileOpener([str(tmp_path / "d.bin")], "b").read_from_stream(2)
    assert [part for _, part in parts] == [b"dd", b"d"]
    with pytest.raises(FileNotFoundError):
        list(iters.FileLister(str(tmp_path / "none")))
    gc.collect()


def test_shuffling_follows_its_seed() -> None:
    """A seed for one pass; the global one else; no order where it is off."""
    pipe = Numbers(range(20)).shuffle(buffer_size=5)
    orders = [list(pipe.set_seed(s)) for s in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == list(range(20))
    dt.manual_seed(3)
    drawn = list(pipe)
    dt.manual_seed(3)
    assert list(pipe) == drawn != list(pipe)
    assert list(pipe.set_shuffle(False)) == list(range(20))
    mapped = maps.SequenceWrapper("abcdef").shuffle()
    assert sorted(mapped) == list("abcdef")
    assert list(mapped.set_seed(0)) == list(mapped.set_seed(0))


def test_pipes_by_number() -> None:
    """Steps by number, and their ends."""
    pipe = maps.SequenceWrapper(range(5))
    assert list(pipe.map(_double).batch(2)) == [[0, 2], [4, 6], [8]]
    assert list(pipe.batch(2, drop_last=True)) == [[0, 1], [2, 3]]
    assert list(pipe.zip(maps.SequenceWrapper("ab"))) == [(0, "a"), (1, "b")]
    both = pipe.concat(maps.SequenceWrapper("ab"))
    assert (both[5], len(both)) == ("a", 7)
    with pytest.raises(IndexError):
        both[7]
    with pytest.raises(TypeError, match="needed an MapDataPipe"):
        pipe.zip([1])


def test_classes_become_steps() -> None:
    """By the decorator, of either kind; a name is taken once."""

    @functional_datapipe("plus_of_test")
    class Plus(IterDataPipe[int]):
        def __init__(self, source: Any, by: int) -> None:
            self.source, self.by = source, by

        def __iter__(self) -> Iterator[int]:
            for x in self.source:
                yield x + self.by

    try:
        assert list(Numbers(range(3)).plus_of_test(by=2)) == [2, 3, 4]
        assert "plus_of_test" in dir(Numbers(""))
        with pytest.raises(ValueError, match="already taken"):
            functional_datapipe("plus_of_test")(Plus)
        with pytest.raises(ValueError, match="already taken"):
            functional_datapipe("map")(Plus)
    finally:
        del IterDataPipe.functions["plus_of_test"]
    with pytest.raises(TypeError, match="derives from IterDataPipe or MapDataPipe"):
        functional_datapipe("x")(int)
    with pytest.raises(AttributeError, match="no step, needed one of batch"):
        _ = Numbers("").plus_of_test
    assert (repr(Numbers("")), str(Numbers(""))) == ("IterableWrapper",) * 2


def test_pipes_that_differ_are_refused_where_none_may() -> None:
    """By the class, or by what it is made with."""

    class Drawn(IterDataPipe[int]):
        def __init__(self, fixed: bool = False) -> None:
            self.fixed = fixed

        def __iter__(self) -> Iterator[int]:
            yield 1

    always = non_deterministic(Drawn)
    chosen = non_deterministic(lambda fixed: not fixed)(Drawn)
    broken = non_deterministic(lambda: "yes")(Drawn)
    assert list(always()) == list(chosen(False)) == [1]
    with guaranteed_datapipes_determinism():
        assert list(chosen(True)) == [1]
        for make in (always, lambda: chosen(False)):
            with pytest.raises(TypeError, match="Drawn: pipe is non-deterministic"):
                make()
    always()
    with pytest.raises(TypeError, match="what the function gave is 'yes'"):
        broken()
    with pytest.raises(TypeError, match="derives from IterDataPipe"):
        non_deterministic(int)


def test_types_of_items_are_checked() -> None:
    """Of arguments by their classes, of items one by one."""

    class Ints(IterDataPipe[int]):
        def __init__(self, *items: Any) -> None:
            self.items = items

        @runtime_validation
        def __iter__(self) -> Iterator[int]:
            yield from self.items

    class Pairs(IterDataPipe[tuple[int, str] | None]):
        @runtime_validation
        def __iter__(self) -> Iterator[Any]:
            yield from [None, (1, "a"), ("a", 1)]

    @argument_validation
    def take(pipe: IterDataPipe[int | str], count: int = 0) -> str:
        return "taken"

    assert list(Ints(1, True)) == [1, True]
    with pytest.raises(RuntimeError, match="an item is 'a', a str, needed int"):
        list(Ints(1, "a"))
    with runtime_validation_disabled():
        assert list(Ints(1, "a")) == [1, "a"]
    with pytest.raises(RuntimeError, match="'a', 1"):
        list(Pairs())
    take.__wrapped__.__annotations__["pipe"] = IterDataPipe[int | str]
    assert take(Ints()) == "taken"
    with pytest.raises(TypeError, match=r"pipe is a pipe of .*needed one of int"):
        take(Pairs())
    with pytest.raises(TypeError, match="pipe is a list, needed an IterDataPipe"):
        take([1])
    with pytest.raises(TypeError, match="needed __iter__"):
        runtime_validation(take)


def test_pipes_are_pickled_as_hooks_say() -> None:
    """With their state, and without iterators of branches."""
    a, b = Numbers(range(3)).map(_double).fork(2)
    read = iter(a)
    next(read)
    assert list(pickle.loads(pickle.dumps(b))) == [0, 2, 4]
    IterDataPipe.set_getstate_hook(lambda state: {**state, "iterable": "xy"})
    try:
        assert list(pickle.loads(pickle.dumps(Numbers("a")))) == ["x", "y"]
        with pytest.raises(RuntimeError, match="set already"):
            IterDataPipe.set_getstate_hook(lambda state: state)
    finally:
        IterDataPipe.set_getstate_hook(None)
    IterDataPipe.set_reduce_ex_hook(lambda pipe: (Numbers, ("z",)))
    try:
        assert list(pickle.loads(pickle.dumps(Numbers("a")))) == ["z"]
    finally:
        IterDataPipe.set_reduce_ex_hook(None)


def test_steps_of_data_frames_give_data_frames() -> None:
    """And a mask keeps rows."""

    class Column(list[Any]):
        def any(self) -> bool:
            return any(self)

    class Frame(dict[str, Any]):
        columns = ("a",)

        def __getitem__(self, key: Any) -> Any:
            if isinstance(key, str):
                return super().__getitem__(key)
            rows = zip(self["a"], key, strict=True)
            return Frame(a=[x for x, keeps in rows if keeps])

    class Frames(DFIterDataPipe[Any]):
        def __iter__(self) -> Iterator[Any]:
            yield Frame(a=[1, 2, 3])
            yield Frame(a=[1])

    kept = Frames().filter(lambda f: Column(x > 1 for x in f["a"]))
    assert isinstance(kept, DFIterDataPipe)
    assert list(kept) == [{"a": [2, 3]}]


@pytest.mark.parametrize("workers", [0, 2])
def test_loaders_give_seeds_and_share_items(workers: int) -> None:
    """Each item once where a step shares them; another order in each pass."""
    pipe = Numbers(range(16)).shuffle().sharding_filter()
    options: dict[str, Any] = {"num_workers": workers, "batch_size": None}
    if workers:
        options |= {"persistent_workers": True, "multiprocessing_context": "fork"}
    loader = DataLoader(pipe, generator=dt.Generator().manual_seed(0), **options)
    first, second = list(loader), list(loader)
    assert sorted(first) == sorted(second) == list(range(16))
    assert first != second
    again = DataLoader(pipe, generator=dt.Generator().manual_seed(0), **options)
    assert list(again) == first


def test_loaders_shuffle_pipes() -> None:
    """By steps that are there, or by one that is added; False turns them off."""
    pipe = Numbers(range(30))
    assert [int(x) for x in DataLoader(pipe, batch_size=None)] == list(range(30))
    shuffled = [int(x) for x in DataLoader(pipe, batch_size=None, shuffle=True)]
    assert sorted(shuffled) == list(range(30)) != shuffled
    plain = DataLoader(pipe.shuffle(), batch_size=None, shuffle=False)
    assert [int(x) for x in plain] == list(range(30))
    rows = DataLoader(maps.SequenceWrapper(range(4)), batch_size=2)
    assert [x.tolist() for x in rows] == [[0, 1], [2, 3]]
    assert isinstance(rows.dataset, MapDataPipe)


def test_shares_are_given_once() -> None:
    """Numbers of instances that are none, and groups that do not mix."""
    pipe = Numbers(range(7)).sharding_filter()
    pipe.apply_sharding(3, 1)
    assert list(pipe) == [1, 4]
    assert len(pipe) == 2
    with pytest.raises(ValueError, match="below num_of_instances"):
        pipe.apply_sharding(2, 2)
    with pytest.raises(RuntimeError, match="mixed"):
        pipe.apply_sharding(2, 1, 2)
