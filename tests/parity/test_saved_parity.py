"""What backward keeps: what torch lets one overwrite can be overwritten.

For each op with a gradient, its sample calls are made in both libraries; then one
tensor of the call, or its result, is overwritten, and backward runs. Where torch's
works, dovetail's has to; and where dovetail's works, its gradients have to be those
without the write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest

import dovetail as dt
from dovetail.engine.cases import cases_of
from dovetail.engine.op import Op, declared
from dovetail.ops.attention import mixture

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

Call = tuple[tuple[Any, ...], dict[str, Any]]

# Calls of ops that have another name, or another signature, in torch.
X, Y = np.linspace(0.2, 0.9, 12, dtype="f4").reshape(3, 4), np.full((3, 4), 0.7, "f4")
ROW, COLUMN = X[0].copy(), X[:, 0].copy()
IMAGE = np.linspace(-1, 1, 32, dtype="f4").reshape(1, 2, 4, 4)
FILTER = np.linspace(-1, 1, 16, dtype="f4").reshape(2, 2, 2, 2)
SEQUENCE = np.linspace(-1, 1, 12, dtype="f4").reshape(1, 1, 3, 4)
MATRIX = np.array([[4, 1, 0.5], [1, -3, 2], [0.25, 1, 5]], "f4")
DEFINITE = np.array([[4, 1, 0.5], [1, 3, 1], [0.5, 1, 6]], "f4")
AT = np.array([0, 2])
LABELS = np.array([0, 3, 1])
Written = Callable[..., Any]


def recurrent(rows: int) -> list[Any]:
    """Weights and biases of a recurrent layer of 4 inputs and 2 states."""
    shapes = (rows, 4), (rows, 2), (rows,), (rows,)
    return [np.linspace(-1, 1, np.prod(s), dtype="f4").reshape(s) for s in shapes]


def layer(lib: Any, name: str, weights: tuple[Any, ...], *given: Any) -> Any:
    """The states of a recurrent layer with these weights."""
    own = getattr(lib.nn, name)(4, 2)
    named = dict(zip(dict(own.named_parameters()), weights, strict=True))
    return lib.func.functional_call(own, named, given)[0]


BY_HAND: Final[dict[str, tuple[Written, list[Any]]]] = {
    "expand": (lambda lib, x: x.expand(2, 3, 4), [X]),
    "view": (lambda lib, x: x.view(4, 3), [X]),
    "basic_index": (lambda lib, x: x[1:, ::2], [X]),
    "repeat": (lambda lib, x: x.repeat(2, 1), [X]),
    "index_get": (lambda lib, x, i: x[i], [X, AT]),
    "index_put": (lambda lib, x, i, v: x.index_put((i,), v), [X, AT, X[:2]]),
    "cast": (lambda lib, x: x.to(lib.float64), [X]),
    "filled": (lambda lib, x: x.clone().fill_(2.0), [X]),
    "convolution": (
        lambda lib, x, w, b: lib.nn.functional.conv2d(x, w, b),
        [IMAGE, FILTER, ROW[:2]],
    ),
    "convolution_transpose": (
        lambda lib, x, w: lib.nn.functional.conv_transpose2d(x, w), [IMAGE, FILTER],
    ),
    "div of a number": (lambda lib, x: 2 / x, [X]),
    "div of one": (lambda lib, x: 1 / x, [X]),
    "vector_norm": (lambda lib, x: lib.norm(x, 3.0, 1), [X]),
    "trunc_divide": (lambda lib, x, y: lib.div(x, y, rounding_mode="trunc"), [X, Y]),
    "normalise": (
        lambda lib, x, w, b: lib.nn.functional.layer_norm(x, (4,), w, b),
        [X, ROW, ROW + 1],
    ),
    "rms_norm": (lambda lib, x, w: lib.nn.functional.rms_norm(x, (4,), w), [X, ROW]),
    "max_along": (lambda lib, x: lib.max(x, 1), [X]),
    "min_along": (lambda lib, x: lib.min(x, 1), [X]),
    "max_pool": (lambda lib, x: lib.nn.functional.max_pool2d(x, 2), [IMAGE]),
    "avg_pool": (lambda lib, x: lib.nn.functional.avg_pool2d(x, 2), [IMAGE]),
    "adaptive_avg_pool": (
        lambda lib, x: lib.nn.functional.adaptive_avg_pool2d(x, 2), [IMAGE],
    ),
    "im2col": (lambda lib, x: lib.nn.functional.unfold(x, 2), [IMAGE]),
    "constant_pad": (lambda lib, x: lib.nn.functional.pad(x, (1, 1)), [X]),
    "attention": (
        lambda lib, q, k, v: lib.nn.functional.scaled_dot_product_attention(q, k, v),
        [SEQUENCE, SEQUENCE + 1, SEQUENCE + 2],
    ),
    "mixture": (
        lambda lib, q, k, v: (
            mixture(q, k, v, None, False, 0.5) if lib is dt
            else lib.nn.functional.scaled_dot_product_attention(q, k, v, scale=0.5)
        ),
        [SEQUENCE, SEQUENCE + 1, SEQUENCE + 2],
    ),
    "squared_error": (lambda lib, x, y: lib.nn.functional.mse_loss(x, y), [X, Y]),
    "embedding": (lambda lib, i, w: lib.nn.functional.embedding(i, w), [AT, X]),
    "clamp": (lambda lib, x, y: lib.clamp(x, y * 0, y), [X, Y]),
    "float_power": (lambda lib, x: lib.float_power(x, 3), [X]),
    "cube": (lambda lib, x: x**3, [X]),
    "log_softmax_nll": (
        lambda lib, x, t: lib.nn.functional.cross_entropy(x, t), [X, LABELS],
    ),
    "smooth_l1": (lambda lib, x, y: lib.nn.functional.smooth_l1_loss(x, y), [X, Y]),
    "masked_fill": (lambda lib, x, m: x.masked_fill(m, 0.5), [X, X > 0.5]),
    "mean": (lambda lib, x: x.mean(1), [X]),
    "cat": (lambda lib, x, y: lib.cat([x, y], 1), [X, Y]),
    "stack": (lambda lib, x, y: lib.stack([x, y], 1), [X, Y]),
    "gather": (lambda lib, x, i: x.gather(0, i), [X, AT[:, None]]),
    "take_along": (lambda lib, x, i: x.take_along_dim(i, 0), [X, AT[:, None]]),
    "index_select": (lambda lib, x, i: x.index_select(0, i), [X, AT]),
    "index_add": (lambda lib, x, i, v: x.index_add(0, i, v), [X, AT, X[:2]]),
    "index_copy": (lambda lib, x, i, v: x.index_copy(0, i, v), [X, AT, X[:2]]),
    "scatter": (lambda lib, x, i, v: x.scatter(0, i, v), [X, AT[:, None], X[:2, :1]]),
    "scatter_add": (
        lambda lib, x, i, v: x.scatter_add(0, i, v),
        [X, AT[:, None], X[:2, :1]],
    ),
    "scatter_reduce": (
        lambda lib, x, i, v: x.scatter_reduce(0, i, v, "prod"),
        [X, AT[:, None], X[:2, :1]],
    ),
    "as_strided": (lambda lib, x: x.as_strided((2, 2), (1, 4), 1), [X]),
    "complex": (lambda lib, x, y: lib.complex(x, y).abs(), [X, Y]),
    "from_pairs": (
        lambda lib, x: lib.view_as_complex(x.view(3, 2, 2)).abs(), [X],
    ),
    "diagonal_put": (lambda lib, x, v: x.diagonal_scatter(v), [X, COLUMN]),
    "basic_put": (lambda lib, x, v: x.slice_scatter(v, 0, 1), [X, X[:2]]),
    "scaled_elu": (lambda lib, x: lib.nn.functional.selu(x - 0.5), [X]),
    "float_fmod": (lambda lib, x, y: lib.fmod(x, y), [X, Y]),
    "float_pow": (lambda lib, x, y: lib.pow(x, y), [X, Y]),
    "col2im": (
        lambda lib, x: lib.nn.functional.fold(x.view(1, 4, 3), (2, 4), (2, 2)), [X],
    ),
    "margin_pad": (
        lambda lib, x: lib.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"), [IMAGE],
    ),
    **dict.fromkeys(("grid_taps", "tap_sum"), (
        lambda lib, x, g: lib.nn.functional.grid_sample(x, g, align_corners=False),
        [IMAGE, X.reshape(1, 1, 6, 2).repeat(IMAGE.shape[0], 0) / 9],
    )),
    "ctc_losses": (
        lambda lib, x: lib.nn.functional.ctc_loss(
            x.view(6, 1, 2), lib.tensor([[1]]), (6,), (1,)
        ),
        [X],
    ),
    "normal_quantile": (lambda lib, x: lib.special.ndtri(x / 99), [X]),
    "trigamma": (lambda lib, x: lib.polygamma(1, x), [X]),
    "polygamma_above": (lambda lib, x: lib.polygamma(2, x), [X]),
    "float_parts": (lambda lib, x: lib.frexp(x)[0], [X]),
    "normalize": (lambda lib, x: lib.nn.functional.normalize(x, dim=1), [X]),
    "masked attention": (
        lambda lib, q, m: ((q * 2) / 8.0).masked_fill_(m, -1e9).softmax(-1),
        [X, X > 0.5],
    ),
    "group_norm": (
        lambda lib, x, w: lib.nn.functional.group_norm(x, 2, w, w * 2),
        [IMAGE, ROW[:2]],
    ),
    "solve_triangle": (
        lambda lib, a, b: lib.linalg.solve_triangular(a, b, upper=True), [MATRIX, X],
    ),
    "solve_linear": (lambda lib, a, b: lib.linalg.solve(a, b), [MATRIX, X]),
    "lu_factorise": (lambda lib, a: lib.linalg.lu_factor(a), [MATRIX]),
    "determinant": (lambda lib, a: lib.linalg.det(a), [MATRIX]),
    "log_determinant": (lambda lib, a: lib.linalg.slogdet(a), [MATRIX]),
    "cholesky_factor": (lambda lib, a: lib.linalg.cholesky(a), [DEFINITE]),
    "qr_factorise": (lambda lib, a: lib.linalg.qr(a), [MATRIX]),
    "eigen_hermitian": (lambda lib, a: lib.linalg.eigh(a), [DEFINITE]),
    "singular_values": (lambda lib, a: lib.linalg.svd(a)[1], [MATRIX]),
    "least_squares": (lambda lib, a, b: lib.linalg.lstsq(a, b)[0], [MATRIX, DEFINITE]),
    "pseudo_inverse": (lambda lib, a: lib.linalg.pinv(a), [MATRIX]),
    "i0e": (lambda lib, x: lib.special.i0e(x), [X]),
    "i1e": (lambda lib, x: lib.special.i1e(x), [X]),
    "erfcx": (lambda lib, x: lib.special.erfcx(x), [X]),
    "fft_complex": (lambda lib, x: lib.fft.fft(x + 1j).abs(), [X]),
    "fft_real": (lambda lib, x: lib.fft.rfft(x).abs(), [X]),
    "fft_hermitian": (lambda lib, x: lib.fft.irfft(x + 1j), [X]),
    "gru_sequence": (
        lambda lib, x, h, *w: layer(lib, "GRU", w, x, h),
        [SEQUENCE[0, 0][:, None], SEQUENCE[0, :, :1, :2], *recurrent(6)],
    ),
    "lstm_sequence": (
        lambda lib, x, h, c, *w: layer(lib, "LSTM", w, x, (h, c)),
        [SEQUENCE[0, 0][:, None], *[SEQUENCE[0, :, :1, :2]] * 2, *recurrent(8)],
    ),
    "linear": (lambda lib, x, w, b: lib.nn.functional.linear(x, w, b), [X, Y, COLUMN]),
}  # fmt: skip


def by_name(op: Op) -> Iterator[tuple[Written, list[Any]]]:
    """The op's own sample calls, for what both libraries call the same."""
    for case in cases_of(op, dt.float32):
        arrays = [a for a in case.args if isinstance(a, np.ndarray)]

        def call(lib: Any, *tensors: Any, case: Any = case) -> Any:
            function = getattr(lib, op.name, None) or getattr(
                lib.nn.functional, op.name
            )
            given = iter(tensors)
            args = [next(given) if isinstance(a, np.ndarray) else a for a in case.args]
            return function(*args, **case.kwargs)

        yield call, arrays


