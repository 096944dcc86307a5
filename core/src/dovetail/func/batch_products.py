"""Products of batched matrices: of all rows at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.levels import all_results
from dovetail.engine.op import Op
from dovetail.engine.plan import UNSERVED
from dovetail.engine.tensor import Tensor
from dovetail.func.batch_shapes import Batched, aligned, any_batched
from dovetail.ops import matmul as products
from dovetail.ops import view as views

Kernel = Callable[..., Any]


def _bmm(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    def kernel(a: Batched, b: Batched) -> Batched:
        if not any_batched((a, b)):
            return Batched(op.call_with([a.inner, b.inner], {}), False)
        if b.batched or a.shape[0] != 1 or b.shape[0] != 1:
            return Batched(products.matmul(_wide(a), _wide(b)), True)
        # One matrix for all rows: one product.
        rows, n, m = a.inner._a.shape[0], a.shape[1], b.shape[2]
        flat = views.reshape(a.inner, (rows * n, a.shape[2]))
        y = products.matmul(flat, views.reshape(b.inner, tuple(b.shape[1:])))
        return Batched(views.reshape(y, (rows, 1, n, m)), True)

    return kernel


def _matmul(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    def kernel(a: Batched, b: Batched) -> Batched:
        batched = any_batched((a, b))
        if not batched or (not b.batched and len(b.shape) <= 2):
            return Batched(op.call_with([a.inner, b.inner], {}), batched)
        vectors = len(a.shape) == 1, len(b.shape) == 1
        left = views.unsqueeze(a.inner, -2) if vectors[0] else a.inner
        right = views.unsqueeze(b.inner, -1) if vectors[1] else b.inner
        given = Batched(left, a.batched), Batched(right, b.batched)
        rank = max(len(x.shape) for x in given)
        y = products.matmul(*[aligned(x, rank) for x in given])
        if vectors[1]:
            y = views.squeeze(y, (y.ndim - 1,))
        if vectors[0]:
            y = views.squeeze(y, (y.ndim - (1 if vectors[1] else 2),))
        return Batched(y, True)

    return kernel


def _wide(a: Batched) -> Tensor:
    """The tensor below, with one dim before the three of a batch of matrices."""
    return a.inner if a.batched else views.unsqueeze(a.inner, 0)


def _linear(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    def kernel(x: Batched, weight: Batched, bias: Batched | None) -> Any:
        if any_batched((weight, bias)):
            return UNSERVED
        given = [x.inner, weight.inner, None if bias is None else bias.inner]
        return Batched(all_results(op, given, attrs)[0], x.batched)

    return kernel


def _convolution(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    """Rows among the images where all have one weight."""

    def kernel(x: Batched, *weights: Batched | None) -> Any:
        if any_batched(weights):
            return UNSERVED
        rest = [None if w is None else w.inner for w in weights]
        if not x.batched:
            return Batched(all_results(op, [x.inner, *rest], attrs)[0], False)
        rows, images = x.inner._a.shape[:2]
        flat = views.reshape(x.inner, (rows * images, *x.shape[1:]))
        y = all_results(op, [flat, *rest], attrs)[0]
        return Batched(views.reshape(y, (rows, images, *y._a.shape[1:])), True)

    return kernel


def _embedding(backend: Any, op: Op, attrs: dict[str, Any]) -> Kernel:
    def kernel(weight: Batched, indices: Batched) -> Any:
        if weight.batched:
            return UNSERVED
        given = [weight.inner, indices.inner]
        return Batched(all_results(op, given, attrs)[0], indices.batched)

    return kernel


PRODUCTS: Final[dict[str, Any]] = {
    "bmm": _bmm, "matmul": _matmul, "linear": _linear, "convolution": _convolution,
    "convolution_transpose": _convolution, "embedding": _embedding,
}  # fmt: skip
