"""Generated kernels in front of NumPy's: when they serve, and what they give."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support import child

import dovetail
from dovetail.device_api import registry
from dovetail.dtypes import by_name
from dovetail_cpu.generated import LEAST, SMALLEST
from dovetail_cpu.generated_pointwise import Generated

Array = np.ndarray[Any, Any]


def drawn(*shape: int, seed: int = 0) -> Array:
    """Numbers of both signs."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape).astype(np.float32)


LAYOUTS = {
    "contiguous": lambda: drawn(200, 300),
    "transposed": lambda: drawn(300, 200).T,
    "every other": lambda: drawn(200, 600)[:, ::2],
    "rows with gaps": lambda: drawn(200, 400)[:, :300],
    "repeated rows": lambda: np.broadcast_to(drawn(300), (200, 300)),
    "repeated columns": lambda: np.broadcast_to(drawn(200, 1), (200, 300)),
    "three dims": lambda: drawn(20, 40, 30).transpose(1, 0, 2),
    "short rows": lambda: drawn(20000, 5)[:, :3],
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts_give_the_same_bits(layout: str) -> None:
    """An element's value depends on nothing but its operands."""
    x = LAYOUTS[layout]()
    silu = registry.load("cpu").table.select("silu", dovetail.float32)[0].function()
    np.testing.assert_array_equal(silu(x), silu(np.ascontiguousarray(x)))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_lie_as_before(layout: str) -> None:
    """The result's strides are those that NumPy gives it."""
    x = LAYOUTS[layout]()
    if 0 in x.strides:
        pytest.skip("a tensor of its own has no such strides")
    y = dovetail.tanh(dovetail.from_numpy(x)).numpy()
    assert y.strides == np.tanh(x).strides


BESIDE: dict[str, tuple[int, ...]] = {
    "a number": (), "a row": (300,), "a column": (200, 1), "all": (200, 300),
    "turned": (300, 200),
}  # fmt: skip


@pytest.mark.parametrize("beside", BESIDE)
def test_operands_are_repeated(beside: str) -> None:
    """Two operands of different shapes meet as they do in NumPy."""
    a, b = drawn(200, 300), drawn(*BESIDE[beside], seed=1)
    b = b.T if beside == "turned" else b
    kernel = registry.load("cpu").table.select("tanh_backward", dovetail.float32)[0]
    got = kernel.function()(a, b)
    np.testing.assert_allclose(got, a * (1 - b * b), rtol=1e-5, atol=1e-6)
    assert got.flags.c_contiguous


def test_scalars_compile_nothing() -> None:
    """A number that changes from call to call is an argument of one kernel."""
    x = drawn(LEAST)
    softplus = dovetail.nn.functional.softplus
    for beta in (0.5, 1.0, 2.5):
        y = softplus(dovetail.from_numpy(x), beta).numpy()
        np.testing.assert_allclose(y, np.log1p(np.exp(x * beta)) / beta, rtol=1e-5)
    done = child.run(sys.executable, "-c", SCALARS, DOVETAIL_LOG="kernels")
    assert done.stderr.count("softplus") == 1


SCALARS = f"""
import dovetail
x = dovetail.zeros({LEAST})
for beta in (0.5, 1.0, 2.5):
    dovetail.nn.functional.softplus(x, beta)
"""

SMALL = f"""
import sys, dovetail
x = dovetail.ones({SMALLEST - 1}, requires_grad=True)
dovetail.nn.functional.gelu(x).sum().backward()
dovetail.relu(dovetail.ones({LEAST - 1}))
assert "llvmlite" not in sys.modules and "dovetail.codegen.eager" not in sys.modules
dovetail.nn.functional.gelu(dovetail.ones({LEAST}))
assert "llvmlite" in sys.modules
"""


def test_small_calls_compile_nothing() -> None:
    """llvmlite is imported by the first call that is large enough, and no sooner."""
    done = child.run(sys.executable, "-c", SMALL, DOVETAIL_LOG="kernels")
    assert "gelu" in done.stderr
    assert "gelu_backward" not in done.stderr


PLAIN = f"""
import sys
HIDE
import dovetail
from dovetail.device_api import registry
cpu = registry.load("cpu")
print(cpu.devices()[0].name)
dovetail.nn.functional.gelu(dovetail.ones({LEAST}))
assert sys.modules.get("llvmlite") is None
"""


def test_kernels_can_be_switched_off() -> None:
    """With DOVETAIL_KERNELS=off NumPy's kernels serve, and the device says why."""
    program = PLAIN.replace("HIDE", "")
    done = child.run(sys.executable, "-c", program, DOVETAIL_KERNELS="off")
    assert "NumPy's kernels: DOVETAIL_KERNELS=off switches them off" in done.stdout


def test_without_llvmlite_numpy_serves() -> None:
    """Where llvmlite is not installed all works, and the device says why it is slow."""
    program = PLAIN.replace("HIDE", "sys.modules['llvmlite'] = None")
    done = child.run(sys.executable, "-c", program)
    assert "NumPy's kernels: llvmlite is not installed" in done.stdout


LARGE = f"""
import platform, sys
HIDE
import dovetail
from dovetail.device_api import registry
x = dovetail.ones({LEAST}, requires_grad=True)
dovetail.nn.functional.gelu(x).sum().backward()
optimizer = dovetail.optim.AdamW([x])
optimizer.step()
a = dovetail.ones(1 << 10, 1 << 9)
assert (a @ a.t())[0, 0].item() == 1 << 9
assert a.softmax(1)[0, 0].item() == 2 ** -9 and a.sum().item() == 1 << 19
print(registry.load("cpu").devices()[0].name)
"""
HIDES = {
    "platform.machine = lambda: 'riscv64'": "x86-64 and ARM64, not riscv64",
    "sys.modules['llvmlite.binding'] = None": "llvmlite cannot be loaded",
}


@pytest.mark.parametrize("hide", HIDES)
def test_where_llvm_does_not_work_numpy_serves(hide: str) -> None:
    """On another CPU, or with a wheel that does not fit, large programs go on."""
    done = child.run(sys.executable, "-c", LARGE.replace("HIDE", hide))
    assert HIDES[hide] in done.stdout


WARM = f"""
import sys, dovetail
from dovetail.codegen import llvm_text
def render(*_):
    raise AssertionError("a kernel was written that is on the disk")
if len(sys.argv) > 1:
    llvm_text.render = render
x = dovetail.ones({LEAST})
dovetail.nn.functional.gelu(x)
x.reshape(128, -1).softmax(1)
"""


def test_kernels_on_the_disk_are_not_written_again(tmp_path: Path) -> None:
    """What a kernel is made of finds it: its text is not needed."""
    options = {"DOVETAIL_KERNEL_CACHE": str(tmp_path)}
    cold = child.run(sys.executable, "-c", WARM, "again", status=1, **options)
    assert "a kernel was written" in cold.stderr
    child.run(sys.executable, "-c", WARM, **options)
    child.run(sys.executable, "-c", WARM, "again", **options)


def test_the_threshold_can_be_set() -> None:
    """DOVETAIL_KERNELS=1 lets generated kernels serve calls of any size."""
    program = "import dovetail; dovetail.exp(dovetail.ones(1))"
    done = child.run(
        sys.executable, "-c", program, DOVETAIL_KERNELS="1", DOVETAIL_LOG="kernels"
    )
    assert "exp_float32" in done.stderr


def test_shapes_are_refused_as_before() -> None:
    """Operands that do not fit are refused in the op's words."""
    with pytest.raises(dovetail.errors.ShapeError, match="clamp"):
        dovetail.clamp(dovetail.ones(LEAST), dovetail.ones(3), dovetail.ones(3))


BODIES = f"""
import numpy as np, dovetail
x = dovetail.linspace(-9, 9, {LEAST})
small = dovetail.cat([dovetail.nn.functional.mish(part) for part in x.split(1000)])
large = dovetail.nn.functional.mish(x)
np.testing.assert_allclose(large.numpy(), small.numpy(), rtol=1e-5, atol=1e-6)
turned = dovetail.nn.functional.mish(x.reshape(-1, 64).t())
np.testing.assert_array_equal(turned.t().reshape(-1).numpy(), large.numpy())
"""


def test_ops_without_a_kernel_get_one() -> None:
    """The body alone makes the kernel of an op that NumPy has nothing for."""
    done = child.run(sys.executable, "-c", BODIES, DOVETAIL_LOG="kernels")
    assert "mish_float32" in done.stderr


UNKNOWN = f"""
import dovetail
y = dovetail.heaviside(dovetail.ones({LEAST}), dovetail.ones({LEAST}))
assert y[0].item() == 1
"""


def test_bodies_that_kernels_do_not_know_run_as_they_are() -> None:
    """Where a body calls what no kernel computes, it is computed op by op."""
    done = child.run(sys.executable, "-c", UNKNOWN, DOVETAIL_LOG="kernels")
    assert "heaviside" not in done.stderr


# (op, its tensors, elements from which it is worth a kernel)
WORTH = [("relu", 1, LEAST), ("rsqrt", 1, 1024), ("gelu", 1, SMALLEST)]


@pytest.mark.parametrize(("op", "tensors", "least"), WORTH)
def test_costly_bodies_are_generated_sooner(op: str, tensors: int, least: int) -> None:
    """From how many elements on a kernel serves follows from the steps of the body."""
    attributes = {"approximate": "none"} if op == "gelu" else {}
    found = Generated(op, attributes)
    x = np.zeros(1, np.float32)
    assert found.weighed((x,) * tensors, {}) == least


def test_halves_are_generated_sooner() -> None:
    """Where NumPy converts each number, fewer elements are worth a kernel."""
    found = Generated("neg", {})
    assert found.weighed((np.zeros(1, np.float16),), {}) == LEAST // 64
    assert Generated("neg", {}).weighed((np.zeros(1, np.float32),), {}) == LEAST


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float64"])
def test_choices_are_of_any_dtype(dtype: str) -> None:
    """`where` moves numbers of all kinds as they are, with numbers beside them."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 100, 3000).astype(dtype)
    mask = rng.random(3000) < 0.5
    where = registry.load("cpu").table.select("where", by_name(dtype))[0].function()
    other = np.zeros((), dtype)
    np.testing.assert_array_equal(where(mask, a, other), np.where(mask, a, other))
