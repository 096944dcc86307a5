"""What every tensor has, of sparse ones: size, dtype, device, copies."""

from __future__ import annotations

from typing import Any, Final

from dovetail import frontend as ft
from dovetail.dtypes import DType, int64
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import NotSupported, ShapeError
from dovetail.memory_formats import strided
from dovetail.sparse.arrays import CooArray, CsrArray
from dovetail.sparse.conversion import to_sparse_csr
from dovetail.sparse.dispatch import become
from dovetail.sparse.handlers import HANDLERS, Handler, handles, refusal
from dovetail.sparse.parts import coordinates_count, needs
from dovetail.sparse.tensor import (
    COO,
    CSR,
    SparseTensor,
    coo,
    coordinates,
    csr,
    with_values,
)

# What is asked of the shape and the dtype alone, and computed as for any tensor.
PLAIN: Final = (
    "element_size", "get_device", "is_complex", "is_conj", "is_distributed",
    "is_floating_point", "is_inference", "is_neg", "is_same_size",
    "is_signed", "numel", "requires_grad_",
)  # fmt: skip


def _plainly(name: str) -> Handler:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        method = getattr(Tensor, name, None) or ft.NAMES[name]
        return method.__wrapped__(input, *args, **kwargs)

    return Handler(call, True)


for _name in PLAIN:
    HANDLERS[_name] = _plainly(_name)


def moved(x: SparseTensor, device: Any, values: Tensor) -> SparseTensor:
    """Other values at the same places, all on a device."""
    a = x._a
    if isinstance(a, CooArray):
        return coo(a.indices.to(device), values, a.shape, a.coalesced)
    assert isinstance(a, CsrArray)
    return csr(a.crow.to(device), a.col.to(device), values, a.shape)


