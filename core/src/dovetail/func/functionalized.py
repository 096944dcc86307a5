"""`functionalize`: functions whose writes are nobody else's to see."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.func.trees import put_together, taken_apart

_REMOVES = ("mutations", "mutations_and_views")


def functionalize(
    func: Callable[..., Any], *, remove: str = "mutations"
) -> Callable[..., Any]:
    """`func`, with what it writes into its arguments written when it has returned.

    The values are those of `func`. In a program that is recorded every write in place
    is a call like any other, whichever way `remove` says.

    >>> torch.func.functionalize(lambda x: x.clone().add_(1))(torch.zeros(2))
    tensor([1., 1.])
    """
    if remove not in _REMOVES:
        raise ArgumentError(
            "functionalize", "remove", was=repr(remove), needed=f"one of {_REMOVES}"
        )

    @functools.wraps(func)
    def without_writes(*args: Any, **kwargs: Any) -> Any:
        values, form = taken_apart((args, kwargs))
        apart = [v.clone() if isinstance(v, Tensor) else v for v in values]
        versions = [v._version if isinstance(v, Tensor) else 0 for v in apart]
        own_args, own_kwargs = put_together(list(apart), form)
        result = func(*own_args, **own_kwargs)
        for given, own, version in zip(values, apart, versions, strict=True):
            if isinstance(own, Tensor) and own._version != version:
                given.copy_(own)
        return result

    return without_writes
