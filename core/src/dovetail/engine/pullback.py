"""Gradients through one op: its rules, called with what each of them takes.

`pullback(op)` writes a function `pull(node, ct, create)` from the declaration, once an
op, so that nothing is looked up while gradients flow. For `mul` it is

    def pull(node, ct, create):
        saved = node.saved
        if saved is None:
            raise freed(node)
        edges = node.edges
        g0 = g1 = None
        if edges[0] is not None:
            g0 = rule0(ct, kept(node, saved[0], 0, create))
        if edges[1] is not None:
            g1 = rule1(ct, kept(node, saved[1], 1, create))
        ...
        return g0, g1

with `kept` written out. Its result has an entry an edge of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.engine import cotangents
from dovetail.engine.arrival import summed_to
from dovetail.engine.op import Op
from dovetail.engine.tape import Node, storage_of
from dovetail.engine.tensor import Tensor, fresh

Pull = Callable[[Node, Any, bool], Sequence[Any]]

_KEPT: Final = """\
{indent}native, kind, storage, version, slot = saved[{at}]
{indent}if storage is not None and storage.version != version:
{indent}    native, kind, storage = renewed(node, {at})
{indent}{name} = fresh()
{indent}{name}._a = native
{indent}{name}._kind = kind
{indent}{name}._storage = storage
{indent}{name}._node = again(node, slot) if create else None
"""
SUMMED: Final = """\
        if g{i} is not None and g{i}._a.shape != shapes[{i}]:
            g{i} = summed_to(g{i}, tuple(shapes[{i}]))
"""


def pullback(op: Op) -> Pull:
    """The function that takes cotangents of an op's results to those of its inputs."""
    found = op.pull
    if found is None:
        found = op.pull = _general if op.has_list or op.rules is None else _written(op)
    made: Pull = found
    return made


def _written(op: Op) -> Pull:
    """`pull` of an op whose inputs have rules of their own."""
    assert op.rules is not None
    count = len(op.rules)
    lines = [
        "def pull(node, ct, create):\n    saved = node.saved\n"
        "    if saved is None:\n        raise freed(node)\n    edges = node.edges\n"
    ]
    names: dict[str, Any] = {
        "fresh": fresh, "again": cotangents.edge_again,
        "freed": cotangents.freed, "renewed": cotangents.renewed, "shared": storage_of,
        "argument": cotangents.argument, "summed_to": summed_to,
    }  # fmt: skip
    for i, entry in enumerate(op.rules):
        lines.append(f"    g{i} = None\n")
        if entry is None:
            continue
        names[f"rule{i}"] = entry[0]
        lines.append(f"    if edges[{i}] is not None:\n" if count > 1 else "")
        lines.append(_call(op, i, entry[1], " " * (8 if count > 1 else 4)))
    if op.is_elementwise and count > 1:
        lines.append("    shapes = node.shapes\n    if shapes is not None:\n")
        lines += [SUMMED.format(i=i) for i, rule in enumerate(op.rules) if rule]
    if count == 2 and None not in op.rules:
        lines.append("    if g0 is g1 and g0 is not None:\n        shared(g0)\n")
    lines.append(f"    return ({''.join(f'g{i}, ' for i in range(count))})\n")
    place = f"{__file__}: gradient of {op.name}"  # ours, wherever frames are read
    exec(compile("".join(lines), place, "exec"), names)
    made: Pull = names["pull"]
    return made


def _call(op: Op, i: int, sources: Sequence[tuple[str, Any]], indent: str) -> str:
    """The lines that give `g{i}` by its rule."""
    before, args = [], []
    for source, at in sources:
        if source == "saved" and _always_tensor(op, at):
            before.append(_KEPT.format(indent=indent, at=at, name=f"kept{at}"))
            args.append(f"kept{at}")
        elif source == "ct":
            args.append("ct")
        elif source == "attr":
            args.append(f"node.attrs[{at!r}]")
        elif source == "shape":
            args.append(f"tuple(node.shapes[{at}])")
        elif source in ("kind", "dtype"):
            args.append(f"node.kinds[{at}]" + (".dtype" if source == "dtype" else ""))
        else:
            args.append(f"argument(node, {source!r}, {at!r}, create)")
    return "".join(before) + f"{indent}g{i} = rule{i}({', '.join(args)})\n"


def _always_tensor(op: Op, at: int) -> bool:
    """Whether what is kept as number `at` is one tensor where its rule is called."""
    slot, _ = op.save_plan[at]
    return slot < 0 or op.tensors[slot].role == "tensor"


def _general(node: Node, ct: Any, create: bool) -> Sequence[Any]:
    """`pull` of an op with one rule for all inputs, or with lists among them."""
    op, edges = node.op, node.edges
    results = cotangents.cotangents(op, node, ct, create)
    if len(edges) == 1:
        if type(results) is not tuple and type(results) is not list:
            results = (results,)
    elif op.has_list:
        results = _flat(results)
    shapes = node.shapes if op.is_elementwise and len(edges) > 1 else None
    seen: set[int] = set()
    found: list[Tensor | None] = []
    for i, (edge, result) in enumerate(zip(edges, results, strict=False)):
        g = None if edge is None else result
        if g is not None and shapes is not None and g._a.shape != shapes[i]:
            g = summed_to(g, tuple(shapes[i]))
        if g is not None and id(g) in seen:
            storage_of(g)  # others have it too: a leaf must copy it
        seen.add(id(g))
        found.append(g)
    return found


def _flat(results: Any) -> list[Any]:
    flat: list[Any] = []
    for r in results if isinstance(results, tuple | list) else (results,):
        if isinstance(r, list):
            flat += r
        else:
            flat.append(r)
    return flat
