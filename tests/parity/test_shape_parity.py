"""Views, copies under another shape and creation, beside torch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any


def values(result: Any) -> Any:
    """Results as nested lists and tuples of (dtype, array)."""
    if isinstance(result, tuple | list):
        return [values(r) for r in result]
    if hasattr(result, "detach"):
        plain = result.detach()
        plain = plain.resolve_conj() if isinstance(plain, torch.Tensor) else plain
        return str(result.dtype).rpartition(".")[2], plain.numpy()
    return result


def agree(ours: Any, theirs: Any, where: str = "") -> None:
    """Equal structure, dtypes, shapes and values."""
    if isinstance(theirs, list):
        assert len(ours) == len(theirs), where
        for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            agree(a, b, f"{where}[{i}]")
    elif isinstance(theirs, np.ndarray):
        assert ours.shape == theirs.shape, (
            f"{where}: {ours.shape}, torch {theirs.shape}"
        )
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6, err_msg=where)
    elif isinstance(theirs, tuple):
        agree(list(ours), list(theirs), where)
    else:
        assert ours == theirs, f"{where}: {ours}, torch {theirs}"


def array(dtype: str, shape: tuple[int, ...]) -> Any:
    """Numbers from -7 upwards, each once."""
    numbers = np.arange(int(np.prod(shape))).reshape(shape) - 7
    return numbers % 2 == 0 if dtype == "bool" else numbers.astype(dtype)


SHAPE = (2, 3, 4)
# One line a call: what is written with T for the library and x, of shape (2, 3, 4).
VIEWS = """
x.transpose(0, -1) | T.swapaxes(x, 1, 2) | x.swapdims(0, 1) | x[0].t() | x[0, 0].t()
x[0, 0, 0].t() | x.permute(2, 0, 1) | x.permute((1, 0, 2)) | T.permute(x, (0, 2, 1))
x.permute(dims=(2, 1, 0)) | T.movedim(x, 0, 2) | T.moveaxis(x, (0, 1), (-1, 0))
x.unsqueeze(0) | x.unsqueeze(-1) | T.unsqueeze(x, 2) | x[:1].squeeze()
x[:1].squeeze(0) | x[:1, :1].squeeze((0, 1, 2)) | x.select(1, -1) | T.select(x, 2, 3)
x.narrow(2, 1, 2) | T.narrow(x, 1, -2, 2) | x.split(2, 2) | T.split(x, [1, 2], dim=1)
x.chunk(3, 2) | T.chunk(x, 2, -1) | x.unbind(1) | T.tensor_split(x, 3, 2)
x.tensor_split((1, 3), 2) | T.hsplit(x, 3) | T.vsplit(x, 2) | T.dsplit(x, [1, 3])
x.split_with_sizes([1, 1]) | x.flatten() | x.flatten(1) | T.flatten(x, 0, 1)
x.unflatten(2, (2, -1)) | T.ravel(x.transpose(0, 2)) | x[0, 0, 0].flatten()
x.view(6, 4) | x.view(-1) | x.view(size=(4, 6)) | x.reshape(4, -1)
x.transpose(0, 1).reshape(-1) | T.reshape(x, (3, 8)) | x.view_as(x.view(4, 6))
x.reshape_as(x.view(-1)) | x[:, :1].expand_as(x) | x.diagonal()
T.diagonal(x, 1, 1, 2) | x.diagonal(-2, -1, 0) | x.unfold(2, 2, 1) | x.unfold(1, 2, 2)
x.unfold(-1, 4, 3) | x.as_strided((2, 3), (3, 1)) | x.as_strided((2, 2), (1, 1), 5)
T.as_strided(x, (3,), (0,), 2) | x[:, :1].expand(2, 3, 4) | x.expand(5, -1, -1, -1)
T.broadcast_to(x, (1, 2, 3, 4)) | T.broadcast_tensors(x, x[:1])
T.broadcast_tensors(x[0, 0], x[:, :1, :1]) | T.atleast_1d(x[0, 0, 0])
T.atleast_2d(x[0, 0]) | T.atleast_3d(x[0], x[0, 0]) | x[0].T | x.mT | x[0].H
x.adjoint() | x.mH | x[..., None, 1:3] | x[1] | x[-1, 1:] | x[:, ::2, None]
T.meshgrid(x[0, 0], x[0, 1], indexing="xy")
T.meshgrid(x[0, 0], x[0, 1, :2], indexing="ij")
"""
COPIES = """
T.cat([x, x], 1) | T.cat((x, x[:, :, :0], x), -1) | T.concat([x], 0)
T.cat([x, T.zeros(0).to(x.dtype)], 1) | T.concatenate([x, x], axis=2)
T.stack([x, x, x], -1) | T.stack([x, x]) | T.hstack([x, x])
T.hstack([x[0, 0], x[0, 0]]) | T.vstack([x[0, 0], x[0, 1]]) | T.row_stack([x, x])
T.dstack([x[0], x[1]]) | T.column_stack([x[0, 0], x[0, 1]])
T.column_stack([x[0], x[1]]) | T.block_diag(x[0], x[0, 0]) | x.repeat(2, 1, 1)
x.repeat(2, 1, 1, 3) | x.tile(2) | T.tile(x, (2, 1, 1, 1)) | x.flip(0, 2)
T.flip(x, (1,)) | T.fliplr(x) | T.flipud(x) | x.roll(1, 2)
T.roll(x, (1, -5), (0, 2)) | x.roll(3) | T.rot90(x) | T.rot90(x, 3, (1, 2))
x.rot90(-2, [0, 2]) | T.rot90(x, 0) | x.tril() | T.triu(x, 1) | x.triu(-1)
T.repeat_interleave(x, 2) | x.repeat_interleave(2, 1)
x.repeat_interleave(T.tensor([1, 0, 2]), 1) | T.diag(x[0, 0]) | T.diag(x[0], -1)
x[0].diag(2) | T.diagflat(x[0], 1) | T.diag_embed(x) | T.diag_embed(x[0], 1, 0, 2)
T.cartesian_prod(x[0, 0], x[0, 1]) | x.clone() | x.transpose(0, 1).contiguous()
T.nn.functional.pad(x, (1, 2), value=3) | T.nn.functional.pad(x, (0, 1, -1, 2, 1, 0))
x.narrow_copy(1, 0, 2)
"""
FLOAT_ONLY = """
T.nn.functional.pad(x, (2, 1), "reflect")
T.nn.functional.pad(x, (2, 1, 1, 0), "replicate")
T.nn.functional.pad(x[None], (2, 1, 1, 2), "circular") | x[0].trace()
x.sum_to_size(1, 3, 1)
"""


def lines(text: str) -> list[str]:
    """The calls of a table."""
    return [
        c.strip() for line in text.splitlines() for c in line.split(" | ") if c.strip()
    ]


def run(library: Library, call: str, x: Any) -> Any:
    """The result of a call written in a table."""
    return eval(call, {"T": library, "x": x})


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64"])
def test_values(dtype: str) -> None:
    """Each call gives torch's shapes, dtypes and values."""
    host = array(dtype, SHAPE)
    for call in lines(VIEWS) + lines(COPIES):
        ours, theirs = (run(t, call, t.tensor(host)) for t in (dovetail, torch))
        agree(values(ours), values(theirs), call)
        if isinstance(theirs, tuple):
            assert type(ours) is tuple, call