class Side:
    """A call in one library, whose tensors can be overwritten before backward."""

    def __init__(self, lib: Any, call: Written, arrays: list[Any], need: int) -> None:
        self.leaves = [lib.tensor(a) for a in arrays]
        self.wanted = []
        given = []
        for i, t in enumerate(self.leaves):
            if t.is_floating_point() and need in (i, -1):
                t.requires_grad_()
                self.wanted.append(t)
            given.append(t * 1 if t.is_floating_point() else t)
        self.given = given
        result = call(lib, *given)
        found = result if isinstance(result, tuple | list) else (result,)
        self.result = next(t for t in found if t.is_floating_point())

    def backward(self, overwritten: int | None) -> Any:
        """The gradients after a write; None where backward is refused."""
        if overwritten is not None:
            target = [*self.given, self.result][overwritten]
            target.detach().fill_(0)
        try:
            self.result.sum().backward()
        except RuntimeError as error:
            words = "modified by an inplace operation", "has been modified inplace"
            if not any(w in str(error) for w in words):
                raise
            return None
        return [t.grad if t.grad is None else t.grad.numpy() for t in self.wanted]


def problems(call: Written, arrays: list[Any], keeps: set[int]) -> list[str]:
    """What is refused that torch serves, or served wrongly."""
    found = []
    floats = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    for need in (-1, *floats) if len(floats) > 1 else (-1,):
        truth = Side(dt, call, arrays, need)
        if not truth.result.requires_grad:
            continue
        clean = truth.backward(None)
        for at in range(len(arrays) + 1):
            name = "the result" if at == len(arrays) else f"input {at}"
            name += "" if need < 0 else f" with gradients for input {need}"
            mine = Side(dt, call, arrays, need).backward(at)
            theirs = Side(torch, call, arrays, need).backward(at)
            if mine is None and theirs is not None and at not in keeps:
                found.append(f"{name} cannot be overwritten")
            if mine is not None and not _same(mine, clean):
                found.append(f"{name}: a write changes the gradient")
    return found


