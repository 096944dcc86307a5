"""`torch.library`, where packages add to ops of libraries that could not be loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail.errors import ArgumentError
from dovetail.library import register_fake as _register_fake


def register_fake(
    op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None,
    allow_override: bool = True,
) -> Any:  # fmt: skip
    """As `dovetail.library.register_fake`; nothing for an op that is not there.

    Such ops are of a package's own code of C++, which is made for torch: the package
    says what they give all the same, and does not call them.
    """
    try:
        return _register_fake(op, func, lib=lib)
    except ArgumentError:
        return func if func is not None else lambda function: function
