"""Functions of optimizers: one step of lists, as the optimizers step."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

import pytest

import dovetail as dt
from dovetail import optim
from dovetail.optim.optimizer import (
    Optimizer,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

BETAS = {"beta1": 0.8, "beta2": 0.95}
# The optimizer, its options, and of the function: those that are spelled in another
# way, and the lists of tensors and of numbers in its state.
CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "adadelta": ({"rho": 0.8}, {}, "square_avgs acc_deltas", "step"),
    "adagrad": ({"lr_decay": 0.1}, {}, "state_sums", "step"),
    "adam": ({"betas": (0.8, 0.95), "amsgrad": True}, BETAS,
             "exp_avgs exp_avg_sqs max_exp_avg_sqs", "step"),
    "adamw": ({"betas": (0.8, 0.95), "amsgrad": False}, BETAS,
              "exp_avgs exp_avg_sqs max_exp_avg_sqs", "step"),
    "adamax": ({"betas": (0.8, 0.95)}, BETAS, "exp_avgs exp_infs", "step"),
    "asgd": ({"lambd": 0.01, "alpha": 0.7, "t0": 2.0}, {}, "axs", "mu eta step"),
    "nadam": ({"betas": (0.8, 0.95), "momentum_decay": 0.01}, BETAS,
              "exp_avgs exp_avg_sqs", "mu_product step"),
    "radam": ({"betas": (0.8, 0.95)}, BETAS, "exp_avgs exp_avg_sqs", "step"),
    "rmsprop": ({"alpha": 0.9, "momentum": 0.5, "centered": True}, {},
                "square_avgs grad_avgs momentum_buffer_list", "step"),
    "rprop": ({"etas": (0.4, 1.3), "step_sizes": (1e-5, 2.0)},
              {"etaminus": 0.4, "etaplus": 1.3, "step_size_min": 1e-5,
               "step_size_max": 2.0}, "prevs step_sizes", "step"),
    "sgd": ({"momentum": 0.9, "dampening": 0.1, "nesterov": False}, {},
            "momentum_buffer_list", ""),
}  # fmt: skip
STATE = {
    "state_sums": "sum", "axs": "ax", "prevs": "prev",
    "momentum_buffer_list": "momentum_buffer",
}  # fmt: skip
COMMON = {"lr": 0.05, "weight_decay": 0.1, "maximize": True, "eps": 1e-6}
COUNTS = {"mu": "mus", "eta": "etas", "mu_product": "mu_products",
          "step": "state_steps"}  # fmt: skip


def _function(name: str) -> Any:
    return getattr(import_module(f"dovetail.optim.{name}"), name)


def _optimizer(name: str) -> Any:
    named = {c.lower(): c for c in optim.__all__}
    return getattr(optim, named[name])


def _options(name: str) -> dict[str, Any]:
    """Options of an optimizer: those of the case, and of the common ones its own."""
    own = _optimizer(name)([dt.ones(1, requires_grad=True)]).defaults
    return {n: v for n, v in COMMON.items() if n in own} | CASES[name][0]


def _params(dtype: Any = None) -> list[Any]:
    made = dt.Generator().manual_seed(3)
    return [dt.randn(s, generator=made, dtype=dtype) for s in ((2, 3), (4,), ())]


def _grads(step: int, dtype: Any = None) -> list[Any]:
    made = dt.Generator().manual_seed(step)
    return [dt.randn(s, generator=made, dtype=dtype) for s in ((2, 3), (4,), ())]


def _lists(name: str, params: list[Any]) -> dict[str, list[Any]]:
    """The state before the first step, as a caller makes it."""
    _, _, kept, counts = CASES[name]
    fill = {"step_sizes": _options(name).get("lr", 0.0)}
    made: dict[str, list[Any]] = {
        n: [dt.full_like(p, fill.get(n, 0.0)) for p in params] for n in kept.split()
    }
    if name == "sgd":
        made["momentum_buffer_list"] = [None for _ in params]
    if name == "adamw":
        made["max_exp_avg_sqs"] = []
    first = {"mu": 1.0, "mu_product": 1.0, "eta": COMMON["lr"]}
    for n in counts.split():
        value = float(first.get(n, 0.0))
        # Of double precision, as the optimizers' own are.
        made[COUNTS[n]] = [dt.tensor(value, dtype=dt.float64) for _ in params]
    return made


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("name", CASES)
def test_functions_are_the_optimizers_steps(name: str, dtype: str) -> None:
    """Five steps of either are the same bits: parameters, tensors and numbers kept."""
    if dtype == "complex64" and name == "rprop":
        pytest.skip("there is no sign of a complex number")
    kind = getattr(dt, dtype)
    params, expected = _params(kind), _params(kind)
    for p in expected:
        p.requires_grad_()
    options = _options(name)
    stepped = _optimizer(name)(expected, **options)
    lists = _lists(name, params)
    spelled = {n: v for n, v in options.items() if not isinstance(v, tuple)}
    if name == "rprop":
        del spelled["lr"]
    if name == "sgd":
        spelled.pop("eps", None)
    for step in range(5):
        grads = _grads(step, kind)
        for p, g in zip(expected, grads, strict=True):
            p.grad = g.clone()
        stepped.step()
        given = {"d_p_list" if name == "sgd" else "grads": grads}
        _function(name)(params, **given, **lists, **spelled, **CASES[name][1])
        for p, q in zip(params, expected, strict=True):
            assert dt.equal(p, q.detach()), (name, step)
    for i, q in enumerate(expected):
        state = stepped.state[q]
        for n, tensors in lists.items():
            own = {v: k for k, v in COUNTS.items()}.get(n)
            own = own or STATE.get(n) or n.removesuffix("s")
            if tensors and own in state:
                found = tensors[i]
                if isinstance(state[own], float):
                    assert found.item() == pytest.approx(state[own], rel=1e-6)
                else:
                    assert dt.equal(found, state[own]), (name, n)


def test_steps_may_be_recorded() -> None:
    """With `differentiable`, gradients reach what the step was made of."""
    x = dt.tensor([1.0, 2.0], requires_grad=True)
    w, g = x * 1.0, x.square()
    lists = {n: [dt.zeros(2)] for n in ("exp_avgs", "exp_avg_sqs")}
    _function("adam")(
        [w], [g], **lists, max_exp_avg_sqs=[], state_steps=[dt.tensor(0.0)],
        differentiable=True, amsgrad=False, lr=0.5, weight_decay=0.0, eps=0.5,
        maximize=False, **BETAS,
    )  # fmt: skip
    w.sum().backward()
    values = dt.tensor([1.0, 2.0])  # the first step: w - lr * g / (|g| + eps)
    slope = 1 - 0.5 * 0.5 * 2 * values / (values.square() + 0.5).square()
    dt.testing.assert_close(x.grad, slope)


def test_arguments_that_do_not_fit_are_refused() -> None:
    """Before anything is written."""
    adam, w = _function("adam"), dt.ones(2)
    lists: dict[str, Any] = {
        "exp_avgs": [dt.zeros(2)], "exp_avg_sqs": [dt.zeros(2)], "max_exp_avg_sqs": []
    }  # fmt: skip
    how = {"lr": 0.1, "weight_decay": 0.0, "eps": 1.0, "maximize": False, **BETAS}
    one = [dt.tensor(0.0)]
    for changed, error, word in (
        ({"state_steps": [0.0]}, RuntimeError, "singleton tensors"),
        ({"state_steps": []}, ValueError, "step"),
        ({"amsgrad": True}, ValueError, "max_exp_avg_sq"),
        ({"grad_scale": dt.ones(1)}, NotImplementedError, "grad_scale"),
        ({"grads": [dt.ones(3)]}, RuntimeError, "shape"),
    ):
        given = {"grads": [dt.ones(2)], "state_steps": one, "amsgrad": False, **changed}
        with pytest.raises(error, match=word):
            adam([w], **given, **lists, **how)
    assert w.tolist() == [1.0, 1.0]
    assert one[0].item() == 0.0


def test_hooks_of_all_optimizers() -> None:
    """They stand around each one's own, see every optimizer, and may be removed."""
    told: list[str] = []
    w = dt.ones(1, requires_grad=True)
    w.grad = dt.ones(1)
    made = [optim.SGD([w], 0.1), optim.Adam([w], 0.1)]
    made[0].register_step_pre_hook(lambda *_: told.append("own before"))
    made[0].register_step_post_hook(lambda *_: told.append("own after"))
    handles = [
        register_optimizer_step_pre_hook(
            lambda o, args, kwargs: told.append(f"before {type(o).__name__}")
        ),
        register_optimizer_step_post_hook(
            lambda o, args, kwargs: told.append(f"after {type(o).__name__}")
        ),
    ]
    for optimizer in made:
        optimizer.step()
    for handle in handles:
        handle.remove()
    made[1].step()
    assert told == [
        "before SGD", "own before", "own after", "after SGD", "before Adam",
        "after Adam",
    ]  # fmt: skip


