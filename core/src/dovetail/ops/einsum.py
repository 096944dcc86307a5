"""Einstein summation: labels for dims, contracted two operands at a time."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

import numpy as np

from dovetail.dtypes import NUMERIC, Sizes, int32
from dovetail.engine.declare import op
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.ops import sums
from dovetail.ops.primitive import bmm, clone, iota, where
from dovetail.ops.view import expand, permute, reshape

Labels = tuple[str, ...]
_REMEMBERED: Final = 512  # equations, each with the shapes of its operands
_LETTERS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


class Equation(NamedTuple):
    """Labels of each operand's dims, those of the result, and the size of each.

    The dims of an ellipsis have the labels ".1", ".2", … counted from the right.
    """

    inputs: tuple[Labels, ...]
    output: Labels
    sizes: dict[str, int]


def sublists(args: Sequence[Any]) -> tuple[list[Any], str]:
    """The operands and the equation of `einsum(a, [0, 1], b, [1, 2], [0, 2])`."""
    operands, lists = list(args[: len(args) // 2 * 2 : 2]), list(args[1::2])
    text = ",".join(map(_letters, lists))
    return operands, f"{text}->{_letters(args[-1])}" if len(args) % 2 else text


def _letters(numbers: Any) -> str:
    if not isinstance(numbers, list | tuple):
        raise ArgumentError(
            "einsum", "sublist", was=repr(numbers), needed="a list of numbers"
        )
    for n in numbers:
        if n is not Ellipsis and not (isinstance(n, int) and 0 <= n < len(_LETTERS)):
            raise ArgumentError(
                "einsum", "sublist", was=f"{n!r} in it", needed="numbers from 0 to 51"
            )
    return "".join("..." if n is Ellipsis else _LETTERS[n] for n in numbers)


@lru_cache(_REMEMBERED)
def parse(equation: str, shapes: tuple[Sizes, ...]) -> Equation:
    """Read an equation for operands of these shapes.

    Raises:
        ArgumentError: the equation is malformed.
        ShapeError: it does not fit the operands.
    """
    left, arrow, right = equation.replace(" ", "").partition("->")
    terms = left.split(",")
    _check_text(equation, [*terms, right])
    if len(terms) != len(shapes):
        raise ArgumentError(
            "einsum", "operands", was=f"{len(shapes)} for {equation!r}",
            needed=f"{len(terms)}, one for each term",
        )  # fmt: skip
    inputs = tuple(
        _labels(t, s, equation, i)
        for i, (t, s) in enumerate(zip(terms, shapes, strict=True))
    )
    sizes = _sizes(inputs, shapes, equation)
    return Equation(inputs, _output(inputs, right, bool(arrow), equation), sizes)


def _check_text(equation: str, terms: Sequence[str]) -> None:
    for term in terms:
        if not re.fullmatch(r"[a-zA-Z]*(\.\.\.)?[a-zA-Z]*", term):
            raise ArgumentError(
                "einsum", "equation", was=f"{equation!r}, with the term {term!r}",
                needed="letters and at most one ... a term",
            )  # fmt: skip


def _labels(term: str, shape: Sizes, equation: str, at: int) -> Labels:
    head, dots, tail = term.partition("...")
    rest = len(shape) - len(head) - len(tail)
    if rest < 0 or (rest and not dots):
        raise ShapeError(
            "einsum", f"operand {at}", was=f"of shape {tuple(shape)}",
            needed=f"as many dims as {term!r} in {equation!r} has letters",
            remedy="use ... for the other dims",
        )  # fmt: skip
    return (*head, *(f".{n}" for n in range(rest, 0, -1)), *tail)


def _sizes(
    inputs: Sequence[Labels], shapes: Sequence[Sizes], equation: str
) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        own: dict[str, int] = {}
        for label, size in zip(labels, shape, strict=True):
            if own.setdefault(label, size) != size:
                raise ShapeError(
                    "einsum", f"label {label!r}", was=f"{own[label]} and {size} in one "
                    f"operand of {equation!r}", needed="equal sizes",
                )  # fmt: skip
            known = sizes.get(label, 1)
            if known != size and 1 not in (known, size):
                raise ShapeError(
                    "einsum", f"label {label!r}",
                    was=f"{known} and {size} in {equation!r}",
                    needed="equal sizes, or 1 to broadcast",
                )  # fmt: skip
            sizes[label] = size if known == 1 else known
    return sizes


def _output(
    inputs: Sequence[Labels], right: str, explicit: bool, equation: str
) -> Labels:
    counts = Counter(label for labels in inputs for label in labels)
    dots = max((sum(x[0] == "." for x in labels) for labels in inputs), default=0)
    ellipsis = tuple(f".{n}" for n in range(dots, 0, -1))
    if not explicit:
        letters = sorted(n for n, count in counts.items() if count == 1 and n[0] != ".")
        return (*ellipsis, *letters)
    head, found, tail = right.partition("...")
    output = (*head, *(ellipsis if found else ()), *tail)
    for label in {*head, *tail}:
        if output.count(label) > 1 or label not in counts:
            raise ArgumentError(
                "einsum", "equation", was=f"{equation!r}, with {label!r} in the output",
                needed="output labels that are in an operand, each once",
            )  # fmt: skip
    return output


def _shape(shapes: Sequence[Sizes], *, equation: str) -> Sizes:
    parsed = parse(equation, tuple([tuple(s) for s in shapes]))
    return tuple(parsed.sizes[label] for label in parsed.output)


@op(autocast="lower", sums=True, shape=_shape, accepts=NUMERIC,
    oracle=lambda operands, equation: np.einsum(equation, *operands))  # fmt: skip
def einsum(operands: list[Tensor], equation: str) -> Tensor:
    """Products of elements whose labels agree, summed over labels not in the output."""
    parsed = parse(equation, tuple([tuple(x._a.shape) for x in operands]))
    terms = [
        _diagonals(x, labels) for x, labels in zip(operands, parsed.inputs, strict=True)
    ]
    x, labels = terms[0]
    for i, (y, others) in enumerate(terms[1:], 1):
        later = {label for _, rest in terms[i + 1 :] for label in rest}
        keep = later | set(parsed.output)
        x, labels = _pair(x, labels, y, others, keep, parsed.sizes)
    x, labels = _summed(x, labels, set(parsed.output))
    return _own(_in_order(x, labels, parsed.output), operands)


def _own(x: Tensor, operands: Sequence[Tensor]) -> Tensor:
    """The result, which shares no memory with an operand."""
    return clone(x) if len(operands) == 1 else x


def _diagonals(x: Tensor, labels: Labels) -> tuple[Tensor, Labels]:
    """One dim for each label: where one is repeated, the diagonal."""
    while len(set(labels)) < len(labels):
        label = next(n for n in labels if labels.count(n) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        size = x._a.shape[i]
        place = iota(size, x._kind.with_dtype(int32))
        row = reshape(place, (size, *(1,) * (x.ndim - i - 1)))
        column = reshape(place, (size, *(1,) * (x.ndim - j - 1)))
        x = sums.sum(where(row == column, x, 0), j, dtype=x.dtype)
        labels = (*labels[:j], *labels[j + 1 :])
    return x, labels


def _summed(x: Tensor, labels: Labels, keep: set[str]) -> tuple[Tensor, Labels]:
    """The sum over the labels that nobody else needs."""
    dims = tuple(d for d, label in enumerate(labels) if label not in keep)
    if dims:
        x = sums.sum(x, dims, dtype=x.dtype)
    return x, tuple(label for label in labels if label in keep)


def _pair(
    x: Tensor, lx: Labels, y: Tensor, ly: Labels, keep: set[str], sizes: dict[str, int]
) -> tuple[Tensor, Labels]:
    """The product of two operands, summed over labels that are not to be kept."""
    x, lx = _summed(x, lx, keep | set(ly))
    y, ly = _summed(y, ly, keep | set(lx))
    x = _narrow(x, lx, y, ly, keep)
    y = _narrow(y, ly, x, lx, keep)
    inner = [n for n in lx if n in ly and n not in keep]
    batch = [n for n in lx if n in ly and n in keep]
    left = [n for n in lx if n not in ly]
    right = [n for n in ly if n not in lx]
    labels = (*batch, *left, *right)
    if not inner:
        return _placed(x, lx, labels) * _placed(y, ly, labels), labels
    sizes = sizes | {n: x._a.shape[lx.index(n)] for n in inner}
    groups = (batch, left, inner, right)
    b, n, k, m = (math.prod(sizes[label] for label in g) for g in groups)
    xs = _shaped(_full(x, lx, (*batch, *left, *inner), sizes), (b, n, k))
    ys = _shaped(_full(y, ly, (*batch, *inner, *right), sizes), (b, k, m))
    return _shaped(bmm(xs, ys), tuple(sizes[g] for g in labels)), labels


def _in_order(x: Tensor, labels: Labels, wanted: Labels) -> Tensor:
    """The dims in the order of their labels."""
    return x if labels == wanted else permute(x, tuple(map(labels.index, wanted)))


def _shaped(x: Tensor, shape: Sizes) -> Tensor:
    return x if x._a.shape == shape else reshape(x, shape)


def _narrow(x: Tensor, lx: Labels, y: Tensor, ly: Labels, keep: set[str]) -> Tensor:
    """`x` summed over contracted dims in which `y` has size 1."""
    dims = tuple(
        d for d, n in enumerate(lx)
        if n in ly and n not in keep and y._a.shape[ly.index(n)] == 1 != x._a.shape[d]
    )  # fmt: skip
    if not dims:
        return x
    shape = tuple(1 if d in dims else s for d, s in enumerate(x._a.shape))
    return reshape(sums.sum(x, dims, dtype=x.dtype), shape)


def _placed(x: Tensor, labels: Labels, wanted: Labels) -> Tensor:
    """The dims in the wanted order, with size 1 where a label is missing."""
    x = permute(x, tuple(labels.index(n) for n in wanted if n in labels))
    sizes = iter(x._a.shape)
    return reshape(x, tuple(next(sizes) if n in labels else 1 for n in wanted))


def _full(x: Tensor, labels: Labels, wanted: Labels, sizes: dict[str, int]) -> Tensor:
    """The dims in the wanted order; batch dims of size 1 are repeated."""
    x = _in_order(x, labels, wanted)
    shape = tuple([sizes[n] for n in wanted])
    return x if x._a.shape == shape else expand(x, shape)


@einsum.cases
def _(make: Any) -> Any:
    for equation, *operands in (
        ("ij,jk->ik", [2, 3], [3, 4]), ("ij,jk", [2, 3], [3, 4]), ("ij->ji", [2, 3]),
        ("ij->", [2, 3]), ("ii->i", [3, 3]), ("ii", [3, 3]), ("i,j->ij", [2], [3]),
        ("...ij,...jk->...ik", [2, 2, 3], [3, 4]), ("i,i->i", [3], [3]),
        ("bij,bjk,bkl->bil", [2, 2, 3], [2, 3, 2], [2, 2, 2]),
        ("ij,kj->ikj", [2, 3], [4, 3]), ("iji->j", [2, 3, 2]),
        ("...i,kij,...j->...k", [2, 3], [4, 3, 2], [2, 2]),
    ):  # fmt: skip
        yield operands, equation
