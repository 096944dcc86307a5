"""cuBLAS by its C interface: bfloat16, and work that is recorded.

Source: NVIDIA, cuBLAS Library, `cublasGemmStridedBatchedEx`.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail_cupy.native import Answers, library

_POINTER: Final = ctypes.c_void_p
_INT, _LONG = ctypes.c_int, ctypes.c_longlong
_MATRIX: Final = (_POINTER, _INT, _INT, _LONG)  # address, type, row length, step
_GEMM: Final = (
    _POINTER, _INT, _INT, _INT, _INT, _INT, _POINTER, *_MATRIX, *_MATRIX, _POINTER,
    *_MATRIX, _INT, _INT, _INT,
)  # fmt: skip
# Of a sum in parts, the parts are float32, too.
_MATH: Final = 16  # CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION
_DEFAULT: Final = -1  # CUBLAS_GEMM_DEFAULT
_NOWHERE: Final = -1
_REMEMBERED: Final = 8  # streams
_WORKSPACE: Final = 32 << 20  # bytes, as is advised for Hopper; less elsewhere


class Format(NamedTuple):
    """What cuBLAS calls a dtype.

    Attributes:
        data: `cudaDataType_t` of what is multiplied.
        result: of the product.
        compute: `cublasComputeType_t`, in which products are added.
        scale: of the two factors.
    """

    data: int
    result: int
    compute: int
    scale: str


FORMATS: Final = {
    "float32": Format(0, 0, 68, "float32"), "float64": Format(1, 1, 70, "float64"),
    "float16": Format(2, 2, 68, "float32"), "bfloat16": Format(14, 14, 68, "float32"),
    "complex64": Format(4, 4, 68, "complex64"),
    "complex128": Format(5, 5, 70, "complex128"),
}  # fmt: skip
"""The dtypes of which there are products."""
WIDE: Final = {
    name: FORMATS[name]._replace(result=FORMATS["float32"].result)
    for name in ("float16", "bfloat16")
}
"""Those whose sums can be had as they are added, in float32."""
_FACTORS: Final = {
    name: (np.zeros(1, name), np.ones(1, name))
    for name in ("float32", "float64", "complex64", "complex128")
}
_ADDRESSES: Final = {
    name: tuple(int(a.ctypes.data) for a in both) for name, both in _FACTORS.items()
}


class Lies(NamedTuple):
    """How the matrices of a batch lie, as cuBLAS reads them: column by column.

    Attributes:
        turned: 1 where what lies there is the matrix transposed.
        length: elements from a column to the next.
        step: elements from a matrix to the next; 0 where they are one.
    """

    turned: int
    length: int
    step: int


class Cublas:
    """The library, with a handle for each thread and device.

    Args:
        cupy: tells the current device and stream.
        records: whether a stream, by its pointer, records a graph.

    Raises:
        BackendError: the library is not there.
    """

    def __init__(self, cupy: Any, records: Callable[[int], bool]) -> None:
        self._cupy = cupy
        self._records = records
        loaded = library("cublas", "*", "nvidia.cublas")
        self._call = Answers(loaded, "cuBLAS")
        self._gemm = loaded.cublasGemmStridedBatchedEx
        self._gemm.argtypes = _GEMM
        self._handles = threading.local()

    def gemm(
        self, fmt: Format, sizes: tuple[int, int, int], at: tuple[int, int, int],
        lie: tuple[Lies, Lies, Lies], count: int, adds: bool, factor: float = 1.0,
    ) -> None:  # fmt: skip
        """c = factor * a @ b, or that added to c, for a batch of column-major matrices.

        Args:
            sizes: rows and columns of the result, and the length of the sums.
            at: the addresses of a, b and c.
            lie: how their matrices lie.
            count: of matrices.
            factor: not 0, for which cuBLAS reads nothing.
        """
        (m, n, k), (a, b, c) = sizes, lie
        none, one = _ADDRESSES[fmt.scale]
        times = one
        if factor != 1.0:
            held = np.full(1, factor, fmt.scale)  # read before the call returns
            times = int(held.ctypes.data)
        handle = self._placed()
        status = self._gemm(
            handle.handle, a.turned, b.turned, m, n, k, times,
            at[0], fmt.data, a.length, a.step, at[1], fmt.data, b.length, b.step,
            one if adds else none, at[2], fmt.result, c.length, c.step, count,
            fmt.compute, _DEFAULT,
        )  # fmt: skip
        if status:
            raise self._call.failed("cublasGemmStridedBatchedEx", status)

    def _placed(self) -> _Handle:
        """The handle of this thread and device, on the current stream."""
        cuda = self._cupy.cuda
        index, stream = cuda.runtime.getDevice(), cuda.get_current_stream().ptr
        known: dict[int, _Handle] = self._handles.__dict__
        handle = known.get(index)
        if handle is None:
            handle = known[index] = _Handle(self._cupy, self._call)
        if self._records(stream):
            handle.record(stream)
        elif handle.stream != stream:
            handle.move(stream)
        return handle


class _Handle:
    """A handle of cuBLAS, on one stream at a time, with memory to work in on each."""

    def __init__(self, cupy: Any, call: Answers) -> None:
        self._call = call
        self._memory, self._empty = cupy.cuda.Memory, cupy.empty
        self.handle = int(call.made("cublasCreate_v2").value or 0)
        call("cublasSetMathMode", _POINTER(self.handle), _MATH)
        self.stream = _NOWHERE
        self._workspaces: dict[int, Any] = {}

    def move(self, stream: int) -> None:
        """Go on to a stream, with memory for it alone: streams run side by side."""
        space = self._workspaces.get(stream)
        if space is None:
            if len(self._workspaces) >= _REMEMBERED:  # the device waits, then frees it
                del self._workspaces[next(iter(self._workspaces))]
            space = self._workspaces[stream] = self._memory(_WORKSPACE)
        self._goes(stream, space.ptr)
        self.stream = stream

    def record(self, stream: int) -> None:
        """Go on to a stream that records, with memory of the graph's for this call."""
        self._goes(stream, self._empty(_WORKSPACE, "uint8").data.ptr)
        self.stream = _NOWHERE

    def _goes(self, stream: int, space: int) -> None:
        handle = _POINTER(self.handle)
        self._call("cublasSetStream_v2", handle, _POINTER(stream))
        size = ctypes.c_size_t(_WORKSPACE)
        self._call("cublasSetWorkspace_v2", handle, _POINTER(space), size)
