"""Arithmetic on sparse tensors, where zeros stay zeros."""

from __future__ import annotations

from typing import Any, Final

from dovetail import frontend as ft
from dovetail.dtypes import can_cast, promote_types
from dovetail.engine.modes import grad_enabled
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, NotSupported, ShapeError
from dovetail.sparse.conversion import at_places, found_at
from dovetail.sparse.dispatch import become, same_places
from dovetail.sparse.handlers import HANDLERS, Handler, handles, refusal
from dovetail.sparse.parts import coalesce, lines, parts
from dovetail.sparse.tensor import COO, SparseTensor, coo, coordinates, with_values
from dovetail.tensor_api.index_writes import write_places

# Linear in the values, of which one place may have several.
_LINEAR: Final = (
    "conj",
    "conj_physical",
    "imag",
    "neg",
    "negative",
    "positive",
    "real",
)
_UNARY: Final = (
    "abs", "absolute", "angle", "arcsin", "arcsinh", "arctan", "arctanh", "asin",
    "asinh", "atan", "atanh", "ceil", "deg2rad", "erf", "erfinv", "expm1", "fix",
    "floor", "frac", "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num",
    "rad2deg", "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt",
    "square", "tan", "tanh", "trunc",
)  # fmt: skip


def _of_values(name: str, linear: bool) -> Handler:
    def call(input: SparseTensor, *args: Any, **kwargs: Any) -> Tensor:
        x: Any = input if linear or not input.is_sparse else coalesce(input)
        function = ft.NAMES.get(name) or getattr(Tensor, name)
        if not callable(function):
            return with_values(x, getattr(x._a.values, name))
        return with_values(x, function(x._a.values, *args, **kwargs))

    return Handler(call, True)


for _name in _LINEAR:
    HANDLERS[_name] = _of_values(_name, True)
for _name in _UNARY:
    HANDLERS[_name] = _of_values(_name, False)


def _alike(name: str, a: Tensor, b: Tensor) -> None:
    if tuple(a.shape) != tuple(b.shape):
        raise ShapeError(
            name, "other", was=f"of shape {tuple(b.shape)}",
            needed=f"{tuple(a.shape)}: expected sizes of 'self' and 'other' to match",
        )  # fmt: skip


def _scaled(x: Tensor, alpha: Any) -> Tensor:
    return x if type(alpha) is int and alpha == 1 else x * alpha


@handles("add")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """The sum; dense where one of the two is."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise refusal("add", COO, "another tensor than a number, which has no zeros")
    _alike("add", input, other)
    if not isinstance(input, SparseTensor):
        return _added_to(input, other, alpha)
    if not isinstance(other, SparseTensor):
        return _added_to(_scaled(other, alpha), input, 1)
    (first, a, sizes), (second, b, others) = parts(input), parts(other)
    if len(sizes) != len(others):
        raise ShapeError(
            "add",
            "other",
            was=f"with {len(others)} sparse dims",
            needed=f"{len(sizes)}",
        )
    if same_places(input, other):
        return with_values(input, ft.add(a, b, alpha=alpha))
    dtype = promote_types(a.dtype, b.dtype)
    at = ft.cat([first, second], 1)
    total = coo(at, ft.cat([a.to(dtype), _scaled(b, alpha).to(dtype)]), input.shape)
    both = coordinates(input).coalesced and coordinates(other).coalesced
    return coalesce(total) if both else total


@handles("sub subtract")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """The difference; dense where one of the two is."""
    if not isinstance(input, Tensor):
        raise refusal("sub", COO, "another tensor than a number, which has no zeros")
    return add(input, other, alpha=-alpha)


def _added_to(dense: Tensor, x: Tensor, alpha: Any) -> Tensor:
    """A dense tensor with a sparse one added."""
    indices, values, sizes = parts(x)
    dtype = promote_types(dense.dtype, values.dtype)
    line = lines("add", indices, sizes)
    rows = dense.to(dtype).reshape(-1, *values.shape[1:])
    total: Tensor = ft.index_add(rows, 0, line, _scaled(values, alpha).to(dtype))
    return total.reshape(dense.shape)


@handles("add_")
def add_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Add in place: of a dense tensor, only what a sparse one has is touched."""
    if isinstance(self, SparseTensor):
        return become("add_", self, add(self, other, alpha=alpha))
    _alike("add_", self, other)
    indices, values, sizes = parts(other)
    if not can_cast(values.dtype, self.dtype):
        raise DTypeError(
            "add_", "other", was=values.dtype.name,
            needed=f"a dtype that can be cast to {self.dtype.name}",
        )  # fmt: skip
    more = _scaled(values, alpha).to(self.dtype)
    if not sizes or not self.numel():
        return self.copy_(_added_to(self, other, alpha))
    at, adds = list(indices), True
    recorded = grad_enabled() and (self.requires_grad or more.requires_grad)
    if coordinates(other).coalesced and not recorded:  # no place comes twice: faster
        more, adds = at_places(self.detach(), indices) + more, False
    return write_places(self, more, at, adds)


