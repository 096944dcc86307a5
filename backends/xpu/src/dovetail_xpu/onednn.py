"""Products of matrices by oneDNN, on the queues that all other work is on.

It is loaded where the wheel `onednn` is installed. Its descriptions of memory are kept
while work may use them: a queue reads them when it gets there.
"""

from __future__ import annotations

import ctypes
import math
from ctypes import POINTER, byref, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import cache, partial
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from dovetail.dtypes import uint8
from dovetail.errors import KernelError
from dovetail_xpu.memory import Device, Ints, Stream, XpuArray, fresh

_DTYPES: Final = {"float16": 1, "bfloat16": 2, "float32": 3}
_SOURCE, _RESULT, _WEIGHT, _SCRATCHPAD = 1, 17, 33, 80
_SCRATCHPAD_OF: Final = 136
_USM: Final = 0  # addresses, not buffers of SYCL
_MOST_DIMS: Final = 12
_REMEMBERED: Final = 4096  # descriptions of memory
_OUTS: Final = POINTER(c_void_p)
_NUMBERS: Final = POINTER(c_int64)
_SIGNATURES: Final[dict[str, list[Any]]] = {
    "sycl_interop_engine_create": [_OUTS, c_void_p, c_void_p],
    "sycl_interop_stream_create": [_OUTS, c_void_p, c_void_p],
    "sycl_interop_memory_create": [_OUTS, c_void_p, c_void_p, c_int, c_void_p],
    "memory_desc_create_with_strides": [_OUTS, c_int, _NUMBERS, c_int, _NUMBERS],
    "memory_desc_get_size": [c_void_p],
    "memory_destroy": [c_void_p],
    "primitive_attr_create": [_OUTS],
    "primitive_attr_set_scratchpad_mode": [c_void_p, c_int],
    "matmul_primitive_desc_create": [_OUTS, *[c_void_p] * 6],
    "primitive_desc_query_md": [c_void_p, c_int, c_int],
    "primitive_create": [_OUTS, c_void_p],
    "primitive_execute": [c_void_p, c_void_p, c_int, c_void_p],
}  # fmt: skip
_ANSWERS: Final = {
    "memory_desc_get_size": c_size_t, "primitive_desc_query_md": c_void_p,
}  # fmt: skip


class _Argument(ctypes.Structure):
    _fields_ = (("number", c_int), ("memory", c_void_p))


@cache
def library() -> Any:
    """oneDNN for SYCL, or None where its wheel is not installed."""
    path = _path()
    if path is None:
        return None
    found = ctypes.CDLL(str(path))
    for name, takes in _SIGNATURES.items():
        function = getattr(found, f"dnnl_{name}")
        function.argtypes = takes
        function.restype = _ANSWERS.get(name, c_uint)
    return found


def _path() -> Path | None:
    """The library by its full version: another build of it may own its short names."""
    try:
        files = metadata.files("onednn") or ()
    except metadata.PackageNotFoundError:
        return None
    found = [f for f in files if f.name.startswith("libdnnl.so.3.")]
    paths = [Path(str(f.locate())).resolve() for f in found]
    return next((path for path in paths if path.exists()), None)


def _made(name: str, *given: Any) -> int:
    """What a function of oneDNN's makes."""
    out = c_void_p()
    status = getattr(library(), f"dnnl_{name}")(byref(out), *given)
    if status or not out.value:
        raise KernelError("xpu", "oneDNN", was=f"{name} gave {status}", needed="0")
    return int(out.value)


class Product:
    """The product of two batches of matrices that lie in some way.

    Args:
        primitive: as oneDNN has it.
        formats: of both operands and the result.
        scratchpad: the format of memory that it works in, and its size.
    """

    def __init__(
        self, primitive: int, formats: tuple[int, int, int], scratchpad: tuple[int, int]
    ) -> None:
        self.primitive = primitive
        self.formats = formats
        self.scratchpad, self.size = scratchpad


