"""Autocast is a scope: of its context, seen through by recorders, and cheap."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import dovetail as dt
from dovetail.engine import scopes
from dovetail.engine.autocast import CLASSES
from dovetail.engine.op import vocabulary
from dovetail.ops.gru import gru_sequence

F = dt.nn.functional


class Heard(scopes.Recorder):
    """Notes the ops that run, and the dtypes of their first inputs."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []

    def call(self, op: Any, inputs: Any, attrs: Any, outs: Any) -> None:
        self.calls.append((op.name, inputs[0].dtype if inputs else None))


def test_classes_come_from_the_declarations() -> None:
    """Each op has a class that there is, and products have the lower one."""
    assert gru_sequence.op.name in vocabulary
    found = {op.name: op.autocast for op in vocabulary.values() if op.autocast}
    assert set(found.values()) == set(CLASSES)
    assert found["matmul"] == found["linear"] == "lower"


def test_recorders_see_the_casts() -> None:
    """What autocast does are calls of `cast`, before the op that takes them."""
    x, heard = dt.ones(2, 2), Heard()
    with scopes.record(heard), dt.autocast("cpu"):
        x.matmul(x)
    assert heard.calls == [
        ("cast", dt.float32), ("cast", dt.float32), ("matmul", dt.bfloat16),
    ]  # fmt: skip


def test_interposers_see_what_was_written() -> None:
    """Interposers stand above autocast."""
    seen = []

    def interposer(op: Any, inputs: Any, attrs: Any, proceed: Any) -> Any:
        seen.append(inputs[0].dtype)
        return proceed(inputs, attrs)

    x = dt.ones(2, 2)
    with dt.autocast("cpu"), scopes.interpose(interposer):
        y = x.matmul(x)
    assert (seen, y.dtype) == ([dt.float32], dt.bfloat16)


def test_parameters_are_cast_once() -> None:
    """The cast of a parameter is kept for the scope, until it is written."""
    w, x, heard = dt.nn.Parameter(dt.ones(2, 2)), dt.ones(2, 2), Heard()
    with scopes.record(heard), dt.autocast("cpu"):
        for _ in range(3):
            F.linear(x, w)
        kept = sum(name == "cast" for name, _ in heard.calls)
        with dt.no_grad():
            w.mul_(3)
        y = F.linear(x, w)
    assert kept == 4  # x three times, w once
    assert y.float().tolist() == [[6.0, 6.0], [6.0, 6.0]]


def test_the_bodies_of_ops_are_not_cast() -> None:
    """A body computes in the dtype that its op was given."""
    x = dt.rand(3, 3, requires_grad=True)
    assert vocabulary["prod"].by_body  # so its body is what is recorded
    with dt.autocast("cpu"):
        assert x.prod(1).dtype is dt.float32


def test_backward_under_autocast_casts_nothing() -> None:
    """The gradients are those of a backward pass after the scope."""
    grads = []
    for inside in (True, False):
        w = dt.full((2, 2), 0.5).requires_grad_()
        with dt.autocast("cpu"):
            loss = F.mse_loss(F.linear(dt.ones(2, 2), w), dt.zeros(2, 2))
            if inside:
                loss.backward()
        if not inside:
            loss.backward()
        grads.append(w.grad.tolist())
    assert grads[0] == grads[1]


def test_a_scope_belongs_to_its_thread_and_task() -> None:
    """Nobody else's calls are cast, and tasks inherit the scope they began in."""
    x, found = dt.ones(2, 2), []
    with dt.autocast("cpu"):
        thread = threading.Thread(target=lambda: found.append((x @ x).dtype))
        thread.start()
        thread.join()

        async def task() -> None:
            found.append((x @ x).dtype)

        asyncio.run(task())
    assert found == [dt.float32, dt.bfloat16]


def test_nesting_errors_and_decorators() -> None:
    """Inner scopes decide, and an error leaves what was before."""
    x = dt.ones(2, 2)
    before = scopes.anywhere[0]

    @dt.autocast("cpu")
    def lower() -> Any:
        return (x @ x).dtype

    with dt.autocast("cpu", dt.float16):
        assert (x @ x).dtype is dt.float16
        with dt.autocast("cpu", enabled=False):
            assert (x @ x).dtype is dt.float32
        assert lower() is dt.bfloat16
        with pytest.raises(ZeroDivisionError), dt.autocast("cpu"):
            raise ZeroDivisionError
        assert (x @ x).dtype is dt.float16
    assert (x @ x).dtype is dt.float32
    assert scopes.anywhere[0] == before


