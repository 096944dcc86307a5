"""Softmax, norms, losses, distances and attention beside torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tests.support.beside import Pair, agree, both_refuse, same
from tests.support.seeds import restart

import dovetail as dt

F = torch.nn.functional
ft = dt.nn.functional
RNG = np.random.default_rng(0)
SERIES = 148  # of the values that cases draw
FLOATS = ("float32", "float64", "float16", "bfloat16")


@pytest.fixture(autouse=True)
def _own_values(request: pytest.FixtureRequest) -> None:
    """Each case draws by its own name, whichever others run."""
    restart(RNG, request.node.name, SERIES)


def leaf(*shape: int, dtype: str = "float32", low: float = -2, high: float = 2) -> Pair:
    return Pair(torch, RNG.uniform(low, high, shape), dtype, grad=True)


def fixed(values: Any, dtype: str = "int64") -> Pair:
    return Pair(torch, values, dtype, grad=False)


def labels(*shape: int, classes: int = 5) -> Pair:
    return fixed(RNG.integers(0, classes, shape))


@pytest.mark.parametrize("name", ["softmax", "log_softmax", "softmin"])
def test_softmax(name: str) -> None:
    """Every dim, 0-d and empty, extremes, and a dtype to cast to."""
    ours, theirs = getattr(ft, name), getattr(F, name)
    for dtype in FLOATS:
        for shape, dim in (
            ((3, 4), 0),
            ((3, 4), -1),
            ((2, 3, 4), 1),
            ((), 0),
            ((0, 3), 1),
        ):
            agree(torch, ours, theirs, [leaf(*shape, dtype=dtype)], {"dim": dim}, dtype)
    wild = fixed(
        [[1e4, -1e4, 0.0], [np.inf, 0, 1], [-np.inf, 0, 1], [-np.inf] * 3], "float32"
    )
    agree(torch, ours, theirs, [wild], {"dim": 1}, "extremes")
    both_refuse(ours, theirs, [leaf(3, 4)], {"dim": 2})
    whole = labels(2, 3)
    same(
        ours(whole.ours, dim=1, dtype=dt.float64),
        theirs(whole.theirs, dim=1, dtype=torch.float64),
        "dtype",
    )


NORMS: list[tuple[str, Any, Any]] = [
    ("layer_norm", lambda d: [leaf(3, 4, 5, dtype=d), (5,)], {}),
    (
        "layer_norm",
        lambda d: [
            leaf(3, 4, dtype=d),
            (3, 4),
            leaf(3, 4, dtype=d),
            leaf(3, 4, dtype=d),
        ],
        {"eps": 1e-2},
    ),
    (
        "layer_norm",
        lambda d: [leaf(2, 3, 6, dtype=d), (6,), leaf(6, dtype=d), None],
        {},
    ),
    ("rms_norm", lambda d: [leaf(3, 4, 5, dtype=d), (4, 5), leaf(4, 5, dtype=d)], {}),
    (
        "group_norm",
        lambda d: [leaf(2, 6, 4, dtype=d), 3, leaf(6, dtype=d), leaf(6, dtype=d)],
        {},
    ),
    ("group_norm", lambda d: [leaf(2, 8, dtype=d), 2], {}),
    # The gradient of a group of two is all cancellation: its error is that of its
    # terms, which grow as the two come close. Those of SERIES are 0.9 apart, or more.
    ("group_norm", lambda d: [leaf(2, 4, dtype=d), 2], {}),
    (
        "instance_norm",
        lambda d: [
            leaf(2, 3, 4, 2, dtype=d),
            None,
            None,
            leaf(3, dtype=d),
            leaf(3, dtype=d),
        ],
        {},
    ),
    ("local_response_norm", lambda d: [leaf(2, 6, 4, dtype=d), 3], {"alpha": 0.5}),
    ("local_response_norm", lambda d: [leaf(2, 6, 4, 2, dtype=d), 4], {}),
]


@pytest.mark.parametrize("case", range(len(NORMS)))
def test_norms(case: int) -> None:
    """Values and gradients of input, weight and bias."""
    name, args, kwargs = NORMS[case]
    for dtype in ("float32", "float64"):
        agree(torch, getattr(ft, name), getattr(F, name), args(dtype), kwargs, name)


def test_parts_of_large_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Softmax and norms of arrays that are cut to fit the cache."""
    monkeypatch.setattr("dovetail.xp.slabs.SLAB", 8)
    for shape in ((5, 4), (1, 5, 4), (3, 2, 4)):
        for name in ("softmax", "log_softmax"):
            for dim in range(len(shape)):
                given = {"dim": dim}
                args = [leaf(*shape)]
                agree(torch, getattr(ft, name), getattr(F, name), args, given, name)
        args = [leaf(*shape), (4,), leaf(4), leaf(4)]
        agree(torch, ft.layer_norm, F.layer_norm, args, {}, "layer_norm")
        channels = shape[1]
        args = [leaf(3, *shape[1:]), None, None, leaf(channels), leaf(channels), True]
        agree(torch, ft.batch_norm, F.batch_norm, args, {}, "batch_norm")


