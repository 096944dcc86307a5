"""`compile`: a compiled program means what it meant, and tells what it did."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.support.programs import Line, bits, programs, run, start
from tests.support.training import WORKLOADS, batches, training

import dovetail as dt
from dovetail import nn
from dovetail.compiler import disable, explain, is_compiling, reset
from dovetail.errors import AutogradError, CaptureError, NotSupported

T = dt.Tensor


def ones(*values: float) -> T:
    return dt.tensor(values)


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_training_step(name: str) -> None:
    """A compiled step trains as an eager one, bit for bit; most calls are replays."""
    data = batches(name, 8)
    eager, other = training(name), training(name)
    compiled = dt.compile(other.step)
    dt.manual_seed(5)
    wanted = [eager.step(*batch).item() for batch in data]
    everything = eager.everything()
    dt.manual_seed(5)
    assert [compiled(*batch).item() for batch in data] == wanted
    assert other.everything() == everything
    report = compiled.report()
    # The first step makes the optimizer's state, which the others find.
    assert (report.calls, report.recordings, report.replays) == (8, 2, 6)
    assert not report.breaks
    assert not report.fallbacks


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_model(name: str) -> None:
    """A compiled model trains as an eager one when its loss is taken outside."""
    data = batches(name, 4)
    eager, other = training(name), training(name)
    wrapped = other.model
    other.model = dt.compile(wrapped)
    dt.manual_seed(5)
    wanted = [eager.step(*batch).item() for batch in data]
    dt.manual_seed(5)
    assert [other.step(*batch).item() for batch in data] == wanted
    report = other.model.report()
    assert (report.recordings, report.replays) == (1, 3)


@settings(max_examples=60, deadline=None, derandomize=True,
          suppress_health_check=[HealthCheck.too_slow])  # fmt: skip
@given(programs)
def test_random_programs(program: tuple[list[Line], int]) -> None:
    """A compiled program gives eager's bits, called after call."""
    (x, w), (_, other) = start(0), start(0)
    compiled = dt.compile(lambda x, w: run(*program, x, w))
    for seed in range(3):
        place = dt.get_rng_state()
        x, same = start(seed)[0], start(seed)[0]
        try:
            wanted = bits([*run(*program, x, w), x, w, dt.get_rng_state()])
        except AutogradError:
            return
        dt.set_rng_state(place)
        found = compiled(same, other)
        assert bits([*found, same, other, dt.get_rng_state()]) == wanted


def test_branches_on_values() -> None:
    """If and while on values are decided anew at each call, and told as breaks."""

    def halve(x: T) -> T:
        while x.sum() > 1:
            x = x / 2
        return x if x[0].item() > 0.3 else -x

    compiled = dt.compile(halve)
    for values in ((8.0, 0.0), (0.25, 0.5), (3.0, 3.0), (8.0, 0.0)):
        assert compiled(ones(*values)).tolist() == halve(ones(*values)).tolist()
    report = compiled.report()
    assert (report.recordings, report.replays) == (2, 2)
    assert sum(report.breaks.values()) == 4 + 1 + 4 + 4 + 4
    assert "by item" in str(report)


def test_changing_shapes() -> None:
    """Another shape is another branch; beyond the limit calls run unfollowed."""
    compiled = dt.compile(lambda x: (x * 2).sum(), recompile_limit=3)
    for n in (1, 2, 3, 4, 5, 2):
        assert compiled(dt.ones(n)).item() == 2 * n
    report = compiled.report()
    assert (report.calls, report.recordings, report.replays) == (6, 3, 1)
    assert report.fallbacks == {"there are 3 branches already": 2}


def test_changing_numbers() -> None:
    """A rate that changes is an input: no new branch, and never a stale number."""
    rate = [0.5]
    compiled = dt.compile(lambda x: x * rate[0] + 1)
    for wanted in (0.5, 0.25, 8.0):
        rate[0] = wanted
        assert compiled(ones(2.0)).item() == 2 * wanted + 1
    report = compiled.report()
    assert (report.recordings, report.replays, report.varying) == (1, 2, 1)


