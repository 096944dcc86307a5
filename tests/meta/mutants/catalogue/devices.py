"""Devices that are wrong about dtypes, about themselves, or about where things are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

import numpy as np
from tests.meta.mutants.mutant import Mutant, after, backend, core, kernel

import dovetail as dt
from dovetail import dtypes
from dovetail.conformance.subject import Subject
from dovetail.device_api import DeviceInfo
from dovetail.dtypes import DType
from dovetail.engine import kernel_call, kinds, promotion
from dovetail.engine.tensor import Tensor
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]

# ---- dtypes


def _stored(**through: Any) -> type[Any]:
    """Values of some dtypes are held in others."""
    held = {np.dtype(k): np.dtype(v) for k, v in through.items()}

    class Narrow(CpuBackend):
        def copy_in(self, host: Array, index: int) -> Array:
            made = super().copy_in(host, index)
            other = held.get(made.dtype)
            if other is None:
                return made
            with np.errstate(all="ignore"):
                return made.astype(other).astype(made.dtype)

    return Narrow


class _RealOnly(CpuBackend):
    """Complex numbers lose their imaginary part on the way out."""

    def copy_out(self, a: Array) -> Array:
        made = super().copy_out(a)
        return made.real.astype(a.dtype) if a.dtype.kind == "c" else made


class _OtherDType(CpuBackend):
    """Fresh memory for bfloat16 is float16."""

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        wanted = np.float16 if dtype is dtypes.bfloat16 else dtype.numpy
        return np.empty(shape, wanted)


def _there_and_back(*values: Any) -> Any:
    def observe(subject: Subject) -> Any:
        given = [subject.tensor(np.array(v)) for v in values]
        return [subject.values(x).tobytes().hex() for x in given]

    return observe


def _of_sum(a: Any, b: Any) -> Any:
    """The dtype of a sum, in words."""

    def observe(subject: Subject) -> Any:
        x, y = (subject.tensor(np.ones(2, d)) for d in (a, b))
        return (x + y).dtype.name

    return observe


_target = promotion._target


def _narrowest(op: Any, takers: Sequence[Any]) -> DType:
    """Of two dtypes of integers the first one wins."""
    found = _target(op, takers)
    first = next((t._kind.dtype for t in takers if isinstance(t, Tensor)), found)
    return first if first.category == found.category == 1 else found


def _half_is_enough(op: Any, takers: Sequence[Any]) -> DType:
    """What would be float32 by promotion is float16."""
    found = _target(op, takers)
    floats = [t for t in takers if isinstance(t, Tensor) and t._kind.dtype is found]
    return dtypes.float16 if found is dtypes.float32 and not floats else found


# ---- devices


class _LacksBool(CpuBackend):
    dtypes = frozenset({dtypes.int32, dtypes.float32})


class Nameless(CpuBackend):
    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, " "),)


class Twice(CpuBackend):
    """Its device is there twice, once it is in use: before, that is refused."""

    asked = False

    def devices(self) -> Sequence[DeviceInfo]:
        before, self.asked = self.asked, True
        return (DeviceInfo(0, "one"),) * (2 if before else 1)


class _Fickle(CpuBackend):
    """There is one more device each time."""

    asked = 0

    def devices(self) -> Sequence[DeviceInfo]:
        self.asked += 1
        return [DeviceInfo(i, "CPU") for i in range(min(self.asked, 3))]


class _NoMemory(CpuBackend):
    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, "CPU", 0),)


class Answers(CpuBackend):
    def synchronize(self, index: int) -> None:
        return True  # type: ignore[return-value]


class _SynchronizesOnce(CpuBackend):
    done = False

    def synchronize(self, index: int) -> None:
        if self.done:
            raise RuntimeError("nothing to wait for")
        self.done = True


class _Undeclared(CpuBackend):
    """Says that it flushes subnormals and does not."""

    flushes_subnormals = frozenset({dtypes.float32})


class Pair(CpuBackend):
    """Two devices."""

    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, "first"), DeviceInfo(1, "second"))


class _SecondIsLost(Pair):
    """What is copied to the second device arrives as zeros."""

    def copy_in(self, host: Array, index: int) -> Array:
        made = super().copy_in(host, index)
        return np.zeros_like(made) if index else made


class _SecondRefuses(Pair):
    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        if index:
            raise RuntimeError("no context")
        return super().empty(shape, dtype, index)


_wrapped = kernel_call._wrapped


def _on_the_other(native: Any, kind: Any) -> Tensor:
    """Results are on the other one of two devices."""
    made = _wrapped(native, kind)
    if len(kind.backend.devices()) < 2:
        return made
    made._kind = kinds.kind_on(kind.backend, 1 - kind.index, kind.dtype)
    return made


def _listed(subject: Subject) -> Any:
    found = [subject.backend.devices() for _ in range(2)]
    return [[(d.index, d.name, d.memory_bytes) for d in many] for many in found]


def _claims(subject: Subject) -> Any:
    backend = subject.backend
    return [sorted(d.name for d in backend.dtypes), len(backend.flushes_subnormals)]


def _waits(subject: Subject) -> Any:
    return [str(subject.backend.synchronize(0)) for _ in range(2)]  # type: ignore[func-returns-value]


def _on_second(subject: Subject) -> Any:
    second = Subject(f"{subject.backend.type}:1")
    made = second.tensor(np.arange(3.0)) + dt.ones(3, device=second.device)
    return [second.values(made), made.device.index]


@contextmanager
def _results_elsewhere() -> Any:
    with mock.patch.object(kernel_call, "_wrapped", _on_the_other):
        yield


DEVICES: Final[list[Mutant]] = [
    backend("dtypes/doubles-are-floats", "float64 is held as float32",
            _stored(float64=np.float32), _there_and_back(0.1)),
    backend("dtypes/int64-in-32-bits", "int64 is held as int32",
            _stored(int64=np.int32), _there_and_back(2**40)),
    backend("dtypes/uint32-is-signed", "uint32 is held as a float32",
            _stored(uint32=np.float32), _there_and_back(np.uint32(2**24 + 1))),
    backend("dtypes/complex-loses-a-part", "the imaginary one", _RealOnly,
            _there_and_back(1 + 2j)),
    backend("dtypes/bfloat16-is-float16", "fresh memory of another format",
            _OtherDType,
            lambda s: str(s.backend.empty((2,), dtypes.bfloat16, 0).dtype)),
    kernel("dtypes/comparison-in-bytes", "lt", "the native result is uint8",
           after(lambda y, a, b: np.asarray(y).astype(np.uint8))),
    kernel("dtypes/argmax-of-32-bits", "argmax", "int32 where int64 is said",
           after(lambda y, a, **k: np.asarray(y).astype(np.int32))),
    kernel("dtypes/half-sums-in-float", "add", "float16 results are float32",
           after(lambda y, a, b: y.astype(np.float32) if y.dtype == np.float16 else y)),
    core("dtypes/first-integer-wins", "int32 + int64 is int32", promotion, "_target",
         _narrowest, _of_sum(np.int32, np.int64), laws=("promotion",)),
    core("dtypes/half-is-enough", "integers become float16, not float32",
         promotion, "_target", _half_is_enough,
         lambda s: dt.sin(s.tensor(np.ones(2, np.int32))).dtype.name,
         laws=("promotion",)),
    backend("devices/lacks-bool", "a dtype that level 0 needs", _LacksBool, _claims),
    backend("devices/nameless", "its name is blank", Nameless, _listed),
    backend("devices/listed-twice", "one index for two", Twice, _listed),
    backend("devices/fickle", "one more each time", _Fickle, _listed),
    backend("devices/no-memory", "0 bytes", _NoMemory, _listed),
    backend("devices/synchronize-answers", "it returns True", Answers, _waits),
    backend("devices/synchronize-once", "the second time it raises", _SynchronizesOnce,
            _waits),
    backend("devices/flushing-declared", "subnormals are kept, the declaration says "
            "otherwise", _Undeclared, _claims),
    backend("devices/second-loses-values", "what comes to it is lost", _SecondIsLost,
            _on_second),
    backend("devices/second-refuses", "no memory there", _SecondRefuses, _on_second),
    Mutant("devices/results-elsewhere", "results are on the other device",
           backend=lambda: Pair, sound=lambda: Pair, patch=_results_elsewhere,
           observe=lambda s: str((s.tensor(np.ones(2)) + 1).device.index)),
]  # fmt: skip
