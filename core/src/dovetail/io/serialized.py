"""Arrays by name as bytes in the safetensors format, into a file that is open.

After the length of a header comes the header, which is JSON, and then the elements of
the arrays (https://github.com/huggingface/safetensors). Those with the largest come
first, so that each lies at a multiple of the size of its own. Written here and not by
the library, which makes files beside the file and leaves them behind when killed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, BinaryIO, Final

import numpy as np

from dovetail import dtypes
from dovetail.dtypes import Array, DType

DTYPES: Final[dict[str, DType]] = {
    "BOOL": dtypes.bool_, "U8": dtypes.uint8, "U16": dtypes.uint16,
    "U32": dtypes.uint32, "U64": dtypes.uint64, "I8": dtypes.int8,
    "I16": dtypes.int16, "I32": dtypes.int32, "I64": dtypes.int64,
    "F16": dtypes.float16, "BF16": dtypes.bfloat16, "F32": dtypes.float32,
    "F64": dtypes.float64, "C64": dtypes.complex64,
    "F8_E4M3": dtypes.float8_e4m3fn, "F8_E5M2": dtypes.float8_e5m2,
    "F8_E4M3FNUZ": dtypes.float8_e4m3fnuz, "F8_E5M2FNUZ": dtypes.float8_e5m2fnuz,
    "F8_E8M0": dtypes.float8_e8m0fnu,
}  # fmt: skip
_NAMES: Final = {dtype: name for name, dtype in DTYPES.items()}
_ALIGNMENT: Final = 8
_CHUNK: Final = 1 << 24  # bytes at once, so that Ctrl-C need not wait for all


def serialize(
    arrays: Mapping[str, Array], metadata: Mapping[str, str], file: BinaryIO
) -> None:
    """Write arrays, and texts for the header."""
    ordered = sorted(arrays.items(), key=lambda one: (-one[1].itemsize, one[0]))
    head = _header(ordered, metadata)
    file.write(len(head).to_bytes(8, "little"))
    file.write(head)
    for _, array in ordered:
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        for start in range(0, data.size, _CHUNK):
            file.write(data[start : start + _CHUNK].data)


def deserialized(file: BinaryIO, name: str) -> Array:
    """The bytes of one array of a file that has been checked."""
    length = int.from_bytes(file.read(8), "little")
    start, end = json.loads(file.read(length))[name]["data_offsets"]
    file.seek(8 + length + start)
    data = bytearray(end - start)
    if file.readinto(data) != len(data):  # type: ignore[attr-defined]
        raise ValueError(f"{name} is cut short")
    return np.frombuffer(data, np.uint8)


def _header(ordered: list[tuple[str, Array]], metadata: Mapping[str, str]) -> bytes:
    """What the arrays are called, what they are, and where they start and end."""
    entries: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    end = 0
    for name, array in ordered:
        start, end = end, end + array.nbytes
        entries[name] = {
            "dtype": _NAMES[dtypes.from_numpy(array.dtype)],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    head = json.dumps(entries, separators=(",", ":")).encode()
    return head.ljust(-(-len(head) // _ALIGNMENT) * _ALIGNMENT)
