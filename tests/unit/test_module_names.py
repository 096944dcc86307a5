"""What programs ask of modules by names that are rarer, or older."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from dovetail.nn.modules.module import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)

import dovetail as dt
from dovetail import nn
from dovetail.nn.utils import parametrizations, weight_norm


def test_submodules_are_put_by_their_paths() -> None:
    """In another's place, or as a new one; what is no module stays."""
    net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU(), nn.Linear(2, 1)))
    net.set_submodule("1.0", nn.Tanh())
    net.set_submodule("1.extra", nn.Linear(1, 1))
    assert [type(m).__name__ for m in net[1]] == ["Tanh", "Linear", "Linear"]
    assert net.get_submodule("1.extra").in_features == 1
    before = repr(net)
    for target, module, strict, error in (
        ("", nn.ReLU(), False, ValueError), ("0", 3, False, ValueError),
        ("2", nn.ReLU(), True, AttributeError),
        ("a.b", nn.ReLU(), False, AttributeError),
        ("training", nn.ReLU(), False, AttributeError),
        ("0.weight", nn.ReLU(), False, AttributeError),
    ):  # fmt: skip
        with pytest.raises(error, match="submodule"):
            net.set_submodule(target, module, strict)  # type: ignore[arg-type]
    assert repr(net) == before


# ---- hooks


def _told(told: list[str], name: str) -> Any:
    return lambda module, *rest: told.append(f"{name} {type(module).__name__}")


def test_hooks_of_all_modules_come_first() -> None:
    """Before and after each call, and going backwards; removed, they are gone."""
    told: list[str] = []
    layer = nn.Linear(2, 2)
    layer.register_forward_pre_hook(_told(told, "own before"))
    layer.register_forward_hook(_told(told, "own after"))
    layer.register_full_backward_hook(_told(told, "own backward"))
    handles = [
        register_module_forward_pre_hook(_told(told, "before")),
        register_module_forward_hook(_told(told, "after")),
        register_module_full_backward_pre_hook(_told(told, "back")),
        register_module_full_backward_hook(_told(told, "backward")),
    ]
    net = nn.Sequential(layer)
    net(dt.ones(1, 2, requires_grad=True)).sum().backward()
    for handle in handles:
        handle.remove()
    net(dt.ones(1, 2))
    assert told == [
        "before Sequential", "before Linear", "own before Linear", "after Linear",
        "own after Linear", "after Sequential", "back Sequential", "back Linear",
        "backward Linear", "own backward Linear", "backward Sequential",
        "own before Linear", "own after Linear",
    ]  # fmt: skip


def test_hooks_of_all_modules_change_what_they_see() -> None:
    """Arguments, by name too, and outputs; also after an error if they ask for it."""
    seen: list[Any] = []
    with (
        register_module_forward_pre_hook(lambda m, args: (args[0] + 1,)),
        register_module_forward_hook(
            lambda m, args, kwargs, out: out * 2, with_kwargs=True
        ),
    ):
        assert nn.Identity()(dt.ones(1)).item() == 4.0
    with (
        register_module_forward_hook(
            lambda m, args, out: seen.append(out), always_call=True
        ),
        pytest.raises(RuntimeError),
    ):
        nn.Linear(2, 2)(dt.ones(3))
    assert seen == [None]


def test_older_backward_hooks_see_the_last_op() -> None:
    """Its gradients, which they may change; full ones are not mixed with them."""
    seen: list[Any] = []

    def hook(module: Any, grad_input: Any, grad_output: Any) -> Any:
        seen.append((module, grad_output[0].tolist()))
        return tuple(None if g is None else g * 10 for g in grad_input)

    module = nn.Tanh()
    module.register_backward_hook(hook)
    x = dt.zeros(2, requires_grad=True)
    y = x * 1
    module(y).sum().backward()
    assert seen == [(module, [1.0, 1.0])]
    assert x.grad is not None
    assert x.grad.tolist() == [10.0, 10.0]
    with pytest.raises(RuntimeError, match="single Module"):
        module.register_full_backward_hook(hook)
    full = nn.Tanh()
    full.register_full_backward_hook(hook)
    with pytest.raises(RuntimeError, match="single Module"):
        full.register_backward_hook(hook)


def test_older_backward_hooks_tell_what_they_miss() -> None:
    """Where a module is more than one op, or gives more than tensors."""

    class Two(nn.Module):
        def forward(self, x: dt.Tensor, wrap: bool = False) -> Any:
            y = x.tanh().exp()
            return {"y": y} if wrap else y

    net, x = Two(), dt.zeros(2, requires_grad=True)
    net.register_backward_hook(lambda *_: None)
    with pytest.warns(FutureWarning, match="multiple autograd Nodes"):
        net(x)
    with pytest.warns(FutureWarning, match="single Tensor"):
        net(x, True)
    with register_module_backward_hook(lambda *_: None):
        with pytest.raises(RuntimeError, match="global Module hook"):
            register_module_full_backward_hook(lambda *_: None)
        nn.Tanh()(x * 1)


