"""Levels: tensors that stand for more than one value each, by backends around others.

A transform such as `vmap` opens a level. Its tensors are of a backend of its own, whose
native arrays hold tensors of the level below: a batch of them, or a value and its
tangent. Every op then follows from its declaration, as on any other device: kernels of
the level are made from signatures, views and gradients, and where there is none the
op's body runs. Tensors of different levels meet in `together`, as constants of the
highest. What is on the tape at one level is so apart from what is below.

Whoever calls ops with no level open pays nothing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar, Final

import numpy as np

from dovetail.device_api.capabilities import CallersContext
from dovetail.device_api.contract import Backend, DeviceInfo, Ints
from dovetail.device_api.kernels import Kernel, KernelTable
from dovetail.dtypes import DType, from_numpy
from dovetail.engine.execution import results_of
from dovetail.engine.inplace import keep_old_values
from dovetail.engine.kinds import Kind, kind_on
from dovetail.engine.level_hooks import cut_below, drawn, kept_below, level_of
from dovetail.engine.level_hooks import together as gathering
from dovetail.engine.op import Op, vocabulary
from dovetail.engine.open_levels import open_levels
from dovetail.engine.scopes import anywhere
from dovetail.engine.tensor import Tensor, alias, wrap
from dovetail.errors import AutogradError


class LevelBackend(Backend):
    """The backend of a level's tensors, around the backend of those below.

    Attributes:
        below: the backend of the tensors that its arrays hold.
        base: the one at the bottom, whose devices its tensors show.
        depth: how many levels there are down to it.
        sliced: a part of an array by ints, slices and new dims, where a level has such.
    """

    automatic = False
    below: Backend
    base: Backend
    depth: int
    sliced: Callable[[Any, Any], Any] | None = None

    def __init__(self, below: Backend) -> None:
        super().__init__()
        self.below = below
        self.base = base_of(below)
        self.depth = depth_of(below) + 1
        self.table = LevelTable(self)
        self.context = CallersContext()  # the tape and the levels are the caller's

    def level(self) -> Any:
        """The level that is open for this backend.

        Raises:
            AutogradError: it has been closed.
        """
        if not self.is_open():
            raise AutogradError(
                self.name, "tensor", was="one of a call that has returned",
                needed="tensors that the function returns, or was given",
                remedy="return it instead of keeping it",
            )  # fmt: skip
        return open_levels()[self.depth - 1]

    def is_open(self) -> bool:
        """Whether there is such a level."""
        levels = open_levels()
        return len(levels) >= self.depth and levels[self.depth - 1].backend is self.kin

    name: ClassVar[str]
    kin: ClassVar[type[LevelBackend]]

    @property
    def stands_for(self) -> Backend:  # type: ignore[override]
        return self.base

    @abstractmethod
    def constant(self, x: Tensor) -> Any:
        """The native array of a tensor of the level below, the same everywhere."""

    @abstractmethod
    def rule(self, op: Op, attrs: dict[str, Any]) -> Callable[..., Any] | None:
        """What computes an op with these static attributes, on native arrays.

        It returns a native array, or a tuple of all results.
        """

    @abstractmethod
    def has_rule(self, op: Op, dtype: DType) -> bool:
        """Whether there is one; the op's body runs otherwise."""

    @abstractmethod
    def held(self, a: Any) -> Sequence[Tensor]:
        """The tensors of the level below that an array holds, its values first."""

    @abstractmethod
    def shown(self, a: Any) -> str:
        """What a tensor of the level is printed as."""

    def takes(self, a: Any, source: Any) -> bool:
        """Whether the values of an array can be written into another in place."""
        return takes(self.held(a)[0], self.held(source)[0])

    def without_tangent(self, a: Any) -> Tensor | None:
        """The tensor below that has the same values, where an array has but one."""
        return None

    @abstractmethod
    def detached(self, a: Any) -> Any:
        """The same values in the same memory, without graphs or tangents at all."""

    def left(self, a: Any) -> Tensor | None:
        """The tensor below that an array is, now that the level is closed."""
        return None

    def refuse_read(self, a: Any, how: str) -> None:
        """Raise where a value that Python asks for is not one.

        Args:
            how: by which function it asked.
        """

    def kind_below(self, dtype: DType, index: int) -> Kind:
        """The kind of the tensors that arrays of a dtype hold."""
        return kind_on(self.below, index, dtype)

    def new_below(self, shape: Ints, dtype: DType, index: int) -> Tensor:
        """A tensor of the level below with unspecified contents."""
        kind = self.kind_below(dtype, index)
        return wrap(kind.backend.empty(shape, dtype, index), kind)

    # ---- what Backend asks for

    def devices(self) -> Sequence[DeviceInfo]:
        return self.base.devices()

    def kernels(self, table: KernelTable) -> None:
        """None: they are made from declarations."""

    def copy_in(self, host: np.ndarray[Any, Any], index: int) -> Any:
        from_host = self.base.copy_in(host, index)
        kind = kind_on(self.base, index, from_numpy(host.dtype))
        return lifted(wrap(from_host, kind), self.depth)._a

    def synchronize(self, index: int) -> None:
        self.below.synchronize(index)


class LevelTable(KernelTable):
    """The kernels of a level: whatever its backend has a rule for."""

    def __init__(self, backend: LevelBackend) -> None:
        super().__init__(backend.type)
        self._backend = backend

    def select(self, op: str, dtype: DType) -> list[Kernel]:
        if op == "native_slice" and self._backend.sliced is not None:
            sliced, owner = self._backend.sliced, self._backend.name
            return [Kernel(op, sliced, frozenset([dtype]), owner=owner)]
        if op not in vocabulary or not self._backend.has_rule(vocabulary[op], dtype):
            return []
        entry = vocabulary[op]

        def bind(**attrs: Any) -> Callable[..., Any]:
            found = self._backend.rule(entry, attrs)
            assert found is not None
            return found

        return [
            Kernel(
                op, bind, frozenset([dtype]), binds=True, broadcasts=True, checks=True,
                checks_indices=True, owner=self._backend.name,
            )
        ]  # fmt: skip


