"""What all distributions share: shapes, parameters, checks."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, ClassVar

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.autograd import grad
from dovetail.engine.modes import enable_grad, no_grad
from dovetail.engine.tensor import Tensor
from dovetail.engine.tensor_type import Size
from dovetail.errors import ArgumentError, ArgumentTypeError, NotSupported, ShapeError

from .constraints import Constraint, is_dependent
from .derived import derived


class Distribution:
    """Base class: random values, one for each place of the batch.

    A subclass names its parameters in `arg_constraints`; each is kept as an attribute,
    broadcast to the batch.

    Args:
        batch_shape: the shape of independent distributions.
        event_shape: the shape of one value.
        validate_args: whether parameters and values are checked; None is the default.

    Attributes:
        arg_constraints: the parameters, by name, with what they may be.
        event_dims: of parameters whose last dims belong to one value.
        has_rsample: whether samples have gradients.
        has_enumerate_support: whether all values can be listed.
    """

    arg_constraints: ClassVar[dict[str, Constraint]] = {}
    event_dims: ClassVar[dict[str, int]] = {}
    has_rsample: ClassVar[bool] = False
    has_enumerate_support: ClassVar[bool] = False
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Check parameters and values from now on, or do not."""
        if not isinstance(value, bool):
            raise ArgumentTypeError(
                "Distribution.set_default_validate_args", "value", was=repr(value),
                needed="True or False",
            )  # fmt: skip
        Distribution._validate_args = value

    def __init__(
        self,
        batch_shape: Sequence[int] = (),
        event_shape: Sequence[int] = (),
        validate_args: bool | None = None,
    ) -> None:
        self._batch_shape = Size(batch_shape)
        self._event_shape = Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            own = (n for n in self.arg_constraints if n in self.__dict__)
            for name in dict.fromkeys((*self._given(), *own)):
                self._check_parameter(name, getattr(self, name))

    def _keep(self, validate_args: bool | None, **parameters: Any) -> None:
        """Keep parameters, broadcast to one batch; what is None was not given."""
        given = {name: value for name, value in parameters.items() if value is not None}
        tensors = dict(zip(given, _as_tensors(list(given.values())), strict=True))
        events = {name: self.event_dims.get(name, 0) for name in tensors}
        batches = [x.shape[: x.ndim - events[name]] for name, x in tensors.items()]
        batch = ft.broadcast_shapes(*batches)
        for name, x in tensors.items():
            event = x.shape[x.ndim - events[name] :]
            setattr(self, name, x.expand((*batch, *event)))
        self._names = tuple(tensors)
        Distribution.__init__(self, batch, self._event_of(tensors), validate_args)

    def _event_of(self, tensors: dict[str, Tensor]) -> Any:
        """The shape of one value, by the parameters."""
        return ()

    def _given(self) -> tuple[str, ...]:
        """The parameters; of a class of users', those that it has as tensors."""
        names: tuple[str, ...] | None = self.__dict__.get("_names")
        if names is not None:
            return names
        known = (n for n in self.arg_constraints if not hasattr(type(self), n))
        return tuple(n for n in known if isinstance(getattr(self, n, None), Tensor))

    def _check_parameter(self, name: str, value: Tensor) -> None:
        constraint = self.arg_constraints.get(name)
        if constraint is None or is_dependent(constraint):
            return
        if not isinstance(value, Tensor):
            return
        if not bool(constraint.check(value).all().item()):
            raise ArgumentError(
                type(self).__name__, name, was=repr(value), needed=repr(constraint)
            )

    def _validate_sample(self, value: Any) -> None:
        """Raise for a value that cannot be one of this distribution."""
        if not self._validate_args:
            return
        op = f"{type(self).__name__}.log_prob"
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(op, "value", was=repr(value), needed="a Tensor")
        events = len(self._event_shape)
        if tuple(value.shape[value.ndim - events :]) != tuple(self._event_shape):
            raise ArgumentError(
                op, "value", was=f"of shape {tuple(value.shape)}",
                needed=f"{tuple(self._event_shape)} at its end",
            )  # fmt: skip
        whole = (*self._batch_shape, *self._event_shape)
        try:
            ft.broadcast_shapes(value.shape, whole)
        except ShapeError as error:
            raise ArgumentError(
                op, "value", was=f"of shape {tuple(value.shape)}",
                needed=f"one that broadcasts with {whole}",
            ) from error  # fmt: skip
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. "
                "Please initialize the distribution with `validate_args=False` to turn "
                "off validation.",
                stacklevel=3,
            )
            return
        if not bool(support.check(value).all().item()):
            raise ArgumentError(op, "value", was=repr(value), needed=repr(support))

    @property
    def support(self) -> Any:
        """Which values there are."""
        return self._absent("support")

    @property
    def batch_shape(self) -> Size:
        """The shape of independent distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one value."""
        return self._event_shape

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> Any:
        """The same distribution for a larger batch.

        Args:
            batch_shape: that of the result.
            _instance: what the result is made in, by a subclass with more of its own.
        """
        new = self._unexpanded(_instance)
        new._batch_shape = Size(batch_shape)
        for name in self._given():
            value = getattr(self, name)
            event = value.shape[value.ndim - self.event_dims.get(name, 0) :]
            setattr(new, name, value.expand((*batch_shape, *event)))
        return new

    def _unexpanded(self, instance: Any) -> Any:
        """A copy, or an instance of a subclass that keeps what it has of its own."""
        new = object.__new__(type(self)) if instance is None else instance
        kept = self._given()
        for name, value in self.__dict__.items():
            if name in kept or not isinstance(getattr(type(self), name, None), derived):
                new.__dict__.setdefault(name, value)
        return new

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        """What `expand` of a class of users' makes its result in, by torch's name."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotSupported(
                f"{type(self).__name__}.expand", "self",
                was=f"of a class with an __init__ unlike that of {cls.__name__}",
                needed="an expand of its own, too",
            )  # fmt: skip
        return object.__new__(type(self))

    @property
    def mean(self) -> Any:
        """The expected value."""
        return self._absent("mean")

    @property
    def mode(self) -> Any:
        """The value of the highest probability."""
        return self._absent("mode")

    @property
    def variance(self) -> Any:
        """The expected squared distance from the mean."""
        return self._absent("variance")

    @property
    def stddev(self) -> Any:
        """The root of the variance."""
        return ft.sqrt(self.variance)

    def sample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Random values, without gradients."""
        with no_grad():
            if type(self).rsample is not Distribution.rsample:  # a class of users'
                return self.rsample(sample_shape)
            return self._draw(self._extended_shape(sample_shape))

    def sample_n(self, n: int) -> Any:
        """`sample((n,))`, by its older name."""
        warnings.warn(
            "`sample_n(n)` will be deprecated. Use `sample((n,))` instead.",
            FutureWarning, stacklevel=2,
        )  # fmt: skip
        return self.sample((n,))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Any:
        """Random values, with gradients by the parameters."""
        if not self.has_rsample:
            return self._absent("rsample")
        return self._draw(self._extended_shape(sample_shape))

    def _draw(self, shape: Size) -> Any:
        """Random values of a shape, as expressions of the parameters."""
        return self._absent("sample")

    def log_prob(self, value: Tensor) -> Any:
        """The logarithm of the probability, or of the density, of a value."""
        self._validate_sample(value)
        return self._log_prob(value)

    def _log_prob(self, value: Tensor) -> Any:
        return self._absent("log_prob")

    def cdf(self, value: Tensor) -> Any:
        """The probability of values up to this one."""
        self._validate_sample(value)
        return self._cdf(value)

    def _cdf(self, value: Tensor) -> Any:
        return self._absent("cdf")

    def icdf(self, value: Tensor) -> Any:
        """The value up to which values have this probability."""
        return self._absent("icdf")

    def entropy(self) -> Any:
        """The expected negative log probability."""
        return self._absent("entropy")

    def perplexity(self) -> Any:
        """The exponential of the entropy."""
        return ft.exp(self.entropy())

    def enumerate_support(self, expand: bool = True) -> Any:
        """All values, along a new first dim."""
        return self._absent("enumerate_support")

    def _absent(self, what: str) -> Any:
        raise NotSupported(
            type(self).__name__, what, was="not there", needed="a formula for it"
        )

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        return Size((*sample_shape, *self._batch_shape, *self._event_shape))

    def __repr__(self) -> str:
        shown = [
            f"{name}: {x if x.numel() == 1 else tuple(x.shape)}"
            for name in self._given() for x in (getattr(self, name),)
        ]  # fmt: skip
        return f"{type(self).__name__}({', '.join(shown)})"


