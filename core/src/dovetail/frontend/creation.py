"""What torch's functions that make tensors have in common, said once.

A function declared by `@creates` says its own parameters. The keywords for what is to
be made (`dtype`, `device`, `requires_grad` and the like), the forms `name_like` and
`Tensor.new_name`, and the documentation of these follow.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any, Final

from dovetail.device import device as Device
from dovetail.dtypes import DType, get_default_dtype
from dovetail.engine import modes
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError

DeviceLike = Device | str | None
Make = Callable[..., Tensor]

_KEYWORD: Final = inspect.Parameter.KEYWORD_ONLY


class Place:
    """What is asked of a tensor to be made.

    Attributes:
        dtype, device: as the caller named them, or None.
        of: what is taken where none is named, instead of the defaults.
    """

    __slots__ = ("device", "dtype", "of")

    def __init__(
        self, dtype: DType | None, device: DeviceLike, of: Kind | None = None
    ) -> None:
        self.dtype = dtype
        self.device = device
        self.of = of

    def kind(self, default: DType | None = None) -> Kind:
        """Device and dtype of the result; `default` is the dtype where none is named.

        Raises:
            ArgumentTypeError: the device is none. DTypeError: the device lacks the
                dtype.
        """
        dtype, where = self.dtype, self.device
        if self.of is not None:
            dtype = dtype or self.of.dtype
            if where is None:
                return self.of.with_dtype(dtype)
        if where is None:
            where = modes.default_device()
        elif not isinstance(where, str | Device):
            raise ArgumentTypeError(
                "device", "device", was=repr(where),
                needed='a string such as "cpu" or "cuda:0"',
            )  # fmt: skip
        return kind_of(where, dtype or default or get_default_dtype())

    def like(self, x: Tensor) -> Place:
        """The same, by default with the dtype and device of `x`."""
        return Place(self.dtype, self.device, self.of or x._kind)


class _Signed:
    """What `inspect` finds the signature of a creation function by, when it asks.

    Attributes:
        function: takes a `Place` and its own arguments.
        shown: how many of its first parameters callers do not give.
        lead: the parameter that they give instead, if any.
        last: the last keyword, `pin_memory` or `memory_format`.
    """

    def __init__(self, function: Make, hidden: int, lead: str, last: str) -> None:
        self.function, self.hidden, self.lead = function, hidden, lead
        self.last = last
        self.__module__ = function.__module__

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.function)
        by_place, by_name = (
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            inspect.Parameter.KEYWORD_ONLY,
        )
        own = list(signature.parameters.values())[self.hidden :]
        if self.lead:
            own.insert(0, inspect.Parameter(self.lead, by_place, annotation="Tensor"))
        for name, annotation, default in (
            ("dtype", "DType | None", None), ("layout", "None", None),
            ("device", "DeviceLike", None), ("requires_grad", "bool", False),
            (self.last, *_LAST[self.last]),
        ):  # fmt: skip
            own.append(
                inspect.Parameter(name, by_name, annotation=annotation, default=default)
            )
        return signature.replace(parameters=own)


_LAST: Final = {"pin_memory": ("bool", False), "memory_format": ("None", None)}


def creates(
    name: str, *, like: bool = False, new: bool = False, out: bool = True,
    asks: bool = True,
) -> Callable[[Make], Make]:  # fmt: skip
    """Offer a function `(place, …)` as torch's function `name`.

    Args:
        like: `name_like(input, …)` too, where the second parameter is the size.
        new: `Tensor.new_name(…)` too.
        out: it takes `out=`.
        asks: its arguments may handle the call; not where any object will do.
    """

    def offer(make: Make) -> Make:
        def plain(
            *args: Any, dtype: Any = None, device: Any = None, **given: Any
        ) -> Tensor:
            return _made(name, make, Place(dtype, device), args, given)

        def of_input(
            input: Any, *args: Any, dtype: Any = None, device: Any = None, **given: Any
        ) -> Tensor:
            place = Place(dtype, device, input._kind)
            return _made(f"{name}_like", make, place, (input.shape, *args), given)

        def of_self(
            self: Any, *args: Any, dtype: Any = None, device: Any = None, **given: Any
        ) -> Tensor:
            place = Place(dtype or self.dtype, device, self._kind)
            return _made(f"new_{name}", make, place, args, given)

        _sign(plain, _Signed(make, 1, "", "pin_memory"), make.__doc__)
        public(f"torch.{name}", out=out, asks=asks)(plain)
        if like:
            shown = _Signed(make, 2, "input", "memory_format")
            _sign(
                of_input, shown, f"`{name}` in the shape, dtype and device of `input`."
            )
            public(f"torch.{name}_like")(of_input)
        if new:
            shown = _Signed(make, 1, "self", "pin_memory")
            _sign(of_self, shown, f"`{name}` with the dtype and device of this tensor.")
            public(f"Tensor.new_{name}")(of_self)
        return plain

    return offer


def _made(
    name: str, make: Make, place: Place, args: tuple[Any, ...], given: dict[str, Any]
) -> Tensor:
    """The tensor, after the keywords that all creation functions have."""
    requires_grad = False
    if given:
        requires_grad = given.pop("requires_grad", False)
        given.pop("pin_memory", None)  # of no effect: memory of the host is the host's
        for option in ("layout", "memory_format"):
            if given.pop(option, None) is not None:
                raise ArgumentError(
                    name, option, was="given", needed="None: tensors are strided"
                )
    made = make(place, *args, **given)
    if requires_grad:
        made.requires_grad = True
    return made


def _sign(function: Any, shown: _Signed, doc: str | None) -> None:
    function.__wrapped__, function.__doc__ = shown, doc
    function.__module__ = shown.__module__


def sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape given as one sequence or as separate ints."""
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    elif not size:
        raise _no_sizes("missing")
    try:
        shape = tuple(map(operator.index, size))
    except TypeError:
        raise _no_sizes(repr(size)) from None
    if any(s < 0 for s in shape):
        raise ArgumentError("size", "size", was=shape, needed="no negative size")
    return shape


def _no_sizes(was: str) -> ArgumentTypeError:
    needed = "integers, or one sequence of them"
    return ArgumentTypeError("size", "size", was=was, needed=needed)


__all__ = ["DeviceLike", "Place", "creates", "sizes"]
