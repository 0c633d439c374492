"""Beyond the paper: learning rates just below and just above the largest stable one, found by halving."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.ftrl import correlations
from dpbounds.ftrl.linear_regression import Regression, optimal_suboptimality, stability_limit, suboptimality
from verify.checks import Fact, Holds, refused, taken

SPECTRA: tuple[tuple[tuple[float, ...], float], ...] = (
    ((1.0,), 3.0),
    ((1.0, 0.3), 3.0),
    ((2.0, 1.0, 0.1), 2.5),
    ((1.0, 1.0), 5.0),
)


def either_side(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The error is told below the limit and refused above it, with any noise and with the best."""
    for spectrum, kurtosis in SPECTRA:
        low, high = 0.0, 2.0 / ((kurtosis - 1) * max(spectrum))
        for _ in range(60):
            middle = (low + high) / 2
            x = middle * np.array(spectrum)
            grows = float(np.sum(x**2 / (2 * x - (kurtosis - 1) * x**2))) >= 1
            low, high = (low, middle) if grows else (middle, high)
        limit = stability_limit(np.array(spectrum), kurtosis=kurtosis)
        yield Fact(f"the limit of lambda = {list(spectrum)}, kappa = {kurtosis:g}", limit, low, 1e-12)
        for step, check in ((1 - 1e-6, taken), (1 + 1e-6, None), (1.01, None)):
            problem = Regression(eigenvalues=np.array(spectrum), eta=low * step, rho=0.5, kurtosis=kurtosis)
            label = f"lambda = {list(spectrum)}, kappa = {kurtosis:g}, {step:.8g} of the limit"
            for name, call in (
                ("white noise", lambda problem=problem: suboptimality(correlations.independent(), problem)),
                ("the best noise", lambda problem=problem: optimal_suboptimality(problem)),
            ):
                yield check(f"{label}, {name}", call) if check else refused(f"{label}, {name}", "eta", call)
