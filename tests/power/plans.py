"""Forecasts of clipped runs against simulation, and whether plans rank noise right: `python -m tests.power.plans`.

Random problems (six laws of records, and real tables with `--data-dir`; 1 to 64 epochs, budgets from .7 to 8, clip
norms from the .7 quantile of the gradients at the optimum to all of them) are run with each kind of noise at the
learning rate that the plan without clipping gives it. One line a run, then the summary: of all, and by kind, law, clip
norm and epochs. With `--momentum` learning rates are those times 1 - momentum, and the plan's losses still without it.
With `--loss logistic` labels are drawn from expit(3 z), z the standardised outcomes, and learning rates are four times
those; `planned` then says nothing.
`--runs 0` leaves the simulation out; the ranking is then judged by the closure, as in the table of ratios printed last.

`--out FILE` keeps a line of JSON for each problem; a run that is broken off goes on there.
"""

from __future__ import annotations

import argparse
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from dpbounds.ftrl.correlations import Correlation, independent
from dpbounds.ftrl.design import Budget, best, learning_rates, prefix_sum, sensitivity
from dpbounds.ftrl.design.amplification import installed, poisson_noise_multiplier
from dpbounds.ftrl.design.clipped import ClippedForecast, ProxyRecords, forecast, forecast_logistic
from dpbounds.ftrl.design.logistic import logistic_minimum
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from dpbounds.ftrl.design.tuning import Base, LearningRateSearch, Setting, Training
from simulators.engine import Algorithm, Experiment
from simulators.ftrl import (
    ClippedTraining,
    LeastSquaresData,
    LogisticData,
    clipped_least_squares,
    clipped_logistic_regression,
)

DELTA, SEED = 1e-6, 20261128
TABLES = ("airfoil", "elevators", "kin40k", "protein", "bike", "pumadyn32nm")
# Runs that are simulated together, and gradients of a row above which fewer runs are made, but a block at least.
BLOCK, MOST_GRADIENTS = 40, 4_000_000
EDGES = (0.0, 0.85, 0.9, 0.95, 0.98, 1.0, 1.2, np.inf)

Row = dict[str, Any]


# --- problems ---