class Engine:
    """oneDNN on one device."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.value = _made(
            "sycl_interop_engine_create", device.sycl.addressof_ref(),
            device.context.addressof_ref(),
        )  # fmt: skip
        self._options = _made("primitive_attr_create")
        library().dnnl_primitive_attr_set_scratchpad_mode(self._options, 1)
        self._streams: dict[Stream, int] = {}
        self._formats: dict[Any, int] = {}
        self._products: dict[Any, Product] = {}
        self._memories: dict[tuple[int, int], int] = {}

    def multiply(self, a: XpuArray, b: XpuArray, made: XpuArray) -> None:
        """Write the product of two batches of matrices, of a unit stride each."""
        stream = made.block.stream
        if stream.work is None:
            self._execute(a, b, made, stream)
        else:
            stream.work.calls.append(partial(self._execute, a, b, made))

    def _execute(
        self, a: XpuArray, b: XpuArray, made: XpuArray, stream: Stream
    ) -> None:
        key = a.dtype, a.shape, a.strides, b.shape, b.strides
        product = self._products.get(key)
        if product is None:
            product = self._products[key] = self._product(a, b, made)
        given = (_Argument * 4)()
        numbers = _SOURCE, _WEIGHT, _RESULT
        for at, x in enumerate((a, b, made)):
            given[at].number = numbers[at]
            given[at].memory = self._memory(product.formats[at], x.address)
        count = 3
        if product.size:
            beside = fresh(stream, (product.size,), uint8)
            given[3].number = _SCRATCHPAD
            given[3].memory = self._memory(product.scratchpad, beside.address)
            count = 4
        status = library().dnnl_primitive_execute(
            product.primitive, self._stream(stream), count, byref(given)
        )
        if status:
            raise KernelError("xpu", "oneDNN", was=f"execution gave {status}")

    def _product(self, a: XpuArray, b: XpuArray, made: XpuArray) -> Product:
        formats = self._format(a), self._format(b), self._format(made)
        x, w, y = formats
        description = _made(
            "matmul_primitive_desc_create", self.value, x, w, None, y, self._options
        )
        primitive = _made("primitive_create", description)
        beside = library().dnnl_primitive_desc_query_md(description, _SCRATCHPAD_OF, 0)
        size = int(library().dnnl_memory_desc_get_size(beside)) if beside else 0
        return Product(primitive, formats, (beside or 0, size))

    def _format(self, a: XpuArray) -> int:
        key = a.dtype, a.shape, a.strides
        found = self._formats.get(key)
        if found is None:
            (batch, *shape), (step, *strides) = a.shape, a.strides
            if step == 0:  # oneDNN repeats what there is one of
                batch, step = 1, math.prod(shape)
            found = self._formats[key] = _made(
                "memory_desc_create_with_strides", 3, _numbers((batch, *shape)),
                _DTYPES[a.dtype.name], _numbers((step, *strides)),
            )  # fmt: skip
        return found

    def _memory(self, form: int, address: int) -> int:
        """The description of memory at an address, for as long as it may be needed."""
        key = form, address
        found = self._memories.get(key)
        if found is None:
            if len(self._memories) >= _REMEMBERED:
                self._forget()
            found = self._memories[key] = _made(
                "sycl_interop_memory_create", form, self.value, _USM, address
            )
        return found

    def _forget(self) -> None:
        """Give descriptions back that no work can need any more."""
        self.device.wait()
        memories, self._memories = self._memories, {}
        for memory in memories.values():
            library().dnnl_memory_destroy(memory)

    def _stream(self, stream: Stream) -> int:
        found = self._streams.get(stream)
        if found is None:
            found = self._streams[stream] = _made(
                "sycl_interop_stream_create", self.value, stream.queue.addressof_ref()
            )
        return found


def _numbers(values: Ints) -> Any:
    return (c_int64 * _MOST_DIMS)(*values)


def takes(a: XpuArray) -> bool:
    """Whether rows or columns of matrices lie in runs, and no two matrices overlap."""
    _, rows, columns = a.strides
    _, n, m = a.shape
    by_rows = columns == 1 and rows >= max(m, 1)
    in_runs = by_rows or (rows == 1 and columns >= max(n, 1))
    return in_runs and (a.strides[0] == 0 or _is_apart(a))


def _is_apart(a: XpuArray) -> bool:
    """Whether each step is beyond all that smaller ones reach."""
    reach = 1
    for step, size in sorted(zip(a.strides, a.shape, strict=True)):
        if size > 1:
            if step < reach:
                return False
            reach = step * size
    return True


def is_small(a: XpuArray, b: XpuArray) -> bool:
    """Whether a product has so few terms that a plain kernel is as fast."""
    return math.prod(a.shape) * b.shape[2] < 1 << 12
