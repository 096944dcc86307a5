"""Groups of processes: here of one, the process itself.

A program that is started as one process of one works as it does in torch: what is
sent to all comes back. Several processes are refused where they would meet.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final
from urllib.parse import parse_qs, urlparse

from dovetail.errors import NotSupported

from .stores import Store

_world: Final[list[ProcessGroup]] = []
_numbers: Final[list[int]] = [0]


class Backend(str):
    """The name of what carries data between processes, in lower case."""

    UNDEFINED: Final = "undefined"
    GLOO: Final = "gloo"
    NCCL: Final = "nccl"
    UCC: Final = "ucc"
    MPI: Final = "mpi"
    XCCL: Final = "xccl"
    backend_list: Final = ["undefined", "gloo", "nccl", "xccl", "ucc", "mpi"]

    __slots__ = ()

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError(
                f"Backend constructor parameter must be string-ish: {name}"
            )
        return super().__new__(cls, name.lower())


class ProcessGroup:
    """Processes that work together: this one.

    Args:
        backend: the name by which the program asked for it.
    """

    def __init__(self, backend: str = "gloo", name: str = "") -> None:
        self._backend, self.group_name = Backend(backend), name
        self.group_desc = name or "default_pg"

    def rank(self) -> int:
        """Which of its processes this is."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1

    def name(self) -> str:
        """The name of what carries data."""
        return str(self._backend)


class GroupMember:
    """What stands for the group of all processes, and for none."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Final = -100


class group:  # noqa: N801  torch's name
    """What stands for the group of all processes."""

    WORLD: ProcessGroup | None = None


def is_available() -> bool:
    """True: a process may work as a group of one."""
    return True


def is_initialized() -> bool:
    """Whether the group was made."""
    return bool(_world)


def init_process_group(
    backend: str | None = None, init_method: str | None = None,
    timeout: timedelta | None = None, world_size: int = -1, rank: int = -1,
    store: Store | None = None, group_name: str = "", pg_options: Any = None,
    device_id: Any = None,
) -> None:  # fmt: skip
    """Make the group of all processes, which has to be this one alone.

    Args:
        backend: a name that is kept; nothing needs to be carried.
        init_method: `env://` reads `RANK` and `WORLD_SIZE`; others, as `tcp://` or
            `file://`, take what is given here.

    Raises: ValueError where torch does: made twice, or without a size or a rank;
        NotSupported for several processes.
    """
    if _world:
        raise ValueError("trying to initialize the default process group twice!")
    if backend is not None and backend.lower() in ("mpi", "ucc", "xccl"):
        raise RuntimeError(
            f"Distributed package doesn't have {backend.upper()} built in"
        )
    if store is None:
        rank, world_size = _of_address(init_method or "env://", rank, world_size)
    if world_size != 1:
        raise NotSupported(
            "init_process_group", "world_size", was=world_size, needed="1",
            remedy="run the program with one process: collectives between several are "
            "not there",
        )  # fmt: skip
    if rank != 0:
        raise ValueError(f"init_process_group: rank is {rank}, and world_size is 1")
    made = ProcessGroup(backend or "gloo", group_name)
    _world.append(made)
    group.WORLD = GroupMember.WORLD = made


def _of_address(address: str, rank: int, size: int) -> tuple[int, int]:
    """The rank and the number of processes that an address says, or the caller."""
    if address.startswith("env://"):
        return _of_environment(rank, size, os.environ)
    given = parse_qs(urlparse(address).query)
    rank = int(given.get("rank", [rank])[0])
    size = int(given.get("world_size", [size])[0])
    if rank < 0 or size < 0:
        raise ValueError(f"init_process_group: {address} needs rank and world_size")
    return rank, size


def _of_environment(
    rank: int, size: int, environment: Mapping[str, str]
) -> tuple[int, int]:
    found = []
    for name, value in (("RANK", rank), ("WORLD_SIZE", size)):
        if value < 0 and name not in environment:
            raise ValueError(
                "Error initializing torch.distributed using env:// rendezvous: "
                f"environment variable {name} expected, but not set"
            )
        found.append(value if value >= 0 else int(environment[name]))
    return found[0], found[1]


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Forget a group; the group of all, unless one is given."""
    world = the_group(None)
    if group is None or group is world:
        _world.clear()
        _forget_world()


def _forget_world() -> None:
    group.WORLD = GroupMember.WORLD = None


def the_group(given: Any) -> Any:
    """The group that is meant: that of all, unless one is given.

    Raises: ValueError if there is none.
    """
    if not _world:
        raise ValueError(
            "Default process group has not been initialized, please make sure to call "
            "init_process_group."
        )
    return _world[0] if given is None else given


def get_rank(group: ProcessGroup | None = None) -> int:
    """Which process this is in a group; -1 if it is not in it."""
    return -1 if the_group(group) == GroupMember.NON_GROUP_MEMBER else 0


def get_world_size(group: ProcessGroup | None = None) -> int:
    """How many processes are in a group; -1 if this one is not in it."""
    return -1 if the_group(group) == GroupMember.NON_GROUP_MEMBER else 1


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name by which the program asked for what carries data."""
    backend: Backend = the_group(group)._backend
    return backend


def get_backend_config(group: ProcessGroup | None = None) -> str:
    """The same, for each type of device."""
    name = get_backend(group)
    return f"cpu:{name},cuda:{name}"


def new_group(
    ranks: Any = None, timeout: Any = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False,
    group_desc: str | None = None, device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """A group of some processes.

    Returns: GroupMember.NON_GROUP_MEMBER if this one is not among them.
    """
    world = the_group(None)
    wanted = [0] if ranks is None else list(ranks)
    if any(not 0 <= rank < 1 for rank in wanted):
        raise ValueError(
            "the new group's rank should be within the world_size set by "
            "init_process_group"
        )
    if not wanted:
        return GroupMember.NON_GROUP_MEMBER
    _numbers[0] += 1
    return ProcessGroup(backend or world._backend, group_desc or str(_numbers[0]))


def get_process_group_ranks(group: ProcessGroup | None) -> list[int]:
    """The processes of a group."""
    the_group(group)
    return [0]


def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Which process a group's own number is."""
    return _only(group, group_rank)


def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """A process's number in a group."""
    return _only(group, global_rank)


def _only(group: ProcessGroup, rank: int) -> int:
    the_group(group)
    if rank != 0:
        raise ValueError(f"rank {rank} is not part of group {group.group_name!r}")
    return 0


def get_pg_count() -> int:
    """How many groups were made."""
    return _numbers[0] + len(_world)


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Which process of its machine this is, as a launcher says in `LOCAL_RANK`."""
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is None:
        raise RuntimeError(
            "LOCAL_RANK is not in the environment. Consider passing fallback_rank to "
            "allow `get_node_local_rank` to work"
        )
    return int(fallback_rank)
