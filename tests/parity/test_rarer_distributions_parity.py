"""Rarer distributions, their maps and divergences, beside torch's; gamma gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest
import torch

import dovetail
from dovetail.distributions.gamma_gradient import gamma_slope

Make = Callable[[Any, Any], Any]
POSITIVE = [0.3, 1.0, 2.5, 7.0]
UNIT = [0.05, 0.3, 0.4999, 0.95]
ROWS = [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]]
FACTOR = [[1.5, 0.0], [-0.5, 0.8]]
MATRIX = [[2.0, 0.5], [0.5, 1.0]]
PAIR = [[1.5, 0.2], [0.2, 0.8]]

CASES: dict[str, tuple[Make, Any]] = {
    "ContinuousBernoulli": (lambda d, t: d.ContinuousBernoulli(t(UNIT)), UNIT),
    "ContinuousBernoulli logits": (
        lambda d, t: d.ContinuousBernoulli(logits=t([-1.5, 0.0, 0.5, 3.0])), UNIT,
    ),
    "RelaxedBernoulli": (lambda d, t: d.RelaxedBernoulli(t(0.7), t(UNIT)), UNIT),
    "RelaxedOneHotCategorical": (
        lambda d, t: d.RelaxedOneHotCategorical(t(0.7), t(ROWS)), ROWS,
    ),
    "LogisticNormal": (
        lambda d, t: d.LogisticNormal(t([0.1, -0.3]), t([1.0, 0.5])), ROWS,
    ),
    "LKJCholesky": (
        lambda d, t: d.LKJCholesky(3, t([0.7, 2.0])),
        [[[1.0, 0, 0], [0.6, 0.8, 0], [0, 0.6, 0.8]]] * 2,
    ),
    "Wishart": (lambda d, t: d.Wishart(t([3.0, 5.0]), scale_tril=t(FACTOR)), MATRIX),
    "Wishart covariance": (lambda d, t: d.Wishart(t(3.0), t(PAIR)), MATRIX),
    "Wishart precision": (
        lambda d, t: d.Wishart(t(3.0), precision_matrix=t(PAIR)), MATRIX,
    ),
    "MultivariateNormal": (
        lambda d, t: d.MultivariateNormal(t([0.5, -1.0]), t(PAIR)), [[0.1, 0.2]],
    ),
    "LowRankMultivariateNormal": (
        lambda d, t: d.LowRankMultivariateNormal(
            t([0.5, -1.0, 0.2]), t([[1.0, 0.2], [0.3, 0.4], [-0.5, 1.0]]),
            t([0.5, 1.0, 2.0]),
        ), [[0.1, 0.2, 0.3], [1.0, -1.0, 2.0]],
    ),
}  # fmt: skip
ASKED: dict[str, Callable[[Any, Any], Any]] = {
    "log_prob": lambda d, x: d.log_prob(x),
    "wider": lambda d, x: d.expand((5, 1, *d.batch_shape)).log_prob(x),
    "mean": lambda d, x: d.mean,
    "variance": lambda d, x: d.variance,
    "entropy": lambda d, x: d.entropy(),
    "cdf": lambda d, x: d.cdf(x),
    "icdf": lambda d, x: d.icdf(x),
    "scale_tril": lambda d, x: d.scale_tril,
    "precision_matrix": lambda d, x: d.precision_matrix,
}


def array(frame: Any) -> Callable[[Any], Any]:
    return lambda values: frame.tensor(values, dtype=frame.float64)


def answer(frame: Any, ask: Callable[[Any, Any], Any]) -> Any:
    """What is answered, None where there is no formula."""
    try:
        return ask(frame.distributions, array(frame)).detach().numpy()
    except (NotImplementedError, AttributeError):
        return None


def same(ask: Callable[[Any, Any], Any], rtol: float = 1e-9) -> bool:
    """Whether torch has an answer, which ours then equals."""
    theirs = answer(torch, ask)
    if theirs is None:
        return False
    ours = answer(dovetail, ask)
    assert ours is not None
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-12)
    return True


@pytest.mark.parametrize("case", CASES)
def test_answers_are_torchs(case: str) -> None:
    """Densities, moments, entropies, wherever torch has a formula."""
    make, values = CASES[case]
    asked = [
        same(lambda d, t, ask=ask: ask(make(d, t), t(values)), 1e-7)
        for ask in ASKED.values()
    ]
    assert sum(asked) >= 2


def test_generalized_pareto_is_scipys() -> None:
    """Whose formulas are right in double precision, too."""
    from scipy.stats import genpareto

    k, scale, x = [-0.4, 0.0, 0.3, 0.8], POSITIVE, [0.6, 1.0, 2.0, 3.0]
    t = array(dovetail)
    ours = dovetail.distributions.GeneralizedPareto(t(0.5), t(scale), t(k))
    theirs = genpareto(k, 0.5, scale)
    for name, other in (
        ("log_prob", "logpdf"), ("cdf", "cdf"), ("log_survival_function", "logsf"),
    ):  # fmt: skip
        found = getattr(ours, name)(t(x)).numpy()
        np.testing.assert_allclose(found, getattr(theirs, other)(x), rtol=1e-9)
    np.testing.assert_allclose(ours.icdf(t(UNIT)).numpy(), theirs.ppf(UNIT), rtol=1e-9)
    for name, other in (("mean", theirs.mean()), ("variance", theirs.var())):
        np.testing.assert_allclose(getattr(ours, name).numpy(), other, rtol=1e-9)
    np.testing.assert_allclose(ours.entropy().numpy(), theirs.entropy(), rtol=1e-9)


def test_angles_are_scipys() -> None:
    """Densities of von Mises' distribution, and its circular variance."""
    from scipy.stats import vonmises

    t, x = array(dovetail), [0.1, -2.0, 3.0, 1.0]
    ours = dovetail.distributions.VonMises(t([0.5, -1.0, 2.0, 0.0]), t(POSITIVE))
    theirs = vonmises(POSITIVE, [0.5, -1.0, 2.0, 0.0])
    np.testing.assert_allclose(ours.log_prob(t(x)).numpy(), theirs.logpdf(x), rtol=1e-9)
    dovetail.manual_seed(2)
    drawn = ours.sample((20000,)).numpy()
    spread = 1 - np.cos(drawn - ours.loc.numpy()).mean(0)
    np.testing.assert_allclose(spread, ours.variance.numpy(), atol=0.02)
    assert np.abs(drawn).max() <= math.pi


