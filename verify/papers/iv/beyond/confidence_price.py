"""Beyond the paper: the price of privacy before and after a release, and what would make a set bounded."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import root_scalar
from scipy.stats import chi2

from dpbounds.iv.confidence import (
    ADJACENCIES,
    Disclosure,
    MomentRelease,
    PrivacyBudget,
    ReleasePlan,
    bounded_set_budget,
    bounded_set_records,
    box_weights,
    confidence_answer,
    expected_prices,
    first_stage,
    price_of_privacy,
    sign_equivalent_sample,
)
from dpbounds.privacy import gaussian_delta
from simulators.iv.confidence.disclosing import clipped_design, moment_design, sign_design, staged_design
from verify.checks import Agreement, Fact, Holds, Times, Within
from verify.papers.iv.tools.confidence_releases import covariance_of, random_release
from verify.statements.claims import Claim

# --- after the release ---


def _price_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Traces of the variance with and without the noise, by sums over blocks; what hides under the noise of T2."""
    for q, seed in itertools.product((1, 2, 4), range(3)):
        release = random_release(seed, q=q)
        for beta in (-1.4, 0.3):
            private, bare = (
                float(np.trace(covariance_of(release, np.array([beta]), noise=noise))) / q for noise in (1.0, 0.0)
            )
            weights = np.array([release.outcome_weight, -beta * release.regressor_weights[0]])
            hidden = 2 * release.second_scale * float(weights @ weights) / math.sqrt(q)
            found, label = price_of_privacy(release, beta), f"q = {q}, release {seed}, coefficient {beta}"
            below = bare + hidden * (bare <= hidden)
            yield Fact(f"length ratio, {label}", found.ratio, math.sqrt(1 + (private - bare) / below), 1e-9)
            yield Holds(f"a least one where the noise hides it, {label}", found.least == (bare <= hidden))
            n_star = found.equivalent_sample(release.n)
            yield Fact(f"n* of it, {label}", math.sqrt(1 + n_star / release.n), found.ratio, 1e-12)
    infinite = price_of_privacy(random_release(0, q=1), math.inf)
    yield Fact("length ratio at an infinite coefficient", infinite.ratio, 1.0, 1e-12)
    yield Holds("a least one there", infinite.least)


PRICE = Claim(
    id="iv/beyond-confidence-price",
    where="beyond the paper: price of privacy of a release",
    kind="number",
    statement=(
        (
            r"The price of privacy that is read off a release is $sqrt(tr V \/ tr V_0)$ at the point estimate, $V$ the "
            "covariance of the moment and $V_0$ that without the noise;"
        ),
        (
            "where $V_0$ is below two standard deviations of the noise of $T_2$ it is counted as that much larger, and "
            "the price is called a least one."
        ),
    ),
    setting="Random releases, $q = 1, 2, 4$.",
    checks=(Agreement(decides="ab", facts=_price_facts, impostors={"1 % off": {"facts": Times(1.01)}}),),
)

# --- before it ---

BASE: dict[str, Any] = {"outcome": "y", "regressors": ("x",), "bounds": {"y": (0.0, 52.0), "x": (0.0, 1.0)}}
MEANS = {"a": 0.5, "b": 0.4}
EPSILON, DELTA = 2.0, 1e-6


def _plans() -> Iterator[tuple[str, ReleasePlan]]:
    for adjacency in ADJACENCIES:
        base = ReleasePlan(
            **BASE, instruments=("a", "b"), budget=PrivacyBudget(epsilon=EPSILON, delta=DELTA), adjacency=adjacency
        )
        yield f"public means, {adjacency}", replace(base, instrument_means=MEANS)
        yield f"a guess, {adjacency}", replace(base, instrument_means=MEANS, beta=9.0, clamping="natural")
        yield f"estimated means, {adjacency}", base
        yield f"short instruments, {adjacency}", replace(base, instrument_bound=0.7)
        single = replace(base, instruments=("a",), clamping="stretch")
        yield f"clipped residuals, {adjacency}", single
        yield f"clipped residuals, public mean, {adjacency}", replace(single, instrument_means={"a": 0.5})
        yield f"a bound beyond all instruments, {adjacency}", replace(base, instrument_bound=3.0)


