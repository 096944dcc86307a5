"""What compiled functions do in this context, said beside the functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from dovetail.compiler.backends import check_backend
from dovetail.compiler.states import is_compiling
from dovetail.errors import ArgumentError, CallOrderError

DEFAULT: Final = "default"
FORCE_EAGER: Final = "force_eager"
EAGER_ON_RECOMPILE: Final = "eager_on_recompile"
FAIL_ON_RECOMPILE: Final = "fail_on_recompile"
EAGER_THEN_COMPILE: Final = "eager_then_compile"
STANCES: Final = (
    DEFAULT, FORCE_EAGER, EAGER_ON_RECOMPILE, FAIL_ON_RECOMPILE, EAGER_THEN_COMPILE,
    "aot_eager_then_compile",
)  # fmt: skip
_stance: ContextVar[str] = ContextVar("stance", default=DEFAULT)

stance: Final = _stance.get
"""Which of STANCES this context has."""


class Stance:
    """A stance that has been taken: until the end of a `with` block, or of calls.

    As a decorator, it is taken by each call of the function, and not before.
    """

    def __init__(self, taken: str, before: str) -> None:
        self._taken, self._before = taken, before

    def __enter__(self) -> None:
        return None

    def __exit__(self, *raised: object) -> None:
        _stance.set(self._before)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        _stance.set(self._before)

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with set_stance(self._taken):
                return function(*args, **kwargs)

        return wrapped


def set_stance(
    stance: str = DEFAULT, *, skip_guard_eval_unsafe: bool = False,
    force_backend: str | Callable[..., Any] | None = None,
) -> Stance:  # fmt: skip
    """Say what compiled functions do in this thread or task from now on.

    Also a context manager and a decorator.

    Args:
        stance: "default" follows calls; "force_eager" runs them as if they were not
            compiled; "eager_on_recompile" follows those that go along a known branch;
            "fail_on_recompile" refuses others, before they run where the arguments
            tell; "eager_then_compile" follows each function from its second call on;
            "aot_eager_then_compile" is as the default.
        skip_guard_eval_unsafe: taken, and without effect: each step is compared.
        force_backend: with the default stance, one of torch's names, all of which mean
            the same here.

    Raises:
        ArgumentError: another stance or backend, or a backend with another stance.
        CallOrderError: a compiled function is running.

    Examples:
        >>> import dovetail as torch
        >>> double = torch.compile(lambda x: x * 2)
        >>> with torch.compiler.set_stance("force_eager"):
        ...     double(torch.ones(1))
        tensor([2.])
        >>> double.report().calls
        0
    """
    if stance not in STANCES:
        raise ArgumentError(
            "set_stance", "stance", was=f"{stance!r}, an invalid stance",
            needed=f"one of {', '.join(STANCES)}",
        )  # fmt: skip
    if force_backend is not None:
        check_backend("set_stance", "force_backend", force_backend)
        if stance != DEFAULT:
            raise ArgumentError(
                "set_stance", "force_backend", was=f"given with {stance!r}",
                needed=f"the stance {DEFAULT!r} with it",
            )  # fmt: skip
    if is_compiling():
        raise CallOrderError(
            "set_stance", "call", was="within a compiled function",
            needed="one from outside",
        )  # fmt: skip
    before = _stance.get()
    _stance.set(stance)
    return Stance(stance, before)


__all__ = [
    "EAGER_ON_RECOMPILE", "EAGER_THEN_COMPILE", "FAIL_ON_RECOMPILE", "FORCE_EAGER",
    "Stance", "set_stance", "stance",
]  # fmt: skip
