"""What only modules raise, and what loading a state dict reports."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.engine.annotations import described
from dovetail.errors import ArgumentTypeError, DovetailError


class NameClash(DovetailError, KeyError):
    """A name of a parameter, buffer or child is taken or not usable."""

    __str__ = Exception.__str__  # KeyError's would show the text in quotes


class StateDictError(DovetailError, RuntimeError):
    """A state dict does not fit a module; says so line by line, as torch does."""

    def __init__(self, module: str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(module, was="\n\t".join(problems))

    def _text(self) -> str:
        return f"Error(s) in loading state_dict for {self.op}:\n\t{self.was}"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.op, self.problems)


class NotInitialised(DovetailError, AttributeError):
    """A module is used before `super().__init__()` gave it its tables."""


class NoSuchName(DovetailError, AttributeError):
    """A path names no child, parameter or buffer of a module."""


def refuse_uncallable(op: str, argument: str, module: object) -> None:
    """Raise for what is to be called as a module is, and cannot be called."""
    if not callable(module):
        raise ArgumentTypeError(op, argument, was=described(module), needed="a Module")


class _IncompatibleKeys(NamedTuple):
    """What a loaded state dict lacked, and what it had too much."""

    missing_keys: list[str]
    unexpected_keys: list[str]

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        missing, unexpected = self.missing_keys, self.unexpected_keys
        keys = f"missing_keys={missing}, unexpected_keys={unexpected}"
        return f"_IncompatibleKeys({keys})"

    def __str__(self) -> str:
        return repr(self)

    def sentences(self) -> list[str]:
        """A sentence for each of the two that is not empty."""
        named = {"Missing": self.missing_keys, "Unexpected": self.unexpected_keys}
        return [
            f"{what} key(s) in state_dict: {', '.join(map(_quoted, keys))}. "
            for what, keys in named.items()
            if keys
        ]


def _quoted(key: str) -> str:
    return f'"{key}"'


def name_path(error: DovetailError, module: Any) -> None:
    """Let an error say where below `module` the module is that raised it."""
    inner = vars(error).get("_module")
    if inner is None:
        vars(error).update(_module=module, _words=error.args)
        return
    walk = getattr(module, "named_modules", None)
    path = next((name for name, m in walk() if m is inner), None) if walk else None
    if path:
        first, *rest = vars(error)["_words"]
        error.args = (f"{path}: {first}", *rest)
