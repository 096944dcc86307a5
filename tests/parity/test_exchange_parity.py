"""Copies, pickles and shared memory, beside PyTorch's."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dovetail
from dovetail import dtypes

BOTH = (dovetail, torch)
VIEWS: dict[str, Callable[[Any], Any]] = {
    "whole": lambda x: x,
    "transposed": lambda x: x.t(),
    "sliced": lambda x: x[1:, ::2],
    "expanded": lambda x: x[:1].expand(3, 4),
    "element": lambda x: x[1, 1],
    "empty": lambda x: x[3:],
}


def of(library: Any, dtype: str) -> Any:
    """The same small matrix in either library."""
    return library.tensor([[1, 0, 3, 1], [0, 5, 6, 0], [9, 1, 0, 2]]).to(
        getattr(library, dtype)
    )


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [d.name for d in dtypes.ALL])
def test_torch_sees_our_memory(dtype: str, view: str) -> None:
    """PyTorch's tensor over ours has dtype, strides and values, and writes through."""
    x = of(dovetail, dtype)
    y = VIEWS[view](x)
    theirs = torch.from_dlpack(y)
    assert str(theirs.dtype) == f"torch.{dtype}"
    assert (theirs.stride(), theirs.tolist()) == (y.stride(), y.tolist())
    if y.numel():
        assert theirs.data_ptr() == y.data_ptr()
    legacy = torch.from_dlpack(y.__dlpack__())
    if view != "expanded":
        legacy.fill_(1)
    del theirs, legacy
    if view != "expanded":
        assert set(y.flatten().tolist()) <= {1}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [d.name for d in dtypes.ALL])
def test_we_see_torchs_memory(dtype: str, view: str) -> None:
    """Our tensor over PyTorch's has dtype, strides and values, and writes through."""
    x = of(torch, dtype)
    y = VIEWS[view](x)
    for lent in (y, y.__dlpack__(), y.__dlpack__(max_version=(1, 0))):
        ours = dovetail.from_dlpack(lent)
        assert ours.dtype.name == dtype
        assert ours.tolist() == y.tolist()
        if y.numel():  # NumPy gives strides of its own to what has no elements
            assert ours.stride() == y.stride()
        if y.numel() and view != "expanded":
            ours.fill_(1)
            assert set(y.flatten().tolist()) == {1}
    del x, y, lent
    assert ours.tolist() == ours.clone().tolist()


def test_both_refuse_to_lend_gradients() -> None:
    """Both raise a BufferError for what requires grad."""
    for library in BOTH:
        x = library.ones(2, requires_grad=True)
        for y in (x, x * 2):
            with pytest.raises(BufferError):
                y.__dlpack__()


def test_copies_asked_for() -> None:
    """`copy` and `device` mean the same."""
    for library in BOTH:
        host = np.zeros(2)
        library.from_dlpack(host, copy=True).fill_(1)
        assert host.tolist() == [0.0, 0.0]
        library.from_dlpack(host, device="cpu").fill_(2)
        assert host.tolist() == [2.0, 2.0]


COPIED: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
}


def state(x: Any) -> Any:
    """All that copying may keep of a tensor."""
    return (
        type(x).__name__, str(x.dtype).rpartition(".")[2], tuple(x.shape), x.stride(),
        x.tolist(), x.requires_grad, x.is_leaf, x.__dict__.get("note"),
        x.grad is None,
    )  # fmt: skip


MADE: dict[str, Callable[[Any], Any]] = {
    "leaf": lambda t: t.ones(2, 3),
    "view": lambda t: t.arange(6.0).reshape(2, 3).t()[1:],
    "expanded": lambda t: t.ones(1).expand(3),
    "requires grad": lambda t: t.ones(2, requires_grad=True),
    "result": lambda t: t.ones(2, requires_grad=True) * 2,
    "parameter": lambda t: t.nn.Parameter(t.ones(2)),
    "frozen": lambda t: t.nn.Parameter(t.ones(2), requires_grad=False),
    "complex": lambda t: t.tensor([1 + 2j]),
    "bfloat16": lambda t: t.tensor([[1.0, 2.0]], dtype=t.bfloat16).t(),
}


@pytest.mark.parametrize("how", COPIED)
@pytest.mark.parametrize("what", MADE)
def test_copies(what: str, how: str) -> None:
    """What PyTorch keeps of a tensor is kept, and what it refuses is refused."""
    found = []
    for library in BOTH:
        x = MADE[what](library)
        if x.is_leaf and (type(x) is library.Tensor or how != "deepcopy"):
            x.note = "mine"  # torch's deep copies of parameters lose it, ours do not
        if x.is_leaf and x.requires_grad:
            x.grad = library.ones_like(x)
        try:
            found.append(state(COPIED[how](x)))
        except RuntimeError:
            found.append("refused")
    assert found[0] == found[1]


def through_a_file(library: Any, obj: Any) -> Any:
    """Saved and loaded."""
    file = io.BytesIO()
    library.save(obj, file)
    file.seek(0)
    return library.load(file)


def test_sharing() -> None:
    """In a file and in a deep copy, views stay views of one memory.

    Ours do in a pickle too, in which PyTorch's come apart.
    """
    for library in BOTH:
        x = library.zeros(3, 4)
        for copied in (lambda o, lib=library: through_a_file(lib, o), copy.deepcopy):
            again, row, data = copied([x, x[1], x.data])
            row.fill_(1)
            data[2].fill_(2)
            assert again.tolist() == [[0.0] * 4, [1.0] * 4, [2.0] * 4]


@pytest.mark.parametrize("what", MADE)
def test_saved(what: str) -> None:
    """A file keeps of a tensor what PyTorch's does, but attributes."""
    found = [state(through_a_file(lib, MADE[what](lib))) for lib in BOTH]
    ours, theirs = ([*s[:3], *s[4:]] for s in found)
    assert ours == theirs
    if what != "view":  # of which only what it sees is written
        assert found[0][3] == found[1][3]


def test_files(tmp_path: Path) -> None:
    """A PyTorch program reads what `save` wrote of a state dict, and the other way."""
    safetensors = pytest.importorskip("safetensors.torch")
    ours = dovetail.nn.Linear(2, 3).state_dict()
    dovetail.save(ours, tmp_path / "x")
    theirs = safetensors.load_file(tmp_path / "x")
    assert {k: v.tolist() for k, v in theirs.items()} == {
        k: v.tolist() for k, v in ours.items()
    }
    kept = {d.name: of(torch, d.name) for d in dtypes.ALL if not d.is_complex}
    safetensors.save_file(kept, tmp_path / "y")
    for name, x in dovetail.load(tmp_path / "y").items():
        assert (x.dtype.name, x.tolist()) == (name, kept[name].tolist())
