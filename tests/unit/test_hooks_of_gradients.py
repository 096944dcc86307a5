"""Hooks of tensors and nodes, and what they and callers may put for a gradient."""

from collections.abc import Callable
from typing import Any

import pytest

import dovetail as dt
from dovetail.autograd import graph
from dovetail.errors import DovetailError


def _leaf(*values: float) -> dt.Tensor:
    return dt.tensor(values, dtype=dt.float32, requires_grad=True)


_UNLIKE: dict[str, tuple[Callable[[dt.Tensor], Any], type[Exception], str]] = {
    "shorter": (lambda g: g[:1], RuntimeError, "changed the size"),
    "stretched": (lambda g: dt.ones(3, 2), RuntimeError, "changed the size"),
    "number": (lambda g: dt.tensor(2.0), RuntimeError, "changed the size"),
    "wider": (lambda g: g.double(), RuntimeError, "changed the type"),
    "integers": (lambda g: g.int(), RuntimeError, "changed the type"),
    "elsewhere": (lambda g: g.to("meta"), RuntimeError, "meta"),
    "no tensor": (lambda g: 3.0, TypeError, "a float"),
}


@pytest.mark.parametrize("what", _UNLIKE)
@pytest.mark.parametrize("place", ["leaf", "result", "before", "after"])
def test_a_hook_gives_what_is_like_its_gradient(place: str, what: str) -> None:
    """Anything else is refused, and reaches no leaf."""
    change, kind, text = _UNLIKE[what]
    x = _leaf(1, 2)
    y = x * 1
    z = y * y
    if place == "leaf":
        x.register_hook(change)
    elif place == "result":
        y.register_hook(change)
    elif place == "before":
        z.grad_fn.register_prehook(lambda cts: (change(cts[0]),))
    else:
        z.grad_fn.register_hook(lambda found, _: (change(found[0]), found[1]))
    with pytest.raises(kind, match=text) as raised:
        z.sum().backward()
    assert isinstance(raised.value, DovetailError)
    assert x.grad is None


def test_hooks_of_nodes_give_tuples_of_the_length_that_they_got() -> None:
    """A single gradient, a list, one too many, or one out of nothing is refused."""
    x = _leaf(1, 2)

    def refused(before: Any, after: Any, kind: type[Exception]) -> None:
        y = x * 2
        if before is not None:
            y.grad_fn.register_prehook(before)
        if after is not None:
            y.grad_fn.register_hook(after)
        with pytest.raises(kind):
            y.sum().backward()

    refused(lambda cts: cts[0], None, TypeError)
    refused(lambda cts: [cts[0]], None, TypeError)
    refused(lambda cts: (cts[0], cts[0]), None, RuntimeError)
    refused(None, lambda found, _: found[0], TypeError)
    refused(None, lambda found, _: found[:1], RuntimeError)
    refused(None, lambda found, _: (found[0], found[0]), RuntimeError)
    assert x.grad is None


def test_a_hook_before_a_node_may_say_that_nothing_came() -> None:
    """What is behind the node gets no gradient then."""
    x = _leaf(1, 2)
    y = x * 2
    y.grad_fn.register_prehook(lambda cts: (None,))
    y.sum().backward()
    assert x.grad is None


def test_hooks_of_several_wait_for_what_a_pass_reaches() -> None:
    """What it does not reach is None; each pass is one call."""
    a, b, c = (dt.tensor(v, requires_grad=True) for v in (1.0, 2.0, 3.0))
    seen: list[list[float | None]] = []

    def keep(found: Any) -> None:
        seen.append([None if g is None else g.item() for g in found])

    handle = graph.register_multi_grad_hook((a, b, c), keep)
    for _ in range(2):
        (a * 2 + b * 3).backward()
    (a + c).backward()
    dt.autograd.grad(a * b, a)
    handle.remove()
    (a + b + c).backward()
    assert seen == [[2, 3, None], [2, 3, None], [1, None, 1], [2, None, None]]


def test_hooks_of_several_results_and_of_the_first_that_comes() -> None:
    """Passes over one graph are apart, whatever part of it they are of."""
    a = dt.tensor(1.0, requires_grad=True)
    b, c = a * 2, a * 3
    every: list[list[bool]] = []
    first: list[float] = []
    graph.register_multi_grad_hook(
        (b, c), lambda found: every.append([g is not None for g in found])
    )
    graph.register_multi_grad_hook((b, c), lambda g: first.append(g.item()), mode="any")
    b.backward(retain_graph=True)
    (b * 4 + c).backward(retain_graph=True)
    c.backward(retain_graph=True)
    assert every == [[True, False], [True, True], [False, True]]
    assert len(first) == 3
    with pytest.raises(RuntimeError, match="require gradients"):
        graph.register_multi_grad_hook((a, dt.ones(1)), print)


@pytest.mark.parametrize("dtype", [dt.float64, dt.float16, dt.int64])
def test_gradients_given_are_cast_to_the_dtype_of_the_output(dtype: Any) -> None:
    """So is what comes back, also where the output is the input."""
    x = _leaf(1, 2)
    given = dt.ones(2, dtype=dtype)
    (found,) = dt.autograd.grad(x * 2, x, given)
    assert found.dtype is dt.float32
    assert found.tolist() == [2, 2]
    assert dt.autograd.grad(x, x, given)[0].dtype is dt.float32
    wide = dt.ones(2, dtype=dt.float64, requires_grad=True)
    (found,) = dt.autograd.grad(x * 2, x, wide, create_graph=True)
    found.sum().backward()
    assert wide.grad is not None
    assert wide.grad.dtype is dt.float64
    assert wide.grad.tolist() == [2, 2]


