"""Memory shared with other libraries through DLPack, where the backend can."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from dovetail.device import device as Device
from dovetail.device_api import DLPack, registry
from dovetail.device_api.contract import Backend
from dovetail.device_api.dlpack import CPU, Capsule, request
from dovetail.engine.kinds import kind_on
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, extend, wrap
from dovetail.engine.writable import is_expanded
from dovetail.errors import (
    ArgumentTypeError,
    DeviceError,
    DovetailError,
    ExchangeError,
    NotSupported,
)
from dovetail.frontend.creation import DeviceLike
from dovetail.ops.primitive import clone

Numbers = tuple[int, int]
# Whose memory a number of DLPack's stands for; other backends say it themselves.
_TYPES: Final = {CPU: "cpu", 2: "cuda", 3: "cpu", 10: "rocm", 11: "cpu", 14: "xpu"}


def _dlpack(
    self: Tensor,
    *,
    stream: int | None = None,
    max_version: Numbers | None = None,
    dl_device: Numbers | None = None,
    copy: bool | None = None,
) -> Any:
    """A DLPack capsule over the memory of this tensor, which it keeps alive.

    Args:
        stream: the consumer's, where the device has any.
        max_version: the newest DLPack that the consumer understands.
        dl_device: where it wants the values, as DLPack numbers devices: where they
            are, or in the host's memory, which takes a copy.
        copy: True for memory of its own, False to raise where that is needed.

    Raises:
        ExchangeError: the tensor requires grad, or cannot be shared as asked.
        NotSupported: its device shares no memory.
    """
    if self.requires_grad:
        raise ExchangeError(
            "__dlpack__", "tensor", was="one that requires grad",
            needed="one that does not", remedy="use tensor.detach()",
        )  # fmt: skip
    if dl_device is not None and tuple(dl_device) != _numbers(self):
        return _on_the_host(self, dl_device, copy, max_version)
    memory = _able(self, "__dlpack__")
    readonly = storage_of(self).readonly is not None  # from now on others see it too
    try:
        return memory.dlpack_export(
            self._a, stream=stream, max_version=max_version, copy=copy,
            readonly=readonly,
        )  # fmt: skip
    except DovetailError:
        raise
    except BufferError as error:
        raise ExchangeError(
            "__dlpack__", "tensor", was=f"not to be shared so: {error}",
            needed="a consumer of DLPack 1.0 or a copy", remedy="pass tensor.clone()",
        ) from error  # fmt: skip


def _numbers(x: Tensor) -> Numbers | None:
    memory = x._kind.backend.capability(DLPack)
    return None if memory is None else memory.dlpack_device(x._a)


def _able(x: Tensor, op: str) -> DLPack:
    memory = x._kind.backend.capability(DLPack)
    if memory is None:
        raise NotSupported(
            op, "tensor", was=f"on {x.device}, which shares no memory",
            needed="a device whose backend has the capability DLPack",
            remedy="use tensor.cpu(), which copies it",
        )  # fmt: skip
    return memory


def _on_the_host(
    x: Tensor, wanted: Numbers, copy: bool | None, max_version: Numbers | None
) -> Any:
    """A capsule over a copy in the host's memory."""
    kind, number = (int(n) for n in wanted)
    if (kind, number) != (CPU, 0) or copy is False:
        raise ExchangeError(
            "__dlpack__", "dl_device and copy",
            was=f"{(kind, number)} and {copy}, for a tensor on {x.device}",
            needed=f"the tensor's own device, or {(CPU, 0)} with a copy",
        )  # fmt: skip
    return x.cpu().__dlpack__(max_version=max_version)


def _dlpack_device(self: Tensor) -> Numbers:
    """DLPack's type and id of the device.

    Raises:
        NotSupported: the device shares no memory.
    """
    return _able(self, "__dlpack_device__").dlpack_device(self._a)


