"""What an op's oracle says of a call, in the widest formats there are."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

import dovetail.ops.random_oracles  # noqa: F401  declares
from dovetail.conformance.example import Example
from dovetail.dtypes import Array, DType, from_numpy, get_default_dtype
from dovetail.engine.op import Op
from dovetail.errors import NotSupported


def truth(op: Op, example: Example, dtype: DType) -> list[Array]:
    """The oracle's results; computed once for each example."""
    found = example.known.get("truth")
    if found is None:
        found = example.known["truth"] = ask(op, example, dtype)
    answer: list[Array] = found
    return answer


def ask(
    op: Op, example: Example, dtype: DType, function: Callable[..., Any] | None = None
) -> list[Array]:
    """The oracle's results for a call; it may ask for the dtype, as `kind`.

    Args:
        function: another one, which is called in the oracle's place.
    """
    case = example.case
    if op.oracle is None or case is None:
        raise NotSupported(
            f"op {op.name}", "oracle", was="missing", needed="a reference in NumPy",
            remedy=f"declare it with @{op.name}.oracle",
        )  # fmt: skip
    kwargs = {k: wide(v) for k, v in case.kwargs.items()}
    args = list(case.args)
    if op.promote == "float" and not dtype.is_inexact:
        args = [
            _as_float(v) if p.name not in op.indices | op.masks else v
            for v, p in zip(args, op.params, strict=False)
        ]
    if _asks_for_kind(op):
        kwargs.setdefault("kind", dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mean of nothing is NaN
        found = (function or op.oracle)(*map(wide, args), **kwargs)
    many = found if isinstance(found, tuple | list) else [found]
    return [np.asarray(y) for y in many]


@lru_cache(maxsize=1024)
def _asks_for_kind(op: Op) -> bool:
    assert op.oracle is not None
    return "kind" in inspect.signature(op.oracle).parameters


def _as_float(value: Any) -> Any:
    """Integers as the op reads them: rounded to the default float."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biu":
        return value.astype(get_default_dtype().numpy)
    return value


def wide(value: Any) -> Any:
    """Arrays in the widest format of their category."""
    if isinstance(value, list):
        return [wide(v) for v in value]
    if isinstance(value, np.ndarray):
        dtype = from_numpy(value.dtype)
        if dtype.is_complex:
            return value.astype(np.complex128)
        return value.astype(np.float64) if dtype.is_floating_point else value
    return value
