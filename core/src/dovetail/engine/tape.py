"""The tape: nodes that record op calls, leaves that gather gradients, views.

`Tensor._node` is one of
- None: does not require gradients and is no view;
- `Node`: the single output of a recorded call;
- `Output`: one of several outputs of a recorded call;
- `Leaf`: a leaf that requires gradients;
- `View`: looks into another tensor's memory; asks its base for the node.

Nodes hold edges, never tensors: with tensors, `b = a + 1; a.mul_(3); b.sum()
.backward()` would send the gradient through the later `mul_`.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from dovetail.engine.op import vocabulary
from dovetail.errors import AutogradError

if TYPE_CHECKING:
    from dovetail.engine.op import Op
    from dovetail.engine.tensor import Tensor

next_seq: Final = itertools.count(1).__next__


class Storage:
    """The memory behind tensors that alias one another, and its version.

    Shared by views and `detach`; `.data` has one of its own over the same `root`,
    so that writes through it do not count as modifications. `readonly` says why the
    memory must not be written in place, where a write would be lost.
    """

    __slots__ = ("__weakref__", "readonly", "root", "version")

    def __init__(self, root: Any, version: int = 0) -> None:
        self.root = root
        self.version = version
        self.readonly: str | None = None


# A tensor kept for backward: native array, kind, storage, the version it had, and its
# slot: the index of the input, or -1 - index for an output. A constant has no storage.
# A plain tuple, for it is made on every recorded call.
Saved = tuple[Any, Any, Any, int, int]


class Extra:
    """What few nodes have: several outputs, list inputs, hooks.

    Attributes:
        outputs: shape and kind of each output, None for a single one.
        structure: for each parameter, its length if it was a list.
        hooks: by output, functions on its cotangent.
        retained: by output, a weak reference to the tensor that retains its gradient.
    """

    __slots__ = ("hooks", "outputs", "retained", "structure")

    def __init__(self) -> None:
        self.outputs: tuple[Any, ...] | None = None
        self.structure: tuple[int | None, ...] | None = None
        self.hooks: dict[int, list[Callable[[Tensor], Tensor | None]]] = {}
        self.retained: dict[int, weakref.ref[Tensor]] = {}


class Node:
    """One recorded op call.

    Attributes:
        edges: for each tensor input, where its gradient goes (None: nowhere).
        shapes: the shapes of the tensor inputs, None where nobody asks for them.
        kinds: their kinds, None where nobody asks for them.
        saved: what the op's vjp asked to keep, in its order; None once freed.
        attrs: scalars and attributes of the call.
        seq: creation order; the engine runs nodes from the latest to the earliest.
        extra: what few nodes have, else None.
    """

    __slots__ = (
        "__weakref__", "attrs", "edges", "extra", "kinds", "op", "saved", "seq",
        "shapes",
    )  # fmt: skip
    op: Op
    edges: tuple[Edge, ...]
    shapes: tuple[Any, ...] | None
    kinds: tuple[Any, ...] | None
    saved: tuple[Any, ...] | None
    attrs: dict[str, Any]
    seq: int
    extra: Extra | None

    def __init__(
        self, op: Op, edges: tuple[Edge, ...], shapes: Any, attrs: dict[str, Any]
    ) -> None:
        self.op = op
        self.edges = edges
        self.shapes = shapes
        self.kinds = None
        self.saved = ()
        self.attrs = attrs
        self.seq = next_seq()
        self.extra = None

    def more(self) -> Extra:
        """The extra part, made when first asked for."""
        if self.extra is None:
            self.extra = Extra()
        return self.extra

    @property
    def outputs(self) -> tuple[Any, ...] | None:
        """Shape and kind of each output, None for a single one."""
        return None if self.extra is None else self.extra.outputs

    @property
    def name(self) -> str:
        return self.op.name

    def __repr__(self) -> str:
        return f"<{self.op.name} backward>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """As torch: the nodes that the inputs' gradients go to."""
        return tuple(
            (e.node, e.index) if type(e) is Output else (e, 0) for e in self.edges
        )


class Output:
    """One of several outputs of a node."""

    __slots__ = ("index", "node")

    def __init__(self, node: Node, index: int) -> None:
        self.node = node
        self.index = index


class Leaf:
    """Gathers the gradient of a leaf.

    Attributes:
        grad: the gradient so far.
        kind: device and dtype of the leaf, to which gradients are cast.
        hooks: functions on each gradient before it is added.
        active: whether gradients are added; not after `requires_grad_(False)`.
        after: functions on the tensor after each addition.
        tensor: weak reference to the leaf.
    """

    __slots__ = (
        "__weakref__", "active", "after", "grad", "hooks", "kind", "lock", "tensor",
    )  # fmt: skip

    def __init__(self, tensor: Tensor) -> None:
        self.grad: Tensor | None = None
        self.kind = tensor._kind
        self.hooks: list[Callable[[Tensor], Tensor | None]] = []
        self.after: list[Callable[[Tensor], None]] = []
        self.lock = threading.Lock()
        self.active = True
        self.tensor = weakref.ref(tensor)

    def __repr__(self) -> str:
        return "<AccumulateGrad>"


