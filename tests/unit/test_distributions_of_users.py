"""Distributions that users write, as they write them for PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest

import dovetail as torch
from dovetail.distributions import Distribution, MultivariateNormal, constraints
from dovetail.linalg import cholesky


class Point(Distribution):
    """All at one place: it has nothing but `rsample`."""

    arg_constraints = {"place": constraints.positive}  # noqa: RUF012
    has_rsample = True

    def __init__(self, place: Any, validate_args: bool | None = None) -> None:
        self.place = place
        super().__init__(place.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Any:
        return self.place * torch.ones(self._extended_shape(sample_shape))


def test_a_sample_is_what_rsample_gives_without_gradients() -> None:
    """Of a class that defines no more."""
    place = torch.tensor([1.0, 2.0], requires_grad=True)
    drawn = Point(place).sample((3,))
    assert drawn.tolist() == [[1.0, 2.0]] * 3
    assert not drawn.requires_grad
    assert Point(place).rsample().requires_grad


def test_its_parameters_are_checked() -> None:
    """By what it says of them."""
    with pytest.raises(ValueError, match="Point: place"):
        Point(torch.tensor([-1.0]))
    assert Point(torch.tensor([-1.0]), validate_args=False).place.item() == -1.0


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
def test_values_that_do_not_fit_are_refused(shape: tuple[int, ...]) -> None:
    """By the class of error that PyTorch raises."""
    with pytest.raises(ValueError, match="value is of shape"):
        torch.distributions.Normal(torch.zeros(2), 1.0).log_prob(torch.zeros(shape))
    with pytest.raises(ValueError, match="value is of shape"):
        MultivariateNormal(torch.zeros(2), torch.eye(2)).log_prob(torch.zeros(shape))


class Lazy(MultivariateNormal):
    """Its factor is a property, and its covariance asks the class above."""

    @property
    def _unbroadcasted_scale_tril(self) -> Any:
        return self._own

    @_unbroadcasted_scale_tril.setter
    def _unbroadcasted_scale_tril(self, factor: Any) -> None:
        self._own = factor

    @property
    def spread(self) -> Any:
        return super().covariance_matrix


def test_subclasses_of_normal_vectors() -> None:
    """They compute by the factor, under its name."""
    matrix = torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    made = Lazy(torch.zeros(3, 2), matrix)
    assert torch.equal(made._own, cholesky(matrix))
    torch.testing.assert_close(made.spread, matrix.expand(3, 2, 2))
    torch.testing.assert_close(made.variance, torch.tensor([[2.0, 1.0]] * 3))
    found = made.log_prob(torch.zeros(2))
    want = -math.log(2 * math.pi) - 0.5 * math.log(1.75)
    assert found.shape == (3,)
    assert abs(found[0].item() - want) < 1e-5
    with pytest.raises(AttributeError, match="nothing"):
        made.nothing  # noqa: B018


ONE, TWO = torch.tensor([0.7, 1.5]), torch.tensor([1.2, 0.4])
MAPPED = {
    "Gumbel": (ONE, TWO), "HalfCauchy": (TWO,), "HalfNormal": (TWO,),
    "InverseGamma": (ONE, TWO), "Kumaraswamy": (ONE, TWO), "LogNormal": (ONE, TWO),
    "Pareto": (ONE, TWO), "Weibull": (ONE, TWO),
}  # fmt: skip


@pytest.mark.parametrize("name", MAPPED)
def test_distributions_that_are_mapped_say_so(name: str) -> None:
    """What is mapped, and how, gives the densities of their own formulas."""
    made = getattr(torch.distributions, name)(*MAPPED[name])
    assert isinstance(made, torch.distributions.TransformedDistribution)
    again = torch.distributions.TransformedDistribution(made.base_dist, made.transforms)
    value = made.sample((4,))
    if name.startswith("Half"):  # of which the map has no inverse
        assert (again.sample((9,)) >= 0).all()
    else:
        torch.testing.assert_close(made.log_prob(value), again.log_prob(value))
    wider = made.expand((3, 2))
    assert type(wider) is type(made)
    assert wider.sample().shape == wider.base_dist.batch_shape == (3, 2)


class _Mine(torch.distributions.TransformedDistribution):
    pass


class _Own(torch.distributions.Independent):
    pass


def test_wider_ones_are_of_the_same_class() -> None:
    """Also where users derive from what is made of others."""
    normal = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    mapped = _Mine(normal, [torch.distributions.ExpTransform()])
    for made, shape in ((mapped, (3, 2)), (_Own(normal, 1), (3,))):
        wider = made.expand(shape)
        assert type(wider) is type(made)
        assert wider.batch_shape == shape
        assert wider.log_prob(wider.sample()).shape == shape


class _Marked(torch.distributions.Normal):
    """It has more of its own, which `expand` sees to before the rest is."""

    def __init__(self, loc: Any, scale: Any, mark: Any) -> None:
        self.mark = mark
        super().__init__(loc, scale)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(_Marked, _instance)
        new.mark = self.mark.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)


class _Further(_Marked):
    def __init__(self, mark: Any) -> None:
        super().__init__(0.0, 1.0, mark)


def test_wider_ones_keep_what_subclasses_made() -> None:
    """It is made in the instance that is handed up; a class that cannot says so."""
    wider = _Marked(torch.zeros(2), torch.ones(2), torch.tensor(5.0)).expand((3, 2))
    assert type(wider) is _Marked
    assert wider.mark.tolist() == [[5.0, 5.0]] * 3
    assert wider.sample().shape == wider.loc.shape == wider.batch_shape == (3, 2)
    with pytest.raises(NotImplementedError, match="an expand of its own"):
        _Further(torch.tensor(1.0)).expand((2,))


def test_what_follows_from_parameters_is_computed_once() -> None:
    """It keeps its gradient, and a wider one has its own."""
    factor = torch.tensor([[2.0, 0.0], [0.5, 1.0]], requires_grad=True)
    made = MultivariateNormal(torch.zeros(2), scale_tril=factor)
    with torch.no_grad():
        covariance = made.covariance_matrix
    assert covariance.requires_grad
    assert made.covariance_matrix is covariance
    wider = made.expand((3,)).covariance_matrix
    torch.testing.assert_close(wider, covariance.expand(3, 2, 2))


def test_inverted_transforms_undo_what_they_invert() -> None:
    """`inv` takes values back, says so, and is undone by its own `inv`."""
    exp = torch.distributions.ExpTransform()
    x = torch.tensor([-1.0, 0.0, 2.0])
    torch.testing.assert_close(exp.inv(exp(x)), x)
    assert repr(exp.inv) == "_InverseTransform(ExpTransform())"
    assert exp.inv.inv is exp


def test_samples_that_go_straight_through() -> None:
    """One class each, with the gradient of the probabilities in `rsample` alone."""
    probs = torch.tensor([0.2, 0.3, 0.5], requires_grad=True)
    made = torch.distributions.OneHotCategoricalStraightThrough(probs)
    for drawn in (made.sample((5,)), made.rsample((5,))):
        assert drawn.shape == (5, 3)
        assert set(drawn.detach().round().unique().tolist()) <= {0.0, 1.0}
        assert drawn.sum(-1).tolist() == pytest.approx([1.0] * 5)
    assert not made.sample().requires_grad
    made.rsample()[0].backward()
    assert probs.grad is not None
    assert probs.grad.abs().sum() > 0


class _Wide(torch.distributions.Normal):
    """Its `expand` is that of PyTorch's own tutorials."""

    def __init__(self, loc: Any, scale: Any, weight: Any) -> None:
        self.weight = weight
        super().__init__(loc, scale)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(_Wide, _instance)
        new.weight = self.weight.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def log_prob(self, value: Any) -> Any:
        return super().log_prob(value) * self.weight

    def sample(self, sample_shape: Any = ()) -> Any:
        return super().sample(sample_shape).abs() + 10


