"""Beyond the paper: populations and plans, part by part."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from dpbounds.iv import Choices, Constants, DataSet, Population, TwoStageBudget, scaled_data
from dpbounds.iv.bound import clip_norm, conditions
from dpbounds.iv.general import General
from dpbounds.iv.plans import Plan, data_plan, population_plan, step_sizes
from dpbounds.iv.populations import check_size
from dpbounds.iv.quantities import Design, spectrum
from dpbounds.iv.suggestions import suggested_clip_norms
from verify.checks import Agreement, Fact, Holds, Times, refused, taken
from verify.statements.claims import Claim

_OFF = {"1e-6 off": {"facts": Times(1.000001)}}


def _if(fits: bool, label: str, parameter: str, call: Callable[[], Any]) -> Holds:
    return taken(label, call) if fits else refused(label, parameter, call)


# --- populations ---

SIZES: dict[str, Any] = {"n": 50, "p": 2, "q": 3}
THETA = np.array([[1.1, -0.3], [0.2, 0.8], [0.6, 0.4]])
COVARIANCE = np.array([[1.2, 0.3, 0.0], [0.3, 0.9, -0.2], [0.0, -0.2, 0.7]])


def _limits(rng: np.random.Generator) -> Iterator[Holds]:
    """Sizes, scales and shapes, on both sides of what is allowed."""
    for name, sizes, fits in (
        ("p", (50, 0, 3), False), ("p", (50, 1, 3), True), ("p", (300, 200, 200), True), ("p", (300, 201, 201), False),
        ("q", (50, 3, 2), False), ("q", (50, 3, 3), True), ("q", (10**6, 1, 10**6), True),
        ("q", (10**7, 1, 10**6 + 1), False), ("n", (4, 2, 5), False), ("n", (5, 2, 5), True),
        ("n", (10**12, 1, 1), True), ("n", (10**12 + 1, 1, 1), False), ("n", (50.0, 1, 1), False),
        ("p", (50, True, 3), False),
    ):  # fmt: skip
        own: Any = dict(zip(("n", "p", "q"), sizes, strict=True))
        yield _if(fits, f"n, p, q = {sizes}", name, partial(Population, **own))
    for steps, fits in ((10**9, True), (10**9 + 1, False), (0, False), (np.int64(7), True)):
        yield _if(fits, f"T = {steps}", "T", partial(check_size, "T", steps))
    near = COVARIANCE.copy()
    for name, value, fits in (
        ("sigma_z", 0.9e-12, False), ("sigma_z", 1.1e-12, True), ("sigma_z", 1.1e12, False), ("tau", 0.9e-12, False),
        ("tau", 0.9e12, True), ("sigma_1", 0.0, True), ("sigma_1", -1e-9, False), ("sigma_1", 1.1e12, False),
        ("sigma_2", 0.0, True), ("sigma_2", -1e-9, False), ("sigma_2", 0.9e12, True),
        ("singular_values", (3.0,), True), ("singular_values", (3.0, 2.0), True),
        ("singular_values", (3.0, 2.0, 1.0), False), ("singular_values", (3.0, 0.9e-12), False),
        ("theta", THETA[:2], False), ("theta", 1e-13 * THETA, False), ("theta", 2e-12 * THETA, True),
        ("theta", 1e12 * THETA, False), ("theta", 0.9e12 * THETA, True), ("theta", THETA[:, [0, 0]], False),
        ("beta", (1.0,), False), ("beta", (1.0, -1e12), True),
        ("instrument_covariance", COVARIANCE[:2, :2], False), ("instrument_covariance", COVARIANCE, True),
    ):  # fmt: skip
        yield _if(fits, f"{name} = {value}", name, partial(Population, **SIZES, **{name: value}))
    yield refused("beta = (1, 2e12)", "beta[1]", partial(Population, **SIZES, beta=(1.0, 2e12)))
    both = partial(Population, **SIZES, theta=THETA, singular_values=(1.0,))
    yield refused("Theta and singular values", "singular_values", both)
    for share, fits in ((0.7e-9, True), (1.3e-9, False)):
        near[0, 1] = 0.3 * (1 + share)
        call = partial(Population, **SIZES, instrument_covariance=near.copy())
        yield _if(fits, f"a covariance that is off by {share:g}", "instrument_covariance", call)
    for q in (200, 201):
        call = partial(Population, n=300, p=1, q=q, instrument_covariance=np.eye(q))
        yield _if(q == 200, f"a covariance of {q} instruments", "q", call)
    for delta, fits in ((1e-300, True), (0.9e-300, False), (0.999, True), (1.0, False)):
        yield _if(fits, f"delta = {delta:g}", "delta", partial(Choices, delta=delta))


def _parts(rng: np.random.Generator) -> Iterator[Fact]:
    """Theta and beta where they are not given, the covariance made symmetric, and what the theorem knows of it."""
    for given, values in ((None, (1, 1)), ((2.5,), (2.5, 2.5)), ((0.4, 2.5), (0.4, 2.5))):
        rows = Population(**SIZES, singular_values=given).rows
        yield Fact(f"Theta of singular values {given}", rows, [[values[0], 0], [0, values[1]], [0, 0]], 0.0)
    for q, length in ((500_000, 500_000), (500_001, 2)):
        rows = Population(n=10**6, p=2, q=q, singular_values=(3.0, 2.0)).rows
        yield Fact(f"rows that are kept of {q}", rows.shape, (length, 2), 0.0)
        yield Fact(f"the first of {q}", rows[:2], [[3, 0], [0, 2]], 0.0)
    given = COVARIANCE.copy()
    given[0, 1] *= 1 + 8e-10
    population = Population(**SIZES, theta=THETA, instrument_covariance=given)
    covariance = population.instrument_covariance
    assert covariance is not None
    yield Fact("made symmetric", [covariance[0, 1], covariance[1, 0]], [0.3 + 1.2e-10, 0.3 + 1.2e-10], 1e-15)
    # In equal parts along the eigenvectors of Theta'Theta.
    along = np.linalg.eigh(THETA.T @ THETA)[1].T @ population.coefficient
    yield Fact("beta where it is not given", np.abs(along), [math.sqrt(0.5)] * 2)
    yield Fact("beta as given", Population(**SIZES, beta=(0.3, -4.0)).coefficient, [0.3, -4.0], 0.0)
    design = Population(**SIZES, sigma_z=1.3, sigma_1=0.7, sigma_2=0.6, tau=4.0).design(np.array([2.1, 0.8]))
    known = [design.n, design.p, design.q, design.theta_norm, design.theta_least, design.sigma_z, design.sigma_2]
    yield Fact("what the theorem knows", [*known, design.tau], [50, 2, 3, 2.1, 0.8, 1.3, 0.6, 4.0], 0.0)


# --- plans ---

BUDGET = TwoStageBudget(rho1=6.0, rho2=2.5, gamma1=5.0)
SOME = Constants(concentration=0.1, product=0.01, clipping=1.4)


def _white(**changed: Any) -> Population:
    return Population(
        n=900, p=2, q=3, theta=THETA, beta=(0.7, -1.6), sigma_1=0.8, sigma_2=0.6, sigma_z=1.2, tau=3.0, **changed
    )


def _plans(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Of a population with Cov z = I: step sizes and rates of (3) and (10), clip norms and noise of (4), gradients."""
    plan = population_plan(_white(), BUDGET, Choices(constants=SOME, delta=1e-7))
    s = np.linalg.svd(THETA, compute_uv=False)
    known = {"n": 900, "p": 2, "q": 3, "sigma_z": 1.2, "sigma_2": 0.6, "tau": 3.0}
    design = Design(**known, theta_norm=float(s[0]), theta_least=float(s[1]))  # type: ignore[arg-type]
    root = math.sqrt(3.0) + math.sqrt(3.0)
    off = 0.1 * 1.2**2 * root / 30
    psi = 0.01 * 1.2 * 0.6 * math.sqrt(6) * (3 + math.log(12)) / 30 / (1 - off) ** 2
    low, high = ((1 - off) * (s[1] - psi)) ** 2, ((1 + off) * (s[0] + psi)) ** 2
    run = plan.population
    yield Fact("eta and alpha", [run.eta, run.alpha], [1 / (1 + off) ** 2, 2 / (2 * high + low)])
    yield Fact("kappa", plan.kappa, max(1 - (1 - off) ** 2 / (1 + off) ** 2, 2 * high / (2 * high + low)))
    yield Fact("delta of the guarantee, sigma_1 and q", [plan.delta, plan.sigma_1, run.q], [1e-7, 0.8, 3], 0.0)
    yield Fact("delta and psi of (10)", [float(plan.bounds.delta), float(plan.bounds.psi)], [off, psi])
    yield Holds("has a bound and noise", plan.has_bound and plan.is_noisy)
    beta = np.array([0.7, -1.6])
    parts = np.abs(np.linalg.eigh(THETA.T @ THETA)[1].T @ beta)[::-1]
    yield Fact("beta along singular directions", np.abs(run.beta), parts)
    yield Fact("error of doing nothing", plan.starting_error, math.hypot(0.7, 1.6))
    printed = float(clip_norm(design, 8, SOME))
    yield Fact("clip norms at T = 8", plan.clip_norms(8), [5.0, printed])
    for calibration, uses in (("paper", (8, 8)), ("tight", (4, 3.5))):
        own = replace(plan, budget=replace(BUDGET, calibration=calibration, gamma1=math.inf, gamma2=4.0))  # type: ignore[arg-type]
        noise = [
            2 * gamma / 900 * math.sqrt(used / rho)
            for gamma, used, rho in ((printed, uses[0], 6.0), (4.0, uses[1], 2.5))
        ]
        at = own.budget_at(8)
        yield Fact(
            f"budget at T = 8, {calibration}", [at.gamma1, at.gamma2, at.lambda1, at.lambda2], [printed, 4, *noise]
        )
        yield Fact(f"noise at T = 8, {calibration}", own.noise_path([2, 8])[1], noise)
    # E ||z||² z'Mz = (q + 2) tr M, E z'Mz (c'z)² = tr M ||c||² + 2 c'Mc for M = Theta Theta', c = Theta beta.
    c, trace = THETA @ beta, float(np.sum(THETA**2))
    gradients = plan.starting_gradients
    assert gradients is not None
    second = trace * (c @ c + 0.64 + 0.36 * (beta @ beta)) + 2 * np.sum((THETA.T @ c) ** 2)
    stated = [5 * trace + 6 * 0.36, float(second)]
    yield Fact("squares of gradients at the start", np.square(gradients), stated)
    one = population_plan(Population(n=70, p=1, q=2, singular_values=(0.4,), sigma_1=3.0), BUDGET)
    yield Fact("median error of 2SLS", one.two_stage_error, 3 / math.sqrt(70) / 0.4 * 0.6744897501960817, 1e-9)
    forecaster = plan.forecaster
    yield Fact("what predicts", [forecaster.n, forecaster.sigma_1, forecaster.sigma_2], [900, 0.8, 0.6], 0.0)
    for unit in (SOME, Constants()):
        asked = conditions(
            design, spectrum(design, unit), BUDGET, eta=run.eta, alpha=run.alpha, steps=9, constants=unit
        )
        names = [condition.name for condition in asked if not condition.met]
        found = [condition.name for condition in plan.unmet_conditions(9, unit)]
        yield Holds(f"hypotheses that fail, C_0 = {unit.concentration:g}", found == names)
    for budget, noisy in (
        (TwoStageBudget(), False),
        (TwoStageBudget(rho1=2.0), True),
        (TwoStageBudget(rho2=2.0), True),
    ):
        own = replace(plan, budget=budget)
        yield Holds(f"noise with rho = {budget.rho1:g}, {budget.rho2:g}", own.is_noisy == noisy)
    for share, stated in ((1.6, False), (0.9, True)):
        own = replace(plan, design=replace(design, theta_norm=share * float(s[0])))
        yield Holds(f"a bound with alpha for {share:g} of ||Theta||", own.has_bound == stated and own.kappa < 2)
    yield from _chosen(off, 4 / (2 * high + low))


