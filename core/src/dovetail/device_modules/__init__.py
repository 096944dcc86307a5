"""What torch has in `torch.cuda`, `torch.xpu`, `torch.mps`: one class, by device type.

Where the machine has no device of the type, `is_available()` is False, counts and bytes
are 0, seeds and caches do nothing, and all that needs a device says why there is none.
"""

from .module import DeviceModule, get_device_module

__all__ = ["DeviceModule", "get_device_module"]
