"""Machine code for kernels: compiled on first use, kept on disk, run by threads.

Nothing here knows what a kernel computes: it gets LLVM IR as text and addresses of
memory. A kernel is a function `void name(ptr arguments, i64 low, i64 high)`, which does
the pieces of work from `low` to `high`; `arguments` are words of eight bytes: addresses
of buffers, and numbers.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dovetail.codegen.runtime.machine import Host, available, host, why_not

if TYPE_CHECKING:
    from dovetail.codegen.runtime.kernels import Kernel as Kernel
    from dovetail.codegen.runtime.kernels import kernel as kernel
    from dovetail.codegen.runtime.kernels import key_of as key_of
else:

    def __getattr__(name: str) -> Any:
        """What makes kernels loads when the first one is asked for."""
        if name in {"Kernel", "kernel", "key_of"}:
            return getattr(import_module("dovetail.codegen.runtime.kernels"), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["Host", "Kernel", "available", "host", "kernel", "key_of", "why_not"]
