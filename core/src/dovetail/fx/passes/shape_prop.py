"""`ShapeProp`: what the results of steps look like, found by running them."""

from __future__ import annotations

from typing import Any, NamedTuple

from dovetail.engine.tensor import Tensor
from dovetail.fx.interpreter import Interpreter
from dovetail.fx.node import Node, map_aggregate
from dovetail.memory_formats import channels_last, contiguous_format


class TensorMetadata(NamedTuple):
    """What a result looks like."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Any) -> TensorMetadata:
    """What a tensor looks like."""
    orders = (contiguous_format, channels_last)
    fits = [
        order for order in orders
        if order is contiguous_format or result.dim() == 4
        if result.is_contiguous(memory_format=order)
    ]  # fmt: skip
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, result.stride(),
        fits[0] if fits else None, False, {},
    )  # fmt: skip


class ShapeProp(Interpreter):
    """Runs a graph, and notes in `node.meta` what each result looks like."""

    def run_node(self, n: Node) -> Any:
        """Run a step, and note its result's `tensor_meta` and `type`."""
        result = super().run_node(n)
        found = []

        def look(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            found.append(value)
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, look)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph, and give what it returns."""
        return super().run(*args)
