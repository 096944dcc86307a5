"""The memory behind tensors as torch shows it: storages, and who shares one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.device_api import HostMemory
from dovetail.device_api.meta import contiguous_strides
from dovetail.device_api.shared_files import file_behind
from dovetail.dtypes import Array, DType, get_default_dtype
from dovetail.engine.kinds import Kind
from dovetail.engine.public import public
from dovetail.engine.scopes import outside
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.engine.views import memory_size
from dovetail.engine.writable import check_writable
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    FileError,
    IndexOutOfRange,
    NotSupported,
)
from dovetail.frontend.create import empty, tensor
from dovetail.frontend.creation import DeviceLike
from dovetail.frontend.numpy_memory import from_numpy
from dovetail.frontend.tensor_classes import CLASSES
from dovetail.frontend.views import as_strided
from dovetail.memory_formats import layout as torch_layout
from dovetail.tensor_api.memory import Layout
from dovetail.tensor_api.properties import data_ptr


class UntypedStorage:
    """All of the memory behind a tensor, as bytes.

    Args:
        of: the tensor; or elements, which are copied, or how many, which hold anything.
        device: of the new memory, where `of` is no tensor.
    """

    dtype: ClassVar[DType | None] = None

    def __init__(
        self, of: Tensor | Sequence[Any] | int = 0, *, device: DeviceLike = None
    ) -> None:
        kind = self.dtype or dtypes.uint8
        if type(self) is TypedStorage:
            raise NotSupported(
                "TypedStorage", "class", was="of no dtype",
                needed="one of a dtype, such as FloatStorage",
            )  # fmt: skip
        if isinstance(of, Tensor) and self.dtype not in (None, of.dtype):
            raise ArgumentTypeError(
                type(self).__name__, "of", was=f"a {of.dtype.name} tensor",
                needed=f"one of {kind.name}", remedy=f"use .to(dovetail.{kind.name})",
            )  # fmt: skip
        made: Any = of
        if not isinstance(of, Tensor):
            make: Any = empty if isinstance(of, int) else tensor
            made = make(of, dtype=kind, device=device)
        self._tensor: Tensor = made.detach()

    @property
    def _kind(self) -> Kind:
        return self._tensor._kind

    @property
    def _root(self) -> Any:
        return storage_of(self._tensor).root

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._kind.device

    def nbytes(self) -> int:
        """How many bytes it has."""
        return memory_size(self._tensor)

    def element_size(self) -> int:
        """Bytes an element."""
        return 1 if self.dtype is None else self.dtype.itemsize

    def size(self) -> int:
        """How many elements it has."""
        return self.nbytes() // self.element_size()

    def __len__(self) -> int:
        return self.size()

    def data_ptr(self) -> int:
        """The address of the first byte; the same for all that share the memory."""
        memory = self._kind.backend.capability(HostMemory)
        if memory is None:
            raise NotSupported(
                "data_ptr", "device", was=self.device, needed="one with addresses"
            )
        low, _ = Layout.of(self._kind, self._root, self._root).span()
        return memory.address(self._root) + low * self._kind.dtype.itemsize

    def _elements(self) -> Array:
        """The elements on the host, in the order of memory."""
        values: Array = self._kind.backend.copy_out(self.flat()._a)
        return values.view(np.uint8 if self.dtype is None else self.dtype.numpy)

    def flat(self) -> Tensor:
        """A tensor of all elements, over the same memory."""
        kind, whole = self._kind, self._root
        low, high = Layout.of(kind, whole, whole).span()
        native = kind.backend.view(whole, (high - low,), (1,), low)
        memory = kind.backend.capability(HostMemory)
        if memory is not None:  # in which the tensor may see another dtype
            native = memory.adopt(memory.expose(native).view(kind.dtype.numpy))
        made = wrap(native, kind)
        made._storage = storage_of(self._tensor)
        return made

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        found: list[Any] = self._elements().tolist()
        return found

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    @classmethod
    def from_file(
        cls, filename: str | Path, shared: bool = False, nbytes: int = 0
    ) -> UntypedStorage:
        """A storage over a file's bytes, which are read as they are needed.

        Args:
            shared: writes go to the file, which is made as large as is asked for;
                otherwise they stay in this process.
            nbytes: how many of its bytes.

        Raises: FileError for a file that is not there, or too small.
        """
        if cls is not UntypedStorage:
            raise NotSupported(
                f"{cls.__name__}.from_file", "class", was="one of a dtype",
                needed="UntypedStorage", remedy="torch.from_file gives a tensor",
            )  # fmt: skip
        if not nbytes:
            return cls(from_numpy(np.empty(0, np.uint8)))
        if shared:
            with Path(filename).open("ab") as file:
                file.truncate(max(file.tell(), nbytes))
        elif not Path(filename).is_file():
            raise FileError("from_file", "filename", was=filename, needed="a file")
        elif Path(filename).stat().st_size < nbytes:
            raise FileError(
                "from_file", "filename", was=f"{filename}, of "
                f"{Path(filename).stat().st_size} bytes: it is smaller than asked for",
                needed=f"one of {nbytes} bytes",
            )  # fmt: skip
        mode: Any = "r+" if shared else "c"
        return cls(from_numpy(np.memmap(filename, np.uint8, mode, shape=(nbytes,))))

    @classmethod
    def from_buffer(
        cls, buffer: Any, byte_order: str | None = None, *, count: int = -1,
        offset: int = 0, dtype: DType | None = None,
    ) -> UntypedStorage:  # fmt: skip
        """A copy of the elements that an object's bytes hold.

        Args:
            buffer: what the buffer protocol knows, such as `bytes`.
            byte_order: of the bytes of an element: "native", "little" or "big".
            count: elements; -1 takes all.
            offset: bytes before the first one.
            dtype: of the elements; a class of a dtype has its own.
        """
        orders: dict[str | None, Any] = {
            None: "=",
            "native": "=",
            "little": "<",
            "big": ">",
        }
        if byte_order not in orders:
            raise ArgumentError(
                f"{cls.__name__}.from_buffer", "byte_order", was=repr(byte_order),
                needed="'native', 'little' or 'big'",
            )  # fmt: skip
        kind = (cls.dtype or dtype or dtypes.uint8).numpy
        stored = kind.newbyteorder(orders[byte_order])
        if kind == np.bool_:  # any byte but 0 is true, and is 1 in memory
            return cls(from_numpy(np.frombuffer(buffer, np.uint8, count, offset) != 0))
        found = np.frombuffer(buffer, stored, count, offset).astype(kind)
        return cls(from_numpy(found))

    _from_buffer = from_buffer

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The elements as an array of NumPy's, over the same memory on the CPU."""
        memory = self._kind.backend.capability(HostMemory)
        found = self._elements()
        if memory is not None:
            found = memory.expose(self.flat()._a).view(found.dtype)
        return found if dtype is None else found.astype(dtype, copy=bool(copy))

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return type(self)(from_numpy(np.asarray(self)[index]))
        if not -len(self) <= index < len(self):
            raise IndexOutOfRange(
                "storage", "index", was=index, needed=f"below {len(self)}"
            )
        return self._elements()[index].item()

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._tensor) if self.dtype is not None else self

    # What safetensors asks for instead, of a version that it cannot read.
    _untyped = untyped

    def cpu(self) -> UntypedStorage:
        """The same bytes on the CPU."""
        if self.device.type == "cpu":
            return self
        return type(self)(from_numpy(self._elements().copy()))

    def clone(self) -> UntypedStorage:
        """A copy on the CPU."""
        return type(self)(from_numpy(self._elements().copy()))

    def is_shared(self) -> bool:
        """Whether other processes can see the memory; see `Tensor.share_memory_`."""
        memory = self._kind.backend.capability(HostMemory)
        return memory is not None and file_behind(memory.expose(self._root)) is not None

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, UntypedStorage):
            return NotImplemented
        return type(self) is type(other) and self._root is other._root

    def __hash__(self) -> int:
        return id(self._root)

    def __repr__(self) -> str:
        values = "\n".join(f" {value}" for value in self.tolist())
        kind = type(self).__name__
        return f"{values}\n[dovetail.{kind}(device={self.device}) of size {len(self)}]"


