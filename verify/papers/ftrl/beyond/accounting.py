"""Beyond the paper: the privacy of Gaussian noise exactly, in every currency and under every adjacency."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal

import mpmath
import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl import correlations
from dpbounds.privacy import (
    budget,
    compose_gdp,
    compose_rdp,
    compose_zcdp,
    curves,
    gaussian_delta,
    gaussian_epsilon,
    gaussian_log_delta,
    gaussian_mu,
    gaussian_of_zcdp,
    noise_multiplier,
    sensitivity_factor,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_of_gaussian,
    zcdp_rho,
)
from verify.checks import (
    Agreement,
    Fact,
    GaussianPrivacy,
    Holds,
    Identity,
    Inequality,
    Neighbours,
    Symbolic,
    Times,
    refused,
)
from verify.checks.audit import gaussian_zcdp
from verify.checks.domains import Real
from verify.papers.ftrl.beyond.normal import DIGITS_OFF, REACH, quadrature
from verify.statements.claims import Claim

# --- the Gaussian mechanism ---

# From private to not at all, and far into the tails.
PAIRS = (
    (1e-8, 0.0),
    (1e-6, 3e-6),
    (0.01, 0.0),
    (0.1, 0.5),
    (1.0, 1.0),
    (1.0, 30.0),
    (3.0, 0.1),
    (8.0, 20.0),
    (30.0, 2.0),
)


def _log_delta(mu: float, epsilon: float) -> Any:
    """log(Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu)) in enough digits for the cancellation."""
    with mpmath.workdps(400):
        m, e = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return +mpmath.log(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


def _exact_delta(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The shipped delta(epsilon) by digits, and once by the integral of (p - e^epsilon q)_+; its inverses."""
    x = np.linspace(-12, 14, 2_600_001)
    p, q = (np.exp(-((x - mean) ** 2) / 2) / np.sqrt(2 * np.pi) for mean in (1.5, 0.0))
    integral = np.sum(np.maximum(p - np.exp(0.7) * q, 0)) * (x[1] - x[0])
    yield Fact("delta at mu = 1.5, epsilon = 0.7", gaussian_delta(1.5, 0.7), integral, 1e-9)
    logs = [float(_log_delta(mu, epsilon)) for mu, epsilon in PAIRS]
    shipped = gaussian_log_delta(*np.array(PAIRS).T)
    yield Fact("log delta", np.exp(shipped - logs), np.ones(len(PAIRS)), 1e-11)
    for (mu, epsilon), log_delta in zip(PAIRS, logs, strict=True):
        delta = float(np.exp(log_delta))
        yield Fact(f"delta at mu = {mu}, epsilon = {epsilon}", gaussian_delta(mu, epsilon), delta, 1e-11)
        if delta < 0.9:
            found = gaussian_epsilon(mu, delta)
            yield Fact(f"epsilon at mu = {mu}, delta = {delta:.2g}", found + 1, epsilon + 1, 1e-9)
            yield Fact(f"mu at epsilon = {epsilon}, delta = {delta:.2g}", gaussian_mu(epsilon, delta), mu, 1e-9)
            converted = zcdp_epsilon(mu**2 / 2, delta, "gaussian")
            yield Fact(f"epsilon of its zCDP, mu = {mu}", converted + 1, epsilon + 1, 1e-9)
    delta = float(mpmath.exp(_log_delta(0.6, 0.8)))
    yield Fact("delta of zCDP 0.18", zcdp_delta(0.18, 0.8, "gaussian"), delta, 1e-12)
    yield Fact("zCDP of epsilon, delta", zcdp_rho(0.8, delta, "gaussian"), 0.18, 1e-10)
    for mu, delta in ((3.0, 0.6), (3.0, 0.84), (0.7, 0.2)):
        epsilon = float(gaussian_epsilon(mu, delta))
        back = [float(mpmath.exp(_log_delta(one, epsilon))) for one in (mu, float(gaussian_mu(epsilon, delta)))]
        yield Fact(f"delta of its epsilon and mu, {delta:g}", back, [delta, delta], 2e-12)
    for epsilon, delta in ((300.0, 1e-3), (300.0, 0.99), (1.0, 1 - 1e-6)):
        back = float(mpmath.exp(_log_delta(float(gaussian_mu(epsilon, delta)), epsilon)))
        yield Fact(f"delta of mu, epsilon = {epsilon:g}, delta = {delta:g}", back, delta, 2e-12)
    none = [gaussian_epsilon(mu, delta) for mu, delta in ((1e-50, 0.5), (0.1, 0.3), (1e-50, 5e-51))]
    yield Fact("no epsilon is needed", none, [0.0] * 3, 0)
    for numbers in ([1.0, 2e4], [1e-51, 1.0]):
        yield refused(f"mu of {numbers}", "mu", lambda numbers=numbers: gaussian_log_delta(numbers, 1.0))


