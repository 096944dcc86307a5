"""Devices that swallow errors, raise them late, or are not the same afterwards."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

import numpy as np
from tests.meta.mutants.mutant import (
    Fault,
    Mutant,
    Observe,
    Run,
    backend,
    through,
    with_faults,
)

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType, float32
from dovetail.engine.op import vocabulary
from dovetail.errors import DovetailError
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
Attrs = dict[str, Any]


def _said(call: Any) -> str:
    """What a call says: the kind of its error, or that there is none."""
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "no error"


def _on(subject: Subject, values: Any) -> Any:
    return subject.tensor(np.asarray(values))


def _clamped(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Indices out of range are taken for the nearest."""
    a, index = natives[0], natives[1]
    size = a.shape[attrs.get("dim", 0)] if a.ndim else 1
    return run(a, np.clip(index, -size, max(size - 1, 0)), *natives[2:], **attrs)


def _wrapped(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    a, index = natives[0], natives[1]
    size = a.shape[attrs.get("dim", 0)] if a.ndim else 1
    return run(a, index % max(size, 1), *natives[2:], **attrs)


def _swallowed(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """An error becomes a result of zeros."""
    try:
        return run(*natives, **attrs)
    except Exception:
        return np.zeros_like(natives[0])


def _cut_to_fit(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    a, b, *rest = natives
    if a.ndim and b.ndim > 1 and a.shape[-1] != b.shape[-2]:
        n = min(a.shape[-1], b.shape[-2])
        a, b = a[..., :n], b[..., :n, :]
    return run(a, b, *rest, **attrs)


def _half_written(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """The target is written before the indices are looked at."""
    x = natives[0]
    if x.size and x.flags.writeable:
        kept = x[(0,) * x.ndim].copy()
        x[(0,) * x.ndim] = 0
        y = run(*natives, **attrs)
        if np.all(x[(0,) * x.ndim] == 0):
            x[(0,) * x.ndim] = kept
            y = run(*natives, **attrs)
        return y
    return run(*natives, **attrs)


class _FailsOnceMore(CpuBackend):
    """After an error, all results are wrong: an error code that sticks."""

    broken = False

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        _through_all(table, self._sticky)

    def _sticky(self, run: Run, natives: list[Any], attrs: Attrs) -> Any:
        try:
            y = run(*natives, **attrs)
        except Exception:
            self.broken = True
            raise
        if self.broken and isinstance(y, np.ndarray) and y.dtype.kind == "f":
            return np.zeros_like(y)
        return y


def _through_all(table: KernelTable, fault: Fault) -> None:
    """Put a fault around the kernels that raise or compute most often."""
    for name in ("matmul", "mul", "add"):
        table._kernels[name] = [
            k._replace(function=through(fault, k.function, k.binds),
                    supports_out=False, checks=True)
            for k in table._kernels[name]
        ]  # fmt: skip


def _sticks(subject: Subject) -> Any:
    x = _on(subject, np.ones((2, 3), np.float32))
    before = subject.values(x * 2)
    with suppress(DovetailError, ValueError, RuntimeError):
        x @ x
    with suppress(DovetailError, ValueError, RuntimeError):
        x + _on(subject, np.ones((4, 4), np.float32))
    return [before, subject.values(x * 2)]


class _NoMemoryIsEmpty(CpuBackend):
    """Where there is no memory, an array of nothing is given."""

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        try:
            return super().empty(shape, dtype, index)
        except (MemoryError, ValueError):
            return np.empty((0,) * len(shape), dtype.numpy)


class _RaisesOnEmpty(CpuBackend):
    """Copies of nothing are refused."""

    def copy(self, target: Array, source: Array) -> None:
        if not target.size:
            raise RuntimeError("invalid argument")
        super().copy(target, source)


def _asks(op: str, *arguments: Any, **attrs: Any) -> Observe:
    """What an op says of a call that it has to refuse."""

    def observe(subject: Subject) -> Any:
        args = [_on(subject, a) if isinstance(a, np.ndarray) else a for a in arguments]
        said = _said(lambda: vocabulary[op].function(*args, **attrs))
        held = [subject.values(a) for a in args if isinstance(a, dt.Tensor)]
        return [said, *held]

    return observe


_X: Final = np.arange(1, 7, dtype=np.float32).reshape(2, 3)
_FAR: Final = np.array([[9, 0, 1]])


def _kernel(
    name: str, op: str, describes: str, fault: Fault, observe: Observe, **options: Any
) -> Mutant:
    return Mutant(
        f"errors/{name}", describes, (op,),
        lambda: with_faults({op: fault}, **options), observe=observe,
        laws=("refused",),
    )  # fmt: skip


ERRORS: Final[list[Mutant]] = [
    _kernel("gather-clamps", "gather", "indices out of range are moved into it",
            _clamped, _asks("gather", _X, 0, _FAR)),
    _kernel("index-select-wraps", "index_select", "indices out of range wrap around",
            _wrapped, _asks("index_select", _X, 0, np.array([7]))),
    _kernel("index-copy-swallows", "index_copy", "an error becomes zeros", _swallowed,
            _asks("index_copy", _X, 0, np.array([7]), _X[:1])),
    _kernel("embedding-swallows", "embedding", "an error becomes zeros", _swallowed,
            _asks("embedding", _X, np.array([5]))),
    _kernel("matmul-cuts", "matmul", "inner dims that differ are cut", _cut_to_fit,
            _asks("matmul", _X, _X), checks=True),
    _kernel("scatter-half-written", "scatter_add_", "a refused call has written",
            _half_written, _asks("scatter_add_", _X, _FAR, _X[:1], 0)),
    _kernel("add-without-shapes", "add", "shapes that do not fit are cut",
            lambda run, natives, attrs: run(*natives, **attrs)
            if _fits(natives) else run(
                natives[0].reshape(-1)[:1], natives[1].reshape(-1)[:1], **attrs),
            _asks("add", _X, np.ones((4, 4), np.float32)), checks=True),
    backend("errors/error-sticks", "after an error all results are 0", _FailsOnceMore,
            _sticks, laws=("errors",)),
    backend("errors/no-memory-is-no-error", "an array of nothing is given",
            _NoMemoryIsEmpty, lambda subject: _said(
                lambda: subject.backend.empty((1 << 40, 1 << 20), float32, 0)),
            laws=("errors",)),
    backend("errors/copies-of-nothing", "are refused", _RaisesOnEmpty,
            lambda subject: _said(lambda: subject.backend.copy(
                np.empty((0,), np.float32), np.empty((0,), np.float32)))),
]  # fmt: skip


def _fits(natives: list[Any]) -> bool:
    with suppress(ValueError):
        np.broadcast_shapes(*[a.shape for a in natives])
        return True
    return False
