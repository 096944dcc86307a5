"""Runs as the kit makes them, small enough to reason about."""

from dataclasses import replace

from dovetail.conformance.run import About, RunRecord
from dovetail.conformance.verdicts import Check, Failure, How, Outcome, Verdict
from dovetail.dtypes import by_name
from dovetail.engine.op import declared

REQUIRED = ("bool", "int32", "float32")
PRIMITIVES = tuple(op.name for op in declared() if op.primitive)


def verdict(
    check: str,
    outcome: Outcome = Outcome.PASSED,
    how: How = How.NATIVE,
    *,
    ulp: float | None = None,
    failing: tuple[int, ...] = (),
    beyond: float | None = None,
    example: str = "(float32[2])",
    script: str = "",
    examples: int = 5,
    layouts: dict[str, Outcome] | None = None,
) -> Verdict:
    """The verdict of a check; one failure is kept for each example that failed."""
    failures = tuple(
        Failure(outcome, f"y is {n}, needed 0", example, "contiguous", n, script)
        for n in failing
    )
    parsed = Check.parse(check)
    return Verdict(
        parsed,
        outcome,
        How.NONE if parsed.op == "device" else how,
        examples=examples,
        layouts=layouts or {"contiguous": outcome},
        ulp=ulp,
        ulp_at="wide" if ulp is not None else "",
        failures=failures,
        seconds=0.01,
        failing=failing,
        beyond=beyond,
    )


def proven(op: str, dtype: str) -> bool:
    """Whether level 1 asks for that op in that dtype."""
    return by_name(dtype) in next(o for o in declared() if o.name == op).accepts


def full(dtypes: tuple[str, ...] = REQUIRED, native: bool = True) -> RunRecord:
    """A run in which every op passes; composed ones are not native unless asked."""
    found = [verdict(f"device/{d}/copy_out") for d in dtypes]
    for op in declared():
        for dtype in (d for d in dtypes if proven(op.name, d)):
            kernel = native or by_name(dtype) in op.primitive
            how = How.NATIVE if kernel else How.COMPOSED
            found.append(verdict(f"{op.name}/{dtype}/forward", how=how, ulp=0.5))
            if native:
                found.append(verdict(f"{op.name}/{dtype}/body"))
    kernels = tuple(op.name for op in declared() if native or op.primitive)
    about = About(
        "acme:0", "Acme One", "acme", dtypes=dtypes, kernels=kernels,
        capabilities=("Pool",), versions={"dovetail": "0.1.0"}, platform="a machine",
    )  # fmt: skip
    return RunRecord(
        about, "standard", "*", "*", "2031-01-02T03:04:05+00:00", 2.0, tuple(found)
    )


def changed(run: RunRecord, *verdicts: Verdict) -> RunRecord:
    """The run with these verdicts in place of those of the same checks."""
    new = {v.check: v for v in verdicts}
    kept = [new.pop(v.check, v) for v in run.verdicts]
    return replace(run, verdicts=(*kept, *new.values()))


def without(run: RunRecord, check: str) -> RunRecord:
    """The run without one of its checks."""
    left = tuple(v for v in run.verdicts if v.check.id != check)
    assert len(left) < len(run.verdicts)
    return replace(run, verdicts=left)
