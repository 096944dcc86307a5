"""`SummaryWriter`: a folder of logs that TensorBoard shows."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Mapping
from datetime import datetime
from importlib import import_module
from typing import Any

from dovetail.errors import NotSupported
from dovetail.utils import summaries


class SummaryWriter:
    """Writes what training logs into files of one folder.

    Args:
        log_dir: the folder; a new one below `runs`, by time and host, unless given.
        comment: what ends the name of such a folder.
        purge_step: the first step of a program that goes on; what was logged from
            there is not shown.
        max_queue, flush_secs: how many events, and seconds, wait to be written.
        filename_suffix: what ends the names of files.

    Examples:
        >>> with SummaryWriter("runs/first") as writer:  # doctest: +SKIP
        ...     writer.add_scalar("loss", loss, step)
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] | None = None, comment: str = "",
        purge_step: int | None = None, max_queue: int = 10, flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:  # fmt: skip
        if not log_dir:
            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = os.fspath(log_dir)
        self._how = max_queue, flush_secs, filename_suffix
        self._files: dict[str, Any] = {}
        if purge_step is not None:
            log = summaries.proto("event_pb2").SessionLog
            self._add(step=purge_step, session_log=log(status=log.START))

    def _file(self, folder: str) -> Any:
        if folder not in self._files:
            module = import_module("tensorboard.summary.writer.event_file_writer")
            self._files[folder] = module.EventFileWriter(folder, *self._how)
        return self._files[folder]

    def _add(
        self, folder: str | None = None, step: Any = None, walltime: Any = None,
        **what: Any,
    ) -> None:  # fmt: skip
        event = summaries.proto("event_pb2").Event(
            wall_time=time.time() if walltime is None else walltime, **what
        )
        if step is not None:
            event.step = int(step)
        self._file(folder or self.log_dir).add_event(event)

    def add_scalar(
        self, tag: str, scalar_value: Any, global_step: Any = None,
        walltime: float | None = None, new_style: bool = False,
        double_precision: bool = False,
    ) -> None:  # fmt: skip
        """Log one number.

        Raises: ArgumentError if there are several.
        """
        number = summaries.one("add_scalar", scalar_value)
        summary = summaries.value(tag, simple_value=number)
        self._add(step=global_step, walltime=walltime, summary=summary)

    def add_scalars(
        self, main_tag: str, tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None, walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Log numbers that are shown together, each in a folder of its own."""
        for tag, number in tag_scalar_dict.items():
            name = f"{main_tag.replace('/', '_')}_{tag}"
            summary = summaries.value(
                main_tag, simple_value=summaries.one("add_scalars", number)
            )
            folder = os.path.join(self.log_dir, name)
            self._add(folder, global_step, walltime, summary=summary)

    def add_histogram(
        self, tag: str, values: Any, global_step: Any = None, bins: Any = "tensorflow",
        walltime: float | None = None, max_bins: int | None = None,
    ) -> None:  # fmt: skip
        """Log how values are spread."""
        summary = summaries.value(tag, histo=summaries.histogram(values, bins))
        self._add(step=global_step, walltime=walltime, summary=summary)

    def add_image(
        self, tag: str, img_tensor: Any, global_step: Any = None,
        walltime: float | None = None, dataformats: str = "CHW",
    ) -> None:  # fmt: skip
        """Log an image of floats from 0 to 1, or of bytes; letters name its dims."""
        shown = summaries.image(summaries.pixels(img_tensor, dataformats))
        summary = summaries.value(tag, image=shown)
        self._add(step=global_step, walltime=walltime, summary=summary)

    def add_images(
        self, tag: str, img_tensor: Any, global_step: Any = None,
        walltime: float | None = None, dataformats: str = "NCHW",
    ) -> None:  # fmt: skip
        """Log images, which are shown side by side."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_figure(
        self, tag: str, figure: Any, global_step: Any = None, close: bool = True,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Log a figure of matplotlib, which is closed unless `close` is False."""
        canvas = import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
        drawn = canvas(figure)
        drawn.draw()
        shown = summaries.on_host(drawn.buffer_rgba())
        if close:
            import_module("matplotlib.pyplot").close(figure)
        self.add_image(tag, shown, global_step, walltime, dataformats="HWC")

    def add_text(
        self, tag: str, text_string: str, global_step: Any = None,
        walltime: float | None = None,
    ) -> None:  # fmt: skip
        """Log a text, which may be Markdown."""
        summary = summaries.text(tag, text_string)
        self._add(step=global_step, walltime=walltime, summary=summary)

    def add_hparams(
        self, hparam_dict: Mapping[str, Any], metric_dict: Mapping[str, Any],
        hparam_domain_discrete: Any = None, run_name: str | None = None,
        global_step: Any = None,
    ) -> None:  # fmt: skip
        """Log hyperparameters as a text, and metrics as numbers, in a folder below.

        TensorBoard's tab of hyperparameters is not filled.
        """
        folder = os.path.join(self.log_dir, run_name or str(time.time()))
        lines = [f"| {name} | {value} |" for name, value in hparam_dict.items()]
        table = "\n".join(["| name | value |", "|---|---|", *lines])
        self._add(folder, global_step, summary=summaries.text("hparams", table))
        for tag, metric in metric_dict.items():
            number = summaries.one("add_hparams", metric)
            summary = summaries.value(tag, simple_value=number)
            self._add(folder, global_step, summary=summary)

    def add_graph(self, model: Any, *_args: Any, **_options: Any) -> None:
        """Raise NotSupported: programs are no graphs of TensorFlow's here."""
        raise NotSupported(
            "add_graph", "model", was="a module", needed="what TensorBoard can draw",
            remedy="print(model), or dovetail.compiler.explain(model)(*inputs)",
        )  # fmt: skip

    def get_logdir(self) -> str:
        """The folder."""
        return self.log_dir

    def flush(self) -> None:
        """Write what waits."""
        for file in self._files.values():
            file.flush()

    def close(self) -> None:
        """Write what waits, and close the files; what is logged later opens others."""
        for file in self._files.values():
            file.close()
        self._files.clear()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
