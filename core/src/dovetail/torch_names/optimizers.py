"""What optimizers of others import from `torch.optim.optimizer`, beside the public."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any, Final

import dovetail
from dovetail.optim.optimizer import Optimizer

ParamsT: Final = (
    Iterable[dovetail.Tensor] | Iterable[dict[str, Any]]
    | Iterable[tuple[str, dovetail.Tensor]]
)  # fmt: skip
params_t: Final = ParamsT
# Paragraphs of torch's docstrings, which docstrings of others are put together from.
_params_doc: Final = "params: parameters, or dicts of them with options of their own."
_foreach_doc: Final = "foreach: torch's choice of kernels; taken, without effect."
_fused_doc: Final = "fused: torch's choice of kernels; taken, without effect."
_capturable_doc: Final = "capturable: whether a graph may record the step."
_differentiable_doc: Final = "differentiable: whether the step is recorded."
_maximize_doc: Final = "maximize: whether to go up the gradient."


def _use_grad_for_differentiable(func: Callable[..., Any]) -> Callable[..., Any]:
    """A `step` that is recorded where the optimizer's `differentiable` says so."""

    @functools.wraps(func)
    def step(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        with dovetail.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _get_value(x: Any) -> Any:
    """A number, of a tensor that holds one."""
    return x.item() if isinstance(x, dovetail.Tensor) else x


def _stack_if_compiling(x: Any) -> Any:
    """The argument: nothing is compiled that would need a tensor."""
    return x


def _dispatch_sqrt(x: Any) -> Any:
    """The root of a number, or of a tensor's elements."""
    return x.sqrt() if isinstance(x, dovetail.Tensor) else x**0.5


def _disable_dynamo_if_unsupported(
    single_tensor_fn: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator that leaves a function as it is: no compiler has limits here."""
    return lambda func: func


def _default_to_fused_or_foreach(
    params: list[dovetail.Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Neither: functions of lists call those of tensors, which are not slower."""
    return False, False


def _view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Pairs of real numbers for complex ones, in lists that are changed."""
    for i, p in enumerate(params):
        if dovetail.is_complex(p):
            for tensors in (params, *state_and_grads):
                tensors[i] = dovetail.view_as_real(tensors[i])


def _get_scalar_dtype(is_fused: bool | None = None) -> dovetail.dtype:
    """The dtype of steps that are counted in tensors."""
    double = dovetail.get_default_dtype() is dovetail.float64 and not is_fused
    return dovetail.float64 if double else dovetail.float32


def _to_scalar(x: Any) -> Any:
    """A tensor of one element without dims, all else as it is."""
    return x.squeeze() if isinstance(x, dovetail.Tensor) and x.dim() else x
