"""Products of sparse matrices with dense ones, and with each other."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.dtypes import bool_
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, NotSupported, ShapeError
from dovetail.sparse.by_dense import REDUCES, by_dense
from dovetail.sparse.conversion import row_starts, to_sparse_coo, to_sparse_csr
from dovetail.sparse.elementwise import add
from dovetail.sparse.handlers import handles
from dovetail.sparse.parts import coalesce, gathered, needs, parts, places
from dovetail.sparse.tensor import COO, CSR, SparseTensor, coo


def _checked(name: str, a: Tensor, b: Tensor, dims: int = 2) -> None:
    """Raise unless a matrix meets one, or a vector, that fits."""
    if a.ndim != 2 or b.ndim != dims or a.shape[1] != b.shape[0]:
        raise ShapeError(
            name, "mat2", was=f"of shape {tuple(b.shape)}, with {tuple(a.shape)}",
            needed=f"a matrix [n, k], and {dims} dims of which the first is k",
        )  # fmt: skip
    for x in (a, b):
        if isinstance(x, SparseTensor) and x.dense_dim():
            raise NotSupported(
                name, "matrix", was=f"with {x.dense_dim()} dense dims", needed="none",
                remedy="call to_dense() first",
            )  # fmt: skip
    if a.dtype is not b.dtype or a.dtype is bool_:
        raise DTypeError(
            name, "mat2", was=f"{b.dtype.name}, with {a.dtype.name}",
            needed="numbers of one dtype",
        )  # fmt: skip
    if a.device != b.device:
        raise NotSupported(
            name, "mat2", was=f"on {b.device}", needed=f"{a.device}",
            remedy="move it with .to(device)",
        )  # fmt: skip


@handles("mm")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices, sparse where both are."""
    _checked("mm", input, mat2)
    if not isinstance(input, SparseTensor):
        return by_dense(mat2.t(), input.t()).t()
    if isinstance(mat2, SparseTensor):
        return _of_sparse(input, mat2)
    return by_dense(input, mat2)


def _of_sparse(x: Tensor, y: Tensor) -> Tensor:
    """Each element of `x` with those of the row of `y` that its column names."""
    x, y = coalesce(x), coalesce(y)
    (rows, inner), a, _ = parts(x)
    (starts, columns), b, _ = parts(y)
    first = row_starts(starts, y.shape[0])
    begin, end = first.index_select(0, inner), first.index_select(0, inner + 1)
    counts = end - begin
    pair = ft.arange(counts.shape[0], device=counts.device).repeat_interleave(counts)
    before = (counts.cumsum(0) - counts).index_select(0, pair)
    nth = ft.arange(pair.shape[0], device=pair.device) - before
    other = begin.index_select(0, pair) + nth
    at = ft.stack([rows.index_select(0, pair), columns.index_select(0, other)])
    products = a.index_select(0, pair) * b.index_select(0, other)
    return coalesce(coo(at, products, (x.shape[0], y.shape[1])))


@handles("mv")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a sparse matrix with a vector."""
    if isinstance(vec, SparseTensor):
        return mv(input, vec.to_dense())
    _checked("mv", input, vec, 1)
    return by_dense(input, vec)


@handles("matmul")
def matmul(input: Any, other: Any) -> Tensor:
    """`mm`, or `mv` for a vector; batches of matrices are refused."""
    if input.ndim == 2 and other.ndim == 1 and isinstance(input, SparseTensor):
        return mv(input, other)
    if input.ndim == 1 and other.ndim == 2 and not isinstance(input, SparseTensor):
        return mv(other.t(), input)
    return mm(input, other)


@handles("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """The rows of a sparse matrix through a dense layer, or by sparse weights."""
    made = matmul(input, weight.t()) if input.ndim == 2 else matmul(weight, input)
    return made if bias is None else made + bias


@handles("addmm")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`."""
    made = mm(mat1, mat2) if _any_sparse(mat1, mat2) else mat1.mm(mat2)
    if not isinstance(made, SparseTensor) and not isinstance(input, SparseTensor):
        made = made * alpha
        return input * beta + made if beta != 0 else made  # type: ignore[no-any-return]
    if tuple(input.shape) != tuple(made.shape):
        input = input.expand(made.shape)
    if beta == 0:
        return made * alpha  # type: ignore[no-any-return]
    return add(input * beta, made, alpha=alpha)


def _any_sparse(*tensors: Tensor) -> bool:
    return any(isinstance(x, SparseTensor) for x in tensors)


def _through(name: str, *args: Any, **kwargs: Any) -> Tensor:
    """A function of torch's, by its handler where an argument is sparse."""
    found: Tensor = ft.NAMES[name](*args, **kwargs)
    return found


