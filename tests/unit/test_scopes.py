"""Scopes belong to their context: interposers, recorders and the grad mode."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.engine import scopes


class Heard(scopes.Recorder):
    """Notes the names of ops, and of events."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.calls: list[tuple[Any, Any, Any, Any]] = []

    def call(self, op: Any, inputs: Any, attrs: Any, outs: Any) -> None:
        self.names.append(op.name)
        self.calls.append((op, inputs, attrs, outs))

    def event(self, name: str, *details: Any) -> None:
        self.names.append(name)


class Deep(Heard):
    """Hears of ops within bodies, too."""

    depth = True


def heard(program: Callable[[], Any], into: Heard | None = None) -> list[str]:
    """The ops that a program runs."""
    recorder = Heard() if into is None else into
    with scopes.record(recorder):
        program()
    return recorder.names


def test_a_recorder_sees_the_casts_of_promotion() -> None:
    """Ops run on inputs of one dtype, and the casts to it are calls of their own."""
    a, b = dt.ones(3), dt.ones(3, dtype=dt.int64)
    recorder = Heard()
    assert heard(lambda: a + b, recorder) == ["cast", "add"]
    _, inputs, _, _ = recorder.calls[1]
    assert {x.dtype for x in inputs} == {dt.float32}


def test_a_recorder_gets_residuals_and_normalised_attributes() -> None:
    """What only backward uses is among the results, and dims count from the front."""
    recorder = Heard()
    x = dt.rand(4, 5)
    with scopes.record(recorder):
        values, _ = dt.sort(x, -1)
        dt.nn.functional.dropout(x, 0.5)
    by_name = {op.name: (op, attrs, outs) for op, _, attrs, outs in recorder.calls}
    _, attrs, outs = by_name["sort"]
    assert attrs["dim"] == 1
    assert outs[0] is values
    hidden = [(op, outs) for op, _, outs in by_name.values() if op.residuals]
    assert hidden, "no op with residuals ran"
    for op, outs in hidden:
        assert len(outs) == len(op.outputs)


def test_a_recorder_sees_writes_in_place_as_ops() -> None:
    """Fills, copies, index writes and in-place ops write by an op, once a write."""
    x = dt.ones(4, 4)
    part = x[1:]
    for program in (
        lambda: x.add_(1), lambda: x.zero_(), lambda: part.mul_(2),
        lambda: x.__setitem__(0, 5.0), lambda: x.copy_(dt.zeros(4)),
    ):  # fmt: skip
        before = x._version
        assert "assign_" in heard(program)
        assert x._version == before + 1


def test_a_recorder_hears_of_the_outermost_op_alone() -> None:
    """Ops within a body are told only to recorders that ask for depth."""
    x = dt.ones(3)
    shallow, deep = heard(lambda: dt.sgn(x)), heard(lambda: dt.sgn(x), Deep())
    assert shallow == ["sgn"]
    assert deep[-1] == "sgn"
    assert len(deep) > 1


def test_an_op_differentiated_through_its_body_is_heard_as_that_body() -> None:
    """Without a gradient rule the nodes are the body's, and so are the calls."""
    x = dt.rand(3, requires_grad=True)
    assert "prod" not in heard(lambda: x.prod())
    assert heard(lambda: x.detach().prod())[-1] == "prod"


def test_a_recorder_sees_views_and_backward() -> None:
    """Views taken, and the ops that a backward pass runs, are calls like others."""
    x = dt.rand(4, requires_grad=True)
    assert heard(lambda: x[1:]) == ["basic_index"]
    assert "mul" in heard(lambda: (x * x).sum().backward())


def test_a_recorder_is_told_the_results_on_the_tape_and_the_grad_mode() -> None:
    """The results have their nodes, and the grad mode is that of the call."""
    seen = []

    class Modes(scopes.Recorder):
        def call(self, op: Any, inputs: Any, attrs: Any, outs: Any) -> None:
            seen.append((outs[0].requires_grad, dt.is_grad_enabled()))

    x = dt.rand(2, requires_grad=True)
    with scopes.record(Modes()):
        _ = x * 2
        with dt.no_grad():
            _ = x * 2
    assert seen == [(True, True), (False, False)]


def test_events_reach_the_recorders_of_this_context() -> None:
    """What is no op is told by name."""
    assert heard(lambda: scopes.tell("backward", 1)) == ["backward"]
    scopes.tell("nobody listens")


