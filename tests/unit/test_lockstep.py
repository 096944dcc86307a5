"""`lockstep` names the op at which two devices part, and raises no false alarm."""

from __future__ import annotations

import pickle
import runpy
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import child
from tests.support.broken import broken, install
from tests.support.dense import Plain, registered

import dovetail as dt
import dovetail.conformance.oracle  # declares the cases of random ops
from dovetail import nn, optim
from dovetail.conformance import reference
from dovetail.conformance.example import Example
from dovetail.conformance.subject import Subject
from dovetail.device_api import registry
from dovetail.engine.cases import Case, cases_of
from dovetail.engine.op import Op, declared
from dovetail.errors import ArgumentError, DovetailError
from dovetail.nn import functional as F
from dovetail.testing import LockstepError, lockstep
from dovetail.testing.comparison.report import Divergence

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def _reference() -> Iterator[None]:
    reference.install()
    yield
    registry.unregister("reference")


def perceptron(device: str) -> Any:
    """Two steps of AdamW with dropout."""
    model = nn.Sequential(
        nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 4)
    ).to(device)
    made = optim.AdamW(model.parameters())
    x = dt.randn(12, 8, device=device)
    y = dt.randint(0, 4, (12,), device=device)
    for _ in range(2):
        made.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        made.step()
    return {"model": model, "loss": loss.item(), "optimizer": made}


def convolutional(device: str) -> Any:
    """A step of SGD with momentum on convolutions, norms and pools."""
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4), nn.ReLU(),
        nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, stride=2), nn.Tanh(), nn.Flatten(),
        nn.Linear(6, 3),
    ).to(device)  # fmt: skip
    made = optim.SGD(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-3)
    x = dt.randn(4, 2, 8, 8, device=device)
    for _ in range(2):
        made.zero_grad()
        model(x).square().mean().backward()
        made.step()
    return model


def attention(device: str) -> Any:
    """A step on an embedding, causal attention, a norm and a gated network."""
    embedding = nn.Embedding(11, 8).to(device)
    block = nn.MultiheadAttention(8, 2, batch_first=True).to(device)
    norm, last = nn.LayerNorm(8).to(device), nn.Linear(8, 11).to(device)
    tokens = dt.randint(0, 11, (2, 6), device=device)
    x = embedding(tokens)
    x = x + block(x, x, x, need_weights=False)[0]
    x = F.gelu(norm(x)) * dt.sigmoid(x[..., :1])
    loss = F.cross_entropy(last(x)[:, :-1].reshape(-1, 11), tokens[:, 1:].reshape(-1))
    loss.backward()
    return loss, [p.grad for p in (*embedding.parameters(), *block.parameters())]


def in_place(device: str) -> Any:
    """Views written in place, data-dependent shapes, lists and reductions."""
    x = dt.randn(6, 5, device=device, requires_grad=True)
    y = x * 2
    y[:, 1] = y[:, 0] * 0.5
    y.t()[2].add_(1.0)
    kept = y[y > 0]
    where = dt.nonzero(y < 0)
    rows = dt.cat([y[:2], y[2:].flip(0)]).sort(dim=1).values
    (kept.sum() + rows.logsumexp(1).sum() + y.std()).backward()
    flat = y.detach().view(-1).cumsum(0)
    return x.grad, where, rows.argmax(1), flat, dt.stack([y, y], 1).view(6, 10)


def half(device: str) -> Any:
    """A network in 16-bit floats."""
    model = nn.Sequential(nn.Linear(8, 8), nn.GELU(), nn.LayerNorm(8)).to(device)
    model = model.to(dt.bfloat16)
    x = dt.randn(4, 8, device=device).to(dt.bfloat16)
    made = optim.Adam(model.parameters())
    model(x).float().square().sum().backward()
    made.step()
    return model


STEPS = (perceptron, convolutional, attention, in_place, half)


