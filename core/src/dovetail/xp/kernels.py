"""Kernels for any NumPy-like library, noted where they are defined."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import DType
from dovetail.xp.orders import binding_rows, in_rows

F = TypeVar("F", bound=Callable[..., Any])


class Large(NamedTuple):
    """What serves large arrays, for kernels that ask it where they leave a short way.

    Attributes:
        least: elements below which it serves nothing.
        serve: takes what the kernel takes; None where it cannot.
    """

    least: int
    serve: Callable[..., Any]


class Kernels:
    """What a module offers: functions that take the library before all else."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, Any, dict[str, Any]]] = []

    def __call__(
        self, op: str, dtypes: Iterable[DType], *given: Any,
        through: Callable[[Any], Any] | None = None, rows: bool = False,
        **options: Any,
    ) -> Callable[[F], F]:  # fmt: skip
        """Note the decorated function as a kernel of `op`.

        Args:
            given: what it takes after the library.
            through: what makes the kernel of it, such as `in_float32`.
            rows: the library would let the result lie as operands do, and the op wants
                it in row-major order: see `dovetail.xp.orders`.
            options: see `Kernel`.
        """

        def note(function: F) -> F:
            def bound(xp: Any) -> Any:
                kernel: Any = partial(function, xp, *given)
                kernel = kernel if through is None else through(kernel)
                return _in_rows(kernel, options) if rows else kernel

            self._rows.append((op, bound, {"dtypes": dtypes, **options}))
            return function

        return note

    def each(
        self, dtypes: Iterable[DType], functions: dict[str, Callable[..., Any]],
        **options: Any,
    ) -> None:  # fmt: skip
        """Note functions as the kernels of the ops that they are named by."""
        for op, function in functions.items():
            self(op, dtypes, **options)(function)

    def install(self, table: KernelTable, xp: Any) -> None:
        """Add all of them to a table, for one library."""
        for op, bound, options in self._rows:
            table.add(op, bound(xp), **options)


def _in_rows(kernel: Any, options: dict[str, Any]) -> Any:
    return binding_rows(kernel) if options.get("binds") else in_rows(kernel)


@cache
def on_device(xp: Any) -> bool:
    """Whether the host would have to wait for the values of the library's arrays.

    Such a library says so by an attribute `waits`. Kernels then take the way that is
    right for all values, where they look for a shorter one else.
    """
    return bool(getattr(xp, "waits", False))


def undispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy for arrays of its own class alone.

    It asks no argument for `__array_function__` (NEP 18), which takes 0.2 µs. Other
    libraries' functions are as they were.
    """
    found: Callable[..., Any] = getattr(function, "_implementation", function)
    return found


__all__ = ["Kernels", "Large", "on_device", "undispatched"]
