"""Inference mode: nothing is recorded, and what is made keeps out of graphs.

Tensors made in it are marked as they are made. That costs nothing outside: what makes
tensors is exchanged while the mode is on anywhere, and the mark is looked at where a
tensor gets its storage, that is when it is first shared, saved or written.
"""

from __future__ import annotations

import functools
import threading
from types import TracebackType
from typing import Any, Final, Self

from dovetail.engine.modes import (
    F,
    SetAside,
    decorated,
    grad_enabled,
    inference_enabled,
    set_modes,
)
from dovetail.engine.storage import inferred
from dovetail.engine.tensor import Tensor, fresh, makers

_counting: Final = threading.Lock()
_open: Final = [0]
_outer: Final = SetAside("outer_inference_modes")


def _marked() -> Tensor:
    """A tensor without anything, marked where this context is in inference mode."""
    made = fresh()
    if inference_enabled():
        made._inference = True
    return made


def _counted(more: int) -> None:
    with _counting:
        _open[0] += more
        make = _marked if _open[0] else fresh
        inferred[0] = True
        for names, name in makers:
            names[name] = make
            names["_inferred"] = True


class inference_mode:
    """Context manager and decorator in which nothing is recorded, for good.

    Tensors made in it are inference tensors: outside of it they can be used, but not
    kept for backward, nor written, nor made to require gradients; a `clone()` can.

    Args:
        mode: False switches the mode off within; a function is decorated.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.ones(1, requires_grad=True)
        >>> with torch.inference_mode():
        ...     y = x * 2
        >>> y.requires_grad, y.is_inference(), y.clone().is_inference()
        (False, True, False)
    """

    mode: bool

    def __new__(cls, mode: Any = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.__init__(True)  # type: ignore[misc]
        return made(mode)

    def __init__(self, mode: Any = True) -> None:
        self.mode = mode is not False

    def __enter__(self) -> None:
        _outer.keep(self, (inference_enabled(), grad_enabled()))
        _counted(self.mode)
        set_modes(inference=self.mode, grad=not self.mode)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for inference, grad in _outer.taken(self):
            set_modes(inference=inference, grad=grad)
            _counted(-self.mode)

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return function(*args, **kwargs)

        return decorated(function, wrapped, self.clone)

    def clone(self) -> Self:
        """Another one of the same mode."""
        made: Self = type(self)(self.mode)
        return made


def is_inference_mode_enabled() -> bool:
    """Whether `inference_mode` is on here."""
    return inference_enabled()


__all__ = ["inference_mode", "is_inference_mode_enabled"]
