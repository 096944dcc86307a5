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