@handles("to", compressed=True)
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The parts in another dtype, on another device."""
    if not isinstance(self, SparseTensor):
        target = args[0]
        return self.to(target.device, target.dtype, *args[1:], **kwargs)
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    values = self._a.values.to(*args, **kwargs)
    return self if values is self._a.values else moved(self, values.device, values)


@handles("cast", compressed=True)
def cast(self: SparseTensor, dtype: DType) -> Tensor:
    """The values in another dtype."""
    return to(self, dtype)


def _mover(device_type: str) -> Handler:
    def move(
        self: SparseTensor, device: Any = None, non_blocking: bool = False
    ) -> Tensor:
        where = device_type if device is None else device
        return to(self, f"{device_type}:{where}" if type(where) is int else where)

    return Handler(move, True)


for _name in ("cpu", "cuda", "xpu"):
    HANDLERS[_name] = _mover(_name)


@handles("type", compressed=True)
def type_(self: SparseTensor, dtype: Any = None, *args: Any, **kwargs: Any) -> Any:
    """The name of its class, or the values in another dtype."""
    if dtype is None:
        name: str = self._a.values.type()
        return name.replace("torch.", "torch.sparse.", 1)
    return with_values(self, self._a.values.type(dtype, *args, **kwargs))


@handles("type_as", compressed=True)
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """This tensor in the dtype and on the device of another."""
    found: Tensor = self.to(other.device, other.dtype)
    return found


@handles("clone", compressed=True)
def clone(input: SparseTensor, *, memory_format: Any = None) -> Tensor:
    """Copies of coordinates and values."""
    a, values = input._a, input._a.values.clone()
    if isinstance(a, CooArray):
        return coo(a.indices.clone(), values, a.shape, a.coalesced)
    assert isinstance(a, CsrArray)
    return csr(a.crow.clone(), a.col.clone(), values, a.shape)


@handles("detach", compressed=True)
def detach(input: SparseTensor) -> Tensor:
    """The same memory outside the graph."""
    return with_values(input, input._a.values.detach())


@handles("detach_", compressed=True)
def detach_(self: SparseTensor) -> Tensor:
    """Take this tensor out of the graph."""
    self._a.values = self._a.values.detach()
    return self


@handles("retain_grad", compressed=True)
def retain_grad(self: SparseTensor) -> None:
    """Keep the gradient of the values."""
    self._a.values.retain_grad()


@handles("is_contiguous", compressed=True)
def is_contiguous(self: SparseTensor, memory_format: Any = None) -> bool:
    """False: elements are left out."""
    return False


@handles("stride", compressed=True)
def stride(self: SparseTensor, dim: int | None = None) -> Any:
    """Refused: elements are left out."""
    raise refusal("stride", self.layout)


@handles("zeros_like empty_like", compressed=True)
def zeros_like(input: SparseTensor, **kwargs: Any) -> Tensor:
    """Nothing but elements that are left out."""
    layout = kwargs.pop("layout", None)
    gradient = bool(kwargs.pop("requires_grad", False))
    kwargs.pop("memory_format", None)
    values = input._a.values.detach()
    held = ft.zeros_like(values[:0], **kwargs)
    if layout is strided:
        kind = {"dtype": held.dtype, "device": held.device}
        dense: Tensor = ft.zeros(input.shape, requires_grad=gradient, **kind)
        return dense
    count = coordinates_count(input)
    at = ft.zeros((count, 0), dtype=int64, device=held.device)
    made: Any = coo(at, held, input.shape, True)
    if (layout or input.layout) is CSR:
        made = to_sparse_csr(made)
    return made.requires_grad_(gradient)  # type: ignore[no-any-return]


@handles("zero_", compressed=True)
def zero_(self: SparseTensor) -> Tensor:
    """Leave all elements out."""
    return become("zero_", self, zeros_like(self))


@handles("copy_", compressed=True)
def copy_(self: Tensor, src: Tensor, non_blocking: bool = False) -> Tensor:
    """Become what another sparse tensor is; a dense one gets all elements."""
    if isinstance(self, SparseTensor) and isinstance(src, SparseTensor):
        if src.layout is not self.layout:
            raise refusal("copy_", src.layout, f"{self.layout}")
        source: Any = src.to(self.device, self.dtype)
        return become("copy_", self, source.clone())
    raise refusal("copy_", src.layout if isinstance(src, SparseTensor) else strided)


@public("torch.resize_as_sparse_ Tensor.resize_as_sparse_")
def resize_as_sparse_(input: Tensor, the_template: Tensor) -> Tensor:
    """Get the shape and the sparse dims of another tensor; an empty one alone can."""
    return sparse_resize_(
        input, the_template.shape, coordinates_count(the_template),
        the_template.dense_dim(),
    )  # fmt: skip


@public("Tensor.sparse_resize_")
def sparse_resize_(self: Tensor, size: Any, sparse_dim: int, dense_dim: int) -> Tensor:
    """Get another shape; a tensor that has elements may only grow.

    Raises: NotSupported where elements would be lost, or get other dims.
    """
    needs("sparse_resize_", self, "sparse coordinate", (COO,))
    a, sizes = coordinates(self), tuple(int(n) for n in size)
    if len(sizes) != sparse_dim + dense_dim:
        raise ShapeError(
            "sparse_resize_", "size", was=sizes, needed=f"{sparse_dim + dense_dim} dims"
        )
    same = sparse_dim == self.sparse_dim() and sizes[sparse_dim:] == a.values.shape[1:]
    grows = same and all(n >= m for n, m in zip(sizes, a.shape, strict=True))
    if a.values.shape[0] and not grows:
        raise NotSupported(
            "sparse_resize_", "size", was=f"{sizes} for {tuple(a.shape)}",
            needed="as many sparse dims, none of them smaller, and the same dense dims",
            remedy="make a tensor of other coordinates",
        )  # fmt: skip
    if not same:
        return sparse_resize_and_clear_(self, sizes, sparse_dim, dense_dim)
    a.shape = sizes
    return self


@public("Tensor.sparse_resize_and_clear_")
def sparse_resize_and_clear_(
    self: Tensor, size: Any, sparse_dim: int, dense_dim: int
) -> Tensor:
    """Get another shape, and no elements."""
    needs("sparse_resize_and_clear_", self, "sparse coordinate", (COO,))
    sizes = tuple(int(n) for n in size)
    if len(sizes) != sparse_dim + dense_dim:
        raise ShapeError(
            "sparse_resize_and_clear_", "size", was=sizes,
            needed=f"{sparse_dim + dense_dim} dims",
        )  # fmt: skip
    of_kind = {"dtype": self.dtype, "device": self.device}
    values = ft.zeros((0, *sizes[sparse_dim:]), **of_kind)
    at = ft.zeros((sparse_dim, 0), dtype=int64, device=self.device)
    self._a = coo(at, values, sizes, True)._a
    return self


def _offer_copy(name: str) -> None:
    def copy(input: Tensor) -> Tensor:
        found: Tensor = getattr(input, name)().clone()
        return found

    copy.__doc__ = f"`{name}` in memory of its own."
    public(f"torch.{name}_copy")(copy)


for _name in ("col_indices", "crow_indices", "indices", "values"):
    _offer_copy(_name)
