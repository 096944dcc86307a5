"""`Parameter` where PyTorch's programs look for it, and clearing its gradient."""

from dovetail.engine.tensor import Parameter, Tensor

__all__ = ["Parameter", "clear_grad"]


def clear_grad(param: Tensor, set_to_none: bool) -> None:
    """Drop a gradient, or cut it from its graph and fill it with zeros in place."""
    grad = param.grad
    if grad is None or set_to_none:
        param.grad = None
        return
    if grad.grad_fn is not None:
        grad = param.grad = grad.detach()
    grad.requires_grad_(False).zero_()
