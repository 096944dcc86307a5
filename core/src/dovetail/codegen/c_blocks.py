"""What the threads of a block do together, as C: they add up, and they count on.

Both leave the memory that they share free for others. They are written for an
accumulator's `type` and what it does, `combine`: `combined` is that of `a` and `b`.
"""

from __future__ import annotations

from typing import Final

# Every thread gets what all together have.
ACROSS: Final = """\
FUNCTION {type} {combine}_across_{type}({type} x, LOCAL {type} *shared) {{
  shared[THREAD] = x;
  BARRIER;
  for (int step = THREADS / 2; step >= WARP; step /= 2) {{
    if (THREAD < step) {{
      const {type} a = shared[THREAD], b = shared[THREAD + step];
      shared[THREAD] = {combined};
    }}
    BARRIER;
  }}
  {type} a = shared[THREAD % WARP];
  for (int step = WARP / 2; step > 0; step /= 2) {{
    const {type} b = shuffled(a, step);
    a = {combined};
  }}
  BARRIER;
  return a;
}}
"""
# What threads up to each one have; shared memory has it as well.
PREFIX: Final = """\
FUNCTION {type} {combine}_prefix_{type}({type} x, LOCAL {type} *shared) {{
  {type} b = x;
  for (int step = 1; step < THREADS; step *= 2) {{
    shared[THREAD] = b;
    BARRIER;
    if (THREAD >= step) {{
      const {type} a = shared[THREAD - step];
      b = {combined};
    }}
    BARRIER;
  }}
  shared[THREAD] = b;
  BARRIER;
  return b;
}}
"""
