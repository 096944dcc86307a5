"""The joint: what a backend supplies, how it is found, which kernel runs."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from dovetail.device_api.capabilities import (
    Borrowed,
    CallersContext,
    DLPack,
    HostMemory,
    Pool,
    Streams,
    ViewCopies,
)
from dovetail.device_api.contract import Backend, DeviceInfo
from dovetail.device_api.graphs import Graphs
from dovetail.device_api.host_copies import PeerCopies, PinnedBlock, PinnedMemory
from dovetail.device_api.kernels import Facts, Kernel, KernelTable, Unwritten
from dovetail.device_api.late_errors import LateErrors
from dovetail.device_api.numbers import Numbers
from dovetail.device_api.workspaces import KeptWorkspaces, Workspaces

if TYPE_CHECKING:
    from dovetail.device_api.dense import DenseBackend
    from dovetail.device_api.hookspecs import hookimpl

# What only authors of backends need; pluggy comes with the hooks.
_LAZY: Final = {"DenseBackend": "dense", "hookimpl": "hookspecs"}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)


__all__ = [
    "Backend",
    "Borrowed",
    "CallersContext",
    "DLPack",
    "DenseBackend",
    "DeviceInfo",
    "Facts",
    "Graphs",
    "HostMemory",
    "KeptWorkspaces",
    "Kernel",
    "KernelTable",
    "LateErrors",
    "Numbers",
    "PeerCopies",
    "PinnedBlock",
    "PinnedMemory",
    "Pool",
    "Streams",
    "Unwritten",
    "ViewCopies",
    "Workspaces",
    "hookimpl",
]
