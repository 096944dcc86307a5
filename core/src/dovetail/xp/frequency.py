"""The most frequent elements of rows, by runs of what was sorted."""

from __future__ import annotations

from typing import Any, Final

from dovetail.dtypes import ORDERED
from dovetail.xp.kernels import Kernels
from dovetail.xp.order import along, sortable

kernels: Final = Kernels()


@kernels("most_frequent", ORDERED, binds=True, checks=True)
def _most_frequent(xp: Any, dim: int) -> Any:
    def call(a: Any) -> Any:
        if not a.ndim:
            return xp.zeros((), "int64")
        rows = xp.moveaxis(sortable(a), dim, -1)
        n, lead = rows.shape[-1], rows.shape[:-1]
        order = rows.argsort(-1, "stable")
        lying = along(xp, rows, order, rows.ndim - 1)
        ends = xp.ones(lying.shape, "bool")
        xp.not_equal(lying[..., 1:], lying[..., :-1], out=ends[..., :-1])
        at = ends.reshape(-1).nonzero()[0]
        lengths = xp.zeros(at[-1] + 1 if at.size else 0, "int64")
        lengths[at[:1]] = at[:1] + 1
        lengths[at[1:]] = at[1:] - at[:-1]
        best = lengths.reshape(-1, n).argmax(-1)
        best += xp.arange(0, order.size, n)
        return order.reshape(-1).take(best).reshape(lead)

    return call
