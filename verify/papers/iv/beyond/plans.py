"""Beyond the paper: from a population or a data set to a run and back, as `dpbounds solve iv` does it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from scipy.stats import norm

from dpbounds.iv import (
    Answer,
    Choices,
    Constants,
    DataSet,
    Population,
    TwoStageBudget,
    data_answer,
    population_answer,
    population_plan,
    scaled_data,
)
from dpbounds.iv.plans import data_plan
from dpbounds.iv.tables import Scaling
from simulators.iv import data_problem, population_model, rehearsals
from verify.checks import Agreement, Fact, Holds, Quantiles, Reading, Times, Within
from verify.statements.claims import Claim

# --- a data set ---

RECORDS, T = 300, 8
BUDGET = TwoStageBudget(rho1=40.0, rho2=30.0, gamma1=25.0, gamma2=25.0)


@cache
def _table() -> dict[str, np.ndarray]:
    """An endogenous regressor x, a control w, two instruments; in units and with means of their own."""
    rng = np.random.default_rng(0)
    Z, w, u = rng.standard_normal((RECORDS, 2)), rng.standard_normal(RECORDS), rng.standard_normal(RECORDS)
    x = Z @ [1.0, 0.7] + 0.5 * w + u + rng.standard_normal(RECORDS)
    y = 2.0 * x - 3.0 * w + 2 * u + rng.standard_normal(RECORDS)
    return {"z1": 10 * Z[:, 0] + 5, "z2": Z[:, 1], "x": 100 * x + 7, "w": w, "y": -0.2 * y + 1}


@cache
def _data() -> DataSet:
    return scaled_data(_table(), instruments=("z1", "z2", "w"), regressors=("x", "w"), outcome="y")


@cache
def _data_answer() -> Answer:
    return data_answer(_data(), BUDGET, [T])


def _in_units(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """2SLS of the table as it is, with a column of ones; what the run sees; and rows written out from the run's law."""
    table, ones = _table(), np.ones(RECORDS)
    Z = np.column_stack([ones, table["z1"], table["z2"], table["w"]])
    X = np.column_stack([ones, table["x"], table["w"]])
    fitted = Z @ np.linalg.lstsq(Z, X, rcond=None)[0]
    beta = np.linalg.lstsq(fitted, table["y"], rcond=None)[0]
    u = table["y"] - X @ beta
    bread = np.linalg.inv(fitted.T @ fitted)
    meat = (fitted * u[:, None] ** 2).T @ fitted
    robust = np.sqrt(np.diag(bread @ meat @ bread) * RECORDS / (RECORDS - 3))[1:]
    rows = _data_answer().row(T)["coefficients"]
    yield Fact("estimates", [row["estimate"] for row in rows], beta[1:], 1e-8)
    homoskedastic = np.sqrt(np.diag(bread) * (u @ u) / (RECORDS - 3))[1:]
    yield Fact("standard errors", [row["se"] for row in rows], homoskedastic, 1e-8)
    yield Fact("robust standard errors", [row["se_robust"] for row in rows], robust, 1e-8)
    scales: tuple[Scaling, ...] = ("standard", "centre")
    for scale in scales:
        run = scaled_data(table, instruments=("z1", "z2"), regressors=("x",), outcome="y", scale=scale)
        columns = np.column_stack([run.Z, run.X, run.Y])
        own = np.std([table[name] for name in ("z1", "z2", "x", "y")], axis=1)
        stated = np.ones(4) if scale == "standard" else own
        yield Fact(f"means, {scale}", 1 + columns.mean(axis=0), np.ones(4), 1e-9)
        yield Fact(f"deviations, {scale}", columns.std(axis=0), stated, 1e-9)
    forecast = _data_answer().forecasts[T]
    assert forecast.offset is not None and forecast.covariance is not None
    # A coefficient of the run times deviation of y over deviation of its regressor is one of the table.
    units = [np.std(table["y"]) / np.std(table[name]) for name in ("x", "w")]
    for j, (row, unit) in enumerate(zip(rows, units, strict=True)):
        bias, deviation = forecast.offset[j] * unit, math.sqrt(forecast.covariance[j, j]) * unit
        yield Fact(f"bias of {row['coefficient']}", 1 + row["bias"], 1 + bias, 1e-9)
        yield Fact(f"noise of {row['coefficient']}", row["noise_sd"], deviation, 1e-9)
        share = math.sqrt(bias**2 + deviation**2) / robust[j]
        yield Fact(f"noise of {row['coefficient']} over its standard error", row["noise_over_se"], share, 1e-8)
        below = norm.cdf((row["noise_median"] - bias) / deviation) - norm.cdf((-row["noise_median"] - bias) / deviation)
        yield Fact(f"probability below the median, {row['coefficient']}", below, 0.5, 1e-6)
    yield Holds("no regressor has weak instruments", not _data().weak)


