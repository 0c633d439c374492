"""Rows of a plan judged by what they cost when gradients are clipped, and what may be said of the better one.

A design for the loss without clipping lets the iterate wander, since its noise is to cancel later; meanwhile gradients
are clipped, and learning slows. So each kind of noise is tried at other learning rates, and designs with some weight on
the mean loss beside the final one, with the closure on proxy records as the judge.

>>> verdict(0.8, forecast=False), verdict(0.93, forecast=False), verdict(1.01, forecast=False)
('take', 'probably', 'level')
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, positive
from dpbounds.ftrl.correlations import Correlation
from dpbounds.ftrl.design.best import best
from dpbounds.ftrl.design.clipped import ClippedForecast, Order, ProxyRecords, forecast
from dpbounds.ftrl.design.noise_kinds import NoiseKind
from dpbounds.ftrl.design.participation import sensitivity
from dpbounds.ftrl.design.schedules import learning_rates
from dpbounds.ftrl.design.tuning import Setting, Training

Verdict = Literal["take", "probably", "level"]
# Ratios below which the noise that was predicted better was better in 95 % of random problems with clipping, or nearly
# always: from the prediction without clipping, and from the closure on records (`python -m tests.power.plans`).
SURE, PROBABLE = 0.9, 0.95
SURE_FORECAST, PROBABLE_FORECAST = 0.95, 0.98
# Weights on the mean loss beside the final one that are tried, the factor from one learning rate to the next, and how
# many are tried on one side.
MEAN_WEIGHTS, FACTOR, MOST_STEPS = (0.001, 0.01), 2.0**0.5, 10
# Places that are tuned.
MOST_PLACES = 2
# A clip norm that no gradient reaches.
UNREACHED = 1e30
# Products of entries that a forecast may take, some minutes.
MOST_WORK = 3e11


@typed
def verdict(ratio: float, *, forecast: bool) -> Verdict:
    """What may be said of two losses of this ratio: `take` the smaller, it is `probably` better, or they are `level`.

    `forecast`: whether clipping is counted in both, on records. Raises `DomainError` for a ratio not above 0.
    """
    smaller = min(positive("ratio", ratio), 1.0 / ratio)
    sure, probable = (SURE_FORECAST, PROBABLE_FORECAST) if forecast else (SURE, PROBABLE)
    return "take" if smaller < sure else "probably" if smaller < probable else "level"


# Noise, a setting whose learning rate is that without momentum, and the noise multiplier.
Place = tuple[Correlation, Setting, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """Noise and setting that are best for one kind once clipping is counted, with the forecast."""

    correlation: Correlation
    setting: Setting
    clip_norm: float
    noise_multiplier: float
    mean_weight: float
    forecast: ClippedForecast


@dataclass(frozen=True, kw_only=True, eq=False)
class Judge:
    """Forecasts of the rows of one training on proxy records; `clip_norms` are tried beside that of the training.

    `momentum` mu of heavy ball: rows come with learning rates without it, and are tuned from 1 - mu times those; noise
    is designed for runs without it.
    """

    training: Training
    records: ProxyRecords
    buffers: int
    clip_norms: Sequence[float] = ()
    momentum: float = 0.0

    def judged(self, kind: NoiseKind, places: Sequence[Place]) -> Judged:
        """The best of these places and, for `designed`, of designs that weigh the mean loss too, each at the clip norm
        that is best for it of those to be tried, and the learning rate, to a factor of 1.4.

        The noise is in proportion to the clip norm, so that privacy is the same. Raises `DomainError` for a place that
        would take hours (`products`).
        """
        candidates = []
        for noise, setting, multiplier in self._nearest(kind, places):
            slowed = self._slowed(setting)
            candidates.append((noise, slowed, multiplier, 0.0))
            if kind == "designed":
                candidates += [(each, slowed, size, weight) for each, size, weight in self._repaired(setting)]
        found: list[Judged] = []
        for clip_norm in dict.fromkeys((self.training.clip_norm, *self.clip_norms)):
            at = replace(self, training=replace(self.training, clip_norm=clip_norm))
            for noise, setting, multiplier, weight in candidates:
                last = found[-1].setting if found else setting
                start = last if replace(last, eta=setting.eta) == setting else setting
                found.append(at._tuned(kind, noise, multiplier, weight, start))
        return min(found, key=self._loss)

    def _nearest(self, kind: NoiseKind, places: Sequence[Place]) -> list[Place]:
        """Those of least loss before they are tuned."""
        for _, setting, _ in places:
            self._check(setting)
        if len(places) <= MOST_PLACES:
            return list(places)

        def loss(place: Place) -> float:
            noise, setting, multiplier = place
            return self._loss(self._at(kind, noise, multiplier, 0.0, self._slowed(setting)))

        return sorted(places, key=loss)[:MOST_PLACES]

    def _slowed(self, setting: Setting) -> Setting:
        """With momentum, for a setting without it."""
        return replace(setting, eta=(1.0 - self.momentum) * setting.eta)

    def _tuned(self, kind: NoiseKind, noise: Correlation, multiplier: float, weight: float, setting: Setting) -> Judged:
        """At the training's clip norm: down from the setting's learning rate as long as that helps, or else up."""

        def at(eta: float) -> Judged:
            return self._at(kind, noise, multiplier, weight, replace(setting, eta=eta))

        first = least = at(setting.eta)
        for factor in (1.0 / FACTOR, FACTOR):
            for _ in range(MOST_STEPS if least is first else 0):
                eta = factor * least.setting.eta
                if eta > (1.0 - self.momentum) * self.training.fastest(setting.batch_size):
                    break
                tried = at(eta)
                if self._loss(tried) >= self._loss(least):
                    break
                least = tried
        return least

    def _at(self, kind: NoiseKind, noise: Correlation, multiplier: float, weight: float, setting: Setting) -> Judged:
        return Judged(
            correlation=noise,
            setting=setting,
            clip_norm=self.training.clip_norm,
            noise_multiplier=multiplier,
            mean_weight=weight,
            forecast=self._forecast(kind, noise, multiplier, setting),
        )

    def of_fresh_records(self, row: Judged) -> ClippedForecast:
        """The same run on records that no step has seen before: population risk."""
        at = replace(self, training=replace(self.training, clip_norm=row.clip_norm))
        return at._ordered("fresh", row.correlation, row.noise_multiplier, row.setting)

    def unclipped(self, kind: NoiseKind, row: Judged) -> ClippedForecast:
        """The same run with the same noise, no gradient clipped."""
        at = replace(self, training=replace(self.training, clip_norm=UNREACHED))
        return at._forecast(kind, row.correlation, row.noise_multiplier * row.clip_norm / UNREACHED, row.setting)

    def _forecast(self, kind: NoiseKind, noise: Correlation, multiplier: float, setting: Setting) -> ClippedForecast:
        return self._ordered("poisson" if kind == "amplified" else "fixed", noise, multiplier, setting)

    def _ordered(self, order: Order, noise: Correlation, multiplier: float, setting: Setting) -> ClippedForecast:
        return forecast(
            self.records.features,
            self.records.residuals,
            correlation=noise,
            schedule=learning_rates(setting.schedule, setting.eta, self.training.steps(setting.batch_size)),
            clip_norm=self.training.clip_norm,
            noise_multiplier=multiplier,
            batch_size=setting.batch_size,
            order=order,
            initial=self.records.initial,
            n=self.training.n,
            momentum=self.momentum,
        )

    def _loss(self, row: Judged) -> float:
        return row.forecast.weighted(self.training.objective(row.setting).omega)

    def _repaired(self, setting: Setting) -> Iterator[tuple[Correlation, float, float]]:
        """Designs for (1 - w) times the loss asked for and w times the mean loss."""
        objective = self.training.objective(setting)
        participation = self.training.participation(setting.batch_size)
        for weight in MEAN_WEIGHTS:
            omega = (1.0 - weight) * objective.omega + weight / objective.steps
            design = best(replace(objective, weights=omega), participation, buffers=self.buffers).mechanism
            size = float(sensitivity(design, objective.steps, participation)) / np.sqrt(2.0 * self.training.rho)
            yield design, size, weight

    def products(self, setting: Setting) -> float:
        """Products of entries that a forecast takes, roughly."""
        steps, d = self.training.steps(setting.batch_size), self.records.features.shape[1]
        carried = min(steps, 64) + min(steps, self.training.n // setting.batch_size)
        parts = 2 if self.momentum else 1  # of the state: theta, and the velocity
        return float(steps) * carried * parts**2 * d**3

    def _check(self, setting: Setting) -> None:
        """Refuse what would take hours."""
        work, steps = self.products(setting), self.training.steps(setting.batch_size)
        if work > MOST_WORK:
            allowed = "such that steps, batches and the cube of the columns are fewer"
            remedy = f"they take {work:.2g} products, allowed are {MOST_WORK:.2g}: larger batches, or fewer columns"
            raise DomainError(
                "features", f"{self.records.features.shape[1]} columns and {steps} steps", allowed, remedy
            )
