"""A call of a `Function`: forward off the tape, and one node for it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any, Final

from dovetail.autograd.function_context import FunctionCtx
from dovetail.engine.basics import basics
from dovetail.engine.inplace import rebind, touched
from dovetail.engine.level_hooks import function_rules, gathered
from dovetail.engine.modes import grad_enabled, no_grad
from dovetail.engine.open_levels import open_levels
from dovetail.engine.saved_hooks import packed
from dovetail.engine.signature import broadcast
from dovetail.engine.tape import Node, Output, save
from dovetail.engine.tape_entries import tape_entry
from dovetail.engine.tape_of_views import INSIDE, TAKEN, View, edge_of
from dovetail.engine.tensor import Tensor, alias
from dovetail.engine.views import as_view
from dovetail.engine.wrapped_ops import Always
from dovetail.engine.writable import check_writable
from dovetail.errors import (
    ArgumentTypeError,
    AutogradError,
    DovetailError,
    NotSupported,
)


class Entry:
    """What the tape knows of a Function, as it knows ops."""

    vjp_needs: tuple[str, ...] = ()
    residuals = 0
    has_list = False
    is_elementwise = False
    layout_matters = False
    rules = None
    save_plan: tuple[Any, ...] = ()

    def __init__(self, name: str) -> None:
        self.name = name
        self.pull = _pull
        self.bound = Always(_pull)


_entries: Final[dict[type, Entry]] = {}


def applied(cls: Any, base: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The results of a Function, on the tape if an argument requires gradients."""
    taped, found = False, None
    if function_rules and open_levels():
        args = tuple(gathered(args))
        taped = grad_enabled() and any(
            isinstance(x, Tensor) and x.requires_grad for x in args
        )
        if not taped:
            found = _at_levels(cls, base, args, kwargs)
            if found is not None:
                return found[0]
    has_setup = cls.setup_context is not base.setup_context
    if has_setup:
        args, kwargs = _with_defaults(cls.forward, args, kwargs), {}
    edges = [_edge(cls, x) if isinstance(x, Tensor) else None for x in args]
    ctx = _context(cls)
    ctx._begin(cls.__name__, tuple([e is not None for e in edges]))
    if not grad_enabled():
        edges = [None] * len(args)
    if taped:  # above the levels, which have all that is below the tape
        below = [alias(x) if isinstance(x, Tensor) else x for x in args]
        found = _at_levels(cls, base, tuple(below), kwargs)
    with no_grad():
        if not has_setup:
            result = cls.forward(ctx, *args, **kwargs)
            result = result if found is None else found[0]
        else:
            result = cls.forward(*args) if found is None else found[0]
            cls.setup_context(ctx, args, result)
    return _recorded(cls, base, ctx, args, edges, result)


