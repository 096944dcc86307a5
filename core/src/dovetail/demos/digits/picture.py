"""The picture of a training run: one page, drawn without a display."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
from numpy.typing import NDArray

from dovetail.demos.digits.data import CLASSES
from dovetail.demos.digits.result import Result
from dovetail.io.whole_files import replacing

INK: Final = "#1f2933"
FAINT: Final = "#7b8794"
PALE: Final = "#e4e7eb"
TRAIN: Final = "#2f6fdf"
TEST: Final = "#e8803a"
RIGHT: Final = "#2a9d6f"
WRONG: Final = "#d64545"
TILES: Final = 12


def draw(result: Result) -> Figure:
    """The whole picture, 15 × 9 inches."""
    figure = Figure(figsize=(15, 9), dpi=110, facecolor="white")
    FigureCanvasAgg(figure)
    rows = figure.add_gridspec(3, 1, height_ratios=(1.0, 5.3, 2.3))
    header, top, bottom = (figure.add_subfigure(rows[i]) for i in range(3))
    _draw_header(header, result)
    grid = top.add_gridspec(
        1, 3, width_ratios=(1, 1, 1.12), wspace=0.24,
        left=0.05, right=0.985, top=0.9, bottom=0.12,
    )  # fmt: skip
    _draw_losses(top.add_subplot(grid[0]), result)
    _draw_accuracy(top.add_subplot(grid[1]), result)
    _draw_confusion(top.add_subplot(grid[2]), result)
    _draw_worst(bottom, result)
    return figure


def save(figure: Figure, path: Path) -> None:
    """Write the picture so that `path` is never half a file."""
    with replacing(path, "picture") as draft:
        figure.savefig(draft, format=path.suffix[1:].lower())


def _draw_header(part: SubFigure, result: Result) -> None:
    done = result.history[-1].end
    epochs = f"{done:.3g} epoch{'' if done == 1 else 's'}"
    if result.interrupted:
        epochs = f"interrupted after {epochs}"
    facts = (
        f"{result.train_images:,} images to learn from, "
        f"{len(result.test.labels):,} to test on",
        f"{result.parameters:,} parameters",
        epochs,
        f"{result.seconds:.1f} s on {result.device}",
        f"seed {result.settings.seed}",
    )
    part.text(0.05, 0.62, "Handwritten digits", size=23, weight="bold", color=INK,
              va="center")  # fmt: skip
    part.text(0.05, 0.2, "   ·   ".join(facts), size=11, color=FAINT, va="center")
    part.text(0.985, 0.62, f"{100 * result.accuracy:.1f} %", size=30, weight="bold",
              color=RIGHT, ha="right", va="center")  # fmt: skip
    part.text(0.985, 0.2, "of the test images read right", size=11, color=FAINT,
              ha="right", va="center")  # fmt: skip


def _draw_losses(axes: Axes, result: Result) -> None:
    ends = [epoch.end for epoch in result.history]
    per_epoch = len(result.batch_losses) / ends[-1]
    steps = (np.arange(len(result.batch_losses)) + 1) / per_epoch
    axes.plot(steps, result.batch_losses, color=TRAIN, alpha=0.25, lw=0.8)
    train = [epoch.train_loss for epoch in result.history]
    test = [epoch.test_loss for epoch in result.history]
    axes.plot(ends, train, color=TRAIN, lw=2.2, marker="o", ms=4, label="train")
    axes.plot(ends, test, color=TEST, lw=2.2, marker="o", ms=4, label="test")
    low, high = min(result.batch_losses), max(result.batch_losses)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(
        LogLocator(subs=(1, 2, 5) if high < 50 * low else (1,))
    )
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False, labelcolor=INK)
    _style(axes, "Loss", "cross-entropy; thin: each batch")
    _mark_epochs(axes, ends[-1])


def _draw_accuracy(axes: Axes, result: Result) -> None:
    ends = [epoch.end for epoch in result.history]
    shares = [100 * epoch.test_accuracy for epoch in result.history]
    axes.plot(ends, shares, color=TEST, lw=2.2, marker="o", ms=4)
    axes.fill_between(ends, shares, min(shares) - 10, color=TEST, alpha=0.1, lw=0)
    low = min(shares)
    axes.set_ylim(low - 0.08 * (100 - low) - 0.2, 100 + 0.04 * (100 - low))
    axes.annotate(
        f"{shares[-1]:.1f} %", (ends[-1], shares[-1]), (0, -16),
        textcoords="offset points", ha="right", va="top", color=INK, weight="bold",
    )  # fmt: skip
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g} %"))
    _style(axes, "Test accuracy", "share of the test images read right")
    _mark_epochs(axes, ends[-1])


def _draw_confusion(axes: Axes, result: Result) -> None:
    counts = result.confusion()
    axes.imshow(_confusion_colors(counts))
    for row, column in np.ndindex(counts.shape):
        if counts[row, column]:
            color = "white" if row == column else INK
            axes.text(column, row, str(counts[row, column]), color=color, size=10.5,
                      weight="bold", ha="center", va="center")  # fmt: skip
    _style(axes, "Confusion", "how many images of each digit were read as what")
    axes.set_xticks(range(CLASSES))
    axes.set_yticks(range(CLASSES))
    axes.set_xticks(np.arange(CLASSES + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(CLASSES + 1) - 0.5, minor=True)
    axes.grid(False)
    axes.grid(True, which="minor", color="white", lw=2)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_visible(False)
    axes.set_xlabel("read as", color=FAINT)
    axes.set_ylabel("is", color=FAINT)


def _confusion_colors(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """[10, 10, 3]: right readings and mistakes, darker where there are more."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    wrong = np.where(counts > 0, 0.3 + 0.7 * np.sqrt(shares), 0.0)
    diagonal = np.eye(CLASSES, dtype=bool)
    weight = np.where(diagonal, 0.25 + 0.75 * shares, wrong)[..., None]
    color = np.where(diagonal[..., None], to_rgb(RIGHT), to_rgb(WRONG))
    empty = np.asarray(to_rgb("#f3f5f7"))
    colors: NDArray[np.float64] = weight * color + (1 - weight) * empty
    return colors


