"""What `out=` makes of tensors without elements, beside torch."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import ShapeError

torch = pytest.importorskip("torch")

# L is the library, x lies transposed, e has no elements.
CALLS: Final = (
    "L.add(x, 1, out=e)", "L.exp(x, out=e)", "L.sum(x, 0, out=e)",
    "L.matmul(x, x.t(), out=e)", "L.cat([x, x], out=e)", "L.mean(x, 1, out=e)",
    "L.stack([x, x], out=e)",
    "L.cumsum(x, 1, out=e)", "L.max(x, 0, out=(e, i))[0]", "L.gt(x, 0, out=b)",
    "L.sort(x, 0, out=(e, i))[1]", "L.where(x > 1, x, x, out=e)",
    "L.add(x, 1, out=L.empty(2, 0))", "L.mul(x[0], 2, out=L.ones(9).resize_(0))",
)  # fmt: skip


def _made(lib: Any, call: str) -> Any:
    x = lib.arange(12.0).reshape(3, 4).t()
    e, i, b = lib.empty(0), lib.empty(0, dtype=lib.int64), lib.empty(0, dtype=lib.bool)
    y = eval(call, {"L": lib, "x": x, "e": e, "i": i, "b": b})
    if "=e)" in call:
        assert y is e
    kept = y.clone()
    y.fill_(1)  # of memory that is its own
    assert x.sum() == 66
    return kept


@pytest.mark.parametrize("call", CALLS)
def test_what_has_no_elements_takes_the_results_shape(call: str) -> None:
    ours, theirs = _made(dt, call), _made(torch, call)
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert ours.stride() == theirs.stride()
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_what_shared_the_empty_memory_stays_as_it_was() -> None:
    """A tensor that grows has memory of its own; the tape forgets nothing."""
    e = dt.empty(0)
    other = e.detach()
    dt.add(dt.ones(2), 1, out=e)
    assert e._version == 1
    assert tuple(other.shape) == (0,)
    with dt.no_grad():
        dt.add(dt.ones(3, requires_grad=True), 1, out=(made := dt.empty(0)))
    assert not made.requires_grad
    assert made.tolist() == [2, 2, 2]


def test_views_and_what_has_elements_are_not_resized() -> None:
    for out in (dt.empty(4)[:0], dt.empty(3)):
        with pytest.raises(ShapeError, match="needed"):
            dt.add(dt.ones(2), 1, out=out)
