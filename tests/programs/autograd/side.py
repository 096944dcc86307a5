"""A program as it runs in one library, and what can be seen of it there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Seen = dict[str, Any]


class Side:
    """One library's run of a program.

    Attributes:
        lib: dovetail or torch.
        names: what the statements have named.
        log: what hooks were called with, in order.
        warned: the warnings of the last statement.
    """

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.log: list[tuple[str, Any, bool]] = []
        self.warned: list[warnings.WarningMessage] = []
        self.names: dict[str, Any] = {
            "L": lib,
            "hook": self._hook,
            "after": self._after,
        }

    def _hook(self, label: str, factor: float | None) -> Callable[[Any], Any]:
        def hook(gradient: Any) -> Any:
            self.log.append((label, values(gradient), gradient.requires_grad))
            return None if factor is None else gradient * factor

        return hook

    def _after(self, label: str, how: str) -> Callable[[Any], None]:
        def after(tensor: Any) -> None:
            grad = tensor.grad
            self.log.append((label, values(grad), grad.requires_grad))
            if how == "drop":
                tensor.grad = None

        return after

    def run(self, line: str) -> Exception | None:
        """Run a statement; gives the error that it raised."""
        try:
            with warnings.catch_warnings(record=True) as self.warned:
                warnings.simplefilter("always")
                exec(line, self.names)
        except Exception as error:
            return error
        return None

    def layouts(self) -> dict[str, tuple[int, ...]]:
        """The strides of the tensors, where they tell one layout from another."""
        tensors = {
            n: t for n, t in self.names.items() if isinstance(t, self.lib.Tensor)
        }
        return {
            name: tuple(s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1)
            for name, t in tensors.items()
        }

    def seen(self) -> Seen:
        """Everything about the tensors that a program can tell."""
        found: Seen = {"hooks": list(self.log)}
        tensors = {
            n: t for n, t in self.names.items() if isinstance(t, self.lib.Tensor)
        }
        for name, t in tensors.items():
            _ = t.grad_fn  # torch's views know only then whether they are leaves
            needs = t.requires_grad
            found[name] = (values(t), needs, t.is_leaf)
            if t.is_leaf or t.retains_grad:
                grad = t.grad
                if grad is not None:
                    also = [n for n, other in tensors.items() if other is grad]
                    found[f"{name}.grad"] = (values(grad), grad.requires_grad, also)
                else:
                    found[f"{name}.grad"] = None
        return found


def values(t: Any) -> Any:
    """The values of a tensor, copied; None of None.

    Torch's zeros without memory are made such as have some.
    """
    return None if t is None else np.array(t.detach().numpy(force=True))


def differences(ours: Seen, theirs: Seen) -> list[str]:
    """What the two sides do not have in common, in words."""
    found = []
    for name in sorted(ours.keys() | theirs.keys()):
        a, b = ours.get(name, "absent"), theirs.get(name, "absent")
        if not same(a, b):
            found.append(f"{name}: dovetail {_short(a)}, torch {_short(b)}")
    return found


def same(a: Any, b: Any) -> bool:
    """Equal, arrays within rounding."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape != b.shape:
            return False
        return bool(np.allclose(a, b, rtol=1e-9, atol=1e-10, equal_nan=True))
    if isinstance(a, tuple | list) and isinstance(b, tuple | list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and bool(a == b)


def _short(value: Any) -> str:
    return " ".join(str(value).split())
