"""The engine: runs the tape backwards, from the latest node to the earliest.

Nodes are numbered as they are made, so a heap on that number is a topological order:
when a node is taken, everything that used its results has run.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine import modes
from dovetail.engine.cotangents import cotangents
from dovetail.engine.op import vocabulary
from dovetail.engine.tape import Edge, Leaf, Node, Output, edge_of, storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, AutogradError, ShapeError

Hook = Callable[[Tensor], "Tensor | None"]


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves (or `inputs`).

    Raises:
        AutogradError: a tensor is not differentiable, not a scalar without a
            gradient given, or its graph was freed.
    """
    run = _Run(create_graph, retain_graph, inputs)
    run.seed(tensors, gradients)
    run.go()
    added: list[tuple[Leaf, Tensor | None, Tensor]] = []
    try:
        for leaf, gradient in run.leaves.values():
            _accumulate(leaf, gradient, create_graph, added)
        _keep_captured(run, inputs or ())
    except BaseException:
        _take_back(added)
        raise


def _keep_captured(run: _Run, inputs: Sequence[Tensor]) -> None:
    """Add the gradients of inputs that are no leaves to their `.grad`: all or none."""
    new = []
    for x, edge in zip(inputs, run.wanted, strict=True):
        if type(edge) is not Leaf and edge is not None:
            found = run.captured.get(_key(edge))
            if found is not None:
                new.append((x, found if x.grad is None else _add(x.grad, found)))
    for x, gradient in new:
        x.grad = gradient


def _take_back(added: list[tuple[Leaf, Tensor | None, Tensor]]) -> None:
    """Give leaves the gradients from before a failure, where nobody changed them."""
    for leaf, before, after in added:
        with leaf.lock:
            if leaf.grad is after:
                leaf.grad = before