MODE = "double"


def test_globals_closures_and_attributes() -> None:
    """What a function reads around it is read at each call."""

    class Settings:
        shift = 1.0

    flags = {"negate": False}

    def function(x: T) -> T:
        y = x * 2 if MODE == "double" else x * x
        return -y + Settings.shift if flags["negate"] else y + Settings.shift

    compiled = dt.compile(function)
    assert compiled(ones(3.0)).item() == 7
    globals()["MODE"] = "square"
    try:
        assert compiled(ones(3.0)).item() == 10
        flags["negate"], Settings.shift = True, 5.0
        assert compiled(ones(3.0)).item() == -4
    finally:
        globals()["MODE"] = "double"
    flags["negate"] = False
    assert compiled(ones(3.0)).item() == 11
    report = compiled.report()
    assert (report.recordings, report.replays) == (3, 1)


def test_dropout_draws_anew() -> None:
    """Random numbers are those that eager would have drawn, call after call."""
    drop = nn.Dropout(0.5)
    compiled = dt.compile(lambda x: drop(x) + dt.rand(64))
    dt.manual_seed(0)
    wanted = [(drop(dt.ones(64)) + dt.rand(64)).tolist() for _ in range(3)]
    dt.manual_seed(0)
    assert [compiled(dt.ones(64)).tolist() for _ in range(3)] == wanted
    assert compiled.report().replays == 2


def test_effects_on_python() -> None:
    """Python's own effects happen at each call."""
    seen: list[int] = []

    @dt.compile
    def function(x: T) -> dict[str, Any]:
        seen.append(len(seen))
        return {"y": [x + 1], "n": len(seen)}

    results = [function(ones(1.0)) for _ in range(3)]
    assert [r["n"] for r in results] == [1, 2, 3]
    assert results[2]["y"][0].item() == 2
    assert function.report().replays == 2


def test_exceptions() -> None:
    """An exception is the function's own; it leaves no branch and no recorder."""

    def function(x: T, bad: bool) -> T:
        y = x + 1
        if bad:
            raise KeyError("mine")
        return y

    compiled = dt.compile(function)
    for bad in (True, False, True, False):
        if bad:
            with pytest.raises(KeyError, match="mine"):
                compiled(ones(1.0), True)
            assert not is_compiling()
        else:
            assert compiled(ones(1.0), False).item() == 2
    with pytest.raises(TypeError):
        compiled()
    report = compiled.report()
    assert (report.recordings, report.replays, report.errors) == (1, 1, 3)


def test_nested() -> None:
    """A compiled function within another is part of it."""
    inner = dt.compile(lambda x: x * 2)
    outer = dt.compile(lambda x: inner(x) + 1)
    assert [outer(ones(3.0)).item() for _ in range(2)] == [7, 7]
    assert inner.report().calls == 0
    assert outer.report().replays == 1
    assert "mul" in outer.report().listings[0]


def test_threads() -> None:
    """Threads share branches, and none sees another's values."""
    compiled = dt.compile(lambda x, n: (x * n).sum().relu() + len(x))
    wrong: list[Any] = []

    def work(n: int) -> None:
        for i in range(30):
            size = 1 + (n + i) % 3
            found = compiled(dt.ones(size), float(n)).item()
            if found != size * n + size:
                wrong.append((n, i, found))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    report = compiled.report()
    assert report.calls == 120
    assert report.recordings == 3
    assert report.replays == 117


FULL: dict[str, Any] = {
    "item": lambda x: x + x.sum().item(),
    "branch": lambda x: x if x.sum() > 0 else -x,
    "numpy": lambda x: dt.from_numpy(x.numpy() * 2),
    "print": lambda x: (str(x), x + 1)[1],
    "shapes of values": lambda x: x[x > 0] * 2,
    "tolist": lambda x: dt.tensor(x.tolist()),
}


