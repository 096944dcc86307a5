"""Distributions beside torch's; samples beside their own moments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail

POSITIVE = [0.3, 1.0, 2.5, 7.0]
REAL = [-1.5, -0.1, 0.4, 3.0]
UNIT = [0.05, 0.3, 0.6, 0.95]
WHOLE = [0.0, 1.0, 3.0, 4.0]
ROWS = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]
FACTOR = [[1.5, 0.0], [-0.5, 0.8]]

# Parameters, and values whose probabilities are compared.
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "Normal": ({"loc": [0.5, -1.0, 2.0, 0.0], "scale": POSITIVE}, REAL),
    "Laplace": ({"loc": 0.5, "scale": POSITIVE}, REAL),
    "Cauchy": ({"loc": 0.5, "scale": POSITIVE}, REAL),
    "Gumbel": ({"loc": 0.5, "scale": POSITIVE}, REAL),
    "LogNormal": ({"loc": 0.5, "scale": [0.1, 0.5, 1.0, 0.7]}, POSITIVE),
    "HalfNormal": ({"scale": POSITIVE}, POSITIVE),
    "HalfCauchy": ({"scale": POSITIVE}, POSITIVE),
    "Uniform": ({"low": -2.0, "high": [4.0, 5.0, 6.0, 7.0]}, REAL),
    "Exponential": ({"rate": POSITIVE}, POSITIVE),
    "Weibull": ({"scale": POSITIVE, "concentration": [1.5, 1.0, 2.0, 3.0]}, POSITIVE),
    "Pareto": ({"scale": 0.25, "alpha": [1.0, 2.5, 3.0, 5.0]}, POSITIVE),
    "Kumaraswamy": (
        {"concentration1": POSITIVE, "concentration0": [2.0, 0.5, 1.5, 1.0]}, UNIT,
    ),
    "Bernoulli": ({"probs": UNIT}, [0.0, 1.0, 1.0, 0.0]),
    "Bernoulli logits": ({"logits": REAL}, [0.0, 1.0, 1.0, 0.0]),
    "Geometric": ({"probs": UNIT}, WHOLE),
    "Binomial": ({"total_count": 5, "probs": UNIT}, WHOLE),
    "NegativeBinomial": ({"total_count": POSITIVE, "logits": REAL}, WHOLE),
    "Poisson": ({"rate": [0.3, 4.0, 40.0, 900.0]}, WHOLE),
    "Categorical": ({"probs": ROWS}, [2, 0]),
    "Categorical logits": ({"logits": ROWS}, [[2, 0]]),
    "OneHotCategorical": ({"probs": ROWS}, [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]),
    "Multinomial": ({"total_count": 4, "probs": ROWS}, [[1.0, 0.0, 3.0], [4.0, 0, 0]]),
    "Gamma": ({"concentration": POSITIVE, "rate": 2.0}, POSITIVE),
    "Chi2": ({"df": POSITIVE}, POSITIVE),
    "InverseGamma": ({"concentration": POSITIVE, "rate": 2.0}, POSITIVE),
    "Beta": ({"concentration1": POSITIVE, "concentration0": 1.5}, UNIT),
    "Dirichlet": ({"concentration": [[0.4, 1.0, 3.0], [5.0, 2.0, 1.0]]}, ROWS),
    "StudentT": ({"df": [1.0, 2.5, 5.0, 9.0], "loc": 0.5, "scale": POSITIVE}, REAL),
    "FisherSnedecor": ({"df1": [1.0, 3.0, 5.0, 7.0], "df2": 6.0}, POSITIVE),
    "MultivariateNormal": (
        {"loc": [0.5, -1.0], "scale_tril": FACTOR}, [[0.0, 1.0], [2.0, -3.0]],
    ),
    "MultivariateNormal covariance": (
        {"loc": [[0.5, -1.0]], "covariance_matrix": [[2.0, 0.5], [0.5, 1.0]]},
        [[0.0, 1.0], [2.0, -3.0]],
    ),
    "MultivariateNormal precision": (
        {"loc": [0.5, -1.0], "precision_matrix": [[2.0, 0.5], [0.5, 1.0]]}, [0.0, 1.0],
    ),
}  # fmt: skip


def array(frame: Any, values: Any) -> Any:
    whole = isinstance(values, list) and "." not in repr(values)
    return frame.tensor(values, dtype=frame.int64 if whole else frame.float64)


def made(frame: Any, case: str, **more: Any) -> tuple[Any, Any]:
    """A distribution, and values."""
    parameters, values = CASES[case]
    name = case.partition(" ")[0]
    given = {
        k: v if isinstance(v, int) else array(frame, v) for k, v in parameters.items()
    }
    return getattr(frame.distributions, name)(**given, **more), array(frame, values)


def same(ours: Any, theirs: Any, rtol: float = 1e-9) -> None:
    """Equal values, NaN and infinity among them."""
    a, b = ours.detach().numpy(), theirs.detach().numpy()
    np.testing.assert_allclose(np.broadcast_to(a, b.shape), b, rtol=rtol, atol=1e-12)


def both(case: str, ask: Any) -> None:
    """What torch's answers, ours does; where it has no formula, ours may."""
    ours, theirs = (ask(*made(frame, case)) for frame in (dovetail, torch))
    same(ours, theirs)


