"""Sobol's points beside torch's: digit for digit, and how they are scrambled."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import dovetail
from dovetail.quasirandom import SobolEngine, _mixed

pytest.importorskip("scipy", reason="Sobol's direction numbers are SciPy's")


@pytest.mark.parametrize("dimension", [1, 7, 1111])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_are_torchs(dimension: int, dtype: str) -> None:
    ours, theirs = SobolEngine(dimension), torch.quasirandom.SobolEngine(dimension)
    for passes, n in ((False, 1), (False, 3), (True, 60), (False, 1), (False, 65)):
        if passes:
            ours.fast_forward(n)
            theirs.fast_forward(n)
            continue
        x = ours.draw(n, dtype=getattr(dovetail, dtype)).numpy()
        np.testing.assert_array_equal(
            x, theirs.draw(n, dtype=getattr(torch, dtype)).numpy()
        )
    np.testing.assert_array_equal(ours.quasi.numpy(), theirs.quasi.numpy())
    np.testing.assert_array_equal(ours.sobolstate.numpy(), theirs.sobolstate.numpy())


def test_digits_are_mixed_as_torch_mixes_them() -> None:
    engine = torch.quasirandom.SobolEngine(20)
    mixing = torch.randint(2, (20, 30, 30)).tril()
    state = engine.sobolstate.clone()
    torch._sobol_engine_scramble_(state, mixing, 20)
    ours = _mixed(SobolEngine(20).sobolstate, dovetail.from_numpy(mixing.numpy()))
    np.testing.assert_array_equal(ours.numpy(), state.numpy())
