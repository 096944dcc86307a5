"""Margins of random sizes, negative ones among them, held against torch."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

MODES = ("constant", "reflect", "replicate", "circular")


def _drawn(rng: random.Random) -> tuple[list[int], list[int], str]:
    """A shape, and sides for some of its last dims."""
    padded = rng.choice((1, 2, 3))
    shape = [rng.randrange(5) for _ in range(padded + rng.choice((1, 2)))]
    return shape, [rng.randint(-3, 3) for _ in range(2 * padded)], rng.choice(MODES)


def _told(lib: Any, shape: list[int], sides: list[int], mode: str) -> Any:
    x = lib.arange(int(np.prod(shape)), dtype=lib.float32).reshape(shape)
    try:
        return lib.nn.functional.pad(x, sides, mode)
    except (RuntimeError, ValueError):
        return None


def _left_open(want: Any, shape: list[int], sides: list[int], mode: str) -> bool:
    """Where torch answers with memory nobody wrote to, or with a size below 0."""
    if any(n < 0 for n in want.shape):
        return True
    both = zip(shape[::-1], sides[::2], sides[1::2], strict=False)
    kept = [(n + min(a, 0) + min(b, 0), max(a, b)) for n, a, b in both]
    return mode == "circular" and any(wide > n for n, wide in kept)


@pytest.mark.parametrize("seed", range(8))
def test_margins(seed: int) -> None:
    rng = random.Random(seed)
    compared = 0
    for _ in range(250):
        drawn = _drawn(rng)
        want, got = _told(torch, *drawn), _told(dovetail, *drawn)
        if want is not None and _left_open(want, *drawn):
            continue
        assert (got is None) == (want is None), drawn
        if got is not None:
            assert tuple(got.shape) == tuple(want.shape), drawn
            np.testing.assert_array_equal(got.numpy(), want.numpy(), str(drawn))
            compared += 1
    assert compared > 60
