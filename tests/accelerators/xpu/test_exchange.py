"""Memory of SYCL devices that is shared through DLPack."""

import gc
from typing import Any

import pytest

import dovetail as dt
from dovetail.errors import ExchangeError

pytestmark = pytest.mark.usefixtures("xpu")


@pytest.mark.parametrize("device", ["xpu:0", "xpu:1"])
def test_both_see_what_one_writes(device: str) -> None:
    """Through a view that is transposed and cut, on each device."""
    x = dt.arange(12, dtype=dt.float32, device=device).reshape(3, 4)
    y = dt.from_dlpack(x.t()[1:])
    assert str(y.device) == device
    x.mul_(2)
    assert y.tolist() == [[2, 10, 18], [4, 12, 20], [6, 14, 22]]
    y.zero_()
    assert x.sum().item() == 2 * (0 + 4 + 8)


def test_lent_memory_is_in_use_until_the_last_is_gone(xpu: Any) -> None:
    """It is counted once, and free after that."""
    before = xpu.live_bytes(0)
    x = dt.ones(1000, device="xpu:0")
    y = dt.from_dlpack(x)
    assert xpu.live_bytes(0) == before + 4000
    del x
    gc.collect()
    assert xpu.live_bytes(0) == before + 4000
    assert (y + y).sum().item() == 2000
    del y
    gc.collect()
    assert xpu.live_bytes(0) == before


def test_memory_of_no_sycl_context_is_refused() -> None:
    """The error says what is needed, and how the values come there all the same."""

    class Host:
        x = dt.ones(3)

        def __dlpack_device__(self) -> tuple[int, int]:
            number: tuple[int, int] = dt.ones(1, device="xpu").__dlpack_device__()
            return number

        def __dlpack__(self, **options: Any) -> Any:
            return self.x.__dlpack__(**options)

    with pytest.raises(ExchangeError, match=r"default context of xpu:0.*over the host"):
        dt.from_dlpack(Host())
