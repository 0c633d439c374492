"""A certified set for one of two regressors: the joint set projected, by exact arithmetic.

With c_q and two regressors the joint set is {P(s, t) >= 0}, P = c D - N of total degree 2 q in the coefficients, in
units of the weights. s belongs to the projection if P(s, .) is somewhere not negative. The leading coefficient in t
does not depend on s: where it is positive every s belongs. Where it is negative P(s, .) falls to -inf on both sides,
so s belongs if and only if P(s, .) has a real root, and the number of real roots changes only at roots of its
discriminant, a polynomial of degree at most 2 q (2 q - 1) in s. It is interpolated over the rationals, its roots are
isolated, and real roots are counted at one rational s in each gap. Isolated points are not looked for (the projection
is closed, and they have no length). Always valid, conservative if the other coefficient is well identified.

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([5.0, 3, 90, 10, 20, 90]), second=np.eye(6), first_scale=1.0,
...                         second_scale=0.0, n=100, outcome_weight=1.0, regressor_weights=np.ones(2),
...                         adjacency="zero-out")
>>> found = projection(release)
>>> found.shape, found.certified
('interval', True)
"""

from __future__ import annotations

from typing import Any

from dpbounds.arguments import typed
from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError, DomainError, within
from dpbounds.iv.confidence.anderson_rubin import LEVELS, chi_square_quantile
from dpbounds.iv.confidence.certified import (
    between,
    block,
    determinants,
    enclosed,
    exact_covariance,
    infinite,
    interpolated,
    isolated_roots,
    require_positive,
)
from dpbounds.iv.confidence.pieces import ConfidenceSet, Piece, shape_of
from dpbounds.iv.confidence.release import Release
from dpbounds.values import Value

# Degrees of the discriminant grow as 4 q²: 12, 30, 56 for 2, 3 and 4 instruments.
MOST_INSTRUMENTS = 4


@typed
def projection(release: Release, regressor: int = 0, level: float = 0.95) -> ConfidenceSet:
    """The coefficients of one of two regressors for which some value of the other is not rejected, certified.

    The critical value is c_q, without correction for the noise of T2. Raises `DomainError` for p other than 2, more
    than 4 instruments, a singular release; `AccuracyError` where the discriminant vanishes identically.
    """
    level = within("level", level, LEVELS)
    if release.p != 2:
        raise DomainError("p", release.p, "2 regressors", "take `confidence_set` for one")
    if release.q > MOST_INSTRUMENTS:
        raise DomainError("q", release.q, f"at most {MOST_INSTRUMENTS} for a projection")
    if regressor not in (0, 1):
        raise DomainError("regressor", regressor, "0 or 1")
    slices = _Slices(release, regressor, level)
    ratio = exact(release.outcome_weight) / exact(float(release.regressor_weights[regressor]))
    coverage = Value(level, kind="asymptotic", source="dpbounds", convention="coverage, conservative")
    pieces = _pieces(slices, ratio)
    return ConfidenceSet(pieces=pieces, shape=shape_of(pieces), coverage=coverage, certified=True)


class _Slices:
    """P(s, .) as a polynomial in the coefficient of the other regressor."""

    def __init__(self, release: Release, regressor: int, level: float) -> None:
        q = self.q = release.q
        sigma = exact_covariance(release)
        require_positive(sigma)
        order = (0, 1 + regressor, 2 - regressor)
        self.blocks = [[block(sigma, i, j, q) for j in order] for i in order]
        self.moments = [[exact(entry) for entry in release.moments[i].tolist()] for i in order]
        self.c = exact(chi_square_quantile(q, level))

    def at(self, s: Any) -> Any:
        """P(s, .)."""
        S, (y, x, other) = self.blocks, self.moments
        outcome = S[0][0] - (S[0][1] + S[1][0]) * s + S[1][1] * (s * s)
        crossed = S[0][2] - S[1][2] * s
        D, N, _ = determinants(
            [[outcome, crossed], [crossed.transpose(), S[2][2]]],
            [[a - s * b for a, b in zip(y, x, strict=True)], other],
        )
        return self.c * D - N

    def discriminant(self) -> Any:
        """Of P(s, .), as a polynomial in s."""
        from flint import fmpq

        degree = 2 * self.q * (2 * self.q - 1)
        nodes = range(-(degree // 2), degree // 2 + 1)
        return interpolated(nodes, [self.at(fmpq(s)).discriminant() for s in nodes])


def _pieces(slices: _Slices, ratio: Any) -> tuple[Piece, ...]:
    from flint import arb, fmpq

    first = slices.at(fmpq(0))
    if first.degree() < 2 * slices.q or first.leading_coefficient() > 0:
        return ((infinite(-1), infinite(1)),)
    discriminant = slices.discriminant()
    if discriminant.is_zero():
        raise AccuracyError("projection: the polynomial of the test has a repeated factor")
    roots = isolated_roots(discriminant)
    inside = [bool(isolated_roots(slices.at(s))) for s in between(roots)]
    pieces: list[Piece] = []
    start = infinite(-1) if inside[0] else None
    for index, root in enumerate(roots):
        if inside[index + 1] == inside[index]:
            continue
        end = enclosed(root * arb(ratio))
        if inside[index + 1]:
            start = end
        else:
            pieces.append((start if start is not None else end, end))
            start = None
    if start is not None:
        pieces.append((start, infinite(1)))
    return tuple(pieces)
