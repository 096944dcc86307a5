"""How the results of public functions lie in memory, held against torch.

Inputs lie in every way there is: in rows, transposed, permuted, by channels, in steps,
repeated. What is known to lie otherwise than in torch stands in `OTHERWISE`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
import torch

import dovetail

Library = Any
Lying = Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]


def _in_order(a: np.ndarray[Any, Any], order: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return a.transpose(order).copy().transpose(np.argsort(order))


def _stepped(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    wide = np.zeros([2 * n for n in a.shape], a.dtype)
    part = wide[(slice(None, None, 2),) * a.ndim]
    part[...] = a
    return part


LAYOUTS: Final[dict[str, Lying]] = {
    "rows": lambda a: a,
    "transposed": lambda a: _in_order(a, (*range(a.ndim - 2), a.ndim - 1, a.ndim - 2)),
    "reversed": lambda a: _in_order(a, tuple(range(a.ndim))[::-1]),
    "channels": lambda a: _in_order(a, (0, *range(2, a.ndim), 1)),
    "batch inside": lambda a: _in_order(a, (*range(1, a.ndim), 0)),
    "steps": _stepped,
    "steps transposed": lambda a: _stepped(a.swapaxes(-1, -2)).swapaxes(-1, -2),
    "repeated": lambda a: np.broadcast_to(a[:1], a.shape),
    "repeated inside": lambda a: np.broadcast_to(a[..., :1], a.shape),
}

# A call each: T is the library, F its functions of networks; x, y and z are images
# and m, n matrices that lie as asked, c, r, v and i lie in rows.
ELEMENTWISE: Final = """
x + x | x * 2 | 2 - x | 2 ** x | True ** x | 2.5 ** x.int() | 2 % x | T.pow(2, x)
x + x[0] | x[0] + x | x * v | x / r | x ** 2 | -x | abs(x)
x.exp() | x.sigmoid() | x.sqrt() | x.erf() | x.erfinv() | x.lgamma() | x.round() | ~b
x > 0.5 | x == x | b & b | x.clamp(0.2, 0.7) | x.clamp(min=0.2) | x.isnan() | x.sign()
x.double() | x.half() | x.int() | x.to(T.int64) | T.where(b, x, x) | T.where(b, x, 0.0)
T.where(b, 1.0, 2.0) | F.relu(x) | F.leaky_relu(x) | F.silu(x) | F.elu(x)
F.softplus(x) | F.hardtanh(x) | F.mish(x) | F.relu6(x) | F.hardswish(x)
F.logsigmoid(x) | F.selu(x) | F.gelu(x) | F.gelu(x, approximate="tanh") | F.celu(x)
F.hardsigmoid(x) | F.softsign(x) | F.tanhshrink(x) | F.hardshrink(x) | F.softshrink(x)
F.threshold(x, 0.5, 0.0) | T.lerp(x, x, 0.3) | T.addcmul(x, x, x) | T.addcdiv(x, x, x)
T.hypot(x, x) | T.atan2(x, x) | T.maximum(x, x) | T.fmod(x, x) | T.xlogy(x, x)
T.logaddexp(x, x) | T.nan_to_num(x) | T.logit(x, 1e-3) | T.sinc(x) | T.deg2rad(x)
T.frac(x) | T.exp2(x) | T.heaviside(x, x) | T.polar(x, x) | T.complex(x, x)
T.ldexp(x, x) | T.copysign(x, x) | T.special.zeta(x + 1, x + 1) | T.special.i0(x)
T.special.ndtr(x) | T.digamma(x) | T.float_power(x, 2) | T.floor_divide(x, 2)
T.remainder(x, 2) | T.bitwise_not(b) | F.dropout(x, 0.0) | F.dropout(x)
F.dropout(x, 0.5, False)
F.mse_loss(x, x, reduction="none") | F.l1_loss(x, x, reduction="none")
F.smooth_l1_loss(x, x, reduction="none")
F.binary_cross_entropy(x, x, reduction="none") | F.huber_loss(x, x, reduction="none")
T.isclose(x, x) | T.signbit(x) | T.square(x) | T.rsqrt(x) | T.clone(x) | T.positive(x)
"""
CASTS: Final = """
n.exp() | n / 2 | n / n | n * 2.5 | 2.5 - n | 2.5 ** n | n + x | x + n | n.sigmoid()
n > 2.5 | n == x | T.where(b, n, 2.5) | T.where(b, n, x) | T.atan2(n, n) | n.sqrt()
n.float_power(2) | n.sinc() | n.logit() | n.erf() | T.lerp(x, n.float(), 0.5) | n + b
T.hypot(n.float(), x) | b + b | b * 2 | b * 1.5 | n.clamp(0.5, 2.5) | n ** 0.5
n // 2.0 | T.tensor(xn) | T.tensor(xn, dtype=T.float64) | T.as_tensor(xn)
T.addcmul(x, n.float(), x) | T.logaddexp(n.float(), x) | T.xlogy(n, x)
"""
CONFLICTS: Final = """
x + r | r + x | x * r | T.maximum(x, r) | T.where(b, r, x) | T.lerp(x, r, 0.5)
T.addcmul(x, r, r) | x > r | T.hypot(x, r)
"""
MOVES: Final = """
T.cat([x, x]) | T.cat([x, x], 1) | T.cat([x, x], -1) | T.cat([m, m], 1) | T.cat([x, r])
T.stack([x, x]) | T.stack([x, x], 1) | T.stack([m, m], -1) | T.hstack([m, m])
T.vstack([m, m]) | T.dstack([m, m]) | T.column_stack([m, m]) | T.roll(x, 1, 0)
T.roll(x, 3) | T.roll(m, (1, 1), (0, 1)) | x.repeat(1, 2, 1, 1) | m.repeat(2, 1, 1)
T.tile(m, (2, 2)) | T.repeat_interleave(x, 2, 1) | T.repeat_interleave(m, 2) | x.tril()
x.triu() | T.flip(x, [0]) | T.flip(x, [2, 3]) | T.fliplr(m) | T.flipud(m) | T.rot90(m)
T.rot90(x, 1, (2, 3)) | x.reshape(6, 20) | x.flatten() | x.ravel()
x.unfold(2, 2, 1).clone() | T.gather(m, 0, i) | T.gather(m, 1, i) | T.take(m, i)
T.take_along_dim(m, i, 0) | T.index_select(x, 1, w) | T.index_select(m, 0, w) | x[w]
x[:, w] | x[:, :, w] | m[w] | m[:, w] | m[w, w] | m[w][:, w] | x[:, w, :, w] | m[b2]
T.masked_select(m, b2) | x.masked_fill(b, 0.0) | m.masked_fill(b2, 1.0)
m.masked_fill(b2, v.sum()) | m.masked_scatter(b2, m) | m.index_fill(0, w, 1.0)
m.index_add(0, w, m[:2]) | m.index_copy(0, w, m[:2]) | m.scatter(0, i, m)
m.scatter_add(0, i, m) | m.scatter_reduce(0, i, m, "amax") | m.put(i, m)
m.index_put((w,), v[:1]) | T.diagonal_scatter(m, v[:4]) | T.select_scatter(m, v, 0, 0)
T.slice_scatter(m, m[:2], 0, 0, 2) | T.diag_embed(m) | T.kron(m, m) | T.outer(v, v)
T.permute_copy(x, (3, 1, 0, 2)) | T.transpose_copy(m, 0, 1) | T.unsqueeze_copy(m, 0)
T.expand_copy(m, (2, 4, 5)) | T.diagonal_copy(m) | T.unbind_copy(x)[0] | T.t_copy(m)
T.renorm(m, 2, 0, 0.5) | F.pixel_shuffle(x.repeat(1, 4, 1, 1), 2) | T.block_diag(m, m)
F.pixel_unshuffle(x[..., :4], 2) | F.channel_shuffle(x, 3) | F.pad(m, (1, 1))
F.pad(x, (1, 1)) | F.pad(x, (1, 1, 1, 1), mode="reflect") | T.atleast_3d(m).clone()
F.pad(x, (1, 1), mode="replicate") | F.pad(x, (1, 1), mode="circular") | F.one_hot(i, 4)
F.embedding(i, m) | T.cartesian_prod(v, v) | T.combinations(v)
T.meshgrid(v, v, indexing="xy")[0].clone() | T.cdist(m, m) | T.vander(v)
x.contiguous() | x.to(memory_format=T.channels_last) | T.zeros_like(x) | T.empty_like(x)
T.rand_like(x) | T.full_like(x, 2) | x.new_zeros(2, 3)
x.clone(memory_format=T.contiguous_format) | x.byte(memory_format=T.contiguous_format)
T.nonzero(m) | T.argwhere(m) | T.bernoulli(x) | T.cross(x[:, :, :3], x[:, :, :3], dim=1)
T.trapezoid(x, dim=1) | T.cumulative_trapezoid(x, dim=1) | T.diff(x, dim=1)
T.gradient(m)[0]
"""
REDUCTIONS: Final = """
x.sum(0) | x.sum(1) | x.sum((1, 3)) | x.sum(1, keepdim=True) | x.sum(2) | x.mean(1)
x.mean((2, 3)) | x.prod(1) | x.amax(1) | x.amin((0, 2)) | x.max(1)[0] | x.max(1)[1]
x.min(2)[0] | x.argmax(1) | x.argmin(2) | x.var(1) | x.std((1, 2)) | x.norm(dim=1)
x.norm(dim=(1, 2), p=1) | x.logsumexp(1) | b.all(1) | b.any(2) | x.count_nonzero(1)
x.nansum(1) | x.nanmean(1) | x.median(1)[0] | x.mode(1)[0] | x.kthvalue(2, 1)[0]
x.quantile(0.5, 1) | T.aminmax(x, dim=1)[0] | T.var_mean(x, 1)[0] | T.std_mean(x, 1)[1]
x.sum_to_size(2, 1, 4, 5) | T.linalg.vector_norm(x, 3, 1) | T.linalg.norm(m, dim=1)
x.cumsum(0) | x.cumsum(1) | x.cumprod(2) | x.cummax(1)[0] | x.cummin(2)[1] | m.cumsum(0)
x.logcumsumexp(1) | x.sort(1)[0] | x.sort(2, descending=True)[1] | x.argsort(1)
T.msort(m) | x.topk(2, 1)[0] | x.softmax(1) | x.log_softmax(1) | x.softmax(3)
F.normalize(x, dim=1) | F.cosine_similarity(x, x, 1) | F.softmin(x, 1)
T.unique(m, dim=0) | T.bincount(i[0]) | T.searchsorted(v, m) | T.bucketize(x, v)
T.isin(m, v) | T.histc(m, 4) | T.corrcoef(m) | T.cov(m)
"""
PRODUCTS: Final = """
m @ m.t() | x @ x.mT | T.matmul(x, x.mT) | x @ c | x[0] @ x[0].mT | T.bmm(x[0], x[0].mT)
T.einsum("bchw,bdhw->bcd", x, x) | T.einsum("bchw->cb", x) | T.tensordot(x, x, 1)
F.linear(x, c) | F.linear(m, c, c[0]) | T.addmm(m @ m.t(), m, m.t()) | m.mv(v) | v @ v
T.baddbmm(x[0] @ x[0].mT, x[0], x[0].mT) | F.bilinear(m, m, T.ones(2, 5, 5))
F.scaled_dot_product_attention(x, x, x) | T.linalg.inv(m @ m.t() + T.eye(4))
F.layer_norm(x, (5,)) | F.layer_norm(x, (4, 5)) | F.rms_norm(x, (5,))
F.layer_norm(m, (5,))
attended(T, x[0, :, :, :4])
"""
IMAGES: Final = """
F.batch_norm(x, v[:3], v[1:4], v[:3], v[:3])
F.batch_norm(x, None, None, training=True) | F.instance_norm(x) | F.group_norm(x, 3)
F.local_response_norm(x, 2) | F.max_pool2d(x, 2)
F.max_pool2d(x, 2, return_indices=True)[1] | F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, 2) | F.adaptive_max_pool2d(x, 2) | F.adaptive_avg_pool2d(x, 1)
F.lp_pool2d(x, 2, 2) | F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
F.conv2d(x, k) | F.conv2d(x, k, padding=1) | F.conv2d(x, k, groups=1, stride=2)
F.conv_transpose2d(x, k.transpose(0, 1)) | F.conv1d(x[0], k[0, :, :, :1].mT.mT)
F.max_pool1d(x[0], 2) | F.avg_pool1d(x[0], 2) | F.adaptive_avg_pool1d(x[0], 2)
F.interpolate(x, scale_factor=2) | F.interpolate(x, (3, 3), mode="bilinear")
F.interpolate(x, (3, 3), mode="area") | F.interpolate(x, (3, 3), mode="bicubic")
F.grid_sample(x, T.zeros(2, 3, 3, 2), align_corners=False) | F.unfold(x, 2)
F.fold(F.unfold(x, 2), (4, 5), 2) | F.dropout2d(x, 0.5, False) | F.prelu(x, v[:3])
F.glu(x[:, :2], 1) | F.feature_alpha_dropout(x, 0.5, False) | x.squeeze().clone()
"""


def _calls(text: str) -> list[str]:
    return [line for line in text.replace("\n", " | ").split(" | ") if line]


LINES: Final = _calls(
    ELEMENTWISE + CASTS + CONFLICTS + MOVES + REDUCTIONS + PRODUCTS + IMAGES
)
OTHERWISE: Final = {
    "NumPy lays results in rows where operands disagree: to ask costs each small call":
    """