def test_a_complex_number_has_no_gradient_of_its_own() -> None:
    """The gradient has to be given."""
    x = dt.tensor([1 + 1j], requires_grad=True)
    with pytest.raises(RuntimeError, match="real scalar outputs"):
        (x * x).sum().backward()
    (x * x).sum().backward(dt.tensor(1 + 0j))
    assert x.grad is not None
    assert x.grad.tolist() == [2 - 2j]


def test_a_tensor_is_not_its_own_gradient() -> None:
    """Nor is what is no tensor; nothing is changed."""
    for x in (_leaf(1, 2), dt.ones(2)):
        with pytest.raises(RuntimeError, match="its own grad"):
            x.grad = x
        with pytest.raises(TypeError, match="a int"):
            x.grad = 3  # type: ignore[assignment]
        assert x.grad is None
        x.grad = x.detach()


_PARTS: dict[str, Callable[[dt.Tensor], Any]] = {
    "split": lambda x: x.split(2),
    "split_with_sizes": lambda x: dt.split_with_sizes(x, [1, 3]),
    "chunk": lambda x: x.chunk(2),
    "unbind": lambda x: x.unbind(),
    "iteration": list,
    "a view of one": lambda x: [x.split(2)[0].view(-1)],
}


@pytest.mark.parametrize("name", _PARTS)
def test_one_of_several_views_is_not_written_while_recorded(name: str) -> None:
    """It is under no_grad, and where there is nothing to record."""
    write = _PARTS[name]
    base = _leaf(1, 2, 3, 4) * 1
    part = write(base)[0]
    for change in (
        lambda: part.mul_(2),
        lambda: part.zero_(),
        lambda: part.copy_(dt.ones(())),
    ):
        with pytest.raises(RuntimeError, match="multiple views"):
            change()
    assert base.tolist() == [1, 2, 3, 4]
    with dt.no_grad():
        part.zero_()
    assert base[0].item() == 0
    write(dt.ones(4))[0].mul_(2)
    alone = _leaf(1, 2, 3, 4) * 1
    alone[:2].mul_(2)
    alone.tensor_split(2)[0].mul_(2)
    assert alone.tolist() == [4, 8, 3, 4]


def test_what_packs_gets_the_tensors_themselves() -> None:
    """A leaf is that leaf; other inputs are where they are on the tape."""
    x = dt.nn.Parameter(dt.ones(2))
    y = x * 1
    seen: list[Any] = []

    def pack(t: dt.Tensor) -> dt.Tensor:
        seen.append((t is x, t.requires_grad, t.is_leaf, (t * 1).requires_grad))
        return t

    with graph.saved_tensors_hooks(pack, lambda t: t):
        z = x * y
        z.exp().sum().backward()
    leaf, inner, result = (True, True, True), (False, True, False), (False, False, True)
    assert sorted(s[:3] for s in seen) == sorted([leaf, inner, result])
    assert not any(s[3] for s in seen)


def test_what_packs_and_unpacks_keeps_to_the_rules() -> None:
    """It leaves its tensor as it is, and gives one back."""
    x = _leaf(1, 2)
    with (
        graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        pytest.raises(RuntimeError, match="in place"),
    ):
        (x * x.clone()).exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="a int"):
        y.sum().backward()


def test_zeros_for_what_is_not_used() -> None:
    """They require gradients in a recorded pass; None is not asked for as well."""
    x, other = _leaf(1, 2), _leaf(3, 4)
    for create in (False, True):
        (g,) = dt.autograd.grad(
            x.sum(), other, create_graph=create, materialize_grads=True
        )
        assert g.tolist() == [0, 0]
        assert g.requires_grad is create
    with pytest.raises(ValueError, match="allow_unused"):
        dt.autograd.grad(x.sum(), other, allow_unused=False, materialize_grads=True)
    with pytest.raises(ValueError, match="is_grads_batched"):
        dt.autograd.grad(x.sum(), x, is_grads_batched=True)


def test_a_hook_after_a_gradient_was_gathered_returns_nothing() -> None:
    """It has nothing to replace; what a tensor's method gave by the way may be."""
    x = _leaf(1, 2)
    x.register_post_accumulate_grad_hook(lambda t: t.grad.mul_(3))
    x.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [3, 3]
    x.register_post_accumulate_grad_hook(lambda t: 3)
    with pytest.raises(TypeError, match="None"):
        x.sum().backward()


def test_hooks_where_a_pass_begins_are_called_wherever_it_goes() -> None:
    """Also where nothing that is asked for is behind them."""
    x, other, seen = _leaf(1, 2), _leaf(3, 4), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    assert dt.autograd.grad(y, other, dt.ones(2), allow_unused=True) == (None,)
    y.backward(dt.ones(2), inputs=[other], retain_graph=True)
    assert seen == [[1, 1], [1, 1]]
    assert y.grad is not None
    assert y.grad.tolist() == [2, 2]
    assert x.grad is None


def test_a_pass_to_a_view_that_leads_nowhere_runs_nothing() -> None:
    """Of what was taken under no_grad there is no gradient."""
    x, seen = _leaf(1, 2), []
    with dt.no_grad():
        view = x[:1]
    y = view * 1
    y.register_hook(seen.append)
    y.sum().backward(inputs=[view])
    assert not seen
    assert view.grad is None
