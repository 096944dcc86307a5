"""Modules as functions of their parameters: `functional_call`, `stack_module_state`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError
from dovetail.nn import Module
from dovetail.ops.shape import stack

Places = list[tuple[dict[str, Any], str]]


def functional_call(
    module: Module, parameter_and_buffer_dicts: Any, args: Any = None,
    kwargs: dict[str, Any] | None = None, *, tie_weights: bool = True,
    strict: bool = False,
) -> Any:  # fmt: skip
    """What a module gives with other tensors for its parameters and buffers.

    Args:
        parameter_and_buffer_dicts: tensors by their names in the module, in one dict or
            several; the module keeps its own for names that are left out.
        args: of the call: one value, or several in a tuple.
        tie_weights: a tensor that the module has in two places is replaced in both.
        strict: refuse names that are left out.

    Raises: ArgumentError for names that the module lacks, all of them at once.

    Examples:
        >>> import dovetail as torch
        >>> layer = torch.nn.Linear(2, 1, bias=False)
        >>> weights = {"weight": torch.tensor([[1.0, 2.0]])}
        >>> torch.func.functional_call(layer, weights, torch.ones(2))
        tensor([3.])
    """
    given = _merged(parameter_and_buffer_dicts)
    values = () if args is None else args if isinstance(args, tuple) else (args,)
    with _replaced(module, given, tie_weights, strict):
        return module(*values, **(kwargs or {}))


def _merged(dicts: Any) -> dict[str, Tensor]:
    if isinstance(dicts, Mapping):
        return dict(dicts)
    if not isinstance(dicts, Sequence) or not all(
        isinstance(d, Mapping) for d in dicts
    ):
        raise ArgumentTypeError(
            "functional_call", "parameter_and_buffer_dicts",
            was=f"a {type(dicts).__name__}", needed="a dict of tensors, or several",
        )  # fmt: skip
    merged: dict[str, Tensor] = {}
    for part in dicts:
        twice = sorted(merged.keys() & part.keys())
        if twice:
            raise ArgumentError(
                "functional_call", "parameter_and_buffer_dicts",
                was=f"several with {', '.join(twice)}", needed="each in one",
            )  # fmt: skip
        merged |= part
    return merged


@contextmanager
def _replaced(
    module: Module, given: dict[str, Tensor], tied: bool, strict: bool
) -> Iterator[None]:
    """Let a module have other tensors for a while."""
    places = _places(module)
    unknown = sorted(given.keys() - places.keys())
    missing = sorted(places.keys() - given.keys()) if strict else []
    if unknown or missing:
        raise ArgumentError(
            "functional_call", "names", was="; ".join(
                f"{what} {', '.join(names)}"
                for what, names in (("unknown", unknown), ("missing", missing)) if names
            ), needed="names of parameters and buffers of the module",
        )  # fmt: skip
    before: list[tuple[dict[str, Any], str, Any]] = []
    for name, value in given.items():
        table, own = places[name]
        same = [(table, own)]
        if tied:
            shared = table[own]
            same = [p for n, p in places.items() if p[0][p[1]] is shared and (
                n == name or n not in given
            )]  # fmt: skip
        before += [(t, key, t[key]) for t, key in same]
        for t, key in same:
            t[key] = value
    try:
        yield
    finally:
        for table, own, value in reversed(before):
            table[own] = value


def _places(module: Module) -> dict[str, tuple[dict[str, Any], str]]:
    """Where each parameter and buffer is, by its name in the module."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for table in (part._parameters, part._buffers):
            for name, value in table.items():
                if value is not None:
                    found[f"{prefix}.{name}" if prefix else name] = (table, name)
    return found


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of like modules, stacked, for `vmap`.

    Returns: leaves that require gradients where the modules' do.

    Raises: ArgumentError for modules of several classes or modes, or for none.

    >>> models = [torch.nn.Linear(2, 3) for _ in range(4)]
    >>> parameters, buffers = torch.func.stack_module_state(models)
    >>> parameters["weight"].shape
    dovetail.Size([4, 3, 2])
    """
    if not len(models):
        raise ArgumentError(
            "stack_module_state", "models", was="empty", needed="at least one module"
        )
    first, *others = list(models)
    for other in others:
        if type(other) is not type(first) or other.training != first.training:
            raise ArgumentError(
                "stack_module_state", "models", was="of several classes or modes",
                needed="modules of one class, all in train mode or all in eval mode",
            )  # fmt: skip
    parameters = {
        name: _stacked([dict(m.named_parameters())[name] for m in models])
        for name, _ in first.named_parameters()
    }
    buffers = {
        name: _stacked([dict(m.named_buffers())[name] for m in models])
        for name, _ in first.named_buffers()
    }
    return parameters, buffers


def _stacked(tensors: list[Any]) -> Tensor:
    whole: Tensor = stack([t.detach() for t in tensors], 0)
    if all(t.requires_grad for t in tensors):
        whole.requires_grad = True
    return whole
