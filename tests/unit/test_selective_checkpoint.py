"""Selective checkpoints: what is kept is not computed again; gradients are the same."""

from __future__ import annotations

import functools
import gc
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

import dovetail as dt
import dovetail.nn.functional as F
from dovetail.engine import scopes
from dovetail.utils.checkpoint import (
    CheckpointError,
    CheckpointPolicy,
    GraphExecGroup,
    checkpoint,
    create_selective_checkpoint_contexts,
    get_device_states,
    set_checkpoint_debug_enabled,
    set_checkpoint_early_stop,
    set_device_states,
)

SAVE, AGAIN = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_RECOMPUTE


@contextmanager
def _counted() -> Iterator[Counter[str]]:
    """How often each op is computed."""
    counts: Counter[str] = Counter()

    def count(op: Any, inputs: Any, attrs: Any, proceed: Any) -> Any:
        counts[op.name] += 1
        return proceed(inputs, attrs)

    with scopes.interpose(count):
        yield counts


def _by(policy: Any, **options: Any) -> Callable[[], Any]:
    return functools.partial(create_selective_checkpoint_contexts, policy, **options)


def _inputs(dtype: Any = dt.float64) -> tuple[Any, Any]:
    dt.manual_seed(0)
    x, w = dt.randn(3, 4, dtype=dtype), dt.randn(4, 4, dtype=dtype)
    return x.requires_grad_(), w.requires_grad_()


def _gradients(run: Callable[[Any, Any], Any]) -> tuple[list[Any], Counter[str]]:
    x, w = _inputs()
    dt.manual_seed(1)
    with _counted() as counts:
        run(x, w).square().sum().backward()
    return [x.grad.tolist(), w.grad.tolist()], counts


def _f(x: Any, w: Any) -> Any:
    return ((x @ w).tanh() @ w).exp().sin()


def _again(f: Any, policy: Any, **options: Any) -> Counter[str]:
    """What a policy lets run again, after gradients were found to be those without."""
    plain, once = _gradients(f)
    found, counts = _gradients(
        lambda x, w: checkpoint(
            f, x, w, use_reentrant=False, context_fn=_by(policy), **options
        )
    )
    assert found == plain
    counts.subtract(once)
    return counts


@pytest.mark.parametrize(
    "policy",
    [
        [dt.matmul],
        [dt.Tensor.matmul],
        lambda ctx, op, *args, **kwargs: SAVE if op is dt.matmul else AGAIN,
        lambda ctx, op, *args, **kwargs: op is dt.matmul,
    ],
)
def test_what_is_saved_runs_once(policy: Any) -> None:
    """By a list, by a policy, and by a bool; all else runs twice."""
    again = _again(_f, policy)
    assert [again[n] for n in ("matmul", "tanh", "exp")] == [0, 1, 1]


def test_nothing_saved_is_a_plain_checkpoint() -> None:
    """Ops that no policy saves run in both runs."""
    assert _again(_f, lambda *_, **__: AGAIN)["matmul"] == 2


def test_everything_saved_runs_once() -> None:
    """Then the second run computes nothing, and backward the same."""
    again = _again(_f, lambda *_, **__: CheckpointPolicy.PREFER_SAVE)
    assert not any(again.values())


def test_offloaded_results_come_back() -> None:
    """Policies for the CPU keep results, too."""
    policy = CheckpointPolicy.MUST_CPU_OFFLOAD
    assert _again(_f, lambda *_, **__: policy)["matmul"] == 0


def test_policies_see_results_and_arguments() -> None:
    """Each op of the first run once, never in the second."""
    seen: list[Any] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        seen.append((op, len(args), kwargs, ctx.is_recompute, ctx.op_output.shape))
        return AGAIN

    x, _ = _inputs()
    y = checkpoint(
        lambda x: F.gelu(x.sum(0), approximate="tanh"), x, use_reentrant=False,
        context_fn=_by(policy),
    )  # fmt: skip
    y.sum().backward()
    assert [(op.__name__, *rest) for op, *rest in seen] == [
        ("sum", 1, {"dim": 0, "keepdim": False, "dtype": None}, False, (4,)),
        ("gelu", 1, {"approximate": "tanh"}, False, (4,)),
    ]
    assert seen[1][0] is F.gelu


