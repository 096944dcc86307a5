"""torch's order: sorting, searching, distinct values, and scans."""

from __future__ import annotations

from typing import Any

from dovetail.dtypes import bool_, int32
from dovetail.engine.attributes import Absent, Operand, Real
from dovetail.engine.promotion import result_type
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DimError,
    DTypeError,
    ShapeError,
)
from dovetail.frontend.reduce import dim_of
from dovetail.ops import order as o
from dovetail.ops import scan, search, sums
from dovetail.ops.compare import logical_not, ne
from dovetail.ops.create import full
from dovetail.ops.diagonal import basic_put
from dovetail.ops.masked import masked_select
from dovetail.ops.primitive import cast, take_along
from dovetail.ops.shape import cat
from dovetail.ops.view import basic_index, permute, reshape, unsqueeze


@public("msort", out="same")
def msort(input: Tensor) -> Tensor:
    """The elements in order along the first dim."""
    return o.sort(input, 0)[0]


def _placed_by(order: Tensor | None, row: Tensor) -> Tensor:
    return row if order is None else take_along(row, order, row.ndim - 1)


@public("torch.searchsorted", out="same")
def searchsorted(
    sorted_sequence: Tensor, input: Any, *, out_int32: bool = False,
    right: bool = False, side: str | None = None, sorter: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Where values go in the sorted last dim: before equal ones, or after."""
    if side not in (None, "left", "right"):
        raise ArgumentError(
            "searchsorted", "side", was=repr(side), needed="'left' or 'right'"
        )
    if side == "left" and right:
        raise ArgumentError(
            "searchsorted", "side", was="'left' while right is True",
            needed="one of the two",
        )  # fmt: skip
    if not isinstance(input, Tensor):
        input = full((), input, sorted_sequence._kind)
    row = _placed_by(sorter, sorted_sequence)
    found = search.searchsorted(row, input, right or side == "right")
    return cast(found, int32) if out_int32 else found


@public("torch.bucketize", out="same")
def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The number of the bucket between sorted boundaries that each value lies in."""
    if boundaries.ndim != 1:
        raise ArgumentError(
            "bucketize", "boundaries", was=f"{boundaries.ndim}-d", needed="1-d"
        )
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


@public("torch.isin", out="same")
def isin(
    elements: Operand, test_elements: Operand, *, assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:  # fmt: skip
    """Whether each element is among others: of integers and real floats."""
    for name, x in (("elements", elements), ("test_elements", test_elements)):
        dtype = result_type((x,))
        if dtype is bool_ or dtype.is_complex:
            raise DTypeError("isin", name, was=dtype.name, needed="real numbers")
    found = search.isin(elements, test_elements)
    return logical_not(found) if invert else found


@public("unique")
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False,
    return_counts: bool = False, dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements, or slices along `dim`, in order.

    Args:
        return_inverse: where each element went comes too.
        return_counts: how often each comes, too.
        dim: of the slices that are compared whole.

    Raises: DimError for a dim that is not there. Waits for the values.

    >>> torch.unique(torch.tensor([3, 1, 3]), return_counts=True)
    (tensor([1, 3]), tensor([1, 2]))
    """
    return _unique(input, False, return_inverse, return_counts, dim)


@public("unique_consecutive")
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """One element, or slice along `dim`, for each run of equal ones."""
    return _unique(input, True, return_inverse, return_counts, dim)


_MANY = 1 << 13  # elements; then several passes cost less than places nobody wants


def _unique(
    x: Tensor, consecutive: bool, inverse: bool, counts: bool, dim: int | None
) -> Any:
    if dim is not None and not x.ndim:
        raise DimError(
            "unique", "dim", was=dim, needed="None: the tensor has no dimensions"
        )
    many = x.numel() >= _MANY
    if many and dim is None and consecutive and not (inverse or counts):
        return _without_repetitions(reshape(x.detach(), (-1,)))
    if dim is None:
        values, places, often = search.unique(reshape(x, (-1, 1)), consecutive)
        values, places = reshape(values, (-1,)), reshape(places, tuple(x._a.shape))
    else:
        values, places, often = _unique_slices(x, dim_of("unique", dim, x), consecutive)
    wanted = [places] * inverse + [often] * counts
    return (values, *wanted) if wanted else values


def _without_repetitions(row: Tensor) -> Tensor:
    """The elements that differ from the one before them."""
    n = row._a.shape[0]
    first, last = (slice(1, None),), (slice(0, max(n - 1, 0)),)
    differs = ne(basic_index(row, first), basic_index(row, last))
    starts = full((n,), True, differs._kind)
    return masked_select(row, basic_put(starts, differs, first))


def _unique_slices(x: Tensor, dim: int, consecutive: bool) -> Any:
    order = (dim, *(d for d in range(x.ndim) if d != dim))
    first = permute(x, order)
    size, *rest = first._a.shape
    if 0 in rest:
        raise ShapeError(
            "unique", "input", was=f"of shape {tuple(x._a.shape)}",
            needed=f"elements in each slice along dim {dim}",
        )  # fmt: skip
    width = 1
    for n in rest:
        width *= n
    rows, places, often = search.unique(reshape(first, (size, width)), consecutive)
    values = reshape(rows, (rows._a.shape[0], *rest))
    back = tuple(sorted_places(order))
    return permute(values, back), places, often


def sorted_places(order: tuple[int, ...]) -> list[int]:
    """The permutation that undoes another."""
    return [order.index(d) for d in range(len(order))]


@public("diff", out=True)
def diff(
    input: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Differences of neighbours along `dim`, taken `n` times."""
    if not input.ndim:
        raise ShapeError("diff", "input", was="0-d", needed="at least one dim")
    if n < 0:
        raise ArgumentError("diff", "n", was=n, needed="0 or more")
    dim = dim_of("diff", dim, input)
    for name, beside in (("prepend", prepend), ("append", append)):
        if beside is not None:
            _check_beside("diff", name, beside, input, dim)
    if not n:
        return input.clone()
    parts = [p for p in (prepend, input, append) if p is not None]
    x = cat(parts, dim) if len(parts) > 1 else input
    for _ in range(min(n, x._a.shape[dim])):
        late, early = _but(x, dim, first=True), _but(x, dim, first=False)
        x = ne(late, early) if x.dtype is bool_ else late - early
    return x


def _check_beside(
    name: str, argument: str, beside: Tensor, x: Tensor, dim: int
) -> None:
    """Raise for what cannot be joined to `x` along `dim`."""
    sizes = [tuple(t._a.shape) for t in (beside, x)]
    if beside.ndim != x.ndim:
        raise ShapeError(name, argument, was=f"{beside.ndim}-d", needed=f"{x.ndim}-d")
    if len({size[:dim] + size[dim + 1 :] for size in sizes}) > 1:
        raise ShapeError(
            name, argument, was=f"of shape {sizes[0]}",
            needed=f"{sizes[1]}, but for dim {dim}",
        )  # fmt: skip


def _but(x: Tensor, dim: int, *, first: bool) -> Tensor:
    """All but the first, or all but the last, along a dim."""
    cut = slice(1, None) if first else slice(0, max(x._a.shape[dim] - 1, 0))
    return basic_index(x, o.at(dim, cut))


def _strips(y: Tensor, x: Tensor | None, dx: Any, dim: int) -> Tensor:
    """Areas of the trapezoids between neighbours."""
    for name, values in (("y", y), ("x", x)):
        if values is not None and values.dtype is bool_:
            raise DTypeError("trapezoid", name, was="bool", needed="numbers")
    if x is not None and dx is not None:
        raise ArgumentTypeError("trapezoid", "dx", was="given beside x", needed="none")
    if isinstance(dx, bool):
        raise ArgumentTypeError("trapezoid", "dx", was=dx, needed="a real number")
    dim = dim_of("trapezoid", dim, y)
    twice = _but(y, dim, first=True) + _but(y, dim, first=False)
    if x is None:
        return twice * ((1 if dx is None else dx) / 2)
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise ShapeError(
                "trapezoid", "x", was=f"{x.shape[0]} places",
                needed=f"{y.shape[dim]}, as dim {dim} of y has",
            )  # fmt: skip
        width = diff(x)
        for _ in range(y.ndim - 1 - dim):
            width = unsqueeze(width, width.ndim)
    else:
        width = diff(x, dim=dim)
    return twice * width / 2


@public("torch.trapezoid")
def trapezoid(
    y: Tensor, x: Tensor | Absent = None, *, dx: Real | Absent = None, dim: int = -1
) -> Tensor:
    """The integral along `dim` by the trapezoidal rule."""
    return sums.sum(_strips(y, x, dx, dim), dim_of("trapezoid", dim, y))


@public("torch.trapz")
def trapz(
    y: Tensor, x: Tensor | Absent = None, *, dx: float | Absent = None, dim: int = -1
) -> Tensor:
    """`trapezoid` under its older name."""
    return trapezoid(y, x, dx=None if dx is None else float(dx), dim=dim)


@public("torch.cumulative_trapezoid")
def cumulative_trapezoid(
    y: Tensor, x: Tensor | Absent = None, *, dx: Real | Absent = None, dim: int = -1
) -> Tensor:
    """The integral so far along `dim` by the trapezoidal rule."""
    return scan.cumsum(_strips(y, x, dx, dim), dim_of("trapezoid", dim, y))
