"""Steps of random programs in which tensors come and go, and memory runs out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dovetail import dtypes
from dovetail.conformance.programs.looks import shape_of
from dovetail.conformance.programs.model import COLUMNS, Alias, fresh
from dovetail.conformance.programs.program import Program
from dovetail.device_api.capabilities import Streams

Random = np.random.Generator

_MOST: Final = 12  # live tensors
_RATHER: Final = 0.7
_DTYPES: Final = ("float32", "float32", "int32", "bool")


def start(p: Program) -> None:
    """The leaves A and B, whose gradients the model knows."""
    for name, shape, first in (("A", (2, 3), 0), ("B", (6,), COLUMNS // 2)):
        values = (np.arange(6) % 4 - 1.0).astype(np.float32).reshape(shape)
        p.run(
            f"{name} = dt.tensor({values.tolist()}, dtype=dt.float32, device=D, "
            "requires_grad=True)"
        )
        alias = fresh(name, values, tracked=True)
        alias.leaf = True
        assert alias.memory.derivative is not None
        alias.memory.derivative[range(6), range(first, first + 6)] = 1
        p.live[name] = alias


def pick(
    p: Program,
    random: Random,
    fits: Callable[[Alias], bool],
    rather: Callable[[Alias], bool] = lambda alias: True,
) -> Alias | None:
    """One of the live tensors that fit, mostly one that is asked for rather."""
    found = [a for a in p.live.values() if fits(a)]
    if random.random() < _RATHER:
        found = [a for a in found if rather(a)] or found
    return found[int(random.integers(len(found)))] if found else None


def is_float(x: Alias) -> bool:
    return bool(x.memory.values.dtype == np.float32)


def is_number(x: Alias) -> bool:
    return bool(x.memory.values.dtype != np.bool_)


# ---- tensors come and go


def create(p: Program, random: Random) -> None:
    room(p, random)
    name, dtype = p.fresh_name(), str(random.choice(_DTYPES))
    kind = dtypes.by_name(dtype)
    high = 2 if dtype == "bool" else 4
    low = 0 if dtype == "bool" else -3
    values = random.integers(low, high, shape_of(random)).astype(kind.numpy)
    p.run(f"{name} = dt.tensor({values.tolist()}, dtype=dt.{dtype}, device=D)"
          f".reshape({values.shape})")  # fmt: skip
    p.live[name] = fresh(name, values)


def drop(p: Program, random: Random) -> None:
    """Forget a tensor, of the graph or plain, whichever are more."""
    tracked = sum(a.tracked for a in p.live.values()) * 2 > len(p.live)
    x = pick(p, random, lambda a: a.name not in "AB", lambda a: a.tracked is tracked)
    if x is not None:
        p.run(f"del {x.name}")
        del p.live[x.name]


def room(p: Program, random: Random) -> None:
    """Drop a tensor where there are many."""
    if len(p.live) >= _MOST:
        drop(p, random)


def collect(p: Program, random: Random) -> None:
    p.run("gc.collect(1)")


def transfer(p: Program, random: Random) -> None:
    """There and back: fresh memory with the same values."""
    room(p, random)
    x = pick(p, random, lambda a: True)
    if x is None:
        return
    subject, name = p.subject, p.fresh_name()
    others = [i.index for i in subject.backend.devices() if i.index != subject.index]
    other = f"{subject.backend.type}:{others[0]}" if others else "reference"
    p.run(f"{name} = {x.name}.detach().to({other!r}).to(D).clone()")
    p.live[name] = fresh(name, x.values)


def exhaust(p: Program, random: Random) -> None:
    """An allocation that cannot succeed changes nothing."""
    p.refused("dt.ones((1 << 27, 1 << 27), device=D)", "MemoryError")


def switch(p: Program, random: Random) -> None:
    if p.subject.backend.capability(Streams) is None:
        return
    name = p.fresh_name()
    p.run(
        f"{name} = dt.Stream(D); {name}.wait_stream(dt.current_stream(D)); "
        f"dt.set_stream({name})"
    )


def rejoin(p: Program) -> None:
    """Go back to the default stream, behind the work of all others."""
    if p.subject.backend.capability(Streams) is not None:
        exec("dt.synchronize(D); dt.set_stream(dt.default_stream(D))", p.names)
