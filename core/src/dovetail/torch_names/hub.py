"""Files from the network, as `torch.hub` fetches them."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import urllib.request
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlparse

import dovetail
from dovetail.errors import NotSupported
from dovetail.io.whole_files import replacing

HASH_REGEX: Final = re.compile(r"-([a-f0-9]*)\.")
_chosen: Final[list[str]] = []


def get_dir() -> str:
    """The folder that files are kept in: that of torch, unless one was set."""
    if _chosen:
        return _chosen[-1]
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files in another folder."""
    _chosen.append(os.path.expanduser(os.fspath(d)))


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Fetch a file, which is there as a whole or not at all.

    Args:
        hash_prefix: what its SHA256 begins with.
        progress: taken as torch takes it; nothing is shown.

    Raises: RuntimeError if the hash is another one, URLError if nothing answers.
    """
    # What is wrong with the address is no fault of the file.
    with urllib.request.urlopen(url) as source, replacing(dst) as path:
        with path.open("wb") as target:
            shutil.copyfileobj(source, target)
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        if hash_prefix and not found.startswith(hash_prefix):
            raise RuntimeError(
                f"invalid hash value (expected {hash_prefix!r}, got {found!r})"
            )


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None,
    progress: bool = True, check_hash: bool = False, file_name: str | None = None,
    weights_only: bool = True,
) -> Any:  # fmt: skip
    """What `dovetail.load` reads of a file, which is fetched once."""
    folder = Path(model_dir or os.path.join(get_dir(), "checkpoints"))
    folder.mkdir(parents=True, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = folder / name
    if not path.exists():
        hashed = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, str(path), hashed.group(1) if hashed else None)
    return dovetail.load(path, map_location, weights_only=weights_only)


load_url: Final = load_state_dict_from_url  # `torch.utils.model_zoo` has it so


def _torch_home() -> str:
    """The folder above the one that files are kept in."""
    return os.path.dirname(get_dir())


_get_torch_home: Final = _torch_home


def load(repo_or_dir: Any, model: Any, *_args: Any, **_options: Any) -> None:
    """Raise NotSupported: no code of repositories is fetched."""
    raise NotSupported(
        "hub", "repo_or_dir", was=repr(repo_or_dir), needed="no repository",
        remedy="import its code, and fetch weights by load_state_dict_from_url",
    )  # fmt: skip


list = help = load

__all__ = [
    "HASH_REGEX",
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "load_url",
    "set_dir",
]  # fmt: skip


class _Faketqdm:
    """A bar that is not drawn, for programs that take `tqdm` from here."""

    def __init__(
        self, iterable: Iterable[Any] | None = None, *_: Any, **_options: Any
    ) -> None:
        self._iterable = iterable or ()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def update(self, n: float = 1) -> None:
        """Go on by so much."""

    def close(self) -> None:
        """Draw no more."""

    def set_description(self, *_: Any, **_options: Any) -> None:
        """What the bar is called."""


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module("tqdm").tqdm
    except ModuleNotFoundError:
        return _Faketqdm