BEYOND_GAUSSIAN = Claim(
    id="ftrl/beyond-gaussian-mechanism",
    where="beyond the paper: the Gaussian mechanism's exact delta",
    kind="privacy",
    statement=(
        "The Gaussian mechanism with $mu = sqrt(2 rho)$, which DP-FTRL post-processes, is $(epsilon, delta)$-DP "
        "exactly for $delta >= Phi(mu\\/2 - epsilon\\/mu) - e^epsilon Phi(-mu\\/2 - epsilon\\/mu)$: the $epsilon$ of a "
        "run, in place of the bounds of footnote 2 and Appendix A.2."
    ),
    setting="$mu$ from $10^(-8)$ to 30, $delta$ down to $10^(-200)$.",
    checks=(Agreement(facts=_exact_delta, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),),
)

# --- the privacy curve ---


def _integral(m: Any, mu: Any, epsilon: Any) -> Any:
    """The hockey-stick divergence by its definition, the integral of (p - e^epsilon q)_+ for p = N(mu, 1), q = N(0, 1).

    p exceeds e^epsilon q beyond t = epsilon / mu + mu / 2. Rigorous quadrature, of densities in units of q at t so that
    its tolerance is relative; p and q have less than e^-500 of that beyond the reach.
    """
    t = epsilon / mu + mu / 2

    def excess(s: Any) -> Any:
        return ((t * t - (s - mu) ** 2) / 2).exp() - (epsilon + (t * t - s * s) / 2).exp()

    total = quadrature(excess, t, t + REACH + 2 * m.maximum(0, mu - t))
    return total * m.exp(-t * t / 2) / m.sqrt(2 * m.pi)


def _epsilon_back(m: Any, mu: Any, epsilon: Any) -> Any:
    return curves.epsilon_at(m, mu, _integral(m, mu, epsilon))


def _mu_back(m: Any, mu: Any, epsilon: Any) -> Any:
    return curves.mu_at(m, epsilon, _integral(m, mu, epsilon))


def _in_floats(mu: float, epsilon: float) -> bool:
    """Where delta is a float well inside (0, 1), as the first guesses of the inverses are floats."""
    return -5 <= epsilon / mu - mu / 2 <= 30


def _at(m: Any, mu: Any, x: Any) -> Any:
    """delta at epsilon = mu x + mu^2 / 2, for which epsilon / mu - mu / 2 = x."""
    return curves.delta_at(m, mu, mu * x + mu * mu / 2)


def _density(m: Any, x: Any) -> Any:
    return m.exp(-x * x / 2) / m.sqrt(2 * m.pi)


def _least(m: Any, mu: Any, x: Any) -> Any:
    return mu * _density(m, x) / ((x + mu) * (x + mu) + 3)


def _most(m: Any, mu: Any, x: Any) -> Any:
    return mu * _density(m, x) / (x * x + 1)


def _scale(m: Any, mu: Any, x: Any) -> Any:
    """What the certificates are divided by."""
    return mu * _density(m, x)


def _above_least(m: Any, mu: Any, x: Any) -> Any:
    """delta / (phi(x) mu) less the bound: the gap of the Mills ratio over mu is the mean over [x, x + mu] of -M', which
    falls, so it falls with x and mu as the bound does, and each side of a box has its end at a corner.
    """
    lowest = curves.mills_gap(m, x.upper(), mu.upper()) / mu.upper()
    return lowest - 1 / ((x.lower() + mu.lower()) ** 2 + 3)


def _below_most(m: Any, mu: Any, x: Any) -> Any:
    """The bound less delta / phi(x), as for the other side."""
    return 1 / (x.upper() ** 2 + 1) - curves.mills_gap(m, x.lower(), mu.lower()) / mu.lower()


