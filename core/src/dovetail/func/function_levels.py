"""A user's `Function` at a level: its own `jvp` or `vmap`, or what follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from dovetail.engine.level_hooks import function_rules
from dovetail.engine.levels import LevelBackend, depth_of, lifted
from dovetail.engine.modes import enable_grad
from dovetail.engine.open_levels import beneath
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, AutogradError
from dovetail.func.batch_shapes import Batched
from dovetail.func.batched import BatchBackend
from dovetail.func.dual_rules import apart, followed, moved_along, varied
from dovetail.func.dual_values import Dual
from dovetail.func.duals import DualBackend
from dovetail.func.function_rows import Rows, RowsCall
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
        return (_moved(cls, base, given, depth, kwargs),)
    if isinstance(backend, BatchBackend):
        if cls.vmap is not base.vmap:
            return (_batched(cls, backend, given, depth),)
        return (_by_rows(cls, backend, given, depth, kwargs),)
    return None


def _moved(
    cls: Any, base: Any, args: list[Any], depth: int, kwargs: Any
) -> Any:  # fmt: skip
    """Values by the Function, tangents by its `jvp`, or its backward's transpose."""
    natives = [x._a if isinstance(x, Tensor) else x for x in args]
    if cls.jvp is not base.jvp:
        return _by_jvp(cls, base, args, natives, depth)
    variables: list[tuple[Tensor, Tensor]] = []
    duals = [a for a in natives if isinstance(a, Dual)]
    held = [x for a in duals for x in (a.inner, a.tangent) if x is not None]
    follows, create = followed(held)
    with enable_grad(), beneath(depth):
        inputs = [
            varied([a], follows, variables)[0] if isinstance(a, Dual) else a
            for a in natives
        ]
        result = cls.apply(*inputs, **kwargs)
        outs, form = taken_apart(result)
        moves = [
            moved_along(y, variables, create) if isinstance(y, Tensor) else None
            for y in outs
        ]
    if not follows:
        outs, moves = apart(outs), apart(moves)
    like = next(x for x in args if isinstance(x, Tensor))
    return put_together(
        [_dual(y, t, like) for y, t in zip(outs, moves, strict=True)], form
    )


def _by_jvp(
    cls: Any, base: Any, args: list[Any], natives: list[Any], depth: int
) -> Any:  # fmt: skip
    from_below = [a.inner if isinstance(a, Dual) else a for a in natives]
    tangents = [a.tangent if isinstance(a, Dual) else None for a in natives]
    ctx = object.__new__(cls)
    ctx._begin(cls.__name__, tuple(t is not None for t in tangents))
    with beneath(depth):
        result = cls.apply(*from_below)  # levels and gradients below see the Function
        if cls.setup_context is not base.setup_context:
            cls.setup_context(ctx, tuple(from_below), result)
        else:
            cls.forward(ctx, *from_below)
        ctx._to_save = ctx._for_forward or ctx._to_save
        moves = cls.jvp(ctx, *tangents)
    outs, form = taken_apart(result)
    several = list(moves) if isinstance(moves, tuple) else [moves]
    if len(several) != len(outs):
        raise ArgumentError(
            f"{cls.__name__}.jvp", "tangents", was=f"{len(several)} returned",
            needed=f"{len(outs)}, one for each result of forward",
        )  # fmt: skip
    for i, (y, tangent) in enumerate(zip(outs, several, strict=True)):
        _check_tangent(f"{cls.__name__}.jvp", i, y, tangent)
    like = next(x for x in args if isinstance(x, Tensor))
    return put_together(
        [_dual(y, t, like) for y, t in zip(outs, several, strict=True)], form
    )


def _check_tangent(name: str, at: int, y: Any, tangent: Any) -> None:
    """Raise for what jvp gave that is no tangent of its result."""
    if tangent is None or not isinstance(y, Tensor):
        return
    if not isinstance(tangent, Tensor):
        raise AutogradError(
            name, f"tangent {at}", was=f"a {type(tangent).__name__}",
            needed="a Tensor or None",
        )  # fmt: skip
    if tuple(tangent.shape) != tuple(y.shape):
        raise AutogradError(
            name, f"tangent {at}", was=f"of shape {tuple(tangent.shape)}",
            needed=f"{tuple(y.shape)}, the shape of the result",
        )  # fmt: skip


def _dual(y: Any, tangent: Any, like: Tensor) -> Any:
    if not isinstance(y, Tensor):
        return y
    return wrap(Dual(y, tangent, lent=True), like._kind.with_dtype(y.dtype))


def _by_rows(
    cls: Any, backend: BatchBackend, args: list[Any], depth: int, kwargs: Any
) -> Any:  # fmt: skip
    """The results of a Function that has no `vmap` of its own."""
    natives = [x._a if isinstance(x, Tensor) else x for x in args]
    below = [a.inner if isinstance(a, Batched) else a for a in natives]
    dims = tuple([
        0 if isinstance(a, Batched) and a.batched else None for a in natives
    ])  # fmt: skip
    if dims.count(None) == len(dims):  # there is one row, for all
        outs, form = taken_apart(cls.apply(*below, **kwargs))
        made = [lifted(y, depth) if isinstance(y, Tensor) else y for y in outs]
        return put_together(made, form)
    call = RowsCall(cls, dims, backend.level().randomness, kwargs)
    with beneath(depth):
        outs = Rows.apply(call, *below)
    made = [batched_in(y, 0) if isinstance(y, Tensor) else y for y in outs]
    return put_together(made, call.form)


def _batched(cls: Any, backend: Any, args: list[Any], depth: int) -> Any:
    """The results of a Function's own `vmap`."""
    if cls.generate_vmap_rule:
        raise AutogradError(
            cls.__name__, "vmap", was="there, and generate_vmap_rule=True as well",
            needed="one of them",
        )  # fmt: skip
    natives = [x._a if isinstance(x, Tensor) else x for x in args]
    below = [a.inner if isinstance(a, Batched) else a for a in natives]
    dims = tuple([
        0 if isinstance(a, Batched) and a.batched else None for a in natives
    ])  # fmt: skip
    level = backend.level()
    info = VmapInfo(level.rows, level.randomness)
    with beneath(depth):
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
