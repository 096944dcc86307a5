"""What a SYCL device does with bad input: in processes of their own, which end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from contextlib import suppress
from typing import Any

import pytest

import dovetail as dt

pytestmark = pytest.mark.usefixtures("xpu")
PATIENCE = 60  # seconds until a process hangs


def told(code: str, **more: str) -> tuple[int, str]:
    """The exit status and the output of a program."""
    program = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], env={**os.environ, **more},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        text, _ = program.communicate(timeout=PATIENCE)
    finally:
        with suppress(ProcessLookupError):  # its children may hang
            os.killpg(program.pid, signal.SIGKILL)
    return program.returncode, text


FORKED = """
import os, sys
import dovetail as dt
x = dt.arange(5.0, device="xpu")
stream, event = dt.Stream("xpu"), dt.Event("xpu")
event.record()
pinned = dt.ones(3).pin_memory("xpu")
a = dt.ones(1200, 1200, device="xpu")
for _ in range(4):
    a = (a @ a) / 1200  # which is still due in the parent
child = os.fork()
if not child:
    asked = [
        lambda: x + 1, lambda: x.tolist(), lambda: dt.ones(2, device="xpu"),
        lambda: dt.synchronize("xpu"), lambda: stream.synchronize(),
        lambda: stream.query(), lambda: event.synchronize(), lambda: event.query(),
        lambda: dt.ones(2).pin_memory("xpu"), lambda: pinned.to("xpu"),
        lambda: pinned.to("xpu", non_blocking=True), lambda: x.to("cpu"),
        lambda: dt.Stream("xpu"), lambda: x.add_(1), lambda: x[1:].clone(),
        lambda: dt.accelerator.empty_cache("xpu"), lambda: dt.from_dlpack(x),
    ]
    for number, ask in enumerate(asked):
        try:
            ask()
        except RuntimeError as error:
            assert "forked" in str(error), (number, error)
        else:
            raise AssertionError(f"{number} is not refused")
    assert (dt.ones(3) + pinned).tolist() == [2] * 3  # on the CPU it goes on
    print("child done")
    sys.exit(7) if LEAVE else os._exit(7)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7, status
assert (x + 1).tolist() == [1, 2, 3, 4, 5]
assert a[0, 0].item() == 1
print("parent done")
"""


@pytest.mark.parametrize("leave", [True, False], ids=["sys.exit", "os._exit"])
def test_a_forked_child_is_refused_and_ends(leave: bool) -> None:
    """All that would reach the driver raises in words; child and parent end."""
    status, text = told(FORKED.replace("LEAVE", str(leave)))
    assert (status, "parent done" in text) == (0, True), text


def _squares() -> None:
    assert dt.arange(4.0).square().tolist() == [0, 1, 4, 9]


def test_processes_of_multiprocessing_end() -> None:
    """Forked after the device was used, computing on the CPU."""
    worker: Any = multiprocessing.get_context("fork").Process(target=_squares)
    worker.start()
    worker.join(PATIENCE)
    assert worker.exitcode == 0


@pytest.mark.parametrize(
    ("call", "op"),
    [
        (lambda x, i: dt.index_select(x, 0, i), "index_select"),
        (lambda x, i: dt.gather(x, 0, i), "take_along|gather"),
        (lambda x, i: x[i], "index"),
        (lambda x, i: dt.nn.functional.embedding(i, x.reshape(-1, 1)), "embedding"),
        (lambda x, i: x.clone().index_add_(0, i, dt.ones(2, device="xpu")), "index"),
        (lambda x, i: x.clone().scatter_(0, i, 1.0), "scatter"),
    ],
)
@pytest.mark.parametrize("bad", [9, -9, 1 << 40])
def test_an_index_out_of_range(call: Any, op: str, bad: int) -> None:
    """The error names the op, at the latest with a wait; the device goes on."""
    x = dt.arange(4.0, device="xpu")
    with pytest.raises(IndexError, match=op):
        call(x, dt.tensor([0, bad], device="xpu")).sum().item()
    good = dt.tensor([0, 3], device="xpu")
    assert dt.index_select(x, 0, good).tolist() == [0, 3]
    assert x.tolist() == [0, 1, 2, 3]


def test_without_the_runtime_the_reason_is_told() -> None:
    """`dovetail devices` and the call say what to install; the CPU goes on."""
    status, text = told("""
        import sys
        sys.modules["dpctl"] = None
        import dovetail as dt
        from dovetail.errors import BackendError
        try:
            dt.ones(2, device="xpu")
        except BackendError as error:
            assert "pip install dpctl" in str(error), error
        else:
            raise AssertionError("made")
        assert not dt.xpu.is_available()
        assert dt.ones(2).sum().item() == 2
        print("told")
    """)
    assert (status, "told" in text) == (0, True), text


def test_without_a_device_the_reason_is_told() -> None:
    """The CPU is not used unasked."""
    status, text = told(
        """
        import dovetail as dt
        try:
            dt.ones(2, device="xpu")
        except RuntimeError as error:
            print("told:", error)
    """,
        DOVETAIL_XPU_ALLOW_CPU="0",
    )
    assert status == 0, text
    assert "DOVETAIL_XPU_ALLOW_CPU=1" in text
