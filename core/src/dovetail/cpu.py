"""The CPU, as `torch.cpu` has it."""

import sys

from dovetail.device_modules import DeviceModule

sys.modules[__name__] = DeviceModule(__name__, "cpu")
