"""Storages of a dtype: made of sizes, elements and bytes, and looked at by tensors."""

from __future__ import annotations

import struct

import pytest

import dovetail as torch

CLASSES = {
    "FloatStorage": torch.float32, "DoubleStorage": torch.float64,
    "HalfStorage": torch.float16, "BFloat16Storage": torch.bfloat16,
    "LongStorage": torch.int64, "IntStorage": torch.int32, "ShortStorage": torch.int16,
    "CharStorage": torch.int8, "ByteStorage": torch.uint8, "BoolStorage": torch.bool,
    "ComplexFloatStorage": torch.complex64, "ComplexDoubleStorage": torch.complex128,
}  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), CLASSES.items())
def test_a_class_for_each_dtype(name: str, dtype: torch.dtype) -> None:
    cls = getattr(torch, name)
    x = torch.ones(3, dtype=dtype)
    assert type(x.storage()) is cls
    assert issubclass(cls, torch.TypedStorage)
    assert cls(4).size() == 4
    assert cls().size() == 0
    made = cls([1, 0])
    assert made.tolist() == [1, 0]
    assert made.nbytes() == 2 * dtype.itemsize
    assert isinstance(x.untyped_storage(), torch.UntypedStorage)
    assert torch.UntypedStorage(5).nbytes() == 5


def test_tensors_look_at_the_memory_of_a_storage() -> None:
    storage = torch.ByteStorage.from_buffer(b"hello")
    x = torch.ByteTensor(storage)
    assert x.tolist() == list(b"hello")
    x[0] = 7
    assert storage[0] == 7
    with pytest.raises(TypeError, match="a storage of uint8 on cpu, needed float32"):
        torch.FloatTensor(storage)


@pytest.mark.parametrize(("order", "mark"), [("big", ">"), ("little", "<")])
def test_bytes_are_read_in_the_order_that_is_named(order: str, mark: str) -> None:
    data = struct.pack(f"{mark}4f", 0.5, 1, 2, 3)
    found = torch.FloatStorage.from_buffer(data, order, count=2, offset=4)
    assert found.tolist() == [1, 2]
    longs = torch.UntypedStorage.from_buffer(
        struct.pack(f"{mark}q", 9), order, dtype=torch.int64
    )
    assert longs.nbytes() == 8
    with pytest.raises(ValueError, match="byte_order is 'middle'"):
        torch.FloatStorage.from_buffer(data, "middle")


def test_memory_of_another_dtype_is_no_storage_of_a_class() -> None:
    with pytest.raises(TypeError, match="of is a int64 tensor, needed one of float32"):
        torch.FloatStorage(torch.ones(2, dtype=torch.int64))
    with pytest.raises(NotImplementedError, match="such as FloatStorage"):
        torch.TypedStorage(3)


def test_any_byte_but_zero_is_true() -> None:
    found = torch.BoolTensor(torch.BoolStorage.from_buffer(b"\x00\x02\x01"))
    assert found.tolist() == [False, True, True]
    assert found.view(torch.uint8).tolist() == [0, 1, 1]
