"""The certificate: what was proven of which device by which kit, sealed by a hash.

The hash guards against accidents and careless edits. Whoever doubts a certificate
replays it: `dovetail conformance --replay certificate.json`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

from dovetail.conformance.budget import budget
from dovetail.conformance.report.compare import Differences, compared
from dovetail.conformance.report.document import Report
from dovetail.conformance.report.files import finite, read, write
from dovetail.conformance.report.matrix import executed
from dovetail.conformance.report.pins import package_hash, plugins
from dovetail.conformance.waivers import Waiver
from dovetail.errors import FileFormatError

FORMAT: Final = "dovetail-conformance-certificate-1"
KIT: Final = "dovetail"


def write_certificate(report: Report, path: str | Path) -> Path:
    """The certificate of a run."""
    text = json.dumps(certificate(report), indent=1, allow_nan=False)
    return write(path, text + "\n")


def certificate(report: Report) -> dict[str, Any]:
    """Everything that a replay needs and compares, and its hash."""
    found: dict[str, Any] = finite(
        {
            "format": FORMAT,
            "level": report.level,
            "passed": report.passed,
            "blockers": [str(b) for b in report.blockers],
            "pins": _pins(report),
            "matrix": [c.to_json() for c in report.matrix.values() if c.examples],
            "ledger": [e.to_json() for e in report.ledger],
            "checks": [
                {
                    "id": v.check.id,
                    "seed": v.check.seeded(report.run.seed),
                    "outcome": executed(v).value,
                    "how": v.how.value,
                    "examples": v.examples,
                    "layouts": {k: o.value for k, o in v.layouts.items()},
                    "ulp": v.ulp,
                }
                for v in report.run.verdicts
            ],
        }
    )
    return {**found, "digest": digest(found)}


def _pins(report: Report) -> dict[str, Any]:
    run = report.run
    limits = budget(run.budget, run.seed)
    return {
        "kit": package_hash(KIT),
        "about": asdict(run.about),
        "plugins": plugins(run.about.type),
        "budget": asdict(limits) | {"dtypes": [d.name for d in limits.dtypes]},
        "ops": run.ops,
        "laws": run.laws,
        "started": run.started,
        "waivers": [
            asdict(waiver) | {"expires": waiver.expires.isoformat()}
            for waiver, _ in report.waived.applied
        ],
    }


def digest(content: dict[str, Any]) -> str:
    """The hash of a certificate's content, in whichever order its keys are."""
    bare = {k: v for k, v in content.items() if k != "digest"}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


def verify(path: str | Path) -> dict[str, Any]:
    """The certificate in a file.

    Raises:
        FileFormatError: it is no certificate, or its content is not what was sealed.
    """
    found = read(path)
    if found.get("format") != FORMAT:
        raise FileFormatError(
            "certificate", str(path), was=f"of the format {found.get('format')!r}",
            needed=FORMAT,
        )  # fmt: skip
    sealed, now = found.get("digest"), digest(found)
    if sealed != now:
        raise FileFormatError(
            "certificate", str(path), was=f"changed since it was sealed (now {now})",
            needed=str(sealed), remedy="ask for the original, or make one anew",
        )  # fmt: skip
    return found


def replay(sealed: dict[str, Any], again: Report) -> Differences:
    """What a run that was made as a certificate pins found otherwise."""
    return compared(sealed, certificate(again), strict=True)


def pinned_waivers(sealed: dict[str, Any]) -> tuple[list[Waiver], date]:
    """The waivers of a certificate, and the day on which they excused failures."""
    pins = sealed["pins"]
    rows = [
        {**row, "expires": date.fromisoformat(row["expires"])}
        for row in pins.get("waivers", ())
    ]
    day = datetime.fromisoformat(pins["started"]).date()
    return [Waiver(**row) for row in rows], day


def arguments(sealed: dict[str, Any]) -> dict[str, Any]:
    """With what a run has to be made to replay a certificate."""
    pins = sealed["pins"]
    return {
        "device": pins["about"]["device"],
        "budget": pins["budget"]["name"],
        "ops": pins["ops"],
        "laws": pins["laws"],
        "seed": pins["budget"].get(
            "seed", 0
        ),  # which certificates did not tell at first
    }
