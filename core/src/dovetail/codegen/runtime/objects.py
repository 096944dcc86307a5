"""Object code on disk: written whole, checked when read, and never more than so much.

Many processes may use one folder. An entry is a file named by the digest of its key; it
holds that digest, a checksum, and the code. Whatever is wrong with it, it counts as not
there and is written anew. Folders and files that others could have written are not
used, because what is read here is run.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
import warnings
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

VARIABLE: Final = "DOVETAIL_KERNEL_CACHE"
LIMIT: Final = 64 << 20

_MAGIC: Final = b"dovetail object\n"
_HEADER: Final = len(_MAGIC) + 2 * 32
_SHARDS: Final = 16  # folders, so that making room looks at few files
_ENTRY: Final = re.compile("[0-9a-f]{64}")
_UNFINISHED: Final = ".unfinished-"
_PATIENCE: Final = 3600.0  # seconds after which nobody is still writing a file
_UNSEEN: Final = 32  # entries that are written before one looks again what there is


class Objects:
    """Object code by key, in a folder.

    Args:
        folder: where it is kept, or None to keep nothing.
        limit: bytes that all entries may have together; those that were used longest
            ago go first.
    """

    def __init__(self, folder: Path | None, limit: int = LIMIT) -> None:
        self.folder = folder
        self._limit = limit // _SHARDS
        self._writes = folder is not None
        self._trusted: set[Path] = set()
        self._known: dict[Path, tuple[int, int]] = {}  # bytes left, entries till a look

    def get(self, key: str) -> bytes | None:
        """The code of a key, or None where there is none that can be trusted."""
        if self.folder is None:
            return None
        digest = sha256(key.encode())
        path = self._path(digest.hexdigest())
        try:
            trusted = self._is_ours(path.parent)
            entry = _read(path, self._limit) if trusted else b""
        except OSError:
            return None
        code = _unpacked(entry, digest.digest())
        if code is not None:
            with suppress(OSError):
                os.utime(path)  # was used just now
        return code

    def put(self, key: str, code: bytes) -> None:
        """Keep the code of a key; where that is impossible, warn once and go on."""
        digest = sha256(key.encode())
        entry = _packed(code, digest.digest())
        if not self._writes or len(entry) > self._limit:
            return
        path = self._path(digest.hexdigest())
        try:
            self._prepare(path.parent)
            _write(path, entry)
            self._make_room(path.parent, len(entry))
        except OSError as error:
            self._writes = False
            warnings.warn(
                f"kernels are not kept in {self.folder}: {error}; "
                f"{VARIABLE} may name another folder, or be off",
                RuntimeWarning,
                stacklevel=2,
            )

    def _path(self, name: str) -> Path:
        assert self.folder is not None
        return self.folder / name[0] / name

    def _prepare(self, shard: Path) -> None:
        """Make the folders, and see that nobody else can write there."""
        shard.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shard.mkdir(mode=0o700, exist_ok=True)
        if not self._is_ours(shard):
            raise PermissionError("others own it or can write there")

    def _is_ours(self, shard: Path) -> bool:
        if shard not in self._trusted:
            for folder in (shard.parent, shard):
                if not _only_ours(folder.stat()):
                    return False
            self._trusted.add(shard)
        return True

    def _make_room(self, shard: Path, more: int) -> None:
        """Remove what was used longest ago, and what others did not finish.

        One looks at the files when they may be too many by what this process has
        written, and now and then for what others have.
        """
        room, entries = self._known.get(shard, (0, 0))
        if room >= more and entries:
            self._known[shard] = room - more, entries - 1
            return
        found = []
        for file in os.scandir(shard):
            with suppress(FileNotFoundError):
                status = file.stat(follow_symlinks=False)
                if _ENTRY.fullmatch(file.name):
                    found.append((status.st_mtime_ns, file.path, status.st_size))
                elif file.name.startswith(_UNFINISHED) and _is_old(status):
                    os.unlink(file.path)
        total = sum(size for _, _, size in found)
        leave = self._limit if total <= self._limit else self._limit * 7 // 8
        for _, path, size in sorted(found):
            if total <= leave:
                break
            with suppress(FileNotFoundError):
                os.unlink(path)
            total -= size
        self._known[shard] = self._limit - total, _UNSEEN


def _only_ours(status: os.stat_result) -> bool:
    """Whether a file or folder is ours, and nobody else can write to it."""
    if not hasattr(os, "geteuid"):
        return True
    writable = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return status.st_uid == os.geteuid() and not writable


def _is_old(status: os.stat_result) -> bool:
    return status.st_mtime < time.time() - _PATIENCE


def _read(path: Path, limit: int) -> bytes:
    """What a plain file of ours holds; empty where it is anything else."""
    # A link is not followed, and a pipe not waited for.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    flags |= getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb") as file:
        status = os.fstat(file.fileno())
        fits = stat.S_ISREG(status.st_mode) and status.st_size <= limit
        return file.read() if fits and _only_ours(status) else b""


def _write(path: Path, entry: bytes) -> None:
    """Write a file whole: no reader sees a part of it."""
    unfinished = path.with_name(f"{_UNFINISHED}{os.getpid()}-{threading.get_ident()}")
    unfinished.unlink(missing_ok=True)  # of a process that died and had this number
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(unfinished, flags, mode=0o600), "wb") as file:
            file.write(entry)
        os.replace(unfinished, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(unfinished)
        raise


def _packed(code: bytes, digest: bytes) -> bytes:
    return _MAGIC + digest + sha256(digest + code).digest() + code


def _unpacked(entry: bytes, digest: bytes) -> bytes | None:
    """The code of an entry, or None where the entry is not what was written."""
    code = entry[_HEADER:]
    return code if code and entry == _packed(code, digest) else None


@cache
def objects() -> Objects:
    """What this process keeps: in a folder of the user's, or as the variable says."""
    wish = os.environ.get(VARIABLE, "")
    if wish.lower() in {"0", "off", "no", "false"}:
        return Objects(None)
    return Objects(Path(wish).absolute() if wish else _default_folder())


def _default_folder() -> Path | None:
    try:
        from platformdirs import user_cache_path

        folder = user_cache_path("dovetail", appauthor=False) / "kernels"
        if folder.is_absolute():
            return folder
        why = f"{folder} is below no home"
    except ImportError:
        why = "platformdirs is not installed"
    except RuntimeError as error:  # a user without a home
        why = str(error)
    warnings.warn(
        f"kernels are not kept on disk: {why}; {VARIABLE} may name a folder, or be off",
        RuntimeWarning,
        stacklevel=2,
    )
    return None
