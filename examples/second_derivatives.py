"""Curvature by differentiating twice: the Hessian of the Rosenbrock function.

python examples/second_derivatives.py
"""

from __future__ import annotations

import dovetail as torch
from dovetail.autograd import grad


def rosenbrock(x: torch.Tensor) -> torch.Tensor:
    """Rosenbrock's valley (1960), least at (1, 1)."""
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def hessian(x: torch.Tensor) -> torch.Tensor:
    """Second derivatives [n, n] at a point [n]."""
    (slope,) = grad(rosenbrock(x), x, create_graph=True)
    rows = [grad(slope[i], x, retain_graph=True)[0] for i in range(len(x))]
    return torch.stack(rows)


def main() -> torch.Tensor:
    """Newton's method from (-1.2, 1): a handful of steps to the minimum."""
    x = torch.tensor([-1.2, 1.0], dtype=torch.float64, requires_grad=True)
    for step in range(8):
        (slope,) = grad(rosenbrock(x), x)
        (a, b), (c, d) = hessian(x).tolist()
        inverse = torch.tensor([[d, -b], [-c, a]], dtype=torch.float64) / (
            a * d - b * c
        )
        x = (x - inverse @ slope).detach().requires_grad_()
        print(f"step {step}  f = {rosenbrock(x).item():.3e}  x = {x.tolist()}")
    return x


if __name__ == "__main__":
    main()
