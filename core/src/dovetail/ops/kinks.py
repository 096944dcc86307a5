"""Gradients at ties and kinks: what torch 2.13 gives.

Where a function has no derivative, its rule is free to choose. Programs rely on what
torch chose: a subgradient of 0 at the corner of relu, equal shares among equal
extremes, the first of equal maxima in a pool.
"""

from __future__ import annotations

from math import inf, nan
from typing import Any, Final

import numpy as np

from dovetail.engine.cases import kink
from dovetail.engine.op import vocabulary

# Functions of one number: points, and the gradients there.
_OF_ONE: Final[dict[str, tuple[list[float], list[float]]]] = {
    "abs": ([0, -0.0, inf, -inf, nan], [0, 0, 1, -1, 0]),
    "acos": ([1, -1, 0], [-inf, -inf, -1]),
    "acosh": ([1, 2], [inf, 0.5773502691896258]),
    "angle": ([0, -1, 1], [0, 0, 0]),
    "asin": ([1, -1, 0], [inf, inf, 1]),
    "ceil": ([0, 1, 1.5], [0, 0, 0]),
    "elu": ([0, -0.0, 1, -1e9], [1, 1, 1, 0]),
    "erfinv": ([1, 0], [inf, 0.8862269254527579]),
    "floor": ([0, 1, 1.5], [0, 0, 0]),
    "frac": ([0, 1, -1.5], [1, 1, 1]),
    "hardsigmoid": ([-3, 3, 0, 4, -4], [0, 0, 1 / 6, 0, 0]),
    "hardswish": ([-3, 3, 0, 4, -4], [0, 1, 0.5, 1, 0]),
    "log": ([0, 1, inf], [inf, 1, 0]),
    "logsigmoid": ([0, 100, -100], [0.5, 3.720075976020836e-44, 1]),
    "nan_to_num": ([nan, inf, -inf, 1], [0, 0, 0, 1]),
    "reciprocal": ([0, inf, 2], [-inf, -0.0, -0.25]),
    "relu": ([0, -0.0, 1, -1, inf, nan], [0, 0, 1, 0, 1, 1]),
    "round": ([0.5, 1.5, 2], [0, 0, 0]),
    "rsqrt": ([0, 4, inf], [-inf, -0.0625, -0.0]),
    "sgn": ([0, -0.0, 2], [0, 0, 0]),
    "sign": ([0, -0.0, 2, nan], [0, 0, 0, 0]),
    "sinc": ([0, 1], [0, -1]),
    "softsign": ([0, -1], [1, 0.25]),
    "sqrt": ([0, 4, inf, -1], [inf, 0.25, 0, nan]),
    "trunc": ([0, -1, 1.5], [0, 0, 0]),
}
_POOL: Final = ((2,), (2,), (0,), (1,), False)
_LOG_2: Final = 0.6931471805599453
# Others: their arguments, and the gradients at each list of numbers among them.
_CALLS: Final[list[tuple[str, tuple[Any, ...], list[Any]]]] = [
    ("softplus", ([20, 21, -50, 0],),
     [[0.9999999979388464, 1, 1.9287498479639178e-22, 0.5]]),
    ("hardtanh", ([-2, -1, 0, 1, 2], -1.0, 1.0), [[0, 0, 1, 0, 0]]),
    ("threshold", ([0.5, 1, 1.5, nan], 1.0, 0.0), [[0, 0, 1, 1]]),
    ("leaky_relu", ([0, -0.0, 1, -1], 0.5), [[0.5, 0.5, 1, 0.5]]),
    ("prelu", ([0, -0.0, 1, -1], [0.5]), [[0.5, 0.5, 1, 0.5], [-1]]),
    ("hardshrink softshrink", ([-0.5, 0.5, 0, 0.75], 0.5), [[0, 0, 0, 1]]),
    ("clamp", ([-1, 0, 0.5, 1, 2, nan], 0.0, 1.0), [[0, 1, 1, 1, 0, 0]]),
    ("clamp", ([-1, 0, 0.5, 1, 2, nan], [0] * 6, [1] * 6),
     [[0, 1, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0]]),
    ("clamp", ([1, 3, 2], [2, 2, 2], [1, 1, 1]), [[0, 0, 0], [0, 0, 0], [1, 1, 1]]),
    ("maximum minimum", ([0, 1, -0.0, nan, 1], [0, 1, 0, 1, nan]),
     [[0.5, 0.5, 0.5, 1, 1], [0.5, 0.5, 0.5, 1, 1]]),
    ("fmax fmin", ([0, 1, nan, 1, nan], [0, 1, 1, nan, nan]),
     [[1, 1, 0, 1, 1], [0, 0, 1, 0, 0]]),
    ("pow", ([0, 0, 0, 2, 0], [2, 1, 0, 0, 3]),
     [[0, 1, 0, 0, 0], [0, 0, 0, _LOG_2, 0]]),
    ("pow", ([-1, -2], [2, 3]), [[-2, 12], [nan, nan]]),
    ("xlogy", ([0, 0, 1, 0], [0, 2, 2, nan]),
     [[0, _LOG_2, _LOG_2, nan], [nan, 0, 0.5, nan]]),
    ("hypot", ([0, 3, 0], [0, 4, 2]), [[nan, 0.6, 0], [nan, 0.8, 1]]),
    ("copysign", ([0, -0.0, 1, -1], [1, 1, -1, 0]), [[0, 0, -1, -1], [0, 0, 0, 0]]),
    ("atan2", ([0, 1, 0], [0, 0, -1]), [[0, 0, -1], [-0.0, -1, -0.0]]),
    ("remainder fmod", ([4, -4, 3], [2, 2, 2]), [[1, 1, 1], [-2, 2, -1]]),
    ("logaddexp", ([-inf, -inf, inf, 0], [-inf, 0, 0, 0]),
     [[nan, 0, 1, 0.5], [nan, 1, 0, 0.5]]),
    ("logaddexp2", ([-inf, 0], [0, 0]), [[0, 0.5], [1, 0.5]]),
    ("where", (np.array([False, True, True]), [nan, 1, inf], [1, nan, 2]),
     [[0, 1, 1], [1, 0, 0]]),
    ("smooth_l1_loss", ([0, 1, -1, 2, 0.5], [0] * 5, 1.0),
     [[0, 1, -1, 1, 0.5], [0, -1, 1, -1, -0.5]]),
    ("binary_cross_entropy", ([0, 1, 0.5, 0, 1], [0, 1, 1, 1, 0]),
     [[0, 0, -2, -1e12, 1e12], [inf, -inf, 0, inf, -inf]]),
    # Along dims.
    ("amax", ([[1, 3, 3], [2, 2, 2]], 1), [[[0, 1 / 2, 1 / 2], [1 / 3, 1 / 3, 1 / 3]]]),
    ("amin", ([[1, 1, 3], [2, 2, 2]], 1), [[[1 / 2, 1 / 2, 0], [1 / 3, 1 / 3, 1 / 3]]]),
    ("amax", ([1, nan, nan], 0), [[nan, nan, nan]]),
    ("max_along", ([[1, 3, 3], [2, 2, 2]], 1), [[[0, 1, 0], [1, 0, 0]]]),
    ("min_along", ([[1, 1, 3], [2, 2, 2]], 1), [[[1, 0, 0], [1, 0, 0]]]),
    ("max_along", ([1, nan, nan], 0), [[0, 1, 0]]),
    ("max_pool", ([[[1, 1, 0, 0, 2, 2]]], *_POOL), [[[[1, 0, 1, 0, 1, 0]]]]),
    ("max_pool", ([[[1, nan, nan, 0]]], *_POOL), [[[[0, 1, 1, 0]]]]),
    ("sort", ([2, 1, 2, 1], 0, False, True), [[1, 1, 1, 1]]),
    ("sort", ([2, 1, 2, 1], 0, True, True), [[1, 1, 1, 1]]),
    ("prod", ([2, 0, 3], 0), [[0, 6, 0]]),
    ("prod", ([0, 0, 3], 0), [[0, 0, 0]]),
    ("cumprod", ([2, 0, 3], 0), [[1, 8, 0]]),
    ("cumprod", ([2, 0, 0, 3], 0), [[1, 2, 0, 0]]),
    ("vector_norm", ([0, 0], 2.0), [[0, 0]]),
    ("vector_norm", ([0, 0], 1.0), [[0, 0]]),
    ("vector_norm", ([3, 3, -3], inf), [[1 / 3, 1 / 3, -1 / 3]]),
    ("vector_norm", ([3, 0, -3], 1.0), [[1, 0, -1]]),
    ("vector_norm", ([3, 0, -3], 0.0), [None]),
    ("vector_norm", ([3, 0, -3], 3.0), [[0.6299605249474367, 0, -0.6299605249474367]]),
    ("vector_norm", ([1, -1, 2], -inf), [[0.5, -0.5, 0]]),
    ("vector_norm", ([0, 0, 2], -inf), [[0, 0, 0]]),
    ("vector_norm", ([nan, 1, 2], inf), [[0, 0, 0]]),
    ("logsumexp", ([-inf, 0, 1], 0), [[0, 0.2689414213699951, 0.7310585786300049]]),
    ("logsumexp", ([inf, 0], 0), [[nan, 0]]),
    ("logcumsumexp", ([-inf, 0, -inf], 0), [[nan, 2, 0]]),
    ("std", ([[2, 2, 2], [1, 2, 3]], 1), [[[0, 0, 0], [-0.5, 0, 0.5]]]),
    ("var", ([[2, 2, 2]], 1), [[[0, 0, 0]]]),
    ("softmax", ([-inf, 0, -inf], 0), [[0, 0, 0]]),
    ("log_softmax", ([-inf, 0, 0], 0), [[1, -0.5, -0.5]]),
]  # fmt: skip


def _declare() -> None:
    rows = [(name, (at,), [slopes]) for name, (at, slopes) in _OF_ONE.items()]
    found: dict[str, list[Any]] = {}
    for names, args, grads in [*rows, *_CALLS]:
        for name in names.split():
            found.setdefault(name, []).append(kink(*args, grads=grads))
    for name, kinks in found.items():
        vocabulary[name].kinks = lambda kinks=kinks: kinks


_declare()
