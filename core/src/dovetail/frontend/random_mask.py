"""Random choices: bernoulli, multinomial."""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import math
from typing import Any

from dovetail.dtypes import Sizes, check_computing, float32, float64
from dovetail.engine.attributes import Absent
from dovetail.engine.generator import Generator
from dovetail.engine.kinds import Kind
from dovetail.engine.level_hooks import of_all_rows
from dovetail.engine.public import public
from dovetail.engine.scopes import unseen
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, ShapeError
from dovetail.frontend.random import drawn, floats, number, uniform_of
from dovetail.limits import finfo
from dovetail.ops import random as ops
from dovetail.ops.extremes import amax
from dovetail.ops.order import topk
from dovetail.ops.primitive import cast, eq, lt, where
from dovetail.ops.scan import cumsum
from dovetail.ops.search import searchsorted
from dovetail.ops.sums import sum
from dovetail.ops.view import reshape, unsqueeze


def probability(name: str, p: Any) -> float:
    """`p` if it is a number from 0 to 1."""
    return number("Probability", name, "p", p)


def mask_of(name: str, shape: Sizes, kind: Kind, p: float, generator: Any) -> Tensor:
    """Bools that are true with probability `p`."""
    check_computing(name, kind.dtype)
    return drawn(name, ops.random_mask, kind, generator, shape, p)


def trials(name: str, p: Tensor, generator: Any) -> Tensor:
    """1 with the probability that `p` has at each element, else 0."""
    kind = floats(name, p._kind)
    _check_range(name, p)
    return drawn(name, ops.random_trials, kind, generator, p)


def _check_range(name: str, p: Tensor) -> None:
    """Raise unless all of `p` are probabilities; NaN is none."""
    if p._kind.backend.rules_only or not math.prod(p._a.shape):
        return
    with unseen():
        far = amax(abs(cast(of_all_rows(p.detach()), float32) - 0.5), None)
        worst = float(far.item()) + 0.5
    if not worst <= 1:
        raise ArgumentError(
            name, "p", was=f"a tensor with values outside, up to {worst - 1:g} away",
            needed="probabilities from 0 to 1",
        )  # fmt: skip


@public("bernoulli", out=True)
def bernoulli(
    input: Tensor, p: float | Absent = None, *, generator: Generator | None = None
) -> Tensor:
    """1 with the probability in `input` (or with `p`, in its shape), else 0."""
    if p is None:
        return trials("bernoulli", input, generator)
    p = probability("bernoulli", p)
    mask = mask_of("bernoulli", tuple(input.shape), input._kind, p, generator)
    return cast(mask, input.dtype)


@public("multinomial", out="same")
def multinomial(
    input: Tensor, num_samples: int, replacement: bool = False, *,
    generator: Generator | None = None,
) -> Tensor:  # fmt: skip
    """Indices drawn with probability proportional to the weights in each row.

    With replacement by inverting the cumulative distribution, without by the order of
    arrival of exponential clocks (Efraimidis & Spirakis 2006).
    """
    _check_multinomial(input, num_samples, replacement)
    weights = input.detach()
    rows = weights if input.ndim == 2 else unsqueeze(weights, 0)
    if rows.dtype.itemsize == 2:
        rows = cast(rows, float32)
    picked = _inverted if replacement else _raced
    y = picked(_scaled(rows), num_samples, generator)
    return y if input.ndim == 2 else reshape(y, (num_samples,))


def _raced(rows: Tensor, count: int, generator: Any) -> Tensor:
    shape = tuple(rows.shape)
    clocks = drawn("multinomial", ops.exponential, rows._kind, generator, shape, 1.0)
    return topk(rows / clocks, count, 1)[1]


def _inverted(rows: Tensor, count: int, generator: Any) -> Tensor:
    n, k = tuple(rows.shape)
    sums = cumsum(rows, 1)
    total = sums[:, k - 1 :]
    at = uniform_of("multinomial", (n, count), rows._kind, generator) * total
    # Rounding may reach the total, past the last weight that is not 0.
    at = where(lt(at, total), at, total * (1 - 2.0**-23))
    return searchsorted(sums, at, True)


def _scaled(rows: Tensor) -> Tensor:
    """The weights of each row; by a power of two smaller where these are very large.

    Neither their sum overflows, nor their quotients by the smallest clocks.
    """
    smaller = 2.0 ** -(rows.shape[1].bit_length() + 64)
    large = lt(finfo(rows.dtype).max * smaller, amax(rows, (1,), True))
    return rows * cast(where(large, smaller, 1.0), rows.dtype)


def _check_multinomial(input: Tensor, count: Any, replacement: bool) -> None:
    name = "multinomial"
    check_computing(name, input.dtype, "input")
    if not input.dtype.is_floating_point:
        raise DTypeError(
            name, "input", was=input.dtype.name, needed="a floating point dtype"
        )
    if input.ndim not in (1, 2):
        raise ShapeError(
            name, "input", was=f"of shape {tuple(input.shape)}", needed="1 or 2 dims"
        )
    if isinstance(count, bool) or not isinstance(count, int) or count <= 0:
        raise ArgumentError(name, "num_samples", was=repr(count), needed="1 or more")
    if not replacement and count > input.shape[-1]:
        raise ArgumentError(
            name, "num_samples", was=count, remedy="pass replacement=True",
            needed=f"at most {input.shape[-1]}, the number of categories",
        )  # fmt: skip
    _check_weights(input.detach())


def _check_weights(weights: Tensor) -> None:
    if weights._kind.backend.rules_only or not math.prod(weights._a.shape):
        return
    with unseen():
        wide = of_all_rows(weights)
        wide = wide if wide.dtype is float64 else cast(wide, float32)
        bad = amax(lt(wide, 0) | ~lt(wide, math.inf), None).item()
        empty = amax(eq(sum(wide, (wide.ndim - 1,)), 0), None).item()
    for found, was in (
        (bad, "negative, infinite or NaN weights"),
        (empty, "weights all 0"),
    ):
        if found:
            raise ArgumentError(
                "multinomial", "input", was=f"a tensor with {was}",
                needed="finite weights of 0 or more, one of them positive in each row",
            )  # fmt: skip
