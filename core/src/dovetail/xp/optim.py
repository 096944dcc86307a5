"""Optimizer steps in place, a cache block at a time.

Each pass over a block stays in the caches, so a step costs about one
pass over memory. Scratch memory belongs to the thread, which makes the
kernels reentrant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT
from dovetail.xp.scratch import scratch

BLOCK: Final = 1 << 16  # elements: what a step touches of them fits the second cache


# A step on flat arrays of a block, in place, with two of them to work in.
Step = Callable[[list[Any], Any, Any], None]


class _Kind(NamedTuple):
    """An optimizer's step.

    Attributes:
        make: the step of options, by the dtype that it computes in and by numbers.
        written: which arrays are written, by position.
    """

    make: Callable[..., Callable[..., Step]]
    written: tuple[int, ...]


def install(table: KernelTable, xp: Any) -> None:
    """Add optimizer steps to a table."""
    for name, kind in {
        "sgd": _Kind(_sgd(xp), (0, 2)), "adam": _Kind(_adam(xp), (0, 2, 3, 4)),
    }.items():  # fmt: skip
        table.add(f"{name}_step_", _of_one(xp, kind), dtypes=FLOAT, binds=True)
        table.add(f"{name}_steps_", _of_many(xp, kind), dtypes=FLOAT, binds=True)


def _of_one(xp: Any, kind: _Kind) -> Callable[..., Any]:
    """The kernel of a step for one parameter."""

    def bind(**how: bool) -> Callable[..., None]:
        make = kind.make(**how)

        def kernel(*arrays: Any, **numbers: float) -> None:
            _Run(xp, arrays[0], kind, make, numbers).update(arrays)

        return kernel

    return bind


def _of_many(xp: Any, kind: _Kind) -> Callable[..., Any]:
    """The kernel of a step for lists of arrays, the last of which may be empty."""

    def bind(**how: bool) -> Callable[..., None]:
        make = kind.make(**how)

        def kernel(*lists: Any, **numbers: float) -> None:
            *full, last = lists
            runs: dict[Any, _Run] = {}
            for arrays in zip(*full, last or [None] * len(full[0]), strict=True):
                dtype = arrays[0].dtype
                if dtype not in runs:
                    runs[dtype] = _Run(xp, arrays[0], kind, make, numbers)
                runs[dtype].update(arrays)

        return kernel

    return bind


class _Run:
    """A step with its numbers, for all parameters of one dtype, as `like` has it."""

    def __init__(
        self, xp: Any, like: Any, kind: _Kind, make: Callable[..., Step],
        numbers: dict[str, float],
    ) -> None:  # fmt: skip
        dtype = like.dtype
        self.xp, self.dtype, self.written = xp, dtype, kind.written
        self.wide = xp.dtype("float32") if dtype.itemsize == 2 else dtype
        self.step = make(self.wide, **numbers)
        self.work = [
            scratch(xp, like, r, BLOCK, self.wide) for r in ("step 1", "step 2")
        ]

    def update(self, arrays: tuple[Any, ...]) -> None:
        """One parameter; 16-bit floats, and arrays with gaps, by way of copies."""
        dtype = self.dtype
        if self.wide is dtype and all(
            a is None or (a.flags.c_contiguous and a.dtype == dtype) for a in arrays
        ):
            self._in_place(arrays)
            return
        xp, wide = self.xp, self.wide
        copies = [None if a is None else xp.array(a, wide, order="C") for a in arrays]
        self._in_place(copies)
        for i in self.written:
            copy = copies[i]
            if copy is not None:
                arrays[i][...] = copy.astype(dtype)

    def _in_place(self, arrays: Sequence[Any]) -> None:
        flat: list[Any] = [None if a is None else a.reshape(-1) for a in arrays]
        size, (t, u) = flat[0].size, self.work
        if size <= BLOCK:
            self.step(flat, t[:size], u[:size])
            return
        for at in range(0, size, BLOCK):
            block: list[Any] = [a if a is None else a[at : at + BLOCK] for a in flat]
            n = block[0].size
            self.step(block, t[:n], u[:n])


def _numbers(xp: Any, dtype: Any, *values: float) -> Iterator[Any]:
    """Numbers as arrays, which cost a ufunc half of what Python's floats do."""
    return (xp.asarray(v, dtype) for v in values)


def _sgd(xp: Any) -> Callable[..., Callable[..., Step]]:
    add, multiply, negative = xp.add, xp.multiply, xp.negative

    def options(nesterov: bool, maximize: bool, first: bool) -> Callable[..., Step]:
        def make(
            dtype: Any, lr: float, momentum: float, dampening: float,
            weight_decay: float,
        ) -> Step:  # fmt: skip
            rate, keep, take, decay = _numbers(
                xp, dtype, -lr, momentum, 1 - dampening, weight_decay
            )

            def step(block: list[Any], t: Any, u: Any) -> None:
                p, g, b = block
                if maximize:
                    g = negative(g, u)
                if weight_decay:
                    g = add(multiply(p, decay, t), g, u)
                if b is not None:
                    if first:
                        b[...] = g
                    else:
                        multiply(b, keep, b)
                        add(b, multiply(g, take, t) if dampening else g, b)
                    g = add(multiply(b, keep, t), g, u) if nesterov else b
                add(p, multiply(g, rate, t), p)

            return step

        return make

    return options


def _adam(xp: Any) -> Callable[..., Callable[..., Step]]:
    add, multiply, negative, sqrt = xp.add, xp.multiply, xp.negative, xp.sqrt
    subtract, divide, maximum = xp.subtract, xp.divide, xp.maximum

    def options(decoupled: bool, maximize: bool) -> Callable[..., Step]:
        def make(
            dtype: Any, lr: float, beta1: float, beta2: float, eps: float,
            weight_decay: float, step: float,
        ) -> Step:  # fmt: skip
            # p -= lr/c1 * m / (sqrt(v)/c2 + eps), with c2 taken out of the quotient
            c2 = (1 - beta2**step) ** 0.5
            keep, decay, take1, decay2, take2, scaled_eps, rate = _numbers(
                xp, dtype, 1 - lr * weight_decay, weight_decay, 1 - beta1, beta2,
                1 - beta2, eps * c2, -lr * c2 / (1 - beta1**step),
            )  # fmt: skip

            def update(block: list[Any], t: Any, u: Any) -> None:
                p, g, m, v, top = block
                if maximize:
                    g = negative(g, u)
                if weight_decay and decoupled:
                    multiply(p, keep, p)
                elif weight_decay:
                    g = add(multiply(p, decay, t), g, u)
                add(m, multiply(subtract(g, m, t), take1, t), m)
                multiply(v, decay2, v)
                add(v, multiply(multiply(g, g, t), take2, t), v)
                root = sqrt(v if top is None else maximum(top, v, out=top), t)
                divide(m, add(root, scaled_eps, t), t)
                add(p, multiply(t, rate, t), p)

            return update

        return make

    return options
