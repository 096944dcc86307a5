"""Probability distributions: sampling, densities, moments, divergences."""

import typing as _typing

from dovetail.engine.missing_names import missing_name as _missing_name

from . import (
    constraint_registry,
    constraints,
    divergences,
    mixed_divergences,
    transforms,
)
from .bounded import ContinuousBernoulli, GeneralizedPareto, VonMises
from .classes import (
    Categorical,
    Multinomial,
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from .constraint_registry import biject_to, transform_to
from .counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from .distribution import Distribution, ExponentialFamily
from .divergences import kl_divergence, register_kl
from .gamma_family import Chi2, Gamma, InverseGamma
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
from .matrices import LKJCholesky, LowRankMultivariateNormal, Wishart
from .matrix_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
)
from .multivariate import MixtureSameFamily, MultivariateNormal
from .normal_quotients import FisherSnedecor, StudentT
from .powers import Exponential, Kumaraswamy, Pareto, Uniform, Weibull
from .proportions import Beta, Dirichlet
from .relaxed import LogisticNormal, RelaxedBernoulli, RelaxedOneHotCategorical
from .shaped_transforms import (
    CatTransform,
    CumulativeDistributionTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    StickBreakingTransform,
)
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
    identity_transform,
)

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraint_registry",
    "constraints",
    "divergences",
    "identity_transform",
    "kl_divergence",
    "mixed_divergences",
    "register_kl",
    "transform_to",
    "transforms",
]  # fmt: skip

vars(transforms).update({_name: globals()[_name] for _name in transforms.ELSEWHERE})

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
