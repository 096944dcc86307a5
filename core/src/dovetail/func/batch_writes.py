"""Level 0's writes on batched arrays, which the tape below records as in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.op import Op
from dovetail.errors import InplaceError
from dovetail.func.batch_shapes import Batched, all_rows, any_batched

Kernel = Callable[..., Any]


def refuse_one_for_all() -> InplaceError:
    """The error for values of rows, to be written where there is one for all."""
    return InplaceError(
        "vmap", "the tensor that is written", was="the same for all rows",
        needed="one with a value for each row, as what is written has",
        remedy="make it by zeros_like() of an input, or add it out of place",
    )  # fmt: skip


def _scattering(method: str) -> Any:
    def rule(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
        dim = attrs["dim"]

        def kernel(x: Batched, index: Batched, src: Batched) -> tuple[()]:
            if not any_batched((x, index, src)):
                getattr(x.inner, method)(dim, index.inner, src.inner)
                return ()
            rows = backend.rows()
            if not x.batched:
                raise refuse_one_for_all()
            given = [all_rows(a, rows) for a in (index, src)]
            getattr(x.inner, method)(dim + 1, *given)
            return ()

        return kernel

    return rule


def _assign(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    def kernel(x: Batched, src: Batched) -> tuple[()]:
        backend.copy(x, src)
        return ()

    return kernel


WRITES: Final = {
    "assign_": _assign,
    "scatter_add_": _scattering("scatter_add_"),
    "scatter_set_": _scattering("scatter_"),
}
