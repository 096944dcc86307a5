"""One call made in dovetail and in torch, and what has to be the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import DovetailError
from tests.support.beside import same

Array = np.ndarray[Any, Any]
REFUSALS = RuntimeError, TypeError, ValueError, IndexError  # torch's


class Call:
    """A function's name and arguments; arrays become tensors of each library."""

    def __init__(
        self, name: str, array: Any, *args: Any, method: bool = True, **kw: Any
    ) -> None:
        self.name, self.array, self.args, self.kwargs = (
            name,
            np.asarray(array),
            args,
            kw,
        )
        self.method = method

    def __str__(self) -> str:
        given = [_shown(a) for a in (self.array, *self.args)]
        given += [f"{k}={_shown(v)}" for k, v in self.kwargs.items()]
        return f"{self.name}({', '.join(given)})"

    def inputs(self, lib: Any) -> tuple[Any, list[Any], dict[str, Any]]:
        """The arguments for one of the libraries."""
        kwargs = {k: _given(lib, v) for k, v in self.kwargs.items()}
        if "dtype" in kwargs:
            kwargs["dtype"] = getattr(lib, kwargs["dtype"])
        return _given(lib, self.array), [_given(lib, a) for a in self.args], kwargs

    def run(self, lib: Any, *, method: bool = False) -> tuple[Any, list[Any]]:
        """The first input, and the results as a list."""
        x, args, kwargs = self.inputs(lib)
        if self.array.dtype == np.float32:
            x.requires_grad_(True)
        call = getattr(x, self.name) if method else getattr(lib, self.name)
        y = call(*args, **kwargs) if method else call(x, *args, **kwargs)
        return x, list(y) if isinstance(y, tuple) else [y]


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}"
    return repr(value)


def _given(lib: Any, value: Any) -> Any:
    return lib.tensor(value) if isinstance(value, np.ndarray) else value


def agrees(call: Call) -> None:
    """Values, shapes and dtypes are torch's, of the function and of the method."""
    import torch

    _, theirs = call.run(torch)
    for method in (
        (False, True) if call.method and hasattr(torch.Tensor, call.name) else (False,)
    ):
        _, ours = call.run(dt, method=method)
        assert len(ours) == len(theirs)
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            same(a, b, f"{call} result {i}")


def agrees_in_gradient(call: Call) -> None:
    """The gradient of a weighted sum of the results is torch's."""
    import torch

    found = []
    for lib in (dt, torch):
        x, ys = call.run(lib)
        total: Any = 0
        for y in ys:
            if y.requires_grad:
                weight = np.linspace(-1, 2, int(np.prod(y.shape))).reshape(
                    tuple(y.shape)
                )
                total = total + (y * lib.tensor(weight.astype(np.float32))).sum()
        total.backward()
        found.append(x.grad)
    same(found[0], found[1], f"gradient of {call}")


def both_refuse(call: Call) -> None:
    """torch raises, and dovetail raises what catches the same builtin."""
    import torch

    with pytest.raises((RuntimeError, IndexError, TypeError, ValueError)) as theirs:
        call.run(torch)
    builtins = (IndexError, TypeError, ValueError, RuntimeError)
    with pytest.raises((*builtins, NotImplementedError)) as ours:
        call.run(dt)
    assert isinstance(ours.value, dt.errors.DovetailError)
    kinds = [b for b in builtins if issubclass(theirs.type, b)]
    assert any(isinstance(ours.value, k) for k in kinds), (
        f"{theirs.type} but {ours.value!r}"
    )


def answers(call: Callable[[Any], Any]) -> tuple[Any, Any] | None:
    """What both libraries answer, dovetail first; None where torch and it refuse."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = call(torch)
        except REFUSALS:
            with pytest.raises(DovetailError):
                call(dt)
            return None
        return call(dt), theirs


def agree(call: Callable[[Any], Any]) -> None:
    """Both refuse, or both answer with the same dtype, shape and values."""
    found = answers(call)
    if found is None:
        return
    ours, theirs = found
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    assert tuple(ours.shape) == tuple(theirs.shape)
    for a, b in zip(
        ours.reshape(-1).tolist(), theirs.reshape(-1).tolist(), strict=True
    ):
        assert a == pytest.approx(b, rel=1e-5, abs=1e-6, nan_ok=True)
