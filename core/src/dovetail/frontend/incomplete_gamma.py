"""The incomplete gamma functions by torch's names; derivatives are the density's."""

from __future__ import annotations

from collections.abc import Callable

from dovetail.dtypes import bool_, float32, float64
from dovetail.engine.modes import grad_enabled, no_grad
from dovetail.engine.promotion import result_type
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError, DTypeError
from dovetail.ops import gamma
from dovetail.ops.arithmetic import exp, log
from dovetail.ops.create import full
from dovetail.ops.formats import cast, where
from dovetail.ops.incomplete_gamma import gamma_share_above, gamma_share_below


def _kept_from(name: str, a: Tensor, y: Tensor) -> Tensor:
    """`y`, whose backward raises, for it would need a gradient for `a`."""

    def refuse(_: Tensor) -> None:
        raise AutogradError(
            name, "input", was="one that requires grad",
            needed="a tensor outside the graph: the derivative for it is not "
            "implemented", remedy="use input.detach()",
        )  # fmt: skip

    marked = a.view_as(a)
    marked.register_hook(refuse)
    always = full(tuple(y._a.shape), True, y._kind.with_dtype(bool_))
    return where(always, y, cast(marked, y.dtype))


def _with_slopes(y: Tensor, a: Tensor, x: Tensor, sign: int) -> Tensor:
    """What has the value `y`, and the first and second derivatives at x."""
    with no_grad():
        z, wide = x.detach(), y.dtype
        slope = exp((a - 1) * log(z) - z - gamma.lgamma(a))
        bend = slope * ((a - 1) / z - 1)
    off = x - z
    return y + cast(off * (slope * sign) + off * off * (bend * (sign * 0.5)), wide)


def _gamma_share(
    name: str, op: Callable[[Tensor, Tensor], Tensor], input: Tensor, other: Tensor,
    sign: int,
) -> Tensor:  # fmt: skip
    if result_type((input, other)).is_complex:
        was = (input if input.dtype.is_complex else other).dtype.name
        raise DTypeError(name, "input", was=was, needed="real numbers")
    y = op(input, other)
    if not grad_enabled():
        return y
    if other.requires_grad:
        wide = float64 if float64 in other._kind.backend.dtypes else float32
        y = _with_slopes(y, cast(input.detach(), wide), cast(other, wide), sign)
    return _kept_from(name, input, y) if input.requires_grad else y


@public("torch.igamma special.gammainc Tensor.igamma Tensor.igamma_", out=True)
def igamma(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma integral of `input` that lies below `other`: P(a, x).

    Its derivative by `other` is that of a gamma distribution; by `input` there is none.
    """
    return _gamma_share("igamma", gamma_share_below, input, other, 1)


@public("torch.igammac special.gammaincc Tensor.igammac Tensor.igammac_", out=True)
def igammac(input: Tensor, other: Tensor) -> Tensor:
    """The share of the gamma integral of `input` that lies above `other`: Q(a, x)."""
    return _gamma_share("igammac", gamma_share_above, input, other, -1)
