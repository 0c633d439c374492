"""Appendix D.4: the guarantees of DP-FTRL with clipping, Theorem D.13 and Corollaries D.14, D.15."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import correlations, finite_time
from simulators.engine import Experiment
from simulators.ftrl import linear_regression
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
)
from verify.claims import Claim, Correction
from verify.domains import Real
from verify.ftrl.claims import finite_time_moments as exact
from verify.ftrl.claims import finite_time_rates as rates
from verify.ftrl.claims.finite_time import coincidence, telescoping
from verify.ftrl.claims.finite_time_runs import Scenario

SETTING = (
    "Assumption D.1, half-expo decay with parameter $eta tilde(nu)$, $tilde(nu) <= mu$; clip norm and learning rate "
    "as in the theorem."
)
NU = {"nu": Real(1e-300, 1.0, "log")}

# --- Theorem D.13 ---


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


def _guarded_runs(c: float) -> list[Event]:
    """DP-FTRL with the parameters of Thm D.13 and C = 1; c was fitted with T = 2 and held against T = 60."""
    plane = (1.0, 0.05)
    scenarios = [
        Scenario(label="signs, d=1", eigenvalues=(1.0,), inputs="sign", initial=(1.0,)),
        Scenario(
            label="signs, d=4", eigenvalues=(1.0, 1.0, 0.1, 0.1), inputs="sign", sigma_sgd=1.0, correlated=True, rho=1e9
        ),
        Scenario(label="Gaussian, d=1", eigenvalues=(2.0,), initial=(1.0,), correlated=True, rho=1e9),
        Scenario(label="Gaussian, d=2", eigenvalues=plane, sigma_sgd=0.3, initial=(1.0, -2.0), rho=1e9),
        Scenario(label="Gaussian, rho=0.1", eigenvalues=plane, sigma_sgd=1.0, correlated=True, rho=0.1),
    ]
    return [_guarded(one, steps, p, c) for one in scenarios for steps, p in ((2, 0.5), (2, 0.9), (60, 0.02))]


def _one_step() -> list[Event]:
    """T = 1, p = 0.9: G = 0.36 ||theta'_0|| R^2 even for c = 100."""
    scenario = Scenario(label="signs, d=1", eigenvalues=(1.0,), inputs="sign", initial=(1.0,))
    return [_guarded(scenario, 1, 0.9, 100.0)]


def _guarded(scenario: Scenario, steps: int, p: float, c: float) -> Event:
    horizon: dict[str, Any] = {"steps": steps, "failure": p, "R_squared": scenario.r_squared}
    mechanism, spectrum = "nu" if scenario.correlated else "independent", np.array(scenario.eigenvalues)
    eta = float(finite_time.largest_learning_rate(mechanism, spectrum, scenario.rho, **horizon))
    clip_norm = finite_time.clip_norm(
        spectrum, eta, initial_distance=scenario.distance, sigma_sgd=scenario.sigma_sgd, c=c, **horizon
    )
    settings = scenario.settings(eta, steps, clip_norm=float(clip_norm), clipping=True)
    experiment = Experiment(algorithm=linear_regression, problem=scenario.problem, settings=settings, block_trials=2000)
    return Event(
        label=f"{scenario.label}, T={steps}, p={p}",
        experiment=experiment,
        occurs=lambda arrays: arrays["clipped"] == 0,
        at_least=1 - p,
    )


def _finite_time_bound(factor: float = 2.0, **parameters: np.ndarray) -> rates.Sides:
    """E F(theta_t) - F* of Noisy-FTRL and the bound, at the t <= 30 where they are nearest."""
    start = parameters.pop("start")
    batch = exact.systems(**parameters)
    mu, L = exact.smallest(batch), batch.laws.eigenvalues.max(axis=1)
    stationary = 0.5 * batch.doubled_suboptimality()
    moments = exact.second_moments(batch, start, 30)
    gaps = np.array([exact.gap(batch, S) for S in moments])
    bounds = np.array([factor * (L / mu * np.exp(-batch.eta * mu * t) * gaps[0] + stationary) for t in range(31)])
    nearest = np.argmin(bounds / np.maximum(gaps, 1e-300), axis=0)
    rows = np.arange(gaps.shape[1])
    return gaps[nearest, rows], bounds[nearest, rows]


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


