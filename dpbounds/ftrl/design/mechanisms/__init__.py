"""Noise mechanisms for T steps, each a `Correlation` with encoder C and decoder B = C^{-1}.

| mechanism | C | memory of its noise |
|---|---|---|
| `spectral(objective)` | Toeplitz, best in the limit of long runs | all draws; or fit a BLT |
| `cyclic(objective, participation)` | Toeplitz, best for a record every b steps | all draws |
| `unit_columns(correlation, T)` | L(c) diag(1/n) | that of the filter |
| `Blt(buf_decay, output_scale)` | c_0 = 1, c_t = sum omega phi^{t-1} | one vector per buffer |
| `ScaledBlt(blt, T, row_scale)` | diag(r) L(c) diag(1/n) | one vector per buffer |
| `Bands(c)` | Toeplitz with b coefficients | b - 1 vectors |
"""

from dpbounds.ftrl.design.mechanisms.bands import Bands
from dpbounds.ftrl.design.mechanisms.blt import Blt
from dpbounds.ftrl.design.mechanisms.scaled import ScaledBlt, ScaledToeplitz, unit_columns
from dpbounds.ftrl.design.mechanisms.spectral import cyclic, resonances, spectral, truncated

__all__ = [
    "Bands",
    "Blt",
    "ScaledBlt",
    "ScaledToeplitz",
    "cyclic",
    "resonances",
    "spectral",
    "truncated",
    "unit_columns",
]
