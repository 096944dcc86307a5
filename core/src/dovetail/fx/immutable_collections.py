"""Lists and dicts in the arguments of nodes, which only a node may change."""

from __future__ import annotations

from typing import Any, NoReturn


def _refuse(self: object, *_args: Any, **_options: Any) -> NoReturn:
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation: a node counts "
        "what uses it; assign `node.args` or `node.kwargs` anew"
    )


class immutable_list(list[Any]):  # noqa: N801  torch's name
    """A list that cannot be changed."""

    __delitem__ = __iadd__ = __imul__ = __setitem__ = _refuse
    append = clear = extend = insert = pop = remove = reverse = sort = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


class immutable_dict(dict[Any, Any]):  # noqa: N801  torch's name
    """A dict that cannot be changed."""

    __delitem__ = __ior__ = __setitem__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self.items()),)
