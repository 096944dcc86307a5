"""Tensors that several processes see, and what a parent hears of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail import multiprocessing as mp
from dovetail.dtypes import STORED
from dovetail.errors import ArgumentError, AutogradError, NotSupported
from dovetail.testing import assert_close

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="descriptors are counted in /proc"
)
METHODS = ("spawn", "fork")


def whole(x: dt.Tensor) -> dt.Tensor:
    return x


VIEWS: dict[str, Callable[[dt.Tensor], dt.Tensor]] = {
    "whole": whole, "transposed": lambda x: x.t(), "a slice": lambda x: x[1:, ::2],
    "expanded": lambda x: x[:1].expand(5, 4), "a number": lambda x: x[2, 3],
    "empty": lambda x: x[:0], "a column": lambda x: x[:, 1],
}  # fmt: skip


def values() -> dt.Tensor:
    return dt.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("view", VIEWS)
def test_shared_tensors_are_what_they_were(view: str) -> None:
    """Values, shape, strides and offset; and other views keep the old memory."""
    x = values()
    y = VIEWS[view](x)
    before, facts = y.clone(), (y.shape, y.stride())
    assert not y.is_shared()
    assert y.share_memory_() is y
    assert y.is_shared()
    assert y.untyped_storage().is_shared()
    assert (y.shape, y.stride()) == facts
    assert_close(y, before)
    assert x.is_shared() is (y is x)
    pointer = y.data_ptr()
    assert y.share_memory_().data_ptr() == pointer  # and nothing happens again


@pytest.mark.parametrize("dtype", sorted(STORED, key=str), ids=str)
def test_every_dtype_is_shared(dtype: dt.dtype) -> None:
    """Bits stay."""
    x = values().to(dtype)
    y = x.clone().share_memory_()
    assert y.is_shared()
    assert dt.equal(x.view(dt.uint8), y.view(dt.uint8))


def test_parameters_go_on_in_their_graph() -> None:
    """A shared parameter is a leaf whose gradients and steps are as before."""
    layer = dt.nn.Linear(3, 2)
    layer(dt.ones(1, 3)).sum().backward()
    assert layer.share_memory() is layer
    assert all(p.is_shared() and p.grad.is_shared() for p in layer.parameters())
    dt.optim.SGD(layer.parameters(), 0.5).step()
    assert layer.weight.is_leaf
    assert layer.weight.is_shared()
    layer.zero_grad()
    layer(dt.ones(1, 3)).sum().backward()
    assert_close(layer.weight.grad, dt.ones(2, 3))


def test_sparse_tensors_are_refused() -> None:
    with pytest.raises(NotSupported, match="share_memory_: tensor is of the layout"):
        dt.eye(2).to_sparse().share_memory_()


def add_number(index: int, x: dt.Tensor, lock: Any) -> None:
    """What each process of a test does."""
    with lock, dt.no_grad():
        x[index] += index + 1
        x[-1] += 1


@pytest.mark.parametrize("method", METHODS)
def test_processes_write_into_one_tensor(method: str) -> None:
    """All see what each wrote."""
    x = dt.zeros(4, 3).share_memory_()
    lock = mp.get_context(method).Lock()
    mp.start_processes(add_number, (x, lock), nprocs=3, start_method=method)
    assert x.tolist() == [[1.0] * 3, [2.0] * 3, [3.0] * 3, [3.0] * 3]


def echo(taken: Any, given: Any) -> None:
    """Add 1 to what comes, and send it back, until None comes."""
    while (x := taken.get()) is not None:
        with dt.no_grad():
            if 0 not in x.stride():
                x += 1
        given.put((x, type(x).__name__, x.requires_grad))


def test_queues_send_the_memory() -> None:
    """Both sides write into it: views, parameters, buffers, every layout."""
    context = mp.get_context("spawn")
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=echo, args=(there, back))
    process.start()
    try:
        for view in VIEWS.values():
            x = view(values())
            wanted = x + (0 not in x.stride())
            there.put(x)
            y, kind, needs = back.get(timeout=60)
            assert (y.shape, y.stride(), kind, needs) == (
                x.shape, x.stride(), "Tensor", False,
            )  # fmt: skip
            assert_close(x, wanted)
            assert_close(y, wanted)
            if 0 not in x.stride() and x.numel():
                y.fill_(9)
                assert (x == 9).all()
        for x in (dt.nn.Parameter(values()), dt.nn.Buffer(values())):
            there.put(x)
            y, kind, needs = back.get(timeout=60)
            assert (type(y).__name__, kind) == (type(x).__name__,) * 2
            assert needs is x.requires_grad is y.requires_grad
            assert y.is_leaf
            assert_close(x.detach(), values() + 1)
    finally:
        there.put(None)
        process.join(60)
    assert process.exitcode == 0


def test_graphs_stay_in_their_process() -> None:
    """A tensor within one is refused before anything is sent."""
    ours, theirs = mp.Pipe()
    x = dt.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match=r"within a graph.*send x\.detach\(\)"):
        theirs.send(x * 2)
    assert not ours.poll()


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def hold(x: dt.Tensor, ready: Any) -> None:
    ready.send(x.sum().item())
    time.sleep(600)


def test_nothing_stays_of_memory_that_nobody_uses() -> None:
    """Descriptors and mappings are gone, also where a process was killed with them."""
    before = open_files()
    names = set(os.listdir("/dev/shm"))
    x = dt.ones(1 << 16).share_memory_()
    ours, theirs = mp.Pipe(duplex=False)
    process = mp.get_context("spawn").Process(target=hold, args=(x, theirs))
    process.start()
    assert ours.recv() == 1 << 16
    assert set(os.listdir("/dev/shm")) <= names  # no file has a name
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    process.close()
    ours.close()
    theirs.close()
    assert x.sum().item() == 1 << 16
    del x
    assert open_files() <= before
    assert "dovetail tensor" not in Path("/proc/self/maps").read_text()


def fails(index: int, how: str) -> None:
    if index != 1:
        time.sleep(600)
    if how == "raise":
        raise KeyError("the missing one")
    if how == "exit":
        sys.exit(7)
    os.kill(os.getpid(), signal.SIGSEGV)


ENDS = {
    "raise": (
        mp.ProcessRaisedException,
        "(?s)Process 1 .*KeyError: 'the missing",
    ),
    "exit": (mp.ProcessExitedException, "process 1 terminated with exit code 7"),
    "signal": (mp.ProcessExitedException, "process 1 terminated with signal SIGSEGV"),
}


@pytest.mark.parametrize("how", ENDS)
def test_one_that_fails_ends_the_others(how: str) -> None:
    """The parent raises what happened, and no process is left."""
    cls, told = ENDS[how]
    with pytest.raises(cls, match=told) as found:
        mp.spawn(fails, (how,), nprocs=3)
    assert found.value.error_index == 1
    assert mp.active_children() == []


INTERRUPTED = """
import os, signal, threading, time
from dovetail import multiprocessing as mp
from tests.unit.test_multiprocessing import sleeps

