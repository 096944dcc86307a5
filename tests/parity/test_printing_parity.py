"""How tensors print: as torch's do, but for the name of the dtype."""

import math

import numpy as np
import pytest

import dovetail as dt

torch = pytest.importorskip("torch")

SHAPES = [
    (), (1,), (3,), (0,), (2, 0), (2, 3), (2, 1, 3), (30,), (1001,), (40, 40), (3, 500),
]  # fmt: skip
SPECIAL = [math.inf, -math.inf, math.nan, 0.0, -0.0, 1.0, 2.5]


def drawn(kind: str, count: int) -> list[float]:
    """Numbers of one look: usual, far apart, whole, special or tiny."""
    draws = np.random.default_rng(count)
    values = {
        "usual": draws.normal(size=count),
        "far apart": draws.normal(size=count) * 10.0 ** draws.integers(-8, 9, count),
        "whole": draws.integers(-1000, 1000, count),
        "special": draws.choice(SPECIAL, count),
        "tiny": draws.normal(size=count) * 1e-6,
    }[kind]
    return [float(v) for v in values]


@pytest.mark.parametrize("dtype", ["float32", "float16", "complex64"])
@pytest.mark.parametrize("kind", ["usual", "far apart", "whole", "special", "tiny"])
def test_prints_as_torch(dtype: str, kind: str) -> None:
    """Widths, signs, line breaks and what is left out are torch's, at every shape."""
    for shape in SHAPES:
        numbers = np.asarray(drawn(kind, math.prod(shape)))
        if dtype == "complex64":
            numbers = np.stack([numbers, numbers[::-1]], -1).view(np.complex128)[:, 0]
        if dtype == "float16":  # what it holds
            held = np.clip(numbers, -6e4, 6e4)
            numbers = np.where(np.isfinite(numbers), held, numbers)
        theirs, ours = (
            lib.tensor(numbers.tolist(), dtype=getattr(lib, dtype)).reshape(shape)
            for lib in (torch, dt)
        )
        text = repr(ours).replace("dtype=dovetail.", "dtype=torch.")
        where = text.rfind(",\n       dtype")  # the longer name may need a line
        if where >= 0 and text != repr(theirs):
            text = text[:where] + ", " + text[where + 9 :]
        assert text == repr(theirs)


@pytest.mark.parametrize("dtype", ["bool", "int64", "int32", "complex64", "float32"])
@pytest.mark.parametrize("shape", [(0,), (2, 0), (3,)])
def test_tells_what_is_no_default(dtype: str, shape: tuple[int, ...]) -> None:
    """The dtype is told where the numbers do not show it, which none do if empty."""
    theirs = torch.zeros(shape, dtype=getattr(torch, dtype))
    ours = dt.zeros(shape, dtype=getattr(dt, dtype))
    assert repr(ours).replace("dovetail.", "torch.") == repr(theirs)
