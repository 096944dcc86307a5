"""A device that takes no work any more: its queue stands in, since none can be lost."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import DeviceLost
from dovetail_xpu.launch import Launchable

pytestmark = pytest.mark.usefixtures("xpu")


class Refusing:
    """A queue that does nothing but refuse, as dpctl's does."""

    def submit_async(self, *_: Any) -> None:
        """No launch."""
        import dpctl

        raise dpctl.SyclKernelSubmitError("Kernel submission to Sycl queue failed.")

    def memcpy(self, *_: Any) -> None:
        """No copy."""
        raise RuntimeError("Memcpy operation encountered an error.")

    def wait(self) -> None:
        """Nothing is due."""


@contextlib.contextmanager
def losing(xpu: Any) -> Any:
    """The default queue of the device refuses meanwhile."""
    stream = xpu.present[0].stream
    queue, stream.queue = stream.queue, Refusing()
    try:
        yield
    finally:
        stream.queue = queue


def test_a_lost_device_is_told(xpu: Any) -> None:
    """Launches, copies in and copies out say that it is lost, and what to do."""
    x = dt.ones(5, device="xpu")
    (x + 1).tolist()
    with losing(xpu):
        for ask in (lambda: x + 1, lambda: x.tolist(), lambda: x.fill_(2)):
            with pytest.raises(DeviceLost, match=r"xpu:0, which took.*process anew"):
                ask()
        with pytest.raises(DeviceLost, match="copy_in: device is xpu:0"):
            dt.tensor(np.ones(5), device="xpu")
    assert (x + 1).tolist() == [2] * 5  # with a device that answers all goes on


def test_errors_of_ours_stay_as_they_are(xpu: Any) -> None:
    """What is no refusal of the queue's is not taken for one."""

    class Odd(Refusing):
        def submit_async(self, *_: Any) -> None:
            raise ValueError("no such range")

    made = Launchable(lambda: None)  # type: ignore[arg-type,return-value]
    device = xpu.present[0]
    made._built[device] = object()
    with pytest.raises(ValueError, match="no such range"):
        made.launch(SimpleNamespace(device=device, work=None, queue=Odd()), [], 1)  # type: ignore[arg-type]
