"""Devices that differ from the CPU within their rights; no law may say a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from tests.meta.mutants.catalogue.capabilities import Chaotic
from tests.meta.mutants.catalogue.devices import Pair
from tests.meta.mutants.judging import KILLS, STANDARD, Tell, verdict, warm
from tests.meta.mutants.mutant import (
    MUTANT,
    Fault,
    Run,
    after,
    installed,
    through,
    with_faults,
)
from tests.meta.mutants.operators import each, results

from dovetail import dtypes
from dovetail.conformance.judge import DEVICE
from dovetail.conformance.plan import plan
from dovetail.conformance.subject import Subject
from dovetail.device_api import KernelTable
from dovetail.dtypes import DType
from dovetail.engine.host import set_fallback_policy
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Attrs = dict[str, Any]
Ints = tuple[int, ...]
_TINY: Final = np.finfo(np.float32).smallest_normal
# Enough to see every kernel; all fifteen would say the same fifteen times.
_DTYPES: Final = ("-", "float32", "float64", "bfloat16", "int32", "int64", "bool")


@dataclass(frozen=True)
class Benign:
    """A sound device that is not the CPU.

    Attributes:
        ops: the ops it does otherwise, a glob; their checks are judged, and the
            laws of the device that `laws` names.
    """

    name: str
    describes: str
    cls: type[Any]
    ops: str
    laws: tuple[str, ...] = ()


def _flushed(a: Array) -> Array:
    if a.dtype != np.float32:
        return a
    return np.where(np.abs(a) < _TINY, np.copysign(np.float32(0), a), a)


def _flushes(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Subnormal inputs count as 0, and so do results."""
    return results(run(*each(natives, _flushed), **attrs), _flushed)


