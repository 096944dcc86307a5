"""Parametrisations that PyTorch comes with."""

from __future__ import annotations

from typing import Any

from dovetail import frontend as ft
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported, ShapeError

from .. import functional as F
from ..module import Module
from .parametrize import register_parametrization


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """The norm of slices along `dim`, which stays; of all elements for None or -1."""
    if dim is None or dim == -1:
        whole: Tensor = v.norm()
        return whole
    others = [d for d in range(v.ndim) if d != dim % v.ndim]
    norms: Tensor = (v * v).sum(others, keepdim=True).sqrt() if others else v.abs()
    return norms


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return weight_v * (weight_g / norm_except(weight_v, self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int = 0) -> Module:
    """Have a weight be its direction times its magnitude (arXiv:1602.07868).

    Args:
        dim: that along which slices have a magnitude each; None for one of all.

    Examples:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(20, 40))
        >>> [tuple(p.shape) for p in layer.parametrizations.weight.parameters()]
        [(40, 1), (40, 20)]
    """
    return register_parametrization(module, name, _WeightNorm(dim), unsafe=True)


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight with `dim` first and all others in one."""
    if dim:
        order = [dim, *(d for d in range(weight.ndim) if d != dim)]
        weight = weight.permute(order)
    return weight.flatten(1)


class _SpectralNorm(Module):
    """Divides a weight by its greatest singular value, by power iterations."""

    _u: Tensor
    _v: Tensor

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0,
        eps: float = 1e-12,
    ) -> None:  # fmt: skip
        super().__init__()
        if not -weight.ndim <= dim < weight.ndim:
            raise ArgumentError(
                "spectral_norm", "dim", was=dim, needed=f"a dim of {weight.ndim}"
            )
        if n_power_iterations <= 0:
            raise ArgumentError(
                "spectral_norm", "n_power_iterations", was=n_power_iterations,
                needed="1 or more",
            )  # fmt: skip
        self.dim = dim % weight.ndim
        self.eps = eps
        if weight.ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            rows, columns = matrix.shape
            kind = {"dtype": matrix.dtype, "device": matrix.device}
            u, v = ft.randn(rows, **kind), ft.randn(columns, **kind)
            self.register_buffer("_u", F.normalize(u, dim=0, eps=eps))
            self.register_buffer("_v", F.normalize(v, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, times: int) -> None:
        with no_grad():
            for _ in range(times):
                self._u.copy_(F.normalize(matrix @ self._v, dim=0, eps=self.eps))
                self._v.copy_(F.normalize(matrix.mT @ self._u, dim=0, eps=self.eps))

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        u, v = self._u.clone(), self._v.clone()
        return weight / (u * (matrix @ v)).sum()

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1,
    eps: float = 1e-12, dim: int | None = None,
) -> Module:  # fmt: skip
    """Have a weight divided by its greatest singular value (arXiv:1802.05957).

    Args:
        n_power_iterations: by which that is followed, at each call in training.
        dim: of the results; None for 1 of transposed convolutions, else 0.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(
            "spectral_norm", "name", was=repr(name),
            needed=f"a parameter of the {type(module).__name__}",
        )  # fmt: skip
    if dim is None:
        dim = 1 if getattr(module, "transposed", False) else 0
    made = _SpectralNorm(weight, n_power_iterations, dim, eps)
    return register_parametrization(module, name, made)


class _Orthogonal(Module):
    """A matrix with orthonormal rows or columns, by an exponential or Cayley's map."""

    base: Tensor

    def __init__(self, weight: Tensor, how: str, use_trivialization: bool) -> None:
        super().__init__()
        self.orthogonal_map = how
        if use_trivialization:
            self.register_buffer("base", _nearest_orthogonal(weight.detach()))
        self.use_trivialization = use_trivialization

    def forward(self, x: Tensor) -> Tensor:
        rows, columns = x.shape[-2:]
        wide = rows < columns
        a = x.mT if wide else x
        n, k = a.shape[-2:]
        lower: Tensor = a.tril(-1)
        if n != k:
            lower = F.pad(lower, (0, n - k))
        skew = lower - lower.mT
        if self.orthogonal_map == "matrix_exp":
            q: Tensor = skew.matrix_exp()
        else:
            eye = ft.eye(n, dtype=x.dtype, device=x.device)
            q = (eye - 0.5 * skew).inverse() @ (eye + 0.5 * skew)
        q = q[..., :k]
        if self.use_trivialization:
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        if not self.use_trivialization:
            raise NotSupported(
                "orthogonal", "use_trivialization", was="False when it is assigned",
                needed="True",
            )  # fmt: skip
        self.base = _nearest_orthogonal(q.detach())
        return q * 0


def _nearest_orthogonal(weight: Tensor) -> Tensor:
    """A square orthogonal matrix whose first columns are those of a tall weight's."""
    a = weight.mT if weight.shape[-2] < weight.shape[-1] else weight
    q, r = a.qr(some=False)
    signs = r.diagonal(0, -2, -1).sign()
    signs = signs + (signs == 0).to(signs.dtype)
    k = a.shape[-1]
    whole: Tensor = ft.cat([q[..., :k] * signs.unsqueeze(-2), q[..., k:]], -1)
    return whole


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Module:  # fmt: skip
    """Have a weight be orthogonal: QᵀQ = 1, or QQᵀ = 1 of a wide one.

    Lezcano-Casado & Martínez-Rubio 2019, arXiv:1901.08428.

    Args:
        orthogonal_map: "matrix_exp" or "cayley"; None takes "matrix_exp", also of
            matrices that are not square, for which torch takes "householder".
        use_trivialization: whether the map starts from the weight (made orthogonal),
            so that it can be assigned to, too.
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ArgumentError(
            "orthogonal", "name", was=repr(name),
            needed=f"a parameter of the {type(module).__name__}",
        )  # fmt: skip
    if weight.ndim < 2:
        raise ShapeError(
            "orthogonal", name, was=f"{weight.ndim}-dimensional", needed="a matrix"
        )
    how = orthogonal_map or "matrix_exp"
    if how not in ("matrix_exp", "cayley"):
        raise NotSupported(
            "orthogonal", "orthogonal_map", was=repr(how),
            needed="'matrix_exp' or 'cayley'",
        )  # fmt: skip
    made: Any = _Orthogonal(weight, how, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
