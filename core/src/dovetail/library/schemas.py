"""What an op of a user's takes and gives, read from torch's notation for it.

ns::name(Tensor(a!) x, int[] dims, *, float? eps=None) -> (Tensor, Tensor[])
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError

_NONE_GIVEN: Final = object()


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# Types by their names, and what is one of theirs.
TYPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "Tensor": lambda x: isinstance(x, Tensor),
    "int": _is_whole, "SymInt": _is_whole,
    "float": lambda x: isinstance(x, float) or _is_whole(x),
    "bool": lambda x: isinstance(x, bool),
    "str": lambda x: isinstance(x, str),
    "Scalar": lambda x: isinstance(x, int | float | complex),
    "ScalarType": lambda x: isinstance(x, DType),
    "Device": lambda x: isinstance(x, device | str),
    "Layout": lambda _: True, "MemoryFormat": lambda _: True,
    "Generator": lambda _: True,
}  # fmt: skip

_TYPE: Final = re.compile(
    r"(?P<base>\w+)(\((?P<alias>\w+)(?P<writes>!)?[^)]*\))?(?P<inner>\?)?"
    r"(?P<list>\[(?P<count>\d*)\])?(?P<outer>\?)?"
)
_HEAD: Final = re.compile(r"\s*((?P<name>[\w:.]+)\s*)?\((?P<args>.*)\)\s*->(?P<out>.*)")


@dataclass(frozen=True)
class Type:
    """The type of an argument or a result.

    Attributes:
        base: one of `TYPES`.
        optional: None may be given.
        many: it is a list.
        gaps: items of the list may be None.
        count: a number alone stands for a list of so many.
        writes: the op writes into it.
    """

    base: str
    optional: bool = False
    many: bool = False
    gaps: bool = False
    count: int | None = None
    writes: bool = False

    def __str__(self) -> str:
        text = self.base + ("(a!)" if self.writes else "")
        if self.many:
            text += ("?" if self.gaps else "") + f"[{self.count or ''}]"
        return text + ("?" if self.optional else "")

    def takes(self, value: Any) -> bool:
        """Whether a value is of this type."""
        if value is None:
            return self.optional
        fits = TYPES[self.base]
        if not self.many:
            return fits(value)
        if not isinstance(value, list | tuple):
            return False
        return all((self.gaps and x is None) or fits(x) for x in value)

    def of(self, value: Any) -> Any:
        """The value, a number alone made a list where that is meant."""
        if self.count and self.base != "Tensor" and TYPES[self.base](value):
            return [value] * self.count
        return value


@dataclass(frozen=True)
class Argument:
    """One argument of an op of a user's."""

    name: str
    type: Type
    default: Any = _NONE_GIVEN
    by_name: bool = False

    @property
    def is_required(self) -> bool:
        """Whether it cannot be left out."""
        return self.default is _NONE_GIVEN

    def __str__(self) -> str:
        text = f"{self.type} {self.name}"
        return text if self.is_required else f"{text}={self.default!r}"


