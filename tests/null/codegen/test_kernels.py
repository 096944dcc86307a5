"""LLVM IR becomes machine code once, and what is no IR is refused."""

from __future__ import annotations

import ctypes
import re

import pytest
from tests.support import child

from dovetail.codegen import runtime
from dovetail.codegen.runtime import machine
from dovetail.errors import NotSupported

# out[i] = i * factor for the pieces that it is given
SCALE = """
define void @scale(ptr %arguments, i64 %low, i64 %high) {
entry:
  %out = load ptr, ptr %arguments
  %second = getelementptr i64, ptr %arguments, i64 1
  %factor = load i64, ptr %second
  br label %test
test:
  %i = phi i64 [ %low, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %high
  br i1 %more, label %body, label %end
body:
  %value = mul i64 %i, %factor
  %place = getelementptr i64, ptr %out, i64 %i
  store i64 %value, ptr %place
  %next = add i64 %i, 1
  br label %test
end:
  ret void
}
"""


def scaled(count: int, factor: int, grain: int = 7) -> list[int]:
    """What the kernel `scale` writes, from memory that holds -1."""
    out = (ctypes.c_int64 * (count + 2))(*[-1] * (count + 2))
    words = (ctypes.c_int64 * 2)(ctypes.addressof(out) + 8, factor)
    kernel = runtime.kernel("scale", SCALE)
    kernel.run(ctypes.addressof(words), count, grain)
    assert (out[0], out[count + 1]) == (-1, -1)
    return list(out)[1:-1]


@pytest.mark.parametrize("count", [0, 1, 6, 7, 8, 1000])
def test_a_kernel_does_all_pieces(count: int) -> None:
    """Every piece is done, whatever the chunks, and nothing beside them."""
    assert scaled(count, 3) == [3 * i for i in range(count)]


def test_a_kernel_is_compiled_once() -> None:
    """The same key gives the same kernel, and its text is not asked for again."""
    first = runtime.kernel("scale", SCALE, key="one of these")
    again = runtime.kernel("scale", lambda: pytest.fail("written"), key="one of these")
    assert again is first


def test_what_is_no_ir_is_refused() -> None:
    """Text that is no module, and a module without the function, are errors."""
    with pytest.raises(ValueError, match="invalid LLVM IR"):
        runtime.kernel("broken", "define void @broken(")
    with pytest.raises(ValueError, match="without other"):
        runtime.kernel("other", SCALE)


def test_the_machine_is_known() -> None:
    """LLVM names this machine's CPU, and vectors have a width that it has."""
    host = runtime.host()
    assert host.cpu
    assert host.vector_bytes in {16, 32, 64}


def test_kernels_can_be_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """`DOVETAIL_KERNELS=off` is a reason that can be asked for, and is raised."""
    assert runtime.why_not() is None
    monkeypatch.setenv("DOVETAIL_KERNELS", "off")
    assert runtime.why_not() == "DOVETAIL_KERNELS=off switches them off"
    assert not runtime.available()
    with pytest.raises(NotSupported, match="asked for, but DOVETAIL_KERNELS=off"):
        machine.require()


def test_without_llvmlite() -> None:
    """A process that has no llvmlite is told so, before and when it asks."""
    code = """
import sys
sys.modules["llvmlite"] = None
from dovetail.codegen import runtime
from dovetail.errors import NotSupported
print(runtime.why_not())
try:
    runtime.kernel("f", "")
except NotSupported as error:
    print(error)
"""
    said = child.printed(code).splitlines()
    assert said[0] == "llvmlite is not installed"
    assert said[1] == (
        "kernels: asked for, but llvmlite is not installed; "
        "pip install 'dovetail-cpu[kernels]' has what they need"
    )


def test_nothing_is_loaded_before_it_is_needed() -> None:
    """Asking whether there can be kernels does not import llvmlite."""
    code = """
import sys
from dovetail.codegen import runtime
assert runtime.available()
print("llvmlite" in sys.modules, "dovetail.codegen.runtime.kernels" in sys.modules)
"""
    assert child.printed(code) == "False False"


def test_a_log_line_for_each_kernel() -> None:
    """`DOVETAIL_LOG=kernels` says what was compiled, in what time, and its size."""
    code = (
        f"from dovetail.codegen import runtime\nruntime.kernel('scale', '''{SCALE}''')"
    )
    done = child.python("-c", code, DOVETAIL_LOG="kernels", DOVETAIL_KERNEL_CACHE="off")
    first, second = done.stderr.splitlines()
    assert re.fullmatch(r"dovetail kernels: LLVM loaded in [\d.]+ ms", first)
    line = r"dovetail kernels: scale compiled in [\d.]+ ms, \d+ bytes"
    assert re.fullmatch(line, second)
    assert child.python("-c", code, DOVETAIL_LOG="").stderr == ""
