"""Lemma D.9: products of the second stage's contractions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import partial

import numpy as np

from dpbounds.iv import (
    Constants,
    Design,
    Moments,
    TwoStageBudget,
    clip_norm,
    experiment_step_sizes,
    lemmas,
    lyapunov_exponent,
    noise_scales,
    spectrum,
)
from simulators.engine import Experiment
from simulators.iv import FixedMoments, Settings, two_stage_descent
from verify.checks import Agreement, Event, Fact, Frequency, Search, Times, Unbounded
from verify.checks.domains import Real, Whole
from verify.papers.iv.tools.samples import isotropic_design
from verify.statements.claims import Claim, Correction, Fault

Sides = tuple[np.ndarray, np.ndarray]


def _population(n: int, p: int, q: int) -> Moments:
    """A = I, theta_hat = [I; 0], beta_hat a unit vector, r = 0."""
    return Moments(A=np.eye(q), G=np.eye(q, p), b=np.eye(q)[0], n=n)


def _step_sizes(design: Design) -> tuple[float, float]:
    """Half of (3) for delta = psi = 0."""
    sizes = experiment_step_sizes(spectrum(design, Constants(concentration=0.0, product=0.0)))
    return float(sizes.eta), float(sizes.alpha)


def _products(path: np.ndarray, alpha: float) -> np.ndarray:
    """max over T_0 of prod_(t < T_0) ||L_t|| for A = I; Theta_0 = 0 gives a factor 1."""
    H = np.swapaxes(path, -1, -2) @ path
    h = np.linalg.eigvalsh(H)
    factors = np.maximum(np.abs(1 - alpha * h[..., 0]), np.abs(1 - alpha * h[..., -1]))
    with np.errstate(over="ignore"):
        return np.maximum(np.cumprod(factors, axis=1).max(axis=1), 1.0)


def _contractions(n: int, p: int, q: int, T: int, constant: float, *, tau: float, simulated: int) -> Event:
    """Products up to `constant`; (4) with c_0 = rho = 1."""
    design = isotropic_design(n, p, q, tau)
    eta, alpha = _step_sizes(design)
    gamma = float(clip_norm(design, T))
    lambda1 = float(noise_scales(TwoStageBudget.equal(1.0, gamma), n, T).lambda1)
    settings = Settings(steps=simulated, eta=eta, alpha=alpha, lambda1=lambda1, lambda2=0.0, record_paths=True)
    problem = FixedMoments(given=_population(n, p, q))
    return Event(
        label=f"n={n}, p={p}, q={q}, T={T}, T_0 <= {simulated}, lambda_1 = {lambda1:.3g}, C = {constant:g}",
        experiment=Experiment(algorithm=two_stage_descent, problem=problem, settings=settings, block_trials=500),
        occurs=lambda arrays: _products(arrays["theta_path"], alpha) <= constant,
        at_least=1 - math.exp(-tau),
    )


EXHIBIT = 100


def _long() -> list[Event]:
    """T = n^2, which (4) and (6) admit."""
    return [_contractions(EXHIBIT, 1, 1, EXHIBIT**2, 1e6, tau=1.0, simulated=40)]


def _allowed() -> list[Event]:
    """T within (5), its constant 1/20 or less."""
    return [
        _contractions(20_000, 1, 1, 100, 20.0, tau=3.0, simulated=100),
        _contractions(1000, 1, 1, 50, 20.0, tau=3.0, simulated=50),
        _contractions(2000, 2, 3, 50, 20.0, tau=3.0, simulated=50),
    ]


def _growth(rng: np.random.Generator, T: int = EXHIBIT**2) -> Iterator[Fact]:
    """E log |L_t| at the noise of `_long`, which would have to be at most 0 for any constant."""
    design = isotropic_design(EXHIBIT, tau=1.0)
    gamma = float(clip_norm(design, T))
    lambda1 = float(noise_scales(TwoStageBudget.equal(1.0, gamma), EXHIBIT, T).lambda1)
    exponent = float(lyapunov_exponent(_population(EXHIBIT, 1, 1), *_step_sizes(design), lambda1))
    yield Fact("positive part of E log |L_t|", max(exponent, 0.0), 0.0, 0.1, {"noise": lambda1, "exponent": exponent})


def _second_factor(m, s):
    """A lower bound of the median of ||L_0|| ||L_1|| at n = 100^s, T = n^2, tau = 5: Theta_1 = 1 + lambda_1 xi, with
    lambda_1 = 2 gamma, and |xi| >= z = 0.674 with probability 1/2, where |L_1| >= alpha (z lambda_1 - 1)^2 - 1.
    """
    root = 1 + m.sqrt(5 + 3 * s * m.log(m.number(100)))
    reach = 2 * m.ndtri(m.number("3/4")) * root * root - 1
    return m.number("2/3") * reach * reach - 1


def _second_factor_reduced(m, x):
    """The quotient times x^2; gamma x is (sqrt(x) + sqrt(5 x + 3 log 100))^2."""
    root = m.sqrt(x) + m.sqrt(5 * x + 3 * m.log(m.number(100)))
    reach = 2 * m.ndtri(m.number("3/4")) * root * root - x
    return m.number("2/3") * reach * reach - x * x


def _noiseless(root, theta, share, reach: float = 1.0) -> Sides:
    """max over t <= 8 of ||L_t|| without noise for eta <= 1 / ||A||, alpha <= 2 / ||H-hat||, against 1; q = 3,
    p = 2.
    """
    R, hat = root.reshape(-1, 3, 3), theta.reshape(-1, 3, 2)
    A = np.swapaxes(R, 1, 2) @ R + 0.01 * np.eye(3)
    eta = reach * share[:, 0] / np.linalg.eigvalsh(A)[:, -1]
    transposed = np.swapaxes(hat, 1, 2)
    alpha = share[:, 1] * 2 / np.linalg.eigvalsh(transposed @ A @ hat)[:, -1].clip(1e-12)
    now, worst = np.zeros_like(hat), np.zeros(len(hat))
    for _ in range(8):
        now = now + eta[:, None, None] * (A @ (hat - now))
        h = np.linalg.eigvalsh(np.swapaxes(now, 1, 2) @ A @ now)
        worst = np.maximum(worst, np.abs(1 - alpha[:, None] * h).max(axis=1))
    return worst, np.ones(len(hat))


def _burn_in(norm: float, error: float, alpha: float, delta: float, steps: float) -> tuple[float, float]:
    """prod of |1 - alpha h| for p = q = 1 and the largest h that A and Theta_t can have, against c_L^{t_0}."""
    n = 10_000
    bounds = spectrum(isotropic_design(n, tau=1.0), Constants(concentration=delta * math.sqrt(n) / 2, product=0.0))
    h = (1 + delta) ** 2 * (norm + error) ** 2
    settings = {"alpha": alpha, "theta_hat_norm": norm, "first_stage_error": error}
    bound = lemmas.product_of_contractions_bound(bounds, burn_in=int(steps), **settings)
    return abs(1 - alpha * h) ** steps, float(bound)


def _burn_in_ends(rng: np.random.Generator) -> Iterator[Fact]:
    """Short steps leave the bound 1; long ones reach it."""
    quiet = {"norm": 2.0, "error": 0.5, "delta": 0.3, "steps": 3.0}
    for label, alpha in (("alpha = 1e-9", 1e-9), ("alpha = 1e9", 1e9)):
        reached, stated = _burn_in(alpha=alpha, **quiet)
        yield Fact(label, reached, stated, 1e-6)


LEM_D_9 = Claim(
    id="iv/lem-d.9",
    where="Lemma D.9",
    page=22,
    kind="inequality",
    statement=(
        "With probability $1 - tilde(c) e^(-tau)$, $product_(t < T_0) norm(L_t) lt.tilde 1$ for all $0 < T_0 <= T$."
    ),
    hypotheses="(3), (4) and (6), as App. D has it.",
    setting=(
        "$A = hat(Theta) = 1$, $p = q = 1$, $eta = 1$, $alpha = 2\\/3$, $rho_1 = c_0 = 1$, $tau = tilde(c) = 1$; the "
        "median of two factors at $tau = 5$, $tilde(c) <= 74$."
    ),
    checks=(
        Agreement(facts=_growth),
        Unbounded(quotient=_second_factor, reduced=_second_factor_reduced, power=Fraction(2)),
        Frequency(events=_long),
    ),
    fault=Fault(
        severity="slip",
        touches="statement",
        finding=(
            "Lemma D.9 does not ask for (5): with the noise of (4) at $n = {n}$, $T = 10^4$, $rho_1 = 1$ one has "
            "$lambda_1 = {noise:2}$ and $EE log norm(L_t) = {exponent:3}$, so that the product grows like "
            "$e^({exponent:2} T_0)$."
        ),
        consequence="Theorem 3.1, which uses it, has (5) among its hypotheses.",
    ),
    correction=Correction(
        statement=(
            (
                "Under (3), (4), (6) and (5), its constant small enough for (21): with probability $1 - tilde(c) "
                "e^(-tau)$, $product_(t < T_0) norm(L_t) lt.tilde 1$ for all $0 < T_0 <= T$, the bound depending on "
                "the step sizes."
            ),
            r"Without noise no factor exceeds 1 if $eta <= 1 \/ norm(A)$.",
        ),
        ground=(
            "Then $norm(Theta^((t)) - hat(Theta))$ is bounded before $t_0$, where a factor is at most $c_L$, and small "
            "enough for (14) after it."
        ),
        checks=(
            Search(
                decides="b",
                sides=_noiseless,
                box={
                    "root": (Real(-1.0, 1.0), 9),
                    "theta": (Real(-1.0, 1.0), 6),
                    "share": (Real(1e-3, 1.0), 2),
                },
                extremal=lambda: [
                    {"root": list(np.eye(3).ravel()), "theta": [1.0, 0, 0, 1.0, 0, 0], "share": [0.9, 0.9]}
                ],
                vectorised=True,
                impostors={"eta up to 2 / ||A||": {"sides": {"reach": 2.0}}},
            ),
            Search(
                decides="a",
                sides=_burn_in,
                box={
                    "norm": Real(0.1, 10.0, "log"),
                    "error": Real(0.0, 10.0),
                    "alpha": Real(1e-3, 10.0, "log"),
                    "delta": Real(0.0, 0.9),
                    "steps": Whole(0, 6),
                },
                extremal=lambda: [{"norm": 10.0, "error": 10.0, "alpha": 10.0, "delta": 0.5, "steps": 3.0}],
                evaluations=1000,
                impostors={"1 % less": {"sides": Times(1, 0.99)}},
            ),
            Agreement(decides="a", facts=_burn_in_ends, impostors={"1 % off": {"facts": Times(1.01)}}),
            Agreement(
                decides="a",
                facts=partial(_growth, T=1),
                impostors={"without (5)": {"facts": {"T": 10_000}}},
            ),
            Frequency(decides="a", events=_allowed, impostors={"without (5)": {"events": _long}}),
        ),
    ),
    given={"n": EXHIBIT},
)