@public("torch.from_dlpack", asks=False)
def from_dlpack(
    ext_tensor: Any, *, device: DeviceLike = None, copy: bool | None = None
) -> Tensor:
    """A tensor over the memory of another library's, or of a DLPack capsule.

    Args:
        ext_tensor: any object with `__dlpack__` and `__dlpack_device__`, or a capsule.
        device: where the tensor is to be; where the memory is, if not given.
        copy: True for memory of its own, False to raise where that is needed.

    Raises:
        ExchangeError: the memory cannot be shared as asked.
        DeviceError: it is on a device of which no backend is here.
    """
    source = _source(ext_tensor)
    kind, number = (int(n) for n in source.__dlpack_device__())
    backend, index = _home((kind, number), device, copy)
    memory = backend.capability(DLPack)
    if memory is None or memory.dlpack_index((kind, number)) != index:
        source = request(source, dl_device=(CPU, 0))
        memory = backend.capability(DLPack)
    assert memory is not None
    outside("from_dlpack")
    made = _borrowed(memory, backend, index, source, copy)
    moved: Tensor = made if device is None else made.to(device)
    if moved is made:
        return clone(made) if copy else made
    if copy is False:
        raise ExchangeError(
            "from_dlpack", "copy", was="False, for memory on another device",
            needed=f"None or True, to bring it to {device}",
        )  # fmt: skip
    return moved


def _source(given: Any) -> Any:
    if hasattr(given, "__dlpack__"):
        return given
    if type(given).__name__ == "PyCapsule":
        return Capsule(given)
    raise ArgumentTypeError(
        "from_dlpack", "ext_tensor", was=f"a {type(given).__name__}",
        needed="an object with __dlpack__, or a DLPack capsule",
    )  # fmt: skip


def _home(
    numbers: Numbers, wanted: DeviceLike, copy: bool | None
) -> tuple[Backend, int]:
    """The device that memory is on: the one wanted if it is that, else as numbered."""
    if wanted is not None:
        backend, index = registry.resolve(wanted)
        if backend.rules_only:
            raise ExchangeError(
                "from_dlpack", "device", was=repr(str(wanted)),
                needed="one that has memory",
            )  # fmt: skip
        memory = backend.capability(DLPack)
        if memory is not None and memory.dlpack_index(numbers) == index:
            return backend, index
    found = _numbered(numbers)
    if found is not None:
        return found
    if wanted is not None and copy is not False:  # the exporter may bring it to us
        return registry.load("cpu"), 0
    raise DeviceError(
        "from_dlpack", "ext_tensor", was=f"on DLPack's device {numbers}",
        needed="memory of a device whose backend is here and has the capability DLPack",
        remedy='pass device="cpu" to have it copied, if its library can do that',
    )  # fmt: skip


def _numbered(numbers: Numbers) -> tuple[Backend, int] | None:
    """The backend in use, or by convention, whose memory DLPack numbers so."""
    backends = [b for b in registry.loaded() if b.type not in _TYPES.values()]
    if numbers[0] in _TYPES:
        with suppress(DeviceError):  # another backend may know the memory
            backends.insert(0, registry.load(_TYPES[numbers[0]]))
    for backend in backends:
        memory = backend.capability(DLPack)
        index = None if memory is None else memory.dlpack_index(numbers)
        if index is not None:
            return backend, index
    return None


def _borrowed(
    memory: DLPack, backend: Backend, index: int, source: Any, copy: bool | None
) -> Tensor:
    try:
        lent = memory.dlpack_import(source, index, copy=copy)
    except DovetailError:
        raise
    except (BufferError, RuntimeError, ValueError, TypeError) as error:
        raise ExchangeError(
            "from_dlpack", "ext_tensor", was=f"not to be taken: {error}",
            needed=f"memory that {Device(backend.type, index)} understands",
        ) from error  # fmt: skip
    _expect_forwards(backend, lent.native)
    made = wrap(lent.native, kind_on(backend, index, lent.dtype))
    storage = storage_of(made)  # another library sees this memory
    if lent.readonly:
        storage.readonly = "over memory that its owner lends for reading only"
    elif is_expanded(made):
        storage.readonly = "over memory of which several elements are at one place"
    return made


def _expect_forwards(backend: Backend, native: Any) -> None:
    """Raise for memory that runs backwards, which no tensor does."""
    strides, _ = backend.geometry(native, native)
    if any(s < 0 and n > 1 for n, s in zip(native.shape, strides, strict=True)):
        raise ExchangeError(
            "from_dlpack", "ext_tensor", was=f"of negative strides, {tuple(strides)}",
            needed="strides of 0 or more", remedy="lend a copy of it",
        )  # fmt: skip


extend(__dlpack__=_dlpack)
extend(__dlpack_device__=_dlpack_device)