# The states of a view: its node is not made yet; it is; or the view was made a leaf
# by requires_grad_().
UNTAKEN: Final = 0
TAKEN: Final = 1
LEAF: Final = 2


def change_geometry(base: Tensor, native: Any) -> None:
    """Give a base another geometry over its memory, which its views do not follow."""
    strides = base._kind.backend.geometry(base._a, base._a)[0]
    storage = storage_of(base)
    storage.version += 1
    former = base.__dict__.setdefault("_former", [])
    former.append((storage.version, tuple(base._a.shape), tuple(strides)))
    base._a = native


class View:
    """A look into another tensor's memory, differentiable through its base.

    The node is made when it is first needed and again whenever the memory has been
    written since: a sibling written in place changes what this view depends on.

    Attributes:
        base: the tensor that owns the memory, itself no view.
        parent: the view this one was taken of, None for `base` itself.
        op, how: the view op and its attributes; `replay` takes it of any tensor
            like the base.
        made: the storage's version when the view was taken.
        version: the storage's version that `edge_` belongs to.
        edge_: the node; before it is taken, what the base depended on when the view
            was made (a Node, an Output, a Leaf, the parent View, or None); the leaf.
        state: `UNTAKEN`, `TAKEN` or `LEAF`.
        seq: when the view was made, if its base was on the tape: torch numbers the
            node then, and the order of hooks depends on it.
    """

    __slots__ = (
        "base", "edge_", "how", "made", "op", "parent", "seq", "state", "version",
    )  # fmt: skip
    base: Tensor
    parent: View | None
    op: Op
    how: Any
    made: int
    version: int
    edge_: Any
    state: int
    seq: int

    @property
    def attrs(self) -> dict[str, Any]:
        """Attributes of the view op; the fast path of slicing leaves the bare slice."""
        how = self.how
        return how if type(how) is dict else {"index": how}

    @property
    def leaf(self) -> Leaf | None:
        """Its leaf, where it was made to require gradients."""
        edge = self.edge() if self.state == LEAF else None
        return edge if type(edge) is Leaf else None

    def become_leaf(self, leaf: Leaf | None) -> None:
        """Gather gradients here, or (None) require none, until the base is written."""
        self.state = TAKEN if leaf is None else LEAF
        self.seq = next_seq()  # views that were taken of this one before do not follow
        self.version = self.base._storage.version
        self.edge_ = leaf

    def edge(self) -> Edge:
        """The node that gradients of this view go to, None where it needs none."""
        if self.version != self.base._storage.version or self.state == UNTAKEN:
            self._take()
        return self._known()

    @property
    def leads_nowhere(self) -> bool:
        """Whether the view was taken when no gradients flowed to its base, but do now.

        It says, as torch's does, that it requires gradients, and is a leaf; but none
        ever arrive in it, until its memory is written and it is taken again.
        """
        edge = self.edge()
        return flowing(edge) is not edge

    def _known(self) -> Edge:
        if self.edge_ is None and edge_of(self.base._node) is not None:
            self.edge_ = Node(entries[NOWHERE], (), None, {})
        found: Edge = self.edge_
        return found

    def _take(self) -> None:
        """Make the nodes of this view and of those that it was taken through."""
        version = self.base._storage.version
        chain: list[View] = []
        source: Any = self
        while (
            type(source) is View
            and source.version == version
            and source.state == UNTAKEN
        ):
            chain.append(source)
            source = source.edge_
        if type(source) is View and source.version != version:
            source._take_again(version)
        edge = source._known() if type(source) is View else source
        if type(source) is View and source.state == LEAF and chain:
            edge = edge if chain[-1].seq > source.seq else None
        shape: Any = None
        if chain and edge is not None:
            shape = source.shape() if type(source) is View else self.base._a.shape
        for view in reversed(chain):
            view.state = TAKEN
            if edge is None:
                view.edge_ = None
                edge = view._known()
                shape = view.shape() if edge is not None else None
                continue
            earlier = getattr(target_of(edge), "seq", 0)  # a leaf has none
            view.edge_ = edge = Node(view.op, (edge,), (tuple(shape),), view.attrs)
            edge.seq = view.seq if view.seq > earlier else edge.seq
            shape = view.op.view_shape(tuple(shape), view.attrs)

    def _take_again(self, version: int) -> None:
        """Make nodes for this view alone, of the base as it is now."""
        edge = edge_of(self.base._node)
        before = self.edge_ if self.state == TAKEN else None
        if edge is None:
            self.edge_ = self.edge_ if self.state == LEAF else None
            return
        shape = tuple(self.base._a.shape)
        for op, attrs in self.steps():
            edge = Node(op, (edge,), (shape,), attrs)
            shape = op.view_shape(shape, attrs)
        self.version, self.state, self.edge_ = version, TAKEN, edge
        if isinstance(before, Node) and isinstance(edge, Node):
            move_retained(before, 0, edge, 0)

    def shape(self) -> tuple[int, ...]:
        """The sizes of this view."""
        node = self.edge_
        if type(node) is Node and node.shapes:
            return node.op.view_shape(tuple(node.shapes[0]), node.attrs)
        shape = tuple(self.base._a.shape)
        for op, attrs in self.steps():
            shape = op.view_shape(shape, attrs)
        return shape

    def steps(self) -> list[tuple[Op, dict[str, Any]]]:
        """The view ops from the base, as it is now, to this view."""
        found = []
        first = view = self
        while view is not None:
            found.append((view.op, view.attrs))
            first, view = view, view.parent  # type: ignore[assignment]
        former = self.base.__dict__.get("_former", ())
        geometry = next((g for until, *g in former if first.made < until), None)
        return found[::-1] if geometry is None else self._strided(geometry, found[::-1])

    def _strided(self, geometry: Any, steps: Any) -> list[tuple[Op, dict[str, Any]]]:
        """`steps` of a base that had another geometry, as one of what it has now."""
        shape, strides = geometry
        offset = 0
        for op, attrs in steps:
            if op.geometry is None:
                raise AutogradError(
                    op.name, "view", was="taken before its base was changed in place "
                    "to another geometry, e.g. by t_()", needed="a view taken after it",
                    remedy="take the view again, or use t() instead of t_()",
                )  # fmt: skip
            shape, strides, more = op.geometry(shape, strides, **attrs)
            offset += more
        native = self.base._a
        layout = tuple(self.base._kind.backend.geometry(native, native)[0])
        how = {"size": shape, "stride": strides, "offset": offset, "layout": layout}
        return [(vocabulary["as_strided"], how)]


