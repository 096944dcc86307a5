"""Sparse tensors in files: their parts, and how they are put together again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dovetail.engine.tensor import Tensor
from dovetail.errors import DovetailError
from dovetail.sparse.arrays import CooArray, CsrArray
from dovetail.sparse.creation import sparse_coo_tensor, sparse_csr_tensor
from dovetail.sparse.parts import lines, parts
from dovetail.sparse.tensor import SparseTensor, coo


def taken_apart(x: SparseTensor) -> tuple[dict[str, Any], list[Tensor]]:
    """What a file says of a sparse tensor, and the dense ones that it is made of."""
    a = x._a
    says: dict[str, Any] = {"layout": x.layout.name, "size": list(a.shape)}
    if x.requires_grad:
        says["requires_grad"] = True
    if isinstance(a, CsrArray):
        return says, [a.crow, a.col, a.values.detach()]
    assert isinstance(a, CooArray)
    return says | {"coalesced": a.coalesced}, [a.indices, a.values.detach()]


def put_together(says: Any, dense: Sequence[Tensor]) -> Tensor:
    """The sparse tensor that `taken_apart` described.

    Raises:
        KeyError, TypeError or ValueError: the parts do not fit each other.
    """
    gradient = says.get("requires_grad") is True
    try:
        if says["layout"] == "sparse_csr":
            crow, col, values = dense
            return sparse_csr_tensor(
                crow, col, values, says["size"], requires_grad=gradient
            )
        indices, values = dense
        made: Any = sparse_coo_tensor(indices, values, says["size"])
        if says["coalesced"] is True:
            made = _in_order(made)
    except DovetailError as error:
        raise ValueError(str(error)) from error
    made.requires_grad = gradient
    return made  # type: ignore[no-any-return]


def _in_order(x: SparseTensor) -> SparseTensor:
    """The tensor as a coalesced one, if it is."""
    indices, values, sizes = parts(x)
    line = lines("load", indices, sizes)
    if not x.is_meta and not bool((line[1:] > line[:-1]).all()):
        raise ValueError("elements of a coalesced tensor out of order")
    return coo(indices, values, x.shape, True)
