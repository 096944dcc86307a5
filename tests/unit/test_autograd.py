"""The tape and the engine: what is recorded, what runs, what is refused."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.engine import autograd
from dovetail.errors import AutogradError, DTypeError, InplaceError
from dovetail.nn import functional as F


def leaf(*values: float) -> dt.Tensor:
    return dt.tensor(list(values), requires_grad=True)


def test_edges_are_captured_when_recorded() -> None:
    """A tensor rebound in place later does not change what was recorded earlier."""
    x = leaf(1.0, 2.0)
    a = x * 1
    b = a + 1
    a.mul_(3)
    b.sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_gradients_accumulate() -> None:
    """Two passes add up, in the leaf's dtype."""
    x = leaf(2.0)
    (x * x).sum().backward()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [7.0]


def test_diamond() -> None:
    """A value used along two paths gets both gradients before it is passed on."""
    x = leaf(3.0)
    y = x * x
    (y * y + y).sum().backward()
    assert x.grad.tolist() == [4 * 27 + 6]


def test_second_backward_needs_retain_graph() -> None:
    """Freed buffers are refused by name; retained ones serve again."""
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(AutogradError, match=r"second time.*retain_graph=True"):
        y.backward()


def test_saved_tensor_written_in_place() -> None:
    """backward refuses a kept tensor whose memory has changed."""
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.mul_(2)
    with pytest.raises(AutogradError, match="modified by an inplace operation"):
        y.sum().backward()


def test_unneeded_inputs_are_not_kept() -> None:
    """Writing an operand that only an unneeded gradient would use is harmless."""
    x, w = leaf(1.0, 2.0), dt.tensor([3.0, 4.0])
    y = (w * x) * 1
    kept = y
    x2 = dt.tensor([1.0, 1.0])
    z = x2 * x
    x2_version = x2._version
    x.detach()
    assert x2_version == 0
    (kept.sum() + z.sum()).backward()
    assert x.grad.tolist() == [4.0, 5.0]


def test_views_carry_gradients_both_ways() -> None:
    """Writing through a view reaches the base, and the base's siblings follow."""
    x, w = leaf(1.0, 2.0, 3.0), leaf(10.0)
    base = x * 1
    first, sibling = base[:2], base[1:]
    first.mul_(w)
    assert base.tolist() == [10.0, 20.0, 3.0]
    assert sibling.tolist() == [20.0, 3.0]
    sibling.sum().backward()
    assert x.grad.tolist() == [0.0, 10.0, 1.0]
    assert w.grad.tolist() == [2.0]


def test_view_of_a_constant_starts_to_require_gradients() -> None:
    """A base without gradients gets them from what is written into its view."""
    base, w = dt.zeros(4), leaf(1.0, 2.0)
    view = base[1:3]
    view.copy_(w * 2)
    assert base.requires_grad
    assert view.requires_grad
    (base * dt.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert w.grad.tolist() == [4.0, 6.0]


def test_views_of_views() -> None:
    """A write through a view of a view lands in the right place of the base."""
    x = dt.arange(12.0).view(3, 4).requires_grad_()
    base = x * 1
    base[1:][0][2:].mul_(5)
    base.sum().backward()
    expected = np.ones((3, 4))
    expected[1, 2:] = 5
    np.testing.assert_array_equal(x.grad.numpy(), expected)


def test_base_written_after_the_view() -> None:
    """A view follows its base: same memory, same gradient."""
    x = leaf(1.0, 2.0)
    base = x * 1
    view = base[:1]
    base.mul_(4)
    assert view.tolist() == [4.0]
    view.sum().backward()
    assert x.grad.tolist() == [4.0, 0.0]


def test_leaves_are_not_written() -> None:
    """A leaf that requires gradients, and its views, refuse writes; no_grad allows."""
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x[0].add_(1), lambda: x.zero_()):
        with pytest.raises(InplaceError, match="leaf Variable that requires grad"):
            write()
    assert x.tolist() == [1.0, 2.0]
    assert x._version == 0
    with dt.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 3.0]
    assert x.is_leaf


