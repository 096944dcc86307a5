"""A library's function, called for each item of arrays.

It gets addresses alone, as the functions of LAPACK do: of numbers that all calls
share, and of what each item has for itself.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final

from dovetail.codegen import runtime
from dovetail.codegen.runtime import Kernel
from dovetail.codegen.runtime.machine import available

_MANY: Final = 16  # calls, from which on compiled code makes them

# table: the function; for each argument its address at the first item, and how many
# bytes further it is at the next one.
_TEXT: Final = """
define void @NAME(ptr %table, i64 %low, i64 %high) {
entry:
  %function = load ptr, ptr %table, align 8
HEAD
  %any = icmp slt i64 %low, %high
  br i1 %any, label %item, label %end
item:
  %i = phi i64 [ %low, %entry ], [ %next, %item ]
BODY
  call void %function(ARGUMENTS)
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %high
  br i1 %more, label %item, label %end
end:
  ret void
}
"""
_HEAD: Final = """\
  %at.J = getelementptr i64, ptr %table, i64 WORD
  %first.J = load ptr, ptr %at.J, align 8
  %behind.J = getelementptr i64, ptr %table, i64 NEXT
  %step.J = load i64, ptr %behind.J, align 8"""
_BODY: Final = """\
  %far.J = mul i64 %i, %step.J
  %own.J = getelementptr i8, ptr %first.J, i64 %far.J"""


def call_each(
    function: int, arguments: Sequence[tuple[int, int]], count: int, grain: int
) -> None:
    """Call a function for each of `count` items.

    Args:
        function: its address.
        arguments: for each the address at the first item, and the bytes to the next.
        grain: how many calls a thread makes at a time.
    """
    if count < _MANY or not available():
        call = _prototype(len(arguments))(function)
        for i in range(count):
            call(*[first + i * step for first, step in arguments])
        return
    words = [function, *[word for pair in arguments for word in pair]]
    table = (ctypes.c_int64 * len(words))(*words)
    _loop(len(arguments)).run(ctypes.addressof(table), count, grain)


@cache
def _prototype(arguments: int) -> Callable[[int], Any]:
    """What makes a function at an address one that Python can call."""
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * arguments)


@cache
def _loop(arguments: int) -> Kernel:
    """The loop over items of a function of so many arguments."""
    name = f"library_calls_{arguments}"
    head, body = [], []
    for j in range(arguments):
        words = _HEAD.replace("WORD", str(1 + 2 * j)).replace("NEXT", str(2 + 2 * j))
        head.append(words.replace("J", str(j)))
        body.append(_BODY.replace("J", str(j)))
    given = ", ".join(f"ptr %own.{j}" for j in range(arguments))
    text = _TEXT.replace("NAME", name).replace("HEAD", "\n".join(head))
    text = text.replace("BODY", "\n".join(body)).replace("ARGUMENTS", given)
    return runtime.kernel(name, text)


__all__ = ["call_each"]
