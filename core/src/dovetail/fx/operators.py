"""Python's operators, by the names of the functions in `operator`."""

from __future__ import annotations

from typing import Final

# With two operands that may be given in either order, and what they look like.
REFLECTABLE: Final = {
    "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}", "floordiv": "{} // {}",
    "truediv": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}",
    "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}",
    "matmul": "{} @ {}",
}  # fmt: skip
MAGIC: Final = {
    **REFLECTABLE,
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}",
    "le": "{} <= {}", "ge": "{} >= {}", "pos": "+{}", "neg": "-{}", "invert": "~{}",
    "getitem": "{}[{}]",
}  # fmt: skip
INPLACE: Final = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}",
    "ilshift": "{} <<= {}", "imod": "{} %= {}", "imul": "{} *= {}",
    "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}",
    "irshift": "{} >>= {}", "isub": "{} -= {}", "itruediv": "{} /= {}",
    "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip
