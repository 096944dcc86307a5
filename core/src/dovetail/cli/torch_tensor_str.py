"""`torch._tensor_str`: how tensors are shown, as it is now."""

from __future__ import annotations

from typing import Any, Final

from dovetail.tensor_api.printing import contents, options


class _Options:
    """Those that `set_printoptions` has set last."""

    def __getattr__(self, name: str) -> Any:
        return getattr(options(), name)


PRINT_OPTS: Final = _Options()
_tensor_str = contents
