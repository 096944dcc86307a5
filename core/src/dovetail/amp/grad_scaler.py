"""`GradScaler`: losses scaled up, so that gradients of 16 bits do not vanish."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from enum import Enum
from typing import Any
from weakref import WeakKeyDictionary

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.amp.autocast_mode import is_autocast_available
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, CallOrderError


class Stage(Enum):
    """What has become of an optimizer's gradients since the last `update`."""

    SCALED = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, and adapts the scale to what the gradients bear.

    A step whose gradients have an infinity or a NaN is left out and makes the scale
    smaller; after a number of good steps it grows (Micikevicius et al. 2017,
    arXiv:1710.03740, section 3.2).

    Args:
        device: the device type whose gradients are scaled; where there is no such
            device, a warning is given and nothing is scaled.
        init_scale: the first scale.
        growth_factor: what the scale is multiplied with when it grows.
        backoff_factor: the same for a step that was left out.
        growth_interval: good steps in a row after which the scale grows.
        enabled: False makes every method do nothing but its plain part.

    Examples:
        >>> weight = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.SGD([weight], lr=0.5)
        >>> scaler = torch.amp.GradScaler("cpu")
        >>> scaler.scale(weight.sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> weight
        tensor([0.5000, 0.5000], requires_grad=True)
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and not is_autocast_available(device):
            warnings.warn(
                f"GradScaler: there is no device {device!r}; nothing is scaled",
                stacklevel=2,
            )
            enabled = False
        if not growth_factor > 1.0:
            raise ArgumentError(
                "GradScaler", "growth_factor", was=growth_factor, needed="above 1"
            )
        if not 0.0 < backoff_factor < 1.0:
            raise ArgumentError(
                "GradScaler", "backoff_factor", was=backoff_factor, needed="in (0, 1)"
            )
        self._device = device
        self._enabled = enabled
        self._init_scale = init_scale
        self._scale: Tensor | None = None
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._good_steps = 0
        self._forget()

    def _forget(self) -> None:
        """Begin anew: no optimizer's gradients have been looked at."""
        self._stages: WeakKeyDictionary[Any, Stage] = WeakKeyDictionary()
        self._found: WeakKeyDictionary[Any, Tensor | None] = WeakKeyDictionary()

    def scale(self, outputs: Any) -> Any:
        """A tensor, or tensors in sequences, times the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            if self._scale is None:
                self._scale = _number(self._init_scale, outputs.device)
            return outputs * self._scale.to(outputs.device)
        if not isinstance(outputs, Iterable):
            raise ArgumentTypeError(
                "GradScaler.scale", "outputs", was=type(outputs).__name__,
                needed="a tensor or an iterable of tensors",
            )  # fmt: skip
        scaled = map(self.scale, outputs)
        return type(outputs)(scaled) if isinstance(outputs, list | tuple) else scaled

    def unscale_(self, optimizer: Any) -> None:
        """Divide an optimizer's gradients by the scale, as before clipping them.

        Raises: CallOrderError if that was done already since the last `update`.
        """
        if not self._enabled:
            return
        stage = self._stages.get(optimizer, Stage.SCALED)
        if stage is not Stage.SCALED:
            done = "unscale_" if stage is Stage.UNSCALED else "step"
            raise CallOrderError(
                "GradScaler.unscale_", "optimizer", was=f"past {done}() already",
                needed="one whose gradients are scaled", remedy="call update() between",
            )  # fmt: skip
        grads = [
            param.grad
            for group in optimizer.param_groups for param in group["params"]
            if param.grad is not None
        ]  # fmt: skip
        if any(grad.dtype == dtypes.float16 for grad in grads):
            raise ArgumentError(
                "GradScaler.unscale_", "a gradient", was="of float16",
                needed="float32 or more", remedy="keep parameters in float32",
            )  # fmt: skip
        with no_grad():
            self._found[optimizer] = self._unscaled(grads)
        self._stages[optimizer] = Stage.UNSCALED

    def _unscaled(self, grads: list[Tensor]) -> Tensor | None:
        """Unscale gradients, and say whether one of them is not finite."""
        scale, found = self._needed("unscale_"), None
        for grad in grads:
            grad.mul_(1.0 / scale.to(grad.device))
            bad = ft.isfinite(grad).all().logical_not()
            found = bad if found is None else found.logical_or(bad.to(found.device))
        return found

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Step an optimizer, unless its gradients are not finite.

        Returns: what its step does; None if it was left out.
        Raises: CallOrderError if that was done already since the last `update`.
        """
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise ArgumentError(
                "GradScaler.step", "closure", was="given", needed="none: a closure "
                "would compute unscaled gradients",
            )  # fmt: skip
        stage = self._stages.get(optimizer, Stage.SCALED)
        if stage is Stage.STEPPED:
            raise CallOrderError(
                "GradScaler.step", "optimizer", was="past step() already",
                needed="one that has not been stepped", remedy="call update() between",
            )  # fmt: skip
        if stage is Stage.SCALED:
            self.unscale_(optimizer)
        found = self._found[optimizer]
        if found is None:
            raise ArgumentError(
                "GradScaler.step", "optimizer", was="without any gradient",
                needed="gradients of the scaled loss",
            )  # fmt: skip
        result = None if found.item() else optimizer.step(*args, **kwargs)
        self._stages[optimizer] = Stage.STEPPED
        return result

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Adapt the scale, once all optimizers have been stepped.

        Args:
            new_scale: the scale from here on, instead.
        """
        if not self._enabled:
            return
        scale = self._needed("update")
        if new_scale is not None:
            value = new_scale.item() if isinstance(new_scale, Tensor) else new_scale
            scale.fill_(value)
        else:
            found = [bad for bad in self._found.values() if bad is not None]
            if not found:
                raise CallOrderError(
                    "GradScaler.update", "gradients", was="not looked at",
                    needed="step() or unscale_() before",
                )  # fmt: skip
            self._adapt(scale, any(bad.item() for bad in found))
        self._forget()

    def _adapt(self, scale: Tensor, overflowed: bool) -> None:
        if overflowed:
            scale.mul_(self._backoff_factor)
            self._good_steps = 0
            return
        self._good_steps += 1
        if self._good_steps == self._growth_interval:
            grown = scale * self._growth_factor
            if ft.isfinite(grown).item():
                scale.copy_(grown)
            self._good_steps = 0

    def _needed(self, method: str) -> Tensor:
        if self._scale is None:
            raise CallOrderError(
                f"GradScaler.{method}", "the scale", was="not there yet",
                needed="scaler.scale(loss) before",
            )  # fmt: skip
        return self._scale

    def is_enabled(self) -> bool:
        """Whether anything is scaled."""
        return self._enabled

    def get_scale(self) -> float:
        """The scale; 1 where nothing is scaled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """What the scale is multiplied with when it grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied with when it grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """What the scale is multiplied with when a step was left out."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set what the scale is multiplied with when a step was left out."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """Good steps in a row after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set how many good steps in a row make the scale grow."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The scale and how it grows, in torch's form; empty if not enabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._good_steps,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take what `state_dict` gave."""
        if not self._enabled:
            return
        if not state_dict:
            raise ArgumentError(
                "GradScaler.load_state_dict", "state_dict", was="empty",
                needed="that of a scaler that is enabled",
            )  # fmt: skip
        self._init_scale = state_dict["scale"]
        if self._scale is not None:
            self._scale.fill_(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._good_steps = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if len(self._stages):
            raise CallOrderError(
                "GradScaler", "state", was="pickled between step() and update()",
                needed="the end of an iteration",
            )  # fmt: skip
        passing = ("_stages", "_found")
        return {k: v for k, v in self.__dict__.items() if k not in passing}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()


def _number(value: float, device: Any) -> Tensor:
    made: Tensor = ft.full((), value, dtype=dtypes.float32, device=device)
    return made
