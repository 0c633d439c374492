"""Confidence sets by exact arithmetic: the polynomial of the test over the rationals, its real roots isolated.

What is certified: the set {beta: AR(beta) <= c'(beta)} of the release *as floats hold it*: T1, T2⁺ (the float matrix
after projection; for blocks Q⁺ ⊗ A⁺ / n likewise), s1, s2, the weights and the float chi-square quantile are taken as
the rational numbers that they are. The projection itself, the noise and the coverage are not part of the statement.

With D = det V, N = g' adj(V) g and W = (1 + theta²) tr adj(V), polynomials of degree 2 q in theta, AR = N / D and
tau = s2 W / (q D). V is positive definite for every theta because Sigma is (proved by exact elimination), so D > 0, and
the set is {P >= 0} with P = c (D² + k W²) - N D, k = s2² (q + c) / (4 q²), of degree 4 q, or without correction P =
c D - N, which is det(c V - g g') / c^{q-1}. Signs of P at rational points between its isolated roots give the pieces.

>>> import numpy as np
>>> from dpbounds.iv.confidence import MomentRelease
>>> release = MomentRelease(first=np.array([30.0, 25.0]), second=40.0 * np.eye(2), first_scale=2.0, second_scale=0.0,
...                         n=100, outcome_weight=1.0, regressor_weights=np.ones(1), adjacency="zero-out")
>>> ((low, high),) = certified_pieces(release, 0.95, correct=False)
>>> round(low, 4), low.certified, round(high, 4)
(0.5949, True, 2.6947)
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.iv.confidence.anderson_rubin import chi_square_quantile
from dpbounds.iv.confidence.pieces import Piece
from dpbounds.values import Value

if TYPE_CHECKING:
    from dpbounds.iv.confidence.release import Release

# Bits to which roots are enclosed, and how often that is doubled until the enclosures are disjoint.
_BITS, _DOUBLINGS = 80, 6
# Beyond, the polynomial's degree 4 q makes exact arithmetic slow.
MOST_INSTRUMENTS = 12


def certified_pieces(release: Release, level: float, correct: bool) -> tuple[Piece, ...]:
    """The pieces, their ends with enclosures. Raises `DomainError` for q > 12 and for a Sigma that is not proved to be
    positive definite.
    """
    if release.q > MOST_INSTRUMENTS:
        raise DomainError("q", release.q, f"at most {MOST_INSTRUMENTS} for a certified set", "leave certify out")
    polynomial = test_polynomial(release, level, correct)
    ratio = exact(release.outcome_weight) / exact(float(release.regressor_weights[0]))
    return pieces_of(polynomial, ratio)


def test_polynomial(release: Release, level: float, correct: bool) -> Any:
    """P (flint fmpq_poly in theta), at least 0 exactly where the test does not reject."""
    q = release.q
    sigma = exact_covariance(release)
    require_positive(sigma)
    blocks = [[block(sigma, i, j, q) for j in range(2)] for i in range(2)]
    D, N, W = determinants(blocks, [[exact(entry) for entry in row] for row in release.moments.tolist()])
    c = exact(chi_square_quantile(q, level))
    if not (correct and release.variance_scale):
        return c * D - N
    k = exact(release.variance_scale) ** 2 * (q + c) / (4 * q * q)
    return c * (D * D + k * W * W) - N * D


def determinants(blocks: list[list[Any]], moments: list[list[Any]]) -> tuple[Any, Any, Any]:
    """D, N and W as polynomials in theta, for rational blocks of Sigma (2 by 2) and moments (y, x)."""
    from flint import fmpq, fmpq_mat

    q = len(moments[0])
    crossed = blocks[0][1] + blocks[1][0]
    nodes, volumes, numerators, traces = range(-q, q + 1), [], [], []
    for theta in nodes:
        V = blocks[0][0] - crossed * fmpq(theta) + blocks[1][1] * fmpq(theta * theta)
        g = fmpq_mat(q, 1, [y - theta * x for y, x in zip(*moments, strict=True)])
        volume, inverse = V.det(), V.inv()
        volumes.append(volume)
        numerators.append((g.transpose() * inverse * g)[0, 0] * volume)
        trace = sum((inverse[k, k] for k in range(q)), fmpq(0))
        traces.append(trace * volume * (1 + theta * theta))
    return interpolated(nodes, volumes), interpolated(nodes, numerators), interpolated(nodes, traces)


def exact_covariance(release: Release) -> Any:
    """Sigma as a rational matrix: the float signal plus the exact square of the float s1."""
    from flint import fmpq, fmpq_mat

    size, noise = len(release.signal), exact(release.mean_scale) ** 2
    entries = [exact(entry) for entry in release.signal.ravel().tolist()]
    identity = fmpq_mat(size, size, [fmpq(int(i == j)) for i in range(size) for j in range(size)])
    return fmpq_mat(size, size, entries) + identity * noise


def pieces_of(polynomial: Any, ratio: Any) -> tuple[Piece, ...]:
    """{theta: P >= 0} times the rational `ratio`."""
    if polynomial.is_zero():
        return ((infinite(-1), infinite(1)),)
    roots = isolated_roots(polynomial)
    inside = [polynomial(point) > 0 for point in between(roots)]
    ends = [enclosed(root * _ball(ratio)) for root in roots]
    pieces: list[Piece] = []
    start: float | None = infinite(-1) if inside[0] else None
    for index, end in enumerate(ends):
        before, after = inside[index], inside[index + 1]
        if before and not after:
            pieces.append((end if start is None else start, end))
            start = None
        elif after and not before:
            start = end
        elif not before and not after:
            pieces.append((end, end))  # P only touches 0: the test is at its critical value there and nowhere near
    if start is not None:
        pieces.append((start, infinite(1)))
    return tuple(pieces)


def isolated_roots(polynomial: Any) -> list[Any]:
    """Real roots as disjoint balls in order, each once. Arb isolates all roots and tells real ones for certain."""
    import flint

    integral = polynomial.numer()
    before = flint.ctx.prec
    try:
        for doubling in range(_DOUBLINGS):
            flint.ctx.prec = _BITS * 2**doubling
            roots = [root.real for root, _ in integral.complex_roots() if root.imag.is_zero()]
            roots.sort(key=lambda ball: _rational(ball.mid()))
            if all(left < right for left, right in pairwise(roots)):
                return roots
    finally:
        flint.ctx.prec = before
    raise AccuracyError(f"roots of the test's polynomial: not apart to {_BITS * 2 ** (_DOUBLINGS - 1)} bits")


def between(roots: list[Any]) -> list[Any]:
    """A rational point in each gap between the roots, and beyond them."""
    from flint import fmpq

    if not roots:
        return [fmpq(0)]
    # Middles and radii are exact; `lower` and `upper` round to the precision at hand, across a root that is near.
    lows, highs = ([_rational(b.mid()) + sign * _rational(b.rad()) for b in roots] for sign in (-1, 1))
    inner = [(high + low) / 2 for high, low in zip(highs, lows[1:], strict=False)]
    return [lows[0] - 1, *inner, highs[-1] + 1]


def interpolated(nodes: range, values: list[Any]) -> Any:
    """The polynomial through these points (Newton's divided differences)."""
    from flint import fmpq, fmpq_poly

    nodes_, differences = list(nodes), list(values)
    for step in range(1, len(nodes_)):
        for index in range(len(nodes_) - 1, step - 1, -1):
            gap = fmpq(nodes_[index] - nodes_[index - step])
            differences[index] = (differences[index] - differences[index - 1]) / gap
    total = fmpq_poly([differences[-1]])
    for index in range(len(nodes_) - 2, -1, -1):
        total = total * fmpq_poly([-nodes_[index], 1]) + differences[index]
    return total


def require_positive(sigma: Any) -> None:
    """Positive definite, by exact Gaussian elimination. Raises `DomainError` where a pivot is not above 0."""
    rows, size = sigma.tolist(), sigma.nrows()
    for k in range(size):
        pivot = rows[k][k]
        if not pivot > 0:
            raise DomainError(
                "covariance of the release", f"a matrix with pivot {float(_ball(pivot)):.3g}", "positive definite"
            )
        for i in range(k + 1, size):
            factor = rows[i][k] / pivot
            rows[i] = [entry - factor * above for entry, above in zip(rows[i], rows[k], strict=True)]


def block(sigma: Any, i: int, j: int, q: int) -> Any:
    """The q by q block of Sigma for variables i and j."""
    from flint import fmpq_mat

    return fmpq_mat(q, q, [sigma[i * q + row, j * q + column] for row in range(q) for column in range(q)])


def _rational(point: Any) -> Any:
    """An exact ball as a rational."""
    from flint import fmpq

    mantissa, exponent = point.man_exp()
    return fmpq(mantissa) * fmpq(2) ** int(exponent)


def _ball(rational: Any) -> Any:
    import flint

    return flint.arb(rational)


def enclosed(ball: Any) -> Value:
    """The float nearest to the middle, and floats that enclose the ball."""
    low, high = _rational(ball.lower()), _rational(ball.upper())
    below, above = float(Fraction(int(low.p), int(low.q))), float(Fraction(int(high.p), int(high.q)))
    below, above = math.nextafter(below, -math.inf), math.nextafter(above, math.inf)
    return Value(float(ball.mid()), kind="exact", source="dpbounds", enclosure=(below, above))


def infinite(sign: int) -> Value:
    """-inf or inf as an end."""
    end = sign * math.inf
    return Value(end, kind="exact", source="dpbounds", enclosure=(end, end))
