"""Recording: what a function did is done again, with other values, bit for bit."""

from __future__ import annotations

import copy
import io
import pickle
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from tests.support.training import WORKLOADS, batches, training

import dovetail as dt
from dovetail.compiler import Recording, record
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.engine import scopes
from dovetail.engine.cases import Case, cases_of
from dovetail.engine.naming import ByIdentity
from dovetail.engine.op import Op, declared
from dovetail.engine.results import DATA
from dovetail.errors import CaptureError

STEPS = 20
ORDINARY = frozenset({dt.float32, dt.int32})


def same(a: Any, b: Any) -> None:
    """Two results have the same bits."""
    if isinstance(a, dt.Tensor):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert (a.requires_grad, a.is_leaf) == (b.requires_grad, b.is_leaf)
        np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())
    elif isinstance(a, dict):
        assert list(a) == list(b)
        same(list(a.values()), list(b.values()))
    elif isinstance(a, list | tuple):
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_training_step_is_replayed(name: str) -> None:
    """Twenty replays under a changing rate leave all that twenty eager steps leave."""
    data = batches(name, STEPS + 2)
    eager, replayed = training(name), training(name)
    losses: dict[str, list[float]] = {"eager": [], "replayed": []}
    dt.manual_seed(5)
    for i, batch in enumerate(data):
        eager.optimizer.param_groups[0]["lr"] = 1e-2 / (i + 1)
        losses["eager"].append(eager.step(*batch).item())
    wanted = eager.everything()
    dt.manual_seed(5)
    recording: Any = replayed.step
    for i, batch in enumerate(data):
        replayed.optimizer.param_groups[0]["lr"] = 1e-2 / (i + 1)
        if i == 1:
            recording = record(replayed.step, *batch)
            losses["replayed"].append(losses["eager"][1])
        else:
            losses["replayed"].append(recording(*batch).item())
    assert losses["replayed"] == losses["eager"]
    assert replayed.everything() == wanted
    assert isinstance(recording, Recording)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_other_optimizers(momentum: float) -> None:
    """Descent with and without momentum is replayed, too."""
    data = batches("perceptron", 5)
    make = lambda p: dt.optim.SGD(p, lr=0.1, momentum=momentum)  # noqa: E731
    eager, replayed = training("perceptron", make), training("perceptron", make)
    dt.manual_seed(5)
    wanted = [eager.step(*batch).item() for batch in data]
    dt.manual_seed(5)
    found = [replayed.step(*data[0]).item()]
    recording = record(replayed.step, *data[1])
    found += [wanted[1], *(recording(*batch).item() for batch in data[2:])]
    assert found == wanted


def test_gradients_that_gather() -> None:
    """Without zero_grad, a replay adds to the gradients that are there."""
    w = dt.tensor([1.0, 2.0], requires_grad=True)

    def step(x: dt.Tensor) -> None:
        (w * x).sum().backward()

    step(dt.tensor([1.0, 1.0]))
    recording = record(step, dt.tensor([2.0, 2.0]))
    recording(dt.tensor([10.0, 20.0]))
    assert w.grad.tolist() == [13, 23]
    w.grad = None
    with pytest.raises(CaptureError, match="having a gradient or none"):
        recording(dt.tensor([1.0, 1.0]))


P = Callable[..., Any]


def leaf(values: list[float]) -> dt.Tensor:
    return dt.tensor(values, requires_grad=True)


def backward_reads(x: dt.Tensor) -> Any:
    p = leaf([1.0, 2.0, 3.0])
    (p * x).sum().backward()
    return p.grad


def casts(x: dt.Tensor) -> Any:
    return x.to(dt.float64) * dt.tensor([2, 3, 4]) + x.int()


def writes(x: dt.Tensor) -> Any:
    y = (x * 2 + 1).exp()
    y[0] *= 3
    y[1:].mul_(y[:2])
    y.add_(1).clamp_(max=5)
    return y, y[::2], x


def writes_an_argument(x: dt.Tensor) -> Any:
    x.mul_(2)
    return x + 1


def detached(x: dt.Tensor) -> Any:
    y = (x * x).requires_grad_()
    z = y * y.detach()
    (z * z.detach().exp().clamp(max=3)).sum().backward()
    return y.grad, z.detach()


