"""Backward and grad: what is differentiated, with respect to what, and hooks."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.arrival import Hook
from dovetail.engine.backward_pass import Pass
from dovetail.engine.basics import basics
from dovetail.engine.kinds import Kind
from dovetail.engine.node_hooks import put_before_node_hooks
from dovetail.engine.pass_counts import place_of
from dovetail.engine.scopes import anywhere, here, tell, watched
from dovetail.engine.tape import Edge, Leaf, Node, Output, storage_of
from dovetail.engine.tape_of_views import edge_of, flowing
from dovetail.engine.tensor import Tensor, fresh
from dovetail.engine.writable import overlaps_itself
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DTypeError,
    ShapeError,
)


def backward(
    tensors: Sequence[Tensor],
    gradients: Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves (or `inputs`).

    A leaf gathers its gradient, and its hooks are called, as soon as the last part of
    it has arrived. Where the pass fails, leaves that were ready before keep theirs.

    Raises:
        AutogradError: a tensor is not differentiable, not a scalar without a
            gradient given, or its graph was freed.
    """
    roots, seeds = _seeds(tensors, gradients)
    run = Pass(create_graph, retain_graph, roots)
    if inputs is not None:
        _check_inputs("backward", inputs)
        for x in inputs:
            retain_grad(x)
        run.restrict([flowing(edge_of(x._node)) for x in inputs])
    if anywhere[0] and here() is not None:
        _run_told(run, seeds)
    else:
        run.run(seeds)


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
    roots, seeds = _seeds(outputs, grad_outputs)
    _check_inputs("grad", inputs)
    run = Pass(create_graph, retain_graph, roots)
    wanted = [flowing(edge_of(x._node)) for x in inputs]
    run.capture(wanted)
    if anywhere[0] and here() is not None:
        _run_told(run, seeds)
    else:
        run.run(seeds)
    captured = _apart(run.captured, grad_outputs or ())
    found = tuple([captured.get(place_of(edge)) for edge in wanted])
    for i, gradient in enumerate(found):
        if gradient is None and not allow_unused:
            raise AutogradError(
                "grad", f"inputs[{i}]", was="not used in the graph of the outputs",
                needed="a tensor that the outputs depend on",
                remedy="pass allow_unused=True to get None for it",
            )  # fmt: skip
    return found


def _run_told(run: Pass, seeds: list[Tensor]) -> None:
    """Run a pass, which recorders hear of as `backward` and `backward end`."""
    tell("backward", run)
    try:
        run.run(seeds)
    finally:
        tell("backward end", run)


def tensors_of(op: str, name: str, value: Any, gaps: bool = False) -> tuple[Any, ...]:
    """The tensors that a caller names: one, or several in order.

    Args:
        gaps: None may stand for one.

    Raises:
        ArgumentTypeError: there is something else.
    """
    if isinstance(value, Tensor):
        return (value,)
    try:
        found = tuple(value)
    except TypeError:
        found = (value,)
    for i, x in enumerate(found):
        if not isinstance(x, Tensor) and not (gaps and x is None):
            raise ArgumentTypeError(
                op, f"{name}[{i}]", was=f"a {type(x).__name__}", needed="a Tensor",
                remedy="give one, or several in a list",
            )  # fmt: skip
    return found


def _apart(
    captured: dict[Any, Tensor | None], given: Sequence[Tensor | None]
) -> dict[Any, Tensor | None]:
    """Gradients that can be written: none changes another, nor what the caller gave.

    Those that would, and expanded ones, are copied: views before what they are views
    of, so that they still depend on it where the pass is recorded.
    """
    storages = {id(g._storage) for g in given if g is not None}
    natives: set[int] = set()
    found = {}
    for place, gradient in sorted(captured.items(), key=_is_of_view):
        if gradient is not None:
            storage = gradient._storage
            shared = storage is not None and id(storage) in storages
            if shared or id(gradient._a) in natives or _overlaps(gradient):
                gradient = basics.clone(gradient)  # noqa: PLW2901
            elif storage is not None:
                storages.add(id(storage))
            natives.add(id(gradient._a))
        found[place] = gradient
    return found


def _is_of_view(item: tuple[Any, Tensor | None]) -> bool:
    return item[1] is not None and item[1]._is_view()


def _overlaps(gradient: Tensor) -> bool:
    return gradient._storage is not None and overlaps_itself(gradient)


def _check_inputs(name: str, inputs: Sequence[Tensor]) -> None:
    if not inputs:
        raise AutogradError(
            name, "inputs", was="empty", needed="at least one tensor",
            remedy="leave it out to reach all leaves" if name == "backward" else None,
        )  # fmt: skip
    for i, x in enumerate(inputs):
        if not x.requires_grad:
            raise AutogradError(
                name, f"inputs[{i}]", was="a tensor that does not require gradients",
                needed="one that does", remedy="call requires_grad_() before using it",
            )  # fmt: skip


