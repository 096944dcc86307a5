"""One step of an optimizer, written in place: for one parameter, and for many.

Each op for one parameter is a fusion: its body is the textbook sequence of in-place
steps, in the order in which PyTorch rounds them, and a backend may do it in one pass
over memory. The ops for many are what optimizers call: all parameters are checked
before one is written, and a device may do them all at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, HALF, Sizes, float32
from dovetail.engine.cases import values
from dovetail.engine.declare import op
from dovetail.engine.inplace import commit, fitting
from dovetail.engine.op import Formula
from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError
from dovetail.ops.primitive import cast, maximum, sqrt


def _same_shapes(name: str, names: tuple[str, ...], shapes: tuple[Any, ...]) -> Sizes:
    for what, shape in zip(names, shapes, strict=True):
        if shape is not None and shape != shapes[0]:
            raise ShapeError(
                name, what, was=f"of shape {shape}",
                needed=f"{shapes[0]}, the shape of the parameter",
            )  # fmt: skip
    return ()


_SGD: Any = ("p", "grad", "momentum_buffer")
_ADAM: Any = ("p", "grad", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")


@op(undefined_on=("extreme",), cancels=True, name="sgd_step_",
    shape=lambda *shapes, **_: _same_shapes("sgd_step_", _SGD, shapes),
    accepts=FLOAT, promote=None, mutates=("p", "momentum_buffer"), outputs=(),
    unrounded=True, nondifferentiable=True)  # fmt: skip
def sgd_step_(
    p: Tensor, grad: Tensor, momentum_buffer: Tensor | None, lr: float,
    momentum: float, dampening: float, weight_decay: float, nesterov: bool,
    maximize: bool, first: bool,
) -> None:  # fmt: skip
    """Stochastic gradient descent, with momentum where there is a buffer for it.

    Sutskever et al. 2013, in PyTorch's form: the rate multiplies the buffer when it is
    used. `first` says that the buffer holds nothing yet.
    """
    numbers = _sgd_numbers(lr, momentum, dampening, weight_decay)
    how = {"nesterov": nesterov, "maximize": maximize, "first": first}
    w, g, b = _wide(p, grad, momentum_buffer)
    written = _sgd_values(w, g, b, **numbers, **how)
    _write_all("sgd_step_", (p, momentum_buffer), written)


def _sgd_numbers(
    lr: float, momentum: float, dampening: float, weight_decay: float
) -> dict[str, Any]:
    return {
        "rate": -lr, "keep": momentum,
        "take": 1 - dampening if dampening else None, "decay": weight_decay or None,
    }  # fmt: skip


def _sgd_values(
    p: Any, g: Any, b: Any, *, rate: Any, keep: Any, take: Any, decay: Any,
    nesterov: bool, maximize: bool, first: bool,
) -> tuple[Any, Any]:  # fmt: skip
    if maximize:
        g = g * -1.0
    if decay is not None:
        g = g + p * decay
    if b is not None:
        taken = g if first or take is None else g * take
        b = taken * 1.0 if first else b * keep + taken
        g = g + b * keep if nesterov else b
    return p + g * rate, b


sgd_step_.op.formula = Formula(_sgd_numbers, _sgd_values)


@op(undefined_on=("extreme",), cancels=True, name="adam_step_",
    shape=lambda *shapes, **_: _same_shapes("adam_step_", _ADAM, shapes),
    accepts=FLOAT, promote=None, outputs=(), unrounded=True, nondifferentiable=True,
    mutates=("p", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"))  # fmt: skip
def adam_step_(
    p: Tensor, grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor,
    max_exp_avg_sq: Tensor | None, lr: float, beta1: float, beta2: float, eps: float,
    weight_decay: float, step: float, decoupled: bool, maximize: bool,
) -> None:  # fmt: skip
    """Adam (Kingma & Ba 2014), AdamW where decay is `decoupled` (Loshchilov & Hutter).

    `step` counts from 1. With `max_exp_avg_sq`, AMSGrad (Reddi et al. 2018).
    """
    numbers = _adam_numbers(lr, beta1, beta2, eps, weight_decay, step, decoupled)
    how = {"decoupled": decoupled, "maximize": maximize}
    w, g, m, v, top = _wide(p, grad, exp_avg, exp_avg_sq, max_exp_avg_sq)
    values = _adam_values(w, g, m, v, top, **numbers, **how)
    written = (p, exp_avg, exp_avg_sq, max_exp_avg_sq)
    _write_all("adam_step_", written, values)


def _adam_numbers(
    lr: float, beta1: float, beta2: float, eps: float, weight_decay: float,
    step: float, decoupled: bool,
) -> dict[str, Any]:  # fmt: skip
    # p -= lr/c1 * m / (sqrt(v)/c2 + eps), with c2 taken out of the quotient
    c1, c2 = 1 - beta1**step, (1 - beta2**step) ** 0.5
    decay = 1 - lr * weight_decay if decoupled else weight_decay
    return {
        "take": 1 - beta1, "keep_sq": beta2, "take_sq": 1 - beta2, "eps": eps * c2,
        "rate": -lr * c2 / c1, "decay": decay if weight_decay else None,
    }  # fmt: skip


def _adam_values(
    p: Any, g: Any, m: Any, v: Any, top: Any, *, take: Any, keep_sq: Any, take_sq: Any,
    eps: Any, rate: Any, decay: Any, decoupled: bool, maximize: bool,
) -> tuple[Any, ...]:  # fmt: skip
    if maximize:
        g = g * -1.0
    if decay is not None:
        p, g = (p * decay, g) if decoupled else (p, g + p * decay)
    m = m + (g - m) * take
    v = v * keep_sq + g * g * take_sq
    top = None if top is None else maximum(top, v)
    root = sqrt(v if top is None else top)
    return p + m / (root + eps) * rate, m, v, top


adam_step_.op.formula = Formula(_adam_numbers, _adam_values)


_Shapes = tuple[Any, ...]


def _same_lists(name: str, names: tuple[str, ...], lists: _Shapes) -> tuple[()]:
    """Raise where lists differ in length, or tensors at one place in shape."""
    count = len(lists[0])
    for what, shapes in zip(names, lists, strict=True):
        if len(shapes) not in (count, 0) or (not shapes and what in _NEEDED):
            raise ShapeError(
                name, what, was=f"{len(shapes)} tensors", needed=f"one for each of "
                f"{count} parameters",
            )  # fmt: skip
        for i, shape in enumerate(shapes):
            if shape != lists[0][i]:
                raise ShapeError(
                    name, f"{what}[{i}]", was=f"of shape {shape}",
                    needed=f"{lists[0][i]}, the shape of the parameter",
                )  # fmt: skip
    return ()


_NEEDED: Any = frozenset({"grads", "exp_avgs", "exp_avg_sqs"})
_SGDS: Any = ("params", "grads", "momentum_buffers")
_ADAMS: Any = ("params", "grads", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs")


@op(undefined_on=("extreme",), cancels=True, name="sgd_steps_",
    shape=lambda *lists, **_: _same_lists("sgd_steps_", _SGDS, lists),
    accepts=FLOAT, promote=None, mutates=("params", "momentum_buffers"), outputs=(),
    unrounded=True, nondifferentiable=True)  # fmt: skip
def sgd_steps_(
    params: Sequence[Tensor], grads: Sequence[Tensor],
    momentum_buffers: Sequence[Tensor], lr: float, momentum: float, dampening: float,
    weight_decay: float, nesterov: bool, maximize: bool, first: bool,
) -> None:  # fmt: skip
    """`sgd_step_` of each parameter; no buffers where there is no momentum."""
    how = (lr, momentum, dampening, weight_decay, nesterov, maximize, first)
    buffers: Sequence[Any] = momentum_buffers or [None] * len(params)
    for p, grad, buffer in zip(params, grads, buffers, strict=True):
        sgd_step_(p, grad, buffer, *how)


@op(undefined_on=("extreme",), cancels=True, name="adam_steps_",
    shape=lambda *lists, **_: _same_lists("adam_steps_", _ADAMS, lists),
    accepts=FLOAT, promote=None, outputs=(), unrounded=True, nondifferentiable=True,
    mutates=("params", "exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"))  # fmt: skip
def adam_steps_(
    params: Sequence[Tensor], grads: Sequence[Tensor], exp_avgs: Sequence[Tensor],
    exp_avg_sqs: Sequence[Tensor], max_exp_avg_sqs: Sequence[Tensor], lr: float,
    beta1: float, beta2: float, eps: float, weight_decay: float, step: float,
    decoupled: bool, maximize: bool,
) -> None:  # fmt: skip
    """`adam_step_` of each parameter; no `max_exp_avg_sqs` without AMSGrad."""
    how = (lr, beta1, beta2, eps, weight_decay, step, decoupled, maximize)
    tops: Sequence[Any] = max_exp_avg_sqs or [None] * len(params)
    lists = (params, grads, exp_avgs, exp_avg_sqs, tops)
    for p, grad, m, v, top in zip(*lists, strict=True):
        adam_step_(p, grad, m, v, top, *how)


def _write_all(
    name: str, targets: tuple[Tensor | None, ...], values: tuple[Any, ...]
) -> None:
    """Write every target, or on an error none: first all that can fail, then moves."""
    pairs = [(t, v) for t, v in zip(targets, values, strict=True) if t is not None]
    fit = [(t, fitting(name, t, v)) for t, v in pairs]
    for target, value in fit:
        commit(target, value)


def _wide(*tensors: Tensor | None) -> tuple[Any, ...]:
    """16-bit floats in float32, so that a step rounds once."""
    return tuple(
        cast(t, float32) if t is not None and t._kind.dtype in HALF else t
        for t in tensors
    )


@sgd_step_.oracle
def _(p: Any, grad: Any, buffer: Any, lr: float, momentum: float, *how: Any) -> Any:
    dampening, weight_decay, nesterov, maximize, first = how
    g = -grad if maximize else grad
    if weight_decay:
        g = g + weight_decay * p
    if buffer is None:
        return (p - lr * g,)
    b = g if first else momentum * buffer + (1 - dampening) * g
    return p - lr * (g + momentum * b if nesterov else b), b


@adam_step_.oracle
def _(p: Any, grad: Any, m: Any, v: Any, top: Any, lr: float, *how: Any) -> Any:
    beta1, beta2, eps, weight_decay, step, decoupled, maximize = how
    g = -grad if maximize else grad
    if decoupled:
        p = p * (1 - lr * weight_decay)
    elif weight_decay:
        g = g + weight_decay * p
    m = m + (1 - beta1) * (g - m)  # NaN where it was infinite, as PyTorch's lerp
    v = beta2 * v + (1 - beta2) * g**2
    top = None if top is None else np.maximum(top, v)
    unbiased = (v if top is None else top) / (1 - beta2**step)
    p = p - lr * (m / (1 - beta1**step)) / (np.sqrt(unbiased) + eps)
    return (p, m, v) if top is None else (p, m, v, top)


@sgd_step_.cases
def _(make: Any) -> Iterator[Any]:
    for shape in ((3, 4), (), (0,), (20001,)):
        one = list(shape)
        yield one, one, None, 0.1, 0.0, 0.0, 0.0, False, False, False
        yield one, one, None, 0.1, 0.0, 0.0, 0.5, False, True, False
        yield one, one, one, 0.1, 0.9, 0.25, 0.01, False, False, False
        yield one, one, one, 0.1, 0.9, 0.0, 0.01, True, True, False
        none = values(*shape, low=0, high=0)
        yield one, one, none, 0.1, 0.9, 0.0, 0.0, False, False, True


@adam_step_.cases
def _(make: Any) -> Iterator[Any]:
    for shape in ((3, 4), (), (0,), (20001,)):
        one, above = list(shape), values(*shape, low=0.5, high=3)
        rates = (0.01, 0.9, 0.99, 1e-6)
        yield one, one, one, above, None, *rates, 0.0, 1.0, False, False
        yield one, one, one, above, above, *rates, 0.1, 3.0, True, True
        yield one, one, one, above, None, *rates, 0.1, 100.0, False, False


@sgd_steps_.oracle
def _(params: Any, grads: Any, buffers: Any, *how: Any) -> Any:
    each = [
        sgd_step_.op.oracle(p, g, b, *how)  # type: ignore[misc]
        for p, g, b in zip(params, grads, buffers or [None] * len(params), strict=True)
    ]
    return [y for written in zip(*each, strict=True) for y in written]


@adam_steps_.oracle
def _(params: Any, grads: Any, ms: Any, vs: Any, tops: Any, *how: Any) -> Any:
    lists = (params, grads, ms, vs, tops or [None] * len(params))
    each = [
        adam_step_.op.oracle(*one, *how)  # type: ignore[misc]
        for one in zip(*lists, strict=True)
    ]
    return [y for written in zip(*each, strict=True) for y in written]


def _no_list(make: Any) -> list[Any]:
    return []


@sgd_steps_.cases
def _(make: Any) -> Iterator[Any]:
    some = [[3, 4], [0], [2]]
    yield some, some, _no_list, 0.1, 0.0, 0.0, 0.5, False, True, False
    yield some, some, some, 0.1, 0.9, 0.25, 0.01, False, False, False
    yield some, some, some, 0.1, 0.9, 0.0, 0.01, True, False, True


@adam_steps_.cases
def _(make: Any) -> Iterator[Any]:
    some: Any = [[3, 4], [0], [2]]
    above = [values(*shape, low=0.5, high=3) for shape in some]
    rates = (0.01, 0.9, 0.99, 1e-6)
    yield some, some, some, above, _no_list, *rates, 0.0, 1.0, False, False
    yield some, some, some, above, above, *rates, 0.1, 3.0, True, True
