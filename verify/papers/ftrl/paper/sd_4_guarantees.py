"""Appendix D.4: Theorem D.13, the guarantees of DP-FTRL with clipping. Its corollaries are in `sd_4_corollaries`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations, finite_time
from dpbounds.ftrl.finite_time import Mechanism
from verify.checks import (
    Agreement,
    Event,
    Fact,
    Frequency,
    GaussianPrivacy,
    Inequality,
    Neighbours,
    Search,
    Symbolic,
    Within,
)
from verify.checks.domains import Real, Whole
from verify.checks.impostors import Times
from verify.papers.ftrl.paper.s1_1_algorithm import CONDITIONED, PRIVATE, PRIVATE_BY
from verify.papers.ftrl.paper.sd_3_lemma_d_12 import MONOTONE
from verify.papers.ftrl.paper.sd_3_lemma_d_12_limit import CONTRACTS
from verify.papers.ftrl.paper.sd_3_theorem_d_11 import UNCORRELATED
from verify.papers.ftrl.tools import input_laws, second_moments
from verify.papers.ftrl.tools.component_runs import COINCIDENCE, Scenario
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

SETTING = (
    "Assumption D.1, half-expo decay with parameter $eta tilde(nu)$, $tilde(nu) <= mu$; clip norm and learning rate "
    "as in the theorem."
)

# --- part (a) ---


def _neighbours(scale: float = 1.0) -> Iterator[Neighbours]:
    """All iterates of clipped runs on targets so large that every gradient is -G, one of them zeroed: theta = -eta A (g
    + B w).
    """
    eta, rho, clip_norm = 0.1, 0.7, 3.0
    for correlation in (
        correlations.independent(),
        correlations.nu(0.05),
        correlations.from_coefficients([1.0, -0.5, 0.2]),
    ):
        for T in (1, 5, 40):
            sums = -eta * np.tri(T)
            factor = sums @ correlation.matrix(T)
            gamma = np.linalg.norm(np.linalg.inv(correlation.matrix(T)), axis=0).max()
            for position in {0, T // 2, T - 1}:
                yield Neighbours(
                    label=f"{correlation.name}, T = {T}, position {position}",
                    shift=sums[:, position] * clip_norm,
                    covariance=scale * (gamma * clip_norm) ** 2 / (2 * rho) * factor @ factor.T,
                    claimed_rho=rho,
                )


THM_D_13_A = Claim(
    id="ftrl/thm-d.13-a",
    where="Theorem D.13(a)",
    page=48,
    kind="privacy",
    statement="$(theta_t)_(t <= T)$ is $rho$-zCDP.",
    hypotheses="Noise multiplier $sigma_(d p)^2 = gamma_T (beta)^2 \\/ (2 rho)$, zero-out adjacency, one pass.",
    checks=(
        CONDITIONED,
        GaussianPrivacy(
            pairs=_neighbours, impostors={"5 % less noise variance": {"pairs": {"scale": 0.95}}}, role="control"
        ),
    ),
    derivation=Derivation(text=PRIVATE, lemmas=PRIVATE_BY),
)

# --- part (b) ---

# Theorem D.4 with its constants, at the parameters of Theorem D.13, l = log(T / p) >= log 2: with k = l + log 6 the
# three parts of ||g|| / (R^2 max{...}) are 4 k, 8 k^{3/2} and 2 sqrt(2 k (l + log 12)), and the noise adds G times
# 2 k^{3/2} (2 + log 24 + 2 l)^{1/2} / (C l^{5/2}). C makes that G / 4, c the others 3 G / 4; worst at l = log 2.
BIG_C, BIG_CLIP = 201, 165


def _noise_share(m, ell):
    """Four times what the noise adds, over G."""
    k = ell + m.log(m.number(6))
    return 8 * k * m.sqrt(k * (2 + m.log(m.number(24)) + 2 * ell)) / (ell * ell * m.sqrt(ell))


def _other_share(m, ell):
    """4/3 of the other parts over R^2 max{...} l^{5/2}."""
    k = ell + m.log(m.number(6))
    parts = 4 * k + 8 * k * m.sqrt(k) + 2 * m.sqrt(2 * k * (ell + m.log(m.number(12))))
    return 4 * parts / (3 * ell * ell * m.sqrt(ell))


def _constant(m, ell, value: int):
    return m.number(value) + 0 * ell


LOGARITHM = {"ell": Real(0.693147, 1e6, "log")}


def _largest_gradient(scale, kappa, rho, T, p, distance, sigma, nu, step) -> tuple[float, float]:
    """The bound on all gradients of Noisy-FTRL against the clip norm, spectrum scale (1, 1, 1 / kappa), signs."""
    spectrum, mechanism = scale * np.array([1.0, 1.0, 1.0 / kappa]), _mechanism(nu)
    horizon = finite_time.Horizon(
        eigenvalues=spectrum,
        steps=int(T),
        failure=float(p),
        initial_distance=float(distance),
        sigma_sgd=float(sigma),
        R_squared=float(spectrum.sum()),
    )
    eta = float(step * finite_time.largest_learning_rate(mechanism, horizon, float(rho), C=BIG_C))
    clip_norm = finite_time.clip_norm(horizon, eta, c=BIG_CLIP)
    correlation = _correlation(mechanism, eta * float(spectrum.min()))
    noise = float(clip_norm * correlation.limiting_sensitivity()) ** 2 / (2.0 * float(rho))
    return finite_time.gradient_bound(correlation, horizon, eta, noise_variance=noise), clip_norm


def _mechanism(nu: float) -> Mechanism:
    return "nu" if nu > 0.5 else "independent"


def _correlation(mechanism: Mechanism, nu: float) -> correlations.ToeplitzCorrelation:
    return correlations.nu(nu) if mechanism == "nu" else correlations.independent()


PARAMETERS = {
    "scale": Real(1e-2, 1e2, "log"),
    "kappa": Real(1.0, 1e4, "log"),
    "rho": Real(1e-6, 1e9, "log"),
    "T": Whole(2, 10**9, "log"),
    "p": Real(1e-9, 0.999999, "log"),
    "distance": Real(1e-3, 10.0, "log"),
    "sigma": Real(1e-3, 10.0, "log"),
    "nu": Real(0.0, 1.0),
    "step": Real(1e-3, 1.0, "log"),
}


def _guarded_runs(c: float = BIG_CLIP) -> list[Event]:
    """DP-FTRL with the parameters of Thm D.13."""
    plane = (1.0, 0.05)
    scenarios = [
        Scenario(label="signs, d=1", eigenvalues=(1.0,), inputs="sign", initial=(1.0,)),
        Scenario(
            label="signs, d=4", eigenvalues=(1.0, 1.0, 0.1, 0.1), inputs="sign", sigma_sgd=1.0, correlated=True, rho=1e9
        ),
        Scenario(label="Gaussian, d=2", eigenvalues=plane, sigma_sgd=0.3, initial=(1.0, -2.0), rho=1e9),
        Scenario(label="Gaussian, rho=0.1", eigenvalues=plane, sigma_sgd=1.0, correlated=True, rho=0.1),
    ]
    return [_guarded(one, steps, p, c) for one in scenarios for steps, p in ((2, 0.5), (2, 0.9), (60, 0.02))]


def _guarded(scenario: Scenario, steps: int, p: float, c: float) -> Event:
    horizon = scenario.horizon(steps, p)
    mechanism = _mechanism(scenario.correlated)
    eta = float(finite_time.largest_learning_rate(mechanism, horizon, scenario.rho, C=BIG_C))
    clip_norm = finite_time.clip_norm(horizon, eta, c=c)
    settings = scenario.settings(eta, steps, clip_norm=float(clip_norm), clipping=True)
    return scenario.unclipped(f"{scenario.label}, T={steps}, p={p}", settings, p, 1000)


THM_D_13_B = Claim(
    id="ftrl/thm-d.13-b",
    where="Theorem D.13(b)",
    page=48,
    kind="mc-rate",
    statement="$cal(E) = inter_(t < T) {norm(g_t) <= G}$ has probability at least $1 - p$.",
    hypotheses=SETTING,
    setting=(
        "Proved from Theorem D.4 with its constants, for a decay constant of at most $2 norm(beta)_1$: $C = 201$ and "
        "$c = 165$ serve; then a search over its bound on all gradients, and runs."
    ),
    remark="For $T\\/p >= 2$: with $T = 1$ and $p -> 1$ the factor $log^(5\\/2)(T\\/p)$ of $G$ vanishes.",
    checks=(
        Inequality(
            smaller=_noise_share,
            larger=lambda m, ell: _constant(m, ell, BIG_C),
            box=LOGARITHM,
            impostors={"C = 200": {"larger": lambda m, ell: _constant(m, ell, 200)}},
        ),
        Inequality(
            smaller=_other_share,
            larger=lambda m, ell: _constant(m, ell, BIG_CLIP),
            box=LOGARITHM,
            impostors={"c = 164": {"larger": lambda m, ell: _constant(m, ell, 164)}},
        ),
        Search(
            sides=_largest_gradient,
            box=PARAMETERS,
            evaluations={"quick": 400, "full": 10_000},
            impostors={"a tenth of G": {"sides": Times(1, 0.1)}},
        ),
        Frequency(events=_guarded_runs, impostors={"c = 1": {"events": {"c": 1.0}}}),
    ),
)


def _limits(rng: np.random.Generator) -> Iterator[Fact]:
    """Learning rate and clip norm against the inequalities that the proof needs of them, c = 4 C: the noise term is G /
    4, or eta = 1 / (C R^2 l); each part of a alone, and all three alike, make C R^2 a l^{5/2}.
    """
    spectrum, C, rho = np.array([2.0, 0.5, 0.1]), 3.0, 0.7
    fixed: dict[str, Any] = {"eigenvalues": spectrum, "steps": 30, "failure": 0.2, "R_squared": 4.0}
    horizon = finite_time.Horizon(**fixed)
    ell, mu, root = np.log(150.0), 0.1, 2.0
    both: tuple[tuple[Mechanism, float], ...] = (("independent", 1.0), ("nu", 2.0))
    for mechanism, absolute in both:
        eta = float(finite_time.largest_learning_rate(mechanism, horizon, rho, C=C))
        gamma = float(_correlation(mechanism, eta * mu).limiting_sensitivity())
        noise = C * 4.0 * np.sqrt(eta * gamma**2 / (2 * rho) * 3 / mu) * absolute * ell**2.5
        yield Fact(f"noise term over G, {mechanism}", noise, 0.25, 1e-10)
        rich = float(finite_time.largest_learning_rate(mechanism, horizon, 1e12, C=C))
        yield Fact(f"C R^2 eta l without noise, {mechanism}", C * 4.0 * rich * ell, 1.0, 1e-12)
        loose = float(finite_time.largest_learning_rate(mechanism, horizon, 1e12, C=0.1))
        yield Fact(f"eta R^2 without noise, C l < 1, {mechanism}", 4.0 * loose, 1.0, 1e-8)
    even = mu / 16.0  # eta R^2 / mu = 1 / R^2
    for start, sigma, eta, whole in (
        (1.5, 0.0, 0.1, 1.5),
        (0.0, 1.5, 0.1, np.sqrt(0.1 * 4.0 / mu) * 1.5),
        (0.0, 1.5, 1e-6, 1.5 / root),
        (0.75, 1.5, even, 3 * 0.75),
    ):
        residuals = {"sigma_sgd": sigma} if sigma else {}
        started = finite_time.Horizon(initial_distance=start, **residuals, **fixed)
        clip_norm = float(finite_time.clip_norm(started, eta, c=4 * C))
        share = 0.75 if whole == 3 * 0.75 else 0.25
        yield Fact(f"C R^2 a l^(5/2) over G, {start}, {sigma}", C * 4.0 * whole * ell**2.5 / clip_norm, share, 1e-12)


def _clip_norm_algebra(share: int = 16) -> Iterator[tuple[str, sympy.Expr]]:
    """eta = its limit / (1 + s); the three parts of a are m / (1 + u_i) with m the largest; c = 4 C."""
    C, R, s, rho, d, gamma, b, nu, ell, G, m = sympy.symbols("C R s rho d gamma b nu l G m", positive=True)
    u = sympy.symbols("u0:3", positive=True)
    eta = nu * rho / (8 * C**2 * R**4 * d * gamma**2 * b**2 * ell**5) / (1 + s)
    noise = C**2 * R**4 * G**2 * eta * gamma**2 / (2 * rho) * d * b**2 / nu * ell**5
    yield "(G / 4)^2 - (C R^2 G sqrt(eta sigma^2 d / nu) ||beta||_1 l^(5/2))^2", G**2 / share - noise
    parts = sum(m / (1 + k) for k in u)
    root = sympy.symbols("q", positive=True)  # l^{5/2}
    yield "G - (C R^2 a l^(5/2) + G / 4)", 4 * C * R**2 * m * root * sympy.Rational(3, 4) - C * R**2 * parts * root


THM_D_13_ETA = Claim(
    id="ftrl/thm-d.13-eta",
    where="Theorem D.13, proof of (b)",
    page=49,
    kind="inequality",
    statement=(
        "With $a = norm(theta'_0) + sqrt(eta R^2 sigma_s^2\\/mu) + sigma_s\\/R$: $C R^2 (a + G sqrt(eta sigma^2 d "
        "norm(beta)_1^2\\/tilde(nu))) ell^(5\\/2) <= C R^2 a ell^(5\\/2) + G\\/4 <= G$ for $c = 4C$."
    ),
    hypotheses="$sigma^2 = gamma^2 \\/ (2 rho)$ and $eta$ within the limit of the theorem.",
    checks=(
        Symbolic(nonnegative=_clip_norm_algebra, impostors={"G / 5": {"nonnegative": {"share": 25}}}),
        Agreement(facts=_limits, impostors={"1e-7 off": {"facts": Times(1 + 1e-7)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "With $eta$ at most its limit $tilde(nu) rho \\/ (8 C^2 R^4 d gamma^2 norm(beta)_1^2 ell^5)$ the square "
            "of the noise part is at most $G^2\\/16$. The clip norm is $G = 4 C R^2 m ell^(5\\/2)$ with $m$ the "
            "largest of the three parts of $a$, so that $a <= 3 m$ gives $C R^2 a ell^(5\\/2) <= 3 G\\/4$."
        ),
    ),
)

# --- part (c) ---


def _tuned(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """2 kappa e^{-eta mu T} Delta_0 + 2 F_inf at a learning rate, F_inf by the oracle with 300 weights; the best of 200
    learning rates.
    """
    spectrum, start = np.array([1.0, 0.4]), np.array([1.0, -2.0])
    horizon = finite_time.Horizon(eigenvalues=spectrum, steps=12, failure=0.1, sigma_sgd=0.5)
    run: dict[str, Any] = {"initial": start, "c": 2.0}
    for mechanism in ("independent", "nu"):
        at = finite_time.at_learning_rate(mechanism, horizon, 0.15, 50.0, **run)
        beta = at.correlation.coefficients(300)
        yield Fact(f"second weight, {mechanism}", beta[1], -0.47 if mechanism == "nu" else 0.0, 1e-14)
        noise = (at.clip_norm * at.noise_multiplier) ** 2
        law = input_laws.gaussian(spectrum)
        limit = second_moments.suboptimality(law, second_moments.stationary(law, 0.15, beta, noise, 0.25))
        forgotten = 2.5 * np.exp(-0.15 * 0.4 * 12) * 0.5 * (1.0 + 0.4 * 4.0)
        yield Fact(f"bound at a learning rate, {mechanism}", float(at.bound), 2 * forgotten + 2 * limit, 1e-9)
        yield Fact(f"its noise, {mechanism}", at.noise_multiplier**2 * 100.0, _sensitivity(beta) ** 2, 1e-6)
        best = finite_time.tuned(mechanism, horizon, 50.0, C=0.5, **run)
        largest = float(finite_time.largest_learning_rate(mechanism, horizon, 50.0, C=0.5))
        grid = np.geomspace(1e-3 * largest, largest, 200)
        bounds = [float(finite_time.at_learning_rate(mechanism, horizon, eta, 50.0, **run).bound) for eta in grid]
        yield Fact(f"best bound, {mechanism}", float(best.bound), min(bounds), 1e-3)
        yield Within(
            f"learning rate over the largest admissible, {mechanism}", best.learning_rate / largest, most=1 + 1e-9
        )


def _sensitivity(beta: np.ndarray) -> float:
    """gamma_inf: the norm of the first column of the inverse of the Toeplitz matrix, 300 steps."""
    inverse = np.zeros(len(beta))
    for t in range(len(beta)):
        inverse[t] = ((t == 0) - beta[1 : t + 1] @ inverse[:t][::-1]) / beta[0]
    return float(np.linalg.norm(inverse))


THM_D_13_C = Claim(
    id="ftrl/thm-d.13-c",
    where="Theorem D.13(c)",
    page=49,
    kind="inequality",
    statement=(
        "$EE[(F(theta_t) - F^star) bold(1)_cal(E)] <= 2 L\\/mu e^(-eta mu t) (F(theta_0) - F^star) + 2 hat(F)_oo$, "
        "$hat(F)_oo$ that of Noisy-FTRL with the same parameters."
    ),
    hypotheses=SETTING,
    setting="On $cal(E)$ DP-FTRL is Noisy-FTRL, for which Theorem D.11 is proved, and $(a + b)^2 <= 2 a^2 + 2 b^2$.",
    remark="It holds without the factors 2: the two parts are uncorrelated.",
    checks=(
        COINCIDENCE.as_control(),
        CONTRACTS,
        MONOTONE,
        UNCORRELATED,
        Agreement(facts=_tuned, impostors={"0.2 % off": {"facts": Times(1.002)}}, role="control"),
    ),
    derivation=Derivation(
        text=(
            "On $cal(E)$ no gradient is clipped, so DP-FTRL and Noisy-FTRL, run on the same inputs and draws, have the "
            "same iterates, and $EE[(F(theta_t) - F^star) bold(1)_cal(E)]$ is at most Noisy-FTRL's $EE[F(theta_t) - "
            "F^star]$. That is at most $(a + b)^2 <= 2 a^2 + 2 b^2$ with $a^2 = L\\/mu e^(-eta mu t) (F(theta_0) - "
            "F^star)$, $b^2 = hat(F)_oo$ (`ftrl/thm-d.11`)."
        ),
        lemmas=("independence", "Rayleigh", "triangle inequality", "induction"),
    ),
)
