"""What losses have in common: a reduction, asked for by name or by torch's old flags.

A function of losses that is declared by `@loss` says its own parameters; those of the
reduction follow, and so does what they do.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.annotations import conforms, described
from dovetail.engine.parameters import parameters_of
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.ops.reduce import mean
from dovetail.ops.sums import sum

REDUCTIONS: Final = ("none", "mean", "sum")
# Losses, or weighted losses and the weights over whose sum their mean is.
Losses = Tensor | tuple[Tensor, Tensor]
_OLD: Final = {"size_average": ("bool | None", None), "reduce": ("bool | None", None)}
_REDUCTION: Final = {"reduction": ("str", "mean")}


def reduction_of(
    op: str, reduction: str = "mean", size_average: bool | None = None,
    reduce: bool | None = None,
) -> str:  # fmt: skip
    """The reduction asked for, by its name or by torch's two old flags."""
    for name, flag in (("size_average", size_average), ("reduce", reduce)):
        if flag is not None and not conforms("bool", flag):
            raise ArgumentTypeError(
                op, name, was=described(flag), needed="True, False or None"
            )
    if size_average is not None or reduce is not None:
        if reduce is False:
            reduction = "none"
        else:
            reduction = "sum" if size_average is False else "mean"
        warnings.warn(
            f"{op}: size_average and reduce are deprecated; give "
            f"reduction={reduction!r} instead",
            stacklevel=4,
        )
    if reduction not in REDUCTIONS:
        raise ArgumentError(
            op, "reduction", was=repr(reduction), needed=f"one of {REDUCTIONS}"
        )
    return reduction


def reduced(losses: Losses, reduction: str) -> Tensor:
    """The mean or the sum of losses, or themselves."""
    losses, weight = losses if isinstance(losses, tuple) else (losses, None)
    if reduction == "none":
        return losses
    if reduction == "mean" and weight is None:
        return mean(losses)
    total: Tensor = sum(losses)
    if reduction == "sum" or weight is None:
        return total
    return total / sum(weight.expand_as(losses))


class _Signed:
    """The signature of a function of losses, with what its reduction takes."""

    def __init__(self, function: Any, at: int, added: dict[str, Any]) -> None:
        self.function, self.at, self.added = function, at, added
        self.__module__ = function.__module__

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.function)
        own = list(signature.parameters.values())
        own[self.at : self.at] = [
            inspect.Parameter(n, own[0].kind, annotation=annotation, default=default)
            for n, (annotation, default) in self.added.items()
        ]
        return signature.replace(parameters=own, return_annotation="Tensor")


def loss(
    name: str, after: str = "", old: bool = True, autocast: str | None = None
) -> Callable[[Callable[..., Losses]], Callable[..., Tensor]]:
    """Offer the decorated function of losses as torch's, which reduces them.

    Args:
        after: the parameter behind which those of the reduction come, if not the last.
        old: the two old flags are among these.
        autocast: as of `public`.
    """

    def offer(function: Callable[..., Losses]) -> Callable[..., Tensor]:
        own = [parameter for parameter, _, _ in parameters_of(function)]
        at = 1 + own.index(after or own[-1])
        added = _OLD | _REDUCTION if old else _REDUCTION
        behind = at + len(added)

        def call(*args: Any, **given: Any) -> Tensor:
            asked = {n: given.pop(n) for n in added if n in given}
            placed = dict(zip(added, args[at:behind], strict=False))
            reduction = reduction_of(name, **placed, **asked)
            return reduced(function(*args[:at], *args[behind:], **given), reduction)

        call.__doc__, call.__module__ = function.__doc__, function.__module__
        call.__wrapped__ = _Signed(function, at, added)  # type: ignore[attr-defined]
        public(f"F.{name}", autocast=autocast)(call)
        return call

    return offer


__all__ = ["Losses", "loss", "reduced", "reduction_of"]
