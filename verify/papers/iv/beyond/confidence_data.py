"""Beyond the paper: private confidence sets on real data, Card's and the census extract of Angrist and Evans."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial

import numpy as np

from simulators.iv.confidence.staged import release_staged
from simulators.sources import GaussianSource
from verify.checks import Agreement, Fact, Times, Within
from verify.checks.pictures import Picture, Series
from verify.papers.iv.tools.confidence_data import (
    Extract,
    census,
    design_at,
    median_ends,
    predicted_ratio,
    private_sets,
    schooling,
    set_without_noise,
    share_of,
    textbook_ends,
)
from verify.papers.iv.tools.real_data import no_card, no_census
from verify.statements.claims import Claim

BUDGETS = (0.3, 1.0, 3.0)
RELEASES: Mapping[str, int] = {"quick": 50, "full": 200}

# --- Card ---


def _without(data: Extract, critical: float) -> Iterator[Fact | Within]:
    """The set of the release's own code without noise, against a quadratic equation."""
    ends = [float(end) for end in set_without_noise(data).pieces[0]]
    yield Fact(
        f"{data.n} records, {data.K} cells: ends without privacy", ends, list(textbook_ends(data, critical)), 1e-8
    )


def _card(
    rng: np.random.Generator, releases: int, share: float = 1.0, critical: float = 3.841458820694124
) -> Iterator[Fact | Within]:
    """Without controls: intervals at epsilon = 1 and 3, nearly as short as without privacy at 3."""
    data = schooling()
    yield from _without(data, critical)
    low, high = textbook_ends(data)
    for epsilon, least, most in ((1.0, 1.2, 2.6), (3.0, 0.95, 1.35)):
        sets = private_sets(data, epsilon, releases, rng, share)
        intervals, ratio = share_of(sets, "interval"), float(np.median([found.length for found in sets])) / (high - low)
        yield Within(f"epsilon = {epsilon:g}: share of intervals", intervals, least=0.7)
        yield Within(f"epsilon = {epsilon:g}: median length ratio", ratio, least, most)


def _card_controls(rng: np.random.Generator, releases: int, share: float = 1.0) -> Iterator[Fact | Within]:
    """Eight cells at epsilon = 1: mostly no bounded set."""
    data = schooling("black", "south", "smsa")
    yield from _without(data, 3.841458820694124)
    sets = private_sets(data, 1.0, releases, rng, share)
    lines, bounded = share_of(sets, "line"), share_of(sets, "interval")
    yield Within("epsilon = 1, 8 cells: share of whole lines", lines, least=0.15)
    yield Within("epsilon = 1, 8 cells: share of intervals", bounded, most=0.6)


def _picture(load: Callable[[], Extract], name: str, releases: int) -> Picture:
    """Medians of the ends over releases with their quartiles, beside the ends without privacy."""
    data = load()
    low, high = textbook_ends(data)
    budgets = (0.5, 1.0, 2.0, 3.0, 5.0)
    ends: dict[str, list[np.ndarray]] = {"lower end": [], "upper end": []}
    for epsilon in budgets:
        sets = private_sets(data, epsilon, releases, np.random.default_rng(1))
        found = np.array([(one.pieces[0][0], one.pieces[-1][1]) for one in sets], dtype=float)
        for column, key in enumerate(ends):
            ends[key].append(np.quantile(found[:, column], (0.5, 0.25, 0.75), method="nearest"))
    series = []
    for (key, quartiles), bare in zip(ends.items(), (low, high), strict=True):
        kept = [(e, *map(float, q)) for e, q in zip(budgets, quartiles, strict=True) if np.isfinite(q).all()]
        x, y, below, above = zip(*kept, strict=True)
        series.append(Series(curve=f"{key}, private", role="simulated", x=x, y=y, low=below, high=above))
        series.append(
            Series(curve=f"{key}, without privacy", role="exact", x=(budgets[0], budgets[-1]), y=(bare, bare))
        )
    return Picture(x="budget $epsilon$", y=name, log=("x",), series=tuple(series))


