"""The parameters of an op: their roles, and the arguments that are given for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from dovetail.dtypes import DType
from dovetail.engine import signature as sig
from dovetail.engine.attribute_keys import frozen
from dovetail.engine.attributes import (
    NORMALISERS,
    OPTIONS,
    SPELLINGS,
    Normalise,
    normaliser_of,
)
from dovetail.engine.elements import factor, stored
from dovetail.errors import ArgumentTypeError, NumberOutOfRange


class Param(NamedTuple):
    """One parameter of an op."""

    name: str
    role: str  # tensor, optional, list, scalar, attr, or option, which goes nowhere
    default: Any
    normalise: Normalise | None = None
    optional: bool = False
    number: bool = False  # a tensor for which torch takes a number too
    annotation: str = ""  # of an attribute or a scalar
    fits: bool = False  # a number has to fit what the tensors are promoted to


Params = tuple[Param, ...]
_ROLES: Final = {
    "Tensor": "tensor", "Tensor | None": "optional", "list[Tensor]": "list",
    "Operand": "tensor", "Operand | None": "optional", "Weight": "tensor",
    "Sequence[Tensor]": "list", "Sequence[Tensor | None]": "list",
    "Scalar": "scalar", "Scalar | None": "scalar", "float": "scalar",
    "float | None": "scalar", "Element": "scalar", "Element | None": "scalar",
    "Factor": "scalar",
}  # fmt: skip
_TENSOR_ROLES: Final = frozenset({"tensor", "optional", "list"})
_PASSED_ROLES: Final = frozenset({"attr", "scalar"})  # to bodies, rules and kernels
_FITTING: Final = frozenset({"Element", "Extent", "Factor", "Finite", "NonZero"})


class Parameters:
    """What an op knows of its parameters.

    Attributes:
        name: the op's name.
        params: all of them, in order.
        indices, masks: the tensors that hold places, or say yes or no.
        names: of all of them.
        tensors, statics, options: those of a role.
        rest: what goes to bodies, rules and kernels beside tensors.
        scalars: the names of numbers that may change from call to call.
        floats: those of them that a float has to hold.
        lead_at: which tensor decides dtype and dims.
    """

    name: str
    params: Params
    shape: Any
    indices: frozenset[str]
    masks: frozenset[str]
    mutates: tuple[str, ...]
    row_major: bool | None
    rows_asked: bool
    view: bool

    def _index_params(self) -> None:
        params = self.params
        self.names = tuple([p.name for p in params])
        self.tensors = _of_roles(params, _TENSOR_ROLES)
        self.rest = _of_roles(params, _PASSED_ROLES)
        self.options = _of_roles(params, ("option",))
        self.tensor_places = tuple(
            [i for i, p in enumerate(params) if p.role in _TENSOR_ROLES]
        )
        self.tensors_first = self.tensor_places == tuple(range(len(self.tensors)))
        self.statics = _of_roles(self.rest, ("attr",))
        self.scalars = tuple([p.name for p in self.rest if p.role == "scalar"])
        self.floats = tuple([
            p.name for p in self.rest
            if p.role == "scalar" and p.annotation.startswith("float")
        ])  # fmt: skip
        # Operands whose numbers have to fit what the tensors are promoted to.
        self.weights = tuple([i for i in self.tensor_places if params[i].fits])
        # Numbers that have to fit a dtype, and whether that is the tensors' own.
        self.fitting = tuple([
            (p.name, p.annotation.startswith(("Element", "Extent", "Finite")))
            for p in self.rest if p.annotation.partition(" | ")[0] in _FITTING
        ])  # fmt: skip
        apart = self.indices | self.masks
        # Operands of a dtype that counts.
        counted = [i for i, p in enumerate(self.tensors) if p.name not in apart]
        # Dtype and dims of this one decide: the first that is no index and no mask.
        self.lead_at = counted[0] if counted else 0
        self.has_list = "list" in [p.role for p in self.tensors]
        self.is_elementwise = (
            isinstance(self.shape, sig.Signature) and self.shape.elementwise
        )
        # The kit asks it of devices where others rely on it; else torch's law is kept
        # by bodies and by the kernels of libraries, and a device may do otherwise.
        self.rows_asked = bool(self.row_major)
        if self.row_major is None:
            self.row_major = not (self.is_elementwise or self.view or self.mutates)
        # Operands that torch takes as tensors alone; bodies give numbers for any of
        # them, and one operand on its own is a tensor anyway.
        self.no_numbers: tuple[int, ...] = ()
        if self.is_elementwise and not self.has_list and len(self.tensors) > 1:
            self.no_numbers = tuple([i for i in counted if not self.tensors[i].number])

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """What each parameter is where it is not given, or REQUIRED, by name."""
        return {p.name: p.default for p in self.params}

    def bind(self, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The values of all parameters, in order.

        Raises:
            ArgumentTypeError: too many, unknown or missing arguments.
        """
        values = list(args)
        if kwargs and not kwargs.keys() <= set(self.names):
            kwargs = {self.own_name(k): v for k, v in kwargs.items()}
        if len(values) > len(self.params):
            raise ArgumentTypeError(
                self.name, "number of arguments", was=len(values),
                needed=f"at most {len(self.params)} ({', '.join(self.names)})",
            )  # fmt: skip
        taken = 0
        for param in self.params[len(values) :]:
            if param.name in kwargs:
                values.append(kwargs[param.name])
                taken += 1
            elif param.default is REQUIRED:
                raise ArgumentTypeError(
                    self.name, param.name, was="missing", needed=f"a {param.role}"
                )
            else:
                values.append(param.default)
        if taken != len(kwargs):
            unknown = [k for k in kwargs if k not in self.names[len(args) :]]
            raise ArgumentTypeError(
                self.name, unknown[0], was="unknown or given twice",
                needed=f"one of {', '.join(self.names)}",
            )  # fmt: skip
        return values

    def own_name(self, name: str) -> str:
        """The parameter that torch calls `input`, or that NumPy calls `axis`."""
        if name in self.names:
            return name
        own = self.names[0] if name == "input" else SPELLINGS.get(name, name)
        return own if own in self.names else name

    def operands(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The tensors among the values of all parameters."""
        return tuple([values[i] for i in self.tensor_places])

    def arguments(
        self, inputs: Sequence[Any], attrs: dict[str, Any]
    ) -> tuple[Any, ...]:
        """The values of all parameters, in order, of tensors and attributes."""
        given = {p.name: x for p, x in zip(self.tensors, inputs, strict=False)} | attrs
        return tuple([given.get(p.name, p.default) for p in self.params])

    def normalise(self, values: Sequence[Any], ndim: int) -> dict[str, Any]:
        """Scalars and attributes by name, validated for a tensor of `ndim` dims."""
        by_name = dict(zip(self.names, values, strict=True))
        for option in self.options:
            assert option.normalise is not None
            option.normalise(self.name, option.name, by_name[option.name], ndim)
        return {
            p.name: p.normalise(self.name, p.name, by_name[p.name], ndim)
            if p.normalise
            else _number(self.name, p, by_name[p.name])
            for p in self.rest
        }

    def check_numbers(self, attrs: dict[str, Any], dtype: DType) -> None:
        """Raise for numbers that do not fit the dtype of the tensors.

        Raises:
            NumberOutOfRange: one is too large, or NaN for integers.
            DTypeError: one has an imaginary part that the dtype lacks.
        """
        for name in self.floats:
            if type(attrs[name]) is int:
                _require_float(self.name, name, attrs[name])
        for name, own in self.fitting:
            if attrs[name] is not None:
                (stored if own else factor)(self.name, dtype, attrs[name], name)

    def attr_key(self, attrs: dict[str, Any]) -> tuple[Any, ...]:
        """The static attributes, as plans are keyed on them."""
        return tuple([_key_of(attrs[p.name]) for p in self.statics])


def _of_roles(params: Params, roles: Collection[str]) -> Params:
    """The parameters of these roles; the very tuple where that is all of them."""
    found = tuple([p for p in params if p.role in roles])
    return params if len(found) == len(params) else found


class Required:
    """Marks a parameter without a default."""


REQUIRED: Final = Required()


def parameters_of(function: Callable[..., Any]) -> list[tuple[str, Any, bool]]:
    """Name, default (or REQUIRED) and keyword-only of each parameter.

    Read off the code object: `inspect.signature` would cost 30 µs a declaration.
    """
    code: Any = getattr(function, "__code__")  # noqa: B009
    count = code.co_argcount
    names = code.co_varnames
    defaults = getattr(function, "__defaults__", None) or ()
    required = count - len(defaults)
    found = [(n, REQUIRED, False) for n in names[:required]]
    given = zip(names[required:count], defaults, strict=True)
    found += [(n, v, False) for n, v in given]
    if code.co_kwonlyargcount:
        by_keyword = getattr(function, "__kwdefaults__", None) or {}
        last = count + code.co_kwonlyargcount
        found += [(n, by_keyword.get(n, REQUIRED), True) for n in names[count:last]]
    return found


def params_of(body: Callable[..., Any]) -> tuple[Param, ...]:
    found = []
    annotations = body.__annotations__
    for name, default, _ in parameters_of(body):
        annotation = annotations.get(name)
        if annotation in _ROLES:
            role, optional = _ROLES[annotation], annotation.endswith("None")
            fits = annotation == "Weight"
            number = fits or annotation.startswith("Operand")
            text = str(annotation) if role == "scalar" else ""
            made = Param(name, role, default, None, optional, number, text, fits)
            found.append(made)
            continue
        normalise = normaliser_of(annotation)
        if normalise is not None:
            role = "option" if annotation in OPTIONS else "attr"
            made = Param(name, role, default, normalise, annotation=str(annotation))
            found.append(made)
        else:
            raise ArgumentTypeError(
                f"op {body.__name__}", name, was=f"annotated {annotation!r}",
                needed=f"one of {', '.join([*_ROLES, *NORMALISERS])}",
            )  # fmt: skip
    return tuple(found)


def _key_of(value: Any) -> Any:
    part = frozen(value)
    return value if part is None else part


def _number(op: str, param: Param, value: Any) -> Any:
    if value is None and param.optional:
        return value
    if not isinstance(value, int | float | complex):
        item = getattr(value, "item", None)  # a 0-d tensor or a NumPy scalar
        if item is None or value.ndim:
            raise ArgumentTypeError(
                op, param.name, was=repr(value), needed="a Python number"
            )
        value = item()
    if not param.annotation.startswith("float"):
        return value
    if isinstance(value, complex):
        raise ArgumentTypeError(op, param.name, was=repr(value), needed="a real number")
    if isinstance(value, int):
        _require_float(op, param.name, value)
    return value


def _require_float(op: str, name: str, value: int) -> None:
    if abs(value) >= 1 << 1023:
        raise NumberOutOfRange(
            op, name, was="too large", needed="a number that a float holds"
        )
