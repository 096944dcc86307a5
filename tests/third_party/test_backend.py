"""The fake backend is what it claims to be: small, strange, and level 0 only."""

from __future__ import annotations

import ast
import copy
import gc
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail_fake
from dovetail.device_api import Pool, registry
from dovetail.engine.kinds import kind_of
from dovetail.engine.op import declared
from dovetail_fake.memory import FakeArray

SOURCE = Path(dovetail_fake.__file__).parent
REFUSED = {
    "numpy.asarray": np.asarray,
    "numpy.add": lambda a: np.add(a, 1),
    "numpy.array + a": lambda a: np.ones(2) + a,
    "numpy.sum": np.sum,
    "iteration": list,
    "len": len,
    "bool": bool,
    "index": lambda a: a[0],
    "float": float,
    "equality": lambda a: a == 1,
    "buffer": memoryview,
}


@pytest.fixture
def native() -> FakeArray:
    """A native array of two elements."""
    found = dt.ones(2, device="fake")._a
    assert type(found) is FakeArray
    return found


@pytest.mark.parametrize("use", REFUSED)
def test_native_arrays_refuse(use: str, native: FakeArray) -> None:
    """A native array is no NumPy array and does not become one."""
    with pytest.raises(TypeError):
        REFUSED[use](native)


def test_it_is_small() -> None:
    """The whole backend has at most 300 lines."""
    lines = [len(p.read_text("utf-8").splitlines()) for p in SOURCE.rglob("*.py")]
    assert sum(lines) <= 300


def test_it_sees_the_interface_only() -> None:
    """It imports what any author of a backend has."""
    found = {
        node.module
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dovetail.")
    }
    assert found <= {"dovetail.device_api", "dovetail.dtypes", "dovetail.errors"}


def test_level_0_and_no_more() -> None:
    """It has a kernel for each primitive in each dtype it claims, and no other."""
    backend = registry.load("fake")
    wanted = {
        (op.name, dtype.name)
        for op in declared()
        for dtype in op.primitive & backend.dtypes
    }
    made = {
        (op, dtype.name)
        for op in backend.table.names()
        for dtype in backend.dtypes
        if backend.table.select(op, dtype)
    }
    surplus = {pair for pair in made - wanted if pair[0] != "iota"}
    assert (wanted - made, surplus) == (set(), set())


def test_auto_does_not_choose_it() -> None:
    """`automatic = False` keeps it out of the device string `auto`."""
    assert dt.device("auto").type != "fake"


def test_two_devices() -> None:
    """A tensor stays on the device it was made on; the two do not mix."""
    a, b = dt.ones(2, device="fake"), dt.ones(2, device="fake:1")
    assert (str(a.device), str(b.device)) == ("fake:0", "fake:1")
    assert str((b * 2 + 1).device) == "fake:1"
    assert str(dt.arange(3, device="fake:1").device) == "fake:1"
    with pytest.raises(
        dt.errors.DeviceError, match="other is on fake:1, needed fake:0"
    ):
        a + b
    assert (a + b.to("fake:0")).tolist() == [2.0, 2.0]


def test_missing_dtypes() -> None:
    """float64 is refused, and nothing is narrowed silently."""
    with pytest.raises(
        dt.errors.DTypeError, match="float64 on fake:0, needed one of bool"
    ):
        dt.zeros(2, dtype=dt.float64, device="fake")
    with pytest.raises(dt.errors.DTypeError, match="float64 on fake:0"):
        dt.ones(2, device="fake").double()


def test_views_share_memory() -> None:
    """Slices, transposes and expansions look into one block."""
    x = dt.arange(12, device="fake").reshape(3, 4)
    assert x[1:, ::2].tolist() == [[4, 6], [8, 10]]
    x[:, 1].fill_(-1)
    assert x.permute(1, 0)[1].tolist() == [-1, -1, -1]
    assert x[0].expand(2, 4).tolist() == [[0, -1, 2, 3]] * 2
    x[1:].copy_(x[:-1])  # overlapping, as if copied first
    assert x.tolist() == [[0, -1, 2, 3], [0, -1, 2, 3], [4, -1, 6, 7]]


def test_no_view_leaves_its_memory() -> None:
    """The backend itself notices a view outside the memory."""
    kind = kind_of("fake", dt.float32)
    whole = kind.backend.empty((4,), dt.float32, 0)
    with pytest.raises((TypeError, ValueError)):
        kind.backend.copy_out(kind.backend.view(whole, (4,), (1,), 1))


def pool() -> Any:
    found = registry.load("fake").capability(Pool)
    assert found is not None
    gc.collect()
    return found


def test_memory_is_counted() -> None:
    """Live bytes rise with tensors, not with views, and fall with the last of them."""
    before = pool().live_bytes(1)
    x = dt.zeros(256, device="fake:1")
    assert pool().live_bytes(1) == before + 1024
    view = x[10:]
    del x
    assert pool().live_bytes(1) == before + 1024
    del view
    assert pool().live_bytes(1) == before
    assert pool().peak_bytes(1) >= before + 1024


def test_fresh_memory_holds_no_zeros() -> None:
    """Whoever forgets to write what `empty` gives is found out."""
    assert dt.empty(3, dtype=dt.int32, device="fake").tolist() != [0, 0, 0]


def test_copies_of_tensors() -> None:
    """Pickling and deep copies keep device and values."""
    x = dt.tensor([1.0, 2.0], device="fake:1", requires_grad=True)
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert (str(again.device), again.tolist()) == ("fake:1", [1.0, 2.0])
        assert again.requires_grad


def test_repr_names_the_device() -> None:
    """A printed tensor says where it is."""
    assert repr(dt.ones(2, device="fake:1")) == ("tensor([1., 1.], device='fake:1')")
