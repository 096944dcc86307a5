"""`python -m tests.programs.bad_calls.worker`: judge a range of calls, print lines.

It runs in a process with little memory, so that huge sizes fail and harm nobody, and in
an empty folder. A line with a number comes before the call of that number is made.
"""

from __future__ import annotations

import faulthandler
import gc
import json
import os
import resource
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

from tests.programs.bad_calls.calls import Drawing, targets
from tests.programs.bad_calls.judge import Judge

MEMORY: Final = 6 << 30  # bytes of address space


def main() -> None:
    """Arguments: seed, first call, how many, seconds for each, `torch` or not."""
    seed, first, count, seconds, beside = sys.argv[1:]
    faulthandler.enable()
    theirs: Any = None
    if beside == "torch" and find_spec("torch") is not None:
        theirs = import_module("torch")
        theirs.set_num_threads(1)
        theirs.ones(1, device="meta").cos()  # imports what takes longer than a call may
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    offered, judge = targets(), Judge(theirs, float(seconds))
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what calls print
    os.chdir(tempfile.mkdtemp())
    for number in range(int(first), int(first) + int(count)):
        answers.write(f"{number}\n")
        call = Drawing(offered, seed, number).call()
        for finding in judge.findings(call):
            answers.write(json.dumps(finding.json()) + "\n")
        if number % 500 == 0:
            gc.collect()
    answers.write("done\n")


if __name__ == "__main__":
    main()
