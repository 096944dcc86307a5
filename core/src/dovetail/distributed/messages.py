"""Messages from one process to another, of which a group of one has none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from dovetail.engine.tensor import Tensor

from .collectives import Work
from .groups import ProcessGroup, the_group


def _refuse(kind: str, group: Any) -> NoReturn:
    """Raise ValueError: there is nobody but the process itself."""
    the_group(group)
    raise ValueError(
        f"Invalid {kind} rank: {kind} rank should not be the same as the rank of the "
        "current process, which is alone in its group."
    )


def send(
    tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None,
    tag: int = 0, group_dst: int | None = None,
) -> None:  # fmt: skip
    """Raise ValueError: there is no other process."""
    _refuse("destination", group)


def recv(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None,
    tag: int = 0, group_src: int | None = None,
) -> int:  # fmt: skip
    """Raise ValueError: there is no other process."""
    _refuse("source", group)


def isend(
    tensor: Tensor, dst: int | None = None, group: ProcessGroup | None = None,
    tag: int = 0, group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Raise ValueError: there is no other process."""
    _refuse("destination", group)


def irecv(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None,
    tag: int = 0, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Raise ValueError: there is no other process."""
    _refuse("source", group)


class P2POp:
    """A message that is sent later: `isend` or `irecv`, with its arguments."""

    def __init__(
        self, op: Callable[..., Any], tensor: Tensor, peer: int | None = None,
        group: ProcessGroup | None = None, tag: int = 0, group_peer: int | None = None,
    ) -> None:  # fmt: skip
        if op not in (isend, irecv):
            raise ValueError(f"P2POp: op is {op}, needed isend or irecv")
        self.op, self.tensor, self.peer = op, tensor, peer
        self.group, self.tag, self.group_peer = group, tag, group_peer


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Send messages; each refuses, since there is no other process."""
    for op in p2p_op_list:
        op.op(op.tensor, op.peer, op.group, op.tag)
    return []
