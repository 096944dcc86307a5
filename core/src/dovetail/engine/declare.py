"""`@op`: a function becomes an entry of the vocabulary; its hooks complete it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any, Final, TypeVar, cast

from dovetail.device_api.kernels import KNOWN_OPS
from dovetail.dtypes import ANY, INEXACT, Array, DType, Sizes
from dovetail.engine import signature as sig
from dovetail.engine.basics import basics
from dovetail.engine.calls import callable_of
from dovetail.engine.cases import backward_cases
from dovetail.engine.declaration_hooks import (
    Declared,
    geometry_hook,
    rule_hook,
    sets,
    taken_by,
)
from dovetail.engine.declaration_names import check_names, check_uses
from dovetail.engine.op import Op, TakesOut, vocabulary
from dovetail.engine.parameters import REQUIRED, Param
from dovetail.engine.public import publish_op
from dovetail.engine.results import SAME
from dovetail.errors import ArgumentTypeError

R_co = TypeVar("R_co", covariant=True)


def op(
    *,
    shape: str | Callable[..., Any] | Any = "()->()",
    accepts: frozenset[DType] = ANY,
    result: Any = SAME,
    promote: str | None = "same",
    each: bool = False,
    indices: Sequence[str] = (),
    masks: Sequence[str] = (),
    trusted: Sequence[str] = (),
    checked_by_body: bool = False,
    lines: str = "",
    outputs: Sequence[str] = ("y",),
    residuals: int = 0,
    nondifferentiable: bool = False,
    primitive: frozenset[DType] = frozenset(),
    view: bool = False,
    mutates: Sequence[str] = (),
    draws: Any = None,
    together: int = 1,
    unrounded: bool = False,
    domain: tuple[float, float] = (-3.0, 3.0),
    ulp: float | None = None,
    sums: bool = False,
    averages: bool = False,
    multiplies: bool = False,
    cancels: bool | Callable[..., Any] = False,
    signed_zeros: bool = False,
    of_numbers: bool = False,
    holds_back: Sequence[str] = (),
    undefined_on: Sequence[str] = (),
    levels: dict[str, tuple[Any, ...]] | None = None,
    largest: int | None = None,
    grows: tuple[int, ...] = (),
    layout_matters: bool = False,
    row_major: bool | None = None,
    unspecified: bool = False,
    meta_only: Sequence[str] = (),
    memory: bool = False,
    name: str | None = None,
    torch: str = "",
    out: TakesOut = True,
    autocast: str | None = None,
    grad: Callable[..., Any] | dict[str, Callable[..., Any]] | None = None,
    geometry: Callable[..., Any] | None = None,
    oracle: Callable[..., Any] | None = None,
    cases: Callable[..., Any] | None = None,
    kinks: Callable[..., Any] | None = None,
    params: tuple[Param, ...] = (),
) -> Callable[[Callable[..., R_co]], Declared[R_co]]:
    """Declare an op; the decorated function is its body.

    Args:
        shape: a signature such as `"(n,k),(k,m)->(n,m)"`, a function of the input
            shapes and attributes, or `DATA`; `"()->()"` is elementwise.
        accepts: dtypes the promoted inputs may have.
        result: dtype of the results: `SAME`, a DType, a rule `(dtypes, attrs)`, or a
            tuple of these.
        each: `accepts` holds for each operand, not only for what they are promoted to.
        promote: `"same"` (one dtype by torch's rules), `"float"` (the same, integers
            become floats), `"first"` (that of the first tensor), `"equal"` (all are
            tensors of one dtype already) or None (inputs keep their dtypes; the first
            counts).
        indices, masks: tensor parameters that hold indices or bools; they take no
            part in promotion.
        trusted: those of `indices` that are in range wherever the op is called.
        lines: tensors without dims count as lines of one element, as torch has it; the
            result has no dims where the tensor named here has none.
        checked_by_body: the ops of the body refuse the same values, so that the check
            is for kernels alone.
        outputs: names of the results, by which a vjp asks for them.
        residuals: how many of the last results are kept for backward and hidden.
        nondifferentiable: the results are constants to autograd.
        primitive: dtypes for which every backend has a kernel; the body defines the
            op for the others, and only documents it for these.
        view: the result shares the memory of the first input; see `geometry`.
        mutates: tensor parameters that are written.
        draws: how many random words an element uses: a number, or a function of the
            results' dtype and of the attributes between the first and the seed.
        together: how many elements the same words make, of which a draw takes all.
        unrounded: the op moves bits; 16-bit floats need no wider arithmetic.
        domain: the range that generated inputs are drawn from.
        ulp: how far a result may be from the truth, in units in the last place,
            beside what its conditioning allows; None for the default.
        sums: each result is a sum of products of inputs, so that its error grows
            with the sum of their absolute values.
        averages: the same sums divided by their number of terms, which may be done by
            multiplying with its reciprocal.
        multiplies: results may be products of many inputs, in whichever order, so that
            partial ones may leave the format where the whole does not.
        cancels: results are differences of values as large as the inputs, to which
            their error is relative; of others, a function gives these by NumPy, called
            as the oracle is, one array for each result.
        of_numbers: all operands may be numbers, of which torch makes a tensor.
        signed_zeros: a real result that is 0 has the sign which IEEE 754, or Annex F of
            the C standard, gives it.
        holds_back: attributes that keep gradients from inputs which results depend on:
            where they say more than their default, no differences tell these.
        levels: by attribute, what conformance tries of it, where its type says too
            much or too little.
        undefined_on: classes of values (see `dovetail.conformance.values`) for which
            no answer is the right one, as intermediate results leave the format.
        largest: elements of the largest inputs that are drawn where results are
            floats, or bits: more would leave the format, lose more digits than are
            allowed, as sums in turn do, or keep the oracle busy for minutes.
        grows: how much each result grows when all elements of the first input grow
            by one; nothing is said of results beyond these.
        layout_matters: strides are part of what the op looks at.
        row_major: its results are contiguous, however its inputs lie; by default those
            of all but elementwise ops, which lie as the inputs do, and views.
        unspecified: nothing is said of the values of the result.
        meta_only: operands that a call on meta needs there, though elsewhere numbers
            on the CPU will do: torch's rules ask for it, which its kernels do not.
        memory: the body calls the backend's memory functions, which every device has:
            nothing smaller is there to be lowered to.
        torch: the public names, as `dovetail.engine.public` reads them.
        out: torch's function takes `out=`; `"same"` where that has to have the dtype
            of the result, `"dtype"` where its dtype is what the op computes in.
        autocast: the precision it has under autocast, `"lower"`, `"float32"`,
            `"widest"` or `"state"`; None for that of its inputs.
        geometry: a view's shape, strides and offset, as the hook of this name.
        grad: the gradient of the first tensor, or one for each that has any by name,
            as the hook of that name takes them.
        oracle, cases, kinks: as the hooks of these names, where one expression says
            it: the result by NumPy; calls to try, a function that makes
            them, also as rows of arguments in which lists of sizes are tensors (see
            `dovetail.engine.cases`); points without a derivative.
        params: the parameters, where the body does not say them.
    """
    options = {
        "shape": shape, "accepts": accepts, "result": result, "promote": promote,
        "each": each, "indices": indices, "masks": masks, "lines": lines,
        "trusted": trusted, "checked_by_body": checked_by_body,
        "outputs": tuple(outputs), "residuals": residuals,
        "nondifferentiable": nondifferentiable, "primitive": primitive, "view": view,
        "mutates": tuple(mutates), "draws": draws, "together": together,
        "unrounded": unrounded, "domain": domain, "name": name, "ulp": ulp,
        "sums": sums or averages,
        "averages": averages, "multiplies": multiplies, "cancels": cancels,
        "signed_zeros": signed_zeros, "of_numbers": of_numbers,
        "holds_back": tuple(holds_back),
        "undefined_on": undefined_on, "levels": levels or {}, "largest": largest,
        "grows": grows, "layout_matters": layout_matters, "row_major": row_major,
        "unspecified": unspecified, "meta_only": tuple(meta_only), "memory": memory,
        "params": params, "autocast": autocast,
    }  # fmt: skip

    def declare(body: Callable[..., R_co]) -> Declared[R_co]:
        made = Op(body, dict(options))
        if made.name in vocabulary:
            raise ArgumentTypeError(
                "op", "name", was=f"{made.name!r}, declared twice", needed="a new name"
            )
        check_names(made)
        if grad is not None:
            named = grad if isinstance(grad, dict) else {made.tensors[0].name: grad}
            made.set_rules(named)
        vocabulary[made.name] = made
        KNOWN_OPS.add(made.name)
        made.oracle, made.cases, made.kinks = oracle, cases, kinks
        made.takes_out = out
        stated = {"oracle": oracle, "cases": cases, "kinks": kinks}
        closed = {hook for hook, value in stated.items() if value is not None}
        if grad is not None or nondifferentiable:
            closed |= {"vjp", "grad"}
        if geometry is not None or not view:
            closed.add("geometry")
        call = _complete(made, callable_of(made), body, closed)
        if geometry is not None:
            geometry_hook(made, geometry)
        if torch:
            publish_op(made, torch, out)
        return call

    return declare


def _complete(
    made: Op, call: Any, body: Callable[..., R_co], closed: set[str]
) -> Declared[R_co]:
    """The op's function, with the hooks for what its declaration leaves open."""
    made.function = call
    basics.bind(made.name, call)
    call.op = made
    call.__name__ = call.__qualname__ = made.name
    call.__doc__ = body.__doc__
    call.__module__ = body.__module__
    call.__wrapped__ = body
    for name in _HOOKS.keys() - closed:
        setattr(call, name, MethodType(_HOOKS[name], made))
    return cast(Declared[R_co], call)


