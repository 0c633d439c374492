"""Beyond the paper: Theorem 1 item 2 with all constants."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from dpbounds.ols import Features, Gram, calibration, utility
from dpbounds.ols.wishart import inverse_moments
from simulators.engine import Experiment
from simulators.ols import HessianMixing, hessian_mixing
from verify.checks import Agreement, Event, Fact, Frequency, Search, Times, Within
from verify.checks.domains import Real, Whole
from verify.papers.ols.tools.settings import records
from verify.papers.ols.tools.sketched import spectra_runs
from verify.statements.claims import Claim

# data, T, k, eta², sigma, varrho
GIVEN = (("plain", 2, 600, 0.5, 0.4, 0.1), ("residual", 1, 900, 4.0, 1.0, 0.05), ("plain", 3, 1000, 0.0, 0.2, 0.2))


def _by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """Every part of the bound, by whole matrices."""
    for name, T, k, noise, sigma, failure in GIVEN:
        problem = records(name)
        d, M = problem.d, problem.gram + noise * np.eye(problem.d)
        found = utility.given_noise(
            problem.statistics,
            steps=T,
            k=k,
            eta_squared=noise,
            sigma=sigma,
            failure=failure,
            outcome_bound=1.5,
        )
        x = (math.sqrt(d) + math.sqrt(2 * math.log(4 * T / failure))) / math.sqrt(k)
        ridge, least = np.linalg.solve(M, problem.cross), np.linalg.eigvalsh(M)[0]
        q, inverse = (1 - x) ** -2 - 1, (1 - x) ** -2
        length = math.sqrt(d) + math.sqrt(2 * math.log(2 * T / failure))
        spread = sigma * inverse * length / math.sqrt(least) / (1 - q)
        start = math.sqrt(ridge @ M @ ridge)
        bias = noise * np.linalg.norm(problem.theta_star) / math.sqrt(least)
        label = f"{name}, T = {T}, k = {k}"
        stated = [q, start, spread, bias, 1.5 + np.linalg.norm(ridge) + (start + spread) / math.sqrt(least)]
        parts = [found.contraction, found.start, found.noise, found.bias, found.clip]
        for part, value, own in zip(("q", "start", "noise", "bias", "clip"), parts, stated, strict=True):
            yield Fact(f"{part}, {label}", value, own, 1e-9)
        yield Fact(f"risk, {label}", float(found.risk), (q**T * start + spread + bias) ** 2, 1e-9)
    small = utility.given_noise(
        Gram(A=np.eye(2), b=np.ones(2), y_squared=2.0, n=2), steps=1, k=50, eta_squared=1.0, sigma=1.0, failure=0.1
    )
    yield Fact("no bound from a sketch too small", [small.risk, small.clip], [math.inf, math.inf], 0)


def _theorem_by_hand(rng: np.random.Generator) -> Iterator[Fact]:
    """The numbers of the data-free form, q = 1/sqrt 8."""
    q = 1 / math.sqrt(8)
    x = 1 - 1 / math.sqrt(1 + q)
    noise = (1 + q) / (1 - q)
    for d, failure, T in ((3, 0.1, 2), (20, 1e-6, 5)):
        reach = math.sqrt(d) + math.sqrt(2 * math.log(8 * T / failure))
        k = utility.theorem_sketch_size(d, failure, T)
        yield Fact(f"least k, d = {d}", k, math.ceil((reach / x) ** 2), 1e-12)
        common: dict[str, Any] = {"d": d, "steps": T, "failure": failure, "gamma": 7.0, "sigma": 2.0}
        length = math.sqrt(d) + math.sqrt(2 * math.log(2 * T / failure))
        for least in (1.0, 30.0):
            data = Features(lambda_min=least, signal=50.0, theta_squared=1.5)
            found = utility.theorem(data, k=k, **common)
            rest = 4 * ((noise * 2.0 * length) ** 2 + 49 * 1.5) / max(least, 7.0)
            yield Fact(f"bound, d = {d}, lambda = {least}", float(found), 50 / 4**T + rest, 1e-12)
        data = Features(lambda_min=1.0, signal=50.0, theta_squared=1.5)
        found = utility.theorem(data, k=k - 1, **common)
        yield Fact(f"no bound below that k, d = {d}", float(found), math.inf, 0)
    clip = utility.theorem_clip(5.0, theta_norm=0.7, outcome_bound=2.0)
    yield Fact("clip level", clip, (2 + 0.7 * (1 + q * math.sqrt(5))) / (1 - noise * x), 1e-12)
    yield Fact("1.42, 17.54 and 51", [1 / (1 - noise * x), 4 * noise**2, 1 / x**2], [1.4167, 17.537, 50.68], 1e-4)


def _pieces(chi, T, spread, theta, condition, share: float = 1.0):
    """What the theorem needs of its numbers, over what it allows: 2 q^(2T) 4^T, and residuals C_Y + ||theta*|| + q
    sqrt(kappa) ||theta*|| + noise_factor x C over C, at any contraction chi up to 1/sqrt 8.
    """
    q = chi / math.sqrt(8)
    x = 1 - 1 / np.sqrt(1 + q)
    limit = np.array([utility.theorem_clip(a, theta_norm=b) for a, b in zip(condition, theta, strict=True)])
    reach = 1 + theta + q * np.sqrt(condition) * theta + (1 + q) / (1 - q) * x * limit
    return np.maximum(2 * (4 * q**2) ** T, reach / limit), share * np.ones_like(chi)


def _noise_over_clip(epsilon, log_delta, d, steps, log_failure, share: float = 1.0):
    """sigma w / gamma against LARGEST_X C at the theorem's k and the printed noise: what `theorem_clip` takes for
    granted.
    """
    failure, delta = math.exp(-log_failure), math.exp(-log_delta)
    k = utility.theorem_sketch_size(int(d), failure, int(steps))
    scales = calibration.hessian_mixing_scales(
        epsilon, delta, k=k, steps=int(steps), failure=failure, accounting="theorem"
    )
    length = math.sqrt(d) + math.sqrt(2 * math.log(2 * steps / failure))
    return scales.sigma * length / scales.gamma, share * utility.LARGEST_X


def _given_events(share: float = 1.0) -> list[Event]:
    """Algorithm 1 at a fixed eta² (gamma, and no eigenvalue seen), clipping at the bound's level."""
    events = []
    for name, T, k, noise, sigma, failure in GIVEN[:2]:
        problem = records(name)
        found = utility.given_noise(problem.statistics, steps=T, k=k, eta_squared=noise, sigma=sigma, failure=failure)
        own = HessianMixing(steps=T, k=k, gamma=noise, tau=1e6, sigma=sigma, clip=share * found.clip, keep_ridge=True)

        def occurs(arrays: Any, bound=float(found.risk) * share) -> np.ndarray:
            return (arrays["risk"] <= bound) & (arrays["clipped"].sum(axis=1) == 0)

        events.append(
            Event(
                label=f"{name}, T = {T}, k = {k}",
                experiment=Experiment(algorithm=hessian_mixing, problem=problem, settings=own, block_trials=500),
                occurs=occurs,
                at_least=1 - failure,
            )
        )
    return events


