"""signal.windows.

Written by `python -m dovetail.signatures`.
"""

from collections.abc import Iterable

from dovetail.device import device
from dovetail.dtypes import DType
from dovetail.engine.tensor import Tensor
from dovetail.memory_formats import layout

def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A triangle between zeros."""

def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Blackman's window, of three cosines; one period without its last point
    where not `sym`.
    """

def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Half a period of a sine."""

def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """exp(-|k - center| / tau)."""

def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """exp(-(k - middle)² / (2 std²))."""

def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A sum of cosines of 0, 1, … turns, with weights `a` of alternating sign."""

def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) cos of one turn."""

def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Hamming's window; one period without its last point where not `sym`."""

def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Hann's window, a raised cosine; one period without its last point where
    not `sym`.
    """

def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Kaiser's window, of a Bessel function."""

def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: layout | None = None,
    device: device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """Nuttall's window, of four cosines; one period without its last point
    where not `sym`.
    """
