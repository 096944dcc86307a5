"""Machine code for kernels: compiled on first use, kept on disk, run by threads.

Nothing here knows what a kernel computes: it gets LLVM IR as text and addresses of
memory. A kernel is a function `void name(ptr arguments, i64 low, i64 high)`, which does
the pieces of work from `low` to `high`; `arguments` are words of eight bytes: addresses
of buffers, and numbers.
"""

from dovetail.codegen.runtime.kernel import Kernel, kernel
from dovetail.codegen.runtime.machine import Host, available, host, why_not

__all__ = ["Host", "Kernel", "available", "host", "kernel", "why_not"]
