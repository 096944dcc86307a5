"""Derivatives of functions at a point: torch.autograd.functional."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.engine import autograd
from dovetail.engine.modes import enable_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, AutogradError, ShapeError
from dovetail.func.forward import jacfwd
from dovetail.func.mapping import vmap
from dovetail.func.reverse import unit_rows
from dovetail.ops.create import zeros_of
from dovetail.ops.shape import stack
from dovetail.ops.view import reshape, view

Tensors = Any


class _Call:
    """A call of a function by variables of our own.

    Attributes:
        variables, outs: what goes in and comes out.
        several, gives_several: whether each was a tuple.
    """

    def __init__(
        self, name: str, func: Callable[..., Any], inputs: Any, create: bool,
        strict: bool,
    ) -> None:  # fmt: skip
        self.name, self.create, self.strict = name, create, strict
        given, self.several = _tuple(name, "inputs", inputs)
        with enable_grad():
            self.variables = tuple([_variable(x, create) for x in given])
            result = func(*self.variables)
            self.outs, self.gives_several = _tuple(
                name, "outputs of the function", result
            )
        for i, y in enumerate(self.outs):
            if strict and not y.requires_grad:
                raise AutogradError(
                    name, f"output {i}", was="independent of the inputs",
                    needed="one that depends on them, since strict is True",
                )  # fmt: skip

    def result(self) -> Any:
        """What the function gave, for the caller."""
        return _form(self.released(self.outs), self.gives_several)

    def released(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Tensors for the caller, off the tape unless it is to be recorded."""
        return tuple(tensors) if self.create else tuple([t.detach() for t in tensors])

    def gradients(
        self, outs: Sequence[Tensor], cts: Sequence[Any], create: bool,
        variables: Sequence[Tensor] | None = None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        """Gradients by the variables, zeros by those that nothing depends on."""
        by = self.variables if variables is None else variables
        some = [i for i, y in enumerate(outs) if y.requires_grad]
        found: Sequence[Any] = [None] * len(by)
        if some:
            with enable_grad():
                found = autograd.grad(
                    [outs[i] for i in some], by, [cts[i] for i in some], True, create,
                    True,
                )  # fmt: skip
        for i, g in enumerate(found):
            if g is None and self.strict:
                raise AutogradError(
                    self.name, f"input {i}", was="one that the outputs do not depend "
                    "on", needed="one that they do, since strict is True",
                )  # fmt: skip
        pairs = zip(found, by, strict=True)
        return tuple([_zeros(x) if g is None else g for g, x in pairs])

    def along(self, v: Any, like: Sequence[Tensor], what: str) -> tuple[Any, ...]:
        """The vector of a product: as given, or 1 for a single number."""
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise ArgumentError(
                    self.name, "v", was="missing", needed=f"tensors like the {what}, "
                    "which are more than one number",
                )  # fmt: skip
            return (_zeros(like[0]) + 1,)
        given, _ = _tuple(self.name, "v", v)
        shapes = [tuple(x.shape) for x in given], [tuple(x.shape) for x in like]
        if shapes[0] != shapes[1]:
            raise ShapeError(
                self.name, "v", was=f"of shapes {shapes[0]}",
                needed=f"{shapes[1]}, as the {what} have",
            )  # fmt: skip
        return given


def _zeros(x: Tensor) -> Tensor:
    made: Tensor = zeros_of(x.detach(), tuple(x._a.shape))
    return made


def _variable(x: Tensor, create: bool) -> Tensor:
    if create and x.requires_grad:
        own: Tensor = view(x, tuple(x._a.shape))
        return own
    return x.detach().requires_grad_()


def _tuple(name: str, what: str, value: Any) -> tuple[tuple[Any, ...], bool]:
    several = isinstance(value, tuple | list)
    found = tuple(value) if several else (value,)
    for i, x in enumerate(found):
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                name, f"{what}[{i}]", was=f"a {type(x).__name__}", needed="a Tensor"
            )
    return found, several


def _form(tensors: tuple[Any, ...], several: bool) -> Any:
    return tensors if several else tensors[0]


def vjp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None,
    create_graph: bool = False, strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """What `func` gives, and the product of `v` with its Jacobian.

    >>> torch.autograd.functional.vjp(torch.sin, torch.zeros(2), torch.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    cts = call.along(v, call.outs, "outputs")
    found = call.gradients(call.outs, cts, create_graph)
    return call.result(), _form(call.released(found), call.several)


def jvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None,
    create_graph: bool = False, strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """What `func` gives, and the product of its Jacobian with `v`.

    >>> torch.autograd.functional.jvp(torch.sin, torch.zeros(2), torch.ones(2))
    (tensor([0., 0.]), tensor([1., 1.]))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    moves = call.along(v, call.variables, "inputs")
    cts = [_zeros(y).requires_grad_() for y in call.outs]
    pulled = call.gradients(call.outs, cts, True)
    call.strict = False
    found = call.gradients(pulled, moves, create_graph, cts)
    return call.result(), _form(call.released(found), call.gives_several)


