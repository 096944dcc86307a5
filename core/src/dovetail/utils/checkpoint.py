"""Checkpoints: what a function computes is thrown away and computed again in backward.

Memory is traded for time: of what the function's ops keep, only places are kept; the
first of them that backward asks for runs the function again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import Any, Final

from dovetail.autograd.function import Function
from dovetail.autograd.graph import saved_tensors_hooks
from dovetail.engine import autograd
from dovetail.engine.generator import existing_generators
from dovetail.engine.modes import enable_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, DovetailError


class CheckpointError(DovetailError, RuntimeError):
    """A function kept other tensors when it was run again."""


_early: Final[ContextVar[bool]] = ContextVar("checkpoint_early_stop", default=True)
Contexts = tuple[AbstractContextManager[Any], AbstractContextManager[Any]]


def noop_context_fn() -> Contexts:
    """Two contexts that do nothing: for the first run, and for the second."""
    return nullcontext(), nullcontext()


class set_checkpoint_early_stop:
    """Sets whether a second run ends as soon as all is there that backward needs."""

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
        context_fn: gives a context for the first run, and one for the second.
        determinism_check: "default" compares shapes and dtypes of what the two runs
            keep; "none" does not.
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
    first, second = context_fn()
    run = _Run(function, args, kwargs, second, preserve_rng_state)
    run.compares = determinism_check == "default"
    run.stops = early_stop and _early.get()
    with saved_tensors_hooks(run.pack, run.unpack), first:
        return function(*args, **kwargs)


class _Stop(Exception):
    """All that backward needs is there."""


class _Run:
    """A function to be run again, and what its second run keeps."""

    compares: bool
    stops: bool

    def __init__(
        self, function: Any, args: Any, kwargs: Any, context: Any, same_random: bool
    ) -> None:
        self.call = function, args, kwargs
        self.context = context
        self.random = _random_states() if same_random else None
        self.scopes = copy_context()  # autocast, and the default device
        self.specs: list[Any] = []
        self.found: dict[int, Tensor] = {}

    def pack(self, t: Tensor) -> int:
        """The place of a tensor among those that are kept."""
        self.specs.append(_spec(t))
        return len(self.specs) - 1

    def unpack(self, at: int) -> Tensor:
        """The tensor of a place, for which the function may have to run again."""
        if at not in self.found:
            self.found = {}
            self._run()
        return self.found.pop(at)

    def _run(self) -> None:
        function, args, kwargs = self.call
        count = 0

        def pack(t: Tensor) -> None:
            nonlocal count
            if count >= len(self.specs):
                raise _unlike(f"more than {len(self.specs)}", len(self.specs))
            if self.compares and _spec(t) != self.specs[count]:
                raise _unlike(f"{_spec(t)} in place {count}", self.specs[count])
            self.found[count] = t.detach()
            count += 1
            if self.stops and count == len(self.specs):
                raise _Stop

        def again() -> None:
            hooks = saved_tensors_hooks(pack, _never)
            with enable_grad(), _drawn_again(self.random), self.context, hooks:
                function(*args, **kwargs)

        try:
            self.scopes.copy().run(again)
        except _Stop:
            return
        if count < len(self.specs):
            raise _unlike(str(count), len(self.specs))


def _never(_: Any) -> Tensor:
    raise CheckpointError(
        "checkpoint", "second run", was="one that runs backward itself",
        needed="a function that only computes",
    )  # fmt: skip


def _spec(t: Tensor) -> Any:
    return tuple(t.shape), t.dtype.name, str(t.device)


def _unlike(was: str, needed: Any) -> CheckpointError:
    return CheckpointError(
        "checkpoint", "tensors that the second run keeps", was=was,
        needed=f"{needed}, as in the first: a different number or different metadata",
        remedy="let the function depend on nothing that changes in between",
    )  # fmt: skip


def _random_states() -> list[tuple[Any, Tensor]]:
    return [(g, g.get_state()) for g in existing_generators()]


@contextmanager
def _drawn_again(states: list[tuple[Any, Tensor]] | None) -> Iterator[None]:
    """Let generators be as they were, and go on where they are afterwards."""
    if states is None:
        yield
        return
    now = _random_states()
    for generator, state in states:
        generator.set_state(state)
    try:
        yield
    finally:
        for generator, state in now:
            generator.set_state(state)


class CheckpointFunction(Function):
    """A checkpoint whose backward runs a pass of its own."""

    @staticmethod
    def forward(
        ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any
    ) -> Any:
        """Run the function off the tape."""
        ctx.run_function = run_function
        ctx.random = _random_states() if preserve_rng_state else None
        ctx.scopes = copy_context()
        ctx.args = [None if isinstance(a, Tensor) else a for a in args]
        ctx.save_for_backward(*[a if isinstance(a, Tensor) else None for a in args])
        return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        """Run it again, on the tape, and backward through that."""
        pairs = zip(ctx.saved_tensors, ctx.args, strict=True)
        given = [value if t is None else t for t, value in pairs]
        args = detach_variable(tuple(given))
        with enable_grad(), _drawn_again(ctx.random):
            result = ctx.run_function(*args)
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
    "CheckpointError", "CheckpointFunction", "check_backward_validity", "checkpoint",
    "checkpoint_sequential", "detach_variable", "noop_context_fn",
    "set_checkpoint_early_stop",
]  # fmt: skip
