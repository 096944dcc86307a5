"""nn.functional.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, overload

from dovetail.dtypes import DType
from dovetail.engine.generator import Generator
from dovetail.engine.tensor import Tensor
from dovetail.nn.functional._scaled import ScalingType, SwizzleType

def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows of 1 axes, to a size of the result."""

def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows of 2 axes, to a size of the result."""

def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows of 3 axes, to a size of the result."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor:
    """Maxima over windows of 1 axes; sizes as in `adaptive_avg_pool1d`."""

@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool1d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...
def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool1d` and the places, in the flattened spatial axes."""

@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor:
    """Maxima over windows of 2 axes; sizes as in `adaptive_avg_pool2d`."""

@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool2d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...
def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool2d` and the places, in the flattened spatial axes."""

@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: Literal[False] = False
) -> Tensor:
    """Maxima over windows of 3 axes; sizes as in `adaptive_avg_pool3d`."""

@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor]: ...
@overload
def adaptive_max_pool3d(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor]: ...
def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """`adaptive_max_pool3d` and the places, in the flattened spatial axes."""

def affine_grid(
    theta: Tensor, size: Sequence[int], align_corners: bool | None = None
) -> Tensor:
    """The places that `grid_sample` is to look at for affine maps of images."""

def alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """Dropout that keeps mean and variance after SELU (Klambauer et al. 2017)."""

def avg_pool1d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = ...,
    padding: int | Iterable[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window over 1 axes."""

def avg_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window over 2 axes."""

def avg_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window over 3 axes."""

def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 for each channel (Ioffe & Szegedy 2015, algorithm
    1).
    """

def bilinear(
    input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None
) -> Tensor:
    """`input1 @ weight[k] @ input2` for each of the k outputs, plus `bias`."""

def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log probability of `target` where `input` is that of one."""

def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of `sigmoid(input)`, exact where that would
    round.
    """

def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """`input`, and alpha * expm1(input / alpha) below zero (Barron 2017)."""

def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` written into the tensor, which is returned."""

def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Channels of several groups, one of each in turn (arXiv:1707.01083)."""

def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Iterable[int] = 1,
    padding: int | Iterable[int] | str = 0,
    dilation: int | Iterable[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over 1 spatial axes."""

def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Iterable[int] = 1,
    padding: int | Iterable[int] | str = 0,
    dilation: int | Iterable[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over 2 spatial axes."""

def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Iterable[int] = 1,
    padding: int | Iterable[int] | str = 0,
    dilation: int | Iterable[int] = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation over 3 spatial axes."""

def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences [t, n, channels]."""

def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Iterable[int] = 1,
    padding: int | Iterable[int] = 0,
    output_padding: int | Iterable[int] = 0,
    groups: int = 1,
    dilation: int | Iterable[int] = 1,
) -> Tensor:
    """The adjoint of `conv1d` in its input."""

def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Iterable[int] = 1,
    padding: int | Iterable[int] = 0,
    output_padding: int | Iterable[int] = 0,
    groups: int = 1,
    dilation: int | Iterable[int] = 1,
) -> Tensor:
    """The adjoint of `conv2d` in its input."""

def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Iterable[int] = 1,
    padding: int | Iterable[int] = 0,
    output_padding: int | Iterable[int] = 0,
    groups: int = 1,
    dilation: int | Iterable[int] = 1,
) -> Tensor:
    """The adjoint of `conv3d` in its input."""

def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""

def cosine_similarity(
    x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-08
) -> Tensor:
    """The cosine between vectors along `dim`, their norms taken as at least
    `eps`.
    """

def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the log probability that the logits `input` give to `target`."""

def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log probability of label sequences, over all their alignments."""

