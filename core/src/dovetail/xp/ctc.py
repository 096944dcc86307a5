"""Losses of sequences without alignment, in float64: see `dovetail.ops.ctc`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dovetail.dtypes import FLOAT
from dovetail.xp.kernels import Kernels

kernels: Final = Kernels()


def within(xp: Any, x: Any, most: int) -> Any:
    """Numbers from 0 to `most`, as int64."""
    return xp.minimum(xp.maximum(x.astype("int64"), 0), most)


class Lattice(NamedTuple):
    """The states of sequences.

    Attributes:
        states: [n, width], the class of each.
        skips: [n, width + 2], 0 where a way may come from two states before, else -inf.
        ends: [n], the last state.
    """

    states: Any
    skips: Any
    ends: Any

    @staticmethod
    def of(xp: Any, labels: Any, counts: Any, blank: int, classes: int) -> Lattice:
        """That of labels, taken for classes that there are."""
        n, count = labels.shape
        width = 2 * count + 1
        states = xp.full((n, width), blank, "int64")
        states[:, 1::2] = within(xp, labels, classes - 1)
        skips = xp.full((n, width + 2), -xp.inf)
        free = (states[:, 2:] != states[:, :-2]) & (states[:, 2:] != blank)
        skips[:, 2:width] = xp.where(free, 0.0, -xp.inf)
        return Lattice(states, skips, 2 * within(xp, counts, count))

    def losses(self, xp: Any, alpha: Any) -> Any:
        """[n], of the ways that end in each state: [n, width]."""
        lines = xp.arange(len(self.ends))
        last = alpha[lines, self.ends]
        label = alpha[lines, xp.maximum(self.ends - 1, 0)]
        label = xp.where(self.ends > 0, label, -xp.inf)
        return -xp.logaddexp(last, label)


def _log_sum(xp: Any, a: Any, b: Any, c: Any) -> Any:
    most = xp.maximum(xp.maximum(a, b), c)
    most = xp.where(most == -xp.inf, 0.0, most)
    total = xp.exp(a - most)
    total += xp.exp(b - most)
    total += xp.exp(c - most)
    return xp.log(total) + most


class _Ways:
    """The recursions over steps.

    Attributes:
        seen: [steps, n, width], the log probability of each state.
        going: [steps, n, 1], before the last step.
    """

    def __init__(self, xp: Any, x: Any, lattice: Lattice, frames: Any) -> None:
        self.xp = xp
        self.lattice = lattice
        self.steps, self.n = x.shape[:2]
        self.width = lattice.states.shape[1]
        lines = xp.broadcast_to(lattice.states, (self.steps, self.n, self.width))
        self.seen = xp.take_along_axis(x, lines, 2).astype("float64")
        self.going = (xp.arange(self.steps)[:, None] < frames)[:, :, None]

    def _seen_at(self, t: int, ways: Any) -> Any:
        """Where no way leads, nothing is read, such as NaN of labels that are none."""
        xp = self.xp
        return xp.where(ways == -xp.inf, -xp.inf, ways + self.seen[t])

    def _jumped(self, ways: Any, skips: Any) -> Any:
        return self.xp.where(skips == 0, ways, -self.xp.inf)

    def forwards(self) -> Any:
        """[steps + 1, n, 2 + width], beginning with what is before all steps."""
        xp, width = self.xp, self.width
        found = xp.full((self.steps + 1, self.n, width + 2), -xp.inf)
        found[0, :, 2] = 0.0
        for t in range(self.steps):
            v = found[t]
            jumped = self._jumped(v[:, :width], self.lattice.skips[:, :width])
            stepped = self._seen_at(t, _log_sum(xp, v[:, 2:], v[:, 1:-1], jumped))
            found[t + 1, :, 2:] = xp.where(self.going[t], stepped, v[:, 2:])
        return found

    def backwards(self) -> Any:
        """[steps + 1, n, width + 2], ending with what is behind all steps."""
        xp, width = self.xp, self.width
        found = xp.full((self.steps + 1, self.n, width + 2), -xp.inf)
        found[-1, xp.arange(self.n), self.lattice.ends] = 0.0
        for t in reversed(range(self.steps)):
            v = found[t + 1]
            jumped = self._jumped(v[:, 2:], self.lattice.skips[:, 2:])
            onwards = _log_sum(xp, v[:, :width], v[:, 1:-1], jumped)
            stepped = self._seen_at(t, onwards)
            found[t, :, :width] = xp.where(self.going[t], stepped, v[:, :width])
        return found


@kernels("ctc_losses", FLOAT)
def _ctc_losses(
    xp: Any, x: Any, labels: Any, frames: Any, counts: Any, blank: int
) -> Any:
    lattice = Lattice.of(xp, labels, counts, blank, x.shape[2])
    ways = _Ways(xp, x, lattice, frames)
    return lattice.losses(xp, ways.forwards()[-1, :, 2:]).astype(x.dtype)


@kernels("ctc_shares", FLOAT)
def _ctc_shares(
    xp: Any, x: Any, labels: Any, frames: Any, counts: Any, blank: int
) -> Any:
    lattice = Lattice.of(xp, labels, counts, blank, x.shape[2])
    ways = _Ways(xp, x, lattice, frames)
    alpha, beta = ways.forwards()[1:, :, 2:], ways.backwards()[:-1, :, : ways.width]
    y = xp.zeros(x.shape, "float64")
    if not y.size:
        return y.astype(x.dtype)
    losses = lattice.losses(xp, alpha[-1])[:, None]
    power = alpha + beta - ways.seen + losses
    none = (alpha == -xp.inf) | (beta == -xp.inf) | (losses == xp.inf)
    share = xp.where(none | ~ways.going, 0.0, xp.exp(power))
    steps, n, classes = x.shape
    lines = xp.arange(steps * n).reshape(steps, n, 1) * classes
    xp.add.at(y.reshape(-1), lines + lattice.states, share)
    return y.astype(x.dtype)
