"""Profiles as files that trace viewers show."""

from __future__ import annotations

import gzip
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from dovetail.io.whole_files import replacing


def write_trace(path: str, events: Iterable[Any], about: dict[str, Any]) -> None:
    """Write events in Chrome's format, compressed if the name ends in .gz."""
    here = os.getpid()
    content = {
        "schemaVersion": 1,
        **about,
        "traceEvents": [_entry(event, here) for event in events],
        "displayTimeUnit": "ms",
    }
    text = json.dumps(content).encode()
    with replacing(path, "export_chrome_trace") as beside:
        beside.write_bytes(gzip.compress(text) if str(path).endswith(".gz") else text)


def _entry(event: Any, process: int) -> dict[str, Any]:
    facts = {"Input Dims": event.input_shapes} if event.input_shapes else {}
    return {
        "ph": "X", "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.name, "pid": process, "tid": event.thread,
        "ts": event.time_range.start, "dur": event.cpu_time_total, "args": facts,
    }  # fmt: skip


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """What writes each profile to a folder, under a name of its own.

    Args:
        dir_name: the folder, which is made.
        worker_name: how names begin; by the machine and the process if it is None.
        use_gzip: whether files are compressed.
    """
    worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"

    def handler(prof: Any) -> None:
        Path(dir_name).mkdir(parents=True, exist_ok=True)
        ending = ".pt.trace.json" + (".gz" if use_gzip else "")
        name = f"{worker}.{time.time_ns()}{ending}"
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return handler
