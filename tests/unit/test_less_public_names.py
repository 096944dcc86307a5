"""Names that torch does not promise, and that programs import nevertheless."""

from __future__ import annotations

import io

import numpy as np
import pytest
from dovetail.utils.data._utils.collate import (
    collate,
    collate_tensor_fn,
    default_collate_fn_map,
    np_str_obj_array_pattern,
)

import dovetail as torch
from dovetail.torch_names import private


def test_the_default_generator_is_the_one_that_functions_take() -> None:
    assert torch.default_generator is torch.random.default_generator
    torch.default_generator.manual_seed(5)
    first = torch.rand(3)
    torch.manual_seed(5)
    again = torch.rand(3, generator=torch.default_generator)
    assert torch.equal(first, again)


def test_samples_are_joined_by_functions_for_their_types() -> None:
    class Named(str):
        """A type of its own."""

    def upper(batch: list[Named], *, collate_fn_map: object = None) -> list[str]:
        assert collate_fn_map is functions
        return [name.upper() for name in batch]

    functions = {torch.Tensor: collate_tensor_fn, Named: upper}
    batch = [{"x": torch.ones(2), "names": [Named("a")]}] * 2
    found = collate(batch, collate_fn_map=functions)
    assert found["x"].shape == (2, 2)
    assert found["names"] == [["A", "A"]]
    with pytest.raises(TypeError, match="found <class 'int'>"):
        collate([1, 2], collate_fn_map=functions)


def test_the_default_functions_can_be_added_to() -> None:
    class Image:
        """What no default knows."""

    batch = [Image(), Image()]
    with pytest.raises(TypeError, match="found <class"):
        torch.utils.data.default_collate(batch)
    default_collate_fn_map[Image] = lambda batch, *, collate_fn_map=None: len(batch)
    try:
        assert torch.utils.data.default_collate(batch) == 2
        assert torch.utils.data.default_collate([(batch[0], 1)] * 3) == [
            3, pytest.approx(torch.ones(3)),
        ]  # fmt: skip
    finally:
        del default_collate_fn_map[Image]
    found = torch.utils.data.default_collate([np.float32(1), np.float32(2)])
    assert found.dtype is torch.float32
    assert np_str_obj_array_pattern.search(np.array("a").dtype.str)


def test_batches_move_between_devices_with_their_gradients() -> None:
    from dovetail.nn.parallel._functions import (
        Broadcast,
        Gather,
        ReduceAddCoalesced,
        Scatter,
    )

    x = torch.arange(6.0).reshape(3, 2).requires_grad_()
    pieces = Scatter.apply(["cpu", "cpu"], None, 0, x)
    assert [len(p) for p in pieces] == [2, 1]
    assert [len(p) for p in Scatter.apply(["cpu"] * 2, [1, 2], 0, x)] == [1, 2]
    joined = Gather.apply("cpu", 0, *pieces)
    assert torch.equal(joined, x)
    a, b, c, d = Broadcast.apply(["cpu", "cpu"], x, 2 * x)
    assert torch.equal(a, c)
    assert torch.equal(b, d)
    first, second = ReduceAddCoalesced.apply("cpu", 2, a, b, c, d)
    (first + second + joined).sum().backward()
    assert torch.equal(x.grad, torch.full((3, 2), 7.0))


def test_softmax_has_its_gradient_by_itself() -> None:
    x = torch.randn(3, 4, requires_grad=True)
    y = x.softmax(-1)
    ct = torch.randn(3, 4)
    y.backward(ct)
    found = private._softmax_backward_data(ct, y.detach(), -1, torch.float32)
    torch.testing.assert_close(found, x.grad)


def test_rows_and_where_they_begin() -> None:
    rows = torch.tensor([0, 0, 2, 3, 3, 3])
    begins = private._convert_indices_from_coo_to_csr(rows, 5)
    assert begins.tolist() == [0, 2, 2, 3, 6, 6]
    columns = torch.tensor([1, 2, 0, 0, 1, 2])
    back = private._convert_indices_from_csr_to_coo(begins, columns, out_int32=True)
    assert back.tolist() == [rows.tolist(), columns.tolist()]
    assert back.dtype is torch.int32


def test_what_was_saved_goes_where_it_was() -> None:
    from dovetail.serialization import default_restore_location

    file = io.BytesIO()
    torch.save({"x": torch.ones(2)}, file)
    file.seek(0)
    found = torch.load(
        file, map_location=lambda storage, _: default_restore_location(storage, "cpu")
    )
    assert found["x"].tolist() == [1, 1]


def test_packed_sequences_have_torchs_casts() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1.5, 2.0])])
    for name, dtype in (("byte", "uint8"), ("char", "int8"), ("short", "int16")):
        cast = getattr(packed, name)()
        assert cast.data.dtype is getattr(torch, dtype)
        assert cast.data.tolist() == [1, 2]


def test_sizes_of_joined_datasets() -> None:
    joined = torch.utils.data.ConcatDataset([[1, 2], [3]])
    assert joined.cumulative_sizes == joined.cumsum(joined.datasets) == [2, 3]
    with pytest.warns(DeprecationWarning, match="renamed"):
        assert joined.cummulative_sizes == [2, 3]


def test_a_plateau_tells_whether_it_counts() -> None:
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], 1.0)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, patience=0, cooldown=2
    )
    told = []
    for _ in range(5):
        plateau.step(1.0)
        told.append(plateau.in_cooldown)
    assert told == [False, True, True, False, True]
