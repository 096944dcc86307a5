"""Optimizers and schedules beside torch's, over ten steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail import optim

STEPS = 10
RNG = np.random.default_rng(4)
START = [RNG.standard_normal(s).astype(np.float32) for s in ((4, 3), (3,), ())]
GRADS = [[RNG.standard_normal(p.shape) for p in START] for _ in range(STEPS)]

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "maximize": True, "weight_decay": 0.1}),
    ("Adam", {}),
    ("Adam", {"lr": 0.1, "betas": (0.5, 0.9), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.2}),
    ("Adam", {"lr": 0.1, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("AdamW", {}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.3}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True}),
]
IDS = [f"{name}{kwargs}".replace(" ", "") for name, kwargs in CASES]


class Side:
    """An optimizer of one framework, and its parameters."""

    def __init__(self, frame: Any, name: str, kwargs: dict[str, Any]) -> None:
        self.frame = frame
        self.make = getattr(frame.optim, name)
        self.kwargs = kwargs
        self.params = [frame.from_numpy(p.copy()).requires_grad_() for p in START]
        self.optimizer = self.make(self.params, **kwargs)

    def step(self, i: int) -> None:
        self.optimizer.zero_grad()
        for k, (param, grad) in enumerate(zip(self.params, GRADS[i], strict=True)):
            if not (k == 1 and i == 0):  # one has no gradient at first
                param.grad = self.frame.from_numpy(np.array(grad, np.float32))
        self.optimizer.step()

    def resume(self) -> None:
        """Go on with a new optimizer that got the old one's state."""
        saved = self.optimizer.state_dict()
        self.optimizer = self.make(self.params, **self.kwargs)
        self.optimizer.load_state_dict(saved)


def assert_same_params(ours: Side, theirs: Side) -> None:
    for mine, other in zip(ours.params, theirs.params, strict=True):
        a, b = mine.detach().numpy(), other.detach().numpy()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def assert_same_state(ours: Any, theirs: Any) -> None:
    """Equal keys, in order, and values, of what state_dict gave."""
    assert type(ours).__name__ == type(theirs).__name__
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            assert_same_state(ours[key], theirs[key])
    elif isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            assert_same_state(a, b)
    elif isinstance(theirs, torch.Tensor):
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        assert tuple(ours.shape) == tuple(theirs.shape)
        a, b = ours.detach().numpy(), theirs.detach().numpy()
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs


@pytest.mark.parametrize("resumed", [False, True], ids=["straight", "resumed"])
@pytest.mark.parametrize(("name", "kwargs"), CASES, ids=IDS)
def test_ten_steps_are_torchs(name: str, kwargs: dict[str, Any], resumed: bool) -> None:
    """Parameters after every step, the state dict and the text are torch's."""
    ours, theirs = Side(dovetail, name, kwargs), Side(torch, name, kwargs)
    assert repr(ours.optimizer) == repr(theirs.optimizer)
    for i in range(STEPS):
        if resumed and i == STEPS // 2:
            ours.resume()
            theirs.resume()
        ours.step(i)
        theirs.step(i)
        assert_same_params(ours, theirs)
    assert_same_state(ours.optimizer.state_dict(), theirs.optimizer.state_dict())


def test_groups_and_names_are_torchs() -> None:
    """Options of groups, and parameters given with names."""
    both = []
    for frame in (dovetail, torch):
        a, b = (frame.from_numpy(START[i].copy()).requires_grad_() for i in (0, 1))
        groups = [{"params": [("a", a)], "lr": 0.5}, {"params": [("b", b)]}]
        made = frame.optim.SGD(groups, lr=0.1, momentum=0.9)
        a.grad, b.grad = frame.ones_like(a), frame.ones_like(b)
        made.step()
        both.append([made.state_dict(), a, b])
    assert_same_state(both[0], both[1])


def halves(epoch: int) -> float:
    return 0.5**epoch


SCHEDULES: list[tuple[str, dict[str, Any]]] = [
    ("StepLR", {"step_size": 3, "gamma": 0.5}),
    ("MultiStepLR", {"milestones": [2, 2, 5], "gamma": 0.5}),
    ("ExponentialLR", {"gamma": 0.8}),
    ("ConstantLR", {"factor": 0.25, "total_iters": 3}),
    ("LinearLR", {"start_factor": 0.2, "total_iters": 4}),
    ("PolynomialLR", {"total_iters": 6, "power": 2.0}),
    ("CosineAnnealingLR", {"T_max": 5, "eta_min": 0.01}),
    ("LambdaLR", {"lr_lambda": halves}),
    ("MultiplicativeLR", {"lr_lambda": halves}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 14}),
    ("OneCycleLR", {"max_lr": [1.0, 2.0], "epochs": 7, "steps_per_epoch": 2}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 14, "three_phase": True}),
    ("OneCycleLR", {"max_lr": 1.0, "total_steps": 14, "anneal_strategy": "linear"}),
]
SCHEDULE_IDS = [f"{name}-{i}" for i, (name, _) in enumerate(SCHEDULES)]


