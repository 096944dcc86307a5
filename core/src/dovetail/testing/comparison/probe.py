"""Trying out how a call's results move with its inputs, and with its own rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final

import numpy as np

from dovetail import dtypes
from dovetail.conformance.rounding import roundoff
from dovetail.dtypes import Array
from dovetail.engine import modes, scopes
from dovetail.engine.bodies import run_body
from dovetail.testing.comparison.inputs import (
    Call,
    Inputs,
    Where,
    composed,
    host_of,
    results_of,
)
from dovetail.testing.comparison.noise import NOISE, Noise
from dovetail.testing.comparison.values import sizes_of

Results = list[Array]

_SAMPLES: Final = 2  # of changes up and down
_NOISY: Final = 4  # of the body with noise


class Probe:
    """Runs a call again with changed values, in float64 where the device has it."""

    def __init__(self, inputs: Inputs, where: Where) -> None:
        self.inputs = inputs
        self.where = where
        self.written = inputs.written()
        self.hosts = [v.host for v in inputs.values]
        self.step = 2.0**-20
        self.wide = True
        wide = [_in_float64(h) for h in self.hosts]
        if dtypes.float64 not in where.backend.dtypes or not self._runs(wide):
            self.wide = False
            formats = [dtypes.from_numpy(h.dtype) for h in self.hosts]
            self.step = 32 * max(map(roundoff, formats), default=0.0)
        else:
            self.hosts = wide

    def _runs(self, hosts: Results) -> bool:
        return bool(self.run(hosts))

    def run(self, hosts: Sequence[Array], **scalars: float) -> Results:
        """Results for these values; nothing where the op does not take them."""
        call = self.inputs.on(self.where, hosts)
        call.attrs.update(scalars)
        try:
            return self._results(call, call.run())
        except Exception:  # a changed value or format need not be acceptable
            return []

    def _results(self, call: Call, made: Any) -> Results:
        visible = results_of(made)
        tensors = visible + [call.tensors[n] for n in self.written]
        return [np.asarray(host_of(y), np.complex128) for y in tensors]

    def noise(self) -> Results:
        """What the body's results move by with those of its ops, in roundoffs.

        It tells of terms that cancel within: the 1 + erf(x) of a gelu.
        """
        exact = self._by_body(None)
        runs = [self._by_body(Noise(self.where, i)) for i in range(_NOISY)]
        found = []
        for i, y in enumerate(exact):
            moves = [np.abs(r[i] - y) for r in runs if len(r) == len(exact)]
            most = np.max([np.zeros(y.shape), *moves], axis=0)
            u = 2.0**-53 if self.wide else self.step / 32
            found.append(np.where(np.isfinite(most), most, 0.0) / (NOISE * u))
        return found

    def _by_body(self, noise: Noise | None) -> Results:
        call = self.inputs.on(self.where, self.hosts)
        watching = nullcontext() if noise is None else scopes.interpose(noise)
        try:
            with scopes.without_interposers(), modes.no_grad():
                body = composed(call, always=True)
                if body is None:
                    return []
                with watching:
                    made = run_body(*body)
        except Exception:  # a moved value need not be acceptable
            return []
        return self._results(call, made[: len(made) - self.inputs.op.residuals])

    def sums(self) -> Results:
        """The results for absolute values."""
        absolute = [_absolute(h) if _inexact(h) else h for h in self.hosts]
        return [sizes_of(y) for y in self.run(absolute)]

    def changes(self) -> Results:
        """Σ over inputs of what a relative change of one does to the results."""
        base = self.run(self.hosts)
        if not base or not self.step:
            return []
        found = [np.zeros(y.shape) for y in base]
        for number, host in enumerate(self.hosts):
            if _inexact(host) and host.size:
                self._add(found, base, partial(self._moved, number))
        for name in self.inputs.op.scalars:
            value = self.inputs.attrs.get(name)
            if type(value) is float and value and math.isfinite(value):
                self._add(found, base, partial(self._rated, name, value))
        return found

    def _moved(self, number: int, sample: int) -> Results:
        """Results with one input changed by the step, each element up or down."""
        host = self.hosts[number]
        signs: Array | float = 1.0
        if not self.inputs.op.is_elementwise:
            rng = np.random.default_rng([number, sample])
            signs = rng.choice([-1.0, 1.0], host.shape)
        moved = (host * (1 + self.step * signs)).astype(host.dtype)
        return self.run([*self.hosts[:number], moved, *self.hosts[number + 1 :]])

    def _rated(self, name: str, value: float, sample: int) -> Results:
        """Results with a scalar changed by the step."""
        return self.run(self.hosts, **{name: value * (1 + self.step)})

    def _add(
        self, found: Results, base: Results, again: Callable[[int], Results]
    ) -> None:
        samples = 1 if self.inputs.op.is_elementwise else _SAMPLES
        runs = [again(i) for i in range(samples)]
        for i, y in enumerate(base):
            moves = [np.abs(r[i] - y) for r in runs if r and r[i].shape == y.shape]
            if moves:
                most = np.max(moves, axis=0) / self.step
                found[i] += np.where(np.isfinite(most), most, 0.0)


def _inexact(host: Array) -> bool:
    return dtypes.from_numpy(host.dtype).is_inexact


def _absolute(host: Array) -> Array:
    return np.abs(host).astype(host.dtype)


def _in_float64(host: Array) -> Array:
    if not _inexact(host):
        return host
    return host.astype(np.complex128 if host.dtype.kind == "c" else np.float64)
