"""The chaos device counts memory, runs out of it, and is lost."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.support.chaos import DEVICE, optimizer_of
from tests.support.dense import registered

import dovetail as dt
import dovetail.ops.random_oracles
from dovetail import nn
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.device_api import KernelTable, Pool, registry
from dovetail.engine.cases import cases_of
from dovetail.engine.op import declared
from dovetail.errors import (
    DeviceLost,
    OutOfMemory,
)
from dovetail.testing import chaos
from dovetail_cpu.backend import CpuBackend


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Memory comes back by itself, without a search for cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def live(device: str = DEVICE) -> int:
    """Bytes that are in use."""
    backend, index = registry.resolve(device)
    pool = backend.capability(Pool)
    assert pool is not None
    return pool.live_bytes(index)


# ---- memory


@pytest.mark.usefixtures("no_collection")
def test_memory_is_counted_and_given_back() -> None:
    """Live bytes are those of the arrays alive, also while work on them is due."""
    with chaos(seed=1):
        before = live()
        x = dt.ones(100, device=DEVICE)
        assert live() == before + 400
        y = x[10:20]
        del x
        assert live() == before + 400
        y = (y + y).sum()
        assert live() == before + 4
        y.item()
        del y
        assert live() == before


@pytest.mark.usefixtures("no_collection")
def test_work_that_is_done_keeps_no_memory() -> None:
    """A long chain of writes to one tensor leaves nothing behind."""
    with chaos(seed=1):
        x = dt.ones(8, device=DEVICE)
        device = registry.resolve(DEVICE)[0].device(0)  # type: ignore[attr-defined]
        for _ in range(5):
            x.add_(1)
        dt.synchronize(DEVICE)
        before = len(device.cells)
        for _ in range(100):
            x.add_(1)
        dt.synchronize(DEVICE)
        assert len(device.cells) <= before


def fails_at(number: int, call: Callable[[], Any]) -> None:
    with chaos(seed=number, out_of_memory=number), pytest.raises(OutOfMemory):
        call()


def allocations_of(call: Callable[[], Any]) -> int:
    with chaos() as plan:
        call()
    return plan.allocations


def of_tensors(args: Any) -> list[bytes]:
    found = []
    for a in args:
        for v in a if isinstance(a, list) else (a,):
            if isinstance(v, dt.Tensor):
                found.append(v._kind.backend.copy_out(v._a).tobytes())
    return found


@pytest.mark.usefixtures("no_collection")
def test_out_of_memory_in_any_op() -> None:
    """A refused call changes no input, keeps no memory, and the next one works."""
    device = Subject(DEVICE)
    for op in (op for op in declared() if dt.float32 in op.accepts):
        example = Example(next(iter(cases_of(op, dt.float32))))

        def made(op: Any = op, example: Any = example) -> Any:
            return device.arguments(op, example, dt.float32)

        want = of_tensors(device.call(op, *made()))
        args, kwargs = made()
        count = allocations_of(lambda: device.call(op, args, kwargs))  # noqa: B023
        for number in sorted({1, count // 2 + 1, count} if count else ()):
            args, kwargs = made()
            before, bytes_before = of_tensors((*args, *kwargs.values())), live()
            fails_at(number, lambda: device.call(op, args, kwargs))  # noqa: B023
            assert of_tensors((*args, *kwargs.values())) == before, op
            assert live() == bytes_before, op
            assert of_tensors(device.call(op, args, kwargs)) == want, op


@pytest.mark.usefixtures("no_collection")
def test_out_of_memory_in_backward() -> None:
    """Where backward fails, each leaf has all of its gradient or none of it."""
    x = dt.arange(6.0, device=DEVICE).reshape(2, 3)
    weights = [dt.ones(3, 3, device=DEVICE, requires_grad=True) for _ in range(3)]

    def loss() -> dt.Tensor:
        y = x
        for w in weights:
            y = (y @ w).tanh()
        return y.sum()

    loss().backward()
    grads = [w.grad for w in weights]
    first = of_tensors(grads)
    for w in weights:
        w.grad = None
    count = allocations_of(loss().backward)
    assert count > 2 * len(weights)
    for number in range(1, count + 1):
        for w in weights:
            w.grad = None
        graph = loss()
        fails_at(number, graph.backward)
        for w, whole in zip(weights, first, strict=True):
            assert w.grad is None or of_tensors([w.grad]) == [whole]
    for w in weights:
        w.grad = None
    loss().backward()
    assert of_tensors([w.grad for w in weights]) == first


class Composing(CpuBackend):
    """A device whose optimizers are made of other ops."""

    type = "broken"

    def __init__(self) -> None:
        super().__init__()

        class Table(KernelTable):
            def add(self, op: str, *args: Any, **options: Any) -> None:
                if op.removesuffix("s_") not in ("sgd_step", "adam_step"):
                    super().add(op, *args, **options)

        self.table = Table(self.type)


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("which", ["sgd", "adamw"])
@pytest.mark.parametrize("composed", [False, True])
def test_out_of_memory_in_an_optimizer(which: str, composed: bool) -> None:
    """A step that fails is none: parameter and state are as before, and it can be
    done again."""
    device = "chaos:broken" if composed else DEVICE

    def start() -> tuple[Any, Any]:
        p = nn.Parameter(dt.ones(4, device=device))
        p.grad = dt.arange(4.0, device=device)
        return p, optimizer_of(nn.ParameterList([p]), which)

    with registered(Composing()):
        _, optimizer = start()
        for _ in range(2):
            optimizer.step()  # numbers that it uses are kept from now on
        p, optimizer = start()
        counts = [allocations_of(optimizer.step) for _ in range(2)]
        want = p.tolist()
        assert counts[0] > 0
        for done in range(2):
            for number in range(1, counts[done] + 1):
                p, optimizer = start()
                for _ in range(done):
                    optimizer.step()
                before, held = p.tolist(), live(device)
                fails_at(number, optimizer.step)
                assert p.tolist() == before
                assert live(device) == held
                for _ in range(2 - done):
                    optimizer.step()
                assert p.tolist() == want


def test_out_of_memory_is_a_memory_error() -> None:
    """It says what was asked for, of which device, and for which op."""
    x = dt.ones(3, 5, device=DEVICE)
    with chaos(out_of_memory=1), pytest.raises(MemoryError) as caught:
        x + x
    assert isinstance(caught.value, RuntimeError)
    assert type(caught.value) is dt.OutOfMemoryError
    assert "add: memory is refused by chaos:cpu:0" in str(caught.value)
    assert "needed 60 bytes" in str(caught.value)


def test_faults_by_chance_are_seeded() -> None:
    """The same seed refuses the same allocations, another one others."""

    def refused(seed: int) -> list[int]:
        found = []
        with chaos(seed=seed, out_of_memory=0.3):
            for i in range(40):
                try:
                    dt.empty(1, device=DEVICE)
                except OutOfMemory:
                    found.append(i)
        return found

    assert refused(1) == refused(1) != refused(2)
    assert 2 < len(refused(1)) < 30


# ---- device loss


def test_a_lost_device() -> None:
    """Each use raises the same error; others work on; a new one has new memory."""
    x = dt.ones(3, device=DEVICE)
    uses: list[Callable[[], Any]] = [
        lambda: x + x, x.tolist, lambda: x.fill_(1), lambda: dt.zeros(1, device=DEVICE),
        lambda: dt.synchronize(DEVICE), lambda: dt.tensor([1]).to(DEVICE), x.cpu,
        lambda: x.copy_(dt.ones(3)), lambda: x.sum().backward(), lambda: x[1].item(),
        lambda: dt.Stream(DEVICE).query(), dt.current_stream(DEVICE).synchronize,
    ]  # fmt: skip
    with chaos(device_loss=2):
        y = x * 2
        with pytest.raises(DeviceLost, match="lost at kernel 2, mul") as first:
            y * 3
        for use in uses:
            with pytest.raises(DeviceLost) as caught:
                use()
            assert str(caught.value) == str(first.value)
        assert (dt.ones(2) + 1).tolist() == [2.0, 2.0]
    assert (dt.ones(2, device=DEVICE) + 1).tolist() == [2.0, 2.0]
    with pytest.raises(DeviceLost):
        x.tolist()
    with pytest.raises(DeviceLost):
        (x + 1).tolist()


@pytest.mark.usefixtures("no_collection")
def test_a_lost_device_gives_its_memory_back() -> None:
    """Tensors of a lost device die as others do."""
    before = live()
    x = dt.ones(1000, device=DEVICE)
    with chaos(device_loss=1), pytest.raises(DeviceLost):
        x + x
    del x
    assert live() <= before