def scheduled(frame: Any, name: str, kwargs: Any, optimizer: str = "SGD") -> Any:
    """A schedule over an optimizer with two groups."""
    params = [frame.ones(1).requires_grad_() for _ in range(2)]
    groups = [{"params": [params[0]]}, {"params": [params[1]], "lr": 0.3}]
    extra = {"momentum": 0.9} if optimizer == "SGD" else {}
    made = getattr(frame.optim, optimizer)(groups, lr=0.1, **extra)
    return getattr(frame.optim.lr_scheduler, name)(made, **kwargs)


def rates(schedule: Any, steps: int = 12) -> list[Any]:
    """The groups' rates and momenta on the way."""
    found = []
    for _ in range(steps):
        found += [g["lr"] for g in schedule.optimizer.param_groups]
        found += [
            g.get("momentum", g.get("betas")) for g in schedule.optimizer.param_groups
        ]
        schedule.optimizer.step()
        schedule.step()
        assert schedule.get_last_lr() == [
            g["lr"] for g in schedule.optimizer.param_groups
        ]
    return [x for f in found for x in (f if isinstance(f, tuple) else (f,))]


@pytest.mark.parametrize("optimizer", ["SGD", "AdamW"])
@pytest.mark.parametrize(("name", "kwargs"), SCHEDULES, ids=SCHEDULE_IDS)
def test_schedule_is_torchs(name: str, kwargs: Any, optimizer: str) -> None:
    """Rates of both groups over twelve steps, and the state dict, are torch's."""
    ours = scheduled(dovetail, name, kwargs, optimizer)
    theirs = scheduled(torch, name, kwargs, optimizer)
    assert rates(ours) == pytest.approx(rates(theirs), rel=1e-12)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert list(mine) == list(other)
    assert mine["last_epoch"] == other["last_epoch"]
    assert mine["_last_lr"] == pytest.approx(other["_last_lr"], rel=1e-12)


def test_schedule_resumes_as_torchs() -> None:
    """A schedule that took over the state dict goes on where the other one was."""
    for frame in (dovetail, torch):
        straight = scheduled(frame, "CosineAnnealingLR", {"T_max": 5})
        first = scheduled(frame, "CosineAnnealingLR", {"T_max": 5})
        expected = rates(straight, 9)
        half = rates(first, 4)
        second = scheduled(frame, "CosineAnnealingLR", {"T_max": 5})
        second.optimizer.load_state_dict(first.optimizer.state_dict())
        second.load_state_dict(first.state_dict())
        assert half + rates(second, 5) == pytest.approx(expected)


def test_sequential_schedule_is_torchs() -> None:
    """Warm-up, then a cosine: rates and state dict."""
    both = []
    for frame in (dovetail, torch):
        s = frame.optim.lr_scheduler
        first = scheduled(frame, "LinearLR", {"total_iters": 3})
        second = s.CosineAnnealingLR(first.optimizer, T_max=6)
        third = s.ExponentialLR(first.optimizer, gamma=0.5)
        whole = s.SequentialLR(first.optimizer, [first, second, third], [3, 8])
        both.append((rates(whole), whole.state_dict()))
    assert both[0][0] == pytest.approx(both[1][0], rel=1e-12)
    assert list(both[0][1]) == list(both[1][1])


@pytest.mark.parametrize("mode", ["min", "max"])
@pytest.mark.parametrize("threshold_mode", ["rel", "abs"])
def test_plateau_schedule_is_torchs(mode: str, threshold_mode: str) -> None:
    """The rate falls when the measure stalls, with patience and cooldown."""
    measures = [1.0, 0.9, 0.95, 0.95, 0.96, 0.97, 0.5, 0.6, 0.6, 0.6, 0.6, 1.2, 1.3]
    both = []
    for frame in (dovetail, torch):
        kwargs = {"mode": mode, "threshold_mode": threshold_mode}
        kwargs |= {"patience": 1, "cooldown": 1, "factor": 0.5, "min_lr": 0.05}
        schedule = scheduled(frame, "ReduceLROnPlateau", kwargs)
        found = []
        for measure in measures:
            schedule.step(measure)
            found += schedule.get_last_lr()
        both.append((found, list(schedule.state_dict())))
    assert both[0][0] == pytest.approx(both[1][0], rel=1e-12)
    assert both[0][1] == both[1][1]


def test_optim_is_the_package() -> None:
    """What is compared here is what users import."""
    assert dovetail.optim is optim
