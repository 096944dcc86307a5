"""Optimizer steps in place, a cache block at a time.

Each pass over a block stays in the caches, so a step costs about one
pass over memory. Scratch memory belongs to the thread, which makes the
kernels reentrant.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dovetail.device_api.kernels import KernelTable
from dovetail.dtypes import FLOAT
from dovetail.xp.scratch import scratch

BLOCK: Final = 1 << 16  # elements: what a step touches of them fits the second cache


def install(table: KernelTable, xp: Any) -> None:
    """Add optimizer steps to a table."""
    for name, step in {"sgd": _sgd_step(xp), "adam": _adam_step(xp)}.items():
        table.add(f"{name}_step_", step, dtypes=FLOAT, binds=True)
        table.add(f"{name}_steps_", _of_many(step), dtypes=FLOAT, binds=True)


def _of_many(step: Callable[..., Any]) -> Callable[..., Any]:
    """The kernel of a step for lists of arrays, the last of which may be empty."""

    def bind(**how: bool) -> Callable[..., None]:
        one = step(**how)

        def kernel(*lists: Any, **numbers: float) -> None:
            *full, last = lists
            for arrays in zip(*full, last or [None] * len(full[0]), strict=True):
                one(*arrays, **numbers)

        return kernel

    return bind


def _blocks(arrays: list[Any]) -> Iterator[list[Any]]:
    """The same elements of each array, flat and at most a block of them."""
    size = arrays[0].size
    flat = [None if a is None else a.reshape(-1) for a in arrays]
    if size <= BLOCK:
        yield flat
        return
    for start in range(0, size, BLOCK):
        stop = start + BLOCK
        yield [None if a is None else a[start:stop] for a in flat]


def _run(xp: Any, arrays: list[Any], written: tuple[int, ...], step: Any) -> None:
    """Give each block to `step(block, t, u)` as float32 or wider; write back.

    `step` works in place on the arrays `written` names by position.
    """
    dtype = arrays[0].dtype
    dense = all(
        a is None or (a.dtype == dtype and a.flags.c_contiguous) for a in arrays
    )
    if dense and dtype.itemsize > 2:
        _in_place(xp, arrays, step)
        return
    wide = _wide(dtype)
    copies = [None if a is None else xp.array(a, wide, order="C") for a in arrays]
    _in_place(xp, copies, step)
    for i in written:
        copy = copies[i]
        if copy is not None:
            arrays[i][...] = copy.astype(dtype)


def _in_place(xp: Any, arrays: list[Any], step: Any) -> None:
    dtype = arrays[0].dtype
    t, u = (scratch(xp, role, BLOCK, dtype) for role in ("step 1", "step 2"))
    for block in _blocks(arrays):
        n = block[0].size
        step(block, t[:n], u[:n])


def _wide(dtype: Any) -> Any:
    return "float32" if dtype.itemsize == 2 else dtype


def _numbers(xp: Any, like: Any, *values: float) -> Iterator[Any]:
    """Numbers as arrays, which cost a ufunc half of what Python's floats do.

    To make them costs more than that where there is but one short block.
    """
    if like.size <= BLOCK // 8:
        return iter(values)
    dtype = _wide(like.dtype)
    return (xp.asarray(v, dtype) for v in values)


def _sgd_step(xp: Any) -> Callable[..., Any]:
    add, multiply, negative = xp.add, xp.multiply, xp.negative

    def bind(nesterov: bool, maximize: bool, first: bool) -> Callable[..., None]:
        def kernel(
            p: Any, grad: Any, buffer: Any, lr: float, momentum: float,
            dampening: float, weight_decay: float,
        ) -> None:  # fmt: skip
            def step(block: list[Any], t: Any, u: Any) -> None:
                p, g, b = block
                if maximize:
                    g = negative(g, u)
                if weight_decay:
                    g = add(multiply(p, weight_decay, t), g, u)
                if b is not None:
                    if first:
                        b[...] = g
                    else:
                        multiply(b, momentum, b)
                        scaled = multiply(g, 1 - dampening, t) if dampening else g
                        add(b, scaled, b)
                    g = add(multiply(b, momentum, t), g, u) if nesterov else b
                add(p, multiply(g, -lr, t), p)

            _run(xp, [p, grad, buffer], (0, 2), step)

        return kernel

    return bind


def _adam_step(xp: Any) -> Callable[..., Any]:
    add, multiply, negative, sqrt = xp.add, xp.multiply, xp.negative, xp.sqrt
    subtract, divide, maximum = xp.subtract, xp.divide, xp.maximum

    def bind(decoupled: bool, maximize: bool) -> Callable[..., None]:
        def kernel(
            p: Any, grad: Any, m: Any, v: Any, top: Any, lr: float, beta1: float,
            beta2: float, eps: float, weight_decay: float, step: float,
        ) -> None:  # fmt: skip
            # p -= lr/c1 * m / (sqrt(v)/c2 + eps), with c2 taken out of the quotient
            c2 = (1 - beta2**step) ** 0.5
            keep, take1, decay2, take2, scaled_eps, rate = _numbers(
                xp, p, 1 - lr * weight_decay, 1 - beta1, beta2, 1 - beta2, eps * c2,
                -lr * c2 / (1 - beta1**step),
            )  # fmt: skip

            def run(block: list[Any], t: Any, u: Any) -> None:
                p, g, m, v, top = block
                if maximize:
                    g = negative(g, u)
                if weight_decay and decoupled:
                    multiply(p, keep, p)
                elif weight_decay:
                    g = add(multiply(p, weight_decay, t), g, u)
                add(m, multiply(subtract(g, m, t), take1, t), m)
                multiply(v, decay2, v)
                add(v, multiply(multiply(g, g, t), take2, t), v)
                root = sqrt(v if top is None else maximum(top, v, out=top), t)
                divide(m, add(root, scaled_eps, t), t)
                add(p, multiply(t, rate, t), p)

            _run(xp, [p, grad, m, v, top], (0, 2, 3, 4), run)

        return kernel

    return bind