def test_what_is_refused() -> None:
    """Device types that are none, and what is no dtype."""
    with pytest.raises(TypeError, match="device_type"):
        dt.autocast(dt.float16)  # type: ignore[arg-type]
    for device in ("foo", "foo:1"):
        with pytest.raises(RuntimeError, match="'foo', for which no backend"):
            dt.autocast(device, enabled=False)
    with pytest.raises(TypeError, match="dtype"):
        dt.autocast("cpu", "half")  # type: ignore[arg-type]
    assert not dt.amp.is_autocast_available("foo")


@pytest.mark.parametrize("dtype", [dt.float64, dt.float32, dt.int32])
def test_precisions_that_are_not_lower_switch_off(dtype: Any) -> None:
    """With a warning, as in PyTorch, whatever the scope around."""
    x = dt.ones(2, 2)
    with dt.autocast("cpu"):
        with pytest.warns(UserWarning, match="Disabling autocast"):
            scope = dt.autocast("cpu", dtype)
        with scope:
            assert (x @ x).dtype is dt.float32
        assert (x @ x).dtype is dt.bfloat16
    dt.autocast("mps", enabled=False)
    if not dt.amp.is_autocast_available("cuda"):
        with pytest.warns(UserWarning, match="CUDA is not available"):
            dt.autocast("cuda")


def test_older_names_are_those_of_a_device_type() -> None:
    """With the deprecation that PyTorch's have."""
    with pytest.warns(DeprecationWarning, match="'cpu'"):
        dt.set_autocast_cpu_enabled(True)
    with pytest.warns(DeprecationWarning, match="'cpu'"):
        assert dt.is_autocast_cpu_enabled()
    assert (dt.ones(2, 2) @ dt.ones(2, 2)).dtype is dt.bfloat16
    with pytest.warns(DeprecationWarning, match="'cpu'"):
        dt.set_autocast_cpu_enabled(False)
    for device, get, set_ in (
        ("cpu", dt.get_autocast_cpu_dtype, dt.set_autocast_cpu_dtype),
        ("cuda", dt.get_autocast_gpu_dtype, dt.set_autocast_gpu_dtype),
    ):
        before = dt.get_autocast_dtype(device)
        other = {dt.float16: dt.bfloat16, dt.bfloat16: dt.float16}[before]
        with pytest.warns(DeprecationWarning, match=device):
            set_(other)
        with pytest.warns(DeprecationWarning, match=device):
            assert get() is other is dt.get_autocast_dtype(device)
        dt.set_autocast_dtype(device, before)
    dt.set_autocast_enabled(True)
    assert dt.is_autocast_enabled()
    dt.set_autocast_enabled(False)
    assert not dt.is_autocast_enabled("cuda")


@pytest.mark.parametrize("state", [dt.float32, dt.bfloat16])
def test_gru_layers_go_on_in_the_dtype_of_their_state(state: Any) -> None:
    """Whatever that of the input: torch rounds products alone."""
    net, x = dt.nn.GRU(3, 4), dt.randn(5, 2, 3)
    h = dt.zeros(1, 2, 4, dtype=state)
    with dt.autocast("cpu"):
        y, last = net(x.bfloat16(), h)
    assert (y.dtype, last.dtype) == (state, state)
    dt.testing.assert_close(y.float(), net(x)[0], rtol=0.03, atol=0.03)


@pytest.mark.parametrize("name", ["matmul", "cross_entropy"])
def test_classes_that_handle_calls_come_first(name: str) -> None:
    """Beside a plain tensor, too, they see the arguments as they were given."""
    seen = []

    class Seeing(dt.Tensor):
        @classmethod
        def __torch_function__(
            cls, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> str:
            seen.append([x.dtype for x in args])
            return "handled"

    x = dt.ones(2, 2)
    other = dt.ones(2, 2).as_subclass(Seeing)
    call = getattr(dt, name, None) or getattr(dt.nn.functional, name)
    with dt.autocast("cpu"):
        assert call(x, other) == "handled"
    assert seen == [[dt.float32, dt.float32]]
