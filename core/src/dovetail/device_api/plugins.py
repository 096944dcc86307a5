"""Plug-ins in use: their hooks, and whose kernels went to which table.

pluggy checks and calls the hooks. Each plug-in is called alone, so that one which
fails leaves the others and the table as they were; its error is kept and reported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pluggy

from dovetail.device_api import hookspecs
from dovetail.device_api.discovery import KERNEL_GROUP, entries, is_left_out
from dovetail.device_api.isolation import foreign
from dovetail.device_api.kernels import KernelTable


class PluginFailure(NamedTuple):
    """A plug-in that does not add its kernels, and why.

    Attributes:
        name: of the plug-in.
        backend: whose table it failed on, None where it did not load at all.
        cause: what it raised.
    """

    name: str
    backend: str | None
    cause: Exception


class Plugins:
    """The registered plug-ins, the tables they serve, and their failures."""

    def __init__(self) -> None:
        self._manager: Final = pluggy.PluginManager(hookspecs.PROJECT)
        self._manager.add_hookspecs(hookspecs)
        self._tables: dict[str, KernelTable] = {}
        self._failures: dict[tuple[str, str | None], PluginFailure] = {}
        self._offered: set[tuple[str, str]] = set()
        self._discovered = False

    def register(self, plugin: Any, name: str) -> str:
        """Check a plug-in's hooks and let it take part; it serves no table yet.

        Returns the name it goes by: an earlier one if it is known already.
        """
        hash(plugin)  # pluggy keeps sets of plug-ins: this one fails, not the next
        known = self._manager.get_name(plugin)
        if known is not None:
            return known
        self._manager.register(plugin, name=name)
        try:
            self._manager.check_pending()
        except Exception:
            self._manager.unregister(name=name)
            raise
        return name

    def unregister(self, name: str) -> None:
        """Forget a plug-in and take its kernels out of every table."""
        if self._manager.has_plugin(name):
            self._manager.unregister(name=name)
        for table in self._tables.values():
            if table.backend != name:
                table.remove(name)
        self._forget(lambda plugin, _: plugin == name)

    def discover(self) -> None:
        """Load the installed plug-ins that have kernels alone, the first time."""
        if self._discovered:
            return
        self._discovered = True
        for entry in entries(KERNEL_GROUP):
            name = f"{entry.dist.name if entry.dist else '?'}:{entry.name}"
            if is_left_out(name):
                continue
            try:
                with foreign(name):
                    self.register(entry.load(), name)
            except Exception as error:  # a plug-in may fail in any way
                self._failures[name, None] = PluginFailure(name, None, error)

    def backend_class(self, name: str) -> Any:
        """What the hook `dovetail_backend` of one plug-in gives."""
        return self._hook("dovetail_backend", name)()

    def serve(self, plugin: str) -> None:
        """Let a plug-in that came late add kernels to the tables in use."""
        for table in self._tables.values():
            if (plugin, table.backend) not in self._offered:
                self._offer(plugin, table)

    def open(self, table: KernelTable) -> None:
        """Take a backend's table into use: every plug-in may add kernels to it."""
        self.close(table.backend)
        self._tables[table.backend] = table
        for name in self._names():
            self._offer(name, table)

    def close(self, backend: str) -> None:
        """Forget a backend's table."""
        self._tables.pop(backend, None)
        self._forget(lambda _, table: table == backend)

    def failures(self) -> list[PluginFailure]:
        """The plug-ins that failed, in the order they did."""
        return list(self._failures.values())

    def _names(self) -> list[str]:
        return [name for name, plugin in self._manager.list_name_plugin() if plugin]

    def _hook(self, hook: str, name: str) -> pluggy.HookCaller:
        """A hook with the implementation of one plug-in alone."""
        own = self._manager.get_plugin(name)
        others = [p for p in self._manager.get_plugins() if p is not own]
        return self._manager.subset_hook_caller(hook, others)

    def _offer(self, name: str, table: KernelTable) -> None:
        self._offered.add((name, table.backend))
        hook = self._hook("dovetail_kernels", name)
        try:
            with foreign(name), table.adding(name):
                hook(table=table, backend=table.backend)
        except Exception as error:  # a plug-in may fail in any way
            failure = PluginFailure(name, table.backend, error)
            self._failures[name, table.backend] = failure

    def _forget(self, which: Callable[[str, str | None], bool]) -> None:
        self._failures = {k: f for k, f in self._failures.items() if not which(*k)}
        self._offered = {k for k in self._offered if not which(*k)}