def interrupt():
    while len(mp.active_children()) < 2:
        time.sleep(0.01)
    print(*(p.pid for p in mp.active_children()), flush=True)
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    mp.start_processes(sleeps, (600.0,), nprocs=2, daemon=False, start_method="fork")
except KeyboardInterrupt:
    print(len(mp.active_children()), "left", flush=True)
os._exit(0)  # which would leave processes behind
"""


def test_an_interrupt_ends_them() -> None:
    """Ctrl-C in the parent leaves no process, also if only the parent hears of it."""
    run = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    pids, left = run.stdout.splitlines()
    assert left == "0 left"
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids.split())


def sleeps(index: int, seconds: float) -> None:
    time.sleep(seconds)


def test_a_context_is_joined_in_its_time() -> None:
    """False within a timeout, then True; processes have ids."""
    context = mp.spawn(sleeps, (1.5,), nprocs=2, join=False)
    assert context is not None
    assert len(set(context.pids())) == 2
    assert context.join(timeout=0.01) is False
    while not context.join():
        pass
    assert context.join() is True


def test_bad_input() -> None:
    with pytest.raises(ArgumentError, match="nprocs is 0"):
        mp.spawn(sleeps, (0,), nprocs=0)
    with pytest.raises(ArgumentError, match="'pigeons', needed 'file_descriptor'"):
        mp.set_sharing_strategy("pigeons")
    with pytest.warns(UserWarning, match="file_descriptor all the same"):
        mp.set_sharing_strategy("file_system")
    mp.set_sharing_strategy("file_descriptor")
    assert mp.get_all_sharing_strategies() == {mp.get_sharing_strategy()}


def trains(index: int, model: dt.nn.Module, steps: int) -> None:
    """Steps of one of several processes, without a lock (Niu et al. 2011)."""
    dt.manual_seed(index)
    optimizer = dt.optim.SGD(model.parameters(), 0.1)
    for _ in range(steps):
        x = dt.randn(16, 2)
        loss = ((model(x) - x @ dt.tensor([[1.0], [-2.0]])) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def test_processes_train_one_model() -> None:
    """Its parameters here are what they found."""
    model = dt.nn.Linear(2, 1)
    model.share_memory()
    mp.spawn(trains, (model, 200), nprocs=2)
    np.testing.assert_allclose(model.weight.detach().numpy(), [[1, -2]], atol=1e-2)
