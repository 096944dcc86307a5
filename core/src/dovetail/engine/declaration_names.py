"""The names that a declaration gives: each stands for something that is there.

A misspelt one would say nothing, and the op would do without what it declares: indices
promoted like values, a write that no tensor's version counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any, Final

from dovetail.engine.signature import Signature
from dovetail.errors import ArgumentTypeError

if TYPE_CHECKING:
    from dovetail.engine.op import Op

_PROMOTE: Final = ("same", "float", "first", "equal", None)
_AUTOCAST: Final = ("lower", "float32", "widest", "state", None)


def check_names(op: Op) -> None:
    """Raise for the first name in a declaration that means nothing.

    Raises:
        ArgumentTypeError: an option names no parameter or choice; a signature or a
            shape rule does not have the op's parameters; results share a name.
    """
    tensors = [p.name for p in op.tensors]
    for option in ("mutates", "indices", "masks"):
        _among(op, f"{option}=", getattr(op, option), tensors)
    _among(op, "holds_back=", op.holds_back, [p.name for p in op.rest])
    _among(op, "lines=", [op.lines] if op.lines else [], tensors)
    _among(op, "trusted=", op.trusted, sorted(op.indices))
    _among(op, "promote=", [op.promote], _PROMOTE)
    _among(op, "autocast=", [op.autocast], _AUTOCAST)
    for name in op.outputs:
        if op.outputs.count(name) > 1:
            _refuse(op, "outputs=", name, "a name for each result")
    if op.residuals > len(op.outputs):
        _refuse(op, "residuals=", op.residuals, f"at most {len(op.outputs)}")
    if len(op.grows) > len(op.outputs):
        _refuse(op, "grows=", op.grows, f"at most {len(op.outputs)} numbers")
    check_rule(op, "shape=", op.shape)


def check_rule(op: Op, option: str, rule: Any) -> None:
    """Raise where a rule of shapes asks for an attribute that the op does not have.

    Args:
        option: what the declaration calls the rule.
        rule: a signature, a function of shapes and attributes, or neither.

    Raises:
        ArgumentTypeError: it names no attribute.
    """
    attributes = [p.name for p in op.rest]
    if isinstance(rule, Signature):
        placed = {core.at for core in (*rule.inputs, *rule.outputs)}
        _among(op, option, placed - {None}, attributes)
    else:
        _among(op, option, list(_keywords(rule)), attributes)


def check_uses(op: Op) -> None:
    """Raise where what is said to use a value is no input that has a gradient.

    Raises:
        ArgumentTypeError: no tensor parameter, input or result has the name.
    """
    tensors = [p.name for p in op.tensors]
    _among(op, "vjp's uses", op.uses, [*tensors, *op.outputs])
    for users in op.uses.values():
        _among(op, "vjp's uses", users, tensors)


def _keywords(rule: Any) -> Iterator[str]:
    """The keyword-only parameters of a function; none of what is no function."""
    code = getattr(rule, "__code__", None)
    if code is not None:
        first = code.co_argcount
        yield from code.co_varnames[first : first + code.co_kwonlyargcount]


def _among(op: Op, option: str, names: Collection[Any], known: Collection[Any]) -> None:
    for name in names:
        if name not in known:
            _refuse(op, option, name, f"one of {', '.join(map(str, known)) or 'none'}")


def _refuse(op: Op, option: str, was: object, needed: str) -> None:
    raise ArgumentTypeError(f"op {op.name}", option, was=repr(was), needed=needed)
