"""Every public name of torch's tensors is there, or is left out with a reason."""

from __future__ import annotations

import types
from importlib import import_module
from typing import Any

import pytest
import torch

import dovetail
from dovetail.engine.omissions import omitted

# What of torch's rooms is no part of its interface: parts of docstrings and imports.
NOT_NAMES = frozenset({
    "common_notes", "common_args", "factory_common_args", "multi_dim_common",
    "TYPE_CHECKING",
})  # fmt: skip


@pytest.mark.parametrize("room", [
    "Tensor", "linalg", "fft", "special", "signal.windows", "masked", "random",
    "testing",
])  # fmt: skip
def test_names(room: str) -> None:
    """No name of a room is missing without a reason."""
    theirs: Any = torch
    for part in room.split("."):
        theirs = getattr(theirs, part)
    own: Any = (
        dovetail.Tensor if room == "Tensor" else import_module(f"dovetail.{room}")
    )
    public = {
        name for name in dir(theirs)
        if not name.startswith("_")
        and not isinstance(getattr(theirs, name, None), types.ModuleType)
    }  # fmt: skip
    missing = {name for name in public - NOT_NAMES if not hasattr(own, name)}
    assert missing - omitted(room) - YET.get(room, set()) == set()


# What is neither there nor left out for good.
YET: dict[str, set[str]] = {
    "Tensor": {"slice_inverse", "to_padded_tensor"},
    "special": {"Tensor"},
}
