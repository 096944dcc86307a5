"""Masks of which whole rows hold nothing, and others all."""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.engine.cases import Case


def with_rows(call: Case | None) -> Case | None:
    """The call, of each of its masks the first row all False, the last all True.

    Of a mask drawn element by element every long row has some of both.
    """
    if call is None:
        return call

    def of(value: Any) -> Any:
        if not isinstance(value, np.ndarray) or value.dtype != np.bool_:
            return value
        if value.ndim < 2 or value.shape[-2] < 2 or value.shape[-1] < 2:
            return value
        made = np.array(value)
        made[..., 0, :], made[..., -1, :] = False, True
        return made

    return Case(tuple(map(of, call.args)), {k: of(v) for k, v in call.kwargs.items()})


__all__ = ["with_rows"]
