"""dovetail: PyTorch's interface, with hardware as a plug-in."""

from __future__ import annotations

import gc
from importlib import import_module as _import_module
from math import inf as _inf
from math import nan as _nan
from typing import TYPE_CHECKING, Any
from typing import Final as _Final

# What an import makes stays. To look through it for garbage is a fifth of the import's
# time, and to take it apart when the process ends takes as long as the import: so it is
# frozen, with what little was there before. In a program that has run for a while,
# which the collector has looked through in full, what is there may yet become garbage:
# there nothing stays frozen.
_collects: _Final = gc.isenabled()
_at_work: _Final = bool(gc.get_stats()[2]["collections"] or gc.get_freeze_count())
if _collects and not _at_work:
    gc.collect(1)
gc.disable()
try:
    from dovetail import dtypes as _dtypes
    from dovetail import errors
    from dovetail.device import device
    from dovetail.dtypes import DType as dtype
    from dovetail.dtypes import (
        can_cast,
        get_default_dtype,
        promote_types,
        set_default_dtype,
    )
    from dovetail.engine.host import (
        fallbacks,
        get_fallback_policy,
        reset_fallbacks,
        set_fallback_policy,
    )  # fmt: skip
    from dovetail.engine.inference import inference_mode, is_inference_mode_enabled
    from dovetail.engine.later import FUNCTIONS as _LATER
    from dovetail.engine.later import load as _load
    from dovetail.engine.missing_names import missing_name as _missing_name
    from dovetail.engine.modes import (
        enable_grad,
        is_grad_enabled,
        no_grad,
        set_default_device,
        set_grad_enabled,
    )  # fmt: skip
    from dovetail.engine.second_names import install as _install
    from dovetail.engine.tensor import Tensor
    from dovetail.engine.tensor_type import Size
    from dovetail.frontend import NAMES as _NAMES
    from dovetail.frontend.tensor_classes import CLASSES as _TENSOR_CLASSES
    from dovetail.limits import finfo, iinfo
    from dovetail.memory_formats import FORMATS as _FORMATS
    from dovetail.memory_formats import LAYOUTS as _LAYOUTS
    from dovetail.memory_formats import layout, memory_format
finally:
    if _collects:
        if not _at_work:
            gc.freeze()
        gc.enable()

__version__: _Final = "0.1.0"

globals().update({d.name: d for d in _dtypes.ALL} | _dtypes.ALIASES | _dtypes.NAMED)
globals().update(_NAMES)
globals().update(_FORMATS | _LAYOUTS)
_install(lambda: _import_module("dovetail.torch_names.places"))
e: _Final = 2.718281828459045
pi: _Final = 3.141592653589793
inf: _Final = _inf
nan: _Final = _nan
newaxis: _Final = None

# Sub-packages load when they are first used, so that import stays light.
_LAZY: _Final = frozenset({
    "accelerator", "amp", "array_api", "autograd", "backends", "compiler", "cpu",
    "cuda", "data", "device_api", "distributed", "distributions", "fft", "func",
    "futures", "fx", "io", "jit", "library", "linalg", "masked", "mps",
    "multiprocessing", "nn",
    "optim", "profiler", "quasirandom", "random", "return_types", "signal", "sparse",
    "special", "testing", "utils", "xpu",
})  # fmt: skip
_FROM: _Final = {
    **{n.replace("Tensor", "Storage"): "tensor_api.storages" for n in _TENSOR_CLASSES},
    "TypedStorage": "tensor_api.storages", "UntypedStorage": "tensor_api.storages",
    "GradScaler": "amp", "autocast": "amp", "clear_autocast_cache": "amp",
    "compile": "compiler",
    "default_generator": "random",
    "get_autocast_cpu_dtype": "amp.autocast_mode", "get_autocast_dtype": "amp",
    "get_autocast_gpu_dtype": "amp.autocast_mode",
    "get_device_module": "device_modules",
    "get_num_threads": "codegen.runtime.threads",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_autocast_cache_enabled": "amp",
    "is_autocast_cpu_enabled": "amp.autocast_mode", "is_autocast_enabled": "amp",
    "load": "io", "save": "io",
    "set_autocast_cache_enabled": "amp",
    "set_autocast_cpu_dtype": "amp.autocast_mode",
    "set_autocast_cpu_enabled": "amp.autocast_mode", "set_autocast_dtype": "amp",
    "set_autocast_enabled": "amp", "set_autocast_gpu_dtype": "amp.autocast_mode",
    "set_num_threads": "codegen.runtime.threads",
    "vmap": "func",
}  # fmt: skip


