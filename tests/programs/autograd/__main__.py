"""Run random programs that differentiate beside torch, and print what differs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import torch
from rich.progress import track

from tests.programs.autograd.compare import run


def main(argv: list[str]) -> int:
    """Run programs and print what differs; exit status 1 if anything did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="programs to run")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--limit", type=int, default=10, help="differences to print")
    chosen: Any = parser.parse_args(argv)
    torch.set_num_threads(1)
    seeds = range(chosen.seed, chosen.seed + chosen.count)
    count = 0
    for seed in track(seeds, "programs", disable=not sys.stderr.isatty()):
        for _, found in run(range(seed, seed + 1), 1):
            count += 1
            print(f"# seed {seed}\n{found}\n")
        if count >= chosen.limit:
            break
    print(f"{count} programs differ of {seed - chosen.seed + 1}")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
