"""Ops that read at places, and those that write or add there: what follows for all.

A read of the elements' numbers says which places these are. So what a write has to give
follows from what the read gives; gradients go through a write by reading, and through
a read by adding.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from dovetail.dtypes import Array, Sizes
from dovetail.engine.tensor import Tensor
from dovetail.ops.create import zeros_of
from dovetail.ops.view import place, reshape


def as_line(x: Tensor) -> Tensor:
    """A tensor without dims as one of one element."""
    return x if x._a.shape else reshape(x, (1,))


def cornered(x: Tensor, shape: Sizes) -> Tensor:
    """`x` in the first corner of zeros of `shape`."""
    if tuple(x._a.shape) == tuple(shape):
        return x
    if not shape:
        return zeros_of(x, ()) if 0 in x._a.shape else reshape(x, ())
    line = as_line(x)
    return place(line, shape, tuple(slice(0, n) for n in line._a.shape))


def places_read(read: Any, x: Array, **at: Any) -> Array:
    """For each element that a read gives of `x`: its number there."""
    numbers = np.arange(x.size).reshape(x.shape or (1,))
    return np.atleast_1d(read.op.oracle(numbers, **at))


def written_by(read: Any, x: Array, values: Array, **at: Any) -> tuple[Array, Array]:
    """Where values go that are written where a read reads: numbers, and those values.

    Values beyond the first corner, of as many as are read, go nowhere.
    """
    numbers = places_read(read, x, **at)
    part = np.atleast_1d(values)[tuple(slice(0, n) for n in numbers.shape)]
    if part.size != numbers.size:
        raise ValueError(f"{part.size} values for {numbers.size} places")
    return numbers.reshape(-1), part.reshape(-1)


def derive_write(put: Any, read: Any, values: str, *, adds: bool = False) -> None:
    """Give `put`, which writes (or adds) `values` where `read` reads, its oracle.

    And its gradients, if it has any.
    """
    names = put.op.names
    attrs = [n for n in names if n not in ("input", values)]

    def oracle(*args: Any, **named: Any) -> Array:
        at = dict(zip(names, args, strict=False)) | named
        y: Array = at.pop("input").copy()
        numbers, written = written_by(read, y, at.pop(values), **at)
        flat = y.reshape(-1)
        if adds:
            np.add.at(flat, numbers, written.astype(y.dtype))
        else:
            flat[numbers] = written  # of several to one place the last stays
        return flat.reshape(y.shape)

    def of_input(ct: Tensor, shape: Sizes, *at: Any) -> Tensor:
        absent = {"input": ct, values: zeros_of(ct, shape)}
        written: Tensor = put(**absent, **dict(zip(attrs, at, strict=True)))
        return written

    def of_values(ct: Tensor, shape: Sizes, *at: Any) -> Tensor:
        found = read(as_line(ct), **dict(zip(attrs, at, strict=True)))
        return cornered(found, shape)

    put.oracle(oracle)
    if put.op.nondifferentiable:
        return
    took = ["ct", f"{values}_shape", *attrs]
    put.op.set_rules(
        {"input": (lambda ct: ct) if adds else of_input, values: of_values},
        {"input": ["ct"] if adds else took, values: took},
    )


def derive_read(read: Any, add: Any, values: str) -> None:
    """Give `read` its gradient: `add` puts cotangents, its `values`, where it reads."""
    attrs = [n for n in read.op.names if n != "input" and n in add.op.names]

    def of_input(ct: Tensor, shape: Sizes, *at: Any) -> Tensor:
        start = {"input": zeros_of(ct, shape), values: ct}
        total: Tensor = add(**start, **dict(zip(attrs, at, strict=True)))
        return total

    read.op.set_rules({"input": of_input}, {"input": ["ct", "input_shape", *attrs]})