def follows_below(x: Tensor) -> bool:
    """Whether gradients are wanted through a tensor at a level below its own."""
    backend = x._kind.backend
    if not isinstance(backend, LevelBackend):
        return False
    return any(t.requires_grad or follows_below(t) for t in backend.held(x._a))


def takes(x: Tensor, source: Tensor) -> bool:
    """Whether the values of a tensor can be written into another of its level."""
    backend = x._kind.backend
    return not isinstance(backend, LevelBackend) or backend.takes(x._a, source._a)


def _keep_below(x: Tensor, y: Tensor, start: int) -> None:
    """Copy what new nodes of the levels below keep of a tensor about to be written."""
    backend = x._kind.backend
    if not isinstance(backend, LevelBackend) or y._kind.backend is not backend:
        return
    for old in backend.held(x._a):
        for new in backend.held(y._a):
            if new._node is not None and old._storage is not None:
                keep_old_values(old, new._node, start)
            _keep_below(old, new, start)


def _level_of(x: Tensor) -> LevelBackend | None:
    backend = x._kind.backend
    return backend if isinstance(backend, LevelBackend) else None


def base_of(backend: Backend) -> Backend:
    """The backend at the bottom of levels."""
    return backend.base if isinstance(backend, LevelBackend) else backend


def depth_of(backend: Backend) -> int:
    """How many levels a backend is above the bottom."""
    return backend.depth if isinstance(backend, LevelBackend) else 0


_around: Final[dict[tuple[type[LevelBackend], Backend], LevelBackend]] = {}


def around(kin: type[LevelBackend], below: Backend) -> LevelBackend:
    """The backend of a level's class around another one."""
    found = _around.get((kin, below))
    if found is None:
        own = {
            "type": f"{kin.name}({below.type})", "dtypes": below.dtypes, "kin": kin,
            "fork_safe": below.fork_safe,
            "__abstractmethods__": frozenset(),
        }  # fmt: skip
        found = _around[kin, below] = type(kin.__name__, (kin,), own)(below)
    return found


def cut_off(x: Tensor) -> Tensor:
    """A tensor's values in its memory, without graphs or tangents of any level."""
    made = alias(x)
    cut_below(made)
    return made


def lifted(x: Tensor, depth: int) -> Tensor:
    """A tensor as one of the level that is open at `depth`; constant in those between.

    Raises:
        AutogradError: it belongs to a level that has been closed.
    """
    backend = x._kind.backend
    while isinstance(backend, LevelBackend):
        inner = None if backend.is_open() else backend.left(x._a)
        if inner is None:
            backend.level()
            break
        x, backend = inner, inner._kind.backend
    levels = open_levels()
    for at in range(depth_of(backend), depth):
        backend = around(levels[at].backend, backend)
        x = wrap(backend.constant(x), kind_on(backend, x._kind.index, x._kind.dtype))
    return x


def together(values: Sequence[Any]) -> Sequence[Any]:
    """Inputs of an op, of one level if they are of several: of the highest."""
    depth = 0
    mixed = False
    for x in _tensors(values):
        own = depth_of(x._kind.backend)
        mixed = mixed or own != depth
        depth = max(own, depth)
    if not depth or not mixed:
        return values
    depth = min(depth, len(open_levels()))  # some may be of levels that were closed
    return [_lifted_value(v, depth) for v in values]


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    parts = [v if isinstance(v, list | tuple) else (v,) for v in values]
    return [x for part in parts for x in part if isinstance(x, Tensor)]


def _lifted_value(value: Any, depth: int) -> Any:
    if isinstance(value, list | tuple):
        return [_lifted_value(v, depth) for v in value]
    return lifted(value, depth) if isinstance(value, Tensor) else value


def all_results(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """All results of an op on tensors of the level below.

    They are prepared, and attributes normalised, which calls of users are not. So where
    a call can give all results and nobody watches, it is the quicker way.
    """
    # No dims at all are all of them to who calls.
    if inputs and not anywhere[0] and _gives_all(op) and () not in attrs.values():
        return (op.function(*inputs, **attrs),)
    return results_of(op, tuple(inputs), attrs)


@cache
def _gives_all(op: Op) -> bool:
    """Whether a call gives all results of an op, and takes what was normalised."""
    settled = all(p.annotation in _SETTLED for p in op.statics)
    return len(op.outputs) == 1 and op.tensors_first and not op.mutates and settled


# Attributes that are what they were when they are normalised again.
_SETTLED: Final = frozenset(
    {"Axis", "Axes", "AxisList", "AxisSet", "DType | None", "bool", "int"}
)


def _drawing(name: str, kind: Kind, lead: Any) -> tuple[Kind, Any, int]:
    """What a random function makes numbers of, while levels are open."""
    times = 1
    apart = False
    for level in open_levels():
        count = level.draws(name)
        apart = apart or count > 0
        times *= count or 1
    if not apart:
        return kind, lead, 1
    depth = len(open_levels())
    if isinstance(lead, Tensor):
        lead = lifted(lead, depth)
    backend = kind.backend
    for level in open_levels()[depth_of(backend) :]:
        backend = around(level.backend, backend)
    return kind_on(backend, kind.index, kind.dtype), lead, times


gathering.append(together)
kept_below.append(_keep_below)
level_of.append(_level_of)
drawn.append(_drawing)
