"""What a private estimate is made of before any record is read: columns, public ranges, budget, design.

>>> plan = ReleasePlan(
...     outcome="wage", regressors=("school",), instruments=("lottery",),
...     bounds={"wage": (4, 8), "school": (0, 18)}, instrument_means={"lottery": 0.5}, budget=PrivacyBudget(epsilon=3.0)
... )
>>> plan.ranges["lottery"], plan.instrument_reach, plan.two_stage, plan.private
(Range(low=0.0, high=1.0), 1.0, False, True)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np

from dpbounds.arguments import typed
from dpbounds.errors import DomainError, choice, count, listed, real, within
from dpbounds.iv.confidence.budget import PrivacyBudget
from dpbounds.iv.confidence.ranges import ENDS, Range, public_range, spread_apart
from dpbounds.iv.confidence.sensitivity import ADJACENCIES, Adjacency

ReleaseDesign = Literal["u", "h", "s"]
DESIGNS: dict[ReleaseDesign, str] = {
    "u": "first and second moments, robust to heteroskedasticity, for few instruments",
    "h": "blocks Z'Z, Z'V, V'V, for many instruments and errors of one variance",
    "s": "signs, for one randomised 0/1 instrument, exact at every n",
}
Clamping = Literal["natural", "stretch"]
CLAMPINGS: dict[Clamping, str] = {
    "natural": "ranges hold for every record, so that nothing is clamped",
    "stretch": "one effect for all; the instrument is independent of the errors and of the first stage, which has one "
    "sign; outcomes may leave their range: residuals are clipped, and the set is stretched by what that hides",
}
Sampler = Literal["numpy", "opendp"]
SAMPLERS: dict[Sampler, str] = {"numpy": "floats", "opendp": "OpenDP's measurement"}
NEIGHBOURS: dict[Adjacency, str] = {
    "replace-one": "data sets of n records that differ in one (replace-one)",
    "zero-out": "data sets that differ in one record, which is empty in one of them (zero-out)",
}

# The set's matrices grow as the square of the instruments (u: times 4), and so does the noise of the second moments.
MOST_INSTRUMENTS: dict[ReleaseDesign, int] = {"u": 10, "h": 50, "s": 1}
DEFAULT_INSTRUMENT_RANGE = (0.0, 1.0)
DEFAULT_GRID, LEAST_GRID, MOST_GRID = 512, 16, 4096
# |beta| X / Y without a guess, and what a guess may be: beyond, one weight would be 0 for all purposes.
DEFAULT_RATIO, LEAST_RATIO, MOST_RATIO = 0.5, 1e-3, 1e3
_GRID_FORM = "of the form LOW:HIGH or LOW:HIGH:POINTS with LOW below HIGH, public coefficients"


class Grid(NamedTuple):
    """Public coefficients at which the curve of design s is released: `size` from `low` to `high`."""

    low: float
    high: float
    size: int


@typed
@dataclass(frozen=True, kw_only=True)
class ReleasePlan:
    """All that a private estimate with a confidence set needs to know besides the records, all of it public.

    - `outcome`, `regressors` (one), `instruments`, `controls`: names of columns, each in one role.
    - `bounds`: public ranges (low, high) by column, to which records are clamped; of outcome and regressor always
      (design s takes their middles as constants and needs none), of instruments 0 to 1 where left out.
    - `instrument_means`: public means of randomised instruments by column; None spends budget on estimating them.
    - `instrument_bound`: records whose instruments, each scaled to [-1, 1], are longer than this weigh less; harmless
      for any value. By default the square root of their number, which changes none.
    - `budget`: of everything that is released; `adjacency`: what neighbours are, n is public.
    - `design`, `clamping`: keys of `DESIGNS` and `CLAMPINGS`. By default `natural`, and `stretch` for one instrument
      that is `independent`: drawn independently of the errors and of the first stage, which moves regressors one way.
    - for `stretch`: `heterogeneity`, the largest effect of the instrument on a regressor over the mean one (1: they are
      the same); `regressor_clamped`: the regressor's range is a working range too.
    - `level` of the set; `honest`: coverage proved at every n; `certify`: ends from exact rational arithmetic.
    - `beta`: a public guess of the coefficient, which sets the weights of the columns.
    - `grid`: (low, high) or (low, high, size), for design s.
    - `public`: the data are public, what has no noise may be shown; `seed`: None for noise that nobody can draw again;
      `noise`: a key of `SAMPLERS`.

    Raises `DomainError` for what is out of its range, missing or of no use, and for combinations that mean nothing.
    """

    outcome: str
    regressors: Sequence[str]
    instruments: Sequence[str]
    controls: Sequence[str] = ()
    bounds: Mapping[str, Any] = field(default_factory=dict)
    instrument_means: Mapping[str, float] | None = None
    instrument_bound: float | None = None
    budget: PrivacyBudget
    adjacency: Adjacency = "replace-one"
    design: ReleaseDesign = "u"
    level: float = 0.95
    honest: bool = False
    certify: bool = False
    clamping: Clamping | None = None
    independent: bool = False
    heterogeneity: float = 1.0
    regressor_clamped: bool = False
    beta: float | None = None
    grid: Sequence[float] | None = None
    public: bool = False
    seed: int | None = None
    noise: Sampler = "numpy"

    def __post_init__(self) -> None:
        choice("design", self.design, DESIGNS)
        for name in ("regressors", "instruments", "controls"):
            self._set(name, _names(name, getattr(self, name)))
        self._check_columns()
        self._set("bounds", {name: public_range(name, ends) for name, ends in self.bounds.items()})
        self._check_ranges()
        self._set("instrument_means", self._means())
        self._check_instrument_bound()
        if not (isinstance(self.adjacency, str) and self.adjacency in ADJACENCIES):
            raise DomainError("adjacency", self.adjacency, f"one of {', '.join(ADJACENCIES)}", "n is public here")
        self._set("level", within("level", self.level, "[0.5, 0.9999]"))
        if self.clamping is None:
            fits = self.independent and not self._against_stretching()
            self._set("clamping", "stretch" if fits else "natural")
        choice("clamping", self.clamping, CLAMPINGS)
        self._set("heterogeneity", within("heterogeneity", self.heterogeneity, "[1, 1e12]"))
        if self.beta is not None:
            self._set("beta", abs(within("beta", self.beta, "[-1e12, 1e12]")))
        self._set("grid", _grid(self.design, self.grid))
        if self.public and self.seed is None:
            self._set("seed", 0)
        if self.seed is not None:
            self._set("seed", count("seed", self.seed, least=0))
        choice("noise", self.noise, SAMPLERS)
        self._check_combinations()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def regressor(self) -> str:
        """The column whose coefficient is meant."""
        return self.regressors[0]

    @property
    def columns(self) -> list[str]:
        """Columns that are read: instruments, regressors, outcome, controls."""
        return [*self.instruments, *self.regressors, self.outcome, *self.controls]

    @property
    def private(self) -> bool:
        """Whether the answer is a release: not for public data, nor where the noise can be drawn again."""
        return not self.public and self.seed is None

    @property
    def two_stage(self) -> bool:
        """Whether part of the budget goes into means within cells."""
        return not self.stretched and (self.instrument_means is None or bool(self.controls))

    @property
    def stretched(self) -> bool:
        """Whether residuals are clipped, and the set is stretched."""
        return self.clamping == "stretch"

    @property
    def chance(self) -> float | None:
        """P(z = 1) of one instrument of two values, the ends of its range; None where its mean is not public."""
        if self.instrument_means is None:
            return None
        low, high = self.ranges[self.instruments[0]]
        return (self.instrument_means[self.instruments[0]] - low) / (high - low)

    @property
    def default_ranges(self) -> tuple[str, ...]:
        """Instruments whose range was left out and is taken as 0 to 1."""
        return tuple(name for name in self.instruments if name not in self.bounds)

    @cached_property
    def ranges(self) -> dict[str, Range]:
        """The public range of every column that has one."""
        return {**dict.fromkeys(self.default_ranges, Range(*DEFAULT_INSTRUMENT_RANGE)), **self.bounds}

    def centre(self, column: str) -> float:
        """The middle of its range, which is taken off the records; 0 without one."""
        return self.ranges[column].centre if column in self.ranges else 0.0

    @property
    def halves(self) -> tuple[float, float]:
        """Half the widths of the ranges of outcome and regressor, Y and X."""
        return self.ranges[self.outcome].half, self.ranges[self.regressor].half

    @cached_property
    def instrument_reach(self) -> float:
        """B_z: the norm to which instruments are clipped, by default the furthest that they reach, in half-widths of
        their ranges.
        """
        if self.instrument_means is None:
            return math.sqrt(len(self.instruments)) if self.instrument_bound is None else self.instrument_bound
        boxes = [(mean, self.ranges[name]) for name, mean in self.instrument_means.items()]
        return math.hypot(*(1 + abs(mean - box.centre) / box.half for mean, box in boxes))

    @property
    def ratio(self) -> float:
        """The guess of |beta| X / Y that the weights are made for."""
        if self.beta is None:
            return DEFAULT_RATIO
        Y, X = self.halves
        return min(max(self.beta * X / Y, LEAST_RATIO), MOST_RATIO)

    @property
    def sign_grid(self) -> np.ndarray:
        """The coefficients of design s, (size,). Raises `DomainError` for other designs."""
        if self.grid is None:
            raise DomainError("grid", None, _GRID_FORM, "only design s has one")
        low, high, size = self.grid
        return np.linspace(low, high, int(size))

    def _check_columns(self) -> None:
        """Every column in one role, and as many as the design takes."""
        roles = {"outcome": (self.outcome,), "regressors": self.regressors, "instruments": self.instruments}
        used: dict[str, str] = {}
        for role, names in {**roles, "controls": self.controls}.items():
            if role != "controls" and not all(names or [""]):
                raise DomainError(role, "nothing", "given", "names of columns")
            for name in names:
                if name in used:
                    remedy = "controls stand under controls alone" if role != used[name] else ""
                    raise DomainError(role, name, "named once, in one role", remedy)
                used[name] = role
        if len(self.regressors) > 1:
            remedy = "the set is that of one coefficient; `projection` gives that of one of two"
            raise DomainError("regressors", f"{len(self.regressors)} columns", "one", remedy)
        most = MOST_INSTRUMENTS[self.design]
        if len(self.instruments) > most:
            remedies = {"u": "design h takes up to 50", "s": "design s is for one randomised instrument", "h": ""}
            found = f"{len(self.instruments)} columns"
            raise DomainError("instruments", found, f"at most {most}", remedies[self.design])

    def _check_ranges(self) -> None:
        known = (self.outcome, *self.regressors, *self.instruments)
        strange = [name for name in self.bounds if name not in known]
        if strange:
            raise DomainError("bounds", strange[0], f"of one of {', '.join(known)}")
        missing = [name for name in (self.outcome, *self.regressors) if name not in self.bounds]
        if missing and self.design != "s":
            remedy = "a range LOW:HIGH known without these records: it is never read from them"
            raise DomainError("bounds", f"none for {missing[0]}", "given for outcome and regressors", remedy)

    def _means(self) -> dict[str, float] | None:
        """In the order of the instruments."""
        if self.instrument_means is None:
            return None
        if set(self.instrument_means) != set(self.instruments):
            names = ", ".join(map(str, self.instrument_means))
            raise DomainError("instrument_means", names, f"one for each of {', '.join(self.instruments)}")
        means = {}
        for name in self.instruments:
            low, high = self.ranges[name]
            mean = self.instrument_means[name]
            means[name] = within(f"instrument_means {name}", mean, f"[{low!r}, {high!r}]", "its range, see bounds")
        return means

    def _check_instrument_bound(self) -> None:
        if self.instrument_bound is None:
            return
        if self.instrument_means is not None:
            why = "a bound on what is left of the instruments would shift its mean"
            raise DomainError("instrument_bound", self.instrument_bound, "left out with instrument_means", why)
        self._set("instrument_bound", within("instrument_bound", self.instrument_bound, "[1e-9, 1e12]"))

    def _check_combinations(self) -> None:
        """Those that mean nothing, or that nothing is known of."""
        single = len(self.instruments) == 1 and self.design == "u"
        if self.honest and not single:
            raise DomainError("honest", True, "left out unless design is u, with one instrument")
        if self.honest and self.two_stage:
            why = "means within cells are known to a limit law only"
            raise DomainError("honest", True, "left out unless instrument_means are given, without controls", why)
        if self.honest and self.certify:
            raise DomainError("certify", True, "left out with honest")
        self._check_stretching()
        if self.design == "s":
            self._check_signs()
        if self.design == "h" and self.two_stage:
            raise DomainError(
                "design", "h", "u, or with instrument_means and without controls", "centring is offered for u"
            )
        if self.noise == "opendp" and self.seed is not None:
            raise DomainError("noise", "opendp", "numpy with seed or public", "OpenDP's noise has no seed")

    def _against_stretching(self) -> dict[str, str]:
        """What does not go with clipped residuals, by parameter, and what would."""
        against = {"design": "u", "instruments": "one", "controls": "none", "honest": "False", "certify": "False"}
        against |= {"instrument_bound": "left out", "beta": "left out: the line of a first stage is taken off"}
        stated = {"design": self.design != "u", "instruments": len(self.instruments) != 1}
        return {
            name: f"{wanted} with clamping stretch"
            for name, wanted in against.items()
            if stated.get(name, getattr(self, name) not in (None, False, ()))
        }

    def _check_stretching(self) -> None:
        if not self.stretched:
            for name, default in (("heterogeneity", 1.0), ("regressor_clamped", False)):
                if getattr(self, name) != default:
                    why = "natural ranges need no bound on what clamping hides"
                    raise DomainError(name, getattr(self, name), "left out unless clamping is stretch", why)
            return
        for name, allowed in self._against_stretching().items():
            raise DomainError(name, getattr(self, name), allowed, "natural ranges take it (clamping natural)")
        if self.chance is not None:
            within("chance of the upper value by instrument_means", self.chance, "(0, 1)")

    def _check_signs(self) -> None:
        if self.instrument_means is None:
            raise DomainError("instrument_means", "nothing", "given with design s", "the chance of a 1, such as Z=0.5")
        useless = {"controls": bool(self.controls), "noise": self.noise == "opendp", "certify": self.certify}
        for name, stated in useless.items():
            if stated:
                raise DomainError(name, getattr(self, name), "left out with design s")


def _names(parameter: str, names: Any) -> tuple[str, ...]:
    several = tuple(listed(parameter, names))
    for name in several:
        if not isinstance(name, str):
            raise DomainError(parameter, name, "names of columns")
    return several


def _grid(design: ReleaseDesign, grid: Any) -> Grid | None:
    if design != "s":
        if grid is not None:
            raise DomainError("grid", _grid_text(grid), "left out unless design is s")
        return None
    if grid is None:
        raise DomainError("grid", "nothing", _GRID_FORM, "design s draws a curve over coefficients")
    parts = listed("grid", grid)
    if len(parts) not in (2, 3):
        raise DomainError("grid", _grid_text(grid), _GRID_FORM)
    low, high = (within("grid", real("grid", end), ENDS) for end in parts[:2])
    if not spread_apart(low, high):
        raise DomainError("grid", _grid_text(grid), _GRID_FORM)
    size = count("grid points", parts[2] if len(parts) == 3 else DEFAULT_GRID, least=LEAST_GRID, most=MOST_GRID)
    return Grid(low, high, size)


def _grid_text(grid: Any) -> str:
    return ":".join(f"{part:g}" if isinstance(part, (int, float)) else str(part) for part in listed("grid", grid))
