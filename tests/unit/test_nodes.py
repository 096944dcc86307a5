"""What programs see of the graph: edges, nodes, what they keep, and their hooks."""

from typing import Any

import pytest

import dovetail as dt
from dovetail.autograd import graph


def _leaf() -> dt.Tensor:
    return dt.tensor([1.0, 2.0, 3.0], requires_grad=True)


def test_a_pass_goes_to_edges() -> None:
    """By Tensor.backward and autograd.backward, one or several."""
    edge_of = graph.get_gradient_edge
    for inputs in (lambda e: e, lambda e: [e]):
        for run in (dt.Tensor.backward, dt.autograd.backward):
            x, other = _leaf(), _leaf()
            run((x * x * other).sum(), inputs=inputs(edge_of(x)))
            assert x.grad is not None
            assert x.grad.tolist() == [2, 8, 18]
            assert other.grad is None


def test_an_edge_knows_the_shape_and_dtype_of_its_tensor() -> None:
    """So ones are made for numbers alone, and gradients given are cast."""
    edge_of = graph.get_gradient_edge
    x = _leaf()
    assert dt.autograd.grad(edge_of((x * x).sum()), x)[0].tolist() == [2, 4, 6]
    with pytest.raises(RuntimeError, match="scalar outputs"):
        dt.autograd.grad(edge_of(x * x), x)
    with pytest.raises(RuntimeError, match="shape"):
        dt.autograd.grad(edge_of(x * x), x, dt.ones(2))
    (wide,) = dt.autograd.grad(edge_of(x * x), x, dt.ones(3, dtype=dt.float64))
    assert wide.dtype is dt.float32
    with pytest.raises(RuntimeError, match="GradientEdge"):
        dt.autograd.grad(x.sum(), edge_of(_leaf()), materialize_grads=True)


def test_programs_keep_what_they_like_with_a_node() -> None:
    """Also with that of a leaf; each node has its own."""
    x = _leaf()
    y, z = x * 2, x.unbind()[0]
    for node in (y.grad_fn, z.grad_fn, graph.get_gradient_edge(x).node):
        assert node.metadata == {}
        node.metadata["line"] = 7
        assert node.metadata == {"line": 7}
    y.sum().backward()
    assert x.grad is not None


def test_a_node_shows_what_it_has_kept() -> None:
    """Inputs that are leaves are those, results are on the tape, attributes as well."""
    x = _leaf()
    y = x.exp()
    assert y.grad_fn._saved_result.grad_fn is y.grad_fn
    assert (x * x).grad_fn._saved_self is x
    assert (x * 2).grad_fn._saved_self is None
    assert (x * 2).grad_fn._saved_other.item() == 2
    assert x.softmax(0).grad_fn._saved_dim == 0
    node = (x * x).grad_fn
    named = [n for n in dir(node) if "saved_" in n]
    assert sorted(named) == [
        "_raw_saved_other", "_raw_saved_self", "_saved_other", "_saved_self",
    ]  # fmt: skip
    with pytest.raises(AttributeError, match="_saved_self"):
        _ = node._saved_nothing


def test_what_was_freed_or_written_is_not_shown() -> None:
    """As backward would not get it."""
    x = _leaf()
    y = x * x
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        _ = y.grad_fn._saved_self
    z = x * 1
    y = z * z
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace"):
        _ = y.grad_fn._saved_self


def test_what_is_kept_of_one_tensor_is_packed() -> None:
    """Once; by a function that leaves it as it is; and not what was freed."""
    x = _leaf()
    y = x * x
    raw = y.grad_fn._raw_saved_self
    raw.register_hooks(lambda t: t * 1, lambda kept: kept * 10)
    assert raw.unpack().tolist() == [10, 20, 30]
    assert y.grad_fn._saved_other.tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="already been set"):
        raw.register_hooks(lambda t: t, lambda t: t)
    y.sum().backward(retain_graph=True)
    assert x.grad is not None
    assert x.grad.tolist() == [11, 22, 33]
    other = y.grad_fn._raw_saved_other
    y.sum().backward()
    with pytest.raises(RuntimeError, match="freed"):
        other.register_hooks(lambda t: t, lambda t: t)
    w = x * 1
    with pytest.raises(RuntimeError, match="in place"):
        (w * w).grad_fn._raw_saved_self.register_hooks(lambda t: t.mul_(2), id)


def test_hooks_of_a_leaf_and_of_its_node_have_their_order() -> None:
    """Those of the tensor come first, whenever they were registered."""
    x = _leaf()
    log: list[Any] = []
    node = graph.get_gradient_edge(x).node

    def before(cts: Any) -> Any:
        log.append("before")
        return (cts[0] * 10,)

    handle = node.register_prehook(before)
    node.register_hook(lambda found, cts: log.append((found, cts[0].tolist())))
    x.register_hook(lambda g: log.append("tensor"))
    x.register_post_accumulate_grad_hook(lambda t: log.append(t.grad.tolist()))
    (x * 2).sum().backward()
    assert log == ["tensor", "before", [20] * 3, ((), [20] * 3)]
    handle.remove()
    (x * 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [22] * 3


def test_anomaly_mode_says_that_it_is_on() -> None:
    """And whether it looks for NaN."""
    seen = [dt.is_anomaly_enabled(), dt.is_anomaly_check_nan_enabled()]
    with dt.autograd.detect_anomaly(check_nan=False):
        seen += [dt.is_anomaly_enabled(), dt.is_anomaly_check_nan_enabled()]
    with dt.autograd.set_detect_anomaly(True):
        seen += [dt.is_anomaly_enabled(), dt.is_anomaly_check_nan_enabled()]
    assert seen == [False, True, True, False, True, True]
    assert not dt.is_anomaly_enabled()


def test_a_function_decorated_by_set_grad_enabled_has_the_mode_alone() -> None:
    """Decorating changes nothing for others."""

    @dt.set_grad_enabled(False)
    def inside() -> bool:
        return dt.is_grad_enabled()

    assert dt.is_grad_enabled()
    assert not inside()
    assert dt.autograd.grad_mode.set_grad_enabled is dt.set_grad_enabled


def test_tensors_change_places() -> None:
    """With class, gradient, attributes, views and graphs."""
    p = dt.nn.Parameter(dt.ones(2))
    x = dt.zeros(3)
    p.tag, view = "p", x[:1]
    loss = (p * 3).sum()
    dt.utils.swap_tensors(p, x)
    assert type(p) is dt.Tensor
    assert type(x) is dt.nn.Parameter
    assert x.tag == "p"
    assert not hasattr(p, "tag")
    loss.backward()
    assert x.grad.tolist() == [3, 3]
    assert p.grad is None
    view.add_(dt.tensor(1.0, requires_grad=True))
    assert p.tolist() == [1, 0, 0]
    assert p.requires_grad
    with pytest.raises(TypeError, match="swap_tensors"):
        dt.utils.swap_tensors(p, 3)


def test_a_tensor_that_is_referred_to_weakly_stays_where_it_is() -> None:
    """Who refers to it would not know."""
    import weakref

    x, y = _leaf(), dt.zeros(3)
    reference = weakref.ref(y)
    with pytest.raises(RuntimeError, match="weakref"):
        dt.utils.swap_tensors(x, y)
    assert reference() is y
