"""Products of matrices by BLAS, cut into pieces that the threads of the pool share.

Where a product is cut depends on its shape and the machine alone, so that the same call
gives the same bits, however many threads there are.
"""

from __future__ import annotations

import ctypes
import math
from functools import cache
from typing import Final

import numpy as np

from dovetail.codegen.eager import Array, address
from dovetail.codegen.runtime import Kernel, kernel
from dovetail.codegen.runtime.blas import blas
from dovetail.codegen.runtime.pool import default_size

_CHUNK: Final = 1 << 19  # multiplications that a thread takes at a time, at least
_NARROW: Final = 64  # rows or columns of a piece, at least; cuts are at multiples of 16
_AS_IT_IS, _TURNED = 111, 112
_NARROWEST: Final = 2  # what is narrower is a vector

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
    REAL 1.0, ptr %a, INT %lead.a, ptr %b, INT %lead.b, REAL 0.0, ptr %c, INT %lead.c)
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
    (m, k), n = a.shape[-2:], b.shape[-1]
    if b.shape[-2] != k or min(m, n, k) < _NARROWEST:
        return None
    lead: tuple[int, ...] = ()
    if a.ndim > 2 or b.ndim > 2:
        lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    work = math.prod(lead) * m * n * k
    lies_a, lies_b = _lies(a), _lies(b)
    if not work or work < least or lies_a is None or lies_b is None:
        return None
    shape = (*lead, m, n)
    if out is not None and not _takes(out, shape, a, b):
        return None
    y = np.empty(shape, dtype) if out is None else out
    line = y.strides[-2] // y.itemsize
    words = [found.gemm[code], *lies_a, *lies_b, line, k]
    words += _pieces(a, b, y) if lead else _pieces_of_one(a, b, y)
    count = len(words) // 5 - 1
    table = (ctypes.c_int64 * len(words))(*words)
    grain = _CHUNK * count // work or 1
    _kernel(code, found.bits).run(ctypes.addressof(table), count, grain)
    return y


def _takes(y: Array, shape: tuple[int, ...], a: Array, b: Array) -> bool:
    """Whether the result can be written to an array."""
    if y.shape != shape or y.dtype != a.dtype or (_lies(y) or (0,))[0] != _AS_IT_IS:
        return False
    return not (np.may_share_memory(y, a) or np.may_share_memory(y, b))


def _lies(x: Array) -> tuple[int, int] | None:
    """How a matrix lies, in BLAS's words, and how far apart its lines are."""
    rows, columns = x.shape[-2:]
    row, column = x.strides[-2:]
    size = x.itemsize
    if column == size and row >= columns * size and not row % size:
        return _AS_IT_IS, row // size
    if row == size and column >= rows * size and not column % size:
        return _TURNED, column // size
    return None


def _pieces_of_one(a: Array, b: Array, y: Array) -> list[int]:
    """For each piece: where a, b and the result begin, its rows and columns."""
    m, n = y.shape
    at_a, at_b, at_y = address(a), address(b), address(y)
    found: list[int] = []
    if m >= n:
        step, steps = _step(m, 1), (a.strides[0], y.strides[0])
        for i in range(0, m, step):
            found += (at_a + i * steps[0], at_b, at_y + i * steps[1])
            found += (min(step, m - i), n)
    else:
        step, steps = _step(n, 1), (b.strides[1], y.strides[1])
        for i in range(0, n, step):
            found += (at_a, at_b + i * steps[0], at_y + i * steps[1])
            found += (m, min(step, n - i))
    return found


def _pieces(a: Array, b: Array, y: Array) -> list[int]:
    """The same of a batch, each of whose products is cut where there are few."""
    m, n = y.shape[-2:]
    by_rows, length = m >= n, max(m, n)
    step = _step(length, y.size // (m * n))
    begins = np.arange(0, length, step)
    pieces = np.empty((*y.shape[:-2], len(begins), 5), np.int64)
    of_a, of_b = (a.strides[-2], 0) if by_rows else (0, b.strides[-1])
    along = (of_a, of_b, y.strides[-2 if by_rows else -1])
    for column, (x, each) in enumerate(zip((a, b, y), along, strict=True)):
        starts = _starts(x, y.shape[:-2])
        pieces[..., column] = starts[..., None] + begins * each
    pieces[..., 3], pieces[..., 4] = m, n
    pieces[..., 3 if by_rows else 4] = np.minimum(length - begins, step)
    found: list[int] = pieces.ravel().tolist()
    return found


def _step(length: int, count: int) -> int:
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
def _kernel(code: str, bits: int) -> Kernel:
    """The loop over pieces, which calls BLAS for each."""
    real = {"f": "float", "d": "double"}[code]
    name = f"product_{real}"
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
    text = text.replace("REAL", real)
    text = text.replace("HEAD", "\n".join(head)).replace("BODY", "\n".join(body))
    return kernel(name, text)


def _loaded(name: str, word: int, kind: str, start: str = "0") -> str:
    """A word of the table, or its low bits: they come first."""
    return (
        f"  %{name}.number = add i64 {start}, {word}\n"
        f"  %{name}.at = getelementptr i64, ptr %table, i64 %{name}.number\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 8"
    )
