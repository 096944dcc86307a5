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
        self.log: list[tuple[Any, ...]] = []
        self.warned: list[warnings.WarningMessage] = []
        self.names: dict[str, Any] = {
            "L": lib,
            "hook": self._hook,
            "after": self._after,
            "before_node": self._before_node,
            "after_node": self._after_node,
            "several": self._several,
            "edge": lib.autograd.graph.get_gradient_edge,
            **functions(lib),
        }

    def _hook(self, label: str, factor: float | str | None) -> Callable[[Any], Any]:
        def hook(gradient: Any) -> Any:
            self.log.append((label, values(gradient), gradient.requires_grad))
            if factor == "other shape":
                return gradient.new_ones(7)
            if factor == "other dtype":
                return gradient.to(self.lib.float32)
            return None if factor is None else gradient * factor

        return hook

    def _after(self, label: str, how: str) -> Callable[[Any], None]:
        def after(tensor: Any) -> None:
            grad = tensor.grad
            self.log.append((label, values(grad), grad.requires_grad))
            if how == "drop":
                tensor.grad = None

        return after

    def _before_node(self, label: str, factor: float | None) -> Callable[[Any], Any]:
        def hook(gradients: Any) -> Any:
            self.log.append((label, *map(values, gradients)))
            return None if factor is None else tuple([g * factor for g in gradients])

        return hook

    def _after_node(self, label: str) -> Callable[[Any, Any], None]:
        def hook(_: Any, gradients: Any) -> None:
            self.log.append((label, *map(values, gradients)))

        return hook

    def _several(self, label: str) -> Callable[[Any], None]:
        def hook(found: Any) -> None:
            gradients = found if isinstance(found, list | tuple) else [found]
            self.log.append((label, *map(values, gradients)))

        return hook

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
            found[name] = (values(t), needs, t.is_leaf, t.is_inference())
            if t.is_leaf or t.retains_grad:
                grad = t.grad
                if grad is not None:
                    also = [n for n, other in tensors.items() if other is grad]
                    found[f"{name}.grad"] = (values(grad), grad.requires_grad, also)
                else:
                    found[f"{name}.grad"] = None
        return found


def functions(lib: Any) -> dict[str, Any]:
    """Custom Functions, as programs call them."""
    function = lib.autograd.Function

    class Cube(function):  # type: ignore[misc]
        """Keeps its argument, and has second gradients."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            (x,) = ctx.saved_tensors
            return ct * 3 * x * x

    class Same(function):  # type: ignore[misc]
        """Gives its argument, of which the result is a view."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct * 3

    class Shown(Same):
        """Gives a view of its argument."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.unsqueeze(0)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return ct.squeeze(0) * 5

    class Written(Same):
        """Writes to its argument, and says so."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_dirty(x)
            return x.mul_(3)

    class Parts(function):  # type: ignore[misc]
        """Two results with gradients, and one without."""

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            sign = x.sign()
            ctx.mark_non_differentiable(sign)
            ctx.save_for_backward(sign)
            return x * 2, x.sin(), sign

        @staticmethod
        def backward(ctx: Any, a: Any, b: Any, c: Any) -> Any:
            return a * 2 + b * ctx.saved_tensors[0] + c

    made = (Cube, Same, Shown, Written, Parts)
    return {cls.__name__: cls.apply for cls in made}


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
