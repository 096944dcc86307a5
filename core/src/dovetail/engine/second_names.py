"""Modules that torch has elsewhere, importable from there: `dovetail.utils.data`.

What a module has as an attribute may be imported from it, though the module's own name
is another one (`dovetail.data`) or it has no file (`dovetail.cuda.amp`). What is below
it is found there too, once and not as a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, Final, cast

from dovetail.errors import MissingModule

_PACKAGE = "dovetail."
# Gives the module that knows the places in which torch has names that are elsewhere.
_known: Final[list[Callable[[], Any]]] = []


def install(known: Callable[[], Any]) -> None:
    """From now on, such modules are found.

    Args:
        known: gives the module of places, when a module is asked for that has no file.
    """
    if not _known:
        _known.append(known)
        sys.meta_path.insert(0, _Finder())
        sys.meta_path.append(_Places())


def place(name: str) -> ModuleType | None:
    """A module in which torch has names that are elsewhere, if there is one."""
    return import_module(name) if _known and _known[0]().is_place(name) else None


def elsewhere(module: str, name: str) -> Any:
    """What torch has in a module by a name that ours has in another; None for none."""
    return _known[0]().elsewhere(module, name) if _known else None


def reason_of(name: str) -> str | None:
    """Why a module that torch has is left out, if that is declared."""
    reason: str | None = _known[0]().reason_of(name) if _known else None
    return reason


class _Finder:
    """Finds modules of the package by a second name; a `MetaPathFinder`."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """A spec for a second name, None for all else."""
        if not fullname.startswith(_PACKAGE):
            return None
        parent, _, name = fullname.rpartition(".")
        above = sys.modules.get(parent)
        if above is None:
            return None
        if above.__name__ != parent:
            return _spec(fullname, f"{above.__name__}.{name}")
        found = vars(above).get(name)
        if not isinstance(found, ModuleType) or PathFinder.find_spec(fullname, path):
            return None
        return _spec(fullname, found)


class _Places:
    """Finds places, after all else has found nothing; a `MetaPathFinder`."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """A spec for a place, None for all else.

        Raises: MissingModule for what is left out.
        """
        if not fullname.startswith(_PACKAGE):
            return None
        found = _known[0]().place_of(fullname)
        if found is not None:
            return _spec(fullname, found)
        reason = reason_of(fullname)
        if reason is not None:
            raise MissingModule(fullname, reason)
        return None


def _spec(name: str, module: ModuleType | str) -> ModuleSpec:
    # `importlib.abc`, whose classes these are, takes longer to load than all of this.
    return ModuleSpec(name, cast(Any, _Loader(module)), is_package=True)


class _Loader:
    """Gives a module that is there, or that has its own name; a `Loader`."""

    def __init__(self, module: ModuleType | str) -> None:
        self._module = module

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, imported by its own name if it was not.

        Raises: ModuleNotFoundError where there is none.
        """
        found = self._module
        self._found = import_module(found) if isinstance(found, str) else found
        self._spec = self._found.__spec__
        return self._found

    def exec_module(self, module: ModuleType) -> None:
        """It has run; the import gave it another spec, which is put back."""
        if self._spec is not None:
            module.__spec__ = self._spec
