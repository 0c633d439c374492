"""Algorithms 1, 2, 3 and two-stage least squares: the simulators against what is printed, record by record."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from dpbounds.iv import Moments
from dpbounds.iv.noiseless import path as noiseless_path
from simulators.engine import Arrays, Experiment, Streams
from simulators.iv import FixedMoments, Settings, compare_descents, synthetic_model, two_stage_descent
from simulators.iv.samples import RecordSample
from simulators.iv.two_stage import iterates
from verify.checks import Agreement, Case, Fact, Holds, Means, MonteCarlo, Times, Within
from verify.papers.iv.tools.output_laws import fixed
from verify.papers.iv.tools.rationals import TwoStage, identity, power
from verify.papers.iv.tools.reference import Noise, Records, descent, gradient_norms, noiseless, rational_records
from verify.statements.claims import Claim

SIZES = ((5, 1, 1), (6, 3, 2), (7, 2, 2), (9, 4, 3))  # n, q, p
ETA, ALPHA = Fraction(1, 8), Fraction(1, 32)


def _rounded(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=float)


# --- two-stage least squares ---


def _least_squares(rng: np.random.Generator, *, stages: int = 2) -> Iterator[Fact]:
    """The simulators' estimates against two regressions in exact rationals."""
    for n, q, p in SIZES:
        data, label = rational_records(rng, n, q, p), f"n = {n}, q = {q}, p = {p}"
        _, X, Y = data
        exact = TwoStage(data if stages == 2 else Records(X, X, Y))
        moments = fixed(data.floats()).sample.moments
        yield Fact(f"beta_hat at {label}", moments.beta_hat[0], _rounded(exact.beta_hat), 1e-10)
        if stages == 2:
            yield Fact(f"theta_hat at {label}", moments.theta_hat[0], _rounded(exact.theta_hat), 1e-10)


ALG_2SLS = Claim(
    id="iv/alg-2sls",
    where="Definition 2.3",
    page=4,
    kind="algorithm",
    statement="2SLS: regress $X$ on $Z$, then $Y$ on the fitted values $Z hat(Theta)$.",
    setting="Against exact rationals on integer data, to $10^(-10)$.",
    checks=(
        Agreement(
            facts=_least_squares,
            impostors={"one stage": {"facts": {"stages": 1}}, "1e-9 off": {"facts": Times(1 + 1e-9)}},
        ),
    ),
)

# --- Algorithm 2 ---


def _settings(**changes: Any) -> Settings:
    return Settings(**{"steps": 5, "eta": float(ETA), "alpha": float(ALPHA), **changes})


def _simulated(data: Records, settings: Settings, noise: Noise) -> list[Any]:
    """The simulators' iterates t = 1 ... T with prescribed noise."""
    Z, X, Y = data.floats()
    sample = RecordSample(instruments=Z.T[None].copy(), regressors=X.T[None].copy(), outcome=Y[None])
    shaped = ((_rounded(Xi)[None], _rounded(nu)[None]) for Xi, nu in noise)
    return list(iterates(sample, settings, shaped, 1))


def _compare(label: str, found: list, stated: list, tolerance: float = 1e-12) -> Iterator[Fact]:
    for t, (own, printed) in enumerate(zip(found, stated[1:], strict=True), start=1):
        for name, a, b in zip(("Theta", "beta"), (own.theta[0], own.beta[0]), printed, strict=True):
            yield Fact(f"{label}: {name} after {t} steps", a, _rounded(b), tolerance)


