"""Beyond the paper: what theory says of one run, as `dpbounds solve iv` prints it: noise, privacy, error to expect."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

from dpbounds.iv import Answer, Constants, Design, Moments, Plan, TwoStageBudget, answer, noise_expansion
from dpbounds.iv.isotropic import Isotropic, starting_gradient_norms
from simulators.engine import Experiment
from simulators.iv import FixedMoments, LinearModel, Settings, two_stage_descent
from verify.checks import Agreement, Case, Fact, Holds, Means, MonteCarlo, Quantiles, Reading, Times, Within
from verify.checks.audit import gaussian_zcdp
from verify.papers.iv.tools.output_laws import Mechanism, joint_shifts, opposite_records
from verify.statements.claims import Claim

SINGULAR, BETA, Q, N = np.array([1.6, 0.8]), np.array([0.6, -0.8]), 3, 2000
STEPS = (1, 2, 5, 20)


def _plan(n: int = N, *, rho1: float = 3.0) -> Plan:
    """p = 2 regressors, q = 3 instruments, clip norms that no gradient reaches, small errors of the first stage."""
    return Plan(
        design=Design(n=n, p=2, q=Q, theta_norm=1.6, theta_least=0.8, sigma_2=0.1),
        population=Isotropic(singular_values=SINGULAR, beta=BETA, q=Q, eta=0.8, alpha=0.4),
        constants=Constants(concentration=0.0, product=0.0),
        budget=TwoStageBudget(rho1=rho1, rho2=1.5, gamma1=20.0, gamma2=30.0),
        sigma_1=0.7,
        delta=1e-6,
    )


@cache
def _answer(n: int = N) -> Answer:
    return answer(_plan(n), STEPS)


def _row(steps: int, n: int = N) -> dict[str, Any]:
    return _answer(n).row(steps)


# --- the error to expect ---


def _moments() -> Moments:
    """A = I, no residual."""
    theta = np.vstack([np.diag(SINGULAR), np.zeros((Q - 2, 2))])
    return Moments(A=np.eye(Q), G=theta, b=theta @ BETA, n=N)


def _run(steps: int, **other: Any) -> Experiment:
    """Algorithm 1 on moments with A = I, with the noise of the row and without clipping."""
    row = _row(steps)
    settings = Settings(steps=steps, eta=0.8, alpha=0.4, lambda1=row["lambda1"], lambda2=row["lambda2"], **other)
    problem = FixedMoments(given=_moments())
    return Experiment(algorithm=_squared, problem=problem, settings=settings, block_trials=2000)


def _squared(problem: FixedMoments, settings: Settings, streams: Any, trials: int) -> dict[str, np.ndarray]:
    """The error and its square."""
    errors = two_stage_descent(problem, settings, streams, trials)["error_hat"]
    return {"error": errors, "square": errors**2}


def _medians() -> list[Reading]:
    return [
        Reading(label=f"T = {T}", experiment=_run(T), output="error", predicted=lambda T=T: _row(T)["median"])
        for T in STEPS
    ]


def _mean_squares() -> list[Case]:
    return [
        Case(
            label=f"T = {T}",
            experiment=_run(T),
            output="square",
            predicted=lambda T=T: _row(T)["rms"] ** 2,
            relative_std=1.2,
        )
        for T in STEPS
    ]


def _reliable(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Noise in Theta in units of its least singular value, sqrt(p) + sqrt(q) entries long, and where half of it is."""
    for row in (row for row in _answer().rows if row["T"] in STEPS):
        variance = row["lambda1"] ** 2 * sum(0.8**2 * 0.2 ** (2 * t) for t in range(row["T"]))
        noise = (math.sqrt(2) + math.sqrt(Q)) * math.sqrt(variance) / 0.8
        yield Fact(f"noise in Theta, T = {row['T']}", row["theta_noise"], noise, 1e-12)
        law = noise_expansion(_moments(), 0.8, 0.4, row["T"])
        parts = {
            "noiseless": np.linalg.norm(law.noiseless[-1] - BETA),
            "first_noise": row["lambda1"] * math.sqrt(np.trace(law.first[-1])),
            "second_noise": row["lambda2"] * math.sqrt(np.trace(law.second[-1])),
            "shift": row["lambda1"] ** 2 * np.linalg.norm(law.shift[-1]),
        }
        for name, value in parts.items():
            yield Fact(f"{name}, T = {row['T']}", row[name], float(value), 1e-9)
    for budget, reliable in ((3.0, True), (0.003, False)):
        row = answer(_plan(rho1=budget), [5]).row(5)
        said = "reliable" if reliable else "not reliable"
        yield Holds(f"called {said} at rho_1 = {budget:g}", row["reliable"] == reliable)
        least, most = (0.0, 0.3) if reliable else (0.3, math.inf)
        yield Within(f"noise in Theta at rho_1 = {budget:g}", row["theta_noise"], least, most)


