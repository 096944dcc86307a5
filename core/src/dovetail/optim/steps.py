"""What one call of `step` does: several ops, of which none is refused half-way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dovetail.engine.tensor import Tensor
from dovetail.engine.writable import check_writable


class Steps(NamedTuple):
    """One op for parameters that are alike.

    Attributes:
        params: what it steps.
        grads: of each.
        kept: lists of what else it writes, as long as `params` or empty.
        run: does it.
    """

    params: Sequence[Tensor]
    grads: Sequence[Any]
    kept: Sequence[Sequence[Tensor]]
    run: Callable[[], None]

    def check(self, name: str) -> None:
        """Raise for a tensor that cannot be written."""
        for tensors in (self.params, *self.kept):
            for x in tensors:
                memory = getattr(x, "_storage", None)
                if memory is None:
                    continue  # its own memory, which nobody else has seen
                if memory.to_write is not None or memory.root is not x._a:
                    check_writable(name, x)

    def fits(self) -> bool:
        """Whether what belongs to a parameter has its kind and its shape."""
        return all(
            x._kind is p._kind and x._a.shape == p._a.shape
            for tensors in (self.grads, *self.kept)
            for p, x in zip(self.params, tensors, strict=False)
        )


def run_all(name: str, steps: list[Steps]) -> None:
    """Run them all; where one is refused, nothing has been written."""
    for each in steps:
        each.check(name)
    if len(steps) > 1:  # an op checks its own before it writes
        steps.sort(key=Steps.fits)  # what does not fit comes first, and is refused
    for each in steps:
        each.run()