class TypedStorage(UntypedStorage):
    """All of the memory behind a tensor, as elements of its dtype."""


def _class_of(dtype: DType, name: str = "TypedStorage") -> type[TypedStorage]:
    body = {"dtype": dtype, "__doc__": f"A storage of {dtype.name}."}
    return type(name, (TypedStorage,), body)


_CLASSES: Final[dict[DType, type[TypedStorage]]] = {
    dtype: _class_of(dtype, name.replace("Tensor", "Storage"))
    for name, dtype in CLASSES.items()
}
globals().update({cls.__name__: cls for cls in _CLASSES.values()})


@public("Tensor.untyped_storage")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """All of the memory behind this tensor, as bytes."""
    return UntypedStorage(self)


@public("Tensor.storage")
def storage(self: Tensor) -> TypedStorage:
    """All of the memory behind this tensor, as elements."""
    return storage_type(self)(self)


@public("Tensor.storage_type")
def storage_type(self: Tensor) -> type[TypedStorage]:
    """The class of what `storage` gives."""
    found = _CLASSES.get(self.dtype)
    if found is None:
        found = _CLASSES[self.dtype] = _class_of(self.dtype)
    return found


@public("torch.is_storage", asks=False)
def is_storage(obj: Any, /) -> bool:
    """Whether an object is the storage of a tensor."""
    return isinstance(obj, UntypedStorage)


