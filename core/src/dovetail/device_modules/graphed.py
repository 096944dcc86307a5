"""Functions and modules whose forward and backward are one graph each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.autograd import Function, grad
from dovetail.autograd.function import once_differentiable
from dovetail.device_modules.work import Work
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.nn import Module
from dovetail.tensor_api.graphs import Graph, graph
from dovetail.tensor_api.streams import Stream

_NAME = "make_graphed_callables"


class Recorded:
    """A function as two graphs: of its results, and of gradients of what they need.

    Args:
        new: makes an empty graph.
        call: the function, of tensors alone.
        inputs: those that it is recorded with, and that later ones are copied into.
        params: what else it depends on.
        unused: whether gradients may not depend on some input.
    """

    def __init__(
        self, new: Callable[[], Graph], call: Callable[..., Any],
        inputs: Sequence[Tensor], params: Sequence[Tensor], unused: bool,
    ) -> None:  # fmt: skip
        self.inputs, self.params = tuple(inputs), tuple(params)
        self.forward, self.backward = new(), new()
        with graph(self.forward):
            found = call(*self.inputs)
        self.single = isinstance(found, Tensor)
        self.results = (found,) if self.single else tuple(found)
        self._unused = unused
        self.slopes: tuple[Tensor | None, ...] = ()
        self.gradients: list[Tensor | None] = []

    def record_backward(self) -> None:
        """Record the gradients; in the reverse order of the functions."""
        needed = [r for r in self.results if r.requires_grad]
        surface = (*self.inputs, *self.params)
        wanted = [x for x in surface if x.requires_grad]
        self.slopes = tuple(
            ft.empty_like(r) if r.requires_grad else None for r in self.results
        )
        found: list[Tensor | None] = []
        if needed:
            given = [s for s in self.slopes if s is not None]
            with graph(self.backward):
                found += grad(needed, wanted, given, allow_unused=self._unused)
        left = iter(found)
        self.gradients = [
            next(left) if x.requires_grad and needed else None for x in surface
        ]

    def run(self, *given: Tensor) -> Any:
        """What the function gives of other inputs."""
        if len(given) != len(self.inputs):
            raise ArgumentError(
                _NAME, "args", was=f"{len(given)} tensors",
                needed=f"{len(self.inputs)}, as the sample",
            )  # fmt: skip
        found = _Replayed.apply(self, *given, *self.params)
        return found[0] if self.single else found


class _Replayed(Function):
    """Both graphs, as one node of the tape."""

    @staticmethod
    def forward(ctx: Any, recorded: Recorded, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Copy the inputs where they are read, and replay."""
        ctx.recorded = recorded
        for own, given in zip(recorded.inputs, inputs, strict=False):
            if own is not given:
                own.detach().copy_(given)
        recorded.forward.replay()
        return tuple(r.detach() for r in recorded.results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Any, ...]:
        """Copy the slopes where they are read, and replay."""
        recorded: Recorded = ctx.recorded
        for own, given in zip(recorded.slopes, slopes, strict=True):
            if own is not None:
                own.copy_(given)
        recorded.backward.replay()
        return None, *(g if g is None else g.detach() for g in recorded.gradients)


class Graphed(Work):
    """Names of graphs of whole functions."""

    def make_graphed_callables(
        self, callables: Any, sample_args: Any, num_warmup_iters: int = 3,
        allow_unused_input: bool = False, pool: Any = None,
    ) -> Any:  # fmt: skip
        """Functions or modules whose forward and backward are replayed as graphs.

        Args:
            callables: one, or a tuple of them, called in this order.
            sample_args: a tuple of tensors, or one for each; later arguments have
                their shapes, dtypes and `requires_grad`.
            num_warmup_iters: calls before it is recorded, which fill caches.
            allow_unused_input: whether some inputs may have no gradient.
            pool: taken as torch takes it, and without effect.

        Returns: the same modules, in whose present mode `forward` replays; for
            functions, others that replay. Double backward is refused.
        """
        several = isinstance(callables, tuple)
        all_calls = callables if several else (callables,)
        all_args = sample_args if several else (sample_args,)
        made: list[Recorded] = []
        for call, args in zip(all_calls, all_args, strict=True):
            params = _checked(call, args)
            self._warm_up(call, args, num_warmup_iters)
            made.append(
                Recorded(self._new_graph, call, args, params, allow_unused_input)
            )
        for recorded in reversed(made):
            recorded.record_backward()
        found = tuple(map(_replaced, all_calls, made))
        return found if several else found[0]

    def _warm_up(self, call: Any, args: Sequence[Tensor], times: int) -> None:
        """Let caches fill: what is made once is not to be part of a graph."""
        where = args[0].device if args else self._named()
        with Stream(where):
            for _ in range(times):
                found = call(*args)
                for result in (found,) if isinstance(found, Tensor) else found:
                    if result.requires_grad:
                        grad(result.sum(), _leaves(call, args), allow_unused=True)


def _leaves(call: Any, args: Sequence[Tensor]) -> list[Tensor]:
    params = call.parameters() if isinstance(call, Module) else ()
    return [x for x in (*args, *params) if x.requires_grad]


def _checked(call: Any, args: Any) -> tuple[Tensor, ...]:
    """What a module depends on beside its arguments, if all can be recorded.

    Raises:
        ArgumentTypeError: an argument is no tensor.
        ArgumentError: the module has hooks, or buffers that need gradients.
    """
    for x in args:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                _NAME, "sample_args", was=f"with a {type(x).__name__}", needed="Tensors"
            )
    if not isinstance(call, Module):
        return ()
    if call._forward_hooks or call._forward_pre_hooks or call._backward_hooks:
        raise ArgumentError(
            _NAME, "callables", was="a module with hooks",
            needed="hooks that are added afterwards",
        )  # fmt: skip
    if any(b.requires_grad for b in call.buffers()):
        raise ArgumentError(
            _NAME, "callables", was="a module with buffers that require gradients",
            needed="gradients of parameters alone",
        )  # fmt: skip
    return tuple(call.parameters())


def _replaced(call: Any, recorded: Recorded) -> Any:
    if not isinstance(call, Module):
        return recorded.run
    mode, eager = call.training, call.forward

    def forward(*args: Any, **options: Any) -> Any:
        if call.training is mode and not options:
            return recorded.run(*args)
        return eager(*args, **options)

    call.forward = forward
    return call
