"""The second run of a checkpointed function, and what it finds again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from typing import Any, Final, Self

from dovetail.autograd.graph import saved_tensors_hooks
from dovetail.engine import autograd
from dovetail.engine.autocast import open_scopes, reopened
from dovetail.engine.calls import WRITTEN
from dovetail.engine.generator import existing_generators
from dovetail.engine.modes import enable_grad
from dovetail.engine.op import Op
from dovetail.engine.scopes import Recorder, record
from dovetail.engine.tensor import Tensor
from dovetail.errors import CallOrderError, DovetailError


class CheckpointError(DovetailError, RuntimeError):
    """A function kept other tensors when it was run again."""


class GraphExecGroup:
    """Context manager in which backward runs each checkpointed function again once.

    Several backward passes within it share what the second run found, each tensor of
    which is there for one of them. Without it, a tensor that is asked for again makes
    the function run again. Checkpoints with `use_reentrant=True` do not know it.

    Raises: CheckpointError in a pass that needs what another one has used.
    """

    def __enter__(self) -> Self:
        if _group.get() is not None:
            raise CallOrderError(
                "GraphExecGroup", was="entered within another one",
                needed="one at a time: such contexts cannot be nested",
            )  # fmt: skip
        _group.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        _group.set(None)


_group: Final[ContextVar[GraphExecGroup | None]] = ContextVar(
    "checkpoint_group", default=None
)


class Scopes:
    """What a function runs in: default device, grad mode, autocast."""

    def __init__(self) -> None:
        self._context = copy_context()
        self._casting = open_scopes()

    def run(self, function: Callable[..., Any], *args: Any) -> Any:
        """What the function gives in these scopes, though they may have ended."""
        return self._context.copy().run(self._within, function, args)

    def _within(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        with reopened(self._casting):
            return function(*args)


class Stop(Exception):
    """All that backward needs is there."""


class Run:
    """A function to be run again, and what its second run keeps.

    Attributes:
        compares: whether shapes and dtypes have to be those of the first run.
        stops: whether the second run ends as soon as all is there.
        traced: the ops of the first run in words, if they are to be shown.
    """

    compares: bool
    stops: bool
    traced: Trace | None = None

    def __init__(
        self, function: Any, args: Any, kwargs: Any, context: Any, same_random: bool
    ) -> None:
        self.call = function, args, kwargs
        self.context = context
        self.random = random_states() if same_random else None
        self.scopes = Scopes()
        self.specs: list[Any] = []
        self.found: dict[int, Tensor] = {}
        self.group: GraphExecGroup | None = None

    def pack(self, t: Tensor) -> int:
        """The place of a tensor among those that are kept."""
        self.specs.append(_spec(t))
        return len(self.specs) - 1

    def unpack(self, at: int) -> Tensor:
        """The tensor of a place, for which the function may have to run again."""
        group = _group.get()
        if at in self.found and group is self.group:
            return self.found.pop(at)
        if group is not None and group is self.group:
            raise CheckpointError(
                "GraphExecGroup", f"tensor {at} of a checkpoint", was="used already",
                needed="backward passes that do not overlap",
                remedy="run passes over the same part of the graph outside the group",
            )  # fmt: skip
        self.found, self.group = {}, group
        self._run()
        return self.found.pop(at)

    def _run(self) -> None:
        function, args, kwargs = self.call
        hooks = saved_tensors_hooks(self._found_again, _never)
        trace = None if self.traced is None else Trace()

        def again() -> None:
            random, watch = drawn_again(self.random), watching(trace)
            with enable_grad(), random, self.context, hooks, watch:
                function(*args, **kwargs)

        self.count = 0
        try:
            self.scopes.run(again)
            if self.count < len(self.specs):
                raise _unlike(str(self.count), len(self.specs))
        except Stop:
            return
        except CheckpointError as error:
            if self.traced is None or trace is None:
                raise
            raise _shown(error, self.traced, trace) from error

    def _found_again(self, t: Tensor) -> None:
        at, wanted = self.count, len(self.specs)
        if at >= wanted:
            raise _unlike(f"more than {wanted}", wanted)
        if self.compares and _spec(t) != self.specs[at]:
            raise _unlike(f"{_spec(t)} in place {at}", self.specs[at])
        self.found[at] = t.detach()
        self.count += 1
        if self.stops and self.count == wanted:
            raise Stop


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
        remedy="let the function depend on nothing that changes in between; "
        "debug=True shows the ops of both",
    )  # fmt: skip


def random_states() -> list[tuple[Any, Tensor]]:
    """The default generators, and where they are."""
    return [(g, g.get_state()) for g in existing_generators()]


@contextmanager
def drawn_again(states: list[tuple[Any, Tensor]] | None) -> Iterator[None]:
    """Let generators be as they were, and go on where they are afterwards."""
    if states is None:
        yield
        return
    now = random_states()
    for generator, state in states:
        generator.set_state(state)
    try:
        yield
    finally:
        for generator, state in now:
            generator.set_state(state)


class Trace(Recorder):
    """The ops of a run, in words."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def call(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:  # fmt: skip
        """Write an op down: its results, its inputs, and who called it."""
        given = ", ".join([_described(x) for x in inputs])
        made = ", ".join([_described(y) for y in outs])
        self.lines.append(f"{made} = {op.name}({given})  at {_caller()}")


def _described(x: Any) -> str:
    if isinstance(x, list | tuple):
        return f"[{', '.join(map(_described, x))}]"
    return f"{x.dtype.name}{list(x.shape)}" if isinstance(x, Tensor) else repr(x)


_OWN: Final = (os.path.dirname(os.path.dirname(autograd.__file__)), WRITTEN)


def _caller() -> str:
    """The line of the innermost code that is not core's own."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OWN):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def watching(trace: Trace | None) -> AbstractContextManager[None]:
    """Let a trace, if there is one, hear of the ops of this context."""
    return nullcontext() if trace is None else record(trace)


def _shown(error: CheckpointError, first: Trace, second: Trace) -> CheckpointError:
    """The same error, with the ops of both runs."""
    parts = [
        f"\n{len(t.lines)} ops of the {name} run:\n  " + "\n  ".join(t.lines)
        for name, t in (("first", first), ("second", second))
    ]
    return CheckpointError(
        error.op, error.argument, was=error.was, needed=error.needed,
        remedy="compare the ops" + "".join(parts),
    )  # fmt: skip
