"""Classes as vectors of zeros and a one."""

from __future__ import annotations

import numpy as np

from dovetail.dtypes import INTEGRAL, Array, int64
from dovetail.engine.declare import op
from dovetail.engine.promotion import index_dtype
from dovetail.engine.tensor import Tensor
from dovetail.ops.create import counted
from dovetail.ops.primitive import cast, eq
from dovetail.ops.view import unsqueeze


def _oracle(input: Array, num_classes: int) -> Array:
    y = np.zeros((*input.shape, num_classes), np.int64)
    for at in np.ndindex(*input.shape):
        if 0 <= int(input[at]) < num_classes:
            y[(*at, int(input[at]))] = 1
    return y


@op(name="one_hot", shape=lambda x, *, num_classes: (*x, num_classes),
    accepts=INTEGRAL, result=int64, nondifferentiable=True, unrounded=True,
    oracle=_oracle, levels={"num_classes": (1, 3, 40)}, cases=lambda make: [
        (make(2, 3, low=0), 4), (make(low=0), 2), ([0], 3), ([5], 7),
    ])  # fmt: skip
def hot_vectors(input: Tensor, num_classes: int) -> Tensor:
    """1 in the place of each class, else 0, in a new last dim.

    What is no class has no place.
    """
    classes = cast(counted(num_classes, input), index_dtype(input._kind))
    wide = cast(input, index_dtype(input._kind))
    hot = eq(unsqueeze(wide, len(input._a.shape)), classes)
    return cast(hot, index_dtype(input._kind))


__all__ = ["hot_vectors"]
