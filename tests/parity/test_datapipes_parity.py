"""Datapipes beside torch's: the same items in the same order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import dovetail.data as ours

theirs = pytest.importorskip("torch.utils.data")
pytest.importorskip("torch.utils.data.datapipes.iter")


def _even(x: int) -> bool:
    return x % 2 == 0


def _third(x: int) -> int:
    return x % 3


_ITER: dict[str, Callable[[Any], Any]] = {
    "map": lambda n: n(range(5)).map(_third),
    "filter": lambda n: n(range(5)).filter(_even),
    "batch": lambda n: n(range(7)).batch(3),
    "batch, dropped": lambda n: n(range(7)).batch(3, drop_last=True),
    "unbatch": lambda n: n(range(7)).batch(2).batch(2).unbatch(unbatch_level=2),
    "groupby": lambda n: n(range(9)).groupby(_third, buffer_size=4, group_size=2),
    "groupby, full": lambda n: n(range(20)).groupby(_third, buffer_size=5),
    "concat": lambda n: n(range(3)).concat(n("ab")),
    "zip": lambda n: n(range(3)).zip(n("ab")),
    "mux": lambda n: n(range(3)).mux(n("ab"), n("xyz")),
    "shuffle": lambda n: n(range(30)).shuffle().set_seed(5),
    "shuffle by a buffer": lambda n: n(range(30)).shuffle(buffer_size=4).set_seed(5),
    "shuffle off": lambda n: n(range(9)).shuffle().set_shuffle(False),
    "fork": lambda n: n(range(5)).fork(2)[1],
    "demux": lambda n: n(range(9)).demux(3, _third)[2],
    "sharding": lambda n: n(range(9)).sharding_filter(),
    "columns": lambda n: n([(1, 2), (3, 4)]).map(_third, 1, 0),
}
_MAP: dict[str, Callable[[Any], Any]] = {
    "map": lambda n: n(range(5)).map(_third),
    "batch": lambda n: n(range(7)).batch(3),
    "batch, dropped": lambda n: n(range(7)).batch(3, drop_last=True),
    "concat": lambda n: n(range(3)).concat(n("ab")),
    "zip": lambda n: n(range(3)).zip(n("ab")),
    "shuffle": lambda n: n(range(30)).shuffle().set_seed(5),
    "shuffle of some": lambda n: n(range(9)).shuffle(indices=[1, 5, 7]).set_seed(5),
}


@pytest.mark.parametrize("kind", ["iter", "map"])
def test_items_are_torchs(kind: str) -> None:
    """Of two passes, and the length where there is one."""
    name, cases = (
        ("IterableWrapper", _ITER) if kind == "iter" else ("SequenceWrapper", _MAP)
    )
    for case, make in cases.items():
        found = []
        for room in (ours, theirs):
            wrapper = getattr(getattr(room.datapipes, kind), name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                pipe = make(wrapper)
                found.append((list(pipe), _length(pipe)))
        assert found[0] == found[1], case


def _length(pipe: Any) -> int | None:
    try:
        return len(pipe)
    except TypeError:
        return None


def test_steps_are_torchs() -> None:
    """All but those of decoders and of data frames that record."""
    left_out = {"routed_decode", "trace_as_dataframe"}
    steps = {s for s in theirs.IterDataPipe.functions if not s.startswith("_")}
    assert set(ours.IterDataPipe._forms()) == steps - left_out
    assert set(ours.MapDataPipe._forms()) == set(theirs.MapDataPipe.functions)
