"""Multi-head attention."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError
from dovetail.nn import functional as F
from dovetail.nn import init
from dovetail.nn.linear import Linear
from dovetail.nn.module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """`Linear` by the name that torch's text and checkpoints have for it here."""


class MultiheadAttention(Module):
    """Attention by several heads at once (Vaswani et al. 2017, arXiv:1706.03762).

    Args:
        embed_dim: width of queries and results.
        num_heads: heads; they divide embed_dim.
        dropout: the probability with which an attention weight is zeroed.
        bias: whether the projections have one.
        add_bias_kv: whether a learned key and value are appended.
        add_zero_attn: whether a key and value of zeros are appended.
        kdim, vdim: widths of keys and values; None takes embed_dim.
        batch_first: whether the batch is the first axis instead of the second.

    Shape:
        query [l, n, embed_dim], key [s, n, kdim], value [s, n, vdim] to a result
        [l, n, embed_dim] and weights [n, l, s]; the batch n may be missing

    Attributes:
        in_proj_weight: [3 * embed_dim, embed_dim] for query, key and value; with
            other widths q_proj_weight, k_proj_weight and v_proj_weight instead.
        out_proj: the last projection.

    Examples:
        >>> m = nn.MultiheadAttention(8, num_heads=2, batch_first=True)
        >>> x = torch.randn(4, 5, 8)
        >>> y, weights = m(x, x, x)
        >>> y.shape, weights.shape
        (dovetail.Size([4, 5, 8]), dovetail.Size([4, 5, 5]))
    """

    in_proj_weight: Tensor | None
    in_proj_bias: Tensor | None
    bias_k: Tensor | None
    bias_v: Tensor | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ArgumentError(
                "MultiheadAttention", "embed_dim", was=embed_dim,
                needed=f"a positive multiple of num_heads={num_heads}",
            )  # fmt: skip
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        self.add_zero_attn = add_zero_attn
        kind = {"device": device, "dtype": dtype}
        self._add_weights(kind)
        three = Parameter(ft.empty(3 * embed_dim, **kind)) if bias else None
        self.register_parameter("in_proj_bias", three)
        one = (1, 1, embed_dim)
        for name in ("bias_k", "bias_v"):
            extra = Parameter(ft.empty(one, **kind)) if add_bias_kv else None
            self.register_parameter(name, extra)
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, **kind
        )
        self._reset_parameters()

    def _add_weights(self, kind: dict[str, Any]) -> None:
        width = self.embed_dim
        shapes = {
            "q_proj_weight": (width, width),
            "k_proj_weight": (width, self.kdim),
            "v_proj_weight": (width, self.vdim),
            "in_proj_weight": (3 * width, width),
        }
        for name, shape in shapes.items():
            if (name == "in_proj_weight") == self._qkv_same_embed_dim:
                self.register_parameter(name, Parameter(ft.empty(shape, **kind)))
            else:
                self.register_parameter(name, None)

    def _reset_parameters(self) -> None:
        for name, weight in self._parameters.items():
            if name.endswith("proj_weight") and weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from `query` to `key`, and mix `value`.

        Args:
            key_padding_mask: [n, s], True (or minus infinity) for keys to ignore.
            need_weights: whether the weights are returned too, which costs memory.
            attn_mask: [l, s] or [n * num_heads, l, s], True where a query may not
                attend to a key; or numbers that are added to the scores.
            average_attn_weights: whether the weights are averaged over heads.
            is_causal: says that attn_mask is the causal one; it has to be given.
        """
        flip = self.batch_first and query.ndim == 3
        if flip:
            query, key, value = (x.transpose(0, 1) for x in (query, key, value))
        y, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight,
            self.in_proj_bias, self.bias_k, self.bias_v, self.add_zero_attn,
            self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim,
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight,
            average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return (y.transpose(0, 1) if flip else y), weights