@handles("sub_ subtract_")
def sub_(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
    """Subtract in place."""
    return add_(self, other, alpha=-alpha)


def _is_number(value: Any) -> bool:
    return not isinstance(value, Tensor) or (
        not isinstance(value, SparseTensor) and not value.ndim
    )


@handles("mul multiply")
def mul(input: Any, other: Any) -> Tensor:
    """The product, with the places that both have."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if _is_number(other):
        return with_values(input, input._a.values * other)
    if not isinstance(other, SparseTensor):
        if other.ndim > input.ndim:
            raise ShapeError(
                "mul", "other", was=f"of shape {tuple(other.shape)}",
                needed=f"one that expands to {tuple(input.shape)}",
            )  # fmt: skip
        at = at_places(other.expand(input.shape), coordinates(input).indices)
        return with_values(input, input._a.values * at)
    _alike("mul", input, other)
    x, y = coalesce(input), coalesce(other)
    (indices, a, sizes), (second, b, others) = parts(x), parts(y)
    if len(sizes) != len(others):
        raise ShapeError(
            "mul",
            "other",
            was=f"with {len(others)} sparse dims",
            needed=f"{len(sizes)}",
        )
    wanted, there = lines("mul", indices, sizes), lines("mul", second, sizes)
    b, at, hit = found_at(b, there, wanted)
    values = a[hit] * b.index_select(0, at[hit])
    return coo(indices[:, hit], values, x.shape, True)


@handles("div divide true_divide")
def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Divided by a number."""
    if not isinstance(input, SparseTensor) or not _is_number(other):
        raise NotSupported(
            "div", "other", was="a tensor" if _is_number(input) else "no number",
            needed="a sparse tensor divided by a number: Sparse division requires a "
            "scalar or zero-dim dense tensor divisor", remedy="call to_dense() first",
        )  # fmt: skip
    x: Any = input if rounding_mode is None else coalesce(input)
    return with_values(x, ft.div(x._a.values, other, rounding_mode=rounding_mode))


@handles("floor_divide")
def floor_divide(input: Any, other: Any) -> Tensor:
    """Divided by a number, and rounded down."""
    return div(input, other, rounding_mode="floor")


@handles("pow")
def power(input: Any, exponent: Any) -> Tensor:
    """A power that 0 has too: the exponent is above 0."""
    if not isinstance(input, SparseTensor) or isinstance(exponent, Tensor):
        raise refusal("pow", COO, "a sparse tensor to the power of a number")
    if isinstance(exponent, complex) or not exponent > 0:
        raise ArgumentError(
            "pow", "exponent", was=exponent, needed="above 0, so that zeros stay zeros",
            remedy="call to_dense() first",
        )  # fmt: skip
    x: Any = coalesce(input)
    return with_values(x, x._a.values**exponent)
