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
    ("Adadelta", {"weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.9), "weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("ASGD", {"lr": 0.1, "t0": 3, "lambd": 0.1}),
    ("Rprop", {"maximize": True}),
    ("Adafactor", {"weight_decay": 0.1, "eps": (1e-2, 1e-3)}),
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


NAMES = ["SGD", "Adam", "RAdam", "RMSprop", "Rprop", "Adagrad"]


@pytest.mark.parametrize("name", NAMES)
def test_complex_parameters_are_pairs_of_real_ones(name: str) -> None:
    """Steps on complex parameters are torch's."""
    rng, ends = np.random.default_rng(6), []
    start, grad = rng.standard_normal((2, 3, 2)).astype(np.float32).view(np.complex64)
    for frame in (dovetail, torch):
        p = frame.from_numpy(start.copy()).requires_grad_()
        made = getattr(frame.optim, name)([p], lr=0.1)
        for _ in range(3):
            p.grad = frame.from_numpy(grad.copy())
            made.step()
        ends.append(p.detach().numpy())
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_goes_torchs_way(search: str | None) -> None:
    """Down Rosenbrock's valley in double precision: the same losses, call by call."""
    ways = []
    for frame in (dovetail, torch):
        p = frame.tensor([-1.2, 1.0], dtype=frame.float64, requires_grad=True)
        made = frame.optim.LBFGS(
            [p], lr=1e-1 if search is None else 1, line_search_fn=search, history_size=3
        )
        losses: list[float] = []

        def closure(frame: Any = frame, p: Any = p, losses: Any = losses) -> Any:
            p.grad = None
            loss = 100 * (p[1] - p[0] ** 2) ** 2 + (1 - p[0]) ** 2
            loss.backward()
            losses.append(loss.item())
            return loss

        for _ in range(2):
            made.step(closure)
        ways.append(losses)
    assert len(ways[0]) == len(ways[1])
    np.testing.assert_allclose(ways[0], ways[1], rtol=1e-6, atol=1e-9)


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
    ("CyclicLR", {"base_lr": 0.1, "max_lr": [1.0, 2.0], "step_size_up": 3}),
    (
        "CyclicLR",
        {
            "base_lr": 0.1,
            "max_lr": 1.0,
            "step_size_up": 2,
            "step_size_down": 3,
            "mode": "triangular2",
            "cycle_momentum": False,
        },
    ),
    (
        "CyclicLR",
        {
            "base_lr": 0,
            "max_lr": 1.0,
            "step_size_up": 3,
            "mode": "exp_range",
            "gamma": 0.9,
        },
    ),
    ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", {"T_0": 3}),
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


def test_chained_schedules_are_torchs() -> None:
    """Two schedules at each step: rates and state dict."""
    both = []
    for frame in (dovetail, torch):
        s = frame.optim.lr_scheduler
        first = scheduled(frame, "ConstantLR", {"total_iters": 3})
        second = s.ExponentialLR(first.optimizer, gamma=0.5)
        whole = s.ChainedScheduler([first, second])
        both.append((rates(whole), whole.state_dict()))
    assert both[0][0] == pytest.approx(both[1][0], rel=1e-12)
    assert list(both[0][1]) == list(both[1][1])


@pytest.mark.parametrize("T_mult", [1, 2, 3])
def test_restarts_take_any_epoch(T_mult: int) -> None:  # noqa: N803
    """Fractions of epochs, and leaps, lead to torch's rates."""
    both = []
    for frame in (dovetail, torch):
        s = scheduled(
            frame, "CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": T_mult}
        )
        found = []
        for epoch in (0.5, 1.25, 2.0, 6.5, 3.0, 20.75, None, 1.0, None):
            s.step(epoch)
            found += [*s.get_last_lr(), s.last_epoch, s.T_i]
        both.append(found)
    assert both[0] == pytest.approx(both[1], rel=1e-9)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_swalr_is_torchs(strategy: str) -> None:
    """From each group's rate to its last one."""
    both = []
    for frame in (dovetail, torch):
        made = scheduled(frame, "ConstantLR", {"factor": 1.0}).optimizer
        kwargs = {"anneal_epochs": 4, "anneal_strategy": strategy}
        schedule = frame.optim.swa_utils.SWALR(made, [0.01, 0.02], **kwargs)
        both.append(rates(schedule, 7))
    assert both[0] == pytest.approx(both[1], rel=1e-9)


@pytest.mark.parametrize("kind", ["swa", "ema", "own", "many", "buffers"])
def test_averaged_models_are_torchs(kind: str) -> None:
    """Averages of parameters and buffers over four updates, and the state dict."""
    ends = []
    for frame in (dovetail, torch):
        utils = frame.optim.swa_utils
        given = {
            "swa": {},
            "ema": {"avg_fn": utils.get_ema_avg_fn(0.5)},
            "own": {"avg_fn": lambda mean, value, count: mean + value * count},
            "many": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.75)},
            "buffers": {"use_buffers": True, "avg_fn": utils.get_ema_avg_fn(0.5)},
        }[kind]
        model = frame.nn.BatchNorm1d(3)
        averaged = utils.AveragedModel(model, **given)
        for i in range(4):
            for j, x in enumerate([*model.parameters(), *model.buffers()]):
                x.detach().fill_(2 * i + j)
            averaged.update_parameters(model)
        ends.append(averaged.state_dict())
    assert_same_state(dict(ends[0]), dict(ends[1]))


