"""torch.fft beside torch's own: values, lengths, scales, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import dovetail as dt

ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = tuple(f"{name}{dims}" for name in ONE for dims in "2n")
REAL_ONLY = ("rfft", "ihfft")


def _drawn(name: str, *shape: int) -> Any:
    draw = np.random.default_rng(7)
    x = draw.standard_normal(shape)
    return x if name.startswith(REAL_ONLY) else x + 1j * draw.standard_normal(shape)


def _agree(name: str, x: Any, **options: Any) -> None:
    own = getattr(dt.fft, name)(dt.tensor(x), **options)
    theirs = getattr(torch.fft, name)(torch.tensor(x), **options).resolve_conj()
    assert str(own.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    np.testing.assert_allclose(own.numpy(), theirs.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
@pytest.mark.parametrize("name", ONE)
def test_lines(name: str, norm: str | None) -> None:
    """Transforms along one dim, of fewer and of more numbers than there are."""
    x = _drawn(name, 3, 6, 2)
    for n in (None, 4, 9):
        _agree(name, x, n=n, dim=1, norm=norm)


@pytest.mark.parametrize("name", SEVERAL)
def test_planes(name: str) -> None:
    """Transforms along several dims, of the sizes that are asked for."""
    x = _drawn(name, 3, 6, 4)
    _agree(name, x)
    _agree(name, x, s=(5, 3), dim=(2, 0), norm="ortho")
    _agree(name, x, s=(-1, -1), dim=(0, 1))


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name: str) -> None:
    """The frequency 0 goes to the middle, and back."""
    for dim in (None, 1, (0, -1)):
        _agree(name, _drawn(name, 3, 4, 5), dim=dim)


@pytest.mark.parametrize("n", [1, 4, 7])
def test_frequencies(n: int) -> None:
    """Frequencies in the order of the transforms."""
    for name in ("fftfreq", "rfftfreq"):
        own = getattr(dt.fft, name)(n, 0.25, dtype=dt.float64)
        theirs = getattr(torch.fft, name)(n, 0.25, dtype=torch.float64)
        np.testing.assert_allclose(own.numpy(), theirs.numpy())


@pytest.mark.parametrize(("name", "dtype", "options"), [
    ("fft", "float32", {"n": 0}), ("fft", "float32", {"norm": "none"}),
    ("rfft", "complex64", {}), ("fft", "float32", {"dim": 3}),
    ("fftn", "float32", {"dim": (0, 0)}), ("fftn", "float32", {"s": (2, 2, 2)}),
    ("fft2", "float32", {"s": (2,)}), ("irfft", "complex64", {"n": 0}),
    ("rfftn", "float32", {"dim": ()}),
])  # fmt: skip
def test_refusals(name: str, dtype: str, options: dict[str, Any]) -> None:
    """What torch refuses is refused, with an error that torch's users catch."""
    with pytest.raises((RuntimeError, IndexError)):
        getattr(torch.fft, name)(
            torch.ones(3, 2, dtype=getattr(torch, dtype)), **options
        )
    with pytest.raises((RuntimeError, IndexError)):
        getattr(dt.fft, name)(dt.ones(3, 2, dtype=getattr(dt, dtype)), **options)


SIGNAL = np.random.default_rng(2).standard_normal((2, 40))


@pytest.mark.parametrize("options", [
    {}, {"hop_length": 3, "normalized": True}, {"center": False, "win_length": 6},
    {"onesided": False, "pad_mode": "constant"},
])  # fmt: skip
def test_short_pieces(options: dict[str, Any]) -> None:
    """Transforms of short pieces, their gradients, and the way back are torch's."""
    found = []
    for lib in (dt, torch):
        x = lib.tensor(SIGNAL, requires_grad=True)
        n = options.get("win_length", 8)
        taper = lib.linspace(0.5, 1.5, n, dtype=lib.float64)
        y = lib.stft(x, 8, window=taper, return_complex=True, **options)
        back = {k: v for k, v in options.items() if k != "pad_mode"}
        if options.get("center", True):
            z = lib.istft(y, 8, window=taper, **back)
            np.testing.assert_allclose(z.detach().numpy(), SIGNAL[:, : z.shape[1]])
        else:
            z = lib.view_as_real(y)
        (z * z).sum().backward()
        found.append([lib.view_as_real(y).detach().numpy(), x.grad.numpy()])
    for own, other in zip(*found, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-10)


def test_pieces_without_a_choice() -> None:
    """Of a real signal, how complex numbers are given has to be said."""
    for lib in (dt, torch):
        with pytest.raises(RuntimeError):
            lib.stft(lib.ones(20), 4, window=lib.ones(4))