@pytest.mark.parametrize("name", FULL)
def test_fullgraph_refuses_breaks(name: str) -> None:
    """What breaks a graph raises with fullgraph, and works without."""
    x = ones(1.0, 2.0)
    assert dt.compile(FULL[name])(x).shape == (2,)
    with pytest.raises(CaptureError, match="fullgraph"):
        dt.compile(FULL[name], fullgraph=True)(x)
    assert dt.compile(lambda x: x.sum() * 2, fullgraph=True)(x).item() == 6


def test_generators_and_coroutines_fall_back() -> None:
    """What runs later than it is called is not followed, and works."""

    def counts(x: T) -> Iterator[T]:
        yield x
        yield x + 1

    compiled = dt.compile(counts)
    assert [y.item() for y in compiled(ones(1.0))] == [1, 2]
    assert list(compiled.report().fallbacks.values()) == [1]
    with pytest.raises(CaptureError, match="generator"):
        dt.compile(counts, fullgraph=True)(ones(1.0))


def test_the_signature_is_torchs() -> None:
    """Names, defaults and kinds of the parameters, and the forms of a decorator."""
    wanted = {
        "model": None, "fullgraph": False, "dynamic": None, "backend": None,
        "mode": None, "options": None, "name": None, "disable": False,
        "recompile_limit": None, "isolate_recompiles": False, "shapes_spec": None,
    }  # fmt: skip
    found = inspect.signature(dt.compile).parameters
    assert {n: p.default for n, p in found.items()} == wanted
    assert [n for n, p in found.items() if p.kind is not p.KEYWORD_ONLY] == ["model"]

    @dt.compile(name="mine", dynamic=True, mode="max-autotune", backend="inductor")
    def function(x: T) -> T:
        """What it does."""
        return x + 1

    assert function(ones(1.0)).item() == 2
    assert function.__name__ == "function"
    assert function.__doc__ == "What it does."
    assert function.report().name == "mine"
    plain = dt.compile(disable=True)(len)
    assert plain is len


BAD: dict[str, tuple[Any, ...]] = {
    "backend": ({"backend": "nope"}, RuntimeError, "invalid backend"),
    "mode": ({"mode": "fast"}, RuntimeError, "unrecognized"),
    "options": ({"options": {"a": 1}}, RuntimeError, "unknown option 'a'"),
    "both": ({"mode": "default", "options": {}}, RuntimeError, "either mode or"),
    "a function": ({"backend": len}, NotSupported, "backend"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_settings(name: str) -> None:
    """Unknown settings are refused when a function is compiled."""
    settings, error, words = BAD[name]
    with pytest.raises(error, match=words):
        dt.compile(len, **settings)


def test_no_function() -> None:
    """What cannot be called cannot be compiled."""
    with pytest.raises(TypeError, match="a function or a module"):
        dt.compile(3)


def test_a_module_keeps_what_it_is() -> None:
    """State, modes, attributes and children are the module's; names as in torch."""
    model = nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5))
    compiled = dt.compile(model)
    assert isinstance(compiled, nn.Module)
    assert list(compiled.state_dict()) == ["_orig_mod.0.weight", "_orig_mod.0.bias"]
    assert next(compiled.parameters()) is model[0].weight
    compiled.eval()
    assert not model.training
    assert not model[1].training
    assert not compiled.training
    compiled.note = 3
    assert model.note == 3
    x = dt.ones(1, 2)
    assert compiled(x).tolist() == model(x).tolist()
    model.train()
    assert compiled.training
    other = dt.compile(nn.Sequential(nn.Linear(2, 3), nn.Dropout(0.5)))
    other.load_state_dict(compiled.state_dict())
    for twin in (copy.deepcopy(compiled), pickle.loads(pickle.dumps(compiled))):
        twin.eval()
        model.eval()
        assert twin(x).tolist() == model(x).tolist()
        assert twin.report().calls == 1
        assert twin._orig_mod is not model