def test_an_interposer_can_get_the_residuals() -> None:
    """`proceed.outs` holds all results, through a chain of interposers as well."""
    found = []

    def outer(op: Any, inputs: Any, attrs: Any, proceed: Any) -> Any:
        made = proceed(inputs, attrs)
        found.append((op, made, proceed.outs))
        return made

    def inner(op: Any, inputs: Any, attrs: Any, proceed: Any) -> Any:
        return proceed(inputs, attrs)

    x = dt.rand(4, 4)
    with scopes.interpose(outer), scopes.interpose(inner):
        dt.nn.functional.dropout(x, 0.5)
    op, made, outs = next(f for f in found if f[0].residuals)
    assert len(outs) == len(op.outputs)
    assert outs[0] is made


def test_interposers_see_what_was_written_and_recorders_what_ran() -> None:
    """Above promotion stand interposers, below it recorders."""
    above = []

    def interposer(op: Any, inputs: Any, attrs: Any, proceed: Any) -> Any:
        above.append((op.name, inputs[1]))
        return proceed(inputs, attrs)

    recorder, x = Heard(), dt.ones(2, dtype=dt.int64)
    with scopes.record(recorder), scopes.interpose(interposer):
        _ = x + 1.5
    assert above == [("add", 1.5)]
    assert [n for n in recorder.names if n != "number"] == ["cast", "add"]


# ---- to whom a scope belongs


def test_a_scope_belongs_to_its_thread() -> None:
    """Another thread's ops are not heard, and its results are the same."""
    start, stop = threading.Event(), threading.Event()
    results = []

    def other() -> None:
        start.wait(10)
        x = dt.arange(8.0)
        results.append(((x + x)[2:5] * 2).tolist())
        stop.set()

    thread = threading.Thread(target=other)
    thread.start()
    recorder = Heard()
    with scopes.record(recorder):
        start.set()
        assert stop.wait(10)
    thread.join()
    assert recorder.names == []
    assert results == [[8.0, 12.0, 16.0]]


def test_tasks_have_scopes_of_their_own() -> None:
    """Tasks that take turns hear their own ops, and inherit what was open."""

    async def task(op: str, turns: int) -> list[str]:
        recorder = Heard()
        with scopes.record(recorder):
            for _ in range(turns):
                await asyncio.sleep(0)
                getattr(dt.ones(2), op)()
        return recorder.names

    async def both() -> list[list[str]]:
        with scopes.record(outer):
            return await asyncio.gather(task("exp", 3), task("neg", 2))

    outer = Heard()
    exps, negs = asyncio.run(both())
    assert [n for n in exps if n != "full"] == ["exp"] * 3
    assert [n for n in negs if n != "full"] == ["neg"] * 2
    assert sorted(n for n in outer.names if n != "full") == ["exp"] * 3 + ["neg"] * 2


def test_a_scope_that_was_closed_is_deaf_where_it_was_inherited() -> None:
    """A task that outlives the scope it began in is not heard any more."""
    recorder = Heard()

    async def late() -> None:
        await asyncio.sleep(0.01)
        with scopes.record(Heard()):  # the count of scopes is not zero
            dt.ones(2).exp()

    async def main() -> None:
        with scopes.record(recorder):
            task = asyncio.create_task(late())
            await asyncio.sleep(0)
        await task

    asyncio.run(main())
    assert recorder.names == []


def test_a_generator_closed_by_the_collector_leaves_no_scope_behind() -> None:
    """Scopes opened in a generator end with it, also out of order."""

    def steps(into: Heard) -> Iterator[None]:
        with scopes.record(into):
            yield
            yield

    before = scopes.anywhere[0]
    first, second = Heard(), Heard()
    a, b = steps(first), steps(second)
    next(a), next(b)
    del a
    gc.collect()
    dt.ones(2).exp()
    assert "exp" not in first.names
    assert second.names[-1] == "exp"
    del b
    gc.collect()
    assert scopes.anywhere[0] == before
    assert scopes.here() is None


def test_written_code_knows_whether_a_scope_is_open() -> None:
    """The name that calls ask for says what the count of open scopes does."""
    names: dict[str, Any] = {}
    scopes.by_name(names)
    assert not names["_scoped"]
    with scopes.record(Heard()), scopes.record(Heard()):
        assert names["_scoped"]
    assert not names["_scoped"]


