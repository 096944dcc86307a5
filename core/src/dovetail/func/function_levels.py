"""A user's `Function` at a level: its own `jvp` or `vmap`, or what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.engine.level_hooks import function_rules
from dovetail.engine.levels import LevelBackend, depth_of, lifted
from dovetail.engine.modes import enable_grad
from dovetail.engine.tensor import Tensor, alias, wrap
from dovetail.errors import ArgumentError
from dovetail.func.batch_shapes import Batched
from dovetail.func.batched import BatchBackend
from dovetail.func.dual_rules import moved_along, varied
from dovetail.func.dual_values import Dual
from dovetail.func.duals import DualBackend
from dovetail.func.mapping import batched_in
from dovetail.func.trees import put_together, spread, taken_apart


class VmapInfo(NamedTuple):
    """What a Function's `vmap` is told: the rows, and what random functions may do."""

    batch_size: int
    randomness: str


def _at_level(cls: Any, base: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The results at the highest level of the arguments, in a tuple; None for none."""
    depth = max(
        (depth_of(x._kind.backend) for x in args if isinstance(x, Tensor)), default=0
    )
    if not depth:
        return None
    given = [lifted(x, depth) if isinstance(x, Tensor) else x for x in args]
    backend = next(x for x in given if isinstance(x, Tensor))._kind.backend
    if isinstance(backend, DualBackend):
        return (_moved(cls, base, given, kwargs),)
    if isinstance(backend, BatchBackend) and cls.vmap is not base.vmap:
        return (_batched(cls, backend, given, depth),)
    return None


def _moved(cls: Any, base: Any, args: list[Any], kwargs: Any) -> Any:
    """Values by the Function, tangents by its `jvp`, or its backward's transpose."""
    natives = [x._a if isinstance(x, Tensor) else x for x in args]
    if cls.jvp is not base.jvp:
        return _by_jvp(cls, base, args, natives)
    variables: list[tuple[Tensor, Tensor]] = []
    with enable_grad():
        inputs = [
            varied([a], False, variables)[0] if isinstance(a, Dual) else a
            for a in natives
        ]
        result = cls.apply(*inputs, **kwargs)
        outs, form = taken_apart(result)
        moves = [
            moved_along(y, variables, False) if isinstance(y, Tensor) else None
            for y in outs
        ]
    like = next(x for x in args if isinstance(x, Tensor))
    return put_together(
        [_dual(y, t, like) for y, t in zip(outs, moves, strict=True)], form
    )


def _by_jvp(cls: Any, base: Any, args: list[Any], natives: list[Any]) -> Any:
    from_below = [a.inner if isinstance(a, Dual) else a for a in natives]
    tangents = [a.tangent if isinstance(a, Dual) else None for a in natives]
    ctx = object.__new__(cls)
    ctx._begin(cls.__name__, tuple(t is not None for t in tangents))
    if cls.setup_context is not base.setup_context:
        result = cls.forward(*from_below)
        cls.setup_context(ctx, tuple(from_below), result)
    else:
        result = cls.forward(ctx, *from_below)
    ctx._to_save = ctx._for_forward or ctx._to_save
    moves = cls.jvp(ctx, *tangents)
    outs, form = taken_apart(result)
    several = list(moves) if isinstance(moves, tuple) else [moves]
    if len(several) != len(outs):
        raise ArgumentError(
            f"{cls.__name__}.jvp", "tangents", was=f"{len(several)} returned",
            needed=f"{len(outs)}, one for each result of forward",
        )  # fmt: skip
    like = next(x for x in args if isinstance(x, Tensor))
    return put_together(
        [_dual(y, t, like) for y, t in zip(outs, several, strict=True)], form
    )


def _dual(y: Any, tangent: Any, like: Tensor) -> Any:
    if not isinstance(y, Tensor):
        return y
    value = alias(y) if y.requires_grad else y
    return wrap(Dual(value, tangent), like._kind.with_dtype(y.dtype))


def _batched(cls: Any, backend: Any, args: list[Any], depth: int) -> Any:
    """The results of a Function's own `vmap`."""
    natives = [x._a if isinstance(x, Tensor) else x for x in args]
    below = [a.inner if isinstance(a, Batched) else a for a in natives]
    dims = tuple([
        0 if isinstance(a, Batched) and a.batched else None for a in natives
    ])  # fmt: skip
    level = backend.level()
    info = VmapInfo(level.rows, level.randomness)
    result, out_dims = cls.vmap(info, dims, *below)
    outs, form = taken_apart(result)
    places = spread(f"{cls.__name__}.vmap", "out_dims", out_dims, form)
    made = [
        y if not isinstance(y, Tensor)
        else lifted(y, depth) if dim is None
        else batched_in(y, dim)
        for y, dim in zip(outs, places, strict=True)
    ]  # fmt: skip
    return put_together(made, form)


Rule = Callable[..., Any]
function_rules.append(_at_level)
__all__ = ["VmapInfo"]


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor of a transform stands for: the whole batch, or the value.

    For debuggers alone: a result computed of it escapes the transform.

    Args:
        tensor: any; one that stands for itself is returned as it is.
        recurse: down to a tensor that stands for itself, else one level.
    """
    while isinstance(tensor._kind.backend, LevelBackend):
        tensor = tensor._kind.backend.held(tensor._a)[0]
        if not recurse:
            break
    return tensor
