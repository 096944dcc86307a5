"""Whether what was registered for an op of a user's is right: `opcheck`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.autograd.gradient_checks import gradcheck
from dovetail.dtypes import float64
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError
from dovetail.func.trees import put_together, taken_apart

from .custom_ops import CustomOpDef, found

Check = Callable[[CustomOpDef, tuple[Any, ...], dict[str, Any]], str]
SUCCESS: Final = "SUCCESS"


def _schema(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What it writes into is what the schema says."""
    leaves, form = taken_apart((args, kwargs))
    copies = [x.detach().clone() if isinstance(x, Tensor) else x for x in leaves]
    before = [x.clone() if isinstance(x, Tensor) else x for x in copies]
    own, named = put_together(copies, form)
    with no_grad():
        op(*own, **named)
    values = op.schema.bound(op.schema.name, own, named)
    may = [
        x for at in op.schema.writes for x in taken_apart(values[at])[0]
    ]  # fmt: skip
    for x, old in zip(copies, before, strict=True):
        kept = not isinstance(x, Tensor) or any(x is y for y in may)
        if not kept and not _same(x, old):
            return "an argument was written that mutates_args does not name"
    return SUCCESS


def _same(x: Tensor, y: Tensor) -> bool:
    return bool(((x == y) | ((x != x) & (y != y))).all())  # noqa: PLR0124  NaN


def _fake(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Results without values have the shapes and dtypes of those with."""
    leaves, form = taken_apart((args, kwargs))
    plain = [x.detach() if isinstance(x, Tensor) else x for x in leaves]
    meta = [x.to("meta") if isinstance(x, Tensor) else x for x in plain]
    own = put_together([x.clone() if isinstance(x, Tensor) else x for x in plain], form)
    fake = put_together(meta, form)
    with no_grad():
        real = taken_apart(op(*own[0], **own[1]))[0]
        shown = taken_apart(op(*fake[0], **fake[1]))[0]
    facts = [[_facts(x) for x in parts] for parts in (real, shown)]
    if facts[0] != facts[1]:
        return f"the kernel gives {facts[0]}, the function for meta {facts[1]}"
    return SUCCESS


def _facts(x: Any) -> Any:
    return (tuple(x.shape), x.dtype) if isinstance(x, Tensor) else type(x)


def _autograd(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """The gradient is that of small differences, in float64."""
    leaves, form = taken_apart((args, kwargs))
    asked = [isinstance(x, Tensor) and x.requires_grad for x in leaves]
    if not any(asked) or op.schema.writes:
        return SUCCESS
    if op.backward is None and op.whole is None:
        return "an argument requires gradients, and register_autograd gave none"
    wide = [
        x.detach().to(float64).requires_grad_() if need else x
        for x, need in zip(leaves, asked, strict=True)
    ]
    variables = [x for x, need in zip(wide, asked, strict=True) if need]

    def call(*given: Tensor) -> Any:
        rest = iter(given)
        mixed = [next(rest) if n else x for x, n in zip(wide, asked, strict=True)]
        own, named = put_together(mixed, form)
        outs = taken_apart(op(*own, **named))[0]
        return tuple([y for y in outs if _has_gradient(y)])

    right = gradcheck(call, variables, raise_exception=False)
    return SUCCESS if right else "the gradient is not that of small differences"


def _has_gradient(y: Any) -> bool:
    """Whether a result is of numbers that may change by a little."""
    return isinstance(y, Tensor) and (y.is_floating_point() or y.is_complex())


_CHECKS: Final[dict[str, Check]] = {
    "test_schema": _schema, "test_autograd_registration": _autograd,
    "test_faketensor": _fake,
}  # fmt: skip


def opcheck(
    op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, *,
    test_utils: str | Sequence[str] = tuple(_CHECKS), raise_exception: bool = True,
) -> dict[str, str]:  # fmt: skip
    """Try what was registered for an op on some arguments, and say what is wrong.

    Args:
        op: an op of a user's, or its name.
        args, kwargs: arguments; tensors that require gradients have them checked.
        test_utils: which checks: of what it writes into, of the gradient (in float64,
            by small differences), of results for device "meta".

    Returns: for each check "SUCCESS", or what is wrong.

    Raises:
        RuntimeError: something is wrong, or a check of no such name.
    """
    its = found(op)
    wanted = [test_utils] if isinstance(test_utils, str) else list(test_utils)
    unknown = set(wanted) - set(_CHECKS)
    if unknown:
        raise ArgumentError(
            "opcheck", "test_utils", was=f"{sorted(unknown)}",
            needed=f"some of {', '.join(_CHECKS)}",
        )  # fmt: skip
    found_wrong: dict[str, str] = {}
    for name in wanted:
        try:
            found_wrong[name] = _CHECKS[name](its, tuple(args), dict(kwargs or {}))
        except Exception as error:
            if raise_exception:
                raise
            found_wrong[name] = f"{type(error).__name__}: {error}"
        if raise_exception and found_wrong[name] != SUCCESS:
            raise ArgumentError(
                f"opcheck of {its._qualname}", name, was=found_wrong[name],
                needed="what was registered to agree",
            )  # fmt: skip
    return found_wrong
