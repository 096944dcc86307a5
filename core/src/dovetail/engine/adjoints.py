"""Linear ops and their adjoints: each is the gradient of the other.

    @adjoint_of(im2col, "input", shape=…)
    def col2im(input, output_size, kernel_size, dilation, padding, stride): ...

The adjoint of an op in one argument has the cotangent in the place of that argument,
the other tensors where the op has them, and the op's attributes. An attribute that only
one of the two has is the sizes of its own result behind the first two. An op that is
linear in several arguments, such as a product, has an adjoint in each: a form of so
many tensors with a derivative in each of them, and any one's gradients are the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from dovetail.dtypes import Sizes
from dovetail.engine.basics import basics
from dovetail.engine.cases import Case, Sampler, calls_of
from dovetail.engine.declare import Declared, op
from dovetail.engine.op import Op
from dovetail.engine.parameters import parameters_of
from dovetail.engine.tensor import Tensor
from dovetail.errors import DovetailError, ShapeError

Function = Callable[..., Any]

_RESULT: Final = -1  # the place of what an op gives
# By the name of a linear op: its adjoints by the place of their argument.
_adjoints: dict[str, dict[int, Declared[Any]]] = {}


def adjoint_of(
    forward: Declared[Any], argument: str, *, shape: Callable[..., Sizes],
    others: dict[str, Function] | None = None, **options: Any,
) -> Callable[[Function], Declared[Tensor]]:  # fmt: skip
    """Declare the decorated body as the adjoint of `forward` in one argument.

    Shape rule, calls to try and the gradients of both follow from what they are.

    Args:
        forward: the linear op.
        argument: the name of its parameter.
        shape: of the adjoint's result, for which `forward` has to give the cotangent's.
        others: gradients of parameters of `forward` that have no adjoint.
        options: of `op`.
    """
    at = forward.op.names.index(argument)

    def declare(body: Function) -> Declared[Tensor]:
        def rule(*shapes: Any, **attrs: Any) -> Sizes:
            return _checked(made.op, forward.op, at, shape, shapes, attrs)

        made: Declared[Tensor] = op(
            shape=rule, cases=lambda make: _cases(made.op, forward.op, at, make),
            **{"accepts": forward.op.accepts, "promote": forward.op.promote, **options},
        )(body)  # fmt: skip
        family = _adjoints.setdefault(forward.op.name, {})
        family[at] = made
        _derive(forward, family, others or {})
        return made

    return declare


def _checked(
    adjoint: Op, forward: Op, at: int, shape: Function, shapes: Any, attrs: Any
) -> Sizes:
    """The shape of an adjoint's result, if `forward` takes it to the cotangent's."""
    ct, slot = tuple(shapes[at]), adjoint.tensors[at].name
    try:
        result = tuple(shape(*shapes, **attrs))
    except IndexError:
        result = ()
    missing = [None] * (len(forward.tensors) - len(adjoint.tensors))
    steps = {p.name: attrs.get(p.name, ct[2:]) for p in forward.rest}
    try:
        wanted = forward.shape(
            *shapes[:at], result, *shapes[at + 1 :], *missing, **steps
        )
    except DovetailError as error:
        raise type(error)(
            adjoint.name, slot, was=f"of shape {ct}", needed=f"a result of {error}"
        ) from error
    if tuple(wanted) != ct:
        raise ShapeError(
            adjoint.name, slot, was=f"of shape {ct}",
            needed=f"{wanted}, as {forward.name} gives for {result}",
        )  # fmt: skip
    return result


def _cases(adjoint: Op, forward: Op, at: int, make: Sampler) -> Iterator[Case]:
    """The calls of `forward`, each with a cotangent for the argument."""
    for args, kwargs in calls_of(forward, make.of(forward)):
        values: dict[str, Any] = dict(
            zip(forward.names, forward.bind(args, kwargs), strict=True)
        )
        tensors = [values[p.name] for p in forward.tensors]
        shapes: list[Any] = [t if t is None else t.shape for t in tensors]
        steps = {p.name: values[p.name] for p in forward.rest}
        tensors[at] = make.exactly(forward.shape(*shapes, **steps))
        rest = (steps.get(p.name, shapes[at][2:]) for p in adjoint.rest)
        yield Case((*tensors[: len(adjoint.tensors)], *rest), {})


def _derive(
    forward: Declared[Any],
    family: dict[int, Declared[Any]],
    others: dict[str, Function],
) -> None:
    """Set the gradients of all members of a family, as far as it is there."""
    members = {_RESULT: forward, **family}
    for own, member in members.items():
        rules: dict[str, Function] = {}
        takes: dict[str, list[str]] = {}
        for slot, parameter in enumerate(member.op.tensors):
            target = members.get(_RESULT if slot == own else slot)
            if target is not None:
                name = parameter.name
                rules[name], takes[name] = _gradient(member.op, own, slot, target)
        if own == _RESULT:
            for name, rule in others.items():
                rules[name] = rule
                takes[name] = [taken for taken, _, _ in parameters_of(rule)]
        member.op.set_rules(rules, takes)


def _gradient(
    member: Op, own: int, slot: int, target: Declared[Any]
) -> tuple[Function, list[str]]:
    """The gradient of one member in a slot, and what it takes, by `target`.

    The variables of the form are the places of `forward`'s tensors and its result's
    cotangent. A member computes one of them, `own`, and has that cotangent in its
    place.
    """
    goal = _RESULT if slot == own else slot
    takes: list[str] = []
    forms: list[Function | None] = []
    for at, parameter in enumerate(target.op.params):
        variable = _RESULT if at == goal else at
        if parameter.role == "attr" and parameter.name in member.names:
            takes.append(parameter.name)
            forms.append(None)
        elif parameter.role == "attr":
            takes.append(f"{member.tensors[slot].name}_shape")
            forms.append(_behind_two)
        elif variable == own:
            takes.append("ct")
            forms.append(None)
        elif at < len(member.tensors):
            place = own if variable == _RESULT else variable
            takes.append(member.tensors[place].name)
            forms.append(_conj)
        else:  # what the op may have beside, such as a bias
            takes.append("ct")
            forms.append(_nothing)

    def gradient(*given: Any) -> Any:
        values = zip(forms, given, strict=True)
        return target(*[v if form is None else form(v) for form, v in values])

    return gradient, takes


def _behind_two(shape: Sizes) -> Sizes:
    return shape[2:]


def _conj(x: Tensor) -> Any:
    return basics.conj_physical(x) if x._kind.dtype.is_complex else x


def _nothing(ct: Any) -> None:
    return None


__all__ = ["adjoint_of"]
