"""All pipes that a pipe is made of, and what a DataLoader sets in them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

from .datapipe import IterDataPipe, MapDataPipe


class SHARDING_PRIORITIES(IntEnum):  # noqa: N801  torch's name
    """Among whom items are shared: processes of a job come before workers of each."""

    DEFAULT = 1
    DISTRIBUTED = 2
    MULTIPROCESSING = 3


def pipes_of(pipe: Any) -> list[Any]:
    """A pipe and those that it reads, each once, the nearest first."""
    found: dict[int, Any] = {}
    _gather(pipe, found, set())
    return list(found.values())


def _gather(value: Any, found: dict[int, Any], seen: set[int]) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, IterDataPipe | MapDataPipe):
        found[id(value)] = value
    for part in _parts(value):
        _gather(part, found, seen)


def _parts(value: Any) -> Iterator[Any]:
    """What may hold further pipes: attributes of pipes, and plain containers."""
    if isinstance(value, IterDataPipe | MapDataPipe):
        yield from vars(value).values()
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple | set):
        yield from value


def set_random_seeds(pipe: Any, seed: int) -> None:
    """Give all pipes that draw a seed each, which follow from one."""
    seeds = random.Random(seed)
    for each in pipes_of(pipe):
        if hasattr(each, "set_seed"):
            each.set_seed(seeds.getrandbits(63))


def set_shuffle(pipe: Any, shuffle: bool | None) -> Any:
    """The pipe, whose shuffling steps shuffle or not; with one where it has none."""
    if shuffle is None:
        return pipe
    steps = [p for p in pipes_of(pipe) if hasattr(p, "set_shuffle")]
    if shuffle and not steps:
        pipe = pipe.shuffle()
        steps = [pipe]
    for step in steps:
        step.set_shuffle(shuffle)
    return pipe


def share(pipe: Any, count: int, number: int) -> None:
    """Let the pipes that can be shared give one worker's part."""
    for each in pipes_of(pipe):
        if hasattr(each, "apply_sharding"):
            each.apply_sharding(count, number, SHARDING_PRIORITIES.MULTIPROCESSING)