def _draw_worst(part: SubFigure, result: Result) -> None:
    chosen = result.worst(TILES)
    part.text(0.05, 0.99, _worst_title(result, len(chosen)), size=13, weight="bold",
              color=INK, va="top")  # fmt: skip
    part.text(0.05, 0.87, "what it is → what it was read as, and how surely", size=10,
              color=FAINT, va="top")  # fmt: skip
    grid = part.add_gridspec(
        1, TILES, wspace=0.2, left=0.05, right=0.985, top=0.66, bottom=0.12
    )
    for place, index in enumerate(chosen):
        _draw_tile(part.add_subplot(grid[place]), result, int(index))


def _worst_title(result: Result, shown: int) -> str:
    wrong = min(result.mistakes, shown)
    if wrong == 0:
        return f"No mistakes; the {shown} least sure readings"
    if wrong == shown:
        return f"The {shown} worst of {result.mistakes} mistakes"
    noun = "mistake" if wrong == 1 else f"{wrong} mistakes"
    return f"The {noun}, and the {shown - wrong} least sure right readings"


def _draw_tile(axes: Axes, result: Result, index: int) -> None:
    """One test image, what it is, what it was read as, and how surely."""
    true, read = int(result.test.labels[index]), int(result.predicted[index])
    sure = 100 * float(result.probabilities[index, read])
    color = RIGHT if read == true else WRONG
    axes.imshow(result.test.images[index, 0], cmap="gray_r", vmin=0, vmax=1)
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set(color=color, linewidth=2)
    axes.set_title(f"{true} → {read}", size=12, weight="bold", color=color, pad=5)
    axes.set_xlabel(f"{sure:.0f} % sure", size=10, color=FAINT, labelpad=4)


def _style(axes: Axes, title: str, subtitle: str) -> None:
    axes.set_title(title, loc="left", size=13, weight="bold", color=INK, pad=24)
    axes.annotate(
        subtitle, (0, 1), (0, 9), xycoords="axes fraction",
        textcoords="offset points", size=10, color=FAINT,
    )  # fmt: skip
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(PALE)
    axes.tick_params(colors=FAINT, which="both", length=0)
    axes.grid(True, color=PALE, lw=0.8)
    axes.set_axisbelow(True)


def _mark_epochs(axes: Axes, end: float) -> None:
    axes.set_xlabel("epoch", color=FAINT)
    axes.xaxis.set_major_locator(MaxNLocator(nbins=8, integer=True))
    axes.set_xlim(0, end * 1.02)
