"""torch.special's orthogonal polynomials, by their recurrences (DLMF 18.9)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from dovetail.dtypes import get_default_dtype
from dovetail.engine.attributes import Operand
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.promotion import result_type
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError
from dovetail.ops.compare import isnan
from dovetail.ops.formats import cast, where


class _Family(NamedTuple):
    """Polynomials p_0 = 1, p_1, and p_k+1 of the two before.

    Attributes:
        first: p_1 of x.
        step: p_k+1 of k, x, p_k and p_k-1.
    """

    first: Callable[[Tensor], Tensor]
    step: Callable[[int, Tensor, Tensor, Tensor], Tensor]
    words: str


def _twice(k: int, x: Tensor, p: Tensor, before: Tensor) -> Tensor:
    return x * 2 * p - before


_FAMILIES: Final = {
    "chebyshev_polynomial_t": _Family(lambda x: x, _twice, "Chebyshev's T"),
    "chebyshev_polynomial_u": _Family(lambda x: x * 2, _twice, "Chebyshev's U"),
    "chebyshev_polynomial_v": _Family(lambda x: x * 2 - 1, _twice, "Chebyshev's V"),
    "chebyshev_polynomial_w": _Family(lambda x: x * 2 + 1, _twice, "Chebyshev's W"),
    "hermite_polynomial_h": _Family(
        lambda x: x * 2, lambda k, x, p, before: x * 2 * p - before * (2 * k),
        "Hermite's H, of physics,",
    ),
    "hermite_polynomial_he": _Family(
        lambda x: x, lambda k, x, p, before: x * p - before * k,
        "Hermite's He, of probability,",
    ),
    "laguerre_polynomial_l": _Family(
        lambda x: 1 - x,
        lambda k, x, p, before: ((2 * k + 1 - x) * p - before * k) / (k + 1),
        "Laguerre's L",
    ),
    "legendre_polynomial_p": _Family(
        lambda x: x,
        lambda k, x, p, before: (x * (2 * k + 1) * p - before * k) / (k + 1),
        "Legendre's P",
    ),
}  # fmt: skip


_MOST_STEPS: Final = 1 << 14


def _highest(degrees: Tensor) -> Any:
    whole = of_all_rows(degrees)
    return where(isnan(whole), 0, whole).max().item()


def _evaluated(name: str, family: _Family, x: Tensor, n: Any) -> Tensor:
    """The polynomial of degree n, a number or whole numbers by element."""
    degrees = n if isinstance(n, Tensor) else None
    if degrees is not None and not degrees.numel():
        return x * degrees
    top = int(n if degrees is None else _highest(degrees))
    if top > _MOST_STEPS:
        raise ArgumentError(
            name, "n", was=top,
            needed=f"at most {_MOST_STEPS}: each degree takes a step",
        )  # fmt: skip
    before, p = x * 0 + 1, family.first(x)
    # Beside what is chosen a NaN may stand, of x * 0.
    y = where(isnan(x), x, 1.0)
    if degrees is None:
        if top <= 1:
            return x * 0 if top < 0 else p if top else y
        for k in range(1, top):
            before, p = p, family.step(k, x, p, before)
        return p
    y = where(degrees < 0, 0.0, y)
    for k in range(1, top + 1):
        y = where(degrees == k, p, y)
        before, p = p, family.step(k, x, p, before)
    return y


def _offer(name: str, family: _Family, shifted: bool) -> None:
    def call(input: Operand, n: Operand) -> Tensor:
        dtype = result_type((input, n))
        dtype = dtype if dtype.is_inexact else get_default_dtype()
        if dtype.is_complex:
            raise DTypeError(name, "input", was=dtype.name, needed="real numbers")
        degrees = n
        if isinstance(n, Tensor):
            degrees = cast(n, dtype).trunc()
        elif not math.isfinite(n):
            degrees = -1
        if isinstance(input, Tensor):
            x: Tensor = cast(input, dtype)
        else:
            x = cast(n, dtype) * 0 + input
        return _evaluated(name, family, x * 2 - 1 if shifted else x, degrees)

    of = ", of 2 input - 1" if shifted else ""
    call.__doc__ = f"{family.words} of degree `n`{of}; 0 for negative degrees."
    public(f"special.{name}", out=True)(call)


for _name, _family in _FAMILIES.items():
    _offer(_name, _family, False)
    if _name.startswith("chebyshev"):
        _offer(f"shifted_{_name}", _family, True)
