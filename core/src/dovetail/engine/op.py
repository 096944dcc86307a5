"""The declaration of an op: signature, rule, gradient, oracle, cases."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from dovetail import dtypes
from dovetail.dtypes import DType, Sizes
from dovetail.engine import signature as sig
from dovetail.engine.attributes import (
    NORMALISERS,
    OPTIONS,
    SPELLINGS,
    Normalise,
    frozen,
    normaliser_of,
)
from dovetail.engine.elements import factor, stored
from dovetail.engine.kinds import on_kernel_change
from dovetail.engine.return_types import fields
from dovetail.errors import ArgumentTypeError, DTypeError, NumberOutOfRange, ShapeError

if TYPE_CHECKING:
    from dovetail.engine.graph import Graph
    from dovetail.engine.kinds import Kind

_CHECKED_LIMIT: Final = 4096

# What a result's dtype may be, beside a DType and a function of (dtypes, attrs).
SAME: Final = "same"


class DataDependent:
    """Marks a shape that depends on values: refused on the meta device."""


DATA: Final = DataDependent()


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


_NO_NAMES: Final[frozenset[str]] = frozenset()  # one for all ops
# The gradient of one argument, and where its parameters come from.
ArgumentRule = tuple[Callable[..., Any], tuple[tuple[str, Any], ...]]
# What a check gives: a 0-d bool that is true where values are refused (None where
# there are none to look at), and the error for them, which may wait for values.
Checked = tuple[Any, Callable[[], Exception]] | None


# Rows of arguments, or what makes sample calls of a sampler.
Cases = Callable[..., Any] | Sequence[Any]


class Unserved:
    """What a plan gives where no kernel's condition holds."""


UNSERVED: Final = Unserved()


class Plan:
    """How an op runs for one set of kinds and attributes.

    Attributes:
        native: the kernel on natives and scalars, with checks and layouts that it
            leaves to core; gives `UNSERVED` where it cannot serve. None without one.
        kinds: of the results.
        looks: the kernel looks itself for values that the op refuses, if it does.
        owner: the plug-in that the kernel comes from; several where one is chosen.
        into: the kernel that takes `out=`, an array like its first operand; None
            where there is none, or where the result has another kind.
    """

    __slots__ = ("into", "kinds", "looks", "native", "owner")

    def __init__(
        self, native: Callable[..., Any] | None, kinds: tuple[Kind, ...], looks: bool,
        owner: str,
    ) -> None:  # fmt: skip
        self.native = native
        self.kinds = kinds
        self.looks = looks
        self.owner = owner
        self.into: Callable[..., Any] | None = None


