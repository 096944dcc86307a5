"""Memory functions that are wrong: copies, views, fills, transport."""

from __future__ import annotations

import weakref
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided
from tests.meta.mutants.mutant import Mutant, backend

from dovetail.conformance.subject import Subject
from dovetail.device_api.meta import contiguous_strides
from dovetail.device_api.numpy_arrays import NumpyArrays
from dovetail.dtypes import DType, float32, float64
from dovetail_cpu.backend import CpuBackend

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


class ReadsLater(NumpyArrays):
    def copy_in(self, host: Array, index: int) -> Array:
        return np.asarray(host, order="C")


class GivesItsOwn(NumpyArrays):
    def copy_out(self, a: Array) -> Array:
        return np.asarray(a, order="C")


class _HostOrder(CpuBackend):
    """A transposed host array is read as it lies."""

    def copy_in(self, host: Array, index: int) -> Array:
        made = np.array(host, order="K")
        flat = made.reshape(-1, order="A")
        return np.array(flat.reshape(host.shape))


class _QuietNaN(CpuBackend):
    """float32 travels through the floating point unit: payloads get lost."""

    def copy(self, target: Array, source: Array) -> None:
        if source.dtype == np.float32:
            source = source.astype(np.float64).astype(np.float32)
        super().copy(target, source)


class _LosesLastPage(CpuBackend):
    """Of large arrays, what is behind the last full 256 elements stays behind."""

    def copy_in(self, host: Array, index: int) -> Array:
        made = np.array(host, order="C")
        rest = made.size % 256
        if made.size > 256 and rest:
            made.reshape(-1)[-rest:] = np.zeros(rest, made.dtype)
        return made


class NoOffset(NumpyArrays):
    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        return super().view(a, shape, strides, 0)


class ViewIsCopy(NumpyArrays):
    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        return np.array(super().view(a, shape, strides, offset))


class Packed(NumpyArrays):
    """Rows that lie apart are taken for packed ones."""

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        usual = contiguous_strides(shape)
        if len(shape) > 1 and strides[-1] == 1 and strides > usual:
            strides = usual
        return super().view(a, shape, strides, offset)


class _NoZeroStride(CpuBackend):
    """A stride of 0 is taken for 1 where there is room."""

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        if a.size > 1 and a.ndim == 1 and a.strides == (a.itemsize,):
            room = a.size - offset - sum(
                (n - 1) * s for n, s in zip(shape, strides, strict=True)
            )  # fmt: skip
            if shape and strides[0] == 0 and room >= shape[0]:
                strides = (1, *strides[1:])
        return super().view(a, shape, strides, offset)


class _Geometry(CpuBackend):
    """Strides are those of a contiguous array, whatever they are."""

    def geometry(self, a: Array, root: Array) -> tuple[Ints, int]:
        _, offset = super().geometry(a, root)
        return contiguous_strides(a.shape), offset


class _GeometryFromOwner(CpuBackend):
    """Offsets count from the start of the memory."""

    def geometry(self, a: Array, root: Array) -> tuple[Ints, int]:
        strides, _ = super().geometry(a, root)
        owner: Any = a
        while isinstance(getattr(owner, "base", None), np.ndarray):
            owner = owner.base
        return strides, (a.ctypes.data - owner.ctypes.data) // a.itemsize


class Fortran(NumpyArrays):
    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        return np.empty(shape, dtype.numpy, order="F")


class OneBuffer(NumpyArrays):
    """Fresh memory of one size is always the same."""

    def __init__(self) -> None:
        super().__init__()
        self.known: dict[Any, Array] = {}

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        return self.known.setdefault((shape, dtype), np.empty(shape, dtype.numpy))