class _Wider(_Wide):
    def __init__(self) -> None:
        super().__init__(torch.zeros(2), torch.ones(2), torch.tensor([2.0, 3.0]))


def test_classes_fill_instances_of_derived_ones() -> None:
    """By `_get_checked_instance`, which refuses an `__init__` that it does not know."""
    made = _Wide(torch.zeros(2), torch.ones(2), torch.tensor([2.0, 3.0]))
    wider = made.expand((4, 2))
    assert type(wider) is _Wide
    assert wider.weight.shape == wider.loc.shape == wider.batch_shape == (4, 2)
    with pytest.raises(NotImplementedError, match="an expand of its own"):
        _Wider().expand((4, 2))


def test_what_is_made_of_others_asks_them() -> None:
    """By the methods that users' classes override, not by formulas below these."""
    made = _Wide(torch.zeros(2), torch.ones(2), torch.tensor([2.0, 3.0]))
    plain = torch.distributions.Normal(torch.zeros(2), torch.ones(2))
    x = torch.tensor([0.5, 1.5])
    ways = torch.distributions.Categorical(torch.ones(2))
    identity = torch.distributions.AffineTransform(0.0, 1.0)
    rows = torch.distributions.Independent(made, 1)
    mapped = torch.distributions.TransformedDistribution(made, [identity])
    mixture = torch.distributions.MixtureSameFamily(ways, made)
    each = plain.log_prob(x) * made.weight
    torch.testing.assert_close(rows.log_prob(x), each.sum())
    torch.testing.assert_close(mapped.log_prob(x), each)
    both = plain.log_prob(x[:1]) * made.weight - math.log(2)
    torch.testing.assert_close(mixture.log_prob(x[0]), both.logsumexp(0))
    for other in (rows, mapped, mixture):
        assert (other.sample((5,)) >= 10).all()
    wide = mixture.expand((3,))
    assert wide.component_distribution.weight.shape == (3, 2)
    assert wide.sample((5,)).shape == (5, 3)


