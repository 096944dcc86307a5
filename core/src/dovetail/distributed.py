"""Collectives between processes, of which there are none yet.

Programs that ask first whether there are go on with one process.
"""

from __future__ import annotations

import typing as _typing
from enum import Enum
from typing import Any

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.errors import NotSupported


def is_available() -> bool:
    """False: there are no collectives here."""
    return False


def is_initialized() -> bool:
    """False: no group of processes was made."""
    return False


def is_torchelastic_launched() -> bool:
    """False: the process was not started by torch's launcher."""
    return False


class ReduceOp(Enum):
    """How collectives put together what processes have."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


def _refused(name: str) -> NotSupported:
    return NotSupported(
        name, "process group", was="not there", needed="collectives between processes",
        remedy="run the program with one process",
    )  # fmt: skip


def _refusing(name: str) -> Any:
    def refuse(*_args: Any, **_options: Any) -> Any:
        raise _refused(name)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Raise NotSupported: processes cannot work together yet."
    return refuse


# What programs import, and call where they found a group of processes.
all_gather = _refusing("all_gather")
all_gather_object = _refusing("all_gather_object")
all_reduce = _refusing("all_reduce")
barrier = _refusing("barrier")
broadcast = _refusing("broadcast")
broadcast_object_list = _refusing("broadcast_object_list")
destroy_process_group = _refusing("destroy_process_group")
gather = _refusing("gather")
get_backend = _refusing("get_backend")
get_rank = _refusing("get_rank")
get_world_size = _refusing("get_world_size")
init_process_group = _refusing("init_process_group")
new_group = _refusing("new_group")
reduce = _refusing("reduce")
scatter = _refusing("scatter")


__all__ = [
    "ReduceOp", "all_gather", "all_gather_object", "all_reduce", "barrier", "broadcast",
    "broadcast_object_list", "destroy_process_group", "gather", "get_backend",
    "get_rank", "get_world_size", "init_process_group", "is_available",
    "is_initialized", "is_torchelastic_launched", "new_group", "reduce", "scatter",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