class FreesTooSoon(NumpyArrays):
    """Memory is handed out again when its first array dies, views or not."""

    def __init__(self) -> None:
        super().__init__()
        self.free: dict[Any, list[Array]] = {}

    def _block(self, shape: Ints, dtype: Any) -> Array:
        free = self.free.setdefault((shape, np.dtype(dtype)), [])
        block = free.pop() if free else np.empty(shape, dtype)
        made = as_strided(block)
        weakref.finalize(made, free.append, block).atexit = False
        return made

    def empty(self, shape: Ints, dtype: DType, index: int) -> Array:
        return self._block(shape, dtype.numpy)

    def copy_in(self, host: Array, index: int) -> Array:
        made = self._block(host.shape, host.dtype)
        made[...] = host
        return made

    def view(self, a: Array, shape: Ints, strides: Ints, offset: int) -> Array:
        block: Any = a
        while getattr(block, "base", None) is not None:
            block = block.base
        if not isinstance(block, np.ndarray) or not block.flags.c_contiguous:
            return super().view(a, shape, strides, offset)
        first = (a.ctypes.data - block.ctypes.data) // a.itemsize + offset
        steps = [s * a.itemsize for s in strides]
        return as_strided(block.reshape(-1)[first:], shape, steps)


class NoSnapshot(NumpyArrays):
    """Element by element, also where source and target overlap."""

    def copy(self, target: Array, source: Array) -> None:
        if not np.may_share_memory(target, source):
            super().copy(target, source)
            return
        for at in np.ndindex(target.shape):
            target[at] = source[at]


class _CopyTail(CpuBackend):
    """Strided copies of more than 32 elements lose the last one."""

    def copy(self, target: Array, source: Array) -> None:
        if target.ndim == 1 and target.size > 32 and target.strides != (
            target.itemsize,
        ):  # fmt: skip
            target, source = target[:-1], source[:-1]
        super().copy(target, source)


class _FillsRow(CpuBackend):
    """`fill` writes the elements behind the first, whatever the strides."""

    def fill(self, a: Array, value: complex) -> None:
        if a.ndim == 1 and a.size > 1 and a.strides[0] > a.itemsize:
            a = as_strided(a, a.shape, (a.itemsize,))
        super().fill(a, value)


class _FillsInFloat(CpuBackend):
    """Numbers to fill with travel as float32."""

    def fill(self, a: Array, value: complex) -> None:
        if a.dtype.kind in "iu" and abs(value) < 2**31:
            value = int(np.float32(value))
        super().fill(a, value)


class _FillsReal(CpuBackend):
    def fill(self, a: Array, value: complex) -> None:
        super().fill(a, value.real if a.dtype.kind == "c" else value)


def _round_trip(values: Array) -> Any:
    def observe(subject: Subject) -> Any:
        given = np.array(values)
        native = subject.backend.copy_in(given, 0)
        given[...] = 0
        first = subject.backend.copy_out(native)
        kept = first.copy()
        first[...] = 0
        return [kept, subject.backend.copy_out(native)]

    return observe


def _transposed(subject: Subject) -> Any:
    host = np.arange(6, dtype=np.float32).reshape(2, 3).T
    return subject.backend.copy_out(subject.backend.copy_in(host, 0))


def _seen(shape: Ints, strides: Ints, offset: int) -> Any:
    """What a view of twelve numbers sees, and what its memory holds when written."""

    def observe(subject: Subject) -> Any:
        backend = subject.backend
        root = backend.copy_in(np.arange(12, dtype=np.float32), 0)
        seen = backend.view(root, shape, strides, offset)
        before = backend.copy_out(seen)
        geometry = backend.geometry(seen, root)
        deep = backend.view(seen, shape[:1], strides[:1], 0)
        again = backend.geometry(deep, seen)
        backend.fill(seen, -1)
        return [before, list(geometry[0]), geometry[1], again[1],
                backend.copy_out(root)]  # fmt: skip

    return observe


def _filled(value: complex, dtype: Any) -> Any:
    def observe(subject: Subject) -> Any:
        root = subject.backend.copy_in(np.zeros(9, dtype), 0)
        subject.backend.fill(subject.backend.view(root, (3,), (2,), 1), value)
        return subject.backend.copy_out(root)

    return observe


