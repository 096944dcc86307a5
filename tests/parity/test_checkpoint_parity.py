"""Selective checkpoints beside torch's: what each refuses, and gradients."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import dovetail as dt
import dovetail.utils.checkpoint as ours

torch = pytest.importorskip("torch")
theirs = pytest.importorskip("torch.utils.checkpoint")

_SIDES = [
    (dt, ours, lambda: dt.matmul),
    (torch, theirs, lambda: torch.ops.aten.mm.default),
]


def _run(side: Any, function: Any, backwards: int = 1, **options: Any) -> Any:
    """Gradients with matmul saved; the error's class if it is one."""
    xp, room, op = side
    values = [[0.5, -1.0], [2.0, 0.25]]
    x = xp.tensor(values, dtype=xp.float64, requires_grad=True)
    context_fn = functools.partial(
        room.create_selective_checkpoint_contexts, [op()], **options
    )
    try:
        y = room.checkpoint(
            lambda x: function(xp, x), x, use_reentrant=False, context_fn=context_fn
        ).sum()
        for _ in range(backwards):
            y.backward(retain_graph=True)
    except RuntimeError:
        return RuntimeError
    return x.grad.tolist()


_CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "plain": (lambda xp, x: (x @ x).sin() @ x, {}),
    "written": (lambda xp, x: (x @ x).mul_(2).sin(), {}),
    "written, and allowed": (
        lambda xp, x: (x @ x).mul_(2).sin(), {"allow_cache_entry_mutation": True}
    ),
    "views": (lambda xp, x: (x @ x).t()[1:].exp().sin(), {}),
    "twice": (lambda xp, x: (x @ x).sin(), {"backwards": 2}),
    "no results": (lambda xp, x: x.sin().exp(), {"backwards": 2}),
}  # fmt: skip


@pytest.mark.parametrize("case", _CASES)
def test_answers_are_torchs(case: str) -> None:
    """The same gradients, or a RuntimeError of both."""
    function, options = _CASES[case]
    mine, torchs = (_run(side, function, **options) for side in _SIDES)
    assert (mine is RuntimeError) == (torchs is RuntimeError)
    if mine is not RuntimeError:
        assert dt.allclose(
            dt.tensor(mine, dtype=dt.float64), dt.tensor(torchs, dtype=dt.float64)
        )


def test_policies_have_torchs_members() -> None:
    """By name and value."""
    mine = {p.name: p.value for p in ours.CheckpointPolicy}
    assert mine == {p.name: p.value for p in theirs.CheckpointPolicy}


@pytest.mark.parametrize("inner", [False, True], ids=["", "nested"])
@pytest.mark.parametrize("reentrant", [True, False])
def test_the_second_run_is_cast_as_the_first(reentrant: bool, inner: bool) -> None:
    """Backward may come when autocast is over; inner scopes are the function's own."""

    def gradients(side: Any, checkpointed: bool) -> Any:
        xp, room, _ = side
        w = xp.linspace(-1, 1, 64).reshape(8, 8).requires_grad_()
        x = xp.linspace(0, 1, 32).reshape(4, 8).requires_grad_()

        def f(x: Any) -> Any:
            y = (x @ w).tanh()
            if inner:
                with xp.autocast("cpu", enabled=False):
                    y = y.float() @ w
            return (y @ w).sin()

        with xp.autocast("cpu", dtype=xp.bfloat16):
            y = room.checkpoint(f, x, use_reentrant=reentrant) if checkpointed else f(x)
        assert str(y.dtype).endswith("bfloat16")
        y.float().square().sum().backward()
        return x.grad.tolist(), w.grad.tolist()

    assert gradients(_SIDES[0], True) == gradients(_SIDES[0], False)
    ours, torchs = (dt.tensor(gradients(side, True)[0]) for side in _SIDES)
    assert dt.allclose(ours, torchs, rtol=5e-2, atol=5e-2)