def test_a_generator_closed_in_another_thread_closes_its_scope() -> None:
    """Closing elsewhere is no error, and the scope is deaf at home."""
    recorder = Heard()

    def steps() -> Iterator[None]:
        with scopes.record(recorder):
            yield

    held = [steps()]
    next(held[0])
    thread = threading.Thread(target=held.clear)
    thread.start()
    thread.join()
    with scopes.record(Heard()):
        dt.ones(2).exp()
    assert recorder.names == []
    assert not scopes.watched()


# ---- properties: any nesting, in any order, with exceptions


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 5), max_size=24))
def test_opening_and_closing_in_any_order(moves: list[int]) -> None:
    """Each recorder hears exactly the ops that ran while it was open."""
    x = dt.ones(2)
    open_: dict[int, tuple[Any, Heard]] = {}
    expected: dict[int, int] = {}
    done: list[tuple[Heard, int]] = []
    for move in moves:
        if move in open_:
            scope, recorder = open_.pop(move)
            scope.__exit__(None, None, None)
            done.append((recorder, expected.pop(move)))
        else:
            recorder = Heard()
            scope = scopes.record(recorder)
            scope.__enter__()
            open_[move], expected[move] = (scope, recorder), 0
        _ = x + x
        for key in expected:
            expected[key] += 1
    for key, (scope, recorder) in open_.items():
        scope.__exit__(None, None, None)
        done.append((recorder, expected[key]))
    assert [len(r.names) for r, _ in done] == [n for _, n in done]
    assert scopes.here() is None
    assert not scopes.anywhere[0]


Mode = tuple[str, list[Any]]
modes: st.SearchStrategy[list[Any]] = st.recursive(
    st.just([]),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(["no", "enable", "set", "raise", "call"]), inner),
        max_size=3,
    ),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(modes)
def test_the_grad_mode_nests(program: list[Mode]) -> None:
    """After each block, also one that raised, the mode is what it was before."""

    def run(program: list[Mode], mode: bool) -> None:
        for kind, inner in program:
            assert dt.is_grad_enabled() is mode
            if kind == "raise":
                with contextlib.suppress(ZeroDivisionError), dt.no_grad():
                    run(inner, False)
                    raise ZeroDivisionError
            elif kind == "call":
                dt.enable_grad()(run)(inner, True)
            else:
                made = {
                    "no": (dt.no_grad(), False), "enable": (dt.enable_grad(), True),
                }  # fmt: skip
                scope, inside = made.get(kind) or (
                    dt.set_grad_enabled(not mode),
                    not mode,
                )
                with scope:
                    run(inner, inside)
        assert dt.is_grad_enabled() is mode

    run(program, True)


def test_a_decorated_generator_has_its_mode_only_while_it_runs() -> None:
    """Between its steps the caller's mode holds; values and errors pass through."""

    @dt.no_grad()
    def steps() -> Any:
        got = yield dt.is_grad_enabled()
        try:
            yield got, dt.is_grad_enabled()
        except KeyError:
            yield "caught", dt.is_grad_enabled()
        return "end"

    made = steps()
    assert next(made) is False
    assert dt.is_grad_enabled()
    assert made.send("hello") == ("hello", False)
    assert dt.is_grad_enabled()
    assert made.throw(KeyError("x")) == ("caught", False)
    assert dt.is_grad_enabled()
    with pytest.raises(StopIteration) as stop:
        next(made)
    assert stop.value.value == "end"
    assert dt.is_grad_enabled()


def test_a_decorated_coroutine_has_its_mode_while_it_runs() -> None:
    """The mode holds after an await, and other tasks do not have it."""

    @dt.no_grad()
    async def task() -> list[bool]:
        seen = [dt.is_grad_enabled()]
        await asyncio.sleep(0)
        return [*seen, dt.is_grad_enabled()]

    async def other() -> list[bool]:
        await asyncio.sleep(0)
        return [dt.is_grad_enabled()]

    async def both() -> Any:
        return await asyncio.gather(task(), other())

    assert asyncio.run(both()) == [[False, False], [True]]
    assert dt.is_grad_enabled()


def test_one_context_manager_serves_two_threads() -> None:
    """An object that two threads enter at once restores each one's own mode."""
    scope, entered, seen = dt.no_grad(), threading.Barrier(2), []

    def work(outer: bool) -> None:
        dt.set_grad_enabled(outer)
        entered.wait(10)
        with scope:
            entered.wait(10)
            assert not dt.is_grad_enabled()
            entered.wait(10)
        seen.append((outer, dt.is_grad_enabled()))

    threads = [threading.Thread(target=work, args=(m,)) for m in (True, False)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(seen) == [(False, False), (True, True)]