def test_ops_with_the_gradient_of_their_body_are_seen_through() -> None:
    """The policy is asked for the ops that are on the tape."""

    def f(x: Any, w: Any) -> Any:
        return F.layer_norm(x @ w, (4,)).exp()

    seen: list[Any] = []

    def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> bool:
        seen.append((op.__name__, ctx.within))
        return False

    assert _again(f, policy)["normalise"] == 2
    assert seen[1] == ("normalise", (dt.layer_norm,))
    assert _again(f, [F.layer_norm])["normalise"] == 1


def test_random_numbers_are_those_of_the_first_run() -> None:
    """A kept dropout is the same one, and so is one that is drawn again."""

    def f(x: Any, w: Any) -> Any:
        return F.dropout(F.dropout(x @ w, 0.5).exp(), 0.5).sin()

    for policy in ([dt.exp], lambda ctx, op, *a, **k: "dropout" in op.__name__):
        _again(f, policy)


def test_autocast_casts_alike() -> None:
    """Kept results have the dtype that autocast gave them."""

    def f(x: Any, w: Any) -> Any:
        with dt.autocast("cpu", dtype=dt.bfloat16):
            return (x.float() @ w.float()).exp().double()

    assert _again(f, [dt.matmul])["matmul"] == 0


@pytest.mark.parametrize("outer", [[dt.matmul], [dt.exp]])
def test_nested_checkpoints(outer: Any) -> None:
    """A checkpoint within one, each with a policy of its own."""

    def f(x: Any, w: Any) -> Any:
        y = checkpoint(
            lambda x: (x @ w).tanh(), x, use_reentrant=False, context_fn=_by([dt.tanh])
        )
        return (y @ w).exp().sin()

    _again(f, outer)


@pytest.mark.parametrize("early", [True, False])
def test_early_stop(early: bool) -> None:
    """The second run ends where all is there, unless it shall not."""
    with set_checkpoint_early_stop(early):
        counts = _again(
            lambda x, w: (x @ w).exp() + 1, [dt.matmul], early_stop=not early
        )
    assert counts["matmul"] == 0
    assert counts["add"] == (0 if early else 1)


def test_writes_and_views_run_again() -> None:
    """What shares memory is never kept, whatever the policy says."""

    def f(x: Any, w: Any) -> Any:
        y = (x @ w).sin()
        y[1:].mul_(2)
        return y.exp().t()

    again = _again(f, lambda ctx, op, *args, **kwargs: op is not dt.sin)
    assert again["exp"] == again["matmul"] == 0
    assert again["basic_index"] == again["assign_"] == 1


def test_kept_results_must_not_be_written() -> None:
    """A kept result that the function writes is an error, unless it is allowed."""

    def f(x: Any, w: Any) -> Any:
        return (x @ w).mul_(2).exp()

    def run(**options: Any) -> Any:
        return _gradients(
            lambda x, w: checkpoint(
                f, x, w, use_reentrant=False, context_fn=_by([dt.matmul], **options)
            )
        )

    with pytest.raises(RuntimeError, match=r"matmul is .*mutated.*; let the policy"):
        run()
    run(allow_cache_entry_mutation=True)


def test_backward_twice_is_refused() -> None:
    """What was handed out is gone."""
    x, w = _inputs()
    context_fn = _by([dt.matmul])
    y = checkpoint(_f, x, w, use_reentrant=False, context_fn=context_fn).sum()
    y.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="backward an extra time"):
        y.backward()


def test_what_is_kept_dies_with_the_graph() -> None:
    """The memory is freed when backward took it, and when nobody can."""
    made: list[Any] = []

    def f(x: Any) -> Any:
        y = x.exp()
        made.append(weakref.ref(y._a))
        return y.sin()

    x, _ = _inputs()
    context_fn = _by([dt.exp])
    y = checkpoint(f, x, use_reentrant=False, context_fn=context_fn)
    gc.collect()
    assert made[0]() is not None
    y.sum().backward()
    assert made[0]() is None
    y = checkpoint(f, x, use_reentrant=False, context_fn=context_fn)
    del y
    assert made[-1]() is None


