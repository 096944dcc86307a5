"""The whole vocabulary runs on a third party's level 0, and never on the host."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from tests.support import laws

import dovetail as dt
from dovetail.backend import registry
from dovetail.core import engine
from dovetail.core.cases import cases_of
from dovetail.core.op import DATA, Op, declared
from dovetail.dtypes import DType
from dovetail.errors import DTypeError

DTYPES = (dt.float32, dt.int32, dt.int64, dt.bool, dt.uint8)
OPS = declared()
DIFFERENTIABLE = [
    op for op in OPS
    if not op.nondifferentiable and not op.mutates and dt.float32 in op.accepts
]  # fmt: skip


@pytest.fixture(autouse=True)
def _no_host() -> Iterator[None]:
    """An op that would run on the host raises."""
    policy = dt.get_fallback_policy()
    dt.set_fallback_policy("error")
    yield
    dt.set_fallback_policy(policy)


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_oracle(op: Op) -> None:
    """Each op equals its oracle in every dtype that the device claims."""
    for dtype in laws.dtypes_of(op, DTYPES):
        if representable(op, dtype):
            laws.obeys_oracle(op, dtype, "fake:1")
        else:
            with pytest.raises(DTypeError, match="on fake:1, needed one of bool"):
                laws.obeys_oracle(op, dtype, "fake:1")


def representable(op: Op, dtype: DType) -> bool:
    """Whether the device has the dtypes of the results, by the op's rule."""
    if op.shape is DATA:
        return True
    case = next(iter(cases_of(op, dtype)))
    results = laws.call(op, *laws.arguments(op, case, "meta", dtype))
    return all(y.dtype in registry.load("fake").dtypes for y in results)


@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
def test_gradients(op: Op) -> None:
    """Gradients equal those of the CPU, where the device has the result's dtype."""
    if not representable(op, dt.float32):
        case = next(iter(cases_of(op, dt.float32)))
        with pytest.raises(DTypeError, match="on fake:1, needed one of bool"):
            gradients(op, case, "fake:1")
        return
    for case in cases_of(op, dt.float32):
        there, here = gradients(op, case, "fake:1"), gradients(op, case, "cpu")
        assert [g is None for g in there] == [g is None for g in here]
        for a, b in zip(there, here, strict=True):
            if a is not None and b is not None:
                assert (str(a.device), a.dtype) == ("fake:1", b.dtype)
                scale = float(np.abs(laws.values(b)).max(initial=1.0))
                np.testing.assert_allclose(
                    laws.values(a), laws.values(b), rtol=2e-5, atol=5e-6 * scale
                )


def gradients(op: Op, case: object, device: str) -> list[dt.Tensor | None]:
    """The gradients of a case's results, weighed, with respect to its inputs."""
    args, kwargs = laws.arguments(op, case, device, dt.float32, grad=True)  # type: ignore[arg-type]
    leaves = laws._leaves(args, kwargs)
    ys = [y for y in laws.call(op, args, kwargs) if y.requires_grad]
    if not leaves or not ys:
        return []
    weights = [w.astype(np.float32) for w in laws._weights(ys, 1)]
    cts = [laws.native(w, device) for w in weights]
    return list(engine.grad(ys, leaves, cts, allow_unused=True))
