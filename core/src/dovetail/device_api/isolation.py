"""Code of plug-ins: what it raises is its own, but for the user's Ctrl-C."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

from dovetail.errors import BackendError, DovetailError, words_of

LONG: Final = 5.0
"""Seconds after which a plug-in that is still at it is named in a warning."""


@contextmanager
def foreign(name: str) -> Iterator[None]:
    """Run code of the plug-in `name`, whose every failure is an `Exception`.

    A plug-in that ends the process, as `sys.exit` does, or raises KeyboardInterrupt
    itself, has failed like any other: what it raised is the cause of a BackendError.
    A KeyboardInterrupt that came from the keyboard passes.

    Raises:
        BackendError: the code raised what is no `Exception`.
    """
    with _watched_interrupts() as pressed, _named_when_slow(name):
        try:
            yield
        except Exception:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and pressed:
                raise
            raise BackendError(
                f"plug-in {name}", "code", was=f"ended by {words_of(error)}",
                needed="code that leaves the process to its user",
                remedy="uninstall it, or tell its author",
            ) from error  # fmt: skip


@contextmanager
def _watched_interrupts() -> Iterator[list[int]]:
    """A list that fills as the user interrupts; signals reach the main thread alone."""
    import signal  # with its enumerations, half a millisecond

    pressed: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(
        before
    ):
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> Any:
        pressed.append(number)
        return before(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        if signal.getsignal(signal.SIGINT) is note:  # else the plug-in has set its own
            signal.signal(signal.SIGINT, before)


# The plug-ins that are loading; one that has others loaded waits for the last.
_loading: Final[list[str]] = []


@contextmanager
def _named_when_slow(name: str) -> Iterator[None]:
    timer = threading.Timer(LONG, _warn, (name,))
    timer.daemon = True
    _loading.append(name)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        _loading.pop()


def _warn(name: str) -> None:
    if _loading[-1:] == [name]:
        warnings.warn(
            f"the plug-in {name} has been loading for {LONG:.0f} s; DOVETAIL_WITHOUT="
            f"{name} goes without it, where it has kernels alone",
            stacklevel=2,
        )


def broken(name: str, cause: Exception) -> BackendError:
    """The plug-in of the type `name` failed to load, of which the root is named.

    That is what was raised first, or what a backend made of it in our words.
    """
    root: BaseException = cause
    while root.__cause__ is not None and not isinstance(root, DovetailError):
        root = root.__cause__
    return BackendError(
        "device", f"the backend of {name!r}", was=f"broken: {words_of(root)}",
        needed="one that loads",
        remedy="run `dovetail devices` for the state of every backend",
    )  # fmt: skip
