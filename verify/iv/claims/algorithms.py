"""Algorithms 1, 2, 3 and two-stage least squares: the simulators against what is printed, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from simulators.engine import Experiment
from simulators.iv import FixedData, Settings, card, synthetic_model, two_stage_descent
from simulators.iv.samples import RecordSample
from simulators.iv.two_stage import iterates
from verify.checks import Agreement, Fact
from verify.claims import Claim
from verify.iv.claims.reference import Noise, Records, descent, noiseless, rational_records

SIZES = ((4, 1, 1), (6, 3, 2), (7, 2, 2), (9, 4, 3))  # n, q, p
ETA, ALPHA = Fraction(1, 8), Fraction(1, 32)


def _rounded(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)


def _fixed(data: Records) -> FixedData:
    Z, X, Y = data.floats()
    return FixedData(instruments=Z, regressors=X, outcome=Y)


# --- two-stage least squares ---


def _least_squares(rng: np.random.Generator, *, stages: int = 2) -> Iterator[Fact]:
    """The simulators' estimate against normal equations solved in exact rationals, stage by stage."""
    for n, q, p in SIZES:
        data = rational_records(rng, n, q, p)
        Z, X, Y = (sympy.Matrix(part.tolist()) for part in data)
        fitted = Z * (Z.T * Z).LUsolve(Z.T * X) if stages == 2 else X
        beta = (fitted.T * fitted).LUsolve(fitted.T * Y)
        found = _fixed(data).sample.moments.beta_hat[0]
        yield Fact(f"beta_hat at n = {n}, q = {q}, p = {p}", found, _rounded(beta).ravel(), 1e-10)


def _linearmodels(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """Another library on the data of Card and of Section 4.1."""
    from linearmodels.iv import IV2SLS

    synthetic = synthetic_model(n=500, p=3, q=5, r=2, parameter_seed=0).fixed(data_seed=1)
    for label, data in (("Card, n = 2191", card()), ("Section 4.1, n = 500, p = 3, q = 5", synthetic)):
        fitted = IV2SLS(data.outcome, None, data.regressors, data.instruments).fit()
        settings = Settings(steps=1, eta=0.1, alpha=0.1)
        run = Experiment(algorithm=two_stage_descent, problem=data, settings=settings, block_trials=1)
        yield Fact(label, run.run_block(0, seed=0)["beta_hat"][0], factor * np.asarray(fitted.params), 1e-10)


# --- Algorithm 2 ---


def _settings(**changes: Any) -> Settings:
    return Settings(**{"steps": 5, "eta": float(ETA), "alpha": float(ALPHA), **changes})


def _simulated(data: Records, settings: Settings, noise: Noise) -> list[tuple[np.ndarray, np.ndarray]]:
    """The simulators' iterates t = 1 ... T with prescribed noise."""
    Z, X, Y = data.floats()
    sample = RecordSample(instruments=Z.T[None].copy(), regressors=X.T[None].copy(), outcome=Y[None])
    shaped = ((_rounded(Xi)[None], _rounded(nu)[None]) for Xi, nu in noise)
    return [(iterate.theta[0], iterate.beta[0]) for iterate in iterates(sample, settings, shaped, 1)]


def _compare(label: str, found: list, stated: list, tolerance: float = 1e-12) -> Iterator[Fact]:
    for t, (own, printed) in enumerate(zip(found, stated[1:], strict=True), start=1):
        for name, a, b in zip(("Theta", "beta"), own, printed, strict=True):
            yield Fact(f"{label}: {name} after {t} steps", a, _rounded(b), tolerance)


def _noiseless_runs(rng: np.random.Generator, *, newest: bool = False, doubled: int = 1) -> Iterator[Fact]:
    """Algorithm 2 in exact rationals; beta_1 = 0 and Theta_t = (I - (I - eta Z'Z/n)^t) theta_hat exactly."""
    for n, q, p in SIZES:
        data, label = rational_records(rng, n, q, p), f"n = {n}, q = {q}, p = {p}"
        path = descent(data, eta=doubled * ETA, alpha=doubled * ALPHA, noise=noiseless(5), newest=newest)
        yield from _compare(label, _simulated(data, _settings(), noiseless(5)), path)
        yield Fact(f"{label}: beta after one step", path[1][1].tolist(), [0] * p, 0)
        Z, X = (sympy.Matrix(part.tolist()) for part in data[:2])
        step, target = sympy.eye(q) - sympy.Rational(1, 8) * Z.T * Z / n, (Z.T * Z).LUsolve(Z.T * X)
        for t in (2, 3, 5):
            closed = (target - step**t * target).tolist()
            yield Fact(f"{label}: Theta_{t} = (I - M^{t}) Theta_hat", path[t][0].tolist(), closed, 0)


# --- Algorithms 1 and 3 ---


def _noise(
    rng: np.random.Generator, q: int, p: int, scales: tuple[float, float]
) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(scales[0] * rng.standard_normal((q, p)), scales[1] * rng.standard_normal(p)) for _ in range(5)]