def dropout(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """Zero each element with probability `p`, and scale the others by `1 / (1
    - p)`.
    """

def dropout1d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of `(N, C, L)` or `(C, L)` (Tompson et al.
    2015).
    """

def dropout2d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of `(N, C, H, W)` or `(N, C, L)` (Tompson et
    al. 2015).
    """

def dropout3d(
    input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> Tensor:
    """`dropout` of whole channels of `(N, C, D, H, W)` or `(C, D, H, W)`
    (Tompson et al. 2015).
    """

def elu(input: Tensor, alpha: complex = 1.0, inplace: bool = False) -> Tensor:
    """`input`, and alpha * expm1(input) below zero (Clevert et al. 2015)."""

def elu_(input: Tensor, alpha: complex = 1.0) -> Tensor:
    """`elu` written into the tensor, which is returned."""

def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of `weight` that `input` numbers."""

def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of `weight` that each bag numbers."""

def feature_alpha_dropout(
    input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Tensor:
    """`alpha_dropout` of whole channels."""

def fold(
    input: Tensor,
    output_size: int | Iterable[int],
    kernel_size: int | Iterable[int],
    dilation: int | Iterable[int] = 1,
    padding: int | Iterable[int] = 0,
    stride: int | Iterable[int] = 1,
) -> Tensor:
    """Columns added up to an image: the adjoint of `unfold`."""

@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    """The largest element of windows over 2 axes that start in random steps."""

@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...
def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool2d` and the places, in the flattened spatial axes."""

@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: Literal[False] = False,
    _random_samples: Tensor | None = None,
) -> Tensor:
    """The largest element of windows over 3 axes that start in random steps."""

@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    *,
    return_indices: Literal[True],
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]: ...
@overload
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Tensor | tuple[Tensor, Tensor]: ...
def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Iterable[int],
    output_size: Any = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """`fractional_max_pool3d` and the places, in the flattened spatial axes."""

def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-06,
    reduction: str = "mean",
) -> Tensor:
    """(log var + (input - target)² / var) / 2, with a variance of at least
    `eps`.
    """

def gelu(input: Tensor, approximate: Literal["none", "tanh"] = "none") -> Tensor:
    """`input` times the normal distribution function (Hendrycks & Gimpel
    2016).
    """

def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half along `dim`, times the sigmoid of the second
    (arXiv:1612.08083).
    """

def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """`input` at the places of `grid`, between whose elements it is
    interpolated.
    """

def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over groups of channels (Wu & He 2018,
    arXiv:1803.08494).
    """

def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    bias: Tensor | None = None,
    out_dtype: DType | None = None,
) -> Tensor:
    """Products of groups: of rows with a matrix each, as `offs` cuts them."""

def gumbel_softmax(
    logits: Tensor,
    tau: float = 1,
    hard: bool = False,
    eps: float = 1e-10,
    dim: int = -1,
) -> Tensor:
    """A sample of classes that has gradients (Jang et al. 2016,
    arXiv:1611.01144).
    """

def hardshrink(input: Tensor, lambd: complex = 0.5) -> Tensor:
    """`input`, and 0 where its magnitude is at most `lambd`."""

def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """input / 6 + 1 / 2 between 0 and 1 (Howard et al. 2019)."""

def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * hardsigmoid(input) (Howard et al. 2019, arXiv:1905.02244)."""

def hardtanh(
    input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Tensor:
    """`input` clipped to `min_val` … `max_val`."""

def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` written into `input`, which is returned."""

def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """`input` where the target is 1, max(0, margin - input) where it is -1."""

def huber_loss(
    input: Tensor,
    target: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    weight: Tensor | None = None,
) -> Tensor:
    """Half the squared difference up to a positive `delta`, then linear (Huber
    1964).
    """

def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over each channel of each sample (Ulyanov et al.
    2016).
    """

def interpolate(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """Spatial axes resampled to a size, or by a factor."""

def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The divergence of `target` from the log probabilities `input`."""

def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Absolute differences; shapes, weights and reductions as in `mse_loss`."""

def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Mean 0 and variance 1 over the last dims (Ba et al. 2016,
    arXiv:1607.06450).
    """

def leaky_relu(
    input: Tensor, negative_slope: complex = 0.01, inplace: bool = False
) -> Tensor:
    """`input`, times `negative_slope` below zero (Maas et al. 2013)."""

def leaky_relu_(input: Tensor, negative_slope: complex = 0.01) -> Tensor:
    """`leaky_relu` written into the tensor, which is returned."""

def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias` over the last dim."""

def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of a linear map of the input."""

def local_response_norm(
    input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each element over (k + alpha mean(x²))^beta of `size` channels around
    it.
    """

def log_softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """The logarithm of softmax, without its rounding."""

def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(input)), without overflow."""

def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The `norm_type` norm of each window over 1 axes: (Σ xᵖ)^(1/p)."""

def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The `norm_type` norm of each window over 2 axes: (Σ xᵖ)^(1/p)."""

def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The `norm_type` norm of each window over 3 axes: (Σ xᵖ)^(1/p)."""

def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -target (input1 - input2) + margin)."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each window over 1 axes."""

@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool1d` and the places, in the flattened spatial axes."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each window over 2 axes."""

@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool2d` and the places, in the flattened spatial axes."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor:
    """The largest element of each window over 3 axes."""

@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor | tuple[Tensor, Tensor]: ...
def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    dilation: int | Iterable[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool3d` and the places, in the flattened spatial axes."""

def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    output_size: Any = None,
) -> Tensor:
    """The elements of a max pooling over 1 axes back in their places, else
    zeros.
    """

def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    output_size: Any = None,
) -> Tensor:
    """The elements of a max pooling over 2 axes back in their places, else
    zeros.
    """

def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: int | Iterable[int],
    stride: int | Iterable[int] | None = None,
    padding: int | Iterable[int] = 0,
    output_size: Any = None,
) -> Tensor:
    """The elements of a max pooling over 3 axes back in their places, else
    zeros.
    """

def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """input * tanh(softplus(input)) (Misra 2019, arXiv:1908.08681)."""

def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Squared differences; with `weight`, each times its weight."""

def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` does with its weights."""

def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over other classes of max(0, margin - x[target] + x[other])^p."""

def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The sum over labels and others of max(0, 1 - (x[label] - x[other])) /
    classes.
    """

def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the last dim of the cross entropies of each label by
    itself.
    """

def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """`channel_shuffle` by the name of torch's kernel."""

def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the entries of the log probabilities `input` at the classes
    `target`.
    """

def normalize(
    input: Tensor,
    p: float = 2.0,
    dim: int | Sequence[int] | None = 1,
    eps: float = 1e-12,
) -> Tensor:
    """`input` divided by its `p` norm along `dim`, at least by `eps`."""

def one_hot(tensor: Tensor, num_classes: int = -1) -> Tensor:
    """1 in the place of each class, else 0, in a new last dim."""

def pad(
    input: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float | None = None,
) -> Tensor:
    """Margins before and after each dim, the last dim's first, as
    torch.nn.functional.
    """

def pairwise_distance(
    x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Tensor:
    """The `p` norm of x1 - x2 + eps over the last dim."""

def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """The `p` norm distance of each pair of rows: of 0 and 1, 0 and 2, … 1 and
    2, …
    """

def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """[..., c r², h, w] as [..., c, h r, w r] (Shi et al. 2016,
    arXiv:1609.05158).
    """

def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """[..., c, h r, w r] as [..., c r², h, w], which pixel_shuffle undoes."""

def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """rate - target log(rate), of a Poisson variable; `full` adds Stirling's
    term.
    """

def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """`input`, times `weight` below zero: one weight, or one a channel (dim
    1).
    """

def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """The greater of `input` and 0; NaN stays."""

def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """`input` between 0 and 6 (Krizhevsky 2010)."""

def relu_(input: Tensor) -> Tensor:
    """`relu` written into the tensor, which is returned."""

def rms_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Root mean square 1 over the last dims (Zhang & Sennrich 2019,
    arXiv:1910.07467).
    """

def rrelu(
    input: Tensor,
    lower: Tensor | float = 0.125,
    upper: Tensor | float = 0.3333333333333333,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`input`, times a slope below zero: in training a random one for each
    element.
    """

def rrelu_(
    input: Tensor,
    lower: Tensor | float = 0.125,
    upper: Tensor | float = 0.3333333333333333,
    training: bool = False,
    generator: Generator | None = None,
) -> Tensor:
    """`rrelu` written into the tensor, which is returned."""

def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """softmax(scale query keyᵀ + mask) value (Vaswani et al. 2017)."""

def scaled_grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    offs: Tensor | None = None,
    output_dtype: DType | None = ...,
    contraction_dim: Sequence[int] = ...,
    use_fast_accum: bool = False,
) -> Tensor:
    """`grouped_mm` of 8-bit floats whose rows and columns have scales."""

def scaled_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    scale_a: Tensor | list[Tensor],
    scale_recipe_a: ScalingType | list[ScalingType],
    scale_b: Tensor | list[Tensor],
    scale_recipe_b: ScalingType | list[ScalingType],
    swizzle_a: SwizzleType | list[SwizzleType] | None = None,
    swizzle_b: SwizzleType | list[SwizzleType] | None = None,
    bias: Tensor | None = None,
    output_dtype: DType | None = ...,
    contraction_dim: Sequence[int] = ...,
    use_fast_accum: bool = False,
) -> Tensor:
    """`(mat_a * scale_a) @ (mat_b * scale_b) + bias`, of 8-bit floats."""

def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """ELU scaled so that activations normalise themselves (Klambauer et al.
    2017).
    """

def selu_(input: Tensor) -> Tensor:
    """`selu` written into the tensor, which is returned."""

def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-input)), without overflow."""

def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """input * sigmoid(input) (Hendrycks & Gimpel 2016; Elfwing et al. 2017)."""

def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """Half the squared difference over `beta` up to there, then linear."""

def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """log(1 + exp(-target input))."""

def softmax(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """Exponentials along `dim`, scaled to sum to one."""

def softmin(
    input: Tensor,
    dim: int | None = None,
    _stacklevel: int = 3,
    dtype: DType | None = None,
) -> Tensor:
    """`softmax` of the negated input."""

def softplus(input: Tensor, beta: complex = 1.0, threshold: complex = 20.0) -> Tensor:
    """log(1 + exp(beta input)) / beta, and `input` where that is above
    `threshold`.
    """

def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """`input` moved towards zero by `lambd`, and 0 within it."""

def softsign(input: Tensor) -> Tensor:
    """input / (1 + |input|)."""

def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent."""

def tanhshrink(input: Tensor) -> Tensor:
    """`input - tanh(input)`."""

def threshold(
    input: Tensor, threshold: complex, value: complex, inplace: bool = False
) -> Tensor:
    """`input` above the threshold, else `value`; of integers an integer."""

def threshold_(input: Tensor, threshold: complex, value: complex) -> Tensor:
    """`threshold` written into the tensor, which is returned."""

def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d the `p`
    norm.
    """

def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with another distance (the Euclidean, unless
    given).
    """

def unfold(
    input: Tensor,
    kernel_size: int | Iterable[int],
    dilation: int | Iterable[int] = 1,
    padding: int | Iterable[int] = 0,
    stride: int | Iterable[int] = 1,
) -> Tensor:
    """Each window of [batch, channels, height, width] as a column."""

def upsample(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """`interpolate` under its old name."""

def upsample_bilinear(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """`interpolate` in mode "bilinear" with corners aligned."""

def upsample_nearest(
    input: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
) -> Tensor:
    """`interpolate` in mode "nearest"."""
