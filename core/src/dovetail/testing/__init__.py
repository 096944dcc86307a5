"""Tools for testing devices.

`lockstep` compares two, `chaos` makes one misbehave, and under `check_kernels` each
result of a kernel is looked at.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dovetail.testing.chaos_device.controls import chaos as chaos
    from dovetail.testing.comparison.report import Lockstep as Lockstep
    from dovetail.testing.comparison.report import LockstepError as LockstepError
    from dovetail.testing.comparison.run import lockstep as lockstep
    from dovetail.testing.kernel_checks import check_kernels as check_kernels

# The module of each name, and its name there.
_LAZY: Final[dict[str, tuple[str, str]]] = {
    "Lockstep": ("dovetail.testing.comparison.report", "Lockstep"),
    "LockstepError": ("dovetail.testing.comparison.report", "LockstepError"),
    "check_kernels": ("dovetail.testing.kernel_checks", "check_kernels"),
    "lockstep": ("dovetail.testing.comparison.run", "lockstep"),
    "chaos": ("dovetail.testing.chaos_device.controls", "chaos"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'dovetail.testing' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
