"""A module that is called on several devices at once, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any

from dovetail.device import device as Device
from dovetail.device_api import registry
from dovetail.errors import DeviceError
from dovetail.nn.module import Module
from dovetail.nn.module.errors import refuse_uncallable

from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import DeviceLike, gather, scatter_kwargs


class DataParallel(Module):
    """Calls a module on several devices, each with a part of the batch.

    A call splits tensors along `dim`, copies the module to each device, calls the
    copies in threads, and puts their results together; gradients add up in the module.

    Args:
        module: what is called, and held as `module`; it is on the first device.
        device_ids: devices of any type, or numbers of those of the module's type. None
            for all of that type. Of a module on the CPU, numbers say nothing, and it
            is called as it is.
        output_device: where results go, a device or the number of one of the type of
            the first, which it is by default.
        dim: along which tensors are split.

    Raises: TypeError for what is no module. A call: DeviceError, a RuntimeError, if
        the module has parameters elsewhere than on the first device.

    >>> net = torch.nn.DataParallel(torch.nn.Linear(3, 2), ["cpu", "cpu"])
    >>> net(torch.ones(5, 3)).shape
    dovetail.Size([5, 2])
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
        self.module = module
        self.device_ids = _devices(module, device_ids)
        first = self.device_ids[0] if self.device_ids else None
        if isinstance(output_device, int) and first is not None:
            output_device = Device(first.type, output_device)
        self.output_device: Any = first if output_device is None else output_device
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module, or its copies with parts of the arguments."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        _check_first(self.module, self.device_ids[0])
        args, named = self.scatter(inputs, kwargs, self.device_ids)
        if not args and not named:  # nothing to split
            args, named = ((),), ({},)
        if len(self.device_ids) == 1:
            return self.module(*args[0], **named[0])
        replicas = self.replicate(self.module, self.device_ids[: len(args)])
        return self.gather(
            self.parallel_apply(replicas, args, named), self.output_device
        )

    def scatter(
        self, inputs: Any, kwargs: Any, device_ids: Sequence[DeviceLike]
    ) -> Any:
        """The arguments for each device, and those by name."""
        return scatter_kwargs(inputs, kwargs, device_ids, dim=self.dim)

    def replicate(self, module: Any, device_ids: Sequence[DeviceLike]) -> list[Any]:
        """A copy of the module for each device."""
        return replicate(module, device_ids, detach=False)

    def parallel_apply(
        self, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any
    ) -> list[Any]:
        """What the copies give, each called in a thread."""
        devices = self.device_ids[: len(replicas)]
        return parallel_apply(replicas, inputs, kwargs, devices)

    def gather(self, outputs: Any, output_device: DeviceLike) -> Any:
        """What they gave, put together on one device."""
        return gather(outputs, output_device, dim=self.dim)


def _devices(module: Module, given: Sequence[Any] | None) -> list[Any]:
    """The devices that a module is called on; none where it is called as it is."""
    kind = next((x.device.type for x in _held(module)), "cpu")
    if given is None:
        if kind == "cpu":
            return []
        return [Device(kind, i) for i in range(len(registry.load(kind).devices()))]
    if kind == "cpu" and all(isinstance(place, int) for place in given):
        return []
    return [
        Device(kind, place) if isinstance(place, int) else Device(place)
        for place in given
    ]


def _check_first(module: Module, first: Any) -> None:
    """Refuse a module that has something elsewhere than on the first device."""
    wanted = registry.resolve(first)
    for x in _held(module):
        if registry.resolve(x.device) != wanted:
            raise DeviceError(
                "DataParallel", "module", was=f"with parameters or buffers on "
                f"{x.device}", needed=f"all of them on {first}, the first device",
                remedy=f'module.to("{first}")',
            )  # fmt: skip


def _held(module: Module) -> Any:
    return chain(module.parameters(), module.buffers())


def data_parallel(
    module: Module, inputs: Any, device_ids: Sequence[Any] | None = None,
    output_device: Any = None, dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    """Call a module with one input or a tuple of them, as `DataParallel` does.

    Raises: as `DataParallel`.
    """
    args = inputs if isinstance(inputs, tuple) else (inputs,)
    called = DataParallel(module, device_ids, output_device, dim)
    return called(*args, **(module_kwargs or {}))
