"""A progress bar that shows the loss and the test accuracy as they change."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from dovetail.demos.digits.result import Epoch


class Silence:
    """A watcher that says nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def batch(self, *, epoch: int, loss: float) -> None:
        """Nothing."""

    def epoch(self, epoch: Epoch) -> None:
        """Nothing."""


class ProgressBar:
    """A watcher that draws a live line on `console`.

    Args:
        steps: batches in all.
        epochs: epochs in all.
    """

    def __init__(self, console: Console, *, steps: int, epochs: int) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("epoch {task.fields[epoch]:>2}/{task.fields[epochs]}"),
            BarColumn(bar_width=30),
            TextColumn("loss [bold]{task.fields[loss]:.4f}[/]"),
            TextColumn("test accuracy [bold green]{task.fields[accuracy]}[/]"),
            TimeElapsedColumn(),
            console=console,
        )
        self._task = self._progress.add_task(
            "", total=steps, epoch=1, epochs=epochs, loss=float("nan"), accuracy="–"
        )

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._progress.stop()

    def batch(self, *, epoch: int, loss: float) -> None:
        """Move the bar on by one batch."""
        self._progress.update(self._task, advance=1, epoch=epoch, loss=loss)

    def epoch(self, epoch: Epoch) -> None:
        """Show the new test accuracy."""
        shown = f"{epoch.test_accuracy:.2%}"
        self._progress.update(self._task, accuracy=shown)
