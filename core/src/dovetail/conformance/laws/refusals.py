"""What an op must refuse: with a class, a text, and nothing modified."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import arrays, judged, same_bits
from dovetail.conformance.laws.memory_of_calls import watched
from dovetail.conformance.laws.repeatable import declares
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import How
from dovetail.device_api.capabilities import Pool
from dovetail.dtypes import Array, DType, bool_, complex64, float16, float32, int32
from dovetail.engine.attributes import NORMALISERS
from dovetail.engine.op import Op
from dovetail.engine.parameters import REQUIRED
from dovetail.engine.signature import Signature
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    DeviceError,
    DimError,
    DovetailError,
    DTypeError,
    IndexOutOfRange,
    ShapeError,
)

Broken = tuple[str, type[Exception], list[Any], dict[str, Any]]
_FAR: Final = 1_000_000
_DIM_TYPES: Final = tuple(
    NORMALISERS[name] for name in (
        "Axis", "Axes", "AxesIfAny", "AxesGiven", "AxisList", "AxisSet", "AxisOrAll",
        "AxisOrEvery", "AxesOrEvery",
    )
)  # fmt: skip

_SEVERAL: Final = (NORMALISERS["AxisList"], NORMALISERS["AxisSet"])


def _leads(subject: Subject, op: Op, dtype: DType) -> bool:
    """In one dtype, for what is refused does not depend on it."""
    order = (float32, int32, bool_, complex64)
    found = [d for d in order if d in op.accepts and subject.claims(d)]
    return bool(op.params) and bool(found) and dtype is found[0]


@law("refused", examples=some(2, 0), fits=_leads, rank=40, shrinks=False)
def refused(trial: Trial) -> None:
    """Wrong arguments are refused by a named error, and nothing is modified by that."""
    op, dtype = judged(trial)
    subject = trial.subject
    args, kwargs, seen = watched(trial)
    good = arrays(trial, subject.run(op, trial.example, dtype))
    native = subject.how(op, dtype) is How.NATIVE
    for what, wanted, broken, by_name in _breakages(trial, args, kwargs):
        before = _live(subject)
        _is_refused(subject, op, native, what, wanted, broken, by_name)
        for one in seen:
            one.intact(subject)
        _frees(subject, before, what)
    if declares(subject, op, dtype):
        for a, b in zip(good, _again(trial), strict=True):
            same_bits("the result of a good call after refused ones", b, a)


def _again(trial: Trial) -> list[Any]:
    op, dtype = judged(trial)
    return arrays(trial, trial.subject.run(op, trial.example, dtype))


def _is_refused(
    subject: Subject,
    op: Op,
    native: bool,
    what: str,
    wanted: type[Exception],
    args: list[Any],
    kwargs: Any,
) -> None:
    try:
        op.function(*args, **kwargs)
        subject.backend.synchronize(subject.index)  # may be found out no sooner
    except wanted as error:
        text = str(error)
        if not _names(op, native, text):
            raise Wrong(f"{what} is refused without naming the op: {text!r}") from None
    except Exception as error:
        raise Wrong(
            f"{what} raises {type(error).__name__}: {error}; needed {wanted.__name__}"
        ) from error
    else:
        raise Wrong(f"{what} is not refused, needed {wanted.__name__}")


def _names(op: Op, native: bool, text: str) -> bool:
    """Whether an error names the op; a body may leave it to the op that found out."""
    own = op.name.strip("_").removesuffix("_backward").removesuffix("_grad")
    return own in text or (not native and ":" in text)


def _live(subject: Subject) -> int | None:
    pool = subject.backend.capability(Pool)
    return None if pool is None else pool.live_bytes(subject.index)


def _frees(subject: Subject, before: int | None, what: str) -> None:
    """Raise where a refused call kept memory."""
    if before is None or _live(subject) == before:
        return
    gc.collect()
    after = _live(subject)
    if after is not None and after > before:
        raise Wrong(f"{what}, refused, left {after - before} bytes allocated")


def _breakages(
    trial: Trial, args: list[Any], kwargs: dict[str, Any]
) -> Iterator[Broken]:
    for rule in (
        _missing,
        _unknown,
        _dtype,
        _two_dtypes,
        _dims,
        _indices,
        _devices,
        _sizes,
        _by_rule,
    ):
        yield from rule(trial, list(args), dict(kwargs))


def _missing(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    op, _ = judged(trial)
    if op.params[0].default is REQUIRED:
        yield "a call without arguments", TypeError, [], {}


def _unknown(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    yield "an unknown argument", TypeError, args, {**kwargs, "nonsense": 1}


def _dtype(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """Every input in a dtype that the op does not accept."""
    op, _ = judged(trial)
    refused = [
        d
        for d in (complex64, int32, bool_)
        if d not in op.accepts and trial.subject.claims(d)
    ]
    if op.promote == "float":
        refused = [d for d in refused if d.is_inexact]
    if not refused or not op.tensors or not isinstance(args[op.lead_at], Tensor):
        return

    def cast(name: str, value: Any) -> Any:
        if name in op.indices | op.masks or not isinstance(value, Tensor):
            return value
        a = trial.subject.values(value)
        if not refused[0].is_complex:
            a = a.real
        a = a.astype(refused[0].numpy)
        return trial.subject.tensor(a)

    yield (
        f"an input of {refused[0].name}", DTypeError,
        [cast(p.name, v) for p, v in zip(op.params, args, strict=False)],
        {k: cast(k, v) for k, v in kwargs.items()},
    )  # fmt: skip


def _two_dtypes(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """The last input in another dtype, where all must have one."""
    op, dtype = judged(trial)
    tensors = [i for i, v in enumerate(args) if isinstance(v, Tensor)]
    others = [
        d for d in (float32, float16, int32)
        if d is not dtype and d in op.accepts and trial.subject.claims(d)
    ]  # fmt: skip
    if op.promote != "equal" or len(tensors) < 2 or not others:
        return
    at = tensors[-1]
    a = trial.subject.values(args[at])
    a = (a if others[0].is_complex else a.real).astype(others[0].numpy)
    broken = [*args[:at], trial.subject.tensor(a), *args[at + 1 :]]
    yield f"{op.params[at].name} of {others[0].name}", DTypeError, broken, kwargs


def _dims(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """A dim that the input does not have."""
    op, _ = judged(trial)
    for at, param in enumerate(op.params):
        if param.normalise in _DIM_TYPES and op.tensors:
            far: Any = 99
            if param.normalise in _SEVERAL:
                far = (99,)
            by_name = at >= len(args)
            broken = args if by_name else [*args[:at], far, *args[at + 1 :]]
            named = {**kwargs, param.name: far} if by_name else kwargs
            yield f"{param.name}=99", DimError, broken, named


def _indices(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """An index far outside, and those next to the last that there are.

    Primitives are given those that the engine checked.
    """
    op, dtype = judged(trial)
    if dtype in op.primitive or op.name.endswith("_backward"):
        return
    for at, param in enumerate(op.params):
        value = args[at] if at < len(args) else None
        asked = op.indices - op.trusted
        if param.name not in asked or not isinstance(value, Tensor):
            continue
        a = trial.subject.values(value)
        if not a.size:
            continue
        sizes = {n for x in args if isinstance(x, Tensor) for n in x.shape}
        near = (m for n in sorted({0, *sizes}) for m in (n, -1 - n))
        for place, index in ((0, _FAR), *((-1, n) for n in near)):
            b = a.copy()
            b.flat[place] = index
            if index != _FAR and not _is_outside(trial, args, kwargs, at, b):
                continue
            broken = [*args[:at], trial.subject.tensor(b), *args[at + 1 :]]
            yield f"{param.name} with {index}", IndexOutOfRange, broken, kwargs


def _is_outside(trial: Trial, args: list[Any], kwargs: Any, at: int, a: Array) -> bool:
    """Whether the reference refuses an argument for its indices."""
    judge = reference()
    values = [trial.subject.values(x) if isinstance(x, Tensor) else x for x in args]
    values[at] = a
    there = [judge.tensor(v) if isinstance(v, np.ndarray) else v for v in values]
    try:
        judged(trial)[0].function(*there, **kwargs)
    except IndexOutOfRange:
        return True
    except DovetailError:
        return False
    return False


def _devices(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """Inputs on two devices."""
    tensors = [i for i, v in enumerate(args) if isinstance(v, Tensor)]
    numbers = any(not args[i].ndim for i in tensors)  # these may mix
    if len(tensors) < 2 or numbers or trial.subject.backend.rules_only:
        return
    at = tensors[-1]
    elsewhere = Subject("meta").tensor(trial.subject.values(args[at]))
    broken = [*args[:at], elsewhere, *args[at + 1 :]]
    yield "inputs on two devices", DeviceError, broken, kwargs


def _sizes(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """Sizes of one letter, or of operands that broadcast, that differ."""
    op, _ = judged(trial)
    tensors = [i for i, v in enumerate(args) if isinstance(v, Tensor)]
    if not isinstance(op.shape, Signature) or len(tensors) < 2:
        return
    at = tensors[-1]
    axis = _shared_axis(op.shape, at)
    a, b = args[tensors[0]], args[at]
    if axis is None or not a.ndim or b.ndim < -axis or b.shape[axis] < 2:
        return
    if op.is_elementwise and a.shape[-1] < 2:
        return
    host = trial.subject.values(b)
    wider = np.concatenate([host, np.take(host, [0], axis)], axis)
    broken = [*args[:at], trial.subject.tensor(wider), *args[at + 1 :]]
    yield "sizes that do not fit", ShapeError, broken, kwargs


def _by_rule(trial: Trial, args: list[Any], kwargs: Any) -> Iterator[Broken]:
    """Sizes that a rule written as a function refuses, on meta, if there are any."""
    op, _ = judged(trial)
    tensors = [i for i, v in enumerate(args) if isinstance(v, Tensor)]
    if not callable(op.shape) or len(tensors) < 2:
        return
    meta = Subject("meta")
    shapes = {i: meta.tensor(trial.subject.values(args[i])) for i in tensors}
    at = tensors[1]
    host = trial.subject.values(args[at])
    for axis in (n for n, size in enumerate(host.shape) if size > 1):
        wider = np.concatenate([host, np.take(host, [0], axis)], axis)
        said = [shapes.get(i, v) for i, v in enumerate(args)]
        said[at] = meta.tensor(wider)
        try:
            op.function(*said, **kwargs)
        except ShapeError:
            broken = [*args[:at], trial.subject.tensor(wider), *args[at + 1 :]]
            yield (
                f"size {host.shape[axis] + 1} of dim {axis}",
                ShapeError,
                broken,
                kwargs,
            )
        except Exception:
            return


def _shared_axis(shape: Signature, at: int) -> int | None:
    """A dim of that input whose size the first input has too."""
    if shape.elementwise or at >= len(shape.inputs) or shape.inputs[at].at is not None:
        return -1
    names = shape.inputs[at].names
    shared = [n for n in names if n in shape.inputs[0].names]
    return names.index(shared[0]) - len(names) if shared else None
