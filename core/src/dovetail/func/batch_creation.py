"""Tensors that a vmapped function makes: numbers of a shape, and random ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.levels import all_results
from dovetail.engine.op import Op
from dovetail.func.batch_shapes import Batched
from dovetail.ops.shape import stack

Kernel = Callable[..., Any]


def _with_kind(backend: Any, attrs: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a call below, whose result is of its own kind."""
    rest = {k: v for k, v in attrs.items() if k not in ("dtype", "index")}
    return rest | {"kind": backend.kind_below(attrs["dtype"], attrs["index"])}


def _same(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    """What is the same for all rows."""
    known = _with_kind(backend, attrs)
    return lambda **scalars: Batched(all_results(op, [], known | scalars)[0], False)


def _shaped(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    """What may be written: a value for each row."""
    known = _with_kind(backend, attrs)

    def kernel(**scalars: Any) -> Batched:
        shape = (backend.rows(), *attrs["shape"])
        how = known | {"shape": shape} | scalars
        return Batched(all_results(op, [], how)[0], True)

    return kernel


def _drawn(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    """Random numbers: one draw for all rows, or one behind the other."""
    same, apart = _same(backend, op, attrs), _shaped(backend, op, attrs)

    def kernel(**scalars: Any) -> Any:
        different = backend.level().draws(op.name)
        return apart(**scalars) if different else same(**scalars)

    return kernel


def _permuted(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    """A permutation of its own for each row."""
    known = _with_kind(backend, attrs)

    def kernel(*, offset: int, **scalars: Any) -> Any:
        words = op.draws * attrs["n"]
        count = backend.level().draws(op.name)
        drawn = [
            all_results(op, [], known | scalars | {"offset": offset + i * words})[0]
            for i in range(count or 1)
        ]
        return Batched(stack(drawn, 0), True) if count else Batched(drawn[0], False)

    return kernel


def _moved(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    """A batch is where its rows are."""
    return lambda a: a


CREATION: Final[dict[str, Any]] = {
    "arange": _same, "linspace": _same, "iota": _same, "random_words": _same,
    "full": _shaped, "empty": _shaped, "exponential": _drawn, "normal": _drawn,
    "random_integers": _drawn, "random_mask": _drawn, "uniform": _drawn,
    "random_permutation": _permuted, "transfer": _moved,
}  # fmt: skip
