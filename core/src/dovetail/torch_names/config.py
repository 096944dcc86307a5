"""`torch.__config__`: how torch was built, of which only threads are told here."""

from __future__ import annotations

from dovetail.codegen.runtime.threads import get_num_threads


def show() -> str:
    """What this is."""
    return "torch is dovetail in this process: it was not built, and has no settings\n"


def parallel_info() -> str:
    """How many threads the CPU's kernels have."""
    return f"at::get_num_threads() : {get_num_threads()}\n"
