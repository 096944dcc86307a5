"""Dropout of elements and of whole channels, under all of torch's names."""

# Ops are known by their declarations; what they return is typed where it matters.

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

from dovetail.engine.inplace import inplace as written
from dovetail.engine.public import public
from dovetail.engine.recorded_draws import recorder
from dovetail.engine.tensor import Tensor
from dovetail.engine.writable import check_writable
from dovetail.errors import ShapeError
from dovetail.frontend.random import drawn, floats
from dovetail.frontend.random_mask import mask_of, probability
from dovetail.ops import random as ops
from dovetail.ops.primitive import cast
from dovetail.ops.view import squeeze, unsqueeze
from dovetail.xp import random_law as law

Drop = Callable[[Tensor, float], Tensor]
# Minus the value that SELU goes to at minus infinity (Klambauer et al. 2017).
_SATURATION = 1.7580993408473766


def _applied(
    op: str, drop: Drop, input: Tensor, p: float, training: bool, inplace: bool
) -> Tensor:
    """What is left of `input`, which is itself without training or with p = 0."""
    p = probability(op, p)
    if not training or not p:
        return input
    return written(op, drop, input, p) if inplace else drop(input, p)


def _offered(name: str, training: bool | None = None) -> Callable[[Drop], Drop]:
    """Offer torch's `name(input, p, train)` and `name_`.

    nn.functional has it too where `training` says what is taken there by default.
    """

    def offer(drop: Drop) -> Drop:
        def call(input: Tensor, p: float, train: bool) -> Tensor:
            return _applied(name, drop, input, p, train, False)

        def in_place(input: Tensor, p: float, train: bool) -> Tensor:
            return _applied(f"{name}_", drop, input, p, train, True)

        def functional(
            input: Tensor, p: float = 0.5, training: bool = bool(training),
            inplace: bool = False,
        ) -> Tensor:  # fmt: skip
            return _applied(name, drop, input, p, training, inplace)

        _publish(call, f"torch.{name}", drop.__doc__)
        _publish(in_place, f"torch.{name}_", drop.__doc__)
        if training is not None:
            _publish(functional, f"F.{name}", drop.__doc__)
        return drop

    return offer


def _publish(function: Callable[..., Tensor], path: str, doc: str | None) -> None:
    function.__name__ = function.__qualname__ = path.rpartition(".")[2]
    function.__doc__ = doc
    public(path)(function)


@_offered("dropout", training=True)
def dropped(input: Tensor, p: float) -> Tensor:
    """Zero each element with probability `p`, and scale the others by `1 / (1 - p)`.

    Hinton et al. 2012, arXiv:1207.0580; without training the input is returned.

    Args:
        input: [...] floats.

    Raises: ArgumentError for a `p` that is no probability.

    >>> F.dropout(torch.ones(1000), p=0.5).unique()
    tensor([0., 2.])
    """
    kind = floats("dropout", input._kind)
    if kind.dtype.is_complex:
        return input * (_noise("dropout", input, p, False) * law.kept_scale(p))
    if recorder(kind) is not None:  # the mask is drawn before each launch
        mask = mask_of("dropout", tuple(input.shape), kind, 1 - p, None)
        scaled: Tensor = ops.masked_scale(input, mask, law.kept_scale(p))
        return scaled
    return drawn("dropout", ops.random_dropout, kind, None, input, p)


def _noise(name: str, input: Tensor, p: float, channels: bool) -> Tensor:
    """1 where an element (or a channel of [n, c, …]) is kept, else 0."""
    shape = tuple(input.shape)
    if channels:
        if len(shape) < 2:
            raise ShapeError(
                name, "input", was=f"of shape {shape}",
                needed="2 dims or more, [n, c, …]",
            )  # fmt: skip
        shape = shape[:2] + (1,) * (len(shape) - 2)
    mask = mask_of(name, shape, floats(name, input._kind), 1 - p, None)
    return cast(mask, input.dtype)


@_offered("feature_dropout")
def feature_dropped(input: Tensor, p: float) -> Tensor:
    """`dropout` of whole channels of [n, c, …] (Tompson et al. 2015)."""
    return input * (_noise("feature_dropout", input, p, True) * law.kept_scale(p))


def _alpha(name: str, input: Tensor, p: float, channels: bool) -> Tensor:
    noise = _noise(name, input, p, channels)
    if p == 1:
        return input * noise
    scale = 1 / math.sqrt((_SATURATION**2 * p + 1) * (1 - p))
    shift = (noise - 1) * (_SATURATION * scale) + _SATURATION * scale * p
    return input * (noise * scale) + shift


@_offered("alpha_dropout", training=False)
def alpha_dropped(input: Tensor, p: float) -> Tensor:
    """Dropout that keeps mean and variance after SELU (Klambauer et al. 2017)."""
    return _alpha("alpha_dropout", input, p, False)


@_offered("feature_alpha_dropout", training=False)
def feature_alpha_dropped(input: Tensor, p: float) -> Tensor:
    """`alpha_dropout` of whole channels."""
    return _alpha("feature_alpha_dropout", input, p, True)


def _dropped_of_one(input: Tensor, p: float) -> Tensor:
    """`feature_dropped` without a batch."""
    return squeeze(feature_dropped(unsqueeze(input, 0), p), (0,))


def _offer_of_channels(n: int, shapes: str) -> None:
    name = f"dropout{n}d"

    def function(
        input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> Tensor:
        usual = input.ndim in (n + 1, n + 2)
        if not usual and (n == 1 or input.ndim < 2):
            raise ShapeError(
                name, "input", was=f"{input.ndim}-dimensional, {tuple(input.shape)}",
                needed=f"{n + 1} or {n + 2} dimensions",
            )  # fmt: skip
        if not usual:  # As torch, which older programs count on.
            warnings.warn(
                f"{name}: input is {input.ndim}-dimensional, and {n + 1} or {n + 2} "
                "dimensions are needed; other numbers are deprecated",
                stacklevel=2,
            )
        # As torch: dropout2d takes three dims for (N, C, L), the others for one image.
        batched = input.ndim == n + 2 or n == 2
        if inplace and not batched:  # Even where nothing is dropped, as in torch.
            check_writable(f"{name}_", input)
        drop = feature_dropped if batched else _dropped_of_one
        return _applied(name, drop, input, p, training, inplace)

    doc = f"`dropout` of whole channels of {shapes} (Tompson et al. 2015)."
    _publish(function, f"F.{name}", doc)


_offer_of_channels(1, "`(N, C, L)` or `(C, L)`")
_offer_of_channels(2, "`(N, C, H, W)` or `(N, C, L)`")
_offer_of_channels(3, "`(N, C, D, H, W)` or `(C, D, H, W)`")
