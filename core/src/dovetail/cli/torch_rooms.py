"""Rooms of torch's that do nothing here: switches that are kept, and what is missing.

Programs import from such rooms whatever they might need, and need it in few of their
runs. So what is missing raises when it is called, not when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from dovetail.errors import NotSupported

# Modules whose names may be imported, with what is below them.
MISSING: Final = (
    "torch.ao", "torch.distributed.algorithms", "torch.distributed.checkpoint",
    "torch.distributed.device_mesh", "torch.distributed.elastic",
    "torch.distributed.fsdp", "torch.distributed.nn", "torch.distributed.optim",
    "torch.distributed.rpc", "torch.distributed.tensor", "torch.export", "torch.fx",
    "torch.library", "torch.nn.intrinsic", "torch.nn.qat", "torch.nn.quantized",
    "torch.onnx", "torch.quantization", "torch.utils.cpp_extension",
)  # fmt: skip
# Modules of switches of torch's compiler, whose functions do nothing.
KEPT: Final = ("torch._C", "torch._dynamo", "torch._functorch", "torch._inductor")


def is_missing(name: str) -> bool:
    """Whether a module is one of those whose names raise when they are called."""
    return any(name == room or name.startswith(f"{room}.") for room in MISSING)


def kept_room(name: str) -> Kept | None:
    """The module of switches that has a name, if one has."""
    return Kept(name) if name.partition(".config")[0] in KEPT else None


class Kept(ModuleType):
    """Switches, which are kept as they are set, groups of them, and functions.

    A function that is given another one is a decorator, and leaves it as it is.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name, "Switches of torch's, which change nothing here.")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no {name!r}")
        found: Any = _nothing
        if "config" in (name, *self.__name__.split(".")):
            found = Kept(f"{self.__name__}.{name}")
        setattr(self, name, found)
        return found

    def __bool__(self) -> bool:
        return False  # a switch that nobody set


def _nothing(*args: Any, **_options: Any) -> Any:
    if args and callable(args[0]):
        return args[0]
    return None if args else _itself


def _itself(fn: Any = None) -> Any:
    return fn


def missing(room: str, name: str) -> Any:
    """What stands for a name: a class without instances, or a question, said no to."""
    if name.startswith("is_"):
        return _no

    def refuse(cls: type, *_args: Any, **_options: Any) -> Any:
        raise NotSupported(
            f"{room}.{name}", "call", was="not there", needed="a function of dovetail",
            remedy="run the program without it: `torch` is dovetail in this process",
        )  # fmt: skip

    made: Callable[..., Any] = type
    return made(name, (), {"__new__": refuse, "__module__": room})


def _no(*_args: Any, **_options: Any) -> bool:
    return False