def _grad(
    made: Op, /, *, backward: bool | dict[str, Any] = False,
    oracle: Callable[..., Any] | None = None, **rules: Callable[..., Any],
) -> Any:  # fmt: skip
    """A gradient for each argument; the names of its parameters say what is kept.

    A rule may be an op, whose first parameter is the cotangent. `backward` makes the
    one rule an op of its own, `oracle` being that op's; a dict gives it options of
    `op`. The hook returns that op's function.
    """
    made.set_rules(rules, {name: taken_by(rule) for name, rule in rules.items()})
    function = None
    if backward:
        options = {"oracle": oracle, **(backward if backward is not True else {})}
        ((argument, rule),) = rules.items()
        taken = taken_by(rule)
        function = _as_op(made, argument, taken, rule, options)
        made.set_rules({argument: function}, {argument: taken})
    return function


def _vjp(made: Op, rule: Any = None, /, **uses: str | tuple[str, ...]) -> Any:
    """One gradient rule for all arguments, or what of it which gradient keeps."""
    if rule is None:
        made.uses = {k: (v,) if isinstance(v, str) else v for k, v in uses.items()}
        check_uses(made)
        return MethodType(_vjp, made)
    made.set_vjp(rule)
    return rule


# Bound to each op, one object a hook: closures would be four, for the collector too.
_HOOKS: Final[dict[str, Callable[..., Any]]] = {
    "vjp": _vjp, "grad": _grad, "geometry": geometry_hook, "rule": rule_hook,
    **{name: sets(name) for name in ("oracle", "cases", "kinks", "check")},
}  # fmt: skip


