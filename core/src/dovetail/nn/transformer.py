"""Transformers (Vaswani et al. 2017, arXiv:1706.03762)."""

from __future__ import annotations

import copy
from typing import Any

from dovetail import frontend as ft
from dovetail.engine.annotations import described
from dovetail.engine.dims import need_dims
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ArgumentTypeError, ShapeError

from . import functional as F
from . import init
from .containers import ModuleList
from .module import Module
from .module.errors import refuse_uncallable
from .norm import LayerNorm
from .transformer_layers import (
    Activation,
    TransformerDecoderLayer,
    TransformerEncoderLayer,
)


def _copies(layer: Module, count: int) -> ModuleList:
    if not isinstance(layer, Module):
        raise ArgumentTypeError(
            "Transformer", "layer", was=described(layer), needed="a Module"
        )
    made = ModuleList()
    for _ in range(count):
        made.append(copy.deepcopy(layer))
    return made


class _Stack(Module):
    """Copies of a layer, one after another, and a norm of the result."""

    def __init__(self, layer: Module, num_layers: int, norm: Module | None) -> None:
        super().__init__()
        if norm is not None:
            refuse_uncallable(type(self).__name__, "norm", norm)
        self.layers = _copies(layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def _through(self, x: Tensor, *memory: Tensor, **masks: Any) -> Tensor:
        """What comes out of all layers, each of which takes the same masks."""
        if not len(self.layers):
            name = type(self).__name__
            raise ArgumentError(name, "num_layers", was=0, needed="1 or more")
        y: Any = x
        for layer in self.layers:
            y = layer(y, *memory, **masks)
        return y if self.norm is None else self.norm(y)  # type: ignore[no-any-return]


class TransformerEncoder(_Stack):
    """Layers of an encoder, one after another.

    Args:
        encoder_layer: the layer of which copies are made.
        num_layers: how many.
        norm: a norm of the result.
        enable_nested_tensor, mask_check: taken for torch's sake; change nothing.
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__(encoder_layer, num_layers, norm)
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """All layers; masks as those of `TransformerEncoderLayer`."""
        return self._through(
            src, src_mask=mask, src_key_padding_mask=src_key_padding_mask,
            is_causal=bool(is_causal),
        )  # fmt: skip


class TransformerDecoder(_Stack):
    """Layers of a decoder, one after another.

    Args:
        decoder_layer: the layer of which copies are made.
        num_layers: how many.
        norm: a norm of the result.
    """

    def __init__(
        self, decoder_layer: Module, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__(decoder_layer, num_layers, norm)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """All layers; masks as those of `TransformerDecoderLayer`."""
        return self._through(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=bool(tgt_is_causal), memory_is_causal=memory_is_causal,
        )  # fmt: skip


class Transformer(Module):
    """An encoder, and a decoder that looks at its result.

    Args:
        d_model: width of inputs and results.
        nhead: heads of attention; they divide d_model.
        num_encoder_layers, num_decoder_layers: how many layers.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first,
            bias: as the layers have them.
        custom_encoder, custom_decoder: what takes the place of either.

    Shape:
        [s, n, d_model] and [t, n, d_model] -> [t, n, d_model]; with batch_first the
        batch comes first

    Examples:
        >>> net = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        >>> net(torch.ones(3, 5, 8), torch.ones(3, 4, 8)).shape
        dovetail.Size([3, 4, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
            batch_first, norm_first, bias, device, dtype,
        )  # fmt: skip
        norm: Any = (d_model, layer_norm_eps, True, bias, device, dtype)
        if custom_encoder is None:
            custom_encoder = TransformerEncoder(
                TransformerEncoderLayer(*layer), num_encoder_layers, LayerNorm(*norm)
            )
        self.encoder = custom_encoder
        if custom_decoder is None:
            custom_decoder = TransformerDecoder(
                TransformerDecoderLayer(*layer), num_decoder_layers, LayerNorm(*norm)
            )
        self.decoder = custom_decoder
        for name, part in (("encoder", self.encoder), ("decoder", self.decoder)):
            if not callable(part):
                raise ArgumentTypeError(
                    "Transformer", f"custom_{name}", was=described(part),
                    needed="a module, or None",
                )  # fmt: skip
        for weight in self.parameters():
            if weight.ndim > 1:
                init.xavier_uniform_(weight)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The decoder's result; masks as those of the layers."""
        self._check(src, tgt)
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )  # fmt: skip
        y: Tensor = self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal,
        )  # fmt: skip
        return y

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        axis = 0 if self.batch_first else 1
        need_dims("Transformer", "src", src, 2, 3)
        need_dims("Transformer", "tgt", tgt, src.ndim)
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise ShapeError(
                "Transformer", "tgt", was=f"a batch of {tgt.shape[axis]}",
                needed=f"{src.shape[axis]}: the batch number of src and tgt must be "
                "equal",
            )  # fmt: skip
        for name, x in (("src", src), ("tgt", tgt)):
            if x.shape[-1] != self.d_model:
                raise ShapeError(
                    "Transformer", name, was=f"of width {x.shape[-1]}",
                    needed=f"d_model={self.d_model}: the feature number of src and "
                    "tgt must be equal to d_model",
                )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Any = None, dtype: Any = None
    ) -> Tensor:
        """Minus infinity for places after a place's own, else 0: [sz, sz].

        Examples:
            >>> nn.Transformer.generate_square_subsequent_mask(2)
            tensor([[0., -inf],
                    [0., 0.]])
        """
        ends = ft.full((sz, sz), -float("inf"), device=device, dtype=dtype)
        mask: Tensor = ft.triu(ends, diagonal=1)
        return mask
