"""`gradcheck`: gradients held to differences of the function itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dovetail.dtypes import complex128, float64
from dovetail.engine import autograd
from dovetail.engine.modes import enable_grad, no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, AutogradError, DovetailError
from dovetail.frontend.create import tensor
from dovetail.func.forward import jvp
from dovetail.func.mapping import vmap
from dovetail.ops.create import zeros_of
from dovetail.ops.shape import stack

Array = np.ndarray[Any, Any]
_IN, _OUT = 0, 1  # the sides of a function, each with a direction of its own


class GradcheckError(DovetailError, RuntimeError):
    """Gradients differ from differences of the function."""


class _Checked:
    """A function between arrays of real numbers; complex ones count twice.

    Args:
        fast: derivatives are compared along one direction of each input and of each
            result, not all of them.
    """

    def __init__(
        self, func: Callable[..., Any], inputs: Sequence[Any], fast: bool = False
    ) -> None:
        self.func = func
        self.fast = fast
        self.inputs = list(inputs)
        self.places = [
            i for i, x in enumerate(inputs) if isinstance(x, Tensor) and x.requires_grad
        ]
        if not self.places:
            raise ArgumentError(
                "gradcheck", "inputs", was="none that requires gradients",
                needed="at least one input that does",
            )  # fmt: skip
        for at in self.places:
            if self.inputs[at].dtype not in (float64, complex128):
                warnings.warn(
                    f"input {at} has {self.inputs[at].dtype.name}; differences need "
                    "double precision, and will likely be too rough",
                    stacklevel=4,
                )
        with enable_grad():
            results = self._results(inputs)
        # What the function cuts off has no gradient, though it changes: a threshold.
        # A function that cuts off all of its results is held to be constant.
        which = [i for i, y in enumerate(results) if y.requires_grad]
        self.which = which or list(range(len(results)))

    def _results(self, inputs: Sequence[Any]) -> list[Tensor]:
        result = self.func(*inputs)
        several = result if isinstance(result, tuple | list) else (result,)
        return [y for y in several if isinstance(y, Tensor) and y.dtype.is_inexact]

    def outs(self, inputs: Sequence[Any]) -> list[Tensor]:
        """The results that have gradients."""
        results = self._results(inputs)
        return [results[i] for i in self.which]

    def moved(self, at: int, change: Array) -> list[Array]:
        """The results with one input changed, as real numbers."""
        inputs = list(self.inputs)
        x = inputs[at].detach()
        moved = x + tensor(_from_real(change, x), dtype=x.dtype)
        inputs[at] = moved.requires_grad_()  # the function may differentiate by it
        with enable_grad():
            return [_real(y.detach().clone()) for y in self.outs(inputs)]

    def differences(self, at: int, eps: float) -> list[Array]:
        """For each result, its derivatives by one input: [input, output] numbers."""
        columns = []
        for way in self.ways(self.inputs[at]):
            change = way * eps
            pairs = zip(self.moved(at, change), self.moved(at, -change), strict=True)
            columns.append([self.seen((a - b) / (2 * eps), _OUT) for a, b in pairs])
        return [np.stack(column) for column in zip(*columns, strict=True)]

    def ways(self, x: Tensor, side: int = _IN) -> Iterator[Array]:
        """Directions in which an input is moved, or a result is looked at."""
        count = _real(x.detach()).size
        if self.fast:
            yield _direction(count, side)
            return
        for i in range(count):
            unit = np.zeros(count)
            unit[i] = 1
            yield unit

    def seen(self, a: Array, side: int) -> Array:
        """What the directions of an input or a result see of numbers."""
        return a if not self.fast else (a @ _direction(a.size, side)).reshape(1)

    def cotangents(self, y: Tensor) -> Iterator[Tensor]:
        """The directions of a result, as backward takes them."""
        return (tensor(_from_real(v, y), dtype=y.dtype) for v in self.ways(y, _OUT))

    def near(self, at: int, y: Tensor, rtol: float, atol: float) -> dict[str, float]:
        """How far derivatives may be apart: a direction sums those of its elements."""
        if self.fast:
            for x, side in ((self.inputs[at], _IN), (y, _OUT)):
                atol *= float(_direction(_real(x.detach()).size, side).sum())
        return {"rtol": rtol, "atol": atol}


def _direction(count: int, side: int) -> Array:
    """A vector of length one, without zeros: the same for the same count and side."""
    v = 1 - np.random.default_rng(side).random(count)
    length: Array = v / max(float(np.linalg.norm(v)), 1e-300)
    return length


def _real(x: Tensor) -> Array:
    a = x.resolve_conj().numpy().reshape(-1)
    return np.stack([a.real, a.imag], 1).reshape(-1) if np.iscomplexobj(a) else a


def _from_real(a: Array, like: Tensor) -> Array:
    if like.dtype.is_complex:
        pairs = a.reshape(-1, 2)
        a = pairs[:, 0] + 1j * pairs[:, 1]
    return a.reshape(tuple(like.shape))


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True,
    fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether gradients agree with differences of the function.

    Every result that requires gradients is differentiated on its own, so that gradients
    of the others are missing.

    Args:
        inputs: those that require gradients are checked; a warning says which of them
            have less than double precision.
        eps: how far inputs are moved.
        raise_exception: raise a GradcheckError instead of returning False.
        nondet_tol: by how much a second backward may differ.
        fast_mode: compare derivatives along one direction alone, of random numbers,
            where all of them are too many.

    Examples:
        >>> import dovetail as torch
        >>> x = torch.ones(2, dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.sin, x)
        True
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = _Checked(func, given, fast_mode)
    near = {"rtol": rtol, "atol": atol}
    try:
        for at in checked.places:
            truth = checked.differences(at, eps)
            if check_backward_ad:
                _check_reverse(checked, at, truth, near, nondet_tol)
            if check_forward_ad:
                _check_forward(checked, at, truth, near)
            if check_batched_grad:
                _check_batched(checked, at)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check_reverse(
    checked: _Checked, at: int, truth: list[Array], near: Any, nondet_tol: float
) -> None:
    with enable_grad():
        outs = checked.outs(checked.inputs)
    for i, y in enumerate(outs):
        found = _by_rows(checked, at, y)
        _compare("Jacobian", i, at, found, truth[i], checked.near(at, y, **near))
        again = _by_rows(checked, at, y)
        if found.size and np.abs(found - again).max() > nondet_tol:
            raise GradcheckError(
                "gradcheck", f"gradient of output {i} by input {at}",
                was="different the second time: not reentrant",
                needed=f"differences of at most {nondet_tol}",
            )  # fmt: skip


def _by_rows(checked: _Checked, at: int, y: Tensor) -> Array:
    """Derivatives of a result by an input, by backward: [input, output] numbers."""
    x = checked.inputs[at]
    count = _real(x.detach()).size
    columns = []
    for ct in checked.cotangents(y):
        g = None
        if y.requires_grad:
            (g,) = autograd.grad([y], [x], [ct], True, False, True)
        slope = np.zeros(count) if g is None else _real(g.detach())
        columns.append(checked.seen(slope, _IN))
    return np.stack(columns, 1) if columns else np.zeros((count, 0))


def _check_forward(checked: _Checked, at: int, truth: list[Array], near: Any) -> None:
    x = checked.inputs[at].detach()
    columns = []
    slopes: list[Tensor] = []
    for way in checked.ways(x):
        move = tensor(_from_real(way, x), dtype=x.dtype)

        def called(value: Tensor) -> Any:
            given = [v.detach() if isinstance(v, Tensor) else v for v in checked.inputs]
            given[at] = value
            return tuple(checked.outs(given))

        slopes = jvp(called, (x,), (move,))[1]
        columns.append([checked.seen(_real(t.detach()), _OUT) for t in slopes])
    for i, column in enumerate(zip(*columns, strict=True)):
        allowed = checked.near(at, slopes[i], **near)
        _compare("forward mode's Jacobian", i, at, np.stack(column), truth[i], allowed)


def _check_batched(checked: _Checked, at: int) -> None:
    with enable_grad():
        outs = checked.outs(checked.inputs)
    x = checked.inputs[at]
    for i, y in enumerate(outs):
        if not y.requires_grad or not y.numel():
            continue
        rows = stack(list(checked.cotangents(y)), 0)

        def pull(ct: Tensor, y: Tensor = y) -> Tensor:
            (g,) = autograd.grad([y], [x], [ct], True, False, True)
            return zeros_of(x.detach(), tuple(x._a.shape)) if g is None else g

        each = stack([pull(ct) for ct in rows.unbind()], 0)
        if not np.allclose(_real(vmap(pull)(rows)), _real(each)):
            raise GradcheckError(
                "gradcheck", f"batched gradient of output {i} by input {at}",
                was="different from the gradients one by one", needed="the same",
            )  # fmt: skip


def _compare(
    what: str, out: int, at: int, found: Array, truth: Array, near: Any
) -> None:
    if found.shape == truth.shape and np.allclose(found, truth, **near):
        return
    raise GradcheckError(
        "gradcheck", f"{what} mismatch for output {out} with respect to input {at}",
        was=f"analytical {found.tolist()}", needed=f"numerical {truth.tolist()}",
    )  # fmt: skip


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *,
    eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """Whether gradients of gradients agree with differences of gradients.

    Args:
        grad_outputs: cotangents of the results, which are checked as inputs, too;
            random numbers unless given.
        fast_mode: as of `gradcheck`.
    """
    given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = _Checked(func, given)
    with no_grad():
        outs = checked.outs(given)
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        cts = [_random(rng, y) for y in outs]
    else:
        several = isinstance(grad_outputs, tuple | list)
        cts = list(grad_outputs) if several else [grad_outputs]
    count = len(given)

    def gradients(*values: Any) -> Any:
        own = list(values[:count])
        variables = [own[i] for i in checked.places]
        with enable_grad():
            for i in checked.places:
                if not own[i].requires_grad:
                    own[i] = own[i].detach().requires_grad_()
            variables = [own[i] for i in checked.places]
            ys = checked.outs(own)
            some = [i for i, y in enumerate(ys) if y.requires_grad]
            if not some:
                raise AutogradError(
                    "gradgradcheck", "function", was="one whose results do not depend "
                    "on the inputs", needed="one whose do",
                )  # fmt: skip
            found = autograd.grad(
                [ys[i] for i in some], variables,
                [values[count + i] for i in some], True, True, True,
            )  # fmt: skip
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients, (*given, *cts), eps=eps, atol=atol, rtol=rtol,
        raise_exception=raise_exception, nondet_tol=nondet_tol,
        check_batched_grad=check_batched_grad, check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev, fast_mode=fast_mode,
    )  # fmt: skip


def _random(rng: np.random.Generator, y: Tensor) -> Tensor:
    a = rng.standard_normal(tuple(y.shape))
    if y.dtype.is_complex:
        a = a + 1j * rng.standard_normal(tuple(y.shape))
    return tensor(a, dtype=y.dtype).requires_grad_()


__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
