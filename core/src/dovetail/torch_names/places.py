"""Places in which torch has names that dovetail has elsewhere.

A place is a module without code of its own, which finds each name in others, the first
that has it: so `dovetail.nn.modules.conv.Conv2d` is `dovetail.nn.Conv2d`, and programs
import from where torch has it. A module that has a file may be
among them: then its other names are found so. Nothing of this is loaded before such a
name is asked for (`dovetail.engine.second_names`).
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dovetail.torch_names.left_out import reason_for_module

_PACKAGE: Final = "dovetail."
_NOWHERE: Final = object()
_PRIVATE: Final = "dovetail.torch_names.private"
_LAYERS: Final = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout "
    "flatten fold instancenorm lazy linear linear_cross_entropy "
    "linear_cross_entropy_options loss module normalization padding pixelshuffle "
    "pooling rnn sparse transformer upsampling utils"
)
_LAYER_MODULES: Final = {
    "container": "containers", "module": "module.module", "normalization": "norm",
    "rnn": "recurrent",
}  # fmt: skip
_DISTRIBUTIONS: Final = (
    "bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet "
    "exp_family exponential fishersnedecor gamma generalized_pareto geometric gumbel "
    "half_cauchy half_normal independent inverse_gamma kl kumaraswamy laplace "
    "lkj_cholesky log_normal logistic_normal lowrank_multivariate_normal "
    "mixture_same_family multinomial multivariate_normal negative_binomial normal "
    "one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical "
    "studentT transformed_distribution uniform utils von_mises weibull wishart"
)
_OPTIMIZERS: Final = (
    "adadelta adagrad adam adamax asgd nadam radam rmsprop rprop sgd sparse_adam"
)
# Files that torch has below one of ours, all of whose names ours has.
_FILES: Final = {
    "accelerator": "graphs memory",
    "cuda": "graphs memory random streams",
    "xpu": "graphs memory random streams",
    "mps": "event",
    "data.datapipes.iter": "callable combinatorics combining filelister fileopener "
    "grouping routeddecoder selecting sharding streamreader utils",
    "data.datapipes.map": "callable combinatorics combining grouping utils",
    "distributed": "device_mesh distributed_c10d",
    "multiprocessing": "pool queue spawn",
    "profiler": "profiler",
    "signal.windows": "windows",
    "utils.benchmark": "utils utils.common utils.timer",
}


def _own(name: str) -> str:
    """dovetail's module of a name."""
    return _PACKAGE + name


def _layers() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {"nn.modules": ("dovetail.nn", _PRIVATE)}
    for name in _LAYERS.split():
        own = f"dovetail.nn.{_LAYER_MODULES.get(name, name)}"
        found[f"nn.modules.{name}"] = ("dovetail.nn", own, _PRIVATE)
    found["nn.modules.module"] += (
        "dovetail.nn.module.errors", "dovetail.nn.module.global_hooks",
    )  # fmt: skip
    return found


def _files() -> dict[str, tuple[str, ...]]:
    return {
        f"{room}.{name}": (_own(room),)
        for room, names in _FILES.items()
        for name in names.split()
    }


