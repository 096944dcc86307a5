"""Files are safetensors files, byte for byte."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st

import dovetail as dt
from dovetail.errors import ArgumentTypeError
from dovetail.io.serialized import DTYPES, serialize

law = settings(deadline=None, database=None, derandomize=True, max_examples=40)
# NumPy, which the library reads into, has no others.
THEIRS = {name for name in DTYPES if name != "BF16" and not name.startswith("F8")}
NAMES = st.text().filter(lambda name: name != "__metadata__")


@law
@given(st.data())
def test_the_library_reads_what_is_written(data: Any) -> None:
    """Arrays of any dtypes, names and shapes come back, each at its alignment."""
    drawn = data.draw(st.dictionaries(NAMES, st.sampled_from(sorted(THEIRS))))
    shapes = st.lists(st.integers(0, 3), max_size=3)
    arrays = {
        name: np.full(data.draw(shapes), 1).astype(DTYPES[dtype].numpy)
        for name, dtype in drawn.items()
    }
    texts = data.draw(st.dictionaries(st.text(), st.text(), max_size=1))
    made = io.BytesIO()
    serialize(arrays, texts, made)
    found = safetensors.numpy.load(made.getvalue())
    assert {n: (a.dtype, a.shape, a.tobytes()) for n, a in found.items()} == {
        n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()
    }
    size = int.from_bytes(made.getvalue()[:8], "little")
    header = json.loads(made.getvalue()[8 : 8 + size])
    assert size % 8 == 0
    assert header.pop("__metadata__", {}) == texts
    for name, entry in header.items():
        assert entry["data_offsets"][0] % arrays[name].itemsize == 0


def test_text_files_are_refused(tmp_path: Path) -> None:
    """A file of text is none to save to, and stays as it is."""
    refused = pytest.raises(ArgumentTypeError, match="needed a path or a binary file")
    with (tmp_path / "x").open("w") as file, refused:
        dt.save(dt.ones(1), file)
    assert not (tmp_path / "x").read_bytes()


def test_texts_for_the_header(tmp_path: Path) -> None:
    """What is no text is refused before anything is written."""
    with pytest.raises(ArgumentTypeError, match=r"metadata\['a'\] is a int"):
        dt.io.save_file({"x": dt.ones(1)}, tmp_path / "x", {"a": 1})
    assert not list(tmp_path.iterdir())
