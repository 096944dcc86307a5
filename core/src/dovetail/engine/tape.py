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
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dovetail.engine.node_names import node_name
from dovetail.engine.storage import MOVED, InferenceStorage, Storage
from dovetail.errors import AutogradError

if TYPE_CHECKING:
    from dovetail.engine.op import Op
    from dovetail.engine.tensor import Tensor

next_seq: Final = itertools.count(1).__next__


# A tensor kept for backward: native array, kind, storage, the version it had, and its
# slot: the index of the input, or -1 - index for an output. A constant has no storage.
# A plain tuple, for it is made on every recorded call.
Saved = tuple[Any, Any, Any, int, int]


class Shown(NamedTuple):
    """How nodes show what they have kept, as attributes.

    Attributes:
        value: that of a name; raises AttributeError where there is none.
        names: all there are.
    """

    value: Callable[[Node, str], Any]
    names: Callable[[Node], list[str]]


# What knows that; `saved_values` puts it here.
shown: Final[list[Shown]] = []


class Extra:
    """What few nodes have: several outputs, list inputs, hooks.

    Attributes:
        outputs: shape and kind of each output, None for a single one.
        structure: for each parameter, its length if it was a list.
        hooks: by output, functions on its cotangent.
        retained: by output, a weak reference to the tensor that retains its gradient.
    """

    __slots__ = ("hooks", "metadata", "outputs", "retained", "structure")
    metadata: dict[Any, Any]  # what users keep there; unset until they do

    def __init__(self) -> None:
        self.outputs: tuple[Any, ...] | None = None
        self.structure: tuple[int | None, ...] | None = None
        self.hooks: dict[int, list[Callable[[Tensor], Tensor | None]]] = {}
        self.retained: dict[int, weakref.ref[Tensor]] = {}


class Node:
    """One recorded op call.

    Attributes:
        edges: for each tensor input, where its gradient goes (None: nowhere).
        shapes: the shapes of the tensor inputs, None where nobody asks for them; of
            an elementwise op, None where they are the same.
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

    def name(self) -> str:
        """Torch's style: `MulBackward0`."""
        return node_name(self)

    def __repr__(self) -> str:
        return f"<{self.op.name} backward>"

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for what users keep of the node."""
        extra = self.more()
        if not hasattr(extra, "metadata"):
            extra.metadata = {}
        return extra.metadata

    def _sequence_nr(self) -> int:
        """The number of the node in the order in which nodes were made."""
        return self.seq

    def __getattr__(self, name: str) -> Any:
        """What the node has kept, and what a custom Function's context has.

        In torch that is the node.
        """
        if name.startswith(("_saved_", "_raw_saved_")):
            return shown[0].value(self, name)
        context = self.attrs.get("ctx") if name != "attrs" else None
        if context is None or name.startswith("__"):
            raise AttributeError(f"{self!r} has no attribute {name!r}")
        return getattr(context, name)

    def __dir__(self) -> list[str]:
        """The attributes, with what was kept."""
        return [*super().__dir__(), *shown[0].names(self)]

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
        "__weakref__", "active", "after", "grad", "hooks", "kind", "lock",
        "metadata_", "tensor",
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

    def name(self) -> str:
        """As torch calls what gathers gradients."""
        return "torch::autograd::AccumulateGrad"

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for what users keep of the node."""
        if not hasattr(self, "metadata_"):
            self.metadata_: dict[Any, Any] = {}
        return self.metadata_

    @property
    def variable(self) -> Tensor | None:
        """The leaf, while it lives."""
        return self.tensor()

    @property
    def next_functions(self) -> tuple[()]:
        """None: gradients end here."""
        return ()


def move_retained(old: Node, at: int, new: Node, to: int) -> None:
    """Who retains the gradient of an output retains that of its new place."""
    retained = old.extra.retained.pop(at, None) if old.extra else None
    if retained is not None:
        new.more().retained[to] = retained


Edge = Node | Output | Leaf | None


def target_of(edge: Edge) -> Any:
    """The node or leaf that an edge leads to."""
    return edge.node if type(edge) is Output else edge


def index_of(edge: Edge) -> int:
    """Which output of its target an edge leads to."""
    return edge.index if type(edge) is Output else 0


def storage_of(tensor: Tensor) -> Storage:
    """The storage of a tensor, made when it is first shared or saved."""
    storage = tensor._storage
    if storage is None:
        own = InferenceStorage if tensor._inference else Storage
        storage = tensor._storage = own(tensor._a)
    found: Storage = storage
    return found


def save(tensor: Tensor, slot: int) -> Saved:
    """Keep a tensor for backward with the version that it has now."""
    storage = tensor._storage
    if storage is None:
        storage = storage_of(tensor)
    return (tensor._a, tensor._kind, storage, storage.to_save, slot)


def moved(node: Node, saved: Any) -> tuple[Any, Any, Any] | None:
    """Array, kind and storage of a kept tensor, whose `.data` may have been set since.

    None where it has been written.
    """
    native, kind, storage, version, slot = saved
    if (storage.version - version) % MOVED:
        return None
    if slot is None or slot >= 0:
        recorded = slot is not None and node.edges[slot] is not None
        for move in getattr(storage, "moves", ()):
            x = move.tensor()
            of_it = move.native is native and move.recorded is recorded
            if x is not None and of_it and version < move.after:
                now = x._storage
                written = (now.version - move.version) % MOVED
                return None if written else (x._a, x._kind, now)
    return native, kind, storage


def refuse_version(saved: Saved, op: str, name: str) -> AutogradError:
    """The error for a kept tensor that has been written since."""
    native, _, storage, version, _ = saved
    return AutogradError(
        f"backward of {op}", f"{name} {tuple(native.shape)}",
        was=f"at version {storage.version % MOVED}: a tensor needed for gradient "
        "computation has been modified by an inplace operation",
        needed=f"version {version % MOVED}",
        remedy=f"use the out-of-place form, or clone() before {op}",
    )  # fmt: skip
