"""`x.squeeze_()` and the like: a tensor takes another geometry over its memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.engine import modes
from dovetail.engine.arguments import Shown
from dovetail.engine.homes import home_of
from dovetail.engine.inplace import follow_retained, touched
from dovetail.engine.scopes import anywhere, tell
from dovetail.engine.tape_of_views import View, change_geometry
from dovetail.engine.tensor import Tensor
from dovetail.engine.writable import check_writable


def geometry_form(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """`x.name(…)`: the tensor becomes the view that `function` takes of it."""

    def taken(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        check_writable(name, self, overlap=True)
        y = function(self, *args, **kwargs)
        if y is not self:
            become(self, y)
        return self

    taken.__name__ = taken.__qualname__ = name
    taken.__doc__ = f"`{name[:-1]}` of this tensor itself; returns it."
    taken.__module__ = home_of(function)
    taken.__wrapped__ = Shown(function)  # type: ignore[attr-defined]
    return taken


def become(x: Tensor, y: Tensor) -> None:
    """Make `x` what its view `y` is."""
    if anywhere[0]:
        tell("become", x, y)
    before = x._node
    if type(before) is View:
        x._node = y._node
        x._node.become_leaf(None)  # until it is taken of what is there now
        x._a = y._a
        touched(x)
        return
    if x.requires_grad and modes.grad_enabled():
        x._node = y._node.edge()
        follow_retained(before, x._node)
    change_geometry(x, y._a)
