"""Processes arranged in a grid: here, one in a grid of one."""

from __future__ import annotations

import math
from typing import Any

from dovetail.errors import NotSupported

from .groups import ProcessGroup, is_initialized, the_group


class DeviceMesh:
    """A grid of processes, with a group for each row in each of its dims.

    Args:
        device_type: of the devices that they use.
        mesh: their numbers, in nested lists or a tensor.
        mesh_dim_names: what the dims are called.

    Raises: NotSupported for several processes.
    """

    def __init__(
        self, device_type: str, mesh: Any, *,
        mesh_dim_names: tuple[str, ...] | None = None,
    ) -> None:  # fmt: skip
        self.device_type = device_type
        self.shape = _sizes(mesh)
        _alone(self.shape)
        self.mesh_dim_names = mesh_dim_names

    @property
    def ndim(self) -> int:
        """How many dims it has."""
        return len(self.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """How many processes there are, in all or along a dim."""
        return 1

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """The group of this process's row."""
        found: ProcessGroup = the_group(None)
        return found

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process's rows, a dim each."""
        return [the_group(None)] * self.ndim

    def get_rank(self) -> int:
        """Which process this is."""
        return 0

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """Which process of its row this is."""
        return 0

    def get_coordinate(self) -> list[int]:
        """Where in the grid this is."""
        return [0] * self.ndim

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        """The grid of some of the dims.

        Raises: KeyError for a dim that has no such name.
        """
        given = mesh_dim_names
        names = (given,) if isinstance(given, str) else tuple(given)
        for name in names:
            if name not in (self.mesh_dim_names or ()):
                raise KeyError(
                    f"Invalid mesh_dim_name {name!r}: there are {self.mesh_dim_names}"
                )
        nested: Any = 0
        for _ in names:
            nested = [nested]
        return DeviceMesh(self.device_type, nested, mesh_dim_names=names)

    def __repr__(self) -> str:
        return f"DeviceMesh({self.device_type!r}, {self.shape})"


def _sizes(mesh: Any) -> tuple[int, ...]:
    if hasattr(mesh, "shape"):
        return tuple(mesh.shape)
    sizes = []
    while isinstance(mesh, list | tuple):
        sizes.append(len(mesh))
        mesh = mesh[0]
    return tuple(sizes)


def _alone(shape: tuple[int, ...]) -> None:
    if math.prod(shape) != 1:
        raise NotSupported(
            "DeviceMesh", "mesh", was=f"of {math.prod(shape)} processes", needed="one",
            remedy="run the program with one process",
        )  # fmt: skip
    if not is_initialized():
        the_group(None)


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: dict[Any, Any] | None = None,
) -> DeviceMesh:  # fmt: skip
    """A grid of all processes, of some sizes."""
    nested: Any = 0
    if math.prod(mesh_shape) != 1:
        _alone(tuple(mesh_shape))
    for _ in mesh_shape:
        nested = [nested]
    return DeviceMesh(device_type, nested, mesh_dim_names=mesh_dim_names)
