"""How an op moves tangents: by the transpose of its gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from dovetail.autograd import grad
from dovetail.dtypes import DType
from dovetail.engine.levels import all_results, follows_below
from dovetail.engine.modes import enable_grad, grad_enabled
from dovetail.engine.op import Op
from dovetail.engine.tensor import Tensor, alias
from dovetail.func.dual_slopes import direct
from dovetail.func.dual_values import Dual, changed, share_tangent
from dovetail.ops import view as views
from dovetail.ops.create import zeros_of

if TYPE_CHECKING:
    from dovetail.func.duals import DualBackend

Kernel = Callable[..., Any]


def has_rule(op: Op, dtype: DType) -> bool:
    """Whether there is a rule; ops without one run their body."""
    if op.view or op.name in _WRITES or not op.tensors or op.name == "transfer":
        return True
    if op.mutates:
        return False
    return op.nondifferentiable or op.vjp is not None or not dtype.is_inexact


def rule_for(backend: DualBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
    """What computes an op with these static attributes on values with tangents."""
    if op.view:
        return lambda a: a.seen(lambda x: op.call_with([x], attrs))
    if op.name in _WRITES:
        return _writing(op.name, attrs)
    if op.name == "transfer":
        return lambda a: a
    if not op.tensors:
        return _made(backend, op, attrs)
    return _moving(op, attrs)


def _made(backend: DualBackend, op: Op, attrs: dict[str, Any]) -> Kernel:
    """Constants."""
    rest = {k: v for k, v in attrs.items() if k not in ("dtype", "index")}
    known = rest | {"kind": backend.kind_below(attrs["dtype"], attrs["index"])}
    return lambda **scalars: Dual(all_results(op, [], known | scalars)[0], None)


_WRITES: Final[dict[str, str]] = {
    "assign_": "copy_", "scatter_add_": "scatter_add_", "scatter_set_": "scatter_",
}  # fmt: skip


def _writing(name: str, attrs: dict[str, Any]) -> Kernel:
    method = _WRITES[name]
    dim = attrs.get("dim")

    def kernel(x: Dual, *rest: Dual) -> tuple[()]:
        def write(target: Tensor, values: Tensor) -> None:
            if dim is None:
                target.copy_(values)
            else:
                getattr(target, method)(dim, rest[0].inner, values)

        changed(x, rest[-1], write)
        return ()

    return kernel


# Elementwise ops that make complex numbers of real ones.
_TO_COMPLEX: Final = frozenset({"cast", "complex", "polar"})


def _moving(op: Op, attrs: dict[str, Any]) -> Kernel:
    """Values by the op, tangents by its gradients, or by their transpose."""
    straight = direct(op)

    def kernel(*natives: Any, **scalars: Any) -> Any:
        known = attrs | scalars
        tangents = [a.tangent for a in _flat(natives) if a is not None]
        if op.nondifferentiable or all(t is None for t in tangents):
            outs = all_results(op, _values(natives), known)
            return _duals(outs, [None] * len(outs), natives)
        values = _values(natives)
        if straight is not None and not (op.is_elementwise and _complex(op, values)):
            outs = all_results(op, values, known)
            moves = [straight(values, _moves(natives), outs, known)]
            return _duals(outs, moves, natives)
        held = [a.inner for a in _flat(natives) if a is not None]
        held += [t for t in tangents if t is not None]
        follows, create = followed(held)
        with enable_grad():
            variables: list[tuple[Tensor, Tensor]] = []
            inputs = varied(natives, follows, variables)
            outs = all_results(op, inputs, known)
            moved = [moved_along(y, variables, create) for y in outs]
        if not follows:
            outs, moved = apart(outs), apart(moved)
        return _duals(outs, moved, natives)

    return kernel


def followed(held: Sequence[Tensor]) -> tuple[bool, bool]:
    """Whether gradients below follow values or tangents; whether at any level."""
    if not grad_enabled():
        return False, False
    follows = any(x.requires_grad for x in held)
    return follows, follows or any(map(follows_below, held))


def _flat(natives: Sequence[Any]) -> Iterator[Any]:
    for a in natives:
        yield from a if type(a) is list else (a,)


def _values(natives: Sequence[Any]) -> list[Any]:
    return [
        _values(a) if type(a) is list else None if a is None else a.inner
        for a in natives
    ]


def _complex(op: Op, values: Sequence[Any]) -> bool:
    """Whether slopes may be of two kinds: of numbers, and of their conjugates."""
    if op.name in _TO_COMPLEX:
        return True
    return any(x is not None and x._kind.dtype.is_complex for x in values)


def _moves(natives: Sequence[Any]) -> list[Any]:
    return [
        _moves(a) if type(a) is list else None if a is None else a.tangent
        for a in natives
    ]


def _duals(
    outs: Sequence[Tensor], tangents: Sequence[Any], natives: Sequence[Any]
) -> Any:
    """Results, which may share tangents with operands and among each other."""
    made = tuple([Dual(y, t) for y, t in zip(outs, tangents, strict=True)])
    others = [a for a in _flat(natives) if a is not None]
    for at, a in enumerate(made):
        for b in (*others, *made[:at]):
            if share_tangent(a, b):
                a.lend()
                b.lend()
    return made[0] if len(made) == 1 else made


def apart(tensors: Sequence[Any]) -> list[Any]:
    """Tensors without what is on the tape by our variables alone."""
    return [alias(y) if y is not None and y.requires_grad else y for y in tensors]


def varied(
    natives: Sequence[Any], follows: bool, variables: list[tuple[Tensor, Tensor]]
) -> list[Any]:
    """The values, those with tangents as variables, which are noted with these."""
    found: list[Any] = []
    for a in natives:
        if type(a) is list:
            found.append(varied(a, follows, variables))
            continue
        tangent = None if a is None else a.tangent
        if tangent is None:
            found.append(None if a is None else a.inner)
            continue
        x = a.inner
        if follows and x.requires_grad:
            own = views.view(x, tuple(x._a.shape))
        else:
            own = alias(x)
            own.requires_grad = True
        variables.append((own, tangent))
        found.append(own)
    return found


def moved_along(
    y: Tensor, variables: list[tuple[Tensor, Tensor]], create: bool
) -> Tensor | None:
    """The tangent of a result: its gradient, differentiated by the cotangent."""
    if not y.requires_grad:
        return None
    ct = zeros_of(y.detach(), tuple(y._a.shape))
    ct.requires_grad = True
    found = grad(
        [y], [x for x, _ in variables], [ct], create_graph=True, allow_unused=True
    )
    pairs = [
        (g, t) for g, (_, t) in zip(found, variables, strict=True)
        if g is not None and g.requires_grad
    ]  # fmt: skip
    if not pairs:
        return None
    (moved,) = grad(
        [g for g, _ in pairs], [ct], [t for _, t in pairs], create_graph=create,
        allow_unused=True,
    )  # fmt: skip
    return moved
