"""Autocast: matrix products in a lower precision, sums of many terms in float32.

An op's declaration says its class: `lower`, `float32`, `widest` (the widest dtype among
the inputs), `state` (that of the second, which goes on from step to step), or nothing,
by which it takes what it is given. The lists are torch's for the CPU. Only floating
point tensors of the scope's device are cast, and float64 never.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar

from dovetail import dtypes
from dovetail.dtypes import DType
from dovetail.engine.basics import basics
from dovetail.engine.kinds import Kind
from dovetail.engine.modes import grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.overrides import has_override
from dovetail.engine.scopes import counted
from dovetail.engine.tape import Leaf
from dovetail.engine.tensor import Parameter, Tensor

CLASSES: Final = ("lower", "float32", "widest", "state")
Values = tuple[Any, ...]
Plan = tuple[tuple[int, Kind], ...]
F = TypeVar("F", bound=Callable[..., Any])

_PLAIN: Final = (Tensor, Parameter)
_REMEMBERED: Final = 1024


class Casting:
    """What an autocast scope does to calls, for one device type.

    Attributes:
        dtype: the lower precision.
        plans: by op and the kinds of its inputs, (position, kind) of what is cast,
            None where a class handles calls itself; emptied when full.
        casts: the casts of leaves that require gradients, by identity; None where
            they are not to be kept. Emptied when the outermost scope ends.
    """

    __slots__ = ("casts", "device_type", "dtype", "plans", "users")

    def __init__(
        self, device_type: str, dtype: DType, casts: dict[Any, Any] | None
    ) -> None:
        self.device_type = device_type
        self.dtype = dtype
        self.casts = casts
        self.plans: dict[Any, Plan | None] = {}
        self.users = 0

    @property
    def is_open(self) -> bool:
        """Whether its scope goes on."""
        return self.users > 0

    def use(self, more: int) -> None:
        """Count one user more, or less: scopes that opened it and are not over."""
        was = self.is_open
        self.users += more
        counted(self.is_open - was)

    def applied(self, op: Op, values: Values, kinds: Values) -> Values | None:
        """The arguments of a call, cast as the op's class says; None: not for it."""
        try:
            plan = self.plans[op, kinds]
        except KeyError:
            if len(self.plans) >= _REMEMBERED:
                self.plans.clear()
            plan = self.plans[op, kinds] = self._plan(op, kinds)
        if not plan:
            return None if plan is None else values
        changed = list(values)
        for at, kind in plan:
            changed[at] = self._cast(changed[at], kind)
        return tuple(changed)

    def _plan(self, op: Op, kinds: Values) -> Plan | None:
        if any(has_override(c) for c in _classes(kinds)):
            return None
        takes = [p.name not in op.indices | op.masks for p in op.tensors]
        found = [
            (i, k) for i, kind in enumerate(kinds) if takes[i]
            for k in (kind if type(kind) is tuple else (kind,)) if self._eligible(k)
        ]  # fmt: skip
        dtype = self._target(op, [k.dtype for _, k in found])
        targets = {i: k.with_dtype(dtype) for i, k in found if k.dtype is not dtype}
        return tuple(targets.items())

    def _eligible(self, kind: Kind | type) -> bool:
        return (
            isinstance(kind, Kind)
            and kind.backend.type == self.device_type
            and kind.dtype.is_floating_point
            and kind.dtype is not dtypes.float64
        )

    def _target(self, op: Op, found: list[DType]) -> DType:
        if op.autocast == "lower":
            return self.dtype
        if op.autocast == "state":
            return self.dtype if found[1:2] == [self.dtype] else dtypes.float32
        wide = op.autocast == "float32" or dtypes.float32 in found
        return dtypes.float32 if wide else self.dtype

    def cast(self, x: Tensor, dtype: DType) -> Any:
        """A tensor in another dtype, if its own is one that is cast."""
        if not self._eligible(x._kind):
            return x
        return self._cast(x, x._kind.with_dtype(dtype))

    def _cast(self, x: Any, kind: Kind) -> Any:
        if type(x) is list or type(x) is tuple:
            return [self._cast(v, kind) for v in x]
        if type(x) not in _PLAIN and not isinstance(x, Tensor):
            return x
        if not self._eligible(x._kind) or x._kind is kind:
            return x
        if self.casts is None or type(x._node) is not Leaf:
            return _cast(x, kind.dtype)
        key = (id(x), kind, grad_enabled())
        known = self.casts.get(key)
        if known is not None and known[1] is x._a and known[2] == x._version:
            return known[3]
        made = _cast(x, kind.dtype)
        self.casts[key] = (x, x._a, x._version, made)
        return made


