"""Capsules of DLPack that are made and taken without a library that knows them."""

from __future__ import annotations

import ctypes
import gc
import weakref
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.device_api.capsules import Taken, lend
from dovetail.dtypes import from_numpy
from dovetail.errors import ExchangeError

HOST = (1, 0)


class Owner:
    """What is kept while memory is lent."""


class Exporter:
    """Lends NumPy's memory by capsules of ours."""

    def __init__(self, array: Any, *, versioned: bool = True, readonly: bool = False):
        self.array, self.owner = array, Owner()
        self.versioned, self.readonly = versioned, readonly

    def __dlpack_device__(self) -> tuple[int, int]:
        return HOST

    def __dlpack__(self, **_: Any) -> Any:
        a = self.array
        steps = tuple(s // a.itemsize for s in a.strides)
        return lend(
            (a, self.owner), a.ctypes.data, HOST, from_numpy(a.dtype), a.shape, steps,
            versioned=self.versioned, readonly=self.readonly,
        )  # fmt: skip


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize("name", ["bool", "uint8", "int64", "float16", "complex64"])
def test_numpy_takes_what_is_lent(name: str, versioned: bool) -> None:
    """Values, dtype and strides are those of the memory, with and without versions."""
    x = np.arange(12).reshape(3, 4).astype(name).T[1:]
    y = np.from_dlpack(Exporter(x, versioned=versioned))
    assert y.dtype == x.dtype
    assert y.strides == x.strides
    assert np.array_equal(x, y)
    assert np.shares_memory(x, y)


@pytest.mark.parametrize("versioned", [True, False])
def test_an_owner_lives_until_the_consumer_is_done(versioned: bool) -> None:
    """And no longer: neither where a capsule was taken nor where it was not."""
    lent = Exporter(np.ones(3), versioned=versioned)
    gone = weakref.ref(lent.owner)
    taken, untouched = np.from_dlpack(lent), lent.__dlpack__()
    lent.owner = None  # type: ignore[assignment]
    del lent
    gc.collect()
    assert gone() is not None
    del untouched
    gc.collect()
    assert gone() is not None
    del taken
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("version", [(1, 0), None])
def test_numpys_capsules_are_taken(version: Any) -> None:
    """What describes them is read, and NumPy's array lives as long as that."""
    x = np.arange(6, dtype=np.int16).reshape(2, 3)[:, 1:]
    values = x.copy()
    taken = Taken(x.__dlpack__(max_version=version))
    gone = weakref.ref(x)
    del x
    gc.collect()
    assert gone() is not None
    assert (taken.dtype, taken.shape, taken.strides) == (dt.int16, (2, 2), (3, 1))
    first = (ctypes.c_int16 * 2).from_address(taken.address)
    assert list(first) == values[0].tolist()
    assert not taken.readonly
    del taken
    gc.collect()
    assert gone() is None


def test_memory_that_must_not_be_written_says_so() -> None:
    """By a flag, which only versions from 1.0 on have."""
    x = np.ones(3)
    assert Taken(Exporter(x, readonly=True).__dlpack__()).readonly
    with pytest.raises(BufferError, match="read-only"):
        Exporter(x, versioned=False, readonly=True).__dlpack__()


def test_a_capsule_is_taken_once() -> None:
    """The second time the error says how to have another."""
    capsule = Exporter(np.ones(3)).__dlpack__()
    Taken(capsule)
    with pytest.raises(ExchangeError, match="nobody has taken"):
        Taken(capsule)
