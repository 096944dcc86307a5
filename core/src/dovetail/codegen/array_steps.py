"""Values of kernels on arrays, each step by a function of a NumPy-like library.

Such libraries round each step by itself, so that a kernel that fuses nothing gets the
same bits on every processor.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import methodcaller
from typing import Any, Final

from dovetail.codegen.ir import Value
from dovetail.codegen.values import Term

_FUNCTIONS: Final = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "shift_left": "left_shift", "shift_right": "right_shift",
    "lt": "less", "gt": "greater", "le": "less_equal", "ge": "greater_equal",
    "eq": "equal", "ne": "not_equal", "choose": "where",
    "neg": "negative", "sqrt": "sqrt",
}  # fmt: skip
_CONVERSIONS: Final = {"cast": "astype", "bits": "view"}


class Steps:
    """Arithmetic in the order in which it is computed.

    Args:
        xp: the library.
        given: what the arrays of a call stand for.
        results: what is computed of them.
    """

    def __init__(self, xp: Any, given: Sequence[Term], results: Sequence[Term]) -> None:
        self._xp = xp
        self._places = {x.value: at for at, x in enumerate(given)}
        self._constants: dict[int, Any] = {}
        self._steps: list[tuple[int, Any, tuple[int, ...]]] = []
        self._count = len(given)
        self._results = [self._place(y.value) for y in results]
        self._spent = self._last_uses()

    def _place(self, value: Value) -> int:
        """Where a value is held, once it is computed."""
        found = self._places.get(value)
        if found is not None:
            return found
        if value.op == "constant":
            place = self._next()
            self._constants[place] = self._xp.array(value.detail, value.dtype)
        else:
            operands = tuple([self._place(x) for x in value.operands])
            place = self._step(value, operands)
        self._places[value] = place
        return place

    def _step(self, value: Value, operands: tuple[int, ...]) -> int:
        xp = self._xp
        if value.op == "fma":
            product = self._does(xp.multiply, operands[:2])
            return self._does(xp.add, (product, operands[2]))
        if value.op in _CONVERSIONS:
            method = methodcaller(_CONVERSIONS[value.op], value.dtype)
            return self._does(method, operands)
        return self._does(getattr(xp, _FUNCTIONS[value.op]), operands)

    def _does(self, function: Any, operands: tuple[int, ...]) -> int:
        place = self._next()
        self._steps.append((place, function, operands))
        return place

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _last_uses(self) -> list[list[int]]:
        """The places that nothing needs after each step: memory for the next ones."""
        needed = {*self._results, *self._constants}
        found: list[list[int]] = []
        for _, _, operands in reversed(self._steps):
            found.append(list(set(operands) - needed))
            needed.update(operands)
        return found[::-1]

    def __call__(self, *arrays: Any) -> list[Any]:
        """The results, of one array for each thing that is given."""
        held: dict[int, Any] = {**dict(enumerate(arrays)), **self._constants}
        for (place, function, operands), spent in zip(
            self._steps, self._spent, strict=True
        ):
            held[place] = function(*[held[at] for at in operands])
            for at in spent:
                del held[at]
        return [held[at] for at in self._results]
