"""repr of sparse tensors, as torch prints them."""

from __future__ import annotations

from dovetail.dtypes import bool_, get_default_dtype, int64
from dovetail.engine.tensor import Tensor
from dovetail.sparse.arrays import CooArray, CsrArray
from dovetail.sparse.handlers import above
from dovetail.sparse.tensor import SparseTensor
from dovetail.tensor_api.printing import contents, graph_suffixes, joined

_PREFIX = "tensor("


def described(x: SparseTensor) -> str:
    """The text of a sparse tensor: its parts, its size, what else it is."""
    a, indent = x._a, " " * len(_PREFIX)
    named: dict[str, Tensor] = {}
    if isinstance(a, CooArray):
        named = {"indices": a.indices}
    elif isinstance(a, CsrArray):
        named = {"crow_indices": a.crow, "col_indices": a.col}
    named["values"] = a.values.detach()
    parts = [_part(name, part) for name, part in named.items()]
    text = _PREFIX + f",\n{indent}".join(parts)
    return joined(text, _suffixes(x), len(_PREFIX), x.is_sparse)


def _part(name: str, part: Tensor) -> str:
    start = f"{name}=tensor("
    text = contents(part, len(_PREFIX) + len(start))
    if part.is_meta or not part.numel():
        text += f", size={tuple(part.shape)}"
    return f"{start}{text})"


def _suffixes(x: SparseTensor) -> list[str]:
    found = [] if x.is_cpu or x.is_meta else [f"device='{x.device}'"]
    if x.is_meta:
        found.append(f"device='{x.device}'")
    found += [f"size={tuple(x.shape)}"]
    if not x.is_meta:
        found.append(f"nnz={x._a.values.shape[0]}")
    default = get_default_dtype()
    if x.dtype not in (default, default.complex, bool_, int64):
        found.append(f"dtype={x.dtype!r}")
    found.append(f"layout={x.layout!r}")
    return found + graph_suffixes(x)


above.described = described
