"""Proof that a mutant is one: a call within the contract whose result is not right.

A fault that nobody can see is no fault; such candidates are discarded and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from tests.meta.mutants.calls import Call, drawn
from tests.meta.mutants.mutant import Mutant

from dovetail.conformance.compare import against_oracle
from dovetail.conformance.law import Trial, Wrong
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.subject import Subject
from dovetail.dtypes import complex128, float64
from dovetail.engine.tensor import Tensor

Array = np.ndarray[Any, Any]
TRIES: Final = 250
_SEED: Final = 20_240_613
# A difference of numbers that no rounding in float32 explains.
_BEYOND: Final = 2e-5


@dataclass(frozen=True)
class Witness:
    """A difference that can be seen: in words, and in which dtype if in one."""

    text: str
    dtype: str = ""


def witness(mutant: Mutant, alive: Callable[[], None]) -> Witness | None:
    """A difference that can be seen; None if none was found.

    Args:
        alive: called before each thing that is tried.
    """
    if mutant.observe is not None:
        text = _observed(mutant)
        return None if text is None else Witness(text)
    search = _by_gradients if mutant.patch is not None else _by_calls
    return search(mutant, alive)


# ---- what a witness of its own sees


def _observed(mutant: Mutant) -> str | None:
    assert mutant.observe is not None
    with mutant.sane() as device:
        want = mutant.observe(Subject(device))
    with mutant.planted() as device:
        try:
            got = mutant.observe(Subject(device))
        except Exception as error:
            return f"raises {type(error).__name__}: {error}"
    return differs(got, want)


def differs(got: Any, want: Any) -> str | None:
    """Where two observations differ by more than rounding."""
    if isinstance(want, list | tuple):
        if len(got) != len(want):
            return f"{len(got)} things are seen, not {len(want)}"
        pairs = zip(got, want, strict=True)
        return next((text for a, b in pairs if (text := differs(a, b))), None)
    if isinstance(want, np.ndarray | np.generic | float):
        return _numbers_differ(np.asarray(got), np.asarray(want))
    return None if got == want else f"{got!r} is seen, not {want!r}"


def _numbers_differ(got: Array, want: Array) -> str | None:
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{got.shape} is seen, not {want.dtype}{want.shape}"
    if got.tobytes() == want.tobytes():
        return None
    if want.dtype.kind in "biu":
        far = got != want
    else:
        wide = np.complex128 if want.dtype.kind == "c" else np.float64
        a, b = got.astype(wide), want.astype(wide)
        with np.errstate(all="ignore"):
            near = np.abs(a - b) <= _BEYOND * np.abs(b)
        far = ~(near | (a == b) | (np.isnan(a) & np.isnan(b)))
    if not np.any(far):
        return None
    at = np.unravel_index(int(np.argmax(far)), far.shape) if far.ndim else ()
    return f"{got[at]} is seen, not {want[at]}"


# ---- calls that are searched for


def _by_calls(mutant: Mutant, alive: Callable[[], None]) -> Witness | None:
    with mutant.sane() as right, mutant.planted() as wrong:
        sound, broken = Subject(right), Subject(wrong)
        for call in _calls(mutant, sound, TRIES):
            found = _difference(call, sound, broken, alive)
            if found is not None:
                return Witness(f"{call}: {found}", call.dtype.name)
    return None


def _calls(mutant: Mutant, subject: Subject, count: int) -> Iterator[Call]:
    each = [drawn(op, subject, _SEED + i, count) for i, op in enumerate(mutant.ops)]
    return (call for calls in zip(*each, strict=False) for call in calls)


def _difference(
    call: Call, sound: Subject, broken: Subject, alive: Callable[[], None]
) -> str | None:
    """What is wrong with a call on the broken device and right on the sound one."""
    judges = [_values, _bits, _inputs, _later_calls, _memory]
    if _outcome(call, sound) == _outcome(call, broken):
        judges.remove(_values)  # whose truth may cost a thousand calls
    for judge in judges:
        alive()
        if _said(judge, call, sound) is None:
            found = _said(judge, call, broken)
            if found is not None:
                return found
        elif judge is _values:
            return None  # nobody says what this call should give
    return None


def _said(
    judge: Callable[[Call, Subject], None], call: Call, subject: Subject
) -> str | None:
    try:
        judge(call, subject)
    except Exception as error:  # a kernel may fail in any way
        kind = "" if isinstance(error, Wrong) else f"{type(error).__name__}: "
        return f"{kind}{error}"
    return None


def _outcome(call: Call, subject: Subject) -> object:
    """What a call gives, bit by bit; an error is equal to no other."""
    try:
        results = subject.call(call.op, *call.arguments(subject))
    except Exception as error:  # a kernel may fail in any way
        return error
    found = [subject.values(y) for y in results]
    return [
        (tuple(y.shape), y.dtype, a.shape, a.dtype, a.tobytes())
        for y, a in zip(results, found, strict=True)
    ]


def _values(call: Call, subject: Subject) -> None:
    results = subject.call(call.op, *call.arguments(subject))
    for y in results:
        if _sizes_of(subject, y) != tuple(y.shape):
            raise Wrong(f"the native result is {_sizes_of(subject, y)}")
        if subject.values(y).dtype != y.dtype.numpy:
            raise Wrong(f"the native result is {subject.values(y).dtype}")
    trial = Trial(subject, call.op, call.dtype, call.example, 0)
    against_oracle(trial, results)


def _sizes_of(subject: Subject, y: Tensor) -> tuple[int, ...]:
    return subject.values(y).shape


# They give each element of the input once.
_MOVES: Final = frozenset(("clone", "flip", "roll", "permute", "transpose", "view"))


def _bits(call: Call, subject: Subject) -> None:
    """What moves bits keeps the sign of zero."""
    if call.op.name not in _MOVES or not call.dtype.is_inexact:
        return
    made = subject.call(call.op, *call.arguments(subject))
    values = np.concatenate([np.ravel(subject.values(y)) for y in made])
    had = [a for a in call.example.arrays() if a.dtype == values.dtype]
    if sum(map(_negative_zeros_in, had)) != _negative_zeros_in(values):
        raise Wrong("the sign of a zero is lost")


def _negative_zeros(a: Array) -> Array:
    if a.dtype.kind == "c":
        return np.asarray(np.signbit(a.real) & (a.real == 0))
    return np.asarray(np.signbit(a.astype(np.float64)) & (a == 0))


def _negative_zeros_in(a: Array) -> int:
    return int(np.sum(_negative_zeros(a)))


def _tensors(args: Sequence[Any], kwargs: dict[str, Any]) -> Iterable[Tensor]:
    for value in (*args, *kwargs.values()):
        for x in value if isinstance(value, list | tuple) else [value]:
            if isinstance(x, Tensor):
                yield x


def _inputs(call: Call, subject: Subject) -> None:
    """What is only read is not changed."""
    args, kwargs = call.arguments(subject)
    if call.op.mutates:
        return
    before = [subject.values(x).tobytes() for x in _tensors(args, kwargs)]
    subject.call(call.op, args, kwargs)
    if before != [subject.values(x).tobytes() for x in _tensors(args, kwargs)]:
        raise Wrong("an input was written")


def _later_calls(call: Call, subject: Subject) -> None:
    """A result stays what it is when the op is called again with other values."""
    if call.op.view or call.op.mutates:
        return
    args, kwargs = call.arguments(subject)
    first = subject.call(call.op, args, kwargs)
    kept = [subject.values(y).tobytes() for y in first]
    for x in _tensors(args, kwargs):
        if x._kind.dtype.is_inexact:
            subject.backend.fill(x._a, 0.5)
    subject.call(call.op, args, kwargs)
    if kept != [subject.values(y).tobytes() for y in first]:
        raise Wrong("a result changed when the op was called again")


def _memory(call: Call, subject: Subject) -> None:
    """A result that is no view has memory of its own."""
    if call.op.view or call.op.mutates:
        return
    args, kwargs = call.arguments(subject)
    results = subject.call(call.op, args, kwargs)
    inputs = list(_tensors(args, kwargs))
    for y in results:
        for number in (0, 1):
            subject.backend.fill(y._a, number)
            if any(_shares(x, y) for x in inputs):
                raise Wrong("a result lies in the memory of an input")


def _shares(x: Tensor, y: Tensor) -> bool:
    return bool(np.may_share_memory(x._a, y._a)) and bool(np.shares_memory(x._a, y._a))


# ---- gradients


def _by_gradients(mutant: Mutant, alive: Callable[[], None]) -> Witness | None:
    with mutant.sane() as device:
        subject = Subject(device)
        calls = [c for c in _calls(mutant, subject, TRIES) if _small(c)]
        want = [_gradients(call, subject) for call in calls]
    with mutant.planted() as device:
        subject = Subject(device)
        for call, right in zip(calls, want, strict=True):
            if right is None:
                continue
            alive()
            found = _gradients(call, subject)
            said = "raises" if found is None else differs(found, right)
            if said is not None:
                return Witness(f"{call}: the gradient {said}", call.dtype.name)
    return None


def _small(call: Call) -> bool:
    wide = call.dtype in (float64, complex128)
    return wide and sum(a.size for a in call.example.arrays()) < 500


def _gradients(call: Call, subject: Subject) -> list[Array] | None:
    """First and second derivatives; None where the call is refused."""
    try:
        tape = dx.taped(subject, call.op, call.example, call.dtype)
        if not tape.leaves or not tape.results:
            return None
        first = dx.pulled(subject, tape, dx.like(tape.results, 5), again=True)
        found = dx.filled(subject, first, tape.leaves)
        again = [g for g in first if g is not None and g.requires_grad]
        if again:
            second = dx.Taped(tape.leaves, again)
            pulled = dx.pulled(subject, second, dx.like(again, 6))
            found += dx.filled(subject, pulled, tape.leaves)
    except Exception:  # sizes that the op refuses
        return None
    return found
