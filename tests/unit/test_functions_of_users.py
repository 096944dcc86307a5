"""`autograd.Function`: ops that users write, saved-tensor hooks, anomaly mode."""

from __future__ import annotations

from typing import Any

import pytest

import dovetail as dt
from dovetail import func
from dovetail.autograd import Function, forward_ad, graph
from dovetail.autograd.function import InplaceFunction, once_differentiable
from dovetail.errors import AutogradError, InplaceError, NotSupported


class Cube(Function):
    """k x^3, with its own second gradient through what it saved."""

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        y = x**3 * k
        ctx.save_for_backward(x, y)
        ctx.k = k
        return y

    @staticmethod
    def backward(ctx: Any, ct: Any) -> Any:
        x, _ = ctx.saved_tensors
        return ct * 3 * x**2 * ctx.k, None


class Pair(Function):
    """Several results, one of them without gradient, by `setup_context`."""

    @staticmethod
    def forward(a: Any, b: Any) -> Any:
        return a * b, a + b, a > 0

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(output[2])

    @staticmethod
    def backward(ctx: Any, g: Any, h: Any, _: Any) -> Any:
        a, b = ctx.saved_tensors
        return g * b + h, g * a + h


class Doubled(Function):
    """Writes its argument."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, ct: Any) -> Any:
        return 2 * ct


def _leaf(*values: float) -> dt.Tensor:
    return dt.tensor(values, dtype=dt.float64, requires_grad=True)


def test_a_node_has_what_its_context_has() -> None:
    """In torch the context is the node: programs look there for what forward left."""
    x = dt.ones(2, requires_grad=True)
    y = Cube.apply(x, 3.0)
    assert y.grad_fn.k == 3.0
    assert y.grad_fn.needs_input_grad == (True, False)
    assert y.grad_fn.saved_tensors[0] is not None
    assert not hasattr(y.grad_fn, "nothing")
    assert not hasattr((x * 2).grad_fn, "k")


def test_an_instance_calls_its_class() -> None:
    """`Cube().apply` is `Cube.apply`, with a warning; the instance is not called."""
    with pytest.warns(DeprecationWarning, match="Cube should not be instantiated"):
        made = Cube()
    x = _leaf(2)
    made.apply(x, 2.0).backward()
    assert x.grad.item() == 24
    with pytest.raises(NotSupported, match=r"needed the class alone; call Cube\.apply"):
        made(x, 2.0)


def test_inplace_functions_keep_what_they_are_made_with() -> None:
    """Older programs read `inplace` of them."""
    with pytest.warns(DeprecationWarning, match="InplaceFunction"):
        assert InplaceFunction(True).inplace is True


def test_second_gradients_go_through_what_was_saved() -> None:
    """A backward of ops is differentiated again, through inputs that were kept."""
    x = _leaf(1, 2)
    (first,) = dt.autograd.grad(Cube.apply(x, 2.0).sum(), x, create_graph=True)
    (second,) = dt.autograd.grad(first.sum(), x)  # type: ignore[union-attr]
    assert first.tolist() == [6, 24]  # type: ignore[union-attr]
    assert second.tolist() == [12, 24]  # type: ignore[union-attr]


def test_results_that_nothing_came_back_to_get_zeros() -> None:
    """Gradients of results that were not used are zeros for backward."""
    a, b = _leaf(3), _leaf(4)
    product, _, positive = Pair.apply(a, b)
    product.backward()
    assert not positive.requires_grad
    assert (a.grad.tolist(), b.grad.tolist()) == ([4], [3])  # type: ignore[union-attr]


def test_a_written_argument_is_the_result() -> None:
    """An argument that is marked dirty is on the tape with its new value."""
    a = _leaf(3)
    x = a * 1
    y = Doubled.apply(x)
    assert y is x
    x.sum().backward()
    assert a.grad.tolist() == [2]  # type: ignore[union-attr]
    with pytest.raises(InplaceError, match="leaf"):
        Doubled.apply(a)


def test_once_differentiable_refuses_the_second_time() -> None:
    """Gradients of a marked backward are right, and have none themselves."""
    a = _leaf(3)
    y = Doubled.apply(a * 1) ** 2
    (g,) = dt.autograd.grad(y.sum(), a, create_graph=True)
    with pytest.raises(AutogradError, match="once_differentiable"):
        g.sum().backward()  # type: ignore[union-attr]


def test_a_saved_tensor_that_was_written_is_refused() -> None:
    """What was kept is checked against its version."""
    x = _leaf(1, 2)
    y = x * 1
    z = Cube.apply(y, 1.0)
    y.add_(1)
    with pytest.raises(AutogradError, match="modified by an inplace"):
        z.sum().backward()


def test_broken_promises_are_named() -> None:
    """Too many gradients, and gradients of wrong shapes, name the Function."""

    class Broken(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, many: bool) -> Any:
            ctx.many = many
            return x * 2

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            return (ct, None, ct) if ctx.many else (ct[:1].expand(5), None)

    x = _leaf(1, 2)
    for many, words in ((True, "incorrect number"), (False, "invalid gradient")):
        with pytest.raises(AutogradError, match=f"Broken.backward.*{words}"):
            Broken.apply(x, many).sum().backward()


def test_functions_are_transformed() -> None:
    """vmap, forward mode and func.grad go through a user's Function."""
    x = dt.tensor([[1.0, 2.0], [3.0, 4.0]])
    cube = lambda row: Cube.apply(row, 2.0)  # noqa: E731
    assert dt.vmap(cube)(x).tolist() == (2 * x**3).tolist()
    assert func.jvp(cube, (x,), (x,))[1].tolist() == (6 * x**3).tolist()
    slopes = dt.vmap(func.grad(lambda row: cube(row).sum()))(x)
    assert slopes.tolist() == (6 * x**2).tolist()


