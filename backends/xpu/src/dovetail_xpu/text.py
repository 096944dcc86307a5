"""Kernels of `dovetail.codegen` as OpenCL C whose arguments are one block of words.

A launch with one argument takes half the time of one with five, so addresses,
parameters, and the first and the last item are 64-bit words of one struct. Devices let
kernels follow addresses that they get in this way (unified shared memory).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dovetail.codegen.c_device import DeviceWriter, is_in_chunks
from dovetail.codegen.c_dialects import OPENCL, TYPES
from dovetail.codegen.c_values import in_memory
from dovetail.codegen.ir import FLOATS, Kernel, Loop, Store, Value
from dovetail.codegen.values import Term

NAME: Final = "k"
"""The name of every kernel."""

_HEAD: Final = """\
#pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
inline u16 bfloat16_of(f32 x) {
  const u32 u = as_uint(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return (u16)((u >> 16) | 64);
  return (u16)((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}
inline f32 float16_at(u32 bits) {
  const u16 x = (u16)bits;
  return vload_half(0, (const half *)&x);
}
inline u16 float16_of(f32 x) {
  u16 y;
  vstore_half_rte(x, 0, (half *)&y);
  return y;
}
"""


@dataclass(frozen=True, slots=True, eq=False)
class Added(Store):
    """Add to an element that other threads may add to as well.

    Attributes:
        dtype: of the elements, where memory has bits of it only.
    """

    dtype: str = ""


def written(template: str, dtype: str, *operands: Term) -> Term:
    """What an expression of OpenCL C gives, with `{0}`, `{1}` … for its operands."""
    return Term(Value("written", dtype, tuple(x.value for x in operands), template))


def text_of(kernel: Kernel, threads: int) -> str:
    """A kernel as a file of OpenCL C."""
    writer = WordsWriter(kernel, fused=True)
    function = writer.text()
    head = [f"#define THREADS {threads}", f"#define WARP {OPENCL.warp}", OPENCL.head]
    if writer.has_doubles():
        head.append(OPENCL.doubles)
    if "atom" in function:
        head.append(_HEAD)
    return "\n".join([*head, *writer.helpers, function])


def word_count(kernel: Kernel) -> int:
    """How many words a kernel takes."""
    items = 3 if is_in_chunks(kernel) else 2
    return len(kernel.buffers) + len(kernel.parameters) + items


class WordsWriter(DeviceWriter):
    """Writes a kernel that takes its arguments as words."""

    def text(self) -> str:
        """The kernel."""
        chunks = is_in_chunks(self.kernel)
        self._taken("begin end grain" if chunks else "first last")
        if chunks:
            self._in_chunks()
        else:
            (loop,) = self.kernel.body
            assert isinstance(loop, Loop)
            self._shared_out(loop)
        count = word_count(self.kernel)
        shared = ["  __local u64 shared[THREADS];"] if self.shares else []
        head = [
            f"typedef struct {{ i64 word[{count}]; }} Words;",
            f"KERNEL {NAME}(const Words given) {{",
        ]
        return "\n".join([*head, *shared, *self.lines, "}", ""])

    def _taken(self, items: str) -> None:
        """Words by their names."""
        at = 0
        for buffer in self.kernel.buffers:
            constant = "" if buffer.written else "const "
            kind = f"GLOBAL {constant}{in_memory(buffer.dtype)} *"
            self.emit(f"{kind}{buffer.name} = ({kind})given.word[{at}];")
            at += 1
        for name, dtype in self.kernel.parameters:
            word = f"given.word[{at}]"
            if dtype in FLOATS:
                whole = "uint32" if dtype == "float32" else "uint64"
                word = f"{self._reader(whole, dtype)}(({TYPES[whole]}){word})"
            self.emit(f"const {TYPES[dtype]} {name} = ({TYPES[dtype]}){word};")
            at += 1
        for name in items.split():
            self.emit(f"const i64 {name} = given.word[{at}];")
            at += 1

    def _flat(self, loop: Loop) -> None:
        """A lane a thread: a loop within threads keeps compilers from vectors."""
        lane = self.fresh()
        first, end = self.value(loop.first), self.value(loop.end)
        self.emit(f"const i64 {lane} = {first} + BLOCK * THREADS + THREAD;")
        self.in_lanes = True
        with self.scope(f"if ({lane} < {end})"):
            self.scopes[-1][loop.index] = lane
            self.statements(loop.body)
        self.in_lanes = False

    def store(self, store: Store) -> None:
        """Write an element, or add to it."""
        if not isinstance(store, Added):
            super().store(store)
            return
        value, offset = self.value(store.value), self.value(store.offset)
        self.emit(f"{{ {self._addition(store, value, offset)} }}")

    def _addition(self, store: Added, value: str, offset: str) -> str:
        kind = in_memory(store.buffer.dtype)
        place = f"{store.buffer.name} + {offset}"
        if kind in ("i32", "u32"):
            return f"atomic_add((volatile GLOBAL {kind} *)({place}), {value});"
        if kind in ("i64", "u64"):
            return f"atom_add((volatile GLOBAL {kind} *)({place}), {value});"
        if kind == "f64":
            return _SWAPPED.format(
                word="u64", swap="atom_cmpxchg", place=f"({place})",
                now=f"as_ulong(as_double(was) + {value})",
            )  # fmt: skip
        if kind == "f32":
            return _SWAPPED.format(
                word="u32", swap="atomic_cmpxchg", place=f"({place})",
                now=f"as_uint(as_float(was) + {value})",
            )  # fmt: skip
        return _PART_SWAPPED.format(
            kind=kind, place=place, mask=f"0x{'f' * (4 if '16' in kind else 2)}u",
            now=self._small_sum(store.dtype, kind, value),
        )  # fmt: skip

    def _small_sum(self, dtype: str, kind: str, value: str) -> str:
        """What a small element is after an addition, from the bits `old`."""
        if dtype == "bfloat16":
            return f"bfloat16_of(as_float((u32)old << 16) + {value})"
        if dtype == "float16":
            return f"float16_of(float16_at(old) + {value})"
        return f"({kind})(({kind})old + {value})"

    def _written(self, value: Value, dtype: str, given: list[str]) -> str:
        return str(value.detail).format(*given)

    def has_doubles(self) -> bool:
        """Whether anything is float64."""
        return super().has_doubles() or any("double" in x for x in self.lines)


_SWAPPED: Final = (
    "volatile GLOBAL {word} *at = (volatile GLOBAL {word} *){place}; "
    "{word} was, seen = *at; "
    "do {{ was = seen; seen = {swap}(at, was, {now}); }} while (seen != was);"
)
# Of the word that an element is a part of, the other part stays.
_PART_SWAPPED: Final = (
    "const u64 place = (u64)({place}); "
    "volatile GLOBAL u32 *at = (volatile GLOBAL u32 *)(place & ~(u64)3); "
    "const u32 shift = (u32)(place & 3) * 8; u32 was, seen = *at; "
    "do {{ was = seen; const u32 old = (was >> shift) & {mask}; "
    "const u32 now = (u32)({now}) & {mask}; "
    "seen = atomic_cmpxchg(at, was, (was & ~({mask} << shift)) | (now << shift)); "
    "}} while (seen != was);"
)
