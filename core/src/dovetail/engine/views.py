"""Taking a view: natively, or by the geometry that the op declares."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dovetail.device_api.capabilities import HostMemory
from dovetail.engine import modes
from dovetail.engine.kernel_call import explain
from dovetail.engine.kinds import Kind
from dovetail.engine.op import Op
from dovetail.engine.plan import UNSERVED, Plan
from dovetail.engine.storage import Storage, inferred
from dovetail.engine.tape import next_seq, storage_of
from dovetail.engine.tape_of_views import TAKEN, UNTAKEN, View, edge_of
from dovetail.engine.tensor import Tensor, fresh

Inputs = tuple[Any, ...]


def take_view(
    op: Op, x: Tensor, attrs: dict[str, Any], kind: Kind, plan: Plan
) -> Tensor:
    """Take a view: natively, or by the geometry that the op declares."""
    native = None
    if plan.native is not None:
        try:
            native = plan.native(x._a)
        except Exception as error:  # the geometry will do, or says what is wrong
            if op.geometry is None:
                raise explain(op, (x,), attrs, error, plan.owner) from error
    if native is None or native is UNSERVED:
        native = _by_geometry(op, x, attrs, kind)
    elif type(native) is not kind.array:
        native = kind.lift(native)
    return as_view(op, x, native, attrs)


def _by_geometry(op: Op, x: Tensor, attrs: dict[str, Any], kind: Kind) -> Any:
    """A native view from shape, strides and offset; raises what the op refuses."""
    assert op.geometry is not None
    strides, _ = kind.backend.geometry(x._a, x._a)
    shape, strides, offset = op.geometry(tuple(x._a.shape), strides, **attrs)
    if not all(shape):
        offset = 0  # of no elements, none may lie outside the memory
    return kind.backend.view(x._a, tuple(shape), tuple(strides), offset)


def memory_size(x: Tensor) -> int:
    """The bytes of the memory behind a tensor, whose own dtype may be another one."""
    backend, root = x._kind.backend, storage_of(x).root
    if 0 in root.shape:
        return 0
    steps, _ = backend.geometry(root, root)
    reach = ((n - 1) * s for n, s in zip(root.shape, steps, strict=True))
    count: int = sum(reach) + 1
    memory = backend.capability(HostMemory)
    if memory is None:  # only the host's memory is looked at in several dtypes
        return count * x._kind.dtype.itemsize
    size: int = memory.expose(root).itemsize
    return count * size


def unshared(t: Tensor) -> Tensor:
    """A view of memory that nothing else looks into, made a tensor like others."""
    t._node = edge_of(t._node)
    if inferred[0] and t._storage is not None:
        t._inference = t._storage.inference
    t._storage = None
    return t


def together(name: str, x: Tensor, parts: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """The parts of `x`, of which none may be written while gradients are recorded.

    In torch they are the results of one node.
    """
    found = tuple(parts)
    if x._node is not None:
        for y in found:
            if type(y._node) is View:
                y._node.one_of = f"{name}, which returns multiple views"
    return found


def as_view(op: Op, x: Tensor, native: Any, how: Any) -> Tensor:
    """A tensor over part of the memory of `x`, tied to its base."""
    storage = x._storage
    if storage is None:
        storage = storage_of(x) if inferred[0] else Storage(x._a)
        x._storage = storage
    view = View()
    node = x._node
    if type(node) is View:
        view.base = node.base
        view.parent = node
    else:
        view.base = x
        view.parent = None
    view.op = op
    view.how = how
    view.version = view.made = storage.version
    view.edge_ = node
    view.state = UNTAKEN
    t: Tensor = fresh()
    t._a = native
    t._kind = x._kind
    t._node = view
    t._storage = storage
    if node is None:
        view.seq = 0
    elif modes.grad_enabled():
        view.seq = next_seq()
    else:
        view.seq = 0
        view.state, view.edge_ = TAKEN, None
    return t
