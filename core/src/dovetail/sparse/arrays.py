"""What stands for the memory of a sparse tensor: dense tensors, of which it is made.

A sparse tensor is made of dense ones, on whichever device they are, and all that it
computes is made of their ops. So it has no kernels, and no memory of its own: its
backend shows the device of its parts, and refuses everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Final

import numpy as np

from dovetail.device_api.contract import Backend, DeviceInfo, Ints
from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import DType
from dovetail.engine.kinds import Kind, kind_on
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported


class SparseArray:
    """A shape, and the values of the elements that are not left out.

    Attributes:
        shape: of the whole tensor.
        values: [elements, *dense dims].
    """

    __slots__ = ("shape", "values")

    def __init__(self, shape: Ints, values: Tensor) -> None:
        self.shape = shape
        self.values = values


class CooArray(SparseArray):
    """Elements with their coordinates.

    Attributes:
        indices: [sparse dims, elements] int64.
        coalesced: they are in order, and none comes twice.
    """

    __slots__ = ("coalesced", "indices")

    def __init__(
        self, shape: Ints, indices: Tensor, values: Tensor, coalesced: bool
    ) -> None:
        super().__init__(shape, values)
        self.indices = indices
        self.coalesced = coalesced


class CsrArray(SparseArray):
    """The elements of a matrix, row by row.

    Attributes:
        crow: where rows start among the elements, and where the last one ends.
        col: the column of each element, in order within a row, none twice.
    """

    __slots__ = ("col", "crow")

    def __init__(self, shape: Ints, crow: Tensor, col: Tensor, values: Tensor) -> None:
        super().__init__(shape, values)
        self.crow = crow
        self.col = col


def _refused(name: str) -> NotSupported:
    return NotSupported(
        name, "tensor", was="of a sparse layout", needed="a strided tensor, with "
        "memory of its own", remedy="use to_dense(), or the tensors that it is made of",
    )  # fmt: skip


class SparseBackend(Backend):
    """The backend of sparse tensors whose parts are on another one."""

    array = SparseArray
    automatic = False
    below: Backend

    def __init__(self, below: Backend) -> None:
        super().__init__()
        self.below = below
        self.stands_for = below.stands_for or below

    def devices(self) -> Sequence[DeviceInfo]:
        return self.below.devices()

    def kernels(self, table: KernelTable) -> None:
        """None: what sparse tensors compute is made of ops on their parts."""

    def synchronize(self, index: int) -> None:
        self.below.synchronize(index)

    def empty(self, shape: Ints, dtype: DType, index: int) -> Any:
        raise _refused("empty")

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> Any:
        raise _refused("copy_in")

    def copy_out(self, a: Any) -> np.ndarray[Any, Any]:
        raise _refused("copy_out")

    def view(self, a: Any, shape: Ints, strides: Ints, offset: int) -> Any:
        raise _refused("view")

    def geometry(self, a: Any, root: Any) -> tuple[Ints, int]:
        raise _refused("stride")

    def fill(self, a: Any, value: complex) -> None:
        raise _refused("fill")

    def copy(self, target: Any, source: Any) -> None:
        raise _refused("copy")

    type: ClassVar[str]


_above: Final[dict[Backend, SparseBackend]] = {}


def kind_above(kind: Kind) -> Kind:
    """The kind of sparse tensors whose values are of a kind."""
    backend = _above.get(kind.backend)
    if backend is None:
        below = kind.backend
        own = {
            "type": f"sparse({below.type})", "dtypes": below.dtypes,
            "rules_only": below.rules_only, "fork_safe": below.fork_safe,
        }  # fmt: skip
        made: Any = type("SparseBackend", (SparseBackend,), own)
        backend = _above[below] = made(below)
    return kind_on(backend, kind.index, kind.dtype)
