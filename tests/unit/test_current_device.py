"""The current device of a type: of a thread or a task, by blocks and for good."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

import dovetail
from dovetail.device_api import current, registry
from dovetail.device_modules import DeviceModule
from dovetail.errors import DeviceError

FAKE = DeviceModule("dovetail.fake", "fake")


@pytest.fixture(autouse=True)
def _as_it_was() -> Iterator[None]:
    before = current.choice.get()
    yield
    current.choice.set(before)


def where() -> str:
    """Where a tensor is made that names the type alone."""
    return str(dovetail.zeros(2, device="fake").device)


def test_the_types_name_stands_for_the_device_that_was_set() -> None:
    """Until another one is; a name with an index never changes its meaning."""
    assert where() == "fake:0"
    for name in (1, "fake:1", dovetail.device("fake", 1)):
        FAKE.set_device(name)
        assert where() == "fake:1"
        assert FAKE.current_device() == 1
        assert str(dovetail.ones(1).to("fake").device) == "fake:1"
        assert str(dovetail.ones(1, device="fake:0").device) == "fake:0"
        FAKE.set_device(0)
        assert where() == "fake:0"


def test_blocks_end_as_they_began() -> None:
    """Also by an error, and within each other; negative numbers change nothing."""
    with FAKE.device(1):
        with FAKE.device("fake:0"):
            assert where() == "fake:0"
        with FAKE.device(-1):
            assert where() == "fake:1"
        with pytest.raises(ZeroDivisionError), FAKE.device(0):
            1 / 0  # noqa: B018
        with FAKE.device_of(dovetail.ones(1, device="fake:0")):
            assert where() == "fake:0"
        with FAKE.device_of(dovetail.ones(1)):
            assert where() == "fake:1"
    assert where() == "fake:0"


def test_a_device_that_is_not_there_changes_nothing() -> None:
    """The error names those that are."""
    FAKE.set_device(1)
    with pytest.raises(DeviceError, match=r"fake:7.*fake:0, fake:1"):
        FAKE.set_device(7)
    with pytest.raises(DeviceError, match="fake"):
        FAKE.set_device("cpu")
    assert where() == "fake:1"


def test_threads_begin_with_the_first_device() -> None:
    """A choice is nobody else's."""
    FAKE.set_device(1)
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(where()))
    thread.start()
    thread.join()
    assert found == ["fake:0"]
    assert where() == "fake:1"


def test_tasks_choose_for_themselves() -> None:
    """What one task chooses while another waits is not the other's."""

    async def one(index: int) -> str:
        FAKE.set_device(index)
        await asyncio.sleep(0)
        return where()

    async def both() -> list[str]:
        return list(await asyncio.gather(one(1), one(0)))

    assert asyncio.run(both()) == ["fake:1", "fake:0"]


def test_what_was_resolved_is_forgotten_with_the_backend() -> None:
    """A name is resolved again, under every choice, when backends come and go."""
    own = type("Twin", (type(registry.load("fake")),), {"type": "twin"})
    for _ in range(2):
        made = own()
        registry.register(made)
        try:
            for index in (0, 1):
                DeviceModule("dovetail.twin", "twin").set_device(index)
                assert registry.resolve("twin") == (made, index)
        finally:
            registry.unregister("twin")


def test_a_compiled_function_is_recorded_for_each_current_device() -> None:
    """What a recording makes is on the device that is current when it is called."""

    @dovetail.compile
    def made(x: dovetail.Tensor) -> dovetail.Tensor:
        return x.sum().item() + dovetail.ones(2, device="fake")

    x = dovetail.ones(3)
    for index in (0, 1, 0):
        with FAKE.device(index):
            assert made(x).device.index == index


def test_the_accelerators_names() -> None:
    """`device_index` is a block, `set_device_index` for good; the CPU is always 0."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            dovetail.accelerator, "_accelerator",
            lambda device: (registry.load("fake"), 1 if device is None else device),
        )  # fmt: skip
        with dovetail.accelerator.device_index(1):
            assert where() == "fake:1"
            with dovetail.accelerator.device_index(None):
                assert where() == "fake:1"
        assert where() == "fake:0"
        dovetail.accelerator.set_device_index(1)
        assert where() == "fake:1"