DRAWN = {
    name: make for name, (make, _) in CASES.items()
    if name not in ("RelaxedBernoulli", "RelaxedOneHotCategorical", "LogisticNormal")
    and "LKJ" not in name
}  # fmt: skip


@pytest.mark.parametrize("case", DRAWN)
def test_samples_have_the_moments(case: str) -> None:
    """The mean of many samples is the mean, within six standard errors."""
    dovetail.manual_seed(7)
    d = DRAWN[case](dovetail.distributions, array(dovetail))
    x = d.sample((4000,))
    assert tuple(x.shape) == (4000, *d.batch_shape, *d.event_shape)
    error = (x.mean(0) - d.mean).abs()
    assert bool((error <= 6 * (d.variance / 4000).sqrt()).all())


def test_samples_of_classes_and_correlations() -> None:
    """Shares near the probabilities, and correlations of their known variance."""
    dovetail.manual_seed(8)
    d, t = dovetail.distributions, array(dovetail)
    hot = d.RelaxedOneHotCategorical(t(0.1), t(ROWS)).rsample((4000,))
    share = dovetail.nn.functional.one_hot(hot.argmax(-1), 3).double().mean(0)
    assert (share - t(ROWS)).abs().max().item() < 0.05
    coin = d.RelaxedBernoulli(t(0.1), t(UNIT)).rsample((4000,))
    assert ((coin > 0.5).double().mean(0) - t(UNIT)).abs().max().item() < 0.05
    factors = d.LKJCholesky(4, t([0.7, 2.0])).sample((4000,))
    assert bool(d.constraints.corr_cholesky.check(factors).all())
    squares = ((factors @ factors.mT)[..., 3, 1] ** 2).mean(0)
    assert (squares - 1 / (2 * t([0.7, 2.0]) + 3)).abs().max().item() < 0.02
    rows = d.LogisticNormal(t([0.1, -0.3]), t([1.0, 0.5])).rsample((10,))
    assert tuple(rows.shape) == (10, 3)
    assert bool(d.constraints.simplex.check(rows).all())


