"""DLPack: memory shared with other libraries, both ways, or an error that says why."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance.reference import reference
from dovetail.device_api import Borrowed, DLPack, registry
from dovetail.device_api.dlpack import Capsule
from dovetail.engine.scopes import Recorder, record
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    ExchangeError,
    InplaceError,
    NotSupported,
)
from dovetail_cpu.backend import CpuBackend

HOST = (1, 0)
PLAIN = [d for d in dtypes.ALL if d in dtypes.ANY - {dt.bfloat16}]


class Exporter:
    """An object that lends a NumPy array, with the DLPack that a test wants."""

    def __init__(self, array: Any, numbers: tuple[int, int] = HOST) -> None:
        self.array = array
        self.numbers = numbers
        self.asked: dict[str, Any] = {}

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numbers

    def __dlpack__(self, **options: Any) -> Any:
        self.asked = options
        return self.array.__dlpack__(**options)


class Old(Exporter):
    """An exporter of before DLPack 1.0, which knows no options."""

    def __dlpack__(self) -> Any:  # type: ignore[override]
        return self.array.__dlpack__()


@pytest.mark.parametrize("dtype", PLAIN, ids=lambda d: d.name)
def test_numpy_sees_our_memory(dtype: dt.dtype) -> None:
    """NumPy's array has our values, dtype and strides, and looks into our memory."""
    x = dt.ones(2, 3, dtype=dtype)
    array = np.from_dlpack(x.t())
    assert (array.dtype, array.tolist()) == (dtype.numpy, x.t().tolist())
    assert tuple(s // array.itemsize for s in array.strides) == x.t().stride()
    array[0, 1] = 0
    assert x[1, 0].item() == 0


@pytest.mark.parametrize("dtype", PLAIN, ids=lambda d: d.name)
@pytest.mark.parametrize("exporter", [Exporter, Old])
def test_we_see_numpys_memory(dtype: dt.dtype, exporter: type[Exporter]) -> None:
    """Our tensor has NumPy's values, dtype and strides, and looks into its memory."""
    array = np.ones((2, 3), dtype.numpy)
    x = dt.from_dlpack(exporter(array.T))
    assert (x.dtype, x.shape, x.stride()) == (dtype, (3, 2), (1, 3))
    x[1, 0] = 0
    assert array[0, 1] == 0
    array[1, 1] = 0
    assert x[1, 1].item() == 0


def test_bfloat16_between_tensors() -> None:
    """bfloat16, which NumPy lacks, is exchanged as itself, in both versions."""
    x = dt.tensor([1.5, -2.0, 3.0], dtype=dt.bfloat16)
    for capsule in (x.__dlpack__(), x[::2].__dlpack__(max_version=(1, 0))):
        described = Capsule(capsule).tensor
        assert (described.code, described.bits, described.lanes) == (4, 16, 1)
        y = dt.from_dlpack(capsule)
        assert y.dtype is dt.bfloat16
        y.fill_(7)
    assert x.tolist() == [7.0, 7.0, 7.0]


SLICES = st.builds(
    slice, *[st.one_of(st.none(), st.integers(-7, 7))] * 2, st.sampled_from([1, 2, -1])
)


@given(rows=SLICES, columns=SLICES, data=st.data())
@settings(max_examples=60, deadline=None, database=None, derandomize=True)
def test_any_layout(rows: slice, columns: slice, data: Any) -> None:
    """Any strides of 0 or more go through, in both directions; others are refused."""
    array = np.arange(30.0).reshape(5, 6)[rows, columns]
    if data.draw(st.booleans()):
        array = np.lib.stride_tricks.as_strided(
            array[:1], (4, *array.shape[1:]), (0, array.strides[1])
        )[: array.shape[0]]
    along = zip(array.strides, array.shape, strict=True)
    if array.size and any(s < 0 and n > 1 for s, n in along):  # of none, in no order
        with pytest.raises(dt.errors.ExchangeError, match="negative strides"):
            dt.from_dlpack(array)
        return
    x = dt.from_dlpack(array)
    assert x.tolist() == array.tolist()
    assert (x * 2 + 1).tolist() == (array * 2 + 1).tolist()
    assert x.t()[1:].tolist() == array.T[1:].tolist()
    again = np.from_dlpack(x)
    assert again.tolist() == array.tolist()
    if array.size:
        assert again.strides == array.strides
        assert again.ctypes.data == array.ctypes.data


def test_memory_outlives_its_exporter() -> None:
    """What was lent stays alive as long as somebody sees it, and no longer."""

    class Lender(np.ndarray[Any, Any]):
        """An array that can be watched."""

    array = np.arange(4.0).view(Lender)
    watch = weakref.ref(array)
    x = dt.from_dlpack(array)
    view = x[1:]
    del array, x
    gc.collect()
    assert view.tolist() == [1.0, 2.0, 3.0]
    assert watch() is not None
    del view
    gc.collect()
    assert watch() is None


def test_our_memory_outlives_our_tensor() -> None:
    """A capsule keeps memory alive by itself, and gives it back."""
    x = dt.arange(4.0)
    array = np.from_dlpack(x)
    del x
    gc.collect()
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]
    y = dt.from_numpy(np.arange(3.0))
    capsule, watch = y.__dlpack__(), weakref.ref(y._a)
    del y
    gc.collect()
    assert watch() is not None
    assert dt.from_dlpack(capsule).tolist() == [0.0, 1.0, 2.0]
    del capsule
    gc.collect()
    assert watch() is None