CARD = Claim(
    id="iv/beyond-confidence-card",
    where="beyond App. G.5",
    kind="algorithm",
    statement=(
        (
            "Card's data, college nearby for schooling, an intercept, $delta = 10^(-6)$, `zero-out`: without privacy "
            "the set of level .95 is $[0.144, 0.251]$;"
        ),
        (
            "private sets are intervals in at least 70 % of releases at $epsilon = 1$ and 3, of median length below "
            "2.6 and 1.35 times that."
        ),
        (
            "With the eight cells of black, south and smsa the set at $epsilon = 1$ is no interval in at least 40 % of "
            "releases, and the whole line in at least 15 %."
        ),
    ),
    setting="Ranges 0 to 18 years, log wages 4 to 8, chosen without the data; a quarter of $mu^2$ for the means.",
    missing=no_card,
    checks=(
        Agreement(
            decides="ab",
            facts=partial(_card, releases=RELEASES["quick"]),
            alpha=1e-8,
            picture=partial(_picture, schooling, "coefficient of schooling", 25),
            impostors={
                "a third of the budget": {"facts": {"share": 1 / 3}},
                "critical value of two instruments": {"facts": {"critical": 5.991}},
            },
        ),
        Agreement(
            decides="c",
            facts=partial(_card_controls, releases=RELEASES["quick"]),
            alpha=1e-8,
            impostors={"ten times the budget": {"facts": {"share": 10.0}}},
        ),
    ),
)

# --- the census extract ---


def _census(rng: np.random.Generator, releases: int, share: float = 1.0) -> Iterator[Fact | Within]:
    """Lengths against sqrt(1 + noise / own variance), whose own side is computed from the records."""
    data = census()
    yield from _without(data, 3.841458820694124)
    low, high = textbook_ends(data)
    for epsilon in BUDGETS:
        sets = private_sets(data, epsilon, releases, rng, share)
        design = design_at(epsilon)
        staged = release_staged(data.records, design, GaussianSource(rng))
        predicted = predicted_ratio(data, design, tuple(staged.boxes), staged.release.first_scale, staged.slope)
        ratio = float(np.median([found.length for found in sets])) / (high - low)
        yield Fact(f"epsilon = {epsilon:g}: all sets are intervals", share_of(sets, "interval"), 1.0, 0.05)
        yield Fact(f"epsilon = {epsilon:g}: median length ratio", ratio, predicted, 0.04 if epsilon < 1 else 0.01)
        shift = float(np.abs(np.subtract(median_ends(sets), (low, high))).max())
        yield Within(f"epsilon = {epsilon:g}: weeks by which median ends are off", shift, most=1.0)


def _digest() -> str:
    from verify.papers.iv.tools.real_data import census_digest

    if no_census():
        return ""
    data = census()
    parts = b"".join(np.ascontiguousarray(part).tobytes() for part in (data.z, data.x, data.y))
    return census_digest() + hashlib.sha256(parts).hexdigest()[:16]


CENSUS = Claim(
    id="iv/beyond-confidence-census",
    where="beyond Section 4.2",
    kind="algorithm",
    statement=(
        "The census extract of Angrist and Evans, all records, $delta = 10^(-6)$, `zero-out`: at $epsilon = 0.3$, 1 "
        "and 3 the private set is an interval, longer than the one without privacy by $sqrt(1 + n^* \\/ n)$, which is "
        "below 1.03 at 0.3 and below 1.003 from 1 on: privacy is free there."
    ),
    setting="Children of one sex for a third child, weeks worked from 0 to 52, an intercept.",
    user_data=_digest,
    missing=no_census,
    checks=(
        Agreement(
            facts=partial(_census, releases=RELEASES["quick"]),
            alpha=1e-8,
            picture=partial(_picture, census, "effect on weeks worked", 15),
            impostors={"a tenth of the budget": {"facts": {"share": 0.1}}, "2 % off": {"facts": Times(1.02)}},
        ),
        Agreement(level="full", facts=partial(_census, releases=RELEASES["full"]), alpha=1e-8),
    ),
)
