"""Cells of the figures of Section 6: a data set, a budget, and the noise by a reading of what the paper leaves open."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from scipy.stats import chi2

from dpbounds.glm import LINKS, privacy, sign_design
from simulators.engine import Arrays, Experiment
from simulators.glm import GaussianModel, Settings, TwoPointModel, estimate, random_covariance
from simulators.glm.covariances import Reading as Covariance
from simulators.glm.models import Model
from verify.checks import Reading
from verify.checks.base import Level

Noise = Literal["none", "printed", "least"]
# The failure probability zeta of Algorithms 1 and 3, and the noise of regressions.
ZETA, C = 0.1, 0.001
# The sizes of Section 6 that claims stand on, and its budgets.
SIZES = tuple(10_000 * k for k in (1, 5, 13, 21, 29))
EPSILONS = (2.0, 3.0, 5.0, 10.0)


@dataclass(frozen=True, kw_only=True)
class Cell:
    """glm Section 6: w* = 1 / sqrt p, delta = n^-1.1 unless given, m = n unless given, the estimator of Remark 11.

    - `covariance`: of Gaussian records, drawn once for each p, by `draw`; None: x_j = +-1 / p.
    - `failure`: zeta of Algorithms 1 and 3.
    - `noise`: `printed` (Gaussian R with zeta = 0.1, r = 1 for signs, L = r^2 for the cubic); `least`: a tight budget
      and the sharp radius, R^2 = ||Sigma|| times the (1 - zeta / n)-quantile of chi^2_p, 1 / sqrt p for signs.
    """

    link: str
    p: int
    n: int
    epsilon: float
    m: int = 0
    covariance: Covariance | None = None
    noise: Noise = "printed"
    delta: float = 0.0
    draw: int = 0
    failure: float = ZETA

    @property
    def model(self) -> Model:
        """The data."""
        common = {"link": LINKS[self.link], "w": np.ones(self.p) / math.sqrt(self.p), "n": self.n}
        common |= {"m": self.m or self.n, "noise": C if LINKS[self.link].labels == "real" else 0.0}
        if self.covariance is None:
            return TwoPointModel(**common, design=sign_design(self.p))
        return GaussianModel(**common, covariance=drawn(self.covariance, self.p, self.draw))

    @property
    def radius(self) -> float:
        """Of the records, for the noise."""
        if self.covariance is None:
            return 1.0 if self.noise == "printed" else 1.0 / math.sqrt(self.p)
        size = float(np.linalg.norm(drawn(self.covariance, self.p, self.draw), 2))
        if self.noise == "printed":
            return privacy.radius(size, self.p, self.n, self.failure)
        return math.sqrt(size * float(chi2.isf(self.failure / self.n, self.p)))

    @property
    def label_bound(self) -> float:
        """1 for GLMs; L r + |f(0)| + C for the cubic with L = r^2, or what |z| <= radius allows."""
        if self.link != "cubic":
            return 1.0
        return self.radius**3 * (1.0 if self.noise == "printed" else 1.0 / 3.0) + C

    @property
    def scales(self) -> privacy.NoiseScales:
        """The noise of one user."""
        if self.noise == "none":
            return privacy.NoiseScales(gram=0.0, cross=0.0)
        return privacy.noise_scales(
            self.epsilon,
            self.delta or self.n**-1.1,
            radius=self.radius,
            label_bound=self.label_bound,
            calibration="printed" if self.noise == "printed" else "tight",
            p=self.p,
        )

    @property
    def experiment(self) -> Experiment:
        """Runs of it."""
        scales = self.scales
        settings = Settings(estimator="pooled", gram_scale=scales.gram, cross_scale=scales.cross)
        return Experiment(algorithm=estimate, problem=self.model, settings=settings, block_trials=20)

    def error(self, arrays: Arrays) -> np.ndarray:
        """Squared relative error of the runs that found a root."""
        return arrays["relative_max" if self.covariance is None else "relative_l2"][arrays["has_root"]]

    def reading(
        self, x: float, group: str, *, level: Level = "quick", trials: int = 80, predict: bool = False
    ) -> Reading:
        """Its median error as a point of a curve, read with the label of `label`."""
        counts: dict[Level, int] = {"quick": trials, "full": trials if self.covariance else 2 * trials}
        return Reading(
            label=self.label,
            experiment=self.experiment,
            output=self.error,
            predicted=(lambda: self.predicted) if predict else None,
            x=x,
            group=group,
            level=level,
            trials=counts,
        )

    @property
    def predicted(self) -> float:
        """Leading-order median of the squared relative error for signs: p coordinates, nearly independent normal ones
        of variance v / n, v = p^4 (c^2 (var(y) / p^2 + sigma_2^2) + theta^2 sigma_1^2 ||w*||^2), theta = n / (n + m).
        """
        model, scales = self.model, self.scales
        design, link = sign_design(self.p), LINKS[self.link]
        c = 1.0 / design.mean_of(link.slope, model.w)
        second = design.mean_of(lambda z: link.second_moment(z, noise_variance=model.noise**2), model.w)
        theta = self.n / (self.n + model.m)
        v = self.p**4 * (c**2 * (second / self.p**2 + scales.cross**2) + theta**2 * scales.gram**2)
        largest = float(chi2.ppf(0.5 ** (1.0 / self.p), 1))
        return v * largest / (self.n * float(model.w[0]) ** 2)

    @property
    def label(self) -> str:
        """Names it in rows and summaries."""
        records = "" if not self.m else f", m = {self.m}"
        kind = "signs" if self.covariance is None else self.covariance
        kind += f" (draw {self.draw})" if self.draw else ""
        noise = "no noise" if self.noise == "none" else f"{self.noise} noise"
        noise += f" (zeta = {self.failure:g})" if self.failure != ZETA else ""
        return f"{self.link}, {kind}, {noise}, p = {self.p}, n = {self.n}{records}, epsilon = {self.epsilon:g}"


@cache
def drawn(reading: Covariance, p: int, draw: int = 0) -> np.ndarray:
    """The covariance of a figure, or another draw of it."""
    return random_covariance(reading, p, np.random.default_rng((p, draw) if draw else p))
