"""Profiles: turns, ranges, times, tables and traces, by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import dovetail as dt
from dovetail import errors
from dovetail.autograd import profiler as first


def step_of(weight: Any) -> None:
    with dt.profiler.record_function("forward"):
        loss = (dt.ones(2, 3) @ weight).sum()
    with dt.profiler.record_function("backward"):
        loss.backward()


def test_each_turn_has_the_ranges_of_its_steps() -> None:
    """A turn is ready when its last step is over, and has what ran in it."""
    told: list[Any] = []

    def ready(prof: Any) -> None:
        found = {e.key: e.count for e in prof.key_averages() if e.is_user_annotation}
        told.append((prof.step_num, found))

    weight = dt.ones(3, 4).requires_grad_()
    turns = dt.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with dt.profiler.profile(schedule=turns, on_trace_ready=ready) as prof:
        for _ in range(9):
            step_of(weight)
            prof.step()
    named = {"forward": 2, "backward": 2}
    assert told == [
        (4, {"ProfilerStep#2": 1, "ProfilerStep#3": 1, **named}),
        (8, {"ProfilerStep#6": 1, "ProfilerStep#7": 1, **named}),
    ]


@pytest.mark.parametrize("steps", range(10))
def test_a_turn_that_is_cut_short_is_ready_at_the_end(steps: int) -> None:
    told: list[int] = []
    with dt.profiler.profile(
        schedule=dt.profiler.schedule(wait=1, warmup=0, active=3),
        on_trace_ready=lambda prof: told.append(prof.step_num),
    ) as prof:
        for _ in range(steps):
            prof.step()
    whole = list(range(4, steps + 1, 4))
    assert told == (whole if steps % 4 == 0 else [*whole, steps])


def test_ops_of_backward_are_seen_with_shapes_and_bytes() -> None:
    weight = dt.ones(3, 4).requires_grad_()
    with dt.profiler.profile(
        record_shapes=True, profile_memory=True, with_stack=True, with_flops=True
    ) as prof:
        step_of(weight)
    products = [e for e in prof.events() if e.name == "matmul"]
    inside = [e.cpu_parent.name for e in products]
    assert inside == ["forward", "backward"]
    assert products[0].input_shapes == [[2, 3], [3, 4]]
    assert products[0].cpu_memory_usage == 2 * 4 * 4
    assert products[0].flops == 2 * 2 * 3 * 4
    assert "step_of" in products[0].stack[0]
    grouped = prof.key_averages(group_by_input_shape=True)
    assert [e.count for e in grouped if e.key == "matmul"] == [1, 1]
    assert prof.key_averages().total_average().count == len(prof.events())


def test_times_of_events_contain_those_within_them() -> None:
    with dt.profiler.profile() as prof:
        step_of(dt.ones(3, 4).requires_grad_())
    outer = next(e for e in prof.events() if e.name == "forward")
    inner = sum(e.cpu_time_total for e in outer.cpu_children)
    assert 0 < inner <= outer.cpu_time_total
    assert outer.self_cpu_time_total == pytest.approx(outer.cpu_time_total - inner)


def test_tables_are_in_the_order_asked_for() -> None:
    with dt.profiler.profile(record_shapes=True) as prof:
        for _ in range(3):
            dt.ones(2).exp()
        dt.ones(2).log()
    lines = prof.key_averages().table(sort_by="count", row_limit=2).splitlines()
    assert [line.split()[0] for line in lines[3:5]] in (
        ["full", "exp"],
        ["ones", "exp"],
    )
    assert "Self CPU time total" in lines[-1]
    with pytest.raises(errors.ArgumentError, match="sort_by"):
        prof.key_averages().table(sort_by="beauty")


def test_traces_are_files_that_viewers_read(tmp_path: Path) -> None:
    handler = dt.profiler.tensorboard_trace_handler(str(tmp_path / "log"), "me")
    with dt.profiler.profile(on_trace_ready=handler, record_shapes=True) as prof:
        prof.add_metadata_json("model", '{"layers": 2}')
        step_of(dt.ones(3, 4).requires_grad_())
    (path,) = (tmp_path / "log").iterdir()
    assert path.name.startswith("me.")
    assert path.name.endswith(".pt.trace.json")
    content = json.loads(path.read_text())
    assert content["model"] == {"layers": 2}
    entry = next(e for e in content["traceEvents"] if e["name"] == "matmul")
    assert entry["ph"] == "X"
    assert entry["args"] == {"Input Dims": [[2, 3], [3, 4]]}


def test_functions_are_ranges_and_stacks_are_written(tmp_path: Path) -> None:
    @dt.profiler.record_function("named")
    def double(x: Any) -> Any:
        return x * 2

    with first.profile(with_stack=True) as prof:
        double(dt.ones(1000))
    assert prof is not None
    assert [e.count for e in prof.key_averages() if e.key == "named"] == [1]
    with dt.profiler.profile(with_stack=True) as other:
        double(dt.ones(1000))
    other.export_stacks(str(tmp_path / "stacks"))
    assert "double" in (tmp_path / "stacks").read_text()


def test_nothing_is_recorded_before_the_start_or_when_not_enabled() -> None:
    with pytest.raises(errors.CallOrderError, match="not started"):
        dt.profiler.profile().events()
    with first.profile(enabled=False) as prof:
        dt.ones(2)
    assert prof is None


def test_counts_that_make_no_schedule_are_refused() -> None:
    with pytest.raises(errors.ArgumentError, match="active is 0"):
        dt.profiler.schedule(wait=1, warmup=1, active=0)


def test_profilers_of_other_processes_are_told_nothing() -> None:
    """Which is said where it is asked for."""
    from dovetail.autograd import profiler

    for cls in (profiler.emit_nvtx, profiler.emit_itt):
        with pytest.raises(NotImplementedError, match=r"profiler\.profile"):
            cls()
        with cls(enabled=False):
            pass
