"""The errors of our tree that only modules raise."""

from __future__ import annotations

from dovetail.errors import DovetailError


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
