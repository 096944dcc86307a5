"""Tensors copied by `copy` and `pickle`: memory, device, gradient flag, class."""

from __future__ import annotations

import warnings
from typing import Any, Final

from dovetail.dtypes import DType
from dovetail.engine.tape import Leaf, storage_of
from dovetail.engine.tensor import Parameter, Tensor, alias, extend
from dovetail.errors import AutogradError
from dovetail.tensor_api.memory import Ground, Layout, Memory

# What the __dict__ of a tensor has besides what users have set.
_OURS: Final = frozenset({"_former", "_grad", "_inference", "_leaf", "_retains"})


def _copy(self: Tensor) -> Tensor:
    """A leaf over the same memory."""
    return _dressed(type(self), alias(self), self.requires_grad, _attributes(self))


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    """A leaf with a copy of the values; tensors that share memory share the copy's.

    It has a copy of the gradient too; as in PyTorch, that of a Parameter has none.

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
    from copy import deepcopy  # it is loaded: that is who calls

    ground, layout = _new_memory(self, memo), _layout(self)
    made = _dressed(type(self), ground.tensor(self.dtype, layout), self.requires_grad)
    memo[id(self)] = made
    made.__dict__.update(deepcopy(_attributes(self), memo))
    if self.grad is not None and not isinstance(self, Parameter):
        made.grad = deepcopy(self.grad, memo)
    return made


def _new_memory(x: Tensor, memo: dict[int, Any]) -> Ground:
    """A copy of the memory of `x`, made once for all that share it."""
    root = storage_of(x).root
    # Not by its id alone: an array may be copied as one, too.
    shared: Any = Ground, id(root)
    found: Ground | None = memo.get(shared)
    if found is None:
        found = memo[shared] = Memory.behind(x).copied()
        memo.setdefault(id(memo), []).append(root)  # alive as long as its id is used
    return found


def _layout(x: Tensor) -> Layout:
    return Layout.of(x._kind, x._a, storage_of(x).root)


def _dressed(
    cls: type[Tensor],
    plain: Tensor,
    requires_grad: bool,
    attributes: dict[str, Any] | None = None,
) -> Tensor:
    """`plain` in a subclass, with what users have set on the tensor."""
    made: Tensor = object.__new__(cls)
    made._a, made._kind, made._storage = plain._a, plain._kind, plain._storage
    made._node = None
    if requires_grad:
        made.requires_grad = True
    made.__dict__.update(attributes or {})
    return made


def _attributes(x: Tensor) -> dict[str, Any]:
    """What users have set on a tensor."""
    return {k: v for k, v in x.__dict__.items() if k not in _OURS}


def _reduce(self: Tensor, protocol: Any) -> tuple[Any, ...]:
    """Pickle the memory and the place in it; loaded, the tensor is a leaf.

    Waits for the values. As in PyTorch, neither gradient nor hooks are kept.
    """
    if type(self._node) is Leaf and self._node.hooks:
        warnings.warn("pickle: the hooks of a tensor are not kept", stacklevel=2)
    memory, layout = Memory.behind(self), _layout(self)
    place = layout.shape, layout.strides, layout.offset
    kept = (type(self), memory, self.dtype, place, self.requires_grad)
    return _restored, kept, _attributes(self) or None


def _restored(
    cls: type[Tensor], ground: Ground, dtype: DType, place: Any, requires_grad: bool
) -> Tensor:
    return _dressed(cls, ground.tensor(dtype, Layout(*place)), requires_grad)


extend(__copy__=_copy, __deepcopy__=_deepcopy, __reduce_ex__=_reduce)
