"""Einstein summation as torch has it: one operand is looked into, not copied."""

from __future__ import annotations

from typing import Any

from dovetail.engine.overrides import ask, overridden
from dovetail.engine.public import NAMESPACES, public
from dovetail.engine.tensor import Tensor
from dovetail.frontend.contractions import steps_for
from dovetail.ops.diagonal import diagonal
from dovetail.ops.einsum import einsum as _einsum
from dovetail.ops.einsum import parse, sublists
from dovetail.ops.sums import sum
from dovetail.ops.view import permute


@public("torch.einsum", asks=False)
def einsum(*args: Any) -> Tensor:
    """Einstein summation: `einsum("ij,jk->ik", a, b)`, or with lists of numbers.

    Args:
        equation: a letter for each dim; those not after `->` are summed over, `...`
            stands for any others. Three operands or more are contracted in the order
            of `torch.backends.opt_einsum`, where opt_einsum is installed.

    Raises: ArgumentError for an equation that does not fit the operands, ShapeError for
        sizes that differ under one letter.

    Examples:
        >>> import dovetail as torch
        >>> a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> torch.einsum("ii->", a)
        tensor(5.)
        >>> torch.einsum("ij,kj->ik", a, a)
        tensor([[ 5., 11.],
                [11., 25.]])
    """
    named = len(args) == 2 and isinstance(args[0], str)
    if named and isinstance(args[1], list | tuple):
        args = (args[0], *args[1])  # which is how classes of operands are asked, too
    asked = overridden(args)
    if asked:
        handled: Tensor = ask(NAMESPACES["torch"]["einsum"], "einsum", asked, args, {})
        return handled
    if args and isinstance(args[0], str):
        equation, *operands = args
    else:
        operands, equation = sublists(args)
    if len(operands) == 1 and isinstance(operands[0], Tensor):
        return _alone(operands[0], equation)
    if len(operands) > 2 and all(isinstance(x, Tensor) for x in operands):
        return _contracted(operands, equation)
    return _einsum(operands, equation)


def _contracted(operands: list[Any], equation: str) -> Tensor:
    """Several operands, in the order that takes least work."""
    shapes = tuple([tuple(x._a.shape) for x in operands])
    parse(equation, shapes)  # what does not fit is refused in our words
    steps = steps_for(equation, shapes)
    if steps is None:
        return _einsum(operands, equation)
    left = list(operands)
    for places, part in steps:
        taken = [left[at] for at in places]
        left = [x for at, x in enumerate(left) if at not in places]
        left.append(_einsum(taken, part))
    found: Tensor = left[0]
    return found


def _alone(x: Tensor, equation: str) -> Tensor:
    """One operand's diagonals, permuted and summed: a view where nothing is summed."""
    parsed = parse(equation, (tuple(x._a.shape),))
    labels = parsed.inputs[0]
    while len(set(labels)) < len(labels):
        label = next(n for n in labels if labels.count(n) > 1)
        i, j = [d for d, n in enumerate(labels) if n == label][:2]
        x = diagonal(x, 0, i, j)
        labels = (*(n for d, n in enumerate(labels) if d not in (i, j)), label)
    left = [n for n in labels if n not in parsed.output]
    x = permute(x, tuple(labels.index(n) for n in (*parsed.output, *left)))
    return sum(x, tuple(range(-len(left), 0))) if left else x
