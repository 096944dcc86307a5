"""Scopes: what sees or changes the op calls of one context (a thread or a task).

- An *interposer* stands above promotion: it gets a call as it was made, and decides
  what becomes of it. Function transforms and comparisons are built on it.
- A *recorder* stands below promotion, where an op really runs, and is told of it
  afterwards. Capture and profiling are built on it.

Calls pay for scopes only where there are any: they read `anywhere[0]`, which counts
the open scopes of all contexts, and only if it is set ask `here()` for their own. So
`not anywhere[0] or here() is None` is the whole test of a fast path.
Code that is written has the same by the name `_scoped`, see `by_name`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, ClassVar, Final

if TYPE_CHECKING:
    from dovetail.engine.op import Op
    from dovetail.engine.tensor import Tensor

Inputs = tuple[Any, ...]
Interposer = Callable[[Any, Inputs, dict[str, Any], Callable[..., Any]], Any]

anywhere: Final = [0]
_counting: Final = threading.Lock()
# Globals of written code, which has there as `_scoped` whether any scope is open: a
# name is read in half the time that an item of a list takes.
_told_by_name: Final[list[dict[str, Any]]] = []


def counted(more: int) -> None:
    """Count scopes that opened, or closed, somewhere."""
    with _counting:
        anywhere[0] += more
        for names in _told_by_name:
            names["_scoped"] = anywhere[0] > 0


def by_name(names: dict[str, Any]) -> None:
    """Let the globals of written code have `_scoped`."""
    _told_by_name.append(names)
    counted(0)


class Recorder:
    """Told of every op that runs in its scope, and of events that are no ops.

    Attributes:
        depth: also told of ops that run within the body of another op, before it is
            told of that one.
    """

    depth: ClassVar[bool] = False

    def call(
        self, op: Op, inputs: Inputs, attrs: dict[str, Any], outs: tuple[Tensor, ...]
    ) -> None:
        """An op ran, in the grad mode that still holds.

        The casts of promotion are calls of `cast` that came before, writes in place
        are calls of `assign_`. Of an op whose gradient is that of its body, while
        gradients are wanted, it is not told, but of the ops of the body.

        Args:
            op: the op.
            inputs: an entry a tensor parameter: a Tensor, None or a list of Tensors,
                of the kinds that the op ran in; what it mutates is written already.
            attrs: scalars and normalised attributes by name.
            outs: all results as they are on the tape, with those that only backward
                uses.
        """

    def event(self, name: str, *details: Any) -> None:
        """Something happened that is no op, e.g. a backward pass began."""


class _Entry(AbstractContextManager[None]):
    """One scope, from its opening to its closing.

    It may be closed in another order than the one it was opened in, as by generators,
    and in another context, as by the collector: its hook hears of nothing from then
    on, whatever context it was inherited to.
    """

    __slots__ = ("hook", "is_open")

    def __init__(self, hook: Any) -> None:
        self.hook = hook
        self.is_open = False

    def __enter__(self) -> None:
        self.is_open = True
        counted(1)
        _scope.set(_scope_of((self, *_open_entries())))

    def __exit__(self, *_: object) -> None:
        self.is_open = False
        counted(-1)
        _scope.set(_scope_of(_open_entries()))


class Scope:
    """What is open in one context; replaced as a whole, never changed.

    Attributes:
        entries: what was opened, the innermost first.
        interposers, recorders: the hooks among it.
    """

    __slots__ = ("entries", "interposers", "recorders")

    def __init__(self, entries: tuple[_Entry, ...]) -> None:
        hooks = [e.hook for e in entries]
        self.entries = entries
        self.recorders: tuple[Recorder, ...] = tuple(
            [h for h in hooks if isinstance(h, Recorder)]
        )
        self.interposers: tuple[Interposer, ...] = tuple(
            [h for h in hooks if not isinstance(h, Recorder)]
        )


_scope: Final[ContextVar[Scope | None]] = ContextVar("scope", default=None)
here: Final = _scope.get
# What a context has a value for is read from a cache, and looked up at each call else.
_scope.set(None)


def _scope_of(entries: tuple[_Entry, ...]) -> Scope | None:
    return Scope(entries) if entries else None


def _open_entries() -> tuple[_Entry, ...]:
    scope = here()
    return () if scope is None else tuple([e for e in scope.entries if e.is_open])


def current() -> Scope | None:
    """What is open in this context, None if nothing is."""
    scope = here()
    if scope is None or all(e.is_open for e in scope.entries):
        return scope
    _scope.set(_scope_of(_open_entries()))  # inherited, and closed where it came from
    return here()


def watched() -> bool:
    """Whether anything sees the calls of this context."""
    return bool(anywhere[0]) and here() is not None and current() is not None


def interpose(interposer: Interposer) -> AbstractContextManager[None]:
    """Let `interposer(op, tensors, attrs, proceed)` see every op of this context.

    It returns what the op shall return; `proceed(tensors, attrs)` runs the rest of
    the chain and the op itself, after which `proceed.outs` holds all results of the
    op, with those that only backward uses. The innermost interposer is asked first.
    """
    return _Entry(interposer)


def record(recorder: Recorder) -> AbstractContextManager[None]:
    """Tell `recorder` of every op that runs in this context."""
    return _Entry(recorder)


def tell(name: str, *details: Any) -> None:
    """Tell the recorders of this context of an event that is no op."""
    scope = None if here() is None else current()
    if scope is not None:
        for recorder in scope.recorders:
            recorder.event(name, *details)


def live(read: Callable[[], float]) -> float:
    """`read()`, which a replay of what runs here reads again: a rate, a step count.

    Recorders know the number again by its object, which is nobody else's.
    """
    if not anywhere[0] or current() is None:
        return read()
    with unseen():
        value = read() * 1.0
    tell("live", value, read)
    return value


def perform(change: Callable[[], None]) -> None:
    """Change Python's state, as a replay of what runs here does again."""
    if not anywhere[0] or current() is None:
        change()
        return
    with unseen():
        change()
    tell("perform", change)


