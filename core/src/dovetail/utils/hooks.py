"""Where PyTorch keeps the handles of hooks; they live in `dovetail.tensor_api`."""

from dovetail.tensor_api.hook_handle import RemovableHandle

__all__ = ["RemovableHandle"]
