"""Powers with the exponents that have a faster way."""

# An op is callable with anything; its declaration says what it returns.

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import bool_, int64
from dovetail.engine.elements import stored
from dovetail.engine.promotion import result_type
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.ops.elementwise import cube, pow, reciprocal, rsqrt, square
from dovetail.ops.primitive import cast, clone, sqrt

_INTEGER: Final[dict[Any, Callable[[Tensor], Tensor]]] = {
    1: clone, 2: square, 3: cube,
}  # fmt: skip
_INEXACT: Final[dict[Any, Callable[[Tensor], Tensor]]] = {
    **_INTEGER, 0.5: sqrt, -1: reciprocal, -0.5: rsqrt,
    -2: lambda x: reciprocal(square(x)),
}  # fmt: skip


def power(base: Any, exponent: Any) -> Tensor:
    """`base ** exponent`; one of them may be a number.

    Raises:
        ArgumentError: integers to a negative number.
    """
    if exponent is True and isinstance(base, Tensor):
        return clone(base)
    kind = type(exponent)
    if (kind is int or kind is float) and isinstance(base, Tensor):
        dtype = base.dtype
        if dtype.is_inexact:
            direct = _INEXACT.get(exponent)
            if direct is not None:
                return direct(base)
        elif kind is int:
            return _integers(base, exponent)
        if not -128 < exponent < 128:
            stored("pow", result_type((base, exponent)), exponent, "exponent")
    return pow(base, exponent)


def _integers(base: Tensor, exponent: int) -> Tensor:
    if exponent < 0:
        raise ArgumentError(
            "pow", "exponent", was=exponent, needed="0 or more: Integers to negative "
            "integer powers are not allowed", remedy="cast the base to a float dtype",
        )  # fmt: skip
    if base.dtype is bool_:
        base = cast(base, int64)
    direct = _INTEGER.get(exponent)
    stored("pow", base.dtype, exponent, "exponent")
    return pow(base, exponent) if direct is None else direct(base)
