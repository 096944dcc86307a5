"""A kernel that counts how often each piece is done, and takes its time over it."""

from __future__ import annotations

import ctypes

from dovetail.codegen import runtime

TEXT = """
define void @count(ptr %arguments, i64 %low, i64 %high) {
entry:
  %clock = alloca i64
  %out = load ptr, ptr %arguments
  %second = getelementptr i64, ptr %arguments, i64 1
  %turns = load i64, ptr %second
  br label %test
test:
  %i = phi i64 [ %low, %entry ], [ %next, %done ]
  %more = icmp slt i64 %i, %high
  br i1 %more, label %body, label %end
body:
  %place = getelementptr i64, ptr %out, i64 %i
  atomicrmw add ptr %place, i64 1 monotonic
  br label %burn
burn:
  %turn = phi i64 [ 0, %body ], [ %later, %burn ]
  store volatile i64 %turn, ptr %clock
  %later = add i64 %turn, 1
  %on = icmp slt i64 %later, %turns
  br i1 %on, label %burn, label %done
done:
  %third = getelementptr i64, ptr %arguments, i64 2
  atomicrmw add ptr %third, i64 1 monotonic
  %next = add i64 %i, 1
  br label %test
end:
  ret void
}
"""


class Counts:
    """How often each of some pieces was done.

    Args:
        pieces: how many there are.
        turns: how long each takes, in turns of about a nanosecond.
    """

    def __init__(self, pieces: int, turns: int = 1) -> None:
        self.pieces = pieces
        self.kernel = runtime.kernel("count", TEXT)
        self._out = (ctypes.c_int64 * (pieces + 2))()
        self._words = (ctypes.c_int64 * 3)(ctypes.addressof(self._out) + 8, turns)

    def run(self, grain: int, *, whole: bool = False) -> list[int]:
        """Do all pieces once, and say how often each was done so far."""
        address = ctypes.addressof(self._words)
        self.kernel.run(address, self.pieces, grain, whole=whole)
        return self.seen()

    def finished(self) -> int:
        """How many pieces have come to their end."""
        return self._words[2]

    def seen(self) -> list[int]:
        """How often each piece was done so far; nothing was done beside them."""
        assert (self._out[0], self._out[self.pieces + 1]) == (0, 0)
        return list(self._out)[1:-1]
