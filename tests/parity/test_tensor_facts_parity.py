"""What tensors tell of themselves, older names, and the memory behind, beside torch."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import dovetail

Library = Any

# Lines whose values are compared; T is the library, x a matrix of 0 to 5.
LINES = """
T.FloatTensor([1, 2]) | T.LongTensor([[1], [2]]) | T.BoolTensor([1, 0]) | x.new([3, 4])
T.DoubleTensor([1.5]) | x.new(T.ones(2)) | x.type("torch.LongTensor")
x.new(2, 3).shape | x.type(T.DoubleTensor)
isinstance(x, T.FloatTensor) | isinstance(x, T.LongTensor)
x.layout is T.strided | x.output_nr | x.name | x.is_distributed() | T.is_distributed(x)
x.grad_dtype is T.float32 | x.dense_dim() | x.sparse_dim() | x.to_dense() is x
x.to_dense(T.float64) | x.is_shared() | x.is_pinned() | T.get_device(x) | x.dim_order()
x.t().dim_order() | T.ones(2, 3, 4).permute(2, 0, 1).dim_order() | x.volatile
x.clone().apply_(lambda v: v * 2) | x.clone().map_(x + 1, lambda a, b: a * b)
x.clone().map2_(x, x, lambda a, b, c: a + b - 2 * c) | x.resize(3, 2) | x.__nonzero__
x[0, 1].__long__() | x.__div__(2) | x.clone().__idiv__(2) | x.resize_as(T.ones(6))
x.module_load(T.ones(2, 3)) | x.module_load(T.zeros(1), assign=True)
x.storage().tolist() | x.untyped_storage().nbytes() | len(x.storage()) | x.storage()[4]
x.t().untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
x.storage().size() | T.is_storage(x.storage())
T.is_storage(x) | x.is_set_to(x) | x.is_set_to(x.t())
x.const_data_ptr() == x.data_ptr() | T.zeros(1).set_(x) | T.zeros(1).set_().shape
T.zeros(1).set_(x.storage(), 1, (2, 2)) | T.zeros(1).set_(x, 0, (3,), (2,))
T.zeros(1).set_(x.t()).stride() | x[:, 1:].storage().size() | x[1].storage()[0]
T.cond(True, lambda a: a + 1, lambda a: a - 1, (x,)) | T.get_float32_matmul_precision()
T.cond(x.sum() > 99, lambda a: a + 1, lambda a: a - 1, (x,))
T.set_flush_denormal(False) | T.get_deterministic_debug_mode()
T.are_deterministic_algorithms_enabled()
T.is_warn_always_enabled() | T.thread_safe_generator() | T.init_num_threads()
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip


def value(library: Library, line: str) -> Any:
    """What a line gives in one of the libraries, as something to compare."""
    x = library.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = eval(line, {"T": library, "x": x})
    if callable(found):
        return None
    if hasattr(found, "detach"):
        return str(found.dtype).rpartition(".")[2], found.tolist()
    return tuple(found) if isinstance(found, tuple) else found


@pytest.mark.parametrize("line", LINES)
def test_values(line: str) -> None:
    """A line means the same as in torch."""
    assert value(dovetail, line) == value(torch, line)


REFUSED = """
x.coalesce() | x.indices() | x.values() | x.crow_indices() | x.ccol_indices()
x.row_indices() | x.is_coalesced() | x.eig() | x.lstsq(x) | x.solve(x) | x.symeig()
x.__delitem__(0) | x.apply_(2) | x.map_(T.ones(9), max) | T.zeros(1).set_(x.long())
T.zeros(1).set_(x.storage(), 4, (9,)) | T.ones(1, 2).dim_order(ambiguity_check=True)
x.dim_order(ambiguity_check="no") | T.FloatTensor(x.double()) | T.FloatTensor("a")
x.type("torch.NoTensor") | T.use_deterministic_algorithms(1) | T.cond(3, max, max, ())
T.set_deterministic_debug_mode("loud")
T.set_default_tensor_type("torch.NoTensor") | T.set_num_interop_threads(0)
""".replace("\n", " | ").strip(" |").split(" | ")  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_refusals(line: str) -> None:
    """What torch refuses is refused, in a class that its users catch."""
    errors = (TypeError, ValueError, RuntimeError, AttributeError)
    for library in (dovetail, torch):
        with pytest.raises(errors):
            value(library, line)


