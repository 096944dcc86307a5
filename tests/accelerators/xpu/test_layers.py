"""What layers call on SYCL devices: products, embeddings, losses, attention."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dovetail as dt
import dovetail.nn.functional as F
from dovetail.conformance.workloads import hot
from dovetail.device_api import registry
from dovetail.ops.attention import attention, mixture, mixture_backward

pytestmark = pytest.mark.usefixtures("xpu")


def numbers(*shape: int) -> Any:
    """Some numbers, always the same."""
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def expect_alike(make: Callable[[str], list[dt.Tensor]]) -> None:
    """A function gives on both devices what is alike, to a part of the largest."""
    for found, expected in zip(make("xpu"), make("cpu"), strict=True):
        assert found.shape == expected.shape
        given = [x.detach().cpu().double().numpy() for x in (found, expected)]
        largest = max(1.0, abs(given[1]).max(initial=0.0))
        np.testing.assert_allclose(*given, rtol=1e-4, atol=1e-6 * largest)


def test_what_models_spend_their_steps_in_has_kernels() -> None:
    """Forward and backward, as level 2 of the kit asks."""
    table = registry.load("xpu").table
    assert [op for op in hot() if not table.select(op, dt.float32)] == []


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((4,), (4,)), ((4,), (4, 3)), ((2, 4), (4,)), ((4,), (2, 4, 3)),
        ((2, 1, 3, 4), (5, 4, 2)), ((2, 3, 4), (4, 2)), ((0, 3, 4), (4, 2)),
        ((3, 0), (0, 2)), ((7, 20, 33), (33, 40)),
    ],
)  # fmt: skip
def test_products_have_any_rank(left: Any, right: Any) -> None:
    """Vectors, matrices, and batches that are repeated."""
    expect_alike(
        lambda d: [
            dt.tensor(numbers(*left), device=d) @ dt.tensor(numbers(*right), device=d)
        ]
    )


def test_leading_dims_of_products_are_read_where_they_are() -> None:
    """Where they lie as one, and where they do not."""

    def products(device: str) -> list[dt.Tensor]:
        x, w = (dt.tensor(numbers(*s), device=device) for s in ((6, 5, 8), (8, 3)))
        views = x[::2], x[:, ::2], x.transpose(0, 1), x[:, :1].expand(6, 4, 8)
        return [v @ w for v in views] + [v @ w.expand(v.shape[0], 8, 3) for v in views]

    expect_alike(products)


@pytest.mark.parametrize("bias", [(5,), (1,), None])
def test_linear_layers_add_their_bias(bias: Any) -> None:
    """To inputs of any rank, with their gradients."""

    def applied(device: str) -> list[dt.Tensor]:
        shapes = (2, 3, 4), (5, 4), bias
        given = [
            dt.tensor(numbers(*s), device=device, requires_grad=True)
            for s in shapes if s
        ]  # fmt: skip
        y = F.linear(*given)
        (y * y).sum().backward()
        return [y, *[x.grad for x in given if x.grad is not None]]

    expect_alike(applied)


def test_embeddings_add_up_their_gradients() -> None:
    """Rows that are named more than once, by indices that lie in any way."""

    def looked_up(device: str) -> list[dt.Tensor]:
        weight = dt.tensor(numbers(6, 3), device=device, requires_grad=True)
        indices = dt.tensor([[0, 2, 2], [5, 2, 1]], device=device).t()
        y = F.embedding(indices, weight)
        (y * y).sum().backward()
        assert weight.grad is not None
        return [y, weight.grad]

    expect_alike(looked_up)
    with pytest.raises(IndexError, match="embedding"):
        F.embedding(dt.tensor([6], device="xpu"), dt.ones(6, 3, device="xpu")).cpu()


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(9,), (70, 9), (3, 9, 2, 4), (2, 300)])
def test_cross_entropy_and_its_gradients(
    shape: Any, weighted: bool, reduction: str
) -> None:
    """Of one sample, of many, of images; some samples do not count."""
    classes = shape[0] if len(shape) == 1 else shape[1]
    places = (*shape[:1], *shape[2:]) if len(shape) > 1 else ()
    labels = np.random.default_rng(5).integers(0, 9, places)
    if places:
        labels[0] = 2

    def losses(device: str) -> list[dt.Tensor]:
        x = dt.tensor(9 * numbers(*shape), device=device, requires_grad=True)
        weight = dt.tensor(abs(numbers(classes)), device=device) if weighted else None
        target = dt.tensor(labels, device=device)
        options: Any = {"ignore_index": 2 if places else -100, "reduction": reduction}
        y = F.cross_entropy(x, target, weight, **options)
        (y * y).sum().backward()
        plain = F.cross_entropy(x.detach(), target, weight, **options)
        assert x.grad is not None
        return [y, plain, x.grad]

    expect_alike(losses)


def test_classes_that_there_are_not_are_refused() -> None:
    """At the next wait."""
    x = dt.zeros(2, 3, device="xpu")
    with pytest.raises(IndexError, match="cross_entropy"):
        F.cross_entropy(x, dt.tensor([0, 3], device="xpu")).cpu()


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3, 4, 8), (2, 3, 5, 8), (2, 3, 5, 6), None),
        ((2, 1, 3, 2), (4, 2), (3, 4, 2), (4,)),
        ((2, 1, 3, 2), (1, 4, 2), (4, 2), (5, 1, 4)),
        ((40, 33), (70, 33), (70, 9), (40, 70)),
        ((3, 2), (0, 2), (0, 4), None),
    ],
)
def test_attention_mixes_values(shapes: Any, causal: bool) -> None:
    """With batches that are repeated, masks, and more keys than a block has threads."""
    expect_alike(
        lambda d: list(
            attention(
                *[s if s is None else dt.tensor(numbers(*s), device=d) for s in shapes],
                causal, 0.3,
            )
        )
    )  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("shapes", [((4, 3), None), ((2, 5, 70, 8), (70, 70))])
def test_mixtures_send_gradients_back(shapes: Any, causal: bool) -> None:
    """To queries, keys and values; in float64, of which little is lost to weights near
    one."""

    def sent(device: str) -> list[dt.Tensor]:
        made = [s and numbers(*s).astype(np.float64) for s in shapes]
        q, k, v, ct = (dt.tensor(made[0], device=device) for _ in range(4))
        mask = None if made[1] is None else dt.tensor(made[1], device=device)
        y = mixture(q + 1, k - 1, v, mask, causal, 0.4)
        return [y, *mixture_backward(ct, q + 1, k - 1, v, mask, causal, 0.4)]

    expect_alike(sent)


def test_queries_without_keys_get_zeros() -> None:
    """Where a mask hides all of them."""
    mask = dt.tensor([[-float("inf")] * 3, [0.0] * 3], device="xpu")
    q, k, v = (dt.tensor(numbers(n, 4), device="xpu") for n in (2, 3, 3))
    y, weights = attention(q, k, v, mask, False, 1.0)
    assert y[0].tolist() == [0.0] * 4
    assert abs(float(weights[1].sum()) - 1) < 1e-6
