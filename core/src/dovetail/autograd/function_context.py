"""The context of a `Function`'s call: what forward tells backward."""

from __future__ import annotations

import weakref
from typing import Any

from dovetail.engine.cotangents import edge_again
from dovetail.engine.tape import Node, refuse_version
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, AutogradError


class FunctionCtx:
    """What `forward` keeps for `backward`, and how its results are to be taken.

    Attributes:
        needs_input_grad: for each argument, whether its gradient goes somewhere.
    """

    needs_input_grad: tuple[bool, ...]

    def _begin(self, name: str, needs: tuple[bool, ...]) -> None:
        self._name = name
        self.needs_input_grad = needs
        self._to_save: tuple[Any, ...] = ()
        self._for_forward: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._without: tuple[Tensor, ...] = ()
        self._materializes = True
        self._node: Any = None
        self._layout: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for backward, which has them as `saved_tensors`.

        They are checked: one that was written in place meanwhile is refused.
        """
        self._to_save = self._tensors("save_for_backward", tensors, gaps=True)

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for `jvp`, which has them as `saved_tensors`."""
        self._for_forward = self._tensors("save_for_forward", tensors, gaps=True)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which arguments forward has written in place; it has to return them."""
        self._dirty = self._tensors("mark_dirty", tensors)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient."""
        self._without = self._tensors("mark_non_differentiable", tensors)

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros for results that nothing came back to."""
        self._materializes = bool(value)

    def _tensors(
        self, name: str, values: tuple[Any, ...], gaps: bool = False
    ) -> tuple[Any, ...]:
        for i, x in enumerate(values):
            if not (isinstance(x, Tensor) or (gaps and x is None)):
                raise ArgumentTypeError(
                    f"{name} of {self._name}", f"argument {i}",
                    was=f"a {type(x).__name__}", needed="a Tensor",
                    remedy="keep other values as attributes of ctx",
                )  # fmt: skip
        return values

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was kept, as it was.

        Raises:
            AutogradError: it was freed, or has been written in place.
        """
        if self._layout is None:
            return self._to_save or self._for_forward
        node: Node | None = self._node()
        if node is None or node.saved is None:
            raise AutogradError(
                f"backward of {self._name}", "graph", was="freed: backward was called "
                "a second time", needed="saved tensors",
                remedy="pass retain_graph=True to the first backward",
            )  # fmt: skip
        return tuple([
            None if kept is None else self._again(node, at, kept, edge)
            for at, (kept, edge) in enumerate(
                zip(node.saved, self._layout, strict=True)
            )
        ])  # fmt: skip

    saved_variables = saved_tensors

    def _again(self, node: Node, at: int, kept: Any, edge: Any) -> Tensor:
        native, kind, storage, version, slot = kept
        unpacked: Tensor | None = None
        if kind is None:
            unpacked = native()
            kept = unpacked._a, unpacked._kind, storage, version, slot
            native, kind = kept[:2]
        if storage is not None and storage.version != version:
            raise refuse_version(kept, self._name, f"saved_tensors[{at}]")
        if unpacked is not None and unpacked._in_parts:
            return unpacked
        t = wrap(native, kind)
        t._storage = storage
        t._node = edge if slot is None else edge_again(node, slot)
        return t

    def _keep(self, node: Node, layout: tuple[Any, ...]) -> None:
        """Let the node hold what was kept from now on."""
        self._node = weakref.ref(node)
        self._layout = layout
        self._to_save = self._dirty = self._without = ()
