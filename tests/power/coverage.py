"""Coverage and length of private confidence sets where outcomes are clamped, beside sets that take natural ranges.

`python -m tests.power.coverage --runs 500 --out FILE` simulates settings, appends a line of JSON for each to FILE (a
run that is broken off goes on there), and prints coverage and median length of the stretched set, of the same set that
is not stretched and of that of natural ranges. `--settings 0:38` takes those that the derivation was tried on; the rest
varies everything else: P(z = 1) from .02 to .5, n from 500 to 20,000, epsilon from .5 to 10, one side and both, weak
and strong instruments, first stages that vary with a declared bound H, regressors clamped too.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from dpbounds import DomainError
from dpbounds.iv.confidence import confidence_set, split_level
from dpbounds.privacy import gaussian_mu
from simulators.engine import Streams
from simulators.iv.confidence import (
    ClippedDesign,
    MomentDesign,
    OneInstrument,
    moment_releases,
    release_clipped,
    release_moments,
)
from simulators.iv.confidence.sources import GaussianSource
from simulators.iv.samples import RecordSample

DELTA, LEVEL = 1e-6, 0.95
# Natural half-widths: errors are cut at 20, |x| <= first stage + 5.
NATURAL, REACH = 30.0, 5.0


@dataclass(frozen=True)
class Setting:
    """A model, a budget, the share of outcomes beyond their range and on how many sides; `known`: P(z = 1) is public;
    `H`: the bound on the first stage that is declared; `narrow`: the regressor's range leaves some out, and is counted.
    """

    n: int
    first_stage: float
    errors: Any
    share: float
    sides: int
    epsilon: float = 3.0
    effects: Any = "constant"
    probability: float = 0.5
    known: bool = True
    H: float = 1.0
    narrow: float | None = None

    @property
    def model(self) -> OneInstrument:
        """Its data."""
        return OneInstrument(
            n=self.n,
            first_stage=self.first_stage,
            errors=self.errors,
            effects=self.effects,
            probability=self.probability,
        )

    @property
    def middle(self) -> float:
        """Half of the largest effect of the instrument on the regressor."""
        return self.first_stage * (0.5 if self.effects == "constant" else 1.0)

    @property
    def design(self) -> ClippedDesign:
        """The release that is tried."""
        low, high = self.model.outcome_range(self.share, self.sides)
        return ClippedDesign(
            mu=float(gaussian_mu(self.epsilon, DELTA)),
            outcome_bound=(high - low) / 2,
            outcome_centre=(high + low) / 2,
            regressor_bound=self.middle + (self.narrow or REACH),
            regressor_centre=self.middle,
            probability=self.probability if self.known else None,
            regressor_clamped=self.narrow is not None,
            heterogeneity=self.H,
            adjacency="zero-out",
        )

    @property
    def natural(self) -> MomentDesign:
        """Release U with ranges that hold, around the public mean of the instrument."""
        return MomentDesign(
            mu=float(gaussian_mu(self.epsilon, DELTA)),
            instrument_bound=max(self.probability, 1 - self.probability),
            outcome_bound=NATURAL,
            regressor_bounds=(self.middle + REACH,),
            regressor_centres=(self.middle,),
            adjacency="zero-out",
        )


def tried() -> list[Setting]:
    """The settings of the derivation: 30 of one grid, and others."""
    laws: list[tuple[Any, int]] = [("lognormal", 1), ("exponential", 1), ("normal", 2), ("t3", 2), ("normal", 1)]
    grid = itertools.product(laws, (0.5, 2.0), (0.03, 0.09, 0.2))
    found = [Setting(2_000, pi, law, share, sides) for (law, sides), pi, share in grid]
    found += [Setting(2_000, 0.1, "lognormal", 0.09, 1), Setting(2_000, 0.1, "normal", 0.2, 2)]
    found += [Setting(2_000, 0.25, "lognormal", 0.2, 1), Setting(20_000, 0.5, "lognormal", 0.09, 1, 1.0)]
    found += [Setting(20_000, 2.0, "lognormal", 0.2, 1, 1.0), Setting(20_000, 1.0, "t3", 0.2, 2, 1.0)]
    return [*found, Setting(20_000, 1.0, "lognormal", 0.01, 1), Setting(2_000, 1.0, "negative lognormal", 0.09, 1)]


def varied() -> list[Setting]:
    """Sixty-six more: each kind of difficulty crossed with what it may depend on; P(z = 1) is not known in most."""
    found = []
    laws: list[Any] = ["lognormal", "t3", "exponential", "negative lognormal", "normal"]
    chances = itertools.product((0.02, 0.05, 0.1, 0.2, 0.35), ((5_000, 3.0), (20_000, 1.0), (20_000, 10.0)))
    for number, (chance, (n, epsilon)) in enumerate(chances):
        law, share, sides = laws[number % 5], (0.2, 0.09, 0.03)[number % 3], 1 + number % 2
        pi = (2.0, 0.5)[number % 2]
        found.append(Setting(n, pi, law, share, sides, epsilon, probability=chance, known=False))
    sizes = itertools.product((500, 1_000, 5_000), (0.5, 3.0, 10.0), (0.1, 2.0))
    for number, (n, epsilon, pi) in enumerate(sizes):
        law, share = laws[number % 5], (0.2, 0.1)[number % 2]
        found.append(Setting(n, pi, law, share, 1 + number // 2 % 2, epsilon, known=number % 3 == 0))
    varying = itertools.product(("mixed", "related"), (2_000, 20_000), (0.5, 2.0), (1.0, 5.0))
    for number, (effects, n, pi, epsilon) in enumerate(varying):
        law, share = laws[number % 4], (0.2, 0.1)[number % 2]
        found.append(Setting(n, pi, law, share, 1 + number % 2, epsilon, effects, 0.3, False, 2.0))
    narrow = itertools.product((2_000, 20_000), (0.5, 2.0), (1.3, 1.7), (3.0, 1.0))
    for number, (n, pi, reach, epsilon) in enumerate(narrow):
        law, share = laws[number % 5], (0.2, 0.05)[number % 2]
        found.append(Setting(n, pi, law, share, 1 + number % 2, epsilon, known=number % 2 == 0, narrow=reach))
    return [*found, Setting(20_000, 2.0, "t3", 0.2, 2, 10.0, known=False)]


@dataclass(frozen=True)
class Centred:
    """A model whose instrument comes less its public mean."""

    model: OneInstrument

    @property
    def n(self) -> int:
        """Records."""
        return self.model.n

    @property
    def dimensions(self) -> tuple[int, int]:
        """(1, 1)."""
        return 1, 1

    @property
    def beta(self) -> np.ndarray:
        """The slope."""
        return self.model.beta

    def draw(self, generator: np.random.Generator, trials: int, *, records: bool = True) -> RecordSample:
        """Fresh records."""
        sample = self.model.draw(generator, trials)
        return replace(sample, instruments=sample.instruments - self.model.probability)


def simulated(setting: Setting, runs: int, seed: int) -> dict[str, float]:
    """Coverage and median length of each set, the median of the least rho, and the share of runs that were refused
    since an arm seemed too small: these answer nothing and count as covering, of infinite length.
    """
    rng, noise = (np.random.default_rng((seed, k)) for k in range(2))
    model, design, natural = setting.model, setting.design, setting.natural
    beta, line = float(model.beta[0]), (-math.inf, math.inf)
    sets: dict[str, list[Sequence[Sequence[float]]]] = {"stretched": [], "not stretched": [], "natural": []}
    rho, refused = [], 0
    for _ in range(runs):
        sample = model.draw(rng, 1)
        z, x, y = sample.instruments[0, 0], sample.regressors[0, 0], sample.outcome[0]
        try:
            found = release_clipped(z, x, y, design, GaussianSource(noise))
        except DomainError:
            refused += 1
            sets["stretched"].append([line])
            sets["not stretched"].append([line])
            continue
        sets["stretched"].append(found.confidence_set(LEVEL).pieces)
        plain = confidence_set(found.release, split_level(LEVEL).test)
        sets["not stretched"].append(plain.shifted(found.slope).pieces)
        rho.append(found.counts.rho(LEVEL).least)
    streams = Streams(noise=noise, data=rng, initial=rng)
    arrays = release_moments(Centred(model), natural, streams, runs)
    sets["natural"] = [confidence_set(one, LEVEL).pieces for one in moment_releases(arrays, natural, setting.n)]
    row: dict[str, float] = {"refused": refused / runs, "least rho": float(np.median(rho)) if rho else 0.0}
    for name, several in sets.items():
        row[f"coverage {name}"] = float(np.mean([any(a <= beta <= b for a, b in pieces) for pieces in several]))
        row[f"length {name}"] = float(np.median([sum(b - a for a, b in pieces) for pieces in several]))
    return row


def settings() -> list[Setting]:
    """All, in order."""
    return [*tried(), *varied()]


def rows_of(chosen: Sequence[int], runs: int, out: Path | None) -> list[dict[str, Any]]:
    """A row for each setting by number; those that the file has with as many runs are not run again."""
    known = [json.loads(text) for text in out.read_text().splitlines()] if out is not None and out.exists() else []
    rows = {row["number"]: row for row in known if row["runs"] == runs}
    every = settings()
    for number in chosen:
        if number not in rows:
            rows[number] = {"number": number, "runs": runs, **asdict(every[number])}
            rows[number] |= simulated(every[number], runs, number)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(rows[number]) + "\n")
    return [rows[number] for number in chosen]


def summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Least and mean coverage, how many settings are short of the level by more than three standard errors and .01."""
    runs, covered = (np.array([row[name] for row in rows], dtype=float) for name in ("runs", "coverage stretched"))
    found: dict[str, float] = {"settings": len(rows), "least coverage": covered.min(), "mean coverage": covered.mean()}
    short = covered < LEVEL - 0.01 - 3 * np.sqrt(LEVEL * (1 - LEVEL) / runs)
    found["short of .94 by 3 standard errors"] = int(short.sum())
    found["least coverage, not stretched"] = min(row["coverage not stretched"] for row in rows)
    lengths = np.array([[row[f"length {name}"] for name in ("stretched", "natural", "not stretched")] for row in rows])
    bounded = lengths[np.isfinite(lengths).all(axis=1)]
    if len(bounded):
        found["median length over natural"] = float(np.median(bounded[:, 0] / bounded[:, 1]))
        found["median length over not stretched"] = float(np.median(bounded[:, 0] / bounded[:, 2]))
    return found


def main() -> None:
    """Print the table and the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--settings", default=":", metavar="FROM:TO", help="numbers of settings (default: all)")
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    low, _, high = asked.settings.partition(":")
    chosen = range(len(settings()))[int(low) if low else None : int(high) if high else None]
    rows = rows_of(chosen, asked.runs, asked.out)
    print(f"{'':>3} {'setting':<86} stretched      not str.       natural")
    for row in rows:
        said = (
            f"n {row['n']}, pi {row['first_stage']:g}, {row['errors']}, {row['share']:g} on {row['sides']}, "
            f"eps {row['epsilon']:g}, P {row['probability']:g}{'' if row['known'] else '?'}"
        )
        said += "" if row["effects"] == "constant" else f", {row['effects']} H {row['H']:g}"
        said += "" if row["narrow"] is None else f", x within {row['narrow']:g}"
        cells = (
            f"{row[f'coverage {name}']:.3f} {row[f'length {name}']:8.3g}"
            for name in ("stretched", "not stretched", "natural")
        )
        print(f"{row['number']:>3} {said:<86} {'  '.join(cells)}")
    for name, value in summary(rows).items():
        print(f"{name:<36} {value:.3g}")


if __name__ == "__main__":
    main()
