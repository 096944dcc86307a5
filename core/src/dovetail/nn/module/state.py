"""`state_dict` and `load_state_dict`: the form in which a module is saved."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Tensor
from dovetail.errors import ArgumentTypeError
from dovetail.nn.parameter import is_lazy
from dovetail.tensor_api.hook_handle import RemovableHandle, add_hook

from .errors import StateDictError, _IncompatibleKeys
from .load_state import Loading, like
from .tree import ModuleTree

if TYPE_CHECKING:
    from .module import Module

EXTRA_STATE = "_extra_state"


class ModuleState(ModuleTree):
    """The part of `Module` that saves and restores its tensors."""

    _version: int = 1

    def get_extra_state(self) -> Any:
        """What else goes into the state dict; override together with the setter."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise NotImplementedError(f"{type(self).__name__} has no extra state")

    def state_dict(
        self,
        *args: Any,
        destination: Any = None,
        prefix: str = "",
        keep_vars: bool = False,
    ) -> Any:
        """Parameters and persistent buffers by dotted name, sharing their storage.

        Args:
            destination: a dict to fill instead of a new one.
            prefix: what names start with.
            keep_vars: whether to give the parameters themselves, for autograd,
                instead of detached tensors.
        """
        positional = dict(
            zip(("destination", "prefix", "keep_vars"), args, strict=False)
        )
        destination = positional.get("destination", destination)
        prefix = positional.get("prefix", prefix)
        keep_vars = positional.get("keep_vars", keep_vars)
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(
                    destination=destination,
                    prefix=f"{prefix}{name}.",
                    keep_vars=keep_vars,
                )
        for hook in self._state_dict_hooks.values():
            changed = hook(self, destination, prefix, metadata)
            if changed is not None and not getattr(hook, "_from_public_api", False):
                destination = changed
        return destination

    def _save_to_state_dict(
        self, destination: MutableMapping[str, Any], prefix: str, keep_vars: bool
    ) -> None:
        """Put the tensors of this module alone into `destination`."""
        for name, tensor in self._own_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not ModuleState.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def _own_state(self) -> dict[str, Tensor]:
        kept = {
            name: buffer
            for name, buffer in self._buffers.items()
            if name not in self._non_persistent_buffers_set
        }
        both = {**self._parameters, **kept}
        return {name: tensor for name, tensor in both.items() if tensor is not None}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy tensors from a state dict into this module and those below.

        As in PyTorch, what fits has been copied even where an error is raised.

        Args:
            state_dict: tensors by dotted name.
            strict: whether a missing or unexpected name is an error.
            assign: whether to hold the given tensors instead of copying from them.

        Returns:
            the names that were missing, and those that were not expected.

        Raises:
            StateDictError: names every key and shape that does not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentTypeError(
                "load_state_dict", "state_dict",
                was=type(state_dict).__name__, needed="a dict of tensors",
            )  # fmt: skip
        copied = OrderedDict(state_dict)
        metadata = getattr(state_dict, "_metadata", None)
        if metadata is not None:
            copied._metadata = metadata  # type: ignore[attr-defined]
        loading = Loading(metadata, assign)
        loading.visit(cast("Module", self), copied, "")
        problems = loading.problems
        if strict:
            problems = [*loading.incompatible.sentences(), *problems]
        if problems:
            raise StateDictError(type(self).__name__, problems)
        return loading.incompatible

    def _load_from_state_dict(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load the tensors of this module alone; subclasses convert old forms here."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(
                state_dict, prefix, local_metadata, strict,
                missing_keys, unexpected_keys, error_msgs,
            )  # fmt: skip
        assign = local_metadata.get("assign_to_params_buffers", False)
        own = self._own_state()
        for name, tensor in own.items():
            key = prefix + name
            if key not in state_dict:
                if strict:
                    missing_keys.append(key)
            else:
                problem = self._load_one(name, key, tensor, state_dict[key], assign)
                if problem is not None:
                    error_msgs.append(problem)
        self._load_extra_state(state_dict, prefix, strict, missing_keys)
        if strict:
            unexpected_keys += self._unexpected(state_dict, prefix, own)

    def _load_one(
        self, name: str, key: str, tensor: Tensor, given: Any, assign: bool
    ) -> str | None:
        """Load one tensor; a sentence if it cannot be."""
        if not isinstance(given, Tensor):
            return (
                f'While copying the parameter named "{key}", expected a Tensor from '
                f"checkpoint but received {type(given)}"
            )
        if is_lazy(tensor) and is_lazy(given):
            return None  # neither has anything that could be copied
        if is_lazy(given):
            return (
                f"{key} has no shape in the checkpoint, which is of a lazy module "
                "before its first call, and has one in the current model; call the "
                "module that it was made of before its state is taken."
            )
        if tensor.ndim == 0 and tuple(given.shape) == (1,):
            given = given[0]  # as PyTorch before 0.4 kept scalars
        if tuple(given.shape) != tuple(tensor.shape):
            return (
                f"size mismatch for {key}: copying a param with shape {given.shape} "
                f"from checkpoint, the shape in current model is {tensor.shape}."
            )
        try:
            with no_grad():
                if assign:
                    setattr(self, name, like(tensor, given))
                else:
                    tensor.copy_(given)
        except Exception as error:  # whatever a device raises, the key is named
            return (
                f'While copying the parameter named "{key}", whose dimensions in the '
                f"model are {tensor.shape} and whose dimensions in the checkpoint are "
                f"{given.shape}, an exception occurred : {error.args}."
            )
        return None

    def _load_extra_state(
        self,
        state_dict: Mapping[str, Any],
        prefix: str,
        strict: bool,
        missing: list[str],
    ) -> None:
        if type(self).set_extra_state is ModuleState.set_extra_state:
            return
        if prefix + EXTRA_STATE in state_dict:
            self.set_extra_state(state_dict[prefix + EXTRA_STATE])
        elif strict:
            missing.append(prefix + EXTRA_STATE)

    def _unexpected(
        self, state_dict: Mapping[str, Any], prefix: str, own: Mapping[str, Any]
    ) -> list[str]:
        """The keys under `prefix` that neither this module nor a child knows."""
        known = {*own}
        if type(self).set_extra_state is not ModuleState.set_extra_state:
            known.add(EXTRA_STATE)
        found = []
        for key in state_dict:
            if key.startswith(prefix):
                name, dot, _ = key[len(prefix) :].partition(".")
                if name not in (self._modules if dot else known):
                    found.append(key)
        return found

    def register_state_dict_pre_hook(
        self, hook: Callable[..., None]
    ) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before `state_dict` is made."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(
        self, hook: Callable[..., None]
    ) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when it is made."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., None]
    ) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before this module loads.

        The further arguments are those of `_load_from_state_dict`.
        """
        return add_hook(self._load_state_dict_pre_hooks, partial(hook, self))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., None], with_module: bool = False
    ) -> RemovableHandle:
        """The older form, by which programs convert old keys."""
        bound = partial(hook, self) if with_module else hook
        return add_hook(self._load_state_dict_pre_hooks, bound)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form, whose hook may return another dict."""
        return add_hook(self._state_dict_hooks, hook)

    def register_load_state_dict_post_hook(
        self, hook: Callable[[Module, _IncompatibleKeys], None]
    ) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after it and those below loaded."""
        return add_hook(self._load_state_dict_post_hooks, hook)
