"""`bare`: NumPy with level-0 kernels alone, so that every body runs."""

from __future__ import annotations

from dovetail.backend import KernelTable, registry
from dovetail.core.op import vocabulary
from dovetail_cpu.backend import CpuBackend


class BareBackend(CpuBackend):
    """The CPU backend with nothing but the primitives."""

    type = "bare"
    automatic = False

    def kernels(self, table: KernelTable) -> None:
        full = KernelTable("bare")
        super().kernels(full)
        for op in vocabulary.values():
            for kernel in full._kernels.get(op.name, ()):
                if dtypes := kernel.dtypes & op.primitive:
                    options = {
                        n: getattr(kernel, n)
                        for n in (
                            "binds",
                            "broadcasts",
                            "checks",
                            "contiguous",
                            "when",
                            "reads",
                        )
                    }
                    table.add(op.name, kernel.function, dtypes=dtypes, **options)


def install() -> None:
    """Make the device type `bare` known to this process."""
    registry.register(BareBackend())