x / r | x + r | x * r | T.maximum(x, r) | T.where(b, r, x) | T.lerp(x, r, 0.5)
T.addcmul(x, r, r) | x > r | T.hypot(x, r) | T.heaviside(x, x) | T.ldexp(x, x)
T.special.zeta(x + 1, x + 1) | F.normalize(x, dim=1)
F.rms_norm(x, (5,)) | F.local_response_norm(x, 2) | T.kron(m, m)
""",
    "windows are computed in rows, and turning what they give is a copy": """
F.batch_norm(x, None, None, training=True) | F.group_norm(x, 3) | F.max_pool2d(x, 2)
F.max_pool2d(x, 2, return_indices=True)[1] | F.avg_pool2d(x, 2)
F.adaptive_avg_pool2d(x, 2) | F.adaptive_max_pool2d(x, 2) | F.lp_pool2d(x, 2, 2)
F.conv2d(x, k) | F.conv2d(x, k, padding=1) | F.conv2d(x, k, groups=1, stride=2)
F.conv_transpose2d(x, k.transpose(0, 1)) | F.avg_pool1d(x[0], 2)
F.adaptive_avg_pool1d(x[0], 2) | F.interpolate(x, scale_factor=2)
F.interpolate(x, (3, 3), mode="bilinear") | F.interpolate(x, (3, 3), mode="area")
F.interpolate(x, (3, 3), mode="bicubic") | F.pad(x, (1, 1, 1, 1), mode="reflect")
F.channel_shuffle(x, 3) | F.pixel_unshuffle(x[..., :4], 2)
""",
    "what is joined, gathered or written over a copy is in rows": """