VECTORS, SQUARES = [[0.1, -0.4, 2.0], [0.0, 1.0, -1.0]], [[0.1, 3.0], [0.2, -0.3]]
MAPS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "stick breaking": (lambda d: d.StickBreakingTransform(), VECTORS),
    "correlations": (lambda d: d.CorrCholeskyTransform(), VECTORS),
    "triangles": (lambda d: d.LowerCholeskyTransform(), SQUARES),
    "positive definite": (lambda d: d.PositiveDefiniteTransform(), SQUARES),
    "reshape": (lambda d: d.ReshapeTransform((2, 2), (4,)), SQUARES),
    "independent": (lambda d: d.IndependentTransform(d.ExpTransform(), 1), SQUARES),
    "pieces": (
        lambda d: d.CatTransform(
            [d.ExpTransform(), d.TanhTransform()], dim=-1, lengths=[1, 2]
        ), VECTORS,
    ),
    "slices": (
        lambda d: d.StackTransform([d.ExpTransform(), d.TanhTransform()], -1), SQUARES,
    ),
    "probabilities": (
        lambda d: d.CumulativeDistributionTransform(d.Normal(0.0, 1.0)), VECTORS,
    ),
    "composed": (
        lambda d: d.ComposeTransform(
            [d.AffineTransform(1.0, 2.0), d.StickBreakingTransform()]
        ), VECTORS,
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MAPS)
def test_maps_are_torchs(case: str) -> None:
    """Values, inverses, slopes and shapes."""
    make, values = MAPS[case]
    assert same(lambda d, t: make(d)(t(values)))
    assert same(lambda d, t: make(d).inv(make(d)(t(values))))
    slopes = same(
        lambda d, t: make(d).log_abs_det_jacobian(t(values), make(d)(t(values)))
    )
    assert slopes or case in ("triangles", "positive definite")
    assert same(lambda d, t: t(list(make(d).forward_shape(t(values).shape))))
    assert same(lambda d, t: t(list(make(d).inverse_shape(make(d)(t(values)).shape))))


SETS = [
    "lower_cholesky", "positive_definite", "corr_cholesky", "simplex", "square",
    "symmetric", "lower_triangular", "positive_semidefinite",
]  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_sets_are_torchs(name: str) -> None:
    """What is in them, and the maps onto them."""
    for matrix in (
        [[1.0, 0.0], [0.6, 0.8]], MATRIX, [[1.0, 2.0], [3.0, 4.0]], [[0.5, 0.5]] * 2,
    ):  # fmt: skip
        assert same(lambda d, t, m=matrix: getattr(d.constraints, name).check(t(m)))
    real = [0.3, 0.1, -0.2] if name == "corr_cholesky" else SQUARES
    same(lambda d, t: d.transform_to(getattr(d.constraints, name))(t(real)))


@pytest.mark.parametrize("call", [
    "positive", "nonnegative", "unit_interval", "interval(-1.0, 2)", "less_than(1.5)",
    "half_open_interval(-1.0, 1.0)", "integer_interval(0, 2)", "nonnegative_integer",
    "positive_integer", "greater_than_eq(0.5)", "_IntegerLessThan(1)",
    "MixtureSameFamilyConstraint(simplex)", "independent(positive, 1)",
    "type(positive)(lower_bound=1.0)",
])  # fmt: skip
def test_sets_of_numbers_are_torchs(call: str) -> None:
    """Their classes' names, what is in them, and the maps onto them."""

    def made(d: Any) -> Any:
        return eval(call, {"type": type, **vars(d.constraints)})

    numbers = [[[-1.0, 0.0, 0.5], [1.0, 2.0, 1.5]], [[0.2, 0.3, 0.5], [0.0, 0.0, 1.0]]]
    assert same(lambda d, t: made(d).check(t(numbers)))
    theirs, ours = (made(lib.distributions) for lib in (torch, dovetail))
    assert (ours.is_discrete, ours.event_dim) == (theirs.is_discrete, theirs.event_dim)
    if "independent" not in call and "Mixture" not in call:
        assert repr(ours) == repr(theirs)
        assert type(ours).__name__ == type(theirs).__name__
        same(lambda d, t: d.biject_to(made(d))(t([0.3, -2.0])))


