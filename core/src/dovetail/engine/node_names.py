"""What nodes of the tape are called: as in torch, where an op has another name there.

Torch's names tell forms apart: of reductions with dims from those without, of powers,
of products by rank. What a call was is read off the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

_Named = Callable[[Any], str]


def node_name(node: Any) -> str:
    """Torch's style: `MulBackward0`."""
    if "ctx" in node.attrs:
        return f"{node.op.name}Backward"
    named = _NAMED.get(node.op.name)
    if named is None:
        words = node.op.name.strip("_").split("_")
        return "".join([w[:1].upper() + w[1:] for w in words]) + "Backward0"
    name = named if isinstance(named, str) else named(node)
    return name if name[-1].isdigit() and "Backward" in name else f"{name}Backward0"


def _reduced(name: str) -> _Named:
    """A reduction: of all dims, or of those that were named."""

    def named(node: Any) -> str:
        rank = len(node.shapes[0]) if node.shapes else len(node.attrs["dim"])
        return f"{name}Backward{int(len(node.attrs['dim']) < rank)}"

    return named


def _sub(node: Any) -> str:
    turned = node.shapes and node.shapes[0] == () != node.shapes[1]
    return "RsubBackward1" if turned and node.edges[0] is None else "Sub"


def _pow(node: Any) -> str:
    if node.shapes and node.shapes[0] == () != node.shapes[1]:
        return "PowBackward2" if node.edges[0] is None else "PowBackward1"
    return "PowBackward1"


def _clamp(node: Any) -> str:
    bounds = [s for s in (node.shapes or ())[1:] if s is not None]
    return "Clamp" if any(bounds) else "ClampBackward1"


def _squeeze(node: Any) -> str:
    rank = len(node.shapes[0]) if node.shapes else 0
    if len(node.attrs["dim"]) == rank:
        return "Squeeze"
    return "SqueezeBackward1" if len(node.attrs["dim"]) == 1 else "SqueezeBackward2"


_PRODUCTS: Final = {
    (2, 2): "Mm",
    (2, 1): "Mv",
    (1, 1): "Dot",
    (1, 2): "SqueezeBackward4",
}


def _matmul(node: Any) -> str:
    a, b = (len(shape) for shape in node.shapes[:2])
    return _PRODUCTS.get((a, b), "UnsafeView")


def _linear(node: Any) -> str:
    x, _, bias = node.shapes
    if len(x) == 2:
        return "Mm" if bias is None else "Addmm"
    return "UnsafeView" if bias is None else "View"


def _windows(name: str) -> _Named:
    def named(node: Any) -> str:
        dims = len(node.attrs["kernel_size"])
        return "SqueezeBackward1" if dims == 1 else name.format(dims)

    return named


def _normalised(node: Any) -> str:
    """Layers take the last dims; batches all but the second."""
    dims, rank = node.attrs["dims"], len(node.shapes[0])
    last = tuple(range(rank - len(dims), rank))
    return "NativeLayerNorm" if tuple(dims) == last else "NativeBatchNorm"


_KINDS: Final = {int: "Select", slice: "Slice", type(None): "Unsqueeze"}


def _indexed(node: Any) -> str:
    """The view that was taken last: torch takes one for each part of an index."""
    index = node.attrs["index"]
    parts = index if isinstance(index, tuple) else (index,)
    named = [_KINDS[type(p)] for p in parts if type(p) in _KINDS and p != slice(None)]
    return named[-1] if named else "Alias"


_NAMED: Final[dict[str, str | _Named]] = {
    "sub": _sub, "pow": _pow, "square": "Pow", "cube": "Pow", "clamp": _clamp,
    "sum": _reduced("Sum"), "mean": _reduced("Mean"), "squeeze": _squeeze,
    "max_along": "Max", "min_along": "Min", "vector_norm": "LinalgVectorNorm",
    "matmul": _matmul, "linear": _linear, "cast": "ToCopy", "scaled_elu": "Elu",
    "max_pool": _windows("MaxPool{}DWithIndices"), "avg_pool": _windows("AvgPool{}D"),
    "normalise": _normalised, "basic_index": _indexed, "index_get": "Index",
    "constant_pad": "ConstantPadNd", "log1p": "Log1P", "logsigmoid": "LogSigmoid",
    "prelu": "PreluKernel", "im2col": "Im2Col", "fft_complex": "FftC2C",
    "determinant": "LinalgDet", "solve_linear": "LinalgSolveEx",
    "cholesky_factor": "LinalgCholeskyEx", "singular_values": "LinalgSvd",
    "log_softmax_nll": "NllLoss", "real": "Select", "imag": "Select",
    "sum_to": "SumBackward1", "attention": "ScaledDotProductFlashAttentionForCpu",
}  # fmt: skip
"""What torch calls an op, or how to tell from the node."""
