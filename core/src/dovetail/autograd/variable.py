"""torch.autograd.variable: older programs import `Variable`, a tensor, from there."""

from dovetail.engine.tensor import Tensor

Variable = Tensor

__all__ = ["Variable"]
