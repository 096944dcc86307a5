"""Few short rows, for which the time of a call of the library's is what counts.

NumPy takes 0.2 µs for operands of one shape, and four times that to broadcast or to
reduce a row. So what belongs to a column or to a row is first spread to all elements,
by an index (0.1 µs), and sums along rows are products with a constant matrix, for which
the BLAS takes 0.3 µs and gives them spread. None of it pays beyond a few elements.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final, NamedTuple

WIDTH: Final = 32  # beyond it, sums one by one lose digits that pairwise ones keep
COUNT: Final = 2048  # elements, beyond which products take longer than reductions
_SHAPES: Final = 256  # that are remembered of one kernel

Norm = Callable[[Any, Any, Any, float], Any]


def is_short(shape: tuple[int, ...]) -> bool:
    """Whether it is `[rows, columns]` of few and short rows.

    Not of one column: the matrices would have zeros, which a BLAS may pass over where
    the other factor is infinite.
    """
    return len(shape) == 2 and 1 < shape[1] <= WIDTH and 0 < prod(shape) <= COUNT


def is_stack(shape: tuple[int, ...], *vectors: Any) -> bool:
    """Whether it would be, with all dims but the last made one, and vectors fit it."""
    fits = all(v is None or v.shape == shape[-1:] for v in vectors)
    return fits and len(shape) != 2 and is_short((prod(shape[:-1]), *shape[-1:]))


class _Form(NamedTuple):
    """What the normalisation of rows needs, whatever the values.

    Attributes:
        columns: the column of each element, to spread a vector by.
        mean: matrix that takes rows to their means, one in each column.
        centre: matrix that takes rows to themselves less their means.
        eps: for each element.
    """

    columns: Any
    mean: Any
    centre: Any
    eps: Any


def _form(xp: Any, shape: tuple[int, int], eps: float, dtype: Any) -> _Form:
    width = shape[1]
    mean = xp.full((width, width), 1 / width, dtype)
    centre = xp.asarray(xp.eye(width) - 1 / width, dtype)
    return _Form(xp.indices(shape)[1], mean, centre, xp.full(shape, eps, dtype))


def short_norm(
    xp: Any, dtype: Any, beside: Norm, *, whole: bool = False, width: int | None = None
) -> Norm:
    """Normalisation of each row: less its mean, over its deviation, scaled, shifted.

    Args:
        beside: does what is not `[rows, columns]` with weights `[columns]`, or is more
            than a few elements.
        whole: mean, variance and reciprocal deviation are results too.
        width: that rows have, if they have to have one.
    """
    add, multiply, divide, sqrt = xp.add, xp.multiply, xp.divide, xp.sqrt
    known: dict[Any, _Form] = {}
    one = xp.array(1, dtype)

    def norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
        shape = x.shape
        form = known.get((shape, eps))
        if form is None:
            return learn(x, weight, bias, eps)
        columns, mean, centre, epsilon = form
        y = x.dot(centre)
        # Done while that product is on its way, which is why it comes first.
        w = b = None
        if weight is not None:
            if weight.shape != shape[1:]:
                return beside(x, weight, bias, eps)
            w = weight[columns]
        if bias is not None:
            if bias.shape != shape[1:]:
                return beside(x, weight, bias, eps)
            b = bias[columns]
        spread = multiply(y, y).dot(mean)
        if whole:
            average = x.dot(mean[:, :1])
            # NaN where that is infinite, which centring by a product does not see
            var = spread[:, :1] + (average - average)
        add(spread, epsilon, spread)
        divide(y, sqrt(spread, spread), y)
        if w is not None:
            multiply(y, w, y)
        if b is not None:
            add(y, b, y)
        if not whole:
            return y
        return y, average, var, divide(one, sqrt(var + epsilon[:, :1]))

    def learn(x: Any, weight: Any, bias: Any, eps: float) -> Any:
        if not is_short(x.shape) or width not in (None, x.shape[1]):
            return beside(x, weight, bias, eps)
        if len(known) >= _SHAPES:
            known.clear()
        known[x.shape, eps] = _form(xp, x.shape, eps, dtype)
        return norm(x, weight, bias, eps)

    return norm


def short_cross_entropy(
    xp: Any, beside: Callable[..., Any], ignore_index: int, reduction: str
) -> Callable[..., Any]:
    """Cross entropy of scores `[rows, classes]`, without weights.

    The scores are shifted by that of the label instead of the greatest one, which need
    not be looked for: what leaves the format then makes the loss infinite, and is left
    to `beside`, as are labels that do not count or are none.
    """
    subtract, exp, log, inf = xp.subtract, xp.exp, xp.log, xp.inf
    known: dict[Any, _Classes] = {}

    def cross_entropy(x: Any, target: Any, weight: Any) -> Any:
        form = known.get(x.shape)
        if form is None or weight is not None:
            return learn(x, target, weight)
        classes, starts, rows, ones, share = form
        if target.shape != starts.shape or not classes.issuperset(target.tolist()):
            return beside(x, target, weight)
        shifted = x.ravel()[target + starts][rows]
        subtract(x, shifted, shifted)
        losses = exp(shifted, shifted).dot(ones)
        log(losses, losses)
        total = losses.dot(share)
        if not total < inf:
            return beside(x, target, weight)
        return losses if reduction == "none" else total

    def learn(x: Any, target: Any, weight: Any) -> Any:
        if weight is not None or not is_short(x.shape):
            return beside(x, target, weight)
        if len(known) >= _SHAPES:
            known.clear()
        known[x.shape] = _classes(xp, x, ignore_index, reduction)
        return cross_entropy(x, target, weight)

    return cross_entropy


class _Classes(NamedTuple):
    """What the loss of scores of one shape needs, whatever the values.

    Attributes:
        classes: that count.
        starts: where each row starts, in memory without gaps.
        rows: the row of each element, to spread a vector by.
        ones: for each class.
        share: of each sample in the result.
    """

    classes: frozenset[int]
    starts: Any
    rows: Any
    ones: Any
    share: Any


def _classes(xp: Any, x: Any, ignore_index: int, reduction: str) -> _Classes:
    height, width = x.shape
    share = 1 / height if reduction == "mean" else 1
    return _Classes(
        frozenset(range(width)) - {ignore_index},
        xp.arange(height) * width,
        xp.indices(x.shape)[0],
        xp.ones(width, x.dtype),
        xp.full(height, share, x.dtype),
    )