def _shifted(subject: Subject) -> Any:
    backend = subject.backend
    root = backend.copy_in(np.arange(100, dtype=np.float32), 0)
    backend.copy(backend.view(root, (49,), (2,), 2), backend.view(root, (49,), (2,), 0))
    return backend.copy_out(root)


def _payload(subject: Subject) -> Any:
    bits = np.array([0x7F80_0001, 0x7FC0_0000], np.uint32)
    native = subject.backend.copy_in(bits.view(np.float32), 0)
    target = subject.backend.empty((2,), float32, 0)
    subject.backend.copy(target, native)
    return subject.backend.copy_out(target).view(np.uint32)


def _fresh(subject: Subject) -> Any:
    first, second = (subject.backend.empty((3, 2), float64, 0) for _ in range(2))
    subject.backend.fill(first, 1)
    subject.backend.fill(second, 2)
    strides, _ = subject.backend.geometry(first, first)
    return [subject.backend.copy_out(first), list(strides)]


def _orphaned(subject: Subject) -> Any:
    backend = subject.backend
    seen = backend.view(backend.copy_in(np.arange(8.0), 0), (4,), (1,), 2)
    again = [backend.copy_in(np.full(8, 7.0), 0) for _ in range(3)]
    return [backend.copy_out(seen), len(again)]


_MANY: Final = np.arange(300.0)
_ROW = _seen((3, 2), (4, 1), 1)

MEMORY: Final[list[Mutant]] = [
    backend("memory/copy-in-reads-later", "the host array is not copied",
            ReadsLater, _round_trip(_MANY)),
    backend("memory/copy-out-gives-its-own", "the device's memory is handed out",
            GivesItsOwn, _round_trip(_MANY)),
    backend("memory/copy-in-as-it-lies", "strides of host arrays are not heeded",
            _HostOrder, _transposed),
    backend("memory/copy-quiets-nan", "payloads of NaN are lost", _QuietNaN, _payload),
    backend("memory/copy-in-loses-a-page", "the tail of large arrays is lost",
            _LosesLastPage, _round_trip(_MANY + 1)),
    backend("memory/view-without-offset", "views start where their base does",
            NoOffset, _ROW),
    backend("memory/view-is-a-copy", "writes through views get lost", ViewIsCopy,
            _ROW),
    backend("memory/view-packed", "rows that lie apart are taken for packed", Packed,
            _seen((2, 3), (5, 1), 1)),
    backend("memory/view-without-zero-strides", "broadcast views see neighbours",
            _NoZeroStride, _seen((3,), (0,), 2)),
    backend("memory/geometry-contiguous", "strides of views are not told", _Geometry,
            _ROW),
    backend("memory/geometry-from-owner", "offsets count from the memory's start",
            _GeometryFromOwner, _ROW),
    backend("memory/empty-by-columns", "fresh memory is column-major", Fortran,
            _fresh),
    backend("memory/empty-is-shared", "fresh memory belongs to somebody", OneBuffer,
            _fresh),
    backend("memory/freed-under-views", "a view does not keep its memory",
            FreesTooSoon, _orphaned),
    backend("memory/copy-without-snapshot", "overlapping copies read what they wrote",
            NoSnapshot, _shifted),
    backend("memory/copy-loses-the-tail", "strided copies lose an element", _CopyTail,
            _shifted),
    backend("memory/fill-contiguous", "`fill` is not aware of strides", _FillsRow,
            _filled(3, np.int32)),
    backend("memory/fill-in-float32", "numbers to fill with lose bits", _FillsInFloat,
            _filled(2**30 + 1, np.int64)),
    backend("memory/fill-real-part", "`fill` loses the imaginary part", _FillsReal,
            _filled(1 + 2j, np.complex64)),
]  # fmt: skip
