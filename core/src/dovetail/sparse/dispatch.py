"""How a function with sparse arguments finds its handler, and writes in place."""

from __future__ import annotations

from typing import Any

from dovetail.engine.homes import home_of
from dovetail.engine.tape_of_views import leaf_of
from dovetail.errors import NotSupported, ShapeError
from dovetail.sparse.arrays import CooArray, CsrArray
from dovetail.sparse.handlers import above, called, handler_of, refusal
from dovetail.sparse.tensor import CSR, SparseTensor


def handled(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A function with sparse arguments, by its handler."""
    name = function.__name__
    if home_of(function).startswith("dovetail.sparse."):
        return called(name, function.__wrapped__, args, kwargs)
    found = handler_of(function)
    if found is None:
        return _in_place(function, args, kwargs)
    if found.compressed:
        return called(name, found.function, args, kwargs)
    layout = _layout_of(args)
    args = tuple([_by_coordinates(a) for a in args])
    result = called(name, found.function, args, kwargs)
    if layout is CSR and isinstance(result, SparseTensor):
        return result.to_sparse_csr() if result.ndim == 2 else result
    return result


def _layout_of(args: Any) -> Any:
    """The layout of the first sparse argument, also within lists."""
    for a in args:
        if isinstance(a, SparseTensor):
            return a.layout
        if isinstance(a, list | tuple):
            found = _layout_of(a)
            if found is not None:
                return found
    return None


def _by_coordinates(value: Any) -> Any:
    if isinstance(value, SparseTensor) and value.is_sparse_csr:
        return value.to_sparse_coo()
    if type(value) in (list, tuple):
        return type(value)(_by_coordinates(v) for v in value)
    return value


def _in_place(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an in-place form does: the sparse tensor becomes its result.

    Raises:
        NotSupported: it has none, or sparse tensors do not have the function.
    """
    name = function.__name__
    plain = _Named(name.removesuffix("_"), home_of(function))
    x = args[0] if args else None
    fits = name.endswith("_") and not name.endswith("__")
    if not fits or not isinstance(x, SparseTensor) or handler_of(plain) is None:
        raise refusal(name, _layout_of((*args, *kwargs.values())))
    result = handled(plain, args, kwargs)
    return become(name, x, result)


class _Named:
    """A function by its name."""

    def __init__(self, name: str, module: str) -> None:
        self.__name__ = name
        self.__module__ = module


def become(name: str, x: SparseTensor, result: Any) -> SparseTensor:
    """Let `x` be what was computed of it: its values are written where they fit.

    Raises:
        ShapeError: it has another shape.
        NotSupported: it has another dtype or layout, or `x` is a leaf that would get
            other coordinates.
    """
    if not isinstance(result, SparseTensor) or result._kind is not x._kind:
        raise NotSupported(
            name, "result", was="of another dtype or layout",
            needed=f"{x.dtype} and {x.layout}, as the tensor has",
            remedy="use the function that is not in place",
        )  # fmt: skip
    if result.shape != x.shape:
        raise ShapeError(
            name, "result", was=f"of shape {tuple(result.shape)}",
            needed=f"{tuple(x.shape)}, the shape of the tensor",
        )  # fmt: skip
    if same_places(x, result):
        x._a.values.copy_(result._a.values)
        return x
    if leaf_of(x._a.values._node) is not None:
        raise NotSupported(
            name, "tensor", was="a leaf that requires grad, which would get other "
            "coordinates", needed="the result of an op, or a tensor outside the graph",
            remedy="use the function that is not in place",
        )  # fmt: skip
    x._a = result._a
    return x


def same_places(x: SparseTensor, y: SparseTensor) -> bool:
    """Whether two tensors have the very same coordinates, without a look at them."""
    a, b = x._a, y._a
    if isinstance(a, CooArray) and isinstance(b, CooArray):
        return a.indices._a is b.indices._a and a.coalesced == b.coalesced
    if isinstance(a, CsrArray) and isinstance(b, CsrArray):
        return a.col._a is b.col._a and a.crow._a is b.crow._a
    return False


above.handled = handled