def close() -> None:
    """End the declarations made so far: their functions have no more hooks.

    What came in by a hook late would be one thing to some programs and another to
    others; and each of the hooks is an object to the garbage collector. Ops whose
    oracle is declared when the kit asks for it keep theirs.
    """
    for made in vocabulary.values():
        if made.oracle is not None:
            own = vars(made.function)
            for hook in _HOOKS:
                own.pop(hook, None)


def _as_op(
    forward: Op, argument: str, taken: list[str], rule: Callable[..., Any],
    options: dict[str, Any],
) -> Declared[Any]:  # fmt: skip
    """A gradient rule as an op of its own, for which backends may have a kernel.

    Its parameters are the rule's: the cotangent, what the rule keeps, attributes. Its
    calls to try derive from those of the forward op, its gradient from the rule.
    """
    known = {p.name: p for p in forward.params}
    absent = Param("", "tensor", REQUIRED)
    params = tuple(
        known.get(n, absent)._replace(name=n, default=REQUIRED) for n in taken
    )

    def body(*args: Any, **attrs: Any) -> Any:
        return rule(*args, **attrs)

    def like_argument(*shapes: Any, **attrs: Any) -> Any:
        return shapes[taken.index(argument) if argument in taken else 0]

    rule_of = forward.shape
    shape: Any = like_argument
    if isinstance(rule_of, sig.Signature) and rule_of.inputs == rule_of.outputs:
        core = rule_of.text.partition("->")[2]  # core dims stay as they are
        tensors = sum(p.role not in ("attr", "scalar") for p in params)
        shape = f"{','.join([core] * tensors)}->{core}"
    # Operands that mean nothing to one another may be drawn as for any such op.
    plain = forward.is_elementwise and not any(n in forward.names[1:] for n in taken)
    body.__name__ = f"{forward.name}_backward"
    body.__module__ = forward.module
    body.__doc__ = f"`ct` taken through `{forward.name}` to its `{argument}`."
    return op(
        accepts=forward.accepts & INEXACT,
        unrounded=forward.unrounded,
        outputs=("gradient",),
        shape="()->()" if forward.is_elementwise else shape,
        domain=forward.domain,
        cases=None if plain else lambda make: backward_cases(forward, taken, make),
        params=params,
        **options,
    )(body)


__all__ = ["Array", "Declared", "Sizes", "close", "op"]
