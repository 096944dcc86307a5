"""Rooms of torch's that do nothing here: switches that are kept, and what is missing.

Programs import from such rooms whatever they might need, and need it in few of their
runs. So what is missing raises when it is called, not when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dovetail.accelerator import current_accelerator
from dovetail.cli import torch_placements
from dovetail.cli.torch_keys import DispatchKey, DispatchKeySet
from dovetail.compiler import list_backends
from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.open_levels import open_levels
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import LinAlgError, NotSupported, OutOfMemory
from dovetail.torch_names import overrides as torch_overrides
from dovetail.torch_names.left_out import REASONS
from dovetail.torch_names.places import Place, is_place

# Modules of switches of torch's compiler, and functions that are asides to it.
KEPT: Final = ("torch._C", "torch._dynamo", "torch._functorch", "torch._inductor")


# Places of this process alone: dovetail has something else there, or nothing.
_FUNCTORCH: Final = ("dovetail.func", "dovetail.cli.torch_functional")
_VERSION: Final = "dovetail.cli.torch_version"
_LIBRARY: Final = ("dovetail.cli.torch_library", "dovetail.library")
_PRIVATE: Final = ("dovetail.torch_names.private",)
_PLACES: Final[dict[str, tuple[str, ...]]] = {
    "functorch": _FUNCTORCH,
    "torch._C._nn": ("dovetail.cli.torch_c_nn", "dovetail.nn.functional"),
    "torch.distributed.elastic.multiprocessing.errors": _PRIVATE,
    "torch.distributed.tensor.placement_types": ("dovetail.cli.torch_placements",),
    "torch._custom_ops": _LIBRARY,
    "torch._tensor_str": ("dovetail.cli.torch_tensor_str",),
    "torch.library": _LIBRARY,
    "torch.ops": ("dovetail.cli.torch_ops",),
    "torch.torch_version": ("dovetail.torch_names.versions", _VERSION),
    "torch.version": (_VERSION, *_PRIVATE),
    **{
        f"torch._functorch.{name}": _FUNCTORCH
        for name in (
            "apis", "deprecated", "eager_transforms", "functional_call", "vmap"
        )
    },
}  # fmt: skip


# Of rooms that are missing, modules with the names that are not.
_PARTS: Final[dict[str, ModuleType]] = {"torch.distributed.tensor": torch_placements}


def is_room(name: str) -> bool:
    """Whether a module below torch is none of dovetail's own."""
    return name in _PLACES or _is_kept(name) or _is_missing(name)


def room_of(name: str) -> ModuleType | None:
    """A module below torch that is none of dovetail's own, if there is one."""
    if name in _PLACES:
        return Place(name, _PLACES[name])
    if _is_kept(name):
        return Kept(name)
    return Missing(name) if _is_missing(name) else None


def _is_kept(name: str) -> bool:
    """Whether a module is one of switches, or below one."""
    return any(name == room or name.startswith(f"{room}.") for room in KEPT)


def _is_missing(name: str) -> bool:
    """Whether a module is one of those whose names raise when they are called."""
    below = name.removeprefix("torch.")
    if is_place(f"dovetail.{below}"):
        return False
    return any(below == room or below.startswith(f"{room}.") for room in REASONS)


# Modules below such rooms that programs reach by their names alone.
_BELOW: Final = frozenset({
    "api", "backends", "cache_size", "codecache", "compile_fx", "debug_utils",
    "decorators", "eval_frame", "exc", "external_utils", "mutation_guard", "testing",
    "trace_rules", "utils",
})  # fmt: skip


class Missing(ModuleType):
    """A module that is left out, whose names raise when they are called."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "Names of torch's, none of which is there.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no {name!r}")
        if name in _BELOW:
            return import_module(f"{self.__name__}.{name}")
        found = vars(_PARTS.get(self.__name__, self)).get(name)
        if found is None:
            found = missing(self.__name__, name)
        setattr(self, name, found)
        return found


# What their functions are for, by how the names begin, a `_` before them left out.
_DECORATORS: Final = (
    "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph",
    "dont_skip_tracing", "forbid_in_graph", "optimize", "run", "skip",
)  # fmt: skip
_ASIDES: Final = (
    "clear", "graph_break", "jit_set", "log", "mark", "maybe_mark", "reset", "set",
)  # fmt: skip
_QUESTIONS: Final = ("cuda_is", "get", "has", "is")


def _are_functorch_transforms_active() -> bool:
    """Whether the call is within a transform of `dovetail.func`."""
    return bool(open_levels())


def _get_accelerator(check: bool | None = None) -> device:
    """The type of the device that `"auto"` stands for, the CPU where there is none."""
    return current_accelerator() or device("cpu")


# What programs catch and ask for by the name of torch's library of C++.
_OF_C: Final = {
    "_LinAlgError": LinAlgError, "_OutOfMemoryError": OutOfMemory, "Size": Size,
    "TensorBase": Tensor, "device": device, "dtype": DType,
    "DispatchKey": DispatchKey, "DispatchKeySet": DispatchKeySet,
    "_get_accelerator": _get_accelerator,
    "_are_functorch_transforms_active": _are_functorch_transforms_active,
}  # fmt: skip


class Kept(ModuleType):
    """Switches, which are kept as they are set, groups of them, and functions.

    Decorators leave a function as it is, asides do nothing, and questions are said no
    to, since nothing is being compiled or traced. Others raise when they are called.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, "Switches of torch's, which change nothing here.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no {name!r}")
        if self.__name__ == "torch._C":
            if hasattr(torch_overrides, name):
                return getattr(torch_overrides, name)
            if name in _OF_C:
                return _OF_C[name]
        if name in _BELOW or f"{self.__name__}.{name}" in _PLACES:
            return import_module(f"{self.__name__}.{name}")
        if "config" in (name, *self.__name__.split(".")):
            found: Any = Kept(f"{self.__name__}.{name}")
        else:
            found = _function(self.__name__, name)
        setattr(self, name, found)
        return found

    def __bool__(self) -> bool:
        return False  # a switch that nobody set


def _function(room: str, name: str) -> Any:
    """What a name of such a room is."""
    kind = name.lstrip("_")
    if kind == "list_backends":
        return list_backends
    if kind in _DECORATORS:
        return _decorator
    if kind.startswith(_QUESTIONS):
        return _no
    return _aside if kind.startswith(_ASIDES) else missing(room, name)


def _decorator(fn: Any = None, *_args: Any, **_options: Any) -> Any:
    return fn if callable(fn) else lambda fn: fn


def _aside(*_args: Any, **_options: Any) -> None:
    """Nothing: what is said to the compiler, which is not there."""


# What packages say as they are imported of how they would be exported.
_AT_IMPORT: Final[dict[str, Any]] = {
    "_require_initialized": _decorator, "parse_args": _decorator,
    "register_custom_op_symbolic": _aside,
}  # fmt: skip


def missing(room: str, name: str) -> Any:
    """What stands for a name: a class without instances, or a question, said no to."""
    if name.startswith("is_"):
        return _no
    if name in _AT_IMPORT:
        return _AT_IMPORT[name]
    if name.endswith("Error"):
        return type(name, (RuntimeError,), {"__module__": room})  # nothing raises it

    def refuse(cls: type, *_args: Any, **_options: Any) -> Any:
        raise NotSupported(
            f"{room}.{name}", "call", was="not there", needed="a function of dovetail",
            remedy="run the program without it: `torch` is dovetail in this process",
        )  # fmt: skip

    made: Callable[..., Any] = type
    return made(name, (), {"__new__": refuse, "__module__": room})


def _no(*_args: Any, **_options: Any) -> bool:
    return False
