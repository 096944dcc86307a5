"""Tools for testing: what torch.testing has, and for devices more.

`assert_close` compares values but for rounding, `make_tensor` draws some.
`lockstep` compares two, `chaos` makes one misbehave, and under `check_kernels` each
result of a kernel is looked at.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dovetail.testing.chaos_device.controls import chaos as chaos
    from dovetail.testing.closeness import assert_allclose as assert_allclose
    from dovetail.testing.closeness import assert_close as assert_close
    from dovetail.testing.comparison.report import Lockstep as Lockstep
    from dovetail.testing.comparison.report import LockstepError as LockstepError
    from dovetail.testing.comparison.run import lockstep as lockstep
    from dovetail.testing.kernel_checks import check_kernels as check_kernels
    from dovetail.testing.samples import make_tensor as make_tensor

# The module of each name, and its name there.
_LAZY: Final[dict[str, tuple[str, str]]] = {
    "assert_allclose": ("dovetail.testing.closeness", "assert_allclose"),
    "assert_close": ("dovetail.testing.closeness", "assert_close"),
    "make_tensor": ("dovetail.testing.samples", "make_tensor"),
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
