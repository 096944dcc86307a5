"""Results that come later: torch.futures."""

from __future__ import annotations

import threading
import typing as _typing
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from dovetail.engine.missing_names import missing_name as _missing_name

T = TypeVar("T")
S = TypeVar("S")


class Future(Generic[T]):
    """A result, or an error, that somebody sets and others wait for.

    Args:
        devices: taken for torch's sake: results are there when they are set.

    Examples:
        >>> from dovetail.futures import Future
        >>> result = Future()
        >>> after = result.then(lambda r: r.value() + 1)
        >>> result.set_result(1)
        >>> after.wait()
        2
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._set = threading.Event()
        self._lock = threading.Lock()
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[], None]] = []

    def done(self) -> bool:
        """Whether the result is there."""
        return self._set.is_set()

    def wait(self) -> T:
        """The result, once it is there; raises what was set as its error."""
        self._set.wait()
        return self.value()

    def value(self) -> T:
        """The result, which has to be there.

        Raises: RuntimeError if it is not.
        """
        if not self.done():
            raise RuntimeError("the Future has no result yet: wait() waits for it")
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value

    def set_result(self, result: T) -> None:
        """Let those go on that wait.

        Raises: RuntimeError if there is a result already.
        """
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Let those that wait raise an error."""
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self.done():
                raise RuntimeError("the Future has a result already")
            self._value, self._error = value, error
            self._set.set()
            waiting, self._callbacks = self._callbacks, []
        for callback in waiting:
            callback()

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call a function with this once the result is there."""
        with self._lock:
            if not self.done():
                self._callbacks.append(lambda: callback(self))
                return
        callback(self)

    def then(self, callback: Callable[[Future[T]], S]) -> Future[S]:
        """What a function gives of this once the result is there."""
        after: Future[S] = Future()

        def follow(done: Future[T]) -> None:
            try:
                after.set_result(callback(done))
            except Exception as error:
                after.set_exception(error)

        self.add_done_callback(follow)
        return after


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """All of them, once all are done."""
    done: Future[list[Future[Any]]] = Future()
    left = [len(futures)]
    lock = threading.Lock()

    def count(_: Future[Any]) -> None:
        with lock:
            left[0] -= 1
        if not left[0]:
            done.set_result(futures)

    for future in futures:
        future.add_done_callback(count)
    if not futures:
        done.set_result(futures)
    return done


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all; raises the first error among them."""
    return [future.wait() for future in futures]


__all__ = ["Future", "collect_all", "wait_all"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
