"""Random training programs: which statements they are made of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from textwrap import indent
from typing import Final

from tests.programs.capture.statements import (
    AFTER,
    BEFORE,
    FORWARD,
    HOOKS,
    LAYERS,
    LOSSES,
    OPTIMIZERS,
    PASSES,
    SHAPED,
)

# The first lines of `setup`.
START: Final = (
    "seen = []", "source = L.Generator().manual_seed(9)", "scale = 0.75",
    "running, counter = L.zeros(6), L.zeros(())", "average = L.zeros(6, 6)",
    "w = L.nn.Parameter(L.randn(6, 6) * 0.4)", "outer = L.nn.Linear(6, 6)",
    "offset, rows, row = w.sum(), w[1:3], w.detach()[2]",
    "buffer, steps = L.zeros(4, 6), L.zeros((), dtype=L.int64)",
    "net = L.nn.Sequential(L.nn.Linear(6, 6), L.nn.Dropout(0.2))", "modules = []",
)  # fmt: skip


@dataclass(frozen=True)
class Program:
    """The lines of a program, by part; each may be several lines of source.

    `setup` makes modules, state and an optimizer, `forward` is a forward pass, and
    `step` does what a training step does with it. Its first result, if it is one, can
    be differentiated.
    """

    setup: tuple[str, ...]
    forward: tuple[str, ...]
    step: tuple[str, ...]

    def source(self) -> str:
        """The function `build`, whose result has the step and what it changes."""
        return "\n".join(
            [
                "def build(L, F):", _in("\n".join(self.setup), 1),
                _in("def forward(x, target):", 1), _in("h = h0 = x", 2),
                _in("\n".join(self.forward), 2), _in("return h", 2),
                _in("def step(x, target):", 1), _in("seen.clear()\nlast = None", 2),
                _in("\n".join(s for s in self.step if s), 2),
                _in("return last, h, loss, [getattr(s, 'grad', None) for s in seen], "
                    "list(seen)", 2),
                _in("held = [running, average, counter, w, row, rows, buffer]", 1),
                _in("return step, optimizer, net, params, [*held, steps], source", 1),
            ]
        )  # fmt: skip

    def without(self) -> Iterator[Program]:
        """The same program less one line, for each that may go."""
        for part in ("step", "forward", "setup"):
            lines = getattr(self, part)
            for i in reversed(range(len(lines))):
                yield Program(**{**vars(self), part: lines[:i] + lines[i + 1 :]})


def _in(text: str, by: int) -> str:
    return indent(text, "    " * by)


def draw(random: Random) -> Program:
    """One program."""
    forward: list[str] = []
    setup = list(START)
    for i in range(1, random.randint(2, 9)):
        forward.append(_forward(random, i, setup))
        forward.append(f"h{i} = h")
    setup += [
        "more = [p for m in modules for p in m.parameters()]",
        "params = [w, *net.parameters(), *more]",
        f"optimizer = {random.choice(OPTIMIZERS)}",
        "schedule = L.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)",
    ]
    setup += random.sample(HOOKS, random.choice([0, 0, 1, 2]))
    after = random.sample(AFTER, random.choice([0, 1, 1, 2, 3]))
    step = [random.choice(BEFORE), _passed(random), *after, "optimizer.step()"]
    if random.random() < 0.6:
        step.append("last = forward(x, target) * w.mean()")
    return Program(tuple(setup), tuple(forward), tuple(step))


def _forward(random: Random, number: int, setup: list[str]) -> str:
    """A statement of the forward pass, whose module is made by `setup`."""
    kind = random.random()
    if kind < 0.15:
        return "h = net(h)"
    if kind < 0.6:
        text = random.choice(FORWARD).replace("{i}", str(random.randrange(number)))
        return text.replace("{n}", str(random.randrange(4)))
    layer = (random.choice(LAYERS), "m(h)")
    made, call = random.choice(SHAPED) if kind < 0.75 else layer
    setup.append(f"m{number} = {made}\nmodules.append(m{number})")
    return f"h = {call}".replace("m(", f"m{number}(", 1)


def _passed(random: Random) -> str:
    loss = random.choice(LOSSES) + " + 0 * w.sum()"
    text: str = random.choice(PASSES)
    return text.replace("{loss}", loss).replace("{inner}", _in(loss, 1))
