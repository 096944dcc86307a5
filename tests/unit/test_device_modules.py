"""`torch.cuda` and its kin, `torch.backends` and `torch.accelerator`."""

import pytest

import dovetail
from dovetail.device_module import DeviceModule
from dovetail.errors import DeviceError

# A type of which every machine has a device, and one of which none has.
THERE = dovetail.cpu
NONE = DeviceModule("dovetail.nowhere", "mps")


def test_a_type_without_devices_says_so_and_does_nothing() -> None:
    """Counts and bytes are 0, seeds and caches are no errors."""
    assert not NONE.is_available()
    assert NONE.device_count() == 0
    assert NONE.memory_allocated() == NONE.max_memory_allocated(0) == 0
    NONE.manual_seed_all(3)
    NONE.empty_cache()
    NONE.reset_peak_memory_stats()
    assert not NONE.is_initialized()


@pytest.mark.parametrize("ask", ["current_device", "synchronize", "init"])
def test_what_needs_a_device_says_why_there_is_none(ask: str) -> None:
    """The error names the device type."""
    with pytest.raises(DeviceError, match="mps"):
        getattr(NONE, ask)()


def test_seeds_start_the_devices_stream() -> None:
    """The same numbers come from the same seed, and from a state."""
    THERE.manual_seed(5)
    state = THERE.get_rng_state()
    first = dovetail.rand(3)
    THERE.manual_seed_all(5)
    assert dovetail.equal(dovetail.rand(3), first)
    THERE.set_rng_state(state)
    assert dovetail.equal(dovetail.rand(3), first)
    assert THERE.initial_seed() == 5


def test_memory_is_the_accelerators() -> None:
    """Bytes in use, as `torch.accelerator` counts them."""
    before = THERE.memory_allocated()
    kept = dovetail.ones(1000)
    assert THERE.memory_allocated() - before == 4 * kept.numel()
    assert THERE.memory_stats()["allocated_bytes.all.current"] > 0


def test_the_current_device_stays() -> None:
    """It can be named in every way, and no other one can."""
    for name in (0, "cpu", "cpu:0", dovetail.device("cpu")):
        THERE.set_device(name)
        with THERE.device(name):
            assert THERE.current_device() == 0
    with pytest.raises(DeviceError, match="cpu"):
        THERE.set_device("cuda")
    with THERE.device_of(dovetail.ones(1)):
        THERE.synchronize()
    assert THERE.get_device_name() == THERE.get_device_properties(0).name


def test_amp_is_that_of_the_type() -> None:
    """`cpu.amp.autocast()` needs no device type."""
    x = dovetail.ones(2, 2)
    with THERE.amp.autocast():
        assert (x @ x).dtype == dovetail.bfloat16
    with dovetail.cuda.amp.autocast(enabled=False):
        assert (x @ x).dtype == dovetail.float32


def test_each_type_has_its_module() -> None:
    """`get_device_module` gives torch's modules, and one for any other type."""
    assert dovetail.get_device_module("cuda:1") is dovetail.cuda
    assert dovetail.get_device_module().is_available()
    assert dovetail.get_device_module("meta").device_count() == 1


def test_switches_are_kept_and_names_are_checked() -> None:
    """What is set is read again; a switch that torch lacks is refused."""
    cudnn = dovetail.backends.cudnn
    with cudnn.flags(benchmark=True):
        assert cudnn.benchmark
    assert not cudnn.benchmark
    with pytest.raises(AttributeError, match="benchmarks"):
        cudnn.benchmarks = True
    assert dovetail.backends.cuda.is_available() == dovetail.cuda.is_available()


def test_the_accelerator_is_what_auto_takes() -> None:
    """It is None where that is the CPU, and else the type of the device."""
    found = dovetail.accelerator.current_accelerator()
    auto = dovetail.device("auto")
    assert (auto.type if found is None else found.type) == auto.type
    assert dovetail.accelerator.is_available() == (found is not None)
    assert (dovetail.accelerator.device_count() > 0) == (found is not None)
    dovetail.accelerator.synchronize()


def test_scripts_are_left_as_they_are() -> None:
    """`jit.script` gives what it was given, which is never compiled."""

    @dovetail.jit.script
    def twice(x: dovetail.Tensor) -> dovetail.Tensor:
        return x + x if not dovetail.jit.is_scripting() else x

    @dovetail.jit.ignore()
    def same(x: int) -> int:
        return x

    assert twice(dovetail.ones(1)).item() == 2.0
    assert same(3) == 3
