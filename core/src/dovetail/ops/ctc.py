"""Connectionist temporal classification (Graves et al. 2006): losses and shares.

A sequence of labels has states: a blank before, between and behind labels. Forwards,
each state has the probability of all ways there; backwards, of all ways on. Equations
are those of the paper, in logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dovetail.dtypes import FLOAT, Sizes
from dovetail.engine.cases import Case, case
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops.create import counted, zeros_of
from dovetail.ops.ctc_lattice import Lattice
from dovetail.ops.ctc_truth import losses_by_one, shares_by_one
from dovetail.ops.elementwise import neg
from dovetail.ops.index import scatter_add
from dovetail.ops.primitive import eq, exp, where
from dovetail.ops.shape import stack
from dovetail.ops.view import expand, reshape, unsqueeze

_CTC: Any = {
    "accepts": FLOAT, "indices": ("labels", "frames", "counts"), "largest": 1 << 8,
    "trusted": ("labels", "frames", "counts"), "cancels": True,
    "undefined_on": ("extreme", "pairs", "special", "sweep", "wide"),
}  # fmt: skip


def _checked(
    name: str, x: Sizes, labels: Sizes, frames: Sizes, counts: Sizes, blank: int
) -> None:
    if len(x) != 3 or not x[2]:
        raise ShapeError(
            name, "log_probs", was=f"of shape {tuple(x)}", needed="[t, n, classes]"
        )
    if not 0 <= blank < x[2]:
        raise ArgumentError(
            name, "blank", was=blank, needed=f"a class, 0 to {x[2] - 1}"
        )
    for what, shape, dims in (
        ("labels", labels, 2), ("frames", frames, 1), ("counts", counts, 1),
    ):  # fmt: skip
        if len(shape) != dims or shape[0] != x[1]:
            raise ShapeError(
                name, what, was=f"of shape {tuple(shape)}",
                needed=f"{dims} dims, the first of {x[1]}",
            )  # fmt: skip


def _losses_shape(
    x: Sizes, labels: Sizes, frames: Sizes, counts: Sizes, *, blank: int
) -> Sizes:
    _checked("ctc_losses", x, labels, frames, counts, blank)
    return (x[1],)


def _shares_shape(
    x: Sizes, labels: Sizes, frames: Sizes, counts: Sizes, *, blank: int
) -> Sizes:
    _checked("ctc_shares", x, labels, frames, counts, blank)
    return tuple(x)


def _cases(make: Any) -> Iterator[Case]:
    for steps, n, classes, size, blank in (
        (6, 3, 4, 2, 0), (5, 2, 3, 1, 2), (3, 1, 2, 0, 0), (2, 2, 5, 3, 0),
    ):  # fmt: skip
        labels = make.ints(n, size, low=1, high=classes)
        labels = np.where(labels == blank, 0, labels)
        frames = make.ints(n, low=1, high=steps + 1)
        counts = make.ints(n, low=0, high=size + 1)
        yield case(
            make(steps, n, classes, low=-3, high=0), labels, frames, counts, blank
        )


@op(shape=_losses_shape, domain=(-3.0, 0.0), oracle=losses_by_one, cases=_cases,
    **_CTC)  # fmt: skip
def ctc_losses(
    log_probs: Tensor, labels: Tensor, frames: Tensor, counts: Tensor, blank: int
) -> Tensor:
    """Minus the log probability of each label sequence, over all its alignments.

    Args:
        log_probs: [t, n, classes].
        labels: [n, s] classes, with whatever classes behind the ends.
        frames, counts: [n], how many steps and how many labels there are. Of these, and
            of labels, the nearest number counts that makes sense.
        blank: the class of no label.

    Returns: [n], infinite where there is no alignment.
    """
    lattice = Lattice(log_probs, labels, frames, counts, blank)
    steps, n, _ = lattice.shape
    start = where(eq(lattice.places, 0), 0.0, lattice.nothing)
    alpha = lattice.forwards()[-1] if steps else start
    return reshape(neg(lattice.whole(alpha)), (n,))


@op(shape=_shares_shape, domain=(-3.0, 0.0), oracle=shares_by_one, cases=_cases,
    **_CTC)  # fmt: skip
def ctc_shares(
    log_probs: Tensor, labels: Tensor, frames: Tensor, counts: Tensor, blank: int
) -> Tensor:
    """How likely each class is at each step, given the labels: losses fall so fast.

    Returns: [t, n, classes]; zeros behind the last step, and where there is no way.
    """
    lattice = Lattice(log_probs, labels, frames, counts, blank)
    steps, n, width = lattice.shape
    y = zeros_of(log_probs, tuple(log_probs._a.shape))
    if not steps or not n:
        return y
    alphas = lattice.forwards()
    alpha, beta = stack(alphas, 0), stack(lattice.backwards(), 0)
    whole = unsqueeze(lattice.whole(alphas[-1]), 0)
    times = reshape(counted(steps, labels), (steps, 1, 1))
    ways = (alpha > -math.inf) & (beta > -math.inf) & (lattice.seen > -math.inf)
    ways = ways & (whole > -math.inf) & (unsqueeze(lattice.lasts, 0) > times)
    # Where there is no way, nothing that is infinite comes near a gradient.
    parts = [where(ways, part, 0.0) for part in (alpha, beta, lattice.seen, whole)]
    share = where(ways, exp(parts[0] + parts[1] - parts[2] - parts[3]), 0.0)
    classes = expand(unsqueeze(lattice.states, 0), (steps, n, width))
    return scatter_add(y, 2, classes, share)


ctc_losses.grad(
    log_probs=lambda ct, log_probs, labels, frames, counts, blank: (
        -(
            ctc_shares(log_probs, labels, frames, counts, blank)
            * reshape(ct, (1, ct._a.shape[0], 1))
        )
    )
)

__all__ = ["ctc_losses", "ctc_shares"]