def test_update_bn_is_torchs() -> None:
    """Statistics over all batches, with momentum and mode as they were."""
    rng, ends = np.random.default_rng(7), []
    data = [rng.standard_normal((4, 3)).astype(np.float32) for _ in range(3)]
    for frame in (dovetail, torch):
        model = frame.nn.Sequential(frame.nn.BatchNorm1d(3, momentum=0.3)).eval()
        batches = [[frame.from_numpy(x.copy()), 0] for x in data]
        frame.optim.swa_utils.update_bn(batches, model)
        assert not model.training
        assert model[0].momentum == 0.3
        ends.append(dict(model.state_dict()))
    assert_same_state(*ends)


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


def test_muon_rounds_as_torch_does() -> None:
    """Of a product of bfloat16 and what is added to it, only the sum is rounded."""
    start = np.linspace(-0.9, 1.1, 12, dtype=np.float32).reshape(4, 3)
    grad = np.sin(7 * start).astype(np.float32)
    ends = []
    for frame in (dovetail, torch):
        p = frame.from_numpy(start.copy()).requires_grad_()
        made = frame.optim.Muon([p], lr=1.0, weight_decay=0.0)
        p.grad = frame.from_numpy(grad.copy())
        made.step()
        ends.append(p.detach().numpy())
    np.testing.assert_allclose(ends[0], ends[1], atol=4e-3)  # half a bfloat16 step


def test_the_count_of_sparse_adam_is_an_int() -> None:
    """Before and after a state goes through a file."""
    for frame in (dovetail, torch):
        table = frame.nn.Embedding(3, 2, sparse=True)
        made = frame.optim.SparseAdam(table.parameters())
        table(frame.tensor([1])).sum().backward()
        made.step()
        saved = made.state_dict()
        assert type(saved["state"][0]["step"]) is int
        made.load_state_dict(saved)
        made.step()
        assert made.state_dict()["state"][0]["step"] == 2


def test_a_schedule_begins_by_a_step_of_its_own() -> None:
    """Schedules of others' give their rates in `step`, and have no other."""
    for lib in (torch, dovetail):

        class Halved(lib.optim.lr_scheduler.LRScheduler):
            def get_lr(self) -> float:
                return 1.0

            def step(self, epoch: int | None = None) -> None:
                for group in self.optimizer.param_groups:
                    group["lr"] = group["lr"] / 2

        optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=1.0)
        schedule = Halved(optimizer)
        assert optimizer.param_groups[0]["lr"] == 0.5
        schedule.step()
        assert optimizer.param_groups[0]["lr"] == 0.25
