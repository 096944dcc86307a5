"""A debug mode: what kernels return is compared with what their ops declare.

Outside of it nobody looks: a kernel that returns a wrong shape makes a tensor of that
shape, whose next use fails or is silently wrong.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dovetail.engine.plan import UNSERVED
from dovetail.engine.results import DATA
from dovetail.errors import KernelError

if TYPE_CHECKING:
    from dovetail.engine.kinds import Kind
    from dovetail.engine.op import Op

VARIABLE: Final = "DOVETAIL_CHECK_KERNELS"
"""The environment variable that begins a program in this mode."""
# Whether plans that are made now compare; those that were made have to be forgotten.
comparing: Final = [os.environ.get(VARIABLE, "") not in ("", "0")]

Native = Callable[..., Any]


def compared(
    op: Op, native: Native, kinds: tuple[Kind, ...], attrs: dict[str, Any], owner: str
) -> Native:
    """A kernel whose results are looked at before anybody else sees them."""

    def serve(*natives: Any, **scalars: Any) -> Any:
        result = native(*natives, **scalars)
        if result is not UNSERVED:
            known = attrs | {k: v for k, v in scalars.items() if k != "out"}
            given = tuple(map(shape_of, natives))
            results = (result,) if len(kinds) == 1 else result
            _compare(op, results, kinds, given, known, owner)
        return result

    return serve


def _compare(
    op: Op, results: Any, kinds: tuple[Kind, ...], given: tuple[Any, ...],
    attrs: dict[str, Any], owner: str,
) -> None:  # fmt: skip
    """Raise for a result of another class, shape or dtype than is declared."""
    shapes = [None] * len(kinds) if op.shape is DATA else op.infer_shapes(given, attrs)
    for name, result, kind, shape in zip(
        op.outputs, results, kinds, shapes, strict=True
    ):
        native = result if type(result) is kind.array else kind.lift(result)
        own = tuple(native.shape)
        needed = own if shape is None else tuple(shape)
        dtype = _dtype_of(native, kind)
        if (dtype, own) != (kind.dtype.name, needed):
            raise KernelError(
                op.name, f"{name} of the kernel of {owner}",
                was=f"{dtype}{list(own)}", needed=f"{kind.dtype.name}{list(needed)}",
                remedy=f"inputs had shapes {given}",
            )  # fmt: skip


def _dtype_of(native: Any, kind: Kind) -> str:
    """The dtype of an array, learned from none of its elements."""
    backend = kind.backend
    return str(backend.copy_out(backend.view(native, (0,), (1,), 0)).dtype.name)


def shape_of(native: Any) -> Any:
    """The shape of a native array, those of the members of a list; None for None."""
    if type(native) is list:
        return tuple([None if a is None else tuple(a.shape) for a in native])
    return None if native is None else tuple(native.shape)
