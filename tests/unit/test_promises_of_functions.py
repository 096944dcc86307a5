"""What custom Functions have to keep, and what they are told: `autograd.Function`."""

from collections.abc import Callable
from typing import Any

import pytest

import dovetail as dt
from dovetail.autograd import Function, forward_ad
from dovetail.errors import DovetailError


def _function(forward: Any, backward: Any = None, **more: Any) -> Any:
    """A Function of these static methods, and class attributes that are no methods."""
    methods = {"forward": forward, "backward": backward or (lambda ctx, g: g)} | more
    body = {k: staticmethod(f) if callable(f) else f for k, f in methods.items()}
    return type("Made", (Function,), body)


def _leaf() -> dt.Tensor:
    return dt.tensor([1.0, 2.0, 3.0], requires_grad=True)


def _scaled(ctx: Any, x: dt.Tensor, k: Any) -> dt.Tensor:
    return x * 2


_BROKEN: dict[str, tuple[Callable[[Any, dt.Tensor], Any], str]] = {
    "for a number": (lambda ctx, g: (g, g), "was not a Variable"),
    "a number for a number": (lambda ctx, g: (g, 1.0), "was not a Variable"),
    "no tensor": (lambda ctx, g: (1.0, None), "a float"),
    "too few": (lambda ctx, g: g, "incorrect number"),
    "too many": (lambda ctx, g: (g, None, g), "incorrect number"),
    "complex": (lambda ctx, g: (g + 1j, None), "complex64"),
    "shorter": (lambda ctx, g: (g[:2], None), "invalid gradient"),
}


@pytest.mark.parametrize("what", _BROKEN)
def test_gradients_that_were_not_promised_are_refused(what: str) -> None:
    """The error names the Function, is torch's class, and no leaf has a gradient."""
    backward, text = _BROKEN[what]
    x = _leaf()
    y = _function(_scaled, backward).apply(x, 2.0)
    with pytest.raises(RuntimeError, match=text) as raised:
        y.sum().backward()
    assert isinstance(raised.value, DovetailError)
    assert "Made.backward" in str(raised.value)
    assert x.grad is None


def test_gradients_that_nobody_asked_for_are_dropped() -> None:
    """Of tensors that require none, and None more than there are arguments."""
    x = _leaf()
    made = _function(lambda ctx, x, y: x * y, lambda ctx, g: (g, g, None))
    made.apply(x, dt.ones(3)).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [1, 1, 1]


def test_backward_and_vjp_are_two_names_of_one() -> None:
    """A Function has one of them."""
    both = _function(_scaled, lambda ctx, g: (g, None), vjp=lambda ctx, g: (g, None))
    with pytest.raises(RuntimeError, match="vjp"):
        both.apply(_leaf(), 1)


def _marks_second(ctx: Any, x: dt.Tensor) -> tuple[dt.Tensor, ...]:
    y, z = x * 2, x * 3
    ctx.mark_non_differentiable(z)
    return y, z, x.int()


def test_all_results_without_a_gradient_get_zeros() -> None:
    """Also those that have none; of their own dtype; not where they are not made."""
    seen: list[Any] = []

    def keep(ctx: Any, *cts: Any) -> Any:
        seen.append([None if g is None else (g.tolist(), g.dtype) for g in cts])
        return cts[0]

    def without(ctx: Any, x: dt.Tensor) -> Any:
        ctx.set_materialize_grads(False)
        return _marks_second(ctx, x)

    for forward in (_marks_second, without):
        ys = _function(forward, keep).apply(_leaf())
        assert [y.requires_grad for y in ys] == [True, False, False]
        ys[0].sum().backward()
    ones, zeros = ([1, 1, 1], dt.float32), ([0, 0, 0], dt.float32)
    assert seen == [[ones, zeros, ([0, 0, 0], dt.int32)], [ones, None, None]]


def test_marks_are_of_tensors() -> None:
    """Anything else is refused with torch's classes."""
    for name, kind in (
        ("mark_dirty", RuntimeError),
        ("mark_non_differentiable", RuntimeError),
        ("save_for_backward", TypeError),
        ("set_materialize_grads", TypeError),
    ):
        made = _function(lambda ctx, x, name=name: getattr(ctx, name)(3))
        with pytest.raises(kind, match=name):
            made.apply(_leaf())


def test_what_is_needed_does_not_depend_on_the_mode() -> None:
    """`needs_input_grad` is of the arguments."""
    seen = []

    def forward(ctx: Any, x: dt.Tensor, k: Any) -> dt.Tensor:
        seen.append(ctx.needs_input_grad)
        return x * 2

    made = _function(forward)
    made.apply(_leaf(), 2)
    with dt.no_grad():
        assert not made.apply(_leaf(), dt.ones(3)).requires_grad
    made.apply(dt.ones(3), _leaf())
    assert seen == [(True, False), (True, False), (False, True)]


def test_arguments_are_given_by_name_and_by_default() -> None:
    """Forward alone, or with setup_context, which gets all in their order."""
    seen = []
    alone = _function(lambda ctx, x, *, k: x * k)
    assert alone.apply(_leaf(), k=2).tolist() == [2, 4, 6]
    apart = _function(
        lambda x, k=3, m=1: x * k * m, lambda ctx, g: (g * 3, None, None),
        setup_context=lambda ctx, inputs, output: seen.append(inputs[1:]),
    )  # fmt: skip
    for y in (apart.apply(_leaf()), apart.apply(_leaf(), m=2), apart.apply(_leaf(), 5)):
        y.sum().backward()
    assert seen == [(3, 1), (3, 2), (5, 1)]


