"""Generated Python as the usual formatter leaves it, without running one."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Final

from dovetail.scaffold.functions import Function

COLUMNS: Final = 88


def definition(function: Function, indent: int) -> str:
    """The line or lines of `def`, broken where they are too long."""
    pad = " " * indent
    inner = ", ".join(function.parameters)
    line = f"{pad}def {function.name}({inner}) -> {function.returns}:"
    if len(line) <= COLUMNS:
        return line
    head, tail = f"{pad}def {function.name}(", f"{pad}) -> {function.returns}:"
    body = f"{pad}    {inner}"
    if len(body) > COLUMNS:
        body = "\n".join(f"{pad}    {one}," for one in function.parameters)
    return f"{head}\n{body}\n{tail}"


def docstring(function: Function, indent: int) -> str:
    """What the function must do, in as few lines as it takes."""
    text = " ".join(function.doc.split())
    pad = " " * (indent + 4)
    lines = textwrap.wrap(
        f'"""{text}"""', COLUMNS, initial_indent=pad, subsequent_indent=pad,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(lines)


def table(functions: Iterable[Function]) -> str:
    """Rows of a set of dtypes and the kernels that take it."""
    rows: dict[str, list[str]] = {}
    for function in functions:
        rows.setdefault(function.dtypes, []).append(function.name)
    return "\n".join(_row(dtypes, names) for dtypes, names in rows.items())


def _row(dtypes: str, names: Sequence[str]) -> str:
    head = f"    ({dtypes}, ("
    inner = ", ".join(names) + ("," if len(names) == 1 else "")
    return textwrap.fill(
        f"{inner})),", COLUMNS, initial_indent=head, subsequent_indent=" " * len(head)
    )
