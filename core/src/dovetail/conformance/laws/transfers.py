"""What a kernel moves between host and device while it runs: nothing."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.examples import examples
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import judged
from dovetail.conformance.laws.sampling import elements, largest
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import How
from dovetail.device_api.capabilities import HostMemory
from dovetail.device_api.contract import Backend
from dovetail.dtypes import DType
from dovetail.engine.op import Op

# Sizes, strides and flags may be moved, one for each dim; data may not.
_FEW: Final = 8
_LARGEST: Final = 1 << 13
_COPIES: Final = ("copy_in", "copy_out", "copy_in_later", "copy_out_later")
# How arrays of other libraries are read on the host.
_READS: Final = ("__array__", "__dlpack__", "tolist", "item", "numpy", "get")


def _is_away(subject: Subject, op: Op, dtype: DType) -> bool:
    """A kernel of the device's own, on memory that is not the host's."""
    own = subject.how(op, dtype) is How.NATIVE
    return own and subject.backend.capability(HostMemory) is None


def _calls(subject: Subject, op: Op, dtype: DType, budget: Budget) -> Iterator[Example]:
    """The largest call."""
    example = largest(op, dtype, examples(subject, op, dtype, budget), _LARGEST)
    if example is not None:
        yield example


@law("transfers", examples=_calls, fits=_is_away, rank=43)
def transfers(trial: Trial) -> None:
    """A kernel runs where its arrays are: none moves data to the host, or from it.

    Seen are the backend's `copy_in` and `copy_out`, however they are reached, and what
    reads a native array on the host, in the thread that calls. What a driver copies by
    functions of its own is not: nothing in the contract knows of them. Where memory is
    the host's, there is nothing to move, and the law does not apply.
    """
    op, dtype = judged(trial)
    subject = trial.subject
    if elements(op, trial.example, dtype) <= _FEW:
        return  # as little as a kernel may ask for
    args, kwargs = subject.arguments(op, trial.example, dtype)
    subject.backend.synchronize(subject.index)
    with watched(subject.backend) as moved:
        results = subject.call(op, args, kwargs)
        subject.backend.synchronize(subject.index)
    del results
    large = [(name, count) for name, count in moved if count > _FEW]
    if large:
        told = ", ".join(f"{name} of {count} elements" for name, count in large[:4])
        raise Wrong(f"{op.name} moves data between host and device: {told}")


@contextmanager
def watched(backend: Backend) -> Iterator[list[tuple[str, int]]]:
    """What is copied meanwhile, in this thread: by which function, how many elements.

    Python's profiling hook sees every call, also of methods that were looked up before.
    """
    codes = _codes(backend)
    moved: list[tuple[str, int]] = []

    def see(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and frame.f_code in codes:
            moved.append((codes[frame.f_code], _count(frame)))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        yield moved
    finally:
        sys.setprofile(before)


def _codes(backend: Backend) -> dict[CodeType, str]:
    """The code of all that copies, by name."""
    of_backend = [(name, vars(backend).get(name)) for name in _COPIES]
    for cls in type(backend).__mro__:
        of_backend += [(name, vars(cls).get(name)) for name in _COPIES]
    of_array = [
        (name, vars(cls).get(name))
        for cls in backend.array.__mro__ for name in _READS
    ]  # fmt: skip
    functions = ((n, getattr(f, "__func__", f)) for n, f in of_backend + of_array)
    coded = ((n, getattr(f, "__code__", None)) for n, f in functions)
    return {code: name for name, code in coded if code is not None}


def _count(frame: FrameType) -> int:
    """Elements of the array that a copying function was given."""
    names = frame.f_code.co_varnames[: frame.f_code.co_argcount]
    values = [frame.f_locals[name] for name in names]
    arrays = (v for v in values if not isinstance(v, Backend) and hasattr(v, "shape"))
    found = next(arrays, None)
    return 0 if found is None else math.prod(found.shape)
