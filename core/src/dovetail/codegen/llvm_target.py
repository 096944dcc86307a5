"""The processor that kernels are written for."""

from __future__ import annotations

from dataclasses import dataclass

from dovetail.codegen.ir import SIZES, Kernel, computes_floats


@dataclass(frozen=True, slots=True)
class Target:
    """The processor that kernels are written for.

    Attributes:
        cpu, features: as LLVM calls them.
        vector: bytes in a vector register.
        fused: whether it multiplies and adds in one step.
        scales: whether it multiplies by powers of two in one step.
        halves: whether it converts float16 in one step.
    """

    cpu: str
    features: str
    vector: int
    fused: bool
    scales: bool = False
    halves: bool = False

    @staticmethod
    def of(cpu: str, features: str) -> Target:
        """The target of a processor with features such as `"+avx2,-avx512f"`."""
        has = {f[1:] for f in features.split(",") if f.startswith("+")}
        wide = {"avx512f", "avx512dq", "avx512vl", "avx512bw"} <= has
        vector = 64 if wide else 32 if "avx2" in has else 16
        fused, halves = bool({"fma", "neon"} & has), bool({"f16c", "neon"} & has)
        return Target(cpu, features, vector, fused, wide, halves)

    @property
    def attributes(self) -> str:
        """What a module says of its functions."""
        vector = self.vector * 8
        return (
            f'attributes #0 = {{ nounwind "target-cpu"="{self.cpu}" '
            f'"target-features"="{self.features}" '
            f'"prefer-vector-width"="{vector}" '
            f'"min-legal-vector-width"="{vector}" }}'
        )

    def lanes(self, kernel: Kernel) -> int:
        """How many elements a step takes: so many as the widest dtype allows."""
        sizes = [SIZES[b.dtype] for b in kernel.buffers]
        widest = max(sizes, default=4)
        if widest < 4 and computes_floats(kernel):
            widest = 4
        return kernel.registers * self.vector // widest
