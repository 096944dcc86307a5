"""When a profile records: what to do at each step of a program."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from dovetail.errors import ArgumentError


class ProfilerAction(Enum):
    """What a profile does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


class ProfilerActivity(Enum):
    """What a profile may record; here the host's calls alone."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


def kineto_available() -> bool:
    """Whether profiles have schedules and traces: they do."""
    return True


def supported_activities() -> set[ProfilerActivity]:
    """What is recorded: the host's calls."""
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """What tells a profile to wait, to warm up and to record, in turns.

    Args:
        wait, warmup, active: how many steps of each.
        repeat: how many turns, 0 for as many as there are.
        skip_first: steps before the first turn.
        skip_first_wait: whether the first turn does not wait.
    Raises: ArgumentError unless all are at least 0, and `active` at least 1.
    """
    counts = {
        "wait": wait, "warmup": warmup, "active": active - 1, "repeat": repeat,
        "skip_first": skip_first,
    }  # fmt: skip
    for name, count in counts.items():
        if count < 0:
            needed = "at least 1" if name == "active" else "at least 0"
            was = active if name == "active" else count
            raise ArgumentError("schedule", name, was=was, needed=needed)
    turn = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        if 0 < repeat <= step / turn:
            return ProfilerAction.NONE
        place = step % turn
        if place < wait + warmup:
            return ProfilerAction.NONE if place < wait else ProfilerAction.WARMUP
        last = place == turn - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action