def test_its_own_jvp_and_vmap_are_asked() -> None:
    """Where a Function has a jvp or a vmap, that decides."""

    class Own(Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx: Any, moved: Any) -> Any:
            return moved * ctx.saved_tensors[0]

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            assert in_dims == (0,)
            return x.sum(0).expand(info.batch_size, -1), 0

    x = dt.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert func.jvp(Own.apply, (x,), (x,))[1].tolist() == (x * x).tolist()
    assert dt.vmap(Own.apply)(x).tolist() == [[4, 6], [4, 6]]


def test_dual_tensors_carry_tangents() -> None:
    """Within a dual level a tensor's tangent goes through ordinary calls."""
    with forward_ad.dual_level():
        x = forward_ad.make_dual(dt.tensor([2.0]), dt.tensor([1.0]))
        value, moved = forward_ad.unpack_dual(x**2 * dt.tensor([3.0]))
    assert (value.tolist(), moved.tolist()) == ([12], [12])  # type: ignore[union-attr]
    with pytest.raises(AutogradError, match="no level exists"):
        forward_ad.make_dual(dt.ones(1), dt.ones(1))


def test_kept_tensors_are_packed_and_unpacked() -> None:
    """Hooks see what ops keep; gradients, also second ones, are as without them."""
    x = _leaf(1, 2)
    packed = []

    def pack(t: dt.Tensor) -> int:
        packed.append(t.clone())
        return len(packed) - 1

    with graph.saved_tensors_hooks(pack, packed.__getitem__):
        y = dt.tanh(Cube.apply(x, 2.0) * x)
    before = len(packed)
    (g,) = dt.autograd.grad(y.sum(), x, create_graph=True)
    wanted = dt.tanh(2 * x**4)
    (h,) = dt.autograd.grad(wanted.sum(), x, create_graph=True)
    assert before == 5
    assert dt.allclose(g, h)
    pairs = [dt.autograd.grad(v.sum(), x)[0] for v in (g, h)]  # type: ignore[union-attr]
    assert dt.allclose(*pairs)


def test_a_packed_graph_is_freed_like_others() -> None:
    """A second backward through packed nodes is refused."""
    x = _leaf(1, 2)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = (x * x).sum()
    y.backward()
    with pytest.raises(AutogradError, match="freed"):
        y.backward()


def test_a_nan_is_traced_to_its_module_and_line() -> None:
    """Anomaly mode names the op, the module's path and the line of the program."""

    class Root(dt.nn.Module):
        def forward(self, x: Any) -> Any:
            return (x * 0).sqrt() * 0

    net = dt.nn.Sequential(dt.nn.Linear(2, 2), dt.nn.Sequential(Root()))
    with (
        pytest.raises(AutogradError, match=r"sqrt.*test_functions_of.*1\.0 \(Root\)"),
        dt.autograd.detect_anomaly(),
    ):
        net(dt.ones(2)).sum().backward()


def test_several_gradients_are_waited_for() -> None:
    """A hook of several tensors is called once, with all gradients."""
    a, b = _leaf(1), _leaf(2)
    seen: list[Any] = []
    handle = graph.register_multi_grad_hook([a, b], seen.append)
    (a * b).backward()
    assert [[g.item() for g in found] for found in seen] == [[2, 1]]
    handle.remove()
    (a * b).backward()
    assert len(seen) == 1