def _same(a: list[Any], b: list[Any]) -> bool:
    return all(
        (x is None) == (y is None) and (x is None or np.array_equal(x, y, True))
        for x, y in zip(a, b, strict=True)
    )


# Ops that torch has no function for, or none that can be called alike.
OF_GRADIENTS: Final = "only gradients are made of it"
OF_CALLS: Final = "other ops are made of it, and tried here by their names"
NOT_IN_TORCH: Final[dict[str, str]] = {
    "adaptive_avg_pool_backward": OF_GRADIENTS,
    "avg_pool_backward": OF_GRADIENTS,
    "convolution_weight": OF_GRADIENTS,
    "index_sum": OF_GRADIENTS,
    "masked_scale": OF_GRADIENTS,
    "max_pool_backward": OF_GRADIENTS,
    "max_pool_take": OF_GRADIENTS,
    "sigmoid_grad": OF_GRADIENTS,
    "tap_dot": OF_GRADIENTS,
    "tap_spread": OF_GRADIENTS,
    "margin_pad_backward": OF_GRADIENTS,
    "mirrored": "a step of cholesky and others, which has no function of its own",
    **dict.fromkeys(
        (
            "bessel_j0",
            "bessel_j1",
            "bessel_y0",
            "bessel_y1",
            "modified_bessel_k0",
            "modified_bessel_k1",
            "scaled_modified_bessel_k0",
            "scaled_modified_bessel_k1",
            "spherical_bessel_j0",
        ),
        "torch has no gradient for it",
    ),
    "imag": "dovetail's is a copy, which refuses to be written",
    "real_pairs": "dovetail's is a copy, which refuses to be written",
    "normal_cdf": OF_CALLS,
    "pick": OF_CALLS,
    "place": OF_CALLS,
    "sum_to": OF_CALLS,
    "transfer": OF_CALLS,
    "random_dropout": "what is dropped differs from call to call",
    "random_trials": "it is drawn anew at each call",
    "floor_divide": "torch has no gradient for it, dovetail the zero one",
}

