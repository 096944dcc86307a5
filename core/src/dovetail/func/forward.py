"""Derivatives along tangents: `jvp`, `jacfwd`, `hessian`, `linearize`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.autograd import grad as gradients_of
from dovetail.engine.kinds import kind_on
from dovetail.engine.levels import around, lifted
from dovetail.engine.modes import enable_grad
from dovetail.engine.open_levels import Opened, open_levels
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError
from dovetail.func.dual_values import Dual
from dovetail.func.duals import Forward
from dovetail.func.mapping import vmap
from dovetail.func.reverse import (
    Argnums,
    jacrev,
    parted,
    require_real,
    rows_of,
    unit_rows,
    varied,
)
from dovetail.func.tracked import Tracked
from dovetail.func.trees import put_together, taken_apart
from dovetail.ops.create import zeros_of


def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False,
    has_aux: bool = False,
) -> Any:  # fmt: skip
    """What `func` gives for `primals`, and how that changes along `tangents`.

    Args:
        primals, tangents: tuples of arguments, and of changes in the same form.
        strict: refuse a result that does not depend on the arguments.
        has_aux: `func` returns the output and something else, which is passed on.

    >>> torch.func.jvp(torch.sin, (torch.tensor(0.0),), (torch.tensor(2.0),))
    (tensor(0.), tensor(2.))
    """
    values, form = taken_apart(_tuple("primals", primals))
    along, own = taken_apart(_tuple("tangents", tangents))
    if own.size != form.size:
        raise ArgumentError(
            "jvp", "tangents", was=f"{own.size} tensors",
            needed=f"{form.size}, in the form of the primals",
        )  # fmt: skip
    with Opened(Forward()) as depth:
        pairs = zip(values, along, strict=True)
        duals = [dual("jvp", x, t, depth) for x, t in pairs]
        output, aux = parted("jvp", func(*put_together(duals, form)), has_aux)
        outs, shape = taken_apart(output)
        parts = [_parts("jvp", y, depth) for y in outs]
        rest, around_them = taken_apart(aux)
        passed = put_together(
            [_parts("jvp", v, depth)[0] if isinstance(v, Tensor) else v for v in rest],
            around_them,
        )
    if strict and any(t is None for _, t in parts):
        raise ArgumentError(
            "jvp", "result of the function", was="independent of the primals",
            needed="one that depends on them, since strict is True",
        )  # fmt: skip
    moved = [zeros_of(x, tuple(x._a.shape)) if t is None else t for x, t in parts]
    found = (
        put_together([x for x, _ in parts], shape), put_together(moved, shape)
    )  # fmt: skip
    return (*found, passed) if has_aux else found


def _tuple(name: str, value: Any) -> tuple[Any, ...]:
    if not isinstance(value, tuple) or not value:
        raise ArgumentTypeError(
            "jvp", name, was=f"a {type(value).__name__}", needed="a tuple of arguments"
        )
    return value


def dual(name: str, x: Any, tangent: Any, depth: int) -> Tensor:
    """A tensor of the level at `depth` with a tangent.

    Raises:
        ArgumentTypeError: one of them is no tensor.
        ShapeError: the tangent has another shape.
    """
    for what, value in (("primal", x), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                name, what, was=f"a {type(value).__name__}", needed="a Tensor"
            )
    if tuple(x.shape) != tuple(tangent.shape):
        raise ShapeError(
            name, "tangent", was=f"of shape {tuple(tangent.shape)}",
            needed=f"{tuple(x.shape)}, the shape of the primal",
        )  # fmt: skip
    if tangent.dtype is not x.dtype:
        raise ArgumentTypeError(
            name, "tangent", was=tangent.dtype.name,
            needed=f"{x.dtype.name}, as the primal has",
        )  # fmt: skip
    below, moved = lifted(x, depth - 1), lifted(tangent, depth - 1)
    backend = around(Forward.backend, below._kind.backend)
    kind = kind_on(backend, below._kind.index, below._kind.dtype)
    native = Dual(below, moved, lent=True)
    made = wrap(native, kind)
    storage_of(made)  # writes are the caller's to see
    return made


def _parts(name: str, y: Any, depth: int) -> tuple[Tensor, Tensor | None]:
    """Value and tangent of a result, of the level below."""
    if not isinstance(y, Tensor):
        raise ArgumentTypeError(
            name, "result of the function", was=f"a {type(y).__name__}",
            needed="tensors",
        )  # fmt: skip
    native = lifted(y, depth)._a
    return native.inner, native.tangent


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *,
    randomness: str = "error",
) -> Callable[..., Any]:  # fmt: skip
    """A function that computes the Jacobian of `func`, column by column of the input.

    Args:
        argnums: by which arguments; one, or several in a tuple.
        has_aux: `func` returns the output and something else, which is passed on.
        randomness: as of `vmap`.

    Returns: as of `jacrev`.

    >>> torch.func.jacfwd(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        places = argnums if isinstance(argnums, tuple) else (argnums,)
        for at in places:
            if type(at) is not int or not -len(args) <= at < len(args):
                raise ArgumentError(
                    "jacfwd", "argnums", was=repr(argnums),
                    needed=f"numbers of the {len(args)} arguments",
                )  # fmt: skip
        chosen = tuple(args[at] for at in places)
        primals = chosen if isinstance(argnums, tuple) else chosen[0]
        inputs, within = taken_apart(primals)
        require_real("jacfwd", "argument", inputs)
        kept: list[Any] = []

        def called(*variables: Any) -> Any:
            given = list(args)
            for at, value in zip(places, variables, strict=True):
                given[at] = value
            return func(*given, **kwargs)

        def along(tangents: list[Tensor]) -> Any:
            tree = put_together(tangents, within)
            moves = tree if isinstance(argnums, tuple) else (tree,)
            found = jvp(called, chosen, moves, has_aux=has_aux)
            values, form = taken_apart(found[1])
            kept[:] = [form]
            return values, (taken_apart(found[2])[0] if has_aux else [])

        if has_aux:
            _, aux = parted("jacfwd", func(*args, **kwargs), True)
        columns, _ = vmap(along, randomness=randomness)(unit_rows(inputs))
        parts = [
            put_together([_last(part, x) for part, x in _cut(column, inputs)], within)
            for column in columns
        ]
        whole = put_together(parts, kept[0])
        return (whole, aux) if has_aux else whole

    return jacobian


def _cut(column: Tensor, inputs: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
    return list(zip(rows_of(column, inputs), inputs, strict=True))


def _last(part: Tensor, x: Tensor) -> Tensor:
    """The dims of an input behind those of the output."""
    dims = tuple(range(x.ndim))
    found: Tensor = part.movedim(dims, tuple(d - x.ndim for d in dims))
    return found


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that computes second derivatives, forward over reverse.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


def _transposed(
    gradients: Sequence[Any], cts: Sequence[Tensor], tangents: Sequence[Any],
    create: bool,
) -> list[Any]:  # fmt: skip
    """The changes that tangents make, by gradients that are linear in cotangents."""
    pairs = [
        (g, t) for g, t in zip(gradients, tangents, strict=True)
        if g is not None and g.requires_grad
    ]  # fmt: skip
    moved: Any = [None] * len(cts)
    if pairs:
        with enable_grad():
            moved = gradients_of(
                [g for g, _ in pairs], cts, [t for _, t in pairs],
                retain_graph=True, create_graph=create, allow_unused=True,
            )  # fmt: skip
    return [
        zeros_of(ct.detach(), tuple(ct._a.shape)) if t is None else t
        for t, ct in zip(moved, cts, strict=True)
    ]


def linearize(func: Callable[..., Any], *primals: Any) -> tuple[Any, Any]:
    """What `func` gives for `primals`, and a function from tangents to changes.

    `func` is called once; the other one may be called many times.

    >>> y, push = torch.func.linearize(torch.sin, torch.tensor(0.0))
    >>> push(torch.tensor(2.0))
    tensor(2.)
    """
    tracked = Tracked("linearize")
    with enable_grad():
        ours, variables, form = varied(tracked, primals, tuple(range(len(primals))))
        outs, shape = taken_apart(func(*ours))
        cts = [zeros_of(y.detach(), tuple(y._a.shape)) for y in outs]
        for ct in cts:
            ct.requires_grad = True
        some = [y.requires_grad for y in outs]
        found: Any = [None] * len(variables)
        if any(some):
            found = gradients_of(
                [y for y, flows in zip(outs, some, strict=True) if flows], variables,
                [ct for ct, flows in zip(cts, some, strict=True) if flows],
                create_graph=True, allow_unused=True,
            )  # fmt: skip
    create = bool(open_levels()) or tracked.creates(outs)

    def push(*tangents: Any) -> Any:
        along, own = taken_apart(tangents)
        if own.size != form.size:
            raise ArgumentError(
                "linearize's function", "tangents", was=f"{own.size} tensors",
                needed=f"{form.size}, in the form of the primals",
            )  # fmt: skip
        return put_together(_transposed(found, cts, along, create), shape)

    return put_together([tracked.released(y) for y in outs], shape), push


__all__ = ["hessian", "jacfwd", "jvp", "linearize"]
