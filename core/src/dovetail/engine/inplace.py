"""In-place writes: `x_` derives from the functional form, and views rebase.

An in-place op computes its functional form, moves the bits into the tensor's memory,
bumps the version and gives the tensor the new place on the tape. Through a view, the
base gets a node that says: old base outside the view, new values inside it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.device_api import LateErrors
from dovetail.device_api.graphs import recording
from dovetail.dtypes import can_cast
from dovetail.engine import modes
from dovetail.engine.attributes import Static
from dovetail.engine.basics import basics
from dovetail.engine.elements import stored
from dovetail.engine.level_hooks import kept_below, raised
from dovetail.engine.scopes import anywhere, tell, watched
from dovetail.engine.tape import (
    Leaf,
    Node,
    Output,
    index_of,
    move_retained,
    next_seq,
    storage_of,
    target_of,
)
from dovetail.engine.tape_entries import OVERWRITTEN, tape_entry
from dovetail.engine.tape_of_views import View, edge_of, entries, replay
from dovetail.engine.tensor import Tensor, wrap
from dovetail.engine.writable import check_writable, given_with_others
from dovetail.errors import DeviceError, DTypeError, InplaceError, ShapeError


def inplace(
    name: str, function: Callable[..., Any], x: Tensor, *args: Any, **kw: Any
) -> Tensor:
    """`x <- function(x, *args)`, for the op that users know as `name`.

    Raises:
        InplaceError: `x` is a leaf that requires gradients, or an expanded view.
        ShapeError: the result does not have the shape of `x`.
        DTypeError: the result's dtype is of a higher category than that of `x`.
    """
    check_writable(name, x)
    if kw.get("dtype", x._kind.dtype) not in (None, x._kind.dtype):
        raise DTypeError(
            name, "dtype", was=kw["dtype"], needed=f"{x._kind.dtype.name}, as the "
            "tensor written has", remedy="use the out-of-place form",
        )  # fmt: skip
    start = next_seq()
    if anywhere[0]:
        tell("in place", x)
    y = function(x, *args, **kw)
    if y._node is not None and x._storage is not None:
        keep_old_values(x, y._node, start)
        if anywhere[0]:
            tell("keep", x)
    if kept_below:
        kept_below[0](x, y, start)
    write(name, x, y)
    _keep_written(x, y)
    return x


def _keep_written(x: Tensor, y: Tensor) -> None:
    """What a node kept of its result is in the memory of `x` now, as `x` itself is."""
    node = target_of(y._node)
    memory = y._storage
    if type(node) is not Node or memory is None or memory is x._storage:
        return
    if node.saved and y._kind is x._kind and not (anywhere[0] and watched()):
        now = storage_of(x)
        node.saved = tuple([
            (x._a, kept[1], now, now.version, kept[4])
            if type(kept) is tuple and kept[0] is y._a and kept[4] < 0 else kept
            for kept in node.saved
        ])  # fmt: skip


def keep_old_values(x: Tensor, node: Any, start: int) -> None:
    """Copy what the new nodes keep of `x`, for its memory is about to be written."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if type(node) is Output:
            node = node.node
        if type(node) is not Node or node.seq < start or node in seen:
            continue
        seen.add(node)
        stack += node.edges
        keep_copies(x, node)


def keep_copies(x: Tensor, node: Node) -> None:
    """Let a node keep copies of what it keeps of `x`."""
    if node.saved:
        node.saved = tuple([_copied(x, kept) for kept in node.saved])


def _copied(x: Tensor, kept: Any) -> Any:
    if type(kept) is list:
        return [_copied(x, k) for k in kept]
    if kept is None or kept[2] is not x._storage:
        return kept
    native, kind, _, _, slot = kept
    if anywhere[0] and watched():
        copied = basics.clone(wrap(native, kind))
        return (copied._a, kind, None, 0, slot)
    backend = kind.backend
    fresh = backend.empty(tuple(native.shape), kind.dtype, kind.index)
    backend.copy(fresh, native)
    return (fresh, kind, None, 0, slot)


def write(name: str, x: Tensor, y: Tensor) -> Tensor:
    """Give `x` the values and the place on the tape of `y`."""
    return commit(x, fitting(name, x, y))


def overwrite(name: str, x: Tensor, y: Tensor) -> Tensor:
    """Give `x` the values of `y`; what made `x` before gets a gradient of zeros."""
    check_writable(name, x)
    y = fitting(name, x, y)
    before = None if type(x._node) is View else x._node
    commit(x, y)
    keep_before(x, y, before)
    if anywhere[0]:
        tell("overwrite", x, y)
    return x


def keep_before(x: Tensor, y: Tensor, before: Any) -> None:
    """Lead gradients of what `x` was on the tape, before it got the values of `y`."""
    after = x._node
    recorded = modes.grad_enabled() and edge_of(y._node) is not None
    if recorded and before is not None and after is not before:
        x._node = Node(entries["copy"], (before, after), None, {})
        follow_retained(after, x._node)