def test_read_only_memory() -> None:
    """Read-only memory may be read and copied, not written, and stays so for others."""
    array = np.arange(3.0)
    array.flags.writeable = False
    x = dt.from_dlpack(array)
    for write in (lambda: x.fill_(1), lambda: x[1:].add_(1), lambda: x.data.zero_()):
        with pytest.raises(InplaceError, match="lends for reading only"):
            write()
    assert (x + 1).tolist() == [1.0, 2.0, 3.0]
    assert not np.from_dlpack(x).flags.writeable
    with pytest.raises(ExchangeError, match="readonly"):
        x.__dlpack__()
    assert dt.from_dlpack(x, copy=True).fill_(1).tolist() == [1.0] * 3
    assert array.tolist() == [0.0, 1.0, 2.0]


def test_versions() -> None:
    """A consumer gets the newest version that it understands."""
    x = dt.ones(2)
    for version, name in (
        (None, b"dltensor"), ((0, 8), b"dltensor"), ((1, 0), b"dltensor_versioned"),
        ((3, 5), b"dltensor_versioned"),
    ):  # fmt: skip
        capsule = x.__dlpack__(max_version=version)
        assert Capsule(capsule).legacy == (name == b"dltensor")
        assert repr(name.decode()) in repr(capsule).replace('"', "'")


def test_a_version_of_the_future() -> None:
    """A capsule of DLPack 2 is refused."""
    capsule = dt.ones(2).__dlpack__(max_version=(1, 0))
    tensor = Capsule(capsule).tensor
    header = ctypes.c_uint32.from_address(ctypes.addressof(tensor) - 32)
    header.value = 2
    with pytest.raises(ExchangeError, match=r"DLPack 2\.\d+, needed version 1"):
        dt.from_dlpack(capsule)
    header.value = 1


def test_copies() -> None:
    """`copy=True` gives memory of its own, on both sides; `False` never copies."""
    array = np.zeros(3)
    dt.from_dlpack(array, copy=True).fill_(1)
    assert array.tolist() == [0.0] * 3
    x = dt.zeros(3)
    np.from_dlpack(x, copy=True)[:] = 1
    assert x.tolist() == [0.0] * 3
    dt.from_dlpack(array, copy=False).fill_(2)
    assert array.tolist() == [2.0] * 3
    lender = Exporter(array)
    dt.from_dlpack(lender, copy=False)
    assert lender.asked == {"max_version": (1, 0), "copy": False}


def test_gradients() -> None:
    """As in PyTorch, a tensor that requires grad is not lent."""
    leaf = dt.ones(2, requires_grad=True)
    for x in (leaf, leaf * 2):
        with pytest.raises(ExchangeError, match=r"use tensor\.detach\(\)") as caught:
            np.from_dlpack(x)
        assert isinstance(caught.value, BufferError)
    assert np.from_dlpack(leaf.detach()).tolist() == [1.0, 1.0]


def test_copies_made_by_ops_are_lent_for_reading() -> None:
    """What stands in for a view of PyTorch's, so that a write is lost, is read-only."""
    x = dt.tensor([1 + 2j])
    with record(Recorder()):
        part = x.real
    assert not np.from_dlpack(part).flags.writeable
    assert np.from_dlpack(x.real).flags.writeable


