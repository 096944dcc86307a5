"""`pickle` and `copy`: memory, geometry, dtype, gradient flag, class, device."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import dense

import dovetail as dt
from dovetail import dtypes, nn, optim
from dovetail.engine.tensor import Tensor


def unpickled(x: Any) -> Any:
    """What a pickle of `x` holds, in the protocol that files have."""
    return pickle.loads(pickle.dumps(x))


DEEP: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": unpickled,
    "pickle 2": lambda x: pickle.loads(pickle.dumps(x, protocol=2)),
}
deep = pytest.mark.parametrize("copied", DEEP.values(), ids=DEEP)


def bits(x: Tensor) -> bytes:
    """The elements, bit for bit."""
    return x._kind.backend.copy_out(x._a).tobytes()


def tensor_of(dtype: dt.dtype, *shape: int) -> Tensor:
    """Random bits as a tensor, NaN and signed zeros among them."""
    rng = np.random.default_rng(7)
    if dtype is dt.bool:
        return dt.tensor(rng.integers(0, 2, shape).astype(bool))
    size = dtype.itemsize * int(np.prod(shape, dtype=int))
    host = np.frombuffer(rng.bytes(size), dtype.numpy).reshape(shape).copy()
    return dt.from_numpy(host)


VIEWS: dict[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.permute(2, 0, 1),
    "sliced": lambda x: x[1:, :, ::2],
    "expanded": lambda x: x[:, :1].expand(-1, 5, -1),
    "one element": lambda x: x[2, 3, 1],
    "empty": lambda x: x[3:],
    "overlapping": lambda x: x.as_strided((4, 3), (2, 1), 1),
}


@deep
@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", dtypes.ALL, ids=lambda d: d.name)
def test_bits_and_geometry(
    copied: Callable[[Any], Any], view: str, dtype: dt.dtype
) -> None:
    """Every bit, the shape, the strides and the dtype of any view are kept."""
    x = VIEWS[view](tensor_of(dtype, 3, 4, 5))
    again = copied(x)
    assert (again.dtype, again.shape, bits(again)) == (dtype, x.shape, bits(x))
    assert again.stride() == x.stride()
    assert again.storage_offset() == x.storage_offset()


@deep
@given(data=st.data())
@settings(max_examples=30, deadline=None, database=None, derandomize=True)
def test_views_of_one_memory(copied: Callable[[Any], Any], data: Any) -> None:
    """Writing through one of two copied views shows in the other as it did before."""
    base = dt.arange(24.0).reshape(4, 6)
    views = [base]
    for _ in range(3):
        x = data.draw(st.sampled_from(views))
        dim = data.draw(st.integers(0, 1))
        start = data.draw(st.integers(0, x.shape[dim] - 1))
        step = data.draw(st.integers(1, 3))
        rows = (slice(start, None, step), slice(None))
        views.append((x[rows] if dim == 0 else x[rows[::-1]]).t())
    chosen = data.draw(st.permutations(views))
    again = copied(list(chosen))
    with_both = [(a, b) for a, b in zip(chosen, again, strict=True)]
    for number, (a, b) in enumerate(with_both):
        a.fill_(-number)
        b.fill_(-number)
    assert [b.tolist() for _, b in with_both] == [a.tolist() for a, _ in with_both]


@deep
def test_of_one_tensor_one_is_made(copied: Callable[[Any], Any]) -> None:
    """What was one object is one, and `data` looks into the memory of its tensor."""
    x = nn.Parameter(dt.ones(3))
    a, b, inside = copied([x, x, x.data])
    assert a is b
    inside.fill_(5)
    assert a.tolist() == [5.0, 5.0, 5.0]
    assert x.tolist() == [1.0, 1.0, 1.0]


@deep
def test_memory_under_two_dtypes(copied: Callable[[Any], Any]) -> None:
    """A view of another dtype stays one."""
    x = dt.tensor([1.0, 2.0, 3.0])
    again, as_ints = copied([x, x.view(dt.int32)[1:]])
    assert as_ints.tolist() == x.view(dt.int32)[1:].tolist()
    as_ints.fill_(0)
    assert again.tolist() == [1.0, 0.0, 0.0]


@deep
def test_memory_of_numpy(copied: Callable[[Any], Any]) -> None:
    """Memory with gaps is copied without what lies in them; sharing is kept."""
    host = np.arange(12.0).reshape(3, 4)
    x = dt.from_numpy(host[::2, 1::2])
    again, last = copied([x, x[1]])
    assert (again.stride(), again.tolist()) == (x.stride(), [[1.0, 3.0], [9.0, 11.0]])
    last.fill_(0)
    assert again.tolist() == [[1.0, 3.0], [0.0, 0.0]]
    assert host[2, 1] == 9.0


@deep
@pytest.mark.parametrize("backend", dense.VARIANTS, ids=lambda b: b.type)
def test_devices_without_strides(
    copied: Callable[[Any], Any], backend: type[dense.Plain]
) -> None:
    """Where views are made by core, they stay views of one memory too."""
    with dense.registered(backend()):
        x = dense.grid(f"{backend.type}:1", 2, 3)
        again, wide, row = copied([x.t(), x[:, :1].expand(2, 4), x[1]])
        row.fill_(9)
        assert str(again.device) == f"{backend.type}:1"
        assert again.tolist() == [[0, 9], [1, 9], [2, 9]]
        assert wide.tolist() == [[0] * 4, [9] * 4]
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_pickle_has_no_gaps() -> None:
    """What lies between the elements of a NumPy array is not in the pickle."""
    host = np.frombuffer(b"openSECRopenSECR", np.int32).copy()
    found = pickle.dumps(dt.from_numpy(host[::2]))
    assert (b"open" in found, b"SECR" in found) == (True, False)


@deep
@pytest.mark.parametrize("flag", [False, True])
def test_class_and_attributes(copied: Callable[[Any], Any], flag: bool) -> None:
    """Class, gradient flag and attributes are kept, underscored ones too."""
    x = nn.Parameter(dt.ones(2), requires_grad=flag)
    x.note, x._mine, x.twin = ["mine"], 3, x
    again = copied(x)
    assert (type(again), again.requires_grad, again.is_leaf) == (type(x), flag, True)
    assert copied(dt.ones(2, requires_grad=flag)).requires_grad is flag
    assert (again.note, again._mine) == (["mine"], 3)
    assert again.twin is again


class Marked(Tensor):
    """A subclass of a user's."""