def _needed(plan: ReleasePlan, mu: float, deviation: float) -> float:
    """n* from the design that is run: the variance of the noise of z'(y - beta x) over that of a record's part.

    Instruments stand at the ends of their ranges, half of the time each; the coefficient is the guess, or after
    recentring 0 around an outcome that ranges as far as y - b0 x does.
    """
    Y, X = plan.halves
    if plan.stretched:
        clipped = clipped_design(plan, mu)
        weight = float(box_weights(3 * deviation, [X], clipped.ratio)[0])
        # Sums of half of the records each, weighed one half, against z of +-1/2; or sums with z of +-1.
        coded = 1.0 if plan.instrument_means is not None else math.sqrt(0.5) / 0.5
        return (clipped.moment_scales[0] * weight * coded / deviation) ** 2
    ends = np.array(list(itertools.product((-1.0, 1.0), repeat=len(plan.instruments))))
    centre = [2 * mean - 1 for mean in (plan.instrument_means or {}).values()] or [0.0]
    reach = plan.instrument_bound or float(np.linalg.norm(ends - centre, axis=1).max())
    if plan.two_stage:
        design = staged_design(plan, mu)
        share = math.sqrt(1 - design.share) * design.mu
        run = moment_design(replace(plan, instrument_means=MEANS, instrument_bound=None), share)
        scale, weight = run.scales[0], run.weights[0] * (1 + plan.ratio)
        length = weight
    else:
        run = moment_design(plan, mu)
        guess = plan.ratio * Y / X
        scale = run.scales[0]
        length = math.hypot(run.weights[0], guess * run.weights[1][0])
    shrunk = ends / np.maximum(np.linalg.norm(ends, axis=1) / reach, 1.0)[:, None] if plan.two_stage else ends
    return (scale * length * reach) ** 2 / (float(np.mean(shrunk[:, 0] ** 2)) * deviation**2)


