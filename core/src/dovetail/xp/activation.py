"""Activations and their gradients, fused from calls of the library that write over
their operands.

A library whose arrays live in a cache runs them in chunks that stay there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT, HALF, REAL, float32
from dovetail.xp import exponential, orders
from dovetail.xp.kernels import on_device, undispatched

_PLAIN: Final[dict[str, Any]] = {"broadcasts": True, "checks": True}
_WIDE: Final = FLOAT - HALF
_SMALL: Final = 4096  # elements; below, one call more costs more than its speed
_SQRT_HALF: Final = math.sqrt(0.5)
_DENSITY: Final = 1 / math.sqrt(2 * math.pi)
_TANH_SCALE: Final = math.sqrt(2 / math.pi)
_TANH_CUBE: Final = 0.044715
_TANH_FLAT: Final = 100.0  # from here on 1 - t² is 0, while x² may leave the format

# erf in float32, at most 6 ulp: x P(x²) / Q(x²) (Eigen and XLA). At the limit that is
# above 1, so that it can be clipped there: gelu takes the difference from 1 times x.
_ERF_LIMIT: Final = 4.0
_ERF_P: Final = (
    0.00022905065861350646, 0.0034082910107109506, 0.050955695062380861,
    0.18520832239976145, 1.128379143519084,
)  # fmt: skip
_ERF_Q: Final = (
    -1.1791602954361697e-7, 0.000023547966471313185, 0.0010179625278914885,
    0.014070470171167667, 0.11098505178285362, 0.49746925110067538, 1.0,
)  # fmt: skip


def install(table: KernelTable, xp: Any, chunk: int | None = None) -> None:
    """Add activations to a table; `chunk` is how many elements a cache holds."""
    for dtype in _WIDE:
        zero = xp.zeros((), dtype.numpy)
        table.add("relu", _relu(xp, zero), dtypes=[dtype], **_PLAIN)
        table.add("relu_backward", _relu_backward(xp, zero), dtypes=[dtype], **_PLAIN)
    table.add("relu", lambda a: xp.maximum(a, 0), dtypes=REAL - _WIDE, **_PLAIN)
    table.add("tanh_backward", _tanh_backward(xp), dtypes=_WIDE, **_PLAIN)
    table.add("sigmoid_backward", _sigmoid_backward, dtypes=_WIDE, **_PLAIN)
    table.add("leaky_relu", _leaky_relu(xp), dtypes=_WIDE, **_PLAIN)
    table.add("hardtanh", _hardtanh, dtypes=_WIDE, **_PLAIN)
    table.add("softplus", _softplus(xp), dtypes=_WIDE, **_PLAIN)
    table.add("logsigmoid", _logsigmoid(xp), dtypes=_WIDE, **_PLAIN)
    table.add("sigmoid", _sigmoid(xp), dtypes=_WIDE, **_PLAIN)
    exponential.install(table, xp)
    silu, silu_back = _silu, _silu_backward
    if on_device(xp):  # which way is shorter depends on the values
        silu, silu_back = _deep_silu, _copied_deep_silu_backward
    table.add("silu", _chunked(xp, silu, chunk), dtypes=_WIDE, checks=True)
    table.add("silu_backward", _chunked(xp, silu_back, chunk), dtypes=FLOAT)
    narrow = {float32, *HALF}
    table.add("erf", _chunked(xp, _erf, chunk), dtypes=narrow, checks=True)
    for name, functions in {"gelu": _GELU, "gelu_backward": _GELU_BACKWARD}.items():
        kernel = _by_kind(xp, functions, chunk)
        table.add(name, kernel, dtypes=narrow, binds=True, checks=name == "gelu")


def _chunked(xp: Any, function: Any, chunk: int | None) -> Callable[..., Any]:
    """`function(xp, out, *inputs)` over flat pieces; 16-bit floats run in float32."""

    def whole(*arrays: Any) -> Any:
        first = arrays[0]
        if first.dtype.itemsize == 2:
            return whole(*(a.astype("float32") for a in arrays)).astype(first.dtype)
        out = xp.empty(first.shape, first.dtype)
        if chunk is None or first.size <= chunk:
            function(xp, out, *arrays)
            return out
        flat, sources = out.reshape(-1), [a.reshape(-1) for a in arrays]
        for at in range(0, first.size, chunk):
            piece = slice(at, at + chunk)
            function(xp, flat[piece], *(s[piece] for s in sources))
        return out

    return orders.elementwise(xp, whole)


def _by_kind(xp: Any, functions: Any, chunk: int | None) -> Callable[..., Any]:
    runs = {kind: _chunked(xp, function, chunk) for kind, function in functions.items()}
    return lambda approximate: runs[approximate]


def _relu(xp: Any, zero: Any) -> Any:
    maximum, infinity = xp.maximum, math.inf

    def relu(a: Any) -> Any:
        """NumPy's clip is four times as fast as maximum, where there is much to do."""
        return maximum(a, zero) if a.size < _SMALL else a.clip(0, infinity)

    return relu


