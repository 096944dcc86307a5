"""Parametrisations that PyTorch comes with."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from dovetail import frontend as ft
from dovetail.dtypes import int32
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, NotSupported, ShapeError
from dovetail.limits import finfo

from .. import functional as F
from ..module import Module
from .parametrize import register_parametrization

_MAPS: Final = ("matrix_exp", "cayley", "householder")


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
    made = register_parametrization(module, name, _WeightNorm(dim), unsafe=True)
    module._register_load_state_dict_pre_hook(partial(_older_names, name))
    return made


def _older_names(name: str, state_dict: Any, prefix: str, *_: Any) -> None:
    """Rename what `nn.utils.weight_norm` kept, in a state dict to be loaded."""
    older = [f"{prefix}{name}_{part}" for part in ("g", "v")]
    if all(key in state_dict for key in older):
        for i, key in enumerate(older):
            now = f"{prefix}parametrizations.{name}.original{i}"
            state_dict[now] = state_dict.pop(key)


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
    """A matrix with orthonormal columns (or rows, of a wide one), by one of three maps.

    The exponential and Cayley's map take a skew matrix, Householder's reflections.
    """

    base: Tensor | None

    def __init__(self, weight: Tensor, how: str, use_trivialization: bool) -> None:
        super().__init__()
        self.shape = tuple(weight.shape)
        self.orthogonal_map = how
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        wide = x.shape[-2] < x.shape[-1]
        a = x.mT if wide else x
        reflected = self.orthogonal_map == "householder"
        q = _by_reflections(a) if reflected else _by_skew(a, self.orthogonal_map)
        if self.use_trivialization:
            assert self.base is not None
            q = self.base @ q
        return q.mT if wide else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """What the map makes a matrix of: where it starts from that, minus 1."""
        if tuple(q.shape) != self.shape:
            raise ShapeError(
                "orthogonal", "value", was=f"of shape {tuple(q.shape)}",
                needed=f"{self.shape}, as the weight was",
            )  # fmt: skip
        with no_grad():
            a = q.mT if q.shape[-2] < q.shape[-1] else q
            if not self.use_trivialization:
                found = self._reflections(a)
                return found if a is q else found.mT
            square = a.shape[-2] == a.shape[-1]
            kept = square and _is_orthogonal(a)
            self.base = a.clone() if kept else _nearest_orthogonal(a)
            # Reflections by nothing are 1, if the diagonal says that signs turn.
            return _with_diagonal(
                ft.zeros_like(q), -ft.ones_like(q.diagonal(0, -2, -1))
            )

    def _reflections(self, a: Tensor) -> Tensor:
        if self.orthogonal_map != "householder":
            raise NotSupported(
                "orthogonal", "use_trivialization", was="False when it is assigned",
                needed="True, or orthogonal_map='householder'",
            )  # fmt: skip
        found, tau = a.geqrf()
        signs = found.diagonal(0, -2, -1).sign()
        # Exact zeros are reflections that are not there.
        signs = ft.where(tau == 0.0, -signs, signs)
        return _with_diagonal(found, signs)


def _with_diagonal(a: Tensor, values: Tensor) -> Tensor:
    """A matrix whose diagonal is another one."""
    copy: Tensor = a.clone()
    copy.diagonal(0, -2, -1).copy_(values)
    return copy


def _by_skew(a: Tensor, how: str) -> Tensor:
    """The first columns of an orthogonal matrix, of a matrix below the diagonal."""
    n, k = a.shape[-2:]
    lower: Tensor = a.tril()
    if n != k:
        lower = F.pad(lower, (0, n - k))
    skew = lower - lower.mH
    if how == "matrix_exp":
        q: Tensor = skew.matrix_exp()
    else:
        eye = ft.eye(n, dtype=a.dtype, device=a.device)
        q = (eye - 0.5 * skew).inverse() @ (eye + 0.5 * skew)
    return q[..., :k]


def _by_reflections(a: Tensor) -> Tensor:
    """Columns that are reflected by what is below the diagonal, with its signs."""
    lower: Tensor = a.tril(-1)
    tau = 2.0 / (1.0 + (lower * lower).sum(-2))
    q: Tensor = lower.orgqr(tau)
    # The diagonal is made of signs, which are not learned.
    return q * a.detach().diagonal(0, -2, -1).to(int32).to(q.dtype).unsqueeze(-2)


def _is_orthogonal(q: Tensor) -> bool:
    """Whether the columns of square matrices are orthonormal, but for rounding."""
    n = q.shape[-1]
    eye = ft.eye(n, dtype=q.dtype, device=q.device)
    return bool(
        ft.allclose(q.mH @ q, eye.expand(q.shape), atol=10 * n * finfo(q.dtype).eps)
    )


def _nearest_orthogonal(a: Tensor) -> Tensor:
    """A square orthogonal matrix whose first columns are those of a tall one."""
    q, r = a.qr(some=False)
    signs = r.diagonal(0, -2, -1).sgn()
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
        orthogonal_map: "matrix_exp", "cayley" or "householder", which real matrices
            have; None takes "matrix_exp" of square and of complex ones, else
            "householder".
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
    square = weight.shape[-2] == weight.shape[-1] or weight.is_complex()
    how = orthogonal_map or ("matrix_exp" if square else "householder")
    if how not in _MAPS or (how == "householder" and weight.is_complex()):
        raise ArgumentError(
            "orthogonal", "orthogonal_map", was=repr(how)
            + (" of complex numbers" if how in _MAPS else ""),
            needed=f"one of {', '.join(_MAPS)}, the last of real matrices",
        )  # fmt: skip
    made: Any = _Orthogonal(weight, how, use_trivialization)
    return register_parametrization(module, name, made, unsafe=True)
