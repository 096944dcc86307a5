"""Apple's devices, which no backend drives yet, as `torch.mps` has them."""

import sys

from dovetail.device_modules import DeviceModule

sys.modules[__name__] = DeviceModule(__name__, "mps")