def _at_levels(cls: Any, base: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The result of a transform's rule, in a tuple; None where there is none."""
    for rule in function_rules:
        found = rule(cls, base, args, kwargs)
        if found is not None:
            return found
    return None


def _with_defaults(forward: Any, args: tuple[Any, ...], kwargs: Any) -> tuple[Any, ...]:
    """The arguments of forward in their order, also those given by name, or not."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and len(args) == code.co_argcount:
        return args
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    return bound.args


def _edge(cls: Any, x: Tensor) -> Any:
    """Where the gradient of an argument goes."""
    if x._in_parts and x.requires_grad:
        raise NotSupported(
            f"{cls.__name__}.apply", "argument", was="sparse, and requires gradients",
            needed="a dense one", remedy="pass indices and values, of which forward "
            "makes the sparse tensor",
        )  # fmt: skip
    return edge_of(x._node)


def _context(cls: Any) -> Any:
    """A context with the methods of FunctionCtx, and what the class defines beside."""
    made = object.__new__(cls)
    assert isinstance(made, FunctionCtx)
    return made


def _recorded(
    cls: Any, base: Any, ctx: Any, args: tuple[Any, ...], edges: list[Any],
    result: Any,
) -> Any:  # fmt: skip
    single = not isinstance(result, tuple)
    outs = [result] if single else list(result)
    if any(isinstance(y, list) for y in outs):
        raise ArgumentTypeError(
            f"{cls.__name__}.forward", "result", was="a list",
            needed="a tensor, or several in a tuple",
        )  # fmt: skip
    _check_dirty(cls, ctx, args, outs)
    needed = any(e is not None for e in edges)
    node = _node(cls, base, ctx, args, edges, outs) if needed else None
    made = [_placed(ctx, node, args, y, i, len(outs)) for i, y in enumerate(outs)]
    if node is not None:
        _keep(ctx, node, args, edges, outs, made)
    return made[0] if single else type(result)(made)


def _check_dirty(cls: Any, ctx: Any, args: tuple[Any, ...], outs: list[Any]) -> None:
    for x in ctx._dirty:
        if not any(x is a for a in args) or not any(x is y for y in outs):
            raise AutogradError(
                f"{cls.__name__}.forward", "mark_dirty", was="a tensor that is no "
                "argument, or is not returned", needed="arguments that are returned",
            )  # fmt: skip
        check_writable(cls.__name__, x, overlap=True)


def _node(
    cls: Any, base: Any, ctx: Any, args: tuple[Any, ...], edges: list[Any],
    outs: list[Any],
) -> Node:  # fmt: skip
    entry = _entries.get(cls)
    if entry is None:
        entry = _entries[cls] = Entry(cls.__name__)
    how = {"ctx": ctx, "cls": cls, "backward": _backward(cls, base)}
    node = Node(entry, tuple(edges), None, how)  # type: ignore[arg-type]
    node.shapes = tuple([
        tuple(x._a.shape) if isinstance(x, Tensor) else None for x in args
    ])  # fmt: skip
    node.kinds = tuple([x._kind if isinstance(x, Tensor) else None for x in args])
    tensors = [y for y in outs if isinstance(y, Tensor)]
    node.attrs["outputs"] = [
        (tuple(y._a.shape), y._kind) if isinstance(y, Tensor) else None for y in outs
    ]
    if len(outs) > 1 or not tensors:
        node.more().outputs = tuple([
            (y._a.shape, y._kind) if isinstance(y, Tensor) else ((), _NO_KIND)
            for y in outs
        ])  # fmt: skip
    return node


def _backward(cls: Any, base: Any) -> Any:
    """The backward of a Function, by either of its names."""
    if cls.backward is not base.backward and cls.vjp is not base.vjp:
        raise AutogradError(
            cls.__name__, "backward", was="there beside vjp: implementing both for a "
            "custom Function is not allowed", needed="one of them",
        )  # fmt: skip
    return cls.backward if cls.backward is not base.backward else cls.vjp


class _NoDType:
    category = 0


class _NoKind:
    """The kind of a result that is no tensor: no gradient comes back to it."""

    dtype = _NoDType()


_NO_KIND: Final = _NoKind()


def _flows(ctx: Any, y: Any) -> bool:
    """Whether gradients come back to a result."""
    if not isinstance(y, Tensor) or y._kind.dtype.category < 2:
        return False
    return not any(y is other for other in ctx._without)


def _placed(
    ctx: Any, node: Node | None, args: tuple[Any, ...], y: Any, at: int, count: int
) -> Any:
    """A result for the caller, on its place on the tape."""
    if not isinstance(y, Tensor):
        return y
    place = None
    if node is not None and _flows(ctx, y):
        place = node if count == 1 else Output(node, at)
    if any(y is x for x in ctx._dirty):
        touched(y)
        if place is not None:
            rebind(y, place)
        return y if place is not None or not y.requires_grad else alias(y)
    if any(isinstance(a, Tensor) and _shares(y, a) for a in args):
        given = any(y is a for a in args)
        return _looked_into(ctx._name, y, place, given)
    if y._node is not None:
        y = alias(y)
    y._node = place
    return y


def _shares(y: Tensor, x: Tensor) -> bool:
    """Whether a result looks into the memory of an argument."""
    return y is x or (y._storage is not None and y._storage is x._storage)


def _looked_into(name: str, y: Tensor, place: Any, given: bool) -> Tensor:
    """A result that shows an argument's memory: a view, which is not written.

    What it would be after a write to that memory, the Function does not say.

    Args:
        given: whether it is the argument.
    """
    made = y
    if place is not None:
        made = as_view(_INSIDE, y, y._a, {"shape": tuple(y._a.shape)})
        made._node.state, made._node.edge_ = TAKEN, place
    elif given and y.requires_grad:
        return alias(y)
    elif given or type(y._node) is not View:
        made = basics.view(y, tuple(y._a.shape))
    made._node.one_of = f"{name}.apply, created inside a custom Function"
    return made


def _keep(
    ctx: Any, node: Node, args: tuple[Any, ...], edges: list[Any],
    outs: list[Any], made: list[Any],
) -> None:  # fmt: skip
    """Let the node hold what forward asked to keep."""
    kept: list[Any] = []
    layout: list[Any] = []
    for x in ctx._to_save:
        if x is None:
            kept.append(None)
            layout.append(None)
            continue
        own = next((i for i, a in enumerate(args) if a is x), None)
        to = next((i for i, y in enumerate(outs) if y is x), None)
        dirty = any(x is d for d in ctx._dirty)
        slot = -1 - to if to is not None and (own is None or dirty) else own
        source = made[to] if to is not None and slot is not None and slot < 0 else x
        if slot is not None and slot < 0 and not _flows(ctx, x):
            slot = None  # it is on no tape
        if x._in_parts:
            source = x if to is None else x.detach()
        kept.append(_held(source, slot))
        layout.append(edge_of(x._node) if slot is None else None)
    node.saved = tuple(kept)
    ctx._keep(node, tuple(layout))


def _held(x: Tensor, slot: Any) -> Any:
    """What the node keeps of a tensor: a sparse one whole, with its values' version."""
    held = packed(save(x, slot), x)
    if not x._in_parts or held[1] is None:
        return held
    _, _, storage, version, _ = save(x._a.values, slot)
    return (lambda: x), None, storage, version, slot


def _inside(x: Tensor) -> Any:
    """A view that a Function made."""


def _inside_vjp(ct: Tensor) -> Any:
    return ct


_INSIDE: Final = tape_entry(INSIDE, _inside, _inside_vjp)


def _pull(node: Node, ct: Any, create: bool) -> Sequence[Any]:
    """The cotangents of the arguments, by the Function's backward."""
    cls, ctx = node.attrs["cls"], node.attrs["ctx"]
    cts = iter(ct if isinstance(ct, tuple) else (ct,))
    outputs = node.attrs["outputs"]
    several = node.outputs
    given = []
    for i, known in enumerate(outputs):
        arrives = several is None or several[i][1].dtype.category >= 2
        g = next(cts) if arrives else None
        if g is None and ctx._materializes and known is not None:
            shape, kind = known
            g = basics.full(shape, 0, kind)
        given.append(g)
    found = node.attrs["backward"](ctx, *given)
    return _checked(cls, node, found if isinstance(found, tuple) else (found,))


def _checked(cls: Any, node: Node, found: tuple[Any, ...]) -> list[Any]:
    """What backward returned, as it promised."""
    count = len(node.edges)
    extra = found[count:]
    if len(found) < count or any(g is not None for g in extra):
        raise AutogradError(
            f"{cls.__name__}.backward", "gradients", was=f"{len(found)} returned: an "
            "incorrect number of gradients", needed=f"{count}, one for each argument "
            "of forward", remedy="return None for what has no gradient",
        )  # fmt: skip
    return [_gradient(cls, node, i, g) for i, g in enumerate(found[:count])]


def _gradient(cls: Any, node: Node, at: int, g: Any) -> Any:
    assert node.shapes is not None
    assert node.kinds is not None
    shape, kind = node.shapes[at], node.kinds[at]
    name = f"{cls.__name__}.backward"
    if g is not None and kind is None:
        raise AutogradError(
            name, f"gradient {at}", was="different than None, but the corresponding "
            "forward input was not a Variable", needed="None",
        )  # fmt: skip
    if g is None or node.edges[at] is None:
        return None
    if not isinstance(g, Tensor):
        raise AutogradError(
            name, f"gradient {at}", was=f"a {type(g).__name__}",
            needed="a Tensor or None",
        )  # fmt: skip
    if tuple(g._a.shape) != shape:
        own = tuple(g._a.shape)
        if not _expands(shape, own):
            raise AutogradError(
                name, f"gradient {at}", was=f"an invalid gradient of shape {own}",
                needed=f"{shape}, the shape of the argument",
            )  # fmt: skip
        g = basics.sum_to(g, shape)
    if g._kind.dtype is not kind.dtype:
        if g._kind.dtype.is_complex and not kind.dtype.is_complex:
            raise AutogradError(
                name, f"gradient {at}", was=g._kind.dtype.name,
                needed=f"a real one, as the argument is {kind.dtype.name}",
                remedy="return its real part",
            )  # fmt: skip
        g = basics.cast(g, kind.dtype)
    return g


def _expands(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return broadcast("gradient", (shape, to), ("argument", "gradient")) == to
    except DovetailError:
        return False


__all__ = ["applied"]
