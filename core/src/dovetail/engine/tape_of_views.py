"""Views on the tape: lazily taken, and taken again when their base was written.

A view asks its base for its node when somebody wants it. So a write to the base, or
through a sibling, needs to know of no view: each notices that the version has moved on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dovetail.engine.basics import basics
from dovetail.engine.tape import (
    Edge,
    Leaf,
    Node,
    move_retained,
    next_seq,
    storage_of,
    target_of,
)
from dovetail.errors import AutogradError

if TYPE_CHECKING:
    from dovetail.engine.op import Op
    from dovetail.engine.tensor import Tensor

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
        one_of: what gave this view, where it must not be written: `split`, which gives
            several, or a custom Function; unset for others.
        seq: when the view was made, if its base was on the tape: torch numbers the
            node then, and the order of hooks depends on it.
    """

    __slots__ = (
        "base", "edge_", "how", "made", "one_of", "op", "parent", "seq", "state",
        "version",
    )  # fmt: skip
    base: Tensor
    parent: View | None
    op: Op
    how: Any
    made: int
    one_of: str
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
    def made_by(self) -> str | None:
        """What gave this view, or one it was taken of, so that it is not written."""
        view: View | None = self
        while view is not None:
            name: str | None = getattr(view, "one_of", None)
            if name is not None:
                return name
            view = view.parent
        return None

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
        if self.edge_ is self.base._node is None:
            return None  # as of most views: nothing is to be taken
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
            if view is not self:  # another one looks into it
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
        if self.op.name != INSIDE and type(node) is Node and node.shapes:
            return node.op.view_shape(tuple(node.shapes[0]), node.attrs)
        chain: list[View] = []
        view: View | None = self
        while view is not None and view.op.name != INSIDE:
            chain.append(view)
            view = view.parent
        if view is None:
            shape = tuple(self.base._a.shape)
            steps = self.steps()
        else:  # made within a custom Function
            shape = view.attrs["shape"]
            steps = [(v.op, v.attrs) for v in reversed(chain)]
        for op, attrs in steps:
            shape = op.view_shape(shape, attrs)
        return shape

    def steps(self) -> list[tuple[Op, dict[str, Any]]]:
        """The view ops from the base, as it is now, to this view."""
        found = []
        first = view = self
        while view is not None:
            if view.op.name == INSIDE:
                raise AutogradError(
                    view.one_of, "result", was="a view whose base or another view of "
                    "its base has been modified inplace", needed="an unchanged base",
                    remedy="return a clone() of it",
                )  # fmt: skip
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
        return [(basics.as_strided.op, how)]


# Entries that only the tape has, by name; `inplace` makes them.
entries: Final[dict[str, Op]] = {}
INSIDE: Final = "view of a custom Function"
NOWHERE: Final = "nowhere"  # of a node that gradients end in


def flowing(edge: Edge) -> Edge:
    """An edge that gradients flow along; None for one that leads nowhere."""
    return None if type(edge) is Node and edge.op.name == NOWHERE else edge


def replay(steps: list[tuple[Op, dict[str, Any]]], base: Tensor) -> Tensor:
    """The view that `steps` describe, of another tensor shaped like its base."""
    for op, attrs in steps:
        base = op.call_with((base,), attrs)
    return base


def edge_of(node: Any) -> Edge:
    """Where the gradient of a tensor with this `_node` goes."""
    if type(node) is View:
        return node.edge()
    edge: Edge = node
    return edge


def on_tape(node: Any) -> bool:
    """Whether gradients flow to a tensor with this `_node`."""
    if type(node) is View and node.edge_ is node.base._node is None:
        return False
    return edge_of(node) is not None


def leaf_of(node: Any) -> Leaf | None:
    """Where a tensor with this `_node` gathers its gradient, None if it is no leaf."""
    if type(node) is Leaf:
        return node
    return node.leaf if type(node) is View and node.state == LEAF else None


def leads_nowhere(node: Any) -> bool:
    """Whether this `_node` is that of a view which leads nowhere."""
    return type(node) is View and node.leads_nowhere
