"""oneDNN as a shared library: where it is, what its functions take, why it is not used.

Nothing is loaded before the first primitive is made; `why_not()` can be asked before
and is cheap. The library is that of the wheel `onednn-cpu-gomp`.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from ctypes import POINTER, c_float, c_int, c_int64, c_size_t, c_uint, c_void_p
from functools import cache
from pathlib import Path
from typing import Any, Final

from dovetail.codegen.runtime import why_not as no_kernels
from dovetail.errors import NotSupported

SWITCH: Final = "DOVETAIL_ONEDNN"
_WHEEL: Final = "onednn-cpu-gomp"
_NAME: Final = "libdnnl.so.3."  # other wheels own the shorter names, too

_broken: list[str] = []

_Pointer = POINTER(c_void_p)
_Numbers = POINTER(c_int64)
_WINDOWS: Final = [_Numbers] * 4  # strides, dilations, padding before and behind
_POOLS: Final = [_Numbers] * 5  # and the kernel
# What functions take; all give a status but for the two that are named below.
_SIGNATURES: Final[dict[str, list[Any]]] = {
    "engine_create": [_Pointer, c_int, c_size_t],
    "stream_create": [_Pointer, c_void_p, c_uint],
    "memory_desc_create_with_strides": [_Pointer, c_int, _Numbers, c_int, _Numbers],
    "memory_desc_create_with_tag": [_Pointer, c_int, _Numbers, c_int, c_int],
    "memory_desc_equal": [c_void_p, c_void_p],
    "memory_desc_get_size": [c_void_p],
    "memory_desc_destroy": [c_void_p],
    "memory_create": [_Pointer, c_void_p, c_void_p, c_void_p],
    "memory_destroy": [c_void_p],
    "primitive_attr_create": [_Pointer],
    "primitive_attr_set_scratchpad_mode": [c_void_p, c_int],
    "primitive_desc_query": [c_void_p, c_int, c_int, c_void_p],
    "primitive_desc_query_md": [c_void_p, c_int, c_int],
    "primitive_desc_destroy": [c_void_p],
    "primitive_create": [_Pointer, c_void_p],
    "primitive_destroy": [c_void_p],
    "reorder_primitive_desc_create": [_Pointer, *[c_void_p] * 5],
    "convolution_forward_primitive_desc_create": [
        _Pointer, c_void_p, c_int, c_int, *[c_void_p] * 4, *_WINDOWS, c_void_p,
    ],
    "convolution_backward_data_primitive_desc_create": [
        _Pointer, c_void_p, c_int, *[c_void_p] * 3, *_WINDOWS, *[c_void_p] * 2,
    ],
    "convolution_backward_weights_primitive_desc_create": [
        _Pointer, c_void_p, c_int, *[c_void_p] * 4, *_WINDOWS, *[c_void_p] * 2,
    ],
    "matmul_primitive_desc_create": [_Pointer, *[c_void_p] * 6],
    "pooling_forward_primitive_desc_create": [
        _Pointer, c_void_p, c_int, c_int, *[c_void_p] * 2, *_POOLS, c_void_p,
    ],
    "pooling_backward_primitive_desc_create": [
        _Pointer, c_void_p, c_int, *[c_void_p] * 2, *_POOLS, *[c_void_p] * 2,
    ],
    "batch_normalization_forward_primitive_desc_create": [
        _Pointer, c_void_p, c_int, *[c_void_p] * 2, c_float, c_uint, c_void_p,
    ],
    "batch_normalization_backward_primitive_desc_create": [
        _Pointer, c_void_p, c_int, *[c_void_p] * 3, c_float, c_uint, *[c_void_p] * 2,
    ],
}  # fmt: skip
_RESULTS: Final = {
    "memory_desc_get_size": c_size_t, "primitive_desc_query_md": c_void_p,
}  # fmt: skip


def why_not() -> str | None:
    """Why oneDNN is not used here, or None where it is."""
    if os.environ.get(SWITCH, "").lower() in {"0", "off", "no", "false"}:
        return f"{SWITCH}={os.environ[SWITCH]} switches it off"
    reason = _no_threads() or _not_here()
    return reason or (_broken[0] if _broken else None)


def _no_threads() -> str | None:
    """Why the threads of generated kernels, which run its primitives, are not there."""
    reason = no_kernels()
    return None if reason is None else f"it needs generated kernels, and {reason}"


@cache
def _not_here() -> str | None:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "there is no build of it for this system"
    return None if _path() is not None else f"{_WHEEL} is not installed"


@cache
def _path() -> Path | None:
    """Where the library lies: the wheel puts it beside Python's own."""
    from importlib.metadata import PackageNotFoundError, files

    try:
        found = files(_WHEEL) or []
    except PackageNotFoundError:
        return None
    paths = [Path(str(f.locate())).resolve() for f in found if f.name.startswith(_NAME)]
    return next((path for path in paths if path.exists()), None)


class Library:
    """The loaded library: `call` for what may fail, `get` for what may not.

    Args:
        path: where it lies.
    """

    def __init__(self, path: Path) -> None:
        # With Python's lock held: what is called here takes less than a microsecond,
        # or is done once; primitives run elsewhere.
        self._library = ctypes.PyDLL(str(path))
        self._openmp = ctypes.PyDLL("libgomp.so.1")
        self._functions = {name: self._function(name) for name in _SIGNATURES}
        self.engine = self.created("engine_create", 1, 0)  # the first CPU

    def _function(self, name: str) -> Any:
        found = getattr(self._library, f"dnnl_{name}")
        found.argtypes = _SIGNATURES[name]
        found.restype = _RESULTS.get(name, c_int)
        return found

    def get(self, name: str, *arguments: Any) -> Any:
        """What a function gives."""
        return self._functions[name](*arguments)

    def created(self, name: str, *arguments: Any) -> int:
        """The handle that a function makes.

        Raises:
            NotSupported: there is no such thing, e.g. no primitive for these arrays.
        """
        handle = c_void_p()
        status = self._functions[name](ctypes.byref(handle), *arguments)
        if status or not handle.value:
            raise NotSupported("oneDNN", was=f"{name} gave status {status}")
        return handle.value

    def addresses(self) -> tuple[int, ...]:
        """Of the functions that lanes call, in their order."""
        names = "dnnl_primitive_execute", "dnnl_memory_set_data_handle"
        threads = "omp_get_max_threads", "omp_set_num_threads"
        found = [getattr(self._library, name) for name in names]
        found += [getattr(self._openmp, name) for name in threads]
        return tuple([ctypes.cast(f, c_void_p).value or 0 for f in found])

    def alone(self, function: Any) -> Any:
        """What a function gives while OpenMP has one thread, as when primitives run."""
        before = self._openmp.omp_get_max_threads()
        self._openmp.omp_set_num_threads(1)
        try:
            return function()
        finally:
            self._openmp.omp_set_num_threads(before)


@cache
def library() -> Library:
    """oneDNN, loaded when first asked for.

    Raises:
        NotSupported: it cannot be loaded; `why_not` says why from then on.
    """
    if _broken:
        raise NotSupported("oneDNN", was=_broken[0])
    path = _path()
    try:
        if path is None:
            raise OSError(f"{_WHEEL} is not installed")
        return Library(path)
    except (OSError, AttributeError) as error:
        _broken.append(f"it cannot be loaded: {error}")
        raise NotSupported("oneDNN", was=_broken[0]) from error