def test_determinism_is_one_choice_under_three_names() -> None:
    """Whichever name sets it, the others tell."""
    try:
        dovetail.use_deterministic_algorithms(True, warn_only=True)
        assert dovetail.get_deterministic_debug_mode() == 1
        assert dovetail.is_deterministic_algorithms_warn_only_enabled()
        dovetail.set_deterministic_debug_mode("error")
        assert dovetail.are_deterministic_algorithms_enabled()
        assert not dovetail.is_deterministic_algorithms_warn_only_enabled()
    finally:
        dovetail.use_deterministic_algorithms(False)
    assert dovetail.get_deterministic_debug_mode() == 0


def test_the_default_dtype_has_an_older_name() -> None:
    """A class of torch's, or its name, sets the default dtype."""
    try:
        dovetail.set_default_tensor_type(dovetail.DoubleTensor)
        assert dovetail.tensor(1.0).dtype is dovetail.float64
        dovetail.set_default_tensor_type("torch.FloatTensor")
        assert dovetail.tensor(1.0).dtype is dovetail.float32
        with pytest.raises(TypeError):
            dovetail.set_default_tensor_type(dovetail.LongTensor)
    finally:
        dovetail.set_default_dtype(dovetail.float32)


@pytest.mark.parametrize("shared", [True, False])
def test_tensors_over_files(shared: bool, tmp_path: Path) -> None:
    """Writes go to the file where it is shared, and only there."""
    path = tmp_path / "numbers"
    path.write_bytes(np.arange(4, dtype=np.int32).tobytes())
    x = dovetail.from_file(str(path), shared=shared, size=3, dtype=dovetail.int32)
    assert x.tolist() == [0, 1, 2]
    x.add_(10)
    del x
    first = np.fromfile(path, np.int32)[0]
    assert first == (10 if shared else 0)
    with pytest.raises(FileNotFoundError):
        dovetail.from_file(str(tmp_path / "none"), shared=False, size=3)


def test_set_shares_memory_and_version() -> None:
    """A tensor that looks into another's memory writes there, and is seen to."""
    x = dovetail.arange(4.0)
    y = dovetail.zeros(1).set_(x.untyped_storage(), 1, (2,))
    y.fill_(9)
    assert x.tolist() == [0, 9, 9, 3]
    assert y._version == x._version
    leaf = dovetail.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        leaf.set_(x)


def test_numbers_stay_refused_after_a_call_that_was_learned() -> None:
    """What an op asks of its operands does not depend on what it was given before."""
    x = dovetail.tensor([1, 2, 3])
    for name in ("maximum", "fmin", "logical_and", "gcd", "heaviside"):
        function = getattr(dovetail, name)
        function(x, x)
        with pytest.raises(TypeError, match=name):
            function(x, 2)
        with pytest.raises(TypeError, match=name):
            getattr(x, name)(2)


@pytest.mark.parametrize("line", [
    "S + np.array(1)", "np.array(1) + S", "S + (3,)", "(3,) + S", "S * 2", "2 * S",
    "S * np.array([2, 3])", "S + [3]", "[3] + S", "S + (1.5,)", "S * 1.5", "S + S * 0",
])  # fmt: skip
def test_sums_of_sizes(line: str) -> None:
    """Tuples and whole numbers make sizes of them, arrays count with them."""
    found = []
    for library in (torch, dovetail):
        try:
            made = eval(line, {"S": library.Size([1, 2]), "np": np})
            found.append((type(made).__name__, list(made)))
        except TypeError:
            found.append(("TypeError", []))
    assert found[0] == found[1]


@pytest.mark.parametrize("library", [torch, dovetail])
def test_tuples_with_fields_count_them(library: Library) -> None:
    """As Python's own do."""
    found = library.ones(2, 3).min(0)
    counts = found.n_fields, found.n_sequence_fields, found.n_unnamed_fields
    assert counts == (2, 2, 0)