def _noiseless_runs(rng: np.random.Generator, *, newest: bool = False, doubled: int = 1) -> Iterator[Fact]:
    """Algorithm 2 in exact rationals; beta_1 = 0 and Theta_t = (I - (I - eta Z'Z/n)^t) theta_hat exactly."""
    for n, q, p in SIZES:
        data, label = rational_records(rng, n, q, p), f"n = {n}, q = {q}, p = {p}"
        stated = descent(data, eta=doubled * ETA, alpha=doubled * ALPHA, noise=noiseless(5), newest=newest)
        yield from _compare(label, _simulated(data, _settings(), noiseless(5)), stated)
        theory = noiseless_path(Moments.of(*data.floats()), float(ETA), float(ALPHA), 5)
        yield Fact(f"{label}: Theta of theory", theory.theta, [_rounded(theta) for theta, _ in stated], 1e-12)
        yield Fact(f"{label}: beta of theory", theory.beta, [_rounded(beta) for _, beta in stated], 1e-12)
        yield Fact(f"{label}: beta after one step", stated[1][1], 0 * stated[1][1], 0)
        solved = TwoStage(data)
        M = identity(q) - doubled * ETA * solved.A
        for t in (2, 3, 5):
            closed = solved.theta_hat - power(M, t) @ solved.theta_hat
            yield Fact(f"{label}: Theta_{t} = (I - M^{t}) Theta_hat", stated[t][0], closed, 0)


ALG_2 = Claim(
    id="iv/alg-2",
    where="Algorithm 2",
    page=14,
    kind="algorithm",
    statement=(
        "2S-GD: from zero, gradient steps on both stages at the old iterates, $1/n Z^top (Z Theta - X)$ and $1/n "
        "Theta^top Z^top (Z Theta beta - Y)$."
    ),
    setting="Exact rational runs; so $beta^((1)) = 0$ and $Theta^((t)) = (I - M^t) hat(Theta)$.",
    checks=(
        Agreement(
            facts=_noiseless_runs,
            impostors={
                "beta sees the new Theta": {"facts": {"newest": True}},
                "factor 2 of the squared loss": {"facts": {"doubled": 2}},
            },
        ),
    ),
)

# --- Algorithms 1 and 3 ---


def _noise(
    rng: np.random.Generator, q: int, p: int, scales: tuple[float, float]
) -> list[tuple[np.ndarray, np.ndarray]]:
    return [(scales[0] * rng.standard_normal((q, p)), scales[1] * rng.standard_normal(p)) for _ in range(5)]


def _noisy_runs(
    rng: np.random.Generator, *, first_stage: bool = True, gamma: float = 1.53, newest: bool = False, sign: float = 1.0
) -> Iterator[Fact]:
    """Clipped runs with prescribed noise, and what they report of the clipping; Algorithm 3 clips and noises the second
    stage alone. No gradient of rational records is as long as a clip norm: rounding would decide whether it is clipped.
    """
    gamma1, scales = (2.03, (0.3, 0.2)) if first_stage else (None, (0.0, 0.2))
    settings = _settings(gamma2=1.53) if gamma1 is None else _settings(gamma1=gamma1, gamma2=1.53, record_norms=True)
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
        found, label = _simulated(data, settings, noise), f"n = {n}, q = {q}, p = {p}"
        yield from _compare(label, found, stated)
        if gamma1 is None:
            continue
        for t, (own, at) in enumerate(zip(found, stated, strict=False), start=1):
            for stage, norms, limit in zip(
                (own.first, own.second), gradient_norms(data, *at), (gamma1, 1.53), strict=True
            ):
                yield Fact(f"{label}: share clipped in step {t}", stage.clipped, [np.mean(norms > limit)], 1e-12)
                yield Fact(f"{label}: largest norm in step {t}", stage.largest, [norms.max()], 1e-12)


def _noise_scales(rng: np.random.Generator, *, beta_only: bool = False, factor: float = 2.0) -> Iterator[Fact]:
    """The standard deviations with which a run draws its noise, against (4)."""
    n, T, gamma, rho1, rho2 = 5, 3, 0.7, 0.4, 2.5
    settings = _settings(steps=T, gamma2=gamma, rho2=rho2)
    if not beta_only:
        settings = replace(settings, gamma1=gamma, rho1=rho1)
    stated = [0.0 if beta_only else factor * gamma / n * np.sqrt(T / rho1), factor * gamma / n * np.sqrt(T / rho2)]
    label = "lambda_1, lambda_2 at n = 5, T = 3, gamma = 0.7, rho = (0.4, 2.5)"
    yield Fact(label, settings.noise_scales(n), stated, 1e-14)


