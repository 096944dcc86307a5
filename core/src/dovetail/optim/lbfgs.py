"""L-BFGS: steps by an estimate of the curvature, from gradients before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import enable_grad, no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError

from .line_search import strong_wolfe
from .optimizer import Optimizer, Params
from .options import check_lr

# The least product of a step and its change of gradient that tells of curvature.
_LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS (Nocedal 1980; Nocedal & Wright 2006, algorithm 7.5).

    One `step` makes up to `max_iter` iterations, for which it calls the closure again
    and again. All parameters are one vector, of which `history_size` steps and changes
    of the gradient are kept.

    Args:
        params: parameters; groups of them are not allowed.
        lr: length of a step, relative to the estimate's.
        max_iter: iterations in a step.
        max_eval: calls of the closure in a step; 1.25 times `max_iter` if None.
        tolerance_grad: the largest element of a gradient that is taken for none.
        tolerance_change: changes of the loss or the parameters taken for none.
        history_size: how many steps are kept.
        line_search_fn: "strong_wolfe" searches along each step; None does not.

    Examples:
        >>> w = torch.ones(2, requires_grad=True)
        >>> optimizer = torch.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 3) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure)
        tensor(8., grad_fn=<SumBackward0>)
        >>> w
        tensor([3., 3.], requires_grad=True)
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr("LBFGS", lr)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(
                "LBFGS", "line_search_fn", was=repr(line_search_fn),
                needed='None or "strong_wolfe"',
            )  # fmt: skip
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ArgumentError(
                "LBFGS", "params", was=f"{len(self.param_groups)} groups", needed="one"
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make up to `max_iter` iterations.

        Args:
            closure: sets the gradients of all parameters to zero, computes the loss,
                calls backward, and returns the loss.

        Returns: what the closure returned first.
        """
        if closure is None:
            raise ArgumentTypeError(
                "LBFGS.step", "closure", was="None",
                needed="a function that computes the loss and calls backward",
            )  # fmt: skip
        group = self.param_groups[0]
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with no_grad():
            first = _evaluated(closure)
            search = _Search(group, state, closure, float(first))
            state["func_evals"] += 1
            while not search.is_over():
                search.iterate()
        return first


class _Search:
    """One call of `step`.

    Attributes:
        loss, gradient: at the present parameters.
        done, calls: iterations made, and calls of the closure.
        state: what the optimizer keeps, by torch's names.
    """

    def __init__(
        self, group: dict[str, Any], state: dict[str, Any], closure: Callable[[], Any],
        loss: float,
    ) -> None:  # fmt: skip
        self.params: list[Tensor] = group["params"]
        self.group, self.state, self.closure = group, state, closure
        self.loss, self.gradient = loss, _flat(self.params)
        self.done, self.calls = 0, 1
        self.stopped = self._is_flat()

    def is_over(self) -> bool:
        """Whether nothing is to be done any more."""
        return (
            self.stopped
            or self.done >= self.group["max_iter"]
            or (self.done > 0 and self.calls >= self.group["max_eval"])
        )

    def _is_flat(self) -> bool:
        return bool(self.gradient.abs().max() <= self.group["tolerance_grad"])

    def iterate(self) -> None:
        """Go one step, and look whether to go on."""
        state, group = self.state, self.group
        self.done += 1
        state["n_iter"] += 1
        direction = state["d"] = self._direction()
        state["prev_flat_grad"] = self.gradient.clone()
        state["prev_loss"] = before = self.loss
        length: Any = group["lr"]
        if state["n_iter"] == 1:
            length = min(1.0, 1.0 / self.gradient.abs().sum()) * length
        state["t"] = length
        slope = self.gradient.dot(direction)
        if slope > -group["tolerance_change"]:
            self.stopped = True
            return
        self._move(length, direction, slope)
        moved = (direction * state["t"]).abs().max()
        self.stopped = (
            self.stopped
            or bool(moved <= group["tolerance_change"])
            or abs(self.loss - before) < group["tolerance_change"]
        )

    def _direction(self) -> Any:
        """Down the gradient, by the estimate of the inverse Hessian."""
        state = self.state
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return -self.gradient
        self._learn()
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        shares = state.setdefault("al", [None] * self.group["history_size"])
        r = -self.gradient
        for i in reversed(range(len(changes))):
            shares[i] = _dot(steps[i], r) * ro[i]
            r = r - changes[i] * shares[i]
        r = r * state["H_diag"]
        for i in range(len(changes)):
            r = r + steps[i] * (shares[i] - _dot(changes[i], r) * ro[i])
        return r

    def _learn(self) -> None:
        """Keep the last step and its change of the gradient, if they tell anything."""
        state = self.state
        change = self.gradient - state["prev_flat_grad"]
        step = state["d"] * state["t"]
        curvature = _dot(change, step)
        if not curvature > _LEAST_CURVATURE:
            return
        if len(state["old_dirs"]) == self.group["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(change)
        state["old_stps"].append(step)
        state["ro"].append(1.0 / curvature)
        state["H_diag"] = curvature / _dot(change, change)

    def _move(self, length: Any, direction: Tensor, slope: Tensor) -> None:
        """Go along a direction: as far as was said, or as a line search says."""
        if self.group["line_search_fn"] is not None:
            start = [p.clone() for p in self.params]

            def at(length: Any) -> tuple[float, Tensor]:
                _add(self.params, direction * length)
                found = float(_evaluated(self.closure)), _flat(self.params)
                for p, x in zip(self.params, start, strict=True):
                    p.copy_(x)
                return found

            left = self.group["max_eval"] - self.calls
            self.loss, self.gradient, length, calls = strong_wolfe(
                at, length, self.loss, self.gradient, slope, direction, most=left,
                least_change=self.group["tolerance_change"],
            )  # fmt: skip
            _add(self.params, direction * length)
        else:
            _add(self.params, direction * length)
            calls = 0
            if self.done != self.group["max_iter"]:
                self.loss, calls = float(_evaluated(self.closure)), 1
                self.gradient = _flat(self.params)
        self.state["t"] = length
        self.stopped = self._is_flat()
        self.calls += calls
        self.state["func_evals"] += calls


def _evaluated(closure: Callable[[], Any]) -> Any:
    with enable_grad():
        return closure()


def _real(x: Tensor) -> Any:
    return ft.view_as_real(x) if x.is_complex() else x


def _dot(a: Tensor, b: Tensor) -> Any:
    """The scalar product, rounded once: the curvature is a difference of such."""
    return (a.double() @ b.double()).to(a.dtype)


def _flat(params: list[Tensor]) -> Tensor:
    """All gradients as one vector; zeros where there is none."""
    parts = [ft.zeros_like(p) if p.grad is None else p.grad for p in params]
    parts = [g.to_dense() if g._in_parts else g for g in parts]
    joined: Tensor = ft.cat([_real(part).reshape(-1) for part in parts])
    return joined


def _add(params: list[Tensor], step: Tensor) -> None:
    """Add parts of one vector to the parameters."""
    at = 0
    for p in params:
        parts = _real(p)
        part = step[at : at + parts.numel()].view(parts.shape)
        p.add_(ft.view_as_complex(part) if p.is_complex() else part)
        at += parts.numel()
