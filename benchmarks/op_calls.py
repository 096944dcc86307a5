"""The calls that `python -m benchmarks ops` times, written once for all libraries."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any, Final

import numpy as np

Call = Callable[[], object]


class Data:
    """Tensors of one library over the same numbers, made when a call asks for them.

    Args:
        lib: dovetail or torch.
        size: how many elements; rows have about the square root of them.
    """

    def __init__(self, lib: Any, size: int) -> None:
        self.lib = lib
        self.functional = lib.nn.functional
        self.size = size
        self.lanes = 10 ** (int(math.log10(size)) // 2)
        self.lines = size // self.lanes

    def _drawn(self, seed: int, low: float = 0.1, high: float = 3.0) -> Any:
        values = np.random.default_rng(seed).random(self.size, np.float32)
        values *= high - low
        values += low
        return self.lib.from_numpy(values)

    @cached_property
    def x(self) -> Any:
        """Numbers from 0.1 to 3."""
        return self._drawn(0)

    @cached_property
    def y(self) -> Any:
        """Others."""
        return self._drawn(1)

    @cached_property
    def small(self) -> Any:
        """Numbers from -0.9 to 0.9."""
        return self._drawn(2, -0.9, 0.9)

    @cached_property
    def rows(self) -> Any:
        """`x` in rows."""
        return self.x.reshape(self.lines, self.lanes)

    @cached_property
    def mask(self) -> Any:
        """Half of the elements."""
        return self.x > 1.5

    @cached_property
    def whole(self) -> Any:
        """Whole numbers up to the number of elements."""
        drawn = np.random.default_rng(3).integers(0, self.size, self.size)
        return self.lib.from_numpy(drawn)

    @cached_property
    def places(self) -> Any:
        """A row or column for each element of `rows`."""
        least = min(self.lines, self.lanes)
        shape = (self.lines, self.lanes)
        return self.lib.from_numpy(np.random.default_rng(8).integers(0, least, shape))

    @cached_property
    def bounds(self) -> Any:
        """A hundred numbers in order."""
        return self.lib.linspace(0.1, 3.0, 100)

    @cached_property
    def labels(self) -> Any:
        """A class for each row."""
        drawn = np.random.default_rng(4).integers(0, self.lanes, self.lines)
        return self.lib.from_numpy(drawn)

    @cached_property
    def table(self) -> Any:
        """A row for each class."""
        return self.rows[: self.lanes]

    @cached_property
    def weight(self) -> Any:
        """A number for each lane."""
        return self.lib.ones(self.lanes)

    @cached_property
    def images(self) -> Any:
        """Images of 8 channels and 16 x 16 points, one at least."""
        count = max(1, self.size // 2048)
        drawn = np.random.default_rng(5).random((count, 8, 16, 16), np.float32)
        return self.lib.from_numpy(drawn)

    @cached_property
    def filters(self) -> Any:
        """For 8 channels out of 8, 3 x 3."""
        drawn = np.random.default_rng(6).random((8, 8, 3, 3), np.float32)
        return self.lib.from_numpy(drawn)

    @cached_property
    def batch(self) -> Any:
        """Matrices of 64 x 32, one at least."""
        count = max(1, self.size // 2048)
        drawn = np.random.default_rng(7).random((count, 64, 32), np.float32)
        return self.lib.from_numpy(drawn)

    def asking(self, x: Any) -> Any:
        """A tensor that asks for its gradient."""
        return x.detach().clone().requires_grad_()


Make = Callable[[Data], Call]


def _library(name: str, of: str = "x") -> Make:
    return lambda d: partial(getattr(d.lib, name), getattr(d, of))


def _functional(name: str, of: str = "x") -> Make:
    return lambda d: partial(getattr(d.functional, name), getattr(d, of))


def _method(name: str, *args: Any, of: str = "rows", **options: Any) -> Make:
    return lambda d: partial(getattr(getattr(d, of), name), *args, **options)


def _two(name: str) -> Make:
    return lambda d: partial(getattr(d.lib, name), d.x, d.y)


def _loss(name: str) -> Make:
    return lambda d: partial(getattr(d.functional, name), d.x, d.y)


def _and_back(function: Callable[[Data, Any], Any], of: str = "x") -> Make:
    """A call, and its gradient for cotangents of one."""

    def make(d: Data) -> Call:
        x = d.asking(getattr(d, of))
        ones = d.lib.ones_like(function(d, x).detach())

        def run() -> None:
            function(d, x).backward(ones)
            x.grad = None

        return run

    return make


def _norm(d: Data, x: Any) -> Any:
    return d.functional.layer_norm(x, (d.lanes,), d.weight, d.weight)


def _entropy(d: Data, x: Any) -> Any:
    return d.functional.cross_entropy(x, d.labels)


_POINTWISE: Final = (
    "exp", "expm1", "exp2", "log", "log1p", "log2", "sin", "cos", "tan", "tanh", "sinh",
    "cosh", "atan", "sigmoid", "erf", "erfc", "sqrt", "rsqrt", "abs", "floor", "round",
    "isfinite",
)  # fmt: skip
_ACTIVATIONS: Final = (
    "relu", "silu", "gelu", "softplus", "leaky_relu", "hardtanh", "logsigmoid", "elu",
    "mish", "hardswish",
)  # fmt: skip
CALLS: Final[dict[str, Make]] = {
    **{name: _library(name) for name in _POINTWISE},
    **{name: _library(name, "small") for name in ("asin", "acos")},
    **{name: _functional(name) for name in _ACTIVATIONS},
    **{name: _two(name) for name in ("add", "mul", "div", "pow", "atan2", "maximum")},
    "silu and back": _and_back(lambda d, x: d.functional.silu(x)),
    "gelu and back": _and_back(lambda d, x: d.functional.gelu(x)),
    "sigmoid and back": _and_back(lambda d, x: d.lib.sigmoid(x)),
    "tanh and back": _and_back(lambda d, x: d.lib.tanh(x)),
    "where": lambda d: partial(d.lib.where, d.mask, d.x, d.y),
    "clamp": lambda d: partial(d.lib.clamp, d.x, 0.5, 2.0),
    "lerp": lambda d: partial(d.lib.lerp, d.x, d.y, 0.3),
    "addcmul": lambda d: partial(d.lib.addcmul, d.x, d.x, d.y),
    "masked_fill": lambda d: partial(d.x.masked_fill, d.mask, 0.0),
    "row + column": lambda d: partial(d.lib.add, d.rows, d.rows[:, :1]),
    "clone": _method("clone"),
    "to float64": lambda d: partial(d.x.to, d.lib.float64),
    "to bfloat16": lambda d: partial(d.x.to, d.lib.bfloat16),
    "t().contiguous()": lambda d: d.rows.t().contiguous,
    "[:, ::2].contiguous()": lambda d: d.rows[:, ::2].contiguous,
    "cat": lambda d: partial(d.lib.cat, (d.rows, d.rows)),
    "stack": lambda d: partial(d.lib.stack, (d.rows, d.rows)),
    "repeat": _method("repeat", 1, 2),
    "repeat_interleave": lambda d: partial(d.lib.repeat_interleave, d.x, 2),
    "roll": lambda d: partial(d.lib.roll, d.rows, 3, 1),
    "pad": lambda d: partial(d.functional.pad, d.rows, (1, 1, 1, 1)),
    "tril": _method("tril"),
    "flip": lambda d: partial(d.lib.flip, d.rows, (1,)),
    "sum": _method("sum", of="x"),
    "sum(0)": _method("sum", 0),
    "sum(-1)": _method("sum", -1),
    "mean(-1)": _method("mean", -1),
    "amax(-1)": _method("amax", -1),
    "argmax(-1)": _method("argmax", -1),
    "var(-1)": _method("var", -1),
    "var(0)": _method("var", 0),
    "norm": lambda d: partial(d.lib.norm, d.x),
    "any": _method("any", of="mask"),
    "logsumexp": lambda d: partial(d.lib.logsumexp, d.rows, -1),
    "softmax": lambda d: partial(d.functional.softmax, d.rows, -1),
    "log_softmax": lambda d: partial(d.functional.log_softmax, d.rows, -1),
    "softmax and back": _and_back(lambda d, x: d.functional.softmax(x, -1), "rows"),
    "layer_norm": lambda d: partial(_norm, d, d.rows),
    "layer_norm and back": _and_back(_norm, "rows"),
    "cumsum": _method("cumsum", -1),
    "cumprod": _method("cumprod", -1),
    "sort": lambda d: partial(d.lib.sort, d.x),
    "sort(0)": lambda d: partial(d.lib.sort, d.rows, 0),
    "argsort of int64": _library("argsort", "whole"),
    "topk": lambda d: partial(d.lib.topk, d.x, 10),
    "topk(-1)": lambda d: partial(d.lib.topk, d.rows, 5, -1),
    "median": _library("median"),
    "median(-1)": _method("median", -1),
    "kthvalue": lambda d: partial(d.lib.kthvalue, d.x, d.size // 3),
    "bucketize": lambda d: partial(d.lib.bucketize, d.x, d.bounds),
    "bincount": lambda d: partial(d.lib.bincount, d.places.reshape(-1)),
    "unique": lambda d: partial(d.lib.unique, d.whole),
    "nonzero": _method("nonzero", of="mask"),
    "masked_select": lambda d: partial(d.lib.masked_select, d.x, d.mask),
    "gather": lambda d: partial(d.lib.gather, d.x, 0, d.whole),
    "gather(0)": lambda d: partial(d.lib.gather, d.rows, 0, d.places),
    "gather(1)": lambda d: partial(d.lib.gather, d.rows, 1, d.places),
    "scatter(1)": lambda d: partial(d.lib.scatter, d.rows, 1, d.places, d.rows),
    "scatter_add(0)": lambda d: partial(
        d.lib.scatter_add, d.rows, 0, d.places, d.rows
    ),
    "scatter_reduce(1)": lambda d: partial(
        d.lib.scatter_reduce, d.rows, 1, d.places, d.rows, "amax"
    ),
    "index_add(0)": lambda d: partial(
        d.lib.index_add, d.rows, 0, d.places[:, 0], d.rows
    ),
    "[indices]": lambda d: partial(d.x.__getitem__, d.whole),
    "index_put": lambda d: partial(d.x.index_put, (d.whole,), d.y),
    "index_select": lambda d: partial(d.lib.index_select, d.x, 0, d.whole),
    "scatter_add": lambda d: partial(d.lib.scatter_add, d.x, 0, d.whole, d.y),
    "embedding": lambda d: partial(d.functional.embedding, d.labels, d.rows[: d.lanes]),
    "embedding and back": _and_back(
        lambda d, x: d.functional.embedding(d.labels, x), "table"
    ),
    "mse_loss": _loss("mse_loss"),
    "smooth_l1_loss": _loss("smooth_l1_loss"),
    "cross_entropy": lambda d: partial(_entropy, d, d.rows),
    "cross_entropy and back": _and_back(_entropy, "rows"),
    "dropout": _functional("dropout"),
    "rand": lambda d: partial(d.lib.rand, d.size),
    "randn": lambda d: partial(d.lib.randn, d.size),
    "bmm": lambda d: partial(d.lib.bmm, d.batch, d.batch.transpose(1, 2)),
    "conv2d": lambda d: partial(d.functional.conv2d, d.images, d.filters, padding=1),
    "max_pool2d": lambda d: partial(d.functional.max_pool2d, d.images, 2),
    "avg_pool2d": lambda d: partial(d.functional.avg_pool2d, d.images, 2),
}  # fmt: skip


def _numpy(function: Any, of: str = "x") -> Make:
    return lambda d: partial(function, getattr(d, of).numpy())


NUMPY: Final[dict[str, Make]] = {
    **{n: _numpy(getattr(np, n)) for n in _POINTWISE if hasattr(np, n)},
    "abs": _numpy(np.absolute), "sum": _numpy(np.sum), "sort": _numpy(np.sort),
    "unique": _numpy(np.unique, "whole"), "nonzero": _numpy(np.nonzero, "mask"),
    **{
        f"{name}({dim})": _numpy(partial(getattr(np, name), axis=dim), "rows")
        for name, dim in (("sum", 0), ("sum", -1), ("mean", -1), ("var", -1),
                          ("var", 0), ("amax", -1), ("argmax", -1))
    },
    "cumsum": _numpy(partial(np.cumsum, axis=-1), "rows"),
    "add": lambda d: partial(np.add, d.x.numpy(), d.y.numpy()),
    "mul": lambda d: partial(np.multiply, d.x.numpy(), d.y.numpy()),
    "div": lambda d: partial(np.divide, d.x.numpy(), d.y.numpy()),
}  # fmt: skip
"""The calls that NumPy has as one function, on dovetail's memory."""
