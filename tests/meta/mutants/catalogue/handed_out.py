"""What users are handed that is somebody else's."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import Mutant, core

from dovetail.conformance.subject import Subject
from dovetail.engine import autograd
from dovetail.engine.tensor import Tensor, wrap

_ones = autograd.ones
_known: dict[Any, Any] = {}


def _one_for_all(kind: Any, shape: tuple[int, ...]) -> Tensor:
    """The gradient that a pass begins with is made once for each dtype."""
    if shape:
        return _ones(kind, shape)
    if kind not in _known:
        _known[kind] = _ones(kind, ())._a
    return wrap(_known[kind], kind)


def _after_writes(subject: Subject) -> Any:
    """A gradient, after the one before it was written."""
    found = []
    for _ in range(2):
        x = subject.tensor(np.ones(3, np.float32))
        x.requires_grad = True
        total = x.sum()
        slope, own = autograd.grad([total], [x, total])
        assert slope is not None
        assert own is not None
        found.append(subject.values(slope))
        own.fill_(7)
    return found


HANDED_OUT: Final[list[Mutant]] = [
    core("handed-out/first-gradient", "each pass begins with the same memory", autograd,
         "ones", _one_for_all, _after_writes, laws=("writes",)),
]  # fmt: skip
