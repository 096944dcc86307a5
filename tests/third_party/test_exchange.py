"""What is saved, pickled or lent on one device arrives on another: fake and CPU."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import nn, optim
from dovetail.device_api import current
from dovetail.errors import DeviceError, DTypeError, NotSupported

DEVICES = ("cpu", "fake:0", "fake:1")
DTYPES = (dt.bool, dt.uint8, dt.int32, dt.int64, dt.float32)


def through_a_file(obj: Any, where: Any = None) -> Any:
    """Saved and loaded."""
    file = io.BytesIO()
    dt.save(obj, file)
    file.seek(0)
    return dt.load(file, map_location=where)


def through_a_pickle(obj: Any, where: Any = None) -> Any:
    """Pickled and unpickled."""
    with dt.io.map_location(where):
        return pickle.loads(pickle.dumps(obj))


THROUGH = {"file": through_a_file, "pickle": through_a_pickle}
through = pytest.mark.parametrize("moved", THROUGH.values(), ids=THROUGH)
Moved = Callable[..., Any]


@through
@pytest.mark.parametrize("there", DEVICES)
@pytest.mark.parametrize("here", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda d: d.name)
def test_from_any_device_to_any(
    moved: Moved, dtype: dt.dtype, here: str, there: str
) -> None:
    """Values, dtype and views that share memory arrive on the device asked for."""
    x = dt.arange(12, device=here).reshape(3, 4).to(dtype)
    again, row, column = moved([x, x[1], x[:, 2]], there)
    assert {str(y.device) for y in (again, row, column)} == {there}
    assert (again.dtype, again.tolist()) == (dtype, x.tolist())
    assert column.stride() == (4,)
    row.fill_(0)
    assert column.tolist() == [x[0, 2].item(), 0, x[2, 2].item()]
    assert again[1].tolist() == [0] * 4


@through
@pytest.mark.parametrize("device", DEVICES)
def test_home_again(moved: Moved, device: str) -> None:
    """Where nothing is asked for, a tensor goes where it was, with all it is."""
    x = nn.Parameter(dt.ones(2, 3, device=device).t())
    again = moved(x)
    assert (type(again), str(again.device)) == (nn.Parameter, device)
    assert (again.requires_grad, again.is_leaf) == (True, True)
    assert again.stride() == (1, 3)


@pytest.mark.parametrize("device", DEVICES)
def test_deep_copies(device: str) -> None:
    """A deep copy is on the same device and shares what was shared."""
    x = dt.arange(6.0, device=device).reshape(2, 3)
    again, row = copy.deepcopy([x.t(), x[1]])
    row.fill_(0)
    assert (str(again.device), again.stride()) == (device, (1, 3))
    assert again.tolist() == [[0, 0], [1, 0], [2, 0]]
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


@through
def test_a_dict_moves_one_device(moved: Moved) -> None:
    """A dict names the devices to be replaced, by index or by type."""
    both = [dt.ones(1, device="fake:0"), dt.ones(1, device="fake:1")]
    found = moved(both, {"fake:1": "cpu"})
    assert [str(x.device) for x in found] == ["fake:0", "cpu"]
    found = moved(both, {"fake": "cpu"})
    assert [str(x.device) for x in found] == ["cpu", "cpu"]


@through
def test_dtypes_that_are_not_there(moved: Moved) -> None:
    """A dtype that the device lacks is refused; nothing is narrowed."""
    with pytest.raises(DTypeError, match=r'float64, for fake:0.*map_location="cpu"'):
        moved(dt.ones(2, dtype=dt.float64), "fake")


def test_generators() -> None:
    """A generator's stream goes on, on whichever device it is unpickled."""
    generator = dt.Generator("fake:1").manual_seed(5)
    dt.rand(3, generator=generator, device="fake:1")
    again = through_a_pickle(generator)
    on_cpu = through_a_pickle(generator, "cpu")
    assert (str(again.device), str(on_cpu.device)) == ("fake:1", "cpu")
    numbers = dt.rand(4, generator=generator, device="fake:1").tolist()
    assert dt.rand(4, generator=again, device="fake:1").tolist() == numbers
    assert dt.rand(4, generator=on_cpu).tolist() == numbers


@through
def test_a_device_that_is_gone(moved: Moved, monkeypatch: Any) -> None:
    """A tensor of an absent device says how to load it elsewhere."""
    x = dt.ones(2, device="fake:1")
    present = dt.device_api.registry._present
    file, text = io.BytesIO(), pickle.dumps(x)
    dt.save(x, file)
    monkeypatch.setitem(present, "fake", (0,))
    monkeypatch.setattr(current.choice.get(), "resolved", {})
    for read in (lambda: pickle.loads(text), lambda: dt.load(file)):
        file.seek(0)
        with pytest.raises(DeviceError, match=r"'fake:1', on which this was saved"):
            read()
    file.seek(0)
    assert dt.load(file, "cpu").tolist() == [1.0, 1.0]
    assert moved(dt.ones(1), "fake").tolist() == [1.0]


def losses(net: Any, optimizer: Any, device: str, steps: int) -> list[float]:
    """A few steps of training."""
    x = (dt.arange(12.0).reshape(4, 3) / 8).to(device)
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


@pytest.mark.parametrize(("here", "there"), [("fake:0", "cpu"), ("cpu", "fake:1")])
def test_training_goes_on_elsewhere(here: str, there: str) -> None:
    """A checkpoint of one device is trained on from on another, with the same bits."""

    def made(device: str) -> tuple[Any, Any]:
        net = nn.Linear(3, 2).to(device)
        return net, optim.AdamW(net.parameters(), lr=0.1)

    parts = made(here)
    losses(*parts, here, 3)
    states = [part.state_dict() for part in parts]
    arrived = through_a_file(states, there)
    again = made(there)
    for part, state in zip(again, arrived, strict=True):
        part.load_state_dict(state)
    for name, x in states[0].items():
        assert again[0].state_dict()[name].tolist() == x.tolist()
    went_on = losses(*parts, here, 3)
    np.testing.assert_allclose(losses(*again, there, 3), went_on, rtol=1e-5)


def test_no_memory_is_lent() -> None:
    """A backend without the capability says so, and how its values get out."""
    x = dt.ones(2, device="fake")
    with pytest.raises(NotSupported, match=r"on fake:0, which shares no memory"):
        np.from_dlpack(x)
    assert np.from_dlpack(x, device="cpu").tolist() == [1.0, 1.0]
    assert np.from_dlpack(x.cpu()).tolist() == [1.0, 1.0]
    arrived = dt.from_dlpack(np.ones(2, np.float32), device="fake:1")
    assert (str(arrived.device), arrived.tolist()) == ("fake:1", [1.0, 1.0])
