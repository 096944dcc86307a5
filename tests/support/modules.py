"""Modules that tests hold, walk and call."""

from __future__ import annotations

from typing import Any

import dovetail as dt
from dovetail import nn


class Net(nn.Module):
    """Two layers, a shared one, a parameter of its own and two buffers."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.second = nn.Linear(4, 2)
        self.again = self.first
        self.scale = nn.Parameter(dt.ones(2))
        self.register_buffer("count", dt.zeros(1))
        self.register_buffer("scratch", dt.zeros(1), persistent=False)

    def forward(self, x: dt.Tensor) -> dt.Tensor:
        return self.second(self.first(x)) * self.scale


def names(pairs: Any) -> list[str]:
    return [name for name, _ in pairs]
