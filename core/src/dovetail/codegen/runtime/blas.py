"""NumPy's BLAS and LAPACK: their functions, and how many threads they have.

OpenBLAS has threads of its own, which wait for each other in every product, and beside
others that want the cores cost many times the product. So it is kept at one thread, and
products are cut into pieces for the one pool of threads that there is.
"""

from __future__ import annotations

import ctypes
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

# How builds of OpenBLAS name a function: what stands before and behind it, and the
# bits of its integers.
_NAMES: Final = (
    ("scipy_", "64_", 64),
    ("", "64_", 64),
    ("scipy_", "", 32),
    ("", "", 32),
)


class Blas(NamedTuple):
    """OpenBLAS, as NumPy brought it along.

    Attributes:
        gemm: addresses of `cblas_sgemm` and `cblas_dgemm`, by the code
            of their dtype.
        bits: of its integers.
        set_threads, get_threads: its number of threads.
        library: what has them.
        pattern: the name of a function of Fortran's, as the library has it.
    """

    gemm: dict[str, int]
    bits: int
    set_threads: Any
    get_threads: Any
    library: Any
    pattern: str

    def address(self, name: str) -> int | None:
        """Where a function of LAPACK begins, such as `sgetrf`; None for none."""
        found = getattr(self.library, self.pattern.format(name), None)
        return None if found is None else _address(found)


@cache
def blas() -> Blas | None:
    """NumPy's BLAS; None where it is none whose threads can be counted."""
    try:
        umath = import_module("numpy._core._multiarray_umath")
        library = ctypes.CDLL(umath.__file__)
    except (ImportError, OSError):
        return None
    for before, behind, bits in _NAMES:
        try:
            gemm = {
                code: _address(library[f"{before}cblas_{letter}gemm{behind}"])
                for code, letter in (("f", "s"), ("d", "d"))
            }
            set_threads = library[f"{before}openblas_set_num_threads{behind}"]
            get_threads = library[f"{before}openblas_get_num_threads{behind}"]
        except AttributeError:
            continue
        pattern = f"{before}{{}}_{behind}"
        return Blas(gemm, bits, set_threads, get_threads, library, pattern)
    return None


def _address(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)
