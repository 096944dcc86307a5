"""A user's `Function` in `vmap` that has no `vmap` of its own.

A batch of calls is one call of a Function whose forward and backward are those of the
user's, mapped. So gradients and levels below see the user's backward, and no ops of
what is within.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from dovetail.autograd.function import Function
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError
from dovetail.func.mapping import vmap
from dovetail.func.trees import ALONE, Tree, taken_apart


class RowsCall:
    """One call for a batch.

    Attributes:
        cls: the user's Function.
        dims: for each argument 0, or None where it is one for all rows.
        form: that of the result, once it is there.
        state: what the user's context keeps beside tensors, once forward has run.
        places: for each result the argument that it is, written in place, or None.
    """

    def __init__(
        self, cls: Any, dims: tuple[int | None, ...], randomness: str,
        kwargs: dict[str, Any],
    ) -> None:  # fmt: skip
        self.cls = cls
        self.dims = dims
        self.randomness = randomness
        self.kwargs = kwargs
        self.form: Tree = ALONE
        self.state: dict[str, Any] = {}
        self.places: list[int | None] = []

    def mapped(
        self, function: Callable[..., Any], dims: Sequence[int | None],
        values: Sequence[Any],
    ) -> list[Any]:  # fmt: skip
        """The results of a function for each row; those that are no tensors, as is."""
        rest: list[Any] = []
        tensors = [v if isinstance(v, Tensor) else None for v in values]
        own = [x for x in tensors if x is not None]
        places = [d for x, d in zip(tensors, dims, strict=True) if x is not None]

        def body(*rows: Any) -> Any:
            following = iter(rows)
            given = [
                v if x is None else next(following)
                for v, x in zip(values, tensors, strict=True)
            ]
            outs = function(*given)
            rest[:] = [None if isinstance(y, Tensor) else (y,) for y in outs]
            return [y for y in outs if isinstance(y, Tensor)]

        made = iter(vmap(body, tuple(places), randomness=self.randomness)(*own))
        return [next(made) if r is None else r[0] for r in rest]


class Rows(Function):
    """A batch of calls of a user's Function; the first argument is a `RowsCall`."""

    @staticmethod
    def forward(ctx: Any, call: RowsCall, *below: Any) -> Any:
        """All results of all rows, and what backward needs of them."""
        count = [0]
        needs = ctx.needs_input_grad[1:]

        def body(*args: Any) -> list[Any]:
            own = _context(call.cls, needs)
            result = _run(call, own, args)
            outs, call.form = taken_apart(result)
            call.places = [
                next((i for i, x in enumerate(args) if y is x), None) for y in outs
            ]
            _keep(call, own, outs)
            count[0] = len(outs)
            return [*outs, *own._to_save, *own._for_forward]

        found = call.mapped(body, call.dims, below)
        outs, kept = found[: count[0]], found[count[0] :]
        dirty = [below[i] for i in call.places if i is not None]
        if dirty:
            ctx.mark_dirty(*[x for x in dirty if isinstance(x, Tensor)])
        outs = [
            y if i is None else below[i] for y, i in zip(outs, call.places, strict=True)
        ]
        without = [y for y, no in zip(outs, call.state["without"], strict=True) if no]
        ctx.mark_non_differentiable(*without)
        ctx.set_materialize_grads(call.state["materializes"])
        ctx.save_for_backward(*kept)
        ctx.call = call
        return tuple(outs)

    @staticmethod
    def backward(ctx: Any, *cts: Any) -> Any:
        """The gradients of all rows; what is one for all rows has their sum."""
        call: RowsCall = ctx.call
        kept = ctx.saved_tensors
        split = call.state["saved"]

        def body(*given: Any) -> list[Any]:
            shim = _shim(call, given[:split])
            found = call.cls.backward(shim, *given[len(kept) :])
            return _several(call, found)

        values = [*kept, *cts]
        dims = [None if x is None else 0 for x in values]
        found = call.mapped(body, dims, values)
        return (None, *[
            g.sum(0) if dim is None and isinstance(g, Tensor) else g
            for g, dim in zip(found, call.dims, strict=True)
        ])  # fmt: skip


def _context(cls: Any, needs: tuple[bool, ...]) -> Any:
    made = object.__new__(cls)
    made._begin(cls.__name__, needs)
    return made


def _run(call: RowsCall, ctx: Any, args: tuple[Any, ...]) -> Any:
    cls = call.cls
    if cls.setup_context is Function.setup_context:
        return cls.forward(ctx, *args, **call.kwargs)
    result = cls.forward(*args, **call.kwargs)
    cls.setup_context(ctx, args, result)
    return result


# What a context knows of itself, which a later one learns anew.
_OWN = frozenset({
    "_to_save", "_for_forward", "_dirty", "_without", "_node", "_layout", "_cleared",
    "_materializes",
})  # fmt: skip


def _keep(call: RowsCall, ctx: Any, outs: list[Any]) -> None:
    """Keep of a context what is no saved tensor."""
    call.state = {
        "saved": len(ctx._to_save), "materializes": ctx._materializes,
        "without": [any(y is x for x in ctx._without) for y in outs],
        "attributes": {n: v for n, v in vars(ctx).items() if n not in _OWN},
    }  # fmt: skip


class _Shim:
    """What a user's backward is given for a row."""

    saved_tensors: tuple[Any, ...]


def _shim(call: RowsCall, saved: Sequence[Any]) -> Any:
    made = type(call.cls.__name__, (_Shim, call.cls), {"saved_tensors": tuple(saved)})
    shim: Any = object.__new__(made)
    vars(shim).update(call.state["attributes"])
    return shim


def _several(call: RowsCall, found: Any) -> list[Any]:
    several = list(found) if isinstance(found, tuple) else [found]
    count = len(call.dims)
    if len(several) < count or any(g is not None for g in several[count:]):
        raise AutogradError(
            f"{call.cls.__name__}.backward", "gradients", was=f"{len(several)} "
            "returned: an incorrect number of gradients",
            needed=f"{count}, one for each argument of forward",
        )  # fmt: skip
    return several[:count]
