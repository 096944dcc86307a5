"""Ways to prune: which elements of a parameter a mask keeps at zero.

A pruned parameter `name` becomes `name_orig`, with the buffer `name_mask` beside it;
`name` itself is their product, made before each call.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.linalg import vector_norm
from dovetail.nn.module import Module


class BasePruningMethod(ABC):
    """Decides by `compute_mask` which elements stay.

    Attributes:
        PRUNING_TYPE: "unstructured" chooses elements, "structured" channels along a
            dim, "global" elements of several parameters.
    """

    PRUNING_TYPE = "unstructured"
    _tensor_name: str

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of a tensor, by its importance and the mask it has already."""

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def apply_mask(self, module: Module) -> Tensor:
        """The parameter, with zeros where the mask has them."""
        name = self._tensor_name
        mask, kept = getattr(module, f"{name}_mask"), getattr(module, f"{name}_orig")
        pruned: Tensor = mask.to(kept.dtype) * kept
        return pruned

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any,
        importance_scores: Tensor | None = None, **kwargs: Any,
    ) -> BasePruningMethod:  # fmt: skip
        """Prune a module's parameter; what was pruned before stays so.

        Args:
            args, kwargs: what the class is made of.
            importance_scores: what elements are chosen by; the parameter itself unless
                given.
        """
        method = cls(*args, **kwargs)
        method._tensor_name = name
        hooks = module._forward_pre_hooks
        earlier = key_of(module, name)
        if earlier is None:
            _mask(module, name)
        else:
            method = _joined(hooks.pop(earlier), method)
        original = getattr(module, f"{name}_orig")
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ArgumentError(
                "prune", "importance_scores", was=f"of shape {tuple(scores.shape)}",
                needed=f"{tuple(original.shape)}, as {name}",
            )  # fmt: skip
        with no_grad():
            mask = method.compute_mask(scores, getattr(module, f"{name}_mask"))
        setattr(module, f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None,
        importance_scores: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """A tensor with zeros where the mask has them."""
        mask = ft.ones_like(t) if default_mask is None else default_mask
        scores = t if importance_scores is None else importance_scores
        pruned: Tensor = t * self.compute_mask(scores, mask).to(t.dtype)
        return pruned

    def remove(self, module: Module) -> None:
        """Let the parameter be what it is with its zeros, for good."""
        name = self._tensor_name
        with no_grad():
            pruned = self.apply_mask(module)
            original = module._parameters.pop(f"{name}_orig")
            assert original is not None
            original.data = pruned
        del module._buffers[f"{name}_mask"]
        delattr(module, name)
        setattr(module, name, original)


def _mask(module: Module, name: str) -> None:
    """Take a parameter apart into itself and a mask of ones."""
    kept = getattr(module, name, None)
    if name not in module._parameters or not isinstance(kept, Parameter):
        raise ArgumentTypeError(
            "prune", "name", was=f"{name!r}, which is no parameter of "
            f"{type(module).__name__}",
            needed=f"one of {', '.join(module._parameters) or 'none'}",
        )  # fmt: skip
    module.register_parameter(f"{name}_orig", kept)
    del module._parameters[name]
    module.register_buffer(f"{name}_mask", ft.ones_like(kept).detach())


def key_of(module: Module, name: str) -> Any:
    """The key of the hook that prunes a parameter, None if none does."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return key
    return None


def _joined(earlier: Any, method: BasePruningMethod) -> PruningContainer:
    if not isinstance(earlier, PruningContainer):
        container = PruningContainer(earlier)
        container._tensor_name = earlier._tensor_name
        earlier = container
    joined: PruningContainer = earlier
    joined.add_pruning_method(method)
    return joined


class PruningContainer(BasePruningMethod):
    """Several methods, one after another, each of what the others left.

    Args:
        args: the methods.
    """

    def __init__(self, *args: BasePruningMethod) -> None:
        self._methods: list[BasePruningMethod] = []
        if args:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Let a method come last."""
        if not isinstance(method, BasePruningMethod):
            raise ArgumentTypeError(
                "PruningContainer", "method", was=f"a {type(method).__name__}",
                needed="a BasePruningMethod",
            )  # fmt: skip
        if method._tensor_name != self._tensor_name:
            raise ArgumentError(
                "PruningContainer", "method", was=f"of {method._tensor_name!r}",
                needed=f"of {self._tensor_name!r}",
            )  # fmt: skip
        self._methods.append(method)

    def __len__(self) -> int:
        return len(self._methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._methods)

    def __getitem__(self, at: int) -> BasePruningMethod:
        return self._methods[at]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method = self._methods[-1]
        if method.PRUNING_TYPE == "structured":
            return _of_channels(method, t, default_mask)
        if method.PRUNING_TYPE == "global":
            return default_mask * method.compute_mask(t, default_mask)
        left = default_mask != 0
        part = method.compute_mask(t[left], default_mask[left])
        mask = default_mask.clone()
        mask[left] = part.to(mask.dtype)
        return mask


def _of_channels(method: Any, t: Tensor, default_mask: Tensor) -> Tensor:
    """The mask by those channels in which something is left."""
    dim = method.dim % t.ndim
    others = [i for i in range(t.ndim) if i != dim]
    left = default_mask.sum(others) != 0
    at = ft.nonzero(left).flatten()
    part = method.compute_mask(
        t.index_select(dim, at), default_mask.index_select(dim, at)
    )
    return default_mask.index_copy(dim, at, part.to(default_mask.dtype))


class Identity(BasePruningMethod):
    """Prunes nothing, and takes the parameter apart."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    """Prunes so many, or such a share.

    Args:
        amount: a number of elements or channels, or a share from 0 to 1.
    """

    def __init__(self, amount: float) -> None:
        self.amount = _amount(amount)


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without(default_mask, ft.rand_like(t.detach().float()), self.amount)


class L1Unstructured(_ByAmount):
    """Prunes the elements nearest to zero."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return _without(default_mask, t.abs(), self.amount)


class RandomStructured(BasePruningMethod):
    """Prunes channels at random.

    Args:
        amount: how many, or which share.
        dim: along which they lie.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        self.amount, self.dim = _amount(amount), dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        scores = ft.rand(t.shape[self.dim], device=t.device)
        return _without_channels(default_mask, scores, self.amount, self.dim)


class LnStructured(BasePruningMethod):
    """Prunes the channels of the smallest norm.

    Args:
        amount: how many, or which share.
        n: the norm's order.
        dim: along which they lie.
    """

    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        self.amount, self.n, self.dim = _amount(amount), n, dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        dim = self.dim % t.ndim
        others = [i for i in range(t.ndim) if i != dim]
        scores = vector_norm(t, float(self.n), dim=others)
        return _without_channels(default_mask, scores, self.amount, dim)


class CustomFromMask(BasePruningMethod):
    """Prunes what a mask has zeros for.

    Args:
        mask: of the parameter's shape.
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask * self.mask.to(default_mask.dtype)


def _amount(amount: Any) -> float:
    whole = isinstance(amount, int) and not isinstance(amount, bool)
    share = isinstance(amount, float) and 0.0 <= amount <= 1.0
    if not share and not (whole and amount >= 0):
        raise ArgumentError(
            "prune", "amount", was=repr(amount),
            needed="a number from 0 on, or a share from 0.0 to 1.0",
        )  # fmt: skip
    return amount  # type: ignore[no-any-return]


def _count(amount: float, size: int) -> int:
    """How many of so many are pruned."""
    if isinstance(amount, int):
        if amount > size:
            raise ArgumentError(
                "prune", "amount", was=amount, needed=f"at most {size}, which there are"
            )
        return amount
    return round(amount * size)


def _without(mask: Tensor, scores: Tensor, amount: float) -> Tensor:
    """A mask without the elements of the smallest scores."""
    count = _count(amount, mask.numel())
    if not count:
        return mask
    least = ft.topk(scores.reshape(-1), count, largest=False).indices
    flat = mask.clone().reshape(-1).index_fill(0, least, 0)
    pruned: Tensor = flat.view(mask.shape)
    return pruned


def _without_channels(mask: Tensor, scores: Tensor, amount: float, dim: int) -> Tensor:
    """A mask without the channels of the smallest scores."""
    count = _count(amount, mask.shape[dim])
    if not count:
        return mask
    least = ft.topk(scores, count, largest=False).indices
    pruned: Tensor = mask.clone().index_fill(dim, least, 0)
    return pruned


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured",
    "key_of",
]  # fmt: skip
