"""Storages: over files, in parts, and as arrays."""

from pathlib import Path

import numpy as np
import pytest

import dovetail as dt
from dovetail.tensor_api.storages import UntypedStorage


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    path = tmp_path / "bytes"
    np.arange(16, dtype=np.uint8).tofile(path)
    return path


def test_a_file_is_read_as_it_is_needed(file: Path) -> None:
    """Writes stay in this process, unless they are shared."""
    own = UntypedStorage.from_file(file, False, 16)
    assert own.tolist() == list(range(16))
    dt.asarray(own)[0] = 9
    assert own[0] == 9
    assert np.fromfile(file, np.uint8)[0] == 0
    shared = UntypedStorage.from_file(str(file), True, 20)
    dt.asarray(shared)[0] = 7
    assert np.fromfile(file, np.uint8).tolist() == [7, *range(1, 16), 0, 0, 0, 0]
    assert UntypedStorage.from_file(file).nbytes() == 0


def test_parts_share_the_memory(file: Path) -> None:
    """Of which tensors are made, as safetensors does."""
    storage = UntypedStorage.from_file(file, False, 16)
    part = storage[4:12]
    assert part.nbytes() == 8
    assert part.untyped() is part
    x = dt.asarray(part, dtype=dt.uint8).view(dt.int32)
    x[1] = -1
    assert storage.tolist() == [*range(8), 255, 255, 255, 255, *range(12, 16)]
    of_tensor = dt.arange(4.0).untyped_storage()
    assert np.asarray(of_tensor[:4]).view(np.float32).tolist() == [0]
    typed = dt.arange(4.0).storage()[1:3]
    assert typed.tolist() == [1, 2]
    assert typed.untyped().nbytes() == 8


def test_files_that_are_not_there_or_too_small(file: Path) -> None:
    """Both are refused by name; a file that is shared is made."""
    with pytest.raises(RuntimeError, match="smaller"):
        UntypedStorage.from_file(file, False, 17)
    with pytest.raises(OSError, match="nowhere"):
        UntypedStorage.from_file(file.with_name("nowhere"), False, 1)
    made = file.with_name("made")
    assert UntypedStorage.from_file(made, True, 3).tolist() == [0, 0, 0]
    assert made.stat().st_size == 3
    with pytest.raises(NotImplementedError, match="from_file"):
        type(dt.ones(1).storage()).from_file(file, False, 4)


def test_objects_with_arrays_are_shared() -> None:
    """`asarray` takes what an object says is its array."""

    class Holder:
        values = np.zeros(3)

        def __array__(self, dtype: object = None, copy: object = None) -> object:
            return self.values

    dt.asarray(Holder())[1] = 5
    assert Holder.values.tolist() == [0, 5, 0]
