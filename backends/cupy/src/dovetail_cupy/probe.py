"""Why a machine has no device of CuPy's, in words, in the order that tells most."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Final, NamedTuple

from dovetail.errors import BackendError, DeviceError


class Platform(NamedTuple):
    """What one make of devices is called.

    Attributes:
        name: of the platform.
        hip: whether CuPy has to be the one for it.
        wheels: what the names of CuPy's wheels for it begin with.
        install: what brings one of them, for pip.
        driver: what the system has to have.
        unproven: what is not known of the backend, "" for nothing; `dovetail devices`
            says it beside the device's name.
    """

    name: str
    hip: bool
    wheels: str
    install: str
    driver: str
    unproven: str = ""


CUDA: Final = Platform(
    "CUDA", False, "cupy-cuda", "'dovetail-cuda[cuda12]' (or [cuda13])", "NVIDIA driver"
)
ROCM: Final = Platform(
    "ROCm",
    True,
    "cupy-rocm",
    "'dovetail-rocm[rocm7]'",
    "amdgpu driver",
    "this backend was never run on a card",
)
_ALL: Final = (CUDA, ROCM)


def library(platform: Platform) -> Any:
    """CuPy, if it is there, alone, and made for this platform.

    Raises:
        BackendError: it is not; the remedy is in its words.
    """
    wheel = _only_wheel()
    for other in _ALL:
        if other is not platform and wheel.startswith(other.wheels):
            raise _made_for_another(platform, f"{wheel}, for {other.name}")
    try:
        import cupy
    except Exception as error:  # absent, broken, or without the libraries it links to
        remedy = f"pip install {platform.install}"
        if wheel:
            remedy = (
                f"install the libraries of {platform.name} that {wheel} is made for"
            )
        raise BackendError(
            "device", "CuPy", was=f"not importable: {_first_line(error)}",
            needed=f"CuPy for {platform.name} and the libraries that it links to",
            remedy=remedy,
        ) from None  # fmt: skip
    if bool(cupy.cuda.runtime.is_hip) is not platform.hip:
        (other,) = (p for p in _ALL if p is not platform)
        raise _made_for_another(platform, f"{cupy.__version__} for {other.name}")
    return cupy


def _made_for_another(platform: Platform, was: str) -> BackendError:
    return BackendError(
        "device", "CuPy", was=was, needed=f"CuPy for {platform.name}",
        remedy="use an environment of its own for each: both own the name `cupy`",
    )  # fmt: skip


def _only_wheel() -> str:
    """The distribution that brings a package `cupy`, "" where none does.

    Raises:
        BackendError: there are several: they write over one another's files.
    """
    names = {str(d.metadata["Name"]).lower() for d in metadata.distributions()}
    prefixes = tuple(p.wheels for p in _ALL)
    found = sorted(n for n in names if n == "cupy" or n.startswith(prefixes))
    if len(found) > 1:
        raise BackendError(
            "device", "CuPy", was=f"installed {len(found)} times: {', '.join(found)}",
            needed="one wheel, for all of them own the name `cupy`",
            remedy=f"pip uninstall {' '.join(found)}, then install one of them",
        )  # fmt: skip
    return "".join(found)


def count(cupy: Any, platform: Platform) -> int:
    """How many devices there are.

    Raises:
        DeviceError: none, or the driver does not answer.
    """
    try:
        found = int(cupy.cuda.runtime.getDeviceCount())
    except Exception as error:
        raise DeviceError(
            "device", "driver", was=_first_line(error),
            needed=f"an {platform.driver} that CuPy {cupy.__version__} can use",
            remedy=f"install or update the {platform.driver}",
        ) from None  # fmt: skip
    if not found:
        raise DeviceError(
            "device", "devices", was="none found",
            needed=f"a device that the {platform.driver} shows to this process",
            remedy="look at CUDA_VISIBLE_DEVICES, HIP_VISIBLE_DEVICES, and permissions",
        )  # fmt: skip
    return found


def _first_line(error: BaseException) -> str:
    """What an error says, without the banner that CuPy puts around it."""
    lines = [line.strip() for line in str(error).splitlines()]
    kept = [line for line in lines if line.strip("= ")]
    cause = error.__cause__
    if cause is not None and str(cause):
        kept = str(cause).splitlines()
    return kept[0] if kept else type(error).__name__
