"""How an op runs on batched arrays: by its signature, or as a view one dim further.

The rules here are those that a signature does not tell: of views, of level 0, and of a
few ops for whose body the batch would be a detour. Ops without one run their body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovetail.engine import signature as sig
from dovetail.engine.levels import all_results
from dovetail.engine.op import Op
from dovetail.engine.open_levels import refuse_values
from dovetail.engine.results import DATA
from dovetail.engine.tensor import Tensor
from dovetail.func.batch_creation import CREATION
from dovetail.func.batch_products import PRODUCTS
from dovetail.func.batch_shapes import Batched, aligned, all_rows, any_batched
from dovetail.func.batch_views import VIEWS
from dovetail.func.batch_writes import WRITES

if TYPE_CHECKING:
    from dovetail.func.batched import BatchBackend

Kernel = Callable[..., Any]
Rule = Callable[["BatchBackend", Op, dict[str, Any]], Kernel]

_INSTEAD: Final = {
    "nonzero": "where(condition, a, b), or a mask",
    "masked_select": "where(mask, input, 0), which keeps the shape",
    "unique": "sort(), which keeps the shape",
}
# Of a shape that depends on values, which their bodies make as large as any row needs.
_OF_ALL_ROWS: Final = frozenset({"bincount"})


def has_rule(op: Op) -> bool:
    """Whether there is a rule; ops without one run their body."""
    if op.name in _OF_ALL_ROWS:
        return False
    return isinstance(op.shape, sig.Signature) or op.shape is DATA or op.name in RULES


def rule_for(backend: BatchBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
    """What computes an op with these static attributes on batched arrays."""
    if op.name in RULES:
        return RULES[op.name](backend, op, attrs)
    if op.shape is DATA:
        return _refusing(op, attrs)
    return (
        _elementwise(op, attrs) if op.is_elementwise else _of_dims(backend, op, attrs)
    )


def _refusing(op: Op, attrs: dict[str, Any]) -> Kernel:
    """An op whose result has a shape that depends on values: of one row only."""

    def kernel(*natives: Any, **scalars: Any) -> Any:
        if any_batched(natives):
            raise refuse_values(
                "vmap", f"{op.name}, whose result has a shape that depends on values,",
                f"use {_INSTEAD.get(op.name, 'an op whose shape does not')}",
            )  # fmt: skip
        return wrapped(all_results(op, _inner(natives), attrs | scalars), False)

    return kernel


def _inner(natives: Sequence[Any]) -> list[Any]:
    return [None if a is None else a.inner for a in natives]


def wrapped(outs: Sequence[Tensor], batched: bool) -> Any:
    """Results of an op below as those of the op here."""
    if len(outs) == 1:
        return Batched(outs[0], batched)
    return tuple([Batched(y, batched) for y in outs])


def _elementwise(op: Op, attrs: dict[str, Any]) -> Kernel:
    def kernel_of_one(a: Batched, /) -> Any:
        outs = all_results(op, (a.inner,), attrs)
        return wrapped(outs, a.batched)

    def kernel_of_two(a: Batched, b: Batched, /) -> Any:
        if len(a.shape) != len(b.shape):
            return kernel(a, b)
        outs = all_results(op, (a.inner, b.inner), attrs)
        return wrapped(outs, a.batched or b.batched)

    def kernel(*natives: Any, **scalars: Any) -> Any:
        rank = max([len(a.shape) for a in natives if a is not None])
        given = [None if a is None else aligned(a, rank) for a in natives]
        outs = all_results(op, given, attrs | scalars)
        return wrapped(outs, any_batched(natives))

    if op.scalars or any(p.optional or p.role == "list" for p in op.tensors):
        return kernel
    by_count: dict[int, Kernel] = {1: kernel_of_one, 2: kernel_of_two}
    return by_count.get(len(op.tensors), kernel)


def _of_dims(backend: BatchBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
    """An op with dims of its own: the last ones, or those that an attribute names."""
    assert isinstance(op.shape, sig.Signature)
    at = next((core.at for core in op.shape.inputs if core.at), None)
    if at is None:
        return _of_last_dims(op, attrs)
    further = attrs | {at: one_further(attrs[at])}

    def kernel(*natives: Any, **scalars: Any) -> Any:
        if not any_batched(natives):
            return wrapped(all_results(op, _inner(natives), attrs | scalars), False)
        rows = backend.rows()
        given = [all_rows(a, rows) for a in natives]
        if natives[0].shape:
            return wrapped(all_results(op, given, further | scalars), True)
        lines = [x.unsqueeze(1) for x in given]
        outs = all_results(op, lines, further | scalars)
        return wrapped([y.reshape((rows,)) for y in outs], True)

    return kernel


def _of_last_dims(op: Op, attrs: dict[str, Any]) -> Kernel:
    assert isinstance(op.shape, sig.Signature)
    cores = [len(core.names) for core in op.shape.inputs]

    def kernel(*natives: Any, **scalars: Any) -> Any:
        ranks = [len(a.shape) - n for a, n in zip(natives, cores, strict=True)]
        batch = max(ranks)
        given = [aligned(a, batch + n) for a, n in zip(natives, cores, strict=True)]
        outs = all_results(op, given, attrs | scalars)
        return wrapped(outs, any_batched(natives))

    return kernel


def one_further(dims: Any) -> Any:
    """Dims counted from the front, behind one more."""
    return tuple([d + 1 for d in dims]) if isinstance(dims, tuple) else dims + 1


def _further(name: str) -> Rule:
    """An op that acts along dims, and has no signature, of one tensor with rows."""

    def rule(backend: BatchBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
        further = attrs | {name: one_further(attrs[name])}

        def kernel(x: Batched, **scalars: Any) -> Any:
            how = further if x.batched else attrs
            return wrapped(all_results(op, [x.inner], how | scalars), x.batched)

        return kernel

    return rule


def _joined(backend: BatchBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
    """Tensors in a list, joined along a dim."""
    further = attrs | {"dim": one_further(attrs["dim"])}

    def kernel(tensors: list[Batched], **scalars: Any) -> Any:
        if not any_batched(tensors):
            return wrapped(all_results(op, [_inner(tensors)], attrs | scalars), False)
        rows = backend.rows()
        given = [all_rows(a, rows) for a in tensors]
        return wrapped(all_results(op, [given], further | scalars), True)

    return kernel


def _among_rows(further: Callable[[dict[str, Any]], dict[str, Any]]) -> Rule:
    """An op of several tensors with rows, all of which get a dim for them.

    Args:
        further: the attributes that name dims, behind one more.
    """

    def rule(backend: BatchBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
        shifted = attrs | further(attrs)

        def kernel(*natives: Batched, **scalars: Any) -> Any:
            if not any_batched(natives):
                return wrapped(all_results(op, _inner(natives), attrs | scalars), False)
            rows = backend.rows()
            given = [all_rows(a, rows) for a in natives]
            return wrapped(all_results(op, given, shifted | scalars), True)

        return kernel

    return rule


def _behind_rows(index: Any) -> Any:
    """A basic index, behind one more dim."""
    return (slice(None), *(index if type(index) is tuple else (index,)))


RULES: Final[dict[str, Rule]] = {
    **VIEWS, **WRITES, **CREATION, **PRODUCTS,
    "cat": _joined, "stack": _joined, "flip": _further("dims"),
    "take_along": _among_rows(lambda attrs: {"dim": one_further(attrs["dim"])}),
    "basic_put": _among_rows(lambda attrs: {"index": _behind_rows(attrs["index"])}),
    "diagonal_scatter": _among_rows(
        lambda attrs: {k: one_further(attrs[k]) for k in ("dim1", "dim2")}
    ),
}  # fmt: skip
