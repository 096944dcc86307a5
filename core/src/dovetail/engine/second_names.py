"""Modules that torch has elsewhere, importable from there: `dovetail.utils.data`.

What a module has as an attribute may be imported from it, though the module's own name
is another one (`dovetail.data`) or it has no file (`dovetail.cuda.amp`). What is below
it is found there too, once and not as a copy.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any, cast

_PACKAGE = "dovetail."


def install() -> None:
    """From now on, such modules are found."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


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
        module.__spec__ = self._spec
