"""What a backend must supply: memory, views, and a table of kernels."""

from __future__ import annotations

import builtins
import contextvars
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from dovetail.device_api.capabilities import CallersContext
from dovetail.device_api.graphs import recording
from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import DType
from dovetail.errors import ArgumentError, KernelError

C = TypeVar("C")
Native = Any
Ints = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device, and what is known of it; only its index and name have to be.

    Attributes:
        memory_bytes: all of its memory.
        driver: the driver and its version.
        multi_processor_count: units that compute beside each other.
        warp_size: threads of a unit that go in step.
        capability: the version of what it can compute, such as (9, 0).
        arch: what compilers call it, such as "sm_90" or "gfx90a".
    """

    index: int
    name: str
    memory_bytes: int | None = None
    driver: str = ""
    multi_processor_count: int | None = None
    warp_size: int | None = None
    capability: tuple[int, int] | None = None
    arch: str = ""

    @property
    def total_memory(self) -> int | None:
        """`memory_bytes`, by torch's name."""
        return self.memory_bytes

    @property
    def major(self) -> int | None:
        """The first number of `capability`."""
        return None if self.capability is None else self.capability[0]

    @property
    def minor(self) -> int | None:
        """The second number of `capability`."""
        return None if self.capability is None else self.capability[1]

    def __post_init__(self) -> None:
        if type(self.index) is not int or self.index < 0:
            raise ArgumentError(
                "DeviceInfo", "index", was=repr(self.index),
                needed="a number from 0 on, as in \"acme:0\"",
            )  # fmt: skip


