"""The joint: what a backend supplies, how it is found, which kernel runs."""

from dovetail.backend.capabilities import HostMemory, Pool, ViewCopies
from dovetail.backend.contract import Backend, DeviceInfo
from dovetail.backend.dense import DenseBackend
from dovetail.backend.hookspecs import hookimpl
from dovetail.backend.kernels import Facts, Kernel, KernelTable

__all__ = [
    "Backend",
    "DenseBackend",
    "DeviceInfo",
    "Facts",
    "HostMemory",
    "Kernel",
    "KernelTable",
    "Pool",
    "ViewCopies",
    "hookimpl",
]
