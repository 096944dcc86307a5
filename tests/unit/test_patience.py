"""Small calls that a generated kernel serves once there were many of them."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail as dt
from dovetail.codegen import eager_places
from dovetail.codegen.runtime.machine import available
from dovetail.device_api import registry
from dovetail.xp import random as numpys
from dovetail_cpu import generated_random
from dovetail_cpu.patience import CALLS, Patience

pytestmark = pytest.mark.skipif(not available(), reason="kernels cannot be compiled")

Array = np.ndarray[Any, Any]
SEED = (1 << 63) + 12345
DRAWS: dict[str, tuple[Any, dict[str, Any]]] = {
    "uniform": (numpys._uniform, {"low": 0, "high": 1, "dtype": dt.float32}),
    "normal": (numpys._normal, {"mean": 1, "std": 3, "dtype": dt.float64}),
    "exponential": (numpys._exponential, {"rate": 2.5, "dtype": dt.float32}),
    "random_mask": (numpys._random_mask, {"p": 0.3, "dtype": dt.bool}),
}


def test_patience_ends_after_so_many_calls_and_begins_anew() -> None:
    """It says so once for each so many calls."""
    patience = Patience()
    said = [patience.ends() for _ in range(2 * CALLS + 2)]
    assert [i for i, ended in enumerate(said) if ended] == [CALLS, 2 * CALLS + 1]


@pytest.mark.parametrize("op", DRAWS)
def test_many_small_draws_are_generated(op: str) -> None:
    """With the bits that NumPy's steps gave before."""
    own, given = DRAWS[op]
    slow: list[int] = []

    def small(**named: Any) -> Array:
        slow.append(1)
        drawn: Array = own(np, **named)
        return drawn

    make, _ = generated_random.DRAWS[op]
    kernel = make(small, generated_random.LEAST)
    for turn in range(CALLS + 3):
        place = {"seed": SEED, "offset": 5 * turn & ~1, "index": 0, **given}
        got, want = kernel(shape=(3, 7), **place), own(np, shape=(3, 7), **place)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.tobytes() == want.tobytes()
    assert len(slow) == CALLS


def test_many_small_permutations_are_of_generated_words() -> None:
    """They are those that NumPy's words give."""
    slow: list[int] = []

    def small(**named: Any) -> Array:
        slow.append(1)
        order: Array = numpys._random_permutation(np, dtype=dt.int64, **named)
        return order

    kernel = generated_random._permutation(small, generated_random.LEAST)
    for turn in range(CALLS + 3):
        place = {"n": 40, "seed": SEED, "offset": 3 * turn, "index": 0}
        want = numpys._random_permutation(np, dtype=dt.int64, **place)
        np.testing.assert_array_equal(kernel(**place), want)
    assert len(slow) == CALLS


def test_equal_keys_keep_their_order() -> None:
    """Of few keys, the order is stable, though what is tried first is not."""
    rng = np.random.default_rng(0)
    keys = rng.integers(0, 9, 500).astype(np.uint64)
    order = numpys.order_of_few(np, keys)
    np.testing.assert_array_equal(order, np.argsort(keys, kind="stable"))


def test_many_small_gathers_are_generated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call gives the same, and a bad index is refused by name afterwards."""
    served: list[Any] = []
    own = eager_places.at_places

    def counted(*args: Any, **options: Any) -> bool:
        served.append(own(*args, **options))
        return bool(served[-1])

    monkeypatch.setattr(eager_places, "at_places", counted)
    gather = registry.load("cpu").table.select("gather", dt.float32)[0].function(dim=1)
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    index = np.array([[3, 0], [1, 1], [2, 3]])
    for _ in range(CALLS + 3):
        np.testing.assert_array_equal(gather(x, index), np.take_along_axis(x, index, 1))
    assert served == [True, True]
    with pytest.raises(dt.errors.IndexOutOfRange, match="4"):
        gather(x, index + 1)
    assert served == [True, True, False]


FEW = f"""
import sys, dovetail
x = dovetail.ones(99)
for _ in range({CALLS - 1}):
    dovetail.randn(99)
    dovetail.nn.functional.hardswish(x)
    x.gather(0, dovetail.zeros(9, dtype=dovetail.int64))
assert "llvmlite" not in sys.modules
for _ in range({CALLS}):
    dovetail.randn(99)
assert "llvmlite" in sys.modules
"""


def test_fewer_small_calls_compile_nothing() -> None:
    """llvmlite is imported by the one that is one too many, and no sooner."""
    child.run(sys.executable, "-c", FEW)
