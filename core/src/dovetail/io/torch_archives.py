"""Files that PyTorch wrote: an archive of a pickle and the bytes of storages.

Since PyTorch 1.6 that is a zip file without compression, which holds `data.pkl`,
`byteorder`, and under `data/` a record for each storage. Before, it was a row of
pickles with the storages behind them.
"""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final

import numpy as np

from dovetail import dtypes
from dovetail.dtypes import Array
from dovetail.errors import DovetailError, FileFormatError, NotSupported
from dovetail.io.torch_pickles import (
    DataUnpickler,
    Namer,
    Scanner,
    Storage,
    StorageType,
    TrustingUnpickler,
)
from dovetail.tensor_api.memory import ground

Source = str | os.PathLike[str] | BinaryIO

_ZIP: Final = b"PK\x03\x04"
_MAGIC: Final = 0x1950A86A20F9469CFC6C
_OLD: Final = pickle.dumps(_MAGIC, 2)[:10]
_PROTOCOL: Final = 1001
_SIZE: Final = 8  # bytes of the number of elements before an older file's storage


def is_torchs(f: Source) -> bool:
    """Whether a file begins as one of PyTorch's; it is read from where it was."""
    if isinstance(f, str | os.PathLike):
        try:
            with open(f, "rb") as file:
                start = file.read(len(_OLD))
        except OSError:
            return False
    else:
        try:
            at = f.tell()
            start = f.read(len(_OLD))
            f.seek(at)
        except (AttributeError, OSError, ValueError):
            return False
    return start[:4] == _ZIP or start == _OLD


def loaded(f: Source, trusted: bool, mmap: bool) -> Any:
    """What `torch.save` put into a file.

    Args:
        trusted: pickles may name anything.
        mmap: the values stay in the file until they are looked at; needs a path.

    Raises:
        UnsafeFile: it names something that may run code, and is not trusted.
        FileFormatError: it is cut short or damaged.
        NotSupported: it holds a program of TorchScript's.
    """
    path = os.fspath(f) if isinstance(f, str | os.PathLike) else None
    if path is None:
        assert not isinstance(f, str | os.PathLike)
        return _loaded(f, None, trusted, mmap)
    with open(path, "rb") as file:
        return _loaded(file, path, trusted, mmap)


def unsafe_names(f: Source) -> list[str]:
    """What a file's pickle names that is not read without trust; nothing is made.

    Raises:
        FileFormatError: it is damaged.
        NotSupported: it is no archive that `torch.save` wrote.
    """
    if isinstance(f, str | os.PathLike):
        with open(f, "rb") as file:
            return unsafe_names(file)
    with _damages(None):
        start = f.read(4)
        f.seek(-len(start), os.SEEK_CUR)
        if start != _ZIP:
            raise NotSupported(
                "get_unsafe_globals_in_checkpoint", "f", was="no zip archive",
                needed="a checkpoint that torch.save wrote, by PyTorch 1.6 or later",
            )  # fmt: skip
        with zipfile.ZipFile(f) as archive:
            return _Archive(archive, None, False).unsafe_names()


def _loaded(file: BinaryIO, path: str | None, trusted: bool, mmap: bool) -> Any:
    with _damages(path):
        start = file.read(4)
        file.seek(-len(start), os.SEEK_CUR)
        if start != _ZIP:
            return _Older(file, trusted).read()
        with zipfile.ZipFile(file) as archive:
            return _Archive(archive, path if mmap else None, trusted).read()


@contextmanager
def _damages(path: str | None) -> Iterator[None]:
    """Say of what is wrong in a file that the file is damaged."""
    name = "the file" if path is None else repr(path)
    try:
        yield
    except (DovetailError, MemoryError, ImportError):
        raise
    except (
        zipfile.BadZipFile, pickle.UnpicklingError, EOFError, KeyError, TypeError,
        IndexError, ValueError, AttributeError, OverflowError, RecursionError,
        AssertionError, NotImplementedError, UnicodeDecodeError, struct.error,
    ) as error:  # fmt: skip
        raise FileFormatError(
            "load", name, was=f"damaged: {type(error).__name__}: {error}",
            needed="what torch.save writes",
        ) from error  # fmt: skip


def _unpickler(trusted: bool) -> Callable[..., Any]:
    return TrustingUnpickler if trusted else DataUnpickler