def _kinds_of(value: Any) -> Any:
    """The kind of a mere tensor, those of a list's items, the class of all else."""
    cls = type(value)
    if cls in _PLAIN or (issubclass(cls, Tensor) and not has_override(cls)):
        return value._kind
    if cls is list or cls is tuple:
        return tuple([_kinds_of(v) for v in value])
    return cls


def _classes(kinds: Values) -> Iterator[type]:
    for kind in kinds:
        if type(kind) is tuple:
            yield from _classes(kind)
        elif type(kind) is not Kind:
            yield kind


def _cast(x: Tensor, dtype: DType) -> Tensor:
    made: Tensor = basics.cast(x, dtype)
    return made


# By device type, what is done in this context; None where nothing is.
_casting: Final[ContextVar[dict[str, Casting] | None]] = ContextVar(
    "casting", default=None
)
casting: Final = _casting.get


def as_cast(op: Op, values: Values) -> Values | None:
    """The arguments of a call as this context casts them; None where it does not.

    Nor does it where a class handles calls itself: that is asked first.
    """
    here = casting()
    if here is None or op.autocast is None:
        return None
    kinds = tuple([_kinds_of(values[i]) for i in op.tensor_places])
    for kind in kinds:
        first = kind[0] if type(kind) is tuple and kind else kind
        if type(first) is Kind:
            found = here.get(first.backend.type)
            if found is None or not found.users:
                return None
            return found.applied(op, values, kinds)
    return None


def as_one(function: F, policy: str) -> F:
    """A function of several ops that autocast treats as one op.

    Its arguments are cast, and what it is made of is not.

    Args:
        policy: a class of ops, or `none`: the arguments are as they are given, too.
    """

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        here = casting()
        if here is None:
            return function(*args, **kwargs)
        if policy != "none":
            args = tuple([_cast_by(policy, x, here) for x in args])
            kwargs = {n: _cast_by(policy, x, here) for n, x in kwargs.items()}
        with without_casting():
            return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def _cast_by(policy: str, x: Any, here: dict[str, Casting]) -> Any:
    """An argument as the scope of its device casts it."""
    if type(x) not in _PLAIN:
        return x
    found = here.get(x._kind.backend.type)
    if found is None or not found.is_open:
        return x
    return found.cast(x, dtypes.float32 if policy == "float32" else found.dtype)


def set_casting(
    device_type: str, wanted: Casting | None, before: Casting | None
) -> None:
    """Let this context do `wanted` where it did `before`.

    Where it does something else by now, that stays: scopes may end in another order,
    and in another context, than they began in. One that ended is deaf everywhere.
    """
    here = casting() or {}
    if here.get(device_type) is before:
        rest = {k: v for k, v in here.items() if k != device_type}
        now = rest if wanted is None else rest | {device_type: wanted}
        _casting.set(now or None)


def open_scopes() -> list[Casting]:
    """The scopes of this context that go on."""
    return [c for c in (casting() or {}).values() if c.is_open]


@contextmanager
def reopened(scopes: Sequence[Casting]) -> Iterator[None]:
    """Do what scopes did that may have ended, and nothing else."""
    again = {
        c.device_type: Casting(c.device_type, c.dtype, None if c.casts is None else {})
        for c in scopes
    }
    token = _casting.set(again or None)
    for made in again.values():
        made.use(1)
    try:
        yield
    finally:
        for made in again.values():
            made.use(-1)
        _casting.reset(token)


class without_casting:  # noqa: N801  read as a statement
    """Within it, the calls of this context are as they are written."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _casting.set(None)

    def __exit__(self, *_: object) -> None:
        _casting.reset(self._token)
