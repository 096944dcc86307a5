"""Shape signatures: `"(n,k),(k,m)->(n,m)"` read once, run on every shape.

The letters in parentheses are core dims, the last ones of an argument; what stands
before them are batch dims, which broadcast. `n@dim` says that a core dim lies where
the attribute `dim` points. `->()` with `@dim` in the input is a reduction, which
keeps the dim as 1 when the attribute `keepdim` is true. `n+` refuses size 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from dovetail.dtypes import Sizes
from dovetail.errors import EmptyDimError, ShapeError

_GROUP: Final = re.compile(r"\(([^)]*)\)")


class Core(NamedTuple):
    """The core dims of one argument: names, and the attribute that places them."""

    names: tuple[str, ...]
    at: str | None
    filled: bool = False


class Signature(NamedTuple):
    """Core dims of inputs and outputs, parsed from text."""

    text: str
    inputs: tuple[Core, ...]
    outputs: tuple[Core, ...]

    @property
    def elementwise(self) -> bool:
        """Whether no argument has core dims, so that all broadcast together."""
        return all(not core.names for core in (*self.inputs, *self.outputs))


@lru_cache
def parse(text: str) -> Signature:
    """Read a signature; `"(n@dim)->()"` has one input and one output."""
    left, _, right = text.replace(" ", "").partition("->")
    return Signature(text, _cores(left), _cores(right))


def _cores(side: str) -> tuple[Core, ...]:
    return tuple(_core(group) for group in _GROUP.findall(side))


def _core(group: str) -> Core:
    names, at = [], None
    for part in filter(None, group.split(",")):
        name, _, place = part.partition("@")
        names.append(name.removesuffix("+"))
        at = place or at
    return Core(tuple(names), at, "+" in group)


def broadcast(op: str, shapes: Sequence[Sizes], names: Sequence[str]) -> Sizes:
    """The common shape of broadcast operands.

    Raises:
        ShapeError: two sizes differ and neither is 1.
    """
    first = shapes[0]
    if all(shape == first for shape in shapes):
        return tuple(first)
    ndim = max(map(len, shapes))
    result = [1] * ndim
    owner = [names[0]] * ndim
    for name, shape in zip(names, shapes, strict=True):
        for axis, size in enumerate(shape, ndim - len(shape)):
            if size == 1 or size == result[axis]:
                continue
            if result[axis] != 1:
                raise _mismatch(op, axis - ndim, owner[axis], name, shapes, names)
            result[axis], owner[axis] = size, name
    return tuple(result)


def _mismatch(
    op: str, axis: int, a: str, b: str, shapes: Sequence[Sizes], names: Sequence[str]
) -> ShapeError:
    by_name = dict(zip(names, shapes, strict=True))
    return ShapeError(
        op, f"dim {axis}",
        was=f"{by_name[a][axis]} in {a} but {by_name[b][axis]} in {b} "
        f"({_listing(names, shapes)})",
        needed="equal sizes, or 1 to broadcast",
        remedy="reshape or expand one of them",
    )  # fmt: skip


def _listing(names: Sequence[str], shapes: Sequence[Sizes]) -> str:
    return ", ".join(f"{n}: {tuple(s)}" for n, s in zip(names, shapes, strict=True))


def infer(
    signature: Signature, op: str, shapes: Sequence[Sizes], names: Sequence[str],
    attrs: dict[str, Any],
) -> tuple[Sizes, ...]:  # fmt: skip
    """Output shapes from input shapes.

    Raises:
        ShapeError: an input has too few dims, or sizes of one letter differ.
    """
    if signature.inputs[0].at is not None and shapes[0] == ():
        return ((),) * len(signature.outputs)
    sizes: dict[str, tuple[int, str]] = {}
    batches = []
    for core, shape, name in zip(signature.inputs, shapes, names, strict=True):
        batch, inner = _split(op, core, shape, name, attrs)
        for letter, size in inner:
            known = sizes.setdefault(letter, (size, name))
            if known[0] != size:
                raise ShapeError(
                    op, f"axis {letter}",
                    was=f"{known[0]} in {known[1]} but {size} in {name} "
                    f"({_listing(names, shapes)})",
                    needed="equal sizes", remedy=f"{op} is {signature.text}",
                )  # fmt: skip
        batches.append(batch)
    if attrs.get("keepdim") or any(c.at for c in signature.outputs):
        batch = batches[0] if len(batches) == 1 else broadcast(op, batches, names)
    else:
        batch = broadcast(op, batches, names)
    return tuple(
        _assemble(c, batch, sizes, signature, attrs) for c in signature.outputs
    )


def _split(
    op: str, core: Core, shape: Sizes, name: str, attrs: dict[str, Any]
) -> tuple[Sizes, list[tuple[str, int]]]:
    if core.at is not None:
        dims = _dims(attrs[core.at])
        _check_filled(op, core, shape, name, dims)
        batch = tuple(s for i, s in enumerate(shape) if i not in dims)
        if len(core.names) == len(dims):
            placed = zip(core.names, dims, strict=True)
            inner = [(n, shape[d] if shape else 1) for n, d in placed]
        else:
            inner = []
        return batch, inner
    count = len(core.names)
    if len(shape) < count:
        raise ShapeError(
            op, name, was=f"of shape {tuple(shape)}",
            needed=f"at least {count} dimensions ({','.join(core.names)})",
        )  # fmt: skip
    at = len(shape) - count
    return tuple(shape[:at]), list(zip(core.names, shape[at:], strict=True))


def _check_filled(op: str, core: Core, shape: Sizes, name: str, dims: Sizes) -> None:
    if not core.filled:
        return
    for d in dims:
        if shape[d : d + 1] == (0,):
            raise EmptyDimError(
                op, f"dim {d} of {name}", was=f"empty ({name}: {tuple(shape)})",
                needed="at least one element to reduce over",
            )  # fmt: skip


def _dims(value: Any) -> Sizes:
    return value if isinstance(value, tuple) else (value,)


def _assemble(
    core: Core, batch: Sizes, sizes: dict[str, tuple[int, str]],
    signature: Signature, attrs: dict[str, Any],
) -> Sizes:  # fmt: skip
    inner = [sizes[n][0] for n in core.names if n in sizes]
    if core.at is not None:
        return _insert(batch, _dims(attrs[core.at]), inner)
    reduced = next((c.at for c in signature.inputs if c.at), None)
    if reduced is not None and attrs.get("keepdim"):
        dims = _dims(attrs[reduced])
        return _insert(batch, dims, [1] * len(dims))
    return (*batch, *inner)


def _insert(batch: Sizes, dims: Sizes, sizes: Sequence[int]) -> Sizes:
    whole = list(batch)
    for dim, size in sorted(zip(dims, sizes, strict=False)):
        if dim <= len(whole):
            whole.insert(dim, size)
    return tuple(whole)
