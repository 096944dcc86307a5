"""Sums of Chebyshev's polynomials, of which special functions are made."""

from __future__ import annotations

from collections.abc import Sequence

from dovetail.engine.tensor import Tensor


def chebyshev(t: Tensor, coefficients: Sequence[float]) -> Tensor:
    """The sum of c_k T_k(t) for t from -1 to 1 (Clenshaw 1955)."""
    twice = t * 2
    after: Tensor = t * 0 + coefficients[-1]
    beyond: Tensor = t * 0
    for c in reversed(coefficients[1:-1]):
        after, beyond = twice * after - beyond + c, after
    return t * after - beyond + coefficients[0]
