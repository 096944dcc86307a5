"""Distributions that are mapped, maps that remember, and families of users'."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import mpmath
import pytest
from dovetail.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
from dovetail.distributions.relaxed_categorical import ExpRelaxedCategorical

import dovetail as dt
from dovetail import distributions as dist
from dovetail.distributions import transforms as maps


@pytest.mark.parametrize("value", [1e-3, 0.4, 2.0, 30.0, 400.0])
def test_gamma_values_have_their_shares(value: float) -> None:
    """Of Gamma, Chi2 and InverseGamma, in mpmath's numbers, also far in the tail."""
    x = dt.tensor(value, dtype=dt.float64)
    a, rate = dt.tensor([0.3, 2.5, 40.0], dtype=dt.float64), 1.7

    def share(shape: Any, upto: Any, above: bool = False) -> float:
        limits = (upto, mpmath.inf) if above else (0, upto)
        return float(mpmath.gammainc(shape, *limits, regularized=True))

    for made, wanted in (
        (dist.Gamma(a, rate), lambda s: share(s, rate * value)),
        (dist.InverseGamma(a, rate), lambda s: share(s, rate / value, True)),
        (dist.Chi2(2 * a), lambda s: share(s, value / 2)),
    ):
        found = made.cdf(x)
        for got, shape in zip(found.tolist(), a.tolist(), strict=True):
            assert got == pytest.approx(wanted(shape), rel=1e-10, abs=1e-300)
    slope = dt.tensor(1.5, dtype=dt.float64, requires_grad=True)
    made = dist.Gamma(a, rate)
    made.cdf(slope).sum().backward()
    dt.testing.assert_close(slope.grad, made.log_prob(slope.detach()).exp().sum())


def test_wishart_divergences() -> None:
    """Of 1 by 1 matrices, those of Gamma; of equal ones 0; else what samples say."""
    df, v = dt.tensor([3.0, 4.5]).double(), dt.tensor([0.7, 2.0]).double()
    one = [
        dist.Wishart(d, covariance_matrix=s[:, None, None])
        for d, s in ((df, v), (df + 1, v * 2))
    ]
    gamma = [dist.Gamma(d / 2, 0.5 / s) for d, s in ((df, v), (df + 1, v * 2))]
    found = dist.kl_divergence(*one)
    dt.testing.assert_close(found, dist.kl_divergence(*gamma))
    dt.testing.assert_close(dist.kl_divergence(one[0], one[0]), dt.zeros(2).double())
    dt.manual_seed(1)
    a = dt.randn(2, 3, 3).double()
    spread = a @ a.mT + dt.eye(3).double()
    p = dist.Wishart(dt.tensor(5.0).double(), spread[0])
    q = dist.Wishart(dt.tensor(7.0).double(), precision_matrix=spread[1].inverse())
    drawn = p.sample((40000,))
    told = (p.log_prob(drawn) - q.log_prob(drawn)).mean()
    dt.testing.assert_close(dist.kl_divergence(p, q), told, rtol=0.02, atol=0.0)
    assert dist.kl_divergence(q, p) >= 0


def test_families_of_users_have_entropies_and_divergences() -> None:
    """By what they say of themselves, with gradients; without it they refuse."""

    class Waits(dist.ExponentialFamily):
        """Exponential values, as an author writes them."""

        def __init__(self, rate: Any) -> None:
            self.rate = rate
            super().__init__(rate.shape, validate_args=False)

        @property
        def _natural_params(self) -> Any:
            return (-self.rate,)

        def _log_normalizer(self, *natural_params: Any) -> Any:
            return -(-natural_params[0]).log()

        _mean_carrier_measure = 0

    rates = [dt.tensor([0.5, 2.0]).double(), dt.tensor([1.5, 0.3]).double()]
    own = [Waits(rate) for rate in rates]
    known = [dist.Exponential(rate) for rate in rates]
    dt.testing.assert_close(dist.kl_divergence(*own), dist.kl_divergence(*known))
    dt.testing.assert_close(own[0].entropy(), known[0].entropy())

    class Silent(dist.ExponentialFamily):
        """One that says nothing."""

    class Other(Silent):
        """Of another class."""

    for call in (
        lambda: Silent().entropy(), lambda: dist.kl_divergence(Silent(), Silent()),
        lambda: dist.kl_divergence(Silent(), Other()),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError):
            call()


