"""What `torch.ops.aten` has to ask for sizes and to refuse what is not so.

Programs that are traced have such calls among their ops; here they are checks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.torch_names import private


def _assert_tensor_metadata(
    a: Tensor, size: Any = None, stride: Any = None, dtype: Any = None, *,
    device: Any = None, layout: Any = None,
) -> None:  # fmt: skip
    facts = (
        ("size", tuple(a.size()), size and tuple(size)),
        ("stride", a.stride(), stride and tuple(stride)),
        ("dtype", a.dtype, dtype),
        ("device", a.device, device),
        ("layout", a.layout, layout),
    )
    for name, was, needed in facts:
        if needed is not None and was != needed:
            raise ArgumentError("_assert_tensor_metadata", name, was=was, needed=needed)


def _constrain_range(
    size: Any, *, min: int | None = None, max: int | None = None
) -> None:
    if not (min is None or min <= size) or not (max is None or size <= max):
        raise ArgumentError(
            "sym_constrain_range", "size", was=size, needed=f"from {min} to {max}"
        )


ASSERTIONS: Final[dict[str, Callable[..., Any]]] = {
    "_assert_async": private._assert_async,
    "_assert_scalar": private._assert_async,
    "_assert_tensor_metadata": _assert_tensor_metadata,
    "sym_constrain_range": _constrain_range,
    "sym_constrain_range_for_size": _constrain_range,
    "sym_numel": Tensor.numel,
    "sym_size": Tensor.size,
    "sym_stride": Tensor.stride,
}
