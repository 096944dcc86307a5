"""What a call hands out belongs to the user, who may write it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import dovetail as dt
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws import derivatives as dx
from dovetail.conformance.laws.agreement import judged, named, same_bits
from dovetail.conformance.laws.repeatable import declares
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.subject import Subject
from dovetail.dtypes import FLOAT8, Array, DType
from dovetail.engine import autograd
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor

_MARK: Final = 77


@dataclass(frozen=True, slots=True)
class _Held:
    """A tensor that the user has, and what it was.

    Attributes:
        forward: whether it is a result of the call, and no gradient.
    """

    name: str
    x: Tensor
    value: Array
    forward: bool = False


def _computes(subject: Subject, op: Op, dtype: DType) -> bool:
    """Whether gradients can be asked for, and added up."""
    return dtype not in FLOAT8 and declares(subject, op, dtype)


@law("writes", examples=some(1, 1), fits=_computes, rank=42)
def writes(trial: Trial) -> None:
    """Results and gradients may be written, and nothing else changes by that.

    Neither what else the user holds, nor what the same call, or one that has nothing
    to do with it, gives afterwards; nor the numbers that all calls share.
    """
    with dt.enable_grad():
        inputs, handed = _made(trial)
        want = [held.value for held in handed]
        numbers, other = _numbers(trial), _unrelated(trial)
        for at, held in enumerate(handed):
            around = [] if trial.op is not None and trial.op.view else inputs
            _write(trial, held)
            _expect_kept(trial, held.name, [*around, *handed[at + 1 :]])
        after = f"when {', '.join(held.name for held in handed)} had been written"
        for number, before in numbers.items():
            now = trial.subject.backend.copy_out(number.native)
            same_bits(f"the number {number.value!r}, {after},", now, before)
        for one in other:
            _write(trial, one)
        for again, one in zip(_unrelated(trial), other, strict=True):
            same_bits(f"{one.name}, {after},", again.value, one.value)
        gradients_too = _promises_gradients(trial)
        for held, before in zip(_made(trial)[1], want, strict=True):
            if held.forward or gradients_too:
                same_bits(f"{held.name} of the same call, {after},", held.value, before)


def _promises_gradients(trial: Trial) -> bool:
    """Whether all kernels give the same bits again: any may be part of a gradient."""
    table = trial.subject.backend.table
    return all(k.deterministic for name in table.names() for k in table.rivals(name))


def _made(trial: Trial) -> tuple[list[_Held], list[_Held]]:
    """What a call is given, and all that it hands out, forwards and backwards."""
    op, dtype = judged(trial)
    subject = trial.subject
    if not (dx.differentiates(op) and dtype.is_inexact):
        args, kwargs = subject.arguments(op, trial.example, dtype)
        results = subject.call(op, args, kwargs)
        named_results = _named_results(op, results)
        return [], [_held(subject, n, y, True) for n, y in named_results]
    tape = dx.taped(subject, op, trial.example, dtype)
    found = _named_results(op, tape.every)
    given = [(f"input {i}", x) for i, x in enumerate(tape.leaves)]
    if tape.results:
        given += _gradients(subject, tape, found)
    inputs = [_held(subject, n, x) for n, x in given]
    count = len(tape.every)
    return inputs, [_held(subject, n, y, i < count) for i, (n, y) in enumerate(found)]


def _gradients(
    subject: Subject, tape: dx.Taped, found: list[tuple[str, Tensor]]
) -> list[tuple[str, Tensor]]:
    """Add every gradient to what was found; the cotangents that they were made of."""
    cts = [subject.tensor(c) for c in dx.like(tape.results, 5)]
    asked = autograd.grad(
        tape.results, tape.leaves, cts, allow_unused=True, retain_graph=True
    )
    results = [*tape.results]
    for y in results:
        if not y.is_leaf:
            y.retain_grad()
    loss = results[0].sum()
    seed = None if _is_real(loss) else [dt.ones_like(loss)]
    first = autograd.grad([loss], [loss], seed, retain_graph=True)
    held = [("the gradient of a sum by itself", first[0])]
    autograd.backward(results, [subject.tensor(c) for c in dx.like(results, 5)])
    held += [(f"the gradient kept at {n}", y.grad) for n, y in found]
    held += [(f"the gradient of input {i}", g) for i, g in enumerate(asked)]
    held += [(f"input {i}.grad", x.grad) for i, x in enumerate(tape.leaves)]
    found += [(n, g) for n, g in held if g is not None]
    return [(f"cotangent {i}", ct) for i, ct in enumerate(cts)]


def _is_real(y: Tensor) -> bool:
    return not y.dtype.is_complex


def _named_results(op: Op, results: Iterable[Tensor]) -> list[tuple[str, Tensor]]:
    return [(named(op, at), y) for at, y in enumerate(results)]


def _held(subject: Subject, name: str, x: Tensor, forward: bool = False) -> _Held:
    return _Held(name, x, subject.values(x), forward)


def _write(trial: Trial, held: _Held) -> None:
    """Write as a user does; a view whose elements share memory refuses it."""
    try:
        with dt.no_grad():
            for mark in (True, False) if held.x.dtype.category == 0 else (_MARK,):
                held.x.fill_(mark)
    except RuntimeError as error:
        if trial.op is None or not trial.op.view:
            raise Wrong(f"{held.name} cannot be written: {error}") from error


def _expect_kept(trial: Trial, name: str, others: list[_Held]) -> None:
    for held in others:
        now = trial.subject.values(held.x)
        if now.tobytes() != held.value.tobytes():
            raise Wrong(f"{held.name} changed when {name} was written")


# ---- what has nothing to do with the call


@dataclass(frozen=True, eq=False, slots=True)
class _Number:
    """A number that core keeps on the device for all calls."""

    value: Any
    native: Any


def _numbers(trial: Trial) -> dict[_Number, Array]:
    """The numbers kept on the device so far in the trial's dtype, and their bits."""
    _, dtype = judged(trial)
    caches = trial.subject.kind(dtype).scalars.values()
    known = [_Number(v, n) for cache in caches for v, n in cache.items()]
    return {n: trial.subject.backend.copy_out(n.native) for n in known}


def _unrelated(trial: Trial) -> list[_Held]:
    """What a few calls give that everybody makes, in the trial's dtype."""
    return [_held(trial.subject, name, y) for name, y in _calls(trial)]


def _calls(trial: Trial) -> Iterator[tuple[str, Tensor]]:
    _, dtype = judged(trial)
    how: dict[str, Any] = {"device": trial.subject.device, "dtype": dtype}
    ones = dt.ones(3, **how)
    yield "ones(3)", ones
    yield "zeros(3)", dt.zeros(3, **how)
    yield "tensor(1)", dt.tensor(1, **how)
    if dtype.category == 0:
        yield "ones(3) & True", ones & True
        return
    yield "ones(3) + 1", ones + 1
    yield "2 * ones(3)", 2 * ones
    if dtype.is_floating_point:
        x = dt.ones(3, **how, requires_grad=True)
        total = (x * 3).sum()
        for name, y in zip(
            ("x", "t"), autograd.grad([total], [x, total]), strict=False
        ):
            assert y is not None
            yield f"the gradient of t = (3 * x).sum() at {name}", y