# What dovetail keeps beside what torch keeps (inputs by place, -1 for the result).
KEPT: Final[dict[str, tuple[set[int], str]]] = {
    "gru_sequence": (
        {0, 1, 2, 3, 6}, "torch's is made of ops on the CPU; its LSTM keeps as much",
    ),
    "copysign": (
        {1}, "torch asks the result for the sign, which a 16-bit NaN may have lost",
    ),
    "matmul": ({0, 1}, "torch multiplies with a copy where it broadcasts over batches"),
    "rms_norm": ({0}, "torch keeps the normalised input, dovetail the input itself"),
    "smooth_l1_loss": ({0, 1}, "where beta is 0 torch keeps the difference"),
}  # fmt: skip

OPS = [op for op in declared() if op.vjp is not None and not op.mutates]


NAMES = sorted(({o.name for o in OPS} | BY_HAND.keys()) - NOT_IN_TORCH.keys())


@pytest.mark.filterwarnings("ignore::UserWarning")  # torch's, of odd sample calls
@pytest.mark.parametrize("name", NAMES)
def test_what_can_be_overwritten(name: str) -> None:
    """Everything that torch does not need either."""
    keeps, _ = KEPT.get(name, (set(), ""))
    if name in BY_HAND:
        assert not problems(*BY_HAND[name], keeps)
        return
    op = next(o for o in OPS if o.name == name)
    called = 0
    for call, arrays in by_name(op):
        try:
            Side(torch, call, arrays, -1)
            Side(dt, call, arrays, -1)
        except (RuntimeError, TypeError, AttributeError, IndexError, ValueError):
            continue  # the op's own signature differs
        called += 1
        assert not problems(call, arrays, keeps)
    assert called, "no sample call is torch's: it needs one by hand"