# --- Corollary D.15 ---


def _gamma_squared(m, nu):
    return m.integral_inverse(nu) / (2 * m.pi)


def _units(corrected: bool) -> Iterator[tuple[str, sympy.Expr]]:
    """Each term when inputs and residuals are multiplied by a, the learning rate by a^{-2}: bounds on F gain a^2."""
    a, L, mu, R2, eta, n2, s2, rho, d, T, gap = sympy.symbols("a L mu R2 eta n2 s2 rho d T D", positive=True)
    scaled = {symbol: a**2 * symbol for symbol in (L, mu, R2, s2, gap)} | {eta: eta / a**2}

    def residual(term: sympy.Expr, gain: sympy.Expr) -> sympy.Expr:
        return term.subs(scaled, simultaneous=True) / term - gain

    yield "(87), first term", residual(L / mu * (gap if corrected else 1), a**2)
    yield "(87), second term", residual(eta * s2 * R2, a**2)
    yield "(87), third term", residual(eta**2 * R2**3 * n2 / rho, a**2)
    largest = mu * rho / (R2**2 * d) if corrected else eta * rho / (R2 * d)
    yield "limit on eta log^2(1 / (eta mu))", residual(largest, a**-2)
    yield "limit on eta", residual(mu * rho / (R2**2 * d), a**-2)
    yield "result, initial distance", residual(R2**3 * n2 / (rho * mu**2 * T**2), a**2)
    middle = R2**2 * s2 / (rho * mu * T) if corrected else R2**2 * s2 / (rho * mu**2 * T**2)
    yield "result, sigma_s^2 / rho", residual(middle / (mu * T), a**2)
    yield "result, sigma_s^2", residual(s2 * R2 / (mu * T), a**2)


def _middle_term(factor: int = 3) -> Iterator[tuple[str, sympy.Expr]]:
    """R^4 sigma^2 / (rho mu T) over R^2 sigma^2 is R^2 / (rho mu T): at most 1 for R^2 <= 3 Tr H, T >= 3 J."""
    r, s, k, e, f, rho, mu = sympy.symbols("r s k e f rho mu", positive=True)
    kappa, effective, d = 1 + k, 1 + e, 1 + f
    R2, T = 3 * kappa * mu * effective / (1 + r), factor * kappa**2 * effective**2 * d / rho * (1 + s)
    yield "middle term of the result below the last", 1 - R2 / (rho * mu * T)


def _third_step(m, ell, v):
    """log^2(1 / x) at x = 1 / (130 * 184 X l^7 log X), log X = 1 + v (l - 1)."""
    u = 1 + v * (ell - 1)
    return m.power(m.log(m.number(130 * 184)) + u + 7 * m.log(ell) + m.log(u), 2)


def _absolute_sums(rng: np.random.Generator, power: float = 0.5) -> Iterator[Fact]:
    """||beta||_1^2 from 100 / nu weights."""
    for nu in (0.002, 0.05, 0.5, 0.95):
        observed = float(np.sum(np.abs(correlations.nu(nu).coefficients(round(100 / nu)))))
        yield Fact(f"squared norm at nu = {nu}", observed**2, (2.0 - nu**power) ** 2, 1e-12)


