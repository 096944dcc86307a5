"""Products of matrices by BLAS, cut into pieces that the threads of the pool share.

Where a product is cut depends on its shape and the machine alone, so that the same call
gives the same bits, however many threads there are.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache, lru_cache
from typing import Final, NamedTuple

import numpy as np

from dovetail.codegen.arrays import Array, address
from dovetail.codegen.eager_copy import transposed
from dovetail.codegen.layout import Ints
from dovetail.codegen.runtime import Kernel, kernel
from dovetail.codegen.runtime.blas import Blas, blas
from dovetail.codegen.runtime.pool import default_size

CHUNK: Final = 1 << 19  # multiplications that a thread takes at a time, at least
_NARROW: Final = 64  # rows or columns of a piece, at least; cuts are at multiples of 16
AS_IT_IS, _TURNED = 111, 112
_NARROWEST: Final = 2  # what is narrower is a vector
_REMEMBERED: Final = 256  # forms of products
_PIECE: Final = 5  # words of a piece
# Of few rows, times columns that lie side by side, as in `x @ weight.T`: OpenBLAS takes
# a third of the time to bring the columns into its order. Not if it gets the transposed
# product, of weights as they lie and a copy of the rows.
_FLAT: Final = 16  # rows, columns and what is summed, at least: what copies are made of
_FLATTEST: Final = 128  # rows, at most

# table: gemm; for a and for b how it lies, and from line to line; that of c; k. Then
# for each piece: a, b, c, m, n. 101 says that c lies row by row.
_TEXT: Final = """
define void @NAME(ptr %table, i64 %low, i64 %high) {
entry:
HEAD
  %any = icmp slt i64 %low, %high
  br i1 %any, label %piece, label %end
piece:
  %i = phi i64 [ %low, %entry ], [ %next, %piece ]
  %five = mul i64 %i, 5
  %row = add i64 %five, 7
BODY
  call void %gemm(i32 101, i32 %lies.a, i32 %lies.b, INT %m, INT %n, INT %k,
    REAL 1.0, ptr %a, INT %lead.a, ptr %b, INT %lead.b, REAL KEEP, ptr %c, INT %lead.c)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %high
  br i1 %more, label %piece, label %end
end:
  ret void
}
"""


def matmul(
    a: Array, b: Array, out: Array | None = None, least: int = 0
) -> Array | None:
    """`numpy.matmul` of large operands; None where NumPy has to serve.

    Args:
        a, b: of one dtype, float32 or float64, with two dims or more.
        out: for the result; row-major matrices, and no part of `a` or `b`.
        least: multiplications from which on it is a large product.
    """
    found, dtype = blas(), a.dtype
    code = dtype.char
    if found is None or code not in found.gemm or b.dtype != dtype:
        return None
    if a.ndim == b.ndim == 2:
        form = _form(a.shape, a.strides, b.shape, b.strides, a.itemsize, least)
        if form is None:
            return None
        if out is None:
            return form.product(a, b, found)
        if form.turned and out.shape == form.shape and out.dtype == dtype:
            y = form.product(a, b, found)
            return None if y is None else _moved(out, y)
    return _of_many(a, b, out, least, found)


def _moved(out: Array, y: Array) -> Array:
    out[...] = y
    return out


class _Form(NamedTuple):
    """What products of two matrices have in common if they lie alike.

    Attributes:
        shape: of the result.
        words: how a and b lie; from line to line of the result; their common size.
        pieces: how far into a, b and the result each begins, its rows and columns.
        grain: how many of them a thread takes at a time.
        turned: whether the product is better of the transposed operands, and a copied.
    """

    shape: tuple[int, int]
    words: tuple[int, ...]
    pieces: tuple[tuple[int, ...], ...]
    grain: int
    turned: bool

    def product(self, a: Array, b: Array, found: Blas) -> Array | None:
        """The product of matrices of this form."""
        if self.turned:
            right = transposed(a.T)
            y = None if right is None else matmul(b.T, right)
            return None if y is None else transposed(y.T)
        y = np.empty(self.shape, a.dtype)
        of_a, of_b, of_y = address(a), address(b), address(y)
        words = [found.gemm[a.dtype.char], *self.words]
        for in_a, in_b, in_y, m, n in self.pieces:
            words += (of_a + in_a, of_b + in_b, of_y + in_y, m, n)
        table = (ctypes.c_int64 * len(words))(*words)
        run = gemm_kernel(a.dtype.char, found.bits).run
        run(ctypes.addressof(table), len(self.pieces), self.grain)
        return y


@lru_cache(_REMEMBERED)
def _form(
    shape_a: Ints, steps_a: Ints, shape_b: Ints, steps_b: Ints, size: int, least: int
) -> _Form | None:
    """The form of a product; None where NumPy has to serve.

    Args:
        steps_a, steps_b: strides.
        size: of an element.
    """
    (m, k), (inner, n) = shape_a, shape_b
    work = m * n * k
    lies_a, lies_b = lie_of(shape_a, steps_a, size), lie_of(shape_b, steps_b, size)
    if inner != k or min(m, n, k) < _NARROWEST or work < least:
        return None
    if lies_a is None or lies_b is None:
        return None
    lies = lies_a[0], lies_b[0]
    turned = lies == (AS_IT_IS, _TURNED) and min(m, n, k) >= _FLAT
    words = (*lies_a, *lies_b, n, k)
    pieces = _pieces_of_one(m, n, steps_a[0], steps_b[1], size)
    grain = CHUNK * len(pieces) // work or 1
    return _Form((m, n), words, pieces, grain, turned and m <= min(_FLATTEST, n // 2))


def _of_many(
    a: Array, b: Array, out: Array | None, least: int, found: Blas
) -> Array | None:
    """The same for batches, and where the result has a place."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    if b.shape[-2] != k or min(m, n, k) < _NARROWEST:
        return None
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    work = math.prod(lead) * m * n * k
    lies_a = lie_of(a.shape, a.strides, a.itemsize)
    lies_b = lie_of(b.shape, b.strides, b.itemsize)
    if not work or work < least or lies_a is None or lies_b is None:
        return None
    shape = (*lead, m, n)
    if out is not None and not _takes(out, shape, a, b):
        return None
    y = np.empty(shape, a.dtype) if out is None else out
    head = (found.gemm[a.dtype.char], *lies_a, *lies_b, y.strides[-2] // y.itemsize, k)
    pieces = _pieces(a, b, y)
    table = np.empty(len(head) + pieces.size, np.int64)
    table[: len(head)], table[len(head) :] = head, pieces.reshape(-1)
    count = pieces.size // _PIECE
    grain = CHUNK * count // work or 1
    gemm_kernel(a.dtype.char, found.bits).run(address(table), count, grain)
    return y


def _takes(y: Array, shape: tuple[int, ...], a: Array, b: Array) -> bool:
    """Whether the result can be written to an array."""
    lies = lie_of(y.shape, y.strides, y.itemsize)
    if y.shape != shape or y.dtype != a.dtype or (lies or (0,))[0] != AS_IT_IS:
        return False
    return not (np.may_share_memory(y, a) or np.may_share_memory(y, b))


def lie_of(shape: Ints, steps: Ints, size: int) -> tuple[int, int] | None:
    """How a matrix lies, in BLAS's words, and how far apart its lines are."""
    rows, columns = shape[-2:]
    row, column = steps[-2:]
    if column == size and row >= columns * size and not row % size:
        return AS_IT_IS, row // size
    if row == size and column >= rows * size and not column % size:
        return _TURNED, column // size
    return None


def _pieces_of_one(
    m: int, n: int, down: int, across: int, size: int
) -> tuple[tuple[int, ...], ...]:
    """For each piece: where it is in a, in b and in the result, its rows and columns.

    Args:
        down, across: bytes from row to row of a, and from column to column of b.
        size: of an element.
    """
    if m >= n:
        step = step_of(m, 1)
        return tuple(
            (i * down, 0, i * n * size, min(step, m - i), n) for i in range(0, m, step)
        )
    step = step_of(n, 1)
    return tuple(
        (0, i * across, i * size, m, min(step, n - i)) for i in range(0, n, step)
    )


def _pieces(a: Array, b: Array, y: Array) -> Array:
    """The same as addresses, of a batch whose products are cut where there are few."""
    m, n = y.shape[-2:]
    by_rows, length = m >= n, max(m, n)
    step = step_of(length, y.size // (m * n))
    begins = np.arange(0, length, step)
    pieces = np.empty((*y.shape[:-2], len(begins), _PIECE), np.int64)
    of_a, of_b = (a.strides[-2], 0) if by_rows else (0, b.strides[-1])
    along = (of_a, of_b, y.strides[-2 if by_rows else -1])
    for column, (x, each) in enumerate(zip((a, b, y), along, strict=True)):
        starts = _starts(x, y.shape[:-2])
        pieces[..., column] = starts[..., None] + begins * each
    pieces[..., 3], pieces[..., 4] = m, n
    pieces[..., 3 if by_rows else 4] = np.minimum(length - begins, step)
    return pieces


def step_of(length: int, count: int) -> int:
    """How long pieces are: as many as the machine has cores, or none too short."""
    wanted = -(-_cores() // count)
    step = max(-(-length // wanted), _NARROW)
    return min(-(-step // 16) * 16, length)


@cache
def _cores() -> int:
    return default_size()


def _starts(x: Array, lead: tuple[int, ...]) -> Array:
    """Where each matrix of a batch begins."""
    found = np.full(lead, address(x), np.int64)
    missing = len(lead) - (x.ndim - 2)
    for dim, (size, step) in enumerate(
        zip(x.shape[:-2], x.strides[:-2], strict=True), missing
    ):
        if size > 1:
            along = np.arange(size) * step
            found += along.reshape(-1, *[1] * (len(lead) - dim - 1))
    return found


@cache
def gemm_kernel(code: str, bits: int, adds: bool = False) -> Kernel:
    """The loop over pieces, which calls BLAS for each.

    Args:
        adds: whether products are added to what is there.
    """
    real = {"f": "float", "d": "double"}[code]
    name = f"product_added_{real}" if adds else f"product_{real}"
    whole = f"i{bits}"
    head = [_loaded("gemm", 0, "ptr")]
    head += [_loaded(n, i, "i32") for n, i in (("lies.a", 1), ("lies.b", 3))]
    head += [
        _loaded(n, i, whole)
        for n, i in (("lead.a", 2), ("lead.b", 4), ("lead.c", 5), ("k", 6))
    ]
    body = [
        _loaded(n, i, kind, "%row")
        for i, (n, kind) in enumerate(
            [("a", "ptr"), ("b", "ptr"), ("c", "ptr"), ("m", whole), ("n", whole)]
        )
    ]
    text = _TEXT.replace("NAME", name).replace("INT", whole)
    text = text.replace("REAL", real).replace("KEEP", "1.0" if adds else "0.0")
    text = text.replace("HEAD", "\n".join(head)).replace("BODY", "\n".join(body))
    return kernel(name, text)


def _loaded(name: str, word: int, kind: str, start: str = "0") -> str:
    """A word of the table, or its low bits: they come first."""
    return (
        f"  %{name}.number = add i64 {start}, {word}\n"
        f"  %{name}.at = getelementptr i64, ptr %table, i64 %{name}.number\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 8"
    )