def _plan_facts(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Every row of what to expect, against the design that is run; the budgets; the records wanted."""
    for label, plan in _plans():
        rows = expected_prices(plan, 20_000)
        for factor, price in zip((0.3, 1.0, 3.0), rows, strict=True):
            yield Fact(f"{label}: n*, {factor} of the budget", price.n_star, _needed(plan, price.mu, 13.0), 1e-9)
            yield Fact(f"{label}: epsilon", price.epsilon, factor * EPSILON, 1e-9)
            yield Fact(f"{label}: delta", float(gaussian_delta(price.mu, price.epsilon)), DELTA, 1e-6)
            yield Fact(f"{label}: length ratio", price.length_ratio, math.sqrt(1 + price.n_star / 20_000), 1e-12)
            enough, short = (math.sqrt(1 + price.n_star / (price.records_wanted - less)) for less in (0, 1))
            yield Within(f"{label}: ratio at the records wanted", enough, most=1.1)
            yield Within(f"{label}: ratio at one record less", short, least=1.1)
        (other,) = (price for price in expected_prices(plan, 20_000, deviation=6.5) if price.mu == rows[1].mu)
        times = 1 if plan.stretched else 4  # where residuals are clipped the noise is as large as their deviation
        yield Fact(f"{label}: half the deviation of the error", other.n_star, times * rows[1].n_star, 1e-9)
        if plan.beta is None and not plan.stretched:
            guessed = expected_prices(replace(plan, beta=26.0), 20_000)  # half of Y / X
            found, stated = ([price.n_star for price in each] for each in (rows, guessed))
            yield Fact(f"{label}: without a guess half of the largest slope", found, stated, 1e-12)
        mus = PrivacyBudget(mu=0.4), PrivacyBudget(rho=0.08)
        by_mu, by_rho = (expected_prices(replace(plan, budget=budget), 20_000) for budget in mus)
        yield Fact(f"{label}: mu", [price.mu for price in by_mu], [0.12, 0.4, 1.2], 1e-12)
        yield Fact(f"{label}: rho", [price.n_star for price in by_rho], [price.n_star for price in by_mu], 1e-9)


def _sign_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """Design s: n records have the variance of all draws of the instrument, enumerated; n* as many as the noise has."""
    for pi, adjacency in itertools.product((0.5, 0.3), ADJACENCIES):
        plan = ReleasePlan(
            **BASE,
            instruments=("a",),
            instrument_means={"a": pi},
            budget=PrivacyBudget(mu=1.0),
            design="s",
            grid=(-1.0, 1.0, 64),
            adjacency=adjacency,
        )
        draws = np.array(list(itertools.product((0.0, 1.0), repeat=5)))
        chances = np.prod(np.where(draws == 1, pi, 1 - pi), axis=1)
        curve = (draws - pi) @ np.array([1, 1, -1, 1, -1])
        variance = float(chances @ curve**2) / 5
        noise = sign_design(plan, 1.0).deviation ** 2
        stated = float(sign_equivalent_sample(math.sqrt(noise), pi))
        label = f"design s, chance {pi}, {adjacency}"
        yield Fact(f"{label}: n* of the noise", stated, noise / variance, 1e-9)
        yield Fact(f"{label}: n* expected", expected_prices(plan, 500)[1].n_star, noise / variance, 1e-9)


EXPECTED = Claim(
    id="iv/beyond-confidence-expected-price",
    where="beyond the paper: price of privacy of a plan",
    kind="number",
    statement=(
        (
            "What is expected of a plan before records are read is the $n^*$ of the release that is run: the variance "
            "that its noise adds to the moment over that of one record, for instruments at either end of their ranges;"
        ),
        r"the length ratio is $sqrt(1 + n^* \/ n)$, and 1.1 at the records wanted.",
        r"For signs $n^* = s^2 \/ (pi (1 - pi))$.",
    ),
    checks=(
        Agreement(decides="ab", facts=_plan_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="c", facts=_sign_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- what would make a set bounded ---

VARIANCE, SCALE, N = 9.0, 8.0, 400


def _typical(q: int, signal: float, n: float = N, mu: float = 1.0) -> MomentRelease:
    """A release whose statistic is q + `signal` at n = 400, mu = 1, and at other n and mu the mean of what it would be
    for the same records: the moments of the first stage have variance `VARIANCE` at n = 400.
    """
    scale, variance = SCALE / mu, VARIANCE * n / N
    strength = signal * (VARIANCE + SCALE**2) * (n / N) ** 2
    x = math.sqrt(strength + q * (variance + scale**2))
    return MomentRelease(
        first=np.concatenate([np.zeros(q), np.eye(q)[0] * x]),
        second=np.eye(2 * q) * variance,
        first_scale=scale,
        second_scale=0.0,
        outcome_weight=1.0,
        regressor_weights=np.ones(1),
        n=round(n),
        adjacency="replace-one",
    )


def _bounded_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The budget and the number of records at which the mean of the statistic is critical, by a root of that mean."""
    for q, signal in itertools.product((1, 2, 5), (0.7, 2.5)):
        release, critical = _typical(q, signal), float(chi2.ppf(0.95, q))

        def excess(n: float, mu: float, q: int = q, signal: float = signal, critical: float = critical) -> float:
            return first_stage(_typical(q, signal, n, mu), correct=False).statistic - critical

        label = f"q = {q}, signal {signal}"
        yield Fact(f"{label}: statistic", first_stage(release).statistic, q + signal, 1e-9)
        records = root_scalar(lambda n: excess(n, 1.0), bracket=(10, 1e6)).root
        stated = bounded_set_records(release)
        yield Fact(f"{label}: records", float("nan") if stated is None else stated, math.ceil(records), 3e-3)
        budget, reachable = bounded_set_budget(release, 0.3), excess(N, 1e4) > 0
        yield Holds(f"{label}: a budget only where one is enough", (budget is not None) == reachable)
        if budget is not None:
            factor = root_scalar(lambda mu: excess(N, mu), bracket=(1e-3, 1e4)).root
            yield Fact(f"{label}: budget", budget, 0.3 * factor, 1e-6)
        names = tuple(f"z{k}" for k in range(q))
        plan = ReleasePlan(**BASE, instruments=names, budget=PrivacyBudget(mu=0.3), clamping="natural")
        answer = confidence_answer(plan, Disclosure(release=release, budget=()))
        yield Fact(f"{label}: first-stage F needed", answer.needed_f, critical / q, 1e-9)
        remedy = answer.remedy()
        yield Holds(f"{label}: the answer names both", (remedy.mu, remedy.n) == (budget, stated))
        if budget is not None:
            spent = float(gaussian_delta(budget, remedy.epsilon or math.nan))
            yield Fact(f"{label}: delta at the epsilon that it names", spent, plan.budget.delta, 1e-6)
            large = replace(plan, budget=PrivacyBudget(mu=0.3 * 1050 / budget))  # which 1050 would be enough for
            beyond = confidence_answer(large, Disclosure(release=release, budget=())).remedy()
            yield Holds(f"{label}: a budget beyond 1000 has no epsilon", beyond.epsilon is None)
    hidden = replace(_typical(2, 1.0), first=np.array([1.0, 1.0, 0.1, 0.1]))
    stated = bounded_set_budget(hidden, 0.3), bounded_set_records(hidden)
    yield Holds("nothing is known where the noise hides the signal", stated == (None, None))


# Releases of which the share with a bounded set is taken.
RELEASES = 2000


def _share_facts(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Within]:
    """Releases with the number of records that is named: how many have a bounded set."""
    for q, signal in ((1, 1.0), (3, 2.0)):
        release = _typical(q, signal)
        n = (bounded_set_records(release) or 0) * factor
        later = _typical(q, signal, n)
        mean = math.sqrt(signal * (VARIANCE + SCALE**2)) * n / N * np.eye(q)[0]
        bounded = 0
        for _ in range(RELEASES):
            first = later.first.copy()
            first[q:] = mean + math.sqrt(VARIANCE * n / N + SCALE**2) * rng.standard_normal(q)
            bounded += first_stage(replace(later, first=first)).bounded
        yield Within(f"q = {q}: share of bounded sets", bounded / RELEASES, 0.3, 0.6)


BOUNDED = Claim(
    id="iv/beyond-confidence-bounded",
    where="beyond the paper: what makes a set bounded",
    kind="number",
    statement=(
        (
            "The budget and the number of records that are named where a set is the whole line are those at which the "
            "mean of the first-stage statistic is critical;"
        ),
        "roughly half of all releases are bounded there.",
    ),
    setting="A release whose statistic is at its mean; $q = 1, 2, 3, 5$; between 0.3 and 0.6 of 2000 releases.",
    checks=(
        Agreement(decides="a", facts=_bounded_facts, impostors={"2 % off": {"facts": Times(1.02)}}),
        # By Chernoff a share of .37 to .53 leaves .3 to .6 of 2000 with probability below 1e-9.
        Agreement(
            decides="b",
            facts=_share_facts,
            alpha=1e-9,
            impostors={
                "a third of the records": {"facts": {"factor": 1 / 3}},
                "twice the records": {"facts": {"factor": 2.0}},
            },
        ),
    ),
)
