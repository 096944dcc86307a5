"""Tangents by the gradient rules as they are, where no transposing is needed.

- An elementwise op of real numbers has a slope for each element: a rule that takes a
  cotangent to `slope * ct` takes a tangent to how the result moves.
- A gradient that asks for nothing of its own input is of an op that is affine in that:
  the op itself moves tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.engine.levels import all_results
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor
from dovetail.ops.arithmetic import add, sub
from dovetail.ops.create import zeros_of
from dovetail.ops.view import widened

Move = Callable[[Sequence[Any], Sequence[Any], Sequence[Tensor], dict[str, Any]], Any]
# Affine by their rules, and linear: of zeros they are zeros.
_LINEAR: Final = frozenset({
    "bmm", "cat", "clone", "convolution", "convolution_transpose", "cumsum", "flip",
    "gather", "index_select", "linear", "matmul", "mean", "place", "repeat", "roll",
    "stack", "sum", "sum_to", "take_along",
})  # fmt: skip


def direct(op: Op) -> Move | None:
    """What moves tangents through an op without transposing; None for others."""
    if op.rules is None or len(op.outputs) != 1 or any(r is None for r in op.rules):
        return None
    if op.is_elementwise and not op.has_list:
        return _by_slopes(op)
    own = [_asks_for(op, i) for i in range(len(op.rules))]
    if any(i in needed or -1 in needed for i, needed in enumerate(own)):
        return None
    return _by_itself(op, own)


def _asks_for(op: Op, at: int) -> frozenset[int]:
    """The inputs that a rule asks to keep; -1 for the result."""
    assert op.rules is not None
    _, sources = op.rules[at]  # type: ignore[misc]
    kept = [op.save_plan[place][0] for source, place in sources if source == "saved"]
    return frozenset(max(slot, -1) for slot in kept)


def _by_slopes(op: Op) -> Move:
    def move(
        values: Sequence[Any], tangents: Sequence[Any], outs: Sequence[Tensor],
        known: dict[str, Any],
    ) -> Tensor | None:  # fmt: skip
        total: Any = None
        assert op.rules is not None
        for entry, tangent in zip(op.rules, tangents, strict=True):
            if tangent is None:
                continue
            assert entry is not None
            rule, sources = entry
            ct = widened(tangent, tuple(outs[0]._a.shape))
            args = [_argument(op, s, at, ct, values, outs, known) for s, at in sources]
            part = rule(*args)
            if part is None:
                continue
            total = part if total is None else add(total, part)
        return total  # type: ignore[no-any-return]

    return move


def _argument(
    op: Op, source: str, at: Any, ct: Tensor, values: Sequence[Any],
    outs: Sequence[Tensor], known: dict[str, Any],
) -> Any:  # fmt: skip
    """What a rule asks for, from where its declaration says."""
    if source == "ct":
        return ct
    if source == "saved":
        slot = op.save_plan[at][0]
        return outs[-1 - slot] if slot < 0 else values[slot]
    if source == "attr":
        return known[at]
    if source == "need":
        return tuple([v is not None for v in values])
    x = values[at]
    if source == "shape":
        return None if x is None else tuple(x._a.shape)
    return x._kind if source == "kind" else x._kind.dtype


def _by_itself(op: Op, needed: Sequence[frozenset[int]]) -> Move:
    def move(
        values: Sequence[Any], tangents: Sequence[Any], outs: Sequence[Tensor],
        known: dict[str, Any],
    ) -> Tensor | None:  # fmt: skip
        total: Any = None
        for i, tangent in enumerate(tangents):
            if _is_absent(tangent):
                continue
            moved = _only(values, i, needed[i])
            still = list(moved)
            moved[i] = _filled(values[i], tangent)
            part = all_results(op, moved, known)[0]
            if op.name not in _LINEAR:
                still[i] = _zeros(values[i])
                part = sub(part, all_results(op, still, known)[0])
            total = part if total is None else add(total, part)
        return total  # type: ignore[no-any-return]

    return move


def _is_absent(tangent: Any) -> bool:
    if type(tangent) is list:
        return all(t is None for t in tangent)
    return tangent is None


def _only(values: Sequence[Any], at: int, needed: frozenset[int]) -> list[Any]:
    """The inputs that a derivative depends on; zeros for others."""
    return [v if i == at or i in needed else _zeros(v) for i, v in enumerate(values)]


def _zeros(value: Any) -> Any:
    if type(value) is list:
        return [_zeros(v) for v in value]
    if value is None or not value._kind.dtype.is_inexact:
        return value
    return zeros_of(value, tuple(value._a.shape))


def _filled(value: Any, tangent: Any) -> Any:
    """A tangent for each tensor: zeros for those that do not move."""
    if type(value) is not list:
        return tangent
    pairs = zip(value, tangent, strict=True)
    return [_zeros(v) if t is None else t for v, t in pairs]
