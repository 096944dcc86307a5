"""One pass over the tape: gradients go from node to node, each when it has them all.

Before a pass runs, it counts how many gradients every node and leaf that it will reach
waits for. What has received the last of them is ready. Leaves that are ready gather
their gradient at once, and of the nodes the latest one runs first: torch's order, in
which hooks are called.

A pass that fails leaves what it has done: leaves that were ready before have gathered
their gradients, and nodes that ran have given up what they kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush
from itertools import repeat
from typing import Any

from dovetail.engine import modes
from dovetail.engine.arrival import accumulate, add, hooked, hooked_outputs
from dovetail.engine.autocast import casting, without_casting
from dovetail.engine.basics import basics
from dovetail.engine.pass_counts import LAST, OUTPUT, awaited, place_of
from dovetail.engine.rule_calls import call_announced, call_rule, pull_of, rules_for
from dovetail.engine.scopes import anywhere, here
from dovetail.engine.tape import Edge, Leaf, Node, Output, target_of
from dovetail.engine.tensor import Tensor


class Pass:
    """One pass of gradients, from roots to leaves.

    Args:
        create: record the pass, so that its results can be differentiated.
        retain: leave nodes what they keep, for another pass.
        edges: where the pass starts.

    Attributes:
        captured: what arrived at the places asked for with `capture`.
        more: how many gradients are still to come beside the next one, or `LAST`.
        gathered: what hooks on several tensors have got, by hook; None for nothing.
    """

    __slots__ = (
        "arrived", "captured", "create", "edges", "gathered", "more", "needed",
        "reached", "ready", "retain",
    )  # fmt: skip

    def __init__(self, create: bool, retain: bool | None, edges: list[Edge]) -> None:
        self.create = create and not modes.inference_enabled()
        self.retain = create if retain is None else retain
        self.edges = edges
        self.more = awaited(self)
        self.arrived: dict[Any, Any] = {}
        self.ready: list[tuple[int, Node]] = []
        self.captured: dict[Any, Tensor | None] = {}
        self.needed: set[Any] | None = None
        self.reached: set[Any] | None = None
        self.gathered: dict[Any, Any] | None = None

    def reaches(self, edge: Edge) -> bool:
        """Whether a gradient may arrive at the end of an edge."""
        target = target_of(edge)
        return target in self.more and (self.reached is None or target in self.reached)

    def capture(self, places: Iterable[Edge]) -> None:
        """Run for what arrives at these places, and no further than they take."""
        edges = [e for e in places if e is not None]
        self.captured = {place_of(e): None for e in edges}
        targets = {target_of(e) for e in edges}
        self.needed = self._leading_to(targets)
        self.reached = self.needed | targets | self._roots()

    def restrict(self, places: Iterable[Edge]) -> None:
        """Run what leads to these places and what is there, nothing else."""
        targets = {target_of(e) for e in places if e is not None}
        self.needed = self._leading_to(targets) | targets
        self.reached = self.needed | self._roots()

    def _roots(self) -> set[Any]:
        """Where the pass starts: hooks there are called wherever it goes."""
        return {target_of(e) for e in self.edges if e is not None}

    def _leading_to(self, targets: set[Any]) -> set[Any]:
        """The nodes of the pass from which a path leads to one of `targets`."""
        nodes = [n for n in self.more if type(n) is Node]
        found: set[Any] = set()
        for node in sorted(nodes, key=_sequence):  # what it leads to was made earlier
            for edge in node.edges:
                target = target_of(edge)
                if target in targets or target in found:
                    found.add(node)
                    break
        return found

    def run(self, gradients: Sequence[Tensor]) -> None:
        """Send the gradients of the roots, and run what becomes ready."""
        if anywhere[0] and casting() is not None:
            with without_casting():  # gradients have the dtypes of what was computed
                return self.run(gradients)
        token = modes._grad.set(self.create)
        try:
            edges = self.edges
            if self.needed is None and len(edges) == 1 and type(edges[0]) is Node:
                self._run_all(edges[0], gradients[0])
                return
            for edge, gradient in zip(edges, gradients, strict=True):
                self._send(edge, gradient)
            if self.needed is None:
                self._run_all(None, None)
            else:
                self._run_needed()
        finally:
            modes._grad.reset(token)

    def _run_all(  # noqa: PLR0915  see below
        self, node: Any, ct: Any
    ) -> None:
        """Run every node, first the one given, if one is, with its cotangent.

        Most of a pass is spent here, so most cases are inline.
        """
        ready, arrived, more = self.ready, self.arrived, self.more
        create, frees, nothing = self.create, not self.retain, repeat(None)
        seen = anywhere[0] and here() is not None
        by_rules = rules_for(create) if create or seen else None
        while True:
            if node is None:
                if not ready:
                    return
                node = heappop(ready)[1]
                ct = arrived.pop(node, None)
            results: Any = nothing
            if node.extra is not None:
                ct = self._looked_at(node, ct)
                if ct is not None:
                    results = (by_rules or call_rule)(node, ct, create)
            elif ct is not None:
                bound = by_rules or node.op.bound.get(ct._kind)
                results = (bound or pull_of(node.op, ct._kind))(node, ct, create)
            if frees and ct is not None and node.saved:
                node.saved = None
            after: Any = None
            for edge, g in zip(node.edges, results):  # noqa: B905  it costs 0.1 µs
                if g is None:
                    if edge is not None:
                        self._send(edge, None)
                    continue
                several = more[edge]
                if several:
                    if several == OUTPUT:
                        self._send(edge, g)
                        continue
                    known = arrived.pop(edge, None)
                    if known is not None:
                        g = basics.add(known, g)  # noqa: PLW2901
                    if several > 0:
                        more[edge] = several - 1 or LAST
                        arrived[edge] = g
                        continue
                if type(edge) is Leaf:
                    if edge.hooks:
                        self._gather(edge, g)
                    else:
                        accumulate(edge, g, create)
                elif after is None and not ready:
                    after, ct = edge, g
                else:
                    arrived[edge] = g
                    heappush(ready, (-edge.seq, edge))
            if after is not None and ready:
                arrived[after] = ct
                heappush(ready, (-after.seq, after))
                after = None
            node = after

    def _run_needed(self) -> None:
        """Run the nodes that lead to what is wanted."""
        ready, retain, needed = self.ready, self.retain, self.needed
        assert needed is not None
        while ready:
            node = heappop(ready)[1]
            ct = self._looked_at(node, self.arrived.pop(node, None))
            if node not in needed:
                continue
            results: Any = repeat(None)
            if ct is not None:
                results = call_announced(node, ct, self.create)
                if not retain and node.saved:
                    node.saved = None
            for edge, g in zip(node.edges, results, strict=False):
                self._send(edge, g)

    def _send(self, edge: Edge, ct: Tensor | None) -> None:
        """Add a gradient to what has arrived at an edge; run a leaf with the last."""
        kind = type(edge)
        if kind is Output:
            self._send_output(edge, ct)  # type: ignore[arg-type]
            return
        if edge is None:
            return
        waits = self._waits(edge)
        if self.reached is not None and edge not in self.reached:
            return
        known = self.arrived.pop(edge, None)
        if known is not None:
            ct = known if ct is None else add(known, ct)
        if waits:
            if ct is not None:
                self.arrived[edge] = ct
        elif kind is Leaf:
            self._gather(edge, ct)  # type: ignore[arg-type]
        else:
            if ct is not None:
                self.arrived[edge] = ct
            heappush(self.ready, (-edge.seq, edge))  # type: ignore[union-attr,misc]

    def _waits(self, place: Any) -> bool:
        """Count a gradient that arrived; whether more are to come."""
        several = self.more[place]
        if several > 0:
            self.more[place] = several - 1 or LAST
        return several > 0

    def _send_output(self, edge: Output, ct: Tensor | None) -> None:
        node = edge.node
        waits = self._waits(node)
        if self.reached is not None and node not in self.reached:
            return
        if ct is not None:
            slots = self.arrived.get(node)
            if slots is None:
                slots = self.arrived[node] = [None] * len(node.outputs or ())
            known = slots[edge.index]
            slots[edge.index] = ct if known is None else add(known, ct)
        if not waits:
            heappush(self.ready, (-node.seq, node))

    def _gather(self, leaf: Leaf, ct: Tensor | None) -> None:
        """All of a leaf's gradient has arrived."""
        if ct is None:
            return
        if leaf.hooks:
            ct = hooked(leaf.hooks, ct, self)
        if leaf in self.captured:
            self.captured[leaf] = ct
        if self.needed is None or leaf in self.needed:
            accumulate(leaf, ct, self.create)

    def _looked_at(self, node: Node, ct: Any) -> Any:
        """The node's cotangents after its hooks, as its rule takes them.

        What is captured where the pass goes on is what arrived, before the hooks; the
        hooks come first where it ends. This is what torch does.
        """
        goes_on = self.needed is None or node in self.needed
        if goes_on and self.captured:
            self._take(node, ct)
        extra = node.extra
        if extra is not None and ct is not None:
            ct = hooked_outputs(extra, ct, self)
        if not goes_on:
            self._take(node, ct)
        elif extra is not None and extra.outputs is not None and ct is not None:
            ct = _visible(node, ct)
        return ct

    def _take(self, node: Node, ct: Any) -> None:
        """Keep what arrived at a node for those who asked."""
        if node.outputs is None:
            if node in self.captured:
                self.captured[node] = ct
            return
        for i in range(len(node.outputs)):
            if (node, i) in self.captured and ct is not None:
                self.captured[node, i] = ct[i]


def _sequence(node: Node) -> int:
    return node.seq


def _visible(node: Node, slots: list[Tensor | None]) -> Any:
    """The cotangents of the outputs that have gradients, as a vjp takes them."""
    outputs = node.outputs or ()
    visible = len(slots) - node.op.residuals
    if visible == 1:
        return slots[0]
    cts = tuple([slots[i] for i in range(visible) if outputs[i][1].dtype.category >= 2])
    return cts[0] if len(cts) == 1 else cts