def test_detach_shares_memory_and_version() -> None:
    """A write through detach() counts; one through .data does not."""
    x = leaf(1.0, 2.0)
    y = x * x
    x.detach().zero_()
    with pytest.raises(AutogradError, match="inplace"):
        y.sum().backward()
    x = leaf(1.0, 2.0)
    y = x * x
    x.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_no_grad_and_enable_grad() -> None:
    """Context managers and decorators, nested and restored after errors."""
    x = leaf(1.0)
    with dt.no_grad():
        assert not (x * 2).requires_grad
        with dt.enable_grad():
            assert (x * 2).requires_grad
        assert not dt.is_grad_enabled()
    with pytest.raises(ZeroDivisionError), dt.no_grad():
        1 / 0  # noqa: B018
    assert dt.is_grad_enabled()

    @dt.no_grad()
    def frozen() -> bool:
        return (x * 2).requires_grad

    assert not frozen()
    with dt.set_grad_enabled(False):
        assert not dt.is_grad_enabled()
    assert dt.is_grad_enabled()


def test_grad_mode_is_local_to_a_thread() -> None:
    """no_grad here does not switch recording off elsewhere."""
    seen: list[bool] = []
    with dt.no_grad():
        thread = threading.Thread(target=lambda: seen.append(dt.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_hooks() -> None:
    """Hooks see and replace gradients of leaves and results; handles remove them."""
    x = leaf(1.0, 2.0)
    y = x * 3
    seen: list[list[float]] = []
    y.register_hook(lambda g: seen.append(g.tolist()))
    handle = x.register_hook(lambda g: g * 10)
    after: list[int] = []
    x.register_post_accumulate_grad_hook(lambda t: after.append(len(t.grad)))
    y.sum().backward()
    assert seen == [[1.0, 1.0]]
    assert x.grad.tolist() == [30.0, 30.0]
    assert after == [2]
    handle.remove()
    x.grad = None
    (x * 1).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_retain_grad() -> None:
    """A result keeps its gradient where it is told to."""
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    (y * y).sum().backward()
    assert y.grad.tolist() == [4.0]


def test_grad_function() -> None:
    """autograd.grad gives gradients without touching .grad; unused inputs are named."""
    x, z = leaf(2.0), leaf(1.0)
    y = x * x
    (g,) = autograd.grad([y.sum()], [x], create_graph=True)
    assert g.tolist() == [4.0]
    assert x.grad is None
    (h,) = autograd.grad([g.sum()], [x])
    assert h.tolist() == [2.0]
    with pytest.raises(AutogradError, match=r"inputs\[0\] is not used"):
        autograd.grad([(x * 1).sum()], [z])
    assert autograd.grad([(x * 1).sum()], [z], allow_unused=True) == (None,)


def test_gradient_of_an_intermediate() -> None:
    """grad with respect to a result stops there."""
    x = leaf(3.0)
    y = x * x
    z = (y * y).sum()
    (g,) = autograd.grad([z], [y])
    assert g.tolist() == [18.0]


def test_backward_inputs() -> None:
    """backward(inputs=) fills only those leaves."""
    x, w = leaf(1.0), leaf(2.0)
    (x * w).sum().backward(inputs=[w])
    assert x.grad is None
    assert w.grad.tolist() == [1.0]


def test_requires_grad_rules() -> None:
    """Integers cannot require gradients; results cannot stop to."""
    with pytest.raises(DTypeError, match="floating point"):
        dt.tensor([1]).requires_grad_()
    y = leaf(1.0) * 2
    with pytest.raises(AutogradError, match="detach"):
        y.requires_grad = False


def test_broadcasting_is_undone() -> None:
    """Gradients have the shapes of the operands."""
    a = dt.ones(2, 1, 3, requires_grad=True)
    b = dt.ones(4, 1, requires_grad=True)
    (a * b).sum().backward()
    assert tuple(a.grad.shape) == (2, 1, 3)
    assert tuple(b.grad.shape) == (4, 1)
    assert a.grad.tolist()[0][0][0] == 4.0


@pytest.mark.parametrize("shape", [(3,), (1, 3), (4, 1), (1, 4, 3), (2, 1, 1), (1,)])
def test_gradients_are_summed_where_operands_were_broadcast(
    shape: tuple[int, ...],
) -> None:
    """Over dims that were added, over dims that were stretched, and over both."""
    whole = np.arange(24.0).reshape(2, 4, 3)
    x = dt.ones(shape, dtype=dt.float64, requires_grad=True)
    (found,) = dt.autograd.grad((x * dt.tensor(whole)).sum(), x, create_graph=True)
    added = whole.sum(tuple(range(3 - len(shape))))
    stretched = tuple(d for d, n in enumerate(shape) if n == 1)
    expected = added.sum(stretched, keepdims=True) if stretched else added
    assert found.shape == shape
    assert found.tolist() == expected.tolist()


def test_mixed_dtypes() -> None:
    """Gradients come back in each leaf's own dtype."""
    a = dt.ones(2, dtype=dt.float64, requires_grad=True)
    b = dt.ones(2, requires_grad=True)
    (a * b).sum().backward()
    assert a.grad.dtype is dt.float64
    assert b.grad.dtype is dt.float32


def test_no_reference_cycles() -> None:
    """Graphs die with their tensors, without the garbage collector."""
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        y = (x.exp() * x).sum()
        base = x * 1
        base[0].mul_(2)
        refs = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(base.grad_fn)]
        y.backward()
        del y, base
        assert [r() for r in refs] == [None, None, None]
    finally:
        gc.enable()


def test_deep_graphs() -> None:
    """Ten thousand nodes in a row neither recurse nor slow down."""
    x = leaf(1.0)
    y = x
    for _ in range(10_000):
        y = y + 1
    y.sum().backward()
    assert x.grad.tolist() == [1.0]
    del y


def test_threads_share_leaves() -> None:
    """Backward from several threads loses no gradient."""
    x = dt.zeros(1000, requires_grad=True)

    def run() -> None:
        for _ in range(20):
            (x + 1).sum().backward()

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert x.grad.tolist() == [80.0] * 1000


def test_inplace_on_expanded() -> None:
    """A tensor whose elements share memory is not written."""
    x = dt.zeros(1).expand(3)
    with pytest.raises(InplaceError, match=r"expanded.*clone\(\)"):
        x.add_(1)


def test_fill_and_zero_through_a_view() -> None:
    """Overwritten parts get no gradient."""
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[1].zero_()
    y[2:].fill_(7)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]