def begin(what: str) -> None:
    """Tell recorders of Python's state that begins here and goes on after the call."""
    if anywhere[0]:
        tell("begin", what)


def outside(what: str) -> None:
    """Tell recorders of memory that comes from elsewhere: it cannot be replayed."""
    if anywhere[0]:
        tell("outside", what)


@contextmanager
def _with_only(wanted: Callable[[Any], bool]) -> Iterator[None]:
    """Hide the scopes of this context whose hooks are not wanted."""
    entries = tuple([e for e in _open_entries() if wanted(e.hook)])
    token = _scope.set(_scope_of(entries))
    try:
        yield
    finally:
        _scope.reset(token)


def without_interposers() -> AbstractContextManager[None]:
    """Hide this context's interposers, for what an op does within itself."""
    return _with_only(_is_recorder)


def within_body() -> AbstractContextManager[None]:
    """Hide all but the recorders that want to hear of the ops within another one."""
    return _with_only(_goes_deep)


def unseen() -> AbstractContextManager[None]:
    """Hide all scopes of this context, for what is no part of the program."""
    return _with_only(lambda hook: False)


def _is_recorder(hook: Any) -> bool:
    return isinstance(hook, Recorder)


def _goes_deep(hook: Any) -> bool:
    return isinstance(hook, Recorder) and hook.depth


class Proceed:
    """Runs the rest of a chain of interposers, and at its end the op itself.

    Attributes:
        outs: all results of the op, once it ran.
    """

    __slots__ = ("_chain", "_op", "_run", "outs")

    def __init__(
        self, op: Op, chain: tuple[Interposer, ...],
        run: Callable[[Inputs, dict[str, Any]], tuple[Any, ...]],
    ) -> None:  # fmt: skip
        self._op = op
        self._chain = chain
        self._run = run
        self.outs: tuple[Any, ...] = ()

    def __call__(self, inputs: Inputs, attrs: dict[str, Any]) -> Any:
        if not self._chain:
            with without_interposers():
                self.outs = self._run(inputs, attrs)
            return self._op.visible(self.outs)
        rest = Proceed(self._op, self._chain[1:], self._run)
        result = self._chain[0](self._op, inputs, attrs, rest)
        self.outs = rest.outs
        return result