def test_sets_may_be_registered() -> None:
    """A class of the user's gets the map that was registered for it."""
    d = dovetail.distributions

    class Even(d.constraints.Constraint):
        def check(self, value: Any) -> Any:
            return value % 2 == 0

    d.biject_to.register(Even, lambda c: d.AffineTransform(0.0, 2.0))
    assert d.biject_to(Even())(dovetail.tensor(3.0)).item() == 6.0
    with pytest.raises(NotImplementedError, match="registered"):
        d.transform_to(Even())

    class Own(d.Distribution):
        @d.constraints.dependent_property(is_discrete=True)
        def support(self) -> Any:
            return Even()

    assert isinstance(Own((), ()).support, Even)
    assert d.constraints.is_dependent(Own.support)


KINDS: dict[str, Make] = {
    "Bernoulli": lambda d, t: d.Bernoulli(t(0.3)),
    "Poisson": lambda d, t: d.Poisson(t(2.0)),
    "Binomial": lambda d, t: d.Binomial(3, t(0.3)),
    "Beta": lambda d, t: d.Beta(t(2.0), t(3.0)),
    "ContinuousBernoulli": lambda d, t: d.ContinuousBernoulli(t(0.3)),
    "Exponential": lambda d, t: d.Exponential(t(2.0)),
    "Gamma": lambda d, t: d.Gamma(t(2.0), t(1.5)),
    "Normal": lambda d, t: d.Normal(t(0.5), t(2.0)),
    "Pareto": lambda d, t: d.Pareto(t(0.2), t(2.5)),
    "Uniform": lambda d, t: d.Uniform(t(0.3), t(0.9)),
    "wide Uniform": lambda d, t: d.Uniform(t(-1.0), t(3.0)),
    "Gumbel": lambda d, t: d.Gumbel(t(0.5), t(2.0)),
    "Laplace": lambda d, t: d.Laplace(t(0.5), t(2.0)),
    "Cauchy": lambda d, t: d.Cauchy(t(0.5), t(2.0)),
    "HalfNormal": lambda d, t: d.HalfNormal(t(2.0)),
    "LogNormal": lambda d, t: d.LogNormal(t(0.1), t(1.0)),
    "low rank": CASES["LowRankMultivariateNormal"][0],
    "vectors": lambda d, t: d.MultivariateNormal(
        t([0.1, 0.2, 0.3]), scale_tril=t([[1.0, 0, 0], [0.2, 1.0, 0], [0.3, 0.1, 2.0]])
    ),
}


@pytest.mark.parametrize("first", KINDS)
def test_divergences_are_torchs(first: str) -> None:
    """Of every two kinds that torch has one for."""
    found = [
        same(lambda d, t, o=o: d.kl_divergence(KINDS[first](d, t), o(d, t)), 1e-7)
        for o in KINDS.values()
    ]
    assert any(found)


SHAPES = [1e-3, 0.1, 0.5, 1.0, 2.5, 10.0, 100.0, 5000.0, 1.1e4, 1e5]


def slope(x: float, a: float) -> float:
    """-dP(a, x)/da over the density, in 40 digits."""
    with mpmath.workdps(40):
        at, shape = mpmath.mpf(x), mpmath.mpf(a)
        step = mpmath.mpf(10) ** -15 * max(shape, 1)
        below, above = (
            mpmath.gammainc(shape + s, 0, at, regularized=True) for s in (-step, step)
        )
        density = at ** (shape - 1) * mpmath.exp(-at) / mpmath.gamma(shape)
        return float((below - above) / (2 * step) / density)


@pytest.mark.parametrize("a", SHAPES)
def test_slopes_of_gamma_values(a: float) -> None:
    """At values far below and above the mean, as arithmetic in 40 digits has them."""
    places = [a + z * a**0.5 for z in (-4, -1, 0, 0.9, 1.1, 3, 6)]
    x = [p if p > 0 else a * 10.0**-i for i, p in enumerate(places)]
    t = array(dovetail)
    found = gamma_slope(t(x), dovetail.full((7,), a, dtype=dovetail.float64))
    np.testing.assert_allclose(found.numpy(), [slope(p, a) for p in x], rtol=1e-8)


