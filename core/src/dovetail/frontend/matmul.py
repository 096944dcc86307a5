"""Products of vectors and matrices that are expressions of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from dovetail import dtypes
from dovetail.engine.attributes import Scalar
from dovetail.engine.elements import check_factor, factor, stored
from dovetail.engine.integers import integers
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DeviceError,
    DTypeError,
    ShapeError,
)
from dovetail.ops.create import filled
from dovetail.ops.matmul import linear, matmul
from dovetail.ops.primitive import bmm, cast, conj
from dovetail.ops.sums import sum
from dovetail.ops.view import expand, permute, reshape, transpose, unsqueeze


def _dims(op: str, *expected: tuple[str, Tensor, int]) -> None:
    for name, x, ndim in expected:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(op, name, was=repr(x), needed="a Tensor")
        if x.ndim != ndim:
            raise ShapeError(
                op, name, was=f"a {x.ndim}D tensor {tuple(x.shape)}",
                needed=f"a {ndim}D tensor", remedy="matmul takes every number of dims",
            )  # fmt: skip


@public("mm", out="same")
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """The product of two matrices."""
    _dims("mm", ("input", input, 2), ("mat2", mat2, 2))
    return matmul(input, mat2)


@public("mv", out="same", autocast="none")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    _dims("mv", ("input", input, 2), ("vec", vec, 1))
    return matmul(input, vec)


@public("dot", out="same", autocast="none")
def dot(input: Tensor, tensor: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements."""
    _dims("dot", ("input", input, 1), ("tensor", tensor, 1))
    return matmul(input, tensor)


@public("vdot", out="same", autocast="none")
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """`dot` with the conjugate of `input`."""
    _dims("vdot", ("input", input, 1), ("other", other, 1))
    return matmul(conj(input), other)


@public("inner", out="same", autocast="none")
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products over the last dims of both; with a 0-d tensor, multiplication.

    Raises: DeviceError for tensors apart, be it a 0-d one on the CPU.
    """
    if input.device != other.device:
        raise DeviceError(
            "inner", "other", was=f"on {other.device}",
            needed=f"{input.device}, where input is: expected all tensors to be on "
            "the same device", remedy=f'move it with .to("{input.device}")',
        )  # fmt: skip
    if not input.ndim or not other.ndim:
        return input * other
    if input.shape[-1] != other.shape[-1]:
        raise ShapeError(
            "inner", "last dim", was=f"{input.shape[-1]} and {other.shape[-1]}",
            needed="equal sizes: inner() the last dimension must match",
        )  # fmt: skip
    return tensordot(input, other, ([-1], [-1]))


@public("outer ger", out=True)
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of each element of one vector with each of another."""
    _dims("outer", ("input", input, 1), ("vec2", vec2, 1))
    return unsqueeze(input, 1) * vec2


def _added(op: str, input: Tensor, product: Tensor, beta: Any, alpha: Any) -> Tensor:
    """beta * input + alpha * product; a beta of 0 ignores `input`, NaN and all."""
    if input._kind.dtype is not product._kind.dtype:
        raise DTypeError(
            op, "input", was=input._kind.dtype.name,
            needed=f"{product._kind.dtype.name}, as the product has",
            remedy="cast one of them with .to(dtype)",
        )  # fmt: skip
    dtype = product._kind.dtype
    fit = stored if op in ("addmv", "addr") else factor  # whose sums are not wider
    beta, alpha = fit(op, dtype, beta, "beta"), fit(op, dtype, alpha, "alpha")
    wide: Tensor = expand(input, tuple(product._a.shape))
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return scaled + filled(wide, 0) if input.requires_grad else scaled
    return scaled + (wide if beta == 1 else wide * beta)


def _rounded_once(
    op: str, product: Any, input: Tensor, a: Tensor, b: Tensor, beta: Any, alpha: Any
) -> Tensor:
    """`_added` to a product, in float32 where these are floats of 16 bits."""
    kinds = {x._kind.dtype for x in (input, a, b)}
    if len(kinds) > 1 or not kinds <= dtypes.HALF:
        return _added(op, input, product(a, b), beta, alpha)
    wide = [cast(x, dtypes.float32) for x in (input, a, b)]
    found = _added(op, wide[0], product(*wide[1:]), beta, alpha)
    return cast(found, a._kind.dtype)


@public("addmm Tensor.addmm_", out="same", autocast="lower")
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Tensor:
    """beta * input + alpha * (mat1 @ mat2), rounded once."""
    plain = type(beta) is type(alpha) is int and beta == alpha == 1
    if plain and _is_row(input, mat1, mat2):
        found: Tensor = linear(mat1, transpose(mat2, 0, 1), input)
        return found
    return _rounded_once("addmm", mm, input, mat1, mat2, beta, alpha)


def _is_row(row: Any, a: Any, b: Any) -> bool:
    """Whether a row of floats is what each row of a product may have added at once."""
    if not all(isinstance(x, Tensor) for x in (row, a, b)):
        return False
    shapes = row._a.shape, a._a.shape, b._a.shape
    if tuple(map(len, shapes)) != (1, 2, 2) or shapes[0][0] != shapes[2][1]:
        return False
    dtype = row._kind.dtype
    alike = dtype is a._kind.dtype is b._kind.dtype
    return alike and dtype.is_inexact and shapes[1][1] == shapes[2][0]


