"""Sobol's points: their law, where they begin, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dovetail as torch

pytest.importorskip("scipy", reason="Sobol's direction numbers are SciPy's")
from dovetail.quasirandom import SobolEngine


@given(
    dimension=st.integers(1, 40),
    steps=st.lists(st.tuples(st.booleans(), st.integers(0, 300)), max_size=6),
)
def test_points_are_scipys_wherever_one_begins(
    dimension: int, steps: list[tuple[bool, int]]
) -> None:
    from scipy.stats import qmc

    total = sum(n for _, n in steps)
    truth = qmc.Sobol(dimension, scramble=False).random(1 << total.bit_length())
    engine, begin = SobolEngine(dimension), 0
    for passes, n in steps:
        if passes:
            engine.fast_forward(n)
        else:
            drawn = engine.draw(n, dtype=torch.float64).numpy()
            np.testing.assert_array_equal(drawn, truth[begin : begin + n])
        begin += n
        assert engine.num_generated == begin
        if begin:
            found = engine.quasi.numpy() / 2**SobolEngine.MAXBIT
            np.testing.assert_array_equal(found, truth[begin - 1])


@pytest.mark.parametrize("seed", range(4))
def test_scrambled_points_keep_one_in_each_part(seed: int) -> None:
    # Of 2^k points each of 2^k equal parts of every axis holds one; also of two axes
    # in halves, quarters and so on, for the first two dimensions.
    engine = SobolEngine(6, scramble=True, seed=seed)
    x = engine.draw_base2(8).numpy()
    for column in x.T:
        assert sorted(np.floor(column * 256)) == list(range(256))
    for left in range(9):
        parts = np.floor(x[:, 0] * 2**left) * 2 ** (8 - left)
        parts += np.floor(x[:, 1] * 2 ** (8 - left))
        assert sorted(parts) == list(range(256))
    assert not np.array_equal(x, SobolEngine(6).draw(256).numpy())


def test_seeds_say_which_points_and_copies_go_on() -> None:
    first = SobolEngine(5, scramble=True, seed=7)
    again = SobolEngine(5, scramble=True, seed=7)
    other = SobolEngine(5, scramble=True, seed=8)
    x = first.draw(9)
    assert torch.equal(x, again.draw(9))
    assert not torch.equal(x, other.draw(9))
    copy = pickle.loads(pickle.dumps(first))
    assert torch.equal(copy.draw(3), first.draw(3))
    assert torch.equal(first.reset().draw(9), x)
    torch.manual_seed(3)
    unseeded = SobolEngine(2, scramble=True).draw(4)
    torch.manual_seed(3)
    assert torch.equal(SobolEngine(2, scramble=True).draw(4), unseeded)
    assert repr(first) == "SobolEngine(dimension=5, scramble=True, seed=7)"


def test_results_have_the_dtype_and_the_place_that_are_asked_for() -> None:
    assert SobolEngine(2).draw().dtype is torch.float32
    assert SobolEngine(2).draw(2, dtype=torch.float16).dtype is torch.float16
    out = torch.empty(0)
    assert SobolEngine(3).draw(4, out=out) is out
    assert out.shape == (4, 3)


@pytest.mark.parametrize("dimension", [0, -1, SobolEngine.MAXDIM + 1])
def test_no_such_dimension(dimension: int) -> None:
    with pytest.raises(ValueError, match=f"dimension is {dimension}, needed 1 to"):
        SobolEngine(dimension)


def test_refused_draws_change_nothing() -> None:
    engine = SobolEngine(2).fast_forward(2**30 - 1)
    assert engine.draw().tolist() == [[pytest.approx(2**-30), pytest.approx(0.8)]]
    with pytest.raises(ValueError, match="are drawn"):
        engine.draw()
    other = SobolEngine(2).fast_forward(3)
    with pytest.raises(ValueError, match="a power of 2"):
        other.draw_base2(3)
    with pytest.raises(ValueError, match="n is -1"):
        other.draw(-1)
    with pytest.raises(TypeError, match="dtype is int64"):
        other.draw(2, dtype=torch.int64)
    assert (engine.num_generated, other.num_generated) == (2**30, 3)


def test_without_scipy_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str, *_: Any) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("dovetail.quasirandom.import_module", refuse)
    with pytest.raises(NotImplementedError, match=r"dovetail\[quasirandom\]"):
        SobolEngine(2)
