"""Constructors of optimizers: their arguments are the options that groups have.

    @constructor_of_options(not_negative=("eps", "weight_decay"))
    def __init__(self, params: Params, lr: Any = 1e-3, eps: float = 1e-8, ...) -> None:
        ...  # checks of this optimizer alone

The signature says which options there are, and their defaults. What all optimizers ask
of an option is asked by its name: of `lr`, `betas`, and of ways of computing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast

from .expression import ExpressionOptimizer
from .options import check_betas, check_lr, check_not_negative, check_way

Constructor = TypeVar("Constructor", bound=Callable[..., None])

_NOTHING: Mapping[str, str] = MappingProxyType({})
_WAYS = ("foreach", "fused", "differentiable")


def constructor_of_options(
    *,
    not_negative: Sequence[str] = (),
    lr_with_foreach: bool = True,
    before: Mapping[str, str] = _NOTHING,
) -> Callable[[Constructor], Constructor]:
    """Make a function that only checks options a constructor that keeps them.

    Args:
        not_negative: the options that are refused below zero.
        lr_with_foreach: whether a tensor may be the learning rate of many at once.
        before: options that state dicts have before another one, where torch's do and
            the signature does not.
    """

    def complete(check: Constructor) -> Constructor:
        @functools.wraps(check)
        def construct(self: ExpressionOptimizer, *args: Any, **kwargs: Any) -> None:
            bound = _signature(check).bind(self, *args, **kwargs)
            bound.apply_defaults()
            _, params, *names = bound.arguments
            ordered = _moved(names, before)
            options = {name: bound.arguments[name] for name in ordered}
            op = type(self).__name__
            _check_lr(op, options, lr_with_foreach)
            check_not_negative(op, **{name: options[name] for name in not_negative})
            if "betas" in options:
                check_betas(op, options["betas"], options.get("foreach"))
            check_way(op, **{name: options[name] for name in _WAYS if name in options})
            check(self, *args, **kwargs)
            super(ExpressionOptimizer, self).__init__(bound.arguments[params], options)
            self._begin()

        return cast(Constructor, construct)

    return complete


_signature = functools.cache(inspect.signature)


def _moved(names: list[str], before: Mapping[str, str]) -> list[str]:
    """Names, some of them moved to right before another one."""
    for name, other in before.items():
        names.remove(name)
        names.insert(names.index(other), name)
    return names


def _check_lr(op: str, options: dict[str, Any], with_foreach: bool) -> None:
    """Check the learning rate, where one op has many parameters also its kind."""
    if with_foreach:
        check_lr(op, options["lr"])
    else:
        check_lr(
            op, options["lr"], options["foreach"], options.get("capturable", False)
        )
