"""Files in the safetensors format: written whole, read with errors that say why."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from io import TextIOBase
from pathlib import Path
from typing import Any, BinaryIO, Final

from dovetail.dtypes import FLOAT8, Array, DType
from dovetail.errors import (
    ArgumentTypeError,
    DovetailError,
    DTypeError,
    FileFormatError,
    NotSupported,
)
from dovetail.io.serialized import DTYPES, deserialized, serialize
from dovetail.io.whole_files import replacing

Target = str | os.PathLike[str] | BinaryIO

_VERSION: Final = 1


def written(
    target: Target, arrays: dict[str, Array], key: str | None, extra: Mapping[str, Any]
) -> None:
    """Write arrays by name; a path then holds the new file or, after a crash, the old.

    Args:
        extra: JSON to put into the header under `key`; without key, its texts.
    """
    if key is not None:
        extra = {key: json.dumps(extra, allow_nan=False, separators=(",", ":"))}
    if isinstance(target, str | os.PathLike):
        with replacing(target) as path, path.open("wb") as file:
            serialize(arrays, extra, file)
        return
    _check_file("save", target, "write")
    serialize(arrays, extra, target)


def _check_file(op: str, target: Any, method: str) -> None:
    """Raise for what is no file of bytes."""
    if not hasattr(target, method) or isinstance(target, TextIOBase):
        raise ArgumentTypeError(
            op, "f", was=f"a {type(target).__name__}", needed="a path or a binary file"
        )


class Opened:
    """A file that is being read; its errors name `op` and the file."""

    def __init__(self, op: str, source: Target) -> None:
        self.op = op
        self.source = source
        self.path = Path()
        self._stack = ExitStack()

    def __enter__(self) -> Opened:
        with ExitStack() as stack:
            self.path = self._local(stack)
            self.path.open("rb").close()  # so that what Python says of it is raised
            self._file = stack.enter_context(self._open())
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def _local(self, stack: ExitStack) -> Path:
        if isinstance(self.source, str | os.PathLike):
            return Path(self.source)
        _check_file("load", self.source, "read")
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        path = Path(folder) / "tensors"
        with path.open("wb") as copy:
            shutil.copyfileobj(self.source, copy)
        return path

    def _open(self) -> Any:
        from safetensors import SafetensorError, safe_open

        try:
            return safe_open(self.path, framework="numpy")
        except SafetensorError as error:
            raise self._refused(error) from error

    def _refused(self, error: Exception) -> DovetailError:
        with self.path.open("rb") as file:
            start = file.read(4)
        if start == b"PK\x03\x04" or start[:2] == b"\x80\x02":
            return NotSupported(
                self.op, self._name(), was="a pickle, or an archive of PyTorch's",
                needed="a file of dovetail.save, or in the safetensors format",
                remedy="read files that torch.save wrote by dovetail.load",
            )  # fmt: skip
        return FileFormatError(
            self.op, self._name(),
            was=f"{self.path.stat().st_size} bytes that are no whole file ({error})",
            needed="a file of dovetail.save, or in the safetensors format",
            remedy="it was cut short, is damaged, or is of another kind",
        )  # fmt: skip

    def _name(self) -> str:
        is_path = isinstance(self.source, str | os.PathLike)
        return repr(os.fspath(self.path)) if is_path else "the file"

    def names(self) -> list[str]:
        """The names of the arrays, in the order in which they lie in the file."""
        order = getattr(self._file, "offset_keys", self._file.keys)
        return list(order())

    def structure(self, key: str) -> dict[str, Any] | None:
        """The JSON that the header has under `key`, None where it has none.

        Raises:
            FileFormatError: it is damaged.
            NotSupported: a later version wrote it.
        """
        text = (self._file.metadata() or {}).get(key)
        if text is None:
            return None
        with self.checked():
            found: dict[str, Any] = json.loads(text)
            version = found["version"]
        if version != _VERSION:
            raise NotSupported(
                self.op, self._name(), was=f"of version {version} of the format",
                needed=f"version {_VERSION}", remedy="use a newer dovetail",
            )  # fmt: skip
        return found

    @contextmanager
    def checked(self) -> Iterator[None]:
        """Say of what is wrong in a file that the file is damaged."""
        try:
            yield
        except DovetailError:
            raise
        except (
            KeyError, TypeError, IndexError, ValueError, AttributeError, OverflowError,
            RecursionError,
        ) as error:  # fmt: skip
            raise FileFormatError(
                self.op, self._name(), needed="what dovetail.save writes",
                was=f"damaged: {type(error).__name__}: {error}",
            ) from error  # fmt: skip

    def described(self, name: str) -> tuple[DType, tuple[int, ...]]:
        """Dtype and shape of one array.

        Raises:
            FileFormatError: there is none of that name.
            DTypeError: dovetail does not have its dtype.
        """
        with self._present(name):
            found = self._file.get_slice(name)
            dtype = DTYPES.get(found.get_dtype())
            if dtype is None:
                raise DTypeError(
                    self.op, f"the dtype of {name!r}", was=found.get_dtype(),
                    needed=f"one of {', '.join(DTYPES)}",
                )  # fmt: skip
            return dtype, tuple(found.get_shape())

    def values(self, name: str) -> Array:
        """The values of one array; raises as `described` does."""
        dtype, shape = self.described(name)
        if dtype in FLOAT8:  # which the library looks for in NumPy
            with self.checked(), self.path.open("rb") as file:
                return deserialized(file, name).view(dtype.numpy).reshape(shape)
        with self._present(name):
            dtype.numpy  # noqa: B018 -- loads what NumPy needs for bfloat16
            found: Array = self._file.get_tensor(name)
            return found

    @contextmanager
    def _present(self, name: str) -> Iterator[None]:
        from safetensors import SafetensorError

        try:
            yield
        except SafetensorError as error:
            raise FileFormatError(
                self.op, self._name(), was=f"without {name!r} ({error})",
                needed="all the tensors that its header names",
            ) from error  # fmt: skip
