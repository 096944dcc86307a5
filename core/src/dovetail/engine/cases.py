"""Sample calls of an op, from which every proof of it is generated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from typing import Any, NamedTuple

import numpy as np

from dovetail.dtypes import Array, DType, Sizes
from dovetail.engine.op import Op
from dovetail.errors import NotSupported


class Case(NamedTuple):
    """One call: tensors are NumPy arrays, lists of them, or None."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def case(*args: Any, **kwargs: Any) -> Case:
    """A call with these arguments."""
    return Case(args, kwargs)


class Kink(NamedTuple):
    """A call where the op has no derivative, and what torch gives for one.

    Attributes:
        case: the call; float arrays stand for any float dtype.
        grads: at each float array, for cotangents of ones; None where torch gives none.
    """

    case: Case
    grads: tuple[Array | None, ...]


def kink(*args: Any, grads: list[Any]) -> Kink:
    """A call at a kink; lists are float arrays."""
    made = tuple(np.array(a, float) if isinstance(a, list) else a for a in args)
    return Kink(Case(made, {}), tuple(g and np.array(g, float) for g in grads))


class Sampler:
    """Draws arrays of the dtype under test from the op's domain, reproducibly."""

    def __init__(self, op: Op, dtype: DType, seed: int | None = None) -> None:
        self.dtype = dtype
        self.low, self.high = op.domain
        if seed is None:
            from zlib import crc32  # at hand where proofs run

            seed = crc32(f"{op.name} {dtype.name}".encode())
        self.random = np.random.default_rng(seed)

    def __call__(
        self, *shape: int, low: float | None = None, high: float | None = None
    ) -> Array:
        """Values of the dtype under test between `low` and `high`."""
        lo = self.low if low is None else low
        hi = self.high if high is None else high
        dtype = self.dtype
        if dtype.category == 0:
            return self.random.integers(0, 2, shape).astype(bool)
        if dtype.category == 1:
            lo = max(lo, 0) if not dtype.is_signed else lo
            whole = self.random.integers(int(np.ceil(lo)), int(np.floor(hi)) + 1, shape)
            return whole.astype(dtype.numpy)
        values: Any = self.random.uniform(lo, hi, shape)
        if dtype.is_complex:
            values = values + 1j * self.random.uniform(lo, hi, shape)
        return np.asarray(values).astype(dtype.numpy)

    def of(self, op: Op) -> Sampler:
        """What draws in the same way from the domain of another op."""
        made = copy(self)
        made.low, made.high = op.domain
        return made

    def exactly(
        self, shape: Sizes, low: float | None = None, high: float | None = None
    ) -> Array:
        """Values in the shape of what was drawn before: its sizes are no names."""
        return self(*shape, low=low, high=high)

    def turn_to(self, wanted: bool) -> None:
        """What is drawn from here on is for a call that is wanted, or for another.

        That is told while a generator goes on, so its calls may share no arrays.
        """

    def crossed(self, op: Op, number: int, call: Case) -> Case:
        """A sample call of an op, with other options where that is asked for."""
        return call

    def distinct(self, *shape: int) -> Array:
        """Values that all differ (as far as the dtype has them), well apart."""
        return self.apart(self.random.permutation(int(np.prod(shape)))).reshape(shape)

    def apart(self, places: Array) -> Array:
        """The numbers at places 0, 1 … of those that are well apart, from the least."""
        if self.dtype.is_signed:
            places = places - len(places) // 2
        scale = 0.5 if self.dtype.is_inexact else 1
        return (places * scale).astype(self.dtype.numpy)

    def ints(
        self, *shape: int, low: int = 0, high: int = 10, dtype: str = "int64"
    ) -> Array:
        """Integers from `low` to `high` - 1, whatever the dtype under test."""
        return self.random.integers(low, high, shape).astype(dtype)

    def bools(self, *shape: int) -> Array:
        """True and False, whatever the dtype under test."""
        return self.random.integers(0, 2, shape).astype(bool)

    def permutation(self, n: int) -> Array:
        """0 … n-1 in some order, as int64."""
        return self.random.permutation(n).astype(np.int64)


def cases_of(op: Op, dtype: DType) -> Iterator[Case]:
    """The sample calls of an op in one dtype."""
    yield from calls_of(op, Sampler(op, dtype))


