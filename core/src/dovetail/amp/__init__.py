"""Mixed precision: `autocast`, what it is set to, and the scaling of gradients."""

import typing as _typing

from dovetail.amp.autocast_mode import (
    autocast,
    clear_autocast_cache,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_cache_enabled,
    is_autocast_enabled,
    set_autocast_cache_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from dovetail.amp.custom import custom_bwd, custom_fwd
from dovetail.amp.grad_scaler import GradScaler
from dovetail.engine.missing_names import missing_name as _missing_name

__all__ = [
    "GradScaler", "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd",
    "get_autocast_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_dtype", "set_autocast_enabled",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