CLAIMS = (
    Claim(
        id="ftrl/thm-d.13-a",
        where="Theorem D.13(a)",
        kind="privacy",
        statement="$(theta_t)_(t <= T)$ is $rho$-zCDP.",
        hypotheses="Noise multiplier $sigma_(d p)^2 = gamma_T (beta)^2 \\/ (2 rho)$, zero-out adjacency, one pass.",
        checks=(
            GaussianPrivacy(
                pairs=_neighbours, impostors={"5 % less noise variance": {"pairs": lambda: _neighbours(0.95)}}
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-d.13-b",
        where="Theorem D.13(b)",
        kind="mc-rate",
        statement="$cal(E) = inter_(t < T) {norm(g_t) <= G}$ has probability at least $1 - p$.",
        hypotheses=SETTING,
        checks=(Frequency(events=_one_step),),
        correction=Correction(
            statement=(
                "for $T >= 2$: with $T = 1$ and $p -> 1$ the factor $log^(5\\/2)(T\\/p)$ of $G$ vanishes faster than "
                "$1 - p$. There $c = 2.6$, $C = 1$ serve in every setting tried, fitted with $T = 2$ and held against "
                "$T = 60$."
            ),
            checks=(
                Frequency(
                    events=lambda: _guarded_runs(2.6),
                    impostors={"c = 1": {"events": lambda: _guarded_runs(1.0)}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-d.13-c",
        where="Theorem D.13(c)",
        kind="inequality",
        statement=(
            "$EE[(F(theta_t) - F^star) 1_cal(E)] <= 2 L\\/mu e^(-eta mu t) (F(theta_0) - F^star) + 2 hat(F)_oo$, "
            "$hat(F)_oo$ that of Noisy-FTRL with the same parameters."
        ),
        hypotheses=SETTING + " Holds without the factors 2 as well: the parts of Property D.2 are uncorrelated.",
        checks=(
            Agreement(facts=coincidence, impostors={"event at 0.8 G": {"facts": lambda rng: coincidence(rng, 7.2)}}),
            Search(
                sides=_finite_time_bound,
                box=exact.BOX,
                extremal=exact.extremal,
                vectorised=True,
                impostors={
                    "factors 0.9": {"sides": lambda **parameters: _finite_time_bound(0.9, **parameters)},
                },
            ),
        ),
    ),
    Claim(
        id="ftrl/thm-d.13-eta",
        where="Theorem D.13, proof of (b)",
        kind="inequality",
        statement=(
            "With $a = norm(theta'_0) + sqrt(eta R^2 sigma_s^2\\/mu) + sigma_s\\/R$: $C R^2 (a + G sqrt(eta sigma^2 d "
            "norm(beta)_1^2\\/tilde(nu))) ell^(5\\/2) <= C R^2 a ell^(5\\/2) + G\\/4 <= G$ for $c = 4C$."
        ),
        hypotheses="$sigma^2 = gamma^2 \\/ (2 rho)$ and $eta$ within the limit of the theorem.",
        checks=(
            Symbolic(
                nonnegative=_clip_norm_algebra,
                impostors={"G / 5": {"nonnegative": lambda: _clip_norm_algebra(25)}},
            ),
        ),
    ),
    Claim(
        id="ftrl/cor-d.14",
        where="Corollary D.14",
        kind="mc-rate",
        statement=(
            "For $T\\/ell^5 >= c J$, $J = kappa^2 d_e^2 d\\/rho$, DP-SGD with a suitable $eta$ reaches "
            '$EE[(F(theta_T) - F^star) 1_cal(E)] <= L\\/mu exp(-T\\/(c J ell^5)) + kappa d_e (d op("Tr")[H] '
            'norm(theta\'_0)^2\\/(rho T) + d sigma_s^2\\/(rho T) + sigma_s^2\\/T) op("polylog") T$.'
        ),
        hypotheses=rates.READING,
        checks=(rates.printed("DP-SGD", section=False),),
        correction=rates.SGD,
    ),
    Claim(
        id="ftrl/cor-d.15",
        where="Corollary D.15",
        kind="mc-rate",
        statement=(
            "For $T\\/ell^7 >= c J log(c J)$, $nu$-DP-FTRL with suitable $nu$, $eta$ reaches $L\\/mu exp(-T\\/(c J "
            'ell^7 log J)) + kappa d_e (kappa d_e op("Tr")[H] norm(theta\'_0)^2\\/(rho T^2) + kappa d_e '
            'sigma_s^2\\/(rho T^2) + sigma_s^2\\/T) op("polylog") T$.'
        ),
        hypotheses=rates.READING,
        checks=(rates.printed("nu-DP-FTRL", section=False),),
        correction=rates.FTRL,
    ),
    Claim(
        id="ftrl/cor-d.15-proof",
        where="Corollary D.15, proof, (87) and below",
        kind="inequality",
        statement=(
            "The chain from (87), $L\\/mu e^(-mu eta T) + eta sigma_s^2 R^2 + eta^2 R^2 G^2 rho^(-1) log^2 1\\/(eta "
            'mu)$, over the limit $eta log^2 1\\/(eta mu) <= eta rho\\/(c R^2 d ell^5)$, to $(op("polylog") T)/(mu '
            "T) ((R^6 norm(theta'_0)^2)/(rho mu T) + (R^4 sigma_s^2)/(rho mu^2 T^2) + sigma_s^2 R^2)$."
        ),
        hypotheses=(
            "Both sides must scale alike when inputs and residuals are multiplied by $a$ and $eta$ by $a^(-2)$; $G^2$ "
            "stands for $R^4 norm(theta'_0)^2$."
        ),
        checks=(Symbolic(residuals=lambda: _units(corrected=False)),),
        correction=Correction(
            statement=(
                "the first term of (87) has the factor $F(theta_0) - F^star$; the limit is $eta log^2 1\\/(eta mu) <= "
                "mu rho\\/(11.5 C^2 R^4 d ell^5)$, enough while $eta mu <= 1\\/4$; the middle term of the result is "
                "$R^4 sigma_s^2\\/(rho mu T)$, never above the last for $T >= 3 J$; and with $X = R^4 d\\/(mu^2 "
                "rho)$ the last limit on $eta$ asks for $1 <= log X <= ell$."
            ),
            checks=(
                Symbolic(
                    residuals=lambda: _units(corrected=True),
                    nonnegative=_middle_term,
                    impostors={
                        "as printed": {"residuals": lambda: _units(corrected=False)},
                        "T >= J": {"nonnegative": lambda: _middle_term(1)},
                    },
                ),
                Inequality(
                    smaller=lambda m, nu: _gamma_squared(m, nu) * m.power(2 - m.sqrt(nu), 2),
                    larger=lambda m, nu: m.number("1.43") * m.power(m.log(1 / nu), 2),
                    box={"nu": Real(1e-300, 0.25, "log")},
                    impostors={"1.4": {"larger": lambda m, nu: m.number("1.4") * m.power(m.log(1 / nu), 2)}},
                ),
                Inequality(
                    smaller=_third_step,
                    larger=lambda m, ell, v: 130 * ell**2 * (1 + v * (ell - 1)),
                    box={"ell": Real(1.0, 1e6, "log"), "v": Real(0.0, 1.0)},
                    impostors={"l^6": {"larger": lambda m, ell, v: 130 * ell * (1 + v * (ell - 1)) / 8}},
                ),
            ),
        ),
    ),
    Claim(
        id="ftrl/cor-d.15-l1",
        where="Corollary D.15, below (87)",
        kind="inequality",
        statement="$norm(hat(beta)^nu)_1^2 <= 4$.",
        hypotheses=(
            "$0 < nu < 1$. Proved through $sum_(k <= n) abs(binom(1\\/2, k)) < 2$; the norm is $2 - sqrt(nu)$, so "
            "that 4 is the limit as $nu -> 0$."
        ),
        checks=(
            Symbolic(residuals=telescoping, impostors={"ratio 1 / (2 (n + 2))": {"residuals": lambda: telescoping(1)}}),
            Agreement(facts=_absolute_sums, impostors={"2 - nu": {"facts": lambda rng: _absolute_sums(rng, 1.0)}}),
        ),
    ),
    Claim(
        id="ftrl/cor-d.15-gamma",
        where="Corollary D.15, below (87)",
        kind="inequality",
        statement="$gamma_oo^2 <= 5 log 1\\/(eta mu)$ for $hat(beta)^nu$ with $nu = eta mu$.",
        hypotheses="$0 < eta mu < 1$.",
        checks=(
            Inequality(
                smaller=_gamma_squared,
                larger=lambda m, nu: 5 * m.log(1 / nu),
                box={"nu": Real(1e-300, 1 - 1e-9, "log")},
            ),
        ),
        correction=Correction(
            statement="$gamma_oo^2 <= 0.49 log(8\\/(eta mu))$; the printed right side vanishes as $eta mu -> 1$.",
            checks=(
                Inequality(
                    smaller=_gamma_squared,
                    larger=lambda m, nu: m.number("0.49") * m.log(8 / nu),
                    box=NU,
                    impostors={"0.48": {"larger": lambda m, nu: m.number("0.48") * m.log(8 / nu)}},
                ),
            ),
        ),
    ),
)
