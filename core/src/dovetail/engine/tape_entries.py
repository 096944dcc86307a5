"""Entries that only the tape has: they are never called, only differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.basics import basics
from dovetail.engine.op import Op
from dovetail.engine.tape_of_views import NOWHERE, entries
from dovetail.engine.tensor import Tensor


def tape_entry(name: str, body: Callable[..., Any], rule: Callable[..., Any]) -> Op:
    """An entry: its body names the inputs, its rule gives their gradients."""
    options: dict[str, Any] = {
        "name": name, "primitive": frozenset(), "accepts": frozenset(),
        "result": "same", "promote": None, "indices": (), "masks": (), "lines": "",
        "outputs": ("y",), "residuals": 0, "nondifferentiable": False, "view": False,
        "mutates": (), "draws": None, "unrounded": True, "shape": None,
        "domain": (0.0, 1.0),
    }  # fmt: skip
    entry = Op(body, options)
    entry.set_vjp(rule)
    entries[name] = entry
    return entry


def _nowhere(x: Tensor) -> Any:
    """A view of what required no gradients when it was taken."""


def _nowhere_vjp(ct: Tensor) -> tuple[()]:
    return ()


def _overwritten(x: Tensor) -> Any:
    """A tensor whose values were replaced by constants."""


def _copied_over(x: Tensor, src: Tensor) -> Any:
    """A tensor whose values were replaced by those of another."""


def _copied_over_vjp(ct: Tensor) -> tuple[Tensor, Tensor]:
    return basics.zeros_like(ct), ct


def _overwritten_vjp(ct: Tensor) -> Any:
    return basics.zeros_like(ct)


tape_entry("copy", _copied_over, _copied_over_vjp)
tape_entry(NOWHERE, _nowhere, _nowhere_vjp)
OVERWRITTEN: Final = tape_entry("overwrite", _overwritten, _overwritten_vjp)
