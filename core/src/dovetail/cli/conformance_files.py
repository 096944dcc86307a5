"""The files that a run leaves behind."""

from __future__ import annotations

from rich.console import Console

from dovetail.cli.conformance_options import Files
from dovetail.conformance.report import Report


def write_files(report: Report, files: Files, console: Console) -> None:
    """Write what is wanted; scripts only where something failed."""
    for write, path in (
        (report.write_json, files.json),
        (report.write_html, files.html),
        (report.write_junit, files.junit),
        (report.write_certificate, files.certificate),
        (report.write_badge, files.badge),
    ):
        if path is not None:
            console.print(f"wrote {write(path)}", style="dim")
    if report.reproductions:
        scripts = report.write_reproductions(files.repros)
        console.print(f"wrote {len(scripts)} scripts to {files.repros}", style="dim")
