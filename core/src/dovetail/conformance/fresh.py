"""A process in which a device has made no call yet: what history cannot have changed.

`python -m dovetail.conformance.fresh acme:0` loads the device and answers requests on
its standard input, each in a fork of its own where the device bears that, so that no
answer depends on another.
"""

from __future__ import annotations

import atexit
import gc
import io
import os
import pickle
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from typing import IO, Any, Final

import dovetail.ops  # noqa: F401 (declares what requests name)
from dovetail.conformance.reference import TYPE, install
from dovetail.conformance.runner import child
from dovetail.conformance.sequence import Seen, Step, seen
from dovetail.conformance.setup import SETUP, bring, brought, named
from dovetail.conformance.subject import Subject
from dovetail.device_api.contract import Backend
from dovetail.device_api.discovery import entry_of
from dovetail.engine.host import set_fallback_policy
from dovetail.engine.op import Op, vocabulary
from dovetail.errors import BackendError, DeviceError

_HAS_FORK: Final = hasattr(os, "fork")
Load = Callable[[], Subject]


class Missing(Exception):
    """There is no such process: why, in words."""


@dataclass(slots=True)
class Fresh:
    """Another process, asked for what calls give there.

    Attributes:
        forks: whether it answers each request in a process that has made no call.
        backend: whose device it has.
    """

    requests: IO[bytes]
    answers: IO[bytes]
    end: Callable[[], Any]
    forks: bool
    backend: Backend | None = None

    def seen(self, op: Op, steps: Sequence[Step]) -> list[Seen]:
        """What calls give there, made in that order.

        Raises:
            Missing: it cannot load the device, or it died.
        """
        found: list[Seen] = self._asked((op.name, list(steps)))
        return found

    def has(self, backend: Backend) -> bool:
        """Whether it could load the device, and from the same class."""
        try:
            return bool(self._asked(None) == _class_of(backend))
        except Missing:
            return False

    def _asked(self, request: Any) -> Any:
        try:
            pickle.dump(request, self.requests)
            self.requests.flush()
            failed, found = pickle.load(self.answers)
        except (EOFError, BrokenPipeError) as error:
            raise Missing("it ended without an answer") from error
        if failed:
            raise Missing(found)
        return found

    def close(self) -> None:
        """End the process."""
        self.let_go()
        self.end()

    def let_go(self) -> None:
        """Hold neither pipe, in this process."""
        for stream in (self.requests, self.answers):
            with suppress(OSError):
                stream.close()


# By device string, the process that stands by.
_known: Final[dict[str, Fresh]] = {}


@atexit.register
def _close_all() -> None:
    while _known:
        _known.popitem()[1].close()


def fresh(subject: Subject) -> Fresh:
    """The process for a device, started on first use.

    It loads the device anew where a package or a set-up module announces it. A device
    that was registered by hand is taken as it is now, by a fork.

    Raises:
        Missing: there is neither.
    """
    known = _known.get(subject.device)
    if known is not None and known.backend in (None, subject.backend):
        return known
    if known is not None:
        _known.pop(subject.device).close()
    made = _announced(subject) or _as_it_is(subject)
    made.backend = subject.backend
    _known[subject.device] = made
    return made


