"""Two spirals, told apart by a small network, on any device.

python examples/spiral.py            # the CPU
python examples/spiral.py auto       # the best device there is
"""

from __future__ import annotations

import math
import sys

import dovetail as torch
from dovetail import nn


def spirals(count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Points [2 * count, 2] on two spiral arms, and the arm of each."""
    turn = torch.linspace(0.5, 3.5, count) * math.pi
    arm = torch.stack((turn.cos() * turn, turn.sin() * turn), dim=1) / 10
    points = torch.cat((arm, -arm)) + torch.randn(2 * count, 2) * 0.02
    return points, torch.arange(2 * count) // count


def main(device: str = "cpu") -> float:
    """Train for a few seconds; gives the share of points told apart."""
    torch.manual_seed(0)
    points, arms = (t.to(device) for t in spirals(200))
    model = nn.Sequential(
        nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 2)
    ).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(400):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points), arms)
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step:3}  loss {loss.item():.4f}")
    with torch.no_grad():
        right = (model(points).argmax(1) == arms).float().mean().item()
    print(f"{right:.1%} of the points on the right arm, on {points.device}")
    return right


if __name__ == "__main__":
    main(*sys.argv[1:])