T.stack([x, x]) | T.stack([x, x], 1) | T.roll(x, 1, 0) | x[w] | x[:, w] | x[:, :, w]
x[:, w, :, w] | m.put(i, m) | T.diagonal_scatter(m, v[:4]) | F.pad(x, (1, 1))
T.select_scatter(m, v, 0, 0) | T.slice_scatter(m, m[:2], 0, 0, 2)
""",
    "torch hands out the columns that it computes": """
T.nonzero(m) | T.argwhere(m) | T.linalg.inv(m @ m.t() + T.eye(4))
""",
}  # fmt: skip
"""Calls whose results lie otherwise than in torch for some inputs, by the reason."""
_LISTED: Final = {line for lines in OTHERWISE.values() for line in _calls(lines)}


def _attended(library: Library, x: Any) -> Any:
    """What attention of two heads gives of sequences of four numbers."""
    own, out = library.ones(12, 4), library.ones(4, 4)
    attend = library.nn.functional.multi_head_attention_forward
    return attend(x, x, x, 4, 2, own, None, None, None, False, 0.0, out, None)[0]


def _made(library: Library, line: str, lying: Lying) -> Any:
    """The value of a line for inputs that lie so."""
    rng = np.random.default_rng(0)
    x = rng.random((2, 3, 4, 5), np.float32)
    m = rng.random((4, 5), np.float32)
    names = {"x": lying(x), "m": lying(m) if m.ndim > 1 else m}
    plain = {
        "r": rng.random((2, 3, 4, 5), np.float32), "c": rng.random((5, 5), np.float32),
        "v": np.linspace(0.1, 0.9, 5, dtype=np.float32),
        "k": rng.random((6, 3, 2, 2), np.float32), "w": np.array([0, 1]),
        "i": rng.integers(0, 4, (4, 5)),
    }  # fmt: skip
    names["n"] = lying((9 * x).astype(np.int64))
    names |= {"b": lying(x) > 0.5, "b2": lying(m) > 0.5}
    values = {n: library.from_numpy(a) for n, a in (names | plain).items()}
    space = {"T": library, "F": library.nn.functional, "attended": _attended}
    space["xn"] = lying(x)
    return eval(line, space | values)


def _pairs(line: str) -> Iterator[tuple[str, Any, Any]]:
    """(layout, our result, torch's), where torch computes one."""
    for name, lying in LAYOUTS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                theirs = _made(torch, line, lying)
            except (RuntimeError, IndexError):
                continue
            yield name, _made(dovetail, line, lying), theirs


def _steps(y: Any) -> list[tuple[int, int]]:
    """Sizes and strides; of one element or none, strides reach nothing."""
    if 0 in y.shape:
        return []
    return [(n, s) for n, s in zip(y.shape, y.stride(), strict=True) if n > 1]


@pytest.mark.parametrize("line", LINES)
def test_what_lies_in_rows_in_torch_does_here(line: str) -> None:
    """So `view` refuses nothing here that it takes in torch."""
    for name, ours, theirs in _pairs(line):
        assert tuple(ours.shape) == tuple(theirs.shape), name
        assert ours.is_contiguous() or not theirs.is_contiguous(), name


@pytest.mark.parametrize("line", [line for line in LINES if line not in _LISTED])
def test_results_lie_as_torchs_do(line: str) -> None:
    """All strides are the same, but those of dims of one element."""
    for name, ours, theirs in _pairs(line):
        assert _steps(ours) == _steps(theirs), name


@pytest.mark.parametrize("line", sorted(_LISTED))
def test_what_is_listed_does_lie_otherwise(line: str) -> None:
    """The list of differences has none that are gone."""
    assert any(_steps(ours) != _steps(theirs) for _, ours, theirs in _pairs(line))
