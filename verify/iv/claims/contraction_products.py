"""Lemma D.9: products of the second stage's contractions."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from dpbounds.iv import Design, Moments, clip_norm, lyapunov_exponent, noise_scales
from simulators.engine import Experiment
from simulators.iv import FixedMoments, Settings, two_stage_descent
from verify.checks import Agreement, Event, Fact, Frequency, Search
from verify.claims import Claim, Correction
from verify.domains import Real

Sides = tuple[np.ndarray, np.ndarray]


def _population(n: int, p: int, q: int) -> Moments:
    """A = I, theta_hat = [I; 0], beta_hat a unit vector, r = 0."""
    return Moments(A=np.eye(q), G=np.eye(q, p), b=np.eye(q)[0], n=n)


def _products(path: np.ndarray, alpha: float) -> np.ndarray:
    """max over T_0 of prod_(t < T_0) ||L_t|| for A = I; Theta_0 = 0 gives a factor 1."""
    H = np.swapaxes(path, -1, -2) @ path
    h = np.linalg.eigvalsh(H)
    factors = np.maximum(np.abs(1 - alpha * h[..., 0]), np.abs(1 - alpha * h[..., -1]))
    with np.errstate(over="ignore"):
        return np.maximum(np.cumprod(factors, axis=1).max(axis=1), 1.0)


def _contractions(n: int, p: int, q: int, T: int, constant: float, *, tau: float, simulated: int) -> Event:
    """Products up to `constant`; (4) with c_0 = rho = 1, eta = 1, alpha = 2/3 (half of (3) for delta = psi = 0)."""
    gamma = float(clip_norm(Design(n=n, p=p, q=q, theta_norm=1.0, theta_least=1.0, tau=tau), T))
    scales = noise_scales(n, T, 1.0, 1.0, gamma, gamma)
    settings = Settings(
        steps=simulated, eta=1.0, alpha=2 / 3, lambda1=float(scales.lambda1), lambda2=0.0, record_paths=True
    )
    problem = FixedMoments(given=_population(n, p, q))
    return Event(
        label=f"n={n}, p={p}, q={q}, T={T}, T_0 <= {simulated}, lambda_1 = {scales.lambda1:.3g}, C = {constant:g}",
        experiment=Experiment(algorithm=two_stage_descent, problem=problem, settings=settings, block_trials=500),
        occurs=lambda arrays: _products(arrays["theta_path"], 2 / 3) <= constant,
        at_least=1 - math.exp(-tau),
    )


def _long() -> list[Event]:
    """T = n^2, which (4) and (6) admit."""
    return [_contractions(100, 1, 1, 10_000, 1e6, tau=1.0, simulated=40)]


def _allowed() -> list[Event]:
    """T within (5), its constant 1/20 or less."""
    return [
        _contractions(20_000, 1, 1, 100, 20.0, tau=3.0, simulated=100),
        _contractions(1000, 1, 1, 50, 20.0, tau=3.0, simulated=50),
        _contractions(2000, 2, 3, 50, 20.0, tau=3.0, simulated=50),
    ]


def _growth(rng: np.random.Generator) -> Iterator[Fact]:
    """E log |L_t| at the noise of `_long`, which would have to be at most 0 for any constant."""
    gamma = float(clip_norm(Design(n=100, p=1, q=1, theta_norm=1.0, theta_least=1.0, tau=1.0), 10_000))
    lambda1 = float(noise_scales(100, 10_000, 1.0, 1.0, gamma, gamma).lambda1)
    exponent = float(lyapunov_exponent(_population(100, 1, 1), 1.0, 2 / 3, lambda1))
    yield Fact(f"positive part of E log |L_t|, lambda_1 = {lambda1:.3g}", max(exponent, 0.0), 0.0, 0.1)


def _noiseless(root, theta, share, reach: float = 1.0) -> Sides:
    """max over t <= 8 of ||L_t|| without noise for eta <= 1 / ||A||, alpha < 2 / ||H-hat||, against 1; q = 3, p = 2."""
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


CLAIMS = (
    Claim(
        id="iv/lem-d.9",
        where="Lemma D.9",
        kind="inequality",
        statement=(
            "With probability $1 - tilde(c) e^(-tau)$, $product_(t < T_0) norm(L_t) lt.tilde 1$ for all $0 < T_0 <= T$."
        ),
        hypotheses=(
            "(3), (4), (6), as App. D has it, without (5); $tilde(c) = 1$. Tried on $n = 100$, $T = 10^4$, $p = q = "
            "1$, $A = hat(Theta) = 1$, $eta = 1$, $alpha = 2\\/3$, $rho_1 = 1$: the products grow like $e^(6 T_0)$."
        ),
        checks=(Agreement(facts=_growth), Frequency(events=_long)),
        correction=Correction(
            statement=(
                "under (5) as well, its constant small enough for (21); the bound depends on the step sizes. Without "
                "noise no factor exceeds 1 if $eta <= 1 \\/ norm(A)$."
            ),
            checks=(
                Search(
                    sides=_noiseless,
                    box={
                        "root": (Real(-1.0, 1.0), 9),
                        "theta": (Real(-1.0, 1.0), 6),
                        "share": (Real(1e-3, 0.999), 2),
                    },
                    extremal=lambda: [
                        {"root": list(np.eye(3).ravel()), "theta": [1.0, 0, 0, 1.0, 0, 0], "share": [0.9, 0.9]}
                    ],
                    vectorised=True,
                    impostors={"eta up to 2 / ||A||": {"sides": lambda **box: _noiseless(reach=2.0, **box)}},
                ),
                Frequency(events=_allowed, impostors={"without (5)": {"events": _long}}),
            ),
        ),
    ),
)
