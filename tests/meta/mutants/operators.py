"""Faults that fit many kernels; each takes the drawn number it depends on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Fault, Run

from dovetail.dtypes import from_numpy
from dovetail.engine.op import Op

Array = np.ndarray[Any, Any]
Natives = list[Any]
Attrs = dict[str, Any]
Fits = Callable[[Op], bool]


@dataclass(frozen=True)
class Operator:
    """A way of being wrong.

    Attributes:
        make: the fault for an op and a drawn number.
        fits: whether an op can be wrong so.
    """

    name: str
    make: Callable[[Op, int], Fault]
    fits: Fits


OPERATORS: Final[dict[str, Operator]] = {}


def operator(fits: Fits = lambda op: True) -> Callable[..., Any]:
    """Register the decorated maker of faults under its name."""

    def register(make: Callable[[Op, int], Fault]) -> Callable[[Op, int], Fault]:
        name = make.__name__
        OPERATORS[name] = Operator(name, make, fits)
        return make

    return register


# ---- arrays among what a kernel is given and gives


def each(natives: Natives, change: Callable[[Array], Array]) -> Natives:
    """All inputs changed, those in lists too."""
    return [
        [change(v) if v is not None else None for v in a] if isinstance(a, list)
        else a if a is None
        else change(a)
        for a in natives
    ]  # fmt: skip


def results(y: Any, change: Callable[[Array], Array]) -> Any:
    """All results changed."""
    if isinstance(y, tuple | list):
        return tuple(results(part, change) for part in y)
    return change(np.asarray(y)) if y is not None else None


def inexact(a: Array) -> bool:
    return from_numpy(a.dtype).is_inexact


def real(a: Array) -> bool:
    """Whether these are floats, and not complex."""
    return inexact(a) and a.dtype.kind != "c"


def written(a: Array, where: Any, value: Any) -> Array:
    """A copy with other elements in some places."""
    made = np.array(a)
    if made.size:
        made[where] = value
    return made


def on_results(change: Callable[[Array], Array]) -> Fault:
    return lambda run, natives, attrs: results(run(*natives, **attrs), change)


def on_inputs(change: Callable[[Array], Array]) -> Fault:
    return lambda run, natives, attrs: run(*each(natives, change), **attrs)


def on_a_number(op: Op, number: int, change: Callable[[Any], Any]) -> Fault:
    """One of the numbers of a call is another."""
    name = op.scalars[number % len(op.scalars)]

    def fault(run: Run, natives: Natives, attrs: Attrs) -> Any:
        given = attrs.get(name)
        if isinstance(given, int | float) and not isinstance(given, bool):
            attrs = {**attrs, name: change(given)}
        return run(*natives, **attrs)

    return fault


def _takes(op: Op, *roles: str) -> bool:
    return any(p.role in (roles or ("tensor", "optional")) for p in op.tensors)


def takes_tensors(op: Op) -> bool:
    return bool(op.tensors) and not op.mutates


def gives_new(op: Op) -> bool:
    return not op.view and not op.mutates


def computes(op: Op) -> bool:
    """Floats that are computed, not moved."""
    floats = any(d.is_inexact for d in op.accepts)
    return gives_new(op) and floats and not op.unrounded