def second_order(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    (g,) = dt.autograd.grad((w**3).sum(), [w], create_graph=True)
    (h,) = dt.autograd.grad((g * g).sum(), [w])
    return g.detach(), h


def through_views(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    y = w * 1
    y[1:].mul_(x[:2])
    y[0] = y[1] * 2
    (y * y).sum().backward()
    return y.detach(), w.grad


def saved_then_written(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    y = w * 2
    y.mul_(y)
    y.sum().backward()
    return w.grad


def kept_gradient(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    y = w * x
    y.retain_grad()
    (y * y).sum().backward()
    return y.grad, w.grad


def hooks(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    y = w * 2
    y.register_hook(lambda g: g * x)
    w.register_hook(lambda g: g + 1)
    y.sum().backward()
    return w.grad


def draws(x: dt.Tensor) -> Any:
    noise = dt.randn(3) + dt.rand(3)
    y = dt.nn.functional.dropout(x, 0.5) * dt.randint(0, 64, (3,))
    return y + noise, dt.randperm(5), dt.bernoulli(x.abs().clamp(max=1))


def from_the_host(x: dt.Tensor) -> Any:
    total = dt.tensor([0.0, 1.0, 2.0])
    total += x
    return total * dt.zeros(3).add_(1)


def several(x: dt.Tensor) -> Any:
    values, indices = x.sort()
    parts = x.split(2)
    return {"sorted": (values, indices), "parts": [p + 1 for p in parts], "n": 3}


def without_gradients(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    with dt.no_grad():
        y = w * 2
        w.add_(1)
    return y.requires_grad, (w * y).requires_grad, y, w.detach()


def numbers(x: dt.Tensor) -> Any:
    return x * -0.0, float("nan") * x.sign(), x * 1e-3 + (x > 0) * 2


def looked_up(x: dt.Tensor) -> Any:
    i = x.abs().long().clamp(max=2)
    return x[i] + x.gather(0, i) + x.index_select(0, i), x[x > 1e9]


def seeded(x: dt.Tensor) -> Any:
    dt.manual_seed(4)
    y = x + dt.rand(3)
    dt.manual_seed(5)
    return y, dt.rand(3)


def into_buffers(x: dt.Tensor) -> Any:
    y = dt.empty(3)
    dt.add(x, 1, out=y)
    dt.mul(y, x, out=y)
    y[x > 0] = 7.0
    return y.masked_fill_(y < 0, 2.0)


def autocast(x: dt.Tensor) -> Any:
    with dt.autocast("cpu", dtype=dt.bfloat16):
        return (x.unsqueeze(0) @ x.unsqueeze(1)).float(), x.softmax(0)


def a_new_layer(x: dt.Tensor) -> Any:
    layer = dt.nn.Linear(3, 2)
    layer(x).sum().backward()
    return layer.weight.grad, layer.weight.detach()


def swapped_data(x: dt.Tensor) -> Any:
    p = leaf([1.0, 1.0, 1.0])
    p.data = x * 2
    p.data.add_(1)
    (p * p).sum().backward()
    return p.grad, p.detach()


def no_leaf_any_more(x: dt.Tensor) -> Any:
    p = (x * 2).requires_grad_()
    y = p * 3
    p.requires_grad_(False)
    z = p * 5
    y.sum().backward()
    return z.requires_grad, z


def filled_on_the_tape(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    y = w * 2
    y[:2].fill_(3)
    z = y * x
    z[0] = 1.0
    z.sum().backward()
    return y, w.grad


def off_the_tape(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    y, z = w * x, w * 3
    y.detach_()
    return y, y + w, z.detach(), z, z.data, w.detach(), w


def gradient_off_the_tape(x: dt.Tensor) -> Any:
    w = x.clone().requires_grad_()
    (g,) = dt.autograd.grad((w**3).sum(), w, create_graph=True)
    (g * g).sum().backward()
    return g.detach(), g, w.grad


def argument_becomes_a_leaf(x: dt.Tensor) -> Any:
    before = x.detach()
    x.requires_grad_()
    (x * x * before).sum().backward()
    return x.grad, before


def generator_of_its_own(x: dt.Tensor) -> Any:
    first, second = dt.Generator(), dt.Generator()
    second.manual_seed(3)
    third = second.clone_state()
    return [x + dt.rand(3, generator=g) for g in (first, second, third, first)]


def states_of_generators(x: dt.Tensor) -> Any:
    state = dt.get_rng_state()
    y = dt.rand(3)
    dt.set_rng_state(state)
    with dt.random.fork_rng():
        z = dt.randn(3) * x
    return y, z, dt.rand(3)


def state_of_values(x: dt.Tensor) -> Any:
    place = dt.cat([(x * 4).abs().to(dt.uint8), dt.zeros(13, dtype=dt.uint8)])
    return dt.rand(3, generator=dt.Generator().set_state(place))


def random_with_checks(x: dt.Tensor) -> Any:
    p = x.abs().clamp(0.1, 1)
    return dt.multinomial(p, 2), dt.normal(x, p), dt.bernoulli(p)


PROGRAMS: list[P] = [
    filled_on_the_tape, off_the_tape, gradient_off_the_tape, argument_becomes_a_leaf,
    generator_of_its_own, states_of_generators, state_of_values, random_with_checks,
    seeded, into_buffers, autocast, a_new_layer, swapped_data, no_leaf_any_more,
    backward_reads, casts, writes, writes_an_argument, detached, second_order,
    through_views, saved_then_written, kept_gradient, hooks, draws, from_the_host,
    several, without_gradients, numbers, looked_up,
]  # fmt: skip
OTHERS = ([0.5, -1.5, 2.5], [3.0, 0.25, -2.0], [-0.0, 1.0, 7.5])


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_program_is_replayed(program: P) -> None:
    """Recorded at one input and replayed at others, a program gives eager's bits."""
    dt.manual_seed(1)
    recording = record(program, dt.tensor([1.0, -2.0, 3.0]))
    place = dt.get_rng_state()
    for values in (*OTHERS, OTHERS[0]):
        mine, theirs = dt.tensor(values), dt.tensor(values)
        dt.set_rng_state(place)
        found = recording(mine)
        after = dt.get_rng_state()
        dt.set_rng_state(place)
        same(found, program(theirs))
        same(mine, theirs)
        same(after, dt.get_rng_state())


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_a_recorder_without_dataflow_is_caught(
    program: P, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each program tells a recorder apart that takes every value for a constant."""
    monkeypatch.setattr(ByIdentity, "get", lambda self, thing: None)
    with pytest.raises((AssertionError, CaptureError)):
        test_a_program_is_replayed(program)


def turned(value: Any) -> Any:
    """The same values in another order: as many, in the same range."""
    if isinstance(value, np.ndarray):
        return np.array(np.flip(value))
    if isinstance(value, list):
        return [turned(v) for v in value]
    return value


# Draws have no cases, and are recorded in `PROGRAMS`.
WITH_CASES = [op for op in declared() if op.draws is None]


@pytest.mark.parametrize("op", WITH_CASES, ids=lambda op: op.name)
def test_every_op_is_replayed(op: Op) -> None:
    """A call of any op, recorded at some values and replayed at others, is the call."""
    cpu, dtype = Subject("cpu"), min(op.accepts & ORDINARY or op.accepts, key=str)
    case = next(iter(cases_of(op, dtype)))
    other = Case(
        tuple(map(turned, case.args)), {k: turned(v) for k, v in case.kwargs.items()}
    )

    def call(*args: Any, **kwargs: Any) -> list[dt.Tensor]:
        return cpu.call(op, args, kwargs)

    def arguments(given: Case) -> tuple[list[Any], dict[str, Any]]:
        return cpu.arguments(op, Example(given), dtype)

    args, kwargs = arguments(case)
    recording = record(call, *args, **kwargs)
    assert op.name in [c.op.name for c in recording.calls]
    (args, kwargs), (theirs, by_name) = arguments(other), arguments(other)
    try:
        found = recording(*args, **kwargs)
    except CaptureError:
        assert op.shape is DATA
        return
    same(found, call(*theirs, **by_name))


Made = tuple[Callable[[dt.Tensor], Any], Callable[[], list[Any]]]


def data_then_parameter() -> Made:
    w = leaf([1.0, 2.0, 3.0])

    def function(x: dt.Tensor) -> Any:
        w.data.mul_(0.5)
        w.data[0] = x[0]
        return w + x, w.data

    return function, lambda: [w]


def found_detached() -> Made:
    w = leaf([1.0, 2.0, 3.0])
    seen = w.detach()

    def function(x: dt.Tensor) -> Any:
        y = seen * x
        seen.add_(x)
        return y, w * x, seen

    return function, lambda: [w, seen]


def schedule_within() -> Made:
    model = dt.nn.Linear(3, 1)
    optimizer = dt.optim.SGD(model.parameters(), lr=0.1)
    second = dt.optim.lr_scheduler.StepLR(optimizer, 2, gamma=0.5)
    schedule = dt.optim.lr_scheduler.SequentialLR(
        optimizer,
        [dt.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5), second],
        [3],
    )

    def function(x: dt.Tensor) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        schedule.step()
        return loss

    return function, lambda: [*model.parameters(), schedule.get_last_lr()]


def recording_within() -> Made:
    w, buffer = leaf([1.0, 2.0, 3.0]), dt.zeros(3)

    def inner(x: dt.Tensor) -> Any:
        w.grad = None
        buffer.add_(x * dt.rand(3))
        ((y := w * buffer) * 2).sum().backward()
        y[1:].mul_(x[:2])
        return y, dt.tensor([1.0, 2.0, 3.0]) + x

    recording = record(inner, dt.ones(3))

    def function(x: dt.Tensor) -> Any:
        y, z = recording(x * 2)
        return y + z, w.grad * 2

    return function, lambda: [w, buffer]


def optimizer_within() -> Made:
    model = dt.nn.Linear(3, 2)
    optimizer = dt.optim.AdamW(model.parameters(), lr=0.1, amsgrad=True)

    def step(x: dt.Tensor) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().sum()
        loss.backward()
        optimizer.step()
        return loss

    step(dt.ones(3))
    recording = record(step, dt.ones(3))
    return (lambda x: recording(x * 0.5) + 1), lambda: list(model.parameters())


def swapped_twice() -> Made:
    w, running = leaf([1.0, 2.0, 3.0]), dt.zeros(3)

    def function(x: dt.Tensor) -> Any:
        for _ in range(2):
            running.data = (x + running).detach()
            w.data = w.data * 0.5
        return running * w, w

    return function, lambda: [w, running]


def turned_in_place() -> Made:
    table = dt.arange(6.0).reshape(2, 3)

    def function(x: dt.Tensor) -> Any:
        table.t_()
        table.mul_(2)
        x.unsqueeze_(0)
        x.add_(1)
        y = (x * 2).requires_grad_() * 1
        y.squeeze_(0).mul_(3)
        table.t_()
        return y, x, x.sum(0) + table

    return function, lambda: [table]


STATEFUL = [
    swapped_twice, turned_in_place,
    data_then_parameter, found_detached, schedule_within, recording_within,
    optimizer_within,
]  # fmt: skip


@pytest.mark.parametrize("make", STATEFUL, ids=lambda p: p.__name__)
def test_a_program_with_state_is_replayed(make: Callable[[], Made]) -> None:
    """Replays leave what eager calls leave in what the program changes."""
    dt.manual_seed(2)
    replayed, mine = make()
    dt.manual_seed(2)
    eager, theirs = make()
    place = dt.get_rng_state()
    recording = record(replayed, dt.tensor([1.0, -2.0, 3.0]))
    dt.set_rng_state(place)
    eager(dt.tensor([1.0, -2.0, 3.0]))
    for values in OTHERS:
        place = dt.get_rng_state()
        given = dt.tensor(values), dt.tensor(values)
        found = recording(given[0])
        dt.set_rng_state(place)
        same(found, eager(given[1]))
        same(mine(), theirs())
        same(*given)


def test_a_result_on_the_tape() -> None:
    """What a recorded function returns is differentiable as what it returned."""
    w = leaf([1.0, 2.0, 3.0])

    def forward(x: dt.Tensor) -> dt.Tensor:
        y = w * x
        y[1:].mul_(2)
        y.copy_(y * 3 + x)
        return y

    recording = record(forward, dt.tensor([1.0, 1.0, 1.0]))
    x = dt.tensor([2.0, 3.0, 4.0])
    (found,) = dt.autograd.grad(recording(x).sum(), [w])
    (wanted,) = dt.autograd.grad(forward(x).sum(), [w])
    same(found, wanted)
    assert w.grad is None


def test_parameters_are_found_where_they_are() -> None:
    """A replay reads what was there before as it is now, `.data` swapped or not."""
    w = leaf([1.0, 2.0])
    recording = record(lambda x: w * x, dt.tensor([1.0, 1.0]))
    w.data = dt.tensor([5.0, 7.0])
    assert recording(dt.tensor([2.0, 2.0])).tolist() == [10, 14]
    w.data = dt.tensor([5.0, 7.0, 9.0])
    with pytest.raises(CaptureError, match="changed in shape"):
        recording(dt.tensor([2.0, 2.0]))


REFUSED: dict[str, tuple[Any, ...]] = {
    "shape": (dt.ones(3), dt.ones(2), 2.0),
    "dtype": (dt.ones(2, dtype=dt.float64), dt.ones(2), 2.0),
    "layout": (dt.ones(4)[::2], dt.ones(2), 2.0),
    "gradients": (dt.ones(2, requires_grad=True), dt.ones(2), 2.0),
    "a number": (dt.ones(2), dt.ones(2), 3.0),
    "its type": (dt.ones(2), dt.ones(2), 2),
    "how many": (dt.ones(2), dt.ones(2)),
    "a list": ([dt.ones(2)], dt.ones(2), 2.0),
}


@pytest.mark.parametrize("name", REFUSED)
def test_other_arguments_are_refused(name: str) -> None:
    """A replay takes what differs in values only, and changes nothing else."""

    def function(x: dt.Tensor, y: dt.Tensor, by: float = 2.0) -> dt.Tensor:
        return x.mul_(by) + y

    recording = record(function, dt.ones(2), dt.ones(2), 2.0)
    with pytest.raises(CaptureError, match="arguments"):
        recording(*REFUSED[name])
    assert recording(dt.ones(2), dt.ones(2), 2.0).tolist() == [3, 3]


def test_generators_are_given() -> None:
    """A replay draws from the generators that it is given."""

    def draw(x: dt.Tensor, sources: list[dt.Generator]) -> dt.Tensor:
        first, second = sources
        y = x + dt.rand(2, generator=first) * dt.rand(2, generator=second)
        second.manual_seed(5)
        return y + dt.rand(2, generator=second) + dt.rand(2)

    def sources(seed: int) -> list[dt.Generator]:
        return [dt.Generator().manual_seed(seed + i) for i in range(2)]

    recording = record(draw, dt.ones(2), sources(1))
    mine, theirs = sources(7), sources(7)
    for _ in range(2):
        place = dt.get_rng_state()
        found = recording(dt.zeros(2), mine)
        dt.set_rng_state(place)
        same(found, draw(dt.zeros(2), theirs))
        same([g.get_state() for g in mine], [g.get_state() for g in theirs])
    for others in ([mine[0], mine[0]], [mine[0], dt.manual_seed(0)]):
        with pytest.raises(CaptureError, match="arguments"):
            recording(dt.zeros(2), others)


def test_shared_memory_among_arguments_is_refused() -> None:
    """One tensor given twice is another program, where one of them is written."""
    recording = record(lambda x, y: x.mul_(2) + y, dt.ones(2), dt.ones(2))
    x = dt.ones(2)
    with pytest.raises(CaptureError, match="share memory"):
        recording(x, x)
    assert x.tolist() == [1, 1]


def test_an_argument_over_found_memory_is_refused() -> None:
    """What was found has other memory than the arguments, or the same, as recorded."""
    w, other = dt.ones(2), dt.ones(2)
    apart = record(lambda x: x.mul_(2) + w, dt.ones(2))
    with pytest.raises(CaptureError, match="sharing memory"):
        apart(w[:])
    assert w.tolist() == [1, 1]
    together = record(lambda x: x.mul_(2) + w, w[:])
    with pytest.raises(CaptureError, match="sharing memory"):
        together(other[:])
    assert other.tolist() == [1, 1]


def test_the_grad_mode_is_the_recorded_one() -> None:
    """A recording made with gradients does not run without them."""
    recording = record(lambda x: x + 1, dt.ones(2))
    with dt.no_grad(), pytest.raises(CaptureError, match="grad mode"):
        recording(dt.ones(2))


def test_the_modes_are_the_recorded_ones() -> None:
    """Where eager would call other ops, or others would see them, a replay refuses."""
    recording = record(lambda x: x @ x + dt.ones(2), dt.ones(2, 2))
    with dt.autocast("cpu", dt.bfloat16):
        with pytest.raises(CaptureError, match="autocast"):
            recording(dt.ones(2, 2))
        lower = record(lambda x: x @ x, dt.ones(2, 2))
        assert lower(dt.ones(2, 2)).dtype is dt.bfloat16
    with pytest.raises(CaptureError, match="autocast"):
        lower(dt.ones(2, 2))
    see = scopes.interpose(lambda op, x, attrs, proceed: proceed(x, attrs))
    with see, pytest.raises(CaptureError, match="interposers"):
        recording(dt.ones(2, 2))
    with dt.device("meta"), pytest.raises(CaptureError, match="default device"):
        recording(dt.ones(2, 2, device="cpu"))
    assert recording(dt.ones(2, 2)).tolist() == [[3, 3], [3, 3]]


def test_a_value_that_python_read_is_a_guard() -> None:
    """A branch on values is replayed for that value only, else refused."""

    def function(x: dt.Tensor) -> dt.Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    recording = record(function, dt.ones(2))
    assert recording(dt.ones(2) * 3).tolist() == [4, 4]
    with pytest.raises(CaptureError, match="which Python read"):
        recording(-dt.ones(2))


def saved_and_loaded(x: dt.Tensor) -> dt.Tensor:
    file = io.BytesIO()
    dt.save(x, file)
    file.seek(0)
    loaded: dt.Tensor = dt.load(file)
    return loaded


COPIES = [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), saved_and_loaded]


@pytest.mark.parametrize("copy_of", COPIES)
def test_a_copy_outside_of_ops_is_refused(copy_of: Any) -> None:
    """What Python copies, pickles or loads is not taken for a constant."""
    recording = record(lambda x: copy_of(x) + 1, dt.ones(2))
    with pytest.raises(CaptureError, match="from elsewhere"):
        recording(dt.ones(2))


OUTSIDE: dict[str, P] = {
    "from_numpy": lambda x: dt.from_numpy(np.zeros(2, np.float32)) + x,
    "from_dlpack": lambda x: dt.from_dlpack(np.zeros(2, np.float32)) + x,
    "empty_strided": lambda x: dt.empty_strided((2,), (2,)).copy_(x),
    "resize_": lambda x: dt.zeros(4).resize_(2).copy_(x),
    "another dtype": lambda x: x.view(dt.int32) + 1,
}


@pytest.mark.parametrize("name", OUTSIDE)
def test_memory_from_elsewhere_is_refused(name: str) -> None:
    """Memory that no op made is not replayed as if it were a constant."""
    recording = record(OUTSIDE[name], dt.ones(2))
    assert "memory from elsewhere" in str(recording)
    with pytest.raises(CaptureError, match=name):
        recording(dt.zeros(2))


READS: dict[str, P] = {
    "repeat_interleave": lambda x: x.repeat_interleave(x.long()),
    "one_hot": lambda x: dt.nn.functional.one_hot(x.long()),
    "linspace": lambda x: dt.linspace(0, x[0], 3),
    "equal": lambda x: x + 1 if dt.equal(x, x.round()) else x,
}


@pytest.mark.parametrize("name", READS)
def test_functions_that_read_values_are_guards(name: str) -> None:
    """What a function of ours reads is a guard, as what the user reads is."""
    recording = record(READS[name], dt.tensor([2.0, 1.0]))
    x = dt.tensor([2.0, 1.0])
    same(recording(x), READS[name](x))
    with pytest.raises(CaptureError, match="which Python read by"):
        recording(dt.tensor([4.5, 2.0]))


def test_hooks_behind_a_result_are_refused() -> None:
    """A replayed result has no hooks, so one with hooks behind it is not replayed."""
    w = leaf([1.0, 2.0])
    layer = dt.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda m, gi, go: None)

    def hooked(x: dt.Tensor) -> dt.Tensor:
        y = w * x
        y.register_hook(lambda g: g * 2)
        return y + 1

    def within(x: dt.Tensor) -> dt.Tensor:
        y = hooked(x).sum()
        w.grad = None
        y.backward()
        return y

    for function in (hooked, layer):
        recording = record(function, dt.ones(2))
        with pytest.raises(CaptureError, match="hook"):
            recording(dt.ones(2))
    recording = record(within, dt.ones(2))
    recording(dt.tensor([2.0, 3.0]))
    assert w.grad.tolist() == [4, 6]


class Class(dt.Tensor):
    """A subclass."""


@dataclass(frozen=True)
class Pair:
    """Two values."""

    a: Any
    b: Any


def test_results_keep_their_structure() -> None:
    """Containers of their own class, dataclasses too, come back with new tensors."""

    def function(x: dt.Tensor) -> Any:
        found = defaultdict(list, a=[x + 1])
        return Pair(x * 2, found), OrderedDict(y=(x - 1, "name", x.shape))

    recording = record(function, dt.ones(2))
    for values in ([3.0, 4.0], [5.0, 6.0]):
        pair, rest = recording(dt.tensor(values))
        wanted, others = function(dt.tensor(values))
        same([pair.a, pair.b, rest], [wanted.a, wanted.b, others])
        assert (type(pair.b), type(rest)) == (defaultdict, OrderedDict)
        assert pair.b["nothing"] == []


def _cyclic(x: dt.Tensor) -> Any:
    found = [x * 2]
    found.append(found)
    return found


@pytest.mark.parametrize(
    "function",
    [
        lambda x: deque([x * 2]),
        lambda x: {1: iter([x])},
        _cyclic,
        lambda x: (x * 2).as_subclass(Class),
        lambda x: dt.nn.Linear(2, 2),
    ],
    ids=["deque", "iterator", "cyclic", "subclass", "module"],
)
def test_results_of_unknown_classes_are_refused(function: P) -> None:
    """What a replay could only give back as it was when recorded is refused."""
    recording = record(function, dt.ones(2))
    with pytest.raises(CaptureError, match="result"):
        recording(dt.ones(2))


def test_a_result_may_keep_its_gradient() -> None:
    """What retains its gradient does so when it is replayed."""
    w = leaf([1.0, 2.0])

    def function(x: dt.Tensor) -> Any:
        y = w * x
        y.retain_grad()
        return y, (y * y).sum()

    recording = record(function, dt.ones(2))
    y, loss = recording(dt.tensor([3.0, 4.0]))
    loss.backward()
    assert y.grad.tolist() == [6, 16]


def test_state_that_begins_is_refused() -> None:
    """An optimizer that first steps while recorded would start anew each time."""
    for make in (dt.optim.AdamW, lambda p: dt.optim.SGD(p, lr=0.1, momentum=0.9)):
        w = leaf([1.0, 2.0])
        optimizer = make([w])

        def step(x: dt.Tensor, w: dt.Tensor = w, optimizer: Any = optimizer) -> None:
            w.grad = None
            (w * x).sum().backward()
            optimizer.step()

        recording = record(step, dt.ones(2))
        before = w.tolist()
        with pytest.raises(CaptureError, match="state of an optimizer"):
            recording(dt.ones(2))
        assert w.tolist() == before
        record(step, dt.ones(2))(dt.ones(2))
        assert w.tolist() != before


def test_a_shape_that_depends_on_values_is_a_guard() -> None:
    """Where other values give other shapes, the replay says so."""
    recording = record(lambda x: x[x > 0].sum(), dt.tensor([1.0, -1.0, 2.0]))
    assert recording(dt.tensor([4.0, 5.0, -1.0])).item() == 9
    with pytest.raises(CaptureError, match="as recorded"):
        recording(dt.tensor([-4.0, 5.0, -1.0]))


def test_recording_keeps_no_memory() -> None:
    """What a program drops is gone while it is recorded, and is not confused later."""
    gone: list[bool] = []

    def function(x: dt.Tensor) -> dt.Tensor:
        for _ in range(20):
            y = x * 2
            ref = weakref.ref(y._a)
            x = y + 1
            del y
            gone.append(ref() is None)
        return x

    recording = record(function, dt.ones(64))
    assert all(gone)
    same(recording(dt.zeros(64)), function(dt.zeros(64)))


def test_nothing_is_recorded_outside() -> None:
    """The recorder is gone after the recording, also after an exception."""
    recording = record(lambda x: x + 1, dt.ones(2))
    count = len(recording.steps)
    dt.ones(2) + 1
    with pytest.raises(ZeroDivisionError):
        record(lambda x: x / 0 + 1 // 0, dt.ones(2))
    dt.ones(2) + 1
    assert len(recording.steps) == count


def test_a_listing_reads_well() -> None:
    """A recording prints its arguments, what it found, and its steps."""
    w = leaf([1.0, 2.0])

    def step(x: dt.Tensor) -> dt.Tensor:
        y = (w * x).sum()
        y.backward()
        return y

    text = str(record(step, dt.ones(2))).splitlines()
    assert text[0] == "step(%0: float32[2]):"
    assert text[1] == "  %1: float32[2] (found)"
    assert text[2] == "  %2: float32[2] = mul(%1, %0)"
    assert "  # backward" in text
    assert any(line.startswith("  %1.grad = %") for line in text)
    assert text[-1] == "  return %3"
