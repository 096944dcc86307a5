"""What arguments are drawn from: Python sources, evaluated beside either library."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

SHAPES: Final = (
    (), (1,), (3,), (5,), (2, 3), (3, 2), (3, 3), (2, 3, 4), (1, 3, 8, 8), (2, 0),
    (0,), (4, 5), (2, 2, 3, 3), (1, 1, 4, 4, 4),
)  # fmt: skip
DTYPES: Final = (
    "float32", "float32", "float32", "float64", "int64", "int64", "int32", "int8",
    "uint8", "bool", "float16", "bfloat16", "complex64", "uint16",
)  # fmt: skip
DIMS: Final = ("0", "1", "-1", "2", "-3", "9", "-9", "(0, 1)", "(0, 0)", "()", "None")
COUNTS: Final = ("0", "1", "2", "3", "-1", "7", "1 << 40", "1 << 62", "1 << 63")
NUMBERS: Final = (
    "0", "1", "-1", "2", "100", "-129", "300", "1 << 31", "1 << 63", "1 << 70",
    "10 ** 400", "0.5", "-0.5", "1.5", "0.0", "1e300", "float('nan')", "float('inf')",
    "-float('inf')", "True", "1j", "complex(1, 2)",
)  # fmt: skip
STRINGS: Final = (
    "''", "'mean'", "'sum'", "'none'", "'linear'", "'bogus'", "'same'", "'valid'",
    "'constant'", "'tanh'", "'floor'", "'nearest'", "'fro'", "'ij,jk->ik'", "'ij,jk'",
)  # fmt: skip
SIZES: Final = (
    "(2, 3)", "[3]", "()", "[]", "(-1,)", "(2, -1)", "(1,) * 65", "(1 << 40, 1 << 40)",
    "(1 << 62,)", "(1 << 70,)", "(2.0,)", "('a',)", "((1, 2), (3,))", "(None,)",
    "(1, 1, 1)", "(2, 2)", "(0, 0)", "6", "(1 << 33,)",
)  # fmt: skip
ODD: Final = (
    "None", "object()", "{}", "[]", "()", "'abc'", "b'x'", "slice(None)", "...",
    "range(3)", "[1, 'a']", "[None]", "[[1, 2], [3]]", "deep(300)", "deep(70)",
    "lambda x: x", "{1, 2}", "np.ones(3)", "np.float32(2)", "np.int64(2)",
    "np.array('a')", "[1, 2, 3]", "[0.5, 2.0]", "(True, False)", "torch.float32",
    "torch.int8", "torch.device('cpu')", "'cpu'", "'cuda:7'", "'meta'", "int", "type",
    "torch", "[torch.ones(2), 3]", "(torch.ones(2), torch.ones(3))", "[torch.ones(2)]",
    "NotImplemented", "iter([1, 2])", "float", "bytearray(8)", "1 << 64",
)  # fmt: skip


def tensor(rng: random.Random, shape: Sequence[int] | None = None) -> str:
    """The source of a tensor, most often an ordinary one."""
    shape = rng.choice(SHAPES) if shape is None else tuple(shape)
    dtype = rng.choice(DTYPES)
    count = 1
    for n in shape:
        count *= n
    start = rng.choice(("-2", "0", "1"))
    end = f"{start} + {count}"
    text = f"torch.arange({start}, {end}).reshape({shape}).to(torch.{dtype})"
    how = rng.random()
    if how < 0.08:
        text = f"torch.full({shape}, {rng.choice(NUMBERS[-8:-3])})"
    elif how < 0.12:
        text = f"torch.ones({shape}, device='meta')"
    elif how < 0.2 and len(shape) > 1:
        text += ".transpose(0, 1)"
    elif how < 0.25:
        text = f"torch.ones({(*shape, 1)}).expand({(*shape, 3)})"
    elif how < 0.35 and dtype in ("float32", "float64"):
        text += ".requires_grad_()"
    return text


def plausible(rng: random.Random, name: str, annotation: str) -> str:
    """An argument such as its name and annotation ask for, often a fitting one."""
    kind = f"{name} {annotation}"
    if "Tensor" in annotation and "Sequence" in annotation:
        pair = ", ".join(tensor(rng) for _ in range(rng.randint(0, 3)))
        return f"[{pair}]"
    if "dtype" in kind.lower():
        return f"torch.{rng.choice(DTYPES)}"
    if "device" in kind.lower():
        return rng.choice(("'cpu'", "'meta'", "'cuda'", "'cpu:1'", "'nonsense'", "3"))
    if "dim" in name or name in ("dims", "axis", "Axis"):
        return rng.choice(DIMS)
    if "Tensor" in annotation or name in ("input", "other", "self", "x", "target"):
        return tensor(rng)
    if "size" in name or "shape" in name or "Sequence" in annotation:
        return rng.choice(SIZES)
    if "bool" in annotation:
        return rng.choice(("True", "False", "0", "None"))
    if "str" in annotation:
        return rng.choice(STRINGS)
    if annotation.startswith("int"):
        return rng.choice(COUNTS)
    if annotation.startswith("float"):
        return rng.choice(NUMBERS)
    return tensor(rng) if rng.random() < 0.6 else anything(rng)


def anything(rng: random.Random) -> str:
    """Whatever may be passed by mistake."""
    how = rng.random()
    if how < 0.35:
        return rng.choice(ODD)
    if how < 0.6:
        return tensor(rng)
    if how < 0.8:
        return rng.choice(NUMBERS)
    return rng.choice((*SIZES, *STRINGS, *DIMS, *COUNTS))