def _coefficient_readings() -> list[Reading]:
    """Medians of each coefficient's distance from 2SLS in the table's units, noise alone random."""
    answer, data = _data_answer(), _data()
    run = rehearsals(answer.plan, data_problem(data), [T], trials=20_000)[T]
    return [
        Reading(
            label=f"coefficient of {row['coefficient']}",
            run="the data set",
            experiment=run,
            output=lambda arrays, j=j: data.in_units(arrays["beta"] - arrays["beta_hat"])[:, j],
            predicted=lambda row=row: row["noise_median"],
        )
        for j, row in enumerate(answer.row(T)["coefficients"])
    ]


def _fallback(rng: np.random.Generator, share: float = 0.05) -> Iterator[Fact | Within]:
    """Clip norms that are not given: without noise one gradient in twenty at 2SLS is clipped, in both stages."""
    data = _data()
    theta = np.linalg.lstsq(data.Z, data.X, rcond=None)[0]
    fitted = data.Z @ theta
    beta = np.linalg.lstsq(fitted, data.Y, rcond=None)[0]
    first = [np.linalg.norm(np.outer(z, f - x)) for z, f, x in zip(data.Z, fitted, data.X, strict=True)]
    second = [np.linalg.norm(f * (f @ beta - y)) for f, y in zip(fitted, data.Y, strict=True)]
    budget = data_plan(data, TwoStageBudget()).budget
    yield Fact("share clipped, first stage", np.mean(np.array(first) > budget.gamma1), share, 1e-9)
    yield Fact("share clipped, second stage", np.mean(np.array(second) > budget.gamma2), share, 1e-9)
    found = data_answer(data, TwoStageBudget.even(8.0, calibration="tight"), [T], split=True)
    yield Fact("cost after the split", found.row(T)["rho_worst_case"], 8.0, 1e-9)
    assert found.share is not None
    yield Within(
        "share that would be best after the split, less what it is",
        abs(found.share - found.plan.budget.share),
        most=0.05,
    )


ON_DATA = Claim(
    id="iv/beyond-answers-data",
    where="`solve iv` on data",
    kind="mc-equality",
    statement=(
        (
            "For a data set estimates, standard errors and noise are in its own units: 2SLS of the columns as they "
            "are, with an intercept, and the law of $beta^((T)) - hat(beta)$ coefficient by coefficient."
        ),
        "Where clip norms cannot be suggested they clip one gradient in twenty at 2SLS;",
        "a budget that is split costs its total.",
    ),
    setting="$n = 300$, an endogenous regressor, a control, two more instruments; $T = 8$.",
    checks=(
        Agreement(decides="a", facts=_in_units, impostors={"1 % off": {"facts": Times(1.01)}}),
        Quantiles(
            decides="a",
            readings=_coefficient_readings,
            resolution={"quick": 0.1, "full": 0.05},
            trials={"quick": 10_000, "full": 40_000},
            impostors={"20 % too large": {"scale": 1.2}},
        ),
        Agreement(decides="bc", facts=_fallback, impostors={"one in ten": {"facts": {"share": 0.1}}}),
    ),
)

# --- a population ---

