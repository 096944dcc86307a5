"""Points that fill a cube evenly: torch.quasirandom."""

from __future__ import annotations

import typing as _typing
from importlib import import_module
from typing import ClassVar

import numpy as np

from dovetail import frontend as ft
from dovetail.dtypes import DType, get_default_dtype, int64
from dovetail.engine.generator import Generator
from dovetail.engine.missing_names import missing_name as _missing_name
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentError, DTypeError, NotSupported


class SobolEngine:
    """Sobol's sequence: points in [0, 1)^dimension whose every part is spread evenly.

    The direction numbers are those of Joe and Kuo (2008), which SciPy has
    (`dovetail[quasirandom]`). Point k is the exclusive or of the numbers at which the
    Gray code of k has ones (Antonov and Saleev 1979), so that drawing begins anywhere.

    Args:
        dimension: numbers a point has, 1 to 21,201.
        scramble: whether the digits are mixed by random matrices and then shifted
            (Matousek 1998), which keeps points spread and makes them random.
        seed: of the scrambling; None takes the default generator's numbers.

    Attributes:
        sobolstate: the direction numbers [dimension, 30], int64, in units of 2^-30.
        shift: the point that all others are added to, digit by digit [dimension].
        quasi: the point drawn last [dimension].
        num_generated: how many points have been drawn or passed over.

    Raises:
        ValueError: no such dimension.
        NotSupported: SciPy is not installed.

    Examples:
        >>> from dovetail.quasirandom import SobolEngine
        >>> SobolEngine(2).draw(4)
        tensor([[0.0000, 0.0000],
                [0.5000, 0.5000],
                [0.7500, 0.2500],
                [0.2500, 0.7500]])
    """

    MAXBIT: ClassVar[int] = 30
    MAXDIM: ClassVar[int] = 21201

    def __init__(
        self, dimension: int, scramble: bool = False, seed: int | None = None
    ) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ArgumentError(
                "SobolEngine",
                "dimension",
                was=dimension,
                needed=f"1 to {self.MAXDIM:,}",
            )
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        self.sobolstate = _directions(dimension, self.MAXBIT)
        self.shift = ft.zeros(dimension, dtype=int64, device="cpu")
        if scramble:
            self._scramble()
        self.quasi = self.shift.clone()
        self.num_generated = 0

    def draw(
        self, n: int = 1, out: Tensor | None = None, dtype: DType | None = None
    ) -> Tensor:
        """The next points [n, dimension], in the default dtype if none is named.

        Args:
            n: how many.
            out: takes their shape and values, and is returned.
            dtype: a floating one.

        Raises:
            ValueError: there are only 2^30 points.
            TypeError: the dtype is no floating one.
        """
        kind = dtype or get_default_dtype()
        if not kind.is_floating_point:
            raise DTypeError(
                "SobolEngine", "dtype", was=kind.name, needed="a floating point dtype"
            )
        points = self._points(self._next(n), n)
        result: Tensor = (points.double() / 2**self.MAXBIT).to(kind)
        self._pass_over(n, points[-1:])
        if out is not None:
            out.resize_as_(result).copy_(result)
            return out
        return result

    def draw_base2(
        self, m: int, out: Tensor | None = None, dtype: DType | None = None
    ) -> Tensor:
        """The next 2^m points [2^m, dimension], after which 2^k in all are drawn.

        Raises:
            ValueError: that many and those before are no power of 2, for which alone
                points are balanced.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ArgumentError(
                "draw_base2", "m", was=f"{m}, with which {total} points are drawn",
                needed="a power of 2 in all: `draw` takes any number",
            )  # fmt: skip
        return self.draw(n, out, dtype)

    def reset(self) -> SobolEngine:
        """Begin again with the first point; the scrambling stays."""
        self.quasi.copy_(self.shift)
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Pass over the next n points."""
        begin = self._next(n)
        self._pass_over(n, self._points(begin + n - 1, 1) if n else self.quasi[:0])
        return self

    def _next(self, n: int) -> int:
        """The number of the next point, if n more can be drawn."""
        if n < 0 or self.num_generated + n > 2**self.MAXBIT:
            raise ArgumentError(
                "SobolEngine", "n", was=n,
                needed=f"0 to {2**self.MAXBIT - self.num_generated:,}: "
                f"{self.num_generated:,} of 2^{self.MAXBIT} points are drawn",
            )  # fmt: skip
        return self.num_generated

    def _points(self, begin: int, n: int) -> Tensor:
        """Points by their numbers [n, dimension], in units of 2^-30.

        The Gray code is linear: low and high digits of numbers have points of their
        own, and each pair of these is another point.
        """
        digits = n.bit_length() // 2
        first, behind = begin >> digits, (begin + n >> digits) + 1
        low = self._sums(ft.arange(2**digits, device="cpu"))
        high = self._sums(ft.arange(first, behind, device="cpu") << digits)
        pairs = (high.unsqueeze(1) ^ low).reshape(-1, self.dimension)
        skipped = begin - (first << digits)
        found: Tensor = pairs[skipped : skipped + n] ^ self.shift
        return found

    def _sums(self, numbers: Tensor) -> Tensor:
        """The exclusive or of the direction numbers of each number's Gray code."""
        gray = (numbers ^ (numbers >> 1)).unsqueeze(1)
        sums: Tensor = ft.zeros(
            (len(numbers), self.dimension), dtype=int64, device="cpu"
        )
        for bit in range(self.MAXBIT):
            sums = sums ^ self.sobolstate[:, bit] * ((gray >> bit) & 1)
        return sums

    def _pass_over(self, n: int, last: Tensor) -> None:
        """Note that n points are drawn, with the last of them, if there is one."""
        if n:
            self.quasi = last.reshape(self.dimension)
        self.num_generated += n

    def _scramble(self) -> None:
        bits = self.MAXBIT
        generator: Generator | None = None
        if self.seed is not None:
            generator = Generator().manual_seed(self.seed)
        digits = ft.randint(
            2, (self.dimension, bits), generator=generator, device="cpu"
        )
        self.shift = _numbers(digits)
        size = (self.dimension, bits, bits)
        mixing = ft.randint(2, size, generator=generator, device="cpu").tril()
        self.sobolstate = _mixed(self.sobolstate, mixing)

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"]
        if self.scramble:
            parts.append("scramble=True")
        if self.seed is not None:
            parts.append(f"seed={self.seed}")
        return f"{type(self).__name__}({', '.join(parts)})"