def test_subclasses_handle_calls() -> None:
    """__torch_function__ of a subclass sees the call; results take the class."""

    class Tagged(dt.Tensor):
        pass

    x = dt.tensor([1.0, 2.0]).as_subclass(Tagged)
    y = x + 1
    assert type(y) is Tagged
    assert y.tolist() == [2.0, 3.0]


def test_data_setter_keeps_identity() -> None:
    """`p.data = …` swaps the memory of a leaf that optimizers hold."""
    x = leaf(1.0, 2.0)
    x.data = dt.tensor([5.0, 6.0, 7.0])
    assert x.tolist() == [5.0, 6.0, 7.0]
    assert x.requires_grad
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_leaves_do_not_share_gradients() -> None:
    """Each leaf's gradient has memory of its own, and so has the caller's."""
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    given = dt.ones(2)
    (x + y).backward(given)
    x.grad.zero_()
    assert y.grad.tolist() == [1.0, 1.0]
    assert given.tolist() == [1.0, 1.0]
    z = dt.tensor(2.0, requires_grad=True)
    z.backward()
    z.grad.add_(5)
    w = dt.tensor(2.0, requires_grad=True)
    w.backward()
    assert w.grad.item() == 1.0


def test_views_from_before_a_change_of_geometry() -> None:
    """After t_() on a base, its older views look at the same memory, and say so."""
    x = dt.arange(6.0).view(2, 3).clone().requires_grad_()
    base = x * 1
    older = base[0]
    base.t_()
    assert base[0].tolist() == [0.0, 3.0]
    (older * dt.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [[1.0, 2.0, 3.0], [0.0, 0.0, 0.0]]


def test_writes_through_views_from_before_a_change_of_geometry() -> None:
    """What is written through an older view gets the gradient of where it lies."""
    constant, w = dt.zeros(2, 2), leaf(1.0, 2.0)
    view = constant[0]
    constant.t_()
    view.copy_(w)
    assert constant.tolist() == [[1.0, 0.0], [2.0, 0.0]]
    (constant * dt.tensor([[3.0, 4.0], [5.0, 6.0]])).sum().backward()
    assert w.grad.tolist() == [3.0, 5.0]


@pytest.mark.parametrize("dtype", [dt.float16, dt.bfloat16])
@pytest.mark.parametrize(
    "norm",
    [
        lambda x: F.layer_norm(x, (4,)),
        lambda x: F.layer_norm(x, (4,), weight=x[0, 0]),
        lambda x: F.rms_norm(x, (4,)),
        lambda x: F.group_norm(x, 3),
        lambda x: F.batch_norm(x, None, None, training=True),
    ],
)
def test_gradients_of_norms_have_their_inputs_dtype(norm: Any, dtype: Any) -> None:
    """Statistics in float32 widen nothing on the way back."""
    x = dt.randn(2, 3, 4).to(dtype).requires_grad_() * 1
    seen = []
    x.register_hook(lambda g: seen.append(g.dtype))
    norm(x).float().square().sum().backward()
    assert set(seen) == {dtype}


@pytest.mark.parametrize("write", ["scatter_add", "scatter"])
def test_nothing_written_to_a_tensor_without_dims(write: str) -> None:
    """No place named, no gradient to what would be written: one zero, without dims."""
    x, src = (dt.tensor(v, requires_grad=True) for v in (1.0, 2.0))
    none = dt.tensor([], dtype=dt.int64)
    getattr(x, write)(0, none, src).backward()
    assert x.grad is not None
    assert src.grad is not None
    assert (x.grad.item(), src.grad.item(), src.grad.shape) == (1.0, 0.0, ())


def test_gradients_asked_for_share_no_memory() -> None:
    """Writing one changes neither another nor the cotangent that was given."""
    x, y = (dt.ones(2, 3, requires_grad=True) for _ in range(2))
    ct = dt.ones(6)
    made = autograd.grad([(x + y).reshape(6)], [x, y], [ct])
    for gradient in made:
        assert gradient is not None
        gradient.fill_(7)
        assert ct.tolist() == [1.0] * 6
    first, second = autograd.grad([(x + y).reshape(6)], [x, y], [ct])
    assert first is not None
    assert second is not None
    first.fill_(7)
    assert second.tolist() == [[1.0] * 3] * 2


def test_quotients_of_16_bits_have_gradients_in_range() -> None:
    """What leaves the format on the way, and comes back, is not lost."""
    a = dt.tensor([200.0], dtype=dt.float16)
    b = dt.tensor([2e-3], dtype=dt.float16, requires_grad=True)
    (a / b).backward(dt.tensor([1e-3], dtype=dt.float16))
    assert b.grad is not None
    wide = [x.detach().double().item() for x in (a, b)]
    want = -dt.tensor([1e-3], dtype=dt.float16).double().item() * wide[0] / wide[1] ** 2
    assert b.grad.item() == pytest.approx(want, rel=2e-3)


def test_gradients_have_their_older_name() -> None:
    """`_grad` is `grad`, read, set and deleted, of leaves and of what was one."""
    x = dt.ones(2, requires_grad=True)
    assert x._grad is None
    x.sum().backward()
    assert x._grad is x.grad is not None
    x.requires_grad_(False)
    assert x._grad is x.grad is not None
    x._grad = dt.zeros(2)
    assert x.grad is x._grad
    del x._grad
    assert x.grad is None
