"""The forms of an op that write: `x.op_()` and `out=`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, Final

import numpy as np

from dovetail.conformance.budget import Budget
from dovetail.conformance.example import PLAIN, Example
from dovetail.conformance.law import Trial, Wrong, law
from dovetail.conformance.laws.agreement import agree, judged, same_bits
from dovetail.conformance.laws.memory_of_calls import Watched, watch
from dovetail.conformance.laws.repeatable import declares
from dovetail.conformance.laws.sampling import GUARDED, some
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.dtypes import (
    Array,
    DType,
    bool_,
    can_cast,
    complex64,
    float32,
    from_numpy,
    int32,
)
from dovetail.engine.arguments import Shown
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op
from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.errors import DivisionByZero, DovetailError, DTypeError, ShapeError

NAMES: Final = NAMESPACES["torch"]
Function = Callable[..., Any]
# One of each category: what is written is moved, not computed.
_DTYPES: Final = (bool_, int32, float32, complex64)
_ASKED: Final = 2  # of an op's own cases


def _names(op: Op) -> list[str]:
    """The names that torch has for an op: those it declares, and its own."""
    return [*op.public, op.name]


def _functional(op: Op) -> tuple[str, Function] | None:
    """The public function of an op, and the name it goes by."""
    for name in _names(op):
        if name in NAMES and not name.endswith("_"):
            return name, NAMES[name]
    return None


def _has_in_place(subject: Subject, op: Op, dtype: DType) -> bool:
    found = _functional(op)
    if found is None or not hasattr(Tensor, f"{found[0]}_"):
        return False
    return dtype in _DTYPES and not op.view and _takes(op, dtype)


def _has_out(subject: Subject, op: Op, dtype: DType) -> bool:
    found = _functional(op)
    if found is None or not _takes_out(op, found[1]):
        return False
    return dtype in _DTYPES and not op.view and _takes(op, dtype)


def _takes_out(op: Op, function: Any) -> bool:
    shown = getattr(function, "__wrapped__", op.body)
    return isinstance(shown, Shown) and shown.out


@lru_cache(maxsize=4096)
def _takes(op: Op, dtype: DType) -> bool:
    """Whether torch's form takes the op's own arguments, and gives one tensor."""
    own = islice(cases_of(op, dtype), _ASKED)  # a plan must not draw
    return any(_taken(op, dtype, Example(case)) for case in own)


def _calls(subject: Subject, op: Op, dtype: DType, budget: Budget) -> Iterator[Example]:
    """The calls that torch's form takes."""
    for example in some(2, 1)(subject, op, dtype, budget):
        if _taken(op, dtype, example) and not _divides_by_zero(
            subject, op, dtype, example
        ):
            yield example


def _divides_by_zero(subject: Subject, op: Op, dtype: DType, example: Example) -> bool:
    """Whether torch's form refuses the values, now or late, which the op takes."""
    if dtype is not int32:
        return False
    _, function = _functional(op) or ("", op.function)
    args, kwargs = subject.arguments(op, example, dtype)
    try:
        function(*args, **kwargs)
        subject.backend.synchronize(subject.index)
    except DivisionByZero:
        return True
    except Exception:
        return False  # for the law to judge
    return False


def _taken(op: Op, dtype: DType, example: Example) -> bool:
    assert example.case is not None
    if not (example.case.args and isinstance(example.case.args[0], np.ndarray)):
        return False
    _, function = _functional(op) or ("", op.function)
    args, kwargs = reference().arguments(op, example, dtype)
    with suppress(DovetailError, TypeError, AttributeError):
        return isinstance(function(*args, **kwargs), Tensor)
    return False


def _first_array(trial: Trial) -> Array:
    case = trial.example.case
    assert case is not None
    first: Array = case.args[0]
    return first


def _layout(trial: Trial) -> str:
    """A layout with memory around the elements, by the trial's seed."""
    return GUARDED[(trial.seed + len(trial.example.arrays())) % len(GUARDED)]


@law("inplace", examples=_calls, fits=_has_in_place, rank=40)
def inplace(trial: Trial) -> None:
    """`x.op_()` gives x the functional form's values, in place, or refuses whole."""
    op, dtype = judged(trial)
    name, function = _functional(op) or ("", op.function)
    args, kwargs = trial.subject.arguments(op, trial.example, dtype)
    twin, one = (
        watch(trial.subject, "x", _first_array(trial), _layout(trial)) for _ in "ab"
    )
    want = function(twin.x, *args[1:], **kwargs)
    in_place = getattr(one.x, f"{name}_")
    asked = any(isinstance(a, DType) for a in (*args[1:], *kwargs.values()))
    refusal = _refusal(one.x, want, asked)
    _writes(trial, one, want, refusal, lambda: in_place(*args[1:], **kwargs))


