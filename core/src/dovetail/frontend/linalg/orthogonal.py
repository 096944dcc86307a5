"""QR factors and reflections."""

from __future__ import annotations

from typing import Any

from dovetail.engine.public import public
from dovetail.engine.return_types import fields
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, ShapeError
from dovetail.frontend.linalg.checks import matrices, numbers
from dovetail.ops import qr as ops
from dovetail.ops.create import zeros_of
from dovetail.ops.matmul import matmul
from dovetail.ops.matrices import adjoint
from dovetail.ops.shape import cat


@public("linalg.qr", out=True, autocast="float32")
def qr(A: Tensor, mode: str = "reduced") -> Any:
    """Q with orthonormal columns and R, an upper triangle: Q R = A.

    Args:
        mode: "reduced", "complete" for a square Q, or "r" for R alone.
    """
    matrices("linalg.qr", A=A)
    if mode not in ("reduced", "complete", "r"):
        raise ArgumentError(
            "linalg.qr", "mode", was=repr(mode), needed="'reduced', 'complete' or 'r'"
        )
    if mode == "r" and A.requires_grad:
        raise ArgumentError(
            "linalg.qr", "mode", was="'r' where gradients are asked for",
            needed="'reduced': gradients need Q",
        )  # fmt: skip
    q, r = ops.qr_factorise(A, mode == "complete")
    q = zeros_of(q, (0,)) if mode == "r" else q
    return fields("linalg_qr", ("Q", "R"))((q, r))


@public("qr", out=True, autocast="float32")
def plain_qr(input: Tensor, some: bool = True) -> Any:
    """`linalg.qr` under its older name: complete where not `some`."""
    matrices("qr", input=input)
    return fields("qr", ("Q", "R"))(ops.qr_factorise(input, not some))


@public("geqrf", out=True, autocast="float32")
def geqrf(input: Tensor) -> Any:
    """R, and below its diagonal the reflections that make it, with their factors."""
    matrices("geqrf", input=input)
    return fields("geqrf", ("a", "tau"))(ops.householder_factor(input))


def _product(name: str, a: Tensor, tau: Tensor) -> Tensor:
    matrices(name, input=a)
    numbers(name, input=a, tau=tau)
    n, m = a.shape[-2:]
    if m > n or tau.ndim != a.ndim - 1 or tau.shape[-1] > m:
        raise ShapeError(
            name, "tau", was=f"of shape {tuple(tau.shape)} for {tuple(a.shape)}",
            needed="at most one number a column, and no more columns than rows",
        )  # fmt: skip
    if tau.shape[:-1] != a.shape[:-2]:
        raise ShapeError(
            name, "tau", was=f"of shape {tuple(tau.shape)} for {tuple(a.shape)}",
            needed="the batch of input",
        )  # fmt: skip
    return ops.householder_product(a, tau)


@public("linalg.householder_product", out=True, autocast="float32")
def householder_product(A: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of reflections, as `geqrf` has them."""
    return _product("linalg.householder_product", A, tau)


@public("orgqr", out=True, autocast="float32")
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """`linalg.householder_product` under LAPACK's name; `input2` is its `tau`."""
    return _product("orgqr", input, input2)


@public("ormqr", out=True, autocast="float32")
def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True,
    transpose: bool = False,
) -> Tensor:  # fmt: skip
    """Q, the product of reflections, times `input3`; from the right if not `left`.

    `input2` has the factors of the reflections.
    """
    tau, other = input2, input3
    matrices("ormqr", input=input, input3=other)
    numbers("ormqr", input=input, input2=tau, input3=other)
    n, m = input.shape[-2:]
    size = other.shape[-2 if left else -1]
    if tau.shape != (*input.shape[:-2], min(n, m)) and tau.shape[-1:] > (m,):
        raise ShapeError(
            "ormqr", "input2", was=f"of shape {tuple(tau.shape)}",
            needed="at most one number a column of input",
        )  # fmt: skip
    if size != n or input.ndim != other.ndim or tau.ndim != input.ndim - 1:
        raise ShapeError(
            "ormqr", "input3", was=f"of shape {tuple(other.shape)}",
            needed=f"{n} {'rows' if left else 'columns'}, and the batch of input",
        )  # fmt: skip
    whole = input[..., :n]
    if n > m:
        whole = cat([input, zeros_of(input, (*input.shape[:-1], n - m))], -1)
    q = ops.householder_product(whole, tau)
    q = adjoint(q) if transpose else q
    return matmul(q, other) if left else matmul(other, q)
