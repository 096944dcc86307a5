"""Generated kernels of CuPy devices, launched on an emulated device."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.accelerators.emulated_machine import EmulatedMachine
from tests.support import kit
from tests.support.emulator import COMPILER

import dovetail as dt
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.device_api import KernelTable, registry
from dovetail.ops.attention import mixture
from dovetail.xp import attention as whole_attention
from dovetail_cupy import attention, convolution, draws, generated, shared_kernels
from dovetail_strict.backend import StrictBackend
from dovetail_strict.library import Library

pytestmark = pytest.mark.skipif(not COMPILER, reason="there is no C++ compiler")

# Of a body and in front of a kernel; of numbers, of a mask, of attributes.
FEW = [
    "any_outside", "convolution", "convolution_transpose", "convolution_weight",
    "cross_entropy_backward", "gelu", "leaky_relu", "lerp", "log_softmax_nll",
    "masked_fill", "max_pool", "max_pool_backward", "mixture", "mixture_backward",
    "normal", "normalise", "normalise_backward", "normalise_weight_backward", "softmax",
    "sum",
]  # fmt: skip
# Its body is no step on elements: CuPy serves it.
UNSERVED = {"complex"}


class Multiplied:
    """The products that attention asks for, by the strict library's."""

    def serves(self, a: Any, b: Any) -> bool:
        return bool(a.dtype == b.dtype)

    def wide(self, a: Any, b: Any, onto: Any = None, factor: float = 1.0) -> Any:
        half = a.dtype.itemsize == 2
        a, b = (x.astype("float32") for x in (a, b)) if half else (a, b)
        y = Library().matmul(a, b)
        y = y if factor == 1.0 else y * y.dtype.type(factor)
        return y if onto is None else onto + y

    def matmul(self, a: Any, b: Any, out: Any = None) -> Any:
        y = self.wide(a, b).astype(a.dtype)
        if out is None:
            return y
        out[...] = y
        return out


def fill(table: KernelTable, machine: EmulatedMachine) -> KernelTable:
    """Add kernels to a table, generated ones in front; gives those behind."""
    shared = KernelTable(table.backend)
    shared_kernels.install(shared, Library())
    generated.install(table, shared, machine)
    products: Any = Multiplied()
    xp = shared_kernels.interface(Library(), products)
    attention.install(table, machine, xp, products)
    convolution.install(table, machine, products)
    return shared


class Launching(StrictBackend):
    """The strict device with generated kernels in front."""

    type = "launching"

    def __init__(self, folder: Path, warp: int) -> None:
        super().__init__()
        self.machine = EmulatedMachine(folder, warp)

    def kernels(self, table: KernelTable) -> None:
        fill(table, self.machine)


@pytest.fixture(scope="module", params=[32, 64])
def device(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Launching]:
    """The device, for warps of 32 threads and of 64."""
    made = Launching(tmp_path_factory.mktemp("kernels"), request.param)
    registry.register(made)
    try:
        with kit.no_host():
            yield made
    finally:
        registry.unregister(made.type)


@pytest.fixture
def checks() -> dict[str, list[Check]]:
    """What the kit has to prove of results, by op."""
    return kit.planned(Subject("launching:0"), laws="forward", budget=kit.SMALL)


@cache
def served() -> dict[str, set[str]]:
    """The ops that generated kernels serve, with the dtypes that these have."""
    table = KernelTable("cuda")
    shared = fill(table, EmulatedMachine(Path(), 32))
    before = {(k.op, k.function) for op in shared.names() for k in shared.rivals(op)}
    found = [k for op in table.names() for k in table.rivals(op)]
    known: dict[str, set[str]] = {}
    for kernel in found:
        if (kernel.op, kernel.function) not in before:
            known.setdefault(kernel.op, set()).update(d.name for d in kernel.dtypes)
    return known


def prove(op: str, device: Launching, checks: dict[str, list[Check]]) -> None:
    """Judge an op in a dtype that its kernels serve, which some call has to launch."""
    device.machine.ran.clear()
    dtypes = served()[op]
    if op in draws.DTYPES:
        dtypes = dtypes & {d.name for d in draws.DTYPES[op]}
    chosen = [c for c in checks[op] if c.dtype in dtypes]
    kit.assert_proven(Subject("launching:0"), kit.sampled(chosen), kit.SMALL)
    assert bool(device.machine.ran) is (op not in UNSERVED)


@pytest.mark.parametrize("op", FEW)
def test_few(op: str, device: Launching, checks: dict[str, list[Check]]) -> None:
    """A few ops are right where their kernels are launched."""
    prove(op, device, checks)


@pytest.mark.slow
@pytest.mark.parametrize("op", sorted(served()))
def test_all(op: str, device: Launching, checks: dict[str, list[Check]]) -> None:
    """All ops that generated kernels serve are right."""
    prove(op, device, checks)


