"""Devices by name: strings, lists, the default and its scopes, moving, mixing."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Iterator

import pytest
from tests.support.plugins import output

import dovetail as dt
from dovetail.conformance.reference import ReferenceBackend
from dovetail.device_api import DeviceInfo, registry
from dovetail.engine import modes
from dovetail.errors import ArgumentTypeError, BackendError, DeviceError, DTypeError


class Box(ReferenceBackend):
    """A machine with two devices that have no float64."""

    type = "box"
    automatic = True
    dtypes = ReferenceBackend.dtypes - {dt.float64}

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[int] = []

    def devices(self) -> list[DeviceInfo]:
        return [DeviceInfo(0, "Box 0"), DeviceInfo(1, "Box 1")]

    def synchronize(self, index: int) -> None:
        self.waited.append(index)


class Empty(Box):
    """A backend that finds no device in this machine."""

    type = "empty"

    def devices(self) -> list[DeviceInfo]:
        return []


@pytest.fixture
def no_accelerator(monkeypatch: pytest.MonkeyPatch) -> None:
    """The project's own accelerators do not volunteer, should there be one."""
    monkeypatch.setattr(registry, "PREFERENCE", ())


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch, no_accelerator: None) -> Iterator[Box]:
    """The device type `box`, and the default device as it was."""
    monkeypatch.delenv("DOVETAIL_DEVICE", raising=False)
    modes.of_environment.cache_clear()
    made = Box()
    registry.register(made)
    yield made
    modes.of_environment.cache_clear()
    dt.set_default_device(None)
    registry.unregister("box")


def where(**options: object) -> str:
    """The device that a tensor is made on."""
    return str(dt.zeros(2, **options).device)


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("cpu", "cpu"),
        ("cpu:0", "cpu"),
        ("box", "box:0"),
        ("box:1", "box:1"),
        ("nowhere,box:7,box:1,cpu", "box:1"),
        ("nowhere, cpu", "cpu"),
        ("auto", "box:0"),
        ("nowhere,auto", "box:0"),
    ],
)
def test_device_strings(box: Box, wanted: str, found: str) -> None:
    """A string, a list or `auto` names one device, as text and as a device."""
    assert where(device=wanted) == found
    assert where(device=dt.device(wanted)) == found
    assert str(dt.ones(1).to(wanted).device) == found


def test_auto_without_accelerator(no_accelerator: None) -> None:
    """`auto` is the CPU where nothing else volunteers."""
    assert str(dt.device("auto")) == "cpu"


def test_auto_passes_over_what_is_absent(box: Box) -> None:
    """A backend without a device in this machine is not chosen by `auto`."""
    registry.register(Empty())
    registry.unregister("box")
    try:
        assert where(device="auto") == "cpu"
    finally:
        registry.unregister("empty")


def test_no_such_index(box: Box) -> None:
    """An index that is not there is shown beside those that are."""
    with pytest.raises(DeviceError) as caught:
        dt.zeros(2, device="box:2")
    assert str(caught.value) == ("device: index is box:2, needed one of box:0, box:1")


def test_no_device_present() -> None:
    """A backend that finds no device says so."""
    registry.register(Empty())
    try:
        with pytest.raises(DeviceError) as caught:
            dt.zeros(2, device="empty")
    finally:
        registry.unregister("empty")
    assert str(caught.value).startswith(
        "device: type is 'empty', of which this machine has none"
    )


def test_none_of_the_list() -> None:
    """A list of which nothing is available tells why for each."""
    with pytest.raises(DeviceError) as caught:
        dt.zeros(2, device="nowhere,cpu:3")
    text = str(caught.value)
    assert "priority list is 'nowhere,cpu:3', needed one available device" in text
    assert "tried nowhere (device: type is 'nowhere', for which no backend" in text
    assert "cpu:3 (device: index is cpu:3, needed one of cpu:0)" in text