class Op:
    """One entry of the vocabulary.

    Attributes:
        name: the op's name, by which backends register kernels.
        body: the definition in terms of other ops.
        primitive: dtypes for which every backend has a kernel, so that the body is
            only documentation there.
        accepts: dtypes that the promoted inputs may have.
        result: dtype of the results: `SAME`, a DType, or a rule.
        promote: `"same"`, `"float"` (integers become floats), `"first"`, `"equal"`
            (nothing is cast) or None.
        function: the public callable.
        callables: the functions that call it, whose code is written at need.
        unwritten: their code until then, of `dovetail.engine.calls`.
        cells: what all of them remember: `calls`, and the op.
        calls: what a call needs, by kinds and attributes. Emptied when a kernel comes
            or goes, when a device is lost, and when it holds 4096 of them.
        plans: for calls out of the ordinary, the plans by the same; emptied likewise.
        checked: result shapes by input shapes and attributes; emptied when full.
        bound: by kind, what takes gradients through it while nothing is recorded, by
            `dovetail.engine.bound_pull`; emptied as `calls` is when kernels change.
    """

    unwritten: CodeType

    def __init__(  # noqa: PLR0915  a statement for each field
        self, body: Callable[..., Any], options: dict[str, Any]
    ) -> None:
        own = body.__name__ if options["mutates"] else body.__name__.rstrip("_")
        self.name: str = options.pop("name", None) or own
        self.doc = body.__doc__ or ""
        self.module = body.__module__
        self.primitive: frozenset[DType] = options.pop("primitive")
        self.body: Callable[..., Any] = body
        self.params: tuple[Param, ...] = options.pop("params", None) or _params(body)
        self.accepts: frozenset[DType] = options.pop("accepts")
        self.result: Any = options.pop("result")
        self.promote: str | None = options.pop("promote")
        self.each: bool = options.pop("each", False)
        self.indices: frozenset[str] = frozenset(options.pop("indices")) or _NO_NAMES
        self.lines: str = options.pop("lines")
        self.masks: frozenset[str] = frozenset(options.pop("masks")) or _NO_NAMES
        self.trusted = frozenset[str](options.pop("trusted", ())) or _NO_NAMES
        self.checked_by_body: bool = options.pop("checked_by_body", False)
        self.outputs: tuple[str, ...] = options.pop("outputs")
        self.residuals: int = options.pop("residuals")
        self.nondifferentiable: bool = options.pop("nondifferentiable")
        # Whether the gradient is that of the body, so that no kernel may hide it.
        self.by_body = not self.nondifferentiable
        self.view: bool = options.pop("view")
        self.mutates: tuple[str, ...] = options.pop("mutates")
        self.draws: Any = options.pop("draws")
        self.unrounded: bool = options.pop("unrounded")
        # The names by which torch offers it as a function.
        self.public: tuple[str, ...] = ()
        self.ulp: float | None = options.pop("ulp", None)
        self.sums: bool = options.pop("sums", False)
        self.averages: bool = options.pop("averages", False)
        self.undefined_on: tuple[str, ...] = tuple(options.pop("undefined_on", ()))
        self.largest: int | None = options.pop("largest", None)
        self.grows: tuple[int, ...] = options.pop("grows", ())
        self.cancels: bool = options.pop("cancels", False)
        self.layout_matters: bool = options.pop("layout_matters", False)
        self.unspecified: bool = options.pop("unspecified", False)
        self.memory: bool = options.pop("memory", False)
        shape = options.pop("shape")
        self.shape: Any = sig.parse(shape) if isinstance(shape, str) else shape
        self._index_params()
        self.uses: dict[str, tuple[str, ...]] = {}
        self.vjp: Callable[..., Any] | None = None
        self.vjp_needs: tuple[str, ...] = ()
        self.vjp_names: tuple[str, ...] = ()
        self.wants_dtypes = False
        self.wants_shapes = False
        self.saves_output = False
        # For what the vjp keeps: the input's position (or -1 - output's), and the
        # positions of the inputs whose gradients use it (None: any).
        self.save_plan: tuple[tuple[int, tuple[int, ...] | None], ...] = ()
        # How a vjp gets its arguments: (source, index or name) by position and by name.
        self.vjp_positional: tuple[tuple[str, Any], ...] = ()
        self.vjp_keywords: tuple[tuple[str, str, Any], ...] = ()
        # A rule for each tensor parameter instead of one for all, and its arguments.
        self.rules: tuple[ArgumentRule | None, ...] | None = None
        # Written by `engine.pullback` when a gradient first flows through the op.
        self.pull: Any = None
        self.bound: dict[Kind, Any] = {}
        self.geometry: Callable[..., Any] | None = None
        self.check: Callable[..., Checked] | None = None
        self.oracle: Callable[..., Any] | None = None
        self.cases: Cases | None = None
        self.kinks: Callable[..., Any] | None = None
        self.domain: tuple[float, float] = options.pop("domain")
        self.function: Callable[..., Any] = body
        self.takes_out = True
        # What autocast does to it: see `dovetail.engine.autocast`.
        self.autocast: str | None = options.pop("autocast", None)
        self.uncast: Callable[..., Any] | None = None
        self.callables: list[Any] = []
        self.calls: dict[Any, Any] = {}
        self.cells = CellType(self.calls), CellType(self)
        self.plans: dict[Any, Plan] = {}
        self.checked: dict[Any, tuple[Sizes, ...]] = {}
        if options:
            raise ArgumentTypeError(f"op {self.name}", "options", was=sorted(options))

    def _index_params(self) -> None:
        self.names = tuple(p.name for p in self.params)
        self.tensors = _of_roles(self.params, _TENSOR_ROLES)
        self.rest = _of_roles(self.params, _PASSED_ROLES)
        self.options = _of_roles(self.params, ("option",))
        roles = enumerate(p.role for p in self.params)
        self.tensor_places = tuple(i for i, role in roles if role in _TENSOR_ROLES)
        self.tensors_first = self.tensor_places == tuple(range(len(self.tensors)))
        self.statics = _of_roles(self.rest, ("attr",))
        self.scalars = tuple(p.name for p in self.rest if p.role == "scalar")
        # Operands whose numbers have to fit what the tensors are promoted to.
        self.weights = tuple(i for i, p in enumerate(self.params) if p.fits)
        # Numbers that have to fit a dtype, and whether that is the tensors' own.
        self.fitting = tuple(
            (p.name, p.annotation.startswith(("Element", "Extent", "Finite")))
            for p in self.rest if p.annotation.split(" | ")[0] in _FITTING
        )  # fmt: skip
        self.defaults = {p.name: p.default for p in self.params}
        # Operands that torch takes as tensors alone; bodies give numbers for any of
        # them, and one operand on its own is a tensor anyway.
        self.no_numbers = tuple(
            i for i, p in enumerate(self.tensors)
            if not p.number and p.name not in self.indices | self.masks
        )  # fmt: skip
        self.has_list = any(p.role == "list" for p in self.tensors)
        # Dtype and dims of this one decide: the first that is no index and no mask.
        counted = [p.name not in self.indices | self.masks for p in self.tensors]
        self.lead_at = counted.index(True) if True in counted else 0
        self.is_elementwise = (
            isinstance(self.shape, sig.Signature) and self.shape.elementwise
        )
        if not self.is_elementwise or self.has_list or len(self.tensors) < 2:
            self.no_numbers = ()

    if TYPE_CHECKING:  # installed by dovetail.engine.lower

        def lower(self, specs: Any, attrs: Any = None) -> Graph: ...

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return vocabulary.__getitem__, (self.name,)

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
            else _number(self, p, by_name[p.name])
            for p in self.rest
        }

    def check_numbers(self, attrs: dict[str, Any], dtype: DType) -> None:
        """Raise for numbers that do not fit the dtype of the tensors.

        Raises:
            NumberOutOfRange: one is too large, or NaN for integers.
            DTypeError: one has an imaginary part that the dtype lacks.
        """
        for name, own in self.fitting:
            if attrs[name] is not None:
                (stored if own else factor)(self.name, dtype, attrs[name], name)

    def attr_key(self, attrs: dict[str, Any]) -> tuple[Any, ...]:
        """The static attributes, as plans are keyed on them."""
        return tuple([_key_of(attrs[p.name]) for p in self.statics])

    def infer_shapes(
        self, shapes: Sequence[Any], attrs: dict[str, Any]
    ) -> tuple[Sizes, ...]:
        """Shapes of the results; raises what the op refuses."""
        if self.lines and () in shapes:
            found = self.infer_shapes([s or (1,) for s in shapes], attrs)
            return found if shapes[self.line_at] else self._without_dims(found)
        if isinstance(self.shape, sig.Signature):
            names = [p.name for p in self.tensors]
            if self.has_list:
                names = [f"{names[0]}[{i}]" for i in range(len(shapes[0]))]
                shapes = shapes[0]
            elif None in shapes:
                kept = [i for i, s in enumerate(shapes) if s is not None]
                names, shapes = [names[i] for i in kept], [shapes[i] for i in kept]
            inputs = self.shape.inputs
            shape = self.shape
            if shape.elementwise and len(inputs) != len(shapes):
                return (sig.broadcast(self.name, shapes, names),) * len(self.outputs)
            return sig.infer(shape, self.name, shapes, names, attrs)
        found = self.shape(*shapes, **attrs)
        if len(self.outputs) == 1:
            return (tuple(found),)
        return tuple(tuple(s) for s in found)

    def checked_shapes(
        self, shapes: tuple[Any, ...], attrs: dict[str, Any]
    ) -> tuple[Sizes, ...]:
        """`infer_shapes`, remembered."""
        key = (shapes, self.attr_key(attrs))
        try:
            found = self.checked.get(key)
        except TypeError:  # a slice, which Python before 3.12 cannot hash
            return self.infer_shapes(shapes, attrs)
        if found is None:
            if len(self.checked) >= _CHECKED_LIMIT:
                self.checked.clear()
            found = self.checked[key] = self.infer_shapes(shapes, attrs)
        return found

    def result_dtypes(
        self, inputs: Sequence[DType], attrs: dict[str, Any]
    ) -> tuple[DType, ...]:
        """Dtypes of the results."""
        rules = self.result if isinstance(self.result, tuple) else (self.result,)
        if len(rules) == 1:
            rules = rules * len(self.outputs)
        return tuple(_result_dtype(rule, inputs, attrs, self.lead_at) for rule in rules)

    def view_shape(self, shape: Sizes, attrs: dict[str, Any]) -> Sizes:
        """The shape of a view of a tensor with that shape."""
        return self.infer_shapes((shape,), attrs)[0]

    def _without_dims(self, found: tuple[Sizes, ...]) -> tuple[Sizes, ...]:
        """Shapes of lines of one element, as shapes without dims."""
        for shape in found:
            if shape != (1,):
                raise ShapeError(
                    self.name, self.lines, was="0-d, one element",
                    needed=f"as many as the result has, which is of shape {shape}",
                )  # fmt: skip
        return ((),) * len(found)

    @cached_property
    def line_at(self) -> int:
        """Which tensor's dims say, where lines are asked for, if the result has one."""
        return [p.name for p in self.tensors].index(self.lines)

    def call_with(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The op on tensors, with attributes already normalised."""
        return self.function(*self.arguments(inputs, attrs))

    def set_vjp(self, rule: Callable[..., Any]) -> None:
        """Make `rule` the gradient; its parameter names say what is kept for it.

        Raises:
            ArgumentTypeError: a parameter's name means nothing.
        """
        parameters = parameters_of(rule)
        sources = self._set_gradient([name for name, _, _ in parameters])
        self.vjp = rule
        self.rules = None
        self.vjp_positional = tuple(
            sources[n] for n, _, keyword_only in parameters if not keyword_only
        )
        self.vjp_keywords = tuple(
            (n, *sources[n]) for n, _, keyword_only in parameters if keyword_only
        )

    def set_rules(
        self, rules: dict[str, Callable[..., Any]],
        takes: dict[str, list[str]] | None = None,
    ) -> None:  # fmt: skip
        """Make `rules` the gradients, each of the tensor parameter it is named by.

        What only one of them takes is kept only where that gradient is needed;
        `takes` names their parameters where their code does not.

        Raises:
            ArgumentTypeError: no such tensor parameter, or a rule takes what means
                nothing.
        """
        names = [p.name for p in self.tensors]
        unknown = [name for name in rules if name not in names]
        if unknown:
            raise ArgumentTypeError(
                f"grad of {self.name}", unknown[0], was="no tensor parameter",
                needed=f"one of {', '.join(names)}",
            )  # fmt: skip
        if takes is None:
            takes = {n: [p[0] for p in parameters_of(r)] for n, r in rules.items()}
        every = dict.fromkeys(name for taken in takes.values() for name in taken)
        self.uses = {
            name: tuple(n for n, taken in takes.items() if name in taken)
            for name in every
        }
        sources = self._set_gradient(list(every))
        self.vjp = next(iter(rules.values()))
        self.rules = tuple(
            (rules[n], tuple(sources[name] for name in takes[n]))
            if n in rules
            else None
            for n in names
        )

    def _set_gradient(self, names: list[str]) -> dict[str, tuple[str, Any]]:
        """Note what rules with these parameters need; where each comes from."""
        positions = {p.name: i for i, p in enumerate(self.tensors)}
        self.by_body = False
        self.pull = None
        self.bound.clear()
        self.on_change()
        self.vjp_names = tuple(names)
        self.vjp_needs = tuple(n for n in names if n in positions or n in self.outputs)
        sources = {n: self._source(n, positions) for n in names}
        self.wants_dtypes = any(s[0] in ("kind", "dtype") for s in sources.values())
        self.wants_shapes = any(s[0] == "shape" for s in sources.values())
        self.saves_output = bool(self.vjp_needs) and self.vjp_needs[0] in self.outputs
        self.save_plan = tuple(self._kept(n, positions) for n in self.vjp_needs)
        return sources

    def _kept(self, name: str, positions: dict[str, int]) -> Any:
        users = self.uses.get(name)
        at = positions[name] if name in positions else -1 - self.outputs.index(name)
        return at, None if users is None else tuple(positions[u] for u in users)

    def _source(self, name: str, positions: dict[str, int]) -> tuple[str, Any]:
        """Where a vjp's parameter comes from."""
        if name in ("ct", "need"):
            return name, None
        if name in positions or name in self.outputs:
            return "saved", self.vjp_needs.index(name)
        if name in self.names:
            return "attr", name
        base, _, what = name.rpartition("_")
        if base in positions and what in ("shape", "dtype", "kind"):
            return what, positions[base]
        known = {"ct", "need", *self.names, *self.outputs}
        raise ArgumentTypeError(
            f"vjp of {self.name}", name, was="unknown",
            needed=f"one of {', '.join(sorted(known))}, or <input>_shape, _dtype, "
            "_kind",
        )  # fmt: skip

    def visible(self, outs: tuple[Any, ...]) -> Any:
        """What a caller gets of all results."""
        count = len(outs) - self.residuals
        return outs[0] if count == 1 else self.form(outs[:count])

    @cached_property
    def form(self) -> Callable[[Any], Any]:
        """What makes several results a tuple with their names."""
        return fields(self.name, self.outputs[: len(self.outputs) - self.residuals])

    def on_change(self) -> None:
        """Let the callables be written anew: what they are written from changed."""
        for function in self.callables:
            function.__code__ = self.unwritten

    def forget(self) -> None:
        """Drop what was derived from kernel tables."""
        self.calls.clear()
        self.plans.clear()
        self.bound.clear()

    def refuse_dtype(self, dtype: DType, name: str | None = None) -> DTypeError:
        names = ", ".join(d.name for d in dtypes.ALL if d in self.accepts)
        return DTypeError(
            self.name, name or f"dtype of {self.tensors[0].name}", was=dtype.name,
            needed=f"one of {names}", remedy="cast it with .to(dtype)",
        )  # fmt: skip


_FITTING: Final = frozenset({"Element", "Extent", "Factor", "Finite", "NonZero"})


def _of_roles(params: Params, roles: Collection[str]) -> Params:
    """The parameters of these roles; the very tuple where that is all of them."""
    found = tuple(p for p in params if p.role in roles)
    return params if len(found) == len(params) else found


_TENSOR_ROLES: Final = frozenset({"tensor", "optional", "list"})
_PASSED_ROLES: Final = frozenset({"attr", "scalar"})  # to bodies, rules and kernels
vocabulary: Final[dict[str, Op]] = {}


def _forget_kernels() -> None:
    """Drop every op's derived tables: a kernel came or went."""
    for op in vocabulary.values():
        op.forget()


on_kernel_change(_forget_kernels)


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


def _params(body: Callable[..., Any]) -> tuple[Param, ...]:
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


def _number(op: Op, param: Param, value: Any) -> Any:
    if value is None and param.optional:
        return value
    if not isinstance(value, int | float | complex):
        item = getattr(value, "item", None)  # a 0-d tensor or a NumPy scalar
        if item is None or value.ndim:
            raise ArgumentTypeError(
                op.name, param.name, was=repr(value), needed="a Python number"
            )
        value = item()
    if not param.annotation.startswith("float"):
        return value
    if isinstance(value, complex):
        raise ArgumentTypeError(
            op.name, param.name, was=repr(value), needed="a real number"
        )
    if isinstance(value, int) and abs(value) >= 1 << 1023:
        raise NumberOutOfRange(
            op.name, param.name, was="too large", needed="a number that a float holds"
        )
    return value


def _result_dtype(
    rule: Any, inputs: Sequence[DType], attrs: dict[str, Any], lead_at: int
) -> DType:
    if rule == SAME:
        return inputs[lead_at]
    if isinstance(rule, DType):
        return rule
    found: DType = rule(inputs, attrs)
    return found


def declared(ops: Iterable[Op] | None = None) -> list[Op]:
    """All ops of the vocabulary, sorted by name."""
    return sorted(ops or vocabulary.values(), key=lambda op: op.name)
