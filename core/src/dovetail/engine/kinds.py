"""Kinds: interned (device, dtype) pairs, the whole of a same-kind test.

`x._kind is y._kind` says that two tensors share device and dtype, and an op's table
is keyed on it.
"""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any, Final, NoReturn

from dovetail.device import device, named
from dovetail.device_api import registry
from dovetail.device_api.after_fork import on_lost
from dovetail.device_api.capabilities import Streams
from dovetail.device_api.contract import Backend, Runner
from dovetail.device_api.graphs import recording
from dovetail.device_api.numbers import Numbers
from dovetail.dtypes import DType
from dovetail.engine.elements import operand
from dovetail.engine.scopes import anywhere, tell
from dovetail.errors import ArgumentTypeError, DeviceError, DTypeError

_CACHED_SCALARS: Final = 4096


class Kind:
    """Device and dtype of a tensor, with what an op call needs of them.

    Attributes:
        device: as torch names it: by its type alone where there is one of them.
        array: class of the backend's native arrays.
        runner: `runner.here()(kernel, *natives)` calls a kernel of the device.
        lift: makes a native array of a kernel's scalar result.
        numbers: the backend as one that makes no arrays of numbers, else None.
        slicer: the backend's own `array[slice]`, None where it has none.
        scalars: by Python type, the 0-d arrays of numbers that do not change the
            dtype; a type that would change it is absent.
    """

    __slots__ = (
        "array", "backend", "device", "dtype", "index", "lift", "numbers", "runner",
        "scalars", "slicer",
    )  # fmt: skip

    def __init__(self, backend: Backend, index: int, dtype: DType) -> None:
        self.backend = backend
        self.index = index
        self.dtype = dtype
        self.device = named((backend.stands_for or backend).type, index)
        self.array = backend.array
        self.runner: Runner | _Lost = _runner_of(backend, index)
        self.lift = backend.lift
        self.numbers = backend.capability(Numbers)
        self.scalars = _scalars(self)
        slicers = backend.table.select("native_slice", dtype)
        self.slicer = slicers[0].function if slicers else None
        backend.table.on_change(_kernels_changed)

    def with_dtype(self, dtype: DType) -> Kind:
        """The kind of the same device with another dtype."""
        return kind_on(self.backend, self.index, dtype)

    def __repr__(self) -> str:
        return f"Kind({self.device}, {self.dtype.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return kind_of, (str(self.device), self.dtype)


def _runner_of(backend: Backend, index: int) -> Runner | _Lost:
    """The runner of a device, shared by its kinds."""
    for kind in _kinds.values():
        if kind.backend is backend and kind.index == index:
            return kind.runner
    return Runner(backend, index)


class _Lost:
    """Takes the place of the runner of a device that is gone."""

    def __init__(self, error: DeviceError) -> None:
        self.error = error

    def here(self) -> NoReturn:
        raise self.error


_kernel_listeners: Final[list[Callable[[], None]]] = []


def on_kernel_change(listener: Callable[[], None]) -> None:
    """Call `listener` when a kernel of any backend in use comes or goes."""
    _kernel_listeners.append(listener)


def _kernels_changed() -> None:
    for listener in _kernel_listeners:
        listener()


def _scalars(kind: Kind) -> dict[type, ScalarCache]:
    """Torch's weak scalars: a number promotes only by a higher category."""
    order = (bool, int, float, complex)
    return {t: ScalarCache(kind, t) for t in order[: kind.dtype.category + 1]}


class ScalarCache(dict[Any, Any]):
    """0-d native arrays of numbers of one type in one kind, made on first use.

    Attributes:
        zero: that of the float 0.0, which as a key would be -0.0 as well.
    """

    __slots__ = ("kind", "type", "zero")

    def __init__(self, kind: Kind, number: type) -> None:
        self.kind = kind
        self.type = number
        self.zero: Any = None

    def __missing__(self, value: Any) -> Any:
        plain = type(value) is float and value == 0.0 and copysign(1.0, value) > 0
        known = plain and self.zero is not None and not anywhere[0]
        if known and recording.get() is None:
            return self.zero
        native = number_native(self.kind, value)
        if anywhere[0]:
            tell("number", native, value, self.kind.dtype)
        # 0.0 equals -0.0 and NaN never equals itself: neither may be a key, nor what
        # has such a part. Nor may 0 or False among the floats, where -0.0 would find
        # them. A graph that is being recorded writes its numbers at each launch.
        own = type(value) is self.type and recording.get() is None
        kept = _nonzero(value) or self.type in (int, bool) or plain
        if own and value == value and kept:  # noqa: PLR0124
            if len(self) >= _CACHED_SCALARS:
                self.clear()
            backend = self.kind.backend
            streams = backend.capability(Streams)
            if streams is not None and self.kind.numbers is None:
                streams.share(native, self.kind.index)
            backend.protect(native)
            if plain:
                self.zero = native
            else:
                self[value] = native
        return native

    def clear(self) -> None:
        """Forget all of them."""
        self.zero = None
        super().clear()


def _nonzero(value: Any) -> bool:
    """Whether a number is not 0, nor a part of it."""
    return bool(value.real and value.imag) if type(value) is complex else bool(value)


def number_native(kind: Kind, value: Any) -> Any:
    """A 0-d native array of a Python number that nobody writes."""
    if kind.numbers is None:
        return scalar_native(kind, value)
    given = operand("dovetail", kind.dtype, value)
    return kind.numbers.number(given, kind.dtype, kind.index)


def scalar_native(kind: Kind, value: Any) -> Any:
    """A fresh 0-d native array of a Python number."""
    native = kind.backend.empty((), kind.dtype, kind.index)
    kind.backend.fill(native, operand("dovetail", kind.dtype, value))
    return native


_kinds: dict[tuple[str, int, DType], Kind] = {}


def kind_on(backend: Backend, index: int, dtype: DType) -> Kind:
    """The interned kind of a backend's device and dtype.

    Raises:
        DTypeError: the device does not have the dtype.
    """
    key = (backend.type, index, dtype)
    kind = _kinds.get(key)
    if kind is None or kind.backend is not backend:
        if not isinstance(dtype, DType):
            raise ArgumentTypeError(
                "tensor", "dtype", was=repr(dtype),
                needed="a dovetail dtype such as dovetail.float32",
            )  # fmt: skip
        if dtype not in backend.dtypes:
            names = ", ".join(sorted(d.name for d in backend.dtypes))
            raise DTypeError(
                "tensor", "dtype", was=f"{dtype.name} on {backend.type}:{index}",
                needed=f"one of {names}", remedy="cast before moving to the device",
            )  # fmt: skip
        kind = _kinds[key] = Kind(backend, index, dtype)
    return kind


def kinds_of(backend: Backend) -> list[Kind]:
    """The kinds of a backend that are in use."""
    return [kind for kind in _kinds.values() if kind.backend is backend]


def forget_scalars(backend: Backend) -> None:
    """Drop the numbers kept on a backend's devices, whose memory is gone."""
    for kind in kinds_of(backend):
        for cache in kind.scalars.values():
            cache.clear()


def _lose(backend: Backend, error: DeviceError) -> None:
    """Make kernels on a backend's tensors raise."""
    for kind in kinds_of(backend):
        kind.runner = _Lost(error)
    backend.table.changed()  # the fast paths of ops hold the runner as it was


on_lost(_lose)


def kind_of(wanted: str | device, dtype: DType) -> Kind:
    """The kind of a device string and a dtype; loads the backend on first use."""
    backend, index = registry.resolve(wanted)
    return kind_on(backend, index, dtype)