def _in_double(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """float32 in twice the width, rounded once: at least as good as fused."""
    if natives[0].dtype != np.float32:
        return run(*natives, **attrs)
    with np.errstate(all="ignore"):
        wide = run(*[a if a is None else a.astype(np.float64) for a in natives],
                   **attrs)  # fmt: skip
        return np.asarray(wide).astype(np.float32)


def _axes(attrs: Attrs) -> Any:
    dims = attrs.get("dim", attrs.get("dims"))
    return tuple(dims) if isinstance(dims, list | tuple) else dims


def _backwards(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Terms are added from the last one on."""
    a = natives[0]
    return run(np.flip(a, _axes(attrs)) if a.ndim else a, **attrs)


_unseeded: Final = np.random.default_rng()


def _in_any_order(run: Run, natives: list[Any], attrs: Attrs) -> Any:
    """Terms of equal indices are added as threads come by."""
    a, index, src = natives
    if not index.ndim or not index.size:
        return run(*natives, **attrs)
    d = attrs["dim"]
    order = _unseeded.permutation(index.shape[min(d, index.ndim - 1)])
    part = src[tuple(slice(n) for n in index.shape)] if index.ndim == src.ndim else src
    if index.ndim == src.ndim:
        return run(a, np.take(index, order, d), np.take(part, order, d), **attrs)
    return run(a, index[order], np.take(src, order, d), **attrs)


def _one_ulp(y: Array, *natives: Any, **attrs: Any) -> Array:
    """Every other result is the next number."""
    if y.dtype != np.float32 or not y.size:
        return y
    made = np.array(y, order="C")  # so that what follows is a view of it
    flat = made.reshape(-1)
    some = np.isfinite(flat) & (np.abs(flat) > 2 * _TINY)
    some[::2] = False
    flat[some] = np.nextafter(flat[some], np.float32(0))
    return made


def _odd_nan(y: Array, *natives: Any, **attrs: Any) -> Array:
    """NaN is another one: negative, with a payload."""
    if y.dtype != np.float32:
        return y
    odd = np.array(0xFFC1_2345, np.uint32).view(np.float32)
    return np.where(np.isnan(y), odd, y)


def _by_columns(y: Any, *natives: Any, **attrs: Any) -> Any:
    """Results lie column by column."""
    return results(y, lambda a: np.array(a, order="F"))


def _narrow(y: Any, *natives: Any, **attrs: Any) -> Any:
    return results(y, lambda a: a.astype(np.int32) if a.dtype == np.int64 else a)


_ELEMENTWISE: Final = "add sub mul div exp tanh square reciprocal"
_SUMS: Final = "sum mean"
_FUNCTIONS: Final = "exp log sin cos tanh sigmoid erf gelu sqrt"
_FINDS: Final = "argmax argmin sort topk argsort nonzero count_nonzero"


def _faulty(ops: str, fault: Fault, base: type[Any] = CpuBackend, **how: Any) -> Any:
    return with_faults(dict.fromkeys(ops.split(), fault), base, **how)


class _DeclaresFlushing(CpuBackend):
    flushes_subnormals = frozenset({dtypes.float32})


class _NoLongs(CpuBackend):
    dtypes = CpuBackend.dtypes - {
        dtypes.int64, dtypes.uint64, dtypes.float64, dtypes.complex128
    }  # fmt: skip

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        narrow = after(_narrow)
        for name in table.names():
            table._kernels[name] = [
                k._replace(function=through(narrow, k.function, k.binds))
                for k in table._kernels[name]
            ]


class _NoDoubles(CpuBackend):
    dtypes = CpuBackend.dtypes - {dtypes.float64, dtypes.complex128}


class _Poisoned(CpuBackend):
    """Fresh memory is full of ones."""

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        made = super().empty(shape, dtype, index)
        made.reshape(-1).view(np.uint8)[...] = 1
        return made


class _OddBoundaries(CpuBackend):
    launch_boundaries = (33, 1000)


BENIGN: Final[tuple[Benign, ...]] = (
    Benign("flush-to-zero", "float32 subnormals are 0, as declared",
           _faulty(_ELEMENTWISE, _flushes, _DeclaresFlushing), _ELEMENTWISE,
           ("subnormals",)),
    Benign("fused", "products and sums are rounded once",
           _faulty("addcmul addcdiv matmul bmm linear", _in_double),
           "addcmul addcdiv matmul bmm linear dot mv"),
    Benign("sums-backwards", "terms are added from the last one on",
           _faulty(_SUMS, _backwards), f"{_SUMS} var layer_norm softmax"),
    Benign("scatter-in-any-order", "another order each time, declared so",
           _faulty("scatter_add index_add", _in_any_order, deterministic=False),
           "scatter_add index_add gather embedding"),
    Benign("delayed-streams", "work is done late, in another order", Chaotic,
           "add matmul softmax index_put", ("streams", "threads", "errors")),
    Benign("narrow-indices", "no 64-bit integers, indices are int32",
           _NoLongs, f"{_FINDS} gather index_select"),
    Benign("no-doubles", "neither float64 nor complex128", _NoDoubles,
           "add matmul softmax var sort", ("transfer", "devices", "random")),
    Benign("one-ulp", "functions are off by one unit", _faulty(
        _FUNCTIONS, after(_one_ulp)), _FUNCTIONS),
    Benign("odd-nan", "NaN has a sign and a payload", _faulty(
        _ELEMENTWISE, after(_odd_nan)), _ELEMENTWISE),
    Benign("by-columns", "results are not row-major", _faulty(
        "add matmul softmax sort cumsum", after(_by_columns)),
        "add matmul softmax sort cumsum", ("machine",)),
    Benign("wide-accumulators", "float32 is computed in float64",
           _faulty(f"{_SUMS} softmax log_softmax", _in_double),
           f"{_SUMS} softmax log_softmax"),
    Benign("poisoned-memory", "fresh memory holds anything", _Poisoned,
           "empty zeros_like add index_put cat", ("empty", "copy", "machine")),
    Benign("contiguous-only", "kernels get contiguous inputs alone", _faulty(
        "add matmul softmax flip gather", lambda run, natives, attrs: run(
            *natives, **attrs), contiguous=True), "add matmul softmax flip gather"),
    Benign("odd-boundaries", "launches change at 33 and 1000", _OddBoundaries,
           "add sum sort", ("copy", "fill")),
    Benign("two-devices", "a second device of the type", Pair, "add",
           ("devices", "transfer", "generator", "threads")),
)  # fmt: skip


def alarms(benign: Benign, tell: Tell) -> list[str]:
    """The failures that laws report of a sound device; none is right."""
    warm()
    set_fallback_policy("error")
    found = []
    ops = set(benign.ops.split())
    with installed(CpuBackend, "sound") as plain, installed(benign.cls, MUTANT) as name:
        sound, subject = Subject(plain), Subject(name)
        for check in plan(subject, STANDARD):
            wanted = check.law in benign.laws if check.op == DEVICE else check.op in ops
            if not wanted or check.dtype not in _DTYPES:
                continue
            tell(check.id)
            said = verdict(subject, check, tell)
            if said.outcome in KILLS and not _shared(sound, said.check, tell):
                found.append(f"{check.id}: {said.failures[0].message}")
    return found


def _shared(sound: Subject, check: Any, tell: Tell) -> bool:
    """Whether the CPU itself fails the check."""
    if check.op != DEVICE and not sound.claims(dtypes.by_name(check.dtype)):
        return False
    return verdict(sound, check, tell).outcome in KILLS


def named(name: str) -> Benign:
    """The variant of that name."""
    return next(b for b in BENIGN if b.name == name)
