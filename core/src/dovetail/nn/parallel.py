"""Modules over several devices, of which one process here uses one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.errors import NotSupported

from .module import Module
from .module.errors import refuse_uncallable


class DataParallel(Module):
    """Calls a module; of several devices, by which torch splits a batch, takes one.

    Args:
        module: what is called, and held as `module`.
        device_ids: at most one device.
        output_device, dim: taken for torch's sake; change nothing with one device.

    Raises: NotSupported for several devices.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        refuse_uncallable("DataParallel", "module", module)
        if device_ids is not None and len(device_ids) > 1:
            raise NotSupported(
                "DataParallel", "device_ids", was=list(device_ids),
                needed="at most one device",
            )  # fmt: skip
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(Module):
    """A module whose gradients several processes share, of which there are none yet.

    Raises: NotSupported.
    """

    def __init__(self, module: Module, *_args: Any, **_options: Any) -> None:
        raise NotSupported(
            "DistributedDataParallel", "process group", was="not there",
            needed="collectives between processes", remedy="call the module itself",
        )  # fmt: skip