def _chosen(off: float, limit: float) -> Iterator[Fact | Holds]:
    """Step sizes that are chosen, below the limits (3) and beyond; what a plan does not take."""
    for name, end in (("eta", 2 / (1 + off) ** 2), ("alpha", limit)):
        for share in (0.999, 1.001):
            call = partial(population_plan, _white(), BUDGET, Choices(constants=SOME, **{name: share * end}))
            yield _if(share < 1, f"{name} at {share:g} of (3)", name, call)
        found = population_plan(_white(), BUDGET, Choices(constants=SOME, **{name: 0.31 * end})).population
        yield Fact(f"{name} as chosen", getattr(found, name), 0.31 * end, 0.0)
    plan = population_plan(_white(), BUDGET)
    for name, value in (("sigma_1", -0.1), ("delta", 1.0), ("delta", 1e-301)):
        yield refused(f"a plan with {name} = {value:g}", name, partial(replace, plan, **{name: value}))
    for name in ("lambda1", "lambda2"):
        own = replace(BUDGET, **{name: 0.3})
        yield refused(f"a plan with {name}", name, partial(replace, plan, budget=own))


def _correlated(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Of a population with Cov z, and of moments: step sizes, rates and singular values by eigenvalues."""
    a, h = np.linalg.eigvalsh(COVARIANCE), np.linalg.eigvalsh(THETA.T @ COVARIANCE @ THETA)
    plan = population_plan(_white(instrument_covariance=COVARIANCE), BUDGET, Choices(constants=SOME))
    run, design = plan.population, plan.design
    assert isinstance(run, General)
    eta, alpha = 1 / a[-1], 2 / (2 * h[-1] + h[0])
    yield Fact("Cov z: eta and alpha", [run.eta, run.alpha], [eta, alpha], 1e-11)
    yield Fact("Cov z: kappa", plan.kappa, max(1 - a[0] * eta, 1 - h[0] * alpha, abs(1 - h[-1] * alpha)), 1e-11)
    yield Fact("Cov z: singular values", [design.theta_norm, design.theta_least], np.sqrt([h[-1], h[0]]), 1e-11)
    yield Fact(
        "Cov z: beta, and Theta", [*run.beta, *run.moments.theta_hat.ravel()], [0.7, -1.6, *THETA.ravel()], 1e-11
    )
    yield Fact("Cov z: records", [run.moments.n, design.n, plan.sigma_1], [900, 900, 0.8], 0.0)
    yield Holds("Cov z: no bound", not plan.has_bound and plan.starting_gradients is None)
    yield Holds("Cov z: no hypotheses", plan.unmet_conditions(9, Constants()) == [])
    for name, end in (("eta", 2 / a[-1]), ("alpha", 2 / h[-1])):
        for share in (0.999, 1.001):
            call = partial(step_sizes, run.moments, Choices(**{name: share * end}))
            yield _if(share < 1, f"{name} at {share:g} of its limit", name, call)
        found = step_sizes(run.moments, Choices(**{name: 0.31 * end}))
        stated = [0.31 * end if name == "eta" else eta, 0.31 * end if name == "alpha" else alpha]
        yield Fact(f"{name} as chosen, the other as it was", found, stated, 1e-11)


def small_data() -> DataSet:
    """45 records of two endogenous regressors and three instruments, by a fixed seed."""
    rng = np.random.default_rng(4)
    Z, u = rng.standard_normal((45, 3)), rng.standard_normal(45)
    X = Z @ THETA + 0.5 * u[:, None] + 0.6 * rng.standard_normal((45, 2))
    columns = np.column_stack([Z, X, X @ [0.7, -1.6] + u]).T
    names = ("z1", "z2", "z3", "x1", "x2", "y")
    return scaled_data(
        dict(zip(names, columns, strict=True)), instruments=names[:3], regressors=names[3:5], outcome="y"
    )


def _of_data(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Of a data set: its moments; clip norms that are given stay, others clip a twentieth of what 2SLS leaves."""
    data = small_data()
    fitted = data.Z @ np.linalg.lstsq(data.Z, data.X, rcond=None)[0]
    s = np.linalg.svd(fitted, compute_uv=False) / math.sqrt(45)
    left = fitted @ np.linalg.lstsq(fitted, data.Y, rcond=None)[0] - data.Y
    norms = [
        np.linalg.norm(data.Z, axis=1) * np.linalg.norm(fitted - data.X, axis=1),
        np.linalg.norm(fitted, axis=1) * np.abs(left),
    ]
    ends = [float(np.quantile(lengths, 0.95)) for lengths in norms]
    for gamma1, gamma2 in product((math.inf, 3.0), (math.inf, 2.0)):
        plan = data_plan(data, TwoStageBudget(gamma1=gamma1, gamma2=gamma2), Choices(delta=1e-6))
        stated = [min(gamma1, ends[0]) if gamma1 == math.inf else 3.0, ends[1] if gamma2 == math.inf else 2.0]
        yield Fact(f"clip norms, {gamma1:g} and {gamma2:g} given", plan.clip_norms(5), stated, 1e-11)
    design, run = plan.design, plan.population
    sizes = [design.n, design.p, design.q, plan.delta, plan.sigma_1]
    yield Fact("data: sizes, and the error's deviation, which is not asked for", sizes, [45, 2, 3, 1e-6, 1], 0.0)
    yield Fact("data: singular values", [design.theta_norm, design.theta_least], s, 1e-11)
    yield Fact("data: step sizes", run.alpha, 2 / (2 * s[0] ** 2 + s[1] ** 2), 1e-11)
    for regressors in (("x1",), ("x1", "x2", "z3")):
        columns = dict(zip(("z1", "z2", "z3", "x1", "x2", "y"), [*data.Z.T, *data.X.T, data.Y], strict=True))
        one = scaled_data(columns, instruments=("z1", "z2", "z3"), regressors=regressors, outcome="y")
        fitted = one.Z @ np.linalg.lstsq(one.Z, one.X, rcond=None)[0]
        s = np.linalg.svd(fitted, compute_uv=False) / math.sqrt(45)
        made = data_plan(one, TwoStageBudget(), Choices(delta=1e-6)).design
        told = [made.theta_norm, made.theta_least]
        yield Fact(f"data: singular values, p = {len(regressors)}", told, s[[0, -1]], 1e-11)
    assert plan.records is not None
    yield Fact("data: records", plan.records.outcome, data.Y, 0.0)
    yield Holds("data: what predicts has them", plan.forecaster.nodes is plan.records)
    noisy: Plan = data_plan(data, TwoStageBudget(rho1=900.0, rho2=300.0))
    found = suggested_clip_norms(noisy.forecaster, noisy.budget)
    assert found is not None
    yield Fact("data: clip norms that are suggested", noisy.clip_norms(5), [found.gamma1, found.gamma2], 0.0)


PLANNING = Claim(
    id="iv/beyond-planning",
    where="populations and plans, part by part",
    kind="algorithm",
    statement=(
        (
            "Populations are refused outside of the stated sizes, scales and shapes and nowhere else, and have the "
            "stated $Theta$ and $beta$ where none is given;"
        ),
        (
            "a plan has the step sizes, rates, clip norms, noise and lengths of gradients of its formulas, for a "
            'population with and without $op("Cov") z$ and for a data set.'
        ),
    ),
    checks=(
        Agreement(decides="a", facts=_limits),
        Agreement(decides="a", facts=_parts, impostors=_OFF),
        Agreement(decides="b", facts=_plans, impostors=_OFF),
        Agreement(decides="b", facts=_correlated, impostors=_OFF),
        Agreement(decides="b", facts=_of_data, impostors=_OFF),
    ),
)
