"""Where in the program an op call is: phase, module, line."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from inspect import unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, Final

from dovetail.engine import autograd, backward_pass, rule_calls
from dovetail.engine.calls import WRITTEN
from dovetail.engine.tape import Node, Output
from dovetail.engine.tensor import Tensor
from dovetail.nn.module.module import running
from dovetail.optim.optimizer import Optimizer

# Where core's own code is: its files, and the callables that it writes for ops.
_OWN: Final = (str(Path(autograd.__file__).parents[1]), WRITTEN)
_STEPS: Final = ("step", "zero_grad")
_BACKWARD: Final = (autograd.__file__, backward_pass.__file__)


@dataclass(frozen=True, slots=True)
class CallSite:
    """Where an op was called.

    Attributes:
        phase: `forward`, `backward` or `optimizer`.
        line: `file:line` of the caller's code.
        module: the path of the module, as `Sequential/0.Linear`; empty outside.
        gradient_of: in backward, the op being differentiated.
        origin: in backward, the line at which that op was called.
    """

    phase: str = "forward"
    line: str = ""
    module: str = ""
    gradient_of: str = ""
    origin: str = ""

    def lines(self) -> list[str]:
        """The place in words."""
        found = [f"at          {self.line}"] if self.line else []
        if self.gradient_of:
            at = f", called at {self.origin}" if self.origin else ""
            found.append(f"gradient    of {self.gradient_of}{at}")
        if self.module:
            found.append(f"module      {self.module}")
        return found


class CallSites:
    """Tells where the running op call is, and remembers where nodes were made."""

    def __init__(self) -> None:
        self._numbers: list[int] = []
        self._made: list[tuple[str, CallSite]] = []

    def here(self) -> CallSite:
        """The place of the op call that is running."""
        phase, line, node = "", "", rule_calls.differentiated.get()
        for frame in _frames():
            own = frame.f_code.co_filename.startswith(_OWN)
            if not phase:
                phase = _phase(frame, at_user=bool(line))
            if not own and not line:
                line = f"{frame.f_code.co_filename}:{frame.f_lineno}"
        place = CallSite(phase or "forward", line, _path(running.get()))
        return place if node is None else self._behind(place, node)

    def _behind(self, place: CallSite, node: Node) -> CallSite:
        """The place of a gradient, with that of the op it belongs to.

        An op whose body is recorded makes several nodes, the last of which is known.
        """
        at = bisect_left(self._numbers, node.seq)
        if at == len(self._numbers):
            return replace(place, gradient_of=node.op.name)
        name, origin = self._made[at]
        module = place.module or origin.module
        return replace(place, gradient_of=name, origin=origin.line, module=module)

    def note(self, op: str, place: CallSite, results: Any) -> None:
        """Remember that a call at `place` made the nodes of `results`."""
        for y in results if isinstance(results, tuple | list) else (results,):
            node = y._node if isinstance(y, Tensor) else None
            node = node.node if isinstance(node, Output) else node
            if isinstance(node, Node) and node.seq > (self._numbers or [0])[-1]:
                self._numbers.append(node.seq)
                self._made.append((op, place))


def _frames() -> Iterator[FrameType]:
    """The stack, innermost first."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        yield frame
        frame = frame.f_back


def _phase(frame: FrameType, at_user: bool) -> str:
    """The phase that a frame settles, or nothing.

    The closure of an optimizer is the user's code: what it calls is no step.
    """
    code = frame.f_code
    if code.co_filename in _BACKWARD:
        return "backward"
    stepping = code.co_name in _STEPS and not at_user
    return "optimizer" if stepping and code in _codes_of(Optimizer) else ""


def _codes_of(cls: type) -> set[CodeType]:
    """The code of an optimizer's steps, and of those of its subclasses."""
    methods = [cls.__dict__[name] for name in _STEPS if name in cls.__dict__]
    found = {unwrap(method).__code__ for method in methods}
    return found.union(*map(_codes_of, cls.__subclasses__()))


def _path(modules: tuple[Any, ...]) -> str:
    """Modules from the outermost in, as `Net/body.Sequential/0.Linear`."""
    parts: list[str] = []
    outer: Any = None
    for module in modules:
        name = type(module).__name__
        if outer is None:
            parts.append(name)
        else:
            held = _name_in(outer, module)
            parts.append(f"{held}.{name}" if held else name)
        outer = module
    return "/".join(parts)


def _name_in(outer: Any, inner: Any) -> str:
    """The attribute, or dotted attributes, by which one module holds another."""
    for name, module in outer.named_modules():
        if module is inner:
            return str(name)
    return ""
