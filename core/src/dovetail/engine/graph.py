"""Programs as data: calls of ops, and the values that flow between them.

One form serves what is lowered (`dovetail.engine.lower`) and what is captured
(`dovetail.compiler`): values are slots with a shape and a dtype, ops go by their
names, and attributes are plain data, so that a graph can be written down and be read
elsewhere. Writes in place are calls like any other: a slot names a memory, and its
version counts the writes to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dovetail import dtypes
from dovetail.dtypes import DType, Sizes
from dovetail.errors import ArgumentTypeError


class Spec(NamedTuple):
    """A tensor without data: strides count elements, None for row-major ones."""

    shape: Sizes
    dtype: DType
    strides: Sizes | None = None


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of a program: its number, what it is, and how often it was written."""

    number: int
    spec: Spec
    version: int = 0

    def __repr__(self) -> str:
        return f"%{self.number}" + (f".{self.version}" if self.version else "")

    def describe(self) -> str:
        """Number, dtype and shape, as a listing shows a value that is made."""
        return f"{self!r}: {self.spec.dtype.name}{list(self.spec.shape)}"


class Number(NamedTuple):
    """A Python number that stands for a 0-d tensor of a dtype."""

    value: Any
    dtype: DType

    def __repr__(self) -> str:
        return f"{self.value!r}:{self.dtype.name}"


class Placed(NamedTuple):
    """The dtype of a result that is made on the device where the program runs."""

    dtype: DType

    def __repr__(self) -> str:
        return f"kind({self.dtype.name})"


@dataclass(frozen=True, slots=True)
class Call:
    """One op call.

    Attributes:
        op: the op's name in the vocabulary.
        inputs: an entry a tensor parameter: a Slot, a Number, None or a tuple of them.
        attrs: scalars and normalised attributes by name; a kind is a `Placed`.
        outputs: all results, with those that only backward uses.
        writes: slots whose memory the call writes, as they are afterwards.
        grad: whether the call went on the tape if its inputs asked for it.
    """

    op: str
    inputs: tuple[Any, ...]
    attrs: dict[str, Any]
    outputs: tuple[Slot, ...]
    writes: tuple[Slot, ...] = ()
    grad: bool = False

    def __str__(self) -> str:
        given = [*map(_shown, self.inputs)]
        given += [f"{k}={_shown(v)}" for k, v in self.attrs.items()]
        made = [s.describe() for s in self.outputs] + [repr(s) for s in self.writes]
        left = f"{', '.join(made)} = " if made else ""
        return f"{left}{self.op}({', '.join(given)})"

    def slots(self) -> Iterator[Slot]:
        """The values that it reads."""
        for x in self.inputs:
            yield from (v for v in (x if type(x) is tuple else (x,)) if is_slot(v))


def is_slot(value: Any) -> bool:
    """Whether an input is a value of the program."""
    return type(value) is Slot


def _shown(value: Any) -> str:
    if type(value) is tuple:
        return f"[{', '.join(map(_shown, value))}]"
    return value.name if isinstance(value, DType) else repr(value)


@dataclass(frozen=True, slots=True)
class Graph:
    """A straight-line program: what goes in, the calls in order, what comes out.

    Attributes:
        inputs: an entry a tensor argument: a Slot, None or a tuple of them.
        checks: 0-d bools that are true where the values of inputs are refused, each
            with the name of the op that refuses them.
    """

    name: str
    inputs: tuple[Any, ...]
    calls: tuple[Call, ...]
    results: tuple[Any, ...]
    checks: tuple[tuple[Slot, str], ...] = field(default=())

    def __str__(self) -> str:
        given = ", ".join(
            x.describe() if is_slot(x) else _shown(x) for x in self.inputs
        )
        lines = [f"{self.name}({given}):", *(f"  {call}" for call in self.calls)]
        lines += [f"  refuse if {slot} ({op})" for slot, op in self.checks]
        return "\n".join([*lines, f"  return {', '.join(map(_shown, self.results))}"])

    def to_data(self) -> dict[str, Any]:
        """The graph as lists, dicts, strings and numbers, fit for JSON."""
        return {
            "name": self.name,
            "inputs": encode(self.inputs),
            "calls": [
                {
                    "op": c.op, "inputs": encode(c.inputs), "attrs": encode(c.attrs),
                    "outputs": encode(c.outputs), "writes": encode(c.writes),
                    "grad": c.grad,
                }
                for c in self.calls
            ],
            "results": encode(self.results),
            "checks": encode(self.checks),
        }  # fmt: skip

    @staticmethod
    def from_data(data: dict[str, Any]) -> Graph:
        """The graph that `to_data` wrote down."""
        calls = tuple(
            Call(
                c["op"], decode(c["inputs"]), decode(c["attrs"]), decode(c["outputs"]),
                decode(c["writes"]), c["grad"],
            )
            for c in data["calls"]
        )  # fmt: skip
        return Graph(
            data["name"], decode(data["inputs"]), calls, decode(data["results"]),
            decode(data["checks"]),
        )  # fmt: skip


def encode(value: Any) -> Any:
    """Inputs and attributes as plain data; what has no JSON form is a tagged list.

    Raises:
        ArgumentTypeError: the value has no such form.
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return value if value == value and abs(value) != float("inf") else _tag(value)  # noqa: PLR0124
    if isinstance(value, dict):
        return {k: encode(v) for k, v in value.items()}
    return _tag(value)


def _tag(value: Any) -> list[Any]:
    kind = type(value)
    if kind is tuple or kind is list:
        return ["list", *map(encode, value)]
    if kind is Slot:
        return ["slot", value.number, *_spec(value.spec), value.version]
    if kind is Number:
        return ["number", encode(value.value), value.dtype.name]
    if kind is Placed:
        return ["kind", value.dtype.name]
    if kind is float:
        return ["float", repr(value)]
    if kind is complex:
        return ["complex", encode(value.real), encode(value.imag)]
    if kind is slice:
        return ["slice", *map(encode, (value.start, value.stop, value.step))]
    if value is Ellipsis:
        return ["ellipsis"]
    if isinstance(value, DType):
        return ["dtype", value.name]
    raise ArgumentTypeError(
        "Graph", "attribute", was=f"a {kind.__name__}, which has no written form",
        needed="numbers, strings, dtypes, slices and tuples of them",
    )  # fmt: skip


def _spec(spec: Spec) -> list[Any]:
    return [
        list(spec.shape),
        spec.dtype.name,
        None if spec.strides is None else list(spec.strides),
    ]


def decode(data: Any) -> Any:
    """The value that `encode` wrote down."""
    if isinstance(data, dict):
        return {k: decode(v) for k, v in data.items()}
    if not isinstance(data, list):
        return data
    tag, *rest = data
    return _READERS[tag](rest)


def _read_slot(rest: list[Any]) -> Slot:
    number, shape, dtype, strides, version = rest
    steps = None if strides is None else tuple(strides)
    return Slot(number, Spec(tuple(shape), dtypes.by_name(dtype), steps), version)


_READERS: Any = {
    "list": lambda rest: tuple(map(decode, rest)),
    "slot": _read_slot,
    "number": lambda rest: Number(decode(rest[0]), dtypes.by_name(rest[1])),
    "kind": lambda rest: Placed(dtypes.by_name(rest[0])),
    "float": lambda rest: float(rest[0]),
    "complex": lambda rest: complex(decode(rest[0]), decode(rest[1])),
    "slice": lambda rest: slice(*map(decode, rest)),
    "ellipsis": lambda rest: Ellipsis,
    "dtype": lambda rest: dtypes.by_name(rest[0]),
}
