"""What is recorded: torch.autograd.grad_mode."""

from dovetail.engine.inference import inference_mode
from dovetail.engine.modes import enable_grad, no_grad, set_grad_enabled

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled"]
