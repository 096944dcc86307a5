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
from dovetail.dtypes import (
    DType,
    Sizes,
    as_dtype,
    bool_,
    get_default_dtype,
    int32,
    int64,
)
from dovetail.engine import modes
from dovetail.engine.casts import back
from dovetail.engine.kinds import Kind, kind_of
from dovetail.engine.level_hooks import written_later
from dovetail.engine.public import public
from dovetail.engine.tensor import Tensor
from dovetail.engine.views import unshared
from dovetail.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
)
from dovetail.frontend.memory_order import order_for
from dovetail.memory_formats import layout as Layout  # noqa: F401 (annotations name it)
from dovetail.memory_formats import memory_format as MemoryFormat  # noqa: F401 (so too)
from dovetail.memory_formats import strided
from dovetail.ops import view as v
from dovetail.ops.primitive import clone

DeviceLike = Device | str | None
Make = Callable[..., Tensor]


class Place:
    """What is asked of a tensor to be made.

    Attributes:
        dtype, device: as the caller named them, or None.
        of: what is taken where none is named, instead of the defaults.
        described: whether the caller said anything of what is to be made.
    """

    __slots__ = ("described", "device", "dtype", "of")

    def __init__(
        self, dtype: DType | None, device: DeviceLike, of: Kind | None = None
    ) -> None:
        known = dtype is None or type(dtype) is DType
        self.dtype = dtype if known else as_dtype(dtype, "tensor")
        self.device = device
        self.of = of
        self.described = dtype is not None or device is not None

    def kind(self, default: DType | None = None) -> Kind:
        """Device and dtype of the result; `default` is the dtype where none is named.

        Where that is int64 and the device lacks it, it is int32, as counts and
        indices are.

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
        if dtype is not None or default is not int64:
            return kind_of(where, dtype or default or get_default_dtype())
        try:
            return kind_of(where, int64)
        except DTypeError:
            return kind_of(where, int32)

    def like(self, x: Tensor) -> Place:
        """The same, by default with the dtype and device of `x`."""
        return Place(self.dtype, self.device, self.of or x._kind)


# What all of them take by keyword: annotation and default.
_KEYWORDS: Final = {
    "dtype": ("DType | None", None), "layout": ("Layout | None", None),
    "device": ("DeviceLike", None), "requires_grad": ("bool", False),
    "pin_memory": ("bool", False),
}  # fmt: skip
_OF_LIKE: Final = {"memory_format": ("MemoryFormat | None", None)}


class _Signed:
    """What `inspect` finds the signature of a creation function by, when it asks.

    Attributes:
        function: takes a `Place` and its own arguments.
        hidden: how many of its first parameters callers do not give.
        lead: the parameter that they give instead, if any.
    """

    def __init__(self, function: Make, hidden: int = 1, lead: str = "") -> None:
        self.function, self.hidden, self.lead = function, hidden, lead
        self.__module__ = function.__module__

    @property
    def __signature__(self) -> inspect.Signature:
        signature, kinds = inspect.signature(self.function), inspect.Parameter
        own = list(signature.parameters.values())[self.hidden :]
        if self.lead:
            lead = kinds(self.lead, kinds.POSITIONAL_OR_KEYWORD, annotation="Tensor")
            own.insert(0, lead)
        more = _OF_LIKE if self.lead == "input" else {}
        own = [p for p in own if p.name not in more]
        common = [
            kinds(name, kinds.KEYWORD_ONLY, annotation=annotation, default=default)
            for name, (annotation, default) in {**_KEYWORDS, **more}.items()
        ]
        return signature.replace(parameters=[*own, *common])


def creates(
    name: str, *, like: bool = False, new: bool = False, out: bool = True,
    asks: bool = True, new_lacks: tuple[str, ...] = (), room: str = "torch",
    drawn: bool = False, nested: tuple[str, ...] = (),
) -> Callable[[Make], Make]:  # fmt: skip
    """Offer a function `(place, …)` as torch's function `name`.

    Args:
        like: `name_like(input, …)` too, where the second parameter is the size.
        new: `Tensor.new_name(…)` too.
        out: it takes `out=`.
        asks: its arguments may handle the call; not where any object will do.
        new_lacks: keywords that `Tensor.new_name(…)` does not take.
        room: where torch has the function.
        drawn: the values are random numbers, each of which belongs to an index, so
            that `name_like` makes them in row-major order before they are laid out.
        nested: parameters behind the first, each given only beside those before it,
            as torch has an overload for each.
    """

    def offer(make: Make) -> Make:
        def plain(
            *args: Any, dtype: Any = None, device: Any = None, **given: Any
        ) -> Tensor:
            if nested:
                _check_nested(name, nested[len(args) - 1 :], given)
            return _made(make, Place(dtype, device), args, given)

        def of_input(
            input: Any, *args: Any, dtype: Any = None, device: Any = None, **given: Any
        ) -> Tensor:
            place = Place(dtype, device, input._kind)
            order = order_for(f"{name}_like", input, given.pop("memory_format", None))
            if order == tuple(range(len(order))):
                return _made(make, place, (input.shape, *args), given)
            lying = _drawn_in(make, order) if drawn else _made_in(make, order)
            return _made(lying, place, (input.shape, *args), given)

        def of_self(
            self: Any, *args: Any, dtype: Any = None, device: Any = None, **given: Any
        ) -> Tensor:
            for lacking in new_lacks:
                if lacking in given:
                    raise ArgumentTypeError(
                        f"new_{name}", lacking, was="given", needed="none"
                    )
            place = Place(dtype or self.dtype, device, self._kind)
            return _made(make, place, args, given)

        _sign(plain, _Signed(make), make.__doc__)
        public(f"{room}.{name}", out=out, asks=asks)(plain)
        if like:
            doc = f"`{name}` in the shape, dtype and device of `input`."
            _sign(of_input, _Signed(make, 2, "input"), doc)
            public(f"torch.{name}_like")(of_input)
        if new:
            doc = f"`{name}` with the dtype and device of this tensor."
            _sign(of_self, _Signed(make, 1, "self"), doc)
            public(f"Tensor.new_{name}")(of_self)
        return plain

    return offer


def _check_nested(name: str, nested: tuple[str, ...], given: dict[str, Any]) -> None:
    """Raise for a parameter that is given without one that comes before it."""
    present = [parameter in given for parameter in nested]
    if present != sorted(present, reverse=True):
        raise ArgumentTypeError(
            name, nested[present.index(False)], was="missing",
            needed=f"a value for it, as {nested[present.index(True, 1)]} has one",
        )  # fmt: skip


def _made_in(make: Make, order: tuple[int, ...]) -> Make:
    """`make`, whose results have dims that lie in another order."""

    def lying(place: Place, shape: Sizes, *args: Any, **given: Any) -> Tensor:
        made = make(place, tuple(shape[d] for d in order), *args, **given)
        return unshared(v.permute(made, back(order)))

    return lying


def _drawn_in(make: Make, order: tuple[int, ...]) -> Make:
    """The same, where what stands at an index may not depend on where that lies."""

    def lying(place: Place, *args: Any, **given: Any) -> Tensor:
        made = v.permute(make(place, *args, **given), order)
        return unshared(v.permute(clone(made), back(order)))

    return lying


def _made(
    make: Make, place: Place, args: tuple[Any, ...], given: dict[str, Any]
) -> Tensor:
    """The tensor, by the keywords of a function and those that all have."""
    if not given:
        made = make(place, *args)
        return written_later[0](made) if written_later else made
    place.described = place.described or not _KEYWORDS.keys().isdisjoint(given)
    requires_grad = given.pop("requires_grad", False)
    layout = given.pop("layout", None)
    if layout is not None and layout is not strided:
        raise ArgumentError(make.__name__, "layout", was=layout, needed=f"{strided}")
    pinned = given.pop("pin_memory", False)
    if "size" in given and not args and make.__code__.co_flags & inspect.CO_VARARGS:
        args = (_one_sequence(given.pop("size")),)
    made = make(place, *args, **given)
    if written_later:
        made = written_later[0](made)
    if pinned:
        made = made.pin_memory()
    if requires_grad:
        made.requires_grad = True
    return made


def _one_sequence(size: Any) -> Any:
    """A shape that is given by name."""
    if not isinstance(size, tuple | list):
        raise ArgumentTypeError(
            "size", "size", was=repr(size), needed="a sequence of integers, by name"
        )
    return size


def _sign(function: Any, shown: _Signed, doc: str | None) -> None:
    function.__wrapped__, function.__doc__ = shown, doc
    function.__module__ = shown.__module__


_INT: Final = frozenset({int})


def sizes(size: tuple[Any, ...]) -> tuple[int, ...]:
    """A shape given as one sequence or as separate ints."""
    if len(size) == 1 and type(size[0]) is int and size[0] >= 0:
        return size
    if len(size) == 1 and isinstance(size[0], tuple | list):
        size = tuple(size[0])
    elif not size:
        raise _no_sizes("missing")
    if not _INT.issuperset(map(type, size)):
        for one in size:
            if getattr(one, "dtype", None) is bool_:
                raise _no_sizes("a tensor of bool")
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
