"""torch.autograd.variable: what older programs make leaves with."""

from __future__ import annotations

import warnings
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError


class _OfTensors(type):
    """Lets every tensor be an instance."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_OfTensors):
    """`Variable(data, requires_grad)` is a leaf that shares the memory of `data`.

    All tensors are instances of it, and what it makes is a tensor.

    Examples:
        >>> import dovetail as dt
        >>> from dovetail.autograd import Variable
        >>> x = Variable(dt.ones(2) * 3, requires_grad=True)
        >>> x
        tensor([3., 3.], requires_grad=True)
    """

    def __new__(  # type: ignore[misc]  # what it makes is a tensor
        cls, data: Any = None, requires_grad: bool = False, volatile: bool = False
    ) -> Tensor:
        """A leaf, whatever `data` was computed from.

        Args:
            data: a tensor; none for an empty one.
            requires_grad: whether backward computes its gradient.
            volatile: without effect, of which a UserWarning tells.
        Raises: ArgumentTypeError for other data, or what is no truth value;
            DTypeError for integers that would need gradients.
        """
        if data is not None and not isinstance(data, Tensor):
            raise ArgumentTypeError(
                "Variable", "data", was=f"of {type(data).__name__}", needed="a tensor",
                remedy="make one with dovetail.tensor",
            )  # fmt: skip
        if requires_grad is None:
            raise ArgumentTypeError(
                "Variable", "requires_grad", was="None", needed="True or False"
            )
        if volatile:
            warnings.warn("volatile has no effect; use no_grad()", stacklevel=2)
        leaf = Tensor() if data is None else data.detach()
        leaf.requires_grad = bool(requires_grad)
        return leaf


__all__ = ["Variable"]
