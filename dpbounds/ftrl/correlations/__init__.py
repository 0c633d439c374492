"""Noise correlations: which combination of past Gaussian draws is added at each step.

| constructor | weights beta | paper |
|---|---|---|
| `independent()` | (1, 0, ...) | DP-SGD |
| `nu(nu)` | power series of sqrt(1 - (1 - nu) z) | (7), nu-DP-FTRL |
| `optimal_counting()` | the same at nu = 0 | Optimal CC |
| `anti_pgd()`, `damped_anti_pgd(nu)` | (1, -1), (1, -(1 - nu)) | Table 2 |
| `from_coefficients(beta)` | given, finitely many | |
| `HalfPowers(zeros, poles)` | power series of (P(z) / Q(z))^{1/2}, P and Q given by their zeros | |
| `from_power_spectrum(spectrum)` | outer factor of a spectrum | (19), Thm C.18 |
| `from_resonances(weights, rates)` | outer factor of (sum_j w_j / abs(1 - (1 - x_j) z)^2)^{-1/2}, closed form | |
| `tree_aggregation(T)`, `full_honaker(T)`, `fft_mechanism(T)` | a matrix for T steps | Table 3 |
| `optimal_prefix_sum(T)`, `banded(T, bands)` | least prefix-sum error | Table 3, ME |
| `restarted(correlation, T, restarts)` | a fresh start every T / S steps | Table 3, suffix x S |
"""

from dpbounds.ftrl.correlations.base import Correlation, ToeplitzCorrelation
from dpbounds.ftrl.correlations.half_powers import HalfPowers, half_powers_from_roots
from dpbounds.ftrl.correlations.interlacing import DampedHalfPowers, from_resonances, interlacing_roots
from dpbounds.ftrl.correlations.matrices import (
    MatrixCorrelation,
    banded,
    fft_mechanism,
    from_matrix,
    full_honaker,
    optimal_prefix_sum,
    restarted,
    tree_aggregation,
)
from dpbounds.ftrl.correlations.spectral import PowerSpectrum, from_power_spectrum
from dpbounds.ftrl.correlations.toeplitz import (
    DampedAntiPGD,
    FiniteImpulse,
    NuCorrelation,
    anti_pgd,
    damped_anti_pgd,
    from_coefficients,
    independent,
    nu,
    optimal_counting,
)

__all__ = [
    "Correlation",
    "DampedAntiPGD",
    "DampedHalfPowers",
    "FiniteImpulse",
    "HalfPowers",
    "MatrixCorrelation",
    "NuCorrelation",
    "PowerSpectrum",
    "ToeplitzCorrelation",
    "anti_pgd",
    "banded",
    "damped_anti_pgd",
    "fft_mechanism",
    "from_coefficients",
    "from_matrix",
    "from_power_spectrum",
    "from_resonances",
    "full_honaker",
    "half_powers_from_roots",
    "independent",
    "interlacing_roots",
    "nu",
    "optimal_counting",
    "optimal_prefix_sum",
    "restarted",
    "tree_aggregation",
]
