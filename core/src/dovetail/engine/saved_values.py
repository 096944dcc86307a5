"""What a node has kept, by torch's names: `_saved_self`, `_raw_saved_result`.

The names follow from the declaration of the op: what its gradient keeps, of which the
first input is `self` and a single result `result`, and its attributes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.cotangents import edge_again, freed, renewed
from dovetail.engine.saved_hooks import PackedOp, is_packed, packed_by
from dovetail.engine.tape import Leaf, Node, Shown, shown
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import AutogradError

_SAVED: Final = "_saved_"
_RAW: Final = "_raw_saved_"


def names_of(node: Node) -> list[str]:
    """The attributes of a node that are what it has kept."""
    kept = _kept_names(node)
    return [
        *(_SAVED + name for name in kept), *(_RAW + name for name in kept),
        *(_SAVED + name for name in node.attrs if name not in kept),
    ]  # fmt: skip


def saved_value(node: Node, name: str) -> Any:
    """What a node has kept by one of these names.

    Raises:
        AttributeError: there is nothing of that name.
        AutogradError: it was freed, or has been written since.
    """
    raw = name.startswith(_RAW)
    own = name.removeprefix(_RAW if raw else _SAVED)
    kept = _kept_names(node)
    if own in kept:
        value = SavedTensor(node, kept.index(own))
        return value if raw else value.unpack()
    if own in node.attrs and not raw:
        return node.attrs[own]
    known = ", ".join(names_of(node)) or "none"
    raise AttributeError(f"{node!r} has kept no {name!r}; it has {known}")


def _kept_names(node: Node) -> list[str]:
    """What is kept, in the order in which it is."""
    if "ctx" in node.attrs:
        return []  # a custom Function's context has it
    op = node.op
    first = op.tensors[0].name if op.tensors else None
    named = {first: "self"} if first == "input" else {}
    if len(op.outputs) == 1:
        named[op.outputs[0]] = "result"
    return [named.get(name, name) for name in op.vjp_needs]


class SavedTensor:
    """What a node keeps of one tensor.

    Args:
        node: the node.
        at: which of what it keeps.
    """

    def __init__(self, node: Node, at: int) -> None:
        self._node = node
        self._at = at

    def unpack(self) -> Any:
        """The tensor, as backward gets it; several in a tuple, None for none.

        Raises: AutogradError if it was freed, or has been written since.
        """
        kept = self._kept()
        if type(kept) is list:
            return tuple([self._tensor(k) for k in kept])
        return self._tensor(kept)

    def register_hooks(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        """Keep what `pack_hook` gives of the tensor, of which `unpack_hook` makes it.

        Raises: AutogradError if it was freed, has hooks, or is written by the hook.
        """
        node, kept = self._node, self._kept()
        if kept is None or type(kept) is list or kept[2] is None:
            needed = "one tensor that hooks may pack, and have not"
            raise AutogradError("register_hooks", "what is kept", was="none, several, "
                "or has hooks that have already been set", needed=needed)  # fmt: skip
        held = packed_by(pack_hook, unpack_hook, kept, None, node)
        saved = list(node.saved or ())
        saved[self._at] = held
        node.saved = tuple(saved)
        if not is_packed(node.op):
            node.op = PackedOp(node.op)  # type: ignore[assignment]

    def _kept(self) -> Any:
        if self._node.saved is None:
            raise freed(self._node)
        return self._node.saved[self._at] if self._node.saved else None

    def _tensor(self, kept: Any) -> Tensor | None:
        if kept is None:
            return None
        node = self._node
        native, kind, storage, version, slot = kept
        if kind is None:
            unpacked: Tensor = native()
            native, kind = unpacked._a, unpacked._kind
        if storage is not None and storage.version != version:
            native, kind, storage = renewed(node, self._at, kept)
        edge = edge_again(node, slot)
        leaf = edge.tensor() if type(edge) is Leaf else None
        if leaf is not None and leaf._a is native:
            return leaf
        made = wrap(native, kind)
        made._storage, made._node = storage, edge
        return made


shown[:] = [Shown(saved_value, names_of)]
__all__ = ["SavedTensor", "names_of", "saved_value"]
