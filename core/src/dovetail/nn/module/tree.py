"""Walking a module's tree, and changing all that is in it.

Parameters stay the objects they are, wherever they are moved and whatever they become:
an optimizer that was given them goes on with them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self, cast

from dovetail import dtypes
from dovetail import frontend as ft
from dovetail.device import device as Device
from dovetail.engine.modes import no_grad
from dovetail.engine.tensor import Parameter, Tensor
from dovetail.errors import ArgumentError

from ..parameter import clear_grad
from .attributes import ModuleAttributes
from .conversion import converted, of_type, options_of_to, renew
from .errors import NoSuchName

if TYPE_CHECKING:
    from .module import Module


class ModuleTree(ModuleAttributes):
    """The part of `Module` that walks the tree below it, and moves or casts it."""

    def children(self) -> Iterator[Module]:
        """The modules right below, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules right below with their names, each once."""
        seen: set[Module] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self) -> Iterator[Module]:
        """This module and every one below it, each once."""
        for _, module in self.named_modules():
            yield module

    def named_modules(
        self,
        memo: set[Module] | None = None,
        prefix: str = "",
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Module]]:
        """This module and every one below it with dotted names, parents first.

        Args:
            memo: modules not to yield (again); filled as the walk goes.
            prefix: what names start with.
            remove_duplicate: whether a module in two places is yielded once.
        """
        memo = set() if memo is None else memo
        this = cast("Module", self)
        if this in memo:
            return
        if remove_duplicate:
            memo.add(this)
        yield prefix, this
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Every parameter once: what an optimizer is given."""
        for _, param in self.named_parameters(recurse=recurse):
            yield param

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Every parameter with its dotted name, in order of definition."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Every buffer once."""
        for _, buffer in self.named_buffers(recurse=recurse):
            yield buffer

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Tensor]]:
        """Every buffer with its dotted name, persistent or not."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def _named_members(
        self,
        get_members_fn: Callable[[Module], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[Any] = set()
        this = [(prefix, cast("Module", self))]
        walk = self.named_modules(None, prefix, remove_duplicate) if recurse else this
        for path, module in walk:
            for name, member in get_members_fn(module):
                if member is None or member in seen:
                    continue
                if remove_duplicate:
                    seen.add(member)
                yield (f"{path}.{name}" if path else name), member

    def get_submodule(self, target: str) -> Module:
        """The module that a dotted path names; `""` is this one.

        Raises: NoSuchName if a part of the path names no module.
        """
        module = cast("Module", self)
        for name in target.split(".") if target else ():
            found = getattr(module, name, None)
            if not isinstance(found, ModuleAttributes):
                raise NoSuchName(
                    "get_submodule", "target",
                    was=f"{target!r}, where {type(module).__name__} has no module "
                    f"{name!r}",
                    needed=f"one of {', '.join(module._modules) or 'none'}",
                )  # fmt: skip
            module = cast("Module", found)
        return module

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module where a dotted path leads, in another's place or as a new one.

        Args:
            strict: there has to be a module already.

        Raises:
            ArgumentError: the path is empty, or it is no module.
            NoSuchName: a part of the path names no module.
        """
        if not target:
            raise ArgumentError(
                "set_submodule", "target", was="''", needed="a submodule's name"
            )
        if not isinstance(module, ModuleAttributes):
            raise ArgumentError(
                "set_submodule", "module", was=repr(module), needed="an nn.Module"
            )
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        there = getattr(parent, name, None)
        if (hasattr(parent, name) or strict) and not isinstance(
            there, ModuleAttributes
        ):
            raise NoSuchName(
                "set_submodule", "target",
                was=f"{target!r}, where {type(parent).__name__} has no module {name!r}",
                needed="a module's name"
                + (", as with strict=True" if strict else ", or one that is free"),
            )  # fmt: skip
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Parameter:
        """The parameter that a dotted path names."""
        found = self._get_member("get_parameter", target, "_parameters")
        return cast("Parameter", found)

    def get_buffer(self, target: str) -> Tensor:
        """The buffer that a dotted path names."""
        return cast("Tensor", self._get_member("get_buffer", target, "_buffers"))

    def _get_member(self, op: str, target: str, table: str) -> object:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        held: dict[str, Any] = getattr(module, table)
        if name not in held:
            raise NoSuchName(
                op, "target",
                was=f"{target!r}, where {type(module).__name__} has no {name!r}",
                needed=f"one of {', '.join(held) or 'none'}",
            )  # fmt: skip
        return held[name]

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` with every module below and then with this one.

        Examples:
            def rectify(m: nn.Module) -> None:
                if isinstance(m, nn.Linear):
                    nn.init.zeros_(m.bias)

            net.apply(rectify)
        """
        for module in self.children():
            module.apply(fn)
        fn(cast("Module", self))
        return self

    def train(self, mode: bool = True) -> Self:
        """Set `training`, here and below: what dropout and batch norms ask."""
        if not isinstance(mode, bool):
            raise ArgumentError("Module.train", "mode", was=repr(mode), needed="a bool")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """The same as `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set whether gradients of the parameters are recorded."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of the parameters, or fill them with zeros."""
        for param in self.parameters():
            clear_grad(param, set_to_none)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by `fn` of it."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        with no_grad():
            for param in self._parameters.values():
                if param is not None:
                    renew(param, fn)
            for name, buffer in self._buffers.items():
                if buffer is not None:
                    self._buffers[name] = fn(buffer)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device, a floating point dtype, or where a tensor is.

        Called as `to(device, dtype, non_blocking)`, `to(dtype, non_blocking)` or
        `to(tensor, non_blocking)`; integer tensors keep their dtype, and those that
        have neither 4 nor 5 dims what `memory_format` would change.

        Raises: DTypeError if the dtype is neither floating point nor complex.
        """
        options = options_of_to(*args, **kwargs)
        return self._apply(lambda tensor: converted(tensor, options))

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without copying: the values are arbitrary there."""
        return self._apply(lambda t: ft.empty_like(t, device=device), recurse)

    def share_memory(self) -> Self:
        """Move parameters and buffers into memory that other processes see.

        See `Tensor.share_memory_`.
        """
        return self._apply(lambda t: t.share_memory_())

    def cpu(self) -> Self:
        """Move to the CPU."""
        return self._moved("cpu")

    def cuda(self, device: int | Device | None = None) -> Self:
        """Move to the CUDA device of that index, or to the current one."""
        return self._moved(of_type("cuda", device))

    def xpu(self, device: int | Device | None = None) -> Self:
        """Move to the XPU device of that index, or to the current one."""
        return self._moved(of_type("xpu", device))

    def _moved(self, place: Any) -> Self:
        """Move to a device: not by `to`, which a subclass may define by this."""
        options = options_of_to(place)
        return self._apply(lambda tensor: converted(tensor, options))

    def type(self, dst_type: Any) -> Self:
        """Cast every parameter and buffer, integers too."""
        return self._apply(lambda t: t.to(dst_type))

    def float(self) -> Self:
        """Cast floating point tensors to float32."""
        return self._cast_floats(dtypes.float32)

    def double(self) -> Self:
        """Cast floating point tensors to float64."""
        return self._cast_floats(dtypes.float64)

    def half(self) -> Self:
        """Cast floating point tensors to float16."""
        return self._cast_floats(dtypes.float16)

    def bfloat16(self) -> Self:
        """Cast floating point tensors to bfloat16."""
        return self._cast_floats(dtypes.bfloat16)

    def _cast_floats(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)