def _reports(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What a simulated run reports, from its own iterates; several runs on common data have noise of their own."""
    problem = synthetic_model(n=30, p=2, q=3, r=1, parameter_seed=0)
    settings = _settings(steps=3, lambda1=0.3, lambda2=0.2, record_paths=True)
    run = Experiment(algorithm=two_stage_descent, problem=problem, settings=settings, block_trials=6)
    found = run.run_block(0, seed=3)
    for kind, target in (("hat", found["beta_hat"]), ("true", problem.beta)):
        distances = np.linalg.norm(found["beta_path"] - np.reshape(target, (-1, 1, 2)), axis=2)
        yield Fact(f"errors to beta {kind}", found[f"error_{kind}_path"], distances, 1e-12)
        yield Fact(f"last error to beta {kind}", found[f"error_{kind}"], distances[:, -1], 1e-12)
    yield Fact("last Theta", found["theta"], found["theta_path"][:, -1], 0)
    two_stage = np.linalg.norm(found["beta_hat"] - problem.beta, axis=1)
    yield Fact("error of 2SLS", found["two_stage_error"], two_stage, 1e-12)
    pair = replace(run, algorithm=compare_descents, settings={"a": settings, "b": settings}).run_block(0, seed=3)
    yield Fact("common data", pair["a/beta_hat"], pair["b/beta_hat"], 0)
    yield Holds("each run has noise of its own", not np.any(pair["a/theta"] == pair["b/theta"]))
    second = run.run_block(1, seed=3)["beta_hat"]
    yield Holds("the data of a second block are others", not np.any(second == found["beta_hat"]))


# A correlation of independent draws is beyond seven standard deviations with probability 3e-12.
_DRAWS, _DEVIATIONS = 10_000, 7


def _independent_streams(rng: np.random.Generator, *, shared: bool = False) -> Iterator[Within]:
    """Correlations of 10 000 normals from the streams of noise, data and initial draws, of two blocks and two seeds."""
    run = Experiment(algorithm=two_stage_descent, problem=None, settings=None, block_trials=1)
    drawn = {}
    for block, seed in ((0, 0), (1, 0), (0, 1)):
        streams = run.streams(block, seed=seed)
        for role in ("noise", "data", "initial"):
            generator = streams.data if shared and role == "noise" else getattr(streams, role)
            state = np.random.Generator(type(generator.bit_generator)())
            state.bit_generator.state = generator.bit_generator.state
            drawn[f"{role}, block {block}, seed {seed}"] = state.standard_normal(_DRAWS)
    for (a, x), (b, y) in combinations(drawn.items(), 2):
        size = abs(float(x @ y)) / _DRAWS
        yield Within(f"size of the correlation of {a} with {b}", size, most=_DEVIATIONS / np.sqrt(_DRAWS))


def recovered_noise(problem: FixedMoments, settings: Settings, streams: Streams, trials: int) -> Arrays:
    """The noise in the iterates of a run, which the printed recursion gives back: sums over steps and entries in units
    of their deviations, `first`, `second`, `both` and `difference` of the two, and `last`, one entry of the last step.
    """
    arrays = two_stage_descent(problem, settings, streams, trials)
    A, G, b = problem.given.A, problem.given.G, problem.given.b
    q, p = problem.dimensions
    theta = np.concatenate([np.zeros((trials, 1, q, p)), arrays["theta_path"]], axis=1)
    beta = np.concatenate([np.zeros((trials, 1, p)), arrays["beta_path"]], axis=1)
    old, at = theta[:, :-1], beta[:, :-1, :, None]
    Xi = np.diff(theta, axis=1) / settings.eta + (A @ old - G)
    second = np.swapaxes(old, 2, 3) @ (A @ (old @ at) - b[:, None])
    nu = np.diff(beta, axis=1) / settings.alpha + second[..., 0]
    lambda1, lambda2 = settings.noise_scales(problem.n)
    sums = [noise.reshape(trials, -1) for noise in (Xi / lambda1, nu / lambda2)]
    first, second_sum = (part.sum(axis=1) / np.sqrt(part.shape[1]) for part in sums)
    return {
        "first": first,
        "second": second_sum,
        "both": (first + second_sum) / np.sqrt(2.0),
        "difference": (first - second_sum) / np.sqrt(2.0),
        "last": Xi[:, -1, -1, -1] / lambda1,
    }


def _noise_cases(variance: float = 1.0) -> list[Case]:
    data = synthetic_model(n=20, p=2, q=3, r=1, parameter_seed=0).fixed(data_seed=0)
    run = Experiment(
        algorithm=recovered_noise,
        problem=FixedMoments(given=Moments.of(data.instruments, data.regressors, data.outcome)),
        settings=_settings(steps=3, lambda1=0.7, lambda2=0.4, record_paths=True),
        block_trials=20_000,
    )
    return [
        Case(label=output, experiment=run, output=output, predicted=lambda: variance, relative_std=1.0)
        for output in ("first", "second", "both", "difference", "last")
    ]


def _algorithm_1(rng: np.random.Generator, **changes: Any) -> Iterator[Fact | Holds]:
    yield from _noisy_runs(rng, **changes)
    yield from _reports(rng)


_SCALES = Agreement(facts=_noise_scales, impostors={"half the noise": {"facts": {"factor": 1.0}}})

ALG_1 = Claim(
    id="iv/alg-1",
    where="Algorithm 1",
    page=6,
    kind="algorithm",
    statement=(
        "DP-2S-GD: the steps of Algorithm 2 with each record's gradients clipped to $gamma_1, gamma_2$ and Gaussian "
        "noise of scale $lambda_1, lambda_2$ added to the averages."
    ),
    setting=(
        '$op("CLIP")_gamma (v) = v min(1, gamma \\/ norm(v))$, Frobenius for matrices, which the paper leaves '
        "undefined; the fast form by norms of vectors against gradients formed one by one. The noise of simulated runs "
        "is recovered from their iterates."
    ),
    checks=(
        Agreement(
            facts=_algorithm_1,
            impostors={
                "beta sees the new Theta": {"facts": {"newest": True}},
                "clip norm 5 % larger": {"facts": {"gamma": 1.05 * 1.53}},
                "other sign of the noise": {"facts": {"sign": -1.0}},
            },
        ),
        _SCALES,
        MonteCarlo(
            means=Means(cases=_noise_cases, law="variance"),
            impostors={"10 % less variance": {"scale": 0.9}},
        ),
        Agreement(
            facts=_independent_streams,
            alpha=1e-10,
            impostors={"noise and data seeded alike": {"facts": {"shared": True}}},
        ),
    ),
)

ALG_3 = Claim(
    id="iv/alg-3",
    where="Algorithm 3",
    kind="algorithm",
    statement=(
        "DP-2S-GD-$beta$: the second stage of Algorithm 1 on a first stage without clipping and noise, of which only "
        "$beta$ is returned."
    ),
    checks=(
        Agreement(
            facts=partial(_noisy_runs, first_stage=False),
            impostors={
                "clip norm 5 % larger": {"facts": {"gamma": 1.05 * 1.53}},
                "beta sees the new Theta": {"facts": {"newest": True}},
            },
        ),
        Agreement(
            facts=partial(_noise_scales, beta_only=True),
            impostors={"half the noise": {"facts": {"factor": 1.0}}},
        ),
    ),
)
