"""What compiled functions do while a stance is taken."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import dovetail as dt
from dovetail.compiler import set_stance
from dovetail.errors import ArgumentError, CallOrderError, CaptureError, NotSupported

ONE, TWO = dt.ones(3), dt.ones(2, 2)


@pytest.fixture
def branching() -> Any:
    """A function that goes one way for numbers above 0, and another one below."""

    @dt.compile
    def function(x: dt.Tensor) -> dt.Tensor:
        return x * 2 if x.sum() > 0 else x - 1

    return function


def counts(function: Any) -> tuple[int, int, int]:
    """Calls, recordings and replays."""
    report = function.report()
    return report.calls, report.recordings, report.replays


def test_eager_calls_are_not_counted(branching: Any) -> None:
    """As a block, from a call on, and around another function."""
    with set_stance("force_eager"):
        assert branching(ONE).tolist() == [2.0] * 3
        assert not dt.compiler.is_compiling()
    assert counts(branching) == (0, 0, 0)
    set_stance("force_eager")
    branching(ONE)
    set_stance("default")
    assert counts(branching) == (0, 0, 0)

    @set_stance("force_eager")
    def around() -> Any:
        return branching(ONE)

    branching(ONE)
    around()
    assert counts(branching) == (1, 1, 0)


def test_a_block_ends_with_the_stance_before(branching: Any) -> None:
    """Also where it ends with an error."""

    @set_stance("default")
    def failing() -> None:
        branching(ONE)
        raise KeyError

    with set_stance("force_eager"):
        with pytest.raises(KeyError):
            failing()
        branching(ONE)
    branching(ONE)
    assert counts(branching) == (2, 1, 1)


@pytest.mark.parametrize("unlike", [TWO, -ONE], ids=["arguments", "values"])
def test_new_branches_are_refused(branching: Any, unlike: dt.Tensor) -> None:
    """At once where the arguments tell, else where the call leaves its branch."""
    with set_stance("fail_on_recompile"), pytest.raises(CaptureError):
        branching(ONE)
    branching(ONE)
    with set_stance("fail_on_recompile"):
        assert branching(ONE).tolist() == [2.0] * 3
        with pytest.raises(CaptureError, match="known branch"):
            branching(unlike)
    report = branching.report()
    assert (report.recordings, report.replays, report.errors) == (1, 1, 2)


def test_nothing_runs_where_the_arguments_are_refused() -> None:
    """A refused call changes nothing."""
    called = []

    @dt.compile
    def function(x: dt.Tensor) -> dt.Tensor:
        called.append(x)
        return x

    with set_stance("fail_on_recompile"), pytest.raises(CaptureError):
        function(ONE)
    assert not called


def test_another_result_is_another_branch() -> None:
    """A call that ends earlier than those before it."""
    whole: list[bool] = [True]

    @dt.compile
    def function(x: dt.Tensor) -> Any:
        y = x + 1
        return (x, y) if whole else y

    function(ONE)
    whole.clear()
    with set_stance("fail_on_recompile"), pytest.raises(CaptureError):
        function(ONE)


@pytest.mark.parametrize("unlike", [TWO, -ONE], ids=["arguments", "values"])
def test_new_branches_are_eager(branching: Any, unlike: dt.Tensor) -> None:
    """They give results, and are not recorded."""
    branching(ONE)
    with set_stance("eager_on_recompile"):
        branching(ONE)
        found = branching(unlike)
    wanted = unlike * 2 if unlike is TWO else unlike - 1
    assert found.tolist() == wanted.tolist()
    assert counts(branching) == (3, 1, 1)
    assert sum(branching.report().fallbacks.values()) == 1


def test_first_calls_are_eager(branching: Any) -> None:
    """From the second on a function is followed."""
    with set_stance("eager_then_compile"):
        for _ in range(3):
            branching(ONE)
    assert counts(branching) == (3, 1, 1)


def test_modules_have_it_too() -> None:
    """However they were compiled."""
    plain, around = dt.nn.Linear(3, 2), dt.compile(dt.nn.Linear(3, 2))
    plain.compile(fullgraph=True)
    with set_stance("fail_on_recompile"):
        for module in (plain, around):
            with pytest.raises(CaptureError):
                module(ONE)
    with set_stance("force_eager"):
        assert plain(ONE).shape == around(ONE).shape == (2,)


def test_a_stance_is_a_threads_own(branching: Any) -> None:
    """Another thread's calls are followed meanwhile."""
    with set_stance("force_eager"), ThreadPoolExecutor(1) as pool:
        pool.submit(branching, ONE).result()
    assert counts(branching) == (1, 1, 0)


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "stance": (lambda: set_stance("fast"), ArgumentError, "'fast', an invalid"),
    "backend": (lambda: set_stance(force_backend="x"), ArgumentError, "force_backend"),
    "function": (lambda: set_stance(force_backend=print), NotSupported, "a function"),
    "both": (
        lambda: set_stance("force_eager", force_backend="eager"), ArgumentError,
        "'default' with it",
    ),
    "within": (
        lambda: dt.compile(lambda: set_stance("default"))(), CallOrderError,
        "within a compiled function",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_leaves_the_stance(branching: Any, what: str) -> None:
    """Each by what is wrong with it."""
    call, error, words = REFUSED[what]
    with pytest.raises(error, match=words):
        call()
    branching(ONE)
    assert counts(branching) == (1, 1, 0)
