"""What TensorBoard shows, as its messages: numbers, texts, images, histograms.

The library's modules are given by `proto`, for it is installed for few programs.
"""

from __future__ import annotations

import struct
import zlib
from importlib import import_module
from typing import Any, Final

import numpy as np

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

Array = np.ndarray[Any, Any]


def proto(name: str) -> Any:
    """A module of the library's messages, such as `summary_pb2`."""
    return import_module(f"tensorboard.compat.proto.{name}")


def on_host(values: Any) -> Array:
    """Numbers of a tensor on any device, an array or a list."""
    if isinstance(values, Tensor):
        return np.asarray(values.detach().cpu().float().numpy())
    return np.asarray(values)


def one(name: str, value: Any) -> float:
    """The number that a scalar is.

    Raises: ArgumentError if there are several.
    """
    found = on_host(value)
    if found.size != 1:
        raise ArgumentError(
            name, "scalar_value", was=f"of shape {found.shape}", needed="one number"
        )
    return float(found.reshape(()))


def value(tag: str, **field: Any) -> Any:
    """A summary with one value."""
    summary = proto("summary_pb2").Summary
    return summary(value=[summary.Value(tag=tag, **field)])


def text(tag: str, words: str) -> Any:
    """A summary that is a text, in Markdown."""
    of_plugin = proto("summary_pb2").SummaryMetadata
    metadata = of_plugin(plugin_data=of_plugin.PluginData(plugin_name="text"))
    dims = proto("tensor_shape_pb2").TensorShapeProto
    tensor = proto("tensor_pb2").TensorProto(
        dtype="DT_STRING", string_val=[words.encode()],
        tensor_shape=dims(dim=[dims.Dim(size=1)]),
    )  # fmt: skip
    return value(f"{tag}/text_summary", metadata=metadata, tensor=tensor)


def _steps() -> Array:
    up = 1e-12 * 1.1 ** np.arange(774)
    return np.concatenate([-up[::-1], [0.0], up])


def histogram(values: Any, bins: Any = "tensorflow") -> Any:
    """How many values lie between limits, which grow by a tenth unless they are given.

    Raises: ArgumentError for no values at all.
    """
    found = on_host(values).astype(np.float64).reshape(-1)
    if not found.size:
        raise ArgumentError("add_histogram", "values", was="empty", needed="numbers")
    counts, limits = np.histogram(
        found, bins=_steps() if bins == "tensorflow" else bins
    )
    there = np.flatnonzero(counts)
    first, last = (there[0], there[-1]) if there.size else (0, len(counts) - 1)
    buckets = np.concatenate([[0], counts[first : last + 1]])
    return proto("summary_pb2").HistogramProto(
        min=found.min(), max=found.max(), num=found.size, sum=found.sum(),
        sum_squares=found.dot(found), bucket_limit=limits[first : last + 2].tolist(),
        bucket=buckets.tolist(),
    )  # fmt: skip


_KINDS: Final = {1: 0, 2: 4, 3: 2, 4: 6}  # of PNG, by channels


def image(pixels: Array) -> Any:
    """An image of bytes, [height, width, channels], as a PNG."""
    height, width, channels = pixels.shape
    rows = np.concatenate(
        [np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1
    )
    head = struct.pack(">IIBBBBB", width, height, 8, _KINDS[channels], 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    png = b"\x89PNG\r\n\x1a\n" + b"".join([_chunk(*part) for part in parts])
    return proto("summary_pb2").Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=png
    )


def _chunk(kind: bytes, data: bytes) -> bytes:
    checked = kind + data
    return (
        struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))
    )


def pixels(img: Any, dataformats: str) -> Array:
    """Bytes of an image, [height, width, channels]; floats are from 0 to 1.

    Raises: ArgumentError if the letters are not those of the dims.
    """
    found, order = on_host(img), dataformats.upper()
    if found.ndim != len(order) or not {"H", "W"} <= set(order) <= set("NHWC"):
        raise ArgumentError(
            "add_image", "dataformats", was=f"{dataformats!r} for {found.ndim} dims",
            needed="a letter for each dim: N, C, H, W",
        )  # fmt: skip
    if found.dtype != np.uint8:
        found = np.clip(found * 255.0, 0, 255).astype(np.uint8)
    if "C" not in order:
        found, order = found[..., None], f"{order}C"
    if "N" not in order:
        found, order = found[None], f"N{order}"
    rows = found.transpose([order.index(letter) for letter in "HNWC"])
    flat = rows.reshape(rows.shape[0], -1, rows.shape[3])  # images side by side
    return flat.repeat(3, axis=2) if flat.shape[2] == 1 else flat
