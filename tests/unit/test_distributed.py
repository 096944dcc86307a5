"""A group of one process: what is sent to all comes back, and several are refused."""

from collections.abc import Iterator
from typing import Any

import pytest

import dovetail as torch
from dovetail import distributed as dist
from dovetail import nn
from dovetail.data import DistributedSampler
from dovetail.distributed import differentiable
from dovetail.errors import NotSupported
from dovetail.nn.parallel import DistributedDataParallel


@pytest.fixture
def _group() -> Iterator[None]:
    """The group of all processes, which is one."""
    dist.init_process_group("gloo", "tcp://localhost:1", world_size=1, rank=0)
    yield
    dist.destroy_process_group()


def test_a_group_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what the environment says; without a group nothing can be asked."""
    with pytest.raises(ValueError, match="not been initialized"):
        dist.get_rank()
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match="RANK expected"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "1")
    dist.init_process_group("gloo")
    try:
        assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
        assert dist.group.WORLD is dist.GroupMember.WORLD is not None
        with pytest.raises(ValueError, match="twice"):
            dist.init_process_group("gloo")
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()
    assert dist.group.WORLD is None


def test_several_processes_are_refused() -> None:
    """Where they would meet, with what to do instead."""
    with pytest.raises(NotSupported, match="one process"):
        dist.init_process_group("gloo", "tcp://localhost:1", world_size=2, rank=0)
    with pytest.raises(NotSupported, match="one process"):
        dist.TCPStore("localhost", 1, 2, True)
    assert not dist.is_initialized()


@pytest.mark.usefixtures("_group")
def test_what_is_sent_comes_back() -> None:
    """In place, in lists, and in one tensor."""
    x, y = torch.arange(4.0), torch.zeros(4)
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    work: Any = dist.broadcast(x, 0, async_op=True)
    assert work.wait()
    assert work.get_future().wait()[0] is x
    for write in (
        lambda: dist.all_gather([y], x), lambda: dist.all_gather_into_tensor(y, x),
        lambda: dist.gather(x, [y], dst=0), lambda: dist.scatter(y, [x], src=0),
        lambda: dist.reduce_scatter(y, [x]), lambda: dist.all_to_all([y], [x]),
        lambda: dist.reduce_scatter_tensor(y, x), lambda: dist.all_to_all_single(y, x),
    ):  # fmt: skip
        y.zero_()
        write()
        assert torch.equal(x, y)
    given = {"a": [1]}
    found: list[Any] = [None]
    dist.all_gather_object(found, given)
    assert found == [given]
    assert found[0]["a"] is not given["a"]


@pytest.mark.usefixtures("_group")
def test_what_fits_no_group_of_one_is_refused() -> None:
    """Other ranks, other sizes of lists and tensors; nothing is written."""
    x, y = torch.ones(4), torch.zeros(3)
    for call in (
        lambda: dist.broadcast(x, 1), lambda: dist.all_gather([], x),
        lambda: dist.all_gather([y], x), lambda: dist.send(x, 0),
        lambda: dist.new_group([0, 1]), lambda: dist.scatter(y, [x]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"rank|needed|Invalid"):
            call()
    assert y.tolist() == [0.0] * 3
    with pytest.raises(TypeError):
        dist.all_reduce(3)  # type: ignore[arg-type]


@pytest.mark.usefixtures("_group")
def test_modules_and_samplers_ask_the_group() -> None:
    """A shared module is one that is held, a sampler has all samples."""
    net = DistributedDataParallel(nn.Linear(2, 1))
    assert sorted(net.state_dict()) == ["module.bias", "module.weight"]
    with net.no_sync():
        net(torch.ones(3, 2)).sum().backward()
    assert net.module.bias.grad.tolist() == [3.0]
    assert list(DistributedSampler(range(3), shuffle=False)) == [0, 1, 2]
    x = torch.ones(2, requires_grad=True)
    differentiable.all_reduce(x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [2.0, 2.0]
    mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
    assert (mesh.ndim, mesh["a"].ndim, mesh.get_coordinate()) == (2, 1, [0, 0])
    with pytest.raises(NotSupported, match="one process"):
        dist.init_device_mesh("cpu", (2,))


def test_without_a_group_a_shared_module_says_so() -> None:
    """As torch does."""
    with pytest.raises(ValueError, match="not been initialized"):
        DistributedDataParallel(nn.Linear(2, 1))


def test_stores() -> None:
    """Values are bytes, numbers are added to, and a prefix is a store of its own."""
    store = dist.HashStore()
    store.set("a", "1")
    assert (store.get("a"), store.add("n", 2), store.add("n", 3)) == (b"1", 2, 5)
    inner = dist.PrefixStore("p", store)
    inner.set("k", "v")
    assert store.get("p/k") == inner.get("k") == b"v"
    assert (inner.num_keys(), store.num_keys()) == (1, 3)
    assert store.compare_set("a", "1", "2") == b"2"
    assert store.delete_key("a")
    store.set_timeout(torch.distributed.timedelta(seconds=0))
    with pytest.raises(dist.DistStoreError, match="timeout"):
        store.get("a")
