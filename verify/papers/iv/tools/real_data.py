"""The data behind Figures 5, 10, 11 and 12, as far as they are at hand.

Card's come with linearmodels, an extra. The census extract of Angrist and Evans is the user's: a folder named by the
environment variable DPBOUNDS_DATA_DIR that holds it. Without it a surrogate with the sample's rounded moments takes its
place, whose 2SLS estimate is the paper's -4.3: it has moments and no records, so it can be run only where nothing is
clipped.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec

import numpy as np

from dpbounds.iv import (
    Constants,
    Design,
    LeadingOrder,
    Moments,
    clip_norm,
    experiment_step_sizes,
    noise_expansion,
    spectrum,
    stationary_expansion,
)
from simulators.engine import Experiment
from simulators.iv import FixedData, Settings, angrist_evans, angrist_surrogate, card, two_stage_descent
from simulators.iv.problems import FixedMoments, Problem
from verify.papers.iv.tools.setups import POPULATION, TAU
from verify.statements.claims import DATA_DIR


@dataclass(frozen=True, kw_only=True, eq=False)
class Study:
    """One data set: a name for captions, its moments, the records if there are any, the standard error of 2SLS."""

    name: str
    moments: Moments
    records: FixedData | None
    standard_error: float

    @property
    def effect(self) -> float:
        """2SLS."""
        return float(self.moments.beta_hat[0])

    @property
    def design(self) -> Design:
        """Theta-hat in place of Theta."""
        return Design.of(self.moments.theta_hat, self.moments.n, tau=TAU)

    @property
    def step_sizes(self) -> tuple[float, float]:
        """eta and alpha of Section 4, delta = psi = 0."""
        sizes = experiment_step_sizes(spectrum(self.design, POPULATION))
        return float(sizes.eta), float(sizes.alpha)

    @property
    def problem(self) -> Problem:
        """For runs without clipping."""
        return FixedMoments(given=self.moments)

    def clip_norm(self, steps: int, c0: float) -> float:
        """(4)."""
        return float(clip_norm(self.design, steps, Constants(clipping=c0)))


@cache
def angrist() -> Study:
    """One instrument, one regressor, centred, n = 8065."""
    folder = os.environ.get(DATA_DIR)
    if folder:
        return _study("census extract of 1980, 8065 records", angrist_evans(folder))
    model = angrist_surrogate()
    A = np.asarray(model.instrument_covariance)
    G = A @ model.theta
    moments = Moments(A=A, G=G, b=G @ model.beta, n=model.n)
    error = math.sqrt(float(model.error_covariance[-1, -1]) / (float(moments.hessian[0, 0]) * model.n))
    return Study(name="surrogate of the census data", moments=moments, records=None, standard_error=error)


def no_census() -> str:
    """Why the census extract is not at hand, or nothing."""
    return "" if os.environ.get(DATA_DIR) else "needs the census extract of Angrist and Evans: `--data-dir DIR`"


def no_card() -> str:
    """Why Card's data are not at hand, or nothing."""
    return "" if find_spec("linearmodels") else "needs Card's data, an extra: `pip install 'dpbounds[card]'`"


@cache
def census_digest() -> str:
    """Of the records of the census extract that are used; empty for the surrogate."""
    records = angrist().records
    if records is None:
        return ""
    parts = (records.instruments, records.regressors, records.outcome)
    return hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()[:32]


@cache
def card_study(*, centre: bool = True) -> Study:
    """Four standardised instruments, years of schooling, log wage; n = 2191."""
    return _study("Card's data", card(centre=centre))


def _study(name: str, data: FixedData) -> Study:
    moments = Moments.of(data.instruments, data.regressors, data.outcome)
    residual = data.outcome - data.outcome.mean() - (data.regressors - data.regressors.mean(axis=0)) @ moments.beta_hat
    error = math.sqrt(float(np.mean(residual**2)) / (float(moments.hessian[0, 0]) * data.n))
    return Study(name=name, moments=moments, records=data, standard_error=error)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Algorithm 1 on a study with rho_1 = rho_2 = `rho`; `clipped` uses the records."""

    study: Callable[[], Study]
    rho: float
    steps: int
    c0: float
    clipped: bool = False

    @property
    def settings(self) -> Settings:
        """All iterates are kept."""
        study = self.study()
        eta, alpha = study.step_sizes
        gamma = study.clip_norm(self.steps, self.c0)
        private = Settings(
            steps=self.steps,
            eta=eta,
            alpha=alpha,
            gamma1=gamma,
            gamma2=gamma,
            rho1=self.rho,
            rho2=self.rho,
            record_paths=True,
        )
        if self.clipped:
            return private
        lambda1, lambda2 = private.noise_scales(study.moments.n)
        return Settings(steps=self.steps, eta=eta, alpha=alpha, lambda1=lambda1, lambda2=lambda2, record_paths=True)

    def experiment(self, block_trials: int) -> Experiment:
        """On the records or on the moments."""
        study = self.study()
        problem = study.records if self.clipped else study.problem
        return Experiment(
            algorithm=two_stage_descent, problem=problem, settings=self.settings, block_trials=block_trials
        )

    @property
    def noise(self) -> tuple[float, float]:
        """lambda_1 and lambda_2."""
        return self.settings.noise_scales(self.study().moments.n)

    def mean_path(self) -> np.ndarray:
        """E beta_t to leading order, t = 0 ... T."""
        order = _expansion(self.study, self.steps)
        return (order.noiseless + self.noise[0] ** 2 * order.shift)[:, 0]

    def deviations(self) -> np.ndarray:
        """Standard deviation of beta_t to leading order."""
        order, (lambda1, lambda2) = _expansion(self.study, self.steps), self.noise
        return np.sqrt(lambda1**2 * order.first[:, 0, 0] + lambda2**2 * order.second[:, 0, 0])

    def limit(self) -> float:
        """E beta_t for large t, to leading order: 2SLS less the attenuation by the noise of the first stage."""
        study = self.study()
        order = stationary_expansion(study.moments, *study.step_sizes)
        return float(order.noiseless[0, 0] + self.noise[0] ** 2 * order.shift[0, 0])

    def left(self, step: int) -> float:
        """Distance of E beta_t from its limit, in units of the 2SLS estimate."""
        return abs(self.mean_path()[step] - self.limit()) / abs(self.study().effect)


@cache
def _expansion(study: Callable[[], Study], steps: int) -> LeadingOrder:
    found = study()
    return noise_expansion(found.moments, *found.step_sizes, steps)
