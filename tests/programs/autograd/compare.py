"""Random programs that differentiate, statement by statement beside torch.

After every statement both libraries must have refused it or not, with errors of one
class; and values, gradients, requires_grad, is_leaf, the identity of `.grad` and the
calls of hooks in their order must agree. A program that shows a difference is cut down
to the statements that it takes, and printed so that it can be run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import torch

import dovetail
from tests.programs.autograd.side import Side, differences
from tests.programs.autograd.statements import Draw

_LENGTHS: Final = (5, 28)


# What torch refuses and dovetail serves, by torch's words, with the reason; a program
# in which that happens ends there.
SERVED: Final = {
    "unsupported operation: more than one element": "gradients that `grad` returns can "
    "be written; torch's may be expanded",
    "some elements of the input tensor and the written-to": "dovetail reads all "
    "operands before it writes",
    "has been detached in-place": "what was kept for backward is not what was detached",
    "please report a bug to PyTorch": "an assertion of torch's own failed",
    "update to inference tensor": "what `.data` of one gives is written anywhere, and "
    "so are views of it",
    "was created in inference mode": "the same, of views taken there",
    "was created in no_grad mode": "such a view is taken again of what the "
    "base is, as any other",
    "function that returns multiple views": "dovetail's `split` and `unbind` are "
    "slices, through which gradients flow whoever writes the base",
    "backward through the graph a second time": "nodes for which dovetail keeps "
    "nothing serve again, and it keeps less than torch here and there",
}


class Served(Exception):
    """One library went on where the other refused, for a reason that is accepted."""


# The same, where one of the program's lines is why.
SERVED_AFTER: Final = {
    ("modified by an inplace operation", "sigmoid_()"): "dovetail keeps the result in "
    "memory of its own, so that it may be written again",
    ("modified by an inplace operation", ".data = "): "a result that was kept is in "
    "the memory that its tensor has left",
}


def stop_if_served(error: Exception, lines: Sequence[str] = ()) -> None:
    """End the program if torch's refusal is one that dovetail need not follow."""
    said, program = str(error), "\n".join(lines)
    served = any(words in said for words in SERVED)
    if served or any(w in said and line in program for w, line in SERVED_AFTER):
        raise Served from error


def stop_if_deprecated(torchs: Side) -> None:
    """End the program if torch served, but said that it will refuse.

    So it does where elements that share memory, after `expand`, are written.
    """
    if any("expanded tensors is deprecated" in str(w.message) for w in torchs.warned):
        raise Served


@dataclass(frozen=True)
class Difference:
    """A program, and what its last statement showed."""

    lines: tuple[str, ...]
    found: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([*self.lines, *(f"    # {line}" for line in self.found)])


class Pair:
    """A program that runs in both libraries at once."""

    def __init__(self) -> None:
        self.ours, self.theirs = Side(dovetail), Side(torch)
        self.lines: list[str] = []

    def run(self, line: str, look: bool = True) -> Difference | None:
        """Run a statement in both; what differs then, looking at all if asked to."""
        self.lines.append(line)
        refused, should = self.ours.run(line), self.theirs.run(line)
        if refused is None and should is not None:
            stop_if_served(should, self.lines)
        if "inference tensor" in str(refused) and (
            should is not None or any(".data" in before for before in self.lines)
        ):
            raise Served  # torch has written nevertheless, or keeps such as `.data`
        if "_will_engine_execute_node" in str(should):
            raise Served  # hooks of several tensors, which torch's `grad` cannot call
        if "has changed the" in str(should) and "has changed the" in str(refused):
            raise Served  # what a pass has done before it is refused is not compared
        if refused is not None and should is None:
            stop_if_deprecated(self.theirs)
        found = _refusals(refused, should)
        if not found and look:
            found = self._seen()
        if found and self.ours.layouts() != self.theirs.layouts():
            raise Served  # which results share memory depends on layouts
        return Difference(tuple(self.lines), tuple(found)) if found else None

    def _seen(self) -> list[str]:
        try:
            theirs = self.theirs.seen()
        except RuntimeError as error:
            stop_if_served(error, self.lines)
            if self._may_ours_be_seen():
                return [f"torch cannot be looked at: {_named(error)}"]
            raise Served from error
        try:
            ours = self.ours.seen()
        except Exception as error:
            return [f"dovetail cannot be looked at: {_named(error)}"]
        return differences(ours, theirs)

    def _may_ours_be_seen(self) -> bool:
        try:
            self.ours.seen()
        except RuntimeError:
            return False
        return True


def _refusals(refused: Exception | None, should: Exception | None) -> list[str]:
    if should is None:
        return [] if refused is None else [f"dovetail raises {_named(refused)}"]
    if refused is None:
        return [f"torch raises {_named(should)}"]
    base = next(c for c in type(should).__mro__ if c.__module__ == "builtins")
    if isinstance(refused, base):
        return []
    return [f"dovetail raises {_named(refused)}, torch {_named(should)}"]


def _named(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:300]}"


def _stop_if_unreadable(error: Exception) -> None:
    """End the program if torch has a tensor that cannot be looked at any more.

    That the same one of ours cannot is seen after the statement that did it.
    """
    stop_if_served(error)
    if "custom Function" in str(error):
        raise Served from error


def check(seed: int | str) -> Difference | None:
    """Draw and run one program; what differs, if anything."""
    random = Random(f"autograd {seed}")
    pair = Pair()
    draw = Draw(random, pair.theirs.names, pair.ours.names, _stop_if_unreadable)
    for line in draw.start():
        pair.run(line, look=False)
    # Looking makes lazily taken places on the tape, so some programs do it rarely.
    often = random.random() < 0.4
    length = random.randint(*_LENGTHS)
    try:
        for i in range(length):
            line = draw.statement()
            look = often or i == length - 1 or "backward" in line
            found = pair.run(line, look)
            if found is not None:
                return found
    except Served:
        pass
    return None


def rerun(lines: tuple[str, ...]) -> Difference | None:
    """Run statements as they stand, looking once at the end."""
    pair = Pair()
    for i, line in enumerate(lines):
        try:
            found = pair.run(line, look=i == len(lines) - 1)
        except Served:
            return None
        if found is not None:
            return found
    return None


def shrink(difference: Difference) -> Difference:
    """The same difference with fewer statements, where it takes fewer."""
    best = difference
    at = len(best.lines) - 2
    while at >= 0:
        lines = best.lines[:at] + best.lines[at + 1 :]
        found = rerun(lines)
        if found is not None and not _unnamed(found):
            best = found
        at = min(at, len(best.lines) - 1) - 1
    return best


def _unnamed(difference: Difference) -> bool:
    return any("NameError" in line for line in difference.found)


def run(seeds: range, limit: int) -> Iterator[tuple[int, Difference]]:
    """The differences that programs show, cut down; at most `limit`."""
    left = limit
    for seed in seeds:
        found = check(seed)
        if found is not None:
            yield seed, shrink(found)
            left -= 1
            if not left:
                return