_missing: _Final = _missing_name(__name__)


def _first_used(name: str) -> Any:
    if name in _LAZY:
        return _import_module(f"dovetail.{name}")
    if name in _FROM:
        return getattr(_import_module(f"dovetail.{_FROM[name]}"), name)
    if name in _LATER:
        _load(_LATER[name])
        found = globals()[name] = _NAMES[name]  # found at once from now on
        return found
    return _missing(name)


def __dir__() -> list[str]:
    return sorted(set(globals()) | _LAZY | set(_FROM) | set(_LATER))


if TYPE_CHECKING:
    from dovetail import accelerator as accelerator
    from dovetail import amp as amp
    from dovetail import array_api as array_api
    from dovetail import autograd as autograd
    from dovetail import compiler as compiler
    from dovetail import data as data
    from dovetail import device_api as device_api
    from dovetail import distributions as distributions
    from dovetail import fft as fft
    from dovetail import func as func
    from dovetail import io as io
    from dovetail import library as library
    from dovetail import linalg as linalg
    from dovetail import masked as masked
    from dovetail import multiprocessing as multiprocessing
    from dovetail import nn as nn
    from dovetail import optim as optim
    from dovetail import profiler as profiler
    from dovetail import quasirandom as quasirandom
    from dovetail import random as random
    from dovetail import return_types as return_types
    from dovetail import signal as signal
    from dovetail import sparse as sparse
    from dovetail import special as special
    from dovetail import testing as testing
    from dovetail import utils as utils
    from dovetail.amp import autocast as autocast
    from dovetail.amp import clear_autocast_cache as clear_autocast_cache
    from dovetail.amp import get_autocast_dtype as get_autocast_dtype
    from dovetail.amp import is_autocast_cache_enabled as is_autocast_cache_enabled
    from dovetail.amp import is_autocast_enabled as is_autocast_enabled
    from dovetail.amp import set_autocast_cache_enabled as set_autocast_cache_enabled
    from dovetail.amp import set_autocast_dtype as set_autocast_dtype
    from dovetail.amp import set_autocast_enabled as set_autocast_enabled
    from dovetail.amp.autocast_mode import (
        get_autocast_cpu_dtype as get_autocast_cpu_dtype,
    )
    from dovetail.amp.autocast_mode import (
        get_autocast_gpu_dtype as get_autocast_gpu_dtype,
    )
    from dovetail.amp.autocast_mode import (
        is_autocast_cpu_enabled as is_autocast_cpu_enabled,
    )
    from dovetail.amp.autocast_mode import (
        set_autocast_cpu_dtype as set_autocast_cpu_dtype,
    )
    from dovetail.amp.autocast_mode import (
        set_autocast_cpu_enabled as set_autocast_cpu_enabled,
    )
    from dovetail.amp.autocast_mode import (
        set_autocast_gpu_dtype as set_autocast_gpu_dtype,
    )
    from dovetail.autograd.anomaly_mode import (
        is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    )
    from dovetail.autograd.anomaly_mode import is_anomaly_enabled as is_anomaly_enabled
    from dovetail.codegen.runtime.threads import get_num_threads as get_num_threads
    from dovetail.codegen.runtime.threads import set_num_threads as set_num_threads
    from dovetail.compiler import compile as compile
    from dovetail.device_modules import get_device_module as get_device_module
    from dovetail.func import vmap as vmap
    from dovetail.io import load as load
    from dovetail.io import save as save
    from dovetail.random import default_generator as default_generator
    from dovetail.signatures.functions import *  # noqa: F403
else:
    __getattr__ = _first_used

__all__ = [
    "Size", "Tensor", "can_cast", "device", "dtype", "enable_grad", "errors",
    "fallbacks", "finfo", "get_default_dtype", "get_fallback_policy", "iinfo",
    "inference_mode", "is_grad_enabled", "is_inference_mode_enabled", "layout",
    "memory_format", "no_grad", "promote_types", "reset_fallbacks",
    "set_default_device", "set_default_dtype", "set_fallback_policy",
    "set_grad_enabled",
]  # fmt: skip