def first(step: Callable[[str], Any], device: str, **options: Any) -> Divergence:
    """The first divergence of a step on a device at fault."""
    options.setdefault("folder", None)
    report = lockstep(step, device, raise_on_divergence=False, **options)
    assert report.first is not None, report
    return report.first


# ---- sound devices


@pytest.mark.usefixtures("_reference")
@pytest.mark.parametrize("step", STEPS)
def test_level_zero_alone_agrees(step: Callable[[str], Any]) -> None:
    """Bodies round otherwise than kernels, which is no divergence."""
    report = lockstep(step, "reference", folder=None)
    assert report.ok
    assert report.compared > 10


@pytest.mark.parametrize("step", [perceptron, convolutional, in_place])
def test_a_device_without_float64_agrees(step: Callable[[str], Any]) -> None:
    """Arrays without strides, and fewer dtypes than the reference has."""
    with registered(Plain()):
        assert lockstep(step, "dense", folder=None).ok


def test_missing_dtypes_are_stood_in_for() -> None:
    """A reference without float64 judges a step in float64 by its own float32."""

    def step(device: str) -> Any:
        x = dt.linspace(-1, 1, 30, dtype=dt.float64, device=device)
        return (x * 3).exp().sum()

    with registered(Plain()):
        report = lockstep(step, "cpu", "dense", folder=None, raise_on_divergence=False)
    assert set(report.ops) >= {"mul", "exp", "sum"}
    assert report.ops["exp"].worst > 1e-9
    assert not any(r.beyond for r in report.ops.values())


def test_the_same_device_agrees_to_the_bit() -> None:
    """Every run draws the same random numbers, whatever was drawn before."""
    dt.randn(3)
    before = dt.random.get_rng_state().tolist()
    report = lockstep(perceptron, "cpu", folder=None)
    assert report.drift == 0.0
    assert {record.worst for record in report.ops.values()} == {0.0}
    assert dt.random.get_rng_state().tolist() == before


@pytest.mark.usefixtures("_reference")
def test_an_ill_conditioned_step_is_no_alarm() -> None:
    """AdamW scales a gradient that is rounding alone to a whole step."""

    def step(device: str) -> Any:
        model = nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.Tanh()).to(device)
        made = optim.AdamW(model.parameters(), lr=0.1)
        weight = dt.randn(8, 8, device=device)
        (model(dt.randn(16, 6, device=device)) @ weight).square().mean().backward()
        made.step()
        return model

    assert lockstep(step, "reference", folder=None).ok


def one_call(op: Op, case: Case) -> Callable[[str], Any]:
    """A step that is one call of an op."""

    def step(device: str) -> Any:
        return Subject(device).run(op, Example(case), dt.float32)

    return step


FLOAT_OPS = [op for op in declared() if dt.float32 in op.accepts]


@pytest.mark.usefixtures("_reference")
def test_no_op_of_the_vocabulary_raises_an_alarm() -> None:
    """By kernels or by bodies, each op's sample calls are within tolerance."""
    for op in FLOAT_OPS:
        for case in islice(cases_of(op, dt.float32), 2):
            report = lockstep(
                one_call(op, case), "reference", folder=None, raise_on_divergence=False
            )
            assert report.ok, report


def long_sums(device: str) -> Any:
    """A step of AdamW through products of a thousand terms."""
    model = nn.Sequential(nn.Linear(1024, 32), nn.LayerNorm(32), nn.Linear(32, 4))
    made = optim.AdamW(model.to(device).parameters())
    F.cross_entropy(
        model(dt.randn(16, 1024, device=device)),
        dt.randint(0, 4, (16,), device=device),
    ).backward()
    made.step()
    return model


def test_sums_in_another_order_are_no_alarm() -> None:
    """Nor is where the optimizer takes the rounding of tiny gradients."""
    with broken("linear", "sequential") as device:
        report = lockstep(long_sums, device, folder=None)
    assert report.ops["linear"].worst > 1e-6


# ---- devices at fault


def test_reduced_precision_is_found() -> None:
    """Products in TF32 are beyond tolerance, also with many terms."""
    with broken("linear", "tf32") as device:
        found = first(long_sums, device)
    assert (found.op, found.place.module) == ("linear", "Sequential/0.Linear")


