"""What torch gives for the calls of an op, where it has a function of the same name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dovetail.dtypes import Array, DType, from_numpy
from dovetail.engine.cases import Case
from dovetail.engine.op import Op
from dovetail.engine.public import NAMESPACES


class Beside:
    """torch on the CPU, as it computes a call of ours.

    Raises:
        ModuleNotFoundError: torch is not installed.
    """

    def __init__(self) -> None:
        import torch

        self._torch: Any = torch
        self.version: str = torch.__version__

    def function(self, op: Op) -> tuple[str, Callable[..., Any]] | None:
        """torch's function for an op, and its name; None where there is none."""
        functional = self._torch.nn.functional
        for name in _names(op):
            space, _, last = name.rpartition(".")
            where = {"F": functional, "Tensor": self._torch.Tensor}
            found = getattr(where.get(space, self._torch), last, None)
            if callable(found):
                return f"torch.{name}" if not space or space == "torch" else name, found
        return None

    def results(self, op: Op, case: Case) -> list[Array] | None:
        """torch's results for a call; None where it does not take it as it is."""
        found = self.function(op)
        if found is None:
            return None
        given = dict(zip(op.names, case.args, strict=False)) | case.kwargs
        tensors = [self._tensor(v) for n, v in given.items() if n in _tensors(op)]
        rest = {n: v for n, v in given.items() if n not in _tensors(op)}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                y = found[1](*tensors, **{n: self._plain(v) for n, v in rest.items()})
            many = list(y) if isinstance(y, tuple | list) else [y]
            return [self._array(v) for v in many]
        except (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError):
            return None

    def _plain(self, value: Any) -> Any:
        return getattr(self._torch, value.name, None) if type(value) is DType else value

    def _tensor(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._tensor(v) for v in value]
        if not isinstance(value, np.ndarray):
            return value
        value = np.array(value, order="C")
        if from_numpy(value.dtype).name == "bfloat16":
            bits = self._torch.from_numpy(value.view(np.int16))
            return bits.view(self._torch.bfloat16)
        return self._torch.from_numpy(value)

    def _array(self, y: Any) -> Array:
        if y.dtype is self._torch.bfloat16:
            import ml_dtypes

            bits: Array = y.contiguous().view(self._torch.int16).numpy()
            return bits.view(ml_dtypes.bfloat16)
        found: Array = y.resolve_conj().numpy()
        return found


def _tensors(op: Op) -> set[str]:
    return {p.name for p in op.tensors}


def _names(op: Op) -> list[str]:
    """torch's names of an op: declared with it, or a function's of ours so called."""
    declared = [n.partition("(")[0].rstrip("*") for n in op.public]
    found = [n for n in declared if not n.endswith("_")]
    if op.name in NAMESPACES["torch"]:
        found.append(op.name)
    if op.name in NAMESPACES["F"]:
        found.append(f"F.{op.name}")
    return found


def beside() -> Beside | None:
    """torch, if it is installed."""
    try:
        return Beside()
    except ModuleNotFoundError:
        return None


__all__ = ["Beside", "beside"]
