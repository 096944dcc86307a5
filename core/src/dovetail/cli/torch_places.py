"""Places in which torch has names that dovetail has elsewhere.

A place is a module below `torch` without code of its own: it finds each name in
dovetail's modules, the first that has it. So `torch.nn.modules.conv.Conv2d` is
`dovetail.nn.Conv2d`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any, Final

from dovetail.cli.torch_rooms import KEPT, Kept, is_missing, kept_room, missing

_NOWHERE: Final = object()
_PRIVATE: Final = "dovetail.cli.torch_private"
_REDUCTIONS: Final = "dovetail.cli.torch_reductions"
_HUB: Final = "dovetail.cli.torch_hub"
_CONFIG: Final = "dovetail.cli.torch_config"
_RANGES: Final = "dovetail.cli.torch_ranges"
_PRIVATE_LISTS: Final = "dovetail.cli.torch_lists"
_LAYERS: Final = (
    "activation adaptive batchnorm channelshuffle container conv distance dropout "
    "flatten fold instancenorm lazy linear loss module normalization padding "
    "pixelshuffle pooling rnn sparse transformer upsampling utils"
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


def _layers() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {"torch.nn.modules": ("dovetail.nn", _PRIVATE)}
    for name in _LAYERS.split():
        own = f"dovetail.nn.{_LAYER_MODULES.get(name, name)}"
        found[f"torch.nn.modules.{name}"] = ("dovetail.nn", own, _PRIVATE)
    found["torch.nn.modules.module"] += ("dovetail.nn.module.errors",)
    return found


# Where the names of torch's modules are found, by the modules' own names.
PLACES: Final[dict[str, tuple[str, ...]]] = {
    **_layers(),
    **{
        f"torch.distributions.{name}": ("dovetail.distributions", _PRIVATE)
        for name in _DISTRIBUTIONS.split()
    },
    "torch.nn.common_types": (_PRIVATE,),
    "torch.nn._reduction": (_REDUCTIONS,),
    "torch.nn.functional._Reduction": (_REDUCTIONS,),
    "torch.types": (_PRIVATE, "dovetail"),
    "torch.fx.passes.shape_prop": ("dovetail.fx.passes.shape_prop",),
    "torch.version": (_PRIVATE,),
    "torch.serialization": ("dovetail.io", _PRIVATE),
    "torch.utils._pytree": ("dovetail.cli.torch_trees",),
    "torch.__config__": (_CONFIG,),
    "torch.autograd.gradcheck": ("dovetail.autograd",),
    "torch.autograd.grad_mode": ("dovetail",),
    "torch.cuda.nvtx": (_RANGES,),
    "torch.cuda.random": ("dovetail.cuda",),
    "functorch": ("dovetail.func", "dovetail.cli.torch_functional"),
    "torch.ops": ("dovetail.cli.torch_ops",),
    "torch.distributed.constants": (_PRIVATE,),
    "torch.distributed.device_mesh": ("dovetail.distributed",),
    "torch.distributed.distributed_c10d": ("dovetail.distributed",),
    "torch.distributed.nn": ("dovetail.distributed.differentiable",),
    "torch.distributed.nn.functional": ("dovetail.distributed.differentiable",),
    "torch.nn.parallel.data_parallel": ("dovetail.nn.parallel",),
    "torch.nn.parallel.distributed": ("dovetail.nn.parallel",),
    "torch.optim.adamw": ("dovetail.optim",),
    "torch.profiler.profiler": ("dovetail.profiler",),
    "torch.storage": ("dovetail.tensor_api.storages",),
    **{
        f"torch._functorch.{name}": ("dovetail.func", "dovetail.cli.torch_functional")
        for name in (
            "apis",
            "deprecated",
            "eager_transforms",
            "functional_call",
            "vmap",
        )
    },
    "torch.utils.data.dataloader": (
        "dovetail.data.dataloader",
        "dovetail.data",
        _PRIVATE,
    ),
    "torch.utils._foreach_utils": (_PRIVATE_LISTS,),
    "torch.utils.data._utils": ("dovetail.data",),
    "torch.utils.data._utils.collate": ("dovetail.data.collate", "dovetail.data"),
    "torch.utils.model_zoo": (_HUB,),
    "torch._utils": (_PRIVATE,),
    "torch._tensor": ("dovetail",),
    "torch.functional": ("dovetail",),
    "torch.hub": (_HUB,),
    "torch.overrides": ("dovetail.cli.torch_overrides",),
    "torch.jit.annotations": ("typing",),
    "torch.distributed.elastic.multiprocessing.errors": (_PRIVATE,),
    **{
        f"torch.{room}.{name}": ("dovetail.amp",)
        for room in ("amp", "cuda.amp")
        for name in ("autocast_mode", "grad_scaler")
    },
}

# Places that are there without an import of their own, by what they are below.
FIRST: Final = {
    "nn": ("modules", "_reduction"), "nn.functional": ("_Reduction",),
    "distributions": ("kl", "utils"), "utils": ("_pytree", "model_zoo"),
    "utils.data": ("_utils",), "distributed": ("nn", "distributed_c10d", "fsdp"),
    "cuda": ("nvtx",),
}  # fmt: skip


class Place(ModuleType):
    """A module of torch's, whose names are found in others."""

    def __init__(self, name: str, sources: tuple[str, ...]) -> None:
        super().__init__(
            name, f"Names that are in {', '.join(sources) or 'no module'}."
        )
        self._sources = sources
        own = name.rpartition(".")[2]
        for source in sources:  # of a function that the place takes the place of
            found = getattr(sys.modules.get(source), own, None)
            if callable(found) and not isinstance(found, ModuleType):
                setattr(self, own, found)
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no {name!r}")
        below = f"{self.__name__}.{name}"
        if below in PLACES and below not in sys.modules:
            return import_module(below)
        for source in self._sources:
            found = _of(source, name)
            if found is not _NOWHERE:
                return found
        if is_missing(self.__name__):
            found = missing(self.__name__, name)
            setattr(self, name, found)
            return found
        raise AttributeError(
            f"module {self.__name__!r} has no attribute {name!r}: `torch` is dovetail "
            "in this process, which has nothing of that name"
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function gives of whose name the module is, as `gradcheck`."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return [n for source in self._sources[:1] for n in dir(import_module(source))]


def _of(source: str, name: str) -> Any:
    """What a module has by a name, `_NOWHERE` if there is none, or no module."""
    try:
        module = import_module(source)
    except ModuleNotFoundError as error:
        if error.name != source:
            raise
        return _NOWHERE
    return getattr(module, name, _NOWHERE)


def place_of(name: str) -> Place | Kept | None:
    """The place that torch's module is, if it is one."""
    sources = PLACES.get(name, () if is_missing(name) else None)
    return kept_room(name) if sources is None else Place(name, sources)


def is_place(name: str) -> bool:
    """Whether torch's module is a place, or has nothing in it that does anything."""
    return name in PLACES or name in KEPT or is_missing(name)
