"""How many dims a tensor must have, where no rule of an op says it."""

from __future__ import annotations

from dovetail.engine.tensor import Tensor
from dovetail.errors import ShapeError


def need_dims(
    op: str, argument: str, x: Tensor, *counts: int, least: int | None = None
) -> None:
    """Raise unless `x` has as many dims as one of `counts` says, or `least` or more.

    Raises:
        ShapeError: it has not.
    """
    ndim = len(x._a.shape)
    if ndim in counts or (least is not None and ndim >= least):
        return
    needed = " or ".join(map(str, counts)) if least is None else f"at least {least}"
    raise ShapeError(
        op, argument, was=f"{ndim}-d, of shape {tuple(x._a.shape)}",
        needed=f"{needed} dims",
    )  # fmt: skip
