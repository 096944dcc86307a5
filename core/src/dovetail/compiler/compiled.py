"""`dovetail.compile`: functions and modules that are captured as they are called."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from dovetail.compiler.backends import check_backend
from dovetail.compiler.program import Follower, Program, Report
from dovetail.compiler.stances import EAGER_THEN_COMPILE, FORCE_EAGER, stance
from dovetail.compiler.states import DISABLED, FOLLOWING, in_state, state
from dovetail.engine import scopes
from dovetail.errors import ArgumentError, ArgumentTypeError, NotSupported

_MODES: Final = (
    "default", "lite", "reduce-overhead", "max-autotune",
    "max-autotune-no-cudagraphs",
)  # fmt: skip
_LIMIT: Final = 8  # branches of a function, as many as torch recompiles

_programs: Final[weakref.WeakSet[Program]] = weakref.WeakSet()


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
    isolate_recompiles: bool = False,
    shapes_spec: Any = None,
) -> Any:
    """A function or module that does what `model` does, and is captured meanwhile.

    Every call runs Python, and each of its steps is compared with what earlier calls
    did: results are eager's, bit for bit, whatever the function branches on, reads or
    changes. `compiled.report()` tells what was recorded, replayed, and why not. Calls
    are not faster than eager ones yet.

    Args:
        model: a function, a method or a module; without one, a decorator is given.
        fullgraph: raise CaptureError where Python reads values of tensors, where
            shapes depend on them, or where calls cannot be followed.
        dynamic: taken, and without effect: each set of shapes has a branch.
        backend: one of torch's names, all of which mean the same here.
        mode: one of torch's names, all of which mean the same here.
        options: there are none yet.
        name: what reports call it.
        disable: give `model` itself.
        recompile_limit: how many branches are kept; more calls run unfollowed.
        isolate_recompiles: taken: every compiled function has branches of its own.
        shapes_spec: not there yet.

    Returns:
        A function with `report()`; for a module, a module around it.

    Raises:
        ArgumentTypeError: `model` is no function and no module.
        ArgumentError: an unknown backend or mode, or options.

    Examples:
        >>> import dovetail as torch
        >>> @torch.compile
        ... def double(x: torch.Tensor) -> torch.Tensor:
        ...     return x * 2
        >>> double(torch.ones(2)), double(torch.zeros(2))
        (tensor([2., 2.]), tensor([0., 0.]))
        >>> report = double.report()
        >>> report.recordings, report.replays
        (1, 1)
    """
    _check(backend, mode, options, shapes_spec)
    limit = _LIMIT if recompile_limit is None else recompile_limit

    def wrap(model: Callable[..., Any]) -> Any:
        if not callable(model):
            raise ArgumentTypeError(
                "compile", "model", was=repr(model), needed="a function or a module"
            )
        if disable:
            return model
        following = Following(name, limit, fullgraph)
        around = getattr(type(model), "_compiled", None)  # as modules have it
        if around is None:
            return following(_plain_call(model))
        return around(model, following)

    return wrap if model is None else wrap(model)


def _plain_call(function: Any) -> Any:
    """A module's call without what `Module.compile` puts around it, which may be this.

    Programs set a module's `_compiled_call` to what they made of its `__call__`.
    """
    if getattr(function, "__name__", "") != "__call__":
        return function
    return getattr(getattr(function, "__self__", None), "_call_plain", function)


def _check(backend: Any, mode: Any, options: Any, shapes_spec: Any) -> None:
    check_backend("compile", "backend", backend)
    if mode is not None and options is not None:
        raise ArgumentError(
            "compile", "mode and options", was="both given",
            needed="either mode or options",
        )  # fmt: skip
    if mode is not None and mode not in _MODES:
        raise ArgumentError(
            "compile", "mode", was=f"{mode!r}, unrecognized",
            needed=f"one of {', '.join(_MODES)}",
        )  # fmt: skip
    if options:
        raise ArgumentError(
            "compile", "options", was=f"the unknown option {next(iter(options))!r}",
            needed="none: there are no options yet",
        )  # fmt: skip
    if shapes_spec is not None:
        raise NotSupported("compile", "shapes_spec", was="given", needed="None")


@dataclass(frozen=True, slots=True)
class Following:
    """How a function is followed: what it is called, how far, and how strictly."""

    name: str | None = None
    limit: int = _LIMIT
    fullgraph: bool = False

    def __call__(self, function: Callable[..., Any], name: str | None = None) -> Any:
        """`function`, each call of which is compared with those before."""
        named = getattr(function, "__qualname__", type(function).__name__)
        program = Program(self.name or name or named, self.limit, self.fullgraph)
        _programs.add(program)
        unfit = _unfit(function)

        @functools.wraps(function)
        def compiled(*args: Any, **kwargs: Any) -> Any:
            if state() is not None or stance() == FORCE_EAGER:
                # Part of what is captured around it, or followed nowhere.
                return function(*args, **kwargs)
            if unfit is not None:
                program.fall_back(unfit)
                return function(*args, **kwargs)
            if stance() == EAGER_THEN_COMPILE and program.is_new():
                program.pass_by("the first call is eager, as the stance is")
                return function(*args, **kwargs)
            return _follow(program, function, args, kwargs)

        compiled.report = program.report  # type: ignore[attr-defined]
        return compiled


def _unfit(function: Any) -> str | None:
    """Why calls of a function cannot be followed, None where they can."""
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return "a generator runs when it is asked, not when it is called"
    if inspect.iscoroutinefunction(function):
        return "a coroutine runs when it is awaited, not when it is called"
    return None


def _follow(program: Program, function: Any, args: Any, kwargs: Any) -> Any:
    try:
        follower = Follower(program, args, kwargs)
        with in_state(FOLLOWING), scopes.record(follower):
            result = function(*args, **kwargs)
    except BaseException:
        program.fail()
        raise
    follower.end(result)
    return result


def disable(fn: Callable[..., Any] | None = None, recursive: bool = True) -> Any:
    """A function that is not followed, wherever it is called; also a decorator.

    What it does is no part of the recordings around it: its results come from outside.
    Compiled functions that it calls are not followed, either.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive)

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with in_state(DISABLED), scopes.unseen():
            return fn(*args, **kwargs)

    return wrapped


def reset() -> None:
    """Forget the branches and counts of every compiled function."""
    for program in list(_programs):
        program.forget()


def explain(f: Callable[..., Any]) -> Callable[..., Report]:
    """A function that runs `f` once with its arguments and gives the report of it."""

    def run(*args: Any, **kwargs: Any) -> Report:
        compiled = Following()(f)
        compiled(*args, **kwargs)
        found: Report = compiled.report()
        return found

    return run


__all__ = ["Following", "compile", "disable", "explain", "reset"]
