"""The command; see the package."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.progress import track

from tests.programs.bad_calls.calls import Drawing, targets

KINDS: Final = ("leak", "silent", "altered", "changing", "slow", "crash")
ROOT: Final = Path(__file__).resolve().parents[3]


def findings(args: argparse.Namespace) -> Iterator[dict[str, str] | None]:
    """What is found; None after each call. A worker that dies has a crash found."""
    first, end = args.first, args.first + args.count
    while first < end:
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.programs.bad_calls.worker", str(args.seed),
             str(first), str(end - first), str(args.seconds),
             "none" if args.alone else "torch"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=ROOT,
        )  # fmt: skip
        assert worker.stdout is not None
        for line in worker.stdout:
            if line == "done\n":
                first = end
            elif line.startswith("{"):
                yield json.loads(line)
            else:
                first = int(line) + 1
                yield None
        if worker.wait() and first < end + 1:
            call = Drawing(targets(), str(args.seed), first - 1).call()
            yield {
                "what": "crash", "name": call.name, "call": str(call), "told": "",
                "cause": f"the process ended with {worker.returncode}",
            }  # fmt: skip


def shown(found: list[dict[str, str]], counts: Counter[str], args: Any) -> None:
    """The figures, and the causes that come most often."""
    out = Console(soft_wrap=True, highlight=False)
    for kind in KINDS:
        causes: dict[str, list[dict[str, str]]] = defaultdict(list)
        for one in found:
            if one["what"] == kind:
                causes[one["cause"]].append(one)
        for cause, ones in sorted(causes.items(), key=lambda c: -len(c[1]))[: args.top]:
            out.print(f"{kind} {len(ones):5}  {cause}", markup=False)
            shortest = min(ones, key=lambda o: len(o["call"]))
            out.print(f"             {shortest['call']}", markup=False)
            if args.all:
                for one in ones:
                    out.print(f"             {one['call']}", markup=False)
                    out.print(f"                 {one['told']}", markup=False)
    figures = ", ".join(f"{kind} {counts[kind]}" for kind in KINDS)
    out.print(f"{args.count} calls of seed {args.seed}: {figures}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=5.0, help="for each call")
    parser.add_argument("--top", type=int, default=30, help="causes shown of a kind")
    parser.add_argument("--all", action="store_true", help="show every call")
    parser.add_argument("--alone", action="store_true", help="without torch")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    found: list[dict[str, str]] = []
    ticks = findings(args)
    bar = track(
        range(args.count), "calling", console=Console(stderr=True),
        disable=not sys.stderr.isatty(),
    )  # fmt: skip
    for one in ticks:
        if one is None:
            next(iter(bar), None)
        else:
            found.append(one)
    counts = Counter(one["what"] for one in found)
    if args.json:
        figures = {kind: counts[kind] for kind in KINDS}
        print(json.dumps({"count": args.count, **figures, "findings": found}, indent=1))
    else:
        shown(found, counts, args)
    sys.exit(any(counts[kind] for kind in KINDS if kind != "slow"))


if __name__ == "__main__":
    main()
