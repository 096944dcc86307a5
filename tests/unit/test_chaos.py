"""The chaos device: programs that keep to the rules survive it, others are caught."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided
from tests.support import child, kit
from tests.support.dense import Plain

import dovetail as dt
from dovetail import dtypes, nn
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.device_api import HostMemory, KernelTable, Pool, registry
from dovetail.engine.cases import cases_of
from dovetail.engine.op import declared, vocabulary
from dovetail.errors import (
    ArgumentError,
    BackendError,
    DeviceError,
    DeviceLost,
    DovetailError,
    IndexOutOfRange,
    KernelError,
    OutOfMemory,
)
from dovetail.testing import chaos
from dovetail.testing.chaos_device.memory import guard, poison
from dovetail.testing.chaos_device.settings import parse
from dovetail_cpu.backend import CpuBackend

DEVICE = "chaos:cpu"


@pytest.fixture(autouse=True)
def no_fallback() -> Iterator[None]:
    """Nothing runs on the host unseen."""
    before = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy(before)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Memory comes back by itself, without a search for cycles."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def live(device: str = DEVICE) -> int:
    """Bytes that are in use."""
    backend, index = registry.resolve(device)
    pool = backend.capability(Pool)
    assert pool is not None
    return pool.live_bytes(index)


# ---- device strings


def test_device_string_names_the_wrapped_device() -> None:
    """`chaos:acme:1` has the type `chaos:acme` and the index 1, and reads back."""
    wrapped = dt.device("chaos:acme:1")
    assert (wrapped.type, wrapped.index) == ("chaos:acme", 1)
    assert dt.device(str(wrapped)) == wrapped == dt.device("chaos:acme", 1)
    assert dt.device(DEVICE).index is None


@pytest.mark.parametrize("text", [DEVICE, "chaos:cpu:0"])
def test_tensors_are_made_on_it(text: str) -> None:
    """A tensor made there or moved there says so, and comes back."""
    made, moved = dt.tensor([1.0, 2.0], device=text), dt.tensor([1.0, 2.0]).to(text)
    assert str(made.device) == str(moved.device) == "chaos:cpu:0"
    assert (made + moved).device == made.device
    assert (made + moved).cpu().tolist() == [2.0, 4.0]


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("chaos", BackendError, 'name the device behind it, as in "chaos:cpu"'),
        ("chaos:nothing", BackendError, "'nothing', for which no backend is installed"),
        ("chaos:meta", DeviceError, "meta holds no data"),
        ("chaos:cpu:3", DeviceError, "index is chaos:cpu:3"),
        ("chaos:chaos:cpu", DeviceError, "type"),
    ],
)
def test_wrong_device_strings(text: str, error: type[Exception], words: str) -> None:
    """What cannot be wrapped is refused in words."""
    with pytest.raises(error, match=words):
        dt.zeros(1, device=text)


def test_it_is_no_device_of_its_own() -> None:
    """It is never chosen for `auto` nor listed, and hides the host's memory."""
    backend, _ = registry.resolve(DEVICE)
    assert not backend.automatic
    assert all(d.type != DEVICE for d in dt.devices())
    assert backend.capability(HostMemory) is None
    assert backend.dtypes == registry.load("cpu").dtypes


def test_replacing_a_backend_replaces_what_wraps_it() -> None:
    """A backend registered anew is the one behind its chaos device."""
    with registered(Broken()):
        first = registry.load("chaos:broken")
        registry.register(Broken())
        assert registry.load("chaos:broken") is not first


# ---- it computes what the wrapped device computes


@pytest.mark.parametrize("dtype", [dt.float32, dt.int32, dt.bool], ids=lambda d: d.name)
def test_vocabulary(dtype: Any) -> None:
    """Every op obeys its oracle with poison, guards and reordered work."""
    subject, budget = Subject(DEVICE), replace(kit.QUICK, rows=2, dtypes=(dtype,))
    with chaos(seed=1) as plan:
        count = sum(
            kit.assert_proven(subject, checks, budget)
            for checks in kit.planned(subject, laws="forward", budget=budget).values()
        )
    assert count > 100
    assert plan.kernels > count


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_vocabulary_in_every_dtype(seed: int) -> None:
    """The same, for all dtypes and several orders of work."""
    subject, budget = Subject(DEVICE), replace(kit.QUICK, dtypes=dtypes.ALL)
    with chaos(seed=seed):
        for checks in kit.planned(subject, laws="forward", budget=budget).values():
            kit.assert_proven(subject, checks, budget)


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.25), nn.Linear(8, 3)
    )


