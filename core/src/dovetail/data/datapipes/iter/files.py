"""Pipes of files: their paths, the files themselves, and what is in them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from typing import Any

from dovetail.errors import ArgumentError, ArgumentTypeError

from ..checks import no_length
from ..datapipe import IterDataPipe
from ..decorators import functional_datapipe
from .items import IterableWrapper


class Sized(IterDataPipe[Any]):
    """A pipe whose length is what its maker says.

    Attributes:
        length: -1 for none.
    """

    length: int

    def __len__(self) -> int:
        if self.length == -1:
            raise no_length(self)
        return self.length


@functional_datapipe("list_files")
class FileLister(Sized):
    """The paths of the files in folders.

    Args:
        root: a folder or a file, or several.
        masks: patterns as of a shell, one of which the file's name has to match.
        recursive: also what is in folders within.
        abspath: whether paths are absolute.
        non_deterministic: in the system's order; else sorted.
        length: how many there are, if that is known.

    Raises: FileNotFoundError while it is read.
    """

    def __init__(
        self, root: str | Sequence[str] | IterDataPipe[str] = ".",
        masks: str | list[str] = "", *, recursive: bool = False, abspath: bool = False,
        non_deterministic: bool = False, length: int = -1,
    ) -> None:  # fmt: skip
        roots = [root] if isinstance(root, str) else root
        pipe = roots if isinstance(roots, IterDataPipe) else IterableWrapper(roots)
        self.datapipe: IterDataPipe[str] = pipe
        self.masks = [masks] if isinstance(masks, str) else masks
        self.recursive, self.abspath = recursive, abspath
        self.non_deterministic, self.length = non_deterministic, length

    def __iter__(self) -> Iterator[str]:
        for root in self.datapipe:
            for path in [root] if os.path.isfile(root) else self._within(root):
                if self._matches(os.path.basename(path)):
                    yield os.path.abspath(path) if self.abspath else path

    def _matches(self, name: str) -> bool:
        masks = [mask for mask in self.masks if mask]
        return not masks or any(fnmatch(name, mask) for mask in masks)

    def _within(self, root: str) -> Iterator[str]:
        for folder, folders, files in os.walk(root, onerror=_refuse):
            if not self.non_deterministic:
                folders.sort()
                files.sort()
            yield from (os.path.join(folder, name) for name in files)
            if not self.recursive:
                return


def _refuse(error: OSError) -> None:
    raise error


@functional_datapipe("open_files")
class FileOpener(Sized):
    """Pairs of path and open file.

    Who gets a file closes it; `read_from_stream` does so at its end.

    Args:
        datapipe: paths.
        mode: "r", "t" or "rt" for text, "b" or "rb" for bytes.
        encoding: of text; the system's if None.
        length: how many there are, if that is known.
    """

    def __init__(
        self, datapipe: Iterable[str], mode: str = "r", encoding: str | None = None,
        length: int = -1,
    ) -> None:  # fmt: skip
        if mode not in ("b", "t", "rb", "rt", "r"):
            raise ArgumentError(
                "open_files", "mode", was=repr(mode), needed='"r", "rt" or "rb"'
            )
        if "b" in mode and encoding is not None:
            raise ArgumentError(
                "open_files", "encoding", was=f"{encoding!r} with bytes", needed="None"
            )
        self.datapipe = [datapipe] if isinstance(datapipe, str) else datapipe
        self.mode, self.encoding, self.length = mode, encoding, length

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        mode = self.mode if "r" in self.mode else f"r{self.mode}"
        for path in self.datapipe:
            if not isinstance(path, str):
                raise ArgumentTypeError(
                    "open_files", "a path", was=f"a {type(path).__name__}",
                    needed="a str",
                )  # fmt: skip
            yield path, open(path, mode, encoding=self.encoding)  # noqa: SIM115


@functional_datapipe("read_from_stream")
class StreamReader(IterDataPipe[tuple[str, Any]]):
    """Pairs of name and content, of pairs of name and open file, which is closed.

    Args:
        chunk: how much is read at once; None for all.
    """

    def __init__(
        self, datapipe: IterDataPipe[tuple[str, Any]], chunk: int | None = None
    ) -> None:
        self.datapipe, self.chunk = datapipe, chunk

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        for name, stream in self.datapipe:
            with stream:
                while part := stream.read(-1 if self.chunk is None else self.chunk):
                    yield name, part