def _relu_backward(xp: Any, zero: Any) -> Any:
    bits = {4: "int32", 8: "int64"}[zero.dtype.itemsize]
    less_equal, where, copyto = xp.less_equal, xp.where, undispatched(xp.copyto)

    def relu_backward(g: Any, y: Any) -> Any:
        """Bits of `g` and'ed with all ones where y > 0 or NaN, else with none.

        Of few elements, a copy that is written over takes 0.3 µs less than `where`.
        """
        if y.size < _SMALL:
            if g.shape != y.shape:
                return where(less_equal(y, zero), zero, g)
            result = g.copy()
            copyto(result, zero, where=less_equal(y, zero))
            return result
        some = less_equal(y, zero).view("int8")  # a byte each: the shortest passes
        some -= 1
        mask = some.astype(bits)
        return xp.bitwise_and(
            mask, g.view(bits), out=mask if g.shape == mask.shape else None
        ).view(g.dtype)

    return relu_backward


def _tanh_backward(xp: Any) -> Any:
    def tanh_backward(g: Any, y: Any) -> Any:
        t = y * y
        t -= 1
        return xp.negative(t * g)

    return tanh_backward


def _sigmoid_backward(g: Any, y: Any) -> Any:
    t = 1 - y
    t *= y
    return t * g


def _sigmoid(xp: Any) -> Any:
    def sigmoid(a: Any) -> Any:
        """exp overflows to infinity, whose reciprocal is right."""
        t = xp.exp(-a)
        t += 1
        return xp.reciprocal(t)

    return sigmoid


# Below this, exp(-a) leaves the format, though silu(a) does not yet.
_DEEP: Final = {4: -88, 8: -709}


def _silu(xp: Any, out: Any, a: Any) -> None:
    if a.size and not a.min() >= _DEEP[a.dtype.itemsize]:  # or NaN among them
        _deep_silu(xp, out, a)
        return
    xp.negative(a, out=out)
    xp.exp(out, out=out)
    xp.add(out, 1, out=out)
    xp.divide(a, out, out=out)


def _deep_silu(xp: Any, out: Any, a: Any) -> None:
    """The same, however far below zero."""
    e = xp.exp(-xp.abs(a))
    xp.divide(xp.where(a < 0, a * e, a), 1 + e, out=out)


def _silu_backward(xp: Any, out: Any, g: Any, x: Any) -> None:
    """g s (1 + x (1 - s))."""
    if x.size and not x.min() >= _DEEP[x.dtype.itemsize]:  # or NaN among them
        _copied_deep_silu_backward(xp, out, g, x)
        return
    s = _sigmoid(xp)(x)
    xp.subtract(1, s, out=out)
    xp.multiply(out, x, out=out)
    xp.add(out, 1, out=out)
    xp.multiply(out, s, out=out)
    xp.multiply(out, g, out=out)


def _copied_deep_silu_backward(xp: Any, out: Any, g: Any, x: Any) -> None:
    xp.copyto(out, _deep_silu_backward(xp, g, x))


def _deep_silu_backward(xp: Any, g: Any, x: Any) -> Any:
    """The same where sigmoid leaves the format; its root does not."""
    root = xp.exp(-xp.abs(x) / 2)
    e = root * root
    negative = x < 0
    rest = xp.where(negative, 1, e) / (1 + e)
    factor = xp.where(negative, root, 1)
    return (1 + x * rest) * factor / (1 + e) * g * factor


def _leaky_relu(xp: Any) -> Any:
    def leaky_relu(a: Any, negative_slope: Any) -> Any:
        if 0 < negative_slope <= 1:
            return xp.maximum(a, a * negative_slope)
        return xp.where(a > 0, a, a * negative_slope)

    return leaky_relu


