"""How tensors go from process to process: by the descriptor of their memory."""

from __future__ import annotations

import os
import warnings
from multiprocessing import reduction
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final

from dovetail import dtypes
from dovetail.device import device as Device
from dovetail.device_api import HostMemory
from dovetail.device_api.shared_files import SharedFile
from dovetail.engine.kinds import kind_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, AutogradError, NotSupported
from dovetail.nn.parameter import Buffer, Parameter
from dovetail.tensor_api.shared_memory import in_file, sent

_STRATEGY: Final = "file_descriptor"


def init_reductions() -> None:
    """Let what processes send each other share the memory of its tensors."""
    for cls in (Tensor, Parameter, Buffer):
        ForkingPickler.register(cls, _reduced)


def get_all_sharing_strategies() -> set[str]:
    """The ways in which memory is shared: by descriptors of files without names."""
    return {_STRATEGY}


def get_sharing_strategy() -> str:
    """The way in which memory is shared."""
    return _STRATEGY


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how memory is shared, which there is one way for.

    "file_system" warns: descriptors serve there, too. Programs choose it where they
    are few; raise their limit (ulimit -n) where it is met.

    Raises: ArgumentError for another than these two.
    """
    if new_strategy == "file_system":
        text = f"memory is shared by {_STRATEGY} all the same: no file is left behind"
        warnings.warn(text, UserWarning, stacklevel=2)
    elif new_strategy != _STRATEGY:
        raise ArgumentError(
            "set_sharing_strategy", "new_strategy", was=repr(new_strategy),
            needed=f"{_STRATEGY!r} or 'file_system'",
        )  # fmt: skip


def _reduced(x: Tensor) -> Any:
    """What a pickle for another process has of a tensor.

    Raises: AutogradError for one within a graph, which is not sent.
    """
    if x.requires_grad and not x.is_leaf:
        raise AutogradError(
            "send", "tensor", was="within a graph: it requires grad and is no leaf",
            needed="one outside, as graphs stay in their process",
            remedy="send x.detach()",
        )  # fmt: skip
    if x._in_parts or x._kind.backend.capability(HostMemory) is None:
        return x.__reduce_ex__(2)
    if not hasattr(reduction, "DupFd"):
        raise NotSupported(
            "send", "tensor", was="on a system that sends no descriptors",
            needed="a tensor as an array", remedy="send x.numpy()",
        )  # fmt: skip
    file, place = sent(x)
    facts = (str(x.device), x.dtype.name, place, x.requires_grad)
    return _rebuilt, (type(x), reduction.DupFd(file.fd), len(file), facts)


def _rebuilt(cls: type[Tensor], sent_fd: Any, bytes_: int, facts: Any) -> Tensor:
    device, dtype, (size, stride, first), requires_grad = facts
    kind = kind_of(Device(device), dtypes.by_name(dtype))
    fd = sent_fd.detach()
    try:
        file = SharedFile.over(fd, bytes_)
    except BaseException:
        os.close(fd)
        raise
    x = in_file(file, kind, size, stride, first)
    if cls is Parameter:
        return Parameter(x, requires_grad)
    if cls is Buffer:
        return Buffer(x)
    return x.requires_grad_(requires_grad)
