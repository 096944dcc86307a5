"""The CPU that kernels are compiled for, and LLVM, imported when one is needed.

`why_not()` can be asked beforehand and is cheap; everything else raises what it says.
"""

from __future__ import annotations

import ctypes
import os
import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import count
from threading import RLock
from typing import Any, Final

from dovetail.codegen.runtime.kernel_log import log
from dovetail.errors import NotSupported

SWITCH: Final = "DOVETAIL_KERNELS"

# Vectors of this many bytes, by the feature that brings them.
_WIDTHS: Final = (("avx512f", 64), ("avx", 32), ("sse2", 16), ("neon", 16))
_PASSES: Final = ("instruction_combine", "new_gvn", "simplify_cfg")
_ARCHITECTURES: Final = frozenset({"x86_64", "amd64", "aarch64", "arm64"})

# LLVM serves one thread at a time. A fork waits for it, so that a child never finds
# it in the middle of something.
lock: Final = RLock()
waiting: Final[list[Callable[[], None]]] = []
"""What is called once the process has its first kernel."""
_broken: list[str] = []
_libraries: Final[list[Any]] = []  # what keeps machine code in memory
_numbers: Final = count()  # a name is used up even where linking fails


@dataclass(frozen=True, slots=True)
class Host:
    """The machine as LLVM knows it.

    Args:
        triple: architecture and system, e.g. `"x86_64-unknown-linux-gnu"`.
        cpu: LLVM's name of the CPU, e.g. `"znver5"`.
        features: what it can do, e.g. `"+avx2,-sse4a"`.
        vector_bytes: bytes in its widest vectors.
        llvm: versions of LLVM and of llvmlite.
    """

    triple: str
    cpu: str
    features: str
    vector_bytes: int
    llvm: str


def why_not() -> str | None:
    """Why no kernels can be compiled here, or None where they can."""
    if os.environ.get(SWITCH, "").lower() in {"0", "off", "no", "false"}:
        return f"{SWITCH}={os.environ[SWITCH]} switches them off"
    if platform.machine().lower() not in _ARCHITECTURES:
        return f"kernels are generated for x86-64 and ARM64, not {platform.machine()}"
    if _broken:
        return _broken[0]
    return None if _installed() else "llvmlite is not installed"


def available() -> bool:
    """Whether kernels can be compiled here; `why_not` has the reason."""
    return why_not() is None


@cache
def _installed() -> bool:
    from importlib.util import find_spec

    try:
        return find_spec("llvmlite") is not None
    except ValueError:  # hidden by an entry of sys.modules
        return False


def require() -> None:
    """Raise where no kernels can be compiled."""
    reason = why_not()
    if reason is not None:
        raise NotSupported(
            "kernels", was=f"asked for, but {reason}",
            remedy="pip install 'dovetail-cpu[kernels]' has what they need",
        )  # fmt: skip


@cache
def _llvm() -> Any:
    """llvmlite's bindings, ready for this machine; 60 to 150 ms when first asked."""
    require()
    began = time.perf_counter()
    try:
        import llvmlite.binding as llvm

        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
    except Exception as error:  # a wheel that does not fit fails in many ways
        _broken.append(f"llvmlite cannot be loaded: {error}")
        raise NotSupported("kernels", was=f"asked for, but {_broken[0]}") from error
    log(f"LLVM loaded in {(time.perf_counter() - began) * 1e3:.1f} ms")
    return llvm


@cache
def host() -> Host:
    """The machine that this process runs on."""
    with lock:
        llvm = _llvm()
        import llvmlite

        features = llvm.get_host_cpu_features()
        width = next((w for name, w in _WIDTHS if features.get(name)), 16)
        version = ".".join(str(part) for part in llvm.llvm_version_info)
        return Host(
            triple=llvm.get_process_triple(),
            cpu=llvm.get_host_cpu_name(),
            features=features.flatten(),
            vector_bytes=width,
            llvm=f"{version}/{llvmlite.__version__}",
        )


@cache
def _target() -> Any:
    here = host()
    target = _llvm().Target.from_triple(here.triple)
    return target.create_target_machine(
        cpu=here.cpu, features=here.features, opt=2, jit=True,
        reloc="pic", codemodel="default",
    )  # fmt: skip


def recipe() -> str:
    """What object code depends on beside its text."""
    here = host()
    return f"{here.triple} {here.cpu} {here.features} {here.llvm} {_PASSES}"


def compiled(text: str) -> bytes:
    """Object code of a module of LLVM IR, for this machine.

    Vectors are explicit in what the renderer writes, so only passes that tidy up are
    run: half the time of `-O1`, with code that is as fast.

    Raises:
        ValueError: the text is no valid module.
    """
    with lock:
        llvm, target = _llvm(), _target()
        try:
            module = llvm.parse_assembly(text, llvm.create_context())
            module.verify()
        except RuntimeError as error:
            raise ValueError(f"invalid LLVM IR: {error}") from error
        module.triple = host().triple
        tuning = llvm.create_pipeline_tuning_options(speed_level=1)
        passes = llvm.create_new_module_pass_manager()
        for name in _PASSES:
            getattr(passes, f"add_{name}_pass")()
        passes.run(module, llvm.create_pass_builder(target, tuning))
        return bytes(target.emit_object(module))


@cache
def _linker() -> Any:
    return _llvm().create_lljit_compiler(_target(), use_jit_link=False)


def linked(code: bytes, names: tuple[str, ...]) -> tuple[int, ...]:
    """The addresses of functions of object code, which stays in memory from now on.

    Raises:
        ValueError: the code has no such functions, or needs some that there are not.
    """
    with lock:
        library = _llvm().JITLibraryBuilder().add_object_img(code).add_current_process()
        for name in names:
            library.export_symbol(name)
        try:
            found = library.link(_linker(), f"kernels{next(_numbers)}")
        except RuntimeError as error:
            raise ValueError(f"object code without {', '.join(names)}") from error
        _libraries.append(found)
        return tuple(found[name] for name in names)


def keep_forever(*things: Any) -> None:
    """Keep things, and all machine code, beyond the end of the interpreter.

    For what is called by objects that may be the last to go.
    """
    keep = ctypes.pythonapi.Py_IncRef
    for thing in (*things, *_libraries, _linker()):
        keep(ctypes.py_object(thing))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lock.acquire,
        after_in_parent=lock.release,
        after_in_child=lock.release,
    )