def _noisy_runs(
    rng: np.random.Generator, *, first_stage: bool = True, gamma: float = 1.5, newest: bool = False, sign: float = 1.0
) -> Iterator[Fact]:
    """Clipped runs with prescribed noise; Algorithm 3 clips and noises the second stage alone."""
    gamma1, scales = (2.0, (0.3, 0.2)) if first_stage else (None, (0.0, 0.2))
    settings = _settings(gamma2=1.5) if gamma1 is None else _settings(gamma1=gamma1, gamma2=1.5)
    for n, q, p in SIZES:
        data = rational_records(rng, n, q, p).floats()
        noise = _noise(rng, q, p, scales)
        stated = descent(
            data,
            eta=float(ETA),
            alpha=float(ALPHA),
            noise=[(sign * Xi, nu) for Xi, nu in noise],
            gamma1=gamma1,
            gamma2=gamma,
            newest=newest,
        )
        yield from _compare(f"n = {n}, q = {q}, p = {p}", _simulated(data, settings, noise), stated)


def _noise_scales(rng: np.random.Generator, *, beta_only: bool = False, factor: float = 2.0) -> Iterator[Fact]:
    """The standard deviations with which a run draws its noise, against (4)."""
    n, T, gamma, rho1, rho2 = 5, 3, 0.7, 0.4, 2.5
    settings = _settings(steps=T, gamma2=gamma, rho2=rho2)
    if not beta_only:
        settings = replace(settings, gamma1=gamma, rho1=rho1)
    stated = [0.0 if beta_only else factor * gamma / n * np.sqrt(T / rho1), factor * gamma / n * np.sqrt(T / rho2)]
    label = "lambda_1, lambda_2 at n = 5, T = 3, gamma = 0.7, rho = (0.4, 2.5)"
    yield Fact(label, settings.noise_scales(n), stated, 1e-14)


def _algorithm_1(rng: np.random.Generator) -> Iterator[Fact]:
    yield from _noisy_runs(rng)
    yield from _noise_scales(rng)


def _algorithm_3(rng: np.random.Generator) -> Iterator[Fact]:
    yield from _noisy_runs(rng, first_stage=False)
    yield from _noise_scales(rng, beta_only=True)


CLAIMS = (
    Claim(
        id="iv/alg-2sls",
        where="Definition 2.3",
        kind="algorithm",
        statement="2SLS: regress $X$ on $Z$, then $Y$ on the fitted values $Z hat(Theta)$.",
        hypotheses="Against exact rationals, and against linearmodels on two data sets, to $10^(-10)$.",
        checks=(
            Agreement(
                facts=_least_squares,
                impostors={"one stage": {"facts": lambda rng: _least_squares(rng, stages=1)}},
            ),
            Agreement(
                facts=_linearmodels,
                impostors={"1e-9 off": {"facts": lambda rng: _linearmodels(rng, 1 + 1e-9)}},
            ),
        ),
    ),
    Claim(
        id="iv/alg-2",
        where="Algorithm 2",
        kind="algorithm",
        statement=(
            "2S-GD: from zero, gradient steps on both stages at the old iterates, $1/n Z^T (Z Theta - X)$ and $1/n "
            "Theta^T Z^T (Z Theta beta - Y)$."
        ),
        hypotheses="Exact rational runs; so $beta^((1)) = 0$ and $Theta^((t)) = (I - M^t) hat(Theta)$.",
        checks=(
            Agreement(
                facts=_noiseless_runs,
                impostors={
                    "beta sees the new Theta": {"facts": lambda rng: _noiseless_runs(rng, newest=True)},
                    "factor 2 of the squared loss": {"facts": lambda rng: _noiseless_runs(rng, doubled=2)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/alg-1",
        where="Algorithm 1",
        kind="algorithm",
        statement=(
            "DP-2S-GD: the steps of Algorithm 2 with each record's gradients clipped to $gamma_1, gamma_2$ and "
            "Gaussian noise of scale $lambda_1, lambda_2$ added to the averages."
        ),
        hypotheses=(
            '$op("CLIP")_gamma (v) = v min(1, gamma \\/ norm(v))$, Frobenius for matrices, which the paper leaves '
            "undefined; the fast form by norms of vectors against gradients formed one by one."
        ),
        checks=(
            Agreement(
                facts=_algorithm_1,
                impostors={
                    "beta sees the new Theta": {"facts": lambda rng: _noisy_runs(rng, newest=True)},
                    "clip norm 5 % larger": {"facts": lambda rng: _noisy_runs(rng, gamma=1.05 * 1.5)},
                    "other sign of the noise": {"facts": lambda rng: _noisy_runs(rng, sign=-1.0)},
                    "half the noise": {"facts": lambda rng: _noise_scales(rng, factor=1.0)},
                },
            ),
        ),
    ),
    Claim(
        id="iv/alg-3",
        where="Algorithm 3",
        kind="algorithm",
        statement=(
            "DP-2S-GD-$beta$: the second stage of Algorithm 1 on a first stage without clipping and noise, of which "
            "only $beta$ is returned."
        ),
        checks=(
            Agreement(
                facts=_algorithm_3,
                impostors={
                    "clip norm 5 % larger": {
                        "facts": lambda rng: _noisy_runs(rng, first_stage=False, gamma=1.05 * 1.5)
                    },
                    "beta sees the new Theta": {"facts": lambda rng: _noisy_runs(rng, first_stage=False, newest=True)},
                },
            ),
        ),
    ),
)