def _seeds(
    tensors: Sequence[Tensor], gradients: Sequence[Tensor | None] | None
) -> tuple[list[Edge], list[Tensor]]:
    """Where a pass starts, and with what: the gradients given, else ones."""
    if gradients is None:
        gradients = [None] * len(tensors)
    elif len(gradients) != len(tensors):
        raise ArgumentError(
            "backward", "gradients", was=f"{len(gradients)} of them",
            needed=f"one for each of {len(tensors)} tensors",
        )  # fmt: skip
    edges, seeds = [], []
    for t, given in zip(tensors, gradients):  # noqa: B905  it costs 0.1 µs
        edge = t._node
        if type(edge) is not Node:
            edge = flowing(edge_of(edge))
        edges.append(edge)
        seeds.append(_seed(t, edge, given))
    return edges, seeds


def _seed(t: Tensor, edge: Edge, gradient: Tensor | None) -> Tensor:
    if edge is None:
        raise AutogradError(
            "backward", "tensor", was="a tensor that does not require grad and does "
            "not have a grad_fn", needed="one that depends on a leaf with "
            "requires_grad=True",
        )  # fmt: skip
    if gradient is None:
        shape = t._a.shape
        if shape and math.prod(shape) != 1:
            shape = tuple(shape)
            raise AutogradError(
                "backward", "gradient", was=f"missing for a tensor of shape {shape}",
                needed="grad can be implicitly created only for scalar outputs",
                remedy="reduce to a scalar, e.g. .sum(), or pass gradient=",
            )  # fmt: skip
        if t._kind.dtype.is_complex:
            raise AutogradError(
                "backward", "gradient", was=f"missing for a {t._kind.dtype.name} "
                "tensor", needed="grad can be implicitly created only for real scalar "
                "outputs", remedy="pass gradient=, or differentiate a real number",
            )  # fmt: skip
        return ones(t._kind, tuple(shape))
    if tuple(gradient._a.shape) != tuple(t._a.shape):
        raise ShapeError(
            "backward", "gradient", was=f"of shape {tuple(gradient._a.shape)}",
            needed=f"{tuple(t._a.shape)}, the shape of the tensor",
        )  # fmt: skip
    given, own = gradient._kind.dtype, t._kind.dtype
    if given.is_complex != own.is_complex:
        raise DTypeError(
            "backward", "gradient", was=given.name,
            needed=f"{own.name}, as the tensor is, where one is complex",
        )  # fmt: skip
    if given is not own and not gradient._in_parts:
        return basics.cast(gradient, own)  # type: ignore[no-any-return]
    storage_of(gradient)  # it is the caller's: leaves copy it
    return gradient


def ones(kind: Kind, shape: tuple[int, ...]) -> Tensor:
    """A fresh tensor of ones."""
    if anywhere[0] and here() is not None and watched():
        full: Tensor = basics.full(shape, 1, kind)
        return full
    backend = kind.backend
    made = fresh()
    made._a = native = backend.empty(shape, kind.dtype, kind.index)
    backend.fill(native, 1)
    made._kind = kind
    made._node = made._storage = None
    return made


def _place(tensor: Tensor, name: str) -> tuple[Leaf | Node, int]:
    """The leaf or node of a tensor, and which of its outputs it is."""
    edge = edge_of(tensor._node)
    if edge is None:
        raise AutogradError(
            name, "tensor", was="one that does not require gradients",
            needed="a tensor that does",
        )  # fmt: skip
    return (edge.node, edge.index) if type(edge) is Output else (edge, 0)  # type: ignore[return-value]


def register_hook(tensor: Tensor, hook: Hook) -> Callable[[], None]:
    """Call `hook(gradient)` when the gradient of a tensor is computed.

    Returns:
        A function that removes the hook.
    """
    at, index = _place(tensor, "register_hook")
    if tensor.is_leaf and type(at) is not Leaf:
        return lambda: None  # a view of no_grad's, in which no gradient arrives
    if type(at) is Leaf:
        hooks = at.hooks
    else:
        assert isinstance(at, Node)
        hooks = at.more().hooks.setdefault(index, [])
    put_before_node_hooks(hooks, hook)
    return lambda: hooks.remove(hook) if hook in hooks else None


def retain_grad(tensor: Tensor) -> None:
    """Keep the gradient of a tensor that is no leaf in its `.grad`.

    It is that of its last value: when the tensor is written in place, its new place
    on the tape takes over.
    """
    at, index = _place(tensor, "retain_grad")
    if isinstance(at, Node) and not tensor.is_leaf:
        at.more().retained[index] = weakref.ref(tensor)
        tensor.__dict__["_retains"] = True
        if anywhere[0]:
            tell("retain_grad", tensor)


__all__ = ["backward", "grad", "register_hook", "retain_grad"]
