"""Weights that are computed, fused layers and starting values, beside torch's."""

from __future__ import annotations

import copy
import functools
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail import nn

RTOL, ATOL = 1e-4, 1e-5
FRAMES: tuple[Any, ...] = ((dovetail, nn), (torch, torch.nn))


def floats(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def close(ours: Any, theirs: Any) -> None:
    np.testing.assert_allclose(
        ours.detach().numpy(), theirs.detach().numpy(), RTOL, ATOL
    )


def loaded(ours: Any, theirs: Any) -> None:
    """torch's values in ours, whose names are the same."""
    state = theirs.state_dict()
    assert list(ours.state_dict()) == list(state)
    ours.load_state_dict({k: dovetail.from_numpy(v.numpy()) for k, v in state.items()})


HOW = ["weight_norm", "spectral_norm", "p_weight_norm", "p_spectral_norm"]
HOW.append("p_orthogonal")


def norms_of(modules: Any, how: str) -> Any:
    if how == "p_orthogonal":
        made = modules.utils.parametrizations.orthogonal
        return functools.partial(made, orthogonal_map="matrix_exp")
    if how in ("weight_norm", "spectral_norm"):
        return getattr(modules.utils, how)
    return getattr(modules.utils.parametrizations, how.removeprefix("p_"))


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize(
    "how",
    [
        "weight_norm",
        "spectral_norm",
        "p_weight_norm",
        "p_spectral_norm",
        "p_orthogonal",
    ],
)
@pytest.mark.parametrize("layer", ["linear", "conv", "transposed"])
def test_normalised_weights_are_torchs(how: str, layer: str) -> None:
    """State, weights, results and gradients, in training and in eval mode."""
    if how == "p_orthogonal" and layer != "linear":
        return
    made = []
    for _, modules in FRAMES:
        base = {
            "linear": lambda m: m.Linear(4, 3),
            "conv": lambda m: m.Conv1d(4, 3, 2),
            "transposed": lambda m: m.ConvTranspose1d(4, 3, 2),
        }[layer](modules)
        made.append(norms_of(modules, how)(base))
    ours, theirs = made
    loaded(ours, theirs)
    if how == "p_orthogonal":
        base_of = theirs.parametrizations.weight[0].base
        ours.parametrizations.weight[0].base.copy_(
            dovetail.from_numpy(base_of.numpy().copy())
        )
    if how == "p_spectral_norm":  # so that one iteration changes what is followed
        for (frame, _), module in zip(FRAMES, made, strict=True):
            own = module.parametrizations.weight.original
            with frame.no_grad():
                own.copy_(frame.from_numpy(floats(*own.shape, seed=7)))
    for training in (True, False):
        results = []
        for (frame, _), module in zip(FRAMES, made, strict=True):
            module.train(training)
            module.zero_grad()
            x = frame.from_numpy(floats(2, 4) if layer == "linear" else floats(2, 4, 5))
            y = module(x)
            y.sin().sum().backward()
            results.append([y, module.weight, *[p.grad for p in module.parameters()]])
        for mine, other in zip(*results, strict=True):
            close(mine, other)
    if not how.startswith("p_"):
        return  # as torch, copies refuse a weight that is recorded
    again = copy.deepcopy(ours)
    close(again(dovetail.from_numpy(floats(2, 4) if layer == "linear" else
                                    floats(2, 4, 5))), results[1][0])  # fmt: skip


def test_parametrisations_come_and_go() -> None:
    """Classes, names, assignment, caches and removal are torch's."""
    seen: list[Any] = []
    for frame, modules in FRAMES:
        tools = modules.utils.parametrize

        class Doubled(modules.Module):  # type: ignore[misc,name-defined]
            def forward(self, x: Any) -> Any:
                return 2 * x

            def right_inverse(self, y: Any) -> Any:
                return y / 2

        layer = modules.Linear(2, 2, bias=False)
        with frame.no_grad():
            layer.weight.copy_(frame.tensor([[1.0, 2.0], [3.0, 4.0]]))
        kept = layer.weight
        tools.register_parametrization(layer, "weight", Doubled())
        tools.register_parametrization(layer, "weight", Doubled())
        facts: list[Any] = [type(layer).__name__, list(layer.state_dict()), repr(layer)]
        facts += [layer.weight.tolist(), layer.parametrizations.weight.original is kept]
        facts += [tools.is_parametrized(layer, "weight"), kept.tolist()]
        facts += [tools.type_before_parametrizations(layer) is modules.Linear]
        with tools.cached():
            facts.append(layer.weight is layer.weight)
        facts.append(layer.weight is layer.weight)
        layer.weight = frame.full((2, 2), 8.0)
        facts += [kept.tolist(), layer.weight.tolist()]
        other = modules.Linear(2, 2, bias=False)
        tools.transfer_parametrizations_and_params(layer, other, "weight")
        facts += [list(other.state_dict()), other.weight.tolist()]
        tools.remove_parametrizations(layer, "weight", leave_parametrized=False)
        facts += [type(layer) is modules.Linear, layer.weight.tolist()]
        facts += [layer.weight is kept, tools.is_parametrized(layer)]
        seen.append(facts)
    assert seen[0] == seen[1]


def test_a_parametrisation_of_another_shape_is_refused() -> None:
    """What changes a shape is refused, and the module stays what it was."""

    class Cut(nn.Module):
        def forward(self, x: Any) -> Any:
            return x[:1]

    layer = nn.Linear(2, 3)
    with pytest.raises(ValueError, match=r"was giving \(1, 2\)|giving \(1, 2\)"):
        nn.utils.parametrize.register_parametrization(layer, "weight", Cut())
    assert type(layer) is nn.Linear
    assert list(layer.state_dict()) == ["weight", "bias"]


@pytest.mark.parametrize("kind", ["conv", "transposed", "linear"])
def test_fused_layers_do_what_both_did(kind: str) -> None:
    """A layer with its batch norm folded in gives the same results."""
    made: Any = {
        "conv": (nn.Conv2d(3, 4, 2, bias=False), nn.BatchNorm2d(4), (2, 3, 5, 5)),
        "transposed": (nn.ConvTranspose2d(3, 4, 2), nn.BatchNorm2d(4), (2, 3, 5, 5)),
        "linear": (nn.Linear(3, 4), nn.BatchNorm1d(4), (2, 3)),
    }
    layer, norm, shape = made[kind]
    for i, tensor in enumerate((norm.weight, norm.bias, norm.running_mean)):
        with dovetail.no_grad():
            tensor.copy_(dovetail.from_numpy(floats(4, seed=i)))
    layer.eval(), norm.eval()
    x = dovetail.from_numpy(floats(*shape))
    if kind == "linear":
        fused = nn.utils.fuse_linear_bn_eval(layer, norm)
    else:
        fused = nn.utils.fuse_conv_bn_eval(layer, norm, kind == "transposed")
    np.testing.assert_allclose(
        fused(x).detach().numpy(), norm(layer(x)).detach().numpy(), RTOL, ATOL
    )


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 3)])
def test_orthogonal_start(shape: tuple[int, ...]) -> None:
    """Rows or columns, whichever are fewer, are orthonormal times the gain."""
    w = nn.init.orthogonal_(dovetail.empty(*shape), gain=2.0).flatten(1).numpy()
    w = w if w.shape[0] <= w.shape[1] else w.T
    np.testing.assert_allclose(w @ w.T, 4 * np.eye(len(w)), 1e-4, 1e-4)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("shape", [(4, 2, 3), (2, 3, 3, 2), (4, 4, 1, 2, 3)])
