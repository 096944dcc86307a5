"""Whole modules in a file: pickles, whose tensors lie beside them as all others do.

A pickle calls what it names. So one is read only where the caller trusts the file, or
names the classes that may be in it; beside those there are our own layers, found where
they lie and by no way through what their modules import, and functions that compute
and do nothing else.
"""

from __future__ import annotations

import base64
import io
import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.io.packing import Packer, Path

if TYPE_CHECKING:
    from dovetail.io.containers import Contents


# What modules are made of besides classes of their own.
_HARMLESS: Final = {
    ("builtins", "set"), ("builtins", "frozenset"), ("collections", "OrderedDict"),
}  # fmt: skip
_ROOMS: Final = ("torch", "F")
_safe: Final[list[Any]] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Let these classes and functions be in modules that `load` reads."""
    _safe.extend(safe_globals)


def get_safe_globals() -> list[Any]:
    """The classes and functions that may be in modules."""
    return list(_safe)


def clear_safe_globals() -> None:
    """Let no classes be in modules any more."""
    _safe.clear()


@contextmanager
def safe_globals(safe_globals: Iterable[Any]) -> Iterator[None]:
    """Let these classes and functions be in modules, within a `with`."""
    before = list(_safe)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _safe[:] = before


def _room(x: Any) -> str:
    """Where a function of ours is public; empty for what is none."""
    if not isinstance(x, FunctionType):
        return ""
    rooms = (r for r in _ROOMS if NAMESPACES[r].get(x.__name__) is x)
    return next(rooms, "")


class _Pickler(pickle.Pickler):
    """Pickles all but tensors, of which it takes the numbers, and functions of ours."""

    def __init__(self, file: Any, packer: Packer, path: Path) -> None:
        super().__init__(file)
        self.packer, self.path = packer, path

    def persistent_id(self, obj: Any) -> int | tuple[str, str] | None:
        """The number of a tensor, a function's public name; None for what is pickled.

        Where functions of ours lie, others are found.
        """
        if isinstance(obj, Tensor):
            return self.packer.add(obj, (*self.path, len(self.packer.kept)))
        room = _room(obj)
        return (room, obj.__name__) if room else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: Any, contents: Contents) -> None:
        super().__init__(file)
        self.contents = contents

    def persistent_load(self, pid: Any) -> Any:
        """The tensor of a number, or the function of a name.

        Raises: ArgumentError for a function that does more than to compute.
        """
        if not isinstance(pid, tuple):
            return self.contents.tensors[pid]
        room, name = pid
        if room not in _ROOMS or not (self.contents.trusted or _computes(room, name)):
            raise _distrusted(f"{room}.{name}")
        return NAMESPACES[room][name]

    def find_class(self, module: str, name: str) -> Any:
        """A class of the pickle.

        Raises: ArgumentError if nobody said that it may be there.
        """
        if not self._trusts(module, name):
            raise _distrusted(f"{module}.{name}")
        return super().find_class(module, name)

    def _trusts(self, module: str, name: str) -> bool:
        if self.contents.trusted or (module, name) in _HARMLESS:
            return True
        if module.startswith("dovetail.nn."):
            found = super().find_class(module, name)
            own = (getattr(found, "__module__", ""), getattr(found, "__qualname__", ""))
            return isinstance(found, type) and own == (module, name)
        return any(
            (x.__module__, x.__qualname__) == (module, name)
            for x in _safe if hasattr(x, "__qualname__")
        )  # fmt: skip


def _computes(room: str, name: str) -> bool:
    """Whether it is a function of nn.functional or a declared op, which compute."""
    found = NAMESPACES[room].get(name)
    return found is not None and (room == "F" or hasattr(found, "op"))


def _distrusted(what: str) -> ArgumentError:
    return ArgumentError(
        "load", "weights_only", was=f"True, for a file with a {what}",
        needed="False, and only for files that you trust: they may run any code; or "
        "the class among dovetail.io.add_safe_globals",
        remedy="save the module's state_dict() instead, or plain values",
    )  # fmt: skip


def pickled(x: Any, packer: Packer, path: Path) -> str:
    """A module, or what is of a class of users', as text; its tensors go to `packer`.

    Raises: ArgumentTypeError if it holds what cannot be pickled.
    """
    file = io.BytesIO()
    try:
        _Pickler(file, packer, path).dump(x)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        has_state = hasattr(x, "state_dict")
        raise ArgumentTypeError(
            "save", f"the {type(x).__name__}", was=f"not picklable: {error}",
            needed="objects of classes that lie in modules",
            remedy="save its state_dict()" if has_state
            else "keep it out, or save what it is made of",
        ) from error  # fmt: skip
    return base64.b64encode(file.getvalue()).decode("ascii")


def unpickled(text: str, contents: Contents) -> Any:
    """The module of a text.

    Raises: ArgumentError for a class that nobody trusts.
    """
    return _Unpickler(io.BytesIO(base64.b64decode(text)), contents).load()
