"""Modules that bring a device which no package announces: found, imported, told."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Final

SETUP: Final = "DOVETAIL_CONFORMANCE_SETUP"
"""The environment variable that names such modules, separated by commas."""

_brought: dict[str, str] = {}


def named(given: Iterable[str] = ()) -> tuple[str, ...]:
    """The modules to import first: these, then what the environment names."""
    others = os.environ.get(SETUP, "").split(",")
    return tuple(dict.fromkeys([*given, *filter(None, others)]))


def bring(name: str, folder: str = "") -> None:
    """Import a module, from a folder if it is on no path.

    Args:
        name: of the module, as `import` takes it.
        folder: where its package lies; empty for the current one.
    """
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{name}.".startswith(f"{error.name}."):
            raise  # it is there, and misses another
        sys.path.append(folder or os.getcwd())
        module = import_module(name)
    _brought[name] = _folder(module)


def brought() -> dict[str, str]:
    """The modules that `bring` imported, and the folder of each one's package."""
    return dict(_brought)


def _folder(module: ModuleType) -> str:
    """What has to be on the path for a module to be found; empty for one in no file."""
    if not module.__file__:
        return ""
    path = Path(module.__file__)
    if path.name == "__init__.py":
        path = path.parent
    return str(path.parents[module.__name__.count(".")])
