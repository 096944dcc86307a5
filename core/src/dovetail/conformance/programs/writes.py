"""Steps of random programs that alias memory and write it in place."""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.conformance.programs.looks import look
from dovetail.conformance.programs.model import (
    COLUMNS,
    Alias,
    product,
    small,
    write,
)
from dovetail.conformance.programs.program import Program
from dovetail.conformance.programs.tensors import is_number, pick, room
from dovetail.dtypes import Array

Random = np.random.Generator

_FACTORS: Final = (2, -1, 3)
INPLACE: Final = "dt.errors.InplaceError"


def view(p: Program, random: Random) -> None:
    room(p, random)
    for _ in range(4):
        x = pick(p, random, lambda a: True, lambda a: a.index.ndim > 1)
        found = None if x is None else look(x, random)
        if x is not None and found is not None:
            name = p.fresh_name()
            p.run(f"{name} = {x.name}{found[0]}")
            p.live[name] = x.look(name, found[1])
            return


def detach(p: Program, random: Random) -> None:
    room(p, random)
    x = pick(p, random, lambda a: True, lambda a: a.tracked and not a.leaf)
    if x is None:
        return
    name = p.fresh_name()
    if random.random() < 0.6:
        p.run(f"{name} = {x.name}.detach()")
        p.live[name] = x.detached(name)
    else:
        p.run(f"{name} = {x.name}.data")
        p.live[name] = x.data(name)


# ---- writes


def scale(p: Program, random: Random) -> None:
    """Multiply in place by a number; refused where elements share memory."""
    x = pick(p, random, is_number)
    if x is None:
        return
    factor = int(random.choice(_FACTORS))
    line, derivative = f"{x.name}.mul_({factor})", x.derivative * factor
    if x.leaf and x.tracked and not x.view:
        if random.random() < 0.5:
            p.refused(line, INPLACE)
        elif small(x.values * factor):
            p.run(f"with dt.no_grad(): {line}")
            write(x, x.values * factor, None)
    elif x.expanded or (x.leaf and x.tracked):
        p.refused(line, INPLACE)
    elif not x.repeats and small(x.values * factor, derivative):
        p.run(line)
        write(x, x.values * factor, derivative if x.tracked else None)


def fill(p: Program, random: Random) -> None:
    """Set every element, in any layout, of any dtype."""
    x = pick(p, random, lambda a: not a.leaf)
    if x is None or (x.expanded and x.tracked):
        return
    value = int(random.integers(-2, 3))
    p.run(f"{x.name}.fill_({value})")
    if x.tracked:
        _forget(x)
    dtype = x.memory.values.dtype
    values = np.full(x.index.shape, value).astype(dtype)
    write(x, values, np.zeros(COLUMNS) if x.tracked else None)


def _forget(x: Alias) -> None:
    """What the history of `x` kept may or may not be asked for any more."""
    memory = x.memory
    memory.doubtful += memory.needs
    memory.needs = ()


def combine(p: Program, random: Random) -> None:
    """Copy, add or multiply another tensor into one, also of the same memory."""
    x = pick(p, random, lambda a: not a.leaf and not a.repeats, lambda a: a.tracked)
    if x is None:
        return
    name = str(random.choice(["copy_", "add_", "mul_"]))
    numeric = is_number(x) or name == "copy_"
    y = pick(p, random, lambda b: numeric and goes_into(b, x), lambda b: b.tracked)
    if y is None:
        return
    values, derivative = _combined(name, x, y)
    if not small(values, derivative):
        return
    writes = y.memory.writes  # before: `.data` would lose what this op keeps
    p.run(f"{x.name}.{name}({y.name})")
    if name == "copy_" and x.tracked:
        _forget(x)
    if x.tracked:
        _inherit(name, x, y, writes)
    write(x, values, derivative if x.tracked else None)


def goes_into(y: Alias, x: Alias) -> bool:
    """Whether `y` can be written into `x`: same dtype, broadcasts, no new graph."""
    same = y.memory.values.dtype == x.memory.values.dtype
    if not same or (y.tracked and not x.tracked):
        return False
    try:
        wide = np.broadcast_shapes(y.index.shape, x.index.shape)
    except ValueError:
        return False
    return bool(wide == x.index.shape)


def _combined(name: str, x: Alias, y: Alias) -> tuple[Array, Array]:
    shape = x.index.shape
    if name == "mul_":
        return product(x, y)
    each = np.broadcast_to(y.derivative, (*shape, COLUMNS))
    if name == "add_":
        return x.values + y.values, x.derivative + each
    return np.broadcast_to(y.values, shape).copy(), each.copy()


def _inherit(name: str, x: Alias, y: Alias, writes: int) -> None:
    """The history of `x` now holds that of `y`, and what the product kept of it."""
    memory = x.memory
    if y.tracked and y.memory is not memory:
        memory.needs += y.memory.needs
        memory.doubtful += y.memory.doubtful
    if name == "mul_" and y.counter is not x.counter:
        memory.needs += (y.needed(writes),)
