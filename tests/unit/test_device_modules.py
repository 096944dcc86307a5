"""`torch.cuda` and its kin, `torch.backends` and `torch.accelerator`."""

import os

import pytest

import dovetail
from dovetail import accelerator
from dovetail.device_api import DeviceInfo
from dovetail.device_modules import DeviceModule
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


def test_the_cpu_is_its_current_device() -> None:
    """It can be named in every way, and no device of another type can."""
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
    mha = dovetail.backends.mha
    assert mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(False)
    assert not mha.get_fastpath_enabled()
    mha.set_fastpath_enabled(True)


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


def test_what_is_known_of_a_device_has_torchs_names() -> None:
    """Versions that a device does not tell are None, or refused where asked for."""
    found = THERE.get_device_properties()
    assert found.total_memory == found.memory_bytes
    assert found.multi_processor_count == os.cpu_count()
    assert found.major is None
    assert found.minor is None
    with pytest.raises(NotImplementedError, match="version"):
        THERE.get_device_capability()
    known = DeviceInfo(0, "a card", capability=(9, 1), arch="sm_91")
    assert (known.major, known.minor) == (9, 1)
    ours = dovetail.accelerator.get_device_capability("cpu")
    assert dovetail.float32 in ours["supported_dtypes"]


def test_a_share_of_the_memory_is_a_limit() -> None:
    """Beyond it memory is refused; all of it is no limit that matters."""
    free, total = THERE.mem_get_info()
    assert 0 < free <= total
    assert THERE.get_per_process_memory_fraction() == 1.0
    try:
        THERE.set_per_process_memory_fraction(1e-4)
        assert THERE.get_per_process_memory_fraction() == 1e-4
        with pytest.raises(dovetail.OutOfMemoryError):
            dovetail.ones(total // 40_000 + 1, dtype=dovetail.float32)
    finally:
        THERE.set_per_process_memory_fraction(1.0)
    for wrong in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="fraction"):
            THERE.set_per_process_memory_fraction(wrong)
    with pytest.raises(TypeError, match="fraction"):
        THERE.set_per_process_memory_fraction("half")


def test_what_was_counted_is_counted_anew() -> None:
    """What is in use stays; what came and went is forgotten."""

    class Counting:
        """A pool, as far as it is asked."""

        def counts(self, index: int) -> dict[str, int]:
            return {"allocated_bytes.all.allocated": 70, "num_ooms": 2, "live": 5}

    pool = Counting()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accelerator, "_pool", lambda name, device: (pool, 0))
        patch.setattr(accelerator, "_workspaces", lambda device: None)
        assert accelerator.memory_stats()["num_ooms"] == 2
        accelerator.reset_accumulated_memory_stats()
        assert accelerator.memory_stats() == {
            "allocated_bytes.all.allocated": 0, "live": 5, "num_ooms": 0,
        }  # fmt: skip
    assert "allocated_bytes.all.current" in THERE.memory_summary()


def test_names_of_torchs_own_runtime_say_why_they_are_not_there() -> None:
    """They are declared with their reasons; others are plainly unknown."""
    with pytest.raises(AttributeError, match="NVIDIA"):
        dovetail.cuda.temperature()
    with pytest.raises(AttributeError, match="not_a_name"):
        dovetail.cuda.not_a_name()


def test_switches_are_set_for_blocks_once_global_flags_are_disabled() -> None:
    """Then assignments are refused, until programs allow them again."""
    cudnn = dovetail.backends.cudnn
    assert not dovetail.backends.flags_frozen()
    dovetail.backends.disable_global_flags()
    try:
        assert dovetail.backends.flags_frozen()
        with pytest.raises(RuntimeError, match="not allowed to set cudnn flags after"):
            cudnn.benchmark = True
        with pytest.raises(RuntimeError, match="mkldnn flags"):
            dovetail.backends.mkldnn.enabled = False
        with cudnn.flags(benchmark=True):
            assert cudnn.benchmark
            with pytest.raises(RuntimeError, match="use flags"):
                cudnn.benchmark = False
        assert not cudnn.benchmark
        dovetail.backends.cuda.enable_flash_sdp(True)
    finally:
        setattr(dovetail.backends, "__allow_nonbracketed_mutation_flag", True)
    cudnn.benchmark = True
    cudnn.benchmark = False