class _Archive:
    """A zip file that `torch.save` wrote."""

    def __init__(
        self, archive: zipfile.ZipFile, path: str | None, trusted: bool
    ) -> None:
        self.archive, self.path, self.trusted = archive, path, trusted
        names = archive.namelist()
        if len(set(names)) != len(names):
            raise ValueError("two records of one name")
        if sum(info.file_size for info in archive.infolist()) > archive.start_dir:
            raise ValueError("records that lie over each other")
        found = [n for n in names if n.endswith("/data.pkl") and n.count("/") == 1]
        if len(found) != 1:
            raise ValueError("an archive without data.pkl")
        self.room = found[0].removesuffix("data.pkl")
        if f"{self.room}constants.pkl" in names:
            raise NotSupported(
                "load", "the file", was="a program of TorchScript's",
                needed="tensors, or a module that torch.save wrote",
                remedy="save the module's state_dict() where it was made",
            )  # fmt: skip
        self.swapped = self._order(names) != "little"
        self.storages: dict[str, Storage] = {}

    def _order(self, names: list[str]) -> str:
        name = f"{self.room}byteorder"
        if name not in names:
            return "little"
        order = bytes(self._bytes(name, None)).decode("ascii", "replace")
        if order not in ("little", "big"):
            raise ValueError(f"a byte order {order!r}")
        return order

    def read(self) -> Any:
        """What the pickle is of."""
        record = io.BytesIO(bytes(self._bytes(f"{self.room}data.pkl", None)))
        return _unpickler(self.trusted)(record, self._storage).load()

    def unsafe_names(self) -> list[str]:
        """What the pickle names that nobody has allowed, in order."""
        record = io.BytesIO(bytes(self._bytes(f"{self.room}data.pkl", None)))
        namer = Namer(record)
        namer.load()
        return namer.unsafe

    def _storage(self, pid: Any) -> Storage:
        cls, key, where, count = _described(pid)
        found = self.storages.get(key)
        if found is None:
            made = self.storages[key] = self._made(cls, key, where, count)
            return made
        if found.dtype is not cls.dtype or found.size != count:
            raise ValueError(f"storage {key!r} twice, and not alike")
        return found

    def _made(self, cls: StorageType, key: str, where: str, count: int) -> Storage:
        if where == "meta":
            nothing = ground(count, cls.dtype or dtypes.uint8, 0, where)
            return Storage(nothing, cls.dtype, count)
        width = 1 if cls.dtype is None else cls.dtype.itemsize
        values = self._bytes(f"{self.room}data/{key}", count * width)
        return _filled(cls, values, where, count, self.swapped)

    def _bytes(self, name: str, size: int | None) -> Array:
        """A record, which is not read unless it has the size that it is to have."""
        info = self.archive.getinfo(name)
        if info.compress_type != zipfile.ZIP_STORED or info.flag_bits & 1:
            raise ValueError(f"{name} is compressed, or encrypted")
        if size is not None and info.file_size != size:
            raise ValueError(f"{name} has {info.file_size} bytes, not {size}")
        if self.path is not None and size:
            return self._mapped(info, size)
        values = np.empty(info.file_size, np.uint8)
        with self.archive.open(info) as record:
            if record.readinto(values.data) != values.size and values.size:  # type: ignore[attr-defined]
                raise ValueError(f"{name} is cut short")
            record.read(1)  # so that the checksum is looked at
        return values

    def _mapped(self, info: zipfile.ZipInfo, size: int) -> Array:
        """A record as it lies in the file; writes stay in this process."""
        assert self.path is not None
        with open(self.path, "rb") as file:
            file.seek(info.header_offset)
            head = file.read(30)
        name, more = (int.from_bytes(head[i : i + 2], "little") for i in (26, 28))
        start = info.header_offset + 30 + name + more
        return np.asarray(np.memmap(self.path, np.uint8, "c", start, (size,)))


class _Older:
    """A row of pickles, and the bytes of storages behind them.

    The pickle of what was saved is read twice: first to know what the storages are.
    """

    def __init__(self, file: BinaryIO, trusted: bool) -> None:
        self.file, self.trusted = file, trusted
        self.described: dict[str, tuple[StorageType, str, int]] = {}
        self.storages: dict[str, Storage] = {}

    def read(self) -> Any:
        """What was saved."""
        if self._plain() != _MAGIC or self._plain() != _PROTOCOL:
            raise ValueError("another kind of file")
        little = self._plain().get("little_endian") is not False
        at = self.file.tell()
        Scanner(self.file, self._noted).load()
        for key in self._plain():
            self.storages[key] = self._next(key, not little)
        self.file.seek(at)
        return _unpickler(self.trusted)(self.file, self._storage).load()

    def _plain(self) -> Any:
        return DataUnpickler(self.file, self._storage).load()

    def _noted(self, pid: Any) -> Any:
        if _is_class(pid):
            return pid[1]
        cls, key, where, count = _described(pid)
        self.described[key] = cls, where, count
        return None

    def _storage(self, pid: Any) -> Any:
        return pid[1] if _is_class(pid) else self.storages[_described(pid)[1]]

    def _next(self, key: Any, swapped: bool) -> Storage:
        cls, where, count = self.described[key]
        if int.from_bytes(self.file.read(_SIZE), "little") != count:
            raise ValueError(f"storage {key!r} has another size")
        size = count * (1 if cls.dtype is None else cls.dtype.itemsize)
        data = self.file.read(size)
        if len(data) != size:
            raise ValueError(f"storage {key!r} is cut short")
        values = np.frombuffer(bytearray(data), np.uint8)
        return _filled(cls, values, where, count, swapped)


def _is_class(pid: Any) -> bool:
    """Whether an id is of a module's class, beside which its source was written."""
    return isinstance(pid, tuple) and len(pid) == 4 and pid[0] == "module"


def _described(pid: Any) -> tuple[StorageType, str, str, int]:
    """The class, key, device and number of elements that a persistent id has."""
    if not isinstance(pid, tuple) or len(pid) not in (5, 6) or pid[0] != "storage":
        raise ValueError("an id that is no storage's")
    cls, key, where, count = pid[1:5]
    whole = type(count) is int and 0 <= count < 1 << 58
    if not (isinstance(cls, StorageType) and type(key) is str and type(where) is str):
        raise ValueError("an id that is no storage's")
    if not whole or (len(pid) == 6 and pid[5] is not None):
        raise ValueError("an id that is no whole storage's")
    return cls, key, where, count


def _filled(
    cls: StorageType, values: Array, where: str, count: int, swapped: bool
) -> Storage:
    """A storage with these bytes, where `map_location` wants it."""
    dtype = cls.dtype or dtypes.uint8
    if swapped and cls.dtype is not None:
        width = dtype.real.itemsize if dtype.is_complex else dtype.itemsize
        values = values.reshape(-1, width)[:, ::-1].reshape(-1)
    flat = np.ascontiguousarray(values).view(dtype.numpy)
    return Storage(ground(flat, dtype, 0, where), cls.dtype, count)


__all__ = ["is_torchs", "loaded"]
