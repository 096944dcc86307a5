"""Level 0: the functions that every backend supplies, in one place.

Formats and movement are in `formats`, arithmetic, comparison and the elementary
functions in `arithmetic`; here are reductions and products. Beside these, a backend has
the memory functions of `dovetail.device_api.Backend`: devices, empty, copy_in,
copy_out, view, geometry, fill, copy, synchronize.

Everything else in the vocabulary has a body that ends here. Elementwise kernels get
operands of one shape unless they declare `broadcasts`. All numbers arrive as 0-d
arrays of the promoted dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import (
    COMPLEX,
    FLOAT,
    NUMERIC,
)
from dovetail.engine.basics import basics
from dovetail.engine.cases import case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import (
    add,
    bitwise_and,
    bitwise_xor,
    cos,
    div,
    eq,
    exp,
    float_fmod,
    float_pow,
    floor,
    idiv,
    log,
    lt,
    maximum,
    mul,
    shift_left,
    shift_right,
    sin,
    sqrt,
    sub,
    trunc_quotient,
)
from dovetail.ops.formats import (
    assign_,
    bitcast,
    cast,
    clone,
    conj,
    iota,
    scatter_add_,
    scatter_set_,
    take_along,
    where,
)


@op(out="same",
    autocast="lower", sums=True, shape="(b,n,k),(b,k,m)->(b,n,m)", accepts=NUMERIC,
    promote="equal", primitive=FLOAT | COMPLEX, torch="bmm",
    oracle=lambda input, mat2: np.einsum("bnk,bkm->bnm", input, mat2))  # fmt: skip
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """Products of a batch of matrices [b, n, k] and [b, k, m].

    Accumulates in at least float32, without reduced-precision inputs; k = 0 gives 0.

    Raises: ShapeError for sizes that do not match, DTypeError for different dtypes.

    >>> torch.bmm(torch.ones(3, 2, 4), torch.ones(3, 4, 5)).shape
    dovetail.Size([3, 2, 5])
    """
    terms = input[:, :, :, None] * mat2[:, None, :, :]
    y: Tensor = basics.sum(terms, (2,), dtype=input.dtype)
    return y


def _transposed(x: Tensor) -> Tensor:
    turned: Tensor = basics.transpose(conj(x), 1, 2)
    return turned


bmm.grad(
    input=lambda ct, mat2: bmm(ct, _transposed(mat2)),
    mat2=lambda ct, input: bmm(_transposed(input), ct),
)


@bmm.cases
def _(make: Any) -> Any:
    for n, k, m in ((2, 3, 4), (1, 1, 1), (2, 0, 3), (0, 2, 3)):
        yield case(make(5, n, k), make(5, k, m))
    yield case(make(0, 2, 3), make(0, 3, 2))


__all__ = [
    "add", "assign_", "bitcast", "bitwise_and", "bitwise_xor", "bmm", "cast", "clone",
    "conj", "cos", "div", "eq", "exp", "float_fmod", "float_pow", "floor", "idiv",
    "iota", "log", "lt", "maximum", "mul", "scatter_add_",
    "scatter_set_", "shift_left", "shift_right", "sin", "sqrt", "sub", "take_along",
    "trunc_quotient", "where",
]  # fmt: skip
