"""Data models for private confidence sets: weak instruments, compliers, skewed errors, cells of controls (p = 1).

Every model gives, besides records, `beta`, the coefficient that the instruments identify, and has instruments of mean 0
(0 or 1 in `OneInstrument`) that are independent of the errors, so that the centred instrument is uncorrelated with
y - m_y - beta (x - m_x) for all public constants m_y, m_x.

>>> model = WeakInstruments(n=400, q=2, strength=101.0, slope=0.5)
>>> model.draw(np.random.default_rng(0), 3).instruments.shape, model.first_stage, model.beta.tolist()
((3, 2, 400), 0.5, [0.5])
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, in_floats, moderate_or_zero, real, within
from simulators.iv.problems import Instruments, standard_instruments
from simulators.iv.samples import RecordSample

Errors = Literal["normal", "t3", "exponential", "heteroskedastic"]


@typed
@dataclass(frozen=True, kw_only=True)
class WeakInstruments:
    """x = pi 1'z + e_2, y = slope x + e_1: q instruments whose first stage has the mean F `strength`.

    - z: entries i.i.d. N(0, 1), or +-1 (`sign`); pi = sqrt((F - 1) / n), so that 1 + n ||pi 1||^2 / q = F.
    - e_1 and e_2 = `endogeneity` e_1 + sqrt(1 - endogeneity^2) w have mean 0 and variance 1; w has the law of e_1.
    - `errors`: `normal`; `t3`, Student's t with 3 degrees of freedom over sqrt 3; `exponential`, centred; or
      `heteroskedastic`, where e_1 is normal times sqrt((1 + z_1^2) / 2) for Gaussian instruments, and times
      sqrt(1 + z_1 / 2) for signs.

    Raises `DomainError` for counts below 1, a strength below 1 and an endogeneity outside [-1, 1].
    """

    n: int
    q: int = 1
    strength: float
    endogeneity: float = 0.0
    slope: float = 1.0
    instruments: Instruments = "gaussian"
    errors: Errors = "normal"

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n))
        object.__setattr__(self, "q", count("q", self.q, most=self.n, remedy="more records than instruments"))
        within("strength", self.strength, "[1, 1e12]")
        within("endogeneity", self.endogeneity, "[-1, 1]")
        moderate_or_zero("|slope|", abs(real("slope", self.slope)))
        choice("instruments", self.instruments, get_args(Instruments))
        choice("errors", self.errors, get_args(Errors))
        in_floats(self, "strength", "endogeneity", "slope")

    @property
    def dimensions(self) -> tuple[int, int]:
        """(q, 1)."""
        return self.q, 1

    @property
    def beta(self) -> np.ndarray:
        """The slope."""
        return np.array([self.slope])

    @property
    def first_stage(self) -> float:
        """pi, the coefficient of every instrument."""
        return math.sqrt((self.strength - 1.0) / self.n)

    @property
    def deviations(self) -> tuple[float, float]:
        """Standard deviations of y and x."""
        signal = self.q * self.first_stage**2
        outcome = self.slope**2 * (signal + 1.0) + 2.0 * self.slope * self.endogeneity + 1.0
        return math.sqrt(outcome), math.sqrt(signal + 1.0)

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool = True) -> RecordSample:
        """Fresh records."""
        shape = (trials, self.n)
        Z = standard_instruments(self.instruments, generator, (trials, self.q, self.n))
        e1, w = self._error(generator, shape), self._error(generator, shape)
        if self.errors == "heteroskedastic":
            e1 *= self.spread(Z[:, 0])
        e2 = self.endogeneity * e1 + math.sqrt(1.0 - self.endogeneity**2) * w
        x = self.first_stage * Z.sum(axis=1) + e2
        return RecordSample(instruments=Z, regressors=x[:, None], outcome=self.slope * x + e1)

    def spread(self, first_instrument: np.ndarray) -> np.ndarray:
        """Standard deviation of e_1 given the first instrument."""
        if self.errors != "heteroskedastic":
            return np.ones_like(first_instrument)
        squares = first_instrument**2 if self.instruments == "gaussian" else 1.0 + first_instrument
        return np.sqrt((1.0 + squares) / 2.0)

    def _error(self, generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if self.errors == "t3":
            # Normal over the root of a chi-squared with 3 degrees of freedom: faster than the generator's own t.
            return generator.standard_normal(shape) / np.sqrt(2.0 * generator.standard_gamma(1.5, shape))
        if self.errors == "exponential":
            return generator.standard_exponential(shape) - 1.0
        return generator.standard_normal(shape)


@typed
@dataclass(frozen=True, kw_only=True)
class Compliers:
    """Binary x and effects that vary: z = +-1/2; a share `compliers` has x = 1 if z > 0, a share `takers` x = 1 always.

    y = taker_level [always-taker] + e + (effect of one's type) x, e ~ N(0, `deviation`^2): compliers have the effect
    `effect`, always-takers `other_effect`. IV identifies that of the compliers (LATE). Raises `DomainError` for shares
    that are not in [0, 1] or exceed 1 together.
    """

    n: int
    compliers: float
    takers: float = 0.3
    effect: float = 1.0
    other_effect: float = -2.0
    taker_level: float = 1.0
    deviation: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n))
        within("compliers", self.compliers, "[0, 1]")
        within("takers", self.takers, "[0, 1]")
        if self.compliers + self.takers > 1.0:
            raise DomainError("compliers + takers", self.compliers + self.takers, "at most 1")
        for name in ("effect", "other_effect", "taker_level"):
            moderate_or_zero(f"|{name}|", abs(real(name, getattr(self, name))))
        moderate_or_zero("deviation", self.deviation)
        in_floats(self, "compliers", "takers", "effect", "other_effect", "taker_level", "deviation")

    @property
    def dimensions(self) -> tuple[int, int]:
        """(1, 1)."""
        return 1, 1

    @property
    def beta(self) -> np.ndarray:
        """The effect on compliers."""
        return np.array([self.effect])

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool = True) -> RecordSample:
        """Fresh records."""
        shape = (trials, self.n)
        encouraged, type_ = generator.integers(0, 2, size=shape), generator.random(shape)
        taker = type_ < self.takers
        complier = ~taker & (type_ < self.takers + self.compliers)
        x = np.where(taker, 1.0, np.where(complier, encouraged, 0.0))
        gain = np.where(taker, self.taker_level + self.other_effect, self.effect * x)
        y = gain + self.deviation * generator.standard_normal(shape)
        return RecordSample(instruments=(encouraged - 0.5)[:, None], regressors=x[:, None], outcome=y)


SkewedErrors = Literal["normal", "t3", "exponential", "lognormal", "negative lognormal"]
Effects = Literal["constant", "mixed", "related"]
# Errors are cut here, so that natural ranges exist; the lognormal's deviation of the logarithm; draws for quantiles.
CUT, LOG_DEVIATION, DRAWS = 20.0, 0.8, 200_000


@typed
@dataclass(frozen=True, kw_only=True)
class OneInstrument:
    """z in {0, 1}, x = D z + v, y = slope x + v / 2 + w: v standard normal, w of the law `errors`, centred and cut.

    D is `first_stage`, or 0 and twice that: by chance for `mixed` effects, and for `related` ones where w is above its
    median. Raises `DomainError` for n < 1, a probability of z = 1 outside (0, 1), unknown laws.
    """

    n: int
    first_stage: float
    errors: SkewedErrors = "normal"
    effects: Effects = "constant"
    probability: float = 0.5
    slope: float = 0.7

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n))
        within("probability", self.probability, "(0, 1)")
        choice("errors", self.errors, get_args(SkewedErrors))
        choice("effects", self.effects, get_args(Effects))
        for name in ("first_stage", "slope"):
            moderate_or_zero(f"|{name}|", abs(real(name, getattr(self, name))))
        in_floats(self, "first_stage", "probability", "slope")

    @property
    def dimensions(self) -> tuple[int, int]:
        """(1, 1)."""
        return 1, 1

    @property
    def beta(self) -> np.ndarray:
        """The slope."""
        return np.array([self.slope])

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool = True) -> RecordSample:
        """Fresh records."""
        shape = (trials, self.n)
        z = (generator.random(shape) < self.probability).astype(float)
        v, w = generator.standard_normal(shape), self._errors(generator, shape)
        if self.effects == "constant":
            first_stage = np.full(shape, self.first_stage)
        else:
            more = w > self._median if self.effects == "related" else generator.random(shape) < 0.5
            first_stage = 2.0 * self.first_stage * more
        x = first_stage * z + v
        return RecordSample(instruments=z[:, None], regressors=x[:, None], outcome=self.slope * x + v / 2.0 + w)

    def outcome_range(self, share: float, sides: int) -> tuple[float, float]:
        """A range that leaves out this share of the outcomes, on both sides or above alone: by quantiles of 2e5 draws
        of a fixed seed.
        """
        y = replace(self, n=DRAWS).draw(np.random.default_rng(0), 1).outcome[0]
        levels = (share / 2, 1.0 - share / 2) if sides == 2 else (0.0, 1.0 - share)
        low, high = np.quantile(y, levels)
        return float(low), float(high)

    @property
    def _median(self) -> float:
        sign = {"lognormal": 1.0, "negative lognormal": -1.0}.get(self.errors, 0.0)
        if self.errors == "exponential":
            return math.log(2.0) - 1.0
        return sign * (1.0 - math.exp(LOG_DEVIATION**2 / 2.0))

    def _errors(self, generator: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if self.errors == "t3":
            w = generator.standard_t(3, shape)
        elif self.errors == "exponential":
            w = generator.standard_exponential(shape) - 1.0
        elif self.errors == "normal":
            w = generator.standard_normal(shape)
        else:
            w = np.exp(LOG_DEVIATION * generator.standard_normal(shape)) - math.exp(LOG_DEVIATION**2 / 2.0)
            w = w if self.errors == "lognormal" else -w
        return np.clip(w, -CUT, CUT)


@dataclass(frozen=True, kw_only=True, eq=False)
class CellSample:
    """Records in cells of public controls: `cells` (trials, n) holds numbers from 0; z, x, y are (trials, n)."""

    cells: np.ndarray
    instruments: np.ndarray
    regressors: np.ndarray
    outcome: np.ndarray


@typed
@dataclass(frozen=True, kw_only=True)
class CellModel:
    """z, x, y in [-1, 1] whose means vary with a cell of public controls that also drives the instrument.

    In cell c of K `cells`, equally likely, with s = cos(2 pi `turns` c / K): z = instrument_shift s + u / 2, x = 0.2 s
    + first_stage u + noise (w + e), y = slope x + outcome_shift s + noise (v + e), with u, w, v and the confounder e
    uniform on [-1, 1]; `turns` = 0 gives all cells the same means. Raises `DomainError` where z, x or y could leave
    [-1, 1]: |instrument_shift| <= 0.5, |first_stage| + 2 noise <= 0.8, |slope| + |outcome_shift| + 2 noise <= 1.
    """

    n: int
    cells: int = 1
    first_stage: float = 0.3
    slope: float = 0.5
    noise: float = 0.2
    instrument_shift: float = 0.4
    outcome_shift: float = 0.1
    turns: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", count("n", self.n))
        object.__setattr__(self, "cells", count("cells", self.cells, most=self.n))
        object.__setattr__(self, "turns", count("turns", self.turns, least=0))
        within("noise", self.noise, "[0, 0.5]")
        within("instrument_shift", self.instrument_shift, "[-0.5, 0.5]")
        for name, rest, most in (
            ("first_stage", 0.0, 0.8),
            ("slope", abs(real("outcome_shift", self.outcome_shift)), 1.0),
        ):
            reach = abs(real(name, getattr(self, name))) + rest + 2.0 * self.noise
            if reach > most + 1e-12:
                raise DomainError(
                    name, getattr(self, name), f"at most {most - reach + abs(getattr(self, name)):.3g} here"
                )
        in_floats(self, "first_stage", "slope", "noise", "instrument_shift", "outcome_shift")

    @property
    def beta(self) -> np.ndarray:
        """The slope."""
        return np.array([self.slope])

    def draw_cells(self, generator: np.random.Generator, trials: int) -> CellSample:
        """Fresh records."""
        shape = (trials, self.n)
        cells = generator.integers(0, self.cells, size=shape)
        shift = np.cos(2.0 * math.pi * self.turns * np.arange(self.cells) / self.cells)[cells]
        u, w, v, e = (generator.uniform(-1.0, 1.0, shape) for _ in range(4))
        x = 0.2 * shift + self.first_stage * u + self.noise * (w + e)
        y = self.slope * x + self.outcome_shift * shift + self.noise * (v + e)
        return CellSample(cells=cells, instruments=self.instrument_shift * shift + u / 2.0, regressors=x, outcome=y)
