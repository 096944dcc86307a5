"""`torch.version`, where `torch` means dovetail: of the torch that is followed."""

from __future__ import annotations

from typing import Final

from dovetail import __version__ as own
from dovetail.torch_names.versions import TorchVersion

FOLLOWED: Final = "2.13.0"
__version__: Final = TorchVersion(f"{FOLLOWED}+dovetail.{own}")
