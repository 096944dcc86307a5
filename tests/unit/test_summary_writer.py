"""`utils.tensorboard`: logs that TensorBoard shows, where its library is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dovetail as dt
from dovetail.errors import ArgumentError, NotSupported
from dovetail.utils import summaries, tensorboard


def test_an_error_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ImportError, by which programs choose to log nothing."""
    monkeypatch.setattr(tensorboard, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="SummaryWriter needs tensorboard: pip"):
        tensorboard.SummaryWriter  # noqa: B018


@pytest.mark.parametrize(
    ("shape", "letters", "seen"),
    [
        ((3, 4, 5), "CHW", (4, 5, 3)), ((4, 5), "HW", (4, 5, 3)),
        ((4, 5, 4), "HWC", (4, 5, 4)), ((2, 3, 4, 5), "NCHW", (4, 10, 3)),
    ],
)  # fmt: skip
def test_letters_name_the_dims_of_images(
    shape: tuple[int, ...], letters: str, seen: tuple[int, ...]
) -> None:
    """Images come as [height, width, channels], several side by side."""
    assert summaries.pixels(dt.ones(shape), letters).shape == seen


def test_pixels_are_bytes() -> None:
    """Floats from 0 to 1 are scaled, bytes are not, and the places are the image's."""
    x = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    assert summaries.pixels(x, "CHW")[:, :, 0].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert summaries.pixels([[0.0, 0.5, 2.0]], "HW")[0, :, 0].tolist() == [0, 127, 255]
    with pytest.raises(ArgumentError, match="a letter for each dim"):
        summaries.pixels(x, "HW")


def _events(folder: Path) -> list[Any]:
    loader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_file_loader"
    )
    (file,) = folder.glob("events.*")
    return [e for e in loader.EventFileLoader(str(file)).Load() if e.summary.value]


def test_what_is_logged_is_read_by_tensorboard(tmp_path: Path) -> None:
    """Numbers, histograms, images and texts, with their steps."""
    pytest.importorskip("tensorboard")
    with tensorboard.SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", dt.tensor(0.5, requires_grad=True), 3)
        writer.add_histogram("w", dt.tensor([-1.0, 0.5, 0.5]), 4)
        writer.add_image("x", dt.ones(3, 2, 2))
        writer.add_text("note", "**bold**", 5)
        writer.add_scalars("both", {"a": 1, "b": 2.0}, 6)
        writer.add_hparams({"lr": 0.1}, {"best": 1.0}, run_name="h")
        with pytest.raises(ArgumentError, match="one number"):
            writer.add_scalar("loss", dt.ones(2))
        with pytest.raises(NotSupported):
            writer.add_graph(dt.nn.Linear(1, 1))
    events = _events(tmp_path)
    assert [e.step for e in events] == [3, 4, 0, 5]
    loss, histogram, image, note = [e.summary.value[0] for e in events]
    assert loss.tag == "loss"
    assert loss.tensor.float_val == [0.5]
    assert histogram.tag == "w"
    assert image.tag == "x"
    assert note.tensor.string_val == [b"**bold**"]
    assert _events(tmp_path / "both_b")[0].summary.value[0].tensor.float_val == [2.0]
    assert len(_events(tmp_path / "h")) == 2


def test_images_are_pngs() -> None:
    """Which other readers of images take."""
    pytest.importorskip("tensorboard")
    image = pytest.importorskip("PIL.Image")
    import io

    bits = np.arange(24, dtype=np.uint8).reshape(2, 4, 3)
    found = image.open(io.BytesIO(summaries.image(bits).encoded_image_string))
    assert np.array_equal(np.asarray(found), bits)
