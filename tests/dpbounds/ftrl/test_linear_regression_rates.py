"""Linear regression: the best correlation, the best nu, and rates against numbers by hand."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl import correlations, linear_regression
from dpbounds.ftrl.linear_regression import Regression, suboptimality
from dpbounds.ftrl.linear_regression.rates import Mechanism

# --- the best correlation ---


@pytest.mark.parametrize("spectrum", [[0.7], [1.0, 0.3], [1.0, 0.2, 0.1]])
@pytest.mark.parametrize("kurtosis", [1.0, 3.0])
def test_optimum_is_attained_and_others_are_above(spectrum, kurtosis):
    eigenvalues, eta = np.array(spectrum), 0.25
    options = {"sigma_sgd": 0.4, "kurtosis": kurtosis}
    optimum = linear_regression.optimal_suboptimality(Regression(eigenvalues=eigenvalues, eta=eta, rho=0.5, **options))
    best = linear_regression.optimal_correlation(eigenvalues, eta, kurtosis=kurtosis)
    assert suboptimality(best, Regression(eigenvalues=eigenvalues, eta=eta, rho=0.5, **options)) == pytest.approx(
        optimum, rel=1e-9
    )
    rng = np.random.default_rng(3)
    density = linear_regression.optimal_spectrum(eigenvalues, eta, kurtosis=kurtosis)
    for logs in rng.normal(0, 0.3, (20, 3)):

        def perturbed(omega, logs=logs):
            return density(omega) * np.exp(sum(a * np.cos((k + 1) * omega) for k, a in enumerate(logs)))

        other = correlations.from_power_spectrum(perturbed)
        assert suboptimality(other, Regression(eigenvalues=eigenvalues, eta=eta, rho=0.5, **options)) > optimum
    for correlation in (correlations.independent(), correlations.nu(0.05), correlations.damped_anti_pgd(0.3)):
        assert suboptimality(
            correlation, Regression(eigenvalues=eigenvalues, eta=eta, rho=0.5, **options)
        ) > optimum * (1 - 1e-12)


def test_best_nu():
    nu, ratio = linear_regression.best_nu(np.array([1.0]), 0.1)
    assert nu == pytest.approx(0.1, rel=1e-4)
    assert ratio == pytest.approx(1.0, abs=1e-9)
    eigenvalues = np.array([1.0, 1e-3])
    nu, ratio = linear_regression.best_nu(eigenvalues, 0.3)
    grid = [
        float(suboptimality(correlations.nu(10.0**-k), Regression(eigenvalues=eigenvalues, eta=0.3, rho=0.5)))
        for k in np.linspace(0, 6, 400)
    ]
    least = min(grid) / linear_regression.optimal_suboptimality(Regression(eigenvalues=eigenvalues, eta=0.3, rho=0.5))
    assert 1 < ratio <= least * (1 + 1e-9)
    assert ratio == pytest.approx(least, rel=1e-3)
    assert ratio.kind == "estimate"


# --- rates ---


def test_rates_by_hand():
    spectrum = np.array([1.0, 0.5, 0.25])
    expected: dict[Mechanism, float] = {
        "independent": 0.1 * 3,
        "nu": 0.01 * 1.75 * np.log(1 / 0.025) ** 2,
        "lower": 0.01 * 1.75,
        "damped anti-PGD": 0.1**1.5 * (3 * 1.75) ** 0.5,
    }
    for mechanism, privacy in expected.items():
        value = linear_regression.rate(
            mechanism,
            Regression(eigenvalues=spectrum, eta=0.1, rho=2.0, clip_norm=3.0, sigma_sgd=2.0),
        )
        assert value == pytest.approx(4.5 * privacy + 0.1 * 4 * 1.75, rel=1e-12)
        assert value.kind == "asymptotic"
    with pytest.raises(DomainError, match="mechanism"):
        linear_regression.rate(cast(Any, "tree"), Regression(eigenvalues=spectrum, eta=0.1, rho=1.0))
    with pytest.raises(DomainError, match="nu"):
        linear_regression.rate("nu", Regression(eigenvalues=spectrum, eta=0.1, rho=1.0), nu=1.5)


def test_spectra():
    assert linear_regression.power_law(4, 0.5) == pytest.approx([1, 2**-0.5, 3**-0.5, 0.5])
    assert linear_regression.effective_dimension(np.full(7, 0.3)) == pytest.approx(7)
    assert linear_regression.effective_dimension(np.array([4.0, 2.0, 1.0])) == pytest.approx(1.75)
    with pytest.raises(DomainError, match="d = 0"):
        linear_regression.power_law(0, 1.0)
