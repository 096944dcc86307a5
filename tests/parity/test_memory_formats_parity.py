"""Memory formats and layouts, held against torch."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any
IMAGES = (2, 3, 4, 5)

# One line a call: T is the library, x has IMAGES' shape, y lies with its dims permuted.
STRIDES = """
x.clone() | y.clone() | y.contiguous() | y.double() | y.to(T.float64) | y.half()
x.clone(memory_format=T.channels_last) | x.contiguous(memory_format=T.channels_last)
x.to(memory_format=T.channels_last) | x.to(T.float64, memory_format=T.channels_last)
y.clone(memory_format=T.contiguous_format) | y.to(memory_format=T.contiguous_format)
y.clone(memory_format=T.preserve_format) | y.double(memory_format=T.contiguous_format)
T.empty(2, 3, 4, 5, memory_format=T.channels_last) | T.zeros_like(y) | T.ones_like(y)
T.empty(2, 3, 4, 5, 6, memory_format=T.channels_last_3d) | T.rand_like(y)
T.full_like(y, 2) | T.empty_like(y) | T.randn_like(y) | T.zeros_like(y.expand(IMAGES))
T.zeros_like(x, memory_format=T.channels_last) | T.rand_like(y[:, ::2]) | y[::2].clone()
T.rand_like(x, memory_format=T.channels_last) | T.zeros(2, layout=T.strided)
T.ones(3, 1).expand(3, 4).clone() | T.ones(3, 2, 2).transpose(0, 1).clone()
T.ones(4).expand(3, 2, 4).transpose(0, 2).clone()
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip


def made(library: Library, line: str) -> Any:
    """The value of a line in one of the libraries."""
    values = np.arange(120, dtype=np.float32).reshape(IMAGES)
    x = library.from_numpy(values)
    y = library.from_numpy(values.reshape(4, 2, 5, 3)).permute(1, 3, 0, 2)
    return eval(line, {"T": library, "x": x, "y": y, "IMAGES": IMAGES})


@pytest.mark.parametrize("line", STRIDES)
def test_results_lie_as_torchs_do(line: str) -> None:
    """A result has torch's shape, strides and, where they are told, values."""
    ours, theirs = made(dovetail, line), made(torch, line)
    assert tuple(ours.shape) == tuple(theirs.shape)
    steps = zip(ours.shape, ours.stride(), theirs.stride(), strict=True)
    assert all(a == b for size, a, b in steps if size > 1)  # others reach nothing
    if "rand" not in line and "empty" not in line:
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    for name in ("contiguous_format", "channels_last", "channels_last_3d"):
        lies = [
            t.is_contiguous(memory_format=getattr(library, name))
            for library, t in ((dovetail, ours), (torch, theirs))
        ]
        assert lies[0] == lies[1], name


@pytest.mark.parametrize(
    "line",
    [
        "x[None]", "x[:, None]", "x[..., None]", "x[None, None]", "x.mT[None]",
        "x.expand(1, *IMAGES)", "x.unsqueeze(1)", "y.unsqueeze(4)", "x[:1]",
        "x[:, None].expand(-1, 4, -1, -1, -1)", "y[:1].expand(7, -1, -1, -1)",
    ],
)  # fmt: skip
def test_inserted_dims_have_the_strides_of_torch(line: str) -> None:
    """Also dims of one element, whose strides reach nothing, are told alike."""
    assert made(dovetail, line).stride() == made(torch, line).stride()


def test_a_copy_in_another_format_is_no_view() -> None:
    """It owns its memory, so that writes to it count for itself alone."""
    x = dovetail.ones(IMAGES, requires_grad=True)
    y = x.clone(memory_format=dovetail.channels_last)
    assert not y._is_view()
    y.mul_(3)
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.flatten()[0].item() == 3
    assert x.detach().flatten()[0].item() == 1


def test_random_numbers_belong_to_indices_not_to_places() -> None:
    """`rand_like` of what lies otherwise has the numbers of one that lies in rows."""
    x = dovetail.ones(3, 4)
    dovetail.manual_seed(1)
    rows = dovetail.rand_like(x)
    dovetail.manual_seed(1)
    columns = dovetail.rand_like(dovetail.ones(4, 3).t())
    assert columns.stride() == (1, 3)
    assert rows.tolist() == columns.tolist()


@pytest.mark.parametrize("line", [
    "x.clone(memory_format=T.channels_last_3d)",
    "T.empty(2, memory_format=T.channels_last)",
    "y.contiguous(memory_format=T.preserve_format)",
    "x.flatten().to(memory_format=T.channels_last)",
])  # fmt: skip
def test_formats_for_other_numbers_of_dims_are_refused(line: str) -> None:
    """A format of four dims is none for three, in torch's class of error."""
    for library in (dovetail, torch):
        with pytest.raises(RuntimeError):
            made(library, line)


def test_only_strided_tensors_are_made() -> None:
    """A layout that leaves elements out is refused by name."""
    with pytest.raises(ValueError, match="sparse_coo"):
        dovetail.zeros(2, layout=dovetail.sparse_coo)
    with pytest.raises(TypeError, match="layout"):
        dovetail.zeros(2, layout="strided")  # type: ignore[arg-type]


def test_formats_are_one_object_each() -> None:
    """Copies and pickles of a format are the format, so that `is` compares them."""
    for name in ("channels_last", "preserve_format", "strided", "sparse_csr"):
        own = getattr(dovetail, name)
        assert repr(own) == f"dovetail.{name}"
        assert pickle.loads(pickle.dumps(own)) is own
        assert copy.deepcopy(own) is own
