"""Probability distributions: sampling, densities, moments, divergences."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name

from . import constraints, divergences, transforms
from .classes import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from .counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .divergences import kl_divergence, register_kl
from .gamma_family import (
    Beta,
    Chi2,
    Dirichlet,
    FisherSnedecor,
    Gamma,
    InverseGamma,
    StudentT,
)
from .independent import Independent
from .location_scale import (
    Cauchy,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    LogNormal,
    Normal,
)
from .multivariate import MixtureSameFamily, MultivariateNormal
from .powers import Exponential, Kumaraswamy, Pareto, Uniform, Weibull
from .transformed_distribution import TransformedDistribution
from .transforms import (
    AbsTransform,
    AffineTransform,
    ComposeTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    TanhTransform,
    Transform,
    biject_to,
    identity_transform,
    transform_to,
)

__all__ = [
    "AbsTransform", "AffineTransform", "Bernoulli", "Beta", "Binomial", "Categorical",
    "Cauchy", "Chi2", "ComposeTransform", "Dirichlet", "Distribution", "ExpTransform",
    "Exponential", "ExponentialFamily", "FisherSnedecor", "Gamma", "Geometric",
    "Gumbel", "HalfCauchy", "HalfNormal", "Independent", "InverseGamma", "Kumaraswamy",
    "Laplace", "LogNormal", "MixtureSameFamily", "Multinomial", "MultivariateNormal",
    "NegativeBinomial", "Normal", "OneHotCategorical",
    "OneHotCategoricalStraightThrough", "Pareto", "Poisson", "PowerTransform",
    "SigmoidTransform", "SoftmaxTransform", "SoftplusTransform", "StudentT",
    "TanhTransform", "Transform", "TransformedDistribution", "Uniform", "Weibull",
    "biject_to", "constraints", "divergences", "identity_transform", "kl_divergence",
    "register_kl", "transform_to", "transforms",
]  # fmt: skip

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