def _writes(
    trial: Trial, one: Watched, want: Tensor, refusal: type[Exception] | None,
    write: Function,
) -> None:  # fmt: skip
    """The write happens as it must, or is refused as it must be."""
    subject = trial.subject
    if refusal is not None:
        _refuses(subject, one, refusal, write)
        return
    given = write()
    if given is not one.x:
        raise Wrong("what is returned is not the tensor written")
    needed = subject.values(want).astype(one.before.dtype)
    got = subject.values(one.x)
    if not np.array_equal(got, needed, equal_nan=False):
        _same(trial, "what was written", got, needed, one.x.dtype)
    one.written_inside(subject)


def _same(trial: Trial, what: str, got: Array, want: Array, dtype: DType) -> None:
    """The same bits, where the op's kernels promise them of two calls at all."""
    if declares(trial.subject, *judged(trial)):
        same_bits(what, got, want)
    else:
        agree(trial, [got], [want], [dtype], share=2.0, note=f"{what}: ")


def _refusal(x: Tensor, want: Tensor, asked: bool = False) -> type[Exception] | None:
    """What a write of a result into a tensor raises, None if it is done.

    Args:
        asked: the dtype of the result is, which then has to be the tensor's.
    """
    if tuple(x.shape) != tuple(want.shape):
        return ShapeError
    taken = want.dtype is x.dtype if asked else can_cast(want.dtype, x.dtype)
    return None if taken else DTypeError


def _refuses(
    subject: Subject, one: Watched, refusal: type[Exception], write: Function
) -> None:
    try:
        write()
    except refusal:
        one.intact(subject)
        return
    except Exception as error:
        raise Wrong(
            f"raises {type(error).__name__}: {error}; needed {refusal.__name__}"
        ) from error
    raise Wrong(f"is not refused, needed {refusal.__name__}")


@law("out", examples=_calls, fits=_has_out, rank=40)
def out(trial: Trial) -> None:
    """`out=` holds the functional form's values, whatever its layout, or refuses."""
    op, dtype = judged(trial)
    _, function = _functional(op) or ("", op.function)
    args, kwargs = trial.subject.arguments(op, trial.example, dtype)
    want = function(*args, **kwargs)
    blank = np.zeros(tuple(want.shape), want.dtype.numpy)
    computed = op.takes_out == "dtype" and kwargs.get("dtype") is None

    def told(x: Tensor) -> dict[str, Any]:
        """The arguments by name; a kernel told the dtype may give other digits."""
        return {**kwargs, "dtype": x.dtype} if computed else kwargs

    for target in _targets(trial, blank):
        needed = function(*args, **told(target.x))
        refusal = _refusal(target.x, needed)
        _writes(
            trial, target, needed, refusal,
            lambda t=target: function(*args, **kwargs, out=t.x),
        )  # fmt: skip
    needed = function(*args, **told(want))
    _filled(trial, needed, lambda x: function(*args, **kwargs, out=x))
    _aliased(trial, function, told(want), want)


def _filled(trial: Trial, want: Tensor, write: Function) -> None:
    """What has no elements is given the result's shape, with its values."""
    target = trial.subject.tensor(np.zeros((0,), want.dtype.numpy))
    given = write(target)
    if given is not target:
        raise Wrong("what out= returns is not the tensor given, which had no elements")
    if tuple(target.shape) != tuple(want.shape):
        raise Wrong(f"out= without elements is of shape {tuple(target.shape)} then")
    got = trial.subject.values(target)
    what = "out= that had no elements"
    _same(trial, what, got, trial.subject.values(want), want.dtype)


def _targets(trial: Trial, blank: Array) -> Iterator[Watched]:
    """One that fits, one of another shape, one of a dtype that cannot hold it."""
    yield watch(trial.subject, "out", blank, _layout(trial))
    longer = np.zeros((*(n or 1 for n in blank.shape), 2), blank.dtype)
    yield watch(trial.subject, "out", longer, PLAIN)
    if from_numpy(blank.dtype) is not bool_:
        yield watch(trial.subject, "out", np.zeros(blank.shape, bool), PLAIN)


def _aliased(trial: Trial, function: Function, kwargs: Any, want: Tensor) -> None:
    """`out=` may be the first input."""
    op, dtype = judged(trial)
    args, _ = trial.subject.arguments(op, trial.example, dtype)
    x = args[0]
    if tuple(x.shape) != tuple(want.shape) or x.dtype is not want.dtype:
        return
    # Of another layout a kernel may make other NaNs, which says nothing of `out=`.
    twin, fresh = (trial.subject.tensor(_first_array(trial)) for _ in "ab")
    kept = trial.subject.values(function(twin, *args[1:], **kwargs))
    given = function(fresh, *args[1:], **kwargs, out=fresh)
    if given is not fresh:
        raise Wrong("what out= returns is not the tensor given")
    got = trial.subject.values(fresh)
    _same(trial, "out=, which is the first input", got, kept, want.dtype)
