"""torch's oldest names for sparse tensors of a dtype: `sparse.FloatTensor` and so on.

Called, they make one of coordinates; `isinstance` asks for the dtype of one on the CPU.
"""

from __future__ import annotations

from typing import Any, Final

from dovetail import dtypes
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError
from dovetail.sparse.creation import sparse_coo_tensor
from dovetail.sparse.tensor import SparseTensor


class _Class(type):
    """The type of such classes, which have no instances of their own."""

    dtype: DType

    def __call__(
        cls, *given: Any, indices: Any = None, values: Any = None, size: Any = None,
        device: Any = None,
    ) -> Tensor:  # fmt: skip
        if given and not isinstance(given[0], Tensor):
            sizes = given if isinstance(given[0], int) else given[0]
            return sparse_coo_tensor(None, None, sizes, dtype=cls.dtype, device=device)
        parts = [*given, *[x for x in (indices, values, size) if x is not None]]
        if not parts:
            return sparse_coo_tensor(None, None, (0,), dtype=cls.dtype, device=device)
        if len(parts) not in (2, 3) or not isinstance(parts[1], Tensor):
            raise ArgumentTypeError(
                f"sparse.{cls.__name__}", "the argument list", was=f"{parts}",
                needed="sizes, or indices and values as tensors, and perhaps a size",
            )  # fmt: skip
        return sparse_coo_tensor(*parts, device=device)

    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, SparseTensor) or not value.is_sparse:
            return False
        return value.dtype is cls.dtype and value.device.type == "cpu"


def _class(name: str, dtype: DType) -> _Class:
    about = f"Sparse tensors of {dtype.name} on the CPU; called, it makes one."
    return _Class(name, (), {"dtype": dtype, "__doc__": about, "__module__": __name__})


CLASSES: Final = {
    name: _class(name, dtype)
    for name, dtype in (
        ("FloatTensor", dtypes.float32), ("DoubleTensor", dtypes.float64),
        ("HalfTensor", dtypes.float16), ("BFloat16Tensor", dtypes.bfloat16),
        ("LongTensor", dtypes.int64), ("IntTensor", dtypes.int32),
        ("ShortTensor", dtypes.int16), ("CharTensor", dtypes.int8),
        ("ByteTensor", dtypes.uint8),
    )
}  # fmt: skip
