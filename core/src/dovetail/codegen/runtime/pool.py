"""The threads that run kernels: started when first needed, ended before a fork.

They run no Python, so they never need its lock. `pool.ll` says what they do.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import platform
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import RLock
from typing import Any, Final

from dovetail.codegen.runtime.assembly import assembled
from dovetail.codegen.runtime.kernel_log import log

PATIENCE: Final = 300_000  # nanoseconds for which a worker without work spins at most

_BYTES: Final = 2048  # more than %pool of pool.ll has
_LINE: Final = 64
_PAUSE: Final = {
    "x86_64": ("@llvm.x86.sse2.pause()", "@llvm.x86.sse2.pause()"),
    "arm64": ("@llvm.aarch64.hint(i32)", "@llvm.aarch64.hint(i32 1)"),
}
_HAS_THREADS: Final = os.name == "posix"

_address = ctypes.c_void_p
_word = ctypes.c_int64


class Pool:
    """Threads that share the chunks of a kernel with whoever runs it.

    One caller at a time has them; whoever comes meanwhile does his work alone.

    Args:
        size: how many threads work on a kernel, the caller's among them; 1 where the
            system has no POSIX threads.
    """

    def __init__(self, size: int) -> None:
        self.size = size if _HAS_THREADS else 1
        self._lock = RLock()
        self._memory = ctypes.create_string_buffer(_BYTES + _LINE)
        self._state = -(-ctypes.addressof(self._memory) // _LINE) * _LINE
        self._entries: dict[str, Any] = {}
        self._workers: list[ctypes.c_void_p] = []
        self._ready = False
        self._mode = ctypes.c_int64()
        self._tell()

    def _tell(self) -> None:
        """Say to builtins whether they can use the threads, as `launch.ll` asks it."""
        self._mode.value = 2 if self._ready else 1 if self.size == 1 else 0

    def places(self) -> tuple[int, int]:
        """Where the pool is, and where it says whether it runs."""
        return self._state, ctypes.addressof(self._mode)

    def entry_of_run(self) -> Any:
        """What runs a kernel on the pool's threads, or without them."""
        with self._lock:
            if not self._entries:
                self._entries = _entries()
                self._entries["pool_initialise"](self._state)
        return self._entries["pool_run"]

    def run(self, kernel: int, arguments: int, low: int, high: int, grain: int) -> None:
        """Run a kernel for the pieces from `low` to `high`, in chunks of `grain`."""
        if not self._ready:
            self._start()
        self._entries["pool_run"](self._state, kernel, arguments, low, high, grain)

    def resize(self, size: int) -> None:
        """Let kernels be run by this many threads from now on."""
        with self._lock:
            self.close()
            self.size = size if _HAS_THREADS else 1
            self._tell()

    def close(self) -> None:
        """End the threads, each after its chunk; the next kernel starts others."""
        with self._lock:
            self._ready = False
            self._tell()
            if self._workers:
                self._entries["pool_stop"](self._state)
            while self._workers:
                ctypes.CDLL(None).pthread_join(self._workers.pop(), None)

    def _start(self) -> None:
        with self._lock:
            if self._ready:
                return
            self.entry_of_run()
            self._entries["pool_open"](self._state, PATIENCE)
            with _signals_elsewhere():
                self._workers = list(self._started(self.size - 1))
            self._ready = True
            self._tell()

    def _started(self, count: int) -> Iterator[ctypes.c_void_p]:
        worker = ctypes.cast(self._entries["pool_worker"], _address)
        create = ctypes.CDLL(None).pthread_create
        for number in range(count):
            thread = _address()
            failed = create(ctypes.byref(thread), None, worker, _address(self._state))
            if failed:
                log(f"{number} of {count} threads started: {os.strerror(failed)}")
                return
            yield thread

    def before_fork(self) -> None:
        """End the threads, for a child would have none of them; keep others out."""
        self._lock.acquire()
        self.close()

    def after_fork(self) -> None:
        """Let others in again."""
        self._lock.release()

    def in_child(self) -> None:
        """Forget whoever was in the middle of a kernel: only this thread goes on."""
        ctypes.memset(self._state, 0, _BYTES)
        if self._entries:
            self._entries["pool_initialise"](self._state)
        self._lock.release()


def _text() -> str:
    """What the pool does, for this architecture and system."""
    intel = platform.machine().lower() in {"x86_64", "amd64"}
    declared, call = _PAUSE["x86_64" if intel else "arm64"]
    text = Path(__file__).with_name("pool.ll").read_text(encoding="utf-8")
    text = text.replace("CLOCK_MONOTONIC", str(int(time.CLOCK_MONOTONIC)))
    text = text.replace("PAUSE", f"call void {call}")
    return f"{text}\ndeclare void {declared}\n"


def _entries() -> dict[str, Any]:
    """The functions of the pool, for ctypes."""
    arguments: dict[str, list[Any]] = {
        "pool_run": [_address] * 3 + [_word] * 3,
        "pool_initialise": [_address],
        "pool_open": [_address, _word],
        "pool_stop": [_address],
        "pool_worker": [_address],
    }
    text = _text()
    addresses = assembled(tuple(arguments), text, text).addresses
    return {
        name: ctypes.CFUNCTYPE(None, *types)(address)
        for (name, types), address in zip(arguments.items(), addresses, strict=True)
    }


@contextmanager
def _signals_elsewhere() -> Iterator[None]:
    """Threads that start in here are never the ones that get a signal."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def default_size() -> int:
    """How many threads there are if nobody says: `OMP_NUM_THREADS`, else the cores."""
    wish = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if wish.isdecimal() and int(wish) > 0:
        return int(wish)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


POOL: Final = Pool(default_size())

atexit.register(POOL.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=POOL.before_fork,
        after_in_parent=POOL.after_fork,
        after_in_child=POOL.in_child,
    )
