"""The declaration of an op: signature, rule, gradient, oracle, cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from inspect import cleandoc
from types import CellType, CodeType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from dovetail.dtypes import DType, Sizes
from dovetail.engine import signature as sig
from dovetail.engine.gradient import Gradient
from dovetail.engine.kinds import on_kernel_change
from dovetail.engine.parameters import Param, params_of
from dovetail.engine.plan import Plan
from dovetail.engine.results import Results
from dovetail.errors import ArgumentTypeError

if TYPE_CHECKING:
    from dovetail.engine.graph import Graph

_NO_NAMES: Final[frozenset[str]] = frozenset()  # one for all ops
_LEARNED_LIMIT: Final = 4096
_EXAMPLES: Final = re.compile(r"\n\n(?:Examples:|>>>)")
_ENTRY_PARTS: Final = 4  # of an entry, before those of its key
# What a check gives: a 0-d bool that is true where values are refused (None where
# there are none to look at), and the error for them, which may wait for values.
Checked = tuple[Any, Callable[[], Exception]] | None
# Whether a function takes `out=`, and whether of the dtype of its result alone, of
# bool, or of any dtype, in which it then computes.
TakesOut: TypeAlias = bool | Literal["same", "truth", "dtype"]


class Formula(NamedTuple):
    """What an op writes in place, as arithmetic on elements.

    Attributes:
        numbers: what tensors meet, by name, from the op's numbers that it names; None
            for what does not come into it.
        values: what is written, from the tensors, the numbers by name, and the op's
            choices: first one value for each tensor in `mutates`, in their order; None
            for a tensor that was left out.
    """

    numbers: Callable[..., dict[str, Any]]
    values: Callable[..., tuple[Any, ...]]


class Op(Results, Gradient):
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
        cells: what all of them remember: `calls` and the op.
        calls: what a call needs, by kinds and attributes. Emptied when a kernel comes
            or goes, when a device is lost, and when it holds 4096 of them.
        plans: for calls out of the ordinary, the plans by the same; emptied likewise.
        checked: result shapes by input shapes and attributes; emptied when full.
        bound: by kind, what takes gradients through it while nothing is recorded, by
            `dovetail.engine.bound_pull`; emptied as `calls` is when kernels change.
        formula: what it writes, where its body only does what that says.
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
        self.params: tuple[Param, ...] = options.pop("params", None) or params_of(body)
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
        self.together: int = options.pop("together", 1)
        self.unrounded: bool = options.pop("unrounded")
        # The names by which torch offers it as a function.
        self.public: tuple[str, ...] = ()
        self.ulp: float | None = options.pop("ulp", None)
        self.sums: bool = options.pop("sums", False)
        self.averages: bool = options.pop("averages", False)
        self.undefined_on: tuple[str, ...] = tuple(options.pop("undefined_on", ()))
        self.levels: dict[str, tuple[Any, ...]] = options.pop("levels", {})
        self.largest: int | None = options.pop("largest", None)
        self.grows: tuple[int, ...] = options.pop("grows", ())
        self.multiplies: bool = options.pop("multiplies", False)
        self.cancels: bool | Callable[..., Any] = options.pop("cancels", False)
        self.holds_back: tuple[str, ...] = options.pop("holds_back", ())
        self.signed_zeros: bool = options.pop("signed_zeros", False)
        self.of_numbers: bool = options.pop("of_numbers", False)
        self.layout_matters: bool = options.pop("layout_matters", False)
        self.row_major = options.pop("row_major", None)
        self.unspecified: bool = options.pop("unspecified", False)
        self.meta_only: tuple[str, ...] = options.pop("meta_only", ())
        self.memory: bool = options.pop("memory", False)
        shape = options.pop("shape")
        self.shape: Any = sig.parse(shape) if isinstance(shape, str) else shape
        self._index_params()
        self._without_gradient()
        self.geometry: Callable[..., Any] | None = None
        self.check: Callable[..., Checked] | None = None
        self.oracle: Callable[..., Any] | None = None
        self.cases: Callable[..., Any] | None = None
        self.kinks: Callable[..., Any] | None = None
        self.formula: Formula | None = None
        self.domain: tuple[float, float] = options.pop("domain")
        self.function: Callable[..., Any] = body
        self.takes_out: TakesOut = True
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

    @cached_property
    def leading(self) -> tuple[int, ...]:
        """The places of the leading operand and of those that it is promoted with.

        None where no number may lead.
        """
        apart = self.indices | self.masks
        plain = self.is_elementwise and not self.has_list and not self.each
        if not plain or self.mutates or self.promote not in ("same", "float"):
            return ()
        counted = [i for i in self.tensor_places if self.params[i].name not in apart]
        if len(counted) < 2 or any(self.params[i].fits for i in counted):
            return ()
        return tuple(counted)

    @property
    def meaning(self) -> str:
        """The documentation without the examples."""
        return _EXAMPLES.split(cleandoc(self.doc))[0]

    def call_with(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        """The op on tensors, with attributes already normalised."""
        return self.function(*self.arguments(inputs, attrs))

    if TYPE_CHECKING:  # installed by dovetail.engine.lower

        def lower(
            self, specs: Any, attrs: Any = None, leaves: Any = ..., unknown: Any = ...
        ) -> Graph: ...

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return vocabulary.__getitem__, (self.name,)

    def on_change(self) -> None:
        """Let the callables be written anew: what they are written from changed."""
        for function in self.callables:
            function.__code__ = self.unwritten

    def learn(self, key: Any, entry: tuple[Any, ...]) -> None:
        """Remember what calls with a key need."""
        if len(self.calls) >= _LEARNED_LIMIT:
            self.forget_calls()
        self.calls[key] = entry
        parts = key if type(key) is tuple else (key,)
        for function in self.callables:
            if entry[0] is not None and function.parts == len(parts):
                function.last.cell_contents = (*entry, *parts)

    def forget_calls(self) -> None:
        """Drop what calls have taught."""
        self.calls.clear()
        for function in self.callables:
            forget_last(function)

    def forget(self) -> None:
        """Drop what was derived from kernel tables."""
        self.forget_calls()
        self.plans.clear()
        self.bound.clear()


def forget_last(function: Any) -> None:
    """Drop the entry that a callable asks first, for one that no call fits."""
    function.last.cell_contents = (None,) * (_ENTRY_PARTS + function.parts)


class Vocabulary(dict[str, Op]):
    """All ops by name; those of families that load later come when asked for.

    Attributes:
        unloaded: the names of ops by the module that will declare them.
        load: imports such a module, of `dovetail.engine.later`.
    """

    unloaded: dict[str, frozenset[str]]
    load: Callable[[str], None]

    def __missing__(self, name: str) -> Op:
        for module, names in self.unloaded.items():
            if name in names:
                self.load(module)
                return self[name]
        raise KeyError(name)

    def complete(self) -> None:
        """Load every family."""
        for module in list(self.unloaded):
            self.load(module)


vocabulary: Final = Vocabulary()
vocabulary.unloaded = {}


def _forget_kernels() -> None:
    """Drop every op's derived tables: a kernel came or went."""
    for op in vocabulary.values():
        op.forget()


on_kernel_change(_forget_kernels)


def declared(ops: Iterable[Op] | None = None) -> list[Op]:
    """All ops of the vocabulary, sorted by name."""
    vocabulary.complete()
    return sorted(ops or vocabulary.values(), key=lambda op: op.name)
