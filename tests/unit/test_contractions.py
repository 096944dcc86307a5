"""einsum of three operands or more: in which order they are contracted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.engine import scopes
from dovetail.frontend import contractions

SWITCHES = dt.backends.opt_einsum
SIZES = {"a": 2, "b": 3, "c": 1, "d": 4, "e": 2}


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    with SWITCHES.flags(enabled=True, strategy="auto"):
        yield


class Results(scopes.Recorder):
    """Elements of what each contraction gives."""

    def __init__(self) -> None:
        self.found: list[int] = []

    def call(self, op: Any, inputs: Any, attrs: Any, outs: Any) -> None:
        if op.name == "einsum":
            self.found += [y.numel() for y in outs]


def _drawn(terms: list[str], seed: int, ones: set[tuple[int, str]]) -> list[Any]:
    random = np.random.default_rng(seed)
    return [
        random.standard_normal([1 if (i, n) in ones else SIZES[n] for n in term])
        for i, term in enumerate(terms)
    ]


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_any_order_gives_what_numpy_gives(data: st.DataObject) -> None:
    """With dims of size 1 that broadcast, and with repeated letters."""
    letters = st.text(sorted(SIZES), min_size=0, max_size=3)
    terms = data.draw(st.lists(letters, min_size=3, max_size=5))
    used = sorted({*"".join(terms)})
    output = "".join(data.draw(st.permutations(used)))[: data.draw(st.integers(0, 3))]
    once = [(i, n) for i, t in enumerate(terms) for n in t if t.count(n) == 1]
    ones = data.draw(st.sets(st.sampled_from(once), max_size=2)) if once else set()
    arrays = _drawn(terms, data.draw(st.integers(0, 99)), ones)
    equation = f"{','.join(terms)}->{output}"
    strategy = data.draw(st.sampled_from(contractions.STRATEGIES))
    with SWITCHES.flags(strategy=strategy):
        found = dt.einsum(equation, *map(dt.tensor, arrays))
    sizes = {n: max(a.shape[t.index(n)] for a, t in zip(arrays, terms, strict=True)
                    if n in t) for n in used}  # fmt: skip
    whole = [
        np.broadcast_to(a, [sizes[n] for n in t])
        for a, t in zip(arrays, terms, strict=True)
    ]
    np.testing.assert_allclose(found, np.einsum(equation, *whole), atol=1e-10)


@pytest.mark.parametrize(("enabled", "results"), [(True, [2, 200]), (False, [200])])
def test_the_order_takes_least_work(enabled: bool, results: list[int]) -> None:
    """A column is multiplied first; without an order, einsum is one call."""
    a, b, column = dt.ones(200, 2), dt.ones(2, 200), dt.ones(200, 1)
    seen = Results()
    with SWITCHES.flags(enabled=enabled), scopes.record(seen):
        y = dt.einsum("ij,jk,kl->il", a, b, column)
    assert seen.found == results
    np.testing.assert_array_equal(y, np.full((200, 1), 400.0))


def test_gradients_go_through_every_step() -> None:
    arrays = [np.random.default_rng(i).standard_normal((3, 3)) for i in range(4)]
    xs = [dt.tensor(a, requires_grad=True) for a in arrays]
    dt.einsum("ij,jk,kl,li->", *xs).backward()
    for i, x in enumerate(xs):
        others = [arrays[(i + k) % 4] for k in (1, 2, 3)]
        np.testing.assert_allclose(x.grad, np.linalg.multi_dot(others).T)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operands go from left to right, and nobody can ask for another way."""
    monkeypatch.setattr(contractions, "is_available", lambda: False)
    assert (SWITCHES.enabled, SWITCHES.strategy) == (False, None)
    assert contractions.steps_for("i,i,i", [(1,), (1,), (1,)]) is None
    assert dt.einsum("i,i,i", *[dt.ones(3)] * 3).item() == 3
    for name, value in (("enabled", True), ("strategy", "greedy")):
        with pytest.raises(
            RuntimeError, match=rf"opt_einsum: {name} is .* pip install"
        ):
            setattr(SWITCHES, name, value)


def test_strategies_that_are_none() -> None:
    with pytest.raises(ValueError, match="needed auto or greedy or optimal"):
        SWITCHES.strategy = "best"
    assert SWITCHES.strategy == "auto"


def test_what_does_not_fit_is_refused_as_ever() -> None:
    with pytest.raises(dt.errors.ShapeError, match=r"^einsum: label 'j'"):
        dt.einsum("ij,jk,kl->il", dt.ones(2, 3), dt.ones(4, 2), dt.ones(2, 2))
