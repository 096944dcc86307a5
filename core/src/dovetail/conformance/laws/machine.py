"""Programs that Hypothesis draws: views, writes, gradients, memory, streams."""

from __future__ import annotations

import contextvars
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.conformance.budget import Budget
from dovetail.conformance.example import Example
from dovetail.conformance.law import Trial, device_law
from dovetail.conformance.programs import steps
from dovetail.conformance.programs.program import Program
from dovetail.conformance.reference import install
from dovetail.conformance.subject import Subject
from dovetail.dtypes import DType

# What matters most is drawn most often.
_WEIGHTS: Final = {
    "view": 5, "combine": 5, "multiply": 3, "backward": 3, "scale": 3, "create": 2,
    "detach": 2, "fill": 2, "lose": 2,
}  # fmt: skip
_ANY: Final = "any_step"  # the first by name, for Hypothesis's simplest program
_TOGETHER: Final = 5  # programs of one example


def _machines(
    subject: Subject, dtype: DType | None, budget: Budget
) -> Iterator[Example]:
    for at, first in enumerate(range(0, budget.programs, _TOGETHER)):
        many = min(_TOGETHER, budget.programs - first)
        known = {"at": at, "programs": many, "steps": budget.steps}
        yield Example(size=f"{many} programs of {budget.steps}", known=known)


@device_law("machine", examples=_machines, rank=60, per_dtype=False)
def machine(trial: Trial) -> None:
    """Programs of views, in-place writes, gradients and deletions do as their model.

    After every step all live tensors have the values and versions that a NumPy array
    and an index map foretell, gradients are right or refused exactly where a kept
    value was written, and memory in use is that of the live tensors.
    """
    install()
    warm(trial.subject)
    contextvars.copy_context().run(_run, trial)


def warm(subject: Subject) -> None:
    """Let caches fill that outlive a program: kernels, and numbers as arrays."""
    for name in ("float32", "int32", "bool"):
        kind = subject.kind(dtypes.by_name(name))
        for values in kind.scalars.values():
            for number in (-2, -1, 0, 1, 2, 3, 0.0, 1.0, 2.0, True, False):
                values[number]
    random = np.random.default_rng(0)
    program = Program(subject)
    steps.start(program)
    for _ in range(3):
        for step in steps.STEPS.values():
            step(program, random)
    program.end()


def _run(trial: Trial) -> None:
    """Run Hypothesis's state machine; what it found wrong is raised as it was."""
    from hypothesis import HealthCheck, Phase, Verbosity, seed, settings
    from hypothesis.stateful import run_state_machine_as_test

    found: list[Exception] = []
    known = trial.example.known
    start = trial.seed + known["at"]
    cls = seed(start)(_machine(trial.subject, start, found))
    how = settings(
        max_examples=known["programs"], stateful_step_count=known["steps"],
        deadline=None, database=None, derandomize=True, phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck), report_multiple_bugs=False,
        verbosity=Verbosity.quiet, print_blob=False,
    )  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run_state_machine_as_test(cls, settings=how)
    except Exception as error:
        raise (found[0] if found else error) from None


def _machine(subject: Subject, start: int, found: list[Exception]) -> Any:
    """A state machine on a device; the first failure is kept in `found`."""
    from hypothesis import strategies as st
    from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

    def kept(action: Callable[..., None], *args: Any) -> None:
        try:
            action(*args)
        except Exception as error:
            found.append(error)
            raise

    class Machine(RuleBasedStateMachine):
        """One program; each rule is a step with a seed of its own."""

        @initialize()
        def begin(self) -> None:
            self.program, self.steps = Program(subject), 0
            kept(steps.start, self.program)

        def teardown(self) -> None:
            if not found:
                kept(self.program.end)
            steps.rejoin(self.program)

    def added(name: str) -> Any:
        def step(self: Any, number: int) -> None:
            self.steps += 1
            # Hypothesis likes small numbers, and one program of nothing but zeros.
            random = np.random.default_rng([start, number, self.steps])
            chosen = str(random.choice(often)) if name == _ANY else name
            kept(steps.STEPS[chosen], self.program, random)
            kept(self.program.check)

        step.__name__ = name
        return rule(number=st.integers(0, (1 << 32) - 1))(step)

    often = [name for name in steps.STEPS for _ in range(_WEIGHTS.get(name, 1))]
    for at, name in enumerate((_ANY, *often)):
        setattr(Machine, f"{name}_{at}", added(name))
    return Machine
