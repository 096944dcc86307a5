"""Pipes that are read in several places: all items in each, or each in one."""

from __future__ import annotations

import copy as copies
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Final

from dovetail.errors import ArgumentError, DovetailError

from ..checks import check_columns, check_positive, length_of, no_length
from ..datapipe import IterDataPipe
from ..decorators import functional_datapipe

_COPIES: Final[dict[Any, Callable[[Any], Any]]] = {
    None: lambda item: item, "shallow": copies.copy, "deep": copies.deepcopy,
}  # fmt: skip


class BufferOverflow(DovetailError, BufferError):
    """One branch is further ahead of the others than the buffer allows."""


class _Source(IterDataPipe[Any]):
    """One pass over a pipe, whose items wait for the branches that want them.

    Attributes:
        waiting: by branch, the items that it has not read.
        pass_: the number of the pass, which grows with each.
    """

    def __init__(
        self, step: str, datapipe: IterDataPipe[Any], num_instances: int,
        buffer_size: int,
    ) -> None:  # fmt: skip
        check_positive(step, "num_instances", num_instances)
        if buffer_size < 0:
            warnings.warn(
                f"{step}: buffer_size is {buffer_size}, so that memory may run out",
                stacklevel=3,
            )
        self.step, self.main_datapipe = step, datapipe
        self.count, self.buffer_size = num_instances, buffer_size
        self.pass_ = 0
        self.begin()

    def begin(self) -> None:
        """Begin another pass."""
        self.pass_ += 1
        self.waiting: list[deque[Any]] = [deque() for _ in range(self.count)]
        self.over = False
        self.items: Iterator[Any] | None = None

    def __getstate__(self) -> Any:
        self_state = super().__getstate__()
        if isinstance(self_state, dict):
            waiting: list[Any] = [deque() for _ in range(self.count)]
            return {**self_state, "items": None, "waiting": waiting, "over": False}
        return self_state

    def next_for(self, branch: int) -> Any:
        """The next item of a branch; StopIteration at the end."""
        while not self.waiting[branch]:
            if self.over:
                raise StopIteration
            if self.items is None:
                self.items = iter(self.main_datapipe)
            try:
                self.hand_out(next(self.items))
            except StopIteration:
                self.over = True
            if self._ahead(branch) > self.buffer_size >= 0:
                raise BufferOverflow(
                    self.step, "buffer_size", was=f"{self.buffer_size}, and full",
                    needed="room for what the slowest branch has not read",
                    remedy="raise it, or read the branches in turn; -1 has no end",
                )  # fmt: skip
        return self.waiting[branch].popleft()

    def hand_out(self, item: Any) -> None:
        """Let the branches that want an item have it."""
        raise NotImplementedError

    def _ahead(self, branch: int) -> int:
        raise NotImplementedError


class _Forked(_Source):
    def hand_out(self, item: Any) -> None:
        for waiting in self.waiting:
            waiting.append(item)

    def _ahead(self, branch: int) -> int:
        return max(map(len, self.waiting)) if self.waiting[branch] else 0


class _Classified(_Source):
    classifier_fn: Callable[[Any], int | None]
    drop_none: bool

    def hand_out(self, item: Any) -> None:
        branch = self.classifier_fn(item)
        if branch is None and self.drop_none:
            return
        if branch is None or not 0 <= branch < self.count:
            raise ArgumentError(
                "demux", "what classifier_fn gave", was=branch,
                needed=f"a number from 0 to {self.count - 1}",
                remedy="drop_none=True leaves out items of None",
            )  # fmt: skip
        self.waiting[branch].append(item)

    def _ahead(self, branch: int) -> int:
        return sum(map(len, self.waiting)) - len(self.waiting[branch])


class Branch(IterDataPipe[Any]):
    """One of the pipes that read a source together.

    An iterator that is made while another one of the same pass was made of this branch
    begins a pass, for all of them.
    """

    def __init__(self, main_datapipe: _Source, instance_id: int, copy: Any) -> None:
        self.main_datapipe, self.instance_id, self.copy = (
            main_datapipe, instance_id, copy,
        )  # fmt: skip
        self.read = 0

    def __iter__(self) -> Iterator[Any]:
        return _Reading(self)

    def reset(self) -> None:
        """Begin the next pass if this branch has read the present one."""
        source = self.main_datapipe
        if self.read == source.pass_:
            if any(source.waiting) or not source.over:
                warnings.warn(
                    f"{source.step}: a branch begins again before all were read to "
                    "the end; the others begin again, too",
                    stacklevel=4,
                )
            source.begin()
        self.read = source.pass_

    def __len__(self) -> int:
        if isinstance(self.main_datapipe, _Classified):
            raise no_length(self)
        return length_of(self, self.main_datapipe.main_datapipe)


class _Reading:
    """An iterator of a branch."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.pass_: int | None = None

    def __iter__(self) -> _Reading:
        return self

    def __next__(self) -> Any:
        source = self.branch.main_datapipe
        if self.pass_ is None:
            self.pass_ = self.branch.read
        if self.pass_ != source.pass_:
            raise StaleBranch(
                source.step, "iterator", was="invalidated: another branch has begun "
                "again", needed="one of the last pass",
            )  # fmt: skip
        item = source.next_for(self.branch.instance_id)
        return _COPIES[self.branch.copy](item)


class StaleBranch(DovetailError, RuntimeError):
    """An iterator of a branch, of a pass that another branch has ended."""


@functional_datapipe("fork")
class Forker(IterDataPipe[Any]):
    """Makes a list of pipes, each of which gives all items.

    Args:
        num_instances: how many; one gives the pipe itself.
        buffer_size: how far one may be ahead of the slowest; -1 has no end.
        copy: None gives all the same objects, "shallow" and "deep" copies.

    Raises: BufferOverflow, a BufferError, while they are read.
    """

    def __new__(
        cls, datapipe: IterDataPipe[Any], num_instances: int, buffer_size: int = 1000,
        copy: str | None = None,
    ) -> Any:  # fmt: skip
        if copy not in _COPIES:
            raise ArgumentError(
                "fork", "copy", was=repr(copy), needed='None, "shallow" or "deep"'
            )
        source = _Forked("fork", datapipe, num_instances, buffer_size)
        if num_instances == 1:
            return datapipe
        return [Branch(source, i, copy) for i in range(num_instances)]


@functional_datapipe("demux")
class Demultiplexer(IterDataPipe[Any]):
    """Makes a list of pipes, among which the items are shared.

    Args:
        num_instances: how many.
        classifier_fn: says by number to which an item goes.
        drop_none: whether items for which it gives None are left out.
        buffer_size: how many items may wait for the others; -1 has no end.

    Raises: BufferOverflow, a BufferError, while they are read.
    """

    def __new__(
        cls, datapipe: IterDataPipe[Any], num_instances: int,
        classifier_fn: Callable[[Any], int | None], drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:  # fmt: skip
        check_columns("demux", classifier_fn, None)
        source = _Classified("demux", datapipe, num_instances, buffer_size)
        source.classifier_fn, source.drop_none = classifier_fn, drop_none
        return [Branch(source, i, None) for i in range(num_instances)]