@pytest.mark.parametrize("case", CASES)
def test_probabilities_are_torchs(case: str) -> None:
    """Of values, and of values in a larger batch."""
    both(case, lambda d, x: d.log_prob(x))
    batch = (3, 2) if "Multivariate" in case else (3, *made(torch, case)[0].batch_shape)
    both(case, lambda d, x: d.expand(batch).log_prob(x))
    (ours, _), (theirs, _) = made(dovetail, case), made(torch, case)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)


WITHOUT: dict[str, set[str]] = {
    "mode": {"Multinomial"},
    "entropy": {"NegativeBinomial", "Poisson", "FisherSnedecor"},
}


@pytest.mark.parametrize("what", ["mean", "variance", "stddev", "mode", "entropy"])
@pytest.mark.parametrize("case", CASES)
def test_moments_are_torchs(case: str, what: str) -> None:
    """Means, variances, modes and entropies, where there are formulas."""
    if (case, what) == ("Kumaraswamy", "mode"):
        return _no_value_nearby_is_likelier(made(dovetail, case)[0])
    if case in WITHOUT.get(what, ()):
        with pytest.raises(NotImplementedError, match="not there"):
            _answer(made(dovetail, case)[0], what)
        return
    ours, theirs = (_answer(made(f, case)[0], what) for f in (dovetail, torch))
    same(ours, theirs, rtol=1e-6)


def _no_value_nearby_is_likelier(d: Any) -> None:
    """torch has NaN for modes that there are."""
    known = ~d.mode.isnan()
    mode = d.mode.nan_to_num(0.5)
    highest = d.log_prob(mode.clamp(0.01, 0.99))
    assert bool(known.any())
    for step in (-1e-3, 1e-3):
        near = d.log_prob((mode + step).clamp(0.01, 0.99))
        assert bool((near <= highest)[known].all())


def _answer(distribution: Any, what: str) -> Any:
    found = getattr(distribution, what)
    return found() if callable(found) else found


BY_UNIFORM = list(CASES)[:12]


@pytest.mark.parametrize("case", BY_UNIFORM)
def test_distribution_functions_are_torchs(case: str) -> None:
    """Of values, and back from probabilities."""
    ours, theirs = (made(f, case, validate_args=False) for f in (dovetail, torch))
    same(ours[0].cdf(ours[1]), theirs[0].cdf(theirs[1]))
    same(ours[0].icdf(ours[1] * 0 + 1 / 3), theirs[0].icdf(theirs[1] * 0 + 1 / 3))


UNBOUNDED = {"Cauchy", "HalfCauchy"}


@pytest.mark.parametrize("case", [c for c in CASES if c not in UNBOUNDED])
def test_samples_have_the_moments(case: str) -> None:
    """The mean of many samples is the mean, within six standard errors."""
    dovetail.manual_seed(11)
    d, _ = made(dovetail, case)
    count = 4000
    x = d.sample((count,))
    assert tuple(x.shape) == (count, *d.batch_shape, *d.event_shape)
    assert not x.requires_grad
    if case.startswith("Categorical"):
        for i in range(3):
            share = (x == i).double().mean(0).numpy()
            assert np.abs(share - d.probs[..., i].numpy()).max() < 0.05
        return
    mean, variance = d.mean.numpy(), d.variance.numpy()
    known = np.isfinite(mean) & np.isfinite(variance)
    error = np.abs(x.double().mean(0).numpy() - mean)
    assert (error[known] <= 6 * np.sqrt(variance[known] / count)).all()


@pytest.mark.parametrize("case", BY_UNIFORM)
def test_samples_follow_the_distribution_function(case: str) -> None:
    """The share of samples below a value is its probability (Kolmogorov's test)."""
    dovetail.manual_seed(12)
    d, _ = made(dovetail, case)
    x = np.sort(d.sample((2000,)).numpy(), 0)
    reached = d.cdf(dovetail.from_numpy(x)).numpy()
    steps = (np.arange(2000) + 0.5)[:, None] / 2000
    assert np.abs(reached - steps).max() < 0.05


@pytest.mark.parametrize("case", BY_UNIFORM)
def test_samples_have_gradients(case: str) -> None:
    """By each parameter: as by differences, with the same random numbers."""
    parameters, _ = CASES[case]
    cls = getattr(dovetail.distributions, case)
    for name in parameters:
        ends = []
        for step in (0.0, 1e-6, -1e-6):
            given = {k: array(dovetail, v) for k, v in parameters.items()}
            given[name] = (given[name] + step).requires_grad_()
            dovetail.manual_seed(4)
            y = cls(**given).rsample().sum()
            ends.append((y.item(), dovetail.autograd.grad(y, given[name])[0]))
        slope = (ends[1][0] - ends[2][0]) / 2e-6
        assert ends[0][1].sum().item() == pytest.approx(slope, rel=1e-4, abs=1e-6)