class ExponentialFamily(Distribution):
    """Distributions whose log density is linear in what is told of a value.

    A class of users' that has `_natural_params`, `_log_normalizer` of them and
    `_mean_carrier_measure` has its entropy, and divergences, by these.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The parameters in which the log density is linear."""
        raise self._without("_natural_params")

    def _log_normalizer(self, *natural_params: Any) -> Any:
        """The logarithm of what densities are divided by."""
        raise self._without("_log_normalizer")

    @property
    def _mean_carrier_measure(self) -> Any:
        """The mean of the part of the log density that has no parameters."""
        raise self._without("_mean_carrier_measure")

    def _without(self, name: str) -> NotSupported:
        return NotSupported(
            type(self).__name__, name, was="not there",
            needed="a class that says it, or formulas of its own",
        )  # fmt: skip

    def slopes(self) -> tuple[Any, list[Any], tuple[Any, ...]]:
        """The log normalizer, the natural parameters, and the slopes by these."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        with enable_grad():
            norm = self._log_normalizer(*params)
            return norm, params, grad(norm.sum(), params, create_graph=True)

    def entropy(self) -> Any:
        """The mean of minus the log density (Nielsen & Nock 2010)."""
        norm, params, slopes = self.slopes()
        found = norm - self._mean_carrier_measure
        for p, slope in zip(params, slopes, strict=True):
            found = found - (p * slope).reshape(*self._batch_shape, -1).sum(-1)
        return found


def summed(x: Tensor, dims: int) -> Any:
    """The sum over the last dims."""
    return x.sum(tuple(range(-dims, 0))) if dims else x


def _as_tensors(values: list[Any]) -> list[Any]:
    """Numbers and tensors as tensors of one dtype and device."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        dtype = dtypes.get_default_dtype()
        return [ft.tensor(v, dtype=dtype) for v in values]
    like: dict[str, Any] = {"dtype": tensors[0].dtype, "device": tensors[0].device}
    if not tensors[0].dtype.is_floating_point:
        like["dtype"] = dtypes.get_default_dtype()
    return [v if isinstance(v, Tensor) else ft.tensor(v, **like) for v in values]
