"""Checkpoints: what a function computes is thrown away and computed again in backward.

Memory is traded for time: of what the function's ops keep, only places are kept; the
first of them that backward asks for runs the function again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any, Final

from dovetail.autograd.function import Function
from dovetail.autograd.graph import saved_tensors_hooks
from dovetail.engine import autograd
from dovetail.engine.modes import enable_grad, is_grad_enabled
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.utils.checkpoint_devices import (
    DefaultDeviceType,
    get_device_states,
    set_device_states,
)
from dovetail.utils.checkpoint_policies import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
)
from dovetail.utils.checkpoint_runs import (
    CheckpointError,
    GraphExecGroup,
    Run,
    Scopes,
    Trace,
    drawn_again,
    random_states,
    watching,
)
from dovetail.utils.selective_checkpoint import (
    Contexts,
    create_selective_checkpoint_contexts,
)

_early: Final[ContextVar[bool | None]] = ContextVar("early_stop", default=None)
_debug: Final[ContextVar[bool | None]] = ContextVar("checkpoint_debug", default=None)


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: for the first run, and for the second."""
    return nullcontext(), nullcontext()


@contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Let checkpoints show the ops of both runs, or not, whatever their `debug` says.

    Args:
        enabled: None leaves it to the checkpoints.
    """
    token = _debug.set(enabled)
    try:
        yield
    finally:
        _debug.reset(token)


class set_checkpoint_early_stop:
    """Sets whether a second run ends as soon as all is there that backward needs.

    It counts before what a checkpoint says itself.
    """

    def __init__(self, enable: bool) -> None:
        self._before = _early.get()
        _early.set(enable)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _early.set(self._before)


def checkpoint(
    function: Callable[..., Any], *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], Contexts] = noop_context_fn,
    determinism_check: str = "default", debug: bool = False, early_stop: bool = True,
    preserve_rng_state: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """What `function` gives, whose intermediate results are not kept for backward.

    Args:
        use_reentrant: by a backward pass within the pass, as torch did at first; else
            by `saved_tensors_hooks`, which `autograd.grad`, second gradients and
            arguments by name go with.
        context_fn: gives a context for the first run, and one for the second, such as
            those of `create_selective_checkpoint_contexts`; not called where nothing
            is recorded.
        determinism_check: "default" compares shapes and dtypes of what the two runs
            keep; "none" does not.
        debug: let a CheckpointError show the ops of both runs, and who called them.
        early_stop: end the second run as soon as all is there.
        preserve_rng_state: draw the same random numbers again.

    Raises: CheckpointError, in backward, if the second run keeps something else.

    Examples:
        >>> import dovetail as torch
        >>> from dovetail.utils.checkpoint import checkpoint
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> checkpoint(lambda x: (x * x).sin(), x, use_reentrant=False).backward()
        >>> x.grad
        tensor(-5.4668)
    """
    if use_reentrant is None:
        warnings.warn(
            "checkpoint: the use_reentrant parameter should be passed explicitly; "
            "use_reentrant=False is recommended, and True is the default",
            stacklevel=2,
        )
        use_reentrant = True
    if determinism_check not in ("default", "none"):
        raise ArgumentError(
            "checkpoint", "determinism_check", was=repr(determinism_check),
            needed='"default" or "none"',
        )  # fmt: skip
    if use_reentrant:
        if kwargs or context_fn is not noop_context_fn:
            raise ArgumentError(
                "checkpoint", "arguments", was="by name, or with context_fn",
                needed="positional ones where use_reentrant is True",
                remedy="pass use_reentrant=False",
            )  # fmt: skip
        return CheckpointFunction.apply(function, preserve_rng_state, *args)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, second = _contexts(context_fn)
    run = Run(function, args, kwargs, second, preserve_rng_state)
    run.compares = determinism_check == "default"
    chosen, shows = _early.get(), _debug.get()
    run.stops = early_stop if chosen is None else chosen
    run.traced = Trace() if (debug if shows is None else shows) else None
    with saved_tensors_hooks(run.pack, run.unpack), first, watching(run.traced):
        return function(*args, **kwargs)
    raise CheckpointError(
        "checkpoint", "the first context of context_fn",
        was="one that suppressed an exception of the function",
        needed="a context that lets it pass, for there is no result",
    )  # fmt: skip


def _contexts(context_fn: Callable[[], Contexts]) -> Contexts:
    """The two contexts of a checkpoint.

    Raises: ArgumentTypeError if that is not what the function gives.
    """
    found: Any = context_fn()
    pair = tuple(found) if isinstance(found, tuple | list) else ()
    if len(pair) != 2 or not all(hasattr(type(c), "__enter__") for c in pair):
        raise ArgumentTypeError(
            "checkpoint", "what context_fn gives", was=f"a {type(found).__name__}",
            needed="two context managers, for the first run and for the second",
            remedy="functools.partial(create_selective_checkpoint_contexts, policy) is "
            "such a function",
        )  # fmt: skip
    return pair


class CheckpointFunction(Function):
    """A checkpoint whose backward runs a pass of its own."""

    @staticmethod
    def forward(
        ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Run the function off the tape."""
        ctx.run_function = run_function
        ctx.random = random_states() if preserve_rng_state else None
        ctx.scopes = Scopes()
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        """Run it again, on the tape, and backward through that."""
        pairs = zip(ctx.saved_tensors, ctx.args, strict=True)
        given = [value if t is None else t for t, value in pairs]
        args = detach_variable(tuple(given))
        result = ctx.scopes.run(_again, ctx, args)
        outs = result if isinstance(result, tuple) else (result,)
        flows = [
            (y, ct) for y, ct in zip(outs, cts, strict=True)
            if isinstance(y, Tensor) and y.requires_grad
        ]  # fmt: skip
        if not flows:
            raise CheckpointError(
                "checkpoint", "outputs", was="none that requires gradients",
                needed="one that does: checkpoint() is not necessary otherwise",
            )  # fmt: skip
        autograd.backward([y for y, _ in flows], [ct for _, ct in flows])
        grads = [a.grad if isinstance(a, Tensor) else None for a in args]
        return (None, None, *grads)


