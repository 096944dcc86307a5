"""`import torch` made to mean dovetail, in one process.

The module `torch` has what dovetail has, and a version of its own: that of the torch
whose names and semantics dovetail follows, by which programs choose what to call.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import dovetail
from dovetail.cli import torch_spelling, torch_symbols
from dovetail.cli.torch_rooms import Kept, Missing, is_room, room_of
from dovetail.cli.torch_version import __version__
from dovetail.torch_names import private
from dovetail.torch_names.lists import of_lists
from dovetail.torch_names.places import is_place

# Modules that are there without an import of their own, by what they are below.
_FIRST: Final = {
    "dovetail.distributed": (
        "algorithms",
        "checkpoint",
        "elastic",
        "fsdp",
        "optim",
        "rpc",
        "tensor",
    )
}


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
        for name in [n for n in names if is_room(f"torch.{n}")]:
            names.pop(name)  # the loader gives another
        vars(self).update(names)
        self.__version__ = __version__
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> object:
        found = self._found(name)
        if isinstance(found, ModuleType):
            vars(self)[name] = found  # programs ask for `torch.jit` in each step
        return found

    def _found(self, name: str) -> object:
        own = f"dovetail.{name}"
        if is_room(f"torch.{name}") or own in _FIRST or is_place(own):
            return import_module(f"torch.{name}")
        if name.startswith("_") and not _is_of_module(name):
            return of_lists(name) or getattr(private, name)
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

    def find_distributions(
        self, context: DistributionFinder.Context
    ) -> Iterator[Distribution]:
        """The package torch, of whose version others ask; in front of torch's own."""
        if context.name in (None, "torch"):
            yield _Installed()


class _Installed(Distribution):
    """What is said of the package `torch`."""

    def read_text(self, filename: str) -> str | None:
        """A file of what is known of a package."""
        files = {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {__version__}\n",
            "top_level.txt": "torch\nfunctorch\n",
        }
        return files.get(filename)

    def locate_file(self, path: Any) -> Any:
        """A file of the package, of which there are none."""
        return Path(dovetail.__file__).parent / path


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
        if isinstance(module, Kept | Missing | _Alias):
            return
        module.__spec__ = self._spec
        for below in _FIRST.get(module.__name__, ()):
            import_module(f"torch.{module.__name__.partition('.')[2]}.{below}")


def _module_of(name: str) -> ModuleType:
    found = room_of(name)
    if found is not None:
        return found
    own = f"dovetail.{name.partition('.')[2]}"
    try:
        return import_module(own)
    except ModuleNotFoundError as error:
        if not f"{own}.".startswith(f"{error.name}."):
            raise
        above, _, part = own.rpartition(".")
        raise ModuleNotFoundError(
            f"No module named {name!r}: `torch` is dovetail in this process, "
            f"and {above} has no module {part!r}",
            name=name,
        ) from error
