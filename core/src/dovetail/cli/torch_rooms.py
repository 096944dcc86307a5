"""Rooms of torch's that do nothing here: switches that are kept, and what is missing.

Programs import from such rooms whatever they might need, and need it in few of their
runs. So what is missing raises when it is called, not when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final

from dovetail.cli import torch_overrides
from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import LinAlgError, NotSupported, OutOfMemory

# Modules whose names may be imported, with what is below them.
MISSING: Final = (
    "torch._guards", "torch._higher_order_ops", "torch._subclasses", "torch.ao",
    "torch.cuda.comm", "torch.distributed._composable",
    "torch.distributed._functional_collectives", "torch.distributed._tensor",
    "torch.distributed.algorithms", "torch.distributed.autograd",
    "torch.distributed.checkpoint", "torch.distributed.elastic",
    "torch.distributed.fsdp", "torch.distributed.launcher", "torch.distributed.optim",
    "torch.distributed.pipelining", "torch.distributed.rpc", "torch.distributed.run",
    "torch.distributed.tensor", "torch.export", "torch.fx.experimental",
    "torch.fx.passes", "torch.library", "torch.monitor", "torch.nested",
    "torch.nn.attention.bias", "torch.nn.intrinsic", "torch.nn.parallel.parallel_apply",
    "torch.nn.parallel.replicate", "torch.nn.parallel.scatter_gather", "torch.nn.qat",
    "torch.nn.quantized", "torch.onnx", "torch.package", "torch.quantization",
    "torch.quasirandom", "torch.sparse.semi_structured", "torch.testing._internal",
    "torch.utils.bottleneck", "torch.utils.collect_env", "torch.utils.cpp_extension",
    "torch.utils.flop_counter", "torch.utils.mobile_optimizer",
)  # fmt: skip
# Modules of switches of torch's compiler, and functions that are asides to it.
KEPT: Final = ("torch._C", "torch._dynamo", "torch._functorch", "torch._inductor")


def is_missing(name: str) -> bool:
    """Whether a module is one of those whose names raise when they are called."""
    return any(name == room or name.startswith(f"{room}.") for room in MISSING)


def kept_room(name: str) -> Kept | None:
    """The module of switches that has a name, if one has."""
    return Kept(name) if name.partition(".config")[0] in KEPT else None


# What their functions are for, by how the names begin, a `_` before them left out.
_DECORATORS: Final = (
    "allow_in_graph", "assume_constant_result", "disable", "disallow_in_graph",
    "dont_skip_tracing", "forbid_in_graph", "optimize", "run", "skip",
)  # fmt: skip
_ASIDES: Final = (
    "clear", "graph_break", "jit_set", "log", "mark", "maybe_mark", "reset", "set",
)  # fmt: skip
_QUESTIONS: Final = ("cuda_is", "get", "has", "is")


# What programs catch and ask for by the name of torch's library of C++.
_OF_C: Final = {
    "_LinAlgError": LinAlgError, "_OutOfMemoryError": OutOfMemory, "Size": Size,
    "TensorBase": Tensor, "device": device, "dtype": DType,
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
    if kind in _DECORATORS:
        return _decorator
    if kind.startswith(_QUESTIONS):
        return _no
    return _aside if kind.startswith(_ASIDES) else missing(room, name)


def _decorator(fn: Any = None, *_args: Any, **_options: Any) -> Any:
    return fn if callable(fn) else lambda fn: fn


def _aside(*_args: Any, **_options: Any) -> None:
    """Nothing: what is said to the compiler, which is not there."""


def missing(room: str, name: str) -> Any:
    """What stands for a name: a class without instances, or a question, said no to."""
    if name.startswith("is_"):
        return _no
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
