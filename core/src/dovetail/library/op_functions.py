"""The `autograd.Function` by which an op of a user's takes part in everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from dovetail import frontend as ft
from dovetail.autograd.function import Function
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError
from dovetail.func.trees import ALONE, Tree, put_together, spread, taken_apart


class Op(Protocol):
    """What is asked of an op here."""

    schema: Any
    backward: Any
    setup: Any
    batching: Any

    def run(self, values: Any) -> Any:
        """The result for values."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result for arguments."""


class Call:
    """One call: the form of its arguments, and of the result once it is there."""

    def __init__(self, op: Op, form: Tree) -> None:
        self.op = op
        self.form = form
        self.out: Tree = ALONE

    def result(self, result: Any) -> tuple[Any, ...]:
        """The parts of a result, whose form is kept."""
        parts, self.out = taken_apart(result)
        return tuple(parts)

    def arguments(self, leaves: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments that leaves are of."""
        found: tuple[Any, ...] = put_together(list(leaves), self.form)
        return found


def function_of(op: Op) -> type[Function]:
    """The Function of an op; its first argument is a `Call`, the others are leaves."""

    class Made(Function):
        @staticmethod
        def forward(call: Call, *leaves: Any) -> Any:
            return call.result(op.run(call.arguments(leaves)))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            call, *leaves = inputs
            ctx._call = call
            needed = call.arguments(ctx.needs_input_grad[1:])
            if op.setup is not None and any(ctx.needs_input_grad):
                _set_up(ctx, op, call.arguments(leaves), needed, call, output)

        @staticmethod
        def backward(ctx: Any, *cts: Any) -> Any:
            call: Call = ctx._call
            if op.backward is None:
                raise AutogradError(
                    op.schema.name, "gradient", was="not registered",
                    needed="one, where a gradient is asked for",
                    remedy="register_autograd gives it one",
                )  # fmt: skip
            whole = put_together(list(cts), call.out)
            given = whole if isinstance(whole, tuple) else (whole,)
            return (None, *_gradients(op, call, op.backward(ctx, *given)))

        @staticmethod
        def vmap(info: Any, in_dims: Any, call: Call, *leaves: Any) -> Any:
            values, dims = call.arguments(leaves), call.arguments(in_dims[1:])
            if op.batching is None:
                return call.result(
                    _row_by_row(op, info.batch_size, in_dims, call, leaves)
                ), 0
            result, out_dims = op.batching(info, dims, *values)
            parts = call.result(result)
            return parts, tuple(spread(op.schema.name, "out_dims", out_dims, call.out))

    Made.__name__ = Made.__qualname__ = op.schema.name.replace("::", "_")
    return Made


def _set_up(
    ctx: Any, op: Op, inputs: Any, needed: Any, call: Call, output: Any
) -> None:  # fmt: skip
    ctx.needs_input_grad = needed
    arguments = op.schema.arguments
    by_name = {
        a.name: x for a, x in zip(arguments, inputs, strict=True) if a.by_name
    }  # fmt: skip
    by_place = tuple([
        x for a, x in zip(arguments, inputs, strict=True) if not a.by_name
    ])  # fmt: skip
    more = {"keyword_only_inputs": by_name} if by_name else {}
    result = put_together(list(output), call.out)
    op.setup(ctx=ctx, inputs=by_place, output=result, **more)


def _gradients(op: Op, call: Call, given: Any) -> list[Any]:
    """A gradient for each leaf, of what backward gave for each argument.

    Raises:
        AutogradError: more or fewer than there are arguments.
    """
    several = given if isinstance(given, tuple) else (given,)
    by_place = [a for a in op.schema.arguments if not a.by_name]
    forms = call.form.parts
    if len(several) == len(by_place) < len(forms):
        several = (*several, *[None] * (len(forms) - len(by_place)))
    if len(several) != len(forms):
        raise AutogradError(
            op.schema.name, "gradients", was=f"{len(several)} of them",
            needed=f"{len(by_place)}, one for each argument",
        )  # fmt: skip
    found: list[Any] = []
    for argument, gradient, form in zip(
        op.schema.arguments, several, forms, strict=True
    ):  # fmt: skip
        if form.cls is None:
            found.append(gradient)
            continue
        items = [None] * form.size if gradient is None else list(gradient)
        if len(items) != form.size:
            raise AutogradError(
                op.schema.name, f"gradient of {argument.name}",
                was=f"{len(items)} of them", needed=f"{form.size}, as the list has",
            )  # fmt: skip
        found += items
    return found


def _row_by_row(
    op: Op, rows: int, in_dims: Any, call: Call, leaves: Sequence[Any]
) -> Any:  # fmt: skip
    """The results of all rows, each by a call, along a new first dim."""
    made: list[list[Any]] = []
    form = ALONE
    for row in range(rows):
        own = [
            x if dim is None else x.select(dim, row)
            for x, dim in zip(leaves, in_dims[1:], strict=True)
        ]
        arguments = op.schema.arguments
        values = list(zip(arguments, call.arguments(own), strict=True))
        result = op(
            *[x for a, x in values if not a.by_name],
            **{a.name: x for a, x in values if a.by_name},
        )
        parts, form = taken_apart(result)
        made.append(parts)
    columns = zip(*made, strict=True)
    whole = [ft.stack(list(c)) if isinstance(c[0], Tensor) else c[0] for c in columns]
    return put_together(whole, form)
