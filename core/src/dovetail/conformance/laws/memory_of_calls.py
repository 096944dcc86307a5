"""What a call does to memory that is not its result's: nothing it does not declare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

from dovetail.conformance.example import PLAIN
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import judged, same_bits
from dovetail.conformance.laws.sampling import guarded
from dovetail.conformance.layouts import LAYOUTS, laid_out, layouts_for, poison
from dovetail.conformance.subject import Subject, needs_kind
from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.tensor import Tensor, wrap


@dataclass(slots=True)
class Watched:
    """An input of a call, and all the memory it lies in.

    Attributes:
        root: native array of the whole memory.
        before: its values before the call.
        inside: which of its elements the input has.
    """

    name: str
    x: Tensor
    root: Any
    before: Array
    inside: Array
    version: int

    def intact(self, subject: Subject) -> None:
        """Raise where anything of it changed."""
        now = subject.backend.copy_out(self.root)
        same_bits(f"memory of the input {self.name}", now, self.before)
        if self.x._version != self.version:
            raise Wrong(
                f"version of {self.name} is {self.x._version}, needed {self.version}: "
                "it was not written"
            )

    def written_inside(self, subject: Subject) -> None:
        """Raise where memory between or around its elements changed."""
        now = subject.backend.copy_out(self.root)
        outside = ~self.inside
        name = f"memory around the elements of {self.name}"
        same_bits(name, now.reshape(-1)[outside], self.before[outside])
        if self.x._version <= self.version:
            raise Wrong(f"version of {self.name} is the same after it was written")


def watched(trial: Trial) -> tuple[list[Any], dict[str, Any], list[Watched]]:
    """Arguments of the example's call, whose memory is known."""
    op, dtype = judged(trial)
    case = trial.example.case
    assert case is not None
    seen: list[Watched] = []
    layout = trial.example.layout

    def argument(name: str, value: Any, layouts: list[str]) -> Any:
        if isinstance(value, list) and any(isinstance(v, np.ndarray) for v in value):
            each = zip(value, layouts, strict=True)
            return [argument(name, v, [layout]) for v, layout in each]
        if not isinstance(value, np.ndarray):
            return value
        seen.append(watch(trial.subject, name, value, layouts[0]))
        return seen[-1].x

    def given(name: str, value: Any) -> Any:
        return argument(name, value, layouts_for(op, name, value, layout))

    args = [given(p.name, v) for p, v in zip(op.params, case.args, strict=False)]
    kwargs = {k: given(k, v) for k, v in case.kwargs.items()}
    if needs_kind(op, case):
        kwargs.setdefault("kind", trial.subject.kind(dtype))
    return args, kwargs, seen


def watch(subject: Subject, name: str, a: Array, layout: str) -> Watched:
    """A tensor with the values of `a` in memory that can be read whole."""
    a = subject.held(a)
    dtype = from_numpy(a.dtype)
    native, root = rooted(subject, a, dtype, layout)
    before = subject.backend.copy_out(root)
    strides, offset = subject.backend.geometry(native, root)
    inside = np.zeros(before.size, bool)
    if a.size:
        step = inside.itemsize
        as_strided(
            inside[offset:], a.shape, [s * step for s in strides]
        )[...] = True  # fmt: skip
    flat = before.reshape(-1)
    x = wrap(native, subject.kind(dtype))
    return Watched(name, x, root, flat, inside, x._version)


def rooted(subject: Subject, a: Array, dtype: DType, layout: str) -> tuple[Any, Any]:
    """A native array in that layout, and one of the whole memory it lies in."""
    backend, kind = subject.backend, LAYOUTS[layout]
    place = kind.place(a.shape)
    if place is None or layout == PLAIN or not kind.writable:
        native = laid_out(backend, subject.index, a, dtype, layout)
        if kind.writable or place is None:
            return native, native
        return native, backend.view(native, (place.size,), (1,), 0)
    root = backend.copy_in(poison((place.size,), dtype), subject.index)
    target = backend.view(root, a.shape, place.strides, place.offset if a.size else 0)
    backend.copy(target, backend.copy_in(np.array(a, order="C"), subject.index))
    return target, root


@law("untouched", examples=guarded(2, 3), rank=20)
def untouched(trial: Trial) -> None:
    """A call writes what it declares to write, within its elements, and no more."""
    op, _ = judged(trial)
    args, kwargs, seen = watched(trial)
    trial.subject.call(op, args, kwargs)
    for one in seen:
        if one.name in op.mutates:
            one.written_inside(trial.subject)
        else:
            one.intact(trial.subject)
