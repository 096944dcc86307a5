"""How many threads compute on the CPU: in generated kernels, and in products.

OpenBLAS stays at one thread, for the pool's threads share large products, unless there
is no pool: then it has the threads that the user wants, as other BLAS libraries do.
"""

from __future__ import annotations

import warnings
from typing import Any

from dovetail.codegen.runtime.blas import blas
from dovetail.codegen.runtime.machine import available
from dovetail.codegen.runtime.pool import POOL
from dovetail.errors import ArgumentError


def get_num_threads() -> int:
    """How many threads work on one op on the CPU, the caller's among them.

    Examples:
        >>> import dovetail as torch
        >>> torch.get_num_threads() > 0
        True
    """
    return POOL.size


def set_num_threads(num_threads: int, /) -> None:
    """Let this many threads work on one op on the CPU, in kernels and in products.

    Args:
        num_threads: how many, the caller's thread among them.

    Raises:
        ArgumentError: it is no int, less than 1, or more than a C int.
    """
    is_int = type(num_threads) is int
    if not (is_int and 0 < num_threads < 2**31):
        was = num_threads if is_int else f"a {type(num_threads).__name__}"
        needed = "a positive integer"
        raise ArgumentError("set_num_threads", "num_threads", was=was, needed=needed)
    POOL.resize(num_threads)
    found = blas()
    if found is not None:
        found.set_threads(1 if available() else num_threads)
        return
    for library in _libraries():
        library.set_num_threads(num_threads)


def _libraries() -> list[Any]:
    """BLAS libraries that are not OpenBLAS; each can be told its number of threads."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        warnings.warn(
            "set_num_threads: BLAS keeps its number of threads, for threadpoolctl is "
            "not installed; pip install 'dovetail-cpu[kernels]' has it",
            RuntimeWarning,
            stacklevel=3,
        )
        return []
    found = ThreadpoolController().select(user_api="blas")
    return list(found.lib_controllers)
