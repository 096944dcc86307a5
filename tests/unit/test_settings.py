"""Settings of a program, which take nothing but what they are for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail import amp
from dovetail.errors import DovetailError

JUNK: Final[dict[str, Any]] = {
    "None": None, "an int": 3, "a float": 1.5, "a text": "a", "a list": [1],
    "an object": object(), "a float tensor": dt.ones(2), "an array": np.ones(2),
    "a bool tensor": dt.tensor(True),
}  # fmt: skip
# A setting, what reads it, and what of the above it does take.
SETTINGS: Final[dict[str, tuple[Callable[[Any], Any], Callable[[], Any], set[str]]]] = {
    "default dtype": (dt.set_default_dtype, dt.get_default_dtype, set()),
    "default device": (
        dt.set_default_device, lambda: str(dt.ones(1).device), {"None"},
    ),
    "grad mode": (dt.set_grad_enabled, dt.is_grad_enabled, set()),
    "autocast": (
        lambda v: dt.set_autocast_enabled("cpu", v),
        lambda: dt.is_autocast_enabled("cpu"), set(),
    ),
    "autocast's dtype": (
        lambda v: dt.set_autocast_dtype("cpu", v),
        lambda: dt.get_autocast_dtype("cpu"), set(),
    ),
    "autocast's cache": (
        dt.set_autocast_cache_enabled, dt.is_autocast_cache_enabled, set(),
    ),
    "fallback": (dt.set_fallback_policy, dt.get_fallback_policy, set()),
    "finfo": (dt.finfo, dt.get_default_dtype, {"None"}),
    "iinfo": (dt.iinfo, dt.get_default_dtype, set()),
    "index": (lambda v: dt.device("cpu", v), dt.get_default_dtype, {"None", "an int"}),
    "requires_grad": (
        lambda v: setattr(LEAF, "requires_grad", v), lambda: LEAF.requires_grad, set(),
    ),
}  # fmt: skip
LEAF: Final = dt.ones(1)


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    dtype, graded, cache = (
        dt.get_default_dtype(), dt.is_grad_enabled(), dt.is_autocast_cache_enabled(),
    )  # fmt: skip
    yield
    dt.set_default_dtype(dtype)
    dt.set_default_device(None)
    dt.set_grad_enabled(graded)
    dt.set_autocast_cache_enabled(cache)
    assert not amp.is_autocast_available("none")


@pytest.mark.parametrize("what", JUNK)
@pytest.mark.parametrize("name", SETTINGS)
def test_a_setting_takes_what_it_is_for(name: str, what: str) -> None:
    """Everything else is refused as ours, and changes nothing."""
    change, read, takes = SETTINGS[name]
    if what in takes:
        return
    before = read()
    with pytest.raises((DovetailError, TypeError)) as caught:
        change(JUNK[what])
    assert isinstance(caught.value, DovetailError)
    assert read() == before


@pytest.mark.parametrize(
    ("given", "meant"),
    [(float, dt.float64), (int, dt.int64), (bool, dt.bool), (complex, dt.complex128)],
)
def test_pythons_types_are_dtypes(given: Any, meant: Any) -> None:
    """Python's types of numbers name the dtypes that torch has them name."""
    assert dt.zeros(2, dtype=given).dtype is meant
    assert dt.ones(2).to(given).dtype is meant
    assert dt.ones(2).to(dtype=given).dtype is meant
    assert dt.ones(2).to("cpu", given).dtype is meant
    assert dt.tensor([1], dtype=given).dtype is meant
    assert dt.ones(2).sum(dtype=given).dtype is meant


def test_a_leaf_that_is_none_any_more() -> None:
    """A gradient for what an op has written since is refused, not lost."""
    x = dt.ones(2, requires_grad=True)
    y = x * 2
    x.requires_grad_(False)
    x.add_(y)
    with pytest.raises(RuntimeError, match="moved into the graph interior"):
        x.sum().backward()


def test_what_an_op_wrote_is_kept_once() -> None:
    """A result that gradients need is kept where it was written, and nowhere else."""
    x = dt.ones(3, requires_grad=True) * 1
    x.sigmoid_()
    assert x.grad_fn.saved[0][0] is x._a
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()
