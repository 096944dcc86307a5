"""Calls that `python -m benchmarks functions` times: what programs call now and then.

`op_calls` has what they call all the time. A row gives the arguments that a library's
tensors are made for, and a function of the library and those tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

Made = tuple[Any, ...]


class Draw:
    """Tensors of one library over the same numbers.

    Args:
        lib: dovetail or torch.
        size: about how many elements the largest argument of a call has.
    """

    def __init__(self, lib: Any, size: int) -> None:
        self.lib = lib
        self.size = size
        self.side = max(2, round(size**0.5))
        self.rng = np.random.default_rng(0)

    def floats(self, *shape: int, low: float = 0.1, high: float = 3.0) -> Any:
        """float32 from `low` to `high`."""
        drawn = self.rng.random(shape, np.float32) * (high - low) + low
        return self.lib.from_numpy(drawn.astype(np.float32))

    def ints(self, *shape: int, high: int) -> Any:
        """int64 from 0 to `high - 1`."""
        return self.lib.from_numpy(self.rng.integers(0, high, shape))

    def line(self) -> Any:
        """A vector of all elements."""
        return self.floats(self.size)

    def matrix(self) -> Any:
        """As many rows as columns."""
        return self.floats(self.side, self.side)

    def images(self, channels: int = 4, least: int = 4) -> Any:
        """[2, channels, h, h]."""
        h = max(least, round((self.size / (2 * channels)) ** 0.5))
        return self.floats(2, channels, h, h)

    def squares(self, n: int = 4) -> Any:
        """[batch, n, n]."""
        return self.floats(max(1, self.size // (n * n)), n, n, low=-1, high=1)

    def positive(self, n: int = 4) -> Any:
        """[batch, n, n], symmetric with positive eigenvalues."""
        x = self.squares(n).numpy()
        return self.lib.from_numpy(
            x @ x.transpose(0, 2, 1) + np.eye(n, dtype=np.float32)
        )


class Row(NamedTuple):
    """A call: its arguments, what it does with them, and whether it has a gradient."""

    given: Callable[[Draw], Made]
    call: Callable[..., Any]
    back: bool = True


def _line(call: Callable[..., Any], back: bool = True) -> Row:
    return Row(lambda d: (d.line(),), call, back)


def _two(call: Callable[..., Any], back: bool = True) -> Row:
    return Row(lambda d: (d.line(), d.line()), call, back)


def _matrix(call: Callable[..., Any], back: bool = True) -> Row:
    return Row(lambda d: (d.matrix(),), call, back)


def _images(call: Callable[..., Any], back: bool = True) -> Row:
    return Row(lambda d: (d.images(),), call, back)


def _gridded(d: Draw) -> Made:
    x = d.images()
    h = x.shape[-1]
    return x, d.floats(2, h, h, 2, low=-1.1, high=1.1)


def _volumes(d: Draw) -> Made:
    h = max(2, round((d.size / 4) ** (1 / 3)))
    return d.floats(2, 2, h, h, h), d.floats(2, h, h, h, 3, low=-1.1, high=1.1)


def _grid(**options: Any) -> Callable[..., Any]:
    return lambda t, x, g: t.nn.functional.grid_sample(
        x, g, align_corners=False, **options
    )


def _sequences(d: Draw) -> Made:
    steps = max(6, d.size // 200)
    scores = d.floats(steps, 4, 20, low=-2, high=2)
    labels = d.ints(4, max(2, steps // 8), high=19)
    return scores, d.lib.from_numpy(labels.numpy() + 1)


def _ctc(t: Any, scores: Any, labels: Any) -> Any:
    n = scores.shape[1]
    return t.nn.functional.ctc_loss(
        scores.log_softmax(-1), labels, (scores.shape[0],) * n, (labels.shape[1],) * n
    )


def _classes(d: Draw) -> Made:
    n = max(2, d.size // 10)
    return d.floats(n, 10), d.ints(n, high=10)


def _pad(sides: tuple[int, ...], mode: str) -> Callable[..., Any]:
    return lambda t, x: t.nn.functional.pad(x, sides, mode=mode)


def _resized(mode: str, **options: Any) -> Callable[..., Any]:
    return lambda t, x: t.nn.functional.interpolate(
        x, scale_factor=2, mode=mode, **options
    )


def _special(name: str, count: int = 1) -> Row:
    def call(t: Any, *x: Any) -> Any:
        return getattr(t.special, name)(*x)

    return _line(call, False) if count == 1 else _two(call, False)


def _polynomial(name: str) -> Row:
    return _line(lambda t, x: getattr(t.special, name)(x, 5), False)


def _bag(d: Draw) -> Made:
    n = max(2, d.size // 16)
    return d.floats(n, 16), d.ints(n, high=n), d.lib.arange(0, n, 4)


def _cell(kind: str) -> Row:
    def given(d: Draw) -> Made:
        n = max(1, d.size // 32)
        d.lib.manual_seed(0)
        return d.floats(n, 32), getattr(d.lib.nn, kind)(32, 32)

    def call(_: Any, x: Any, cell: Any) -> Any:
        found = cell(x)
        return found[0] if kind == "LSTMCell" else found

    return Row(given, call)


def _attended(d: Draw) -> Made:
    n = max(1, d.size // 64)
    return (
        d.floats(max(1, n // 2), 2, 32), d.floats(96, 32, low=-0.2, high=0.2),
        d.floats(96), d.floats(32, 32, low=-0.2, high=0.2), d.floats(32),
    )  # fmt: skip


def _heads(t: Any, x: Any, w: Any, b: Any, ow: Any, ob: Any) -> Any:
    return t.nn.functional.multi_head_attention_forward(
        x, x, x, 32, 4, w, b, None, None, False, 0.0, ow, ob, need_weights=False
    )[0]


def _loss(name: str, **options: Any) -> Row:
    return _two(lambda t, x, y: getattr(t.nn.functional, name)(x, y, **options))


ROWS: Final[dict[str, Row]] = {
    # vision
    "grid_sample": Row(_gridded, _grid()),
    "grid_sample border": Row(_gridded, _grid(padding_mode="border")),
    "grid_sample nearest": Row(_gridded, _grid(mode="nearest")),
    "grid_sample bicubic": Row(_gridded, _grid(mode="bicubic")),
    "grid_sample reflection": Row(_gridded, _grid(padding_mode="reflection")),
    "grid_sample volumes": Row(_volumes, _grid()),
    "affine_grid": Row(
        lambda d: (d.floats(2, 2, 3),),
        lambda t, x: t.nn.functional.affine_grid(x, (2, 3, 16, 16), False),
    ),
    "interpolate nearest": _images(_resized("nearest")),
    "interpolate bilinear": _images(_resized("bilinear", align_corners=False)),
    "interpolate bicubic": _images(_resized("bicubic", align_corners=False)),
    "interpolate area": _images(_resized("area")),
    "adaptive_avg_pool2d": _images(
        lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3)
    ),
    "pixel_shuffle": _images(lambda t, x: t.nn.functional.pixel_shuffle(x, 2)),
    "unfold (im2col)": _images(lambda t, x: t.nn.functional.unfold(x, 3, padding=1)),
    "fold": Row(
        lambda d: (d.floats(2, 4 * 9, max(2, round((d.size / 72) ** 0.5)) ** 2),),
        lambda t, x: t.nn.functional.fold(
            x, (round(x.shape[-1] ** 0.5),) * 2, 3, padding=1
        ),
    ),
    "pad constant": _images(_pad((1, 1, 1, 1), "constant")),
    "pad reflect": _images(_pad((1, 1, 1, 1), "reflect")),
    "pad replicate": _images(_pad((1, 1, 1, 1), "replicate")),
    "pad circular": _images(_pad((1, 1, 1, 1), "circular")),
    "group_norm": _images(lambda t, x: t.nn.functional.group_norm(x, 2)),
    "instance_norm": _images(lambda t, x: t.nn.functional.instance_norm(x)),
    "batch_norm": _images(
        lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True)
    ),
    "local_response_norm": _images(
        lambda t, x: t.nn.functional.local_response_norm(x, 3)
    ),
    "lp_pool2d": _images(lambda t, x: t.nn.functional.lp_pool2d(x, 2.0, 2)),
    "max_pool2d and max_unpool2d": _images(
        lambda t, x: t.nn.functional.max_unpool2d(
            *t.nn.functional.max_pool2d(x, 2, return_indices=True), 2,
            output_size=x.shape[-2:],
        )
    ),
    # losses
    "ctc_loss": Row(_sequences, _ctc),
    "cross_entropy smoothed": Row(
        _classes,
        lambda t, x, y: t.nn.functional.cross_entropy(x, y, label_smoothing=0.1),
    ),
    "nll_loss": Row(_classes, lambda t, x, y: t.nn.functional.nll_loss(x, y)),
    "kl_div": _loss("kl_div", reduction="batchmean"),
    "l1_loss": _loss("l1_loss"),
    "huber_loss": _loss("huber_loss"),
    "bce_with_logits": _loss("binary_cross_entropy_with_logits"),
    "poisson_nll_loss": _loss("poisson_nll_loss"),
    "soft_margin_loss": Row(
        lambda d: (d.line(), d.ints(d.size, high=2) * 2 - 1),
        lambda t, x, y: t.nn.functional.soft_margin_loss(x, y),
    ),
    "gaussian_nll_loss": Row(
        lambda d: (d.line(), d.line(), d.line()),
        lambda t, x, y, v: t.nn.functional.gaussian_nll_loss(x, y, v),
    ),
    "cosine_similarity": Row(
        lambda d: (d.matrix(), d.matrix()),
        lambda t, x, y: t.nn.functional.cosine_similarity(x, y),
    ),
    "triplet_margin_loss": Row(
        lambda d: (d.matrix(), d.matrix(), d.matrix()),
        lambda t, x, y, z: t.nn.functional.triplet_margin_loss(x, y, z),
    ),
    "multi_margin_loss": Row(
        _classes, lambda t, x, y: t.nn.functional.multi_margin_loss(x, y)
    ),
    "normalize": _matrix(lambda t, x: t.nn.functional.normalize(x)),
    # recurrent, attention, embeddings
    **{kind: _cell(kind) for kind in ("LSTMCell", "GRUCell", "RNNCell")},
    "multi_head_attention": Row(_attended, _heads),
    "embedding_bag": Row(
        _bag, lambda t, w, i, o: t.nn.functional.embedding_bag(i, w, o)
    ),
    "one_hot": Row(
        lambda d: (d.ints(max(1, d.size // 10), high=10),),
        lambda t, x: t.nn.functional.one_hot(x, 10), False,
    ),
    "gumbel_softmax": _matrix(lambda t, x: t.nn.functional.gumbel_softmax(x)),
    # products
    "bmm small": Row(
        lambda d: (d.squares(4), d.squares(4)), lambda t, x, y: t.bmm(x, y)
    ),
    "matmul broadcast left": Row(
        lambda d: (d.floats(8, 8), d.floats(max(1, d.size // 64), 8, 8)),
        lambda t, x, y: t.matmul(x, y),
    ),
    "matmul broadcast both": Row(
        lambda d: (
            d.floats(1, 4, 8, 8), d.floats(max(1, d.size // 64), 1, 8, 8)
        ),
        lambda t, x, y: t.matmul(x, y),
    ),
    "einsum bij,bjk->bik": Row(
        lambda d: (d.squares(8), d.squares(8)),
        lambda t, x, y: t.einsum("bij,bjk->bik", x, y),
    ),
    "einsum ij,kj->ik": Row(
        lambda d: (d.matrix(), d.matrix()),
        lambda t, x, y: t.einsum("ij,kj->ik", x, y),
    ),
    "bilinear": Row(
        lambda d: (
            d.floats(max(1, d.size // 32), 8), d.floats(max(1, d.size // 32), 8),
            d.floats(4, 8, 8),
        ),
        lambda t, x, y, w: t.nn.functional.bilinear(x, y, w),
    ),
    "outer": Row(
        lambda d: (d.floats(d.side), d.floats(d.side)), lambda t, x, y: t.outer(x, y)
    ),
    "cdist": Row(
        lambda d: (d.floats(d.side, 3), d.floats(d.side, 3)),
        lambda t, x, y: t.cdist(x, y),
    ),
    "pdist": Row(lambda d: (d.floats(d.side, 3),),
                 lambda t, x: t.nn.functional.pdist(x)),
    "cross": Row(
        lambda d: (d.floats(d.size // 3, 3), d.floats(d.size // 3, 3)),
        lambda t, x, y: t.linalg.cross(x, y),
    ),
    "tensordot": Row(
        lambda d: (d.matrix(), d.matrix()), lambda t, x, y: t.tensordot(x, y, 1)
    ),
    "kron": Row(
        lambda d: (d.floats(4, 4), d.floats(max(1, d.size // 64), 4)),
        lambda t, x, y: t.kron(x, y),
    ),
    # linear algebra
    "cholesky": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.cholesky(x)),
    "cholesky 16": Row(lambda d: (d.positive(16),),
                       lambda t, x: t.linalg.cholesky(x)),
    "inv": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.inv(x)),
    "solve": Row(lambda d: (d.positive(), d.squares()),
                 lambda t, x, y: t.linalg.solve(x, y)),
    "solve_triangular": Row(
        lambda d: (d.positive(), d.squares()),
        lambda t, x, y: t.linalg.solve_triangular(x, y, upper=False),
    ),
    "det": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.det(x)),
    "slogdet": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.slogdet(x)[1]),
    "lu": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.lu(x)[2]),
    "qr": Row(lambda d: (d.squares(),), lambda t, x: t.linalg.qr(x)[1]),
    "svdvals": Row(lambda d: (d.squares(),), lambda t, x: t.linalg.svdvals(x)),
    "eigh": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.eigh(x)[0]),
    "eigvalsh": Row(lambda d: (d.positive(),), lambda t, x: t.linalg.eigvalsh(x)),
    "pinv": Row(lambda d: (d.squares(),), lambda t, x: t.linalg.pinv(x)),
    "matrix_power": Row(lambda d: (d.squares(),),
                        lambda t, x: t.linalg.matrix_power(x, 3)),
    "matrix_exp": Row(lambda d: (d.squares(),), lambda t, x: t.linalg.matrix_exp(x)),
    "trace": _matrix(lambda t, x: x.trace()),
    # moves
    "roll": _matrix(lambda t, x: x.roll(1, 0)),
    "flip": _matrix(lambda t, x: x.flip(0)),
    "rot90": _matrix(lambda t, x: t.rot90(x)),
    "meshgrid": Row(
        lambda d: (d.floats(d.side), d.floats(d.side)),
        lambda t, x, y: t.meshgrid(x, y, indexing="ij")[0], False,
    ),
    "repeat_interleave": _matrix(lambda t, x: x.repeat_interleave(2, 0)),
    "repeat_interleave counts": Row(
        lambda d: (d.matrix(), d.ints(d.side, high=3)),
        lambda t, x, n: x.repeat_interleave(n, 0),
    ),
    "tile": _matrix(lambda t, x: x.tile(2, 2)),
    "Tensor.unfold": _line(lambda t, x: x.unfold(0, 4, 2).clone()),
    "tril_indices": Row(lambda d: (), lambda t: t.tril_indices(16, 16), False),
    "tril": _matrix(lambda t, x: x.tril()),
    "diag_embed": _matrix(lambda t, x: x[:8].diag_embed()),
    "diagonal": _matrix(lambda t, x: x.diagonal().clone()),
    "cat": Row(lambda d: (d.matrix(), d.matrix()), lambda t, x, y: t.cat((x, y), 1)),
    "split and stack": _matrix(lambda t, x: t.stack(x.chunk(2, 0)[:1])),
    "take_along_dim": Row(
        lambda d: (d.matrix(), d.ints(d.side, d.side, high=d.side)),
        lambda t, x, i: t.take_along_dim(x, i, 1),
    ),
    "index_copy": Row(
        lambda d: (d.matrix(), d.lib.arange(d.side), d.matrix()),
        lambda t, x, i, y: x.index_copy(0, i, y),
    ),
    "scatter_reduce": Row(
        lambda d: (d.matrix(), d.ints(d.side, d.side, high=d.side), d.matrix()),
        lambda t, x, i, y: x.scatter_reduce(1, i, y, "amax"),
    ),
    "[rows, columns]": Row(
        lambda d: (
            d.matrix(), d.ints(d.size, high=d.side), d.ints(d.size, high=d.side)
        ),
        lambda t, x, i, j: x[i, j],
    ),
    "[mask]": Row(lambda d: (d.line(),), lambda t, x: x[x > 1.5]),
    "masked_scatter": _two(lambda t, x, y: x.masked_scatter(x > 1.5, y)),
    # counts, order, statistics
    "unique": Row(lambda d: (d.ints(d.size, high=50),),
                  lambda t, x: t.unique(x), False),
    "unique_consecutive": Row(lambda d: (d.ints(d.size, high=3),),
                              lambda t, x: t.unique_consecutive(x), False),
    "bincount": Row(lambda d: (d.ints(d.size, high=50),),
                    lambda t, x: t.bincount(x), False),
    "histc": _line(lambda t, x: t.histc(x, 20, 0, 3), False),
    "histogram": _line(lambda t, x: t.histogram(x, 20)[0], False),
    "kthvalue": _matrix(lambda t, x: x.kthvalue(2)[0]),
    "median": _matrix(lambda t, x: x.median(1)[0]),
    "mode": _matrix(lambda t, x: x.mode(1)[0]),
    "quantile": _matrix(lambda t, x: x.quantile(0.3, 1)),
    "topk": _matrix(lambda t, x: x.topk(2)[0]),
    "sort": _matrix(lambda t, x: x.sort(1)[0]),
    "argsort": _matrix(lambda t, x: x.argsort(1), False),
    "nonzero": _line(lambda t, x: (x > 1.5).nonzero(), False),
    "searchsorted": Row(lambda d: (d.lib.linspace(0, 3, 50), d.line()),
                        lambda t, b, x: t.searchsorted(b, x), False),
    "isin": Row(lambda d: (d.ints(d.size, high=50), d.ints(10, high=50)),
                lambda t, x, y: t.isin(x, y), False),
    "cov": _matrix(lambda t, x: x[:8].cov()),
    "corrcoef": _matrix(lambda t, x: x[:8].corrcoef()),
    "std": _matrix(lambda t, x: x.std(1)),
    "var_mean": _matrix(lambda t, x: t.var_mean(x, 1)[0]),
    "nansum": _line(lambda t, x: x.nansum()),
    "nanmean": _line(lambda t, x: x.nanmean()),
    "aminmax": _matrix(lambda t, x: x.aminmax(dim=1)[0]),
    "cumsum": _matrix(lambda t, x: x.cumsum(1)),
    "cumprod": _matrix(lambda t, x: x.cumprod(1)),
    "cummax": _matrix(lambda t, x: x.cummax(1)[0]),
    "logcumsumexp": _matrix(lambda t, x: x.logcumsumexp(1)),
    "prod": _matrix(lambda t, x: x.prod(1)),
    "logsumexp": _matrix(lambda t, x: x.logsumexp(1)),
    "norm 2": _matrix(lambda t, x: t.linalg.vector_norm(x, 2, 1)),
    "norm 3": _matrix(lambda t, x: t.linalg.vector_norm(x, 3, 1)),
    "renorm": _matrix(lambda t, x: x.renorm(2, 0, 1.0)),
    "diff": _matrix(lambda t, x: x.diff()),
    "gradient": _line(lambda t, x: t.gradient(x)[0]),
    "trapezoid": _matrix(lambda t, x: t.trapezoid(x)),
    "allclose": _two(lambda t, x, y: t.allclose(x, y), False),
    "equal": _line(lambda t, x: t.equal(x, x), False),
    # elementwise
    "clamp": _line(lambda t, x: x.clamp(0.5, 2)),
    "remainder": _two(lambda t, x, y: t.remainder(x, y)),
    "fmod": _two(lambda t, x, y: t.fmod(x, y)),
    "floor_divide": _two(lambda t, x, y: t.floor_divide(x, y), False),
    "hypot": _two(lambda t, x, y: t.hypot(x, y)),
    "logaddexp": _two(lambda t, x, y: t.logaddexp(x, y)),
    "xlogy": _two(lambda t, x, y: t.xlogy(x, y)),
    "copysign": _two(lambda t, x, y: t.copysign(x, y)),
    "nan_to_num": _line(lambda t, x: x.nan_to_num()),
    "sinc": _line(lambda t, x: t.sinc(x)),
    "heaviside": _two(lambda t, x, y: t.heaviside(x, y), False),
    "frexp": _line(lambda t, x: t.frexp(x)[0], False),
    "ldexp": _two(lambda t, x, y: t.ldexp(x, y)),
    "gcd": Row(lambda d: (d.ints(d.size, high=99), d.ints(d.size, high=99)),
               lambda t, x, y: t.gcd(x, y), False),
    "bitwise_and": Row(lambda d: (d.ints(d.size, high=99), d.ints(d.size, high=99)),
                       lambda t, x, y: t.bitwise_and(x, y), False),
    "addmm": Row(lambda d: (d.matrix(), d.matrix(), d.matrix()),
                 lambda t, x, y, z: t.addmm(x, y, z)),
    "polar": _two(lambda t, x, y: t.polar(x, y), False),
    "celu": _line(lambda t, x: t.celu(x)),
    "selu": _line(lambda t, x: t.selu(x)),
    "prelu": Row(lambda d: (d.line(), d.floats(1)), lambda t, x, w: t.prelu(x, w)),
    "rrelu": _line(lambda t, x: t.rrelu(x)),
    "glu": Row(lambda d: (d.floats(d.size // 2 * 2),),
               lambda t, x: t.nn.functional.glu(x)),
    "softmin": _matrix(lambda t, x: t.nn.functional.softmin(x, 1)),
    "hardsigmoid": _line(lambda t, x: t.nn.functional.hardsigmoid(x)),
    "threshold": _line(lambda t, x: t.nn.functional.threshold(x, 1.0, 0.0)),
    "rfft": _matrix(lambda t, x: t.fft.rfft(x).abs()),
    "fft and ifft": _matrix(lambda t, x: t.fft.ifft(t.fft.fft(x)).real),
    "stft": _line(
        lambda t, x: t.stft(x, 32, 8, window=t.ones(32), return_complex=True).abs()
    ),
    # special functions
    "lgamma": _line(lambda t, x: t.lgamma(x)),
    "digamma": _line(lambda t, x: t.digamma(x)),
    "polygamma 1": _line(lambda t, x: t.polygamma(1, x)),
    "polygamma 3": _line(lambda t, x: t.polygamma(3, x)),
    "mvlgamma": _line(lambda t, x: t.mvlgamma(x + 2, 3)),
    "erfinv": Row(lambda d: (d.floats(d.size, low=-0.9, high=0.9),),
                  lambda t, x: t.erfinv(x)),
    "erfcx": _special("erfcx"),
    "ndtri": Row(lambda d: (d.floats(d.size, low=0.1, high=0.9),),
                 lambda t, x: t.special.ndtri(x)),
    "log_ndtr": _special("log_ndtr"),
    "gammainc": _special("gammainc", 2),
    "gammaincc": _special("gammaincc", 2),
    "zeta": Row(lambda d: (d.floats(d.size, low=1.5, high=4), d.line()),
                lambda t, x, y: t.special.zeta(x, y), False),
    "entr": _special("entr"),
    "i0": _special("i0"), "i0e": _special("i0e"),
    "i1": _special("i1"), "i1e": _special("i1e"),
    **{name: _special(name) for name in (
        "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "modified_bessel_i0",
        "modified_bessel_i1", "modified_bessel_k0", "modified_bessel_k1",
        "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "spherical_bessel_j0",
        "airy_ai",
    )},
    **{name: _polynomial(name) for name in (
        "chebyshev_polynomial_t", "chebyshev_polynomial_u", "hermite_polynomial_h",
        "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
        "shifted_chebyshev_polynomial_t",
    )},
    # random numbers
    "multinomial": _matrix(lambda t, x: t.multinomial(x, 1), False),
    "bernoulli": Row(lambda d: (d.floats(d.size, low=0, high=1),),
                     lambda t, x: t.bernoulli(x), False),
    "normal": _two(lambda t, x, y: t.normal(x, y), False),
    "poisson": _line(lambda t, x: t.poisson(x), False),
    "randint": _line(lambda t, x: t.randint(0, 10, x.shape), False),
    "randperm": _line(lambda t, x: t.randperm(x.shape[0]), False),
    "exponential_": _line(lambda t, x: t.empty_like(x).exponential_(), False),
    "Gamma.sample": _line(
        lambda t, x: t.distributions.Gamma(x, x, validate_args=False).sample(), False
    ),
    "Normal.log_prob": Row(
        lambda d: (d.line(), d.line(), d.line()),
        lambda t, x, m, s: t.distributions.Normal(m, s).log_prob(x),
    ),
    "Categorical.log_prob": Row(
        _classes, lambda t, x, y: t.distributions.Categorical(logits=x).log_prob(y)
    ),
}  # fmt: skip
