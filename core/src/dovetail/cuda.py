"""NVIDIA's devices, and what else goes by their name, as `torch.cuda` has them."""

import sys

from dovetail.device_modules import DeviceModule

sys.modules[__name__] = DeviceModule(__name__, "cuda")
