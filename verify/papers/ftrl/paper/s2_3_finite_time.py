"""Section 2.3: linear regression in finitely many steps. Its proofs are in Appendix D."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy

from dpbounds.ftrl import finite_time
from dpbounds.ftrl.finite_time import Mechanism
from verify.checks import Agreement, Event, Fact, Frequency, Holds, Rate, Search, Symbolic
from verify.checks.domains import Real, Whole
from verify.checks.impostors import Times
from verify.papers.ftrl.paper.sd_4_corollaries import FTRL_SEARCH, SGD_SEARCH
from verify.papers.ftrl.tools.component_runs import COINCIDENCE, Scenario
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- equation (9) ---

# G = 28 max{...} log(T / p). On the events of Proposition D.5, l = log(6 T / p) <= 3.6 log(T / p) for T / p >= 2, ||g||
# is at most (4 + 3.2) l max{...} beside two parts that vanish with eta: what residuals and noise leave in theta'. The
# two limits on eta keep them below 0.3 l sigma sqrt(Tr H) and G / 50.
CLIP, SLOWER = 28.0, 2500.0


def _scale(trace: float, distance: float, sigma: float) -> float:
    """The maximum in (9)."""
    return max(trace * distance, sigma * trace**0.5)


def _small_step(mechanism: Mechanism, horizon: finite_time.Horizon, rho: float) -> float:
    """A learning rate below which no gradient exceeds G, with probability 1 - p."""
    spectrum, ell = horizon.eigenvalues, math.log(6 * horizon.steps / horizon.failure)
    residuals = 0.0014 / (float(spectrum.sum()) * len(spectrum) * ell)
    noise = finite_time.largest_learning_rate(mechanism, horizon, rho, C=SLOWER)
    return min(residuals, float(noise))


def _largest_gradient(scale, kappa, rho, T, p, distance, sigma, nu, step) -> tuple[float, float]:
    """The bound on all gradients of Theorem D.4, with constants, against G; spectrum scale (1, 1, 1 / kappa), signs."""
    spectrum = scale * np.array([1.0, 1.0, 1.0 / kappa])
    mechanism: Mechanism = "nu" if nu > 0.5 else "independent"
    horizon = finite_time.Horizon(
        eigenvalues=spectrum,
        steps=int(T),
        failure=float(p),
        initial_distance=float(distance),
        sigma_sgd=float(sigma),
        R_squared=float(spectrum.sum()),
    )
    eta = float(step) * _small_step(mechanism, horizon, float(rho))
    scenario = Scenario(label="", eigenvalues=tuple(spectrum.tolist()), correlated=nu > 0.5)
    correlation = scenario.correlation(eta)
    clip_norm = CLIP * math.log(T / p) * _scale(float(spectrum.sum()), distance, sigma)
    noise = (clip_norm * correlation.limiting_sensitivity()) ** 2 / (2 * float(rho))
    return finite_time.gradient_bound(correlation, horizon, eta, noise_variance=noise), clip_norm


def _clip_free_runs(c: float = CLIP) -> list[Event]:
    """DP-FTRL with the clip norm of (9) and the constant c."""
    signs = {"inputs": "sign", "initial": (0.1, 0.0, 1.0)}
    return [
        _clip_free(Scenario(label="initial distance, d=1", eigenvalues=(1.0,), initial=(3.0,)), 50, c),
        _clip_free(
            Scenario(label="residuals, d=4", eigenvalues=(1.0, 0.5, 0.1, 0.1), sigma_sgd=2.0, correlated=True), 50, c
        ),
        _clip_free(
            Scenario(label="both", eigenvalues=(3.0, 0.01), sigma_sgd=0.3, initial=(1.0, 5.0), correlated=True), 20, c
        ),
        _clip_free(Scenario(label="signs", eigenvalues=(1.0, 1.0, 0.2), sigma_sgd=1.0, **signs), 100, c),
    ]


def _clip_free(scenario: Scenario, steps: int, c: float) -> Event:
    p, trace = 0.02, sum(scenario.eigenvalues)
    eta = _small_step("nu" if scenario.correlated else "independent", scenario.horizon(steps, p), scenario.rho)
    clip_norm = c * math.log(steps / p) * _scale(trace, scenario.distance, scenario.sigma_sgd)
    settings = scenario.settings(eta, steps, clip_norm=clip_norm, clipping=True)
    return scenario.unclipped(f"no clipping, {scenario.label}", settings, p, 2000)


EQ_9 = Claim(
    id="ftrl/eq-9",
    where="Section 2.3(a), (9)",
    page=7,
    equation="(9)",
    kind="mc-rate",
    statement=(
        'For $eta$ small enough, with probability at least $1 - p$ no gradient exceeds $G = c max{op("Tr")[H] '
        'norm(theta\'_0), sigma_s sqrt(op("Tr") H)} op("polylog")(T \\/ p)$, and DP-FTRL with clip norm $G$ '
        "coincides with Noisy-FTRL."
    ),
    hypotheses="Assumption D.1.",
    setting=(
        "$c = 28$ and polylog $= log(T\\/p)$ suffice for $eta$ below an explicit limit: the bound on all gradients of "
        "Theorem D.4, with its constants, is searched for a value above $G$; and runs."
    ),
    remark="For $T\\/p >= 2$; $log(T\\/p)$ vanishes as $T = 1$, $p -> 1$.",
    checks=(
        Search(
            sides=_largest_gradient,
            box={
                "scale": Real(1e-2, 1e2, "log"),
                "kappa": Real(1.0, 1e4, "log"),
                "rho": Real(1e-6, 1e6, "log"),
                "T": Whole(2, 10**9, "log"),
                "p": Real(1e-9, 0.999999, "log"),
                "distance": Real(0.0, 1.0),
                "sigma": Real(1e-3, 10.0, "log"),
                "nu": Real(0.0, 1.0),
                "step": Real(1e-6, 1.0, "log"),
            },
            evaluations={"quick": 400, "full": 10_000},
            impostors={"half of G": {"sides": Times(1, 0.5)}},
        ),
        Frequency(events=_clip_free_runs, impostors={"c = 0.3": {"events": {"c": 0.3}}}),
        COINCIDENCE,
    ),
)

# --- Section 2.3(b) ---

LOGARITHMS: dict[Mechanism, int] = {"independent": 7, "nu": 10}


def _tuned_ratios(decades: float, mechanism: Mechanism, faster: float = 0.0) -> Iterator[tuple[str, float]]:
    """Theorem D.13(c) at the best learning rate over the rate of Section 2.3(b) with its logarithms, T = 10^(17 + 1.75
    decades); the impostor's rate falls faster by a power of T.
    """
    T = round(10.0 ** (17 + 1.75 * decades))
    for label, spectrum, start, sigma in (
        ("noisy residuals, d = 2", (1.0, 0.2), (1.0, 2.0), 0.5),
        ("no residuals, d = 3", (1.0, 0.5, 0.3), (0.0, 1.0, 1.0), 0.0),
    ):
        horizon = finite_time.Horizon(
            eigenvalues=np.array(spectrum), steps=T, failure=0.01, initial_distance=math.hypot(*start), sigma_sgd=sigma
        )
        best = finite_time.tuned(mechanism, horizon, 1.0, initial=np.array(start), c=4.0)
        logarithms = math.log(T) ** LOGARITHMS[mechanism]
        printed = finite_time.finite_time_rate(mechanism, horizon, 1.0, log_factor=logarithms, form="section")
        yield label, float(best.bound) / float(printed) * T**faster


def _with_the_problem_fixed(mechanism: Mechanism) -> Rate:
    def ratios(decades: float, faster: float = 0.0) -> Iterator[tuple[str, float]]:
        return _tuned_ratios(decades, mechanism, faster)

    return Rate(
        ratios=ratios,
        relation="upper",
        per_extent=3,
        impostors={"T^(-1/4) smaller": {"ratios": {"faster": 0.25}}},
    )


FIXED = (
    "Read with the problem fixed and $T -> oo$, where the omitted exponential term is $o(1\\/T^2)$; uniformly in the "
    "problem it is not negligible (see Corollar{which}). The logarithms are {logs}."
)

SEC_2_3_B_SGD = Claim(
    id="ftrl/sec2.3-b-sgd",
    where="Section 2.3(b)",
    page=8,
    kind="mc-rate",
    statement=(
        "For $norm(H) = 1$ and $T >= tilde(Omega)(J)$, $J = kappa^2 d_e^2 d \\/ rho$, DP-SGD reaches "
        "$EE[(F(theta_T) - F^star) bold(1)_cal(E)] lt.tilde kappa d_e (d d_e norm(theta'_0)^2\\/(rho T) + d "
        "sigma_s^2\\/(rho T) + sigma_s^2\\/T)$."
    ),
    setting=(
        "Theorem D.13(c) at its best learning rate, $c = 4$, $C = 1$, $rho = 1$, $p = 0.01$, $10^17 <= T <= 10^31$; "
        "and Corollary D.14 as corrected, which has every constant."
    ),
    remark=FIXED.format(which="y D.14", logs="at most $log^7 T$"),
    checks=(_with_the_problem_fixed("independent"), SGD_SEARCH),
)

SEC_2_3_B_FTRL = Claim(
    id="ftrl/sec2.3-b-ftrl",
    where="Section 2.3(b)",
    page=8,
    kind="mc-rate",
    statement=(
        "Likewise $nu$-DP-FTRL with $nu = eta mu$ reaches $kappa d_e (kappa d_e^2 norm(theta'_0)^2\\/(rho T^2) + "
        "kappa d_e sigma_s^2\\/(rho T^2) + sigma_s^2\\/T)$."
    ),
    setting="As for DP-SGD.",
    remark=FIXED.format(which="y D.15", logs="at most $log^10 T$"),
    checks=(_with_the_problem_fixed("nu"), FTRL_SEARCH),
)


def _dimension_exchange(power: int = 1) -> Iterator[tuple[Any, ...]]:
    """The bound of Section 2.3(b) for DP-SGD as a function of d, and the one for nu-DP-FTRL."""
    k, e, d, n, s, rho, T = sympy.symbols("kappa d_e d n s rho T", positive=True)
    sgd = k * e * (d * e * n / (rho * T) + d * s / (rho * T) + s / T)
    ftrl = k * e * (k * e**2 * n / (rho * T**2) + k * e * s / (rho * T**2) + s / T)
    yield "the bound for DP-SGD at d = kappa d_e / T", sgd.subs(d, k * e / T**power), ftrl


def _shipped_rates(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The two bounds: equal where T = kappa d_e / d; and by hand at kappa = 2, d_e = 3/2, d = 2, T = 100, rho = 5, with
    the exponential e^{-1} of the corollaries at lambda_1 = 4.
    """
    rate, over = finite_time.finite_time_rate, finite_time.Horizon
    for k, T in ((4, 3), (10, 7), (13, 9)):
        shared: dict[str, Any] = {"steps": T, "failure": 0.1, "initial_distance": 3.0, "sigma_sgd": 0.7}
        both = [
            rate(name, over(eigenvalues=np.array([1.0, 1.0, 1.0 / k]), **shared), 5.0, form="section")
            for name in LOGARITHMS
        ]
        yield Fact(f"kappa d_e / T = d at T = {T}", float(both[1]), float(both[0]), 1e-13)
    shared = {"steps": 100, "failure": 0.5, "initial_distance": 3.0, "sigma_sgd": 3.0}
    J, ell = 4 * 2.25 * 2 / 5, math.log(200.0)
    extents: dict[Mechanism, float] = {"independent": J * ell**5, "nu": J * ell**7 * math.log(J)}
    expected: dict[Mechanism, tuple[float, float]] = {"independent": (0.54, 1.026), "nu": (0.27405, 0.28134)}
    for name, (section, corollary) in expected.items():
        found = rate(name, over(eigenvalues=np.array([1.0, 0.5]), **shared), 5.0, form="section")
        yield Fact(f"Section 2.3(b), {name}", float(found), section, 1e-13)
        yield Holds(f"it says that it stands there, {name}", found.source == "ftrl Section 2.3(b)")
        found = rate(name, over(eigenvalues=np.array([4.0, 2.0]), **shared), 5.0, c=100 / extents[name], log_factor=7.0)
        yield Fact(f"corollary, {name}", float(found), 7 * corollary + 2 * math.exp(-1.0), 1e-13)
        yield Holds(f"it says which corollary, {name}", found.source == f"ftrl Cor D.1{4 + (name == 'nu')}")
    poor = rate("nu", over(eigenvalues=np.ones(1), **shared), 1e6, c=100 / (1e-6 * ell**7))  # log J read as 1
    yield Fact("corollary at J < 1, nu", float(poor), 0.01 * 18e-6 / 100 + 9 / 100 + math.exp(-1.0), 1e-12)


SEC_2_3_DIM = Claim(
    id="ftrl/sec2.3-dim",
    where="Section 2.3, below (b)",
    page=8,
    kind="identity",
    statement="The bound for $nu$-DP-FTRL is that for DP-SGD with $kappa d_e \\/ T$ in place of $d$.",
    checks=(
        Symbolic(residuals=_dimension_exchange, impostors={"kappa d_e / T^2": {"residuals": {"power": 2}}}),
        Agreement(facts=_shipped_rates, impostors={"1e-9 off": {"facts": Times(1 + 1e-9)}}, role="control"),
    ),
    derivation=Derivation(text="The two bounds as printed, and one substitution in them."),
)
