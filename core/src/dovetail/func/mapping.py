"""`vmap`: a function of one row, called on all rows of a batch at once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dovetail.engine.kinds import kind_on
from dovetail.engine.levels import around, lifted
from dovetail.engine.open_levels import Opened, open_levels
from dovetail.engine.tape import storage_of
from dovetail.engine.tensor import Tensor, wrap
from dovetail.errors import ArgumentError, ArgumentTypeError, DimError
from dovetail.func.batch_shapes import Batched, all_rows
from dovetail.func.batched import Batch
from dovetail.func.trees import Tree, put_together, spread, taken_apart
from dovetail.ops.shape import cat

_RANDOMNESS = ("error", "same", "different")


def vmap(
    func: Callable[..., Any], in_dims: Any = 0, out_dims: Any = 0,
    randomness: str = "error", *, chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """`func`, which is written for one row, as a function of batches of rows.

    Args:
        in_dims: which dim of each argument counts rows; None for an argument that is
            the same for all. One for all of them, or one each, in the arguments' form.
            Arguments by keyword are the same for all.
        out_dims: where that dim is in the results.
        randomness: what random functions do in `func`: raise ("error"), draw once for
            all rows ("same"), or for each ("different").
        chunk_size: how many rows are computed at a time; all of them unless given.

    Raises: NotSupported, when it is called, if `func` depends on values: where an op
        is refused, the error names another.

    Examples:
        >>> import dovetail as torch
        >>> rows = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.vmap(torch.dot)(rows, rows)
        tensor([ 5., 25.])
    """
    if randomness not in _RANDOMNESS:
        raise ArgumentError(
            "vmap", "randomness", was=repr(randomness), needed=f"one of {_RANDOMNESS}"
        )
    if chunk_size is not None and (type(chunk_size) is not int or chunk_size < 1):
        raise ArgumentError(
            "vmap", "chunk_size", was=repr(chunk_size), needed="a number from 1 on"
        )

    @functools.wraps(func)
    def batched(*args: Any, **kwargs: Any) -> Any:
        values, form = taken_apart(args)
        dims = _in_dims(func, in_dims, args, form)
        rows = _rows(func, values, dims)
        named = functools.partial(func, **kwargs) if kwargs else func
        call = functools.partial(_called, named, form, out_dims, randomness)
        if chunk_size is None or chunk_size >= rows:
            return put_together(*call(values, dims, rows)[:2])
        return _in_chunks(call, values, dims, rows, chunk_size)

    return batched


def _in_dims(func: Any, in_dims: Any, args: tuple[Any, ...], form: Tree) -> list[Any]:
    """The dim of rows of each value among the arguments."""
    if not args:
        return []
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    if not (in_dims is None or isinstance(in_dims, int | tuple)):
        raise ArgumentTypeError(
            "vmap", "in_dims", was=repr(in_dims), needed="an int or a tuple"
        )
    return spread("vmap", "in_dims", in_dims, form)


def _rows(func: Any, values: list[Any], dims: list[Any]) -> int:
    """The size of the batch; counts dims from the front.

    Raises:
        ArgumentError: sizes differ, or there are no rows at all.
    """
    sizes: dict[int, int] = {}
    for i, (value, dim) in enumerate(zip(values, dims, strict=True)):
        if dim is None:
            continue
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                "vmap", f"argument {i}", was=f"a {type(value).__name__} with in_dims "
                f"{dim}", needed="a Tensor", remedy="give it None in in_dims",
            )  # fmt: skip
        ndim = value.ndim
        if type(dim) is not int or not -ndim <= dim < ndim:
            raise DimError(
                "vmap", f"in_dims of argument {i}", was=repr(dim),
                needed=f"a dim of a tensor of shape {tuple(value.shape)}",
            )  # fmt: skip
        dims[i] = dim % ndim
        sizes[i] = value.shape[dim]
    if not sizes:
        raise ArgumentError(
            "vmap", "in_dims", was="None for every argument",
            needed="at least one argument with rows",
        )  # fmt: skip
    if len(set(sizes.values())) > 1:
        raise ArgumentError(
            "vmap", "arguments", was=f"of {sorted(set(sizes.values()))} rows",
            needed="as many rows in each: sizes of mapped dims must agree",
        )  # fmt: skip
    return next(iter(sizes.values()))


def _called(
    func: Any, form: Tree, out_dims: Any, randomness: str, values: list[Any],
    dims: list[Any], rows: int,
) -> tuple[list[Any], Tree, list[int]]:  # fmt: skip
    """The results of a call on rows, their form, and where the rows are in each."""
    depth = len(open_levels())
    below = [lifted(v, depth) if isinstance(v, Tensor) else v for v in values]
    with Opened(Batch(rows, randomness)) as at:
        given = [
            v if dim is None else batched_in(v, dim)
            for v, dim in zip(below, dims, strict=True)
        ]
        result = func(*(put_together(given, form) if form.size else ()))
        outs, shape = taken_apart(result)
        places = _out_dims(out_dims, outs, shape)
        found = [
            _unbatched(y, at, rows, to) for y, to in zip(outs, places, strict=True)
        ]
    return found, shape, places


def batched_in(x: Tensor, dim: int) -> Tensor:
    """A batch whose rows a dim of `x` counts."""
    backend = around(Batch.backend, x._kind.backend)
    rows_first = x if dim == 0 else x.movedim(dim, 0)
    kind = kind_on(backend, x._kind.index, x._kind.dtype)
    made = wrap(Batched(rows_first, True), kind)
    storage_of(made)  # writes are the caller's to see
    return made


def _out_dims(out_dims: Any, outs: list[Any], form: Tree) -> list[int]:
    for y in outs:
        if not isinstance(y, Tensor):
            raise ArgumentTypeError(
                "vmap", "result of the function", was=f"a {type(y).__name__}",
                needed="tensors: each must return Tensors, alone or in containers",
            )  # fmt: skip
    if isinstance(out_dims, tuple) and form.cls is None and len(out_dims) == 1:
        out_dims = out_dims[0]
    return spread("vmap", "out_dims", out_dims, form)


def _unbatched(y: Tensor, depth: int, rows: int, to: Any) -> Tensor:
    """A result as a tensor of the level below, its rows in dim `to`."""
    native = lifted(y, depth)._a
    if to is None:
        if native.batched:
            raise ArgumentError(
                "vmap", "out_dims", was="None for a result with rows",
                needed="a dim for them",
            )  # fmt: skip
        found: Tensor = native.inner
        return found
    x = all_rows(native, rows)
    if type(to) is not int or not -x.ndim <= to < x.ndim:
        raise DimError(
            "vmap", "out_dims", was=repr(to),
            needed=f"a dim of a result of {x.ndim} dims with the rows",
        )  # fmt: skip
    return x if to == 0 else x.movedim(0, to)


def _in_chunks(
    call: Any, values: list[Any], dims: list[Any], rows: int, size: int
) -> Any:
    parts = []
    for start in range(0, rows, size):
        count = min(size, rows - start)
        some = [
            v if dim is None else v.narrow(dim, start, count)
            for v, dim in zip(values, dims, strict=True)
        ]
        parts.append(call(some, list(dims), count))
    _, form, places = parts[0]
    joined = [
        of[0] if to is None else cat(list(of), to)
        for to, of in zip(places, zip(*[p[0] for p in parts], strict=True), strict=True)
    ]
    return put_together(joined, form)


__all__ = ["batched_in", "vmap"]
