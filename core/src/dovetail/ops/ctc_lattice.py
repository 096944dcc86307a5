"""The states of sequences of labels, and the ways through them, made of ops."""

from __future__ import annotations

import math
from typing import Any

from dovetail.engine.tensor import Tensor, alias
from dovetail.ops.compare import isnan
from dovetail.ops.create import counted, full
from dovetail.ops.index import gather
from dovetail.ops.primitive import eq, exp, log, maximum, where
from dovetail.ops.shape import cat, stack
from dovetail.ops.view import basic_index, expand, reshape, unsqueeze


class Lattice:
    """The states of sequences, and what is seen of them.

    Attributes:
        states: [n, width], the class of each.
        skips: where a way may come from two states before.
        seen: [t, n, width].
        lasts: [n, 1], how many steps there are.
        ends: [n, 1], the last state.
    """

    def __init__(
        self, x: Tensor, labels: Tensor, frames: Tensor, counts: Tensor, blank: int
    ) -> None:
        steps, n, classes = tuple(x._a.shape)
        labels = _within(labels, classes - 1)
        frames, counts = _within(frames, steps), _within(counts, labels._a.shape[1])
        blanks = full((n, labels._a.shape[1] + 1), blank, labels._kind)
        self.states = _interleaved(blanks, labels)
        self.width = int(self.states._a.shape[1])
        self.shape = steps, n, self.width
        self.skips = _may_skip(self.states, blank)
        self.seen = gather(x, 2, expand(unsqueeze(self.states, 0), self.shape))
        self.lasts = unsqueeze(frames, 1)
        self.ends = unsqueeze(counts, 1) * 2
        self.places = counted(self.width, x)
        self.nothing = full((n, self.width), -math.inf, x._kind)

    def step(self, t: int) -> Tensor:
        return basic_index(self.seen, (t,))

    def forwards(self) -> list[Tensor]:
        """By step: the ways that end in each state, what is seen there too."""
        alpha = where(eq(self.places, 0), 0.0, self.nothing)
        found = []
        for t in range(self.shape[0]):
            before = [alpha, _shifted(alpha, 1), _shifted(alpha, 2)]
            before[2] = where(self.skips, before[2], -math.inf)
            stepped = _log_sum(before) + self.step(t)
            alpha = where(self.lasts > t, stepped, alpha)
            found.append(alpha)
        return found

    def backwards(self) -> list[Tensor]:
        """By step: the ways that go on from each state, what is seen there too."""
        beta = where(eq(self.places, self.ends), 0.0, self.nothing)
        leaps = _shifted(self.skips, -2)
        found = []
        for t in reversed(range(self.shape[0])):
            after = [beta, _shifted(beta, -1), _shifted(beta, -2)]
            after[2] = where(leaps, after[2], -math.inf)
            stepped = _log_sum(after) + self.step(t)
            beta = where(self.lasts > t, stepped, beta)
            found.append(beta)
        return found[::-1]

    def whole(self, alpha: Tensor) -> Tensor:
        """[n, 1]: the logarithm of what reaches the last blank, or the last label."""
        last = gather(alpha, 1, self.ends)
        before = where(self.ends > 0, self.ends - 1, 0)
        label = where(self.ends > 0, gather(alpha, 1, before), -math.inf)
        return _log_sum([last, label])


def _within(x: Tensor, most: int) -> Tensor:
    """Numbers from 0 to `most`, which calls that are right have anyway."""
    return where(x < 0, 0, where(x > most, most, x))


def _interleaved(blanks: Tensor, labels: Tensor) -> Tensor:
    """A blank before, between and behind labels: [n, 2 s + 1]."""
    n, count = labels._a.shape
    first = basic_index(blanks, (slice(None), slice(0, count)))
    pairs = reshape(stack([first, labels], 2), (n, 2 * count))
    return cat([pairs, basic_index(blanks, (slice(None), slice(0, 1)))], 1)


def _may_skip(states: Tensor, blank: int) -> Tensor:
    """Where a path may come from two states before: at a label unlike the last one."""
    later = basic_index(states, (slice(None), slice(2, None)))
    earlier = basic_index(states, (slice(None), slice(0, -2)))
    free = ~eq(later, earlier) & ~eq(later, blank)
    head = basic_index(states, (slice(None), slice(0, 2)))
    return cat([~eq(head, head), free], 1)


def _shifted(x: Tensor, by: int) -> Tensor:
    """Each state's value at the state so many behind; at the edge, that of no way."""
    n, width = tuple(x._a.shape)
    least: Any = -math.inf if x.dtype.is_floating_point else False
    edge = full((n, min(abs(by), width)), least, x._kind)
    if by > 0:
        return cat(
            [edge, basic_index(x, (slice(None), slice(0, max(width - by, 0))))], 1
        )
    return cat([basic_index(x, (slice(None), slice(-by, None))), edge], 1)


def _log_sum(parts: list[Tensor]) -> Tensor:
    """The logarithm of a sum of exponentials; what is impossible gets no gradient."""
    most = alias(parts[0])
    for part in parts[1:]:
        most = maximum(most, alias(part))
    possible = (most > -math.inf) | isnan(most)
    most = where(possible, most, 0.0)
    total: Any = None
    for part in parts:
        power = exp(part - most)
        total = power if total is None else total + power
    logarithm = log(where(possible, total, 1.0)) + most
    return where(possible, logarithm, -math.inf)
