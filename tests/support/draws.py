"""What tests of random numbers share."""

from __future__ import annotations

from typing import Any

import numpy as np

SEED = 0x243F6A8885A308D3


def values(t: Any) -> np.ndarray[Any, Any]:
    return t._kind.backend.copy_out(t._a)  # type: ignore[no-any-return]
