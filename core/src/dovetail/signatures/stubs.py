"""The stubs: every public name with its parameters, types, defaults and first words."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from dovetail import dtypes
from dovetail.engine.homes import home_of
from dovetail.engine.op import vocabulary
from dovetail.engine.public import NAMESPACES
from dovetail.engine.tensor import Tensor
from dovetail.memory_formats import FORMATS, LAYOUTS
from dovetail.nn import functional  # noqa: F401 (offers its names)
from dovetail.signatures.annotations import Imports, source_of
from dovetail.signatures.overloads import Form, forms_of

FOLDER: Final = Path(__file__).parent
_WIDTH: Final = 80
_WRITTEN: Final = "Written by `python -m dovetail.signatures`."
# Other classes give a bool.
_COMPARISONS: Final = frozenset({"__eq__", "__ne__"})
# `x += y` is typed as `x + y` is.
_DERIVED: Final = re.compile(
    "__i(add|sub|mul|truediv|floordiv|mod|pow|and|or|xor|lshift|rshift|matmul)__"
)
Parameters = list[inspect.Parameter]


def stubs() -> dict[str, str]:
    """The text of each stub by the name of its file."""
    vocabulary.complete()
    return {
        "functions.pyi": _functions("The package's functions and dtypes.", {
            **NAMESPACES["torch"], **{d.name: d for d in dtypes.ALL}, **dtypes.ALIASES,
            **dtypes.NAMED,
            **FORMATS, **LAYOUTS,
        }),
        "methods.pyi": _methods(),
        "nn_functional.pyi": _functions("nn.functional.", NAMESPACES["F"]),
        **{
            f"{room.replace('.', '_')}.pyi": _functions(f"{room}.", NAMESPACES[room])
            for room in NAMESPACES if room not in ("torch", "F")
        },
    }  # fmt: skip


def _functions(title: str, names: Mapping[str, Any]) -> str:
    public = {n: v for n, v in sorted(names.items()) if not n.startswith("_")}
    imports = Imports(frozenset(public))
    lines = [_entry(imports, name, value) for name, value in public.items()]
    return _file(title, imports, lines)


def _methods() -> str:
    """What the upper floors install on Tensor, as a base class of it."""
    found = {n: v for n, v in sorted(vars(Tensor).items()) if _is_installed(n, v)}
    imports = Imports(frozenset(found))
    lines = [_entry(imports, n, v, method=True) for n, v in found.items()]
    body = textwrap.indent("\n".join(lines), "    ")
    title = "Tensor's methods and properties, but for those of its own class body."
    return _file(title, imports, ["class Methods:", body])


def _is_installed(name: str, value: Any) -> bool:
    """Whether a type checker that reads the class of Tensor does not see it."""
    function = value.fget if isinstance(value, property) else value
    if _DERIVED.fullmatch(name) or (name.startswith("_") and not name.endswith("__")):
        return False
    own = hasattr(function, "__module__") and home_of(function) == Tensor.__module__
    return inspect.isfunction(function) and not own


def _file(title: str, imports: Imports, lines: list[str]) -> str:
    text = "\n".join([f'"""{title}\n\n{_WRITTEN}\n"""', *sorted(imports.lines), *lines])
    return _formatted(text + "\n")


def _formatted(text: str) -> str:
    """The text as the linters want it."""
    ruff = [sys.executable, "-m", "ruff"]
    for command in (["check", "--fix", "--quiet", "--select=I"], ["format"]):
        text = subprocess.run(
            [*ruff, *command, "--stdin-filename", "stub.pyi", "-"],
            input=text, stdout=subprocess.PIPE, check=True, text=True, cwd=FOLDER,
        ).stdout  # fmt: skip
    return text


def _entry(imports: Imports, name: str, value: Any, *, method: bool = False) -> str:
    if isinstance(value, property):
        return _property(imports, name, value)
    if inspect.isclass(value):
        own = value.__qualname__
        offered = f" as {own}" if own == name else ""
        imports.lines.add(f"from {value.__module__} import {own}{offered}")
        return "" if own == name else f"{name} = {own}"
    if not callable(value):
        return f"{name}: {imports.name(type(value))}"
    return _function(imports, name, value, method=method)


def _property(imports: Imports, name: str, found: property) -> str:
    getter = source_of(found.fget)
    returns = imports.text(inspect.signature(getter).return_annotation, getter)
    text = f"@property\ndef {name}(self) -> {returns}: {_doc(found)}"
    if found.fset is None:
        return text
    setter = source_of(found.fset)
    value = list(inspect.signature(setter).parameters.values())[1]
    taken = imports.text(value.annotation, setter)
    return f"{text}\n@{name}.setter\ndef {name}(self, value: {taken}) -> None: ..."


def _function(
    imports: Imports, name: str, function: Callable[..., Any], *, method: bool
) -> str:
    forms = forms_of(name, function, source_of(function), method=method)
    if getattr(function, "takes_items", False):
        forms.append(_by_items(forms[0]))
    lines = [_form(imports, name, form, method=method) for form in forms]
    lines[0] += f"\n    {_doc(function)}"
    if len(lines) == 1:
        return lines[0]
    imports.lines.add("from typing import overload")
    first, *rest = lines
    return "\n".join(["@overload", first, *(f"@overload\n{line} ..." for line in rest)])


def _form(imports: Imports, name: str, form: Form, *, method: bool) -> str:
    """The line that says one form of a function."""
    shown = _parameters(imports, form.parameters, form.source, method=method)
    compares = name in _COMPARISONS
    returns = imports.text(Tensor if compares else form.returns, form.source)
    ignored = "  # type: ignore[override]" if compares else ""
    return f"def {name}({shown}) -> {returns}:{ignored}"


def _by_items(form: Form) -> Form:
    """A method that takes a sequence of ints, taking the ints one by one."""
    first, items = form.parameters[:2]
    each = items.replace(kind=items.VAR_POSITIONAL, annotation=int, default=items.empty)
    return Form([first, each], Tensor, form.source)


def _parameters(
    imports: Imports, parameters: Parameters, source: Any, *, method: bool
) -> str:
    """The text between the parentheses; a method's first parameter is `self`."""
    parts = []
    rest = parameters[1:] if method else parameters
    if method:
        parts.append("self")
    for before, parameter in zip([None, *rest], rest, strict=False):
        last = before.kind if before else None
        named = (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        if last is parameter.POSITIONAL_ONLY and not _by_place(parameter):
            parts.append("/")
        if parameter.kind is parameter.KEYWORD_ONLY and last not in named:
            parts.append("*")
        parts.append(_parameter(imports, parameter, source))
    return ", ".join(parts)


def _by_place(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.POSITIONAL_ONLY


def _parameter(imports: Imports, parameter: inspect.Parameter, source: Any) -> str:
    name = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
    shown = f"{name}: {imports.text(parameter.annotation, source)}"
    if parameter.default is parameter.empty:
        return shown
    plain = isinstance(parameter.default, int | float | str | None)
    return f"{shown} = {repr(parameter.default) if plain else '...'}"


def _doc(described: Any) -> str:
    """The first paragraph of its documentation, as the body."""
    text = (inspect.getdoc(described) or "").split("\n\n")[0]
    lines = textwrap.wrap(text.replace("\\", r"\\"), _WIDTH - 8)
    if not lines:
        return "..."
    if len(lines) == 1:
        return f'"""{lines[0]}"""'
    return '"""' + "\n    ".join([*lines, '"""'])


__all__ = ["FOLDER", "stubs"]