def _gaussian(power: float) -> Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]:
    def drawn(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        spectrum = np.arange(1.0, 17.0) ** -power
        return rng.standard_normal((n, 16)) * np.sqrt(spectrum / spectrum.sum()), 0.5 * rng.standard_normal(n)

    return drawn


def _heavy(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return rng.standard_t(5, (n, 10)) / np.sqrt(10.0), 0.4 * rng.standard_t(4, n)


def _growing(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n, 12)) / np.arange(1, 13)
    return X, 0.5 * np.linalg.norm(X, axis=1) * rng.standard_normal(n)


def _sparse(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    return (rng.random((n, 14)) < 0.15) * rng.exponential(size=(n, 14)), rng.exponential(size=n) - 1.0


def _groups(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    long = rng.random(n) < 0.1
    return rng.standard_normal((n, 8)) * np.where(long, 1.0, 0.25)[:, None], np.where(long, 1.0, 0.3) * rng.laplace(
        size=n
    )


LAWS = {
    "Gaussian, 1/k": _gaussian(1.0),
    "Gaussian, flat": _gaussian(0.0),
    "heavy tails": _heavy,
    "growing residuals": _growing,
    "sparse, skewed": _sparse,
    "two groups": _groups,
}


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Records, a run's length and its budget, drawn by number."""

    law: str
    records: ProxyRecords
    epochs: int
    batch_size: int
    epsilon: float
    quantile: float
    clip_norm: float

    @classmethod
    def drawn(cls, number: int, folder: Path | None) -> Problem:
        """The same for the same number."""
        rng = np.random.default_rng([SEED, number])
        tables = [name for name in TABLES if folder is not None and (folder / f"{name}.csv.gz").exists()]
        names = [*LAWS, *tables]
        law, n = names[number % len(names)], int(rng.choice([256, 512, 1024]))
        records = _table(folder / f"{law}.csv.gz", n, rng) if law in tables and folder else _drawn_records(law, n, rng)
        epochs, quantile = int(rng.choice([1, 4, 16, 64])), float(rng.choice([0.7, 0.8, 0.9, 0.97, 0.99, 0.999, 1.0]))
        # From 16 to 512 steps.
        batches = int(rng.choice([b for b in (4, 8, 16, 32, 64) if 16 <= b * epochs <= 512]))
        norms = np.linalg.norm(records.features, axis=1) * np.abs(records.residuals)
        return cls(
            law=law,
            records=records,
            epochs=epochs,
            batch_size=records.rows // batches,
            epsilon=float(rng.choice([0.7, 1.5, 3.0, 8.0])),
            quantile=quantile,
            clip_norm=float(np.quantile(norms, quantile)) * (1.0 + 1e-9),
        )


def _drawn_records(law: str, n: int, rng: np.random.Generator) -> ProxyRecords:
    X, noise = LAWS[law](rng, n)
    return ProxyRecords.of(X, X @ rng.standard_normal(X.shape[1]) + noise)


def _table(file: Path, n: int, rng: np.random.Generator) -> ProxyRecords:
    """Standardised columns over the root of their number; the target standardised too."""
    rows = np.genfromtxt(file, delimiter=",", skip_header=1)
    rows = rows[np.isfinite(rows).all(axis=1)]
    rows = rows[rng.permutation(len(rows))[:n]]
    kept = rows.std(axis=0) > 1e-9 * np.abs(rows).max(axis=0)  # a constant column has a spread of rounding
    rows = rows[:, kept] - rows[:, kept].mean(axis=0)
    rows = rows / rows.std(axis=0)
    return ProxyRecords.of(rows[:, :-1] / np.sqrt(rows.shape[1] - 1), rows[:, -1])


# --- one problem ---


def judge(number: int, folder: Path | None, runs: int, momentum: float = 0.0, loss: str = "squared") -> list[Row]:
    """A row for each kind of noise: planned without clipping, forecast, and with `runs` simulated."""
    problem = Problem.drawn(number, folder)
    return [_judged(number, problem, *each, runs, momentum, loss) for each in _kinds(problem)]


def _kinds(problem: Problem) -> Iterator[tuple[NoiseKind, Correlation, Setting, float, float]]:
    """Each kind of noise with its setting, noise multiplier and loss as planned without clipping."""
    records, m = problem.records, problem.batch_size
    budget = Budget.of(rho=None, epsilon=problem.epsilon, delta=DELTA)
    training = Training(
        eigenvalues=records.eigenvalues,
        n=records.rows,
        rho=budget.rho,
        initial=records.start,
        sigma_sgd=records.sigma_sgd,
        clip_norm=problem.clip_norm,
        epochs=problem.epochs,
        batch_sizes=(m,),
        schedules=("linear",),
    )
    search, steps = LearningRateSearch(training=training), training.steps(m)
    participation = training.participation(m)
    prefix = prefix_sum(steps, participation)

    def multiplier(correlation: Correlation) -> float:
        return float(sensitivity(correlation, steps, participation)) / np.sqrt(2.0 * budget.rho)

    def tuned(correlation: Correlation, size: float) -> tuple[float, Setting]:
        def cost(setting: Setting, base: Base, objective: Any) -> float:
            power = (objective or training.objective(setting)).noise_power(correlation)
            return power * training.variance(m, size)

        return search.least(cost)[0]

    def found(kind: NoiseKind, correlation: Correlation, size: float):
        loss, setting = tuned(correlation, size)
        return kind, correlation, setting, size, loss

    yield found("independent", independent(), multiplier(independent()))
    if installed():
        sampled = poisson_noise_multiplier(problem.epsilon, DELTA, m / records.rows, steps)
        yield found("amplified", independent(), sampled)
    row = found("prefix-sum", prefix, multiplier(prefix))
    yield row
    design = best(training.objective(row[2]), participation, buffers=min(3, steps // 4)).mechanism
    yield found("designed", design, multiplier(design))


def _judged(
    number: int,
    problem: Problem,
    kind: NoiseKind,
    correlation: Correlation,
    setting: Setting,
    size: float,
    planned: float,
    runs: int,
    momentum: float,
    loss: str,
) -> Row:
    records, m = problem.records, problem.batch_size
    rates = (1.0 - momentum) * learning_rates("linear", setting.eta, problem.epochs * (records.rows // m))
    order = "poisson" if kind == "amplified" else "fixed"
    settings: Row = {"correlation": correlation, "schedule": rates, "clip_norm": problem.clip_norm}
    settings |= {"noise_multiplier": size, "batch_size": m, "order": order, "momentum": momentum}
    if loss == "logistic":
        settings["schedule"] = rates = 4.0 * rates
        predicted, data, algorithm, least = _logistic(number, problem, settings)
    else:
        predicted = forecast(records.features, records.residuals, initial=records.initial, **settings)
        data = LeastSquaresData(features=records.features, residuals=records.residuals, initial=records.initial)
        algorithm, least = clipped_least_squares, 0.0
    row = {"number": number, "law": problem.law, "kind": kind, "epochs": problem.epochs, "steps": len(rates)}
    row |= {"loss": loss}
    row |= {"momentum": momentum, "epsilon": problem.epsilon, "quantile": problem.quantile, "planned": planned}
    row |= {"forecast": float(predicted.loss), "clipped": float(predicted.share_clipped.mean())}
    if runs:
        blocks = max(1, min(runs, MOST_GRADIENTS // (m * len(rates))) // BLOCK)
        experiment = Experiment(
            algorithm=algorithm,
            problem=data,
            settings=ClippedTraining(**{**settings, "schedule": tuple(rates.tolist())}),
            block_trials=BLOCK,
        )
        losses = experiment.run(blocks, seed=0, outputs=("loss",))["loss"] - least
        row |= {"measured": float(losses.mean()), "error": float(losses.std() / np.sqrt(len(losses)))}
    return row


def _logistic(number: int, problem: Problem, settings: Row) -> tuple[ClippedForecast, LogisticData, Algorithm, float]:
    """The forecast, the data and the algorithm of the runs, and the least loss; the clip norm is a quantile again."""
    X, rng = problem.records.features, np.random.default_rng([SEED, number, 1])
    outcomes = problem.records.residuals - X @ problem.records.initial
    chances = special.expit(3.0 * (outcomes - outcomes.mean()) / outcomes.std())
    labels = (rng.random(len(X)) < chances).astype(float)
    theta = logistic_minimum(X, labels)
    norms = np.linalg.norm(X, axis=1) * np.abs(special.expit(X @ theta) - labels)
    settings["clip_norm"] = float(np.quantile(norms, problem.quantile)) * (1.0 + 1e-9)
    data = LogisticData(features=X, labels=labels)
    least = float(data.loss(theta[None])[0])
    return forecast_logistic(X, labels, **settings), data, clipped_logistic_regression, least


# --- tables ---


def rows_of(
    count: int, folder: Path | None, runs: int, out: Path | None, momentum: float = 0.0, loss: str = "squared"
) -> Iterator[list[Row]]:
    """The rows of the first `count` problems; those that the file has are not run again."""
    lines = out.read_text().splitlines() if out is not None and out.exists() else []
    known = {
        rows[0]["number"]: rows
        for rows in map(json.loads, lines)
        if (rows[0].get("momentum", 0.0), rows[0].get("loss", "squared")) == (momentum, loss)
    }
    for number in range(count):
        if number not in known:
            known[number] = judge(number, folder, runs, momentum, loss)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(known[number]) + "\n")
        yield known[number]


def accuracy(rows: Sequence[Row], what: str = "forecast") -> Mapping[str, float]:
    """Relative errors of what was predicted against what was measured, and the standard error of that."""
    errors = np.array([abs(row[what] / row["measured"] - 1.0) for row in rows])
    noise = np.median([row["error"] / row["measured"] for row in rows])
    return {
        "rows": len(rows),
        "median": float(np.median(errors)),
        "90 %": float(np.quantile(errors, 0.9)),
        "worst": float(errors.max()),
        "standard error": float(noise),
    }


def groups(rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """All, and by kind, quantile and epochs."""
    yield "all", list(rows)
    for key in ("kind", "law", "quantile", "epochs"):
        for value in sorted({row[key] for row in rows}, key=str):
            yield f"{key} {value}", [row for row in rows if row[key] == value]


def ranking(rows: Sequence[Row], predicted: str, truth: str) -> list[tuple[str, int, int]]:
    """By the predicted ratio of the best correlated over the best other noise: problems, and those where the one that
    is predicted better is better.
    """
    pairs = []
    for number in sorted({row["number"] for row in rows}):
        own = [row for row in rows if row["number"] == number]
        sides = [[row for row in own if (row["kind"] in ("prefix-sum", "designed")) == side] for side in (True, False)]
        chosen = [min(side, key=lambda row: row[predicted]) for side in sides]
        pairs.append(tuple(chosen[0][what] / chosen[1][what] for what in (predicted, truth)))
    table = []
    for low, high in itertools.pairwise(EDGES):
        inside = [(said, true) for said, true in pairs if low <= said < high]
        held = sum((said < 1.0) == (true < 1.0) for said, true in inside)
        table.append((f"{low:g} to {high:g}", len(inside), held))
    return table


def main() -> int:
    """Print each row, then the tables."""
    arguments = _arguments()
    folder = arguments.data_dir
    if folder is not None and (folder / "uci").is_dir():
        folder = folder / "uci"
    rows = []
    for found in rows_of(arguments.count, folder, arguments.runs, arguments.out, arguments.momentum, arguments.loss):
        rows += found
        for row in found:
            line = (
                f"{row['number']:3} {row['law']:<18} {row['kind']:<12} {row['epochs']:2} epochs, T = {row['steps']:4}, "
            )
            line += f"epsilon {row['epsilon']:g}, clip {row['quantile']:g}: clipped {row['clipped']:.3f}, "
            line += f"planned {row['planned']:.5f}, forecast {row['forecast']:.5f}"
            if "measured" in row:
                line += f", measured {row['measured']:.5f} +- {row['error']:.5f}"
            print(line, flush=True)
    measured = [row for row in rows if "measured" in row]
    if measured:
        for name, own in groups(measured):
            for what in ("forecast", "planned") if name == "all" else ("forecast",):
                numbers = ", ".join(f"{key} {value:.3g}" for key, value in accuracy(own, what).items())
                print(f"{name:<24} {what:<9} {numbers}")
    for predicted, truth in (("planned", "forecast"), ("planned", "measured"), ("forecast", "measured")):
        if truth == "measured" and len(measured) < len(rows):
            continue
        print(f"{predicted} ratio of correlated to other noise: problems, held by what is {truth}")
        for name, total, held in ranking(rows, predicted, truth):
            print(f"    {name:<14} {total:4} {held:4}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.power.plans", description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="problems, of up to 4 runs each (default: 20)")
    parser.add_argument(
        "--runs", type=int, default=200, help="simulated runs of each at most, 0 for none (default: 200)"
    )
    parser.add_argument("--momentum", type=float, default=0.0, help="of every run (default: 0)")
    parser.add_argument("--loss", choices=("squared", "logistic"), default="squared", help="(default: squared)")
    parser.add_argument("--data-dir", type=Path, help="folder with uci/*.csv.gz, for real tables")
    parser.add_argument("--out", type=Path, help="file of results, where a run that was broken off goes on")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
