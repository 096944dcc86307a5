"""Device strings are values that load nothing."""

from __future__ import annotations

import copy
import pickle

import pytest

from dovetail.device import candidates, device
from dovetail.errors import ArgumentTypeError, DeviceError


def test_type_and_index() -> None:
    """`type:index` has both; the index may be absent or a second argument."""
    assert (device("cuda:1").type, device("cuda:1").index) == ("cuda", 1)
    assert (device("cuda").type, device("cuda").index) == ("cuda", None)
    assert device("cuda", 1) == device("cuda:1") == device(device("cuda:1"))


def test_no_index_is_not_index_zero() -> None:
    """`cuda` means the current device of its type and differs from `cuda:0`."""
    assert device("cuda") != device("cuda:0")
    assert len({device("cuda"), device("cuda:0"), device("cuda")}) == 2


def test_text() -> None:
    """`str` gives the string, `repr` torch's form."""
    assert str(device("cuda:1")) == "cuda:1"
    assert str(device("cpu")) == "cpu"
    assert repr(device("cuda:1")) == "device(type='cuda', index=1)"
    assert repr(device("cpu")) == "device(type='cpu')"


@pytest.mark.parametrize("text", ["cpu", "cuda:3"])
def test_copies_are_equal(text: str) -> None:
    """Devices survive pickling and copying."""
    here = device(text)
    assert pickle.loads(pickle.dumps(here)) == here
    assert copy.deepcopy(here) == here


def test_devices_do_not_change() -> None:
    """Type and index cannot be assigned."""
    with pytest.raises(AttributeError, match="index cannot be changed"):
        device("cpu").index = 1


@pytest.mark.parametrize("text", ["", "CUDA", "cuda:", "cuda:-1", "cuda:01", "cu da"])
def test_malformed_strings(text: str) -> None:
    """What is no device string is shown, with examples of what is one."""
    with pytest.raises(DeviceError) as caught:
        device(text)
    assert repr(text) in str(caught.value)
    assert 'needed "type" or "type:index"' in str(caught.value)
    assert '"cuda:0"' in str(caught.value)


def test_index_twice() -> None:
    """An index in the string and beside it is one too many."""
    with pytest.raises(DeviceError, match="given twice, in 'cuda:1' and as 2"):
        device("cuda:1", 2)


def test_negative_index() -> None:
    """An index counts from 0."""
    with pytest.raises(DeviceError, match="index is -1, needed 0 or more"):
        device("cuda", -1)


def test_wrong_type() -> None:
    """A device is made from a string or a device."""
    with pytest.raises(ArgumentTypeError, match=r"type is 1\.5, needed a string"):
        device(1.5)  # type: ignore[arg-type]


def test_priority_list() -> None:
    """A list is split at commas, spaces do not count."""
    assert candidates("cuda, xpu,cpu") == ["cuda", "xpu", "cpu"]