def _spectra(share: float = 1.0) -> list[Event]:
    """||I - V^-1|| <= q of `given_noise`, which leaves out 2 exp(-t²/2)."""
    events = []
    for k, d, chance in ((60, 3, 0.1), (400, 10, 0.02)):
        x = (math.sqrt(d) + math.sqrt(2 * math.log(2 / chance))) / math.sqrt(k)
        q = share * ((1 - x) ** -2 - 1)

        def occurs(arrays: Any, q=q) -> np.ndarray:
            return np.maximum(1 / arrays["least"] - 1, 1 - 1 / arrays["largest"]) <= q

        events.append(
            Event(label=f"k = {k}, d = {d}", experiment=spectra_runs(k, d), occurs=occurs, at_least=1 - chance)
        )
    return events


def _against_the_mean(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """q² is above the mean contraction of a step, and the noise's share above its exact mean, in every setting."""
    for name, _, k, noise, sigma, failure in GIVEN:
        problem = records(name)
        found = utility.given_noise(problem.statistics, steps=1, k=k, eta_squared=noise, sigma=sigma, failure=failure)
        moments = inverse_moments(k, problem.d)
        spread = sigma**2 * moments.b2 * (1 / (problem.eigenvalues + noise)).sum()
        yield Within(
            f"q² above the mean, {name}, k = {k}", share * found.contraction**2, least=moments.contraction(1.0)
        )
        yield Within(f"noise above its mean, {name}, k = {k}", share * found.noise**2, least=spread)


BEYOND_UTILITY = Claim(
    id="ols/beyond-utility",
    where="beyond Theorem 1 item 2",
    kind="mc-rate",
    statement=(
        "Given $eta^2$, with $x = (sqrt(d) + sqrt(2 log(4 T\\/rho.alt))) \\/ sqrt(k) < 1 - 1\\/sqrt(2)$, $q = (1 - "
        "x)^(-2) - 1$, $ell = lambda^X + eta^2 > 0$, $N = sigma (sqrt(d) + sqrt(2 log(2 T\\/rho.alt))) \\/ ((1 - q) "
        "(1 - x)^2 sqrt(ell))$: with probability at least $1 - rho.alt$, $sqrt(cal(R)) <= q^T norm(theta^*(eta^2))_M "
        "+ N + eta^2 norm(theta^*) \\/ sqrt(ell)$, and nothing is clipped if $C >= C_Y + norm(theta^*(eta^2)) + "
        "(norm(theta^*(eta^2))_M + N) \\/ sqrt(ell)$."
    ),
    remark="For data that one knows; its data-free form is the corrected Theorem 1 (`ols/thm-1-util`).",
    checks=(
        Agreement(facts=_by_hand, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(facts=_theorem_by_hand, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(facts=_against_the_mean, impostors={"a thousandth": {"facts": {"share": 1e-3}}}),
        Search(
            sides=_pieces,
            box={
                "chi": Real(0.01, 1.0),
                "T": Whole(1, 8),
                "spread": Real(1.0, 2.0),
                "theta": Real(0.0, 10.0),
                "condition": Real(1.0, 1e4, "log"),
            },
            evaluations=1500,
            vectorised=True,
            impostors={"1 % less": {"sides": {"share": 0.99}}},
        ),
        Search(
            sides=_noise_over_clip,
            box={
                "epsilon": Real(0.01, 100.0, "log"),
                "log_delta": Real(1.0, 60.0),
                "d": Whole(1, 1000, "log"),
                "steps": Whole(1, 10),
                "log_failure": Real(0.1, 40.0),
            },
            evaluations=600,
            impostors={"a fifth": {"sides": {"share": 0.2}}},
        ),
        Frequency(
            events=_given_events,
            trials={"quick": 2_000, "full": 20_000},
            impostors={"a hundredth": {"events": {"share": 0.01}}},
        ),
        Frequency(
            events=_spectra,
            trials={"quick": 4_000, "full": 20_000},
            impostors={"a quarter": {"events": {"share": 0.25}}},
        ),
    ),
)
