"""Files that torch wrote are read as torch reads them."""

from __future__ import annotations

import collections
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

DTYPES = (
    "float64", "float32", "float16", "bfloat16", "int64", "int32", "int16", "int8",
    "uint8", "bool", "complex64", "complex128", "uint16", "uint32", "uint64",
    "float8_e4m3fn", "float8_e5m2",
)  # fmt: skip


def _file(obj: Any, zipped: bool = True) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    return file


def _network() -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
        nn.Linear(4 * 36, 5), nn.LayerNorm(5),
    )  # fmt: skip


def _checkpoint() -> Any:
    net = _network()
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
    net(torch.randn(2, 3, 8, 8)).sum().backward()
    optimizer.step()
    schedule.step()
    return {
        "model": net.state_dict(), "optimizer": optimizer.state_dict(),
        "schedule": schedule.state_dict(), "epoch": 3, "loss": 0.5,
        "rng": torch.get_rng_state(), "args": ["a", None, True, 1j, b"x", {1, 2}],
    }  # fmt: skip


def _same(ours: Any, theirs: Any) -> None:
    """Values, dtypes, shapes, strides, flags and containers are alike."""
    if isinstance(theirs, torch.Tensor):
        assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
        assert tuple(ours.shape) == tuple(theirs.shape)
        if not theirs.is_neg():  # which is in memory of its own here
            assert ours.stride() == theirs.stride()
            assert ours.storage_offset() == theirs.storage_offset()
        assert ours.requires_grad == theirs.requires_grad
        assert isinstance(ours, dt.nn.Parameter) == isinstance(
            theirs, torch.nn.Parameter
        )
        wide = "float64" if theirs.is_floating_point() else str(theirs.dtype)[6:]
        own = theirs.detach().resolve_conj().resolve_neg().to(getattr(torch, wide))
        np.testing.assert_array_equal(
            ours.detach().to(getattr(dt, wide)).numpy(), own.numpy()
        )
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs)
        assert list(ours) == list(theirs)
        for key in theirs:
            _same(ours[key], theirs[key])
    elif isinstance(theirs, list | tuple) and not isinstance(theirs, torch.Size):
        assert type(ours) is type(theirs)
        for a, b in zip(ours, theirs, strict=True):
            _same(a, b)
    elif isinstance(theirs, torch.dtype | torch.device | torch.Size):
        assert str(ours).split(".")[-1] == str(theirs).split(".")[-1]
    else:
        assert ours == theirs


X = torch.arange(12.0).reshape(3, 4)
OBJECTS: dict[str, Any] = {
    **{d: torch.arange(6).reshape(2, 3).to(getattr(torch, d)) for d in DTYPES},
    "state": _network().state_dict(),
    "checkpoint": _checkpoint(),
    "parameters": list(_network().parameters()),
    "views": [X, X[1:, ::2], X.t(), X[0, 0], X[:0]],
    "kinds": (
        torch.float16, torch.device("cpu"), torch.Size([2, 3]),
        collections.Counter("aab"),
    ),
    "conjugate": torch.tensor([1 + 2j, 3 - 1j]).conj(),
    "negative": torch.tensor([1 + 2j, 3 - 1j]).conj().imag,
    "leaf": torch.ones(2, requires_grad=True),
    "nothing": [torch.zeros(0), torch.zeros(2, 0, 3), torch.tensor(3.0)],
    "expanded": torch.arange(3.0).expand(4, 3),
}  # fmt: skip


# The older format says a storage's dtype by a class, which these have not.
LATER: Any = ("uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2")
FILES = [(n, True) for n in OBJECTS] + [(n, False) for n in OBJECTS if n not in LATER]


@pytest.mark.parametrize(("name", "zipped"), FILES)
def test_what_torch_saved_is_loaded(name: str, zipped: bool) -> None:
    """With no code run, all is as torch loads it."""
    _same(
        dt.load(_file(OBJECTS[name], zipped)), torch.load(_file(OBJECTS[name], zipped))
    )


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "older"])
def test_shared_memory_is_shared_again(zipped: bool) -> None:
    """A write to one view is seen in the others."""
    whole = torch.arange(6.0)
    first, rest = dt.load(_file([whole, whole[2:]], zipped))
    rest.fill_(9)
    assert first.tolist() == [0, 1, 9, 9, 9, 9]


@pytest.mark.parametrize("mmap", [True, False])
def test_files_on_the_disk(mmap: bool, tmp_path: Path) -> None:
    """Also where values stay in the file, which writes do not reach."""
    path = tmp_path / "net.pt"
    net = _network()
    torch.save(net.state_dict(), path)
    state = dt.load(path, mmap=mmap)
    _same(state, net.state_dict())
    ours = dt.nn.Linear(4 * 36, 5)
    ours.load_state_dict({k[2:]: v for k, v in state.items() if k.startswith("4.")})
    state["4.bias"].zero_()
    _same(dt.load(path), net.state_dict())


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "older"])
def test_whole_modules_are_those_of_dovetail(zipped: bool) -> None:
    """Where the file is trusted, torch's classes are ours of the same name."""
    net = _network().eval()
    ours = dt.load(_file(net, zipped), weights_only=False)
    assert type(ours[0]) is dt.nn.Conv2d
    x = np.random.default_rng(0).standard_normal((2, 3, 8, 8)).astype(np.float32)
    np.testing.assert_allclose(
        ours(dt.tensor(x)).detach().numpy(), net(torch.tensor(x)).detach().numpy(),
        rtol=1e-4, atol=1e-5,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_sparse_tensors() -> None:
    """By their parts, coalesced where they were."""
    x = torch.eye(3)
    for sparse in (x.to_sparse(), x.to_sparse_csr()):
        found = dt.load(_file(sparse))
        assert found.to_dense().tolist() == x.tolist()
