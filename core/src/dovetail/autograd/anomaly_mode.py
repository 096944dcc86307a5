"""Anomaly mode: a NaN that backward makes is traced to the forward line that led there.

A recorder notes, for each node, the line of the program that made it and the module
that was running; around the node's rules, gradients are looked at.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType
from typing import Any, Final

from dovetail.engine.op import Op
from dovetail.engine.scopes import Recorder, record, unseen
from dovetail.engine.tape import Node
from dovetail.engine.tensor import Tensor
from dovetail.engine.wrapped_ops import WrappedOp, node_of
from dovetail.errors import AutogradError

_OURS: Final = str(Path(__file__).resolve().parents[1])


class _Traced(WrappedOp):
    """An op whose gradients are looked at.

    Attributes:
        where: the line that called it, and in which module.
    """

    def __init__(self, op: Any, where: str, looks: bool) -> None:
        super().__init__(op)
        self.where = where
        self.looks = looks

    def gradients(self, node: Node, ct: Any, create: bool) -> Sequence[Any]:
        try:
            found = super().gradients(node, ct, create)
        except Exception as error:
            error.add_note(f"in the backward of {self.op.name}, called {self.where}")
            raise
        if self.looks:
            with unseen():
                for at, g in enumerate(found):
                    if node.edges[at] is not None and _has_nan(g):
                        raise AutogradError(
                            f"backward of {self.op.name}", f"gradient {at}",
                            was="with NaN values in it: the function returned nan "
                            f"values; it was called {self.where}",
                            needed="numbers",
                        )  # fmt: skip
        return found


def _has_nan(g: Any) -> bool:
    return isinstance(g, Tensor) and bool(g.detach().isnan().any().item())


class _Tracing(Recorder):
    """Notes where nodes are made."""

    def __init__(self, looks: bool) -> None:
        self.looks = looks

    def call(
        self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any],
        outs: tuple[Tensor, ...],
    ) -> None:  # fmt: skip
        """Note where the node of a call was made."""
        node = node_of(outs)
        if node is not None and not op.view and not isinstance(node.op, _Traced):
            node.op = _Traced(node.op, _where(), self.looks)  # type: ignore[assignment]


def _where() -> str:
    """The innermost line that is not ours, and the path of the module it runs in."""
    frame: FrameType | None = sys._getframe(1)
    line = ""
    modules: list[Any] = []
    while frame is not None:
        name = frame.f_code.co_filename
        if not line and not name.startswith((_OURS, "<")):
            line = f"at {name}:{frame.f_lineno}, in {frame.f_code.co_name}"
        if frame.f_code.co_name == "__call__" and name.startswith(_OURS):
            module = frame.f_locals.get("self")
            if hasattr(module, "named_modules"):
                modules.append(module)
        frame = frame.f_back
    if not modules:
        return line or "outside of any function"
    inner, outer = modules[0], modules[-1]
    named_modules = list(outer.named_modules())
    path = next((n for n, m in named_modules if m is inner), "")
    named = f"{path} ({type(inner).__name__})" if path else type(inner).__name__
    return f"{line}, by the module {named}"


class detect_anomaly:
    """Context manager in which a NaN that backward makes is an error.

    The error names the op, the line of the program that called it, and the module.

    Args:
        check_nan: whether to look for NaN; errors of rules say where they are from
            in any case.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.tensor(0.0, requires_grad=True)
        >>> try:
        ...     with torch.autograd.detect_anomaly():
        ...         (x.sqrt() * 0).backward()
        ... except RuntimeError as error:
        ...     print(error.op)
        backward of sqrt
    """

    def __init__(self, check_nan: bool = True) -> None:
        self.check_nan = check_nan
        self._scopes: list[AbstractContextManager[None]] = []

    def __enter__(self) -> None:
        scope = record(_Tracing(self.check_nan))
        scope.__enter__()
        self._scopes.append(scope)
        _checking.set((*_checking.get(), self.check_nan))

    def __exit__(self, *error: Any) -> None:
        _checking.set(_checking.get()[:-1])
        self._scopes.pop().__exit__(*error)


# For each anomaly mode that is on here, whether it looks for NaN; the innermost last.
_checking: Final[ContextVar[tuple[bool, ...]]] = ContextVar("checking", default=())
_set: Final[list[detect_anomaly]] = []


class set_detect_anomaly:
    """Sets anomaly mode at once; as a context manager, restores it at the end."""

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = bool(_set), _set[-1].check_nan if _set else True
        _switch(mode, check_nan)

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        _switch(*self._before)


def _switch(mode: bool, check_nan: bool) -> None:
    while _set:
        _set.pop().__exit__(None, None, None)
    if mode:
        anomaly = detect_anomaly(check_nan)
        anomaly.__enter__()
        _set.append(anomaly)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on here."""
    return bool(_checking.get())


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode looks for NaN; True where it is off."""
    return all(_checking.get()[-1:])


__all__ = [
    "detect_anomaly", "is_anomaly_check_nan_enabled", "is_anomaly_enabled",
    "set_detect_anomaly",
]  # fmt: skip