def test_context_manager(box: Box) -> None:
    """Within `with device(...)`, tensors that name no device are made there."""
    outer = dt.device("box:1")
    with outer as entered:
        assert entered is outer
        assert where() == "box:1"
        with dt.device("cpu"), dt.device("box"):
            assert where() == "box:0"
        with outer:
            assert where() == "box:1"
        assert where() == "box:1"
        assert where(device="cpu") == "cpu"
        assert str(dt.tensor([1.0]).device) == "box:1"
        assert str(dt.arange(3).device) == "box:1"
    assert where() == "cpu"


def test_context_manager_ends_with_an_error(box: Box) -> None:
    """The default returns when the block is left by an exception."""
    with pytest.raises(ZeroDivisionError), dt.device("box"):
        raise ZeroDivisionError
    assert where() == "cpu"


def test_decorator(box: Box) -> None:
    """A device decorates a function, which keeps its name."""

    @dt.device("box:1")
    def made(size: int) -> str:
        return where() if size else ""

    assert made(1) == "box:1"
    assert made.__name__ == "made"
    assert where() == "cpu"


def test_default_device(box: Box) -> None:
    """`set_default_device` holds until it is undone; a `with` block goes first."""
    dt.set_default_device("box:1")
    assert dt.get_default_device() == dt.device("box:1")
    assert where() == "box:1"
    with dt.device("cpu"):
        assert where() == "cpu"
        assert dt.get_default_device() == dt.device("cpu")
    assert where() == "box:1"
    dt.set_default_device(None)
    assert where() == "cpu"


def test_default_device_of_a_thread(box: Box) -> None:
    """The default belongs to the context that set it."""
    found: list[str] = []
    dt.set_default_device("box")
    thread = threading.Thread(target=lambda: found.append(where()))
    thread.start()
    thread.join()
    contextvars.Context().run(lambda: found.append(where()))
    assert found == ["cpu", "cpu"]
    assert where() == "box:0"


@pytest.mark.parametrize("use", ["default", "with"])
def test_unavailable_default(use: str) -> None:
    """An absent device is refused when it is named, and nothing has changed."""
    call = dt.set_default_device if use == "default" else dt.device("rocm").__enter__
    with pytest.raises(BackendError, match="'rocm', for which no backend is installed"):
        call(*["rocm"] * (use == "default"))
    assert where() == "cpu"