@pytest.mark.slow
def test_an_error_of_1e_4_is_beyond_tolerance_in_every_op() -> None:
    """The tolerance is no wider than rounding needs: each spoilt kernel is found."""
    found = 0
    for op in FLOAT_OPS:
        for case in cases_of(op, dt.float32):
            with broken(op.name, "scaled") as device:
                report = lockstep(
                    one_call(op, case), device, folder=None, raise_on_divergence=False
                )
            spoilt = report.ops.get(op.name)
            missed = report.ok and spoilt is not None and spoilt.worst > 3e-5
            assert not missed, op.name
            found += not report.ok
    assert found > 400


def gated(device: str) -> Any:
    """A step through softmax, with an index and a NaN on the way."""
    model = nn.Sequential(nn.Linear(8, 16), nn.Softmax(-1)).to(device)
    x = dt.randn(12, 8, device=device)
    y = model(x)
    table = dt.zeros(4, 16, device=device)
    table.index_add_(0, y[:, :4].argmax(1), y.detach())
    odd = dt.tensor([1.0, -1.0], device=device).sqrt()
    y.square().sum().backward()
    return model, table, odd


FAULTS = [
    (gated, "softmax", "scaled", "value", "forward", "Sequential/1.Softmax"),
    (gated, "linear", "scaled", "value", "forward", "Sequential/0.Linear"),
    (gated, "softmax_backward", "scaled", "value", "backward", "Sequential/1.Softmax"),
    (gated, "argmax", "off_by_one", "value", "forward", ""),
    (gated, "sqrt", "lost_nan", "value", "forward", ""),
    (gated, "square", "fails", "raised", "forward", ""),
    (gated, "softmax", "writes_input", "input", "forward", "Sequential/1.Softmax"),
    (perceptron, "relu_backward", "no_gate", "value", "backward", "Sequential/1.ReLU"),
    (perceptron, "adam_steps_", "half_step", "value", "optimizer", ""),
    (convolutional, "sgd_steps_", "half_step", "value", "optimizer", ""),
    (convolutional, "convolution", "scaled", "value", "forward", "Sequential/0.Conv2d"),
]


@pytest.mark.parametrize(("step", "op", "fault", "kind", "phase", "module"), FAULTS)
def test_a_fault_is_named(
    step: Callable[[str], Any], op: str, fault: str, kind: str, phase: str, module: str
) -> None:
    """The op at fault is the first divergence, in its phase, module and line."""
    with broken(op, fault) as device:
        found = first(step, device)
    assert (found.op, found.kind) == (op, kind)
    assert (found.place.phase, found.place.module) == (phase, module)
    assert Path(found.place.line.rpartition(":")[0]) == Path(__file__)


def test_a_write_in_place_is_compared() -> None:
    """An op that writes its input is judged by what it wrote."""

    def step(device: str) -> Any:
        leaf = nn.Parameter(dt.ones(5, device=device))
        leaf.grad = dt.ones(5, device=device)
        optim.SGD([leaf], 0.1, 0.9).step()
        return leaf

    with broken("sgd_steps_", "last_kept") as device:
        found = first(step, device)
    assert found.difference is not None
    assert found.difference.what == "params[0] as written"
    assert (found.difference.index, found.difference.got) == ((4,), "1.0")


def test_a_gradient_names_the_op_that_it_belongs_to() -> None:
    """In backward the forward op and its line are told beside the caller's."""
    with broken("relu_backward", "no_gate") as device:
        found = first(perceptron, device)
    assert found.place.gradient_of == "relu"
    assert found.place.origin.rpartition(":")[0] == __file__
    assert found.place.origin != found.place.line