class Backend(ABC):
    """A device type: owns native arrays and supplies kernels on them.

    A native array has `shape` (tuple of ints) and belongs to the class `array`.
    Views keep the memory they look into alive. Work on one device takes effect
    in program order.
    """

    type: ClassVar[str]
    """The device type, e.g. `"cpu"`; the name of the entry point."""
    array: ClassVar[builtins.type[Any]]
    """The class of native arrays; all that is returned is of exactly it.

    A subclass is refused: calls find what serves them by the class itself.
    """
    dtypes: ClassVar[frozenset[DType]]
    """The dtypes claimed; bool, int32 and float32 at least."""
    rules_only: ClassVar[bool] = False
    """Whether arrays hold no data, so that ops run their rules alone."""
    stands_for: Backend | None = None
    """The backend whose devices its tensors show, where each holds several of that."""
    automatic: ClassVar[bool] = True
    """Whether the device string `"auto"` may choose it."""
    fork_safe: ClassVar[bool] = True
    """Whether a forked child may go on using it; else its use there raises."""
    flushes_subnormals: ClassVar[frozenset[DType]] = frozenset()
    """The float dtypes in whose arithmetic subnormal numbers may become 0."""
    launch_boundaries: ClassVar[tuple[int, ...]] = ()
    """Counts of elements at which kernels change their ways, for conformance to try."""
    compiles_per_shape: ClassVar[bool] = False
    """Whether a shape is slow when first seen: conformance keeps to a few of them."""

    def __init__(self) -> None:
        self.table = KernelTable(self.type)
        # Kernels run in copies of a context of their own, so that what is set there
        # (NumPy's floating point error state) never reaches the caller.
        self.context: contextvars.Context | CallersContext = contextvars.Context()
        self._runners: list[Runner] = []

    def runner(self, index: int) -> Callable[..., Any]:
        """What calls the kernels of a device: `run(kernel, *natives, **attrs)`.

        Asked once in every context (a thread or a task), which is where a library
        whose current device belongs to a thread can choose it. By default a copy of
        `self.context` is entered, since two threads cannot be in one at a time.
        """
        run: Callable[..., Any] = self.context.copy().run
        return run

    def renew_runners(self) -> None:
        """Let kernels be called by what `runner` gives now: its answer has changed."""
        for runner in self._runners:
            runner.forget()
        self.table.changed()  # the fast paths of ops hold the callables as they were

    @abstractmethod
    def devices(self) -> Sequence[DeviceInfo]:
        """The devices present; raises where the hardware or driver is absent."""

    @abstractmethod
    def empty(self, shape: Ints, dtype: DType, index: int) -> Native:
        """A fresh contiguous array with unspecified contents."""

    @abstractmethod
    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> Native:
        """A fresh array with the values of `host`, never read after returning."""

    @abstractmethod
    def copy_out(self, a: Native) -> np.ndarray[Any, Any]:
        """A fresh NumPy array with the values of `a`; waits for them."""

    @abstractmethod
    def view(self, a: Native, shape: Ints, strides: Ints, offset: int) -> Native:
        """An array over the memory of `a`, with element strides that may be 0.

        `offset` counts elements from the first element of `a`; it is 0 where `shape`
        has no elements.
        """

    @abstractmethod
    def geometry(self, a: Native, root: Native) -> tuple[Ints, int]:
        """Element strides of `a`, and its first element counted from `root`'s."""

    def is_contiguous(self, a: Native) -> bool:
        """Whether the elements of `a` lie in row-major order without gaps."""
        strides, _ = self.geometry(a, a)
        step = 1
        for size, own in zip(reversed(a.shape), reversed(strides), strict=True):
            if size != 1 and own != step:
                return 0 in a.shape
            step *= size
        return True

    @abstractmethod
    def fill(self, a: Native, value: complex) -> None:
        """Set every element of `a`, in any layout, to a number that its dtype holds."""

    @abstractmethod
    def copy(self, target: Native, source: Native) -> None:
        """Move the bits of `source` (same shape, dtype, device) into `target`.

        Where the two overlap, as if `source` had been copied first.
        """

    @abstractmethod
    def synchronize(self, index: int) -> None:
        """Wait for all work on device `index`, and raise its errors."""

    @abstractmethod
    def kernels(self, table: KernelTable) -> None:
        """Add this backend's kernels to its table."""

    def capability(self, kind: builtins.type[C]) -> C | None:
        """This backend's object of that capability, or None."""
        return self if isinstance(self, kind) else None

    def lift(self, result: Any) -> Native:
        """The native array for what a kernel returned instead of one.

        Only for libraries that turn 0-d results into scalars.
        """
        raise KernelError(
            self.type, "a kernel's result", was=f"a {type(result).__name__}",
            needed=f"a {self.array.__name__}", remedy=self._remedy(result),
        )  # fmt: skip

    def _remedy(self, result: Any) -> str:
        """What to do about what is no native array."""
        if not isinstance(result, self.array):
            return "return a fresh native array"
        return (
            f"{type(result).__name__} is a subclass, and calls are served by the very "
            "class of `array`: return that, or let `array` be the class you return"
        )

    def protect(self, a: Native) -> None:  # noqa: B027  not every library can
        """Make an array read-only, where the library can.

        Core asks it for the numbers that all calls share: a kernel, or a user's NumPy
        view, that wrote one would change it for everybody.
        """


class Runner:
    """Calls the kernels of one device, in each context by a callable of its own.

    Attributes:
        here: gives that callable, in 10 ns.
    """

    def __init__(self, backend: Backend, index: int) -> None:
        self._backend = backend
        self._index = index
        self._run: contextvars.ContextVar[Callable[..., Any]]
        self.forget()
        backend._runners.append(self)

    def forget(self) -> None:
        """Ask the backend in every context anew."""
        self._run = contextvars.ContextVar("run", default=self._first)
        self.here = self._run.get

    def _first(self, kernel: Callable[..., Any], /, *natives: Any, **attrs: Any) -> Any:
        return self.renewed()(kernel, *natives, **attrs)

    def renewed(self) -> Callable[..., Any]:
        """A fresh callable for this context.

        Needed where a context was copied to another thread, in which case they have
        one between them, that only one of them can be in.
        """
        run = self._backend.runner(self._index)
        graph = recording.get()
        if graph is not None and graph.backend is self._backend:
            run = graph.keeping(run)
        self._run.set(run)
        return run
