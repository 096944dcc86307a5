"""Pruning: weights that a mask keeps at zero; `remove` makes it so for good."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.nn.module import Module

from .pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    key_of,
)


def identity(module: Module, name: str) -> Module:
    """Take a parameter apart, and prune nothing."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random: so many, or such a share."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the elements nearest to zero.

    >>> layer = torch.nn.utils.prune.l1_unstructured(nn.Linear(4, 2), "weight", 0.5)
    >>> int((layer.weight == 0).sum())
    4
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int,
    importance_scores: Tensor | None = None,
) -> Module:  # fmt: skip
    """Prune the channels of the smallest norm, of order `n`."""
    LnStructured.apply(
        module, name, amount, n, dim, importance_scores=importance_scores
    )
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune what a mask has zeros for."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any,
) -> None:  # fmt: skip
    """Prune elements of several parameters, as if they were one.

    Args:
        parameters: modules, with the names of their parameters.
        pruning_method: an unstructured one.
        kwargs: what it is made of, such as `amount`.
    """
    pairs: Sequence[tuple[Module, str]] = list(parameters)
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise ArgumentTypeError(
            "global_unstructured", "pruning_method", was=pruning_method.__name__,
            needed="an unstructured one",
        )  # fmt: skip
    given = importance_scores or {}
    scores = [given.get(pair, getattr(*pair)).detach() for pair in pairs]
    masks = [_mask_of(*pair) for pair in pairs]
    container = PruningContainer()
    container._tensor_name = method_name = "all"
    method = pruning_method(**kwargs)
    method._tensor_name = method_name
    container.add_pruning_method(method)
    with no_grad():
        whole = container.compute_mask(_flat(scores), _flat(masks))
    parts = whole.split([mask.numel() for mask in masks])
    for (module, name), mask, part in zip(pairs, masks, parts, strict=True):
        custom_from_mask(module, name, part.view(mask.shape))


def _mask_of(module: Module, name: str) -> Tensor:
    mask: Tensor | None = getattr(module, f"{name}_mask", None)
    whole: Tensor = getattr(module, name)
    return ft.ones_like(whole).detach() if mask is None else mask


def _flat(tensors: Sequence[Tensor]) -> Tensor:
    joined: Tensor = ft.cat([t.reshape(-1) for t in tensors])
    return joined


def remove(module: Module, name: str) -> Module:
    """Let a pruned parameter be what it is with its zeros, for good.

    Raises: ArgumentError if it is not pruned.
    """
    key = key_of(module, name)
    if key is None:
        raise ArgumentError(
            "prune.remove", "name", was=f"{name!r}, which is not pruned",
            needed="a pruned parameter",
        )  # fmt: skip
    method: Any = module._forward_pre_hooks.pop(key)
    method.remove(module)
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module, or one below it, has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod)
        for below in module.modules()
        for hook in below._forward_pre_hooks.values()
    )


__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured",
    "PruningContainer", "RandomStructured", "RandomUnstructured", "custom_from_mask",
    "global_unstructured", "identity", "is_pruned", "l1_unstructured", "ln_structured",
    "random_structured", "random_unstructured", "remove",
]  # fmt: skip