def test_the_op_within_a_body_is_named() -> None:
    """Where an op runs by its definition, the kernel at fault is within it."""

    class Thin(reference.ReferenceBackend):
        type = "thin"

        def kernels(self, table: Any) -> None:
            super().kernels(table)
            (kernel,) = table._kernels["exp"]
            right = kernel.function
            table.add(
                "exp", lambda x: right(x) * (1 + x * np.float32(1e-3)),
                dtypes=kernel.dtypes, rank=1, broadcasts=True,
            )  # fmt: skip

    registry.register(Thin())
    try:
        found = first(gated, "thin")
    finally:
        registry.unregister("thin")
    assert (found.op, found.within) == ("softmax", "exp")


def test_the_worst_element_is_told() -> None:
    """A divergence has inputs, index, values, and its error in ulp."""
    with broken("softmax", "scaled") as device:
        found = first(gated, device)
    assert [i.partition(" ")[2] for i in found.inputs] == ["float32[12, 16]"]
    worst = found.difference
    assert worst is not None
    assert worst.size == 12 * 16
    assert worst.relative == pytest.approx(1e-4, rel=1e-2)
    assert 800 < worst.ulp < 1700  # 1e-4 is 839 to 1678 ulp of float32


def test_a_layout_at_fault_is_named() -> None:
    """A kernel that ignores strides is found, and the strides are told."""

    def step(device: str) -> Any:
        return dt.randn(3, 4, device=device).t().exp()

    with broken("exp", "only_strided") as device:
        found = first(step, device)
    (told,) = found.inputs
    assert told.endswith(" float32[4, 3] strides (1, 4)")


def test_the_first_of_several_is_told_and_all_are_counted() -> None:
    """The step goes on after a divergence, each op with the inputs it gets."""
    with broken("linear", "scaled") as device:
        report = lockstep(perceptron, device, folder=None, raise_on_divergence=False)
    assert report.first is not None
    assert report.first.place.module == "Sequential/0.Linear"
    assert (report.ops["linear"].calls, report.ops["linear"].beyond) == (4, 4)
    assert sum(r.beyond for r in report.ops.values()) == 4


def test_a_tolerance_of_ones_own() -> None:
    """`rtol` and `atol` replace the tolerance by format; integers stay exact."""
    with broken("softmax", "scaled") as device:
        assert lockstep(gated, device, folder=None, rtol=1e-3, atol=0.5).ops
        assert first(gated, device, rtol=1e-5).op == "softmax"
    with broken("argmax", "off_by_one") as device:
        assert first(gated, device, rtol=10.0, atol=10.0).op == "argmax"
    with pytest.raises(ArgumentError, match="rtol is -1, needed at least 0"):
        lockstep(gated, "cpu", rtol=-1)


# ---- the step as a whole


def test_another_order_of_ops_is_found() -> None:
    """Python that asks for the device may run other ops; the first is named."""

    def step(device: str) -> Any:
        x = dt.ones(3, device=device)
        return x.exp() if device == "cpu" else x.sin()

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("order", "sin")
    assert "cpu ran exp [3]" in found.message


def test_an_end_too_early_is_found() -> None:
    """A device that runs fewer ops than the other has left the step."""

    def step(device: str) -> Any:
        x = dt.ones(3, device=device)
        return x.exp() if device == "cpu" else x

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("order", "exp")
    assert "broken ran nothing more" in found.message


def test_a_result_that_no_op_explains_is_found() -> None:
    """Memory that changes between two ops shows in what the step returns."""

    def step(device: str) -> Any:
        x = dt.ones(3, device=device)
        y = x.exp()
        if device != "cpu":
            y._a[1] = 5  # as a stray write of the device would
        return {"y": y}

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("result", "result['y']")
    assert found.difference is not None
    assert found.difference.index == (1,)


@pytest.mark.parametrize("bad", ["broken", "cpu"])
def test_a_step_that_fails_on_one_device_is_found(bad: str) -> None:
    """The error of one device alone is a divergence, told with the last op."""

    def step(device: str) -> Any:
        dt.ones(3, device=device).cos()
        if device == bad:
            raise MemoryError("no room left")
        return None

    with broken("tan", "scaled") as device:
        found = first(step, device)
    assert (found.kind, found.op) == ("raised", "cos")
    assert f"{bad} raised MemoryError: no room left" in found.message


