"""The files that a run leaves behind."""

from __future__ import annotations

from rich.console import Console

from dovetail.cli.conformance_options import Files
from dovetail.conformance.report import Report


def write_files(report: Report, files: Files, console: Console) -> None:
    """Write what is wanted; scripts only where something failed.

    A run that was interrupted proves nothing that a certificate or a badge could say.
    """
    reports = [
        (report.write_json, files.json),
        (report.write_html, files.html),
        (report.write_junit, files.junit),
    ]
    proofs = [
        (report.write_certificate, files.certificate),
        (report.write_badge, files.badge),
    ]
    whole = not report.run.interrupted
    for write, path in (*reports, *proofs) if whole else reports:
        if path is not None:
            console.print(f"wrote {write(path)}", style="dim")
    for _, path in () if whole else proofs:
        if path is not None:
            console.print(f"did not write {path}: the run was interrupted")
    if report.reproductions:
        scripts = report.write_reproductions(files.repros)
        others = len(set(files.repros.glob("repro_*.py")) - set(scripts))
        earlier = f"; {others} of other runs stay there" if others else ""
        console.print(
            f"wrote {len(scripts)} scripts to {files.repros}{earlier}", style="dim"
        )