def _hardtanh(a: Any, min_val: Any, max_val: Any) -> Any:
    return a.clip(min_val, max_val)


def _softplus(xp: Any) -> Any:
    def softplus(a: Any, beta: Any, threshold: Any) -> Any:
        z = a * beta
        y = xp.log1p(xp.exp(-xp.abs(z)))
        y += xp.maximum(z, 0)
        y /= beta
        return xp.where(z > threshold, a, y)

    return softplus


def _logsigmoid(xp: Any) -> Any:
    def logsigmoid(a: Any) -> Any:
        return xp.minimum(a, 0) - xp.log1p(xp.exp(-xp.abs(a)))

    return orders.in_rows(logsigmoid)


def _polynomial(xp: Any, s: Any, coefficients: tuple[float, ...]) -> Any:
    """The highest coefficient first."""
    highest, *rest, last = coefficients
    y = xp.multiply(s, highest, out=xp.empty_like(s))
    for c in rest:
        xp.add(y, c, out=y)
        xp.multiply(y, s, out=y)
    return xp.add(y, last, out=y)


def _erf(xp: Any, out: Any, x: Any) -> None:
    """`out` may be `x`."""
    xp.clip(x, -_ERF_LIMIT, _ERF_LIMIT, out=out)
    s = xp.multiply(out, out, out=xp.empty_like(out))
    xp.multiply(out, _polynomial(xp, s, _ERF_P), out=out)
    xp.divide(out, _polynomial(xp, s, _ERF_Q), out=out)
    xp.clip(out, -1, 1, out=out)


def _gelu(xp: Any, out: Any, x: Any) -> None:
    """x (1 + erf(x / sqrt 2)) / 2."""
    xp.multiply(x, _SQRT_HALF, out=out)
    _erf(xp, out, out)
    xp.add(out, 1, out=out)
    xp.multiply(out, 0.5, out=out)  # first: twice the largest numbers are infinite
    xp.multiply(out, x, out=out)


def _gelu_backward(xp: Any, out: Any, g: Any, x: Any) -> None:
    """g (cdf + x density)."""
    density = xp.multiply(x, x, out=xp.empty_like(out))
    xp.multiply(density, -0.5, out=density)
    xp.exp(density, out=density)
    xp.multiply(density, _DENSITY, out=density)
    xp.multiply(density, x, out=density)
    xp.multiply(x, _SQRT_HALF, out=out)
    _erf(xp, out, out)
    xp.add(out, 1, out=out)
    xp.multiply(out, 0.5, out=out)
    xp.add(out, density, out=out)
    xp.multiply(out, g, out=out)


def _inner_tanh(xp: Any, out: Any, x: Any) -> None:
    """tanh(sqrt(2/pi) (x + 0.044715 x³))."""
    xp.multiply(x, x, out=out)
    xp.multiply(out, _TANH_CUBE, out=out)
    xp.add(out, 1, out=out)
    xp.multiply(out, x, out=out)
    xp.multiply(out, _TANH_SCALE, out=out)
    xp.tanh(out, out=out)


def _gelu_tanh(xp: Any, out: Any, x: Any) -> None:
    _inner_tanh(xp, out, x)
    xp.add(out, 1, out=out)
    xp.multiply(out, 0.5, out=out)  # first: twice the largest numbers are infinite
    xp.multiply(out, x, out=out)


def _gelu_tanh_backward(xp: Any, out: Any, g: Any, x: Any) -> None:
    """g (1 + t + x (1 - t²) slope) / 2."""
    t = xp.empty_like(out)
    _inner_tanh(xp, t, x)
    slope = xp.clip(x, -_TANH_FLAT, _TANH_FLAT, out=xp.empty_like(out))
    xp.multiply(slope, slope, out=slope)
    xp.multiply(slope, 3 * _TANH_CUBE * _TANH_SCALE, out=slope)
    xp.add(slope, _TANH_SCALE, out=slope)
    xp.multiply(t, t, out=out)
    xp.subtract(1, out, out=out)
    xp.multiply(out, slope, out=out)
    xp.multiply(out, x, out=out)
    xp.add(out, t, out=out)
    xp.add(out, 1, out=out)
    xp.multiply(out, 0.5, out=out)
    xp.multiply(out, g, out=out)


_GELU: Final = {"none": _gelu, "tanh": _gelu_tanh}
_GELU_BACKWARD: Final = {"none": _gelu_backward, "tanh": _gelu_tanh_backward}
