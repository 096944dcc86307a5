"""The memory behind tensors, and its version; what inference tensors have there."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from dovetail.engine.modes import inference_enabled
from dovetail.errors import AutogradError


class Move(NamedTuple):
    """A tensor that has other memory since `.data` was set.

    Attributes:
        native: its array before.
        recorded: whether it required gradients.
        version: that of its storage since.
        after: `version` of the storage it left, from when on it is not there.
        tensor: the tensor, weakly.
    """

    native: Any
    recorded: bool
    version: int
    after: int
    tensor: Any


# As many writes as nobody makes.
MOVED: Final = 1 << 40


class Storage:
    """The memory behind tensors that alias one another, and its version.

    Shared by views and `detach`; `.data` has one of its own over the same `root`,
    so that writes through it do not count as modifications. `readonly` says why the
    memory must not be written in place, where a write would be lost.

    Attributes:
        to_save: the version, as it is read by what keeps a tensor for backward.
        to_write: `readonly`, as it is read by what writes.
        inference: whether it is that of inference tensors.
        moves: the tensors that `.data` gave other memory; unset where there are none.
            Each counts `MOVED` writes, so that who has kept one looks for it there.
    """

    __slots__ = ("__weakref__", "moves", "readonly", "root", "version")
    moves: tuple[Move, ...]
    to_save: int
    to_write: str | None
    inference = False

    def __init__(self, root: Any, version: int = 0) -> None:
        self.root = root
        self.version = version
        self.readonly: str | None = None

    def apart(self, version: int = 0) -> Storage:
        """Storage of the same memory, whose writes are not counted here."""
        made = type(self)(self.root, version)
        made.readonly = self.readonly
        return made


# The same slots by other names, which costs nothing: inference tensors refuse them.
for _name, _slot in {"to_save": "version", "to_write": "readonly"}.items():
    setattr(Storage, _name, vars(Storage)[_slot])


# Whether there are inference tensors: whether anybody was in that mode, ever.
inferred: Final = [False]
_OUTSIDE: Final = (
    "an inference tensor: in-place update to inference tensor outside InferenceMode "
    "is not allowed"
)


class InferenceStorage(Storage):
    """The memory of tensors that were made in inference mode.

    Nothing keeps them for backward, and what is written outside of that mode is others.
    """

    __slots__ = ()
    inference = True

    @property
    def to_save(self) -> int:  # type: ignore[override]
        """No version is kept.

        Raises: AutogradError in any case.
        """
        raise AutogradError(
            "save for backward", "tensor", was="an inference tensor: inference tensors "
            "cannot be saved for backward", needed="one made outside of inference_mode",
            remedy="clone() it outside of inference_mode, or make it under no_grad() "
            "instead",
        )  # fmt: skip

    def apart(self, version: int = 0) -> Storage:
        """The same memory as `.data` and `detach` give it, written anywhere."""
        made = _Apart(self.root, version)
        made.readonly = self.readonly
        return made

    @property
    def to_write(self) -> str | None:  # type: ignore[override]
        """Why the memory must not be written."""
        return self.readonly if inference_enabled() else self.readonly or _OUTSIDE


class _Apart(InferenceStorage):
    """The memory of inference tensors as it is reached outside of graphs."""

    __slots__ = ()

    @property
    def to_write(self) -> str | None:  # type: ignore[override]
        """Why the memory must not be written."""
        return self.readonly


def storage_over(root: Any, version: int = 0) -> Storage:
    """Storage of a tensor that is made now."""
    return InferenceStorage(root) if inference_enabled() else Storage(root, version)