def calls_of(op: Op, make: Sampler) -> Iterator[Case]:
    """The sample calls of an op, their values drawn by `make`."""
    return (call for _, call in numbered_calls(op, make))


def numbered_calls(
    op: Op, make: Sampler, only: int | None = None
) -> Iterator[tuple[int, Case]]:
    """The same with their numbers.

    Args:
        only: the number of the one that is wanted; those may be left out whose values
            need not be drawn for it.
    """
    if op.cases is not None:
        calls = op.cases(make)
        turning = only is not None and isinstance(calls, Iterator)
        if turning:
            make.turn_to(wanted=only == 0)
        for number, call in enumerate(calls):
            if isinstance(call, Case):
                yield number, make.crossed(op, number, call)
            elif only in (None, number):
                yield number, make.crossed(op, number, _called(call, make))
            if turning:
                make.turn_to(wanted=only == number + 1)
    elif op.is_elementwise and not op.has_list and not op.rest:
        yield from enumerate(_elementwise(op, make))
    else:
        raise NotSupported(
            f"op {op.name}", "cases", was="missing", needed="sample calls",
            remedy=f"declare them with @{op.name}.cases",
        )  # fmt: skip


Draw = Callable[[Sampler], Any]


def _called(row: Any, make: Sampler) -> Case:
    """A call as a row of arguments, in the order of the parameters.

    A list of sizes is a tensor drawn in that shape, a list of such lists a list of
    tensors; `ints` and `bools` draw others, and all else is given as it is. A row of
    one argument needs no tuple.
    """
    args = row if isinstance(row, tuple) else (row,)
    return case(*(_drawn(value, make) for value in args))


def _drawn(value: Any, make: Sampler) -> Any:
    if callable(value):
        return value(make)
    if not isinstance(value, list):
        return value
    of_tensors = any(v is None or isinstance(v, list) or callable(v) for v in value)
    return [_drawn(v, make) for v in value] if of_tensors else make(*value)


def values(*shape: int, low: float | None = None, high: float | None = None) -> Draw:
    """In a row of sample calls: values from `low` to `high`, as drawn otherwise."""
    return lambda make: make(*shape, low=low, high=high)


def ints(*shape: int, low: int = 0, high: int = 10, dtype: str = "int64") -> Draw:
    """In a row of sample calls: integers from `low` to `high` - 1."""
    return lambda make: make.ints(*shape, low=low, high=high, dtype=dtype)


def distinct(*shape: int) -> Draw:
    """In a row of sample calls: values that all differ, well apart."""
    return lambda make: make.distinct(*shape)


def bools(*shape: int) -> Draw:
    """In a row of sample calls: True and False."""
    return lambda make: make.bools(*shape)


def permutation(n: int, count: int | None = None) -> Draw:
    """In a row of sample calls: 0 … n-1 in some order, the first `count` of them."""
    return lambda make: make.permutation(n)[:count]


_COTANGENTS = (-3.0, 3.0)


def backward_cases(forward: Op, taken: list[str], make: Sampler) -> Iterator[Case]:
    """Calls of a gradient rule with parameters `taken`, from those of its op."""
    for args, kwargs in calls_of(forward, make.of(forward)):
        values = forward.bind(args, kwargs)
        assert forward.oracle is not None, f"{forward.name} needs an oracle"
        y = np.asarray(forward.oracle(*values)).astype(make.dtype.numpy)
        cotangents = copy(make)
        cotangents.low, cotangents.high = _COTANGENTS
        known = dict(zip(forward.names, values, strict=True))
        known |= {"ct": cotangents.exactly(y.shape), forward.outputs[0]: y}
        yield Case(tuple(known[name] for name in taken), {})


_SHAPES = (
    ((2, 3), (2, 3), (2, 3)),
    ((2, 1, 4), (3, 1), (4,)),
    ((), (), ()),
    ((0, 3), (1, 3), (3,)),
)


def _elementwise(op: Op, make: Sampler) -> Iterator[Case]:
    """Equal shapes, broadcasting, 0-d and empty."""
    for shapes in _SHAPES:
        yield case(
            *(
                make.bools(*shape) if p.name in op.masks else make(*shape)
                for p, shape in zip(op.tensors, shapes, strict=False)
            )
        )
