"""Every function under autocast beside torch's, on the samples of torch's own tests."""

from __future__ import annotations

import importlib.util
import sys
import types
import unittest
import warnings
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
import torch

import dovetail as dt

# Where results differ in dtype, or where only one of the two refuses, and why.
EXPECTED = {
    # Ours is made of an op whose result is not rounded once more.
    "linalg.pinv", "linalg.pinv.hermitian", "linalg.pinv.singular", "pinverse",
    # torch multiplies where there is one number left, and ours calls a product.
    "tensordot",
    # torch gives empty tensors where there are none.
    "linalg.lstsq.grad_oriented",
    # torch's solver of empty matrices takes any dtype.
    "linalg.det", "linalg.ldl_factor", "linalg.ldl_factor_ex", "linalg.matrix_power",
    "linalg.solve_ex",
    # torch's has 16-bit kernels, or takes indices of 8 bits.
    "matrix_exp", "gather",
    # torch makes complex32.
    "complex",
    # A product over no dims is no product.
    "masked.prod",
    # Samples that need what is torch's: functions, options, layouts, memory.
    "nn.functional.triplet_margin_with_distance_loss", "as_strided.partial_views",
    "nn.functional.linear_cross_entropy.chunked",
    "nn.functional.linear_cross_entropy.chunked_none", "sparse.sampled_addmm",
    "sparse.mm.reduce", "normal.in_place", "normal.number_mean",
}  # fmt: skip
_EACH = 3
# Methods, of whose functions' names something else is.
METHODS = {
    "T", "H", "mT", "mH", "bfloat16", "bool", "byte", "cdouble", "cfloat", "chalf",
    "char", "double", "float", "half", "int", "long", "short",
}  # fmt: skip
# Functions that torch's samples call in another order than the function has.
REORDERED = {
    "einsum", "svd_lowrank", "pca_lowrank", "polygamma", "special.polygamma", "where",
    "nn.functional.embedding", "nn.functional.embedding_bag",
}  # fmt: skip


@cache
def _ops() -> list[Any]:
    """The ops of torch's own tests, whose module wants one that is not needed."""
    if importlib.util.find_spec("expecttest") is None:
        stand_in: Any = types.ModuleType("expecttest")
        stand_in.TestCase = unittest.TestCase
        sys.modules["expecttest"] = stand_in
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = pytest.importorskip(
            "torch.testing._internal.common_methods_invocations"
        )
    skipped = METHODS | REORDERED
    return [op for op in found.op_db if op.name not in skipped]


@cache
def _samples(name: str, variant: str) -> list[Any]:
    """The first arguments that torch tests an op with."""
    torch.manual_seed(0)
    (op, *_) = [
        op for op in _ops() if (op.name, op.variant_test_name) == (name, variant)
    ]
    made = op.sample_inputs("cpu", torch.float32, requires_grad=False)
    return [sample for _, sample in zip(range(_EACH), made, strict=False)]


def _function(name: str) -> Any:
    """dovetail's function of a name, None where there is none."""
    found: Any = dt
    try:
        for part in name.split("."):
            found = getattr(found, part)
    except AttributeError:
        return None if "." in name else getattr(dt.Tensor, name, None)
    return found


def _ours(x: Any) -> Any:
    """Arguments of torch's as dovetail's."""
    if isinstance(x, torch.Tensor):
        if x.dtype in (torch.bfloat16, torch.float16):
            return dt.tensor(x.float().numpy()).to(getattr(dt, str(x.dtype)[6:]))
        return dt.tensor(x.detach().resolve_conj().resolve_neg().numpy())
    if isinstance(x, torch.dtype | torch.memory_format | torch.layout):
        return getattr(dt, str(x)[6:])
    if isinstance(x, torch.device):
        return str(x)
    if isinstance(x, list | tuple):
        made = [_ours(v) for v in x]
        return made if isinstance(x, list) else tuple(made)
    if isinstance(x, dict):
        return {k: _ours(v) for k, v in x.items()}
    return x


def _cast(x: Any, dtype: torch.dtype) -> Any:
    """Arguments whose float32 tensors have another dtype."""
    if isinstance(x, torch.Tensor):
        return x.to(dtype) if x.dtype == torch.float32 else x
    if type(x) in (list, tuple):
        return type(x)(_cast(v, dtype) for v in x)
    return {k: _cast(v, dtype) for k, v in x.items()} if isinstance(x, dict) else x


def _dtypes(result: Any) -> Iterator[str]:
    if hasattr(result, "dtype"):
        yield str(result.dtype).rpartition(".")[2]
    elif isinstance(result, list | tuple):
        for item in result:
            yield from _dtypes(item)


def _outcome(function: Any, scope: Any, args: Any, kwargs: Any) -> Any:
    """The dtypes of a result, or None where the call is refused."""
    try:
        with scope:
            return list(_dtypes(function(*args, **kwargs)))
    except Exception:
        return None


@pytest.mark.parametrize(("lower", "given"), [
    ("bfloat16", "float32"), ("bfloat16", "bfloat16"),
    pytest.param("float16", "float16", marks=pytest.mark.slow),
    pytest.param("bfloat16", "float64", marks=pytest.mark.slow),
])  # fmt: skip
def test_results_have_torchs_dtypes(lower: str, given: str) -> None:
    """On arguments of each precision; what torch has no kernel for is not compared."""
    differ: dict[str, Any] = {}
    compared = 0
    low, kind = getattr(torch, lower), getattr(torch, given)
    for op in _ops():
        function = _function(op.name)
        name = f"{op.name}.{op.variant_test_name}".rstrip(".")
        if function is None or name in EXPECTED:
            continue
        for sample in _samples(op.name, op.variant_test_name):
            args = _cast((sample.input, *sample.args), kind)
            kwargs = _cast(sample.kwargs, kind)
            mine = _ours(args), _ours(kwargs)
            want = _outcome(op.op, torch.autocast("cpu", low), args, kwargs)
            if want is None:
                continue
            got = _outcome(function, dt.autocast("cpu", getattr(dt, lower)), *mine)
            compared += 1
            if got != want:
                differ[name] = (want, got)
    assert differ == {}
    assert compared > 1000