def fitting(name: str, x: Tensor, y: Tensor, *, resizes: bool = False) -> Tensor:
    """`y` cast to what `x` can take; raises before anything is written.

    Args:
        resizes: whether `x` may have another shape, which is to be given it.
    """
    if tuple(y._a.shape) != tuple(x._a.shape) and not resizes:
        raise ShapeError(
            name, "result", was=f"of shape {tuple(y._a.shape)}",
            needed=f"{tuple(x._a.shape)}, the shape of the tensor written",
            remedy="use the out-of-place form",
        )  # fmt: skip
    if y._kind.backend is not x._kind.backend and raised:
        y = raised[0](x, y)
    if y._node is not None and type(x._node) is View:
        _check_alone(name, x._node, y)
    kind = x._kind
    if y._kind.backend is not kind.backend or y._kind.index != kind.index:
        if y._kind.backend.stands_for is not None:
            raise InplaceError(
                name, "tensor", was="made outside of a function that is transformed",
                needed="one like its arguments, as what is written is",
                remedy="make it by zeros_like() or new_zeros() of an argument, or use "
                "the out-of-place form",
            )  # fmt: skip
        raise DeviceError(
            name, "result", was=f"on {y._kind.device}",
            needed=f"{kind.device}, where the tensor written is",
        )  # fmt: skip
    if y._kind is not kind:
        if not can_cast(y._kind.dtype, kind.dtype):
            raise DTypeError(
                name, "result dtype", was=y._kind.dtype.name,
                needed=f"one that can be cast to {kind.dtype.name}",
                remedy="use the out-of-place form, or cast the operand",
            )  # fmt: skip
        y = basics.cast(y, kind.dtype)
    return y


def _check_alone(name: str, view: View, y: Tensor) -> None:
    """Raise where gradients had to go through a view that hides what it is of."""
    if view.made_by and modes.grad_enabled() and edge_of(y._node) is not None:
        raise given_with_others(name, view)


def commit(x: Tensor, y: Tensor) -> Tensor:
    """Move the bits of `y` into `x` and rebind it on the tape."""
    late = x._kind.backend.capability(LateErrors)
    if late is not None:
        late.tell(x._kind.index)  # a call that is refused has changed nothing
    if anywhere[0] and watched():
        with modes.no_grad():
            basics.assign_(x, y)
    else:
        if x._storage is None and y._storage is None and recording.get() is None:
            x._a = y._a  # nobody else sees either memory, nor will a graph again
        else:
            x._kind.backend.copy(x._a, y._a)
        touched(x)
    rebind(x, y._node)
    if anywhere[0]:
        tell("rebind", x, y)
    return x


def touched(x: Tensor) -> None:
    """Count a write to the memory of `x`."""
    storage_of(x).version += 1


def rebind(x: Tensor, node: Any) -> None:
    """The new place on the tape of a tensor whose values were replaced."""
    if not modes.grad_enabled():
        return
    edge = None if node is None else edge_of(node)
    old = x._node
    if type(old) is View:
        made = old.edge_
        _rebase(old, edge)
        if type(made) is Node and made.extra is not None:
            old.edge()  # who retains its gradient follows
    elif type(old) is Leaf:
        return
    else:
        if edge is None and old is not None:
            edge = Node(OVERWRITTEN, (old,), None, {})
        x._node = edge
        follow_retained(old, edge)


def follow_retained(old: Any, new: Any) -> None:
    """Let a tensor that retains its gradient do so at its new place on the tape."""
    before, after = target_of(old), target_of(new)
    if type(before) is Node and type(after) is Node and before.extra is not None:
        move_retained(before, index_of(old), after, index_of(new))


def _rebase(view: View, edge: Any) -> None:
    """The base now holds new values within the view; its other views follow."""
    base = view.base
    before = edge_of(base._node)
    if edge is None and before is None:
        return
    shape = tuple(base._a.shape)
    layout = tuple(base._kind.backend.geometry(base._a, base._a)[0])
    how = {"steps": view.steps(), "layout": layout}
    node = Node(_REBASE, (before, edge), (shape, shape), how)
    base._node = node
    follow_retained(before, node)


def _laid_out(ct: Tensor, layout: tuple[int, ...]) -> Tensor:
    """A copy of `ct` with the strides of the base, so that views are taken alike."""
    order = tuple(sorted(range(len(layout)), key=lambda d: -layout[d]))
    clone, permute = basics.clone, basics.permute
    if order == tuple(range(len(layout))):
        return clone(ct)  # type: ignore[no-any-return]
    back = tuple(sorted(range(len(layout)), key=order.__getitem__))
    return permute(clone(permute(ct, order)), back)  # type: ignore[no-any-return]


def _rebase_vjp(
    ct: Tensor, steps: Any, layout: Any, need: tuple[bool, bool]
) -> tuple[Any, Any]:
    """Outside the view to what the base was, inside to what was written."""
    outside = inside = None
    if need[1] and any(op.layout_matters for op, _ in steps):
        ct = _laid_out(ct, layout)
    if need[0]:
        outside = _laid_out(ct, layout)
        region = replay(steps, outside)
        inplace("zero_", basics.zeros_like, region)
    if need[1]:
        inside = replay(steps, ct)
    return outside, inside


def _rebased(base: Tensor, new: Tensor, *, steps: Static, layout: Static) -> Any:
    """The base of a view that was written."""


_REBASE: Final = tape_entry("view_rebase", _rebased, _rebase_vjp)


def fill(x: Tensor, value: Any, name: str = "fill_", overlap: bool = True) -> Tensor:
    """Set every element in place, in any layout; what was there gets zero gradient."""
    check_writable(name, x, overlap)
    kind = x._kind
    element = stored(name, kind.dtype, value)
    if anywhere[0] and watched():
        with modes.no_grad():
            y = basics.filled(x, element)
        return write("fill_", x, y)
    kind.backend.fill(x._a, element)
    touched(x)
    rebind(x, None)
    return x