def test_compile_of_a_module_in_place() -> None:
    """`Module.compile()` changes no names; hooks run as before; copies are plain."""
    model = nn.Linear(2, 1)
    wanted = model(dt.ones(1, 2)).item()
    calls: list[int] = []
    model.register_forward_hook(lambda *_: calls.append(1))
    assert model.compile(fullgraph=True) is None
    assert [model(dt.ones(1, 2)).item() for _ in range(2)] == [wanted, wanted]
    assert len(calls) == 2
    assert list(model.state_dict()) == ["weight", "bias"]
    twin = pickle.loads(pickle.dumps(nn.Linear(2, 1)))
    twin.compile()
    copied = copy.deepcopy(twin)
    assert "_compiled_call" not in copied.__dict__
    assert copied(dt.ones(1, 2)).item() == twin(dt.ones(1, 2)).item()


def test_train_and_eval_are_branches() -> None:
    """A mode that changes between calls is read anew, as all that Python reads."""
    model = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(0.5))
    twin = copy.deepcopy(model)
    compiled = dt.compile(model)
    x = dt.tensor([[1.0, 2.0], [3.0, 5.0]])
    for mode in (True, False, True, False):
        model.train(mode), twin.train(mode)
        dt.manual_seed(1)
        wanted = twin(x).tolist()
        dt.manual_seed(1)
        assert compiled(x).tolist() == wanted
    assert model[0].running_mean.tolist() == twin[0].running_mean.tolist()
    assert (compiled.report().recordings, compiled.report().replays) == (2, 2)


def test_grad_mode_and_requires_grad_are_branches() -> None:
    """The same call with and without gradients is on the tape as eager's would be."""
    w = dt.ones(2, requires_grad=True)
    compiled = dt.compile(lambda x: (x * w).sum())
    assert compiled(dt.ones(2)).requires_grad
    with dt.no_grad():
        assert not compiled(dt.ones(2)).requires_grad
    w.requires_grad_(False)
    assert not compiled(dt.ones(2)).requires_grad
    x = dt.ones(2, requires_grad=True)
    compiled(x).backward()
    assert x.grad.tolist() == [1, 1]


def test_disabled_parts() -> None:
    """What a disabled function does is outside: it runs, and is not followed."""

    @disable
    def outside(x: T) -> T:
        assert is_compiling() is False
        return x * float(x.sum().item())

    @dt.compile(fullgraph=True)
    def function(x: T) -> T:
        assert is_compiling()
        return outside(x + 1) * 2

    assert [function(ones(float(i))).item() for i in range(3)] == [2, 8, 18]
    assert function.report().replays == 2
    assert not function.report().breaks


def test_reset_forgets() -> None:
    """After a reset every compiled function starts anew."""
    compiled = dt.compile(lambda x: x + 1)
    compiled(ones(1.0))
    reset()
    assert compiled.report().calls == 0
    compiled(ones(1.0))
    assert compiled.report().recordings == 1


def test_explain() -> None:
    """A report of one call: its steps, its breaks, and nothing kept."""
    report = explain(lambda x: x * 2 if x.sum() > 0 else x)(ones(1.0))
    assert (report.calls, report.recordings) == (1, 1)
    (why,) = report.breaks
    assert why.startswith("Python read %")
    assert "mul(" in str(report)


def test_a_module_may_be_called_through_its_own_call_compiled() -> None:
    """As generating programs have it, which keep that as the module's compiled call."""
    model = dt.nn.Linear(2, 2)
    model.register_forward_hook(lambda module, args, y: y + 1)
    want = model(dt.ones(1, 2))
    model._compiled_call = compiled = dt.compile(model.__call__)
    for _ in range(2):
        assert dt.equal(model(dt.ones(1, 2)), want)
    assert dt.equal(compiled(dt.ones(1, 2)), want)
    assert compiled.report().calls == 3