@dataclass(frozen=True)
class Schema:
    """What an op takes and gives.

    Attributes:
        name: with its namespace, empty if the text had none.
    """

    name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Type, ...]

    def __str__(self) -> str:
        args = list(self._texts())
        out = ", ".join(map(str, self.returns))
        out = out if len(self.returns) == 1 else f"({out})"
        return f"{self.name}({', '.join(args)}) -> {out}"

    def _texts(self) -> Iterator[str]:
        by_name = False
        for argument in self.arguments:
            if argument.by_name and not by_name:
                by_name = True
                yield "*"
            yield str(argument)

    @property
    def writes(self) -> tuple[int, ...]:
        """The places of the arguments that it writes into."""
        return tuple([i for i, a in enumerate(self.arguments) if a.type.writes])

    def bound(
        self, op: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[Any, ...]:
        """All arguments in their order, those left out as their defaults.

        Raises:
            ArgumentTypeError: one too many, one that is missing, or of another type.
        """
        places = [a for a in self.arguments if not a.by_name]
        if len(args) > len(places):
            raise ArgumentTypeError(
                op, "arguments", was=f"{len(args)} by place", needed=f"{self}"
            )
        given = {a.name: x for a, x in zip(places, args, strict=False)}
        known = {a.name for a in self.arguments}
        for name, value in kwargs.items():
            if name in given or name not in known:
                what = "given twice" if name in given else "unknown"
                raise ArgumentTypeError(op, name, was=what, needed=f"{self}")
            given[name] = value
        return tuple([_value(op, a, given) for a in self.arguments])

    def check_result(self, op: str, result: Any) -> None:
        """Raise unless a result is what the schema says.

        Raises:
            ArgumentTypeError: it is something else.
        """
        if len(self.returns) == 1:
            several: tuple[Any, ...] = (result,)
        elif not self.returns:
            several = () if result is None else (result,)
        else:
            several = tuple(result) if isinstance(result, tuple | list) else (result,)
        fits = len(several) == len(self.returns) and all(
            kind.takes(x) for kind, x in zip(self.returns, several, strict=True)
        )
        if not fits:
            raise ArgumentTypeError(
                op, "result",
                was=", ".join(type(x).__name__ for x in several) or "None",
                needed=f"what the schema says: {self}",
            )  # fmt: skip


def _value(op: str, argument: Argument, given: Mapping[str, Any]) -> Any:
    if argument.name not in given:
        if argument.is_required:
            raise ArgumentTypeError(
                op, argument.name, was="missing", needed=f"a {argument.type}"
            )
        return argument.default
    value = argument.type.of(given[argument.name])
    if not argument.type.takes(value):
        raise ArgumentTypeError(
            op, argument.name, was=f"a {type(value).__name__}: {value!r:.60}",
            needed=f"a {argument.type}",
        )  # fmt: skip
    return value


def parsed(text: str) -> Schema:
    """The schema that a text says.

    Raises:
        ArgumentError: it says none.
    """
    found = _HEAD.fullmatch(text)
    if found is None:
        raise _unread(text, text, "name(Type name, …) -> Type")
    by_name = False
    arguments = []
    for part in _split(found["args"]):
        if part == "*":
            by_name = True
            continue
        arguments.append(_argument(part, by_name, text))
    out = found["out"].strip()
    inner = out[1:-1] if out.startswith("(") and out.endswith(")") else out
    returns = [_type(part.split()[0], text) for part in _split(inner)]
    return Schema(found["name"] or "", tuple(arguments), tuple(returns))


def _split(text: str) -> list[str]:
    """What commas part that are in no brackets."""
    found, depth = [""], 0
    for letter in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(letter, 0)
        if letter == "," and not depth:
            found.append("")
        else:
            found[-1] += letter
    return [part.strip() for part in found if part.strip()]


def _argument(text: str, by_name: bool, whole: str) -> Argument:
    declared, equals, default = text.partition("=")
    kind, _, name = declared.strip().rpartition(" ")
    if not name.isidentifier():
        raise _unread(whole, text, "a type and a name")
    value = _default(default.strip(), whole) if equals else _NONE_GIVEN
    return Argument(name, _type(kind.strip(), whole), value, by_name)


def _default(text: str, whole: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        raise _unread(whole, text, "a number, a text, True, False or None") from None


def _type(text: str, whole: str) -> Type:
    found = _TYPE.fullmatch(text)
    if found is None or found["base"] not in TYPES:
        raise _unread(whole, text, f"one of {', '.join(TYPES)}, with ?, [] or (a!)")
    many = found["list"] is not None
    inner, outer = found["inner"] is not None, found["outer"] is not None
    return Type(
        found["base"], outer or (inner and not many), many, many and inner,
        int(found["count"]) if found["count"] else None, found["writes"] is not None,
    )  # fmt: skip


def _unread(whole: str, part: str, needed: str) -> ArgumentError:
    return ArgumentError(
        "library", "schema", was=f"{part!r} in {whole!r}", needed=needed
    )
