"""One exception tree: every error of dovetail names op, argument, fact, need, remedy.

Each class also derives from the builtin that PyTorch's users catch.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class DovetailError(Exception):
    """Base of all errors raised by dovetail.

    Args:
        op: what was called, e.g. `"matmul"`.
        argument: the argument at fault, or None where the call as a whole is.
        was: what the argument was.
        needed: what it had to be.
        remedy: what the caller can do about it.
    """

    def __init__(
        self,
        op: str,
        argument: str | None = None,
        *,
        was: object = None,
        needed: object = None,
        remedy: str | None = None,
    ) -> None:
        self.op = op
        self.argument = argument
        self.was = was
        self.needed = needed
        self.remedy = remedy
        super().__init__(self._text())

    def _text(self) -> str:
        subject = f"{self.op}: "
        if self.argument is not None:
            subject += f"{self.argument} is "
        text = subject + str(self.was)
        if self.needed is not None:
            text += f", needed {self.needed}"
        if self.remedy is not None:
            text += f"; {self.remedy}"
        return text

    def of(self, op: str) -> DovetailError:
        """The same, of another call: that within which this one was made."""
        return _rebuild(
            type(self), op, self.argument, self.was, self.needed, self.remedy
        )

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.op, self.argument, self.was, self.needed, self.remedy)
        return _rebuild, (type(self), *fields)


def _rebuild(
    cls: type[DovetailError],
    op: str,
    argument: str | None,
    was: object,
    needed: object,
    remedy: str | None,
) -> DovetailError:
    return cls(op, argument, was=was, needed=needed, remedy=remedy)


class ShapeError(DovetailError, RuntimeError):
    """Shapes do not fit together, or a view would need a copy."""


class NoSingleNumber(ShapeError, ValueError):
    """A number is asked of a tensor that has several elements, or none."""


class DTypeError(DovetailError, TypeError, RuntimeError):
    """An op does not accept a dtype, or a cast would lose a category."""


class StoredDTypeError(DTypeError, NotImplementedError):
    """An op does not compute with a dtype that is only stored, moved and cast."""


class DimError(DovetailError, IndexError):
    """A dimension is out of range, or named twice."""


class EmptyDimError(DimError, RuntimeError):
    """A reduction without a neutral element over a dimension of size 0."""


class RepeatedDimError(DimError, RuntimeError):
    """A dimension is named twice."""


class MisusedDimError(DimError, RuntimeError):
    """A dim is asked for that cannot be used so: of none, or in the wrong order."""


class IndexShapeError(ShapeError, IndexError):
    """The shapes of tensors that index together do not broadcast."""


class IndexOutOfRange(DovetailError, IndexError, RuntimeError):
    """An index points outside the tensor; torch's gathers raise a RuntimeError."""


class ArgumentError(DovetailError, ValueError, RuntimeError):
    """An argument's value makes no sense for the op."""


class NumberOutOfRange(ArgumentError, OverflowError):
    """A number does not fit the dtype that it is to have."""


class DivisionByZero(ArgumentError, ZeroDivisionError):
    """Integers are divided by 0."""


class ArgumentTypeError(DovetailError, TypeError):
    """An argument has the wrong Python type."""


class DeviceError(DovetailError, RuntimeError):
    """A device is unknown, unavailable, or differs from another's."""


class BackendError(DeviceError):
    """A backend's plug-in failed to load; `__cause__` is the root cause."""


class StreamError(DeviceError):
    """Work on one stream uses what another one may not be done with."""


class DeviceLost(DeviceError):
    """A device stopped answering; what was in its memory is gone."""


class OutOfMemory(DovetailError, MemoryError, RuntimeError):
    """A device has no memory left for what was asked; nothing was changed."""

    @classmethod
    def within(cls, op: str, error: Exception) -> OutOfMemory:
        """What an op says where a library found no memory, often without a word."""
        said = f": {error}" if str(error) else ""
        return cls(op, "memory", was=f"not enough{said}", needed="room for the result")


class KernelError(DovetailError, RuntimeError):
    """A backend's kernel failed, or broke the contract of the joint."""


class FallbackError(DovetailError, NotImplementedError):
    """An op would have run on the host while the policy is `error`."""


class AutogradError(DovetailError, RuntimeError):
    """The graph cannot be differentiated as asked."""


