"""Views on arrays without strides, and kernels on dense arrays called with views."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.device_api.contract import Ints
from dovetail.device_api.kernels import KernelTable
from dovetail.device_api.meta import contiguous_strides
from dovetail.dtypes import DType
from dovetail.errors import KernelError

if TYPE_CHECKING:
    from dovetail.device_api.dense import DenseBackend

Dense = Any
Function = Callable[..., Any]

# Which arguments the vocabulary's ops write, and which ops are views: core knows it
# from their declarations, a floor above; tests/unit/test_dense.py compares.
WRITES: Final[dict[str, Ints]] = {
    "scatter_set_": (0,), "scatter_add_": (0,), "assign_": (0,), "index_put_": (0,),
    "sgd_step_": (0, 2), "adam_step_": (0, 2, 3, 4),
    "sgd_steps_": (0, 2), "adam_steps_": (0, 2, 3, 4),
}  # fmt: skip
VIEWS: Final = frozenset({
    "as_strided", "basic_index", "diagonal", "expand", "permute", "squeeze",
    "t", "transpose", "unfold", "unsqueeze", "view", "native_slice",
})  # fmt: skip


class Buffer:
    """Memory that views share: one dense array, in whatever shape it was last used.

    Attributes:
        values: the dense array, None while the contents are unspecified.
        size: number of elements.
        index: of the device.
        dtype: None until somebody asks, for a kernel's result.
    """

    __slots__ = ("dtype", "index", "size", "values")

    def __init__(
        self, values: Dense, size: int, index: int, dtype: DType | None
    ) -> None:
        self.values = values
        self.size = size
        self.index = index
        self.dtype = dtype


class DenseArray:
    """The native array of a `DenseBackend`: a buffer and how to look into it.

    Attributes:
        shape: sizes of the dims.
        buffer, strides, offset: where the elements are, counted in elements.
        whole: whether they are the buffer's, all of them in order.
    """

    __slots__ = ("buffer", "offset", "shape", "strides", "whole")

    def __init__(self, buffer: Buffer, shape: Ints, strides: Ints, offset: int) -> None:
        self.buffer = buffer
        self.shape = shape
        self.strides = strides
        self.offset = offset
        self.whole = math.prod(shape) == buffer.size and all(
            n == 1 or s == w
            for n, s, w in zip(shape, strides, contiguous_strides(shape), strict=True)
        )

    @classmethod
    def over(cls, buffer: Buffer, shape: Ints) -> DenseArray:
        """All elements of a buffer, in order."""
        made = cls.__new__(cls)
        made.buffer, made.shape, made.offset, made.whole = buffer, shape, 0, True
        made.strides = contiguous_strides(shape)
        return made

    def places(self) -> np.ndarray[Any, Any]:
        """The place in the buffer of every element, in order."""
        found = np.array(self.offset, np.int64)
        for n, step in zip(self.shape, self.strides, strict=True):
            found = found[..., None] + np.arange(n, dtype=np.int64) * step
        return found.reshape(-1)


class Adapted:
    """A kernel on dense arrays, called with native ones."""

    __slots__ = ("backend", "binds", "function", "writes")

    def __init__(
        self, backend: DenseBackend, function: Function, binds: bool, writes: Ints
    ) -> None:
        self.backend = backend
        self.function = function
        self.binds = binds
        self.writes = writes

    def __call__(self, *arrays: Any, **attrs: Any) -> Any:
        place = attrs.get("index", 0)  # of the device, where there are no arrays
        if self.binds:
            return partial(self._launch, self.function(**attrs), place)
        return self._launch(self.function, place, *arrays, **attrs)

    def on_dense(self, *dense: Dense, **attrs: Any) -> Any:
        """Run it on dense arrays."""
        if self.binds:
            return self.function(**attrs)(*dense)
        return self.function(*dense, **attrs)

    def _launch(
        self, function: Function, place: Any, /, *arrays: Any, **scalars: Any
    ) -> Any:
        if self.writes:
            return self._write(function, arrays, scalars)
        backend, index = self.backend, _device_of(arrays, place)
        result = function(*(_each(backend.read, a) for a in arrays), **scalars)
        if isinstance(result, tuple | list):
            return tuple([backend.adopt(y, index) for y in result])
        return backend.adopt(result, index)

    def _write(
        self, function: Function, arrays: Sequence[Any], scalars: dict[str, Any]
    ) -> None:
        """Run it, the written arguments last to be read, and write them back."""
        backend = self.backend
        where = [i for i in self.writes if i < len(arrays) and arrays[i] is not None]
        written = {id(a.buffer) for i in where for a in _listed(arrays[i])}

        def read(a: DenseArray) -> Dense:
            return (backend.snapshot if id(a.buffer) in written else backend.read)(a)

        dense = [None if i in where else _each(read, a) for i, a in enumerate(arrays)]
        for i in where:
            dense[i] = _each(backend.read, arrays[i])
        result = function(*dense, **scalars)
        if result is None:
            result = [dense[i] for i in where]
        elif not isinstance(result, tuple | list):
            result = (result,)
        for i, new in zip(where, result, strict=True):
            for a, values in zip(_listed(arrays[i]), _listed(new), strict=True):
                backend.write(a, values)


def _listed(a: Any) -> Any:
    return a if isinstance(a, list | tuple) else (a,)


def _each(function: Function, a: Any) -> Any:
    """`function` of an argument, or of what is in its list."""
    if isinstance(a, list | tuple):
        return [_each(function, v) for v in a]
    return None if a is None else function(a)


def _device_of(arrays: Iterable[Any], otherwise: int) -> int:
    for a in arrays:
        for v in a if isinstance(a, list | tuple) else (a,):
            if v is not None:
                index: int = v.buffer.index
                return index
    return otherwise


class DenseTable(KernelTable):
    """A table whose kernels are written for dense arrays."""

    def __init__(self, backend: DenseBackend) -> None:
        super().__init__(backend.type)
        self._adapter = backend

    def add(
        self, op: str, function: Function, *, dtypes: Iterable[DType],
        writes: Ints | None = None, **options: Any,
    ) -> None:  # fmt: skip
        """Register `function`; `writes` are the positions of arguments it writes."""
        if op in VIEWS:
            raise KernelError(
                f"kernel {op}", "op", was="a view", needed=f"none on {self.backend}, "
                "whose arrays are dense", remedy="leave it to core",
            )  # fmt: skip
        if writes is None:
            writes = WRITES.get(op, ())
            if op.endswith("_") and not writes:
                raise KernelError(
                    f"kernel {op}", "writes", was="not given",
                    needed="the positions of the arguments that it writes",
                )  # fmt: skip
        binds = options.get("binds", False)
        adapted = Adapted(self._adapter, function, binds, writes)
        # Dense arrays are contiguous, and results are adopted rather than filled.
        options |= {"contiguous": False, "supports_out": False}
        super().add(op, adapted, dtypes=dtypes, **options)
