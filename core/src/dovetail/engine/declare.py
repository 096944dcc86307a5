"""`@op`: a function becomes an entry of the vocabulary; its hooks complete it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar, cast, overload

from dovetail.dtypes import ANY, DType
from dovetail.engine import signature as sig
from dovetail.engine.calls import callable_of
from dovetail.engine.op import SAME, Op, vocabulary
from dovetail.errors import ArgumentTypeError

F = TypeVar("F", bound=Callable[..., Any])
R_co = TypeVar("R_co", covariant=True)


class Declared(Protocol[R_co]):
    """A function of the vocabulary, and the hooks that complete its declaration.

    Its arguments are checked when it is called, since numbers stand for tensors.
    """

    op: Op
    __name__: str

    def __call__(self, *args: Any, **kwargs: Any) -> R_co: ...
    @overload
    def vjp(self, rule: F, /) -> F: ...
    @overload
    def vjp(self, **uses: str | tuple[str, ...]) -> Callable[[F], F]: ...
    def oracle(self, function: F) -> F: ...
    def cases(self, function: F) -> F: ...
    def kinks(self, function: F) -> F: ...
    def rule(self, function: F) -> F: ...
    def geometry(self, function: F) -> F: ...


def op(
    *,
    shape: str | Callable[..., Any] | Any = "()->()",
    accepts: frozenset[DType] = ANY,
    result: Any = SAME,
    promote: str | None = "same",
    indices: Sequence[str] = (),
    masks: Sequence[str] = (),
    outputs: Sequence[str] = ("y",),
    residuals: int = 0,
    nondifferentiable: bool = False,
    primitive: frozenset[DType] = frozenset(),
    view: bool = False,
    mutates: Sequence[str] = (),
    draws: Any = None,
    exact: bool = False,
    alias: str | None = None,
    domain: tuple[float, float] = (-3.0, 3.0),
    ulp: float | None = None,
    sums: bool = False,
    averages: bool = False,
    cancels: bool = False,
    undefined_on: Sequence[str] = (),
    largest: int | None = None,
    layout_matters: bool = False,
    name: str | None = None,
) -> Callable[[Callable[..., R_co]], Declared[R_co]]:
    """Declare an op; the decorated function is its body.

    Args:
        shape: a signature such as `"(n,k),(k,m)->(n,m)"`, a function of the input
            shapes and attributes, or `DATA`; `"()->()"` is elementwise.
        accepts: dtypes the promoted inputs may have.
        result: dtype of the results: `SAME`, a DType, a rule `(dtypes, attrs)`, or a
            tuple of these.
        promote: `"same"` (one dtype by torch's rules), `"float"` (the same, integers
            become floats) or None (inputs keep their dtypes; the first counts).
        indices, masks: tensor parameters that hold indices or bools; they take no
            part in promotion.
        outputs: names of the results, by which a vjp asks for them.
        residuals: how many of the last results are kept for backward and hidden.
        nondifferentiable: the results are constants to autograd.
        primitive: dtypes for which every backend has a kernel; the body defines the
            op for the others, and only documents it for these.
        view: the result shares the memory of the first input; see `geometry`.
        mutates: tensor parameters that are written.
        draws: how many random words a call uses, a function of its results' sizes.
        exact: the op moves bits; 16-bit floats need no wider arithmetic.
        alias: another name that torch has for it.
        domain: the range that generated inputs are drawn from.
        ulp: how far a result may be from the truth, in units in the last place,
            beside what its conditioning allows; None for the default.
        sums: each result is a sum of products of inputs, so that its error grows
            with the sum of their absolute values.
        averages: the same sums divided by their number of terms, which may be done by
            multiplying with its reciprocal.
        cancels: results are differences of values as large as the inputs, to which
            their error is relative.
        undefined_on: classes of values (see `dovetail.conformance.values`) for which
            no answer is the right one, as intermediate results leave the format.
        largest: elements of the largest inputs that are drawn where results are
            floats, or bits: more would leave the format, lose more digits than are
            allowed, as sums in turn do, or keep the oracle busy for minutes.
        layout_matters: strides are part of what the op looks at.
    """
    options = {
        "shape": shape, "accepts": accepts, "result": result, "promote": promote,
        "indices": indices, "masks": masks, "outputs": tuple(outputs),
        "residuals": residuals, "nondifferentiable": nondifferentiable,
        "primitive": primitive, "view": view, "mutates": tuple(mutates),
        "draws": draws, "exact": exact, "alias": alias, "domain": domain, "name": name,
        "ulp": ulp, "sums": sums or averages, "averages": averages, "cancels": cancels,
        "undefined_on": undefined_on, "largest": largest,
        "layout_matters": layout_matters,
    }  # fmt: skip

    def declare(body: Callable[..., R_co]) -> Declared[R_co]:
        made = Op(body, dict(options))
        if made.name in vocabulary:
            raise ArgumentTypeError(
                "op", "name", was=f"{made.name!r}, declared twice", needed="a new name"
            )
        vocabulary[made.name] = made
        return _complete(made, callable_of(made), body)

    return declare


def _complete(made: Op, call: Any, body: Callable[..., R_co]) -> Declared[R_co]:
    made.function = call
    call.op = made
    call.__name__ = call.__qualname__ = made.name
    call.__doc__ = body.__doc__
    call.__module__ = body.__module__
    call.__wrapped__ = body
    call.vjp = _vjp_hook(made)
    for name in ("oracle", "cases", "kinks"):
        setattr(call, name, _setter(made, name))
    call.rule = _setter(made, "shape")
    call.geometry = _geometry_hook(made)
    return cast(Declared[R_co], call)


def _setter(made: Op, name: str) -> Callable[[F], F]:
    def hook(function: F) -> F:
        setattr(made, name, function)
        return function

    return hook


def _geometry_hook(made: Op) -> Callable[[F], F]:
    """A view's geometry; the shape rule follows from it."""

    def hook(function: F) -> F:
        made.geometry = function
        if isinstance(made.shape, sig.Signature):
            made.shape = lambda size, /, **attrs: function(size, None, **attrs)[0]
        return function

    return hook


def _vjp_hook(made: Op) -> Callable[..., Any]:
    def hook(rule: Any = None, /, **uses: str | tuple[str, ...]) -> Any:
        if rule is None:
            made.uses = {k: (v,) if isinstance(v, str) else v for k, v in uses.items()}
            return hook
        made.set_vjp(rule)
        return rule

    return hook


__all__ = ["Declared", "op"]
