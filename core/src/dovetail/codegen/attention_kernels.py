"""Attention as kernels: `attention.ll` for a dtype, with the softmax that it calls."""

from __future__ import annotations

import re
from functools import cache
from itertools import count
from pathlib import Path
from typing import Final, NamedTuple

from dovetail.codegen.eager_rows import Rows
from dovetail.codegen.pointwise import KNOWN
from dovetail.codegen.program import REDUCTIONS, Dims, Program
from dovetail.codegen.row_ops import RowOp
from dovetail.codegen.runtime import Kernel, kernel
from dovetail.errors import NotSupported

_REAL: Final = {"f": ("float", "float32", 4), "d": ("double", "float64", 8)}
_ADDRESSES: Final = ("gemm", "softmax", "through", "scratch")
SIZES: Final = (
    "heads", "blocks", "rows", "keys", "width", "depth", "block.rows", "block.bytes",
    "slot", "strands.all", "hides", "q.line", "k.line", "v.line", "y.line", "mask.line",
)  # fmt: skip
"""Words of a table behind the addresses and the scale; then the heads."""
HEAD: Final = ("q", "k", "v", "y", "gq", "gk", "gv", "mask")
"""Where a head's matrices are; gradients and a mask where there are any."""
# Before softmax: which queries, how many keys they see, and the scores.
_BLOCK: Final = """
  %first = mul i64 %block, %block.rows
  %left = sub i64 %rows, %first
  %m = call i64 @llvm.smin.i64(i64 %left, i64 %block.rows)
  %last = add i64 %first, %m
  %fewer = call i64 @llvm.smin.i64(i64 %last, i64 %keys)
  %n = select i1 %causal, i64 %fewer, i64 %keys
  %q.from = mul i64 %first, %q.line
  %q.first = getelementptr REAL, ptr %q, i64 %q.from
MASK
  GEMM 111 112, m n width, REAL %scale, q.first q.line, k k.line, REAL KEEP, scores n
"""
_MASK: Final = """\
  %mask.from = mul i64 %first, %mask.line
  %mask.first = getelementptr REAL, ptr %mask, i64 %mask.from
  call void @masked_rows(ptr %scores, ptr %mask.first, i64 %m, i64 %n, i64 %mask.line)
"""
_GEMM: Final = re.compile(
    r"^  GEMM (\d+) (\d+), (\S+) (\S+) (\S+), (REAL \S+), (\S+) (\S+), (\S+) (\S+),"
    r" (REAL \S+), (\S+) (\S+)$",
    re.MULTILINE,
)


class Attention(NamedTuple):
    """The kernels of a dtype.

    Attributes:
        forward, backward: they do strands; their table is as `SIZES` says.
        softmax, through: the kernels of its rows that they call, and of its gradient.
    """

    forward: Kernel
    backward: Kernel
    softmax: Kernel
    through: Kernel


@cache
def attention(code: str, bits: int, masked: bool = False) -> Attention:
    """The kernels for a dtype's code and the bits of BLAS's integers.

    Args:
        masked: whether a mask is added to the scores.

    Raises:
        NotSupported: there is no kernel for softmax.
    """
    real, dtype, _ = _REAL[code]
    forward, backward = (
        kernel(_name(which, real, masked), _text(which, code, bits, masked))
        for which in ("forward", "backward")
    )
    softmax = _rows("softmax", 1, dtype)
    return Attention(forward, backward, softmax, _rows("softmax_backward", 2, dtype))


def _rows(op: str, inputs: int, dtype: str) -> Kernel:
    """The kernel of an op on rows: its table is operands, result, rows, columns."""
    does, extents = RowOp(op, {"dim": -1}), ((0, 1),) * inputs

    def program(sizes: Dims) -> Program:
        known = KNOWN | REDUCTIONS
        return does.program([dtype] * inputs, extents, sizes, (1,), (), known)

    made = Rows(op, "kr", program)
    if made.whole is None or made.varying:
        raise NotSupported("attention", was=f"no kernel for {op} of {dtype}")
    found: Kernel = made.whole.kernel
    return found


def _name(which: str, real: str, masked: bool) -> str:
    return f"attention_{which}_{real}" + "_masked" * masked


def _text(which: str, code: str, bits: int, masked: bool) -> str:
    """The module that has one of the two functions."""
    real, _, size = _REAL[code]
    text = Path(__file__).with_name("attention.ll").read_text(encoding="utf-8")
    start = text.index("; the gradients of queries")
    end = text.index("declare i64")
    if which == "forward":
        text = text[:start] + text[end:]
    else:
        text = text[: text.index("; what each query")] + text[start:]
    text = text.replace(which.upper(), _name(which, real, masked))
    block = _BLOCK.lstrip("\n").replace("MASK\n", _MASK if masked else "")
    text = text.replace("BLOCK\n", block.replace("KEEP", "1.0" if masked else "0.0"))
    text = text.replace("WORDS\n", _words()).replace("HEADS\n", _heads())
    numbers = count()
    text = _GEMM.sub(lambda m: _gemm(m, next(numbers), bits), text)
    return text.replace("REAL", real).replace("SIZE", str(size))


def _words() -> str:
    """Loads of what a table has."""
    lines = [_load(name, i, "ptr") for i, name in enumerate(_ADDRESSES)]
    lines.append(_load("scale", len(_ADDRESSES), "REAL"))
    for i, name in enumerate(SIZES, len(_ADDRESSES) + 1):
        lines.append(_load(name, i, "i64"))
    lines.append("  %causal = icmp ne i64 %hides, 0\n")
    return "".join(lines)


def _load(name: str, word: int, kind: str) -> str:
    return (
        f"  %{name}.at = getelementptr i64, ptr %table, i64 {word}\n"
        f"  %{name} = load {kind}, ptr %{name}.at, align 8\n"
    )


def _heads() -> str:
    """Loads of where the matrices of a head are."""
    begin = len(_ADDRESSES) + 1 + len(SIZES)
    lines = [
        f"  %heads.at.all = getelementptr i64, ptr %table, i64 {begin}\n",
        "  %head.at = getelementptr %head, ptr %heads.at.all, i64 %number\n",
    ]
    for i, name in enumerate(HEAD):
        lines.append(
            f"  %{name}.word = getelementptr ptr, ptr %head.at, i64 {i}\n"
            f"  %{name} = load ptr, ptr %{name}.word, align 8\n"
        )
    return "".join(lines)


def _gemm(found: re.Match[str], number: int, bits: int) -> str:
    """A call of BLAS, whose integers may be narrower than ours."""
    a_lies, b_lies, m, n, k, alpha, a, a_line, b, b_line, beta, c, c_line = (
        found.groups()
    )
    sizes, lines = {}, []
    for name in dict.fromkeys((m, n, k, a_line, b_line, c_line)):
        sizes[name] = f"i64 %{name}"
        if bits < 64:
            lines.append(f"  %{name}.{number} = trunc i64 %{name} to i{bits}")
            sizes[name] = f"i{bits} %{name}.{number}"
    lines.append(
        f"  call void %gemm(i32 101, i32 {a_lies}, i32 {b_lies}, {sizes[m]}, "
        f"{sizes[n]}, {sizes[k]}, {alpha}, ptr %{a}, {sizes[a_line]}, ptr %{b}, "
        f"{sizes[b_line]}, {beta}, ptr %{c}, {sizes[c_line]})"
    )
    return "\n".join(lines)
