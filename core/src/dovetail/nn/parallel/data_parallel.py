"""A module that splits batches over devices, of which it takes one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.errors import NotSupported
from dovetail.nn.module import Module
from dovetail.nn.module.errors import refuse_uncallable


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


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None,
    output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Call a module with one input or a tuple of them, on the device that it is on.

    Raises: NotSupported for several devices.
    """
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    called = DataParallel(module, device_ids, output_device, dim)
    return called(*args, **(module_kwargs or {}))
