"""A module over several processes, of which there is one here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.errors import NotSupported
from dovetail.nn.module import Module
from dovetail.nn.module.errors import refuse_uncallable


class DistributedDataParallel(Module):
    """A module whose gradients the processes of a group share, which has one process.

    Args:
        module: what is called, and held as `module`.
        device_ids: at most one device.
        output_device: ... and all others are taken for torch's sake: with one process
            there is nothing to send.

    Raises: ValueError if there is no group: `distributed.init_process_group` makes it.
    """

    def __init__(
        self, module: Module, device_ids: Sequence[Any] | None = None,
        output_device: Any = None, dim: int = 0, broadcast_buffers: bool = True,
        init_sync: bool = True, process_group: Any = None, bucket_cap_mb: Any = None,
        find_unused_parameters: bool = False, check_reduction: bool = False,
        gradient_as_bucket_view: bool = False, static_graph: bool = False,
        delay_all_reduce_named_params: Any = None, param_to_hook_all_reduce: Any = None,
        mixed_precision: Any = None, device_mesh: Any = None,
        skip_all_reduce_unused_params: bool = False,
    ) -> None:  # fmt: skip
        from dovetail.distributed.groups import the_group

        super().__init__()
        refuse_uncallable("DistributedDataParallel", "module", module)
        if device_ids is not None and len(device_ids) > 1:
            raise NotSupported(
                "DistributedDataParallel", "device_ids", was=list(device_ids),
                needed="at most one device",
            )  # fmt: skip
        if not any(p.requires_grad for p in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any "
                "parameters that require a gradient."
            )
        self.process_group = the_group(process_group)
        self.module = module
        self.device_ids = None if device_ids is None else list(device_ids)
        self.output_device, self.dim = output_device, dim
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.require_backward_grad_sync = True

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """Call the module."""
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """A block of code whose gradients are not shared before the next step."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    @contextmanager
    def join(
        self, divide_by_initial_world_size: bool = True, enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:  # fmt: skip
        """A block of code that processes may leave at different times."""
        yield