def test_a_function_that_calls_other_ops_is_refused() -> None:
    """More calls of a saved op than in the first run have nothing to be given."""
    turns = iter([1, 2])

    def f(x: Any, w: Any) -> Any:
        for _ in range(next(turns)):
            x = x @ w
        return x.exp()

    x, w = _inputs()
    y = checkpoint(f, x, w, use_reentrant=False, context_fn=_by([dt.matmul]))
    with pytest.raises(RuntimeError, match="call 2 of matmul in the second run"):
        y.sum().backward()


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (3, "policy_fn_or_list is a int, needed a function, or a list of ops"),
        ([dt.matmul, "exp"], "an op of the list is 'exp'.*prints its `op`"),
        (lambda *_, **__: "save", "what the policy gave for matmul is 'save'"),
    ],
)
def test_policies_that_make_no_sense(policy: Any, words: str) -> None:
    """What is no policy is refused in the first run."""
    x, w = _inputs()
    with pytest.raises((TypeError, ValueError), match=words):
        checkpoint(_f, x, w, use_reentrant=False, context_fn=_by(policy))


@pytest.mark.parametrize("given", [None, nullcontext(), (nullcontext(),), (1, 2)])
def test_context_fn_gives_two_contexts(given: Any) -> None:
    """Anything else is refused before the function runs."""
    x, w = _inputs()
    with pytest.raises(TypeError, match=r"what context_fn gives is .* needed two"):
        checkpoint(_f, x, w, use_reentrant=False, context_fn=lambda: given)


def test_a_context_that_suppresses_exceptions_is_refused() -> None:
    """For there is no result then."""
    from contextlib import suppress

    x, _ = _inputs()
    contexts = suppress(ZeroDivisionError), nullcontext()
    with pytest.raises(RuntimeError, match="suppressed an exception"):
        checkpoint(lambda x: 1 / 0, x, use_reentrant=False, context_fn=lambda: contexts)


def test_debug_shows_the_ops_of_both_runs() -> None:
    """By the argument, or by the context, which counts more."""
    sizes = iter([3, 2] * 3)

    def run(**options: Any) -> str:
        x = dt.ones(3, requires_grad=True)
        y = checkpoint(
            lambda x: x[: next(sizes)].sin().sum(), x, use_reentrant=False, **options
        )
        with pytest.raises(CheckpointError) as caught:
            y.backward()
        return str(caught.value)

    words = run(debug=True)
    assert "float32[3] = sin(float32[3])" in words
    assert "float32[2] = sin(float32[2])" in words
    assert "ops of the second run" in words
    assert "test_selective_checkpoint.py:" in words
    with set_checkpoint_debug_enabled(True):
        assert "ops of the first run" in run()
    with set_checkpoint_debug_enabled(False):
        assert "ops of the first run" not in run(debug=True)


def test_a_group_runs_functions_again_once() -> None:
    """Several passes within one share what the second run found."""
    x, w = _inputs()

    def f(x: Any, w: Any) -> Any:
        return x.exp().sin(), w.exp().cos()

    with _counted() as counts, GraphExecGroup():
        a, b = checkpoint(f, x, w, use_reentrant=False, early_stop=False)
        a.sum().backward()
        b.sum().backward()
    assert counts["exp"] == 4


def test_passes_of_a_group_do_not_overlap() -> None:
    """Within a group a tensor is there once; outside, the function runs again."""
    x, _ = _inputs()
    y = checkpoint(lambda x: x.exp().sin(), x, use_reentrant=False).sum()
    y.backward(retain_graph=True)
    y.backward(retain_graph=True)
    with GraphExecGroup():
        y.backward(retain_graph=True)
        with pytest.raises(CheckpointError, match="used already"):
            y.backward(retain_graph=True)
        with pytest.raises(RuntimeError, match="cannot be nested"), GraphExecGroup():
            pass
    y.backward()


def test_checkpoints_without_gradients_only_call() -> None:
    """Then no context is made."""
    x, w = _inputs()
    with dt.no_grad():
        y = checkpoint(_f, x, w, use_reentrant=False, context_fn=lambda: None)  # type: ignore[arg-type,return-value]
    assert dt.equal(y, _f(x, w))


def test_device_states_of_the_cpu_are_none_and_of_others_go_back() -> None:
    """By the index of each tensor's device."""
    assert get_device_states(dt.ones(2), 3, [dt.ones(1)]) == ([], [])
    x = dt.ones(2, device="fake")
    indices, states = get_device_states({"x": [x]}, dt.ones(2))
    first = dt.rand(3, device="fake")
    set_device_states(indices, states, device_type=x.device.type)
    assert dt.equal(first, dt.rand(3, device="fake"))