def test_samples_by_their_older_name() -> None:
    """With PyTorch's warning, and the same shape."""
    normal = dist.Normal(dt.zeros(3), 1.0)
    with pytest.warns(FutureWarning, match="sample_n"):
        assert normal.sample_n(4).shape == (4, 3)


# ---- relaxed values


def test_relaxed_values_are_maps_of_logits() -> None:
    """Their bases are distributions on their own, whose density maps to theirs."""
    t = dt.tensor(0.6).double()
    coin = dist.RelaxedBernoulli(t, dt.tensor([0.2, 0.7]).double())
    assert isinstance(coin, dist.TransformedDistribution)
    assert isinstance(coin.base_dist, LogitRelaxedBernoulli)
    x = dt.tensor([0.3, 0.9]).double()
    logit = dt.logit(x)
    slope = -(x * (1 - x)).log()
    want = coin.base_dist.log_prob(logit) + slope
    dt.testing.assert_close(coin.log_prob(x), want)
    hot = dist.RelaxedOneHotCategorical(t, logits=dt.randn(2, 4).double())
    assert isinstance(hot.base_dist, ExpRelaxedCategorical)
    row = hot.sample()
    dt.testing.assert_close(row.sum(-1), dt.ones(2).double())
    want = hot.base_dist.log_prob(row.log()) - row.log().sum(-1)
    dt.testing.assert_close(hot.log_prob(row), want)
    for made in (coin, hot):
        wide = made.expand((3, 2))
        assert type(wide) is type(made)
        assert wide.rsample().shape[:2] == (3, 2)
        assert wide.temperature is t
        assert wide.probs.shape[:2] == (3, 2)


@pytest.mark.parametrize("dtype", [dt.float32, dt.float64])
def test_relaxed_values_stay_within(dtype: Any) -> None:
    """However cold it is, and whatever the odds: each sample has a density."""
    limits = dt.finfo(dtype)
    for p in (0.0, 1e-30, 0.5, 1.0):
        coin = dist.RelaxedBernoulli(
            dt.tensor(1e-3, dtype=dtype), dt.full((1000,), p, dtype=dtype)
        )
        x = coin.sample()
        assert limits.tiny <= x.min().item()
        assert x.max().item() <= 1 - limits.eps
        assert dt.isfinite(coin.base_dist.sample()).all()


def test_sigmoids_have_inverses_everywhere() -> None:
    """No end of 0 ... 1 is reached, nor leads to infinity."""
    sigmoid = maps.SigmoidTransform()
    for dtype in (dt.float32, dt.float64, dt.float16):
        limits = dt.finfo(dtype)
        far = sigmoid(dt.tensor([-1e4, 1e4], dtype=dtype))
        assert far.tolist() == [limits.tiny, 1 - limits.eps]
        ends = sigmoid.inv(dt.tensor([0.0, 1.0], dtype=dtype))
        assert dt.isfinite(ends).all()
        assert ends[0] < -5 < 5 < ends[1]


# ---- maps that remember

MAPS = {
    "exp": maps.ExpTransform(), "affine": maps.AffineTransform(1.0, 2.0),
    "power": maps.PowerTransform(dt.tensor(2.0)),
    "reshape": maps.ReshapeTransform((2,), (1, 2)),
    "independent": maps.IndependentTransform(maps.ExpTransform(), 1),
    "compose": maps.ComposeTransform([maps.ExpTransform(), maps.AffineTransform(0, 2)]),
    "cat": maps.CatTransform([maps.ExpTransform(), maps.TanhTransform()], 0, [1, 1]),
    "stack": maps.StackTransform([maps.ExpTransform(), maps.SigmoidTransform()]),
    "cumulative": maps.CumulativeDistributionTransform(dist.Normal(0.0, 1.0)),
    "inverse": maps.ExpTransform().inv,
}  # fmt: skip


@pytest.mark.parametrize("name", MAPS)
def test_maps_may_remember_their_last_value(name: str) -> None:
    """The inverse of what they gave is what they got, the very tensor; and back."""
    plain = MAPS[name]
    kept = plain.with_cache()
    assert kept.with_cache() is kept or name == "inverse"
    assert kept == plain or name in ("cumulative", "inverse")
    x = dt.tensor([0.3, 0.6])
    y = kept(x)
    assert kept(x) is y
    assert kept.inv(y) is x
    dt.testing.assert_close(y, plain(x))
    z = y.clone()
    again = kept.inv(z)
    assert again is not x
    assert kept(again) is z
    dt.testing.assert_close(again, x)
    assert plain.inv(plain(x)) is not x
    copied = pickle.loads(pickle.dumps(copy.deepcopy(kept)))
    dt.testing.assert_close(copied(x), y)
    assert kept.with_cache(0).inv(kept.with_cache(0)(x)) is not x


