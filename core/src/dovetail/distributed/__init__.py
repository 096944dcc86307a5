"""Collectives in a group of one process: what is sent to all comes back.

So programs for several processes run as one of one. Several are refused, where they
would meet: in `init_process_group`.
"""

from __future__ import annotations

import os as _os
import typing as _typing
from datetime import timedelta
from enum import Enum

from dovetail.engine.missing_names import missing_name as _missing_name

from .collectives import (
    ReduceOp,
    Work,
    all_gather,
    all_gather_into_tensor,
    all_reduce,
    all_reduce_coalesced,
    all_to_all,
    all_to_all_single,
    barrier,
    broadcast,
    gather,
    monitored_barrier,
    reduce,
    reduce_scatter,
    reduce_scatter_tensor,
    scatter,
    supports_complex,
)
from .device_mesh import DeviceMesh, init_device_mesh
from .groups import (
    Backend,
    GroupMember,
    ProcessGroup,
    destroy_process_group,
    get_backend,
    get_backend_config,
    get_global_rank,
    get_group_rank,
    get_node_local_rank,
    get_pg_count,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    group,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)
from .messages import P2POp, batch_isend_irecv, irecv, isend, recv, send
from .objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    scatter_object_list,
)
from .stores import (
    DistBackendError,
    DistError,
    DistNetworkError,
    DistStoreError,
    FileStore,
    HashStore,
    PrefixStore,
    QueueEmptyError,
    Store,
    TCPStore,
)


def is_torchelastic_launched() -> bool:
    """Whether torch's launcher started the process."""
    return "TORCHELASTIC_RUN_ID" in _os.environ


def is_gloo_available() -> bool:
    """True: a group of one takes the name."""
    return True


def is_nccl_available() -> bool:
    """False: NCCL is not there."""
    return False


is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_backend_available(backend: str) -> bool:
    """Whether `init_process_group` takes a name for what it is."""
    return backend.lower() == "gloo"


def get_default_backend_for_device(device: object) -> str:
    """The name by which torch's programs ask for what carries data."""
    return "gloo"


class DebugLevel(Enum):
    """How much is said of collectives."""

    OFF = 0
    INFO = 1
    DETAIL = 2


_level = [DebugLevel.OFF]


def get_debug_level() -> DebugLevel:
    """How much is said of collectives; there is nothing to say."""
    return _level[0]


def set_debug_level(level: DebugLevel) -> None:
    """Say how much is to be said."""
    _level[0] = level


__all__ = [
    "Backend", "DebugLevel", "DeviceMesh", "DistBackendError", "DistError",
    "DistNetworkError", "DistStoreError", "FileStore", "GroupMember", "HashStore",
    "P2POp", "PrefixStore", "ProcessGroup", "QueueEmptyError", "ReduceOp", "Store",
    "TCPStore", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object",
    "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier",
    "batch_isend_irecv", "broadcast", "broadcast_object_list",
    "destroy_process_group", "gather", "gather_object", "get_backend",
    "get_backend_config", "get_debug_level", "get_default_backend_for_device",
    "get_global_rank", "get_group_rank", "get_node_local_rank", "get_pg_count",
    "get_process_group_ranks", "get_rank", "get_world_size", "group",
    "init_device_mesh", "init_process_group", "irecv", "is_available",
    "is_backend_available", "is_gloo_available", "is_initialized", "is_mpi_available",
    "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "isend", "monitored_barrier", "new_group", "recv", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter", "scatter_object_list",
    "send", "set_debug_level", "supports_complex", "timedelta",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