def _derivatives(*, share: int = 1) -> Iterator[tuple[str, Any]]:
    """delta rises with mu, at the rate phi(x), and falls with epsilon, at the rate e^epsilon Phi(-x - mu)."""
    import sympy

    mu, epsilon = sympy.symbols("mu epsilon", positive=True)
    m = replace(
        FLOATS, name="symbols", pi=sympy.pi, exp=sympy.exp, sqrt=sympy.sqrt,
        mills=lambda t: sympy.sqrt(sympy.pi / 2) * sympy.exp(t**2 / 2) * sympy.erfc(t / sympy.sqrt(2)),
    )  # fmt: skip
    delta, x = curves.delta_at(m, mu, epsilon), epsilon / mu - mu / 2
    tail = sympy.erfc((x + mu) / sympy.sqrt(2)) / 2
    yield "its slope in $mu$", sympy.diff(delta, mu) - share * sympy.exp(-(x**2) / 2) / sympy.sqrt(2 * sympy.pi)
    yield "its slope in $epsilon$", sympy.diff(delta, epsilon) + share * sympy.exp(epsilon) * tail


# The enclosure of the Mills ratio loses up to 23 of 60 digits near x = 13: sides are computed with 80.
CURVE = {"mu": Real(0.01, 30.0, "log"), "epsilon": Real(0.01, 30.0, "log")}
TAIL = {"mu": Real(0.1, 10.0, "log"), "x": Real(0.0, 6.0)}

BEYOND_CURVE = Claim(
    id="ftrl/beyond-privacy-curve",
    where="beyond the paper: privacy curves and their inverses",
    kind="identity",
    statement=(
        (
            r"The privacy curve of the Gaussian mechanism is $delta = phi(x) (M(x) - M(x + mu))$, $x = epsilon\/mu - "
            r"mu\/2$, $M$ the Mills ratio;"
        ),
        (
            "it rises with $mu$, at the rate $phi(x)$, and falls with $epsilon$, at the rate $e^epsilon Phi(-x - mu)$, "
            r"and for $x >= 0$ $ mu phi(x)\/((x + mu)^2 + 3) <= delta <= mu phi(x)\/(x^2 + 1). $"
        ),
    ),
    setting=(
        "$mu$ and $epsilon$ from 0.01 to 30 to 45 digits, against the integral that defines $delta$; the bounds "
        "certified for $0.1 <= mu <= 10$, $0 <= x <= 6$."
    ),
    checks=(
        Identity(
            decides="a",
            left=curves.delta_at,
            right=_integral,
            box=CURVE,
            random_points=20,
            digits=70,
            lost=25,
            impostors={"1e-40 off": {"left": Times(DIGITS_OFF)}},
        ),
        Identity(
            decides="b",
            left=lambda m, mu, epsilon: epsilon,
            right=_epsilon_back,
            box=CURVE,
            random_points=10,
            digits=70,
            lost=25,
            where=_in_floats,
            impostors={"1e-40 off": {"right": Times(DIGITS_OFF)}},
        ),
        Identity(
            decides="b",
            left=lambda m, mu, epsilon: mu,
            right=_mu_back,
            box=CURVE,
            random_points=10,
            digits=70,
            lost=25,
            where=_in_floats,
            impostors={"1e-40 off": {"right": Times(DIGITS_OFF)}},
        ),
        Symbolic(decides="b", residuals=_derivatives, impostors={"twice the slope": {"residuals": {"share": 2}}}),
        Inequality(
            decides="b",
            smaller=_least,
            larger=_at,
            box=TAIL,
            certificate=_above_least,
            factor=_scale,
            impostors={"10 % more": {"smaller": Times("1.1")}},
        ),
        Inequality(
            decides="b",
            smaller=_at,
            larger=_most,
            box=TAIL,
            certificate=_below_most,
            factor=_scale,
            impostors={"10 % less": {"larger": Times("0.9")}},
        ),
    ),
)

# --- one after the other ---


def _composed(rng: np.random.Generator) -> Iterator[Fact]:
    """Gaussian mechanisms with mu = 0.3, 1 and 0.5 together are one with the exact zCDP of the joint law."""
    mus = np.array([0.3, 1.0, 0.5])
    rho = gaussian_zcdp(mus, np.eye(3))
    yield Fact("zCDP", compose_zcdp([zcdp_of_gaussian(mu) for mu in mus]), rho, 1e-12)
    yield Fact("Gaussian DP", compose_gdp(mus), np.sqrt(2 * rho), 1e-12)
    yield Fact("Gaussian DP from zCDP", gaussian_of_zcdp(rho), np.linalg.norm(mus), 1e-12)
    orders = np.array([1.5, 2.0, 10.0])
    yield Fact("Rényi divergences", compose_rdp([orders * mu**2 / 2 for mu in mus]), orders * rho, 1e-12)


