"""Few short rows, for which the time of a call of the library's is what counts.

NumPy takes 0.2 µs for operands of one shape, and four times that to broadcast or to
reduce a row. So what belongs to a column or to a row is first spread to all elements,
by an index (0.1 µs), and sums along rows are products with a constant matrix, for which
the BLAS takes 0.3 µs and gives them spread. None of it pays beyond a few elements.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, prod
from typing import Any, Final, NamedTuple

from dovetail.xp.kernels import on_device

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


class _Form(NamedTuple):
    """What the normalisation of rows of one shape needs, whatever the values.

    Attributes:
        eps: added to variances.
        width: of the rows.
        columns: the column of each element, to spread a vector by.
        mean: matrix that takes rows to their means, one in each column.
        centre: matrix that takes rows to themselves less their means.
        epsilon: `eps` for each element.
    """

    eps: float
    width: int
    columns: Any
    mean: Any
    centre: Any
    epsilon: Any


class ShortNorm:
    """Normalisation of short rows: less their mean, over their deviation."""

    def __init__(self, xp: Any, dtype: Any) -> None:
        self.xp, self.dtype = xp, dtype
        # the fields of forms: a plain tuple is unpacked faster than a named one
        self.known: dict[tuple[int, int], tuple[Any, ...]] = {}
        self.rows = self.call(self._learned)

    def fits(self, x: Any, weight: Any, bias: Any, eps: float) -> bool:
        """Whether the last dim is short, weight and bias as long, and eps not NaN."""
        width = x.shape[-1:]
        vectors = all(v is None or v.shape == width for v in (weight, bias))
        return vectors and not isnan(eps) and is_short((prod(x.shape[:-1]), *width))

    def call(self, beside: Norm) -> Norm:
        """What normalises `[rows, columns]` of a known form; `beside` does all else.

        A weight or a bias of another shape is left to `beside`, or makes the library
        raise IndexError or ValueError: for vectors that fit no shape is compared.
        """
        xp, known = self.xp, self.known
        add, multiply, divide = xp.add, xp.multiply, xp.divide
        square, sqrt = xp.square, xp.sqrt

        def norm(x: Any, weight: Any, bias: Any, eps: float) -> Any:
            try:
                own_eps, width, columns, mean, centre, epsilon = known[x.shape]
            except KeyError:
                return beside(x, weight, bias, eps)
            if weight is None or bias is None:
                return beside(x, weight, bias, eps)
            y = x.dot(centre)
            # What does not wait for a product is done while one is on its way.
            w, b = weight[columns], bias[columns]
            spread = square(y).dot(mean)
            if eps != own_eps or weight.size != width or bias.size != width:
                return beside(x, weight, bias, eps)
            add(spread, epsilon, spread)
            divide(y, sqrt(spread, spread), y)
            multiply(y, w, y)
            return add(y, b, y)

        return norm

    def __call__(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """The rows along the last dim normalised, if all `fits`."""
        y = self.rows(x.reshape(-1, x.shape[-1]), weight, bias, eps)
        return y.reshape(x.shape)

    def _learned(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        xp, width = self.xp, self._form(x.shape, eps).width
        w = xp.ones(width, self.dtype) if weight is None else weight
        b = xp.zeros(width, self.dtype) if bias is None else bias
        return self.rows(x, w, b, eps)

    def with_statistics(self, x: Any, weight: Any, bias: Any, eps: float) -> Any:
        """The same with mean, variance and reciprocal deviation, whose dim stays."""
        xp, width = self.xp, x.shape[-1]
        form = self._form((x.size // width, width), eps)
        kept, flat = (*x.shape[:-1], 1), x.reshape(-1, width)
        mean, y = flat.dot(form.mean[:, :1]), flat.dot(form.centre)
        spread = xp.square(y).dot(form.mean)
        # NaN where the mean is infinite, which centring by a product does not see
        var = spread[:, :1] + (mean - mean)
        xp.add(spread, form.epsilon, spread)
        xp.divide(y, xp.sqrt(spread, spread), y)
        rstd = xp.reciprocal(xp.sqrt(var + form.epsilon[:, :1]))
        if weight is not None:
            xp.multiply(y, weight[form.columns], y)
        if bias is not None:
            xp.add(y, bias[form.columns], y)
        return (
            y.reshape(x.shape),
            mean.reshape(kept),
            var.reshape(kept),
            rstd.reshape(kept),
        )

    def _form(self, shape: tuple[int, int], eps: float) -> _Form:
        found = self.known.get(shape)
        if found is not None and found[0] == eps:
            return _Form(*found)
        if len(self.known) >= _SHAPES:
            self.known.clear()
        form = self._new_form(shape, eps)
        self.known[shape] = tuple(form)
        return form

    def _new_form(self, shape: tuple[int, int], eps: float) -> _Form:
        xp, dtype, width = self.xp, self.dtype, shape[1]
        return _Form(
            eps,
            width,
            xp.indices(shape)[1],
            xp.full((width, width), 1 / width, dtype),
            xp.asarray(xp.eye(width) - 1 / width, dtype),
            xp.full(shape, eps, dtype),
        )


def short_cross_entropy(
    xp: Any, beside: Callable[..., Any], ignore_index: int, reduction: str
) -> Callable[..., Any]:
    """Cross entropy of scores `[rows, classes]`, without weights.

    The scores are shifted by that of the label instead of the greatest one, which need
    not be looked for: what leaves the format then makes the loss infinite, and is left
    to `beside`, as are labels that do not count or are none.
    """
    subtract, exp, log, inf = xp.subtract, xp.exp, xp.log, xp.inf
    array, each = xp.array, reduction == "none"
    known: _Known = {}
    learned = _learner(xp, known, ignore_index, reduction)

    def cross_entropy(x: Any, target: Any, weight: Any) -> Any:
        form = known.get(x.shape)
        if form is None or weight is not None:
            call = cross_entropy if learned(x, weight) else beside
            return call(x, target, weight)
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
        return losses if each else array(total)

    return cross_entropy


def short_log_softmax_nll(
    xp: Any, beside: Callable[..., Any], ignore_index: int, reduction: str
) -> Callable[..., Any]:
    """The same with the log probabilities, which gradients are made of.

    These need the greatest score: it is found in half the time where the scores of a
    class lie side by side. Labels that do not count or are none are left to `beside`.
    """
    top, subtract, exp, log = xp.maximum.reduce, xp.subtract, xp.exp, xp.log
    array, negative, each = xp.array, xp.negative, reduction == "none"
    known: _Known = {}
    learned = _learner(xp, known, ignore_index, reduction)

    def log_softmax_nll(x: Any, target: Any, weight: Any) -> Any:
        form = known.get(x.shape)
        if form is None or weight is not None:
            call = log_softmax_nll if learned(x, weight) else beside
            return call(x, target, weight)
        classes, starts, rows, ones, share = form
        if target.shape != starts.shape or not classes.issuperset(target.tolist()):
            return beside(x, target, weight)
        logp = top(x.T.copy(), 0)[rows]
        subtract(x, logp, logp)
        totals = exp(logp).dot(ones)
        log(totals, totals)
        subtract(logp, totals[rows], logp)
        losses = logp.ravel()[target + starts]
        negative(losses, losses)
        return losses if each else array(losses.dot(share)), logp

    return log_softmax_nll


def short_cross_entropy_backward(
    xp: Any, beside: Callable[..., Any], ignore_index: int, reduction: str
) -> Callable[..., Any]:
    """The gradient by the scores, of their log probabilities.

    Labels that do not count or are none are left to `beside`.
    """
    exp, multiply, empty = xp.exp, xp.multiply, xp.empty
    each, mean = reduction == "none", reduction == "mean"
    known: _Known = {}
    learned = _learner(xp, known, ignore_index, reduction)

    def cross_entropy_backward(ct: Any, target: Any, logp: Any, weight: Any) -> Any:
        form = known.get(logp.shape)
        if form is None or weight is not None:
            call = cross_entropy_backward if learned(logp, weight) else beside
            return call(ct, target, logp, weight)
        classes, starts, rows, _, _ = form
        if target.shape != starts.shape or not classes.issuperset(target.tolist()):
            return beside(ct, target, logp, weight)
        scale = ct / logp.dtype.type(len(logp)) if mean else ct
        g = exp(logp, empty(logp.shape, logp.dtype))
        multiply(g, scale[rows] if each else scale, g)
        g.reshape(-1)[target + starts] -= scale
        return g

    return cross_entropy_backward


_Known = dict[Any, tuple[Any, ...]]  # the fields of `_Classes`, by shape


def _learner(
    xp: Any, known: _Known, ignore_index: int, reduction: str
) -> Callable[[Any, Any], bool]:
    """What learns the form of scores, and says whether they are short ones."""
    waits = on_device(xp)  # to see which labels there are

    def learned(x: Any, weight: Any) -> bool:
        if waits or weight is not None or not is_short(x.shape):
            return False
        if len(known) >= _SHAPES:
            known.clear()
        known[x.shape] = tuple(_classes(xp, x, ignore_index, reduction))
        return True

    return learned


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
