"""What public functions are annotated with holds for whoever calls them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest

import dovetail as dt
from dovetail.engine.annotations import conforms
from dovetail.errors import ArgumentTypeError, DovetailError, NumberOutOfRange

F = dt.nn.functional
X = dt.arange(6.0).reshape(2, 3)

# Of annotations that refuse something: what conforms, and what does not.
VALUES: Final[dict[str, tuple[list[Any], list[Any]]]] = {
    "Tensor": ([X], [None, 1.0, "a", [X]]),
    "int": ([3, dt.tensor(3)], [True, 1.5, "3", None, (3,), dt.ones(2), X]),
    "float": ([1, 0.5, True, dt.tensor(1.0)], [1j, "1", None, X, dt.tensor(1j)]),
    "bool": ([True, False], [0, 1, None, "True", X]),
    "str": (["a"], [1, None, b"a"]),
    "Operand": ([X, 1, 1j, True], [None, "1", [1]]),
    "Sequence[int]": ([(1, 2), [3], ()], [3, (True,), (1.0,), "12"]),
    "Sequence[Tensor]": ([(X, X), []], [X, (X, 1)]),
    "DType": ([dt.float32, float], ["float32", 1]),
    "int | None": ([3, None], [True, "3"]),
    "bool | None": ([True, None], [0, X]),
    "Literal['a', 'b'] | None": (["a", None], [1, b"a", X]),
}


@pytest.mark.parametrize("annotation", VALUES)
def test_what_conforms(annotation: str) -> None:
    """Each annotation takes what it says, and nothing else."""
    good, bad = VALUES[annotation]
    assert [v for v in good if not conforms(annotation, v)] == []
    assert [v for v in bad if conforms(annotation, v)] == []


def guarded_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """All public functions that are no op, and methods, by name."""
    for space in (dt, F, dt.Tensor):
        for name in dir(space):
            found = getattr(space, name)
            found = getattr(found, "slow", found)
            code = getattr(found, "__code__", None)
            if code is not None and "edge" in code.co_freevars:
                yield f"{space.__name__}.{name}", found


GUARDED: Final = dict(guarded_functions())
BY_NAME: Final = (
    inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY,
)  # fmt: skip


def test_every_annotation_is_asked_for() -> None:
    """A wrong type is refused by name, though nothing else of the call is right."""
    passed = []
    tried = 0
    for path, function in GUARDED.items():
        for p in inspect.signature(function).parameters.values():
            if str(p.annotation) not in VALUES or p.kind not in BY_NAME:
                continue
            tried += 1
            for value in VALUES[str(p.annotation)][1]:
                try:
                    function(**{p.name: value})
                except ArgumentTypeError as error:
                    if f": {p.name} is " in str(error):
                        continue
                passed.append((path, p.name, value))
    assert passed == []
    assert tried > 300


BEFORE_AND_AFTER: Final[dict[str, tuple[Any, Any, type[DovetailError]]]] = {
    "an integer": (lambda: X.chunk(2, 0), lambda: X.chunk(2, True), ArgumentTypeError),
    "a size": (lambda: X.chunk(2, 0), lambda: X.chunk(1 << 64, 0), NumberOutOfRange),
    "by name": (
        lambda: X.chunk(2, dim=0), lambda: X.chunk(chunks=-1 << 64, dim=0),
        NumberOutOfRange,
    ),
    "beside a sequence": (
        lambda: X.split([1, 1], 0), lambda: X.split([1, 1], 1 << 64), NumberOutOfRange
    ),
    "in a sequence": (
        lambda: dt.hstack([X, X]), lambda: dt.hstack([X, 2.0]), ArgumentTypeError
    ),
    "a number of dims": (
        lambda: F.dropout(X, dt.tensor(0.5)), lambda: F.dropout(X, dt.ones(2)),
        ArgumentTypeError,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BEFORE_AND_AFTER)
def test_good_calls_let_no_bad_ones_pass(case: str) -> None:
    """What does not conform is refused also after calls of the same types that do."""
    good, bad, error = BEFORE_AND_AFTER[case]
    for _ in range(2):
        good()
        with pytest.raises(error):
            bad()


METHODS: Final = [
    n for n in dir(dt.Tensor)
    if not n.startswith("_") and f"Tensor.{n}" in GUARDED and not n.endswith("_")
]  # fmt: skip


def test_methods_take_no_out() -> None:
    """`out=` is a function's: a method that shares its definition refuses it."""
    taken = []
    for name in METHODS:
        target = dt.zeros(2, 3)
        try:
            getattr(dt.ones(2, 3), name)(out=target)
        except (DovetailError, TypeError):
            continue
        taken.append(name)
    assert taken == []
    assert len(METHODS) > 100


def test_a_reserved_word_is_a_keyword_of_the_call() -> None:
    """`from=` is what Python cannot call a parameter, and what torch calls it."""
    drawn = dt.zeros(50).random_(**{"from": 3, "to": 5})
    assert set(drawn.tolist()) == {3.0, 4.0}
    with pytest.raises(ArgumentTypeError, match="from_"):
        dt.zeros(2).random_(from_=3, to=5)
