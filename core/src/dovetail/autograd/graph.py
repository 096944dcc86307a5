"""The graph itself: what it keeps, its edges, and hooks on several tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from dovetail.engine.arrival import PassHook
from dovetail.engine.autograd import register_hook
from dovetail.engine.backward_pass import Pass
from dovetail.engine.gradient_edges import GradientEdge, get_gradient_edge
from dovetail.engine.saved_hooks import (
    Hooks,
    Packing,
    open_hooks,
    refused,
    set_hooks,
)
from dovetail.engine.scopes import record
from dovetail.engine.tape import Node, storage_of
from dovetail.engine.tape_of_views import edge_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, AutogradError
from dovetail.tensor_api.hook_handle import HandleOf, RemovableHandle


class saved_tensors_hooks:
    """Context manager in which what backward needs is packed as it is kept.

    Args:
        pack_hook: gets a tensor that is kept, and gives what is kept instead.
        unpack_hook: gets that when backward needs it, and gives the tensor.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(
        ...     lambda x: x.numpy(), torch.tensor
        ... ):
        ...     y = x * x
        >>> y.backward()
        >>> x.grad
        tensor(6.)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook
        self._scope: AbstractContextManager[None] = record(Packing())

    def __enter__(self) -> None:
        message = refused.get()
        if message is not None:
            raise AutogradError("saved_tensors_hooks", message)
        self._before = open_hooks()
        self._scope = record(Packing())
        self._scope.__enter__()
        set_hooks((*self._before, Hooks(self.pack_hook, self.unpack_hook)))

    def __exit__(self, *error: Any) -> None:
        set_hooks(self._before)
        self._scope.__exit__(*error)


class save_on_cpu(saved_tensors_hooks):
    """Context manager in which what backward needs is kept in the CPU's memory.

    Args:
        pin_memory: for torch's sake; memory of the CPU is not pinned.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(
            lambda x: (x.device, x.cpu().clone()), lambda kept: kept[1].to(kept[0])
        )


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Let `saved_tensors_hooks` raise an error with this message meanwhile."""
    if open_hooks():
        raise AutogradError("disable_saved_tensors_hooks", error_message)
    token = refused.set(error_message)
    try:
        yield
    finally:
        refused.reset(token)


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Let tensors be written that backward needs: it has copies of them."""
    with saved_tensors_hooks(lambda x: x.clone(), lambda kept: kept):
        yield


def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Count a write that was made behind the graph's back."""
    for x in (tensor,) if isinstance(tensor, Tensor) else tensor:
        storage_of(x).version += 1


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., Any], *, mode: str = "all"
) -> RemovableHandle:
    """Call `fn` when the gradients of several tensors are there.

    Args:
        fn: gets, with mode "all", a list of the gradients, None for those that a pass
            does not reach, once a pass; with mode "any", the first one of a pass.

    Raises: AutogradError for a tensor that requires no gradients.
    """
    if mode not in ("all", "any"):
        raise ArgumentError(
            "register_multi_grad_hook", "mode", was=repr(mode), needed='"all" or "any"'
        )
    edges = [edge_of(x._node) for x in tensors]
    for i, edge in enumerate(edges):
        if edge is None:
            raise AutogradError(
                "register_multi_grad_hook", f"tensors[{i}]", was="one that does not "
                "require gradients", needed="a tensor that does",
            )  # fmt: skip
    waits = _Waits(edges, fn, mode)
    removes = [register_hook(x, waits.hook(i)) for i, x in enumerate(tensors)]
    return HandleOf(lambda: _each(removes))


def _each(functions: Sequence[Callable[[], None]]) -> None:
    for function in functions:
        function()


class _Waits:
    """Gathers the gradients of each pass, and calls a function when all are there."""

    def __init__(self, edges: list[Any], fn: Callable[..., Any], mode: str) -> None:
        self.edges = edges
        self.fn = fn
        self.mode = mode

    def hook(self, at: int) -> PassHook:
        """The hook of a tensor."""
        return PassHook(lambda run, gradient: self._arrived(at, run, gradient))

    def _arrived(self, at: int, run: Pass, gradient: Tensor) -> None:
        if run.gathered is None:
            run.gathered = {}
        found = run.gathered.setdefault(self, {})
        first = not found
        found[at] = gradient
        if self.mode == "any":
            if first:
                self.fn(gradient)
        elif len(found) == sum(map(run.reaches, self.edges)):
            self.fn([found.get(i) for i in range(len(self.edges))])


__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks", "get_gradient_edge", "increment_version",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
]  # fmt: skip