class InplaceError(AutogradError):
    """An in-place write would make gradients wrong."""


class ExchangeError(DovetailError, BufferError, RuntimeError):
    """Memory cannot be shared with another library as asked."""


class FileError(DovetailError, OSError, RuntimeError):
    """A file cannot be written; `errno` is the system's number for why."""

    def __init__(
        self, op: str, argument: str | None = None, *, was: object = None,
        needed: object = None, remedy: str | None = None, errno: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(op, argument, was=was, needed=needed, remedy=remedy)
        self.errno = errno

    def __reduce__(self) -> tuple[Any, ...]:
        return (*super().__reduce__(), {"errno": self.errno})

    def __str__(self) -> str:
        return self._text()


class FileFormatError(DovetailError, ValueError, RuntimeError):
    """A file is damaged, cut short, or not of the kind that was asked for."""


class CallOrderError(DovetailError, RuntimeError):
    """A method was called before or after another one than it has to be."""


class WorkerError(DovetailError, RuntimeError):
    """A process that loads data died, hangs, or is at another pass."""


class NotSupported(DovetailError, NotImplementedError):
    """A feature that is not there."""


class LinAlgError(DovetailError, RuntimeError):
    """A matrix that has no such factors, or no inverse."""


class MissingName(DovetailError, AttributeError):
    """A module has nothing of that name; the text says what the nearest one is.

    Programs ask modules for names to see what is there, so the nearest is looked for
    when the error is shown, not when it is made.

    Args:
        module: the module's name.
        name: what it was asked for.
        nearest: finds what else may be meant, None if nothing.
        reason: why the name, which torch has, is left out on purpose.
    """

    def __init__(
        self, module: str, name: str, nearest: Callable[[], str | None],
        reason: str | None = None,
    ) -> None:  # fmt: skip
        self.nearest = nearest
        self.reason = reason
        super().__init__(module, name, was="not there")
        self.name = name

    def __str__(self) -> str:
        text = f"module {self.op!r} has no attribute {self.argument!r}"
        if self.reason is not None:
            return f"{text}: it {self.reason}"
        nearest = self.nearest()
        if nearest is not None:
            text += f"; the nearest is {nearest!r}"
            return f"{text}. If torch has it, it is not there yet"
        return f"{text}; if torch has it, it is not there yet"

    def __reduce__(self) -> tuple[Any, ...]:
        return AttributeError, (str(self),)


class MissingModule(DovetailError, ModuleNotFoundError):
    """A module that torch has is left out on purpose.

    Args:
        name: the module's.
        reason: why it is left out, as the rest of a sentence.
    """

    def __init__(self, name: str, reason: str) -> None:
        self.reason = reason
        super().__init__(name, "module", was="not there")
        self.name = name

    def __str__(self) -> str:
        return f"No module named {self.name!r}: it {self.reason}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.name, self.reason)


class CaptureError(DovetailError, RuntimeError):
    """A recorded program does not fit the call, or cannot be recorded."""


class FallbackWarning(UserWarning):
    """An op ran on the host because its backend has no kernel for it."""


def words_of(error: BaseException) -> str:
    """Class and text of an error, also of a stranger's that fails when it is shown."""
    try:
        return f"{type(error).__name__}: {error}"
    except BaseException as another:  # its text is its own code
        return f"{type(error).__name__} (whose text raises {type(another).__name__})"


def refuse_bins(shape: tuple[int, ...], minlength: int) -> None:
    """Raise where values of this shape cannot be counted in so many bins."""
    if len(shape) != 1:
        raise ShapeError("bincount", "x", was=f"of shape {shape}", needed="one dim")
    if minlength < 0:
        raise ArgumentError("bincount", "minlength", was=minlength, needed="0 or more")


def refuse_negative_bins(least: int) -> None:
    """Raise where the least of the values that are counted is negative."""
    if least < 0:
        raise ArgumentError(
            "bincount", "x", was=f"as low as {least}", needed="values of 0 or more"
        )


def outside_dim(op: str, index: int, size: int, dim: int, low: int) -> IndexOutOfRange:
    """The error for an index out of bounds for a dim, which starts at `low`."""
    return IndexOutOfRange(
        op, "index", was=f"{index}, out of bounds for dim {dim} with size {size}",
        needed=f"{low} to {size - 1}" if size else "a dim that is not empty",
    )  # fmt: skip