@pytest.mark.parametrize("name", ["batch_norm", "instance_norm"])
def test_running_statistics(name: str) -> None:
    """Statistics move as torch's do, and are used in evaluation."""
    for shape in (
        ((4, 3, 5), (3, 3, 2, 2)) if name[0] == "i" else ((6, 3), (4, 3, 2, 2))
    ):
        mean, var = fixed(np.zeros(3), "float32"), fixed(np.ones(3), "float32")
        weight, bias = leaf(3), leaf(3)
        for flag in (True, True, False):
            args = [leaf(*shape), mean, var, weight, bias, flag, 0.3, 1e-3]
            agree(
                torch, getattr(ft, name), getattr(F, name), args, {}, f"{name} {flag}"
            )
            same([mean.ours, var.ours], [mean.theirs, var.theirs], "statistics")
            for p in (weight, bias):
                p.ours.grad = p.theirs.grad = None


def _half(*shape: int) -> Pair:
    return leaf(*shape, low=0.05, high=0.95)


ELEMENTWISE: list[tuple[str, Any, list[dict[str, Any]]]] = [
    ("mse_loss", lambda: [leaf(3, 4), leaf(3, 4)], [{}]),
    ("l1_loss", lambda: [leaf(3, 4), leaf(3, 4)], [{}]),
    (
        "smooth_l1_loss",
        lambda: [leaf(3, 4), leaf(3, 4)],
        [{}, {"beta": 0.3}, {"beta": 0.0}],
    ),
    ("huber_loss", lambda: [leaf(3, 4), leaf(3, 4)], [{}, {"delta": 0.5}]),
    ("binary_cross_entropy", lambda: [_half(3, 4), _half(3, 4)], [{}]),
    (
        "binary_cross_entropy",
        lambda: [_half(3, 4), _half(3, 4), fixed([1.0, 2, 0, 3], "float32")],
        [{}],
    ),
    ("binary_cross_entropy_with_logits", lambda: [leaf(3, 4), _half(3, 4)], [{}]),
    (
        "binary_cross_entropy_with_logits",
        lambda: [leaf(3, 4, low=-90, high=90), _half(3, 4)],
        [
            {
                "pos_weight": fixed([1.0, 2, 0.5, 3], "float32"),
                "weight": fixed([2.0, 1, 1, 3], "float32"),
            }
        ],
    ),
    ("kl_div", lambda: [leaf(3, 4), _half(3, 4)], [{}, {"log_target": True}]),
    ("kl_div", lambda: [leaf(3), fixed([0.0, 0.5, 1], "float32")], [{}]),
    (
        "poisson_nll_loss",
        lambda: [leaf(3, 4, low=0.1), leaf(3, 4, low=0.1, high=3)],
        [{}, {"full": True}, {"log_input": False}],
    ),
    (
        "gaussian_nll_loss",
        lambda: [leaf(3, 4), leaf(3, 4), leaf(3, 4, low=0.1)],
        [{}, {"full": True}],
    ),
    ("gaussian_nll_loss", lambda: [leaf(3, 4), leaf(3, 4), leaf(3, low=0.1)], [{}]),
    (
        "hinge_embedding_loss",
        lambda: [leaf(4), fixed([1, -1, 1, -1])],
        [{}, {"margin": 0.3}],
    ),
    (
        "margin_ranking_loss",
        lambda: [leaf(4), leaf(4), fixed([1, -1, 1, -1])],
        [{}, {"margin": 0.3}],
    ),
    ("soft_margin_loss", lambda: [leaf(4), fixed([1.0, -1, 1, -1], "float32")], [{}]),
    (
        "cosine_embedding_loss",
        lambda: [leaf(4, 3), leaf(4, 3), fixed([1, -1, 1, -1])],
        [{}, {"margin": 0.2}],
    ),
    (
        "triplet_margin_loss",
        lambda: [leaf(4, 3), leaf(4, 3), leaf(4, 3)],
        [{}, {"swap": True, "p": 1.0}],
    ),
    (
        "multilabel_soft_margin_loss",
        lambda: [leaf(4, 3), fixed([[0.0, 1, 1]] * 4, "float32")],
        [{}],
    ),
    (
        "multi_margin_loss",
        lambda: [leaf(4, 5), labels(4)],
        [{}, {"p": 2, "margin": 0.4}],
    ),
]


