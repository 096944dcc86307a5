"""Layers of transformers' encoders and decoders (Vaswani et al. 2017)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError

from . import functional as F
from .attention import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .norm import LayerNorm

Activation = str | Callable[[Tensor], Tensor]
_ACTIVATIONS: Final = ("relu", "gelu")


class _Layer(Module):
    """What layers of encoders and decoders share: two linear maps, and norms.

    Args:
        d_model: width of inputs and results.
        nhead: heads of attention; they divide d_model.
        dim_feedforward: width between the two linear maps.
        dropout: the probability with which results of parts are zeroed in training.
        activation: between the linear maps: "relu", "gelu" or a function.
        layer_norm_eps: what norms add to variances.
        batch_first: whether the batch is the first axis instead of the second.
        norm_first: whether norms come before parts, not after them.
        bias: whether linear maps and norms have one.
    """

    norms = 2

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        kind = {"bias": bias, "device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, **kind}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        if self.norms == 3:
            self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        names = range(1, self.norms + 1)
        for i in names:
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, **kind))
        for i in names:
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _activation(activation)

    def _attended(
        self, x: Tensor, mask: Tensor | None, padding: Tensor | None, causal: bool
    ) -> Tensor:
        """Attention of a sequence to itself."""
        y, _ = self.self_attn(
            x, x, x, key_padding_mask=padding, need_weights=False, attn_mask=mask,
            is_causal=causal,
        )  # fmt: skip
        return self.dropout1(y)  # type: ignore[no-any-return]

    def _fed_forward(self, x: Tensor) -> Tensor:
        y = self.linear2(self.dropout(self.activation(self.linear1(x))))
        last: Tensor = (self.dropout2 if self.norms == 2 else self.dropout3)(y)
        return last

    def _joined(self, x: Tensor, norm: Module, part: Callable[[Tensor], Tensor]) -> Any:
        """`x` plus a part of it, with the norm before the part or after the sum."""
        return x + part(norm(x)) if self.norm_first else norm(x + part(x))


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in _ACTIVATIONS:
        raise ArgumentError(
            "Transformer", "activation", was=repr(given),
            needed=f"a function, or one of {_ACTIVATIONS}",
        )  # fmt: skip
    return F.relu if given == "relu" else F.gelu


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself, and two linear maps; `_Layer` has the rest.

    Shape:
        [t, n, d_model], or [n, t, d_model] with batch_first, the same out

    Examples:
        >>> layer = nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
        >>> layer(torch.ones(4, 5, 8)).shape
        dovetail.Size([4, 5, 8])
    """

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """One layer.

        Args:
            src_mask: [t, t], True (or minus infinity) where a place may not look.
            src_key_padding_mask: [n, t], True for places to ignore.
            is_causal: says that src_mask is the causal one.
        """

        def attended(x: Tensor) -> Tensor:
            return self._attended(x, src_mask, src_key_padding_mask, is_causal)

        x = self._joined(src, self.norm1, attended)
        y: Tensor = self._joined(x, self.norm2, self._fed_forward)
        return y


class TransformerDecoderLayer(_Layer):
    """Attention to itself, to an encoder's result, and two linear maps.

    `_Layer` has the arguments.
    """

    norms = 3

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """One layer; masks as those of `TransformerEncoderLayer`.

        Args:
            memory: the encoder's result.
        """

        def attended(x: Tensor) -> Tensor:
            return self._attended(x, tgt_mask, tgt_key_padding_mask, tgt_is_causal)

        def looked_up(x: Tensor) -> Tensor:
            y, _ = self.multihead_attn(
                x, memory, memory, key_padding_mask=memory_key_padding_mask,
                need_weights=False, attn_mask=memory_mask, is_causal=memory_is_causal,
            )  # fmt: skip
            return self.dropout2(y)  # type: ignore[no-any-return]

        x = self._joined(tgt, self.norm1, attended)
        x = self._joined(x, self.norm2, looked_up)
        y: Tensor = self._joined(x, self.norm3, self._fed_forward)
        return y
