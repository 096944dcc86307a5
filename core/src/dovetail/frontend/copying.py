"""Tensors copied by `copy.deepcopy` and `pickle`: values, device, gradient, class."""

from __future__ import annotations

import copy
from typing import Any

from dovetail.backend.meta import contiguous_strides
from dovetail.core.kinds import Kind, kind_of
from dovetail.core.tape import Storage, storage_of
from dovetail.core.tensor import Tensor, wrap
from dovetail.dtypes import DType
from dovetail.errors import AutogradError


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with a copy of the values; tensors that share memory share the copy's.

    Raises:
        AutogradError: the tensor is the result of a recorded op.
    """
    if id(self) in memo:
        found: Tensor = memo[id(self)]
        return found
    if not self.is_leaf:
        raise AutogradError(
            "deepcopy", "tensor", was="the result of a recorded op",
            needed="a leaf: only Tensors created explicitly by the user support it",
            remedy="use detach() first, or clone() to stay in the graph",
        )  # fmt: skip
    made = _new_memory(self, memo)
    attributes = copy.deepcopy(_attributes(self), memo)
    made = _dressed(type(self), made, self.requires_grad, attributes)
    memo[id(self)] = made
    if self.grad is not None:
        made.grad = copy.deepcopy(self.grad, memo)
    return made


def _new_memory(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """The elements of `x` in a copy of its memory, made once for all that share it."""
    kind, storage = x._kind, storage_of(x)
    backend, root = kind.backend, storage.root
    strides, offset = backend.geometry(x._a, root)
    if backend.geometry(root, root)[0] != contiguous_strides(tuple(root.shape)):
        return wrap(_copied(kind, x._a), kind)
    copied = memo.get(id(storage))
    if copied is None:
        copied = memo[id(storage)] = Storage(_copied(kind, root))
        memo.setdefault(id(memo), []).append(storage)  # alive as long as its id is used
    native = backend.view(copied.root, tuple(x._a.shape), tuple(strides), offset)
    made = wrap(native, kind)
    made._storage = copied
    return made


def _copied(kind: Kind, native: Any) -> Any:
    fresh = kind.backend.empty(tuple(native.shape), kind.dtype, kind.index)
    kind.backend.copy(fresh, native)
    return fresh


def _dressed(
    cls: type[Tensor], plain: Tensor, requires_grad: bool, attributes: dict[str, Any]
) -> Tensor:
    """`plain` in a subclass, with what users have set on the tensor."""
    made: Tensor = object.__new__(cls)
    made._a, made._kind, made._storage = plain._a, plain._kind, plain._storage
    made._node = None
    if requires_grad:
        made.requires_grad = True
    made.__dict__.update(attributes)
    return made


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Pickle the values, which become a leaf; waits for them."""
    values = None if self.is_meta else self._kind.backend.copy_out(self._a)
    where, dtype = str(self.device), self.dtype
    kept = values, tuple(self._a.shape), where, dtype
    return _restored, (type(self), kept, self.requires_grad, _attributes(self))


def _attributes(x: Tensor) -> dict[str, Any]:
    """What users have set on a tensor."""
    return {k: v for k, v in x.__dict__.items() if not k.startswith("_")}


def _restored(
    cls: type[Tensor],
    kept: tuple[Any, tuple[int, ...], str, DType],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Tensor:
    values, shape, device, dtype = kept
    kind = kind_of(device, dtype)
    backend = kind.backend
    if values is None:
        native = backend.empty(shape, dtype, kind.index)
    else:
        native = backend.copy_in(values, kind.index)
    return _dressed(cls, wrap(native, kind), requires_grad, attributes)


Tensor.__deepcopy__ = _deepcopy  # type: ignore[attr-defined]
Tensor.__reduce_ex__ = _reduce  # type: ignore[assignment,method-assign]