def conv_net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(12, 3),
    )  # fmt: skip


def optimizer_of(model: nn.Module, which: str) -> Any:
    if which == "adamw":
        return dt.optim.AdamW(model.parameters(), lr=0.01)
    return dt.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, nesterov=True)


def train(make: Callable[[], nn.Module], which: str, device: str) -> list[Any]:
    """Values after three steps: losses, parameters, buffers."""
    dt.manual_seed(0)
    model = make()
    shape = (5, 6) if make is mlp else (5, 1, 6, 6)
    x, t = dt.randn(*shape), dt.tensor([0, 2, 1, 1, 0])
    model, x, t = model.to(device), x.to(device), t.to(device)
    dt.manual_seed(1)  # dropout draws from the device's own generator
    optimizer = optimizer_of(model, which)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), t)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return [v.cpu().numpy() for v in (*losses, *model.state_dict().values())]


@pytest.mark.parametrize("make", [mlp, conv_net])
@pytest.mark.parametrize("which", ["sgd", "adamw"])
def test_training_is_the_same_bit_for_bit(make: Any, which: str) -> None:
    """A network trains as on the wrapped device, in whatever order its work is done."""
    want = train(make, which, "cpu")
    for seed in range(4):
        with chaos(seed=seed):
            got = train(make, which, DEVICE)
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_wrapped_device_without_strides() -> None:
    """Arrays that are copied for views can be guarded and reordered too."""
    backend = Plain()
    registry.register(backend)
    try:
        want = train(mlp, "adamw", "dense")
        with chaos(seed=1):
            got = train(mlp, "adamw", "chaos:dense")
    finally:
        registry.unregister("dense")
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_work_is_reordered() -> None:
    """Independent work changes places, differently for another seed."""
    orders = set()
    backend = Noisy()
    with registered(backend):
        for seed in range(6):
            with chaos(seed=seed):
                xs = [dt.tensor([float(i)], device="chaos:broken") for i in range(6)]
                dt.synchronize("chaos:broken")
                backend.seen.clear()
                ys = [x.exp() for x in xs]
            assert [y.item() for y in ys] == [np.exp(np.float32(i)) for i in range(6)]
            orders.add(tuple(backend.seen))
        assert len(orders) > 3
        with chaos(reorder=False):
            backend.seen.clear()
            for x in xs:
                x.exp()
            assert backend.seen == [float(i) for i in range(6)]


def test_writes_wait_for_earlier_readers() -> None:
    """What was read before a write has the old values, what is read after the new."""
    for seed in range(20):
        with chaos(seed=seed):
            x = dt.zeros(4, device=DEVICE)
            before = x + 1
            x[1:3].fill_(5.0)
            between = x * 2
            x.copy_(before)
            x.mul_(x)
            assert between.tolist() == [0.0, 10.0, 10.0, 0.0]
            assert x.tolist() == before.tolist() == [1.0] * 4


def test_threads() -> None:
    """Several threads work on one device at once."""
    found: list[Any] = []

    def work(k: int) -> None:
        x = dt.full((16,), float(k), device=DEVICE)
        for _ in range(30):
            x = x + 1
        found.append((k, x.sum().item()))

    with chaos(seed=3):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert sorted(found) == [(k, 16.0 * (k + 30)) for k in range(4)]


# ---- poison and guards


def test_fresh_memory_is_poisoned() -> None:
    """`empty` holds NaN, large odd numbers, alternating bools."""
    assert dt.empty(3, device=DEVICE).isnan().all()
    assert dt.empty(3, device=DEVICE, dtype=dt.int32).tolist() == [0x5A5A5A5B] * 3
    assert dt.empty(3, device=DEVICE, dtype=dt.bool).tolist() == [True, False, True]
    with chaos(poison=False, guard=False):
        dt.empty(3, device=DEVICE)


