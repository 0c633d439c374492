"""How often private confidence sets cover: cells of simulated releases, tests beside ours, and the check that decides.

A set covers the true coefficient if its test does not reject it there: one evaluation a release, no set is formed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np
from scipy.special import bdtr, ndtri

from dpbounds.iv.confidence import Curve, anderson_rubin_trials, positive_part
from simulators.engine import Arrays, Experiment
from simulators.iv.confidence import (
    Compliers,
    MomentDesign,
    WeakInstruments,
    release_blocks,
    release_blocks_in_law,
    release_moments,
    release_moments_in_law,
)
from simulators.iv.samples import RecordSample
from verify.checks import statistics
from verify.checks.base import Check, Level, Result, Seed, Task, by_level, chosen
from verify.checks.evidence import Evidence
from verify.checks.pictures import Picture, Series

LEVEL, SHORTFALL = 0.95, 0.006
# What a test that ignores the noise knows of s1: enough to keep its variance positive.
KNOWN = 1e-3
Covers = Callable[[Arrays], Mapping[str, np.ndarray]]


@dataclass(frozen=True, kw_only=True)
class Changed:
    """The data of a model, changed before anything else is done: its subclasses say how."""

    model: Any

    @property
    def n(self) -> int:
        """Records."""
        return self.model.n

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, p)."""
        return self.model.dimensions

    @property
    def beta(self) -> np.ndarray:
        """The slope."""
        return self.model.beta


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A setting: its experiment, and which tests cover in every trial, by name; the first name is the one judged."""

    label: str
    experiment: Experiment
    covers: Covers


@final
@dataclass(frozen=True, kw_only=True)
class Coverage(Check):
    """In no cell does the test fall short of `at_least`: exact one-sided binomial tests on independent trials.

    Holds unless some cell, or all of them pooled, has a number of covered trials whose probability at `at_least` is
    below `alpha`; the resolution is the shortfall that one cell would show all but surely. Other tests of a
    cell are counted for the picture and judge nothing.
    """

    cells: Callable[[], Sequence[Cell]]
    at_least: float = LEVEL - SHORTFALL
    alpha: float = statistics.COMPARISON_ALPHA
    trials: Mapping[Level, int] | int = 4_000

    def tasks(self, level: Level) -> Sequence[Task]:
        """The blocks of every cell."""
        return [
            {"cell": cell.label, "block": block}
            for cell in self.cells()
            for block in range(math.ceil(by_level(self.trials, level) / cell.experiment.block_trials))
        ]

    def run(self, task: Task, seed: Seed) -> Result:
        """How many trials of one block every test covers."""
        cell = chosen(self.cells(), task["cell"], lambda cell: cell.label)
        covers = cell.covers(cell.experiment.run_block(task["block"], seed=seed.user))
        hits = {name: int(np.sum(values)) for name, values in covers.items()}
        return {"cell": cell.label, "judged": next(iter(hits)), "hits": hits, "trials": cell.experiment.block_trials}

    def false_alarms(self, level: Level) -> float:
        """Of all cells and their pool."""
        return (len(self.cells()) + 1) * self.alpha

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """The least likely count decides."""
        rows = [self._row(cell.label, results) for cell in self.cells()]
        pool = self._judged("all cells", sum(row["hits"] for row in rows), sum(row["trials"] for row in rows))
        worst = min([*rows, pool], key=lambda row: row["probability"])
        least = min(rows, key=lambda row: row["coverage"])
        z = -float(ndtri(self.alpha)) - float(ndtri(statistics.BETA))
        fewest = min(row["trials"] for row in rows)
        common: dict[str, Any] = {
            "how": "statistical",
            "alpha": self.false_alarms(level),
            "beta": statistics.BETA,
            "resolution": z * math.sqrt(self.at_least * (1 - self.at_least) / fewest),
            "trials": pool["trials"],
            "rows": rows,
            "picture": _picture(rows),
        }
        if worst["probability"] < self.alpha:
            summary = (
                f"{worst['cell']}: covered in {worst['hits']} of {worst['trials']} runs, {self.at_least:g} stated."
            )
            return Evidence(outcome="fails", summary=summary, counterexample=_plain(worst), **common)
        summary = (
            f"{len(rows)} cells, coverage {least['coverage']:.4f} ({least['cell']}) to "
            f"{max(row['coverage'] for row in rows):.4f}, pooled {pool['coverage']:.4f}; least probability of a count "
            f"at {self.at_least:g}: {worst['probability']:.2g}."
        )
        return Evidence(outcome="holds", summary=summary, **common)

    def _row(self, label: str, results: Sequence[Result]) -> dict[str, Any]:
        own = [result for result in results if result["cell"] == label]
        trials = sum(result["trials"] for result in own)
        totals = {name: sum(result["hits"][name] for result in own) for name in own[0]["hits"]}
        judged = own[0]["judged"]
        others = [name for name in totals if name != judged]
        row = self._judged(label, totals[judged], trials)
        return {**row, "test": judged, "others": {name: totals[name] / trials for name in others}}

    def _judged(self, label: str, hits: int, trials: int) -> dict[str, Any]:
        probability = float(bdtr(hits, trials, self.at_least))
        return {"cell": label, "hits": hits, "trials": trials, "coverage": hits / trials, "probability": probability}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key != "others"}


def _picture(rows: Sequence[Mapping[str, Any]]) -> Picture | None:
    """Coverage over cells, ordered by that of the other test that falls lowest; none where there is no other."""
    names = list(rows[0]["others"])
    if not names:
        return None
    lowest = min(names, key=lambda name: min(row["others"][name] for row in rows))
    ordered = sorted(rows, key=lambda row: row["others"][lowest])
    x = [float(place) for place in range(1, len(ordered) + 1)]
    ends = [statistics.proportion_interval(row["hits"], row["trials"]) for row in ordered]
    ours = Series(
        curve=rows[0]["test"],
        role="simulated",
        x=x,
        y=[row["coverage"] for row in ordered],
        low=[low for low, _ in ends],
        high=[high for _, high in ends],
    )
    others = [Series(curve=name, role="simulated", x=x, y=[row["others"][name] for row in ordered]) for name in names]
    return Picture(x="cell, ordered by the lowest curve", y="coverage", log=(), series=(*others, ours))


# --- tests on stacked arrays ---


def moment_test(
    arrays: Arrays,
    design: MomentDesign,
    beta: Any,
    *,
    correct: bool = True,
    noise: float = 1.0,
    positive: bool = True,
    counted: float = 1.0,
) -> Curve:
    """The test of `beta` on every release U. `noise` and `counted` multiply s1 and s2 as the test knows them, and
    `positive` = False leaves T2 as it is: for impostors, and for tests that do not know the noise.
    """
    signal = positive_part(arrays["second"]) if positive else arrays["second"]
    # Variances below 0, which only an impostor has, make a statistic that is no number: it covers nothing.
    with np.errstate(invalid="ignore"):
        return anderson_rubin_trials(
            design.thetas(beta),
            arrays["first"].reshape(len(signal), len(design.regressor_bounds) + 1, -1),
            signal,
            mean_scale=noise * design.scales[0],
            variance_scale=counted * design.scales[1],
            correct=correct,
        )


def block_test(arrays: Arrays, design: MomentDesign, n: int, beta: Any, *, noise: float = 1.0) -> Curve:
    """The test of `beta` on every release H."""
    A, Q = positive_part(arrays["instruments"]), positive_part(arrays["variables"])
    trials, q, blocks = arrays["cross"].shape
    signal = np.einsum("tij,tab->tiajb", Q, A).reshape(trials, q * blocks, -1) / n
    return anderson_rubin_trials(
        design.thetas(beta),
        np.swapaxes(arrays["cross"], 1, 2),
        signal,
        mean_scale=noise * design.block_scales[1],
        variance_scale=0.0,
        correct=False,
    )


def wald_covers(arrays: Arrays, design: MomentDesign, beta: float, *, noise: float) -> np.ndarray:
    """Wald intervals of 2SLS on the noisy moments of release U, one regressor, instruments of one scale.

    The estimate is c_x'c_y / c_x'c_x, its variance c_x' V c_x / (c_x'c_x)^2 with V at the estimate and `noise` times s1
    known to it.
    """
    theta = float(design.thetas([beta])[0])
    first, second = arrays["first"], arrays["second"]
    q = first.shape[1] // 2
    y, x = first[:, :q], first[:, q:]
    norm = np.einsum("tq,tq->t", x, x)
    estimate = np.einsum("tq,tq->t", x, y) / norm
    b = np.stack([np.ones_like(estimate), -estimate], axis=1)
    V = np.einsum("ti,tiajb,tj->tab", b, second.reshape(-1, 2, q, 2, q), b)
    along = np.einsum("ta,tab,tb->t", x, V, x) + (noise * design.scales[0]) ** 2 * (1 + estimate**2) * norm
    return (estimate - theta) ** 2 <= float(ndtri((1 + LEVEL) / 2)) ** 2 * np.maximum(along, 0.0) / norm**2


def _inside(test: Curve) -> np.ndarray:
    return test.statistic <= test.critical


def _moment_covers(
    arrays: Arrays, *, design: MomentDesign, beta: float, beside: bool, variant: Mapping[str, Any]
) -> dict[str, np.ndarray]:
    found = {"release U": _inside(moment_test(arrays, design, [beta], **variant))}
    if beside:
        plain = moment_test(arrays, design, [beta], correct=False, noise=KNOWN)
        found |= {
            "Wald": wald_covers(arrays, design, beta, noise=0.0),
            "Wald with the variance of the noise": wald_covers(arrays, design, beta, noise=1.0),
            "test without the variance of the noise": _inside(plain),
        }
    return found


def _block_covers(arrays: Arrays, *, design: MomentDesign, n: int, beta: float, noise: float) -> dict[str, np.ndarray]:
    return {"release H": _inside(block_test(arrays, design, n, [beta], noise=noise))}


# --- settings ---


def boxed(
    problem: WeakInstruments | Compliers,
    mu: float,
    *,
    multiple: float = 5.0,
    instrument: float | None = None,
    **others: Any,
) -> MomentDesign:
    """A design with bounds at `multiple` deviations of y and x, and ||z|| clipped at `instrument`, by default
    .7 sqrt q; for compliers bounds that hold x = 0, 1 around 1/2 and y to 8 deviations.
    """
    if isinstance(problem, Compliers):
        reach = max(abs(problem.effect), abs(problem.taker_level + problem.other_effect)) + 8 * problem.deviation
        bounds: dict[str, Any] = {"outcome_bound": reach, "regressor_bounds": (0.5,), "regressor_centres": (0.5,)}
        return MomentDesign(mu=mu, instrument_bound=0.5, **bounds, **others)
    outcome, regressor = problem.deviations
    short = 0.7 * math.sqrt(problem.q) if instrument is None else instrument
    return MomentDesign(
        mu=mu,
        instrument_bound=short,
        outcome_bound=multiple * outcome,
        regressor_bounds=(multiple * regressor,),
        **others,
    )


def described(problem: WeakInstruments | Compliers, mu: float) -> str:
    """A cell's name."""
    if isinstance(problem, Compliers):
        return f"n = {problem.n}, compliers {problem.compliers:g}, mu = {mu:g}"
    name = (
        f"n = {problem.n}, q = {problem.q}, F = {problem.strength:g}, mu = {mu:g}, endogeneity {problem.endogeneity:g}"
    )
    return f"{name}, {problem.instruments} z, {problem.errors} errors"