@public("torch.spmm torch.dsmm torch.hsmm")
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`sparse.mm` under its older names."""
    return sparse_mm(input, mat2)


@public("sparse.mm")
def sparse_mm(mat1: Tensor, mat2: Tensor, reduce: str | None = None) -> Tensor:
    """The product of a sparse matrix with a dense or a sparse one.

    Args:
        mat1: [n, k], dense where `mat2` is sparse.
        mat2: [k, m].
        reduce: what becomes of the products of a row with a column: their "sum", or
            the "mean", "amax" or "amin" of those whose element is there, 0 without
            any; of several greatest ones the first has the gradient. Only for a
            sparse matrix by a dense one.

    Returns: dense, but sparse for two sparse matrices; gradients of what is sparse
        have its coordinates.

    >>> x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2.0, 3.0], (2, 2))
    >>> torch.sparse.mm(x, torch.ones(2, 1))
    tensor([[2.],
            [3.]])
    """
    if reduce is None:
        return _through("mm", mat1, mat2)
    made = REDUCES.get(reduce)
    if made is None:
        raise ArgumentError(
            "sparse.mm", "reduce", was=repr(reduce),
            needed=f"one of {', '.join(map(repr, REDUCES))}",
        )  # fmt: skip
    if not isinstance(mat1, SparseTensor) or isinstance(mat2, SparseTensor):
        raise NotSupported(
            "sparse.mm", "reduce", was="given for other matrices",
            needed="a sparse matrix by a dense one", remedy="leave reduce out",
        )  # fmt: skip
    _checked("sparse.mm", mat1, mat2)
    if not mat1.dtype.is_floating_point:
        raise DTypeError(
            "sparse.mm", "mat1", was=f"{mat1.dtype.name}, with reduce",
            needed="floating-point numbers",
        )  # fmt: skip
    return made(coalesce(to_sparse_coo(mat1)), mat2)


@public("sparse.addmm")
def sparse_addmm(
    mat: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * mat + alpha * (mat1 @ mat2)`, where `mat1` may be sparse.

    >>> x = torch.eye(2).to_sparse()
    >>> torch.sparse.addmm(torch.ones(2, 2), x, torch.ones(2, 2))
    tensor([[2., 2.],
            [2., 2.]])
    """
    return _through("addmm", mat, mat1, mat2, beta=beta, alpha=alpha)


@public("torch.saddmm")
def saddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)`, where `mat1` is sparse."""
    return _through("addmm", input, mat1, mat2, beta=beta, alpha=alpha)


@public("torch.hspmm")
def hspmm(mat1: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix by a dense one, of which the rows that have elements are kept.

    Returns: [n, m] with one sparse dim and one dense one.
    """
    needs("hspmm", mat1, "sparse coordinate", (COO,))
    _checked("hspmm", mat1, mat2)
    (rows, columns), values, _ = parts(mat1)
    there, at = ft.unique(rows, return_inverse=True)
    products = mat2.index_select(0, columns) * values.unsqueeze(1)
    shape = (mat1.shape[0], mat2.shape[1])
    return coo(there[None], gathered(products, at, there.shape[0]), shape, True)


@public("torch.smm Tensor.smm")
def smm(input: Tensor, mat2: Tensor) -> Tensor:
    """A sparse matrix by a dense one, sparse: rows without elements are left out."""
    there, values, _ = parts(hspmm(to_sparse_coo(input), mat2))
    count, width = values.shape
    line = ft.arange(count * width, device=values.device)
    row, column = places(line, (count, width))
    at = ft.stack([there[0].index_select(0, row), column])
    return coo(at, values.reshape(-1), (input.shape[0], width), True)


@public("torch.sspaddmm Tensor.sspaddmm")
def sspaddmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` of two sparse matrices and a dense one."""
    needs("sspaddmm", input, "sparse coordinate", (COO,))
    return add(input * beta, smm(mat1, mat2), alpha=alpha)


@public("sparse.sampled_addmm")
def sampled_addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1
) -> Tensor:
    """`beta * input + alpha * (mat1 @ mat2)` where the sparse `input` has elements.

    Args:
        input: [n, m] by rows; the product of the dense matrices is computed there.

    >>> x = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(x, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    needs("sampled_addmm", input, "sparse row compressed", (CSR,))
    (rows, columns), values, _ = parts(to_sparse_coo(input))
    if mat1.ndim != 2 or mat2.ndim != 2 or mat1.shape[1] != mat2.shape[0]:
        raise ShapeError(
            "sampled_addmm", "mat2", was=f"{tuple(mat2.shape)}",
            needed=f"[{mat1.shape[-1]}, m]",
        )  # fmt: skip
    if (mat1.shape[0], mat2.shape[1]) != tuple(input.shape):
        raise ShapeError(
            "sampled_addmm", "input", was=f"of shape {tuple(input.shape)}",
            needed=f"{(mat1.shape[0], mat2.shape[1])}, the shape of the product",
        )  # fmt: skip
    dots = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    at = ft.stack([rows, columns])
    total = values * beta + dots * alpha
    return to_sparse_csr(coo(at, total, input.shape, True))