def grad(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    grad_outputs: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of `outputs` with respect to `inputs`.

    Raises:
        AutogradError: an input does not require gradients, or is not part of the
            graph while `allow_unused` is false.
    """
    for i, x in enumerate(inputs):
        if not x.requires_grad:
            raise AutogradError(
                "grad", f"inputs[{i}]", was="a tensor that does not require gradients",
                needed="one that does", remedy="call requires_grad_() before using it",
            )  # fmt: skip
    run = _Run(create_graph, retain_graph, inputs)
    run.seed(outputs, grad_outputs)
    run.go()
    found = []
    for i, edge in enumerate(run.wanted):
        gradient = run.captured.get(_key(edge))
        if gradient is None and not allow_unused:
            raise AutogradError(
                "grad", f"inputs[{i}]", was="not used in the graph of the outputs",
                needed="a tensor that the outputs depend on",
                remedy="pass allow_unused=True to get None for it",
            )  # fmt: skip
        found.append(gradient)
    return tuple(found)


def _key(edge: Edge) -> Any:
    """Identity of a place that gradients arrive at."""
    return (edge.node, edge.index) if type(edge) is Output else edge


class _Run:
    """One pass of the engine."""

    def __init__(
        self, create: bool, retain: bool | None, inputs: Sequence[Tensor] | None
    ) -> None:
        self.create = create
        self.retain = create if retain is None else retain
        self.heap: list[tuple[int, Node]] = []
        self.single: dict[Node, Tensor] = {}
        self.multi: dict[Node, list[Tensor | None]] = {}
        self.leaves: dict[int, tuple[Leaf, Tensor]] = {}
        self.wanted: list[Edge] = [edge_of(x._node) for x in inputs or ()]
        self.captured: dict[Any, Tensor] = {}
        self.keys = {_key(e) for e in self.wanted if e is not None}
        self.restricted = inputs is not None
        self.useful: set[Node] | None = None

    def seed(
        self, tensors: Sequence[Tensor], gradients: Sequence[Tensor | None] | None
    ) -> None:
        """Start from the cotangents of `tensors`: those given, else ones."""
        given = gradients if gradients is not None else [None] * len(tensors)
        if len(given) != len(tensors):
            raise ArgumentError(
                "backward", "gradients", was=f"{len(given)} of them",
                needed=f"one for each of {len(tensors)} tensors",
            )  # fmt: skip
        edges, seeds = [], []
        for t, g in zip(tensors, given, strict=True):
            edge = edge_of(t._node)
            edges.append(edge)
            seeds.append(_seed(t, edge, g))
        if self.restricted:
            self.useful = _useful(edges, self.keys)
        for edge, ct in zip(edges, seeds, strict=True):
            self.send(edge, ct)

    def send(self, edge: Edge, ct: Tensor) -> None:
        """Add a cotangent to what has arrived at an edge."""
        kind = type(edge)
        if kind is Node:
            known = self.single.get(edge)  # type: ignore[arg-type]
            if known is None:
                self.single[edge] = ct  # type: ignore[index]
                heapq.heappush(self.heap, (-edge.seq, edge))  # type: ignore[union-attr,misc]
            else:
                self.single[edge] = _add(known, ct)  # type: ignore[index]
        elif kind is Leaf:
            self._send_leaf(edge, ct)  # type: ignore[arg-type]
        elif kind is Output:
            self._send_output(edge, ct)  # type: ignore[arg-type]

    def _send_leaf(self, leaf: Leaf, ct: Tensor) -> None:
        if self.restricted:
            if leaf not in self.keys:
                return
            known = self.captured.get(leaf)
            self.captured[leaf] = ct if known is None else _add(known, ct)
        entry = self.leaves.get(id(leaf))
        self.leaves[id(leaf)] = (leaf, ct if entry is None else _add(entry[1], ct))

    def _send_output(self, edge: Output, ct: Tensor) -> None:
        node = edge.node
        slots = self.multi.get(node)
        if slots is None:
            assert node.outputs is not None
            slots = self.multi[node] = [None] * len(node.outputs)
            heapq.heappush(self.heap, (-node.seq, node))
        known = slots[edge.index]
        slots[edge.index] = ct if known is None else _add(known, ct)

    def go(self) -> None:
        """Run nodes until none is left."""
        token = modes._grad.set(self.create)
        try:
            heap, single, pop = self.heap, self.single, heapq.heappop
            plain = not self.restricted
            while heap:
                node = pop(heap)[1]
                extra = node.extra
                if plain and extra is None:
                    self._differentiate(node, single.pop(node))
                elif extra is None or extra.outputs is None:
                    self._one(node, single.pop(node))
                else:
                    self._several(node, self.multi.pop(node))
        finally:
            modes._grad.reset(token)

    def _one(self, node: Node, ct: Tensor) -> None:
        if node.extra is not None and node.extra.hooks:
            ct = _hooked(node.extra.hooks.get(0, ()), ct)
        if self.keys and node in self.keys:
            self.captured[node] = ct
        if self.useful is None or node in self.useful:
            self._differentiate(node, ct)

    def _several(self, node: Node, slots: list[Tensor | None]) -> None:
        hooks = node.more().hooks
        for i, given in enumerate(slots):
            if given is None:
                continue
            ct = _hooked(hooks.get(i, ()), given) if hooks else given
            slots[i] = ct
            if (node, i) in self.keys:
                self.captured[node, i] = ct
        if self.useful is not None and node not in self.useful:
            return
        outputs = node.outputs or ()
        visible = len(slots) - node.op.residuals
        wanted = [i for i in range(visible) if outputs[i][1].dtype.category >= 2]
        cts = tuple(slots[i] for i in wanted)
        self._differentiate(node, cts[0] if len(cts) == 1 else cts)

    def _differentiate(self, node: Node, ct: Any) -> None:
        """Send the cotangents of a node's inputs on."""
        op, edges = node.op, node.edges
        results = cotangents(op, node, ct, self.create)
        if not self.retain and op.vjp_needs:
            node.saved = None
        if len(edges) == 1:
            if type(results) is not tuple and type(results) is not list:
                results = (results,)
        elif op.has_list:
            results = _flat(results)
        shapes = node.shapes if op.is_elementwise and len(edges) > 1 else None
        single = self.single
        for i, edge in enumerate(edges):
            if edge is None:
                continue
            g = results[i]
            if g is None:
                continue
            if shapes is not None and g._a.shape != shapes[i]:
                g = vocabulary["sum_to"].function(g, tuple(shapes[i]))
            if type(edge) is Node and edge not in single:
                single[edge] = g
                heapq.heappush(self.heap, (-edge.seq, edge))
            else:
                self.send(edge, g)


def _flat(results: Any) -> list[Any]:
    flat: list[Any] = []
    for r in results if isinstance(results, tuple) else (results,):
        if isinstance(r, list):
            flat += r
        else:
            flat.append(r)
    return flat


def _seed(t: Tensor, edge: Edge, gradient: Tensor | None) -> Tensor:
    if edge is None:
        raise AutogradError(
            "backward", "tensor", was="a tensor that does not require grad and has no "
            "grad_fn", needed="one that depends on a leaf with requires_grad=True",
        )  # fmt: skip
    if gradient is None:
        shape = tuple(t._a.shape)
        if not shape:
            return _shared(wrap(t._kind.scalars[int][1], t._kind))
        if any(size != 1 for size in shape):
            raise AutogradError(
                "backward", "gradient", was=f"missing for a tensor of shape {shape}",
                needed="grad can be implicitly created only for scalar outputs",
                remedy="reduce to a scalar, e.g. .sum(), or pass gradient=",
            )  # fmt: skip
        return ones_like(t)
    if tuple(gradient._a.shape) != tuple(t._a.shape):
        raise ShapeError(
            "backward", "gradient", was=f"of shape {tuple(gradient._a.shape)}",
            needed=f"{tuple(t._a.shape)}, the shape of the tensor",
        )  # fmt: skip
    return _shared(gradient)


def _shared(gradient: Tensor) -> Tensor:
    """Mark a gradient as held by somebody else, so that leaves copy it."""
    storage_of(gradient)
    return gradient


def ones_like(t: Tensor) -> Tensor:
    """A fresh tensor of ones of the same shape and kind."""
    kind = t._kind
    native = kind.backend.empty(tuple(t._a.shape), kind.dtype, kind.index)
    kind.backend.fill(native, 1)
    return wrap(native, kind)


def _useful(edges: Sequence[Edge], keys: set[Any]) -> set[Node]:
    """The nodes on a path to one of the wanted places (without recursion)."""
    useful: set[Node] = set()
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(n, False) for n in map(_node_of, edges) if n]
    while stack:
        node, done = stack.pop()
        if done:
            if any(_key(e) in keys or _node_of(e) in useful for e in node.edges):
                useful.add(node)
            continue
        if node in seen:
            continue
        seen.add(node)
        stack.append((node, True))
        stack += [(n, False) for n in map(_node_of, node.edges) if n and n not in seen]
    return useful