def test_capsules() -> None:
    """A capsule is taken once; anything else than a capsule or a lender is refused."""
    capsule = dt.ones(2).__dlpack__()
    assert dt.from_dlpack(capsule).tolist() == [1.0, 1.0]
    with pytest.raises(ExchangeError, match="nobody has taken yet"):
        dt.from_dlpack(capsule)
    with pytest.raises(ArgumentTypeError, match="ext_tensor is a int"):
        dt.from_dlpack(3)


def test_a_format_that_is_not_there() -> None:
    """An element format of nobody's is refused by its error."""
    capsule = dt.ones(2).__dlpack__()
    Capsule(capsule).tensor.lanes = 4
    with pytest.raises(ExchangeError, match="Unsupported"):
        dt.from_dlpack(capsule)


def test_streams() -> None:
    """The CPU has no streams; -1 asks for no synchronisation, as everywhere."""
    assert dt.ones(2).__dlpack__(stream=-1) is not None
    with pytest.raises(ArgumentError, match="stream is 3"):
        dt.ones(2).__dlpack__(stream=3)


def test_devices() -> None:
    """Memory of elsewhere is brought here if asked for, and refused otherwise."""
    lender = Exporter(np.ones(2), (8, 0))
    for options in ({}, {"device": "cpu", "copy": False}):
        with pytest.raises(DeviceError, match=r"\(8, 0\)"):
            dt.from_dlpack(lender, **options)
    assert dt.from_dlpack(lender, device="cpu").tolist() == [1.0, 1.0]
    assert lender.asked["dl_device"] == HOST
    reference()
    assert dt.from_dlpack(np.ones(2), device="reference").device.type == "reference"
    with pytest.raises(ExchangeError, match="copy is False"):
        dt.from_dlpack(np.ones(2), device="reference", copy=False)
    with pytest.raises(ExchangeError, match="'meta', needed one that has memory"):
        dt.from_dlpack(np.ones(2), device="meta")
    with pytest.raises(ExchangeError, match="dl_device"):
        dt.ones(2).__dlpack__(dl_device=(2, 0))
    assert dt.ones(2).__dlpack_device__() == HOST


def test_without_the_capability() -> None:
    """A device that shares no memory says what to do."""
    x = dt.ones(2, device="meta")
    calls: list[Callable[[], Any]] = [x.__dlpack__, x.__dlpack_device__]
    for call in calls:
        with pytest.raises(NotSupported, match=r"capability DLPack; use tensor\.cpu"):
            call()


class Lending(CpuBackend):
    """A backend with DLPack of its own: device 12 (an extension), number 5."""

    type = "lending"
    automatic = False

    def dlpack_device(self, native: Any) -> tuple[int, int]:
        return 12, 5

    def dlpack_index(self, device: tuple[int, int]) -> int | None:
        return 0 if device == (12, 5) else None

    def dlpack_import(self, source: Any, index: int, *, copy: bool | None) -> Borrowed:
        lent = source.__dlpack__(stream=9)
        return super().dlpack_import(Capsule(lent), index, copy=copy)


class Streaming(Exporter):
    """A lender that takes a stream."""

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        self.asked = {"stream": stream}
        return self.array.__dlpack__(**options)


@pytest.fixture
def lending() -> Iterator[DLPack]:
    """A backend in use whose memory DLPack numbers (12, 5)."""
    backend = Lending()
    registry.register(backend)
    yield backend
    registry.unregister("lending")


@pytest.mark.usefixtures("lending")
def test_a_backend_of_somebody_else() -> None:
    """Memory goes to the backend that knows its number, which asks for it itself."""
    lender = Streaming(np.ones(2, np.float32), (12, 5))
    x = dt.from_dlpack(lender)
    assert (str(x.device), x.dtype, lender.asked) == (
        "lending:0", dt.float32, {"stream": 9},
    )  # fmt: skip
    x.fill_(3)
    assert lender.array.tolist() == [3.0, 3.0]
    assert x.__dlpack_device__() == (12, 5)
    assert dt.from_dlpack(lender, device="cpu").tolist() == [3.0, 3.0]
    host = x.__dlpack__(dl_device=HOST)
    assert dt.from_dlpack(host).tolist() == [3.0, 3.0]
    with pytest.raises(ExchangeError, match="with a copy"):
        x.__dlpack__(dl_device=HOST, copy=False)
