"""Pointwise kernels in front of NumPy's: they ask how large a call is, and serve it."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from dovetail.codegen.declarations import vocabularies
from dovetail.codegen.runtime.machine import SWITCH
from dovetail.device_api import Kernel
from dovetail.errors import DovetailError
from dovetail_cpu import generated_rows

if TYPE_CHECKING:
    from dovetail.codegen.eager import Pointwise
    from dovetail.codegen.program import Program

LEAST: Final = 1 << 14
"""Elements from which on a generated kernel is faster than NumPy's, its call too,
whatever it computes."""
SMALLEST: Final = 1 << 7
"""Elements below which nothing is compiled, whatever it computes."""
MUCH: Final = 1 << 17
"""Elements from which on several threads move them faster than one of NumPy's does."""

# Bodies of a hundred ops or more, which take as long for a few elements as a kernel
# takes for thousands; and from how many on they are compiled.
_LONG: Final = frozenset({
    "airy_function", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma",
    "erfcx", "erfinv", "gamma_share_above", "gamma_share_below", "i0e", "i1e", "lgamma",
    "modified_bessel_k0", "modified_bessel_k1", "normal_quantile", "polygamma_above",
    "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "trigamma",
})  # fmt: skip
_SMALLEST_LONG: Final = 64

_NO_SCALARS: Final[dict[str, Any]] = {}


def least_elements() -> int:
    """`LEAST`, or the number that `DOVETAIL_KERNELS` has."""
    return large_or_wished(LEAST)


def smallest_elements(op: str = "") -> int:
    """What `SMALLEST` is for an op, or the number that `DOVETAIL_KERNELS` has."""
    return large_or_wished(_SMALLEST_LONG if op in _LONG else SMALLEST)


@cache
def large_or_wished(elements: int) -> int:
    """So many elements, or the number that `DOVETAIL_KERNELS` has."""
    chosen = os.environ.get(SWITCH, "")
    return int(chosen) if chosen.isdecimal() else elements


def by_threads(elements: int) -> bool:
    """Whether so many are worth several threads, of which there are some."""
    if elements < large_or_wished(MUCH):
        return False
    from dovetail.codegen.runtime.pool import POOL  # nothing that a small program needs

    return POOL.size > 1 or large_or_wished(MUCH) != MUCH


def bind(own: Kernel, tensors: int) -> Callable[..., Any]:
    """What binds a kernel that asks for the size first, in front of another one.

    Args:
        tensors: how many arrays it gets, if it gets nothing else.
    """

    def bound(**attributes: Any) -> Any:
        small = generated_rows.bound_by_attributes(own, attributes)
        return _by_size(small, Generated(own.op, attributes), tensors)

    return bound


def _by_size(small: Any, large: Generated, tensors: int) -> Any:
    """A kernel that asks for the size first: what is small has to cost no more.

    From how many elements on its body is worth a kernel is asked by the first call that
    may have so many.

    Args:
        tensors: how many arrays it gets, if it gets nothing else.
    """
    least = smallest_elements(large.op)

    def kernel(a: Any) -> Any:
        nonlocal least
        if a.size < least:
            return small(a)
        if not large.least:
            least = large.weighed((a,), _NO_SCALARS)
            return kernel(a)
        y = large((a,), _NO_SCALARS)
        return small(a) if y is None else y

    def kernel_of_two(a: Any, b: Any) -> Any:
        if a.size < least and b.size < least:
            return small(a, b)
        return kernel_of_several(a, b)

    def kernel_of_three(a: Any, b: Any, c: Any) -> Any:
        if a.size < least and b.size < least and c.size < least:
            return small(a, b, c)
        return kernel_of_several(a, b, c)

    def kernel_of_several(a: Any, *others: Any, **scalars: Any) -> Any:
        nonlocal least
        if a.size < least:
            for b in others:  # any() of them takes as long as a small kernel
                if b is not None and b.size >= least:
                    break
            else:
                return small(a, *others, **scalars)
        if not large.least:
            least = large.weighed((a, *others), scalars)
            return kernel_of_several(a, *others, **scalars)
        y = large((a, *others), scalars)
        return small(a, *others, **scalars) if y is None else y

    known = (kernel_of_several, kernel, kernel_of_two, kernel_of_three)
    return known[tensors] if tensors < len(known) else kernel_of_several


class Generated:
    """An op with its attributes, made into kernels when first called.

    Args:
        composed: whether the body serves small calls, one op after the other.
    """

    def __init__(
        self, op: str, attributes: dict[str, Any], *, composed: bool = False
    ) -> None:
        self.op = op
        self.composed = composed
        self.attributes = attributes
        self.made: dict[Any, Pointwise | None] = {}
        self.least = 0  # elements that are worth a kernel, once that is known

    def __call__(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> Any:
        """The result, or None where the other kernel has to serve."""
        found = self.find(arrays, scalars)
        if found is None:
            return None
        if not scalars:
            return found(*arrays)
        return found(*arrays, scalars=[x for x in scalars.values() if x is not None])

    def find(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any]
    ) -> Pointwise | None:
        """The kernels for arrays of such dtypes, if there are any."""
        key = tuple([None if a is None else a.dtype.char for a in arrays])
        if scalars:
            key += tuple([name for name, x in scalars.items() if x is not None])
        try:
            return self.made[key]
        except KeyError:
            known = [name for name, x in scalars.items() if x is not None]
            found = self.made[key] = self._make(arrays, scalars, known)
            return found

    def serve(self, *arrays: Any, **scalars: Any) -> Any:
        """The result, in row-major order where it has no better one."""
        y = self(arrays, scalars)
        if y is not None:
            return y
        return self(tuple(map(np.ascontiguousarray, arrays)), scalars)

    def _make(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any], known: list[str]
    ) -> Pointwise | None:
        # With LLVM's text and mathematics: nothing that a small program needs.
        from dovetail.codegen.eager import Pointwise
        from dovetail.codegen.formats import HALVES

        try:
            program = self._program(arrays, scalars, known)
            stored = [None if a is None else a.dtype.name for a in arrays]
            made = program.results[0][1]
            half = next((d for d in stored if d in HALVES), "")
            result = half if made == "float32" else made
            return Pointwise(self.op, program, len(known), stored, result)
        except DovetailError:
            return None

    def weighed(self, arrays: tuple[Any, ...], scalars: dict[str, Any]) -> int:
        """From how many elements on the body is worth a kernel."""
        chosen = os.environ.get(SWITCH, "")
        if chosen.isdecimal():
            self.least = max(int(chosen), 1)
            return self.least
        if self.op in _LONG:
            self.least = _SMALLEST_LONG
            return self.least
        from dovetail.codegen.formats import HALVES
        from dovetail_cpu.thresholds import least_elements

        known = [name for name, x in scalars.items() if x is not None]
        halves = any(a is not None and a.dtype.name in HALVES for a in arrays)
        try:
            program = self._program(arrays, scalars, known)
            self.least = least_elements(program, halves, self.composed)
        except DovetailError:
            self.least = LEAST
        return self.least

    def _program(
        self, arrays: tuple[Any, ...], scalars: dict[str, Any], known: list[str]
    ) -> Program:
        """The body in elementary steps, of 16-bit floats in the dtype of arithmetic."""
        from dovetail.codegen.formats import computed_in
        from dovetail.codegen.pointwise import KNOWN

        dtypes = [None if a is None else computed_in(a.dtype.name) for a in arrays]
        absent = {name: None for name, x in scalars.items() if x is None}
        attributes = self.attributes | absent
        return vocabularies[0].program(self.op, dtypes, attributes, known, KNOWN)