@public("Tensor.const_data_ptr")
def const_data_ptr(self: Tensor) -> int:
    """`data_ptr`, by which nothing is to be written."""
    return data_ptr(self)


@public("Tensor.is_set_to")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both are the same elements of one memory, under one shape."""
    if storage_of(self).root is not storage_of(tensor).root:
        return False
    return _place(self) == _place(tensor) and self.dtype is tensor.dtype


def _place(x: Tensor) -> Layout:
    return Layout.of(x._kind, x._a, storage_of(x).root)


@public("Tensor.set_")
def set_(
    self: Tensor, source: Tensor | UntypedStorage | None = None,
    storage_offset: int = 0, size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:  # fmt: skip
    """Make this tensor look into the memory of another; without one, into none.

    Args:
        source: a tensor or a storage, of this tensor's dtype and on its device.
        storage_offset, size, stride: where in it, in elements; by default as `source`.

    Raises: ArgumentError for places outside of the memory.
    """
    check_writable("set_", self)
    outside("set_")
    other = _source(self, source)
    if size is not None:
        other = as_strided(other, size, _steps(size, stride), storage_offset)
    self._storage = storage_of(other)
    self._a, self._kind, self._node = other._a, other._kind, None
    return self


def _source(x: Tensor, source: Tensor | UntypedStorage | None) -> Tensor:
    """What a tensor is to look into, outside the graph."""
    if source is None:
        return empty(0, dtype=x.dtype, device=x.device)
    storage = isinstance(source, UntypedStorage)
    found = source.flat() if isinstance(source, UntypedStorage) else source.detach()
    if found._kind is not x._kind:
        raise ArgumentTypeError(
            "set_", "source",
            was=f"{'a storage' if storage else 'a tensor'} of {found.dtype.name} on "
            f"{found.device}", needed=f"{x.dtype.name} on {x.device}",
        )  # fmt: skip
    return found


def _steps(size: Sequence[int], stride: Sequence[int] | None) -> Sequence[int]:
    return contiguous_strides(tuple(size)) if stride is None else stride


@public("torch.from_file", asks=False)
def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *,
    dtype: DType | None = None, layout: torch_layout | None = None,
    device: DeviceLike = None, pin_memory: bool | None = False,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """A CPU tensor over the bytes of a file.

    Args:
        shared: writes to the tensor go to the file, which grows to `size` if it is
            smaller; else they stay in this process.
        size: how many elements.

    Raises: FileNotFoundError for a file that is not there and not shared.
    """
    if device is not None and Device(device).type != "cpu":
        raise ArgumentError("from_file", "device", was=device, needed="cpu")
    if size is None or size < 0:
        raise ArgumentError("from_file", "size", was=size, needed="at least 0")
    format = (dtype or get_default_dtype()).numpy
    if not size:
        return empty(0, dtype=dtype, device="cpu", requires_grad=requires_grad)
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), size * format.itemsize))
    mode: Any = "r+" if shared else "c"
    y = from_numpy(np.memmap(filename, format, mode, shape=(size,)))
    return y.requires_grad_() if requires_grad else y
