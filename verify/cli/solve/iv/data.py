"""A data set as a question for `dpbounds solve iv --csv`: columns, scaling, 2SLS, and the run that is asked about."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpbounds import DomainError
from dpbounds.iv import Design, Moments, Question
from dpbounds.iv.clipping import Records, gradient_norms
from dpbounds.iv.general import General
from dpbounds.iv.inference import StandardErrors, Strength, instrument_strength, two_stage_inference
from dpbounds.iv.suggestions import Suggestion, suggested_clip_norms
from simulators.iv import FixedData
from verify.cli.solve.iv.problem import check_run, constants_of, rest, step_sizes_for
from verify.cli.solve.iv.table import read_columns

# What a run is computed for in a few seconds.
MOST_INSTRUMENTS, MOST_REGRESSORS = 100, 30
# Below, instruments are called weak.
WEAK = 10.0
# Of the gradients at 2SLS, clipped where no clip norms can be suggested.
FALLBACK = 0.05
# Deviations below this share of the largest entry are rounding.
CONSTANT = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class DataSet:
    """Columns as the run sees them in `problem`, and `unit`: a coefficient in the file's units over that of the run.

    `inference` is in the file's units.
    """

    file: str
    instruments: tuple[str, ...]
    regressors: tuple[str, ...]
    outcome: str
    scale: str
    problem: FixedData
    dropped: int
    unit: np.ndarray
    inference: StandardErrors
    strength: Strength

    @property
    def weak(self) -> list[str]:
        """Regressors that the instruments hardly move."""
        pairs = zip(self.regressors, self.strength.partial_F, strict=True)
        return [name for name, statistic in pairs if statistic < WEAK]


def load(arguments: Namespace) -> DataSet:
    """`DomainError` names what cannot be used: an option, a column, a line, a matrix without full rank."""
    instruments, regressors, outcome = _names(arguments)
    names = list(dict.fromkeys((*instruments, *regressors, outcome)))
    columns = read_columns("csv", arguments.csv, names, drop_missing=arguments.drop_missing)
    values, scale = columns.values, arguments.scale or "standard"
    if len(values) <= len(instruments) + 1:
        raise DomainError("csv", f"{len(values)} complete records", f"at least {len(instruments) + 2}")
    deviation = _deviations(names, values, scale)
    means = values.mean(axis=0) if scale != "none" else np.zeros(len(names))
    scaled = (values - means) / deviation
    Z, X = (scaled[:, [names.index(name) for name in part]] for part in (instruments, regressors))
    Y, at = scaled[:, names.index(outcome)], [names.index(name) for name in regressors]
    unit = deviation[names.index(outcome)] / deviation[at]
    intercept = scale != "none"
    inference = two_stage_inference(Z, X, Y, intercept=intercept)
    return DataSet(
        file=arguments.csv,
        instruments=instruments,
        regressors=regressors,
        outcome=outcome,
        scale=scale,
        problem=FixedData(instruments=Z, regressors=X, outcome=Y),
        dropped=columns.dropped,
        unit=unit,
        inference=StandardErrors(*(part * unit for part in inference)),
        strength=instrument_strength(Z, X, intercept=intercept),
    )


def question(arguments: Namespace, data: DataSet) -> tuple[Question, Suggestion | None]:
    """The run on the data: clip norms that are not given are those suggested, or clip one gradient in twenty."""
    check_run(arguments)
    problem = data.problem
    Z, X, Y = problem.instruments, problem.regressors, problem.outcome
    moments, records = Moments.of(Z, X, Y), Records.of(Z, X, Y)
    population = General(moments=moments, **step_sizes_for(arguments, moments)._asdict())
    singular = population.singular_values
    design = Design(
        n=problem.n,
        p=moments.p,
        q=moments.q,
        theta_norm=float(singular[0]),
        theta_least=float(singular[-1]),
        tau=arguments.tau,
    )
    own = rest(arguments)
    asked = Question(design=design, population=population, constants=constants_of(arguments), records=records, **own)
    return with_clip_norms(asked, arguments)


def with_clip_norms(asked: Question, arguments: Namespace) -> tuple[Question, Suggestion | None]:
    """The same question with clip norms that were not given filled in, and what is suggested."""
    given = arguments.gamma1, arguments.gamma2
    noisy = min(asked.rho1, asked.rho2) < math.inf
    found = suggested_clip_norms(asked.forecaster, asked.noise_of) if noisy else None
    if found is not None:
        norms = found.gamma1, found.gamma2
    else:
        assert asked.records is not None
        ends = gradient_norms(asked.records, asked.population, start=False)
        norms = tuple(float(np.quantile(norms, 1 - FALLBACK)) for norms in ends)
    gamma1, gamma2 = (own if own is not None else other for own, other in zip(given, norms, strict=True))
    return replace(asked, gamma1=gamma1, gamma2=gamma2), found


def _names(arguments: Namespace) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Column names, none twice in one role."""
    for name in ("n", "p", "q", "theta", "singular_values", "beta", "instrument_covariance"):
        if getattr(arguments, name) is not None:
            raise DomainError(name, getattr(arguments, name), "left out with --csv", "the file says it")
    for name in ("instruments", "regressors", "outcome"):
        if not getattr(arguments, name):
            raise DomainError(name, "nothing", "given with --csv", "names of columns")
    instruments, regressors = tuple(arguments.instruments), tuple(arguments.regressors)
    for option, given, most in (
        ("instruments", instruments, MOST_INSTRUMENTS),
        ("regressors", regressors, MOST_REGRESSORS),
    ):
        twice = [name for name in given if given.count(name) > 1]
        if twice:
            raise DomainError(option, twice[0], "named once")
        if len(given) > most:
            raise DomainError(option, f"{len(given)} columns", f"at most {most}")
    if len(instruments) < len(regressors):
        found = f"{len(instruments)} columns"
        raise DomainError("instruments", found, f"at least as many as regressors, {len(regressors)}")
    if arguments.outcome in (*instruments, *regressors):
        raise DomainError("outcome", arguments.outcome, "a column that is neither instrument nor regressor")
    return instruments, regressors, arguments.outcome


def _deviations(names: Sequence[str], values: np.ndarray, scale: str) -> np.ndarray:
    """What columns are divided by: their deviations (divisor n), or 1."""
    deviations = values.std(axis=0)
    sizes = np.abs(values).max(axis=0)
    if not np.isfinite(deviations).all() or (sizes > 1e50).any():
        raise DomainError(f"column {names[int(np.argmax(sizes))]}", float(sizes.max()), "at most 1e50", "change units")
    if scale != "none":
        for name, deviation, size in zip(names, deviations, sizes, strict=True):
            if deviation <= CONSTANT * size:
                raise DomainError(f"column {name}", "one value in all records", "a column that varies")
    return deviations if scale == "standard" else np.ones(len(names))