def test_dirac_start_is_torchs(shape: tuple[int, ...], groups: int) -> None:
    """Channels that a convolution returns unchanged."""
    ours = nn.init.dirac_(dovetail.empty(*shape), groups)
    theirs = torch.nn.init.dirac_(torch.empty(*shape), groups)
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())


def test_sparse_start() -> None:
    """Every column has the asked share of zeros."""
    w = nn.init.sparse_(dovetail.empty(10, 4), 0.25).numpy()
    assert (w == 0).sum(0).tolist() == [3] * 4


def test_old_names_warn() -> None:
    """A name without its underscore does the same, and warns."""
    with pytest.warns(FutureWarning, match="favor of nn.init.constant_"):
        y = nn.init.constant(dovetail.empty(2), 3.0)
    assert y.tolist() == [3.0, 3.0]


def test_one_process_synchronises_with_itself() -> None:
    """Converted batch norms have the same parameters, state and results."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.BatchNorm1d(4)))
    x = dovetail.from_numpy(floats(5, 3))
    weight = net[1][0].weight
    made = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(net))
    assert type(made[1][0]) is nn.SyncBatchNorm
    assert list(made.state_dict()) == list(net.state_dict())
    close(nn.DataParallel(made)(x), net(x))
    same = nn.SyncBatchNorm.convert_sync_batchnorm(net)
    assert same[1][0].weight is weight
