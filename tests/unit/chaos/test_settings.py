"""How the chaos device is set."""

from __future__ import annotations

import pytest
from tests.support import child
from tests.support.chaos import Broken
from tests.support.dense import registered

import dovetail as dt
from dovetail.device_api import registry
from dovetail.engine.op import vocabulary
from dovetail.errors import (
    ArgumentError,
    DovetailError,
    KernelError,
)
from dovetail.testing import chaos
from dovetail.testing.chaos_device.settings import parse


def test_the_environment_sets_it() -> None:
    """`DOVETAIL_CHAOS` holds where no `chaos(...)` does; its loss ends well."""
    code = """
import dovetail as dt
x = dt.ones(3, device="chaos:cpu")
try:
    for i in range(9):
        x = x + 1
except dt.errors.DeviceLost as error:
    print(i, error)
"""
    settings = "seed=7,device_loss=4"
    done = child.python("-W", "error", "-c", code, DOVETAIL_CHAOS=settings)
    assert done.stderr == ""
    assert done.stdout.startswith("3 device: chaos:cpu:0 is lost at kernel 4, add")


def test_work_that_is_due_at_exit_is_no_trouble() -> None:
    """A process may end without having waited."""
    code = "import dovetail as dt; x = dt.ones(9, device='chaos:cpu').exp() + 1"
    assert child.python("-W", "error", "-c", code, DOVETAIL_CHAOS="").stderr == ""


def test_settings_are_read() -> None:
    """Every setting has its spelling in the environment."""
    found = parse("seed=7, poison=0,guard=false,reorder=1,out_of_memory=3/9")
    assert (found.seed, found.poison, found.guard, found.reorder) == (7, 0, 0, 1)
    assert found.out_of_memory == {3, 9}
    assert parse("device_loss=0.5").device_loss == 0.5


@pytest.mark.parametrize("text", ["speed=1", "seed=x", "poison=2", "out_of_memory=1.5"])
def test_wrong_settings(text: str) -> None:
    """What cannot be is refused in words."""
    with pytest.raises(ArgumentError):
        parse(text)


def test_wrong_points() -> None:
    """Ordinals count from 1, chances go from 0.0 to 1.0."""
    with pytest.raises(ArgumentError, match="out_of_memory is 0, needed"):
        chaos(out_of_memory=0).__enter__()
    with pytest.raises(DovetailError, match=r"device_loss is 1\.5"):
        chaos(device_loss=1.5).__enter__()


def test_every_kernel_of_the_wrapped_device_is_there() -> None:
    """Its table follows the wrapped one's, also when a kernel comes."""
    with registered(Broken()):
        inner, outer = registry.load("broken"), registry.load("chaos:broken")
        assert outer.table.names() == inner.table.names()
        assert all(map(outer.table.rivals, outer.table.names()))
        x = dt.tensor([4.0], device="chaos:broken")
        assert x.square().item() == 16.0
        inner.table.add("square", lambda a: a * 0, dtypes=[dt.float32], rank=99)
        assert x.square().item() == 0.0
        with pytest.raises(KernelError, match="add it to the table of broken"):
            outer.table.add("square", lambda a: a, dtypes=[dt.float32])
    assert "native_slice" not in vocabulary
