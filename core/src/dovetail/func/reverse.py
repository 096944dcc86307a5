"""Gradients of functions: `grad`, `grad_and_value`, `vjp`, `jacrev`."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine.autograd import grad as gradients_of
from dovetail.engine.modes import enable_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, AutogradError
from dovetail.frontend.create import zeros
from dovetail.func.mapping import vmap
from dovetail.func.tracked import Tracked
from dovetail.func.trees import Tree, put_together, taken_apart
from dovetail.ops.create import zeros_of

Argnums = int | tuple[int, ...]


def grad(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of `func`, which returns one number.

    Args:
        argnums: by which arguments; one, or several in a tuple.
        has_aux: `func` returns the number and something else, which is passed on.

    Examples:
        >>> import dovetail as torch
        >>> slope = torch.func.grad(torch.sin)
        >>> torch.func.grad(slope)(torch.tensor(0.0))
        tensor(-0.)
    """
    both = _grad_and_value("grad", func, argnums, has_aux)

    @functools.wraps(func)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        found, (_, aux) = both(args, kwargs)
        return (found, aux) if has_aux else found

    return gradient


def grad_and_value(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that computes the gradient of `func` and what `func` returns.

    >>> torch.func.grad_and_value(torch.square)(torch.tensor(3.0))
    (tensor(6.), tensor(9.))
    """
    both = _grad_and_value("grad_and_value", func, argnums, has_aux)

    @functools.wraps(func)
    def gradient_and_value(*args: Any, **kwargs: Any) -> Any:
        found, (value, aux) = both(args, kwargs)
        return found, ((value, aux) if has_aux else value)

    return gradient_and_value


def _grad_and_value(name: str, func: Any, argnums: Argnums, has_aux: bool) -> Any:
    def call(args: tuple[Any, ...], kwargs: Any) -> Any:
        tracked = Tracked(name)
        with enable_grad():
            ours, variables, form = varied(tracked, args, argnums)
            value, aux = parted(name, func(*ours, **kwargs), has_aux)
            _require_number(name, value)
            create = tracked.creates([value])
            found = _gradients([value], variables, None, create)
        found = [tracked.released(g) for g in found]
        released = tracked.released(value), _each(tracked.released, aux)
        return put_together(found, form), released

    return call


def _each(change: Callable[[Any], Any], tree: Any) -> Any:
    values, form = taken_apart(tree)
    return put_together([change(v) for v in values], form)


def varied(
    tracked: Tracked, args: Sequence[Any], argnums: Argnums
) -> tuple[list[Any], list[Tensor], Tree]:
    """Arguments with variables in places, these variables, and their form.

    Raises:
        ArgumentError: there is no such argument.
    """
    ours = list(args)
    found: list[Any] = []
    for at in argnums if isinstance(argnums, tuple) else (argnums,):
        if type(at) is not int or not -len(args) <= at < len(args):
            raise ArgumentError(
                tracked.name, "argnums", was=repr(argnums),
                needed=f"numbers of the {len(args)} arguments",
            )  # fmt: skip
        values, form = taken_apart(args[at])
        ours[at] = put_together(
            [tracked.variable(v, f"argument {at}") for v in values], form
        )
        found.append(ours[at])
    tree = tuple(found) if isinstance(argnums, tuple) else found[0]
    variables, form = taken_apart(tree)
    return ours, variables, form


def parted(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returned, and what came along with it.

    Raises:
        ArgumentTypeError: something was to come along, and there is no pair.
    """
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise ArgumentTypeError(
            name, "result of the function", was=f"a {type(result).__name__}",
            needed="a tuple (output, aux), since has_aux is True",
        )  # fmt: skip
    return result


def _require_number(name: str, value: Any) -> None:
    if not isinstance(value, Tensor):
        raise ArgumentTypeError(
            name, "result of the function", was=f"a {type(value).__name__}",
            needed="a Tensor of one number",
        )  # fmt: skip
    if value.ndim:
        raise AutogradError(
            name, "result of the function", was=f"of shape {tuple(value.shape)}",
            needed="a 0-d tensor", remedy="reduce it with .sum(), or use jacrev",
        )  # fmt: skip


def _gradients(
    outs: list[Tensor], variables: list[Tensor], cts: list[Any] | None, create: bool
) -> list[Any]:
    """Gradients by variables, zeros by those that nothing depends on."""
    some = [i for i, y in enumerate(outs) if y.requires_grad]
    if not some:
        return [zeros_of(x.detach(), tuple(x._a.shape)) for x in variables]
    given = None if cts is None else [cts[i] for i in some]
    found = gradients_of(
        [outs[i] for i in some], variables, given, retain_graph=True,
        create_graph=create, allow_unused=True,
    )  # fmt: skip
    pairs = zip(found, variables, strict=True)
    return [
        zeros_of(x.detach(), tuple(x._a.shape)) if g is None else g for g, x in pairs
    ]


def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """What `func` gives for `primals`, and a function from cotangents to gradients.

    Returns: (output, vjp_fn), and what came along if `has_aux`. `vjp_fn` takes
        cotangents in the form of the output, and gives a tuple, one for each primal.

    >>> y, pull = torch.func.vjp(torch.sin, torch.tensor(0.0))
    >>> pull(torch.tensor(2.0))
    (tensor(2.),)
    """
    output, pull, aux = pulled("vjp", func, primals, has_aux)
    return (output, pull, aux) if has_aux else (output, pull)


def pulled(
    name: str, func: Any, primals: tuple[Any, ...], has_aux: bool
) -> tuple[Any, Any, Any]:
    """Output, the function from cotangents to gradients, and what came along."""
    tracked = Tracked(name)
    with enable_grad():
        ours, variables, form = varied(tracked, primals, tuple(range(len(primals))))
        result, aux = parted(name, func(*ours), has_aux)
    outs, shape = taken_apart(result)
    for y in outs:
        if not isinstance(y, Tensor):
            raise ArgumentTypeError(
                name, "result of the function", was=f"a {type(y).__name__}",
                needed="tensors",
            )  # fmt: skip
    creates = tracked.creates(outs)

    def pull(*cotangents: Any, **_: Any) -> Any:
        tree = cotangents[0] if len(cotangents) == 1 else cotangents
        cts, own = taken_apart(tree)
        if len(cts) != len(outs):
            raise ArgumentError(
                f"{name}'s function", "cotangents", was=f"{own.size} of them",
                needed=f"{len(outs)}, in the form of the output",
            )  # fmt: skip
        create = creates or any(ct.requires_grad for ct in cts)
        again = Tracked(name)
        again.leaves = tracked.leaves
        with enable_grad():
            found = _gradients(outs, variables, cts, create)
        if create and again.recorded:
            again.follows = tracked.follows
        found = [again.released(g) for g in found]
        return put_together(found, form)

    released = put_together([tracked.released(y) for y in outs], shape)
    return released, pull, _each(tracked.released, aux)


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False,
    chunk_size: int | None = None, _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that computes the Jacobian of `func`, row by row of the output.

    Args:
        argnums: by which arguments; one, or several in a tuple.
        has_aux: `func` returns the output and something else, which is passed on.
        chunk_size: how many rows are computed at once; all of them unless given.

    Returns: in the form of the output, and in the arguments' form within, tensors of
        shape [*output.shape, *argument.shape].

    >>> torch.func.jacrev(torch.sin)(torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        places = argnums if isinstance(argnums, tuple) else (argnums,)

        def chosen(*variables: Any) -> Any:
            given = list(args)
            for at, value in zip(places, variables, strict=True):
                given[at] = value
            return func(*given, **kwargs)

        for at in places:
            if type(at) is not int or not -len(args) <= at < len(args):
                raise ArgumentError(
                    "jacrev", "argnums", was=repr(argnums),
                    needed=f"numbers of the {len(args)} arguments",
                )  # fmt: skip
        primals = tuple(args[at] for at in places)
        require_real("jacrev", "argument", taken_apart(primals)[0])
        output, pull, aux = pulled("jacrev", chosen, primals, has_aux)
        outs, form = taken_apart(output)
        require_real("jacrev", "result of the function", outs)
        basis = put_together(unit_rows(outs), form)
        found = vmap(pull, chunk_size=chunk_size)(basis)
        tree = found if isinstance(argnums, tuple) else found[0]
        columns, within = taken_apart(tree)
        rows = [rows_of(column, outs) for column in columns]
        parts = [put_together([of[i] for of in rows], within) for i in range(len(outs))]
        whole = put_together(parts, form)
        return (whole, aux) if has_aux else whole

    return jacobian


def require_real(name: str, what: str, tensors: Sequence[Any]) -> None:
    """Raise for complex numbers, whose derivatives one number each does not tell.

    Raises:
        AutogradError: there are some.
    """
    for x in tensors:
        if isinstance(x, Tensor) and x.dtype.is_complex:
            raise AutogradError(
                name, what, was=f"complex ({x.dtype.name})",
                needed="real numbers", remedy="take view_as_real() of it",
            )  # fmt: skip


def unit_rows(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor, a batch: for every element of all of them, a row with one 1."""
    sizes = [math.prod(y.shape) for y in tensors]
    total, before, found = sum(sizes), 0, []
    for y, size in zip(tensors, sizes, strict=True):
        rows = zeros(total, size, dtype=y.dtype, device=y.device)
        rows.narrow(0, before, size).diagonal().fill_(1)
        found.append(rows.reshape((total, *y.shape)))
        before += size
    return found


def rows_of(rows: Tensor, outs: Sequence[Tensor]) -> list[Tensor]:
    """A batch of gradients, cut into those of each output, in its shape."""
    found, before = [], 0
    for y in outs:
        size = math.prod(y.shape)
        part = rows.narrow(0, before, size)
        found.append(part.reshape((*y.shape, *rows.shape[1:])))
        before += size
    return found


__all__ = ["grad", "grad_and_value", "jacrev", "vjp"]
