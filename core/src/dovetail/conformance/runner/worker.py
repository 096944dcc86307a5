"""The process that owns a device: takes checks one at a time, answers with verdicts.

`python -m dovetail.conformance.runner.worker --device acme:0 --journal FILE`, started
by a supervisor. Before each example it notes in the journal what comes, so that its
own death tells which call it was.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import os
import random
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import IO, Any, Final

import numpy as np

import dovetail.conformance.laws  # noqa: F401 (registers them)
from dovetail.conformance.budget import Budget, budget
from dovetail.conformance.example import Example
from dovetail.conformance.judge import describe, judge, resolve
from dovetail.conformance.law import DeviceLaw
from dovetail.conformance.plan import plan
from dovetail.conformance.reproduce import script
from dovetail.conformance.runner import protocol
from dovetail.conformance.runner.about import about, subnormals
from dovetail.conformance.runner.journal import Journal
from dovetail.conformance.setup import bring
from dovetail.conformance.subject import Subject
from dovetail.conformance.verdicts import Check
from dovetail.engine.host import set_fallback_policy
from dovetail.engine.op import vocabulary

_LOOKS: Final = 1.0  # seconds between looks at the parent


class Worker:
    """A device and what can be asked of it."""

    def __init__(self, device: str, journal: Journal) -> None:
        self.subject = Subject(device)
        self.journal = journal
        self.warm = False
        self.does: dict[str, Callable[..., Any]] = {
            protocol.JUDGE: self.judge,
            protocol.PLAN: self.plan,
            protocol.SCRIPT: self.script,
            protocol.SUBNORMALS: lambda: subnormals(self.subject),
            **{name: partial(do, device) for name, do in protocol.EXTRA.items()},
        }

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a request comes to, or how the kit itself failed at it."""
        do = request.pop("do")
        self.journal.note(request.get("check", do))
        try:
            return {protocol.OK: self.does[do](**request)}
        except Exception as error:  # not the device's: `judge` keeps those
            return failure(error)

    def plan(self, budget_name: str, ops: str, laws: str) -> dict[str, Any]:
        """The checks in order with what the supervisor has to know of each."""
        checks = plan(self.subject, budget(budget_name), ops, laws)
        return {"rows": [_row(check) for check in checks]}

    def judge(
        self, check: str, budget_name: str, seed: int, only: int | None, skip: list[int]
    ) -> dict[str, Any]:
        """One verdict."""
        wanted = Check.parse(check)
        set_fallback_policy("error")
        random.seed(wanted.seeded(seed))
        np.random.seed(wanted.seeded(seed))
        self._warm_up(wanted)
        return judge(
            self.subject, wanted, budget(budget_name, seed),
            lambda number, label: self.journal.note(check, number, label),
            only=only, skip=frozenset(skip),
        ).to_json()  # fmt: skip

    def _warm_up(self, check: Check) -> None:
        """Let what is made once be made before anything is counted.

        Not before the laws that prove the functions which it calls.
        """
        law = resolve(check)[0]
        if self.warm or (isinstance(law, DeviceLaw) and law.first):
            return
        self.warm = True
        backend, index = self.subject.backend, self.subject.index
        try:
            backend.copy_out(backend.copy_in(np.zeros(8, np.float32), index))
            backend.synchronize(index)
        except Exception:  # it will fail again where it is judged
            return

    def script(
        self, check: str, budget_name: str, seed: int, number: int, message: str
    ) -> dict[str, str]:
        """How to show an example that this process must not run."""
        wanted, limits = Check.parse(check), budget(budget_name, seed)
        example = self._example(wanted, limits, number)
        text = script(wanted, self.subject.device, example, message, limits)
        return {"script": text, "layout": example.layout, "example": example.label}

    def _example(self, check: Check, limits: Budget, number: int) -> Example:
        law, op, dtype = resolve(check)
        if isinstance(law, DeviceLaw):
            found = law.examples(self.subject, dtype, limits)
        else:
            assert op is not None
            assert dtype is not None
            found = law.examples(self.subject, op, dtype, limits)
        return next(islice(found, number, None))


def _row(check: Check) -> dict[str, Any]:
    """A check and what has to be known of it to order a run."""
    law = resolve(check)[0]
    return {
        "id": check.id,
        "first": isinstance(law, DeviceLaw) and law.first,
        "carries": isinstance(law, DeviceLaw) and law.carries,
        "rank": law.rank,
        "primitive": check.op in vocabulary and bool(vocabulary[check.op].primitive),
    }


def failure(error: BaseException) -> dict[str, str]:
    """An error as an answer."""
    trace = "".join(traceback.format_exception(error))
    return {protocol.FAILED: describe(error), protocol.TRACEBACK: trace}


def serve(device: str, setup: list[str], journal: Journal) -> int:
    """Answer requests until there are none; the exit status."""
    with _private() as requests, _private(1) as answers:
        try:
            journal.note(protocol.STARTING, label="loading the device")
            for module in setup:
                bring(module)
            worker = Worker(device, journal)
            gc.collect()
            gc.freeze()  # laws collect often, and none of this ever becomes garbage
            _say(answers, {protocol.OK: asdict(about(worker.subject))})
        except Exception as error:  # a plug-in may fail in any way
            _say(answers, failure(error))
            return 1
        for line in requests:
            request = protocol.read(line)
            if request is not None:
                _say(answers, worker.answer(request))
    return 0


def _private(descriptor: int = 0) -> IO[str]:
    """Standard input or output under a number of our own.

    What a library prints or reads goes elsewhere from now on: prints to stderr, which
    is the log.
    """
    own = os.dup(descriptor)
    if descriptor == 0:
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        return os.fdopen(own, encoding="utf-8")
    os.dup2(2, descriptor)
    return os.fdopen(own, "w", encoding="utf-8")


def _say(answers: IO[str], message: dict[str, Any]) -> None:
    answers.write(protocol.written(message))
    answers.flush()


def _end_with_parent(parent: int) -> None:
    """Leave no process behind, busy or hung, when the supervisor was killed."""
    while os.getppid() == parent:
        time.sleep(_LOOKS)
    os._exit(1)


def main() -> None:
    """Serve one device."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--journal", required=True, type=Path)
    parser.add_argument("--setup", action="append", default=[])
    wanted = parser.parse_args()
    faulthandler.enable(all_threads=False)
    Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    warnings.simplefilter("ignore")  # oracles may overflow, devices may warn
    sys.exit(serve(wanted.device, wanted.setup, Journal(wanted.journal)))


if __name__ == "__main__":
    main()