def _again(ctx: Any, args: tuple[Any, ...]) -> Any:
    with enable_grad(), drawn_again(ctx.random):
        return ctx.run_function(*args)


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The tensors among the inputs as leaves of their own.

    Raises: ArgumentTypeError for what is no tuple.
    """
    if not isinstance(inputs, tuple):
        raise ArgumentTypeError(
            "detach_variable", "inputs", was=f"a {type(inputs).__name__}",
            needed="a tuple",
        )  # fmt: skip
    return tuple([_leaf(x) if isinstance(x, Tensor) else x for x in inputs])


def _leaf(x: Tensor) -> Tensor:
    own = x.detach()
    if x.dtype.is_inexact:
        own.requires_grad = bool(x.requires_grad)
    return own


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no input requires gradients, so that no gradient comes out."""
    if not any(isinstance(x, Tensor) and x.requires_grad for x in inputs):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None",
            stacklevel=2,
        )


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None,
    **kwargs: Any,
) -> Any:  # fmt: skip
    """Run functions one behind the other, in segments that are checkpoints.

    The last segment is none, for backward begins with it.

    Args:
        functions: a Sequential, or a list of functions.
        segments: how many.
    """
    steps: Sequence[Any] = list(
        functions.children() if hasattr(functions, "children") else functions
    )
    if type(segments) is not int or segments < 1:
        raise ArgumentError(
            "checkpoint_sequential", "segments", was=repr(segments),
            needed="a number from 1 on",
        )  # fmt: skip
    size = max(len(steps) // segments, 1)
    ends = [size * (i + 1) for i in range(segments - 1) if size * (i + 1) < len(steps)]
    start = 0
    for end in ends:
        input = checkpoint(
            _chain(steps[start:end]), input, use_reentrant=use_reentrant, **kwargs
        )
        start = end
    return _chain(steps[start:])(input)


def _chain(steps: Sequence[Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        for step in steps:
            x = step(x)
        return x

    return run


__all__ = [
    "CheckpointError", "CheckpointFunction", "CheckpointPolicy", "DefaultDeviceType",
    "GraphExecGroup", "SelectiveCheckpointContext", "check_backward_validity",
    "checkpoint", "checkpoint_sequential", "create_selective_checkpoint_contexts",
    "detach_variable", "get_device_states", "noop_context_fn",
    "set_checkpoint_debug_enabled", "set_checkpoint_early_stop", "set_device_states",
]  # fmt: skip