BEYOND_COMPOSITION = Claim(
    id="ftrl/beyond-composition",
    where="beyond the paper: composition of releases",
    kind="privacy",
    statement=(
        "Mechanisms run one after the other add up: $rho$, $mu^2$ and the Rényi divergences of each order;",
        "exactly so for Gaussian ones.",
    ),
    setting="Three Gaussian mechanisms against their joint law.",
    checks=(Agreement(decides="ab", facts=_composed, impostors={"1 % off": {"facts": Times(1.01)}}),),
)

# --- calibration ---

Adjacency = Literal["zero-out", "add-remove", "replace-one"]
# What one unit does to its row, in clip norms: from 1 to 0, a row that comes or goes, from 1 to -1.
MOVES: dict[Adjacency, float] = {"zero-out": 1.0, "add-remove": 1.0, "replace-one": 2.0}


def _calibrated(*, share: float = 1.0) -> Iterator[Neighbours]:
    """C G + W with the noise for rho = 0.4, each column of C moved."""
    for T in (1, 2, 7):
        for made in (correlations.optimal_counting(), correlations.tree_aggregation(T), correlations.anti_pgd()):
            encoder = made.encoder(T)
            for adjacency, move in MOVES.items():
                noise = noise_multiplier(adjacency=adjacency, rho=0.4, sensitivity=made.sensitivity(T))
                for position in range(T):
                    yield Neighbours(
                        label=f"{made.name}, {adjacency}, T = {T}, position {position}",
                        shift=move * encoder[:, position],
                        covariance=share * noise**2 * np.eye(len(encoder)),
                        claimed_rho=0.4,
                    )


def _budgets(rng: np.random.Generator) -> Iterator[Fact]:
    """All of the budget is spent, and what the noise costs is what it was made for."""
    for adjacency, move in MOVES.items():
        yield Fact(f"rows moved by, {adjacency}", sensitivity_factor(adjacency), move, 0)
        plain = noise_multiplier(adjacency=adjacency, rho=0.4)
        yield Fact(f"noise of one row, {adjacency}", plain, move / np.sqrt(0.8), 1e-13)
        yield Fact(f"rho back of one row, {adjacency}", budget(plain, adjacency=adjacency), 0.4, 1e-12)
        for gamma in (1.0, 2.5):
            noise = noise_multiplier(adjacency=adjacency, rho=0.4, sensitivity=gamma)
            yield Fact(f"noise, {adjacency}", noise, move * gamma / np.sqrt(0.8), 1e-13)
            yield Fact(f"rho back, {adjacency}", budget(noise, adjacency=adjacency, sensitivity=gamma), 0.4, 1e-12)
            noise = noise_multiplier(adjacency=adjacency, epsilon=2.0, delta=1e-5, sensitivity=gamma)
            with mpmath.workdps(30):
                spent = float(mpmath.exp(_log_delta(move * gamma / noise, 2.0)))
            yield Fact(f"delta of the noise for epsilon = 2, {adjacency}", spent, 1e-5, 1e-9)
            options = {"adjacency": adjacency, "sensitivity": gamma}
            yield Fact(f"delta back, {adjacency}", budget(noise, epsilon=2.0, **options), 1e-5, 1e-9)
            yield Fact(f"epsilon back, {adjacency}", budget(noise, delta=1e-5, **options), 2.0, 1e-9)


BEYOND_CALIBRATION = Claim(
    id="ftrl/beyond-calibration",
    where="beyond the paper: least noise for a budget",
    kind="privacy",
    statement=(
        (
            r"The least noise multiplier for a budget is $gamma_T \/ sqrt(2 rho)$ under zero-out and add-remove "
            "adjacency, twice that under replace-one;"
        ),
        "for $(epsilon, delta)$ in place of $rho$ the exact $mu$ stands for $sqrt(2 rho)$.",
    ),
    setting="Exact laws of $C G + W$ for three encoders, $T <= 7$, every position.",
    checks=(
        GaussianPrivacy(decides="a", pairs=_calibrated, impostors={"1 % less noise": {"pairs": {"share": 0.98}}}),
        Agreement(decides="ab", facts=_budgets, impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
)
