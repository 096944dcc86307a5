"""Mixed precision: `autocast`, and what it is set to."""

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

__all__ = [
    "autocast", "clear_autocast_cache", "get_autocast_dtype", "is_autocast_available",
    "is_autocast_cache_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_dtype", "set_autocast_enabled",
]  # fmt: skip
