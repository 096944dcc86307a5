"""Calls as published programs spell them, beside torch."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import MethodType
from typing import Any

import pytest
import torch

import dovetail as dt
from dovetail import errors

FRAMES = (torch, dt)
SIZES = (
    "zeros(size=(2, 3))", "ones(size=[2, 3])", "ones(size=())", "rand(size=(2,))",
    "randn(size=(2, 3), dtype=L.float64)", "empty(size=L.Size([4]))",
    "empty(size=(2,), memory_format=L.contiguous_format)",
    "Tensor(size=[2, 3])", "Tensor(size=(2, 3), device='cpu')", "Tensor(data=[2, 3])",
    "Tensor(other=L.ones(2))", "LongTensor(size=(0, 2))", "LongTensor(data=[1, 2])",
    "ones(1).long().new(size=(2,))", "ones(3).resize_(size=(2, 1))",
    "ones(2, 3).sum_to_size(size=(1, 3))", "ones(2, 3).sum_to_size(2, 1)",
    "zeros(size=(2,), requires_grad=True)", "ones(1).new_zeros(size=(2, 3))",
    "ones(1).new_ones(size=[2])", "ones(1).new_empty(size=(0, 2))",

)  # fmt: skip
REFUSED = (
    "zeros(size=3)", "zeros(size=None)", "zeros(2, size=(3,))", "zeros()",
    "Tensor(size=3)", "Tensor(2, size=[0])", "Tensor(data=3)", "Tensor(sequence=[3])",
    "Tensor(data=L.ones(2))", "ones(3).resize_(2, size=(2,))", "Tensor(other=[2])",
    "ones(3).sum_to_size(1, size=(2,))", "ones(3).resize_(size=1)",
    "ones(2).new_zeros(size=3)", "zeros_like(L.ones(2), size=3)",
)  # fmt: skip
VARIABLES = (
    "V(z)", "V(z, requires_grad=False)", "V(z, requires_grad=True)", "V(x)", "V(y)",
    "V(y, True)", "V(data=y, requires_grad=True)", "V(y, volatile=True)", "V(y, 0)",
    "V(L.nn.Parameter(y))", "V()", "V(n)", "V(n, requires_grad=False)",
)  # fmt: skip
NO_VARIABLES = (
    "V(3)",
    "V([1, 2])",
    "V(2, 3)",
    "V(y, None)",
    "V(n, requires_grad=True)",
)


OLDER = (
    "L.add(a, 2, b)", "a.add(2, b)", "a.add_(2, b)", "a.sub(0.5, b)", "a.sub_(2, b)",
    "L.sub(a, 2, b)", "a.add(2, 3)", "a.add_(L.tensor(2.0), b)",
    "L.addcmul(a, 0.5, b, b)", "a.addcmul(0.5, b, b)", "a.addcmul_(0.5, b, b)",
    "L.addcdiv(a, 0.5, b, b)", "a.addcdiv(0.5, b, b)", "a.addcdiv_(-0.5, b, b)",
    "L.addmm(2, a, 3, b, b)", "L.addmm(2, a, b, b)", "a.addmm(2, 3, b, b)",
    "a.addmm(2, b, b)", "a.addmm_(2, 3, b, b)", "a.addmm_(2, b, b)",
    "L.addmv(2, v, 3, b, v)", "v.addmv_(2, 3, b, b[0])", "L.addr(2, a, 3, v, v)",
    "a.addr_(2, 3, v, v)", "L.baddbmm(2, a[None], 3, b[None], b[None])",
    "L.addbmm(2, a, 3, b[None], b[None])", "L.add(a, 2, b, out=a)", "a.add(b)",
    "a.addcmul(b, b, value=2)", "a.addcmul_(b, b)", "a.add_(b, alpha=2)",
    "L.clamp(a, 0, L.tensor(2.0))", "a.clamp_(L.tensor(2), 4)",
    "a.long().clip(0, v[1])", "a.long().clamp_(0, L.tensor(2))",
    "a.clamp(min=L.tensor(2.5), max=3)",
    "a.add(other=b)", "a.add_(other=b)", "L.sub(input=a, other=b, alpha=3)",
)  # fmt: skip
NOT_OLDER = (
    "L.add(a, 2, b, alpha=3)",
    "a.addcmul(0.5, b, b, value=2)",
    "L.addmm(2, a, b, b, beta=3)",
    "a.add(b, 2)",
    "a.add(b, b)",
    "a.mul(2, b)",
    "a.add(1, 2, 3)",
    "a.clamp(0, b)",
    "a.clamp(0, v[:1])",
    "a.clamp(0, v[0].clone().requires_grad_())",
    "a.sub_(b, b)",
)
GRADS = (
    "grad(y, x, only_inputs=True)", "grad(y, x, None, True, False, True, True)",
    "grad(outputs=y, inputs=[x], create_graph=True, only_inputs=True)",
    "grad(y, [x, w], None, None, False, True, True)",
    "backward(y, None, None, False, None, [x])",
)  # fmt: skip


def said(lib: Any, call: str) -> Any:
    """What a library makes of a call."""
    return eval(f"L.{call}", {"L": lib})


@pytest.mark.parametrize("call", SIZES)
def test_sizes_may_be_given_by_name(call: str) -> None:
    theirs, ours = [said(lib, call) for lib in FRAMES]
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
    assert ours.requires_grad == theirs.requires_grad


@pytest.mark.parametrize("call", REFUSED)
def test_what_is_no_size_is_refused(call: str) -> None:
    for lib in FRAMES:
        with pytest.raises(TypeError):
            said(lib, call)


def variable(lib: Any, call: str) -> Any:
    x = lib.ones(2, requires_grad=True)
    values = {
        "L": lib, "V": lib.autograd.Variable, "x": x, "z": x * 2, "y": lib.zeros(2),
        "n": lib.arange(3),
    }  # fmt: skip
    return eval(call, values)


@pytest.mark.filterwarnings("ignore:volatile:UserWarning")
@pytest.mark.parametrize("call", VARIABLES)
def test_variables_are_leaves_of_their_own(call: str) -> None:
    def facts(v: Any) -> list[Any]:
        named = v.requires_grad, v.is_leaf, v.grad_fn is None, type(v).__name__
        return [*named, v.tolist()]

    assert facts(variable(dt, call)) == facts(variable(torch, call))


@pytest.mark.parametrize("call", NO_VARIABLES)
def test_what_makes_no_variable_is_refused(call: str) -> None:
    for lib in FRAMES:
        with pytest.raises((TypeError, RuntimeError)):
            variable(lib, call)
    with pytest.raises(errors.DovetailError):
        variable(dt, call)


def test_variables_share_memory_and_versions() -> None:
    for lib in FRAMES:
        y = lib.zeros(2)
        v = lib.autograd.Variable(y)
        v.add_(1)
        assert y.tolist() == [1, 1]
        assert y._version == v._version == 1
        assert isinstance(y, lib.autograd.Variable)
        assert not isinstance(3, lib.autograd.Variable)
        assert lib.autograd.Variable is not lib.Tensor


def operands(lib: Any) -> dict[str, Any]:
    rows = lib.tensor([[1.0, 2.0], [3.0, 5.0]])
    return {"L": lib, "a": rows.clone(), "b": rows / 2, "v": rows[0].clone()}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", OLDER)
def test_numbers_may_come_before_tensors_as_they_once_did(call: str) -> None:
    theirs, ours = [eval(call, operands(lib)) for lib in FRAMES]
    assert ours.tolist() == theirs.tolist()
    # and again, when the types are known
    assert eval(call, operands(dt)).tolist() == theirs.tolist()


@pytest.mark.parametrize("call", NOT_OLDER)
def test_other_orders_are_refused(call: str) -> None:
    for lib in FRAMES:
        with pytest.raises(TypeError):
            eval(call, operands(lib))


@pytest.mark.parametrize("call", GRADS)
def test_gradients_are_asked_for_in_torchs_order(call: str) -> None:
    def found(lib: Any) -> list[Any]:
        x, w = lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)
        values = {"x": x, "w": w, "y": (x * x).sum()}
        grads = eval(f"L.autograd.{call}", {"L": lib, **values}) or [x.grad, w.grad]
        return [None if g is None else (g.tolist(), g.requires_grad) for g in grads]

    assert found(dt) == found(torch)


def test_older_names_of_cotangents() -> None:
    for lib in FRAMES:
        x = lib.ones(2, requires_grad=True)
        with pytest.warns(FutureWarning):
            lib.autograd.backward(x * 2, grad_variables=lib.ones(2))
        assert x.grad.tolist() == [2, 2]
        with pytest.warns(FutureWarning):
            lib.autograd.grad((x * 2).sum(), x, only_inputs=False)
        with pytest.raises(RuntimeError), pytest.warns(FutureWarning):
            lib.autograd.backward(x * 2, lib.ones(2), grad_variables=lib.ones(2))


@pytest.mark.parametrize("given", ["high=3", "3", "1, 3", "low=1, high=3"])
def test_random_integers_like_another_tensor(given: str) -> None:
    like = dt.zeros(2, 3, 4, 5).to(memory_format=dt.channels_last)
    made = eval(f"L.randint_like(x, {given})", {"L": dt, "x": like})
    theirs = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
    theirs = eval(f"L.randint_like(x, {given})", {"L": torch, "x": theirs})
    assert made.stride() == theirs.stride()
    assert 0 <= made.min().item() <= made.max().item() <= 2
    plain = dt.randint_like(like, 3, memory_format=dt.contiguous_format)
    assert plain.is_contiguous()
    with pytest.raises(TypeError):
        dt.randint_like(like)


def test_optimizers_that_wrap_others_need_no_hooks() -> None:
    """Some never call the constructor that makes the tables."""
    for lib in FRAMES:
        inner = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=0.1)

        class Wrapping(lib.optim.Optimizer):  # type: ignore[name-defined,misc]
            def __init__(self, inner: Any) -> None:
                self.inner, self.param_groups = inner, inner.param_groups

            def step(self, closure: Any = None) -> str:
                self.inner.step(closure)
                return "done"

        assert Wrapping(inner).step() == "done"


def test_forwards_are_called_with_objects_that_are_no_modules() -> None:
    class Scope:
        pass

    for lib in FRAMES:
        scope: Any = Scope()
        layer = lib.nn.Conv2d(1, 2, 3, padding=1)
        vars(scope).update(vars(layer), weight=layer.weight, bias=layer.bias)
        scope._conv_forward = MethodType(type(layer)._conv_forward, scope)
        x = lib.ones(1, 1, 4, 4)
        assert (type(layer).forward(scope, x) == layer(x)).all()


def test_modules_of_layers_take_a_format_of_images() -> None:
    """Parameters of four dims take it; those of others stay as they are."""

    def strides(lib: Any) -> Any:
        net = lib.nn.Sequential(lib.nn.Conv2d(2, 3, 3), lib.nn.BatchNorm2d(3))
        net.append(lib.nn.Conv1d(2, 2, 2)).to(memory_format=lib.channels_last)
        return [p.stride() for p in (*net.parameters(), *net.buffers())]

    assert strides(dt) == strides(torch)
    for lib in FRAMES:
        with pytest.raises(RuntimeError):
            lib.nn.Conv3d(1, 1, 1).to(memory_format=lib.channels_last)


def test_bits_of_what_has_a_gradient_are_seen_without_one() -> None:
    """And written, which the tape notices."""
    for lib in FRAMES:
        x = lib.ones(2, requires_grad=True)
        bits = x.view(lib.int32)
        assert not bits.requires_grad
        assert bits.is_leaf
        bits.add_(1)
        assert x._version == 1
        y = x * 2
        z = y * y
        y.view(lib.uint8).zero_()
        assert y.tolist() == [0.0, 0.0]
        with pytest.raises(RuntimeError):
            z.sum().backward()


SPARSE = (
    "F(i, v, L.Size([2, 3])).to_dense().tolist()", "tuple(F(i, v).shape)",
    "tuple(F(2, 3).shape)", "tuple(F().shape)", "tuple(F(L.Size([2, 2])).shape)",
    "tuple(F(i, L.ones(2, 3)).shape)", "F(i, v.requires_grad_()).requires_grad",
    "L.sparse.LongTensor(i, i[0]).to_dense().tolist()", "F(i, v).type()",
    "isinstance(F(2, 3), F)", "isinstance(v, F)",
    "isinstance(L.sparse.LongTensor(2, 2), F)",
    "tuple(F(indices=i, values=v).shape)", "L.sparse.DoubleTensor(2, 3).sum().item()",
)  # fmt: skip


def _of_sparse(lib: Any, call: str) -> Any:
    values = {"i": lib.tensor([[0, 1], [1, 0]]), "v": lib.tensor([2.0, 3.0])}
    return eval(call, {"L": lib, "F": lib.sparse.FloatTensor, **values})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", SPARSE)
def test_sparse_tensors_by_their_older_names(call: str) -> None:
    assert _of_sparse(dt, call) == _of_sparse(torch, call)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("call", ["F(i, [1.0, 2.0])", "F(i, v, 2, 3)", "F(i)"])
def test_what_makes_no_sparse_tensor_is_refused(call: str) -> None:
    for lib in FRAMES:
        with pytest.raises((TypeError, RuntimeError)):
            _of_sparse(lib, call)


def _product(lib: Any) -> Any:
    """A product of a sparse matrix, as implementations of graph attention have it."""

    class Product(lib.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, places: Any, values: Any, b: Any) -> Any:
            a = lib.sparse_coo_tensor(places, values, (2, 2))
            ctx.save_for_backward(a, b)
            return lib.matmul(a, b)

        @staticmethod
        def backward(ctx: Any, ct: Any) -> Any:
            a, b = ctx.saved_tensors
            rows, columns = a._indices()
            return None, ct.matmul(b.t())[rows, columns], a.t().matmul(ct)

    return Product


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_functions_keep_sparse_tensors() -> None:
    """Which come back as they were, or are refused where they were written."""
    for lib in FRAMES:
        places, b = lib.tensor([[0, 1], [1, 0]]), lib.ones(2, 2, requires_grad=True)
        values = lib.tensor([2.0, 3.0], requires_grad=True)
        _product(lib).apply(places, values, b).sum().backward()
        assert values.grad.tolist() == [2.0, 2.0]
        assert b.grad.tolist() == [[3.0, 3.0], [2.0, 2.0]]
        with lib.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            y = _product(lib).apply(places, values, b)
        y.sum().backward()
        assert values.grad.tolist() == [4.0, 4.0]
    y = _product(dt).apply(places, values, b)
    with dt.no_grad():
        values.mul_(2)
    with pytest.raises(errors.AutogradError, match="modified by an inplace"):
        y.sum().backward()  # where torch computes with the new values


def test_functions_refuse_sparse_arguments_that_need_gradients() -> None:
    """Not to lose the gradient; torch gives it."""
    places, values = dt.tensor([[0], [1]]), dt.ones(1, requires_grad=True)
    a = dt.sparse_coo_tensor(places, values, (2, 2))
    with pytest.raises(errors.NotSupported, match="sparse, and requires gradients"):
        _product(dt).apply(places, a, values)


@pytest.mark.parametrize(
    "how",
    ["{}", "dict(_use_new_zipfile_serialization=False)", "dict(pickle_protocol=2)",
     "dict(pickle_module=pickle)"],
)  # fmt: skip
def test_files_are_asked_for_as_pickles(how: str, tmp_path: Path) -> None:
    """What tells torch how to pickle changes nothing in a file that is none."""
    for lib in FRAMES:
        path = tmp_path / lib.__name__
        lib.save({"a": lib.ones(2)}, path, **eval(how))
        for found in (
            lib.load(path, "cpu", pickle, weights_only=False),
            lib.load(path, map_location=None, weights_only=None),
            lib.load(path, pickle_module=None, mmap=False),
        ):
            assert found["a"].tolist() == [1.0, 1.0]
    with pytest.raises(errors.NotSupported, match="pickle_module"):
        dt.load(path, None, Path)


def test_types_may_be_the_class_of_tensors() -> None:
    """Which means the default dtype; and what devices are in use has its older name."""
    for lib in FRAMES:
        assert lib.ones(2, dtype=lib.float64).type(lib.Tensor).dtype == lib.float32
        before = lib.get_default_dtype()
        lib.set_default_dtype(lib.float64)
        try:
            assert lib.ones(2).float().type(lib.Tensor).dtype == lib.float64
        finally:
            lib.set_default_dtype(before)
        with pytest.raises((ValueError, TypeError)):
            lib.ones(2).type(lib.nn.Parameter)
        assert lib.cuda._initialized is lib.cuda.is_initialized()


@pytest.mark.parametrize("room", ["transforms", "constraints"])
def test_rooms_of_distributions_have_torchs_names(room: str) -> None:
    """Which programs take by their list, wherever they are defined here."""
    theirs, ours = [getattr(lib.distributions, room) for lib in FRAMES]
    assert set(ours.__all__) == set(theirs.__all__)
    assert all(hasattr(ours, name) for name in ours.__all__)
    assert not hasattr(ours, "sofmax")


def test_names_of_types_are_torchs() -> None:
    """Tensors by their dtype; what is Python's own without a module."""
    for lib in FRAMES:
        asked = lib.ones(2), lib.ones(2).int(), 3, int, len, [1]
        assert [lib.typename(x) for x in asked] == [
            "torch.FloatTensor", "torch.IntTensor", "int", "int", "len", "list",
        ]  # fmt: skip
        assert lib.typename(lib.nn.Linear).endswith("linear.Linear")
