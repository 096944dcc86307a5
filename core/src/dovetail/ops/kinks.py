"""Gradients at ties and kinks of elementwise ops: what torch 2.13 gives.

Where a function has no derivative, its rule is free to choose. Programs rely on what
torch chose: a subgradient of 0 at the corner of relu, equal shares among equal
extremes, the first of equal maxima in a pool.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from dovetail.engine.cases import Kink, kink
from dovetail.engine.op import vocabulary

_MASK = np.array([False, True, True])


def _at(names: str, *kinks: Kink) -> None:
    for name in names.split():
        vocabulary[name].function.kinks(lambda: kinks)  # type: ignore[attr-defined]


_at(
    "abs",
    kink([0.0, -0.0, inf, -inf, nan], grads=[[0.0, 0.0, 1.0, -1.0, 0.0]]),
)
_at(
    "relu",
    kink([0.0, -0.0, 1.0, -1.0, inf, nan], grads=[[0.0, 0.0, 1.0, 0.0, 1.0, 1.0]]),
)
_at(
    "maximum minimum",
    kink(
        [0.0, 1.0, -0.0, nan, 1.0],
        [0.0, 1.0, 0.0, 1.0, nan],
        grads=[[0.5, 0.5, 0.5, 1.0, 1.0], [0.5, 0.5, 0.5, 1.0, 1.0]],
    ),
)
_at(
    "fmax fmin",
    kink(
        [0.0, 1.0, nan, 1.0, nan],
        [0.0, 1.0, 1.0, nan, nan],
        grads=[[1.0, 1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0]],
    ),
)
_at(
    "clamp",
    kink(
        [-1.0, 0.0, 0.5, 1.0, 2.0, nan],
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        grads=[
            [0.0, 1.0, 1.0, 1.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
        ],
    ),
    kink(
        [1.0, 3.0, 2.0],
        [2.0, 2.0, 2.0],
        [1.0, 1.0, 1.0],
        grads=[[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 1.0, 1.0]],
    ),
)
_at(
    "clip",
    kink(
        [-1.0, 0.0, 0.5, 1.0, 2.0, nan],
        0.0,
        1.0,
        grads=[[0.0, 1.0, 1.0, 1.0, 0.0, 0.0]],
    ),
)
_at(
    "hardtanh",
    kink([-2.0, -1.0, 0.0, 1.0, 2.0], -1.0, 1.0, grads=[[0.0, 0.0, 1.0, 0.0, 0.0]]),
)
_at(
    "threshold",
    kink([0.5, 1.0, 1.5, nan], 1.0, 0.0, grads=[[0.0, 0.0, 1.0, 1.0]]),
)
_at(
    "leaky_relu",
    kink([0.0, -0.0, 1.0, -1.0], 0.5, grads=[[0.5, 0.5, 1.0, 0.5]]),
)
_at(
    "prelu",
    kink([0.0, -0.0, 1.0, -1.0], [0.5], grads=[[0.5, 0.5, 1.0, 0.5], [-1.0]]),
)
_at(
    "elu",
    kink([0.0, -0.0, 1.0, -1000000000.0], grads=[[1.0, 1.0, 1.0, 0.0]]),
)
_at(
    "hardshrink",
    kink([-0.5, 0.5, 0.0, 0.75], 0.5, grads=[[0.0, 0.0, 0.0, 1.0]]),
)
_at(
    "softshrink",
    kink([-0.5, 0.5, 0.0, 0.75], 0.5, grads=[[0.0, 0.0, 0.0, 1.0]]),
)
_at(
    "hardsigmoid",
    kink([-3.0, 3.0, 0.0, 4.0, -4.0], grads=[[0.0, 0.0, 1 / 6, 0.0, 0.0]]),
)
_at(
    "hardswish",
    kink([-3.0, 3.0, 0.0, 4.0, -4.0], grads=[[0.0, 1.0, 0.5, 1.0, 0.0]]),
)
_at(
    "sign",
    kink([0.0, -0.0, 2.0, nan], grads=[[0.0, 0.0, 0.0, 0.0]]),
)
_at(
    "sgn",
    kink([0.0, -0.0, 2.0], grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "pow",
    kink(
        [0.0, 0.0, 0.0, 2.0, 0.0],
        [2.0, 1.0, 0.0, 0.0, 3.0],
        grads=[[0.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.6931471805599453, 0.0]],
    ),
    kink([-1.0, -2.0], [2.0, 3.0], grads=[[-2.0, 12.0], [nan, nan]]),
)
_at(
    "sqrt",
    kink([0.0, 4.0, inf, -1.0], grads=[[inf, 0.25, 0.0, nan]]),
)
_at(
    "rsqrt",
    kink([0.0, 4.0, inf], grads=[[-inf, -0.0625, -0.0]]),
)
_at(
    "hypot",
    kink([0.0, 3.0, 0.0], [0.0, 4.0, 2.0], grads=[[nan, 0.6, 0.0], [nan, 0.8, 1.0]]),
)
_at(
    "nan_to_num",
    kink([nan, inf, -inf, 1.0], grads=[[0.0, 0.0, 0.0, 1.0]]),
)
_at(
    "copysign",
    kink(
        [0.0, -0.0, 1.0, -1.0],
        [1.0, 1.0, -1.0, 0.0],
        grads=[[0.0, 0.0, -1.0, -1.0], [0.0, 0.0, 0.0, 0.0]],
    ),
)
_at(
    "xlogy",
    kink(
        [0.0, 0.0, 1.0, 0.0],
        [0.0, 2.0, 2.0, nan],
        grads=[
            [0.0, 0.6931471805599453, 0.6931471805599453, nan],
            [nan, 0.0, 0.5, nan],
        ],
    ),
)
_at(
    "smooth_l1_loss",
    kink(
        [0.0, 1.0, -1.0, 2.0, 0.5],
        [0.0, 0.0, 0.0, 0.0, 0.0],
        1.0,
        grads=[[0.0, 1.0, -1.0, 1.0, 0.5], [0.0, -1.0, 1.0, -1.0, -0.5]],
    ),
)
_at(
    "floor",
    kink([0.0, 1.0, 1.5], grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "ceil",
    kink([0.0, 1.0, 1.5], grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "round",
    kink([0.5, 1.5, 2.0], grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "trunc",
    kink([0.0, -1.0, 1.5], grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "frac",
    kink([0.0, 1.0, -1.5], grads=[[1.0, 1.0, 1.0]]),
)
_at(
    "remainder",
    kink([4.0, -4.0, 3.0], [2.0, 2.0, 2.0], grads=[[1.0, 1.0, 1.0], [-2.0, 2.0, -1.0]]),
)
_at(
    "fmod",
    kink([4.0, -4.0, 3.0], [2.0, 2.0, 2.0], grads=[[1.0, 1.0, 1.0], [-2.0, 2.0, -1.0]]),
)
_at(
    "atan2",
    kink(
        [0.0, 1.0, 0.0], [0.0, 0.0, -1.0], grads=[[0.0, 0.0, -1.0], [-0.0, -1.0, -0.0]]
    ),
)
_at(
    "logaddexp",
    kink(
        [-inf, -inf, inf, 0.0],
        [-inf, 0.0, 0.0, 0.0],
        grads=[[nan, 0.0, 1.0, 0.5], [nan, 1.0, 0.0, 0.5]],
    ),
)
_at(
    "logaddexp2",
    kink([-inf, 0.0], [0.0, 0.0], grads=[[0.0, 0.5], [1.0, 0.5]]),
)
_at(
    "softplus",
    kink(
        [20.0, 21.0, -50.0, 0.0],
        grads=[[0.9999999979388464, 1.0, 1.9287498479639178e-22, 0.5]],
    ),
)
_at(
    "sinc",
    kink([0.0, 1.0], grads=[[0.0, -1.0]]),
)
_at(
    "angle",
    kink([0.0, -1.0, 1.0], grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "asin",
    kink([1.0, -1.0, 0.0], grads=[[inf, inf, 1.0]]),
)
_at(
    "acos",
    kink([1.0, -1.0, 0.0], grads=[[-inf, -inf, -1.0]]),
)
_at(
    "acosh",
    kink([1.0, 2.0], grads=[[inf, 0.5773502691896258]]),
)
_at(
    "log",
    kink([0.0, 1.0, inf], grads=[[inf, 1.0, 0.0]]),
)
_at(
    "reciprocal",
    kink([0.0, inf, 2.0], grads=[[-inf, -0.0, -0.25]]),
)
_at(
    "erfinv",
    kink([1.0, 0.0], grads=[[inf, 0.8862269254527579]]),
)
_at(
    "softsign",
    kink([0.0, -1.0], grads=[[1.0, 0.25]]),
)
_at(
    "logsigmoid",
    kink([0.0, 100.0, -100.0], grads=[[0.5, 3.720075976020836e-44, 1.0]]),
)
_at(
    "binary_cross_entropy",
    kink(
        [0.0, 1.0, 0.5, 0.0, 1.0],
        [0.0, 1.0, 1.0, 1.0, 0.0],
        grads=[[0.0, 0.0, -2.0, -1e12, 1e12], [inf, -inf, 0.0, inf, -inf]],
    ),
)
_at(
    "where",
    kink(
        _MASK,
        [nan, 1.0, inf],
        [1.0, nan, 2.0],
        grads=[[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]],
    ),
)
