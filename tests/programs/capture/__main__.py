"""Record random training programs, replay them beside eager, print what differs."""

from __future__ import annotations

import argparse
import sys
import warnings
from typing import Any

from rich.progress import track

from tests.programs.capture.compare import compiled, recorded, run


def main(argv: list[str]) -> int:
    """Run programs and print what differs; exit status 1 if anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--limit", type=int, default=10, help="differences to print")
    parser.add_argument(
        "--compile", action="store_true", help="capture by dovetail.compile"
    )
    chosen: Any = parser.parse_args(argv)
    warnings.simplefilter("ignore")
    seeds = range(chosen.seed, chosen.seed + chosen.count)
    capture = compiled if chosen.compile else recorded
    ran = count = 0
    for seed in track(seeds, "programs", disable=not sys.stderr.isatty()):
        for found in run(range(seed, seed + 1), capture):
            ran += 1
            if found is not None:
                count += 1
                print(f"# seed {seed}\n{found}\n")
        if count >= chosen.limit:
            break
    print(f"{count} programs differ of {ran}, beside {chosen.count - ran} that eager "
          "refuses")  # fmt: skip
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
