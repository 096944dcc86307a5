"""What an op is beside what it does: its body and its rule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import agree, arrays, judged, named
from dovetail.conformance.laws.sampling import some
from dovetail.conformance.reference import reference
from dovetail.conformance.sizes import elements_of
from dovetail.conformance.subject import Subject, written
from dovetail.conformance.values import NOT_FINITE
from dovetail.conformance.verdicts import How
from dovetail.dtypes import DType, int32, int64
from dovetail.engine.bodies import by_body
from dovetail.engine.op import Op
from dovetail.engine.promotion import lead_of, prepare
from dovetail.engine.results import DATA
from dovetail.engine.tensor import Tensor
from dovetail.errors import DTypeError, FallbackError

# Elements in one dim of calls whose bodies may take a step for each.
_STEPS: Final = 1 << 12


def _has_a_body_to_obey(subject: Subject, op: Op, dtype: DType) -> bool:
    native = subject.how(op, dtype) is How.NATIVE
    defined = op.oracle is not None and not op.unspecified
    return native and dtype not in op.primitive and not op.view and defined


def _finite(example: Example) -> bool:
    """Where ∞ may cancel, a body and a kernel may differ; the oracle judges that."""
    return example.values not in NOT_FINITE | {"extreme"}


def _in_few_steps(
    subject: Subject, op: Op, dtype: DType, budget: Budget
) -> Iterable[Example]:
    """Calls whose bodies take no more steps than a check has time for.

    A body may take one for each column, or for each of the values that meet at a place.
    """
    may_loop = callable(op.shape) or op.shape is DATA

    def keep(example: Example) -> bool:
        small = elements_of(example.size) <= _STEPS
        return _finite(example) and (small or not may_loop)

    return some(2, 3, keep)(subject, op, dtype, budget)


@law("body", examples=_in_few_steps, fits=_has_a_body_to_obey, rank=20)
def body(trial: Trial) -> None:
    """A native kernel gives what the op's body gives on the same inputs."""
    op, dtype = judged(trial)
    subject, example = trial.subject, trial.example
    results = subject.run(op, example, dtype)
    defined = _by_definition(op, subject, trial)
    agree(
        trial, arrays(trial, results), arrays(trial, defined),
        [y.dtype for y in results], share=2.0, note="the kernel's ",
    )  # fmt: skip


def _by_definition(op: Op, subject: Subject, trial: Trial) -> list[Tensor]:
    """The body's results there.

    On the reference device where a primitive lacks, or a dtype that the body needs.
    """
    assert trial.dtype is not None
    try:
        args, kwargs = subject.arguments(op, trial.example, trial.dtype)
        return run_body(op, args, kwargs)
    except (FallbackError, DTypeError):
        args, kwargs = reference().arguments(op, trial.example, trial.dtype)
        return run_body(op, args, kwargs)


def run_body(op: Op, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Tensor]:
    """The visible results of an op's body, what it wrote first, kernels passed over."""
    values = op.bind(args, kwargs)
    inputs = prepare(op, op.operands(values))
    lead = lead_of(op, inputs)
    attrs = op.normalise(values, 0 if lead is None else len(lead._a.shape))
    kind = attrs["kind"] if lead is None else lead._kind
    found = by_body(op, inputs, attrs, kind)
    visible = list(found[: len(found) - op.residuals])
    bound = dict(zip(op.names, values, strict=True))
    return [*written(op, bound), *visible]


def _has_a_rule(subject: Subject, op: Op, dtype: DType) -> bool:
    return op.shape is not DATA


@law("rule", examples=some(3, 3), fits=_has_a_rule, rank=20)
def rule(trial: Trial) -> None:
    """The op's rule, on the meta device, says the real shapes and dtypes.

    In the tensor, and in the device's memory.
    """
    op, dtype = judged(trial)
    real = trial.subject.run(op, trial.example, dtype)
    meta = Subject("meta")
    example = trial.example
    assert example.case is not None
    said = meta.run(op, example.with_case(example.case, PLAIN), dtype)
    if len(said) != len(real):
        raise Wrong(f"{len(real)} results, the rule says {len(said)}")
    for at, (y, m) in enumerate(zip(real, said, strict=True)):
        wanted = _held(trial.subject, m.dtype)
        if tuple(y.shape) != tuple(m.shape) or y.dtype is not wanted:
            raise Wrong(
                f"{named(op, at)} is {y.dtype.name}{tuple(y.shape)}, the rule says "
                f"{wanted.name}{tuple(m.shape)}"
            )
        held = trial.subject.values(y)
        if held.dtype != wanted.numpy or held.shape != tuple(m.shape):
            raise Wrong(
                f"{named(op, at)} holds {held.dtype.name}{held.shape}, needed "
                f"{wanted.name}{tuple(m.shape)}"
            )


def _held(subject: Subject, dtype: DType) -> DType:
    """int64 of counts and indices as the device holds them."""
    return int32 if dtype is int64 and not subject.claims(int64) else dtype