PREDICTED = Claim(
    id="iv/beyond-answers-error",
    where="prediction of `solve iv`",
    kind="mc-equality",
    statement=(
        "Without clipping and with $A = I$ the median and the root mean square of $norm(beta^((T)) - hat(beta))$ are "
        "those of the Gaussian law of leading order in the noise."
    ),
    hypotheses="Noise in $Theta$ below 0.3 of its least singular value.",
    setting="$p = 2$, $q = 3$, $n = 2000$, $T = 1, 2, 5, 20$, noise of (4) for $rho_1 = 3$, $rho_2 = 1.5$.",
    checks=(
        Quantiles(
            readings=_medians,
            resolution={"quick": 0.1, "full": 0.05},
            trials={"quick": 4_000, "full": 64_000},
            impostors={"15 % too large": {"scale": 1.15}},
        ),
        MonteCarlo(
            means=Means(cases=_mean_squares),
            resolution={"quick": 0.15, "full": 0.08},
            impostors={"20 % too large": {"scale": 1.2}},
        ),
        Agreement(facts=_reliable, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)


# --- the best T, and how to split the budget ---


def _best(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    found = answer(_plan(), list(range(1, 60)))
    rows = {row["T"]: row for row in found.rows if row["T"] < 60}
    assert found.best is not None and found.optimum is not None
    yield Fact("T of least predicted error", found.best, min(rows, key=lambda T: rows[T]["rms"]), 0)
    yield Fact("T of the least bound", found.optimum.steps, min(rows, key=lambda T: rows[T]["total"]), 0)
    bests = {found.best: "prediction", found.optimum.steps: "bound"}
    named = {T: row["best_for"] for T, row in rows.items() if row["best_for"]}
    yield Holds("the rows at these T are said to be best, and no others", named == bests)
    alone = answer(_plan(), curve=True)
    yield Fact("T that are shown where none is wanted", alone.shown, sorted(bests), 0)
    quiet = answer(replace(_plan(), budget=TwoStageBudget(rho1=math.inf, rho2=math.inf)), [])
    yield Fact("T that are shown where none is wanted, without noise", quiet.shown, [1], 0)
    yield Holds("nothing is best there", quiet.best is None and quiet.optimum is None and quiet.share is None)
    yield Fact("T of its rows", [row["T"] for row in quiet.rows], [1, 2, 5, 10, 20], 0)
    beyond = round(1.25 * max(alone.curve))
    yield Holds("the curve ends where no prediction is reliable", not answer(_plan(), [beyond]).row(beyond)["reliable"])
    yield Fact("where it begins", min(alone.curve), 1, 0)
    drawn = {T: error for T, error in alone.curve.items() if T in rows}
    yield Fact("the curve", list(drawn.values()), [rows[T]["rms"] for T in drawn], 1e-9)
    # A stage's noise variance goes as 1 over its budget; the first has two thirds of it here.
    best = rows[found.best]
    first, second = best["first_noise"] ** 2 * 2 / 3, best["second_noise"] ** 2 / 3
    shares = np.linspace(0.001, 0.999, 999)
    variance = first / shares + second / (1 - shares)
    yield Fact("share of the first stage", found.share, shares[np.argmin(variance)], 0.002)
    halved = answer(_plan(rho1=1.5), [found.best])
    other = next(row for row in halved.rows if row["T"] == found.best)
    yield Fact("first noise at half its budget", other["first_noise"], best["first_noise"] * math.sqrt(2), 1e-12)


# Whole numbers about a quarter apart, which are tried where clipping counts and drawn in curves.
TRIED = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 19, 24, 30, 38, 48, 60, 75, 94, 118, 148, 185)


def _clipped(gammas: tuple[float, float], rho: float, sigma: float) -> Plan:
    """Long gradients on the way are clipped, and hardly any at the end: the errors are small."""
    budget = TwoStageBudget(rho1=rho, rho2=rho, gamma1=gammas[0], gamma2=gammas[1])
    return replace(_plan(), budget=budget, sigma_1=sigma, design=replace(_plan().design, sigma_2=sigma))


def _best_unclipped(plan: Plan) -> int:
    """T of least mean square by the leading order on moments, noise of (4)."""
    budget, order = plan.budget, noise_expansion(_moments(), 0.8, 0.4, 99)

    def square(T: int) -> float:
        noise = (2 * math.sqrt(T / rho) / N for rho in (budget.rho1, budget.rho2))
        one, two = (gamma * unit for gamma, unit in zip((budget.gamma1, budget.gamma2), noise, strict=True))
        return float(order.mean_squared_error(BETA, one, two)[T])

    return min(range(1, 100), key=square)


def _searched(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Where clipping slows the run down: the least error of those tried, which end at four times the T that is best
    without clipping, or where an unclipped run has settled; which T are told and drawn.
    """
    plan = _clipped((1.0, 0.5), 30.0, 0.1)
    first = _best_unclipped(plan)
    found = answer(plan, [first], curve=True)
    near = next(T for T in TRIED if first < T)
    yield Fact("the next that is tried is better", found.best, near, 0)
    yield Holds("as its row says", found.row(near)["rms"] < found.row(first)["rms"])
    yield Fact("T of the curve", list(found.curve), [*TRIED[10:], 200], 0)
    plan = _clipped((3.0, 0.06), 10.0, 0.003)
    first = _best_unclipped(plan)
    slow = answer(plan, [75])
    assert slow.optimum is not None
    yield Fact("the last that is tried is the best", slow.best, 4 * first, 0)
    told = {1, 2, 5, 10, 20, 50, 75, 100, 200, 4 * first, slow.optimum.steps}
    yield Fact("T of the rows", [row["T"] for row in slow.rows], sorted(told), 0)
    yield Holds("clipped up to 75 steps", not slow.row(75)["reliable"])
    unsettled = answer(_clipped((3.0, 0.03), 1e8, 1e-3), [40_000])
    settled = math.ceil(60 / -math.log(1 - 0.4 * 0.8**2)) + 2
    yield Fact("the last T before an unclipped run has settled", unsettled.best, settled, 0)
    yield Holds("any T is predicted then", unsettled.row(40_000)["noiseless"] is not None)
    noisy = answer(replace(_plan(), budget=replace(_plan().budget, rho2=1e-4)))
    yield Holds("nothing is to be split where one step is best", noisy.best == 1 and noisy.share is None)


BEST = Claim(
    id="iv/beyond-answers-best",
    where="advice of `solve iv`",
    kind="number",
    statement=(
        "The $T$ that is recommended has the least predicted error of all, the recommended split of $rho_1 + rho_2$ "
        "the least noise at that $T$, and the $T$ said to be best for the bound (7) the least bound."
    ),
    setting="As above; brute force over $T < 60$ and 999 splits; clip norms that half of the first gradients exceed.",
    checks=(
        Agreement(facts=_best, impostors={"5 % off": {"facts": Times(1.05)}}),
        Agreement(facts=_searched, impostors={"5 % off": {"facts": Times(1.05)}}),
    ),
)


# --- noise and privacy ---


# The gradients of every record are formed one by one.
FEW = 100


def _spent(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Noise of (4), the cost of the worst pair of data sets by its output laws, and epsilons by their definitions."""
    delta = _plan().delta
    for T in STEPS:
        row = _row(T, FEW)
        for stage, rho, gamma in (("1", 3.0, 20.0), ("2", 1.5, 30.0)):
            yield Fact(
                f"lambda{stage}, T = {T}",
                row[f"lambda{stage}"],
                math.sqrt(2 * T / rho) * gamma * math.sqrt(2) / FEW,
                1e-12,
            )
        mechanism = Mechanism(n=FEW, steps=T, gamma1=20.0, gamma2=30.0, lambda1=row["lambda1"], lambda2=row["lambda2"])
        shift, variances = joint_shifts(opposite_records(FEW, Q, 2, "replace-one"), mechanism, rng)
        exact = gaussian_zcdp(shift, np.diag(variances))
        yield Fact(f"worst case, T = {T}", row["rho_worst_case"], exact, 1e-9)
        yield Fact(f"claimed, T = {T}", row["rho_claimed"], 4.5, 1e-15)
        claimed = 4.5 + 2 * math.sqrt(4.5 * math.log(1 / delta))
        yield Fact(f"epsilon claimed, T = {T}", row["epsilon_claimed"], claimed, 1e-12)
        epsilon = brentq(lambda e, mu: _delta(e, mu) - delta, 0.0, 60.0, args=(math.sqrt(2 * exact),), xtol=1e-12)
        yield Fact(f"epsilon in the worst case, T = {T}", row["epsilon_worst_case"], epsilon, 1e-8)
        yield Within(f"least cost of beta alone, T = {T}", row["beta_at_least"], 0.0, row["beta_at_most"])


def _delta(epsilon: float, mu: float) -> float:
    """delta(epsilon) of a Gaussian with means mu standard deviations apart."""
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


SPENT = Claim(
    id="iv/beyond-answers-privacy",
    where="privacy of `solve iv`",
    kind="privacy",
    statement=(
        "The noise scales are those of (4);",
        "the budget said to be spent is the largest over all neighbouring data sets;",
        "$epsilon$ is claimed by the paper's conversion and spent by the exact one.",
    ),
    setting="$p = 2$, $q = 3$, $n = 100$, $T = 1, 2, 5, 20$, $delta = 10^(-6)$, replace-one neighbours.",
    checks=(Agreement(decides="abc", facts=_spent, impostors={"1 % off": {"facts": Times(1.01)}}),),
)


# --- how long gradients are ---


def _lengths(problem: LinearModel, settings: None, streams: Any, trials: int) -> dict[str, np.ndarray]:
    """Mean squared norms of the gradients of n records at the start, written out record by record."""
    sample = problem.records(streams.data, trials)
    z, x, y = sample.instruments, sample.regressors, sample.outcome
    first = np.einsum("tqn,tpn->tqpn", z, x)
    second = np.einsum("qp,tqn,tn->tpn", problem.theta, z, y)
    return {"theta": np.mean(np.sum(first**2, axis=(1, 2)), -1), "beta": np.mean(np.sum(second**2, axis=1), -1)}


def _gradients() -> list[Case]:
    theta = np.vstack([np.diag(SINGULAR), np.zeros((Q - 2, 2))])
    errors = np.diag([0.5**2, 0.5**2, 0.7**2])
    model = LinearModel(n=500, beta=BETA, theta=theta, error_covariance=errors)
    population = _plan().population
    assert isinstance(population, Isotropic)
    stated = starting_gradient_norms(population, 0.7, 0.5)
    return [
        Case(
            label=name,
            experiment=Experiment(algorithm=_lengths, problem=model, settings=None, block_trials=200),
            output=name,
            predicted=lambda name=name: getattr(stated, name) ** 2,
            relative_std=0.15,
        )
        for name in ("theta", "beta")
    ]


GRADIENTS = Claim(
    id="iv/beyond-answers-gradients",
    where="advice of `solve iv` on clip norms",
    kind="mc-equality",
    statement=(
        "At the start $EE norm(z x^top)_F^2 = (q + 2) tr Theta^top Theta + q p sigma_2^2$ and $EE norm(Theta^top z "
        "y)^2 = tr Theta^top Theta (norm(Theta beta)^2 + sigma_1^2 + sigma_2^2 norm(beta)^2) + 2 norm(Theta^top Theta "
        "beta)^2$."
    ),
    hypotheses="$z tilde cal(N)(0, I)$, independent Gaussian errors.",
    setting="$p = 2$, $q = 3$, $sigma_1 = 0.7$, $sigma_2 = 0.5$.",
    checks=(MonteCarlo(means=Means(cases=_gradients), impostors={"6 % off": {"scale": 1.06}}),),
)
