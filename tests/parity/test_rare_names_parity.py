"""Names that few programs use, beside torch's own."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail

torch = pytest.importorskip("torch")
FRAMES = (dovetail, torch)


def test_an_optimizer_works_on_other_parameters_for_a_while() -> None:
    """They and their state's tensors change; the optimizer's own do not."""
    found = []
    for frame in FRAMES:
        p = frame.tensor([1.0, 2.0], requires_grad=True)
        q = frame.tensor([5.0, 7.0], requires_grad=True)
        made: Any = frame.optim.Adam([p], lr=0.1)
        p.grad = frame.tensor([1.0, -1.0])
        made.step()
        q.grad = frame.tensor([1.0, 3.0])
        state = made.state_dict()
        state["state"] = {0: {k: v.clone() for k, v in state["state"][0].items()}}
        swap = frame.optim.swap_in_optimizer_params_and_state
        with swap(made, {"q": q}, state):
            made.step()
        assert made.param_groups[0]["params"][0] is p
        p.grad = frame.tensor([1.0, 1.0])
        made.step()
        means = state["state"][0]["exp_avg"]
        found.append([x.detach().tolist() for x in (p, q, means)])
    for ours, theirs in zip(*found, strict=True):
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_a_state_that_does_not_fit_is_refused() -> None:
    """And the optimizer keeps what it has."""
    for frame in FRAMES:
        p = frame.tensor([1.0], requires_grad=True)
        made: Any = frame.optim.Adam([p], lr=0.1)
        swap = frame.optim.swap_in_optimizer_params_and_state
        with pytest.raises((RuntimeError, ValueError)), swap(made, {"p": p}, {}):
            pass
        assert made.param_groups[0]["params"][0] is p


def test_arguments_of_factories() -> None:
    """By themselves, or apart; none twice, and no others."""
    for frame in FRAMES:
        handed = frame.nn.factory_kwargs
        assert handed(None) == {}
        apart = {"dtype": frame.float64}
        assert handed({"device": "cpu", "factory_kwargs": apart}) == {
            "device": "cpu", "dtype": frame.float64,
        }  # fmt: skip
        for wrong in ({"size": 3}, {"dtype": 1, "factory_kwargs": {"dtype": 2}}):
            with pytest.raises(TypeError):
                handed(wrong)


@pytest.mark.filterwarnings("ignore:.*Container:FutureWarning")
def test_containers_and_variables() -> None:
    """Children by names; a tensor is a Variable."""
    for frame in FRAMES:
        held = frame.nn.Container(a=frame.nn.Linear(1, 1))
        assert [name for name, _ in held.named_children()] == ["a"]
        assert isinstance(frame.ones(1), frame.autograd.variable.Variable)


@pytest.mark.parametrize(
    ("pattern", "sizes"),
    [
        ("a b c -> c (a b)", {}),
        ("a (b x) c -> x a b c", {"x": 2}),
        ("a ... -> ... a", {}),
    ],
)
def test_rearranged_as_in_torch(pattern: str, sizes: dict[str, int]) -> None:
    """Also within vmap."""
    pytest.importorskip("einops")
    found = []
    for frame in FRAMES:
        x = frame.arange(48).reshape(2, 2, 4, 3)

        def one(x: Any, frame: Any = frame) -> Any:
            return frame.func.rearrange(x, pattern, **sizes)

        found.append([one(x[0]).tolist(), frame.vmap(one)(x).tolist()])
    assert found[0] == found[1]


def test_what_a_tensor_of_a_transform_stands_for() -> None:
    """One level, or all; a plain tensor stands for itself."""
    for frame in FRAMES:
        shapes = []

        def inner(x: Any, frame: Any = frame, shapes: Any = shapes) -> Any:
            unwrap = frame.func.debug_unwrap
            shapes += [tuple(unwrap(x).shape), tuple(unwrap(x, recurse=False).shape)]
            return x

        x = frame.ones(2, 3, 4)
        frame.vmap(frame.vmap(inner))(x)
        assert shapes == [(2, 3, 4), (3, 4)]
        assert frame.func.debug_unwrap(x) is x