# Entries that only the tape has, by name; `inplace` makes them.
entries: Final[dict[str, Op]] = {}
NOWHERE: Final = "nowhere"  # of a node that gradients end in


def flowing(edge: Edge) -> Edge:
    """An edge that gradients flow along; None for one that leads nowhere."""
    return None if type(edge) is Node and edge.op.name == NOWHERE else edge


def move_retained(old: Node, at: int, new: Node, to: int) -> None:
    """Who retains the gradient of an output retains that of its new place."""
    retained = old.extra.retained.pop(at, None) if old.extra else None
    if retained is not None:
        new.more().retained[to] = retained


def replay(steps: list[tuple[Op, dict[str, Any]]], base: Tensor) -> Tensor:
    """The view that `steps` describe, of another tensor shaped like its base."""
    for op, attrs in steps:
        base = op.call_with(base, attrs)
    return base


Edge = Node | Output | Leaf | None


def edge_of(node: Any) -> Edge:
    """Where the gradient of a tensor with this `_node` goes."""
    if type(node) is View:
        return node.edge()
    edge: Edge = node
    return edge


def target_of(edge: Edge) -> Any:
    """The node or leaf that an edge leads to."""
    return edge.node if type(edge) is Output else edge


def index_of(edge: Edge) -> int:
    """Which output of its target an edge leads to."""
    return edge.index if type(edge) is Output else 0


def leaf_of(node: Any) -> Leaf | None:
    """Where a tensor with this `_node` gathers its gradient, None if it is no leaf."""
    if type(node) is Leaf:
        return node
    return node.leaf if type(node) is View and node.state == LEAF else None


def storage_of(tensor: Tensor) -> Storage:
    """The storage of a tensor, made when it is first shared or saved."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage(tensor._a)
    found: Storage = storage
    return found


def save(tensor: Tensor, slot: int) -> Saved:
    """Keep a tensor for backward with the version that it has now."""
    storage = tensor._storage
    if storage is None:
        storage = tensor._storage = Storage(tensor._a)
    return (tensor._a, tensor._kind, storage, storage.version, slot)


def refuse_version(saved: Saved, op: str, name: str) -> AutogradError:
    """The error for a kept tensor that has been written since."""
    native, _, storage, version, _ = saved
    return AutogradError(
        f"backward of {op}", f"{name} {tuple(native.shape)}",
        was=f"at version {storage.version}: a tensor needed for gradient computation "
        "has been modified by an inplace operation",
        needed=f"version {version}",
        remedy=f"use the out-of-place form, or clone() before {op}",
    )  # fmt: skip
