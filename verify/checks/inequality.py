"""An inequality between two expressions on a box: certified by ball arithmetic, or searched by an optimiser that tries
to break it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from dpbounds import DomainError, arithmetic
from dpbounds.elliptic.quadrature import enclosed_integral
from verify.checks.base import Check, Level, Result, Seed, Task, ground_of
from verify.checks.domains import Box, corners, points, simple_points
from verify.checks.evidence import Evidence
from verify.checks.identity import Expression

EVALUATIONS = 10_000
# Differences below this, relative to the sides, are rounding in double precision and are settled with 60 digits.
ROUNDING = 1e-10
# Points at which a certificate is held against the sides, and digits: a bound is close where the sides meet.
TRIED, TIE_DIGITS = 60, 400

UnitBox = tuple[tuple[float, float], ...]


@final
@dataclass(frozen=True, kw_only=True)
class Inequality(Check):
    """`smaller(m, **parameters) <= larger(m, **parameters)` on a box, m the arithmetic (`dpbounds.arithmetic`).

    First a search in double precision (vectorised: the sides take arrays) at round numbers, corners and random points,
    then by local refinement of the nearest misses; a violation is confirmed by balls of 60 digits. If none is found and
    `certify` is set, ball arithmetic proves larger - smaller > 0 on boxes that cover the whole box. `certificate(m,
    **parameters)` replaces the difference by something better conditioned (divide out a factor that vanishes at an
    end), and `factor` ties it to the sides: factor >= 0 and larger - smaller >= factor * certificate, with equality or
    for a reason that the docstring gives, both tried at points. `where` restricts the search, not the certificate.
    """

    smaller: Expression
    larger: Expression
    box: Box
    certify: bool = True
    certificate: Expression | None = None
    factor: Expression | None = None
    where: Callable[..., np.ndarray] | None = None
    evaluations: int = EVALUATIONS
    most_boxes: int = 100_000
    precision: int = 128

    def validate(self, place: str) -> None:
        """Also for a certificate that nothing ties to the sides."""
        super().validate(place)
        if (self.certificate is None) != (self.factor is None):
            raise DomainError(f"factor of {place}", self.factor, "given with a certificate, and only with one")

    def counterexample_names(self) -> Collection[str]:
        """The point and both sides."""
        return {*self.box, "smaller", "larger"}

    def run(self, task: Task, seed: Seed) -> Result:
        """Search; then certify if nothing was found."""
        search = _search(self, seed.generator())
        if search["violation"] is not None:
            search["certain"] = _certain(self, search["violation"])
        if search["violation"] is None and self.certify:
            search["boxes"], search["open"] = certify(self)
        return search

    def conclude(self, results: Sequence[Result], level: Level) -> Evidence:
        """Fails at a confirmed violation; holds certified, or numerically if no certificate was asked for."""
        (result,) = results
        common = {"slack": result["slack"], "evaluations": result["evaluated"]}
        if result["violation"] is not None:
            point = result["violation"]
            text = ", ".join(f"{name} = {value:.6g}" for name, value in point.items())
            return Evidence(
                outcome="fails", how=ground_of(result), summary=f"Violated at {text}.", counterexample=point, **common
            )
        tight = "" if result["slack"] is None else f", tightest ratio {result['slack']:.4g}"
        if not self.certify:
            summary = f"No violation in {result['evaluated']} evaluations of a search that tries to break it{tight}."
            return Evidence(outcome="holds", how="numeric", summary=summary, **common)
        if result["open"] is not None:
            return Evidence(
                outcome="unclear",
                how="certified",
                summary=(
                    f"No violation found, but {result['boxes']} boxes did not suffice to certify it near "
                    f"{result['open']}."
                ),
                needed=f"a better conditioned certificate or more than {self.most_boxes} boxes",
                **common,
            )
        ranges = ", ".join(f"{name} in [{domain.low:g}, {domain.high:g}]" for name, domain in self.box.items())
        summary = f"Certified on {ranges} by {result['boxes']} box{'es' * (result['boxes'] != 1)}{tight}."
        return Evidence(outcome="holds", how="certified", summary=summary, **common)

    def sides(self, m: Any, point: dict[str, Any]) -> tuple[Any, Any]:
        """Both sides at a point, numbers converted to the arithmetic."""
        arguments = {name: m.number(value) for name, value in point.items()}
        return self.smaller(m, **arguments), self.larger(m, **arguments)


def _search(check: Inequality, rng: np.random.Generator) -> dict[str, Any]:
    """Smallest gap relative to the sides over simple, corner, random and refined points."""
    simple = simple_points(check.box)
    if simple:
        known = {name: np.array([point[name] for point in simple]) for name in check.box}
        violation = _violation(check, known, _relative_gaps(check, known))
        if violation is not None:
            return {"violation": violation, "slack": None, "evaluated": len(simple)}
    dimension = len(check.box)
    unit = np.concatenate([corners(check.box), rng.random((check.evaluations // 2, dimension))])
    gaps = _relative_gaps(check, points(check.box, unit))
    evaluated, width, rounds = len(unit) + len(simple), 0.1, 20
    per_round = max(1, (check.evaluations - len(unit)) // rounds)
    for _ in range(rounds):  # the elite spreads ever narrower clouds
        elite = unit[np.argsort(gaps)[:10]]
        cloud = np.clip(
            elite[rng.integers(len(elite), size=per_round)] + width * rng.standard_normal((per_round, dimension)), 0, 1
        )
        unit = np.concatenate([elite, cloud])
        gaps = _relative_gaps(check, points(check.box, unit))
        evaluated, width = evaluated + per_round, width * 0.7
    final = points(check.box, unit)
    return {"violation": _violation(check, final, gaps), "slack": _slack(check, final), "evaluated": evaluated}


def _relative_gaps(check: Inequality, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """(larger - smaller) / max(|sides|); +inf where the statement does not apply."""
    with np.errstate(all="ignore"):
        smaller, larger = (
            np.broadcast_to(side, len(next(iter(arrays.values())))) for side in check.sides(arithmetic.FLOATS, arrays)
        )
        gaps = (larger - smaller) / np.maximum(np.abs(larger), np.abs(smaller))
    gaps = np.where(np.isnan(gaps), np.where(larger == smaller, 0.0, -np.inf), gaps)
    if check.where is not None:
        gaps = np.where(check.where(**arrays), gaps, np.inf)
    return gaps


def _violation(check: Inequality, arrays: dict[str, np.ndarray], gaps: np.ndarray) -> dict[str, float] | None:
    """The first candidate that 60 digits confirm, candidates in the order given (simple points) or by depth."""
    candidates = np.flatnonzero(gaps < ROUNDING)
    if len(candidates) == 0:
        return None
    ordered = candidates if np.all(gaps[candidates] < -ROUNDING) else candidates[np.argsort(gaps[candidates])]
    with arithmetic.digits(60) as exact:  # comparisons of balls are certain
        for index in ordered[:50]:
            point = {name: float(values[index]) for name, values in arrays.items()}
            smaller, larger = check.sides(exact, point)
            if smaller > larger:
                point = _rounded(check, point, exact)
                smaller, larger = check.sides(exact, point)
                return {**point, "smaller": float(smaller), "larger": float(larger)}
    return None


def _certain(check: Inequality, found: dict[str, float]) -> bool:
    """Whether balls alone show the violation, integrals enclosed."""
    with arithmetic.balls(check.precision) as m:
        m = replace(m, integral=enclosed_integral)
        try:
            smaller, larger = check.sides(m, {name: found[name] for name in check.box})
        except DomainError:
            return False
        return bool(smaller > larger)


def _rounded(check: Inequality, point: dict[str, float], exact: Any) -> dict[str, float]:
    """The same point with as few digits as still violate the statement."""
    for digits in (1, 2, 3, 4):
        rounded = {name: float(f"{value:.{digits}g}") for name, value in point.items()}
        if all(value in check.box[name] for name, value in rounded.items()):
            admitted = check.where is None or bool(check.where(**rounded))
            smaller, larger = check.sides(exact, rounded)
            if admitted and smaller > larger:
                return rounded
    return point


def _slack(check: Inequality, arrays: dict[str, np.ndarray]) -> float | None:
    """Smallest larger / smaller where both are positive."""
    with np.errstate(all="ignore"):
        smaller, larger = check.sides(arithmetic.FLOATS, arrays)
        ratio = np.where(
            (np.asarray(smaller) > 0) & (np.asarray(larger) > 0), np.asarray(larger) / np.asarray(smaller), np.inf
        )
    best = float(np.min(ratio))
    return best if np.isfinite(best) else None


def certify(check: Inequality) -> tuple[int, str | None]:
    """Bisect until the difference is positive on every box: (boxes used, None or where it is not)."""
    untied = _untied(check)
    if untied is not None:
        return 0, untied
    names = list(check.box)
    difference = check.certificate or (lambda m, **p: check.larger(m, **p) - check.smaller(m, **p))
    # Widest first keeps the cover balanced; the running number keeps the order reproducible.
    heap: list[tuple[float, int, UnitBox]] = [(-1.0, 0, tuple((0.0, 1.0) for _ in names))]
    used = pushed = 0
    with arithmetic.balls(check.precision) as m:
        while heap:
            _, _, unit_box = heapq.heappop(heap)
            used += 1
            ends = [check.box[name].at(np.array(sides)) for name, sides in zip(names, unit_box, strict=True)]
            intervals = [m.number(float(low)).union(m.number(float(high))) for low, high in ends]
            if difference(m, **dict(zip(names, intervals, strict=True))) > 0:
                continue
            if used >= check.most_boxes:
                resisting = zip(names, ends, strict=True)
                return used, ", ".join(f"{name} in [{low:.6g}, {high:.6g}]" for name, (low, high) in resisting)
            for child in _halves(unit_box):
                pushed += 1
                heapq.heappush(heap, (-max(high - low for low, high in child), pushed, child))
    return used, None


def _untied(check: Inequality) -> str | None:
    """A point at which the factor is certainly negative, or larger - smaller less than factor * certificate; None if
    none is found.
    """
    if check.certificate is None or check.factor is None:
        return None
    unit = np.concatenate([corners(check.box), np.random.default_rng(0).random((TRIED, len(check.box)))])
    arrays = points(check.box, unit)
    tried = [*simple_points(check.box, most=20)]
    tried += [{name: float(values[row]) for name, values in arrays.items()} for row in range(len(unit))]
    with arithmetic.digits(TIE_DIGITS) as m:
        for point in tried:
            smaller, larger = check.sides(m, point)
            arguments = {name: m.number(value) for name, value in point.items()}
            factor, certificate = check.factor(m, **arguments), check.certificate(m, **arguments)
            if factor < 0 or larger - smaller < factor * certificate:
                at = ", ".join(f"{name} = {value:.6g}" for name, value in point.items())
                return f"{at}, where the certificate says more than the sides"
    return None


def _halves(unit_box: UnitBox) -> Iterator[UnitBox]:
    """The box cut across its longest side."""
    axis = max(range(len(unit_box)), key=lambda k: unit_box[k][1] - unit_box[k][0])
    low, high = unit_box[axis]
    middle = (low + high) / 2.0
    for side in ((low, middle), (middle, high)):
        yield (*unit_box[:axis], side, *unit_box[axis + 1 :])