@public("addmv addmv_", out="same", autocast="none")
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Tensor:
    """beta * input + alpha * (mat @ vec)."""
    return _added("addmv", input, mv(mat, vec), beta, alpha)


@public("addbmm Tensor.addbmm_", out="same", autocast="lower")
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1,
    alpha: Scalar = 1,
) -> Tensor:  # fmt: skip
    """beta * input + alpha * the sum of the products of a batch."""
    total: Tensor = sum(bmm(batch1, batch2), 0, dtype=batch1.dtype)
    return _added("addbmm", input, total, beta, alpha)


@public("baddbmm Tensor.baddbmm_", out="same", autocast="lower")
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Scalar = 1,
    alpha: Scalar = 1,
) -> Tensor:  # fmt: skip
    """beta * input + alpha * the products of a batch, rounded once."""
    return _rounded_once("baddbmm", bmm, input, batch1, batch2, beta, alpha)


@public("addr Tensor.addr_", out=True)
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Scalar = 1, alpha: Scalar = 1
) -> Tensor:
    """beta * input + alpha * outer(vec1, vec2)."""
    dtype = dtypes.promote(dtypes.promote(input.dtype, vec1.dtype), vec2.dtype)
    for name, value in (("beta", beta), ("alpha", alpha)):
        check_factor("addr", name, dtype, value)
    product = cast(outer(vec1, vec2), dtype)
    return _added("addr", cast(input, dtype), product, beta, alpha)


@public("torch.tensordot", out="same")
def tensordot(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """Products summed over pairs of dims.

    Args:
        dims: how many, the last of `a` and the first of `b`; or two lists, of the dims
            of `a` and of those of `b`.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        if not 0 <= dims <= min(a.ndim, b.ndim):
            raise ArgumentError(
                "tensordot", "dims", was=dims, needed=f"0 to {min(a.ndim, b.ndim)}"
            )
        left, right = range(a.ndim - dims, a.ndim), range(dims)
        return _contracted(a, b, list(left), list(right))
    if not isinstance(dims, list | tuple) or len(dims) != 2:
        raise ArgumentTypeError(
            "tensordot", "dims", was=repr(dims), needed="a number, or two lists of dims"
        )
    of_a, of_b = (list(integers("tensordot", "dims", d, 0)) for d in dims)
    return _contracted(a, b, _wrapped(of_a, a.ndim), _wrapped(of_b, b.ndim))


def _wrapped(dims: Sequence[int], ndim: int) -> list[int]:
    found = [d % ndim if -ndim <= d < ndim else -1 for d in dims]
    if -1 in found or len(set(found)) != len(found):
        raise ShapeError(
            "tensordot", "dims", was=list(dims),
            needed=f"each dim of {ndim} at most once",
        )  # fmt: skip
    return found


def _contracted(a: Tensor, b: Tensor, left: list[int], right: list[int]) -> Tensor:
    pairs = list(zip(left, right, strict=False))
    if len(left) != len(right) or any(
        a.shape[i] != b.shape[j] and 1 not in (a.shape[i], b.shape[j]) for i, j in pairs
    ):
        raise ShapeError(
            "tensordot", "dims", was=f"{left} of {tuple(a.shape)} with {right} of "
            f"{tuple(b.shape)}", needed="as many of both, of equal sizes",
        )  # fmt: skip
    for i, j in pairs:
        if a.shape[i] != b.shape[j]:  # a size of 1 is broadcast
            a, b = (a.sum(i, True), b) if b.shape[j] == 1 else (a, b.sum(j, True))
    kept_a = [d for d in range(a.ndim) if d not in left]
    kept_b = [d for d in range(b.ndim) if d not in right]
    shape = tuple(a.shape[d] for d in kept_a) + tuple(b.shape[d] for d in kept_b)
    inner_size = math.prod(a.shape[d] for d in left)
    rows = math.prod(a.shape[d] for d in kept_a)
    columns = math.prod(b.shape[d] for d in kept_b)
    a2 = reshape(permute(a, (*kept_a, *left)), (rows, inner_size))
    b2 = reshape(permute(b, (*right, *kept_b)), (inner_size, columns))
    return reshape(matmul(a2, b2), shape)


@public("kron", out=True)
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Each element of `input` times the whole of `other`, as blocks."""
    ndim = max(input.ndim, other.ndim)
    a = (1,) * (ndim - input.ndim) + tuple(input.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = reshape(input, tuple(n for size in a for n in (size, 1)))
    right = reshape(other, tuple(n for size in b for n in (1, size)))
    shape = tuple(m * n for m, n in zip(a, b, strict=True))
    return reshape(left * right, shape)


@public("torch.chain_matmul", out="same")
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of several matrices in the order that costs least."""
    if not matrices:
        raise ArgumentError(
            "chain_matmul", "matrices", was="none", needed="at least one matrix"
        )
    _dims("chain_matmul", *((f"matrices[{i}]", m, 2) for i, m in enumerate(matrices)))
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    split = _best_splits(sizes)

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        at = split[first, last]
        return matmul(product(first, at), product(at + 1, last))

    return product(0, len(matrices) - 1)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each chain (Cormen et al., Introduction to Algorithms, 15.2)."""
    n = len(sizes) - 1
    cost = {(i, i): 0 for i in range(n)}
    split = {}
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                (
                    cost[i, k]
                    + cost[k + 1, j]
                    + sizes[i] * sizes[k + 1] * sizes[j + 1],
                    k,
                )
                for k in range(i, j)
            )
    return split
