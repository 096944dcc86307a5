"""The context of a `Function`'s call: what forward tells backward."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

from dovetail.engine.cotangents import edge_again
from dovetail.engine.tape import Node, moved, refuse_version
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentTypeError, AutogradError, DovetailError


class FunctionCtx:
    """What `forward` keeps for `backward`, and how its results are to be taken.

    Attributes:
        needs_input_grad: for each argument, whether it requires gradients.
        clear_saved_tensors_on_access: whether what was kept is given to backward once,
            and freed then; a subclass says so.
    """

    needs_input_grad: tuple[bool, ...]
    clear_saved_tensors_on_access: ClassVar[bool] = False

    def _begin(self, name: str, needs: tuple[bool, ...]) -> None:
        self._name = name
        self.needs_input_grad = needs
        self._to_save: tuple[Any, ...] = ()
        self._for_forward: tuple[Any, ...] = ()
        self._dirty: tuple[Tensor, ...] = ()
        self._without: tuple[Tensor, ...] = ()
        self._materializes = True
        self._cleared = False
        self._node: Any = None
        self._layout: tuple[Any, ...] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for backward, which has them as `saved_tensors`.

        They are checked: one that was written in place meanwhile is refused.
        """
        self._to_save = self._tensors("save_for_backward", tensors)

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for `jvp`, which has them as `saved_tensors`."""
        self._for_forward = self._tensors("save_for_forward", tensors)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which arguments forward has written in place; it has to return them."""
        self._dirty = self._tensors("mark_dirty", tensors, AutogradError)

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which results have no gradient."""
        named = "mark_non_differentiable"
        self._without = self._tensors(named, tensors, AutogradError)

    def set_materialize_grads(self, value: bool) -> None:
        """Say whether backward gets zeros for results that nothing came back to."""
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                f"set_materialize_grads of {self._name}", "value", was=repr(value),
                needed="True or False",
            )  # fmt: skip
        self._materializes = value

    def _tensors(
        self, name: str, values: tuple[Any, ...],
        error: type[DovetailError] = ArgumentTypeError,
    ) -> tuple[Any, ...]:  # fmt: skip
        """The values, if they are tensors; where they are kept, None may stand too."""
        gaps = error is ArgumentTypeError
        for i, x in enumerate(values):
            if not (isinstance(x, Tensor) or (gaps and x is None)):
                raise error(
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
        if self._cleared:
            raise AutogradError(
                f"backward of {self._name}", "saved_tensors", was="asked for again: it "
                "can only be accessed once when clear_saved_tensors_on_access=True",
                needed="one access", remedy="keep what it gave in a variable",
            )  # fmt: skip
        if node is None or node.saved is None:
            raise AutogradError(
                f"backward of {self._name}", "graph", was="freed: backward was called "
                "a second time", needed="saved tensors",
                remedy="pass retain_graph=True to the first backward",
            )  # fmt: skip
        found = tuple([
            None if kept is None else self._again(node, at, kept, edge)
            for at, (kept, edge) in enumerate(
                zip(node.saved, self._layout, strict=True)
            )
        ])  # fmt: skip
        if self.clear_saved_tensors_on_access:
            self._cleared, node.saved = True, ()
        return found

    saved_variables = saved_tensors

    def _again(self, node: Node, at: int, kept: Any, edge: Any) -> Tensor:
        native, kind, storage, version, slot = kept
        unpacked: Tensor | None = None
        if kind is None:
            unpacked = native()
            kept = unpacked._a, unpacked._kind, storage, version, slot
            native, kind = kept[:2]
        if storage is not None and storage.version != version:
            found = moved(node, kept)
            if found is None:
                raise refuse_version(kept, self._name, f"saved_tensors[{at}]")
            native, kind, storage = found
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
