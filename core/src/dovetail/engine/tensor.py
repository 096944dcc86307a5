"""Tensor: a native array with a kind, a place on the tape and shared storage.

The methods that users call are installed by `dovetail.ops` and `dovetail.frontend`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.homes import called_so
from dovetail.engine.kinds import Kind
from dovetail.engine.leaves import check_differentiable, set_requires_grad
from dovetail.engine.level_hooks import cut_below, level_of
from dovetail.engine.open_levels import open_levels
from dovetail.engine.scopes import anywhere, here, tell
from dovetail.engine.storage import MOVED, Move
from dovetail.engine.tape import Leaf, Node, Output, storage_of
from dovetail.engine.tape_of_views import View, edge_of, leads_nowhere, leaf_of
from dovetail.engine.tensor_type import Size, TensorType
from dovetail.errors import ArgumentTypeError, AutogradError, NotSupported

if TYPE_CHECKING:  # the floors above install them
    from dovetail.signatures.methods import Methods as _Methods
else:
    _Methods = object


_tuple_of: Final = tuple.__new__


class Tensor(_Methods, metaclass=TensorType):
    """A multi-dimensional array on a device, differentiable and lazy about neither.

    Attributes (private; users have properties):
        _a: the native array.
        _kind: device and dtype, interned.
        _node: place on the tape, see `dovetail.engine.tape`.
        _storage: memory and version, None until it is shared or saved.
    """

    __slots__ = ("__dict__", "__weakref__", "_a", "_kind", "_node", "_storage")
    _a: Any
    _kind: Kind
    _node: Any
    _storage: Any
    # Whether it was made in inference mode; its storage says so once it has one.
    _inference: bool = False
    # Whether it is made of other tensors, which are on the tape: a sparse one is.
    _in_parts: ClassVar[bool] = False

    @property
    def shape(self) -> Size:
        """Sizes of the dims."""
        return _tuple_of(Size, self._a.shape)  # which is known to be of ints

    @property
    def ndim(self) -> int:
        """The number of dims."""
        return len(self._a.shape)

    @property
    def dtype(self) -> DType:
        """The format of the elements."""
        return self._kind.dtype

    @property
    def device(self) -> device:
        """Where the elements are."""
        return self._kind.device

    @property
    def requires_grad(self) -> bool:
        """Whether backward computes a gradient for, or through, this tensor."""
        node = self._node
        return node is not None and edge_of(node) is not None

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        set_requires_grad(self, wanted)

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made this tensor."""
        node = self._node
        edge = None if node is None else edge_of(node)
        return edge is None or type(edge) is Leaf or leads_nowhere(node)

    @property
    def grad_fn(self) -> Node | None:
        """The node that made this tensor, None for a leaf."""
        node = self._node
        edge = None if node is None else edge_of(node)
        if type(edge) is Output:
            return edge.node
        return edge if type(edge) is Node and not leads_nowhere(node) else None

    @property
    def grad(self) -> Tensor | None:
        """The gradient gathered by backward: of a leaf, or after `retain_grad()`."""
        leaf = leaf_of(self._node)
        if leaf is not None:
            return leaf.grad
        found: Tensor | None = self.__dict__.get("_grad")
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None:
            self._check_grad(value)
        leaf = leaf_of(self._node)
        if leaf is not None:
            leaf.grad = value
        else:
            self.__dict__["_grad"] = value
        if anywhere[0] and here() is not None:
            tell("grad", self, value)

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    _grad = grad  # as programs for older versions of torch call it

    def _check_grad(self, value: Tensor) -> None:
        if value is self:
            raise AutogradError(
                "grad", "value", was="the tensor itself: can't assign Variable as its "
                "own grad", needed="another one", remedy="assign a detach() of it",
            )  # fmt: skip
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                "grad", "value", was=f"a {type(value).__name__}",
                needed="a Tensor or None",
            )  # fmt: skip
        same = getattr(value, "_kind", None) is self._kind
        if not same and getattr(value, "_in_parts", False):
            same = value.dtype is self.dtype and value.device == self.device
        if not same or tuple(value._a.shape) != tuple(self._a.shape):
            raise AutogradError(
                "grad", "value", was=_describe(value), needed=f"a {_describe(self)}"
            )

    @property
    def data(self) -> Tensor:
        """The same memory, outside the graph; writes do not count as changes."""
        cls: Any = type(self)
        if cls is not Tensor and cls is not Parameter and _asked_of(cls):
            own = vars(Tensor)["data"].__get__
            return cls.__torch_function__(own, (cls,), (self,), {})  # type: ignore[no-any-return]
        t = wrap(self._a, self._kind)
        t._storage = storage_of(self).apart()
        if level_of and open_levels():
            cut_below(t)
        if anywhere[0]:
            tell("alias", self, t, "data")
        return t

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                "data", "value", was=f"a {type(value).__name__}", needed="a Tensor"
            )
        leaf = leaf_of(self._node)
        if leaf is not None:
            check_differentiable("data", value._kind.dtype)
        if anywhere[0]:
            tell("data", self, value)
        if leaf is not None:
            leaf.kind = value._kind
        before, native = self._storage, self._a
        recorded = self.requires_grad
        version = 0 if before is None else before.version
        self._storage = storage_of(value).apart(version)
        self._a = value._a
        self._kind = value._kind
        if before is not None and type(self._node) is not View:
            before.version += MOVED
            move = Move(native, recorded, version, before.version, weakref.ref(self))
            before.moves = (*getattr(before, "moves", ()), move)

    @property
    def _version(self) -> int:
        """How often the memory has been written in place.

        Raises: AutogradError for an inference tensor.
        """
        storage = self._storage
        if storage is None and not self._inference:
            return 0
        storage = storage_of(self)
        if storage.inference:
            raise AutogradError(
                "_version", "tensor", was="an inference tensor: inference tensors do "
                "not track version counter", needed="one made outside of that mode",
            )  # fmt: skip
        return storage.version % MOVED

    @property
    def _base(self) -> Tensor | None:
        """The tensor that this view looks into."""
        node = self._node
        return node.base if type(node) is View else None

    def _is_view(self) -> bool:
        return type(self._node) is View

    @classmethod
    def __torch_function__(
        cls,
        function: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Called for subclasses: runs the op and gives its results that class."""
        result = without_overrides(function, args, kwargs or {})
        return as_class(cls, result)


class Parameter(Tensor):
    """A leaf that modules register as theirs; shares the memory of `data`.

    Examples:
        >>> import dovetail as torch
        >>> layer = torch.nn.Module()
        >>> layer.scale = torch.nn.Parameter(torch.ones(2))
        >>> [name for name, _ in layer.named_parameters()]
        ['scale']
    """

    __slots__ = ()

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        made = object.__new__(cls)
        if getattr(data, "_in_parts", False):
            raise NotSupported(
                cls.__name__, "data", was=f"a {type(data).__name__}",
                needed="a strided tensor", remedy="call to_dense() first",
            )  # fmt: skip
        if data is None:
            raise AutogradError("Parameter", "data", was="missing", needed="a tensor")
        if not isinstance(data, Tensor):
            raise ArgumentTypeError(
                "Parameter", "data", was=f"a {type(data).__name__}", needed="a Tensor"
            )
        if not isinstance(requires_grad, bool):
            raise ArgumentTypeError(
                cls.__name__, "requires_grad", was=repr(requires_grad),
                needed="True or False",
            )  # fmt: skip
        made._a = data._a
        made._kind = data._kind
        made._storage = storage_of(data)
        made._node = None
        if requires_grad:
            made.requires_grad = True
        return made

    def __init__(self, *_args: Any, **_options: Any) -> None:
        """See the class; subclasses whose `__new__` takes other arguments need none."""


# Makes a tensor without anything, as fast as a class without a type of its own.
fresh: Callable[[], Tensor] = type.__call__.__get__(Tensor, TensorType)
# Where that is found by a name; inference mode exchanges it meanwhile.
makers: Final[list[tuple[dict[str, Any], str]]] = [(globals(), "fresh")]


def wrap(native: Any, kind: Kind) -> Tensor:
    """A tensor over a native array: a leaf without gradient."""
    t = fresh()
    t._a = native
    t._kind = kind
    t._node = None
    t._storage = None
    return t


def alias(source: Tensor) -> Tensor:
    """The same memory and version, outside the graph: `detach`."""
    t = fresh()
    t._a = source._a
    t._kind = source._kind
    t._node = None
    storage = storage_of(source)
    t._storage = storage.apart() if storage.inference else storage
    return t


def _describe(value: Any) -> str:
    if not isinstance(value, Tensor):
        return f"{type(value).__name__}"
    return (
        f"{value.dtype.name} tensor of shape {tuple(value._a.shape)} on {value.device}"
    )


def extend(**attributes: Any) -> None:
    """Give Tensor methods and properties from the floors above."""
    for name, value in attributes.items():
        called_so(value, "dovetail", f"Tensor.{name}")
        setattr(Tensor, name, value)


class _Asked(threading.local):
    """Whether classes of arguments are asked to handle calls, in this thread."""

    nobody = False


asked: Final = _Asked()


def without_overrides(function: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Call `function`, and ask no class of its arguments to handle that.

    The tensors are those that were given: what is written in place, or asked for a
    gradient, is the caller's own.
    """
    before, asked.nobody = asked.nobody, True
    try:
        return function(*args, **kwargs)
    finally:
        asked.nobody = before


def _asked_of(cls: type) -> bool:
    """Whether a class of tensors in one piece handles what its instances are asked."""
    handler = getattr(cls, "__torch_function__", None)
    apart = asked.nobody or handler is None or getattr(cls, "_in_parts", False)
    return not apart and not issubclass(cls, Parameter)


def as_class(cls: type, result: Any) -> Any:
    """Plain tensors among `result` as instances of a subclass, over the same memory."""
    if type(result) is Tensor and cls is not Tensor:
        made: Any = object.__new__(cls)
        made._a, made._kind, made._node = result._a, result._kind, result._node
        made._storage = result._storage
        if result._inference:
            made._inference = True
        return made
    if type(result) in (list, tuple):
        return type(result)(as_class(cls, r) for r in result)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(as_class(cls, r) for r in result))
    return result
