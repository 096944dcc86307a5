"""Optimizers that say a step as arithmetic on one parameter, and all else follows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, NamedTuple

from dovetail import frontend as ft
from dovetail.device_api.graphs import recording
from dovetail.dtypes import HALF, float32
from dovetail.engine.inplace import commit, fitting
from dovetail.engine.modes import GradMode, grad_enabled
from dovetail.engine.scopes import begin, live, perform, watched
from dovetail.engine.tensor import Tensor
from dovetail.engine.writable import check_writable
from dovetail.errors import CaptureError, NotSupported, ShapeError

from .optimizer import Optimizer
from .options import loss_of, number
from .steps import Steps, run_all

Group = dict[str, Any]
State = dict[str, Any]
Numbers = Mapping[str, Any]


class Kept(NamedTuple):
    """A tensor that an optimizer keeps for a parameter.

    Attributes:
        shape: None is the parameter's.
        fill: what it holds before the first step; None: nothing yet.
    """

    shape: tuple[int, ...] | None = None
    fill: float | None = 0.0


class ExpressionOptimizer(Optimizer):
    """Base class of optimizers whose step is an expression of tensors.

    A subclass says what is kept for a parameter (`_kept`, and `_counts` for numbers),
    which numbers a step needs (`_numbers`), and what the parameter and what is kept
    become (`_values`). Numbers are read anew when a step is replayed; where
    `differentiable` is set they may be tensors, and the step is recorded.
    """

    accumulates: ClassVar[Mapping[str, float]] = {"step": 0.0}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change every parameter that has a gradient.

        Args:
            closure: computes the loss again and returns it.
        """
        if self.accumulates and recording.get() is not None:
            raise self._counts_on_the_host()
        loss = loss_of(closure)
        with GradMode(bool(self.defaults.get("differentiable"))):
            steps = [s for group in self.param_groups for s in self._steps(group)]
            run_all(f"{type(self).__name__}.step", steps)
        return loss

    def _counts_on_the_host(self) -> CaptureError:
        own, counted = type(self).__name__, ", ".join(self.accumulates)
        return CaptureError(
            f"{own}.step", "graph", was=f"recorded, while {own} counts {counted} on "
            "the host, which a graph would leave as they are",
            needed="a step outside of graphs",
            remedy="record the loss and its gradients, and step after each replay",
        )  # fmt: skip

    def _begin(self) -> None:
        """Make what has to be there before the first step; most make it then."""

    def _step_by_rows(
        self, param: Tensor, grad: Tensor, state: State, options: Group
    ) -> None:
        """Step what a sparse gradient names; not there for most optimizers."""
        own = type(self).__name__
        raise NotSupported(
            f"{own}.step", "grad", was="sparse", needed=f"a strided tensor: {own} does "
            "not support sparse gradients", remedy="use SGD, Adagrad or SparseAdam",
        )  # fmt: skip

    def _sparse_steps(
        self, param: Tensor, grad: Tensor, state: State, group: Group
    ) -> Steps:
        """A step of one parameter by a sparse gradient."""
        held = [
            [x] for x in state.values() if isinstance(x, Tensor) and not x._in_parts
        ]
        run = partial(self._run_by_rows, param, grad, state, group)
        return Steps([param], [grad], held, run)

    def _run_by_rows(
        self, param: Tensor, grad: Tensor, state: State, group: Group
    ) -> None:
        name = f"{type(self).__name__}.step"
        if watched() or self.defaults.get("differentiable"):
            raise NotSupported(
                name, "grad", was="sparse while steps are recorded",
                needed="a strided tensor: how many rows it has is no part of a program",
            )  # fmt: skip
        self._step_by_rows(param, grad, state, self._options(group))
        self.state[param] = state

    def _kept(self, param: Tensor, group: Group) -> dict[str, Kept]:
        """The tensors that are kept for a parameter, by name."""
        raise NotImplementedError

    def _counts(self, options: Numbers, state: State) -> dict[str, Any]:
        """What the kept numbers become; those of a step before are in `state`."""
        return {name: state[name] + 1.0 for name in self.accumulates}

    def _numbers(self, options: Numbers, state: State) -> dict[str, Any]:
        """The numbers of a step by name: arithmetic on options and kept numbers."""
        raise NotImplementedError

    def _values(
        self, p: Tensor, g: Tensor, kept: dict[str, Tensor], group: Group, n: Numbers
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """What the parameter and the kept tensors become, in memory of their own.

        Args:
            kept: by name; without those that hold nothing yet.
            n: what `_numbers` said.
        """
        raise NotImplementedError

    def _steps(self, group: Group) -> Iterator[Steps]:
        """One for each parameter of a group that has a gradient."""
        for param in group["params"]:
            grad = param.grad
            if grad is not None:
                state = self.state.get(param)
                first = not state
                if not state:
                    state = self._start(param, group)
                kept = {name: state[name] for name in self._kept(param, group)}
                if grad._in_parts:
                    yield self._sparse_steps(param, grad, state, group)
                    continue
                run = partial(self._run, param, grad, state, kept, group, first)
                yield Steps([param], [grad], [[x] for x in kept.values()], run)

    def _by_expression(self, group: Group) -> bool:
        """Whether a group needs more than ops for lists: a record, complex numbers."""
        return bool(self.defaults.get("differentiable")) or any(
            param._kind.dtype.is_complex for param in group["params"]
        )

    def _start(self, param: Tensor, group: Group) -> State:
        """The state before the first step."""
        begin("state of an optimizer")
        state: State = dict(self._first_counts(group))
        for name, (shape, fill) in self._kept(param, group).items():
            if fill is None:
                state[name] = ft.empty_like(param)
                continue
            filled: Any = complex(fill, fill) if param.is_complex() else fill
            if shape is None:
                state[name] = ft.full_like(param, filled)
            else:
                of_kind = {"dtype": param.dtype, "device": param.device}
                state[name] = ft.full(shape, filled, **of_kind)
        return state

    def _first_counts(self, group: Group) -> Mapping[str, float]:
        """The kept numbers before the first step."""
        return self.accumulates

    def _run(
        self, param: Tensor, grad: Tensor, state: State, kept: dict[str, Tensor],
        group: Group, first: bool,
    ) -> None:  # fmt: skip
        """Step one parameter, or nothing of it."""
        self._check(param, grad, kept, group)
        numbers = self._read(param, group, state)
        p, g, *rest = _operands(param, grad, *kept.values())
        before = dict(zip(kept, rest, strict=True))
        if first:
            empty = [n for n, k in self._kept(param, group).items() if k.fill is None]
            before = {name: x for name, x in before.items() if name not in empty}
        new, others = self._values(p, g, before, group, numbers)
        values = [new, *(others.get(name) for name in kept)]
        _write(f"{type(self).__name__}.step", [param, *kept.values()], values)
        perform(partial(self._count, group, state))  # only now: a failed step is none
        self.state[param] = state

    def _check(
        self, param: Tensor, grad: Tensor, kept: dict[str, Tensor], group: Group
    ) -> None:
        """Raise where what belongs to a parameter does not fit it."""
        op, shape = type(self).__name__, tuple(param.shape)
        needed = {
            name: shape if k.shape is None else k.shape
            for name, k in self._kept(param, group).items()
        }
        for name, x in {"grad": grad, **kept}.items():
            if tuple(x.shape) != needed.get(name, shape):
                raise ShapeError(
                    f"{op}.step", name, was=f"of shape {tuple(x.shape)}",
                    needed=f"{needed.get(name, shape)}, for a parameter of {shape}",
                )  # fmt: skip
        if grad_enabled():
            for x in (param, *kept.values()):
                check_writable(f"{op}.step", x)

    def _options(self, group: Group) -> dict[str, Any]:
        """The group's options, tensors as floats unless the step is recorded."""
        if self.defaults.get("differentiable"):
            return group
        return {
            name: number(value) if isinstance(value, Tensor) else value
            for name, value in group.items() if name != "params"
        }  # fmt: skip

    def _read(self, param: Tensor, group: Group, state: State) -> Numbers:
        """The numbers of this step, each read again by a replay."""
        now = self._numbers(self._options(group), state)
        if not watched() or self.defaults.get("differentiable"):
            return now
        there = [name for name, value in now.items() if value is not None]
        again = {name: partial(self._one, group, state, name) for name in there}
        return {**now, **{name: _live(param, read) for name, read in again.items()}}

    def _one(self, group: Group, state: State, name: str) -> float:
        return float(self._numbers(self._options(group), state)[name])

    def _count(self, group: Group, state: State) -> None:
        state.update(self._counts(self._options(group), state))


def ascent(p: Tensor, g: Tensor, group: Group, n: Numbers) -> Tensor:
    """The gradient to go down: turned where the loss is to grow, with weight decay."""
    if group["maximize"]:
        g = -g
    if _decays(group) and not group.get("decoupled_weight_decay"):
        g = g + p * n["decay"]
    return g


def decayed(p: Tensor, group: Group, n: Numbers) -> Tensor:
    """The parameter after weight decay that is a step of its own."""
    if _decays(group) and group.get("decoupled_weight_decay"):
        p = p * n["stay"]
    return p


def squared(before: Tensor, g: Tensor, keep: Any, take: Any) -> Any:
    """A mean of squares with those of a gradient in it."""
    kept = before * keep
    if isinstance(take, Tensor):  # which `value` would take for a number
        return kept + g * g * take
    return ft.addcmul(kept, g, g, value=take)


def decay(options: Numbers) -> dict[str, Any]:
    """The numbers that `ascent` and `decayed` read."""
    how_much = options["weight_decay"]
    return {"decay": how_much, "stay": 1 - options["lr"] * how_much}


def _decays(group: Group) -> bool:
    return bool(group.get("weight_decay", 0) != 0)


def _live(param: Tensor, read: Callable[[], float]) -> Any:
    """A number that meets a parameter, as a tensor that a replay makes anew."""
    dtype = float32 if param._kind.dtype in HALF else param._kind.dtype.to_real()
    return ft.full((), live(read), dtype=dtype, device=param.device)


def _operands(*tensors: Tensor) -> list[Tensor]:
    """What arithmetic takes: real numbers of 32 bits or more, copies if recorded."""
    return list(map(_operand, tensors))


def _operand(x: Tensor) -> Any:
    dtype = x._kind.dtype
    if dtype in HALF:
        return x.to(float32)  # so that a step rounds once
    if dtype.is_complex:
        return ft.view_as_real(x).clone()
    return x.clone() if grad_enabled() else x


def _write(name: str, targets: list[Tensor], values: list[Tensor | None]) -> None:
    """Write every target, or on an error none: first all that can fail, then moves."""
    pairs = [(t, v) for t, v in zip(targets, values, strict=True) if v is not None]
    fit = [
        (t, fitting(name, t, ft.view_as_complex(v) if t.is_complex() else v))
        for t, v in pairs
    ]
    for target, value in fit:
        commit(target, value)
