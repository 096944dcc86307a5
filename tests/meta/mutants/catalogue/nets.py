"""Kernels of networks that are wrong: products, windows, norms, losses, optimizers."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Mutant, Run, after, kernel
from tests.meta.mutants.operators import inexact

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]


def setting(**changes: Any) -> Any:
    """The kernel with some attributes always as given."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        return run(*natives, **{**attrs, **changes})

    return fault


def _ones(name: str) -> Any:
    """An attribute of one number a dim, always 1."""

    def fault(run: Run, natives: list[Any], attrs: Attrs) -> Any:
        return run(*natives, **{**attrs, name: (1,) * len(attrs[name])})

    return fault


def _whole_tiles(y: Array, a: Array, b: Array, **attrs: Any) -> Array:
    """Columns behind the last full tile of 16 repeat the one before."""
    made = np.array(y)
    if made.ndim > 1 and made.shape[-1] > 16 and made.shape[-1] % 16:
        made[..., -1] = made[..., -2]
    return made


def _short_inner(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The inner dim is cut to a multiple of 4."""
    a, b, *rest = natives
    n = a.shape[-1] if a.ndim else 0
    if b.ndim < 2 or a.ndim < 2 or n < 5 or not n % 4:
        return run(*natives, **attrs)
    return run(a[..., : n // 4 * 4], b[..., : n // 4 * 4, :], *rest, **attrs)


def _tensor_cores(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """float32 products of ten bits, without being asked for."""

    def narrow(a: Any) -> Any:
        if not isinstance(a, np.ndarray) or a.dtype != np.float32:
            return a
        bits = np.ascontiguousarray(a).view(np.uint32) & np.uint32(0xFFFFE000)
        return bits.view(np.float32).reshape(a.shape)

    return run(*map(narrow, natives), **attrs)


def _padded_with_zeros(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Windows that reach over the edge see zeros there."""
    y = run(*natives, **attrs)
    if not any(attrs["padding"]):
        return y
    values, *others = y if isinstance(y, tuple) else (y,)
    made = np.maximum(values, 0).astype(values.dtype)
    return (made, *others) if others else made


def _causal_by_one(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """A query sees the key behind it too."""
    q, k, v, mask = (*natives, None)[:4]
    if not attrs["causal"] or mask is not None:
        return run(*natives, **attrs)
    seen = np.tril(np.ones((q.shape[-2], k.shape[-2]), bool), 1)
    rows = np.where(seen, 0, -np.inf).astype(q.dtype)
    return run(q, k, v, rows, **{**attrs, "causal": False})


def _epsilon_outside(y: Any, x: Array, *rest: Any, eps: float = 0, **_: Any) -> Any:
    """1 / (√variance + eps), which differs where a row varies little."""
    first, mean, var, rstd = y
    with np.errstate(all="ignore"):
        other = 1 / (np.sqrt(var) + eps)
        scale = np.where(np.isfinite(other / rstd), other / rstd, 1)
    shape = rstd.shape
    scale = scale.reshape(shape).astype(first.dtype)
    try:
        return np.asarray(first * scale).astype(first.dtype), mean, var, rstd
    except ValueError:
        return y


def _biased_variance(y: Any, x: Array, *rest: Any, **attrs: Any) -> Any:
    """The variance that a module keeps is divided by n - 1."""
    first, mean, var, rstd = y
    n = max(x.size // max(var.size, 1), 2)
    return first, mean, np.asarray(var * n / (n - 1)).astype(var.dtype), rstd


def _mean_over_all(y: Any, x: Array, target: Array, *rest: Any, **attrs: Any) -> Any:
    """Ignored targets count in the mean."""
    loss, logp = y
    ignored = target == attrs["ignore_index"]
    if attrs["reduction"] != "mean" or not np.any(ignored) or np.all(ignored):
        return y
    kept = target.size - int(np.sum(ignored))
    return np.asarray(loss * kept / target.size).astype(loss.dtype), logp


def _square_window(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Strides in the order of the dims from the last."""
    return run(*natives, **{**attrs, "stride": tuple(attrs["stride"])[::-1]})


def _dropped_bias(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    x, w, *bias = natives
    if bias and bias[0] is not None and w.shape[0] > 3:
        kept = np.array(bias[0])
        kept[3] = 0
        bias = [kept, *bias[1:]]
    return run(x, w, *bias, **attrs)


NETS: Final[list[Mutant]] = [
    kernel("nets/matmul-whole-tiles", "matmul", "the last column beyond full tiles",
           after(_whole_tiles)),
    kernel("nets/matmul-short-inner-dim", "matmul", "the rest of the inner dim is lost",
           _short_inner),
    kernel("nets/matmul-ten-bits", "matmul bmm linear", "float32 products of ten bits",
           _tensor_cores, dtypes=("float32",)),
    kernel("nets/linear-bias", "linear", "one element of the bias is lost",
           _dropped_bias),
    kernel("nets/convolution-groups", "convolution", "groups change places",
           after(lambda y, *natives, groups, **_: np.ascontiguousarray(y[:, ::-1])
                 if groups > 1 else y)),
    kernel("nets/convolution-flips", "convolution", "the window is flipped",
           lambda run, natives, attrs: run(
               natives[0], natives[1][..., ::-1], *natives[2:], **attrs)),
    kernel("nets/max-pool-zeros", "max_pool", "padded with zeros", _padded_with_zeros),
    kernel("nets/max-pool-strides", "max_pool", "strides in the wrong order",
           _square_window),
    kernel("nets/avg-pool-count", "avg_pool", "padding always counts",
           setting(count_include_pad=True)),
    kernel("nets/max-pool-grad-everywhere", "max_pool_backward",
           "the gradient is doubled",
           after(lambda y, *a, **k: np.asarray(y * 2).astype(y.dtype))),
    kernel("nets/attention-causal", "attention", "one key too many is seen",
           _causal_by_one),
    kernel("nets/attention-scale", "attention", "the scale is always 1",
           setting(scale=1.0)),
    kernel("nets/normalise-epsilon", "normalise", "eps is outside of the root",
           after(_epsilon_outside)),
    kernel("nets/normalise-variance", "normalise", "the kept variance is divided by "
           "n - 1", after(_biased_variance)),
    kernel("nets/normalise-by-epsilon", "normalise_by", "eps is always 1e-5",
           lambda run, natives, attrs: run(*natives, **{**attrs, "eps": 1e-5})),
    kernel("nets/cross-entropy-mean", "cross_entropy", "ignored targets count",
           after(_mean_over_all)),
    kernel("nets/softmax-backward", "softmax_backward", "the sum is left out",
           lambda run, natives, attrs: np.asarray(natives[0] * natives[1])),
    kernel("nets/log-softmax-backward", "log_softmax_backward", "the sum is of ct · y",
           lambda run, natives, attrs: np.asarray(
               natives[0] - np.exp(natives[1]) * np.sum(
                   natives[0] * np.exp(natives[1]), attrs["dim"], keepdims=True)
           ).astype(natives[0].dtype)),
    kernel("nets/gelu-grad", "gelu_backward", "the density is left out",
           lambda run, natives, attrs: np.asarray(
               natives[0] * (natives[1] > 0)).astype(natives[0].dtype)),
    kernel("nets/adam-bias", "adam_step_", "moments are not corrected for their start",
           lambda run, natives, attrs: run(*natives, **{**attrs, "step": 100_000})),
    kernel("nets/adam-decay", "adam_step_", "decay is never decoupled",
           setting(decoupled=False)),
    kernel("nets/sgd-nesterov", "sgd_step_", "never looks ahead",
           setting(nesterov=False)),
    kernel("nets/sgd-dampening", "sgd_step_", "is not heeded", setting(dampening=0.0)),
    kernel("nets/relu-grad-at-zero", "relu_backward",
           "the gradient at 0 is the whole one",
           after(lambda y, g, a: np.where(a == 0, g, y).astype(y.dtype)
                 if inexact(y) else y)),
]  # fmt: skip