def test_environment(box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    """`DOVETAIL_DEVICE` is the default of a program that sets none."""
    monkeypatch.setenv("DOVETAIL_DEVICE", "nowhere,box:1")
    assert where() == "box:1"
    dt.set_default_device("cpu")
    assert where() == "cpu"


def test_environment_of_a_program() -> None:
    """The variable is read by a fresh program."""
    code = "import dovetail; print(dovetail.zeros(2).device)"
    assert output(code, DOVETAIL_DEVICE="meta") == "meta"


def test_meta_has_no_index() -> None:
    """There is one meta device, which its tensors name as programs ask for it."""
    x = dt.ones(2, device="meta:0")
    assert x.device == dt.device("meta")
    assert x.get_device() == -1


def test_moving(box: Box) -> None:
    """`to` moves and casts, and gives the tensor itself where it is there already."""
    x = dt.tensor([1.5, -2.0])
    there = x.to("box:1")
    assert str(there.device) == "box:1"
    assert there.to("box:1") is there
    assert there.to(dt.device("box:0")).tolist() == [1.5, -2.0]
    assert there.to("cpu", dt.int32).tolist() == [1, -2]
    assert there.to(x).device == x.device
    assert there.cpu().tolist() == [1.5, -2.0]


def test_moving_is_differentiable(box: Box) -> None:
    """A gradient goes back to the device that its tensor is on."""
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    (x.to("box") * 3.0).backward(dt.ones(2, device="box"))
    assert str(x.grad.device) == "cpu"
    assert x.grad.tolist() == [3.0, 3.0]


def test_moving_to_a_dtype_that_the_source_lacks(box: Box) -> None:
    """Where only the target has the dtype, the cast comes last."""
    y = dt.ones(2, device="box").to("cpu", dt.float64)
    assert (y.dtype, str(y.device)) == (dt.float64, "cpu")


def test_moving_to_a_device_that_lacks_the_dtype(box: Box) -> None:
    """Nothing is narrowed silently: what the device has is listed."""
    with pytest.raises(DTypeError) as caught:
        dt.ones(2, dtype=dt.float64).to("box")
    text = str(caught.value)
    assert text.startswith(
        "tensor: dtype is float64 on box:0, needed one of bfloat16, "
    )
    assert text.endswith("cast before moving to the device")
    assert dt.ones(2, dtype=dt.float64).to("box", dt.float32).dtype is dt.float32


@pytest.mark.parametrize(
    ("a", "b"), [("cpu", "box:0"), ("box:0", "cpu"), ("box:0", "box:1")]
)
def test_mixed_devices(box: Box, a: str, b: str) -> None:
    """Tensors of two devices do not mix; which one is where, and what to do."""
    with pytest.raises(DeviceError) as caught:
        dt.ones(2, device=a) + dt.ones(2, device=b)
    assert str(caught.value) == (
        f"add: other is on {b}, needed {a}, where the other tensors are: expected all "
        f'tensors to be on the same device; move it with .to("{a}")'
    )


def test_numbers_mix(box: Box) -> None:
    """A 0-d tensor on the CPU mixes with any device, as a number does."""
    two = dt.tensor(2.0, requires_grad=True)
    y = dt.ones(3, device="box:1", requires_grad=True)
    for product in (two * y, y * two):
        assert str(product.device) == "box:1"
        assert product.tolist() == [2.0, 2.0, 2.0]
    (y * two).backward(dt.ones(3, device="box:1"))
    assert (str(two.grad.device), two.grad.item()) == ("cpu", 3.0)
    assert str((two * dt.tensor(3.0, device="box")).device) == "box:0"
    assert str((dt.tensor(3.0, device="box") * two).device) == "box:0"


def test_numbers_of_a_device_do_not_mix(box: Box) -> None:
    """A 0-d tensor on a device is no number on the CPU."""
    with pytest.raises(DeviceError, match="other is on box:0, needed cpu"):
        dt.ones(3) * dt.tensor(3.0, device="box")


def test_writes_do_not_mix(box: Box) -> None:
    """An in-place op with a tensor of another device changes nothing."""
    x = dt.ones(2)
    with pytest.raises(DeviceError, match="other is on box:1, needed cpu"):
        x.add_(dt.ones(2, device="box:1"))
    assert (x.tolist(), x._version) == ([1.0, 1.0], 0)


def test_synchronize(box: Box) -> None:
    """The device named is waited for, else the default one."""
    dt.synchronize("box:1")
    with dt.device("box"):
        dt.synchronize()
    assert box.waited == [1, 0]


def test_devices(box: Box) -> None:
    """All devices whose backend loads are listed."""
    found = dt.devices()
    assert dt.device("cpu") in found
    assert dt.device("box:0") in found
    assert dt.device("box:1") in found


def test_is_available(box: Box) -> None:
    """Whether a tensor can be made on a device."""
    assert dt.is_available("cpu")
    assert dt.is_available("box:1")
    assert dt.is_available("rocm,box")
    assert not dt.is_available("box:2")
    assert not dt.is_available("nowhere")


def test_no_device() -> None:
    """What is no device at all is shown."""
    with pytest.raises(ArgumentTypeError) as caught:
        dt.zeros(2, device=1.5)
    assert "1.5" in str(caught.value)
    assert 'a string such as "c' in str(caught.value)


@pytest.mark.parametrize("name", ["Event", "Generator", "OutOfMemoryError", "Stream"])
def test_classes_are_offered_as_classes(name: str) -> None:
    """What programs catch, or ask about by isinstance, is no function."""
    assert isinstance(getattr(dt, name), type)