def _node_of(edge: Edge) -> Node | None:
    if type(edge) is Output:
        return edge.node
    return edge if type(edge) is Node else None


def _hooked(hooks: Sequence[Hook], ct: Tensor) -> Tensor:
    for hook in list(hooks):
        changed = hook(ct)
        if changed is not None:
            ct = changed
    return _shared(ct) if hooks else ct


def _add(a: Tensor, b: Tensor) -> Tensor:
    total: Tensor = vocabulary["add"].function(a, b)
    return total


def _accumulate(
    leaf: Leaf, gradient: Tensor, create: bool,
    added: list[tuple[Leaf, Tensor | None, Tensor]],
) -> None:  # fmt: skip
    """Add a gradient to a leaf's, in the leaf's own dtype and device."""
    token = modes._grad.set(create)
    try:
        if leaf.hooks:
            gradient = _hooked(leaf.hooks, gradient)
        if gradient._kind is not leaf.kind:
            gradient = vocabulary["cast"].function(gradient, leaf.kind.dtype)
        with leaf.lock:
            before = leaf.grad
            if before is None:
                leaf.grad = gradient if create else _owned(gradient)
            else:
                leaf.grad = _add(before, gradient)
            added.append((leaf, before, leaf.grad))
    finally:
        modes._grad.reset(token)
    if leaf.after:
        tensor = leaf.tensor()
        if tensor is not None:
            for hook in list(leaf.after):
                hook(tensor)


def _owned(gradient: Tensor) -> Tensor:
    """A gradient that nobody else writes: views and shared memory are copied.

    What a leaf takes over gets its storage here, so that the next leaf copies it.
    """
    if gradient._storage is None and gradient._node is None:
        return _shared(gradient)
    copied: Tensor = vocabulary["clone"].function(gradient)
    return copied


def register_hook(tensor: Tensor, hook: Hook) -> Callable[[], None]:
    """Call `hook(gradient)` when the gradient of a tensor is computed.

    Returns:
        A function that removes the hook.
    """
    edge = edge_of(tensor._node)
    if edge is None:
        raise AutogradError(
            "register_hook", "tensor", was="one that does not require gradients",
            needed="a tensor that does",
        )  # fmt: skip
    if type(edge) is Leaf:
        hooks = edge.hooks
    else:
        node, index = (edge.node, edge.index) if type(edge) is Output else (edge, 0)
        assert isinstance(node, Node)
        hooks = node.more().hooks.setdefault(index, [])
    hooks.append(hook)
    return lambda: hooks.remove(hook) if hook in hooks else None


__all__ = ["backward", "grad", "register_hook"]
