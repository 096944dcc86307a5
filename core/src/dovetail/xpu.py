"""Intel's devices, as `torch.xpu` has them."""

import sys

from dovetail.device_modules import DeviceModule

sys.modules[__name__] = DeviceModule(__name__, "xpu")
