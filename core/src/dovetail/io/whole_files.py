"""Files that are there whole or not at all.

A file is written beside its place and moved there at the end. What a writer leaves
that is killed meanwhile, the next one removes that writes into the same folder.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final
from zlib import crc32

from dovetail.errors import FileError

_DAY: Final = 86400.0
_NAME: Final = re.compile(r"\.dovetail-([0-9a-f]{8})-(\d+)-[0-9a-f]{12}\.tmp")
# Where a new file cannot be made although the old one may be written.
_CLOSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)

_in_use: Final[set[str]] = set()


@contextmanager
def replacing(target: str | os.PathLike[str], op: str = "save") -> Iterator[Path]:
    """A path to write to, whose file takes the place of `target` at the end.

    A link stays one, and what it leads to is replaced. A file keeps its mode and its
    owner. A device or pipe is written to. Where the folder takes no new files, the file
    itself is overwritten: then alone can a crash leave half of it.

    Raises:
        FileError: links in a circle, a folder, a full disk; says which file.
    """
    with file_errors(op, target):
        place, before = _place(op, Path(target))
        if before is not None and not stat.S_ISREG(before.st_mode):
            with _copied_to(place) as path:
                yield path
            return
        try:
            fresh, mode = _fresh(place.parent, before)
        except OSError as error:
            if before is None or error.errno not in _CLOSED:
                raise
            with _copied_to(place) as path:
                yield path
            return
        try:
            yield fresh
            _finish(fresh, before, mode)
            os.replace(fresh, place)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
        finally:
            _in_use.discard(fresh.name)
        _persist(place.parent)


@contextmanager
def file_errors(op: str, target: str | os.PathLike[str]) -> Iterator[None]:
    """Say of an error of the system with which file it came; classes stay."""
    try:
        yield
    except FileError:
        raise
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        # Python's own have classes that users catch; the path is not that of a draft.
        raise type(error)(error.errno, error.strerror, os.fspath(target)) from None
    except OSError as error:
        raise FileError(
            op, repr(os.fspath(target)), was=error.strerror or str(error),
            needed=_NEEDED.get(error.errno or 0, "a file that can be written"),
            errno=error.errno,
        ) from error  # fmt: skip


_NEEDED: Final = {
    errno.ENOSPC: "space on its disk; what was there before is still there",
    errno.EFBIG: "a file of the size that the system allows",
    errno.ELOOP: "links that lead to a file",
    errno.EISDIR: "the path of a file",
    errno.ENAMETOOLONG: "a shorter name",
}


def _place(op: str, target: Path) -> tuple[Path, os.stat_result | None]:
    """Where links lead, and what is there."""
    place = Path(os.path.realpath(target))
    try:
        before = place.stat()
    except FileNotFoundError:
        return place, None
    if stat.S_ISDIR(before.st_mode):
        raise IsADirectoryError(errno.EISDIR, "a folder")
    return place, before


@contextmanager
def _copied_to(place: Path) -> Iterator[Path]:
    """A path elsewhere, whose file is copied into `place` at the end."""
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made"
        made.touch()
        yield made
        with made.open("rb") as source, place.open("wb", buffering=0) as sink:
            shutil.copyfileobj(source, sink)
            sink.flush()


def _fresh(folder: Path, before: os.stat_result | None) -> tuple[Path, int]:
    """A new file in a folder and its mode, after leftovers were removed."""
    _sweep(folder)
    path = folder / f".dovetail-{_here()}-{os.getpid()}-{secrets.token_hex(6)}.tmp"
    _in_use.add(path.name)
    # One that replaces another is nobody else's while it is written.
    mode = 0o666 if before is None else 0o600
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
    return path, stat.S_IMODE((before or path.stat()).st_mode)


def _finish(fresh: Path, before: os.stat_result | None, mode: int) -> None:
    """Write it to the disk, with the mode and, where possible, the owner it is due."""
    with fresh.open("r+b") as made:
        os.fsync(made.fileno())
    if before is not None and hasattr(os, "chown"):
        with suppress(OSError):  # only the superuser gives files away
            os.chown(fresh, before.st_uid, before.st_gid)
    fresh.chmod(mode)


def _persist(folder: Path) -> None:
    """Put a new name on the disk, so that it survives a loss of power."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sweep(folder: Path) -> None:
    """Remove what writers left in a folder that were killed."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _NAME.fullmatch(entry.name)
            if found is not None and _left_over(entry, found[1], int(found[2])):
                with suppress(OSError):
                    os.unlink(entry.path)


def _left_over(entry: os.DirEntry[str], host: str, process: int) -> bool:
    """Whether the writer of a file is gone; of other machines, whether it is old."""
    if host != _here() or os.name != "posix":
        return time.time() - entry.stat().st_mtime > _DAY
    if process == os.getpid():
        return entry.name not in _in_use
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is somebody else's, and there
    return False


def _here() -> str:
    """This machine, and where processes are numbered apart, the numbering."""
    text = socket.gethostname()
    with suppress(OSError):
        text += os.readlink("/proc/self/ns/pid")
    return f"{crc32(text.encode()):08x}"
