"""`torch.ops`: functions by the names that torch's dispatcher has for them.

`torch.ops.aten.add.Tensor` is `dovetail.add`: an overload is the function of all.
"""

from __future__ import annotations

from typing import Any, Final

import dovetail
from dovetail.cli.torch_assertions import ASSERTIONS
from dovetail.cli.torch_rooms import missing
from dovetail.engine.tensor import Tensor
from dovetail.library.custom_ops import OPS

_ROOMS: Final = ("", "nn.functional", "linalg", "special", "fft")


class _Room:
    """The functions of one name before the dot."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        own = OPS.get(f"{self._name}::{name}")
        if own is not None:
            return own
        found = _function(name) if self._name in ("aten", "prims") else None
        if found is None:
            raise AttributeError(
                f"'_OpNamespace' '{self._name}' object has no attribute '{name}'"
            )
        packet = _Packet(f"{self._name}::{name}", found)
        setattr(self, name, packet)
        return packet


class _Packet:
    """A function, whose overloads are itself."""

    def __init__(self, name: str, function: Any) -> None:
        self._qualified_op_name, self.__name__ = name, name.partition("::")[2]
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._function(*args, **kwargs)

    def __getattr__(self, name: str) -> _Packet:
        if name.startswith("_"):
            raise AttributeError(name)
        setattr(self, name, self)
        return self

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._qualified_op_name.replace('::', '.')}')>"


def _to_copy(
    self: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None, non_blocking: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    more = {} if memory_format is None else {"memory_format": memory_format}
    return self.to(device, dtype, non_blocking, copy=True, **more)


def _slice(
    self: Tensor, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Tensor:  # fmt: skip
    return self[(slice(None),) * (dim % self.ndim) + (slice(start, end, step),)]


# What is called so by the dispatcher alone.
_OF_ATEN: Final[dict[str, Any]] = {
    **ASSERTIONS,
    "_pin_memory": lambda self, device=None: self.pin_memory(),
    "_sparse_addmm": missing("torch.ops.aten", "_sparse_addmm"),
    "_sparse_mm_reduce_impl": missing("torch.ops.aten", "_sparse_mm_reduce_impl"),
    "_to_copy": _to_copy,
    "alias": lambda self: self.view_as(self),
    "index": lambda self, indices: self[
        tuple([slice(None) if i is None else i for i in indices])
    ],
    "slice": _slice,
}


def _function(name: str) -> Any:
    if name in _OF_ATEN:
        return _OF_ATEN[name]
    for path in _ROOMS:
        room: Any = dovetail
        for part in path.split(".") if path else ():
            room = getattr(room, part)
        found = getattr(room, name, None)
        if callable(found):
            return found
    return getattr(Tensor, name, None)


def load_library(path: Any) -> None:
    """Raise OSError: libraries of torch's kernels are code of C++ for it.

    Packages that bring one go on without it, if they can.
    """
    raise OSError(
        f"ops.load_library: {path} is made for torch's own libraries, and `torch` is "
        "dovetail in this process"
    )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    room = globals()[name] = _Room(name)
    return room