@deep
def test_subclasses(copied: Callable[[Any], Any]) -> None:
    """A user's class of tensors is kept."""
    x = dt.ones(2).as_subclass(Marked)
    assert type(copied(x)) is Marked


def test_results_of_ops() -> None:
    """As in PyTorch, a pickled result is a leaf; a deep copy of one is refused."""
    y = dt.ones(2, requires_grad=True) * 2
    again = unpickled(y)
    assert (again.is_leaf, again.requires_grad, again.tolist()) == (True, True, [2, 2])
    with pytest.raises(dt.errors.AutogradError, match="use detach"):
        copy.deepcopy(y)


def test_gradients() -> None:
    """As in PyTorch, a deep copy has a copy of the gradient; a Parameter's has none.

    A pickle has none either.
    """
    x = dt.ones(2, requires_grad=True)
    (x * 3).sum().backward()
    again = copy.deepcopy(x)
    assert again.grad is not x.grad
    assert again.grad.tolist() == [3.0, 3.0]
    assert unpickled(x).grad is None
    parameter = nn.Parameter(dt.ones(2))
    parameter.grad = x.grad
    assert copy.deepcopy(parameter).grad is None


def test_hooks_are_left_with_a_warning() -> None:
    """A pickle says that it leaves hooks behind."""
    x = dt.ones(2, requires_grad=True)
    x.register_hook(lambda ct: ct * 2)
    with pytest.warns(UserWarning, match="hooks of a tensor are not kept"):
        again = unpickled(x)
    again.sum().backward()
    assert again.grad.tolist() == [1.0, 1.0]


def test_shallow_copies() -> None:
    """`copy.copy` gives a leaf of the same class over the same memory."""
    x = nn.Parameter(dt.ones(2))
    x.note = ["mine"]
    again = copy.copy(x)
    assert (type(again), again.requires_grad, again.is_leaf) == (type(x), True, True)
    assert again.note is x.note
    assert again.data_ptr() == x.data_ptr()
    result = copy.copy(x * 2)
    assert (result.is_leaf, result.requires_grad) == (True, True)