FAMILY: dict[str, tuple[Make, list[float]]] = {
    "Gamma": (lambda d, x: d.Gamma(x[0], x[1]), [0.7, 2.0]),
    "Chi2": (lambda d, x: d.Chi2(x[0]), [3.0]),
    "InverseGamma": (lambda d, x: d.InverseGamma(x[0], x[1]), [6.0, 2.0]),
    "Beta": (lambda d, x: d.Beta(x[0], x[1]), [0.8, 2.5]),
    "FisherSnedecor": (lambda d, x: d.FisherSnedecor(x[0], x[1]), [3.0, 12.0]),
    "Dirichlet": (lambda d, x: d.Dirichlet(x), [0.6, 1.5, 3.0]),
    "Wishart": (
        lambda d, x: d.Wishart(x[0], scale_tril=array(dovetail)(FACTOR)), [4.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", FAMILY)
def test_mean_gradients_are_gradients_of_the_mean(case: str) -> None:
    """Within six standard errors, by every parameter."""
    dovetail.manual_seed(9)
    make, values = FAMILY[case]
    x = array(dovetail)(values).requires_grad_()
    (wanted,) = dovetail.autograd.grad(
        make(dovetail.distributions, x).mean.flatten()[0], x
    )
    many = x.detach().expand(4000, -1).clone().requires_grad_()
    columns = many if case == "Dirichlet" else many.unbind(-1)
    drawn = make(dovetail.distributions, columns).rsample()
    drawn.flatten(1)[
        :, 0
    ].sum().backward() if drawn.ndim > 1 else drawn.sum().backward()
    assert many.grad is not None
    mean, spread = many.grad.mean(0), many.grad.std(0)
    assert bool(((mean - wanted).abs() <= 6 * spread / 4000**0.5).all())


def test_degrees_of_freedom_have_gradients() -> None:
    """Of Student's distribution: those of the mean of squares."""
    dovetail.manual_seed(10)
    df = array(dovetail)([9.0]).expand(20000).clone().requires_grad_()
    drawn = dovetail.distributions.StudentT(df).rsample()
    (drawn**2).sum().backward()
    assert df.grad is not None
    wanted, spread = -2 / (9.0 - 2) ** 2, df.grad.std().item()
    assert abs(df.grad.mean().item() - wanted) <= 6 * spread / 20000**0.5


def test_shares_of_gamma_values() -> None:
    """The probabilities of values up to some, and the divergences of Wishart's."""
    found = []
    for m in (dovetail, torch):
        d = m.distributions
        x, a = (
            m.tensor(v, dtype=m.float64) for v in ([0.2, 1.5, 9.0], [0.5, 2.0, 7.0])
        )
        shares = [
            made.cdf(x) for made in (d.Gamma(a, 1.3), d.Chi2(a), d.InverseGamma(a, 1.3))
        ]
        spread = m.tensor([[2.0, 0.5], [0.5, 1.0]], dtype=m.float64)
        p = d.Wishart(m.tensor(3.0, dtype=m.float64), spread)
        q = d.Wishart(m.tensor(4.5, dtype=m.float64), spread * 2)
        found.append([*shares, d.kl_divergence(p, q)])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-9)


def test_relaxed_ends() -> None:
    """Densities at and near the ends of what relaxed values may be."""
    found = []
    for m in (dovetail, torch):
        t, p = m.tensor(0.4), m.tensor([0.0, 0.3, 1.0])
        coin = m.distributions.RelaxedBernoulli(t, p, validate_args=False)
        x = m.tensor([[1e-30], [1e-6], [0.5], [1 - 1e-6]])
        found.append(coin.log_prob(x).numpy())
        sigmoid = m.distributions.SigmoidTransform()
        found.append(sigmoid.inv(m.tensor([0.0, 1e-40, 0.3, 1.0])).numpy())
        found.append(sigmoid(m.tensor([-200.0, -3.0, 40.0])).numpy())
    for ours, theirs in zip(found[:3], found[3:], strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
