"""Gradients at ties and kinks of ops along dims: what torch 2.13 gives.

Where a function has no derivative, its rule is free to choose. Programs rely on what
torch chose: a subgradient of 0 at the corner of relu, equal shares among equal
extremes, the first of equal maxima in a pool.
"""

from __future__ import annotations

from math import inf, nan

from dovetail.engine.cases import Kink, kink
from dovetail.engine.op import vocabulary


def _at(name: str, *kinks: Kink) -> None:
    vocabulary[name].function.kinks(lambda: kinks)  # type: ignore[attr-defined]


_at(
    "amax",
    kink(
        [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]],
        1,
        grads=[
            [
                [0.0, 0.5, 0.5],
                [0.3333333333333333, 0.3333333333333333, 0.3333333333333333],
            ]
        ],
    ),
    kink([1.0, nan, nan], 0, grads=[[nan, nan, nan]]),
)
_at(
    "amin",
    kink(
        [[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]],
        1,
        grads=[
            [
                [0.5, 0.5, 0.0],
                [0.3333333333333333, 0.3333333333333333, 0.3333333333333333],
            ]
        ],
    ),
)
_at(
    "max_along",
    kink(
        [[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]],
        1,
        grads=[[[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]],
    ),
    kink([1.0, nan, nan], 0, grads=[[0.0, 1.0, 0.0]]),
)
_at(
    "min_along",
    kink(
        [[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]],
        1,
        grads=[[[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]],
    ),
)
_at(
    "max_pool",
    kink(
        [[[1.0, 1.0, 0.0, 0.0, 2.0, 2.0]]],
        (2,),
        (2,),
        (0,),
        (1,),
        False,
        grads=[[[[1.0, 0.0, 1.0, 0.0, 1.0, 0.0]]]],
    ),
    kink(
        [[[1.0, nan, nan, 0.0]]],
        (2,),
        (2,),
        (0,),
        (1,),
        False,
        grads=[[[[0.0, 1.0, 1.0, 0.0]]]],
    ),
)
_at(
    "sort",
    kink([2.0, 1.0, 2.0, 1.0], 0, False, True, grads=[[1.0, 1.0, 1.0, 1.0]]),
    kink([2.0, 1.0, 2.0, 1.0], 0, True, True, grads=[[1.0, 1.0, 1.0, 1.0]]),
)
_at(
    "prod",
    kink([2.0, 0.0, 3.0], 0, grads=[[0.0, 6.0, 0.0]]),
    kink([0.0, 0.0, 3.0], 0, grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "cumprod",
    kink([2.0, 0.0, 3.0], 0, grads=[[1.0, 8.0, 0.0]]),
    kink([2.0, 0.0, 0.0, 3.0], 0, grads=[[1.0, 2.0, 0.0, 0.0]]),
)
_at(
    "vector_norm",
    kink([0.0, 0.0], 2.0, grads=[[0.0, 0.0]]),
    kink([0.0, 0.0], 1.0, grads=[[0.0, 0.0]]),
    kink(
        [3.0, 3.0, -3.0],
        inf,
        grads=[[0.3333333333333333, 0.3333333333333333, -0.3333333333333333]],
    ),
    kink([3.0, 0.0, -3.0], 1.0, grads=[[1.0, 0.0, -1.0]]),
    kink([3.0, 0.0, -3.0], 0.0, grads=[None]),
    kink([3.0, 0.0, -3.0], 3.0, grads=[[0.6299605249474367, 0.0, -0.6299605249474367]]),
    kink([1.0, -1.0, 2.0], -inf, grads=[[0.5, -0.5, 0.0]]),
)
_at(
    "logsumexp",
    kink([-inf, 0.0, 1.0], 0, grads=[[0.0, 0.2689414213699951, 0.7310585786300049]]),
    kink([inf, 0.0], 0, grads=[[nan, 0.0]]),
)
_at(
    "logcumsumexp",
    kink([-inf, 0.0, -inf], 0, grads=[[nan, 2.0, 0.0]]),
)
_at(
    "std",
    kink(
        [[2.0, 2.0, 2.0], [1.0, 2.0, 3.0]],
        1,
        grads=[[[0.0, 0.0, 0.0], [-0.5, 0.0, 0.5]]],
    ),
)
_at(
    "var",
    kink([[2.0, 2.0, 2.0]], 1, grads=[[[0.0, 0.0, 0.0]]]),
)
_at(
    "softmax",
    kink([-inf, 0.0, -inf], 0, grads=[[0.0, 0.0, 0.0]]),
)
_at(
    "log_softmax",
    kink([-inf, 0.0, 0.0], 0, grads=[[1.0, -0.5, -0.5]]),
)
