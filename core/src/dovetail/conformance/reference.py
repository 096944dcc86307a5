"""The reference device: NumPy with level-0 kernels alone, so that every body runs.

What an op's body gives in a dtype, and the gradients that its rules give in float64,
are asked here; it comes with the kit, so that no other backend is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from dovetail.conformance.products import Product
from dovetail.conformance.subject import Subject
from dovetail.device_api import registry
from dovetail.device_api.contract import DeviceInfo
from dovetail.device_api.kernels import KernelTable
from dovetail.device_api.numpy_arrays import NumpyArrays
from dovetail.engine.op import vocabulary
from dovetail.xp import (
    elementwise,
    indexing,
    matmul,
    movement,
    reduce,
    shape,
    views,
)  # fmt: skip

TYPE: Final = "reference"
_OPTIONS: Final = ("binds", "broadcasts", "checks", "contiguous", "when", "reads")


class ReferenceBackend(NumpyArrays):
    """NumPy arrays and nothing but the primitives.

    Attributes:
        called: names of the primitives that ran; None when nobody asks.
        product: what multiplies matrices in place of the primitive, if anything does.
    """

    type = TYPE
    automatic = False

    def __init__(self) -> None:
        super().__init__()
        self.called: set[str] | None = None
        self.product: Product | None = None

    def devices(self) -> Sequence[DeviceInfo]:
        return (DeviceInfo(0, f"reference, NumPy {np.__version__}"),)

    def kernels(self, table: KernelTable) -> None:
        full = KernelTable(TYPE)
        for family in (elementwise, movement, shape, views, matmul):
            family.install(full, np)
        indexing.install(full, np)
        reduce.install(full, np)
        for op in vocabulary.values():
            for kernel in full._kernels.get(op.name, ()):
                if dtypes := kernel.dtypes & op.primitive:
                    options = {name: getattr(kernel, name) for name in _OPTIONS}
                    function = self._heard(op.name, kernel.function)
                    if kernel.binds:
                        function = self._bound(op.name, kernel.function)
                    table.add(op.name, function, dtypes=dtypes, **options)

    def _heard(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The kernel, telling that it ran."""

        def run(*arrays: Any, **attrs: Any) -> Any:
            if self.called is not None:
                self.called.add(name)
            if self.product is not None and name == "bmm":
                return self.product(*arrays)
            return function(*arrays, **attrs)

        return run

    def _bound(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A kernel that binds, whose callables tell that they ran."""
        return lambda **attrs: self._heard(name, function(**attrs))


def install() -> ReferenceBackend:
    """The reference backend, known to this process from now on."""
    for backend in registry.loaded():
        if backend.type == TYPE and isinstance(backend, ReferenceBackend):
            return backend
    made = ReferenceBackend()
    registry.register(made)
    return made


def reference() -> Subject:
    """The reference device."""
    install()
    return Subject(TYPE)


@contextmanager
def multiplying(product: Product) -> Iterator[None]:
    """Meanwhile the reference device multiplies matrices in another manner."""
    backend = install()
    before, backend.product = backend.product, product
    try:
        yield
    finally:
        backend.product = before


@contextmanager
def listening() -> Iterator[set[str]]:
    """The names of the primitives that run on the reference device meanwhile."""
    backend = install()
    before, backend.called = backend.called, set()
    try:
        yield backend.called
    finally:
        backend.called = before
