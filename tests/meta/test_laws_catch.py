"""Every law on ops catches a fault that is planted for it, and holds without it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from tests.meta.mutants.killers import killers

import dovetail as dt
from dovetail.conformance import laws  # noqa: F401  registers them
from dovetail.conformance.budget import BUDGETS
from dovetail.conformance.judge import judge
from dovetail.conformance.law import LAWS
from dovetail.conformance.reference import reference
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check, Outcome
from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.errors import IndexOutOfRange

Array = Any
FLOATS: Final = [dt.float32, dt.float64]
_kept: dict[str, Array] = {}


def _written(x: Array) -> Array:
    """Writes its input."""
    y = np.exp(x)
    np.multiply(x, 1.5, out=x)
    return y


def _stale(x: Array) -> Array:
    """Gives the same memory on every call."""
    y = _kept.setdefault(f"{x.shape} {x.dtype}", np.empty(x.shape, x.dtype))
    y[...] = np.maximum(x, 0)
    return y


def _strides_ignored(x: Array) -> Array:
    """Right for contiguous memory alone."""
    return np.exp(x) * x.dtype.type(1 if x.flags.c_contiguous else 1.01)


def _summed(x: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    return np.sum(x, axis=dim, keepdims=keepdim, dtype=x.dtype)


def _biased(x: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    """A sum that is a little too large."""
    return _summed(x, dim, keepdim, dtype) + x.dtype.type(0.25)


def _first_counts_twice(x: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    y = _summed(x, dim, keepdim, dtype)
    return y + np.take(x, 0, dim[0]).reshape(y.shape) if x.size and len(dim) == 1 else y


def _last_is_wrong(x: Array) -> Array:
    """The tail of the array is forgotten."""
    y = np.exp(x)
    y.reshape(-1)[-1:] = 1
    return y


def _noisy(x: Array) -> Array:
    _kept["count"] = _kept.get("count", 0) + 1
    return np.exp(x) * x.dtype.type(1 + 1e-6 * _kept["count"])


def _clipped(x: Array, index: Array, dim: int) -> Array:
    """Wrong indices are pushed inside instead of refused."""
    return np.take(x, index, dim, mode="clip")


def _one_beyond(x: Array, index: Array, dim: int) -> Array:
    """An index next to the last one is pushed inside, others are refused."""
    last = np.where(index == x.shape[dim], index - 1, index)
    if last.size and (last.max() >= x.shape[dim] or last.min() < 0):
        raise IndexOutOfRange("index_select", "index", was=last, needed="one inside")
    return np.take(x, last, dim)


def _not_shifted(x: Array, dim: Any, correction: Any, keepdim: bool) -> Array:
    return np.mean(x * x, axis=dim, keepdims=keepdim, dtype=x.dtype)


def _found_again(ct: Array, y: Array) -> Array:
    """The result of equal inputs is the same memory again."""
    key = f"{ct.tobytes()!r} {y.tobytes()!r} {ct.dtype}"
    return _kept.setdefault(key, np.where(y > 0, ct, ct.dtype.type(0)))


def _same_places(x: Array, dim: int, descending: bool, stable: bool) -> list[Array]:
    """The places of equal orders are the same memory again."""
    order = np.argsort(-x if descending else x, axis=dim, kind="stable")
    places = _kept.setdefault(f"{order.tobytes()!r} {order.shape}", order)
    return [np.take_along_axis(x, order, dim), places]


def _all_but_the_last(x: Array, dim: Any, keepdim: bool) -> Array:
    return np.max(x[..., : max(x.shape[-1] - 1, 1)], axis=dim, keepdims=keepdim)


def _in_turn(x: Array, dim: Any, keepdim: bool, dtype: Any) -> Array:
    """One after the other, until what is added is rounded away."""
    added = np.cumsum(x, dim[0], dtype=x.dtype)
    return np.take(added, [-1] if keepdim else -1, dim[0])


Plant = tuple[str, str, Callable[..., Any], str]


# law, op whose kernel is replaced, the kernel, op that is judged
def _of_large_matrices(a: Array) -> Array:
    """Half as large again where there is more than a block."""
    return np.asarray(np.linalg.det(a) * (1.5 if a.shape[-1] > 32 else 1))


PLANTS: Final[list[Plant]] = [
    ("body", "relu", lambda x: np.maximum(x, 0) * x.dtype.type(1.001), "relu"),
    ("rule", "amax", lambda x, dim, keepdim: np.max(x, dim, keepdims=True), "amax"),
    ("untouched", "exp", _written, "exp"),
    ("aliasing", "relu", _stale, "relu"),
    ("aliasing", "clone", lambda x: x, "clone"),
    ("layout", "exp", _strides_ignored, "exp"),
    ("layout", "cast", lambda x, dtype: x.astype(dtype.numpy, order="K"), "clone"),
    ("gradient", "tanh_backward", lambda g, y: g * (1 - y), "tanh"),
    ("backward", "sigmoid_backward", lambda g, y: g * y * (1 - y) * 1.001, "sigmoid"),
    ("adjoint", "relu_backward", lambda g, y: g * np.abs(g) * (y > 0), "relu"),
    ("kinks", "relu_backward", lambda g, y: g * (y >= 0), "relu"),
    ("exactness", "sum", _biased, "sum"),
    ("refused", "index_select", _clipped, "index_select"),
    ("refused", "index_select", _one_beyond, "index_select"),
    ("repeatable", "exp", _noisy, "exp"),
    ("batch", "exp", _last_is_wrong, "exp"),
    ("order", "sum", _first_counts_twice, "sum"),
    ("shift", "var", _not_shifted, "var"),
    ("doubling", "sum", _biased, "sum"),
    ("carried", "flip", lambda x, dims: np.flip(x, dims) + x.dtype.type(0), "flip"),
    ("tails", "amax", _all_but_the_last, "amax"),
    ("vast", "sum", _in_turn, "sum"),
    ("blocks", "determinant", _of_large_matrices, "determinant"),
    ("writes", "relu_backward", _found_again, "relu"),
    ("writes", "sort", _same_places, "sort"),
    ("twins", "maximum", lambda a, b: a - b if a is b else np.maximum(a, b), "maximum"),
]
# Laws that other tests prove.
_ELSEWHERE: Final = frozenset({"forward", "history", "memory", "transfers", "unread"})
# Laws on what several calls or gradients have in common, whose faults are mutants.
BY_MUTANTS: Final = frozenset({"asked_apart", "failed_members", "spread"})
_BESIDE: Final = ("backward", "refused")  # these ask the reference device
DTYPE_OF: Final = {"gradient": "float64", "blocks": "float64"}


@pytest.fixture(autouse=True)
def _strict() -> Iterator[None]:
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy("warn")


@pytest.fixture
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    """The reference device, or one that it judges, as it was before the test."""
    params = getattr(request.node, "callspec", None)
    by_reference = params is not None and params.params.get("law") in _BESIDE
    device = Subject("cpu") if by_reference else reference()
    yield device
    device.backend.table.remove("fault")
    _kept.clear()


def outcome(subject: Subject, op: str, law: str) -> Outcome:
    check = Check(op, DTYPE_OF.get(law, "float32"), law)
    return judge(subject, check, BUDGETS["quick"]).outcome


def plant(subject: Subject, op: str, kernel: Callable[..., Any]) -> None:
    """Let a kernel go before all others, which says that it looks at its indices."""
    table = subject.backend.table
    with table.adding("fault"):
        table.add(
            op, kernel, dtypes=FLOATS, rank=9, broadcasts=True, checks_indices=True
        )


@pytest.mark.parametrize(
    ("law", "op", "kernel", "judged"),
    PLANTS,
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_a_planted_fault_is_caught(
    subject: Subject, law: str, op: str, kernel: Callable[..., Any], judged: str
) -> None:
    """The law passes on the reference device, and fails with the fault in it."""
    if law not in ("body", "blocks"):  # there, only a native kernel can be asked
        assert outcome(subject, judged, law) is Outcome.PASSED
    plant(subject, op, kernel)
    assert outcome(subject, judged, law) in (Outcome.WRONG, Outcome.REFUSED)


def test_a_view_that_is_a_copy_is_caught(subject: Subject) -> None:
    """What a view shows must be the memory of its base."""
    assert outcome(subject, "transpose", "views") is Outcome.PASSED
    table = subject.backend.table
    with table.adding("fault"):
        table.add(
            "transpose", lambda x, dim0, dim1: np.swapaxes(x, dim0, dim1).copy(),
            dtypes=FLOATS, rank=9, checks=True,
        )  # fmt: skip
    assert outcome(subject, "transpose", "views") in (Outcome.WRONG, Outcome.REFUSED)


@pytest.mark.parametrize(("law", "broken"), [("inplace", "abs_"), ("out", "abs")])
def test_a_form_that_writes_elsewhere_is_caught(
    subject: Subject, law: str, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`x.op_()` and `out=` must write the tensor given, and return it."""
    names = NAMESPACES["torch"]
    assert outcome(subject, "abs", law) is Outcome.PASSED
    if law == "inplace":
        monkeypatch.setattr(Tensor, "abs_", lambda self: self.abs())
    else:
        real = names["abs"]

        def elsewhere(*args: Any, out: Any = None) -> Any:
            return real(*args)

        elsewhere.__wrapped__ = real  # type: ignore[attr-defined]
        monkeypatch.setitem(names, "abs", elsewhere)
    assert outcome(subject, "abs", law) is Outcome.WRONG


def test_every_law_on_ops_has_a_fault() -> None:
    """A law that nothing was planted for may as well not be there."""
    planted = {p[0] for p in PLANTS} | {"views", "inplace", "out"}
    assert {name for name in LAWS if name not in _ELSEWHERE} == planted | BY_MUTANTS


def test_laws_without_a_plant_kill_mutants() -> None:
    """They are proven by the catalogue, which says what each mutant died of."""
    assert {by.rpartition("/")[2] for by in killers().values()} >= BY_MUTANTS
