"""Losses and shares of ways through labels, one sequence after the other, by NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import Array


def _ways(x: Array, labels: Array, blank: int) -> Iterator[Any]:
    """Of each sequence: its states, and where they may be reached from."""
    for i, row in enumerate(labels):
        states = [blank]
        for label in row.tolist():
            states += [label, blank]
        skips = [
            s > 1 and c not in (blank, states[s - 2]) for s, c in enumerate(states)
        ]
        yield i, states, np.array(skips), x[:, i, :][:, states].astype(np.float64)


def _stepped(v: Array, skips: Array) -> Array:
    """Ways of one step more: from the state itself, the one before, or two before."""
    moved = np.concatenate([[-np.inf], v[:-1]])
    jumped = np.where(skips, np.concatenate([[-np.inf, -np.inf], v])[: len(v)], -np.inf)
    found: Array = np.logaddexp(np.logaddexp(v, moved), jumped)
    return found


def _as_right(
    x: Array, labels: Array, frames: Array, counts: Array
) -> tuple[Array, Array, Array]:
    steps, _, classes = x.shape
    return (
        np.clip(labels, 0, classes - 1), np.clip(frames, 0, steps),
        np.clip(counts, 0, labels.shape[1]),
    )  # fmt: skip


def losses_by_one(
    x: Array, labels: Array, frames: Array, counts: Array, blank: int
) -> Array:
    labels, frames, counts = _as_right(x, labels, frames, counts)
    y = np.zeros(x.shape[1])
    for i, states, skips, seen in _ways(x, labels, blank):
        v = np.where(np.arange(len(states)) == 0, 0.0, -np.inf)
        for t in range(int(frames[i])):
            v = _stepped(v, skips) + seen[t]
        end = 2 * int(counts[i])
        y[i] = -np.logaddexp.reduce(v[max(end - 1, 0) : end + 1])
    return y


def shares_by_one(
    x: Array, labels: Array, frames: Array, counts: Array, blank: int
) -> Array:
    """Ways on are those of the sequence turned around."""
    labels, frames, counts = _as_right(x, labels, frames, counts)
    y = np.zeros(x.shape)
    losses = losses_by_one(x, labels, frames, counts, blank)
    for i, states, skips, seen in _ways(x, labels, blank):
        steps, end = int(frames[i]), 2 * int(counts[i])
        v = np.where(np.arange(len(states)) == 0, 0.0, -np.inf)
        w = np.where(np.arange(end + 1) == 0, 0.0, -np.inf)
        back = np.concatenate([[False, False], skips[2 : end + 1][::-1]])[: end + 1]
        on: list[Array] = []
        for t in reversed(range(steps)):
            on.append(_stepped(w, back))
            w = on[-1] + seen[t, end::-1]
        for t in range(steps):
            v = _stepped(v, skips) + seen[t]
            share = np.exp(v[: end + 1] + on[steps - 1 - t][::-1] + losses[i])
            if np.isfinite(losses[i]):
                np.add.at(y[t, i], states[: end + 1], share)
    return y