def test_densities_ask_no_inverse_of_what_is_remembered() -> None:
    """A map without one has a density of its own samples."""

    class OneWay(maps.Transform):
        """exp(x), which nobody can undo."""

        def _call(self, x: Any) -> Any:
            return x.exp()

        def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
            return x

    base = dist.Normal(dt.zeros(2), 1.0)
    made = dist.TransformedDistribution(base, OneWay(cache_size=1))
    y = made.rsample()
    dt.testing.assert_close(made.log_prob(y), dist.LogNormal(0.0, 1.0).log_prob(y))
    with pytest.raises(NotImplementedError):
        made.log_prob(y.clone())
    with pytest.raises(ValueError, match="cache_size"):
        maps.ExpTransform(2)


def _stick(x: Any) -> Any:
    stick = dt.distributions.StickBreakingTransform()
    return stick.log_abs_det_jacobian(x[None], stick(x[None]))


AT_ZERO: dict[str, tuple[Any, float]] = {
    "Bernoulli": (
        lambda x: dt.distributions.Bernoulli(logits=x).log_prob(dt.tensor(0.0)),
        -0.5,
    ),
    "Bernoulli's probs": (
        lambda x: dt.distributions.Bernoulli(x + 0.5).log_prob(dt.tensor(0.0)),
        -2.0,
    ),
    "NegativeBinomial": (
        lambda x: dt.distributions.NegativeBinomial(3.0, logits=x).log_prob(
            dt.tensor(1.0)
        ),
        -1.0,
    ),
    "TanhTransform": (
        lambda x: dt.distributions.TanhTransform().log_abs_det_jacobian(x, x), 0.0,
    ),
    "SoftplusTransform": (dt.distributions.SoftplusTransform(), 0.5),
    "StickBreakingTransform": (_stick, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", AT_ZERO)
def test_slopes_where_logits_are_zero(name: str) -> None:
    """There the parts of log(1 + exp(x)) have kinks, and the whole has none."""
    function, want = AT_ZERO[name]
    x = dt.zeros((), requires_grad=True)
    function(x).sum().backward()
    assert x.grad is not None
    assert abs(x.grad.item() - want) < 1e-6


@pytest.mark.parametrize("end", [0.0, 1.0])
def test_divergences_of_certain_chances_have_slopes(end: float) -> None:
    """A chance that rounds to an end is no NaN in the gradients of others."""
    chance = dt.tensor([end, 0.5], requires_grad=True)
    other = dt.distributions.Bernoulli(dt.tensor([0.25, 0.25]))
    found = dt.distributions.kl_divergence(dt.distributions.Bernoulli(chance), other)
    found.sum().backward()
    assert chance.grad is not None
    assert abs(chance.grad[1].item() - 1.0986123) < 1e-5
    assert chance.grad.isfinite().all()
    certain = dt.distributions.Bernoulli(dt.tensor(end))
    assert dt.distributions.kl_divergence(certain, certain).item() == 0
    sure = dt.distributions.Bernoulli(dt.tensor(1 - end))
    assert dt.distributions.kl_divergence(certain, sure).item() == float("inf")


@pytest.mark.parametrize(
    ("p", "q", "want"),
    [(1e-10, 1e-12, 3.615170e-10), (0.5, 1e-30, 33.845629), (1e-20, 0.5, 0.6931472)],
)
def test_divergences_of_small_chances_have_their_digits(
    p: float, q: float, want: float
) -> None:
    """Below the format's precision a chance is no other one's."""
    bernoulli = dt.distributions.Bernoulli
    found = dt.distributions.kl_divergence(
        bernoulli(dt.tensor(p)), bernoulli(dt.tensor(q))
    )
    assert found.item() == pytest.approx(want, rel=1e-5)
    logits = [dt.logit(dt.tensor(v, dtype=dt.float64)) for v in (p, q)]
    by_logits = [bernoulli(logits=v) for v in logits]
    assert dt.distributions.kl_divergence(*by_logits).item() == pytest.approx(
        want, rel=1e-5
    )