@pytest.mark.parametrize("dtype", sorted(registry.load("cpu").dtypes, key=str), ids=str)
def test_poison_is_conspicuous(dtype: Any) -> None:
    """In every dtype poison is what no program expects, and guards are of its kind."""
    for values in (poison(dtype, 6), guard(dtype)):
        assert values.dtype == dtype.numpy
        if dtype.is_inexact:
            assert np.isnan(values.astype(np.complex128)).all()
        elif dtype is not dt.bool:
            assert (values % 2 == 1).all()
            assert (values > 64).all()


def beyond(a: Any, before: int = 0) -> Any:
    """One more element behind the last one of `a`, or before its first."""
    step = a.itemsize
    start = as_strided(a, (1,), (step,)) if a.ndim else a.reshape(1)
    if before:
        return as_strided(start[::-1], (2,), (-step,))[1:]
    return as_strided(start, (a.size + 1,), (step,))[-1:]


def exp_writing_behind(a: Any) -> Any:
    beyond(a)[...] = 0
    return np.exp(a)


def log_writing_before(a: Any) -> Any:
    beyond(a, before=1)[...] = 0
    return np.log(a)


def sin_reading_behind(a: Any) -> Any:
    return np.sin(np.concatenate([a[1:], beyond(a)]))


def fill_behind(ps: Any, grads: Any, buffers: Any, *, first: Any, **_: Any) -> None:
    for p, buffer in zip(ps, buffers, strict=True):
        p[...] -= buffer  # whether or not it holds something yet


class Broken(CpuBackend):
    """A device with a mistake in each of these kernels."""

    type = "broken"

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        wrong: dict[str, Any] = {
            "exp": exp_writing_behind,
            "log": log_writing_before,
            "sin": sin_reading_behind,
            "cos": lambda a: a,
            "sqrt": lambda a: np.sqrt(a, dtype=np.float64),
            "tanh": lambda a: np.tanh(a)[:-1],
            "floor": self.failing,
            "sgd_steps_": fill_behind,
        }
        for op, function in wrong.items():
            table.add(op, function, dtypes=[dt.float32], rank=9)

    def failing(self, a: Any) -> Any:
        raise ZeroDivisionError("no such unit")


class Noisy(CpuBackend):
    """A device that tells in which order kernels ran."""

    type = "broken"

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[float] = []

    def kernels(self, table: KernelTable) -> None:
        super().kernels(table)
        table.add("exp", self.exp, dtypes=[dt.float32], rank=9)

    def exp(self, a: Any) -> Any:
        self.seen.append(float(a.reshape(-1)[0]))
        return np.exp(a)


class registered:  # noqa: N801  used like a function
    """A backend in use for a while."""

    def __init__(self, backend: CpuBackend) -> None:
        self.backend = backend

    def __enter__(self) -> None:
        registry.register(self.backend)

    def __exit__(self, *_: object) -> None:
        registry.unregister(self.backend.type)


@pytest.fixture
def broken() -> Iterator[dt.Tensor]:
    """Values on the chaos device of a broken backend."""
    with registered(Broken()), chaos(seed=5):
        yield dt.tensor([1.0, 2.0, 3.0], device="chaos:broken")


@pytest.mark.parametrize(
    ("op", "words"),
    [
        ("exp", r"exp: kernel is writing behind its float32 array of shape \(3,\)"),
        ("log", r"log: kernel is writing before its float32 array of shape \(3,\)"),
        ("cos", "cos: kernel's result is one of its arguments, needed a fresh array"),
        ("sqrt", "sqrt: kernel's result is float64, needed float32"),
        ("tanh", r"tanh: kernel's result is of shape \(2,\), needed \(3,\)"),
        ("floor", "floor: kernel is failing with ZeroDivisionError: no such unit"),
    ],
)
def test_broken_kernels_are_named(broken: Any, op: str, words: str) -> None:
    """A wait raises what a kernel did wrong, and names the op it did it in."""
    with pytest.raises(KernelError, match=words):
        dt.synchronize(getattr(broken, op)().device)


def test_reading_behind_an_array_gives_poison(broken: Any) -> None:
    """A kernel that reads outside of its input has NaN in its result."""
    assert np.isnan(broken.sin().cpu().numpy()[-1])


def test_reading_what_was_never_written_gives_poison(broken: Any) -> None:
    """A momentum that is used before it holds something is NaN."""
    p = nn.Parameter(broken)
    p.grad = broken * 1
    dt.optim.SGD([p], lr=0.1, momentum=0.9).step()
    assert p.isnan().all()


