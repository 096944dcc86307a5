"""Two reports beside each other: what got worse, what got better."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dovetail.conformance.report.files import number, read
from dovetail.conformance.report.matrix import COMPOSED, NATIVE
from dovetail.conformance.verdicts import BAD, GOOD, Check, Outcome
from dovetail.errors import FileFormatError

# A measured error that moved by less tells nothing.
_NOTICEABLE: Final = 0.5
_SHOWN: Final = 12


@dataclass(slots=True)
class Differences:
    """What differs between two reports or certificates, in words.

    Attributes:
        worse, better: what a person has to know first.
        changed: what is neither.
        environment: what the two runs depended on.
    """

    worse: list[str] = field(default_factory=list)
    better: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    environment: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether the verdicts agree; the environment may differ."""
        return not (self.worse or self.better or self.changed)

    @property
    def status(self) -> int:
        """The exit status: 1 when something got worse."""
        return int(bool(self.worse))

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "same": self.same}

    def __rich__(self) -> RenderableType:
        rows = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        rows.add_column(no_wrap=True)
        rows.add_column(overflow="fold")
        parts = (
            ("worse", self.worse, "bold red"), ("better", self.better, "green"),
            ("changed", self.changed, ""), ("environment", self.environment, "dim"),
        )  # fmt: skip
        for name, found, style in parts:
            for text in found[:_SHOWN]:
                rows.add_row(Text(name, style=style), Text(text))
            if len(found) > _SHOWN:
                rows.add_row("", Text(f"… and {len(found) - _SHOWN} more", style="dim"))
        verdict = "the same verdicts" if self.same else (
            f"{len(self.worse)} worse, {len(self.better)} better, "
            f"{len(self.changed)} otherwise changed"
        )  # fmt: skip
        return Group(rows, Text(verdict, style="bold"))


def compare(old: str | Path, new: str | Path) -> Differences:
    """What differs from one report (or certificate) in JSON to another.

    Raises:
        FileFormatError: a file is neither.
    """
    return compared(_loaded(old), _loaded(new))


def _loaded(path: str | Path) -> dict[str, Any]:
    found = read(path)
    if not str(found.get("format", "")).startswith("dovetail-conformance-"):
        raise FileFormatError(
            "compare", str(path), was=f"of the format {found.get('format')!r}",
            needed="a report or a certificate of `dovetail conformance`",
        )  # fmt: skip
    return found


def compared(
    old: dict[str, Any], new: dict[str, Any], *, strict: bool = False
) -> Differences:
    """What differs between two documents.

    Args:
        strict: any other measured error counts, also one that is smaller; for replays.
    """
    found = Differences()
    _levels(old, new, found)
    _checks(_outcomes(old), _outcomes(new), found)
    _cells(old, new, found)
    _errors(old, new, found, 0.0 if strict else _NOTICEABLE)
    found.environment += _environment(_pins(old), _pins(new))
    return found


def _levels(old: dict[str, Any], new: dict[str, Any], found: Differences) -> None:
    before, after = old.get("level"), new.get("level")
    if before == after:
        return
    text = f"level {_level(before)} → {_level(after)}"
    gained = (-1 if after is None else after) > (-1 if before is None else before)
    (found.better if gained else found.worse).append(text)


def _level(level: int | None) -> str:
    return "none" if level is None else str(level)


def _outcomes(document: dict[str, Any]) -> dict[str, str]:
    if "checks" in document:
        return {c["id"]: c["outcome"] for c in document["checks"]}
    return {Check(**v["check"]).id: _executed(v) for v in document.get("verdicts", ())}


def _executed(verdict: dict[str, Any]) -> str:
    outcome: str = verdict["outcome"]
    return "untested" if outcome == "passed" and not verdict["examples"] else outcome


def _checks(old: dict[str, str], new: dict[str, str], found: Differences) -> None:
    for check in {**old, **new}:
        before, after = old.get(check), new.get(check)
        if before == after:
            continue
        text = f"{check}  {before or 'not made'} → {after or 'not made'}"
        if (before in BAD and after in GOOD) or after == Outcome.PASSED:
            found.better.append(text)
        elif before in GOOD or (after in BAD and before not in BAD):
            found.worse.append(text)
        else:
            found.changed.append(text)


def _cells(old: dict[str, Any], new: dict[str, Any], found: Differences) -> None:
    """What ran: a kernel, or the op's body."""
    before = {(c["op"], c["dtype"]): c["state"] for c in old.get("matrix", ())}
    for cell in new.get("matrix", ()):
        pair = cell["op"], cell["dtype"]
        moved = before.get(pair), cell["state"]
        text = f"{pair[0]}/{pair[1]}  {moved[0]} → {moved[1]}"
        if moved == (COMPOSED, NATIVE):
            found.better.append(text)
        elif moved == (NATIVE, COMPOSED):
            found.worse.append(text)


def _errors(
    old: dict[str, Any], new: dict[str, Any], found: Differences, noticeable: float
) -> None:
    before = {(e["op"], e["dtype"]): number(e["ulp"]) for e in old.get("ledger", ())}
    for entry in new.get("ledger", ()):
        was = before.get((entry["op"], entry["dtype"]))
        now = number(entry["ulp"])
        if was is None or now is None or now == was or abs(now - was) < noticeable:
            continue
        text = f"{entry['op']}/{entry['dtype']}  {was:.3g} → {now:.3g} ulp"
        (found.worse if now > was else found.better).append(text)


def _pins(document: dict[str, Any]) -> dict[str, Any]:
    if "pins" in document:
        return {k: v for k, v in document["pins"].items() if k != "started"}
    run = document.get("run", {})
    told = ("about", "budget", "ops", "laws")
    return {k: run.get(k) for k in told} | {"seed": run.get("seed", 0)}


def _environment(old: Any, new: Any, name: str = "") -> Iterator[str]:
    """Where two trees of plain data differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in {**old, **new}:
            inner = f"{name}.{key}" if name else str(key)
            yield from _environment(old.get(key), new.get(key), inner)
    elif old != new:
        yield f"{name}  {_short(old)} → {_short(new)}"


def _short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{_joined(map(_short, value))}]"
    return str(value)


def _joined(parts: Iterable[str]) -> str:
    text = ", ".join(parts)
    return text if len(text) < 100 else f"{text[:97]}…"
