"""What `torch.jit` makes of programs, which leaves them as they are: Python.

What makes programs fast is `dovetail.compile`. TorchScript's files, which hold code
that C++ reads, are not here.
"""

from __future__ import annotations

import typing as _typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.errors import NotSupported
from dovetail.futures import Future
from dovetail.nn import Module

_isinstance: Final = isinstance
T = TypeVar("T")


class ScriptModule(Module):
    """A base of modules that are written as scripts, which run as Python here."""

    @property
    def original_name(self) -> str:
        """The class's name."""
        return type(self).__name__


class RecursiveScriptModule(ScriptModule):
    """What torch makes of modules as scripts: here they stay what they are."""


class ScriptFunction:
    """What torch makes of functions as scripts: here they stay what they are."""


def script(obj: T, **_options: Any) -> T:
    """The function, class or module itself: Python is what it is run as."""
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


_script_if_tracing = script_if_tracing  # torch's older name


def export(fn: T) -> T:
    """The method itself, which a script would keep."""
    return fn


def unused(fn: T) -> T:
    """The method itself, which a script would leave out."""
    return fn


def ignore(drop: Any = False, **_options: Any) -> Any:
    """The method itself, which a script would leave to Python; or a decorator."""
    return drop if callable(drop) else _itself


def _itself(fn: T) -> T:
    return fn


def trace(func: T, example_inputs: Any = None, *_args: Any, **_options: Any) -> T:
    """The function or module itself, which follows its inputs' values, too."""
    return func


def trace_module(mod: T, inputs: Any, *_args: Any, **_options: Any) -> T:
    """The module itself."""
    return mod


def freeze(mod: T, *_args: Any, **_options: Any) -> T:
    """The module itself."""
    return mod


def optimize_for_inference(mod: T, *_args: Any, **_options: Any) -> T:
    """The module itself."""
    return mod


def script_method(fn: T) -> T:
    """The method itself."""
    return fn


@contextmanager
def optimized_execution(should_optimize: bool) -> Iterator[None]:
    """A block of code in which nothing else happens: no script is optimized."""
    yield


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """The result of a call, which runs at once."""
    done: Future[T] = Future()
    done.set_result(func(*args, **kwargs))
    return done


def wait(future: Future[T]) -> T:
    """The result of what was forked."""
    return future.wait()


def _no_files(name: str) -> NotSupported:
    return NotSupported(
        name, "f", was="a TorchScript file", needed="a file of tensors",
        remedy="use dovetail.save and dovetail.load",
    )  # fmt: skip


def save(m: Any, f: Any, _extra_files: Any = None) -> None:
    """Raise NotSupported: files of TorchScript hold code of C++."""
    raise _no_files("jit.save")


def load(
    f: Any, map_location: Any = None, _extra_files: Any = None,
    _restore_shapes: bool = False,
) -> None:  # fmt: skip
    """Raise NotSupported: files of TorchScript hold code of C++."""
    raise _no_files("jit.load")


class TracerWarning(Warning):
    """What torch warns of while it traces; nothing here does."""


class Error(RuntimeError):
    """What a script of torch's raises; Python's own errors are raised here."""


class Attribute:
    """A value with its type: the value itself, since types are not compiled."""

    def __new__(cls, value: Any, type: Any = None) -> Any:
        return value


def isinstance(obj: Any, target_type: Any) -> bool:
    """Whether a value is of a type."""
    return _isinstance(obj, target_type)


@contextmanager
def strict_fusion() -> Iterator[None]:
    """A block of code in which nothing else happens: no script is fused."""
    yield


def _overload(func: T) -> T:
    """The function itself: one of several by types, of which the last one runs."""
    return func


_overload_method: Final = _overload


def interface(obj: T) -> T:
    """The class itself."""
    return obj


def annotate(the_type: Any, the_value: T) -> T:
    """The value: types are not compiled."""
    return the_value


def is_scripting() -> bool:
    """False: nothing is compiled to TorchScript."""
    return False


def is_tracing() -> bool:
    """False: nothing is traced to TorchScript."""
    return False


__all__ = [
    "Attribute",
    "Error",
    "Final",
    "Future",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]  # fmt: skip

__path__: list[str] = []  # torch has modules below
if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
