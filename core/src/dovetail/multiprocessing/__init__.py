"""Python's `multiprocessing`, whose processes share the memory of tensors they send.

A tensor on the CPU that goes through a queue, a pipe or the arguments of a process is
moved into shared memory (`Tensor.share_memory_`) and stays there: sender and receiver
read and write the same elements. The memory has no name, and is freed with its last
user, however that ends.
"""

# mypy: disable-error-code="no-redef"
from __future__ import annotations

import multiprocessing as _multiprocessing
from multiprocessing import *  # noqa: F403

from dovetail.multiprocessing.processes import ProcessContext as ProcessContext
from dovetail.multiprocessing.processes import ProcessException as ProcessException
from dovetail.multiprocessing.processes import (
    ProcessExitedException as ProcessExitedException,
)
from dovetail.multiprocessing.processes import (
    ProcessRaisedException as ProcessRaisedException,
)
from dovetail.multiprocessing.processes import SpawnContext as SpawnContext
from dovetail.multiprocessing.processes import spawn as spawn
from dovetail.multiprocessing.processes import start_processes as start_processes
from dovetail.multiprocessing.tensors import (
    get_all_sharing_strategies as get_all_sharing_strategies,
)
from dovetail.multiprocessing.tensors import (
    get_sharing_strategy as get_sharing_strategy,
)
from dovetail.multiprocessing.tensors import init_reductions as init_reductions
from dovetail.multiprocessing.tensors import (
    set_sharing_strategy as set_sharing_strategy,
)

__all__ = [  # noqa: PLE0604 (strings, which another module has)
    *_multiprocessing.__all__,
    "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy",
]  # fmt: skip

init_reductions()
