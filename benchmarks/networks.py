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


def gpt2(
    lib: Any, layers: int = 12, channels: int = 768, heads: int = 12,
    words: int = 50257, places: int = 1024,
) -> Any:  # fmt: skip
    """GPT-2, small unless sizes say otherwise: [n, t] tokens to [n, t, words]."""
    nn = lib.nn

    class Net(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(words, channels)
            self.places = nn.Embedding(places, channels)
            blocks = [transformer_block(lib, channels, heads) for _ in range(layers)]
            self.blocks = nn.Sequential(*blocks)
            self.norm = nn.LayerNorm(channels)

        def forward(self, tokens: Any) -> Any:
            at = lib.arange(tokens.shape[1], device=tokens.device)
            x = self.blocks(self.words(tokens) + self.places(at))
            return self.norm(x) @ self.words.weight.t()

    return Net()


def resnet50(lib: Any, classes: int = 1000, width: int = 64) -> Any:
    """ResNet-50: images [n, 3, h, w] to scores [n, classes]."""
    nn = lib.nn

    def normalised(inputs: int, outputs: int, size: int, stride: int = 1) -> Any:
        taps = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
        return nn.Sequential(taps, nn.BatchNorm2d(outputs))

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, inputs: int, inner: int, stride: int) -> None:
            super().__init__()
            self.first = normalised(inputs, inner, 1)
            self.second = normalised(inner, inner, 3, stride)
            self.third = normalised(inner, 4 * inner, 1)
            same = inputs == 4 * inner and stride == 1
            self.beside = nn.Identity() if same else normalised(
                inputs, 4 * inner, 1, stride
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            y = self.second(self.first(x).relu()).relu()
            return (self.third(y) + self.beside(x)).relu()

    parts = [normalised(3, width, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = width
    for at, count in enumerate((3, 4, 6, 3)):
        inner = width << at
        for block in range(count):
            parts.append(Block(inputs, inner, 2 if at and not block else 1))
            inputs = 4 * inner
    ends = nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, classes)
    return nn.Sequential(*parts, *ends)
