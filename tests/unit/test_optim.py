"""Optimizers: groups, state, hooks, and what they refuse."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import dovetail as dt
from dovetail import nn, optim
from dovetail.errors import ArgumentError, ArgumentTypeError, DovetailError
from dovetail.optim.lr_scheduler import (
    CosineAnnealingLR,
    LambdaLR,
    LinearLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)


def parameter(*values: float, grad: float | None = 1.0) -> Any:
    """A parameter of these values, with a gradient of one value."""
    made = nn.Parameter(dt.tensor(list(values)))
    if grad is not None:
        made.grad = dt.full((len(values),), grad)
    return made


def test_sgd_goes_down_the_gradient() -> None:
    """One step is `p - lr * g`, in place, unrecorded."""
    p = parameter(1.0, 2.0)
    assert optim.SGD([p], lr=0.5).step() is None
    assert p.tolist() == [0.5, 1.5]
    assert p.is_leaf
    assert p.requires_grad


def test_adam_starts_with_steps_of_lr() -> None:
    """Bias correction makes the first step lr, whatever the gradient."""
    for factor in (1e-3, 1e3):
        p = parameter(0.0, grad=factor)
        optim.Adam([p], lr=0.1).step()
        assert p.item() == pytest.approx(-0.1, rel=1e-4)


def test_adamw_decays_apart_from_the_means() -> None:
    """With a gradient of zero only the decay is left."""
    p = parameter(2.0, grad=0.0)
    optim.AdamW([p], lr=0.1, weight_decay=0.5).step()
    assert p.item() == pytest.approx(2.0 * (1 - 0.1 * 0.5))


def test_parameters_without_gradient_stay() -> None:
    """Neither value nor state changes where `.grad` is None."""
    p, q = parameter(1.0), parameter(1.0, grad=None)
    made = optim.AdamW([p, q])
    made.step()
    assert q.item() == 1.0
    assert list(made.state) == [p]


def test_groups_have_options_of_their_own() -> None:
    """Options of a group win over those of the optimizer."""
    p, q = parameter(0.0), parameter(0.0)
    made = optim.SGD([{"params": [p], "lr": 1.0}, {"params": q}], lr=0.1)
    made.step()
    assert (p.item(), q.item()) == (-1.0, pytest.approx(-0.1))
    made.add_param_group({"params": [parameter(0.0)]})
    assert made.param_groups[2]["lr"] == 0.1


def test_closure_computes_the_loss_with_gradients() -> None:
    """A step returns what its closure returned, which may call backward."""
    p = parameter(3.0, grad=None)
    made = optim.SGD([p], lr=0.1)

    def closure() -> Any:
        made.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with dt.no_grad():
        assert made.step(closure).item() == 9.0
    assert p.item() == pytest.approx(2.4)


def test_a_tensor_may_be_the_rate() -> None:
    """A rate in a tensor is read at each step, and schedules write into it."""
    p = parameter(1.0)
    rate = dt.tensor(0.5)
    made = optim.SGD([p], lr=rate)
    schedule = StepLR(made, 1)
    made.step()
    schedule.step()
    assert p.item() == 0.5
    assert made.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)


def test_zero_grad() -> None:
    """Gradients go, or become zeros in place."""
    p = parameter(1.0)
    grad = p.grad
    made = optim.SGD([p])
    made.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad.item() == 0.0
    made.zero_grad()
    assert p.grad is None


def test_state_dict_has_torchs_form() -> None:
    """Parameters are numbered; the step count is a float32 tensor of no axes."""
    p, q = parameter(1.0, 2.0), parameter(1.0)
    made = optim.AdamW([p, q])
    made.step()
    made.step()
    saved = made.state_dict()
    assert list(saved) == ["state", "param_groups"]
    assert saved["param_groups"][0]["params"] == [0, 1]
    assert list(saved["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    step = saved["state"][0]["step"]
    assert (step.item(), step.dtype, tuple(step.shape)) == (2.0, dt.float32, ())


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW"])
def test_resuming_changes_nothing(name: str) -> None:
    """Half way into a new optimizer by state dict, pickle or copy: the same end."""

    def run(swap: Any) -> list[float]:
        p = parameter(1.0, -2.0)
        kwargs: dict[str, Any] = {"momentum": 0.9} if name == "SGD" else {}
        made = getattr(optim, name)([p], lr=0.1, **kwargs)
        for i in range(6):
            if i == 3:
                p, made = swap(p, made)
            p.grad = dt.tensor([0.5, float(i)])
            made.step()
        found: list[float] = p.tolist()
        return found

    def by_state_dict(p: Any, made: Any) -> Any:
        other = type(made)([p], lr=9.0)
        other.load_state_dict(made.state_dict())
        return p, other

    def by_pickle(p: Any, made: Any) -> Any:
        return pickle.loads(pickle.dumps((p, made)))

    straight = run(lambda p, made: (p, made))
    assert run(by_state_dict) == straight
    assert run(by_pickle) == straight
    assert run(lambda p, made: copy.deepcopy((p, made))) == straight


def test_loaded_state_moves_to_the_parameters_dtype() -> None:
    """State follows the parameter it belongs to; the step count does not."""
    p = parameter(1.0)
    made = optim.Adam([p])
    made.step()
    q = nn.Parameter(dt.ones(1, dtype=dt.float64))
    other = optim.Adam([q])
    other.load_state_dict(made.state_dict())
    assert other.state[q]["exp_avg"].dtype is dt.float64
    assert other.state_dict()["state"][0]["step"].dtype is dt.float32


def test_load_state_dict_refuses_other_groups() -> None:
    """Another number of groups or parameters leaves the optimizer as it was."""
    made = optim.SGD([parameter(1.0)], lr=0.5)
    saved = optim.SGD([parameter(1.0), parameter(2.0)], lr=0.1).state_dict()
    with pytest.raises(ValueError, match="needed 1 groups of"):
        made.load_state_dict(saved)
    assert made.param_groups[0]["lr"] == 0.5


def test_hooks_around_steps() -> None:
    """Before and after each step, once; removed hooks are gone."""
    p = parameter(1.0)
    made = optim.AdamW([p])
    seen: list[str] = []
    before = made.register_step_pre_hook(lambda o, a, k: seen.append("before"))
    made.register_step_post_hook(lambda o, a, k: seen.append("after"))
    made.step()
    before.remove()
    made.step()
    assert seen == ["before", "after", "after"]


def test_hooks_of_a_subclass_that_calls_super_run_once() -> None:
    """A step within a step is one step."""

    class Counted(optim.SGD):
        def step(self, closure: Any = None) -> Any:
            return super().step(closure)

    made = Counted([parameter(1.0)])
    seen: list[int] = []
    made.register_step_post_hook(lambda o, a, k: seen.append(1))
    made.step()
    assert seen == [1]


def test_hooks_around_state_dicts() -> None:
    """They may change what is saved and what is loaded."""
    made = optim.SGD([parameter(1.0)], lr=0.5)
    made.register_state_dict_post_hook(lambda o, d: {**d, "note": "hi"})
    made.register_load_state_dict_pre_hook(lambda o, d: {**d, "seen": d.pop("note")})
    saved = made.state_dict()
    assert saved["note"] == "hi"
    made.load_state_dict(saved)
    assert "note" in saved


OPTIONS = [
    ("SGD", "momentum"), ("Adam", "lr"), ("AdamW", "weight_decay"), ("RMSprop", "lr"),
    ("Adadelta", "rho"), ("Adagrad", "lr"), ("Adamax", "lr"), ("NAdam", "lr"),
    ("RAdam", "lr"), ("ASGD", "lambd"), ("Rprop", "lr"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "option"), OPTIONS)
def test_differentiable_steps_have_gradients(name: str, option: str) -> None:
    """Of what three steps lead to, by the start and an option: as by differences."""

    def end(start: Any, value: Any) -> Any:
        p = start.clone()
        kwargs = {"lr": 0.1, option: value, "differentiable": True}
        made = getattr(optim, name)([p], **kwargs)
        for _ in range(3):
            now = p.clone()
            p.grad = now * now + 1.0
            made.step()
        return p.sum()

    x = dt.tensor([0.5, -1.0], dtype=dt.float64, requires_grad=True)
    value = dt.tensor(0.2, dtype=dt.float64, requires_grad=True)
    given = [x] if name == "Rprop" else [x, value]
    grads = dt.autograd.grad(end(x, value), given)
    for i, (tensor, grad) in enumerate(zip(given, grads, strict=True)):
        step = dt.full_like(tensor, 1e-6)
        ends = [
            end(
                *[
                    t.detach() + s * step if i == j else t
                    for j, t in enumerate((x, value))
                ]
            )
            for s in (1, -1)
        ]
        slope = (ends[0] - ends[1]).item() / 2e-6
        assert grad.sum().item() == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", ["Adagrad", "NAdam", "RAdam", "RMSprop", "ASGD"])
def test_captured_steps_count_on(name: str) -> None:
    """A replayed step reads the rate and the step count of its own call."""
    ends = []
    for captured in (False, True):
        p = parameter(1.0, -2.0)
        made = getattr(optim, name)([p], lr=0.1)

        def step(p: Any = p, made: Any = made) -> Any:
            made.zero_grad()
            (p * p).sum().backward()
            made.step()
            return p.detach() * 1

        step()  # the optimizer makes its state
        run: Any = step
        for i in range(8):
            made.param_groups[0]["lr"] = 0.1 / (i + 1)
            if captured and i == 1:
                run = dt.compiler.record(step)
            else:
                run()
        ends.append(p.tolist())
    assert ends[0] == ends[1]


def test_a_step_that_fails_changes_nothing() -> None:
    """State of another shape is refused before the first parameter is written."""
    p, q = parameter(1.0), parameter(1.0, 2.0)
    made = optim.RMSprop([p, q])
    made.step()
    made.state[q]["square_avg"] = dt.zeros(3)
    before = [p.tolist(), q.tolist(), made.state[p]["step"]]
    with pytest.raises(DovetailError, match="square_avg"):
        made.step()
    assert [p.tolist(), q.tolist(), made.state[p]["step"]] == before


BAD: dict[str, tuple[Any, type[Exception], str]] = {
    "empty": (lambda: optim.SGD([]), ValueError, "needed at least one parameter"),
    "tensor": (lambda: optim.SGD(dt.ones(1)), TypeError, r"pass \[tensor\]"),
    "number": (lambda: optim.SGD([3]), TypeError, "is int, needed a Tensor"),
    "set": (lambda: optim.SGD([{"params": {1}}]), TypeError, "give a list"),
    "not a leaf": (
        lambda: optim.SGD([dt.ones(1, requires_grad=True) * 2]),
        ValueError,
        "needed a leaf",
    ),
    "rate": (lambda: optim.SGD([parameter(1.0)], lr=-1), ValueError, "lr is -1"),
    "nan": (lambda: optim.SGD([parameter(1.0)], lr=float("nan")), ValueError, "nan"),
    "momentum": (lambda: optim.SGD([parameter(1.0)], momentum=-1), ValueError, "0 or"),
    "nesterov": (lambda: optim.SGD([parameter(1.0)], nesterov=True), ValueError, "a m"),
    "betas": (lambda: optim.Adam([parameter(1.0)], betas=(1.0, 0.9)), ValueError, "0,"),
    "eps": (lambda: optim.AdamW([parameter(1.0)], eps=-1), ValueError, "eps is -1"),
    "differentiable": (
        lambda: optim.AdamW([parameter(1.0)], differentiable=True, fused=True),
        ValueError,
        "differentiable",
    ),
    "matrices": (lambda: optim.Muon([parameter(1.0)]), RuntimeError, "a matrix"),
    "search": (
        lambda: optim.LBFGS([parameter(1.0)], line_search_fn="armijo"),
        ValueError,
        "strong_wolfe",
    ),
    "closure": (lambda: optim.LBFGS([parameter(1.0)]).step(), TypeError, "a function"),
    "base": (lambda: optim.Optimizer([parameter(1.0)], {}).step(), Exception, "a meth"),
}


@pytest.mark.parametrize("fault", BAD)
def test_optimizers_refuse(fault: str) -> None:
    """What cannot be optimised is refused with an error of ours."""
    call, kind, message = BAD[fault]
    with pytest.raises(kind, match=message) as info:
        call()
    assert isinstance(info.value, DovetailError)


def test_a_parameter_is_optimised_once() -> None:
    """Two groups share no parameter; twice in one group is a warning."""
    p = parameter(1.0)
    with pytest.raises(ArgumentError, match="in more than one group"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    with pytest.warns(UserWarning, match="changed twice"):
        optim.SGD([p, p])
    with pytest.raises(ArgumentTypeError, match="partly with names"):
        optim.SGD([("a", p), parameter(2.0)])


# ---- schedules


def sgd(lr: float = 1.0) -> optim.SGD:
    return optim.SGD([parameter(1.0)], lr=lr, momentum=0.5)


def rates(made: Any, schedule: Any, steps: int) -> list[float]:
    found = []
    for _ in range(steps):
        found.append(made.param_groups[0]["lr"])
        made.step()
        schedule.step()
    return found


def test_schedules_follow_their_formulas() -> None:
    """Steps, lines and cosines."""
    made = sgd()
    assert rates(made, StepLR(made, 2, 0.1), 5) == pytest.approx([1, 1, 0.1, 0.1, 0.01])
    made = sgd()
    linear = LinearLR(made, 0.5, 1.0, total_iters=2)
    assert rates(made, linear, 4) == pytest.approx([0.5, 0.75, 1.0, 1.0])
    made = sgd()
    cosine = CosineAnnealingLR(made, 2)
    assert rates(made, cosine, 5) == pytest.approx([1, 0.5, 0, 0.5, 1])
    made = sgd()
    both = [LinearLR(made, 0.5, total_iters=2), StepLR(made, 1, 0.1)]
    joined = rates(made, SequentialLR(made, both, [2]), 4)
    assert joined == pytest.approx([0.5, 0.75, 1.0, 0.1])


def test_one_cycle_moves_momentum_the_other_way() -> None:
    """The top of the rate is the bottom of the momentum, and it ends in time."""
    made = sgd()
    schedule = OneCycleLR(made, max_lr=2.0, total_steps=10)
    found = rates(made, schedule, 9)
    assert max(found) == pytest.approx(2.0)
    assert made.param_groups[0]["momentum"] == pytest.approx(0.95)
    made.step()
    schedule.step()
    with pytest.raises(ValueError, match="at most total_steps=10"):
        schedule.step()


def test_plateau_waits_and_cools_down() -> None:
    """Two bad epochs are waited for; the third lowers the rate."""
    made = sgd()
    schedule = ReduceLROnPlateau(made, patience=2, factor=0.5)
    for measure in (1.0, 1.0, 1.0, 1.0):
        schedule.step(dt.tensor(measure))
    assert schedule.get_last_lr() == [0.5]


def test_a_schedule_goes_on_where_it_was() -> None:
    """By state dict, also with functions, which are not kept."""
    made = sgd()
    first = LambdaLR(made, lambda epoch: 0.5**epoch)
    rates(made, first, 3)
    second = LambdaLR(made, lambda epoch: 0.5**epoch)
    second.load_state_dict(first.state_dict())
    assert second.last_epoch == 3
    assert rates(made, second, 2) == [1.0, 0.0625]


def test_schedules_refuse() -> None:
    """No optimizer, no start, no momentum; a step in the wrong order warns."""
    with pytest.raises(TypeError, match="needed an Optimizer"):
        StepLR(3, 1)
    with pytest.raises(KeyError, match="load the optimizer's state_dict first"):
        StepLR(sgd(), 1, last_epoch=4)
    with pytest.raises(ValueError, match=r"needed in \(0, 1\]"):
        LinearLR(sgd(), start_factor=2.0)
    with pytest.raises(ValueError, match="one fewer than schedulers"):
        SequentialLR(sgd(), [], [])
    with pytest.raises(ValueError, match="give total_steps, or both"):
        OneCycleLR(sgd(), 1.0, epochs=3)
    with pytest.raises(NotImplementedError, match="get_lr"):
        LRScheduler(sgd())
    schedule = StepLR(sgd(), 1)
    with pytest.warns(UserWarning, match=r"before optimizer.step\(\)"):
        schedule.step()


@pytest.mark.parametrize("make", [dt.optim.SGD, dt.optim.AdamW])
def test_a_refused_step_steps_nothing(make: Any) -> None:
    """One parameter that does not fit its gradient leaves all others as they were."""
    good, bad = (dt.ones(2, requires_grad=True) for _ in range(2))
    optimizer = make([good, bad], lr=0.5)
    good.grad, bad.grad = dt.ones(2), dt.ones(2)
    optimizer.step()
    before = good.tolist()
    bad.data = dt.ones(3)
    with pytest.raises(RuntimeError, match=r"\[1\] is of shape"):
        optimizer.step()
    assert good.tolist() == before
    good_state = optimizer.state[good]
    assert good_state.get("step", 1.0) == 1.0