def test_what_was_kept_may_be_given_once() -> None:
    """A class asks for that; then it is freed, and a second pass is refused."""

    def forward(ctx: Any, x: dt.Tensor) -> dt.Tensor:
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx: Any, g: dt.Tensor) -> dt.Tensor:
        return g * 2 + 0 * ctx.saved_tensors[0]

    for once in (False, True):
        made = _function(forward, backward, clear_saved_tensors_on_access=once)
        y = made.apply(_leaf()).sum()
        y.backward(retain_graph=True)
        if once:
            with pytest.raises(RuntimeError, match="accessed once"):
                y.backward()
        else:
            y.backward()


_SHOWN = {
    "argument": lambda ctx, x: x,
    "view": lambda ctx, x: x.view(3, 1),
    "view of a view": lambda ctx, x: x.view(3, 1)[1:],
}


@pytest.mark.parametrize("what", _SHOWN)
def test_a_result_that_shows_an_argument_is_a_view_that_is_not_written(
    what: str,
) -> None:
    """Its gradient is the Function's; a write to it, or to the argument, is refused."""
    base = _leaf()
    made = _function(_SHOWN[what], lambda ctx, g: dt.full((3,), 7.0))
    x = base * 1
    y = made.apply(x)
    assert y is not x
    assert y._is_view()
    (y[0] * 2).sum().backward()
    assert base.grad is not None
    assert base.grad.tolist() == [7, 7, 7]
    with pytest.raises(RuntimeError, match="custom Function"):
        y.mul_(2)
    assert x.tolist() == [1, 2, 3]
    x.mul_(2)
    with pytest.raises(RuntimeError, match="custom Function"):
        y.sum().backward()
    assert "Invalid" in repr(y)


@pytest.mark.parametrize("what", _SHOWN)
def test_a_view_off_the_tape_is_written_with_what_has_no_gradient(what: str) -> None:
    """With what has one it is refused, before anything is written."""
    x = dt.ones(3)
    y = _function(_SHOWN[what]).apply(x)
    with pytest.raises(RuntimeError, match="custom Function"):
        y.mul_(dt.tensor(2.0, requires_grad=True))
    assert x.tolist() == [1, 1, 1]
    y.mul_(2)
    assert x.sum().item() >= 5


def test_a_result_of_its_own_is_written_like_others() -> None:
    """A view of what forward made is none for those outside."""
    base = _leaf()
    y = _function(lambda ctx, x: (x * 2).view(-1), lambda ctx, g: g * 2).apply(base)
    y.mul_(3)
    y.sum().backward()
    assert base.grad is not None
    assert base.grad.tolist() == [6, 6, 6]


def test_what_is_marked_as_written_counts_as_written() -> None:
    """Also where nobody else saw the write; views that are not written are refused."""

    def marks(ctx: Any, x: dt.Tensor) -> dt.Tensor:
        ctx.mark_dirty(x)
        return x

    made = _function(marks)
    x = _leaf() * 1
    y = (x * x).sum()
    assert made.apply(x) is x
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        y.backward()
    for view in (_leaf()[:2], (_leaf() * 1).split(2)[0]):
        with pytest.raises(RuntimeError):
            made.apply(view)


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    """Keep nothing."""


def test_a_rule_for_batches_is_written_or_made() -> None:
    """Both at once are refused."""
    one = _function(lambda x: x * 2, setup_context=_setup, generate_vmap_rule=True)
    assert dt.vmap(one.apply)(dt.ones(3)).tolist() == [2, 2, 2]
    both = _function(
        lambda x: x * 2, setup_context=_setup, generate_vmap_rule=True,
        vmap=lambda info, dims, x: (x * 2, dims[0]),
    )  # fmt: skip
    assert both.apply(dt.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(RuntimeError, match="generate_vmap_rule"):
        dt.vmap(both.apply)(dt.ones(3))


@pytest.mark.parametrize("tangent", [lambda t: t[:2], lambda t: t[:1], lambda t: 3.0])
def test_a_tangent_is_like_its_result(tangent: Any) -> None:
    """Another shape, or no tensor, is refused."""
    made = _function(lambda ctx, x: x * 2, jvp=lambda ctx, t: tangent(t))
    with forward_ad.dual_level():
        x = forward_ad.make_dual(dt.ones(3), dt.ones(3))
        with pytest.raises(RuntimeError, match="tangent 0"):
            made.apply(x)


def test_a_node_is_named_by_its_function() -> None:
    """As torch names it, without a number."""
    assert _function(_scaled).apply(_leaf(), 1).grad_fn.name() == "MadeBackward"


def test_a_kept_result_without_a_gradient_is_a_constant() -> None:
    """Second gradients do not go through it."""

    def forward(ctx: Any, x: dt.Tensor) -> Any:
        sign = x.sign()
        ctx.mark_non_differentiable(sign)
        ctx.save_for_backward(sign)
        return x * 2, sign

    made = _function(forward, lambda ctx, g, _: g * ctx.saved_tensors[0])
    x = _leaf()
    (g,) = dt.autograd.grad(made.apply(x)[0].sum(), x, create_graph=True)
    assert not g.requires_grad


def test_results_under_no_grad_require_none() -> None:
    """Neither the argument that is given back, nor one that was written."""
    same = _function(lambda ctx, x: x)

    def writes(ctx: Any, x: dt.Tensor) -> dt.Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    x = _leaf() * 1
    for made in (same, _function(writes)):
        with dt.no_grad():
            y = made.apply(x)
        assert not y.requires_grad
        assert x.requires_grad
        assert y.tolist() == x.tolist()