def test_a_view_cannot_leave_its_memory() -> None:
    """Strides that reach outside are refused by the device itself."""
    backend, _ = registry.resolve(DEVICE)
    x = dt.zeros(4, device=DEVICE)
    with pytest.raises(KernelError, match="view is from element 0 to 4"):
        backend.view(x._a, (5,), (1,), 0)


# ---- asynchronous errors


def test_an_error_waits_for_a_wait(broken: Any) -> None:
    """It is sticky until a wait raises it once; what came of it stays unusable."""
    y = broken.floor() + 1
    with pytest.raises(KernelError, match="floor"):
        dt.synchronize("chaos:broken")
    dt.synchronize("chaos:broken")
    with pytest.raises(KernelError, match="floor"):
        y.tolist()
    assert (broken + 1).tolist() == [2.0, 3.0, 4.0]


def test_a_wait_for_something_else_raises_it(broken: Any) -> None:
    """No value leaves the device past an error that nobody has heard of."""
    broken.floor()
    with pytest.raises(KernelError, match="floor"):
        (broken + 1).tolist()


def test_the_end_of_chaos_is_a_wait() -> None:
    """Errors that nobody waited for are raised there."""
    with pytest.raises(KernelError, match="floor"), registered(Broken()), chaos():
        dt.ones(3, device="chaos:broken").floor()


def test_an_index_out_of_range_is_heard_of_at_the_wait() -> None:
    """It is raised there by its own class; what was to be written has no values."""
    with chaos(seed=2):
        x, other = dt.zeros(3, device=DEVICE), dt.zeros(3, device=DEVICE)
        index = dt.tensor([9], device=DEVICE)
        with pytest.raises(IndexOutOfRange, match="out of bounds"):
            x.index_add_(0, index, dt.ones(1, device=DEVICE)).tolist()
        with pytest.raises(IndexOutOfRange, match="out of bounds"):
            x.tolist()
        assert other.tolist() == [0.0, 0.0, 0.0]


def test_what_core_refuses_is_refused_at_once() -> None:
    """Shapes that do not fit need no wait."""
    with pytest.raises(dt.errors.ShapeError):
        dt.ones(2, device=DEVICE) + dt.ones(3, device=DEVICE)


# ---- memory


@pytest.mark.usefixtures("no_collection")
def test_memory_is_counted_and_given_back() -> None:
    """Live bytes are those of the arrays alive, also while work on them is due."""
    with chaos(seed=1):
        before = live()
        x = dt.ones(100, device=DEVICE)
        assert live() == before + 400
        y = x[10:20]
        del x
        assert live() == before + 400
        y = (y + y).sum()
        assert live() == before + 4
        y.item()
        del y
        assert live() == before


@pytest.mark.usefixtures("no_collection")
def test_work_that_is_done_keeps_no_memory() -> None:
    """A long chain of writes to one tensor leaves nothing behind."""
    with chaos(seed=1):
        x = dt.ones(8, device=DEVICE)
        device = registry.resolve(DEVICE)[0].device(0)  # type: ignore[attr-defined]
        for _ in range(5):
            x.add_(1)
        dt.synchronize(DEVICE)
        before = len(device.cells)
        for _ in range(100):
            x.add_(1)
        dt.synchronize(DEVICE)
        assert len(device.cells) <= before


def fails_at(number: int, call: Callable[[], Any]) -> None:
    with chaos(seed=number, out_of_memory=number), pytest.raises(OutOfMemory):
        call()


def allocations_of(call: Callable[[], Any]) -> int:
    with chaos() as plan:
        call()
    return plan.allocations


def of_tensors(args: Any) -> list[bytes]:
    found = []
    for a in args:
        for v in a if isinstance(a, list) else (a,):
            if isinstance(v, dt.Tensor):
                found.append(v._kind.backend.copy_out(v._a).tobytes())
    return found


