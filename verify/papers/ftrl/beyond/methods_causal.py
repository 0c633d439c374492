"""Beyond the paper: gradient descent with draws that are independent of the past, and how near no noise can come."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations
from dpbounds.ftrl.methods import bound_method, gradient_descent
from dpbounds.ftrl.strongly_convex import StronglyConvex, best_nu_causal, bound, bound_causal, least_error
from verify.checks import Agreement, Fact, Within
from verify.papers.ftrl.tools.method_spectra import two_steps, value
from verify.statements.claims import Claim

OURS = "beyond the paper"
ETA, KAPPAS = 0.1, (10.0, 100.0, 1000.0)
# Weights of nu noise that the spectra are made of; what is left out is below 1e-12 of them.
WEIGHTS = 4096


def problem(kappa: float, sigma: float = 0.0) -> StronglyConvex:
    """L = 1, N_0 = 1."""
    return StronglyConvex(mu=1.0 / kappa, L=1.0, eta=ETA, rho=0.5, sigma_sgd=sigma)


def _one_multiplier(
    rng: np.random.Generator, latest: int = 1, known: float = 1.0, factor: float = 1.0
) -> Iterator[Fact | Within]:
    """The certified bound against all multipliers of past and future at once, by spectra and by storage functions."""
    for kappa in KAPPAS[:2]:
        for damping in (0.035, 0.3, 1.0):
            correlation = correlations.nu(damping)
            found, weights = bound_causal(correlation, problem(kappa)), correlation.coefficients(WEIGHTS)
            oracle = value(
                two_steps(ETA, 0.0), weights, 1 / kappa, 1.0, "f", [(None, 0, 1.0)], latest=latest, known=known
            )
            gamma = float(correlation.limiting_sensitivity()) ** 2
            label = f"kappa = {kappa:g}, nu = {damping:g}"
            yield Fact(label, factor * float(found.value), gamma * oracle, 1e-8)
    for weights in ([1.0], [1.0, -0.9], [1.0, -0.6, 0.2]):
        correlation = correlations.from_coefficients(weights)
        found = bound_causal(correlation, problem(10.0, sigma=0.5))
        noise = problem(10.0, sigma=0.5).noise(correlation)
        storage = bound_method(noise, gradient_descent(eta=ETA), mu=0.1, L=1.0)
        label = f"weights {weights}: over the storage function's"
        yield Within(label, factor * float(found.value) / float(storage.value), 1 - 1e-7, 1 + 1e-3)


CAUSAL = Claim(
    id="ftrl/beyond-methods-causal",
    where=OURS,
    kind="identity",
    statement=(
        r"With draws independent of the past, gradient descent has $F_oo <= N ("
        r"1/(2 pi) integral abs(B)^2 psi - chi^2 \/ ((L - mu)^2 1/(2 pi) integral 1\/D))$, $chi = 1/(2 pi) integral "
        r'op("Re")[beta B e^(i omega)] \/ D + b_0$, and at the multiplier of lag 0 alone this is the least bound that '
        "all equations for $E (theta_t dot e_(t-k))$, $k <= 1$, give."
    ),
    hypotheses=r"$eta = 0.1\/L$; $nu$ noise for the last part.",
    setting=r"$kappa = 10, 100$; $psi$, $D$, $beta$ of the program that bounds $F - F^*$ itself.",
    checks=(
        Agreement(
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


# Best nu under the causal bound over the least of all noises, at most, for each kappa.
RATIOS = (1.051, 1.06, 1.062)


def _nearness(rng: np.random.Generator, ratios: tuple[float, ...] = RATIOS) -> Iterator[Fact | Within]:
    """The best nu against what no noise is below, and against the bound that knows the spectrum alone."""
    numbers = {}
    for kappa, most in zip(KAPPAS, ratios, strict=True):
        found = best_nu_causal(problem(kappa))
        ratio = float(found.value) / float(found.least)
        numbers[f"at_{kappa:.0f}"] = ratio
        spectrum = float(bound(found.noise.correlation, problem(kappa)).value)
        yield Within(f"kappa = {kappa:g}: best nu over the least, certified", ratio, 1.0, most, numbers=numbers)
        yield Within(f"kappa = {kappa:g}: program f over the causal bound", spectrum / float(found.value), 1.3)
    omega = (np.arange(20_000) + 0.5) * np.pi / 20_000
    mean = np.mean(1 / np.abs(0.9 - np.exp(1j * omega)))
    yield Fact("the least by quadrature", float(least_error(FLOATS, problem(10.0))), ETA**2 / 2 * mean**2, 1e-8)


NEARNESS = Claim(
    id="ftrl/beyond-methods-nearness",
    where=OURS,
    kind="inequality",
    statement=(
        r"At $eta L = 0.1$ no noise has a worst case below $d G^2 eta^2 L\/(4 rho) ((2\/pi) K(1 - eta L))^2$, and the "
        r"best $nu$ is within $1.062$ times that for $kappa = 10, 100, 1000$."
    ),
    hypotheses="Draws independent of the past, gradient descent, no clipping.",
    remark="The certified bounds are ${at_10:4}$, ${at_100:4}$ and ${at_1000:4}$ times the least.",
    checks=(Agreement(facts=_nearness, impostors={"nearer": {"facts": {"ratios": (1.04, 1.05, 1.05)}}}),),
)
