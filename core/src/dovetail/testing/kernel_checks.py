"""Let every result of a native kernel be compared with what its op declares."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dovetail.engine.native_results import comparing
from dovetail.engine.op import vocabulary


@contextmanager
def check_kernels() -> Iterator[None]:
    """Within it, a kernel that returns another class, shape or dtype raises.

    It holds for all threads, and for every device. A call takes a few times as long,
    and on a device that works in the background it waits. The environment variable
    DOVETAIL_CHECK_KERNELS=1 does the same for a whole program.

    Raises:
        KernelError: at the call, with what the kernel gave and what it had to.
    """
    before = comparing[0]
    _switch(True)
    try:
        yield
    finally:
        _switch(before)


def _switch(on: bool) -> None:
    """Compare from now on, or do not; what was bound to kernels is bound anew."""
    comparing[0] = on
    for op in vocabulary.values():
        op.forget()