THETA = np.array([[1.0, 0.2], [0.3, 0.8], [0.1, 0.4]])
COVARIANCE = np.array([[1.0, 0.2, 0.0], [0.2, 1.5, 0.1], [0.0, 0.1, 0.7]])
BETA = (0.6, -0.8)


def _correlated(sigma_2: float = 1.0) -> Population:
    sizes: dict[str, Any] = {"n": 800, "p": 2, "q": 3, "sigma_1": 0.7, "sigma_2": sigma_2}
    return Population(**sizes, theta=THETA, beta=BETA, instrument_covariance=COVARIANCE)


def _planned(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Step sizes, lengths and limits from the matrices, by eigenvalues; budgets in equal parts and split."""
    plan = population_plan(_correlated(), BUDGET)
    h = np.linalg.eigvalsh(THETA.T @ COVARIANCE @ THETA)
    yield Fact("eta", plan.population.eta, 1 / np.linalg.eigvalsh(COVARIANCE)[-1], 1e-12)
    yield Fact("alpha", plan.population.alpha, 2 / (2 * h[-1] + h[0]), 1e-12)
    yield Fact("singular values", plan.population.singular_values, np.sqrt(h)[::-1], 1e-10)
    yield Fact("error of doing nothing", plan.starting_error, 1.0, 1e-12)
    # Noise of (4) at many T, as the search for the best one takes it.
    by_hand = [[50 / 800 * math.sqrt(steps / rho) for rho in (BUDGET.rho1, BUDGET.rho2)] for steps in (3, 8)]
    yield Fact("noise at T = 3 and 8", plan.noise_path([3, 8]), by_hand, 1e-12)
    white = Population(n=800, p=2, q=3, theta=THETA, beta=BETA, sigma_1=0.7)
    isotropic = population_plan(white, BUDGET)
    s = np.linalg.svd(THETA, compute_uv=False)
    yield Fact("eta where Cov z = I", isotropic.population.eta, 1.0, 1e-12)
    yield Fact("alpha where Cov z = I", isotropic.population.alpha, 2 / (2 * s[0] ** 2 + s[-1] ** 2), 1e-12)
    gradients = isotropic.starting_gradients
    assert gradients is not None and plan.starting_gradients is None
    # E ||z||² z'Mz = (q + 2) tr M for the signal, q p for the errors of the first stage.
    yield Fact("first-stage gradients at the start", gradients.theta**2, 5 * float(np.sum(THETA**2)) + 6, 1e-10)
    # beta in the singular basis: Theta beta does not depend on the basis.
    signal = np.linalg.norm(isotropic.population.singular_values * isotropic.population.beta)
    yield Fact("||Theta beta||", signal, np.linalg.norm(THETA @ BETA), 1e-12)
    equal = population_plan(Population(n=50, p=2, q=2, singular_values=(2.0,), sigma_1=3.0), BUDGET)
    yield Fact("beta without a choice", equal.starting_error, 1.0, 1e-12)
    # Two equal normal coordinates: the length has Rayleigh's law.
    rayleigh = 3.0 / math.sqrt(50) / 2.0 * math.sqrt(2 * math.log(2))
    yield Fact("median error of 2SLS", equal.two_stage_error, rayleigh, 1e-6)
    chosen = population_plan(white, BUDGET, Choices(eta=0.4, alpha=0.3))
    yield Fact("step sizes chosen", [chosen.population.eta, chosen.population.alpha], [0.4, 0.3], 0)
    model = population_model(_correlated(sigma_2=0.5))
    yield Fact("errors of the model", model.error_covariance, np.diag([0.25, 0.25, 0.49]), 1e-12)
    yield Fact("Theta of the model", model.theta, THETA, 0)
    yield Fact("Cov z of the model", np.asarray(model.instrument_covariance), COVARIANCE, 0)


def _unit_constants(rng: np.random.Generator, least: float = 1.0) -> Iterator[Fact | Holds]:
    """Where (7) is given with delta = psi = 0, what fails with constants 1: psi of (10) written out."""
    for n in (60, 2000):
        answer = population_answer(Population(n=n, p=1, q=1), TwoStageBudget.equal(5.0), [20])
        delta = (1 + math.sqrt(5)) / math.sqrt(n)
        psi = (5 + math.log(2)) / math.sqrt(n) / (1 - delta) ** 2
        fails = "Lemma D.6" in {one.name for one in answer.unmet_with_unit_constants}
        yield Holds(f"psi is found too large if and only if it is, n = {n}", fails == (psi >= least))
        bounds = answer.bounds(50)
        yield Fact(f"end of the curve of (7), n = {n}", max(bounds), answer.rows[-1]["T"], 0)
        for steps in (1, 2):
            yield Fact(f"(7) at T = {steps}, n = {n}", bounds[steps].total, answer.row(steps)["total"], 1e-12)
    unit = population_answer(
        Population(n=60, p=1, q=1), TwoStageBudget.equal(5.0), choices=Choices(constants=Constants())
    )
    yield Holds("nothing more to say with constants 1", not unit.unmet_with_unit_constants)


def _split(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """The split of a total, against the same total in other shares at the same T; too little is no better than 0."""
    population = Population(n=2000, p=1, q=2, singular_values=(0.8,))
    total = TwoStageBudget.even(10.0, calibration="tight")
    even, split = (population_answer(population, total, split=split) for split in (False, True))
    assert even.share is not None and even.best is not None
    yield Fact("total of the budget", split.plan.budget.total, 10.0, 1e-12)
    yield Fact("its share of the first stage", split.plan.budget.share, even.share, 1e-12)

    def noise(share: float) -> float:
        row = population_answer(population, total.split(share), [even.best or 1]).row(even.best or 1)
        return math.hypot(row["first_noise"], row["second_noise"])

    best = noise(even.share)
    for share in (even.share - 0.1, even.share + 0.1):
        yield Within(f"noise at share {share:.2f} over that at the best", noise(share) / best, 1.001)
    yield Fact("a share that is too small", total.split(0.0).rho1, 0.2, 1e-12)
    yield Holds("a run worth its noise", not split.is_useless)
    # With hardly any budget for beta the best prediction is no better than 0.
    weak = population_answer(Population(n=2000, p=1, q=2), TwoStageBudget(rho1=100.0, rho2=1e-4))
    yield Holds("a run that is not", weak.is_useless)


@cache
def _population_readings() -> list[Reading]:
    """Medians of ||beta_T - beta_hat||, data and noise fresh."""
    readings = []
    for name, population in (("Cov z given", _correlated()), ("Cov z = I", Population(n=800, p=2, q=3, theta=THETA))):
        answer = population_answer(population, BUDGET, [T])
        run = rehearsals(answer.plan, population_model(population), [T], trials=20_000)[T]
        readings.append(
            Reading(
                label=name,
                experiment=run,
                output="error_hat",
                predicted=lambda answer=answer: answer.row(T)["median"],
            )
        )
    return readings


OF_A_POPULATION = Claim(
    id="iv/beyond-answers-population",
    where="`solve iv` on a population",
    kind="mc-equality",
    statement=(
        r"For a population the step sizes are half of the limits (3), or of $2 \/ lambda_max$ for other instruments;",
        "the predicted median is that of runs on the model;",
        "a total budget is split where both stages together add least noise;",
        "hypotheses that fail with all constants 1 are named.",
    ),
    setting="$p = 2$, $q = 3$, $n = 800$, $T = 8$; Gaussian instruments and errors.",
    checks=(
        Agreement(decides="ab", facts=_planned, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(decides="d", facts=_unit_constants, impostors={"a limit of 0.01": {"facts": {"least": 0.01}}}),
        Agreement(decides="c", facts=_split, impostors={"1 % off": {"facts": Times(1.01)}}),
        Quantiles(
            decides="b",
            readings=_population_readings,
            resolution={"quick": 0.1, "full": 0.05},
            trials={"quick": 2_000, "full": 16_000},
            impostors={"15 % too large": {"scale": 1.15}},
        ),
    ),
)