def _announced(subject: Subject) -> Fresh | None:
    """A new interpreter that loads the device; None if it cannot be found there.

    Its environment is ours: libraries sum with as many threads, in the same order.
    """
    kind, modules = subject.backend.type.split(":")[-1], named(brought())
    try:
        found = kind == TYPE or modules or entry_of(kind)
    except BackendError:  # claimed twice, and registered by hand
        return None
    if not found:
        return None
    process = child.start(
        __name__, [subject.device], apart=False, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        environ={"PYTHONHASHSEED": "0", SETUP: ",".join(modules)},
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    forks = _HAS_FORK and subject.backend.fork_safe
    made = Fresh(process.stdin, process.stdout, process.wait, forks)
    if made.has(subject.backend):
        return made
    made.close()
    return None


def _class_of(backend: Backend) -> str:
    return f"{type(backend).__module__}.{type(backend).__qualname__}"


def _as_it_is(subject: Subject) -> Fresh:
    if not (_HAS_FORK and subject.backend.fork_safe):
        raise Missing(
            f"no package announces {subject.backend.type}, and it cannot be forked"
        )
    return _forked(lambda: subject)


@contextmanager
def standing_by(device: str, load: Load) -> Iterator[None]:
    """Have a process that loads a device when it is first asked, forked now.

    Args:
        load: makes the device there.
    """
    if device in _known:
        _known.pop(device).close()
    if _HAS_FORK:
        _known[device] = _forked(load)
    try:
        yield
    finally:
        if device in _known:
            _known.pop(device).close()


def _forked(load: Load) -> Fresh:
    """A fork of this process that answers."""
    theirs, ours = os.pipe()
    mine, others = os.pipe()
    number = os.fork()
    if not number:
        try:
            os.close(ours)
            os.close(mine)
            _forget_others()
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            serve(os.fdopen(theirs, "rb"), os.fdopen(others, "wb"), load)
        finally:
            os._exit(0)
    os.close(theirs)
    os.close(others)
    return Fresh(os.fdopen(ours, "wb"), os.fdopen(mine, "rb"),
                 lambda: os.waitpid(number, 0), forks=True)  # fmt: skip


# ---- the other side


def _forget_others() -> None:
    """Hold no pipe of other processes here: they end when nobody can ask them."""
    while _known:
        _known.popitem()[1].let_go()


def serve(requests: IO[bytes], answers: IO[bytes], load: Load) -> None:
    """Answer requests until there are none."""
    subject: Subject | None = None
    while True:
        try:
            request = pickle.load(requests)
        except EOFError:
            return
        try:
            subject = subject or _loaded(load)
            answer = _answered(subject, request)
        except Exception as error:  # a plug-in may fail in any way
            answer = pickle.dumps((True, f"{type(error).__name__}: {error}"))
        answers.write(answer)
        answers.flush()


def _loaded(load: Load) -> Subject:
    subject = load()
    set_fallback_policy("error")
    gc.collect()
    gc.freeze()  # forks share what is never looked at
    return subject


def _answered(subject: Subject, request: tuple[str, Sequence[Step]] | None) -> bytes:
    """The answer, pickled; made in a process of its own where that can be."""
    if request is None:
        return pickle.dumps((False, _class_of(subject.backend)))
    op, steps = vocabulary[request[0]], request[1]
    if not (_HAS_FORK and subject.backend.fork_safe):
        return pickle.dumps((False, seen(subject, op, steps)))
    theirs, ours = os.pipe()
    number = os.fork()
    if not number:
        try:
            os.close(theirs)
            had = set(sys.modules)
            with os.fdopen(ours, "wb") as answers:
                pickle.dump((False, seen(subject, op, steps)), answers)
                pickle.dump([name for name in sys.modules if name not in had], answers)
        finally:
            os._exit(0)
    os.close(ours)
    with os.fdopen(theirs, "rb") as answers:
        found = answers.read()
    _, status = os.waitpid(number, 0)
    if found:
        return _had(found)
    death = child.death(os.waitstatus_to_exitcode(status))
    return pickle.dumps((True, f"it ended with {death}"))


def _had(answers: bytes) -> bytes:
    """A fork's answer; what it had to import, the next ones have.

    A compiler takes longer to import than most calls take.
    """
    read = io.BytesIO(answers)
    pickle.load(read)
    answer = answers[: read.tell()]
    imported: list[str] = []
    with suppress(EOFError):  # it died after it had answered
        imported = pickle.load(read)
    for name in imported:
        with suppress(Exception):
            import_module(name)
    if imported:
        gc.collect()
        gc.freeze()
    return answer


def main() -> None:
    """Serve the device that the command line names."""
    requests, answers = (os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb"))
    os.dup2(2, 1)  # what a library prints is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    serve(requests, answers, lambda: _named(sys.argv[1]))


def _named(device: str) -> Subject:
    for name in named():
        bring(name)
    install()
    try:
        return Subject(device)
    except DeviceError as error:
        raise Missing(str(error)) from error


if __name__ == "__main__":
    main()