def moment_cell(
    problem: WeakInstruments | Compliers,
    mu: float,
    *,
    block: int = 1_000,
    in_law: bool = False,
    beside: bool = False,
    variant: Mapping[str, Any] | None = None,
    **design: Any,
) -> Cell:
    """Release U: the corrected test, and `beside` it tests that others would take. `variant` is for impostors."""
    made = boxed(problem, mu, **design)
    algorithm = release_moments_in_law if in_law else release_moments
    notes = "".join(f", {key} {value}" for key, value in design.items())
    beta = float(problem.beta[0])
    return Cell(
        label=described(problem, mu) + notes,
        experiment=Experiment(algorithm=algorithm, problem=problem, settings=made, block_trials=block),
        covers=partial(_moment_covers, design=made, beta=beta, beside=beside, variant=variant or {}),
    )


def block_cell(
    problem: WeakInstruments, mu: float, *, block: int = 1_000, in_law: bool = False, noise: float = 1.0, **design: Any
) -> Cell:
    """Release H; `noise` multiplies what the test knows of s_C, for impostors."""
    made = boxed(problem, mu, **design)
    algorithm = release_blocks_in_law if in_law else release_blocks
    return Cell(
        label=f"{described(problem, mu)}, release H",
        experiment=Experiment(algorithm=algorithm, problem=problem, settings=made, block_trials=block),
        covers=partial(_block_covers, design=made, n=problem.n, beta=float(problem.beta[0]), noise=noise),
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class FixedRecords:
    """Records that all trials share, as a problem; 2SLS on them need not exist."""

    sample: RecordSample

    @property
    def n(self) -> int:
        """Records."""
        return self.sample.outcome.shape[1]

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, p)."""
        return self.sample.instruments.shape[1], self.sample.regressors.shape[1]

    @property
    def beta(self) -> None:
        """Unknown."""

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool) -> RecordSample:
        """The records; nothing is drawn."""
        return self.sample


def records_of(z: Any, x: Any, y: Any) -> RecordSample:
    """One data set: z (n, q), x (n, p), y (n,)."""
    columns = (np.atleast_2d(np.asarray(part, dtype=float)).T[None] for part in (z, x))
    instruments, regressors = columns
    return RecordSample(instruments=instruments, regressors=regressors, outcome=np.asarray(y, dtype=float)[None])
