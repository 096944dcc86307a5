"""Dialects of C: what each calls the same things.

Kernels are written in words that each dialect defines at the head of a file: types
(`i32`, `f64` …), `FUNCTION`, `fma_f32` and its like; for devices also `KERNEL`,
`GLOBAL` and `LOCAL` (memory that pointers point to), `APART` (which no other pointer
points to), `UNROLLED` (before a loop, some steps of which are made at a time),
`SHARED`, `BLOCK` of `BLOCKS`, `THREAD` of `THREADS`, `BARRIER`, `WARP`, and
`shuffled(x, step)`: what the thread whose number differs by the bit `step` has.

No header is needed but C's own, so that a compiler at run time (NVRTC, hiprtc, clang,
an OpenCL driver) finds everything in the text. Square roots and fused products round
once, as IEEE 754 has it; nothing else is taken from a vendor's mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

TYPES: Final = {
    "bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16",
    "int32": "i32", "uint32": "u32", "int64": "i64", "uint64": "u64",
    "float32": "f32", "float64": "f64",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Dialect:
    """A language that kernels are written in.

    Attributes:
        name: of the language.
        head: what a file begins with.
        options: by which a compiler leaves arithmetic as it is written.
        doubles: what a file with float64 begins with besides.
        warp: how many threads of a block run in step, 1 where it is not said.
    """

    name: str
    head: str
    options: tuple[str, ...] = ()
    doubles: str = ""
    warp: int = 1


_C: Final = """\
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
typedef int8_t i8;
typedef uint8_t u8;
typedef int16_t i16;
typedef uint16_t u16;
typedef int32_t i32;
typedef uint32_t u32;
typedef int64_t i64;
typedef uint64_t u64;
typedef float f32;
typedef double f64;
#define U64(number) UINT64_C(number)
#define FUNCTION static inline
#define fma_f32 fmaf
#define fma_f64 fma
#define sqrt_f32 sqrtf
#define sqrt_f64 sqrt
#define floor_f32 floorf
#define floor_f64 floor
#define truncate_f32 truncf
#define truncate_f64 trunc
"""

_TYPES: Final = """\
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned short u16;
typedef int i32;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;
typedef float f32;
typedef double f64;
#define U64(number) number##ull
"""

_CUDA: Final = f"""\
{_TYPES}#define FUNCTION static __device__ __forceinline__
#define APART __restrict__
#define UNROLLED _Pragma("unroll 4")
#define KERNEL extern "C" __global__ void __launch_bounds__(THREADS)
#define GLOBAL
#define LOCAL
#define SHARED __shared__
#define BLOCK ((i64)blockIdx.x)
#define BLOCKS ((i64)gridDim.x)
#define THREAD ((int)threadIdx.x)
#define BARRIER __syncthreads()
#define fma_f32 __fmaf_rn
#define fma_f64 __fma_rn
#define sqrt_f32 __fsqrt_rn
#define sqrt_f64 __dsqrt_rn
#define floor_f32 floorf
#define floor_f64 floor
#define truncate_f32 truncf
#define truncate_f64 trunc
template <class T> FUNCTION T shuffled(T x, int step) {{
  return __shfl_xor_sync(0xffffffffu, x, step);
}}
"""

# By clang's own words, which hiprtc knows as well: no header has to be there.
_HIP: Final = f"""\
{_TYPES}#pragma clang fp contract(off)
#define DEVICE __attribute__((device))
#define APART __restrict__
#define UNROLLED _Pragma("unroll 4")
#define FUNCTION static inline DEVICE __attribute__((always_inline))
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(\
THREADS, THREADS))) void
#define GLOBAL
#define LOCAL
#define SHARED __attribute__((shared))
#define BLOCK ((i64)__builtin_amdgcn_workgroup_id_x())
#define BLOCKS ((i64)(__builtin_amdgcn_grid_size_x() / THREADS))
#define THREAD ((int)__builtin_amdgcn_workitem_id_x())
#define BARRIER wait_for_block()
#define fma_f32 __builtin_fmaf
#define fma_f64 __builtin_fma
#define sqrt_f32 __builtin_sqrtf
#define sqrt_f64 __builtin_sqrt
#define floor_f32 __builtin_floorf
#define floor_f64 __builtin_floor
#define truncate_f32 __builtin_truncf
#define truncate_f64 __builtin_trunc
FUNCTION void wait_for_block() {{
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}}
template <class T> FUNCTION T shuffled(T x, int step) {{
  union {{
    T value;
    int words[sizeof(T) > 4 ? 2 : 1];
  }} sent = {{x}}, got;
  const int place = ((THREAD % WARP) ^ step) << 2;
  for (int i = 0; i < (int)(sizeof sent.words / sizeof(int)); ++i)
    got.words[i] = __builtin_amdgcn_ds_bpermute(place, sent.words[i]);
  return got.value;
}}
"""

_OPENCL: Final = """\
#pragma OPENCL FP_CONTRACT OFF
typedef char i8;
typedef uchar u8;
typedef short i16;
typedef ushort u16;
typedef int i32;
typedef uint u32;
typedef long i64;
typedef ulong u64;
typedef float f32;
#define U64(number) number##ul
#define FUNCTION static inline
#define APART restrict
#define UNROLLED
#define KERNEL __kernel __attribute__((reqd_work_group_size(THREADS, 1, 1))) void
#define GLOBAL __global
#define LOCAL __local
#define SHARED __local
#define BLOCK ((i64)get_group_id(0))
#define BLOCKS ((i64)get_num_groups(0))
#define THREAD ((int)get_local_id(0))
#define BARRIER barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
#define fma_f32 fma
#define fma_f64 fma
#define sqrt_f32 sqrt
#define sqrt_f64 sqrt
#define floor_f32 floor
#define floor_f64 floor
#define truncate_f32 trunc
#define truncate_f64 trunc
#define shuffled(x, step) (x)
"""
_OPENCL_DOUBLES: Final = """\
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
typedef double f64;
"""

C99: Final = Dialect("C", _C, ("-std=c11", "-ffp-contract=off"))
CUDA: Final = Dialect("CUDA", _CUDA, ("-fmad=false",), warp=32)
OPENCL: Final = Dialect(
    "OpenCL", _OPENCL, ("-cl-fp32-correctly-rounded-divide-sqrt",), _OPENCL_DOUBLES
)


def hip(wavefront: int) -> Dialect:
    """HIP for processors whose wavefronts have 64 threads (gfx9) or 32 (gfx10 on)."""
    assert wavefront in (32, 64)
    return Dialect("HIP", _HIP, ("-ffp-contract=off",), warp=wavefront)
