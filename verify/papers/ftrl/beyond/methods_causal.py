"""Beyond the paper: gradient descent with draws that are independent of the past, and how near no noise can come."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations
from dpbounds.ftrl.methods import bound_method, gradient_descent
from dpbounds.ftrl.strongly_convex import StronglyConvex, best_nu, bound, least_error, optimize_correlation
from verify.checks import Agreement, Fact, Within
from verify.papers.ftrl.tools.method_spectra import two_steps, value
from verify.statements.claims import Claim

OURS = "beyond the paper"
ETA, KAPPAS = 0.1, (10.0, 100.0, 1000.0)
# Weights of nu noise that the spectra are made of; what is left out is below 1e-12 of them.
WEIGHTS = 4096
# Every other noise with a closed form on the circle.
OTHERS = (
    correlations.damped_anti_pgd(0.2),
    correlations.from_coefficients([1.0, -0.5, 0.3, 0.1]),
    correlations.HalfPowers((0.9, 0.3 + 0.4j), (0.2,)),
)


def problem(kappa: float, sigma: float = 0.0, eta: float = ETA) -> StronglyConvex:
    """L = 1, N_0 = 1."""
    return StronglyConvex(mu=1.0 / kappa, L=1.0, eta=eta, rho=0.5, sigma_sgd=sigma)


def _one_multiplier(
    rng: np.random.Generator, latest: int = 1, known: float = 1.0, factor: float = 1.0
) -> Iterator[Fact]:
    """The certified bound against all multipliers of past and future at once, by spectra and by storage functions."""
    cases = [(kappa, correlations.nu(damping)) for kappa in KAPPAS[:2] for damping in (0.035, 0.3, 1.0)]
    cases += [(KAPPAS[0], correlation) for correlation in OTHERS]
    for kappa, correlation in cases:
        found, weights = bound(correlation, problem(kappa), max_lag=0), correlation.coefficients(WEIGHTS)
        oracle = value(two_steps(ETA, 0.0), weights, 1 / kappa, 1.0, "f", [(None, 0, 1.0)], latest=latest, known=known)
        gamma = float(correlation.limiting_sensitivity()) ** 2
        yield Fact(f"kappa = {kappa:g}, {correlation.name}", factor * float(found.value), gamma * oracle, 1e-8)


def _more_multipliers(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """With all multipliers of up to two lags: at least the storage function's, which has those and more, and at most
    that of program f."""
    for eta, weights in ((0.1, [1.0]), (0.1, [1.0, -0.6, 0.2]), (1.2, [1.0, -0.9]), (1.7, [1.0, 0.5])):
        asked, correlation = problem(10.0, sigma=0.5, eta=eta), correlations.from_coefficients(weights)
        found = factor * float(bound(correlation, asked, max_lag=2).value)
        storage = bound_method(asked.noise(correlation), gradient_descent(eta=eta), mu=0.1, L=1.0, memory=2)
        label = f"eta = {eta:g}, weights {weights}"
        yield Within(f"{label}: over the storage function's", found / float(storage.value), 1 - 1e-7, 1.2)
        spectrum = float(bound(correlation, asked, program="f", max_lag=2).value)
        yield Within(f"{label}: over program f's, at most", found / spectrum, most=1 - 1e-3)


CAUSAL = Claim(
    id="ftrl/beyond-methods-causal",
    where=f"{OURS}: gradient descent with independent draws",
    kind="identity",
    statement=(
        r"With draws independent of the past, gradient descent has $F_oo <= N ("
        r"1/(2 pi) integral abs(B)^2 psi - chi^2 \/ ((L - mu)^2 1/(2 pi) integral 1\/D))$, $chi = 1/(2 pi) integral "
        r'op("Re")[X B e^(i omega)] \/ D + b_0$, and at the multiplier of lag 0 alone this is the least bound that '
        "all equations for $E (theta_t dot e_(t-k))$, $k <= 1$, give.",
        "With the multipliers of other lags it is at least what a storage function with these and more proves, and "
        "less than the bound that knows the spectrum alone.",
    ),
    hypotheses=(
        r"$eta = 0.1\/L$ in the last part of the first sentence; there $nu$ noise, damped Anti-PGD, four weights and "
        "half powers with a pair of roots."
    ),
    setting=r"$kappa = 10, 100$; $psi$, $D$, $X$ of the program that bounds $F - F^*$ itself.",
    checks=(
        Agreement(
            decides="b",
            facts=_more_multipliers,
            impostors={"10 % less": {"facts": {"factor": 0.9}}, "25 % more": {"facts": {"factor": 1.25}}},
        ),
        Agreement(
            decides="a",
            facts=_one_multiplier,
            impostors={
                "1 % off": {"facts": {"factor": 1.01}},
                "a multiplier at lag 2": {"facts": {"latest": 2}},
                "no multiplier at lag 1": {"facts": {"latest": 0}},
                "without the constant at lag 1": {"facts": {"known": 0.0}},
            },
        ),
    ),
)


# The bound of the best nu, and of the half powers with these roots, over the least of all noises, at most, for each
# kappa; the roots are what `optimize_correlation` finds.
RATIOS, OPTIMA = (1.051, 1.06, 1.062), (1.049, 1.057, 1.057)
ROOTS = ((0.9415, 0.7952, 0.8289), (0.9495, 0.8221, 0.8614), (0.951, 0.8291, 0.8693))


def _nearness(
    rng: np.random.Generator, ratios: tuple[float, ...] = RATIOS, optima: tuple[float, ...] = OPTIMA
) -> Iterator[Fact | Within]:
    """The best nu and half powers against what no noise is below, and the bound that knows the spectrum alone."""
    numbers = {}
    for kappa, most, least, (first, second, pole) in zip(KAPPAS, ratios, optima, ROOTS, strict=True):
        nu = correlations.nu(best_nu(problem(kappa), max_lag=0, certify=False).nu)
        no_noise = float(least_error(FLOATS, problem(kappa)))
        half_powers = correlations.HalfPowers((first, second), (pole,))
        ratio = 1.0
        for name, correlation, limit in (("half powers", half_powers, least), ("nu", nu, most)):
            proved = bound(correlation, problem(kappa), max_lag=0)
            ratio = float(proved.value) / no_noise
            numbers[f"{name[:2]}_{kappa:.0f}"] = ratio
            label = f"kappa = {kappa:g}: {name} over the least, {proved.value.kind}"
            yield Within(label, ratio, 1.0, limit, numbers=numbers)
        spectrum = float(bound(nu, problem(kappa), program="f", max_lag=5, certify=False).value)
        yield Within(f"kappa = {kappa:g}: program f over the causal bound", spectrum / ratio / no_noise, 1.3)
    searched = optimize_correlation(problem(KAPPAS[0]), max_lag=0, certify=False)
    ratio = float(searched.bound.value) / float(least_error(FLOATS, problem(KAPPAS[0])))
    yield Within(f"kappa = {KAPPAS[0]:g}: what the search finds over the least", ratio, 1.0, optima[0])
    omega = (np.arange(20_000) + 0.5) * np.pi / 20_000
    mean = np.mean(1 / np.abs(0.9 - np.exp(1j * omega)))
    yield Fact("the least by quadrature", float(least_error(FLOATS, problem(10.0))), ETA**2 / 2 * mean**2, 1e-8)


NEARNESS = Claim(
    id="ftrl/beyond-methods-nearness",
    where=f"{OURS}: how near the best noise can come",
    kind="inequality",
    statement=(
        r"At $eta L = 0.1$ no noise has a worst case below $d G^2 eta^2 L\/(4 rho) ((2\/pi) K(1 - eta L))^2$, and the "
        r"half powers $(1 - a z)^(1\/2) (1 - b z)^(1\/2) (1 - c z)^(-1\/2)$ with the roots of the setting are within "
        r"$1.06$ times that for $kappa = 10, 100, 1000$, the best $nu$ within $1.062$."
    ),
    hypotheses="Draws independent of the past, gradient descent, no clipping.",
    setting=f"$(a, b, c) = {ROOTS[0]}, {ROOTS[1]}, {ROOTS[2]}$.",
    remark=(
        r"The certified bounds are ${ha_10:4}$, ${ha_100:4}$ and ${ha_1000:4}$ times the least for half powers, "
        r"${nu_10:4}$, ${nu_100:4}$ and ${nu_1000:4}$ times for $nu$."
    ),
    checks=(
        Agreement(
            facts=_nearness,
            impostors={
                "nu nearer": {"facts": {"ratios": (1.04, 1.05, 1.05)}},
                "half powers nearer": {"facts": {"optima": (1.04, 1.05, 1.05)}},
            },
        ),
    ),
)
