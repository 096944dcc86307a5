"""Objects that processes of a group give each other; what arrives is a copy."""

from __future__ import annotations

import copy
from typing import Any

from .collectives import member, one
from .groups import ProcessGroup


def all_gather_object(
    object_list: list[Any], obj: Any, group: ProcessGroup | None = None
) -> None:
    """Give all, in a list, an object that each has; what arrives is a copy."""
    if member("all_gather_object", group):
        one("all_gather_object", "object_list", object_list)
        object_list[0] = copy.deepcopy(obj)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int | None = None,
    group: ProcessGroup | None = None, group_dst: int | None = None,
) -> None:  # fmt: skip
    """Give one, in a list, an object that each has; what arrives is a copy."""
    if member("gather_object", group, dst, group_dst):
        one("gather_object", "object_gather_list", object_gather_list)
        (object_gather_list or [])[0] = copy.deepcopy(obj)


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: ProcessGroup | None = None,
    device: Any = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Give all the objects of one's list."""
    member("broadcast_object_list", group, src, group_src)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None, src: int | None = None,
    group: ProcessGroup | None = None, group_src: int | None = None,
) -> None:  # fmt: skip
    """Give each an object of one's list."""
    if member("scatter_object_list", group, src, group_src):
        given = scatter_object_input_list
        found = one("scatter_object_list", "scatter_object_input_list", given)
        scatter_object_output_list[0] = copy.deepcopy(found)
