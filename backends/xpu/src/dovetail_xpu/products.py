"""Products of matrices: tiles of results that threads keep in registers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from dovetail.codegen.c_dialects import OPENCL
from dovetail.device_api import KernelTable
from dovetail.dtypes import HALF, DType, bfloat16, float16, float32, float64
from dovetail_xpu import onednn
from dovetail_xpu.launch import Launcher, Written
from dovetail_xpu.memory import Device, XpuArray
from dovetail_xpu.onednn import Engine
from dovetail_xpu.primitives import FLOATS, converter, copier
from dovetail_xpu.text import NAME

_THREADS: Final = 64
_ROWS: Final = 8  # results of a thread, one below the other
_WORDS: Final = tuple("a b c batch n k m ab an ak bb bk bm".split())  # noqa: SIM905

_BODY: Final = """\
  const i64 item = BLOCK * THREADS + THREAD;
  const i64 tiles = (n + ROWS - 1) / ROWS;
  const i64 column = item % m, tile = item / m % tiles, layer = item / m / tiles;
  if (layer >= batch) return;
  GLOBAL const STORED *x = (GLOBAL const STORED *)a + layer * ab + tile * ROWS * an;
  GLOBAL const STORED *y = (GLOBAL const STORED *)b + layer * bb + column * bm;
  GLOBAL STORED *z = (GLOBAL STORED *)c + (layer * n + tile * ROWS) * m + column;
  const i64 left = n - tile * ROWS;
  WIDE sum[ROWS];
  i64 row[ROWS];
  for (int r = 0; r < ROWS; ++r) {
    sum[r] = 0;
    row[r] = (r < left ? r : 0) * an;
  }
  for (i64 j = 0; j < k; ++j) {
    const WIDE value = LOADED(y[j * bk]);
    for (int r = 0; r < ROWS; ++r)
      sum[r] = fma(LOADED(x[row[r] + j * ak]), value, sum[r]);
  }
  for (int r = 0; r < ROWS; ++r)
    if (r < left) z[r * m] = ROUNDED(sum[r]);
"""
_FORMATS: Final = {
    "float32": ("float", "float", "(x)", "(x)"),
    "float64": ("double", "double", "(x)", "(x)"),
    "float16": ("half", "float", "vload_half(0, &(x))", ""),
    "bfloat16": ("u16", "float", "as_float((u32)(x) << 16)", "bfloat16_of(x)"),
}
_BFLOAT16: Final = """\
inline u16 bfloat16_of(float x) {
  const u32 u = as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (u16)((u >> 16) | 64);
  return (u16)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
"""


def install(table: KernelTable, launcher: Launcher, claimed: frozenset[DType]) -> None:
    """Add them to a table."""
    for dtype in sorted(claimed & FLOATS, key=str):
        table.add("bmm", _product(launcher, dtype), dtypes=[dtype])


def _product(
    launcher: Launcher, dtype: DType
) -> Callable[[XpuArray, XpuArray], XpuArray]:
    """Products in a dtype; large ones of 16 bits by way of float32, which has more."""
    own = product_of(launcher, dtype)
    if dtype not in HALF or onednn.library() is None:
        return own
    wide, widen = product_of(launcher, float32), converter(launcher, float32)
    narrow = converter(launcher, dtype)

    def bmm(a: XpuArray, b: XpuArray) -> XpuArray:
        if onednn.is_small(a, b):
            return own(a, b)
        return narrow(wide(widen(a), widen(b)))

    return bmm


def product_of(
    launcher: Launcher, dtype: DType
) -> Callable[[XpuArray, XpuArray], XpuArray]:
    """Products of batches of matrices, by oneDNN where it is there and worth a call."""
    plain = Written(_text(dtype), len(_WORDS), _THREADS)
    engines: dict[Device, Engine] = {}
    copy = copier(launcher)
    has_library = dtype is float32 and onednn.library() is not None

    def by_library(a: XpuArray, b: XpuArray, made: XpuArray) -> None:
        both = a.strides[0] == b.strides[0] == 0  # then nothing says how many
        a = a if onednn.takes(a) and not both else copy(a)
        b = b if onednn.takes(b) else copy(b)
        engine = engines.get(a.device)
        if engine is None:
            engine = engines[a.device] = Engine(a.device)
        engine.multiply(a, b, made)

    def bmm(a: XpuArray, b: XpuArray) -> XpuArray:
        batch, n, k = a.shape
        m = b.shape[2]
        made = launcher.fresh((batch, n, m), dtype, a.device.index)
        items = batch * -(-n // _ROWS) * m
        if not items:
            return made
        if has_library and k and not onednn.is_small(a, b):
            by_library(a, b, made)
            return made
        words = [a.address, b.address, made.address, batch, n, k, m]
        words += [*a.strides, *b.strides]
        plain.launch(made.block.stream, words, -(-items // _THREADS))
        return made

    return bmm


def _text(dtype: DType) -> str:
    stored, wide, loaded, rounded = _FORMATS[dtype.name]
    lines = [
        f"#define THREADS {_THREADS}", f"#define ROWS {_ROWS}", OPENCL.head,
        f"#define STORED {stored}", f"#define WIDE {wide}",
        f"#define LOADED(x) {loaded}", f"#define ROUNDED(x) {rounded}",
    ]  # fmt: skip
    body = _BODY
    if dtype is bfloat16:
        lines.append(_BFLOAT16)
    if dtype is float64:
        lines.append(OPENCL.doubles)
    if dtype is float16:
        body = body.replace(
            "z[r * m] = ROUNDED(sum[r])", "vstore_half_rte(sum[r], r * m, z)"
        )
    names = "".join(
        f"  const i64 {name} = given.word[{i}];\n" for i, name in enumerate(_WORDS)
    )
    head = f"typedef struct {{ i64 word[{len(_WORDS)}]; }} Words;\n"
    return "\n".join(
        [*lines, f"{head}KERNEL {NAME}(const Words given) {{\n{names}{body}}}"]
    )
