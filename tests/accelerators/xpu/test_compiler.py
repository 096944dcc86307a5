"""Kernels from disk: what a driver built is kept, and taken back."""

from typing import Any

import pytest

from dovetail_xpu import compiler, handover

TEXT = """
__kernel void k(__global float *y) { y[get_global_id(0)] = 7; }
"""


@pytest.fixture
def queue(xpu: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Any:
    """A queue, and an empty folder for what is compiled."""
    monkeypatch.setenv(compiler.CACHE, str(tmp_path / "kept"))
    return xpu.present[0].stream.queue


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Of each program that OpenCL was asked for, whether it came from disk."""
    asked: list[bool] = []
    program = handover.program

    def watched(queue: Any, code: bytes, *, as_built: bool) -> Any:
        asked.append(as_built)
        return program(queue, code, as_built=as_built)

    monkeypatch.setattr(handover, "program", watched)
    return asked


def sevens(queue: Any) -> list[int]:
    """What the kernel writes."""
    import numpy as np
    from dpctl.memory import MemoryUSMDevice

    kernel = compiler.kernel_of(queue, TEXT, "k")
    memory = MemoryUSMDevice(16, queue=queue)
    queue.submit(kernel, [memory], [4])
    queue.wait()
    found: list[int] = np.frombuffer(memory.copy_to_host(), np.float32).tolist()
    return found


def test_what_a_driver_built_is_taken_back(queue: Any, made: list[bool]) -> None:
    """The second program is not built, and computes the same."""
    assert sevens(queue) == sevens(queue) == [7, 7, 7, 7]
    assert made == [False, True]


def test_what_a_driver_refuses_is_built_anew(
    queue: Any, made: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Code of another driver is no error: the kernel is built, and kept instead."""
    kept = compiler.objects()
    sevens(queue)
    key = repr(("built", compiler._facts(TEXT), handover.machine(queue)))
    kept.put(key, b"of another driver")
    assert sevens(queue) == sevens(queue) == [7, 7, 7, 7]
    assert made == [False, True, False, True]


def test_other_processors_have_programs_of_their_own(
    queue: Any, made: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder may be shared by machines: what is built for one is for no other."""
    sevens(queue)
    monkeypatch.setattr(handover, "_processor", lambda: "flags: fewer")
    sevens(queue)
    assert made == [False, False]


def test_where_nothing_is_handed_over_the_driver_builds(
    queue: Any, made: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a function that SYCL's library may not have, kernels work as well."""
    monkeypatch.setattr(handover, "_there", lambda: False)
    assert sevens(queue) == [7, 7, 7, 7]
    assert made == []