@pytest.mark.usefixtures("no_collection")
def test_out_of_memory_in_any_op() -> None:
    """A refused call changes no input, keeps no memory, and the next one works."""
    device = Subject(DEVICE)
    for op in (op for op in declared() if dt.float32 in op.accepts):
        example = Example(next(iter(cases_of(op, dt.float32))))

        def made(op: Any = op, example: Any = example) -> Any:
            return device.arguments(op, example, dt.float32)

        want = of_tensors(device.call(op, *made()))
        args, kwargs = made()
        count = allocations_of(lambda: device.call(op, args, kwargs))  # noqa: B023
        for number in sorted({1, count // 2 + 1, count} if count else ()):
            args, kwargs = made()
            before, bytes_before = of_tensors((*args, *kwargs.values())), live()
            fails_at(number, lambda: device.call(op, args, kwargs))  # noqa: B023
            assert of_tensors((*args, *kwargs.values())) == before, op
            assert live() == bytes_before, op
            assert of_tensors(device.call(op, args, kwargs)) == want, op


@pytest.mark.usefixtures("no_collection")
def test_out_of_memory_in_backward() -> None:
    """Where backward fails, each leaf has all of its gradient or none of it."""
    x = dt.arange(6.0, device=DEVICE).reshape(2, 3)
    weights = [dt.ones(3, 3, device=DEVICE, requires_grad=True) for _ in range(3)]

    def loss() -> dt.Tensor:
        y = x
        for w in weights:
            y = (y @ w).tanh()
        return y.sum()

    loss().backward()
    grads = [w.grad for w in weights]
    first = of_tensors(grads)
    for w in weights:
        w.grad = None
    count = allocations_of(loss().backward)
    assert count > 2 * len(weights)
    for number in range(1, count + 1):
        for w in weights:
            w.grad = None
        graph = loss()
        fails_at(number, graph.backward)
        for w, whole in zip(weights, first, strict=True):
            assert w.grad is None or of_tensors([w.grad]) == [whole]
    for w in weights:
        w.grad = None
    loss().backward()
    assert of_tensors([w.grad for w in weights]) == first


class Composing(CpuBackend):
    """A device whose optimizers are made of other ops."""

    type = "broken"

    def __init__(self) -> None:
        super().__init__()

        class Table(KernelTable):
            def add(self, op: str, *args: Any, **options: Any) -> None:
                if op.removesuffix("s_") not in ("sgd_step", "adam_step"):
                    super().add(op, *args, **options)

        self.table = Table(self.type)


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("which", ["sgd", "adamw"])
@pytest.mark.parametrize("composed", [False, True])
def test_out_of_memory_in_an_optimizer(which: str, composed: bool) -> None:
    """A step that fails is none: parameter and state are as before, and it can be
    done again."""
    device = "chaos:broken" if composed else DEVICE

    def start() -> tuple[Any, Any]:
        p = nn.Parameter(dt.ones(4, device=device))
        p.grad = dt.arange(4.0, device=device)
        return p, optimizer_of(nn.ParameterList([p]), which)

    with registered(Composing()):
        _, optimizer = start()
        for _ in range(2):
            optimizer.step()  # numbers that it uses are kept from now on
        p, optimizer = start()
        counts = [allocations_of(optimizer.step) for _ in range(2)]
        want = p.tolist()
        assert counts[0] > 0
        for done in range(2):
            for number in range(1, counts[done] + 1):
                p, optimizer = start()
                for _ in range(done):
                    optimizer.step()
                before, held = p.tolist(), live(device)
                fails_at(number, optimizer.step)
                assert p.tolist() == before
                assert live(device) == held
                for _ in range(2 - done):
                    optimizer.step()
                assert p.tolist() == want


def test_out_of_memory_is_a_memory_error() -> None:
    """It says what was asked for, of which device, and for which op."""
    x = dt.ones(3, 5, device=DEVICE)
    with chaos(out_of_memory=1), pytest.raises(MemoryError) as caught:
        x + x
    assert isinstance(caught.value, RuntimeError)
    assert type(caught.value) is dt.OutOfMemoryError
    assert "add: memory is refused by chaos:cpu:0" in str(caught.value)
    assert "needed 60 bytes" in str(caught.value)


def test_faults_by_chance_are_seeded() -> None:
    """The same seed refuses the same allocations, another one others."""

    def refused(seed: int) -> list[int]:
        found = []
        with chaos(seed=seed, out_of_memory=0.3):
            for i in range(40):
                try:
                    dt.empty(1, device=DEVICE)
                except OutOfMemory:
                    found.append(i)
        return found

    assert refused(1) == refused(1) != refused(2)
    assert 2 < len(refused(1)) < 30


# ---- device loss


def test_a_lost_device() -> None:
    """Each use raises the same error; others work on; a new one has new memory."""
    x = dt.ones(3, device=DEVICE)
    uses: list[Callable[[], Any]] = [
        lambda: x + x, x.tolist, lambda: x.fill_(1), lambda: dt.zeros(1, device=DEVICE),
        lambda: dt.synchronize(DEVICE), lambda: dt.tensor([1]).to(DEVICE), x.cpu,
        lambda: x.copy_(dt.ones(3)), lambda: x.sum().backward(), lambda: x[1].item(),
        lambda: dt.Stream(DEVICE).query(), dt.current_stream(DEVICE).synchronize,
    ]  # fmt: skip
    with chaos(device_loss=2):
        y = x * 2
        with pytest.raises(DeviceLost, match="lost at kernel 2, mul") as first:
            y * 3
        for use in uses:
            with pytest.raises(DeviceLost) as caught:
                use()
            assert str(caught.value) == str(first.value)
        assert (dt.ones(2) + 1).tolist() == [2.0, 2.0]
    assert (dt.ones(2, device=DEVICE) + 1).tolist() == [2.0, 2.0]
    with pytest.raises(DeviceLost):
        x.tolist()
    with pytest.raises(DeviceLost):
        (x + 1).tolist()


@pytest.mark.usefixtures("no_collection")
def test_a_lost_device_gives_its_memory_back() -> None:
    """Tensors of a lost device die as others do."""
    before = live()
    x = dt.ones(1000, device=DEVICE)
    with chaos(device_loss=1), pytest.raises(DeviceLost):
        x + x
    del x
    assert live() <= before


# ---- settings


def test_the_environment_sets_it() -> None:
    """`DOVETAIL_CHAOS` holds where no `chaos(...)` does; its loss ends well."""
    code = """
import dovetail as dt
x = dt.ones(3, device="chaos:cpu")
try:
    for i in range(9):
        x = x + 1
except dt.errors.DeviceLost as error:
    print(i, error)
"""
    settings = "seed=7,device_loss=4"
    done = child.python("-W", "error", "-c", code, DOVETAIL_CHAOS=settings)
    assert done.stderr == ""
    assert done.stdout.startswith("3 device: chaos:cpu:0 is lost at kernel 4, add")


def test_work_that_is_due_at_exit_is_no_trouble() -> None:
    """A process may end without having waited."""
    code = "import dovetail as dt; x = dt.ones(9, device='chaos:cpu').exp() + 1"
    assert child.python("-W", "error", "-c", code, DOVETAIL_CHAOS="").stderr == ""


def test_settings_are_read() -> None:
    """Every setting has its spelling in the environment."""
    found = parse("seed=7, poison=0,guard=false,reorder=1,out_of_memory=3/9")
    assert (found.seed, found.poison, found.guard, found.reorder) == (7, 0, 0, 1)
    assert found.out_of_memory == {3, 9}
    assert parse("device_loss=0.5").device_loss == 0.5


@pytest.mark.parametrize("text", ["speed=1", "seed=x", "poison=2", "out_of_memory=1.5"])
def test_wrong_settings(text: str) -> None:
    """What cannot be is refused in words."""
    with pytest.raises(ArgumentError):
        parse(text)


def test_wrong_points() -> None:
    """Ordinals count from 1, chances go from 0.0 to 1.0."""
    with pytest.raises(ArgumentError, match="out_of_memory is 0, needed"):
        chaos(out_of_memory=0).__enter__()
    with pytest.raises(DovetailError, match=r"device_loss is 1\.5"):
        chaos(device_loss=1.5).__enter__()


def test_every_kernel_of_the_wrapped_device_is_there() -> None:
    """Its table follows the wrapped one's, also when a kernel comes."""
    with registered(Broken()):
        inner, outer = registry.load("broken"), registry.load("chaos:broken")
        assert outer.table.names() == inner.table.names()
        assert all(map(outer.table.rivals, outer.table.names()))
        x = dt.tensor([4.0], device="chaos:broken")
        assert x.square().item() == 16.0
        inner.table.add("square", lambda a: a * 0, dtypes=[dt.float32], rank=99)
        assert x.square().item() == 0.0
        with pytest.raises(KernelError, match="add it to the table of broken"):
            outer.table.add("square", lambda a: a, dtypes=[dt.float32])
    assert "native_slice" not in vocabulary
