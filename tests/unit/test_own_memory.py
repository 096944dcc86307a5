"""What a user gets is the user's: no write to it reaches what dovetail keeps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.conformance.subject import Subject, needs_kind
from dovetail.engine import kinds
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.errors import DovetailError

NUMBERS = (1, 2, True, 0.5, 1.0)
SUBJECT = Subject("cpu")


def changed_numbers() -> list[str]:
    """The cached numbers that are no longer what they are cached for."""
    found = []
    for kind in kinds._kinds.values():
        if kind.backend.rules_only:
            continue
        for cache in kind.scalars.values():
            zero = {} if cache.zero is None else {0.0: cache.zero}
            for value, native in [*cache.items(), *zero.items()]:
                now = kind.backend.copy_out(native)
                wanted = kind.backend.copy_out(kinds.scalar_native(kind, value))
                if now.tobytes() != wanted.tobytes():
                    found.append(f"{value} in {kind} is {now}")
    return found


def tensors(value: Any) -> Iterator[dt.Tensor]:
    """All tensors in a result."""
    if isinstance(value, dt.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for v in value:
            yield from tensors(v)


def scribble(value: Any) -> None:
    """Write into every tensor of a result, as users can."""
    for t in tensors(value):
        with dt.no_grad():
            t.detach().fill_(7) if t.numel() else None
        view = t.detach().numpy()
        if view.size:
            view[...] = 5


def calls(op: Op) -> Iterator[tuple[list[Any], dict[str, Any]]]:
    """Calls of an op on float32, and with numbers for its last tensor."""
    for case in cases_of(op, dt.float32):
        args = [made(a) for a in case.args]
        kwargs = {k: made(v) for k, v in case.kwargs.items()}
        if needs_kind(op, case):
            kwargs.setdefault("kind", SUBJECT.kind(dt.float32))
        yield args, kwargs
    if [p.role for p in op.tensors] == ["tensor", "tensor"] and op.promote:
        for number in NUMBERS:
            yield [dt.tensor(0.75, requires_grad=True), number], {}
            yield [dt.full((2,), 0.75, requires_grad=True), number], {}


def made(value: Any) -> Any:
    """A case's argument as tensors that require gradients where they can."""
    if isinstance(value, list):
        return [made(v) for v in value]
    if not isinstance(value, np.ndarray):
        return value
    t = dt.tensor(value)
    return t.requires_grad_() if t.dtype.is_floating_point else t


OPS = [
    op for op in declared()
    if dt.float32 in op.accepts and not (op.mutates or op.draws)
]  # fmt: skip


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_writes_stay_where_they_are(op: Op) -> None:
    """Results, gradients and what hooks see can be written, and nothing else is."""
    for args, kwargs in calls(op):
        try:
            result = op.function(*args, **kwargs)
        except DovetailError:
            continue  # not of this dtype
        outs = [t for t in tensors(result) if t.requires_grad]
        for t in outs:
            t.register_hook(scribble)
        inputs = [t for t in tensors(args) if t.requires_grad]
        for t in inputs:
            t.register_hook(scribble)
        if outs and inputs:
            total = sum((t.real if t.is_complex() else t).sum() for t in outs)
            total.backward()
            scribble([t.grad for t in inputs])
        scribble(result)
    assert not changed_numbers()


def test_the_seed_is_fresh() -> None:
    """A gradient that is the seed itself can be written, in each of three ways."""
    x = dt.tensor(2.0, requires_grad=True)
    y = x * 3
    y.retain_grad()
    y.register_hook(lambda g: g.mul_(10))
    y.backward()
    y.grad.zero_()
    (found,) = dt.autograd.grad(x * 1, x)
    found.numpy()[...] = 5
    x.sum().backward()
    x.grad.data.fill_(4)
    assert (dt.ones(2) + 1).tolist() == [2.0, 2.0]
    assert not changed_numbers()


def test_cached_numbers_are_read_only() -> None:
    """NumPy itself refuses a write to a number that all calls share."""
    kind = dt.ones(1)._kind
    with pytest.raises(ValueError, match="read-only"):
        kind.scalars[int][3][...] = 4


@pytest.mark.parametrize("size", [1, 2])
def test_a_triangle_of_ones_is_solved_in_memory_of_its_own(size: int) -> None:
    """The definition gives no view of the right side."""
    from dovetail.ops.triangular import solve_triangle

    right = dt.ones(size, 3)
    found = solve_triangle.op.body(dt.eye(size), right, True, True)
    found += 1
    assert (right == 1).all()
