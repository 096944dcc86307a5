"""Ops that are made into primitives for each set of sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.dtypes import bfloat16, float32
from dovetail.errors import NotSupported

FORMATS: Final = frozenset({bfloat16, float32})  # that oneDNN has
_NAMES: Final = frozenset(d.name for d in FORMATS)
_MOST_SIZES: Final = 128  # for which an op with its attributes keeps primitives

Served = Callable[..., Any]


class BySize:
    """An op with its attributes, made into primitives for each set of sizes.

    Args:
        make: takes `least`, arrays and attributes, and gives what serves such arrays,
            or None.
        own: what serves all others, with these attributes.
        attributes: of the op.
        least: products that are worth a primitive.
    """

    def __init__(
        self, make: Served, own: Served, attributes: dict[str, Any], least: int
    ) -> None:
        self.make, self.own, self.attributes = make, own, attributes
        self.least = least
        self.made: dict[Any, Served | None] = {}

    def __call__(self, *arrays: Any) -> Any:
        """The result of the op."""
        key = tuple([None if a is None else a.shape for a in arrays])
        try:
            found = self.made[key]
        except KeyError:
            found = self._make(arrays, key)
        if found is not None:
            y = found(*arrays)
            if y is not None:
                return y
        return self.own(*arrays)

    def _make(self, arrays: tuple[Any, ...], key: Any) -> Served | None:
        if len(self.made) >= _MOST_SIZES:
            self.made.clear()
        found = None
        if self._fits(arrays):
            try:
                found = self.make(self.least, *arrays, **self.attributes)
                if found is not None:
                    from dovetail_cpu.onednn.programs import machine_code

                    machine_code()  # which LLVM may fail to compile
            except NotSupported:
                found = None
        self.made[key] = found
        return found

    def _fits(self, arrays: tuple[Any, ...]) -> bool:
        """Whether none is empty, and oneDNN has their format."""
        known = arrays[0].dtype.name in _NAMES
        return known and all(a is None or a.size for a in arrays)
