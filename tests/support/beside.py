"""One call in dovetail and in torch: values, dtypes, gradients, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np

import dovetail as dt
from dovetail.conformance.rounding import accumulates_in, of_terms, roundoff
from dovetail.dtypes import by_name

# Of numbers of about 1, of which some are sums: terms, as the tolerances of the kit
# count them. Two libraries are off by as much, each on its own.
_TERMS: Final = 2000


def close(name: str) -> tuple[float, float]:
    """What results may differ by, relative and absolute, by the name of their dtype."""
    dtype = by_name(name)
    inner = roundoff(accumulates_in(dtype))
    allowed = 8 * roundoff(dtype) + 2 * of_terms(_TERMS) * inner
    return allowed, allowed / 4


class Pair:
    """The same leaf in both libraries."""

    def __init__(self, torch: Any, values: Any, dtype: str, grad: bool) -> None:
        self.theirs = torch.tensor(values).to(getattr(torch, dtype))
        array = values if isinstance(values, np.ndarray) else np.array(values)
        self.ours = dt.tensor(array).to(getattr(dt, dtype))
        if grad and self.theirs.is_floating_point():
            self.ours = self.ours.detach()
            self.ours.requires_grad = True
            self.theirs.requires_grad_(True)


def host(x: Any) -> np.ndarray[Any, Any]:
    """The values of a tensor of either library, floats and complex at full width."""
    x = x.detach().cpu()
    name = str(x.dtype).rpartition(".")[2]
    if name in ("float16", "bfloat16"):
        x = x.float()
    return np.asarray(x.numpy())


def same(ours: Any, theirs: Any, note: str) -> None:
    """Two results, or tuples of them, agree in dtype, shape and values."""
    if isinstance(theirs, tuple | list):
        assert len(ours) == len(theirs), note
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, note)
        return
    name = str(theirs.dtype).rpartition(".")[2]
    assert ours.dtype.name == name, f"{note}: {ours.dtype.name}, torch {name}"
    assert tuple(ours.shape) == tuple(theirs.shape), f"{note}: {ours.shape}"
    rtol, atol = close(name)
    np.testing.assert_allclose(
        host(ours), host(theirs), rtol=rtol, atol=atol, err_msg=note, equal_nan=True
    )


def _leaves(value: Any) -> list[Pair]:
    if isinstance(value, Pair):
        return [value]
    if isinstance(value, list | tuple):
        return [leaf for v in value for leaf in _leaves(v)]
    return []


def _side(value: Any, side: str) -> Any:
    if isinstance(value, Pair):
        return getattr(value, side)
    if isinstance(value, list | tuple):
        return type(value)(_side(v, side) for v in value)
    return value


def call(
    ours: Callable[..., Any], theirs: Callable[..., Any], args: Any, kwargs: Any
) -> tuple[Any, Any]:
    """The results of one call in both libraries."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = ours(*_side(list(args), "ours"), **_of(kwargs, "ours"))
        z = theirs(*_side(list(args), "theirs"), **_of(kwargs, "theirs"))
    return y, z


def _of(kwargs: dict[str, Any], side: str) -> dict[str, Any]:
    return {name: _side(value, side) for name, value in kwargs.items()}


def agree(
    torch: Any, ours: Callable[..., Any], theirs: Callable[..., Any], args: Any,
    kwargs: dict[str, Any], note: str,
) -> None:  # fmt: skip
    """Results agree, and so do the gradients of all leaves for random cotangents."""
    y, z = call(ours, theirs, args, kwargs)
    same(y, z, note)
    leaves = [p for p in _leaves([*args, *kwargs.values()]) if p.theirs.requires_grad]
    if not leaves or not z.requires_grad:
        return
    rng = np.random.default_rng(7)
    ct = rng.standard_normal(tuple(z.shape))
    z.backward(torch.tensor(ct).to(z.dtype))
    y.backward(dt.tensor(ct).to(y.dtype))
    for leaf in leaves:
        if leaf.theirs.grad is not None:
            same(leaf.ours.grad, leaf.theirs.grad, f"{note}: gradient")


def both_refuse(
    ours: Callable[..., Any],
    theirs: Callable[..., Any],
    args: Any,
    kwargs: dict[str, Any],
) -> tuple[type, type]:
    """The classes of the errors that both libraries raise for a call."""
    found = []
    for function, side in ((ours, "ours"), (theirs, "theirs")):
        try:
            function(*_side(list(args), side), **_of(kwargs, side))
        except Exception as error:
            found.append(error)
        else:
            raise AssertionError(f"{side} did not refuse {args} {kwargs}")
    refused, theirs_error = found
    assert isinstance(refused, type(theirs_error)), (refused, theirs_error)
    return type(refused), type(theirs_error)


__all__ = ["Pair", "agree", "both_refuse", "call", "same"]
