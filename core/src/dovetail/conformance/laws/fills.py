"""Random numbers written into tensors: the same ones, however these lie in memory."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, Wrong, device_law
from dovetail.conformance.laws.bits import expect_bits
from dovetail.conformance.layouts import LAYOUTS, Span, poison
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import DovetailError

# Few numbers, and more than a kernel draws at once.
_SHAPES: Final = ((3, 5), (7, 2, 65))
_SEED: Final = 1234
_HALF: Final = 0.5  # for what a fill asks for and has no default


def _lie(subject: Subject, dtype: DType | None, budget: Budget) -> Iterator[Example]:
    for shape in _SHAPES:
        for name, layout in LAYOUTS.items():
            if layout.writable and layout.place(shape) is not None:
                size = " x ".join(map(str, shape))
                yield Example(layout=name, size=size, known={"shape": shape})


def _is_real(subject: Subject, dtype: DType | None) -> bool:
    return dtype is not None and not dtype.is_complex


@device_law("fills", examples=_lie, fits=_is_real, rank=42)
def fills(trial: Trial) -> None:
    """`x.normal_()` and its like write the same numbers into any layout.

    They go by index and never by address, write nothing beside the elements, and move
    the generator by as much.
    """
    found = {name: fill for name, fill in in_place().items() if _takes(trial, fill)}
    for name, fill in found.items():
        _expect_same(trial, name, fill)


def in_place() -> dict[str, Callable[..., Any]]:
    """The methods of tensors that write random numbers, by name."""
    methods = ((n, getattr(Tensor, n)) for n in dir(Tensor) if n.endswith("_"))
    plain = ((n, f) for n, f in methods if not n.startswith("_") and callable(f))
    return {n: f for n, f in plain if "generator" in _parameters(f)}


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except ValueError:  # it is none of ours
        return {}


def _takes(trial: Trial, fill: Callable[..., Any]) -> bool:
    """Whether a fill has numbers of the trial's dtype at all."""
    assert trial.dtype is not None
    try:
        _filled(
            trial, fill, dt.zeros(2, dtype=trial.dtype, device=trial.subject.device)
        )
    except (DovetailError, RuntimeError, TypeError, ValueError):
        return False
    return True


def _filled(trial: Trial, fill: Callable[..., Any], x: Tensor) -> int:
    """Where the generator is after a fill."""
    asked = [p for p in _parameters(fill).values() if p.kind is not p.KEYWORD_ONLY][1:]
    needed = [_HALF for p in asked if p.default is p.empty]
    by = dt.Generator(device=trial.subject.device).manual_seed(_SEED)
    fill(x, *needed, generator=by)
    return int(by.offset)


def _expect_same(trial: Trial, name: str, fill: Callable[..., Any]) -> None:
    dtype, shape = trial.dtype, trial.example.known["shape"]
    assert dtype is not None
    plain = dt.zeros(shape, dtype=dtype, device=trial.subject.device)
    at = _filled(trial, fill, plain)
    span = LAYOUTS[trial.example.layout].place(shape)
    assert span is not None
    root, x = _laid(trial, dtype, span)
    now = _filled(trial, fill, x)
    what = f"x.{name}() of a {trial.example.layout} tensor"
    expect_bits(what, trial.subject.values(x), trial.subject.values(plain))
    if now != at:
        raise Wrong(f"{what} moved the generator to {now}, a contiguous one to {at}")
    beside = np.ones(span.size, bool)
    beside[_places(shape, span)] = False
    left = trial.subject.backend.copy_out(root)[beside]
    expect_bits(f"memory beside {what}", left, poison((span.size,), dtype)[beside])


def _laid(trial: Trial, dtype: DType, span: Span) -> tuple[Any, Tensor]:
    """Poisoned memory, and a tensor that lies in it."""
    subject = trial.subject
    root = subject.backend.copy_in(poison((span.size,), dtype), subject.index)
    shape = trial.example.known["shape"]
    seen = subject.backend.view(root, shape, span.strides, span.offset)
    return root, wrap(seen, subject.kind(dtype))


def _places(shape: tuple[int, ...], span: Span) -> Any:
    """Where in the memory the elements lie."""
    index = np.indices(shape).reshape(len(shape), math.prod(shape))
    return span.offset + np.tensordot(span.strides, index, 1)
