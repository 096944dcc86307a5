"""What processes of a group do together: in a group of one, what is sent comes back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.futures import Future

from .groups import GroupMember, ProcessGroup, the_group


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
    PREMUL_SUM = 8


setattr(ReduceOp, "RedOpType", ReduceOp)  # noqa: B010  by which torch's C++ has them


def supports_complex(reduceOp: ReduceOp) -> bool:  # noqa: N803  torch's name
    """Whether complex numbers may be put together so."""
    return reduceOp in (ReduceOp.SUM, ReduceOp.AVG, ReduceOp.PREMUL_SUM)


class Work:
    """What a collective is doing: nothing, for it is done."""

    def __init__(self, result: Sequence[Tensor] = ()) -> None:
        self._result = list(result)

    def wait(self, timeout: timedelta | None = None) -> bool:
        """True, at once."""
        return True

    def is_completed(self) -> bool:
        """True."""
        return True

    def is_success(self) -> bool:
        """True."""
        return True

    def result(self) -> list[Tensor]:
        """The tensors that were written."""
        return self._result

    def get_future(self) -> Future[list[Tensor]]:
        """The same, as a future that has its result."""
        future: Future[list[Tensor]] = Future()
        future.set_result(self._result)
        return future


def member(name: str, group: Any, *ranks: int | None) -> bool:
    """Whether this process is in a group, to whose processes ranks belong."""
    if the_group(group) == GroupMember.NON_GROUP_MEMBER:
        return False
    for rank in ranks:
        if rank not in (None, 0):
            raise ArgumentError(
                name, "rank", was=rank, needed="0", remedy="the group has one process"
            )
    return True


def _tensor(name: str, argument: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            name, argument, was=type(value).__name__, needed="a tensor"
        )
    return value


def one(name: str, argument: str, values: Any) -> Any:
    """The only entry of a list that has one for each process."""
    if not isinstance(values, list | tuple) or len(values) != 1:
        size = len(values) if isinstance(values, list | tuple) else repr(values)
        raise ArgumentError(name, argument, was=size, needed="a list with one entry")
    return values[0]


def _written(
    name: str, pairs: Sequence[tuple[Any, Any]], async_op: bool
) -> Work | None:
    """Write what was sent where it is received."""
    for target, source in pairs:
        _tensor(name, "output", target)
        _tensor(name, "input", source)
        if target.numel() != source.numel() or target.dtype != source.dtype:
            raise ArgumentError(
                name, "output", was=f"{tuple(target.shape)} of {target.dtype}",
                needed=f"as many elements as {tuple(source.shape)} of {source.dtype}",
            )  # fmt: skip
        with no_grad():
            target.copy_(source.reshape(target.shape))
    return Work([target for target, _ in pairs]) if async_op else None


def _kept(
    name: str, tensors: Sequence[Any], async_op: bool, group: Any,
    *ranks: int | None,
) -> Work | None:  # fmt: skip
    """Leave tensors as they are, which is what their sum over one process is."""
    if not member(name, group, *ranks):
        return None
    for tensor in tensors:
        _tensor(name, "tensor", tensor)
    return Work(tensors) if async_op else None


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Put together what all have, in place, for all."""
    return _kept("all_reduce", [tensor], async_op, group)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """The same for several tensors."""
    given = [tensors] if isinstance(tensors, Tensor) else tensors
    return _kept("all_reduce_coalesced", given, async_op, group)


def reduce(
    tensor: Tensor, dst: int | None = None, op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Put together what all have, in place, for one."""
    return _kept("reduce", [tensor], async_op, group, dst, group_dst)


def broadcast(
    tensor: Tensor, src: int | None = None, group: ProcessGroup | None = None,
    async_op: bool = False, group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give all what one has."""
    return _kept("broadcast", [tensor], async_op, group, src, group_src)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Give all, in a list, what each has."""
    if not member("all_gather", group):
        return None
    target = one("all_gather", "tensor_list", tensor_list)
    return _written("all_gather", [(target, tensor)], async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """The same, in one tensor."""
    if not member("all_gather_into_tensor", group):
        return None
    pairs = [(output_tensor, input_tensor)]
    return _written("all_gather_into_tensor", pairs, async_op)


def gather(
    tensor: Tensor, gather_list: list[Tensor] | None = None, dst: int | None = None,
    group: ProcessGroup | None = None, async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:  # fmt: skip
    """Give one, in a list, what each has."""
    if not member("gather", group, dst, group_dst):
        return None
    target = one("gather", "gather_list", gather_list)
    return _written("gather", [(target, tensor)], async_op)


def scatter(
    tensor: Tensor, scatter_list: list[Tensor] | None = None, src: int | None = None,
    group: ProcessGroup | None = None, async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:  # fmt: skip
    """Give each an entry of one's list."""
    if not member("scatter", group, src, group_src):
        return None
    source = one("scatter", "scatter_list", scatter_list)
    return _written("scatter", [(tensor, source)], async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Put lists together, entry by entry, and give each one entry."""
    if not member("reduce_scatter", group):
        return None
    source = one("reduce_scatter", "input_list", input_list)
    return _written("reduce_scatter", [(output, source)], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM,
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """The same, of one tensor."""
    if not member("reduce_scatter_tensor", group):
        return None
    return _written("reduce_scatter_tensor", [(output, input)], async_op)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None, async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send each entry of a list to one process."""
    if not member("all_to_all", group):
        return None
    target = one("all_to_all", "output_tensor_list", output_tensor_list)
    source = one("all_to_all", "input_tensor_list", input_tensor_list)
    return _written("all_to_all", [(target, source)], async_op)


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None,
    input_split_sizes: Any = None, group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:  # fmt: skip
    """Send each part of a tensor to one process."""
    if not member("all_to_all_single", group):
        return None
    return _written("all_to_all_single", [(output, input)], async_op)


def barrier(
    group: ProcessGroup | None = None, async_op: bool = False, device_ids: Any = None,
    timeout: timedelta | None = None,
) -> Work | None:  # fmt: skip
    """Wait until all are here."""
    return _kept("barrier", [], async_op, group)


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None,
    wait_all_ranks: bool = False,
) -> None:  # fmt: skip
    """Wait until all are here, and say who is not."""
    _kept("monitored_barrier", [], False, group)
