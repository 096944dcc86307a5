"""Convolutions by cuDNN, in its older interface, and by ways that give the same bits.

Source: NVIDIA, cuDNN API reference, `cudnnConvolutionForward` and its gradients.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple

from dovetail.device_api.meta import contiguous_strides
from dovetail.errors import BackendError
from dovetail_cupy.native import Answers, library

Dims = tuple[int, ...]
_TYPES: Final = {"float32": 0, "float64": 1, "float16": 2, "bfloat16": 9}
DTYPES: Final = frozenset(_TYPES)
"""The dtypes of which there are convolutions."""
_CROSS_CORRELATION: Final = 1
# float32 stays float32: nothing is rounded to TF32 before it is multiplied.
_FMA, _TENSOR = 3, 1
_ALGORITHM: Final = 1  # of all three, one that adds in the same order every time
_REMEMBERED: Final = 512  # shapes


class Shape(NamedTuple):
    """What is convolved, and how; two or three dims of space.

    Attributes:
        dtype: of all three arrays.
        x, w, y: their shapes.
    """

    dtype: str
    x: Dims
    w: Dims
    y: Dims
    stride: Dims
    padding: Dims
    dilation: Dims
    groups: int


class Cudnn:
    """The library, with a handle for each thread and device.

    Args:
        cupy: tells the current device and stream, and makes memory.

    Raises:
        BackendError: the library is not there.
    """

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._library = library("cudnn", "9", "nvidia.cudnn")
        self._call = Answers(self._library, "cuDNN")
        self._handles = threading.local()
        self._known = lru_cache(_REMEMBERED)(partial(_Described, self._call))
        self._sizes: dict[tuple[str, Shape], int | None] = {}

    def forward(self, shape: Shape, x: Any, w: Any, y: Any) -> bool:
        """y = the convolution of x with w; False where the library has none."""
        return self._run("Forward", shape, (x, w), y, (0, 1, 2))

    def data(self, shape: Shape, w: Any, dy: Any, dx: Any) -> bool:
        """dx = what moves y by dy."""
        return self._run("BackwardData", shape, (w, dy), dx, (1, 2, 0))

    def weight(self, shape: Shape, x: Any, dy: Any, dw: Any) -> bool:
        """dw = what moves y by dy."""
        return self._run("BackwardFilter", shape, (x, dy), dw, (0, 2, 1))

    def _run(
        self, name: str, shape: Shape, given: tuple[Any, Any], made: Any,
        places: tuple[int, int, int],
    ) -> bool:  # fmt: skip
        """Call one of the three.

        Args:
            places: which of x, w and y the two that are given and the result are.
        """
        found = self._known(shape)
        first, second, result = (found.arrays[i] for i in places)
        handle = self._handle()
        # In the order in which the library takes them, the convolution stands third.
        kinds = first, second, found.convolution, result
        size = self._workspace(name, shape, handle, kinds)
        if size is None:
            return False
        space = self._cupy.empty(size, "uint8") if size else None
        one, none = found.factors
        status = getattr(self._library, f"cudnnConvolution{name}")(
            handle, one, first, _at(given[0]), second, _at(given[1]),
            found.convolution, _ALGORITHM, _at(space), ctypes.c_size_t(size),
            none, result, _at(made),
        )  # fmt: skip
        return not status

    def _workspace(
        self, name: str, shape: Shape, handle: Any, kinds: Sequence[Any]
    ) -> int | None:
        """How many bytes a convolution works in, None where there is none."""
        key = name, shape
        if key not in self._sizes:
            size = ctypes.c_size_t()
            ask = getattr(self._library, f"cudnnGetConvolution{name}WorkspaceSize")
            status = ask(handle, *kinds, _ALGORITHM, ctypes.byref(size))
            if len(self._sizes) >= _REMEMBERED:
                self._sizes.clear()
            self._sizes[key] = None if status else int(size.value)
        return self._sizes[key]

    def _handle(self) -> Any:
        """The handle of this thread and device, on the current stream."""
        cuda = self._cupy.cuda
        index, stream = cuda.runtime.getDevice(), cuda.get_current_stream().ptr
        known: dict[int, Any] = self._handles.__dict__
        found = known.get(index)
        if found is None:
            found = known[index] = [self._call.made("cudnnCreate"), -1]
        if found[1] != stream:
            self._call("cudnnSetStream", found[0], ctypes.c_void_p(stream))
            found[1] = stream
        return found[0]


class _Described:
    """Descriptors of a convolution, given back with this object.

    Attributes:
        arrays: of x, w and y.
        convolution: of how they meet.
        factors: the addresses of 1 and 0 in the format that the library wants.
    """

    def __init__(self, call: Answers, shape: Shape) -> None:
        self._call = call
        self._made: list[tuple[str, Any]] = []
        kind = _TYPES[shape.dtype]
        wide = kind == _TYPES["float64"]
        number = ctypes.c_double if wide else ctypes.c_float
        self._numbers = number(1), number(0)
        self.factors = tuple(map(ctypes.byref, self._numbers))
        self.arrays = [self._new("Tensor"), self._new("Filter"), self._new("Tensor")]
        self.convolution = self._new("Convolution")
        x, w, y = self.arrays
        for one, dims in ((x, shape.x), (y, shape.y)):
            steps = contiguous_strides(dims)
            call(
                "cudnnSetTensorNdDescriptor",
                one,
                kind,
                len(dims),
                *map(_ints, (dims, steps)),
            )
        call("cudnnSetFilterNdDescriptor", w, kind, 0, len(shape.w), _ints(shape.w))
        how = map(_ints, (shape.padding, shape.stride, shape.dilation))
        compute = kind if wide else _TYPES["float32"]
        call(
            "cudnnSetConvolutionNdDescriptor", self.convolution, len(shape.stride),
            *how, _CROSS_CORRELATION, compute,
        )  # fmt: skip
        call("cudnnSetConvolutionGroupCount", self.convolution, shape.groups)
        narrow = shape.dtype in ("float16", "bfloat16")
        math = _TENSOR if narrow else _FMA
        call("cudnnSetConvolutionMathType", self.convolution, math)

    def _new(self, kind: str) -> Any:
        found = self._call.made(f"cudnnCreate{kind}Descriptor")
        self._made.append((kind, found))
        return found

    def __del__(self) -> None:
        for kind, one in self._made:
            with suppress(BackendError):  # at the end of a process, all are gone
                self._call(f"cudnnDestroy{kind}Descriptor", one)


def _ints(values: Dims) -> Any:
    return (ctypes.c_int * len(values))(*values)


def _at(a: Any) -> ctypes.c_void_p:
    return ctypes.c_void_p(0 if a is None else a.data.ptr)
