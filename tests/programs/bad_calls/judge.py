"""One call made and judged: in dovetail, and where it answered, in torch."""

from __future__ import annotations

import re
import signal
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.errors import DovetailError
from tests.programs.bad_calls.calls import Call, respelled, targets


class TooSlow(BaseException):
    """A call took longer than it may."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with one call.

    Attributes:
        what: leak, silent, altered, changing or slow.
        name: what was called.
        cause: what findings are grouped by.
        call: a line that shows it.
        told: the whole error.
    """

    what: str
    name: str
    cause: str
    call: str
    told: str = ""

    def json(self) -> dict[str, str]:
        return asdict(self)


def _deep(depth: int) -> Any:
    made: Any = 1.0
    for _ in range(depth):
        made = [made]
    return made


def _put(x: Any, index: Any, value: Any) -> Any:
    x[index] = value
    return x


def _iadd(x: Any, y: Any) -> Any:
    x += y
    return x


class Judge:
    """Judges calls; `theirs` is torch, or None where it is not installed."""

    def __init__(self, theirs: Any, seconds: float) -> None:
        self.theirs = theirs
        self.seconds = seconds
        self.parameters = {
            (t.kind, t.path): t.parameters[t.kind == "method" :] for t in targets()
        }

    def findings(self, call: Call) -> list[Finding]:
        """What is wrong with a call, in dovetail."""
        try:
            return self._judged(call)
        except TooSlow:
            return [Finding("slow", call.name, call.name, str(call))]

    def _judged(self, call: Call) -> list[Finding]:
        first = self._outcome(dt, call)
        if first.error is None:
            return self._beside_torch(call)
        found = []
        if _leaks(first.error, call):
            found.append(self._found("leak", call, first.error))
        if first.altered:
            found.append(Finding("altered", call.name, call.name, str(call)))
        again = self._outcome(dt, call)
        if type(again.error) is not type(first.error):
            found.append(self._found("changing", call, again.error or first.error))
        return found

    def _beside_torch(self, call: Call) -> list[Finding]:
        if self.theirs is None:
            return []
        there = self._outcome(self.theirs, call).error
        if there is None or _absent(there) or wider(there):
            return []
        if isinstance(there, TypeError):  # served, if spelled otherwise?
            own = self.parameters.get((call.kind, call.name), ())
            for same in respelled(call, own):
                if self._outcome(self.theirs, same).error is None:
                    return []
        return [self._found("silent", call, there)]

    def _found(self, what: str, call: Call, error: BaseException) -> Finding:
        told = f"{type(error).__name__}: {error}"
        line = told.splitlines()[0]
        cause = re.sub(r"'[^']*'|\"[^\"]*\"|[-\d.]+", "…", line)[:90] + _place(error)
        return Finding(what, call.name, cause, str(call), told[:300])

    def _outcome(self, lib: Any, call: Call) -> Outcome:
        with (
            _limited(self.seconds),
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
        ):
            warnings.simplefilter("ignore")
            return outcome(lib, call)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended, and whether a refused one left its tensors changed."""

    error: BaseException | None
    altered: bool = False


class _Unbuilt(Exception):
    """An argument could not be made: the call never took place."""


def outcome(lib: Any, call: Call) -> Outcome:
    """Make a call with fresh arguments."""
    space: dict[str, Any] = {
        "torch": lib, "np": np, "deep": _deep, "put": _put, "iadd": _iadd
    }  # fmt: skip
    lib.manual_seed(0)
    try:
        for i, source in enumerate(call.arguments):
            space[f"a{i}"] = eval(source, space)
    except (Exception, TooSlow) as error:
        if isinstance(error, TooSlow):
            raise
        return Outcome(None)
    tensors = [v for v in space.values() if isinstance(v, lib.Tensor)]
    before = [_state(x) for x in tensors] if lib is dt else []
    try:
        eval(call.template, space)
    except TooSlow:
        raise
    except BaseException as error:
        altered = lib is dt and [_state(x) for x in tensors] != before
        return Outcome(error, altered)
    return Outcome(None)


def _state(x: Any) -> Any:
    shape = tuple(x.shape)
    bits = None if x.is_meta else x.detach().clone().cpu()._a.tobytes()
    return shape, x.dtype, x._version, x.requires_grad, bits


@contextmanager
def _limited(seconds: float) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TooSlow

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


# Python's own, said before anything of ours runs.
_SIGNATURE: Final = re.compile(
    r"\w+\(\) (got|takes|missing)|unsupported operand|unsupported format string"
    r"|argument of type|not supported between instances|object is not iterable"
    r"|must be real number|keyword argument"
)


# A layer's own, said of what the user passed on through `Module.__call__`.
_FORWARD: Final = re.compile(r"\.forward\(\) (got|takes|missing)")


def _leaks(error: BaseException, call: Call) -> bool:
    if isinstance(error, DovetailError):
        return False
    # Python's own of a signature, which names the public function that was called.
    own_name = rf"{re.escape(call.name.rsplit('.', 1)[-1])}\(\) (got|takes|missing)"
    signature = _FORWARD.search(str(error)) or re.match(own_name, str(error))
    if isinstance(error, TypeError) and signature:
        return False
    own = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "/dovetail/" in f.filename
    ]
    told = isinstance(error, TypeError) and _SIGNATURE.search(str(error))
    return bool(own) or not told


def _place(error: BaseException) -> str:
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if "dovetail" in f.filename
        and "/tests/" not in f.filename
    ]  # fmt: skip
    if not frames or isinstance(error, DovetailError):
        return ""
    path = frames[-1].filename.rsplit("/src/", 1)[-1]
    return f" ({path}:{frames[-1].lineno})"


# Where torch refuses and dovetail answers rightly, by what torch says, and why.
WIDER: Final[tuple[tuple[str, str], ...]] = (
    (r"not implemented for|not supported for|NotImplemented", "a dtype has no kernel"),
    (r"not implemented on the CPU", "an algorithm is at hand on every device"),
    (r"must be (Tensor|float|Number), not (int|float|bool|complex|Tensor|numpy)",
     "numbers and 0-d tensors stand for one another"),
    (r"got \((int|float|bool|complex), Tensor, out=",
     "numbers and 0-d tensors stand for one another"),
    (r"must be int, not (Tensor|numpy)|got \((dim|\w+)=Tensor",
     "what has __index__ is an integer"),
    (r"different dtypes|same d(ata)?type|[Tt]ype promoting|but got dtype|mixed dtype"
     r"|Promotion for uint|have dtype of long|of type LongTensor|Expected a long",
     "operands are promoted as everywhere"),
    (r"expected scalar[ _]type \w+ but found", "operands are promoted as everywhere"),
    (r"Got unsupported ScalarType", "NumPy's arrays stand beside tensors of any dtype"),
    (r"cannot be converted to type int without overflow", "a size may pass 2³¹"),
    (r"stride divisible by", "strides matter to no result but a view's"),
    (r"U\[[-\d,]+\] is zero and using it", "rounding decides whether a pivot is 0"),
    (r"MKL FFT error", "a transform of no lines has none"),
    (r"view size is not compatible with input tensor's size",
     "strides matter to no result but a view's"),
    (r"object of type 'numpy.\w+' has no len", "what has __index__ is an integer"),
    (r"does not support bool|result type \w+ can't be cast",
     "one dtype is computed as others are"),
)  # fmt: skip


def wider(error: BaseException) -> bool:
    """Whether dovetail may answer although torch refuses with this error."""
    text = f"{type(error).__name__}: {error}"
    return any(re.search(pattern, text) for pattern, _ in WIDER)


def _absent(error: BaseException) -> bool:
    """Whether torch has nothing of that name."""
    lacking = re.match(r"module 'torch|'Tensor' object has no attribute", str(error))
    return isinstance(error, AttributeError) and lacking is not None
