"""A program recorded and replayed, and the same one eager, state for state.

After every step the two must agree bit for bit: in results and their places on the
tape, in parameters, gradients, buffers, the optimizer's state and rates, and in where
the generators stand. A program that differs is cut down to what it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, Final

import numpy as np

import dovetail
from dovetail.compiler import record
from tests.programs.capture.draw import Program, draw

STEPS: Final = 4
# How a program is captured: what is called instead of the step, given the step.
Capture = Callable[[Any, tuple[Any, ...]], Any]


@dataclass(frozen=True)
class Difference:
    """A program, and how its replays differ."""

    program: Program
    found: str

    def __str__(self) -> str:
        return f"{self.program.source()}\n    # {self.found}"


class Training:
    """A program that runs, with the stream of random numbers that it draws from."""

    def __init__(self, program: Program) -> None:
        dovetail.manual_seed(0)
        names: dict[str, Any] = {}
        exec(compile(program.source(), "<program>", "exec"), names)
        made = names["build"](dovetail, dovetail.nn.functional)
        self.step, self.optimizer, self.net, self.params, self.held, self.source = made
        self.place = dovetail.get_rng_state()

    def run(self, step: Any, number: int) -> list[Any]:
        """All that a step gives and leaves."""
        dovetail.set_rng_state(self.place)
        batch = batch_of(number)
        given = step(*batch)
        last, grads = given and given[0], None
        if last is not None and last.requires_grad:
            grads = dovetail.autograd.grad(last.sum(), self.params, allow_unused=True)
        self.place = dovetail.get_rng_state()
        state = [
            given, grads, batch, self.held, self.params, [p.grad for p in self.params],
            list(self.net.state_dict().values()), self.place, self.source.get_state(),
            [list(self.optimizer.state[p].values()) for p in self.params],
            [group["lr"] for group in self.optimizer.param_groups],
        ]  # fmt: skip
        return list(_bits(state))


def batch_of(number: int) -> tuple[Any, Any]:
    """The batch of a step."""
    rng = np.random.default_rng(number)
    x = rng.standard_normal((4, 6)).astype(np.float32)
    return dovetail.tensor(x), dovetail.tensor(rng.integers(0, 5, 4))


def _bits(value: Any) -> Iterator[Any]:
    if isinstance(value, dovetail.Tensor):
        tape = (value.requires_grad, value.is_leaf)
        values = value.detach().contiguous().float().numpy().tobytes()
        yield (value.dtype, tuple(value.shape), tape, values)
    elif isinstance(value, list | tuple):
        yield len(value)
        for v in value:
            yield from _bits(v)
    else:
        yield value


def recorded(step: Any, batch: tuple[Any, ...]) -> Any:
    """A recording of the step, which is done once more."""
    return record(step, *batch)


def compiled(step: Any, batch: tuple[Any, ...]) -> Any:
    """The step as `dovetail.compile` follows it."""
    follows = dovetail.compile(step)
    follows(*batch)
    return follows


@lru_cache(maxsize=64)
def eager(program: Program) -> list[list[Any]]:
    """What the later steps of a program give and leave without capture."""
    training = Training(program)
    return [training.run(training.step, i) for i in range(STEPS + 3)][3:]


def check(program: Program, capture: Capture = recorded) -> str | None:
    """How a captured program differs from itself, None if it does not.

    Raises:
        Exception: eager refuses the program.
    """
    wanted = eager(program)
    captured = Training(program)
    for i in range(2):
        captured.run(captured.step, i)
    try:
        step: Any = None

        def first(*batch: Any) -> None:
            nonlocal step
            step = capture(captured.step, batch)

        captured.run(first, 2)
        for i in range(STEPS):
            found = captured.run(step, 3 + i)
            if found != wanted[i]:
                return f"step {i}: {_where(found, wanted[i])}"
    except Exception as error:
        if "hook" in str(error) and isinstance(error, dovetail.errors.CaptureError):
            return None  # Python's functions behind a result are refused
        return f"step: {type(error).__name__}: {error}"
    return None


def _where(found: list[Any], wanted: list[Any]) -> str:
    if len(found) != len(wanted):
        return f"{len(found)} values instead of {len(wanted)}"
    at = [i for i, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b]
    return f"values {at} differ; the first was {found[at[0]]}, not {wanted[at[0]]}"


def shrink(difference: Difference, capture: Capture) -> Difference:
    """A difference of the same kind in fewer lines."""
    best, shorter = difference, True
    while shorter:
        shorter = False
        for program in best.program.without():
            try:
                found = check(program, capture)
            except Exception:  # lines that others need
                continue
            if found is not None:
                best, shorter = Difference(program, found), True
                break
    return best


def run(seeds: range, capture: Capture = recorded) -> Iterator[Difference | None]:
    """What each program that eager runs shows, cut down; None where it agrees."""
    for seed in seeds:
        program = draw(Random(f"capture {seed}"))
        try:
            found = check(program, capture)
        except Exception:  # eager refuses it
            continue
        yield found and shrink(Difference(program, found), capture)
