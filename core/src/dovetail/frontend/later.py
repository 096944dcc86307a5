"""The families that load when they are first asked for, by what they declare."""

from __future__ import annotations

from dovetail.engine.later import later

later("dovetail.frontend.fourier", ops="fft_complex fft_hermitian fft_real")
