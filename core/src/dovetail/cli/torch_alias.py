"""`import torch` made to mean dovetail, in one process.

The module `torch` has what dovetail has, and a version of its own: that of the torch
whose names and semantics dovetail follows, by which programs choose what to call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Final

import dovetail
from dovetail.cli import torch_private, torch_spelling, torch_symbols
from dovetail.cli.torch_lists import of_lists
from dovetail.cli.torch_places import FIRST, Place, is_place, place_of
from dovetail.cli.torch_rooms import Kept

FOLLOWED: Final = "2.13.0"


def install() -> None:
    """From now on, `import torch` and what is below it mean dovetail.

    Raises: ImportError if torch itself is in the process already.
    """
    there = sys.modules.get("torch")
    if there is not None and not isinstance(there, _Alias):
        raise ImportError("torch is imported already, and cannot become dovetail")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
        torch_spelling.install()


class _Alias(ModuleType):
    """The module `torch`."""

    def __init__(self) -> None:
        super().__init__("torch", dovetail.__doc__)
        names = {n: v for n, v in vars(dovetail).items() if not _is_of_module(n)}
        for name in [n for n in names if n in FIRST or is_place(f"torch.{n}")]:
            names.pop(name)  # the loader gives it, with its places
        vars(self).update(names)
        self.__version__ = f"{FOLLOWED}+dovetail.{dovetail.__version__}"
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        if name in FIRST or is_place(f"torch.{name}"):
            return import_module(f"torch.{name}")
        if name.startswith("_") and not _is_of_module(name):
            return of_lists(name) or getattr(torch_private, name)
        if name in torch_symbols.__all__:
            return vars(torch_symbols)[name]
        return sys.modules["torch"] if name == "torch" else getattr(dovetail, name)

    def __dir__(self) -> list[str]:
        return dir(dovetail)


def _is_of_module(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


class _Finder(MetaPathFinder):
    """Finds `torch` and the modules below it."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """A spec for what is called torch, None for all else."""
        if fullname.partition(".")[0] not in ("torch", "functorch"):
            return None
        return ModuleSpec(fullname, _Loader(), is_package=True)


class _Loader(Loader):
    """Gives the module of dovetail that has torch's name."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The module, imported if it was not.

        Raises: ModuleNotFoundError where dovetail has none.
        """
        if spec.name == "torch":
            return _Alias()
        module = _module_of(spec.name)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """It has run; imports gave it another spec, which is put back."""
        if isinstance(module, Place | Kept | _Alias):
            return
        name = module.__spec__.name if module.__spec__ else ""
        module.__spec__ = self._spec
        for below in FIRST.get(name.removeprefix("torch."), ()):
            import_module(f"{name}.{below}")


def _module_of(name: str) -> ModuleType:
    place = place_of(name)
    if place is not None:
        return place
    module: ModuleType = dovetail
    for part in name.split(".")[1:]:
        found = getattr(module, part, None)
        if not isinstance(found, ModuleType):
            found = _below(module, part)
        if found is None:
            raise ModuleNotFoundError(
                f"No module named {name!r}: `torch` is dovetail in this process, "
                f"and {module.__name__} has no module {part!r}",
                name=name,
            )
        module = found
    return module


def _below(module: ModuleType, part: str) -> ModuleType | None:
    """A module that is not imported yet; the package's own are behind its names."""
    path = f"{module.__name__}.{part}"
    if module is dovetail or isinstance(module, Place):
        return None
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if not f"{path}.".startswith(f"{error.name}."):
            raise
        return None