@pytest.mark.parametrize("call", lines(VIEWS) + lines(COPIES) + lines(FLOAT_ONLY))
def test_gradients(call: str) -> None:
    """The gradient of a weighted sum of the results is torch's."""
    found = []
    for library in (dovetail, torch):
        x = library.tensor(array("float64", SHAPE), requires_grad=True)
        result = run(library, call, x)
        parts = result if isinstance(result, tuple | list) else [result]
        total = 0
        for i, y in enumerate(parts):
            weights = np.cos(np.arange(y.numel()) + i).reshape(tuple(y.shape))
            total = total + (y * y * library.tensor(weights)).sum()
        total.backward()
        found.append(x.grad.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("call", lines(VIEWS))
def test_views_share_memory(call: str) -> None:
    """A write through a view shows in the base exactly where it does in torch."""
    bases = []
    for library in (dovetail, torch):
        x = library.tensor(array("float64", SHAPE))
        result = run(library, call, x)
        first = result[0] if isinstance(result, tuple | list) else result
        if call.startswith(("T.meshgrid", "T.broadcast", "T.as_strided")) or (
            "expand" in call or "1), 5" in call or "unfold" in call
        ):
            first = first[..., :1] if first.ndim == 1 else first.diagonal()[..., :1]
            first = first.flatten()[:1] if "expand" in call else first
        if first.numel() and not any(
            s == 0 and n > 1 for s, n in zip(first.stride(), first.shape, strict=True)
        ):
            first.fill_(99)
        bases.append(x.numpy())
    np.testing.assert_array_equal(*bases)


WRITES = """
y.transpose(0, 1)[1].mul_(2) | y.view(-1)[3:9].add_(w.reshape(-1)[3:9])
y.diagonal().copy_(w.diagonal()) | y[:, 1].fill_(5)
y[:, 1:, ::2].mul_(w[:, 1:, ::2]) | y.flatten()[1::2].zero_()
y.unfold(2, 2, 2)[..., 0].mul_(w[..., ::2]) | y.as_strided((2, 4), (12, 1), 4).mul_(3)
y.narrow(2, 2, 2).sub_(w[:, :, 2:]) | y.squeeze_().mul_(w) | y.unsqueeze_(0).mul_(w)
y.transpose_(0, 2).mul_(w.transpose(0, 2)) | y.tril_() | y.triu_(1)
y.select(0, 1).t_().mul_(w[1].t()) | y.permute(2, 0, 1).reshape(-1)[:4].mul_(2)
y.select(1, 2).mul_(w[:, 0]) | y[1].view(2, 6).T[2].mul_(w[0, 0, :2])
y.swapaxes_(0, 1)[0].mul_(4)
"""


@pytest.mark.parametrize("call", lines(WRITES))
def test_gradient_through_writes(call: str) -> None:
    """Writes through views reach the base, its values and its gradient, as in torch."""
    found = []
    for library in (dovetail, torch):
        x = library.tensor(array("float64", SHAPE), requires_grad=True)
        w = library.tensor(np.sin(array("float64", SHAPE)), requires_grad=True)
        y = x * 1
        eval(call, {"y": y, "w": w, "T": library})
        weights = library.tensor(np.cos(np.arange(24.0)).reshape(tuple(y.shape)))
        (y * y * weights).sum().backward()
        grads = [x.grad.numpy(), np.zeros(1) if w.grad is None else w.grad.numpy()]
        found.append([y.detach().numpy(), *grads])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


CREATED = """
T.zeros(2, 3) | T.ones((2,), dtype=T.int32) | T.full((2, 2), 7) | T.full((2,), 1.5)
T.full((), True) | T.zeros_like(x, dtype=T.int64) | T.arange(5) | T.arange(1, 9, 2)
T.arange(0, 1, 0.25) | T.arange(5.0, 0, -1.5) | T.arange(3, dtype=T.float64)
T.arange(0.5, 4.7, dtype=T.int64) | T.linspace(0, 1, 5)
T.linspace(-3, 11, 7, dtype=T.float64) | T.linspace(1, 9, 4, dtype=T.int64)
T.linspace(2, 3, 1) | T.linspace(2, 3, 0) | T.logspace(-1, 2, 4)
T.logspace(0, 4, 5, base=2, dtype=T.int64) | T.eye(3) | T.eye(2, 4, dtype=T.bool)
T.tril_indices(3, 4) | T.tril_indices(4, 3, -1) | T.triu_indices(3, 4, 1)
T.tensor([T.ones(1)]) | T.tensor([[1.0, T.ones(1, 1)], [2.0, 3.0]])
T.scalar_tensor(3) | T.tensor([[1, 2], [3, 4]]) | T.tensor(2.5)
T.frombuffer(bytearray(range(8)), dtype=T.int16)
T.frombuffer(bytearray(12), dtype=T.uint8, count=3, offset=2) | x.new_zeros(2, 2)
x.new_tensor([1, 2]) | x.new_full((2,), 3.0) | x.new_ones((3,), dtype=T.int32)
T.empty(0, 3) | T.empty_strided((2, 3), (1, 2)).zero_() | T.as_tensor([1.0, 2.0])
T.from_dlpack(np.arange(3)) | T.tensor(True)
"""


@pytest.mark.parametrize("call", lines(CREATED))
def test_creation(call: str) -> None:
    """Created tensors have torch's dtypes and values."""
    found = []
    for library in (dovetail, torch):
        x = library.tensor(array("float32", (2, 3)))
        found.append(values(eval(call, {"T": library, "x": x, "np": np})))
    agree(*found, call)


REFUSED = """
x.view(5) | x.transpose(0, 1).view(-1) | x.reshape(5, -1) | x.unsqueeze(5)
x.squeeze(3) | x.select(0, 2) | x.narrow(0, 1, 2) | x.split(0) | x.split([1, 2])
x.chunk(0) | x.permute(0, 1) | x.permute(0, 0, 1) | x.expand(2, 2, 4) | x.t()
x.diagonal(0, 1, 1) | x.unfold(0, 3, 1) | x.unfold(0, 1, 0) | T.cat([])
T.cat([x, x[0]]) | T.stack([x, x[:1]]) | T.cat([x[0, 0, 0]]) | x.repeat(2)
x.roll((1, 2), 0) | T.rot90(x, 1, (0, 0)) | x[0, 0].tril() | x.flip(0, 0) | T.diag(x)
x.as_strided((2,), (1, 1)) | T.arange(1, 5, -1) | T.linspace(0, 1, -1) | T.zeros(-1)
x.unflatten(0, (3, 2)) | x.flatten(2, 1) | x[5] | x[0, 0, 0, 0] | x[::-1]
T.nn.functional.pad(x, (4, 4), "reflect") | T.nn.functional.pad(x, (1,)) | x.trace()
T.meshgrid(x[0]) | T.frombuffer(b"1234", dtype=T.int64)
T.broadcast_shapes((2,), (3,)) | x[0].repeat_interleave(T.tensor([1, 2]), 0)
T.tensor([[1], [2, 3]]) | x.unbind(3)
"""


@pytest.mark.parametrize("call", lines(REFUSED))
def test_refusals(call: str) -> None:
    """What torch refuses is refused, with an error of the same builtin kind."""
    kinds = (RuntimeError, ValueError, IndexError, TypeError)
    with pytest.raises(kinds):
        run(torch, call, torch.zeros(SHAPE))
    with pytest.raises(kinds) as refused:
        run(dovetail, call, dovetail.zeros(SHAPE))
    assert isinstance(refused.value, dovetail.errors.DovetailError), refused.value


def test_protocols() -> None:
    """Python's and NumPy's protocols see the values."""
    x = dovetail.tensor([[1.5, 2.0], [3.0, 4.0]])
    assert 3.0 in x
    assert 9 not in x
    assert f"{x[0, 0]:.2f}" == "1.50"
    assert np.asarray(x).tolist() == x.tolist()
    assert np.asarray(x).ctypes.data == x.data_ptr()
    assert np.array(x, dtype="float64").dtype == np.float64
    assert np.from_dlpack(x).tolist() == x.tolist()
    assert complex(x[0, 0]) == 1.5 + 0j
    assert x.nbytes == 16
    assert x.is_floating_point()
    assert not dovetail.is_complex(x)
    assert [row.tolist() for row in reversed(x)] == [[3.0, 4.0], [1.5, 2.0]]
    for copied in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert copied.tolist() == x.tolist()
        assert copied.data_ptr() != x.data_ptr()


def test_view_of_another_dtype() -> None:
    """The same memory under another dtype, also of another width."""
    for shape, dtype in (((3,), "int32"), ((2, 4), "float64"), ((4,), "uint8")):
        host = np.arange(int(np.prod(shape)), dtype="float32").reshape(shape)
        ours, theirs = dovetail.tensor(host), torch.tensor(host)
        a, b = (
            t.view(getattr(m, dtype)) for t, m in ((ours, dovetail), (theirs, torch))
        )
        assert a.tolist() == b.tolist()
        a.fill_(1)
        b.fill_(1)
        assert ours.tolist() == theirs.tolist()


def test_resize() -> None:
    """A tensor keeps its elements in row-major order when it is resized."""
    x = dovetail.arange(6.0).reshape(2, 3).clone()
    assert x.resize_(2, 2).tolist() == [[0.0, 1.0], [2.0, 3.0]]
    assert x.resize_(3, 2).shape == (3, 2)
    assert x.flatten()[:4].tolist() == [0.0, 1.0, 2.0, 3.0]
