"""`set_num_threads`: one number for the CPU, with torch's name and errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.null.codegen.counting import Counts
from threadpoolctl import threadpool_info

import dovetail as dt
from dovetail.codegen.runtime import threads as threads_module
from dovetail.codegen.runtime.pool import POOL


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """As many threads as before, afterwards."""
    before = dt.get_num_threads()
    yield
    dt.set_num_threads(before)


def blas() -> set[int]:
    """How many threads NumPy's BLAS may use; SciPy, if loaded, has one of its own."""
    found = [x for x in threadpool_info() if x["user_api"] == "blas"]
    return {x["num_threads"] for x in found if "scipy.libs" not in x["filepath"]}


@pytest.mark.parametrize("number", [1, 2])
def test_kernels_have_the_number_and_blas_one(number: int) -> None:
    """What was set is told, and holds for the pool; BLAS has no threads beside it."""
    dt.set_num_threads(number)
    assert dt.get_num_threads() == number
    assert blas() == {1}
    assert Counts(64).run(1) == [1] * 64
    assert len(POOL._workers) == number - 1


def test_without_kernels_blas_has_the_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no pool, products have as many threads as the user wants."""
    with monkeypatch.context() as patch:
        patch.setenv("DOVETAIL_KERNELS", "off")
        dt.set_num_threads(2)
        assert blas() == {2}


@pytest.mark.parametrize(
    ("given", "builtin", "text"),
    [
        (0, RuntimeError, "num_threads is 0, needed a positive integer"),
        (-3, RuntimeError, "num_threads is -3, needed a positive integer"),
        (2**40, ValueError, "needed a positive integer"),
        (1.0, RuntimeError, "num_threads is a float, needed a positive integer"),
        (True, RuntimeError, "num_threads is a bool, needed a positive integer"),
        ("2", RuntimeError, "num_threads is a str, needed a positive integer"),
        (None, RuntimeError, "num_threads is a NoneType, needed a positive integer"),
    ],
)
def test_what_is_no_number_of_threads(
    given: Any, builtin: type[Exception], text: str
) -> None:
    """Anything but a positive int is refused as in torch, and changes nothing."""
    before = dt.get_num_threads(), blas()
    with pytest.raises(builtin, match=text):
        dt.set_num_threads(given)
    assert (dt.get_num_threads(), blas()) == before


def test_without_threadpoolctl(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where BLAS is not OpenBLAS, a warning says that it keeps its own number."""
    before = blas()
    with monkeypatch.context() as patch:
        patch.setattr(threads_module, "blas", lambda: None)
        patch.setitem(sys.modules, "threadpoolctl", None)
        with pytest.warns(RuntimeWarning, match="BLAS keeps its number of threads"):
            dt.set_num_threads(1)
    assert dt.get_num_threads() == 1
    assert blas() == before
