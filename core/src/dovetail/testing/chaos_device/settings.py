"""What the chaos device does wrong, and when: seeded, so that it can be repeated."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from dovetail.errors import ArgumentError

VARIABLE: Final = "DOVETAIL_CHAOS"
_SWITCHES: Final = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True)
class Settings:
    """Which faults there are; `points` of a fault are a chance or ordinal numbers.

    Attributes:
        seed: of the order of work and of the faults that come by chance.
        poison: whether fresh memory holds NaN, large odd numbers or alternating bools.
        guard: whether memory lies between guards that nobody may write.
        reorder: whether work is put off, and done in another order that nobody who
            keeps to the rules can tell from the one asked for.
        out_of_memory: the chance that an allocation fails, or which ones do,
            counted from 1.
        device_loss: the same for the launch of a kernel that finds the device gone.
    """

    seed: int = 0
    poison: bool = True
    guard: bool = True
    reorder: bool = True
    out_of_memory: float | frozenset[int] = 0.0
    device_loss: float | frozenset[int] = 0.0


def points(name: str, given: float | Sequence[int]) -> float | frozenset[int]:
    """A chance from 0.0 to 1.0 as it is, an ordinal number or several as a set."""
    if isinstance(given, float):
        if 0.0 <= given <= 1.0:
            return given
    else:
        wanted = [given] if isinstance(given, int) else list(given)
        if all(type(n) is int and n > 0 for n in wanted):
            return frozenset(wanted)
    raise ArgumentError(
        "chaos", name, was=repr(given),
        needed="a float from 0.0 to 1.0, or numbers counted from 1",
    )  # fmt: skip


def parse(text: str) -> Settings:
    """Settings as `DOVETAIL_CHAOS` has them: `"seed=7,out_of_memory=3/9,poison=0"`."""
    given = Settings()
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, value = part.partition("=")
        given = replace(given, **{name: _value(name, value)})
    return given


def _value(name: str, text: str) -> Any:
    try:
        if name == "seed":
            return int(text)
        if name in ("poison", "guard", "reorder"):
            return _SWITCHES[text.lower()]
        if name in ("out_of_memory", "device_loss"):
            ordinal = "." not in text
            numbers: Any = [int(n) for n in text.split("/")] if ordinal else float(text)
            return points(name, numbers)
    except (KeyError, ValueError) as error:
        raise ArgumentError(
            VARIABLE, name, was=repr(text),
            needed="a seed, 0 or 1, a chance such as 0.01, or ordinals such as 3/9",
        ) from error  # fmt: skip
    names = ", ".join(field.name for field in fields(Settings))
    raise ArgumentError(VARIABLE, "name", was=repr(name), needed=f"one of {names}")


class Behaviour:
    """Settings with the state of carrying them out.

    Attributes:
        settings: what was asked for.
        allocations: how many there were so far.
        kernels: how many kernels were launched so far.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.allocations = 0
        self.kernels = 0
        self._lock = threading.Lock()
        # One source for each purpose: a fault more must not change the order.
        self.order = random.Random(settings.seed)
        self._memory = random.Random(~settings.seed)
        self._loss = random.Random(settings.seed ^ 0x10C5)

    def allocate(self) -> int:
        """Count an allocation; gives its number if it must fail, else 0."""
        with self._lock:
            self.allocations += 1
            number = self.allocations
            failing = _hit(self.settings.out_of_memory, number, self._memory)
        return number if failing else 0

    def launch(self) -> int:
        """Count a kernel; gives its number if the device is lost with it, else 0."""
        with self._lock:
            self.kernels += 1
            number = self.kernels
            failing = _hit(self.settings.device_loss, number, self._loss)
        return number if failing else 0


def _hit(when: float | frozenset[int], number: int, chance: random.Random) -> bool:
    if isinstance(when, frozenset):
        return number in when
    return when > 0 and chance.random() < when


_current: Final[list[Behaviour]] = []


def current() -> Behaviour:
    """The plan in force: the innermost `chaos(...)`, else that of the environment."""
    if not _current:
        _current.append(Behaviour(parse(os.environ.get(VARIABLE, ""))))
    return _current[-1]


def enter(plan: Behaviour) -> None:
    """Put a plan in force until `leave`."""
    current()
    _current.append(plan)


def leave(plan: Behaviour) -> None:
    """Return to the plan before `plan`."""
    _current.remove(plan)
