"""What Figures 5, 10, 11 and 12 show of runs on real data, one regressor: box plots, paths, spreads.

Only the mechanism's noise is random. Points are medians and quartiles with order-statistic intervals; lines the leading
order in the noise. Where the clip norms exceed every gradient the runs need no records.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from scipy.special import ndtri

from simulators.engine import Arrays
from verify.checks import Ratio, Reading
from verify.checks.pictures import Series
from verify.papers.iv.tools.real_data import Run, Study
from verify.papers.iv.tools.setups import line

QUARTILES = {"median": 0.5, "lower quartile": 0.25, "upper quartile": 0.75}
PROBABILITIES = (0.05, 0.25, 0.5, 0.75, 0.95)
BOX_AXES = ("probability", "quantiles of $beta^((T))$")
PATH_AXES = ("iteration $t$", "$beta^((t))$")


def estimates(run: Run, group: str, trials: int) -> list[Reading]:
    """Quantiles of beta_T: what a box plot shows."""
    experiment = run.experiment(trials)
    return [
        Reading(
            label=f"{group}, quantile {probability:g}",
            run=f"{run.study().name}, {group}",
            experiment=experiment,
            output=lambda arrays: arrays["beta"][:, 0],
            probability=probability,
            trials={"quick": trials, "full": 4 * trials},
            x=probability,
            group=group,
        )
        for probability in PROBABILITIES
    ]


def estimate_line(run: Run, group: str) -> Series:
    """The same to leading order."""
    probabilities = np.linspace(0.04, 0.96, 47)
    y = run.mean_path()[-1] + run.deviations()[-1] * ndtri(probabilities)
    return line(group, "approximate", probabilities.tolist(), y.tolist())


def two_stage_line(study: Study, low: float, high: float) -> Series:
    """2SLS on the same data."""
    return line(f"2SLS, {study.name}", "exact", [low, high], [study.effect] * 2)


def path_run(run: Run) -> str:
    """The run that the readings of `path` and `sizes` share."""
    return f"{run.study().name}, path at rho = {run.rho:g}"


def path(run: Run, quantiles: Mapping[str, float], trials: int) -> list[Reading]:
    """Quantiles of beta_t at every t, one group each."""
    experiment = run.experiment(trials)
    return [
        Reading(
            label=f"{name}, t = {t}",
            run=path_run(run),
            experiment=experiment,
            output=_iterate(t),
            probability=probability,
            trials={"quick": trials, "full": 4 * trials},
            x=t,
            group=name,
        )
        for name, probability in quantiles.items()
        for t in range(1, run.steps + 1)
    ]


def path_lines(run: Run, quantiles: Mapping[str, float]) -> list[Series]:
    """The same to leading order."""
    mean, deviation = run.mean_path(), run.deviations()
    return [
        line(name, "approximate", range(run.steps + 1), mean + ndtri(probability) * deviation)
        for name, probability in quantiles.items()
    ]


def sizes(run: Run, steps: Sequence[int], trials: int) -> list[Reading]:
    """|beta_t| on the runs of the paths, for ratios."""
    experiment = run.experiment(trials)
    return [
        Reading(
            label=f"|beta_{t}| at rho = {run.rho:g}",
            run=path_run(run),
            experiment=experiment,
            output=_size(t),
            trials={"quick": trials, "full": 4 * trials},
        )
        for t in steps
    ]


def spread(run: Run, label: str, trials: int, predicted: Callable[[], float] | None = None) -> Reading:
    """Median distance of beta_T from the 2SLS estimate."""
    target = run.study().effect
    return Reading(
        label=label,
        run=f"{run.study().name}, {label}",
        experiment=run.experiment(trials),
        output=lambda arrays: np.abs(arrays["beta"][:, 0] - target),
        predicted=predicted,
        trials={"quick": trials, "full": 4 * trials},
    )


def over(above: str, below: str, **stated: float) -> Ratio:
    """One reading over another."""
    return Ratio(label=f"{above} over {below}", above=above, below=below, **stated)


def settled(rho: float, step: int, last: int, **stated: float) -> Ratio:
    """|beta_t| over |beta_T|."""
    return over(f"|beta_{step}| at rho = {rho:g}", f"|beta_{last}| at rho = {rho:g}", **stated)


def _iterate(step: int) -> Callable[[Arrays], np.ndarray]:
    return lambda arrays: arrays["beta_path"][:, step - 1, 0]


def _size(step: int) -> Callable[[Arrays], np.ndarray]:
    return lambda arrays: np.abs(arrays["beta_path"][:, step - 1, 0])
