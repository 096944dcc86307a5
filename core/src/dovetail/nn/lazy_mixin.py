"""What a layer needs whose parameters get their shapes from its first input."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

from dovetail.errors import ArgumentError, ArgumentTypeError

from .module import Module
from .parameter import is_lazy


class LazyModuleMixin(Module):
    """Parameters without a shape, which the first call gives them.

    A class has `initialize_parameters`, which takes what the first call does, and
    `cls_to_become`, the class that the module is of from then on.
    """

    cls_to_become: ClassVar[type[Module] | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._shapes_loaded)
        self._initialize_hook = self.register_forward_pre_hook(
            type(self)._infer_parameters, with_kwargs=True
        )

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the parameters shapes that fit the arguments of a call."""
        raise NotImplementedError(
            f"{type(self).__name__}: initialize_parameters is not implemented"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether any parameter or buffer has no shape yet."""
        both = (*self._parameters.values(), *self._buffers.values())
        return any(is_lazy(each) for each in both)

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Before the first call: take shapes, and become an ordinary module."""
        self._check_call(args, kwargs)
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise ArgumentError(
                type(self).__name__, "parameters", was="uninitialised after "
                "initialize_parameters", needed="shapes for all of them",
            )  # fmt: skip
        self._initialize_hook.remove()
        self._load_hook.remove()
        del self._initialize_hook, self._load_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become  # type: ignore[assignment]

    def _check_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Raise where `forward` does not take such arguments, before it has shapes."""
        signature = inspect.signature(self.forward)
        try:
            signature.bind(*args, **kwargs)
        except TypeError as complaint:
            raise ArgumentTypeError(
                type(self).__name__, "call", was=f"wrong: {complaint}",
                needed=f"forward{signature}",
            ) from complaint  # fmt: skip

    def _shapes_loaded(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Before loading: take the shapes of what is loaded."""
        for name, own in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if is_lazy(own) and given is not None and not is_lazy(given):
                own.materialize(tuple(given.shape))  # type: ignore[union-attr]

    def _save_to_state_dict(
        self, destination: Any, prefix: str, keep_vars: bool
    ) -> None:
        """As any module, but that what has no shape goes in as it is."""
        for name, tensor in self._own_state().items():
            whole = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if whole else tensor.detach()
