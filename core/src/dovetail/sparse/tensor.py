"""`SparseTensor`: a tensor most of whose elements are 0, and are left out."""

from __future__ import annotations

from typing import Any, ClassVar

from dovetail.dtypes import ALIASES, bfloat16, bool_
from dovetail.engine.tape import Node
from dovetail.engine.tensor import Tensor
from dovetail.errors import AutogradError
from dovetail.memory_formats import LAYOUTS
from dovetail.sparse.arrays import CooArray, CsrArray, SparseArray, kind_above
from dovetail.sparse.handlers import above, refusal

COO = LAYOUTS["sparse_coo"]
CSR = LAYOUTS["sparse_csr"]


class SparseTensor(Tensor):
    """A tensor most of whose elements are 0, and are left out.

    It is made of dense tensors: of coordinates and values (`sparse_coo`), or of the
    columns and values of a matrix, row by row (`sparse_csr`). Its place on the tape is
    that of its values: what is left out has no gradient.

    Every public function that gets one asks the table of `handlers`, and so does every
    op, since this is a subclass: what is not there is refused in words.
    """

    __slots__ = ()
    _a: SparseArray
    _in_parts: ClassVar[bool] = True

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        """Let a handler compute, by coordinates unless it can do without."""
        return above.handled(function, args, kwargs or {})

    # ---- what it is

    @property
    def layout(self) -> Any:
        """How elements are left out."""
        return COO if type(self._a) is CooArray else CSR

    @property
    def is_sparse(self) -> bool:
        """Whether elements have coordinates."""
        return type(self._a) is CooArray

    @property
    def is_sparse_csr(self) -> bool:
        """Whether it is a matrix by rows."""
        return type(self._a) is CsrArray

    # ---- its place on the tape: that of its values

    @property
    def requires_grad(self) -> bool:
        """Whether backward computes a gradient for, or through, the values."""
        return self._a.values.requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        values = self._a.values
        if wanted is True and not values.requires_grad:
            values = self._a.values = values.detach()
        values.requires_grad = wanted

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded op made the values."""
        return self._a.values.is_leaf

    @property
    def grad_fn(self) -> Node | None:
        """The node that made the values, None for a leaf."""
        return self._a.values.grad_fn

    @property
    def grad(self) -> Tensor | None:
        """The gradient gathered by backward, with this tensor's coordinates."""
        found: Tensor | None = self._with_gradient(self._a.values.grad)
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            self._a.values.grad = None
            return
        if not isinstance(value, SparseTensor) or value.shape != self.shape:
            raise AutogradError(
                "grad", "value", was=f"a {type(value).__name__}",
                needed=f"a sparse tensor of shape {tuple(self.shape)}",
            )  # fmt: skip
        self._a.values.grad = value.sparse_mask(self)._a.values.detach()

    @grad.deleter
    def grad(self) -> None:
        self._a.values.grad = None

    def _with_gradient(self, values: Tensor | None) -> Any:
        """The gradient of the values as that of this tensor."""
        return None if values is None else with_values(self, values)

    @property
    def _on_tape(self) -> Tensor:
        """What stands for this tensor on the tape."""
        return self._a.values

    def backward(self, *args: Any, **kwargs: Any) -> None:
        """Refused: gradients start at what is not sparse."""
        raise refusal("backward", self.layout)

    @property
    def retains_grad(self) -> bool:
        """Whether the values keep their gradient, though they are no leaf."""
        return bool(self._a.values.retains_grad)

    @property
    def data(self) -> Tensor:
        """The same memory, outside the graph."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        raise refusal("data", self.layout)

    @property
    def _version(self) -> int:
        return self._a.values._version

    @property
    def output_nr(self) -> int:
        """0: the values are one result."""
        return 0

    # ---- what it is made of

    def __bool__(self) -> bool:
        raise refusal("bool", self.layout)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        text: str = above.described(self)
        return text

    def __copy__(self) -> Tensor:
        return self.detach().requires_grad_(self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) not in memo:
            if not self.is_leaf:
                raise AutogradError(
                    "deepcopy", "tensor", was="the result of a recorded op",
                    needed="a leaf", remedy="use detach() first",
                )  # fmt: skip
            made = self.detach().clone()
            made.requires_grad = self.requires_grad
            made.grad = self.grad if self.grad is None else self.grad.clone()
            memo[id(self)] = made
        found: Tensor = memo[id(self)]
        return found

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        a = self._a
        if isinstance(a, CooArray):
            parts = (a.indices, a.values.detach(), a.shape, a.coalesced)
            return _restored, (coo, parts, self.requires_grad)
        assert isinstance(a, CsrArray)
        rows = (a.crow, a.col, a.values.detach(), a.shape)
        return _restored, (csr, rows, self.requires_grad)


def _restored(make: Any, parts: tuple[Any, ...], requires_grad: bool) -> SparseTensor:
    made: SparseTensor = make(*parts)
    made.requires_grad = requires_grad
    return made


def _made(native: SparseArray) -> SparseTensor:
    made = object.__new__(SparseTensor)
    made._a = native
    made._kind = kind_above(native.values._kind)
    made._node = made._storage = None
    return made


def coo(
    indices: Tensor, values: Tensor, shape: Any, coalesced: bool = False
) -> SparseTensor:
    """A sparse tensor of coordinates that are known to be right."""
    return _made(CooArray(tuple(shape), indices, values, coalesced))


def csr(crow: Tensor, col: Tensor, values: Tensor, shape: Any) -> SparseTensor:
    """A sparse matrix by rows that are known to be right."""
    return _made(CsrArray(tuple(shape), crow, col, values))


def with_values(x: SparseTensor, values: Tensor) -> SparseTensor:
    """Other values at the same places."""
    a = x._a
    if isinstance(a, CooArray):
        return coo(a.indices, values, a.shape, a.coalesced)
    assert isinstance(a, CsrArray)
    return csr(a.crow, a.col, values, a.shape)


def coordinates(x: Tensor) -> CooArray:
    """The parts of a sparse tensor of coordinates."""
    a = x._a
    assert isinstance(a, CooArray)
    return a


def _caster(name: str, dtype: Any) -> Any:
    def cast(self: SparseTensor, **kwargs: Any) -> Any:
        return self.to(dtype)

    cast.__name__ = name
    cast.__doc__ = f"This tensor as {dtype.name}; itself if it is."
    return cast


def _refuse(name: str) -> Any:
    def refuse(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        raise refusal(name, self.layout)

    refuse.__name__ = name
    refuse.__doc__ = "Refused: it is of strided tensors only."
    return refuse


def _fact(name: str) -> Any:
    def of_values(self: SparseTensor) -> Any:
        return getattr(self._a.values, name)

    return property(of_values, doc=f"`{name}` of the values.")


for _name in ("is_cpu", "is_cuda", "is_meta", "is_xpu"):
    setattr(SparseTensor, _name, _fact(_name))
for _name, _dtype in {**ALIASES, "bool": bool_, "bfloat16": bfloat16}.items():
    setattr(SparseTensor, _name, _caster(_name, _dtype))
for _name in (
    "__array_wrap__", "__complex__", "__delitem__", "__dlpack__", "__float__",
    "__index__", "__int__", "__long__", "__nonzero__", "apply_", "map_", "map2_",
):  # fmt: skip
    setattr(SparseTensor, _name, _refuse(_name))
