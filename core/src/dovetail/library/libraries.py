"""Ops of a namespace, defined and filled in one by one: `torch.library.Library`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dovetail.errors import ArgumentError, NotSupported

from .custom_ops import OPS, CustomOpDef, defined, found

_KINDS: Final = ("DEF", "IMPL", "FRAGMENT")
# Keys of torch's dispatcher for types of devices, and for functions of other ops.
_DEVICES: Final = {
    "CPU": "cpu", "CUDA": "cuda", "XPU": "xpu", "MPS": "mps", "Meta": "meta",
}  # fmt: skip
_WHOLE: Final = frozenset({
    "CompositeImplicitAutograd", "Autograd", *[f"Autograd{key}" for key in _DEVICES]
})  # fmt: skip
_EVERYWHERE: Final = frozenset({"CompositeExplicitAutograd", "BackendSelect"})


class Library:
    """Ops of a namespace.

    Args:
        ns: the namespace.
        kind: "DEF", "IMPL" or "FRAGMENT", which say to torch who else may add to it.
        dispatch_key: of what `impl` adds, where it does not say.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in _KINDS:
            raise ArgumentError(
                "Library", "kind", was=repr(kind), needed=f"one of {', '.join(_KINDS)}"
            )
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._own: list[str] = []

    def __repr__(self) -> str:
        return (
            f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})"
        )

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Define an op, of which nothing is known yet, and give its name.

        Args:
            schema: its name, what it takes and what it gives, in torch's notation.
            alias_analysis, tags: torch's hints for its compiler, which change nothing.

        Raises:
            RuntimeError: there is one of that name.
        """
        name = schema.partition("(")[0].strip()
        whole = f"{self.ns}::{name}"
        if whole in OPS:
            raise ArgumentError(
                "Library.define", "schema", was=f"of {whole!r}, which is defined",
                needed="a name that is not",
            )  # fmt: skip
        defined(whole, schema)
        self._own.append(whole)
        return name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *,
        with_keyset: bool = False, allow_override: bool = False,
    ) -> None:  # fmt: skip
        """Let a function compute an op where a key of torch's dispatcher says.

        Raises:
            NotSupported: a key that there is nothing for here.
        """
        if with_keyset:
            raise NotSupported(
                "Library.impl", "with_keyset", was="True", needed="False: a call has "
                "no set of dispatch keys",
            )  # fmt: skip
        _fill(self._op(op_name), dispatch_key or self.dispatch_key, fn)

    def _op(self, name: Any) -> CustomOpDef:
        if isinstance(name, CustomOpDef):
            return name
        return found(name if "::" in name else f"{self.ns}::{name}")

    def fallback(
        self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False
    ) -> None:
        """Raise NotSupported: there is no dispatcher whose calls could be caught."""
        raise NotSupported(
            "Library.fallback", "call", was="not there",
            needed="a function for each op", remedy="impl takes one",
        )  # fmt: skip

    def _destroy(self) -> None:
        """Forget the ops that were defined by this."""
        for name in self._own:
            OPS.pop(name, None)
        self._own.clear()


def _fill(op: CustomOpDef, key: str, fn: Callable[..., Any]) -> None:
    kind = _DEVICES.get(key, key.lower() if key.lower() in _DEVICES.values() else "")
    if key in _WHOLE or not key:
        op.whole = fn
    elif key in _EVERYWHERE or key == "default":
        op.register_kernel(None, fn)
    elif kind:
        op.register_kernel(kind, fn)
    else:
        known = ", ".join([*_DEVICES, *sorted(_WHOLE), *sorted(_EVERYWHERE)])
        raise NotSupported(
            "library.impl", "dispatch_key", was=repr(key), needed=f"one of {known}"
        )


def define(
    qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()
) -> None:
    """Define an op, of which nothing is known yet.

    Args:
        qualname: a namespace and a name, `"mine::sort"`.
        schema: what it takes and gives, in torch's notation.
        lib: which forgets it when it is destroyed.
        tags: torch's hints for its compiler, which change nothing.

    Raises:
        ValueError: a name or a schema that is none.
    """
    defined(qualname, schema)
    if lib is not None:
        lib._own.append(qualname)


def impl(
    qualname: str, types: str | Sequence[str], func: Callable[..., Any] | None = None,
    *, lib: Library | None = None,
) -> Any:  # fmt: skip
    """Let a function compute an op on devices of some types, or by "default" on all.

    Args:
        func: the function; without it, a decorator is given.

    Raises:
        ValueError: there is no op of that name.
    """
    op = found(qualname)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for kind in [types] if isinstance(types, str) else types:
            _fill(op, kind, function)
        return function

    return register if func is None else register(func)