@pytest.mark.parametrize("case", range(len(ELEMENTWISE)))
def test_losses(case: int) -> None:
    """Each reduction, with gradients of all that is differentiable."""
    name, args, options = ELEMENTWISE[case]
    for kwargs in options:
        for reduction in ("none", "mean", "sum"):
            given = {**kwargs, "reduction": reduction}
            agree(torch, getattr(ft, name), getattr(F, name), args(), given, name)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_weighted_losses(name: str) -> None:
    """A weight an element; the mean is over their sum, but for `huber_loss`."""
    for reduction in ("none", "mean", "sum"):
        weight = leaf(3, 4, low=0.5, high=2)
        given = {"reduction": reduction, "weight": weight}
        args = [leaf(3, 4), leaf(3, 4)]
        agree(torch, getattr(ft, name), getattr(F, name), args, given, name)


def test_refused_arguments_of_losses() -> None:
    """What is no loss of classes, and no distance, is refused in our words."""
    with pytest.raises(dt.errors.DovetailError, match="cross_entropy: "):
        ft.cross_entropy(dt.tensor(1.0), dt.tensor(1.0))
    x = dt.ones(2, 3)
    with pytest.raises(TypeError, match="distance_function is 'x'"):
        ft.triplet_margin_with_distance_loss(x, x, x, distance_function="x")


CLASSES: list[tuple[Any, dict[str, Any]]] = [
    (lambda: [leaf(4, 5), labels(4)], {}),
    (lambda: [leaf(5), fixed(3)], {}),
    (lambda: [leaf(4, 5), fixed([1, 2, 2, 0])], {"ignore_index": 2}),
    (lambda: [leaf(4, 5), fixed([1, -7, 2, 0])], {"ignore_index": -7}),
    (lambda: [leaf(2, 5, 3), labels(2, 3)], {}),
    (lambda: [leaf(2, 5, 3, 2), labels(2, 3, 2)], {"ignore_index": 1}),
    (lambda: [leaf(2, 5, 3), fixed([[1, 1, 1]] * 2)], {"ignore_index": 1}),
]
WEIGHT = fixed([0.5, 1.0, 2.0, 0.3, 1.5], "float32")


@pytest.mark.parametrize("name", ["nll_loss", "cross_entropy"])
@pytest.mark.parametrize("case", range(len(CLASSES)))
def test_losses_over_classes(name: str, case: int) -> None:
    """Class numbers with every reduction, weights and ignored classes."""
    args, kwargs = CLASSES[case]
    for reduction in ("none", "mean", "sum"):
        for weight in ({}, {"weight": WEIGHT}):
            given = {**kwargs, **weight, "reduction": reduction}
            agree(torch, getattr(ft, name), getattr(F, name), args(), given, str(given))
            if name == "cross_entropy":
                given["label_smoothing"] = 0.2
                agree(
                    torch, ft.cross_entropy, F.cross_entropy, args(), given, str(given)
                )


def test_cross_entropy_with_probabilities() -> None:
    """Probabilities as the target, weighted and smoothed, with their gradient."""
    for shape in ((4, 5), (5,), (2, 5, 3)):
        for reduction in ("none", "mean", "sum"):
            for more in (
                {},
                {"weight": WEIGHT},
                {"label_smoothing": 0.3, "weight": WEIGHT},
            ):
                args = [leaf(*shape), leaf(*shape, low=0, high=1)]
                given = {**more, "reduction": reduction}
                agree(torch, ft.cross_entropy, F.cross_entropy, args, given, str(given))


