"""Rows of `dpbounds solve ftrl` for mean estimation and linear regression: in the long run, and after T steps."""

from __future__ import annotations

import itertools
from argparse import Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

import numpy as np

from dpbounds import AccuracyError, DomainError
from dpbounds.errors import count, moderate, moderate_or_zero
from dpbounds.ftrl import linear_regression as regression
from dpbounds.ftrl import mean_estimation
from dpbounds.ftrl.correlations import ToeplitzCorrelation, nu
from dpbounds.ftrl.exact_errors import (
    LongRun,
    error_after,
    mean_error,
    optimal_weights,
    private_mean,
    regression_error,
)
from dpbounds.ftrl.linear_regression import Regression
from dpbounds.ftrl.mechanisms import Mechanism, search_of
from verify.cli.solve.ftrl.budgets import budgets
from verify.cli.solve.ftrl.mechanisms import fixed_correlation
from verify.cli.solve.ftrl.spectra import spectra

Row = dict[str, Any]
ProblemName = Literal["mean-estimation", "linear-regression"]

# Steps, and steps times eigenvalues, of a few seconds.
MOST_STEPS, MOST_WORK = 300_000, 1_000_000_000


@dataclass(kw_only=True)
class ExactCase:
    """A row with what it is computed from; `make` gives the correlation, which for the optimal one takes time.

    `steps` and `initial`, the length of theta_0 - theta*, where a finite time is asked for. `failure` says what could
    not be computed.
    """

    name: ProblemName
    row: Row
    problem: Regression
    make: Callable[[], ToeplitzCorrelation]
    steps: int | None = None
    initial: float = 0.0
    failure: str = ""

    @property
    def label(self) -> str:
        """What progress and errors call it."""
        row = self.row
        kappa = f", kappa = {row['kappa']:g}" if "kappa" in row else ""
        T = "" if self.steps is None else f", T = {self.steps}"
        return f"{row['mechanism']}{kappa}, eta = {row['eta']:g}, rho = {row['rho']:g}{T}"

    def add_finite_time(self) -> None:
        """The error after T steps, with noise for T steps."""
        if self.steps is None:
            return
        self.row |= {"T": self.steps, "gamma_T": None, "suboptimality_T": None}
        try:
            found = error_after(self.make(), self.problem, steps=self.steps, initial=self.initial)
        except AccuracyError as error:
            self.failure = f"{self.label}: {error}"
        else:
            self.row |= {"gamma_T": found.gamma, "suboptimality_T": found.suboptimality}


def mean_cases(arguments: Namespace) -> Iterator[ExactCase]:
    """One for each learning rate, budget, mechanism and T."""
    options = {"clip_norm": arguments.clip_norm, "sigma_sgd": arguments.sigma_sgd}
    for eta, budget, mechanism in itertools.product(arguments.eta, budgets(arguments), arguments.mechanism):
        moderate("eta", eta)  # of smaller ones the square, and with it the error, is no float
        optimal = search_of(mechanism, arguments.nu) is not None
        correlation = (
            mean_estimation.optimal_correlation(eta) if optimal else fixed_correlation(mechanism, arguments, eta)
        )
        problem = private_mean(eta, budget.rho, **options)
        row = {"mechanism": mechanism, "eta": eta, **budget._asdict(), **_mean_row(mean_error(correlation, problem))}
        yield from _over_time(arguments, "mean-estimation", row, problem, lambda found=correlation: found)


def regression_cases(arguments: Namespace) -> Iterator[ExactCase]:
    """One for each spectrum, learning rate, budget, mechanism and T."""
    etas: list[float] = arguments.eta
    mechanisms: list[Mechanism] = arguments.mechanism
    options = {"clip_norm": arguments.clip_norm, "sigma_sgd": arguments.sigma_sgd}
    for (kappa, spectrum), eta in itertools.product(spectra(arguments), etas):
        find = _finders(arguments, spectrum, eta)
        setting = {"kappa": kappa, "d": len(spectrum), "d_eff": regression.effective_dimension(spectrum), "eta": eta}
        for budget, mechanism in itertools.product(budgets(arguments), mechanisms):
            correlation = None if mechanism == "optimal" else find[mechanism]()
            problem = Regression(eigenvalues=spectrum, eta=eta, rho=budget.rho, **options)
            found = _regression_row(regression_error(correlation, problem))
            row = {"mechanism": mechanism, **setting, **budget._asdict(), **found}
            yield from _over_time(arguments, "linear-regression", row, problem, find[mechanism])


def _finders(arguments: Namespace, spectrum: np.ndarray, eta: float) -> dict[str, Callable[[], ToeplitzCorrelation]]:
    """How to get the correlation of each mechanism that is asked for; searched once."""

    def finder(mechanism: Mechanism) -> Callable[[], ToeplitzCorrelation]:
        search = search_of(mechanism, arguments.nu)
        if search == "correlation":
            return lambda: optimal_weights(spectrum, eta)
        if search == "nu":
            return lambda: nu(regression.best_nu(spectrum, eta)[0])
        return lambda: fixed_correlation(mechanism, arguments, eta * float(spectrum.min()))

    return {mechanism: cache(finder(mechanism)) for mechanism in arguments.mechanism}


def _mean_row(found: LongRun) -> Row:
    return {
        "nu": found.nu,
        "gamma": found.gamma,
        "suboptimality": float(found.suboptimality),
        "kind": found.suboptimality.kind,
        "over_optimum": found.over_optimum,
    }


def _regression_row(found: LongRun) -> Row:
    row, bounds = _mean_row(found), {"lower": found.lower, "upper": found.upper}
    over_optimum = row.pop("over_optimum")
    shown = {name: None if value is None else float(value) for name, value in bounds.items()}
    return {**row, **shown, "over_optimum": over_optimum}


def _over_time(
    arguments: Namespace, name: ProblemName, row: Row, problem: Regression, make: Callable[[], ToeplitzCorrelation]
) -> Iterator[ExactCase]:
    """The case, or one for each T."""
    initial = moderate_or_zero("initial", 0.0 if arguments.initial is None else arguments.initial)
    for steps in arguments.T or [None]:
        if steps is not None:
            _check_steps(steps, len(problem.eigenvalues))
        yield ExactCase(name=name, row=dict(row), problem=problem, make=make, steps=steps, initial=initial)


def _check_steps(steps: int, dimension: int) -> None:
    most = min(MOST_STEPS, MOST_WORK // dimension)
    if count("T", steps) > most:
        allowed = f"at most {most} steps with {dimension} eigenvalues"
        raise DomainError("T", steps, allowed, "the long run is close to it")
