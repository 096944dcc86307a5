"""Kernels of oneDNN, Intel's library of deep-learning primitives, where it is there.

`library.py` finds and loads it, `primitives.py` describes arrays and makes primitives,
`programs.py` runs them on parts of a batch by the threads of generated kernels, and the
other modules serve ops with them.
"""

from __future__ import annotations

from dovetail_cpu.onednn.library import why_not

__all__ = ["why_not"]
