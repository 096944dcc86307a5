"""Multi-head attention."""

from __future__ import annotations

import math
from typing import Any

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError, ShapeError

from . import functional as F
from . import init
from .linear import Linear
from .module import Module


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
        self._check(query, is_causal, attn_mask)
        batched = query.ndim == 3
        query, key, value = self._with_batch_first(batched, query, key, value)
        q, k, v = self._projected(query, key, value)
        if key_padding_mask is not None and not batched:
            key_padding_mask = key_padding_mask.unsqueeze(0)
        mask = self._mask(q, k, key_padding_mask, attn_mask)
        k, v, mask = self._extended(k, v, mask)
        dropout = self.dropout if self.training else 0.0
        q, k, v = (self._by_head(t) for t in (q, k, v))
        weights = None
        if need_weights:
            scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim)
            scores = scores if mask is None else scores + mask
            weights = F.dropout(F.softmax(scores, -1), dropout)
            mixed = weights @ v
        else:
            mixed = F.scaled_dot_product_attention(
                q, k, v, attn_mask=mask, dropout_p=dropout
            )
        result = self.out_proj(mixed.transpose(1, 2).flatten(2))
        if weights is not None and average_attn_weights:
            weights = weights.mean(1)
        if not batched:
            return result.squeeze(0), None if weights is None else weights.squeeze(0)
        return (result if self.batch_first else result.transpose(0, 1)), weights

    def _check(self, query: Tensor, causal: bool, attn_mask: Tensor | None) -> None:
        if query.ndim not in (2, 3):
            raise ShapeError(
                "MultiheadAttention", "query", was=f"{query.ndim}-dimensional",
                needed="3 dimensions (batched) or 2 (unbatched)",
            )  # fmt: skip
        if causal and attn_mask is None:
            raise ArgumentError(
                "MultiheadAttention", "attn_mask", was="None with is_causal=True",
                needed="the causal mask, of which is_causal only says what it is",
            )  # fmt: skip

    def _with_batch_first(self, batched: bool, *tensors: Tensor) -> list[Tensor]:
        if not batched:
            return [tensor.unsqueeze(0) for tensor in tensors]
        if self.batch_first:
            return list(tensors)
        return [tensor.transpose(0, 1) for tensor in tensors]

    def _projected(self, *inputs: Tensor) -> list[Tensor]:
        """Queries, keys and values, [n, length, embed_dim]."""
        if self.in_proj_weight is not None:
            weights = self.in_proj_weight.chunk(3)
        else:
            weights = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        biases: Any = (None, None, None)
        if self.in_proj_bias is not None:
            biases = self.in_proj_bias.chunk(3)
        triples = zip(inputs, weights, biases, strict=True)
        return [F.linear(x, weight, bias) for x, weight, bias in triples]

    def _by_head(self, x: Tensor) -> Tensor:
        """[n, length, embed_dim] to [n, num_heads, length, head_dim]."""
        parts: Tensor = x.unflatten(-1, (self.num_heads, self.head_dim))
        by_head: Tensor = parts.transpose(1, 2)
        return by_head

    def _mask(
        self, q: Tensor, k: Tensor, padding: Tensor | None, attn_mask: Tensor | None
    ) -> Tensor | None:
        """Both masks as numbers to add to the scores [n, num_heads, l, s]."""
        total = None
        if attn_mask is not None:
            total = _as_scores(attn_mask, q)
            if total.ndim == 3:
                total = total.unflatten(0, (q.shape[0], self.num_heads))
        if padding is not None:
            if tuple(padding.shape) != (k.shape[0], k.shape[1]):
                raise ShapeError(
                    "MultiheadAttention", "key_padding_mask", was=tuple(padding.shape),
                    needed=f"{(k.shape[0], k.shape[1])}: batch and keys",
                )  # fmt: skip
            scores = _as_scores(padding, q).unsqueeze(1).unsqueeze(1)
            total = scores if total is None else total + scores
        return total

    def _extended(
        self, k: Tensor, v: Tensor, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Keys and values with those appended that the module adds itself."""
        for extra_k, extra_v in self._extras(k):
            k = ft.cat([k, extra_k.expand(k.shape[0], 1, -1)], 1)
            v = ft.cat([v, extra_v.expand(v.shape[0], 1, -1)], 1)
            mask = None if mask is None else F.pad(mask, (0, 1))
        return k, v, mask

    def _extras(self, k: Tensor) -> list[tuple[Tensor, Tensor]]:
        extras = []
        if self.bias_k is not None and self.bias_v is not None:
            extras.append((self.bias_k, self.bias_v))
        if self.add_zero_attn:
            zeros = ft.zeros(1, 1, self.embed_dim, dtype=k.dtype, device=k.device)
            extras.append((zeros, zeros))
        return extras


def _as_scores(mask: Tensor, like: Tensor) -> Tensor:
    """A mask as numbers to add: minus infinity where it is True."""
    if mask.dtype is not dtypes.bool_:
        return mask
    zeros = ft.zeros(mask.shape, dtype=like.dtype, device=like.device)
    scores: Tensor = zeros.masked_fill(mask, -math.inf)
    return scores