class _Steps(torch.distributions.Categorical):
    """Classes by other parameters than those of the class above."""

    arg_constraints = {"height": constraints.positive}  # noqa: RUF012

    def __init__(self, height: Any) -> None:
        self.height = height
        super().__init__(torch.ones(3))


def test_parameters_beside_those_of_the_class_above_are_checked() -> None:
    """By what the derived class says of them."""
    with pytest.raises(ValueError, match="_Steps: height"):
        _Steps(torch.tensor(-1.0))
    assert _Steps(torch.tensor(1.0)).height.item() == 1.0


def test_supports_are_known_of_classes() -> None:
    """Where they depend on parameters, what all of them have in common."""
    for name, discrete, dims in (
        ("Binomial", True, 0), ("Categorical", True, 0), ("Multinomial", True, 1),
        ("Uniform", False, 0), ("Pareto", False, 0), ("LogisticNormal", False, 1),
    ):  # fmt: skip
        support = getattr(torch.distributions, name).support
        assert (support.is_discrete, support.event_dim) == (discrete, dims)
    with pytest.raises(NotImplementedError):
        torch.distributions.Independent.support.event_dim  # noqa: B018


def test_a_support_that_nothing_says() -> None:
    """Is an error to ask for, and a warning where values are checked."""

    class Nothing(Distribution):
        def log_prob(self, value: Any) -> Any:
            self._validate_sample(value)
            return value

    made = Nothing(validate_args=True)
    with pytest.raises(NotImplementedError):
        made.support  # noqa: B018
    with pytest.warns(UserWarning, match="does not define `support`"):
        made.log_prob(torch.tensor(1.0))


class _MyLogNormal(torch.distributions.LogNormal):
    """Made of what it is mapped from, past the class that it derives from."""

    def __init__(self, base: Any) -> None:
        exp = torch.distributions.ExpTransform()
        super(torch.distributions.LogNormal, self).__init__(base, exp)


def test_log_normals_are_what_maps_make_of_normals() -> None:
    """Also where a class says so itself."""
    made = _MyLogNormal(torch.distributions.Normal(torch.zeros(2), torch.ones(2)))
    plain = torch.distributions.LogNormal(torch.zeros(2), torch.ones(2))
    x = torch.tensor([0.5, 2.0])
    torch.testing.assert_close(made.log_prob(x), plain.log_prob(x))
    torch.testing.assert_close(made.entropy(), plain.entropy())
    assert torch.equal(made.loc, plain.loc)


def test_a_base_has_the_shape_that_maps_need() -> None:
    """Widened, and its dims taken together."""
    normal = torch.distributions.Normal(torch.zeros(3), torch.ones(3))
    shape = torch.distributions.ReshapeTransform((3,), (3, 1))
    made = torch.distributions.TransformedDistribution(normal, [shape])
    assert isinstance(made.base_dist, torch.distributions.Independent)
    shift = torch.distributions.AffineTransform(torch.zeros(4, 1), 1.0)
    wide = torch.distributions.TransformedDistribution(normal, [shift])
    assert wide.base_dist.batch_shape == wide.batch_shape == (4, 3)


def test_independent_values_are_listed_one_by_one() -> None:
    """Where no dims are taken together."""
    coins = torch.distributions.Bernoulli(torch.full((2,), 0.5))
    alone = torch.distributions.Independent(coins, 0)
    assert alone.has_enumerate_support
    assert torch.equal(alone.enumerate_support(), coins.enumerate_support())
    rows = torch.distributions.Independent(coins, 1)
    assert not rows.has_enumerate_support
    with pytest.raises(NotImplementedError):
        rows.enumerate_support()