def test_refused_targets() -> None:
    """Classes that are none, floats for classes, and sizes that do not fit."""
    x = leaf(4, 5)
    for name in ("nll_loss", "cross_entropy"):
        ours, theirs = getattr(ft, name), getattr(F, name)
        for target in (fixed([0, 1, 5, 2]), fixed([0, -1, 1, 2])):
            both_refuse(ours, theirs, [x, target], {})
        for target in (leaf(4), labels(3), labels(4, 2)):
            with pytest.raises((RuntimeError, ValueError)):
                theirs(x.theirs, target.theirs)
            with pytest.raises(RuntimeError):
                ours(x.ours, target.ours)
        with pytest.raises(RuntimeError, match="defined for all classes"):
            ours(x.ours, labels(4).ours, weight=dt.ones(3))
    with pytest.raises(dt.errors.DTypeError, match="classes"):
        ft.cross_entropy(x.ours, dt.full((4,), float("nan")))
    for name in ("binary_cross_entropy", "binary_cross_entropy_with_logits"):
        both_refuse(getattr(ft, name), getattr(F, name), [_half(3), _half(4)], {})
    with pytest.warns(UserWarning, match="target size"):
        ft.mse_loss(dt.zeros(3, 1), dt.zeros(3))
    for name in ("mse_loss", "cross_entropy", "huber_loss"):
        with pytest.raises(ValueError, match="reduction"):
            getattr(ft, name)(dt.zeros(3), dt.zeros(3), reduction="median")


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_distances(p: float) -> None:
    """Distances of rows and of pairs, with gradients, also where they are zero."""
    agree(
        torch, dt.cdist, torch.cdist, [leaf(2, 3, 4), leaf(2, 5, 4)], {"p": p}, "cdist"
    )
    same_rows = fixed(np.ones((2, 3)), "float32")
    agree(torch, dt.cdist, torch.cdist, [same_rows, same_rows], {"p": p}, "zero")
    if p not in (0.0, float("inf")):
        args = [leaf(3, 4), leaf(3, 4)]
        agree(torch, ft.pairwise_distance, F.pairwise_distance, args, {"p": p}, "pair")


def test_cosine_similarity() -> None:
    """The cosine along a dim, broadcast."""
    for args, dim in (([leaf(3, 4), leaf(3, 4)], 1), ([leaf(2, 3, 4), leaf(3, 1)], 2)):
        agree(torch, ft.cosine_similarity, F.cosine_similarity, args, {"dim": dim}, "")


ATTENTION: list[tuple[Any, dict[str, Any]]] = [
    (lambda: [leaf(2, 3, 4), leaf(2, 5, 4), leaf(2, 5, 6)], {}),
    (
        lambda: [leaf(2, 2, 3, 4), leaf(2, 2, 3, 4), leaf(2, 2, 3, 4)],
        {"is_causal": True},
    ),
    (lambda: [leaf(2, 3, 4), leaf(2, 5, 4), leaf(2, 5, 4)], {"scale": 0.3}),
    (lambda: [leaf(2, 3, 4), leaf(2, 5, 4), leaf(2, 5, 4), leaf(3, 5)], {}),
    (
        lambda: [
            leaf(2, 3, 4),
            leaf(2, 5, 4),
            leaf(2, 5, 4),
            fixed(np.tri(3, 5), "bool"),
        ],
        {},
    ),
    (
        lambda: [leaf(2, 4, 3, 4), leaf(2, 2, 5, 4), leaf(2, 2, 5, 4)],
        {"enable_gqa": True},
    ),
]


@pytest.mark.parametrize("case", range(len(ATTENTION)))
def test_attention(case: int) -> None:
    """Masks, causality, scale and shared heads, with gradients."""
    args, kwargs = ATTENTION[case]
    agree(
        torch,
        ft.scaled_dot_product_attention,
        F.scaled_dot_product_attention,
        args(),
        kwargs,
        str(kwargs),
    )


def test_hidden_from_every_key() -> None:
    """A query that may see no key gets zeros, not NaN."""
    mask = fixed([[True, True], [False, False]], "bool")
    args = [leaf(1, 2, 3), leaf(1, 2, 3), leaf(1, 2, 3), mask]
    agree(
        torch,
        ft.scaled_dot_product_attention,
        F.scaled_dot_product_attention,
        args,
        {},
        "hidden",
    )


def test_linear() -> None:
    """Every rank of input and weight, in every float dtype."""
    for dtype in FLOATS:
        for x, w, b in (
            ((3, 4), (2, 4), (2,)),
            ((4,), (2, 4), (2,)),
            ((2, 3, 4), (5, 4), None),
            ((2, 3, 4), (4,), ()),
            ((0, 4), (2, 4), (2,)),
        ):
            args = [leaf(*x, dtype=dtype), leaf(*w, dtype=dtype)]
            args += [] if b is None else [leaf(*b, dtype=dtype)]
            agree(torch, ft.linear, F.linear, args, {}, f"{dtype} {x}")
    both_refuse(ft.linear, F.linear, [leaf(3, 4), leaf(2, 3)], {})
    both_refuse(ft.linear, F.linear, [leaf(3, 4), leaf(2, 4, dtype="float64")], {})