def test_hooks_see_what_modules_come_to_hold() -> None:
    """By each way of giving it to them, and may put something else there."""
    told: list[str] = []

    def tell(module: Any, name: str, value: Any) -> None:
        told.append(f"{type(module).__name__}.{name}")

    with (
        register_module_parameter_registration_hook(tell),
        register_module_buffer_registration_hook(tell),
        register_module_module_registration_hook(tell),
    ):
        net = nn.Sequential(nn.Linear(2, 2, bias=False))
        net.extra = nn.BatchNorm1d(1, affine=False)
    net.later = nn.ReLU()
    assert told == [
        "Linear.weight", "Sequential.0",
        *(f"BatchNorm1d.{n}" for n in
          ("running_mean", "running_var", "num_batches_tracked")),
        "Sequential.extra",
    ]  # fmt: skip
    with register_module_parameter_registration_hook(
        lambda module, name, param: nn.Parameter(param.detach(), False)
    ):
        assert not nn.Linear(1, 1).weight.requires_grad


# ---- states


def test_older_weight_norms_are_loaded() -> None:
    """What `nn.utils.weight_norm` kept fits a parametrisation, below a name too."""
    older = nn.Sequential(weight_norm(nn.Linear(3, 2)))
    now = nn.Sequential(parametrizations.weight_norm(nn.Linear(3, 2)))
    state = older.state_dict()
    assert now.load_state_dict(state) == ([], [])
    assert sorted(state) == ["0.bias", "0.weight_g", "0.weight_v"]  # the caller's
    x = dt.randn(4, 3)
    dt.testing.assert_close(now(x), older(x))
    again = copy.deepcopy(now)
    again.load_state_dict(state)
    dt.testing.assert_close(again(x), older(x))


@pytest.mark.parametrize("made", [nn.LazyLinear, lambda n: nn.LazyBatchNorm1d()])
def test_lazy_states_go_to_lazy_modules(made: Any) -> None:
    """Which stay lazy; a module that has shapes refuses them."""
    source, target, called = made(3), made(3), made(3)
    assert target.load_state_dict(source.state_dict()) == ([], [])
    assert target.has_uninitialized_params()
    x = dt.randn(4, 2)
    assert target(x).shape[0] == 4
    called(x)
    with pytest.raises(RuntimeError, match="has no shape in the checkpoint"):
        called.load_state_dict(source.state_dict())


# ---- orthogonal weights


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("how", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_weights_are_orthogonal(shape: Any, how: str, trivial: bool) -> None:
    """By each map, before and after steps; what is assigned is what is there."""

    class Holder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(dt.randn(shape, dtype=dt.float64))

    net: Any = Holder()
    parametrizations.orthogonal(net, orthogonal_map=how, use_trivialization=trivial)
    for _ in range(2):
        w = net.weight
        a = w.mT if w.shape[-2] < w.shape[-1] else w
        k = a.shape[-1]
        eye = dt.eye(k, dtype=dt.float64).expand(*a.shape[:-2], k, k)
        dt.testing.assert_close(a.mT @ a, eye, rtol=0, atol=1e-10)
        (w * dt.randn(shape, dtype=dt.float64)).sum().backward()
        with dt.no_grad():
            for p in net.parameters():
                p.sub_(0.3 * p.grad)
                p.grad = None
    if not trivial and how != "householder":
        with pytest.raises(NotImplementedError, match="use_trivialization"):
            net.weight = w.detach()
        return
    tall = dt.randn(shape, dtype=dt.float64)
    q = dt.linalg.qr(tall.mT if shape[-2] < shape[-1] else tall)[0]
    wanted = q.mT if shape[-2] < shape[-1] else q
    net.weight = wanted
    dt.testing.assert_close(net.weight, wanted, rtol=0, atol=1e-10)
    with pytest.raises(RuntimeError, match="shape"):
        net.weight = dt.ones(2, 2, dtype=dt.float64)


def test_maps_of_complex_weights() -> None:
    """They are unitary; reflections are for real ones, by default for tall ones."""
    net: Any = nn.Linear(3, 5, dtype=dt.complex128)
    parametrizations.orthogonal(net)
    w = net.weight
    eye = dt.eye(3, dtype=dt.complex128)
    dt.testing.assert_close(w.mH @ w, eye, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="real"):
        parametrizations.orthogonal(
            nn.Linear(3, 5, dtype=dt.complex64), orthogonal_map="householder"
        )
    with pytest.raises(ValueError, match="householder"):
        parametrizations.orthogonal(nn.Linear(3, 5), orthogonal_map="other")
    tall: Any = parametrizations.orthogonal(nn.Linear(3, 5))
    assert tall.parametrizations.weight[0].orthogonal_map == "householder"


# ---- attention


def test_masks_beside_causality_hide_what_either_hides() -> None:
    """Of 4-dimensional operands without dropout, as PyTorch's kernels for the CPU."""
    F = nn.functional
    q, k, v = dt.randn(3, 1, 2, 5, 4).unbind()
    for mask in (dt.randn(5, 5), dt.rand(5, 5) > 0.3):
        mask[..., 0] = True  # each query sees a key
        lower = dt.ones(5, 5, dtype=dt.bool).tril()
        if mask.dtype is dt.bool:
            whole = mask & lower
        else:
            whole = mask.masked_fill(~lower, -dt.inf)
        found = F.scaled_dot_product_attention(q, k, v, mask, is_causal=True)
        want = F.scaled_dot_product_attention(q, k, v, whole)
        dt.testing.assert_close(found, want)
    zeros = dt.zeros(5, 5)
    for args, options in (
        ((q[0], k[0], v[0], zeros), {}), ((q, k, v, zeros), {"dropout_p": 0.5}),
        ((q, k, v, dt.zeros(5, 5, requires_grad=True)), {}),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="Explicit attn_mask"):
            F.scaled_dot_product_attention(*args, is_causal=True, **options)