def drawn(device: str) -> list[dt.Tensor]:
    """Random tensors of several kinds, which begin anywhere in a block of words."""
    dt.manual_seed(5)
    p = dt.full((7,), 0.25, device=device)
    made = []
    for n in (1, 2, 3, 4):
        made += [dt.rand(n, device=device), dt.randn(9, device=device), dt.bernoulli(p)]
        made += [dt.nn.functional.dropout(p, 0.5), dt.randperm(n, device=device)]
        made.append(dt.randn(3, dtype=dt.float64, device=device))
    return made


def test_draws_anywhere_in_a_block(device: Launching) -> None:
    """Random numbers have the CPU's bits, wherever in a seed's stream they begin."""
    device.machine.ran.clear()
    for ours, cpus in zip(drawn("launching"), drawn("cpu"), strict=True):
        assert ours.tolist() == cpus.tolist()
    assert device.machine.ran


def stepped(device: str) -> list[list[float]]:
    """Parameters after steps: of 16 bits, with gaps, and as its own gradient."""
    made = [dt.linspace(-1, 1, 6, dtype=dt.float16, device=device)]
    made += [dt.linspace(-1, 1, 12, device=device)[::2], dt.ones(3, device=device)]
    for x in made:
        x.grad = x.detach() if x.numel() == 3 else x.detach() * 2
    optimizer = dt.optim.SGD(made, lr=0.1, momentum=0.9, weight_decay=0.01)
    for _ in range(3):
        optimizer.step()
    return [x.tolist() for x in made]


def test_steps_of_any_layout(device: Launching) -> None:
    """Steps write parameters that lie with gaps, have 16 bits, or share memory."""
    device.machine.ran.clear()
    assert stepped("launching") == stepped("cpu")
    assert len([name for name in device.machine.ran if "step_" in name]) == 9


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 1])
def test_windows_of_one_element(stride: int, padding: int, device: Launching) -> None:
    """They are elements as they lie only where each has one, in as many places."""
    x, w = dt.randn(2, 3, 2, 2), dt.randn(4, 3, 1, 1)
    found = []
    for place in ("launching", "cpu"):
        given = [a.detach().to(place).requires_grad_() for a in (x, w)]
        y = dt.nn.functional.conv2d(*given, stride=stride, padding=padding)
        y.backward(dt.ones_like(y))
        found.append([y.detach(), *[a.grad for a in given]])
    for ours, want in zip(*found, strict=True):
        dt.testing.assert_close(ours.cpu(), want)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("block", "masked"),
    [(700, (40, 50)), (2000, (2, 1, 1, 50)), (4000, (3, 1, 50)), (6000, (1,))],
)
def test_attention_in_parts(
    block: int, masked: tuple[int, ...], causal: bool, device: Launching,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Some queries of a sequence, or some sequences, make what all of them make."""
    shapes = ((2, 3, 40, 4), (2, 1, 50, 4), (2, 1, 50, 6))
    drawn = [dt.randn(*s) for s in shapes]
    mask, found = dt.randn(*masked).expand(*masked[:-1], 50), []
    monkeypatch.setattr(whole_attention, "DEVICE_BLOCK", block)
    for place in ("launching", "cpu"):
        given = [x.detach().to(place).requires_grad_() for x in drawn]
        y = mixture(*given, mask.to(place), causal, 0.5)
        y.backward(dt.ones_like(y))
        found.append([y.detach(), *[x.grad for x in given]])
    for ours, want in zip(*found, strict=True):
        dt.testing.assert_close(ours.cpu(), want)


def test_a_mask_is_never_copied_for_all_sequences(
    device: Launching, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where one mask is for many sequences, memory is that of a block of weights."""
    monkeypatch.setattr(whole_attention, "DEVICE_BLOCK", 1 << 12)
    length, count = 64, 8
    q = dt.randn(count, 4, length, 2).to("launching")
    mask = dt.randn(count, 1, 1, length).to("launching")
    mixture(q, q, q, mask, False, 0.5)  # compiles
    tracemalloc.start()
    try:
        mixture(q, q, q, mask, False, 0.5)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    whole = 4 * count * 4 * length * length  # bytes of float32
    assert most < whole // 4


@given(st.lists(st.integers(1, 4), max_size=4), st.integers(1, 40))
def test_sequences_that_are_taken_together(lead: list[int], each: int) -> None:
    """Each sequence is in one group; groups are as large as they may be in one dim."""
    place = np.arange(math.prod(lead)).reshape(lead)
    groups = [place[at] for at in whole_attention._together(lead, each)]
    found = np.concatenate([np.ravel(g) for g in groups])
    assert (found == place.ravel()).all()
    assert max(np.size(g) for g in groups) <= each
    if math.prod(lead) <= each:
        assert len(groups) == 1


def test_one_launch(device: Launching) -> None:
    """A call is one launch, whether its operands lie side by side or are repeated."""
    a, b = dt.randn(4, 70, device="launching"), dt.randn(70, device="launching")
    device.machine.ran.clear()
    dt.lerp(a, a, b)
    dt.lerp(a, a, a)
    assert len(device.machine.ran) == 2


def test_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """`DOVETAIL_KERNELS=0` leaves CuPy's kernels alone."""
    assert generated.are_wanted()
    monkeypatch.setenv("DOVETAIL_KERNELS", "0")
    assert not generated.are_wanted()