def test_meta() -> None:
    """A tensor without data keeps shape and strides, wherever the rest goes."""
    with dt.io.map_location("cpu"):
        again = unpickled(dt.zeros(2, 3, device="meta").t())
    assert (again.is_meta, again.shape, again.stride()) == (True, (3, 2), (1, 3))


@pytest.mark.parametrize(
    "value", [dt.Size([2, 3]), dt.bfloat16, dt.device("cuda:1"), dt.device("cpu")]
)
def test_values(value: Any) -> None:
    """Sizes, dtypes and devices are kept; a device need not be there."""
    for again in (unpickled(value), copy.deepcopy(value), copy.copy(value)):
        assert (type(again), again) == (type(value), value)


@deep
def test_generators(copied: Callable[[Any], Any]) -> None:
    """A copied generator goes on from the same place, and apart."""
    generator = dt.Generator().manual_seed(3)
    dt.rand(5, generator=generator)
    twin = copied(generator)
    assert dt.rand(4, generator=twin).tolist() == (
        dt.rand(4, generator=generator).tolist()
    )
    dt.rand(4, generator=twin)
    assert twin.offset != generator.offset


def trained(steps: int, net: nn.Module, optimizer: optim.Optimizer) -> list[float]:
    """Losses of a few steps."""
    x = dt.arange(12.0).reshape(4, 3) / 10
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = (net(x) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@deep
@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
def test_training_goes_on(copied: Callable[[Any], Any], optimizer: str) -> None:
    """A module and its optimizer, copied together, train on bit for bit, and apart."""
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
    options = {"momentum": 0.9} if optimizer == "SGD" else {}
    steps = getattr(optim, optimizer)(net.parameters(), lr=0.01, **options)
    trained(3, net, steps)
    twin, twin_steps = copied((net, steps))
    assert twin_steps.param_groups[0]["params"][0] is next(twin.parameters())
    assert trained(3, twin, twin_steps) == trained(3, net, steps)


def test_an_absent_device_says_what_to_do() -> None:
    """A pickle from a device that is not here names the way to load it elsewhere."""
    there = pickle.dumps(dt.ones(2)).replace(b"\x03cpu", b"\x03gpu")
    with pytest.raises(dt.errors.DeviceError, match=r"'gpu', on which this was saved"):
        pickle.loads(there)
    with pytest.raises(dt.errors.DeviceError, match=r"dovetail\.io\.map_location"):
        pickle.loads(there)
    with dt.io.map_location("cpu"):
        assert pickle.loads(there).tolist() == [1.0, 1.0]
    with dt.io.map_location({"gpu": "cpu"}):
        assert pickle.loads(there).device.type == "cpu"


def test_an_absent_device_of_a_generator() -> None:
    """A generator goes where tensors go."""
    there = pickle.dumps(dt.Generator()).replace(b"\x03cpu", b"\x03gpu")
    with pytest.raises(dt.errors.DeviceError, match="map_location"):
        pickle.loads(there)
    with dt.io.map_location("cpu"):
        assert pickle.loads(there).device == dt.device("cpu")


@pytest.mark.parametrize("wrong", [3, lambda *_: 3])
def test_a_map_location_that_is_none(wrong: Any) -> None:
    """What maps to no device is refused."""
    with (
        dt.io.map_location(wrong),
        pytest.raises(dt.errors.ArgumentTypeError, match="map_location"),
    ):
        unpickled(dt.ones(2))


@pytest.mark.parametrize("first", ["array", "tensor"])
def test_arrays_beside_tensors_over_them_are_copied(first: str) -> None:
    """Each is what it was, in the order in which they are met; views share the copy."""
    array = np.arange(3.0)
    x = dt.from_numpy(array)
    held = {"array": array, "tensor": x, "view": x[1:]}
    order = [first, *(key for key in held if key != first)]
    copied = copy.deepcopy({key: held[key] for key in order})
    assert isinstance(copied["array"], np.ndarray)
    copied["tensor"][1] = 7
    assert copied["view"].tolist() == [7, 2]
    assert array.tolist() == copied["array"].tolist() == [0, 1, 2]
