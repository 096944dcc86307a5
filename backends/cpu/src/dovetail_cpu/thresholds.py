"""From how many elements on a generated kernel is faster, by what it computes.

A call of one takes 1 µs beside its work. NumPy takes a call, and a pass over memory,
for each step of a body, and far longer where it has no function of its own. Where an op
has no other kernel, each step is a call of an op besides.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dovetail.codegen.mathematics import FUNCTIONS
from dovetail.codegen.program import Program
from dovetail_cpu.generated_pointwise import LEAST, SMALLEST

# What a step costs, in passes over memory.
_PASS: Final = 1
_FEW: Final = 4
_QUOTIENT: Final = 2
_QUOTIENTS: Final = frozenset({"div", "reciprocal", "sqrt"})
_FUNCTION: Final = 4
_BODY: Final = 64  # of a function that NumPy lacks
_CHOICE: Final = 8  # which NumPy's processor has to guess
_OP: Final = 16  # a call of one, where there are few elements
_HALF: Final = 16  # NumPy converts each number of 16-bit floats to and fro


def least_elements(program: Program, halves: bool, composed: bool = False) -> int:
    """From how many elements on a program is worth a kernel.

    Args:
        halves: whether its arrays hold floats of 16 bits.
        composed: whether the body serves small calls, one op after the other.
    """
    ops = [step.op for step in program.steps]
    weight = _CHOICE if ops == ["where"] else sum(map(_weight, ops)) or _PASS
    if halves:
        weight *= _HALF
    elif composed:
        weight += _OP * len(ops)
    elif weight < _FEW or (len(ops) == 1 and weight == _FUNCTION):
        return LEAST  # NumPy needs hardly more passes
    return max(SMALLEST, LEAST // 4 // weight)


def _weight(op: str) -> int:
    if op not in FUNCTIONS:
        return _QUOTIENT if op in _QUOTIENTS else _PASS
    return _FUNCTION if isinstance(getattr(np, op, None), np.ufunc) else _BODY