def _mixed(state: Tensor, mixing: Tensor) -> Tensor:
    """Direction numbers whose digits are sums, modulo 2, of those before and itself.

    Args:
        state: [dimension, bits].
        mixing: zeros and ones [dimension, bits, bits] below the diagonal, which is
            taken for ones.
    """
    mixing = mixing.clone()
    mixing.diagonal(0, -2, -1).fill_(1)
    return _numbers(_digits(state) @ mixing.mT % 2)


def _digits(numbers: Tensor) -> Tensor:
    """Binary digits of numbers along a new last dim, the highest first."""
    bits = SobolEngine.MAXBIT
    places = ft.arange(bits - 1, -1, -1, device="cpu")
    found: Tensor = (numbers.unsqueeze(-1) >> places) & 1
    return found


def _numbers(digits: Tensor) -> Tensor:
    """What binary digits along the last dim, the highest first, stand for."""
    bits = SobolEngine.MAXBIT
    places = ft.arange(bits - 1, -1, -1, device="cpu")
    found: Tensor = (digits << places).sum(-1)
    return found


def _directions(dimension: int, bits: int) -> Tensor:
    """The direction numbers [dimension, bits] of Joe and Kuo, int64."""
    try:
        sobol = import_module("scipy.stats._sobol")  # private, so scipy is pinned
    except ImportError as error:
        raise NotSupported(
            "SobolEngine", "scipy", was="not installed", needed="for its numbers",
            remedy="pip install 'dovetail[quasirandom]'",
        ) from error  # fmt: skip
    found = np.zeros((dimension, bits), np.uint32)
    sobol._initialize_v(found, dimension, bits)
    numbers: Tensor = ft.from_numpy(found.astype(np.int64))
    return numbers


__all__ = ["SobolEngine"]

if not _typing.TYPE_CHECKING:
    __getattr__ = _missing_name(__name__)