KL = [
    ("Normal", {"loc": 0.0, "scale": 2.0}), ("Laplace", {"loc": 1.0, "scale": 2.0}),
    ("Exponential", {"rate": 2.0}), ("Uniform", {"low": -3.0, "high": 6.0}),
    ("Bernoulli", {"probs": 0.4}), ("Binomial", {"total_count": 5, "probs": 0.4}),
    ("Geometric", {"probs": 0.4}), ("Categorical", {"probs": [0.3, 0.3, 0.4]}),
    ("Poisson", {"rate": 3.0}), ("Gamma", {"concentration": 2.0, "rate": 3.0}),
    ("Dirichlet", {"concentration": [1.0, 2.0, 3.0]}),
    ("Beta", {"concentration1": 2.0, "concentration0": 3.0}),
    ("MultivariateNormal", {"loc": [1.0, 1.0], "scale_tril": [[1.0, 0], [0.5, 2.0]]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "other"), KL, ids=[name for name, _ in KL])
def test_divergences_are_torchs(name: str, other: dict[str, Any]) -> None:
    """Of two distributions of a kind."""
    found = []
    for frame in (dovetail, torch):
        given = {
            k: v if isinstance(v, int) else array(frame, v) for k, v in other.items()
        }
        q = getattr(frame.distributions, name)(**given)
        p = made(frame, name)[0]
        found.append(frame.distributions.kl_divergence(p, q))
    same(*found)


def test_unknown_divergences_say_so() -> None:
    """Until they are registered."""
    d = dovetail.distributions
    p, q = d.Normal(0.0, 1.0), d.Cauchy(0.0, 1.0)
    with pytest.raises(NotImplementedError, match="Normal and Cauchy"):
        d.kl_divergence(p, q)


@pytest.mark.parametrize("frame", [dovetail, torch], ids=["dovetail", "torch"])
def test_values_outside_are_refused(frame: Any) -> None:
    """Parameters and values are checked, unless one says otherwise."""
    d = frame.distributions
    with pytest.raises(ValueError, match="scale"):
        d.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="Exp"):
        d.Exponential(1.0).log_prob(frame.tensor(-1.0))
    with pytest.raises(ValueError, match=r"[Cc]at|support"):
        d.Categorical(frame.tensor([0.5, 0.5])).log_prob(frame.tensor(2))
    d.Normal(0.0, -1.0, validate_args=False)


def test_composed_distributions_are_torchs() -> None:
    """Independent dims, mixtures, and maps of several kinds."""
    for ask in (
        lambda d, t: d.Independent(d.Normal(t([0.0, 1.0]), t([1.0, 2.0])), 1).log_prob(
            t([[0.5, 0.1], [2.0, 3.0]])
        ),
        lambda d, t: d.MixtureSameFamily(
            d.Categorical(t([0.3, 0.7])), d.Normal(t([0.0, 4.0]), t([1.0, 2.0]))
        ).log_prob(t([0.5, 3.0])),
        lambda d, t: (
            d.MixtureSameFamily(
                d.Categorical(t([0.3, 0.7])), d.Normal(t([0.0, 4.0]), t([1.0, 2.0]))
            ).variance
        ),
        lambda d, t: d.TransformedDistribution(
            d.Normal(t([0.0, 1.0]), t([1.0, 2.0])),
            [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()],
        ).log_prob(t([0.2, 0.7])),
        lambda d, t: d.TransformedDistribution(
            d.Normal(t(0.0), t(1.0)), [d.AffineTransform(1.0, -2.0), d.TanhTransform()]
        ).cdf(t([-0.2, 0.7])),
        lambda d, t: d.TransformedDistribution(
            d.Uniform(t(0.5), t(2.0)), [d.PowerTransform(t(2.0)), d.ExpTransform()]
        ).icdf(t([0.2, 0.7])),
        lambda d, t: d.SoftplusTransform().log_abs_det_jacobian(t([1.0, -3.0]), None),
    ):
        found = [
            ask(frame.distributions, lambda v, frame=frame: array(frame, v))
            for frame in (dovetail, torch)
        ]
        same(*found)


@pytest.mark.parametrize("name", ["real", "positive", "unit_interval", "simplex"])
def test_maps_onto_sets_stay_in_them(name: str) -> None:
    """Any real numbers are mapped into the set."""
    d = dovetail.distributions
    constraint = getattr(d.constraints, name)
    y = d.transform_to(constraint)(array(dovetail, REAL))
    assert bool(constraint.check(y).all())
