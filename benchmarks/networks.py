"""Networks that several benchmarks train, of either library."""

from __future__ import annotations

from typing import Any


def transformer_block(lib: Any, channels: int, heads: int) -> Any:
    """Causal attention, then two layers, each added to its input [n, t, channels]."""
    nn, functional = lib.nn, lib.nn.functional

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(channels), nn.LayerNorm(channels)
            self.qkv = nn.Linear(channels, 3 * channels)
            self.out = nn.Linear(channels, channels)
            self.up = nn.Linear(channels, 4 * channels)
            self.down = nn.Linear(4 * channels, channels)

        def forward(self, x: Any) -> Any:
            shape = (*x.shape[:2], heads, channels // heads)
            parts = self.qkv(self.norm1(x)).chunk(3, -1)
            q, k, v = (p.reshape(shape).transpose(1, 2) for p in parts)
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(x.shape))
            return x + self.down(functional.gelu(self.up(self.norm2(x))))

    return Block()