def vhp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None,
    create_graph: bool = False, strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """What `func`, which returns one number, gives, and `v` times its Hessian."""
    return _second("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any], inputs: Tensors, v: Tensors | None = None,
    create_graph: bool = False, strict: bool = False,
) -> tuple[Any, Any]:  # fmt: skip
    """What `func`, which returns one number, gives, and its Hessian times `v`.

    A Hessian is symmetric, so that this is `vhp`.
    """
    return _second("hvp", func, inputs, v, create_graph, strict)


def _second(
    name: str, func: Any, inputs: Any, v: Any, create: bool, strict: bool
) -> tuple[Any, Any]:
    call = _Call(name, func, inputs, create, strict)
    _require_number(call)
    moves = call.along(v, call.variables, "inputs")
    slopes = call.gradients(call.outs, [_zeros(call.outs[0]) + 1], True)
    found = call.gradients(slopes, moves, create)
    return call.result(), _form(call.released(found), call.several)


def _require_number(call: _Call) -> None:
    if len(call.outs) != 1 or call.outs[0].numel() != 1:
        raise AutogradError(
            call.name, "output of the function", was=f"{len(call.outs)} tensors, the "
            f"first of shape {tuple(call.outs[0].shape)}", needed="one number",
        )  # fmt: skip


def jacobian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False,
    strict: bool = False, vectorize: bool = False, strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The derivatives of every output by every input.

    Args:
        vectorize: compute all rows at once.
        strategy: "reverse-mode", row by row, or "forward-mode", by columns, which has
            to be vectorized.

    Returns: for each output and input a tensor of shape [*output, *input].

    >>> torch.autograd.functional.jacobian(torch.sin, torch.zeros(2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise ArgumentError(
            "jacobian", "strategy", was=repr(strategy),
            needed='"reverse-mode" or "forward-mode"',
        )  # fmt: skip
    if strategy == "forward-mode":
        return _by_columns(func, inputs, create_graph, strict, vectorize)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    rows = tuple([_row(call, i, vectorize) for i in range(len(call.outs))])
    parts = [_form(call.released(row), call.several) for row in rows]
    return tuple(parts) if call.gives_several else parts[0]


def _row(call: _Call, at: int, vectorize: bool) -> tuple[Tensor, ...]:
    """Derivatives of one output by all inputs."""
    y = call.outs[at]
    (basis,) = unit_rows([y])
    create = call.create

    def pull(ct: Tensor) -> tuple[Tensor, ...]:
        return call.gradients([y], [ct], create)

    if not y.numel():
        found = [_zeros(x).new_zeros((0, *x.shape)) for x in call.variables]
    elif vectorize:
        found = list(vmap(pull)(basis))
    else:
        each = [pull(ct) for ct in basis.unbind()]
        found = [stack(list(column), 0) for column in zip(*each, strict=True)]
    pairs = zip(found, call.variables, strict=True)
    return tuple([reshape(g, (*y.shape, *x.shape)) for g, x in pairs])


def _by_columns(
    func: Any, inputs: Any, create: bool, strict: bool, vectorize: bool
) -> Any:
    if strict or not vectorize:
        raise ArgumentError(
            "jacobian", "strategy", was='"forward-mode" with '
            + ("strict" if strict else "vectorize=False"),
            needed="vectorize=True and strict=False",
        )  # fmt: skip
    given, several = _tuple("jacobian", "inputs", inputs)
    values = given if create else tuple([x.detach() for x in given])
    places = tuple(range(len(values)))
    found = jacfwd(func, places)(*values)
    return found if several else _first_columns(found)


def _first_columns(found: Any) -> Any:
    if found and isinstance(found[0], tuple):
        return tuple([row[0] for row in found])
    return found[0]


def hessian(
    func: Callable[..., Any], inputs: Tensors, create_graph: bool = False,
    strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """Second derivatives of a function that returns one number.

    >>> f = lambda x: (x**3).sum()
    >>> torch.autograd.functional.hessian(f, torch.ones(2))
    tensor([[6., 0.],
            [0., 6.]])
    """
    _, several = _tuple("hessian", "inputs", inputs)

    def slopes(*values: Tensor) -> tuple[Tensor, ...]:
        call = _Call("hessian", func, values, True, strict)
        _require_number(call)
        return call.gradients(call.outs, [_zeros(call.outs[0]) + 1], True)

    found = jacobian(
        slopes, inputs, create_graph, strict, vectorize, outer_jacobian_strategy
    )
    return found if several else found[0]


__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