# Where the names of torch's modules are found, by the modules' names below the package.
PLACES: Final[dict[str, tuple[str, ...]]] = {
    **_layers(),
    **_files(),
    **{
        f"distributions.{name}": ("dovetail.distributions", _PRIVATE)
        for name in _DISTRIBUTIONS.split()
    },
    "distributions.relaxed_bernoulli": ("dovetail.distributions.relaxed",),
    "distributions.relaxed_categorical": ("dovetail.distributions.relaxed",),
    **{
        f"{room}.amp.{name}": (f"dovetail.{room}.amp", f"dovetail.amp.{name}")
        for room in ("cpu", "cuda")
        for name in ("autocast_mode", "grad_scaler")
    },
    "__config__": ("dovetail.torch_names.config",),
    "_tensor": ("dovetail",),
    "_utils": (_PRIVATE,),
    "_jit_internal": (_PRIVATE, "typing"),
    "cuda.amp.common": (_PRIVATE,),
    "torch_version": (_PRIVATE,),
    "amp.autocast_mode": ("dovetail.amp",),
    "autograd.gradcheck": ("dovetail.autograd.gradient_checks", "dovetail.autograd"),
    "autograd.grad_mode": ("dovetail",),
    "autograd.profiler_util": ("dovetail.profiler.events",),
    "cuda.nvtx": ("dovetail.torch_names.ranges",),
    "data._utils": ("dovetail.data",),
    "data._utils.collate": ("dovetail.data.collate", "dovetail.data"),
    "data._utils.fetch": ("dovetail.data.fetch",),
    "data._utils.pin_memory": ("dovetail.data.pinning",),
    "data._utils.worker": ("dovetail.data.worker", "dovetail.data"),
    "data.dataloader": ("dovetail.data", "dovetail.data.iterators", _PRIVATE),
    "data.distributed": ("dovetail.data.distributed",),
    "distributed.constants": (_PRIVATE,),
    "distributed.nn": ("dovetail.distributed.differentiable",),
    "distributed.nn.functional": ("dovetail.distributed.differentiable",),
    "functional": ("dovetail",),
    "fx.passes.shape_prop": ("dovetail.fx.passes.shape_prop",),
    "hub": ("dovetail.torch_names.hub",),
    "jit.annotations": (_PRIVATE, "typing"),
    "nn._reduction": ("dovetail.torch_names.reductions",),
    "nn.common_types": (_PRIVATE,),
    "nn.functional._Reduction": ("dovetail.torch_names.reductions",),
    "nn.parallel._functions": ("dovetail.torch_names.parallel",),
    "nn.utils.stateless": ("dovetail.nn.utils.stateless",),
    "func": ("dovetail.nn.utils.batch_statistics",),
    "nn.utils.init": ("dovetail.nn.utils",),
    "nn.utils.memory_format": ("dovetail.nn.utils",),
    "optim._functional": tuple(
        f"dovetail.optim.{name}" for name in _OPTIMIZERS.split()
    ),
    "optim.adamw": ("dovetail.optim.adam", "dovetail.optim"),
    "optim.optimizer": ("dovetail.torch_names.optimizers",),
    "overrides": ("dovetail.torch_names.overrides",),
    "serialization": ("dovetail.io", _PRIVATE),
    "storage": ("dovetail.tensor_api.storages",),
    "types": (_PRIVATE, "dovetail"),
    "utils._foreach_utils": ("dovetail.torch_names.lists",),
    "utils._pytree": ("dovetail.torch_names.trees",),
    "utils.model_zoo": ("dovetail.torch_names.hub",),
    "version": (_PRIVATE,),
}


# Functions that are not loaded yet where a place of their names is made.
_FUNCTIONS: Final = frozenset({"gradcheck"})


class Place(ModuleType):
    """A module whose names are found in others."""

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(name, f"Names that are in {', '.join(sources)}.")
        self._sources = sources
        parent, _, own = name.rpartition(".")
        # Of a function that the place takes the place of.
        found = vars(sys.modules.get(parent, self)).get(own)
        if callable(found) and not isinstance(found, ModuleType):
            setattr(self, own, found)
            self.__class__ = CalledPlace
        if own in _FUNCTIONS:
            self.__class__ = CalledPlace
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no {name!r}")
        if is_place(f"{self.__name__}.{name}"):
            return import_module(f"{self.__name__}.{name}")
        for source in self._sources:
            found = _of(source, name)
            if found is not _NOWHERE and found is not self:
                return found
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}, nor have "
            f"{', '.join(self._sources)}, in which it finds names"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return [n for source in self._sources[:1] for n in dir(import_module(source))]


class CalledPlace(Place):
    """A module of whose name there is a function, as `autograd.gradcheck`."""

    @property
    def _function(self) -> Any:
        return getattr(self, self.__name__.rpartition(".")[2])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives."""
        return self._function(*args, **kwargs)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self._function)


def _of(source: str, name: str) -> Any:
    """What a module has by a name, `_NOWHERE` if there is none, or no module."""
    try:
        module = import_module(source)
    except ModuleNotFoundError as error:
        if error.name != source:
            raise
        return _NOWHERE
    return getattr(module, name, _NOWHERE)


def _key(name: str) -> str:
    """A module's name in `PLACES`: what `utils.data` is a second name of is there."""
    below = name.removeprefix(_PACKAGE)
    return below.removeprefix("utils.") if below.startswith("utils.data.") else below


def is_place(name: str) -> bool:
    """Whether a name such as `dovetail.nn.modules` is that of a place."""
    return name.startswith(_PACKAGE) and _key(name) in PLACES


def place_of(name: str) -> Place | None:
    """The place of a name such as `dovetail.nn.modules`, if there is one."""
    return Place(name, PLACES[_key(name)]) if is_place(name) else None


def elsewhere(module: str, name: str) -> Any:
    """What torch has in a module by a name that ours has in another; None for none."""
    for source in PLACES.get(_key(module), ()):
        found = _NOWHERE if source == module else _of(source, name)
        if found is not _NOWHERE:
            return found
    return None


def reason_of(name: str) -> str | None:
    """Why there is no module of a name that torch has, if that is declared."""
    return reason_for_module(_key(name))


def places() -> Iterable[str]:
    """The names of all places."""
    return [_own(key) for key in PLACES]
