"""Kernels that run on the host, unseen by who only looks at results."""

from __future__ import annotations

from typing import Any, Final
from unittest import mock

import numpy as np
from tests.meta.mutants.mutant import MUTANT, Mutant, Run, with_faults

from dovetail.conformance.subject import Subject
from dovetail.device_api import registry
from dovetail.engine.op import vocabulary
from dovetail_fake.backend import FakeBackend

Attrs = dict[str, Any]


def _on_the_host(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The function of NumPy, on a copy."""
    device = registry.load(MUTANT)
    return device.copy_in(np.exp(device.copy_out(natives[0])), 0)


def _looks_first(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The numbers are fetched to see whether there is a NaN."""
    if np.isnan(registry.load(MUTANT).copy_out(natives[0])).all():
        return natives[0]
    return run(*natives, **attrs)


def _copies(subject: Subject) -> Any:
    """How often the values of an argument are fetched meanwhile."""
    x = subject.tensor(np.ones(64, np.float32))
    with mock.patch.object(
        subject.backend, "copy_out", wraps=subject.backend.copy_out
    ) as seen:
        vocabulary["exp"].function(x)
        return seen.call_count


def _transfer(name: str, describes: str, fault: Any) -> Mutant:
    return Mutant(
        f"transfers/{name}", describes, ("exp",),
        lambda: with_faults({"exp": fault}, FakeBackend), observe=_copies,
        laws=("transfers",), sound=lambda: FakeBackend,
    )  # fmt: skip


TRANSFERS: Final[list[Mutant]] = [
    _transfer("runs-on-the-host", "a kernel is a copy, NumPy, and a copy back",
              _on_the_host),
    _transfer("looks-first", "a kernel fetches its argument to look at it",
              _looks_first),
]  # fmt: skip