def test_a_step_that_fails_everywhere_raises_its_own_error() -> None:
    """What is no matter of devices is the caller's to see."""

    def step(device: str) -> Any:
        return dt.ones(3, device=device) @ dt.ones(4, device=device)

    with pytest.raises(dt.errors.ShapeError):
        lockstep(step, "cpu", folder=None)


def test_an_error_that_the_step_expects_is_none() -> None:
    """A refusal that both devices share, and the step catches, is no divergence."""

    def step(device: str) -> Any:
        try:
            dt.ones(3, device=device) @ dt.ones(4, device=device)
        except DovetailError:
            return dt.ones(2, device=device).exp()

    assert lockstep(step, "cpu", folder=None).ok


# ---- what is raised and saved


def test_a_divergence_raises_with_its_report() -> None:
    """By default the report is an error, which names the op and survives pickling."""
    with broken("softmax", "scaled") as device, pytest.raises(LockstepError) as caught:
        lockstep(gated, device, folder=None)
    error = caught.value
    assert isinstance(error, AssertionError)
    assert "softmax in the forward phase" in str(error)
    assert not error.report.ok
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


SAVED = [
    (gated, "softmax", "scaled"), (gated, "square", "fails"),
    (gated, "softmax", "writes_input"), (gated, "argmax", "off_by_one"),
    (perceptron, "adam_steps_", "half_step"), (half, "gelu", "scaled"),
    (in_place, "cat", "scaled"), (perceptron, "random_dropout", "scaled"),
]  # fmt: skip


@pytest.mark.parametrize(("step", "op", "fault"), SAVED)
def test_the_script_reproduces(
    step: Callable[[str], Any],
    op: str,
    fault: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The saved call differs again; on a sound device it does not."""
    setup = "from tests.support import broken\nbroken.install({!r}, {!r})"
    with broken(op, fault) as device:
        found = first(step, device, folder=tmp_path, setup=setup.format(op, fault))
    assert found.folder == tmp_path / f"lockstep-{op}-{found.call}"
    assert {p.name for p in found.folder.iterdir()} == {"inputs.npz", "reproduce.py"}
    script = str(found.folder / "reproduce.py")
    assert runpy.run_path(script)["main"]() == 1
    assert f"--- {op} on broken" in capsys.readouterr().out
    try:
        install(op, "sound")
        sound = Path(script).read_text().replace(repr(fault), "'sound'")
        Path(script).write_text(sound)
        assert runpy.run_path(script)["main"]() == 0
    finally:
        registry.unregister("broken")


def test_the_script_stands_alone(tmp_path: Path) -> None:
    """In a process of its own it needs dovetail, NumPy and what `setup` brings."""
    setup = "from tests.support import broken\nbroken.install('softmax', 'scaled')"
    with broken("softmax", "scaled") as device:
        found = first(gated, device, folder=tmp_path, setup=setup)
    assert found.folder is not None
    script = found.folder / "reproduce.py"
    done = child.python("-W", "error", script, cwd=tmp_path, path=[ROOT], status=1)
    assert "192 of 192 elements beyond tolerance" in done.stdout


def test_what_is_saved_is_replaced_whole(tmp_path: Path) -> None:
    """A second run of the same call leaves no draft and no older file."""
    for _ in range(2):
        with broken("softmax", "scaled") as device:
            found = first(gated, device, folder=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == [f"lockstep-softmax-{found.call}"]
    with np.load(tmp_path / f"lockstep-softmax-{found.call}" / "inputs.npz") as saved:
        assert sorted(saved) == ["allowed0", "x0"]
        assert saved["x0"].shape == saved["allowed0"].shape == (12, 16)


def test_the_package_gives_its_names() -> None:
    """`dovetail.testing` is loaded with the first use, and has no other names."""
    assert dt.testing.lockstep is lockstep
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = dt.testing.nothing