class Foreign(Optimizer):
    """An optimizer as others write them, of torch's private names."""

    def __init__(self, params: Any, lr: float, differentiable: bool = False) -> None:
        super().__init__(params, {"lr": lr, "differentiable": differentiable})

    def step(self, closure: Any = None) -> None:
        """Down the gradient."""
        self._cuda_graph_capture_health_check()
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            lists = [params, [p.grad for p in params]]
            grouped = self._group_tensors_by_device_and_dtype(lists)
            for (ps, gs), _ in grouped.values():
                for p, g in zip(ps, gs, strict=True):
                    p.sub_(g * group["lr"])


def test_optimizers_of_others_find_their_names() -> None:
    """What they import beside `Optimizer` does what it says."""
    from dovetail.torch_names import optimizers as names

    own = import_module("dovetail.optim.optimizer")
    for name in ("ParamsT", "_get_value", "_default_to_fused_or_foreach"):
        assert getattr(own, name) is getattr(names, name)
    kept = Foreign.step
    Foreign.step = names._use_grad_for_differentiable(kept)  # type: ignore[method-assign]
    try:
        w = dt.ones(2, requires_grad=True)
        w.grad = dt.ones(2)
        Foreign([w], 0.5).step()
        assert w.tolist() == [0.5, 0.5]
        v = w * 1.0
        v.retain_grad()
        v.sum().backward(retain_graph=True)
        Foreign([v], 0.25, differentiable=True).step()
        assert v.requires_grad
    finally:
        Foreign.step = kept  # type: ignore[method-assign]
    z = [dt.tensor([1 + 2j])]
    names._view_as_real(z)
    assert z[0].tolist() == [[1.0, 2.0]]
    assert names._get_value(dt.tensor(2.0)) == names._get_value(2.0) == 2.0
    assert names._to_scalar(dt.ones(1)).shape == ()
    assert names._dispatch_sqrt(4.0) == 2.0
    assert names._get_scalar_dtype() is dt.float32


def test_constant_factors_only_lessen() -> None:
    """A factor outside of 0 … 1 is refused, as that of LinearLR is."""
    optimizer = optim.SGD([dt.ones(1, requires_grad=True)], 0.1)
    before = copy.deepcopy(optimizer.param_groups)
    for factor in (2.0, -0.5):
        with pytest.raises(ValueError, match="factor"):
            optim.lr_scheduler.ConstantLR(optimizer, factor=factor)
    assert optimizer.param_groups == before
