"""NVIDIA's libraries by their C interfaces: where they are, and what they answer."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dovetail.errors import BackendError


def library(name: str, version: str, package: str) -> Any:
    """A library, loaded from where CuPy's wheels, or the system, have it.

    Args:
        name: as NVIDIA calls it, such as "cublas".
        version: what follows ".so." in its file's name.
        package: whose wheel may bring it, such as "nvidia.cudnn".

    Raises:
        BackendError: it is not there.
    """
    tried: tuple[Callable[[], str], ...] = (
        lambda: _found(name),
        lambda: str(next(_folder(package).glob(f"lib{name}.so.{version}"))),
        lambda: f"lib{name}.so.{version}",
    )
    for where in tried:
        with suppress(Exception):  # absent, in one way or another: the next one
            return ctypes.CDLL(where())
    raise BackendError(
        "device", f"lib{name}", was="not found", needed=f"version {version}",
        remedy=f"install CuPy with its extra [ctk], and the wheel of {package}",
    )  # fmt: skip


def _found(name: str) -> str:
    from cuda.pathfinder import load_nvidia_dynamic_lib

    return str(load_nvidia_dynamic_lib(name).abs_path)


def _folder(package: str) -> Path:
    spec = find_spec(package)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0]) / "lib"


class Answers:
    """Functions of a library, which answer 0 where all is well.

    Args:
        loaded: the library.
        name: what it is called in errors.
    """

    def __init__(self, loaded: Any, name: str) -> None:
        self._library = loaded
        self._name = name

    def __call__(self, function: str, *args: Any) -> None:
        """Call a function.

        Raises:
            BackendError: it answers anything but 0.
        """
        status = getattr(self._library, function)(*args)
        if status:
            raise self.failed(function, status)

    def failed(self, function: str, status: int) -> BackendError:
        """The error for an answer."""
        return BackendError(
            "device", self._name, was=f"status {status} of {function}",
            needed="success",
            remedy="look whether memory is left; else report it with the shapes",
        )  # fmt: skip

    def made(self, function: str) -> ctypes.c_void_p:
        """What a function makes, such as a handle."""
        found = ctypes.c_void_p()
        self(function, ctypes.byref(found))
        return found
