"""Certified and plain confidence sets against opponents' releases, with an oracle over the rationals or mpmath."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy.special import chdtri

from dpbounds import DomainError
from dpbounds.iv.confidence import (
    BlockRelease,
    MomentRelease,
    anderson_rubin,
    anderson_rubin_curve,
    confidence_set,
    first_stage,
    point_estimate,
    positive_part,
    projection,
)
from dpbounds.iv.confidence.pieces import shape_of


def release(first, second, s1, s2, weights=(1.0, 1.0), n=100):
    return MomentRelease(
        first=np.array(first, dtype=float),
        second=np.array(second, dtype=float),
        first_scale=s1,
        second_scale=s2,
        outcome_weight=weights[0],
        regressor_weights=np.array([weights[1]]),
        n=n,
        adjacency="zero-out",
    )


def hostile(seed: int, q: int) -> MomentRelease:
    """Scales over 16 orders of magnitude, little rank, indefinite T2, sets that nearly vanish or fill the line."""
    rng = np.random.default_rng(seed)
    d = 2 * q
    rank = int(rng.integers(1, d + 1))
    factor = rng.standard_normal((d, rank)) * 10 ** rng.uniform(-3, 3, (d, 1) if seed % 3 else (1, 1))
    T2 = factor @ factor.T
    if seed % 2:
        wild = rng.standard_normal((d, d)) * np.sqrt(np.abs(np.diag(T2)).max()) * 0.3
        T2 = T2 + (wild + wild.T) / 2
    s1 = 10 ** rng.uniform(-4, 2) * (1 + math.sqrt(np.abs(T2).max()))
    T1 = rng.standard_normal(d) * np.sqrt(np.abs(np.diag(T2)) + s1**2) * 10 ** rng.uniform(-1, 1)
    weights = tuple(10 ** rng.uniform(-6, 6, 2))
    return release(T1, T2, s1, s1 * 10 ** rng.uniform(-2, 0.5) if seed % 5 else 0.0, weights)


def rejects(made: MomentRelease, beta: Fraction, correct: bool) -> bool:
    """AR > c' over the rationals: T2⁺, s1, s2, weights and c_q as floats hold them."""
    q = made.q
    theta = beta * Fraction(float(made.regressor_weights[0])) / Fraction(float(made.outcome_weight))
    T1 = [Fraction(float(entry)) for entry in made.first]
    S = [[Fraction(float(entry)) for entry in row] for row in made.signal]
    b = (1, -theta)
    V = [[Fraction(0)] * q for _ in range(q)]
    for k in range(q):
        for m in range(q):
            V[k][m] = sum((b[i] * b[j] * S[i * q + k][j * q + m] for i in (0, 1) for j in (0, 1)), Fraction(0))
        V[k][k] += Fraction(made.first_scale) ** 2 * (1 + theta**2)
    g = [T1[k] - theta * T1[q + k] for k in range(q)]
    rows = [V[k] + [g[k]] + [Fraction(int(k == m)) for m in range(q)] for k in range(q)]
    for k in range(q):
        rows[k] = [entry / rows[k][k] for entry in rows[k]]
        for i in set(range(q)) - {k}:
            rows[i] = [entry - rows[i][k] * other for entry, other in zip(rows[i], rows[k], strict=True)]
    statistic = sum(g[k] * rows[k][q] for k in range(q))
    tau = Fraction(made.second_scale) * (1 + theta**2) * sum(rows[k][q + 1 + k] for k in range(q)) / q
    c = Fraction(float(chdtri(q, 1 - 0.95)))
    return statistic > (c * (1 + tau**2 * (q + c) / 4) if correct else c)


def probes(pieces, made) -> list[Fraction]:
    """Just off each end's enclosure, between and beyond the pieces, and a grid in the release's own scale."""
    ends = [end for piece in pieces for end in piece if math.isfinite(end)]
    near = []
    for end in ends:
        low, high = end.enclosure
        gap = Fraction(max(abs(low), abs(high))) / 10**12
        near += [Fraction(low) - gap, Fraction(high) + gap]
    scale = made.outcome_weight / float(made.regressor_weights[0])
    centre = math.sqrt(made.covariance[0, 0] / made.covariance[made.q, made.q]) * scale
    return near + [Fraction(float(centre * math.tan(angle))) for angle in np.linspace(-1.56, 1.56, 33)]


@pytest.mark.parametrize("q", [1, 2, 3])
def test_a_certified_set_is_never_wrong_on_hostile_releases(q):
    tried = 0
    for seed in range(18):
        made = hostile(100 * q + seed, q)
        try:
            made.covariance  # noqa: B018
        except DomainError:
            continue
        for correct in (True, False):
            found = confidence_set(made, correct=correct, certify=True)
            assert found.certified
            assert all(low <= high for low, high in found.pieces)
            for beta in probes(found.pieces, made):
                assert (float(beta) in found) != rejects(made, beta, correct), (seed, correct, float(beta))
            tried += 1
    assert tried > 20


def test_plain_sets_agree_with_certified_ones_on_hostile_releases():
    agreed = 0
    for seed in range(60):
        q = 1 + seed % 4
        made = hostile(seed, q)
        try:
            made.covariance  # noqa: B018
        except DomainError:
            continue
        certified, plain = confidence_set(made, certify=True), confidence_set(made)
        assert plain.shape == certified.shape
        scale = made.outcome_weight / float(made.regressor_weights[0])
        size = math.sqrt(made.covariance[0, 0] / made.covariance[q, q]) * scale
        ends = [np.arctan(np.array(which.pieces) / size) for which in (plain, certified)]
        np.testing.assert_allclose(*ends, atol=1e-5)
        agreed += 1
    assert agreed > 40


NEARLY_DOUBLE = [(-1e-9, "interval"), (1e-9, "empty"), (-1e-13, "interval"), (1e-13, "empty")]


def doubled(gap: float) -> MomentRelease:
    """With Sigma = I the least AR is the least eigenvalue of a 2 x 2 matrix, here c + gap."""
    c = float(chdtri(2, 1 - 0.95))
    return release([0.0, math.sqrt(c + gap), 9.0, 0.0], np.eye(4) * 0.75, 0.5, 0.0)


@pytest.mark.parametrize(("gap", "shape"), NEARLY_DOUBLE)
def test_nearly_double_roots_are_told_apart(gap, shape):
    found = confidence_set(doubled(gap), correct=False, certify=True)
    assert found.shape == shape
    if shape == "interval":
        ((low, high),) = found.pieces
        # AR(theta) = (c + gap + 81 theta²) / (1 + theta²) near 0.
        assert high == pytest.approx(math.sqrt(-gap / (81 - 5.99)), rel=0.05)
        assert low == pytest.approx(-high, rel=1e-6)


def test_a_double_root_is_a_single_point():
    """P = -(theta - 1)² (theta² + 1) leaves one point; P = (theta - 1)² the whole line; P = 1 - theta a half-line."""
    from flint import fmpq, fmpq_poly

    from dpbounds.iv.confidence.certified import pieces_of

    square, plus = fmpq_poly([1, -2, 1]), fmpq_poly([1, 0, 1])
    ((low, high),) = pieces_of(-square * plus, fmpq(2))
    assert low == high == 2.0
    assert [tuple(map(float, piece)) for piece in pieces_of(square, fmpq(1))] == [(-math.inf, math.inf)]
    ((low, high),) = pieces_of(fmpq_poly([1, -1]), fmpq(1))
    assert (float(low), float(high)) == (-math.inf, 1.0)
    assert pieces_of(fmpq_poly([-1]), fmpq(1)) == ()
    assert len(pieces_of(fmpq_poly([0]), fmpq(1))) == 1


def test_the_number_of_ends_is_that_of_sturm():
    for seed in range(8):
        made = hostile(300 + 3 * seed, 2)
        try:
            found = confidence_set(made, certify=True)
        except DomainError:
            continue
        from dpbounds.iv.confidence.certified import test_polynomial

        polynomial = test_polynomial(made, 0.95, True)
        coefficients = [Fraction(int(entry.p), int(entry.q)) for entry in polynomial.coeffs()]
        ends = sum(math.isfinite(end) for piece in found.pieces for end in piece)
        assert ends == sturm(coefficients)


def sturm(coefficients: list[Fraction]) -> int:
    """Distinct real roots of a polynomial, by sign changes of its Sturm sequence at both infinities."""
    chain = [coefficients, [k * a for k, a in enumerate(coefficients)][1:]]
    while len(chain[-1]) > 1:
        rest = list(chain[-2])
        while len(rest) >= len(chain[-1]):
            factor, shift = rest[-1] / chain[-1][-1], len(rest) - len(chain[-1])
            for k, a in enumerate(chain[-1]):
                rest[shift + k] -= factor * a
            rest.pop()
        while rest and rest[-1] == 0:
            rest.pop()
        if not rest:
            break
        chain.append([-a for a in rest])
    changes = []
    for side in (-1, 1):
        signs = [math.copysign(1, part[-1]) * side ** (len(part) - 1) for part in chain]
        changes.append(sum(a != b for a, b in itertools.pairwise(signs)))
    return changes[0] - changes[1]


def test_the_statistic_at_fifty_digits():
    made = hostile(7, 3)
    with mpmath.workdps(50):
        for beta in (0.3, -2.5):
            theta = mpmath.mpf(beta) * float(made.regressor_weights[0]) / made.outcome_weight
            B = mpmath.zeros(6, 3)
            for k in range(3):
                B[k, k], B[3 + k, k] = 1, -theta
            sigma = mpmath.matrix(made.signal.tolist()) + mpmath.mpf(made.first_scale) ** 2 * mpmath.eye(6)
            V, g = B.T * sigma * B, B.T * mpmath.matrix(made.first.tolist())
            expected = (g.T * mpmath.lu_solve(V, g))[0]
            assert anderson_rubin(made, [beta]).statistic == pytest.approx(float(expected), rel=1e-7)


def test_invariances():
    """Units of y and x, order and rotation of instruments, permuted signs: the set moves with the coefficient only."""
    made = hostile(22, 3)
    rng = np.random.default_rng(0)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    R = np.kron(np.eye(2), rotation)
    turned = release(R @ made.first, R @ made.second @ R.T, made.first_scale, made.second_scale, (1.0, 1.0))
    plain = release(made.first, made.second, made.first_scale, made.second_scale, (1.0, 1.0))
    flip = np.repeat([1.0, -1.0], 3)
    mirrored = release(flip * made.first, made.second * np.outer(flip, flip), made.first_scale, made.second_scale)
    one, other, third = (np.array(confidence_set(which, certify=True).pieces) for which in (plain, turned, mirrored))
    np.testing.assert_allclose(np.arctan(one), np.arctan(other), atol=1e-8)
    np.testing.assert_allclose(np.arctan(one), -np.arctan(third)[::-1, ::-1], atol=1e-8)


def test_positive_part_is_the_nearest_one():
    made = hostile(1, 2).second
    projected = positive_part(made)
    values, vectors = np.linalg.eigh(made)
    assert values[0] < 0
    expected = sum(max(value, 0) * np.outer(vector, vector) for value, vector in zip(values, vectors.T, strict=True))
    np.testing.assert_allclose(projected, expected, atol=1e-12 * values[-1])
    good = np.diag([1.0, 2.0])
    assert positive_part(good) is good


def test_shapes_by_name():
    inf = math.inf
    names = {(): "empty", ((1, 2),): "interval", ((-inf, inf),): "line", ((-inf, 1), (2, inf)): "complement"}
    names |= {((1, 2), (3, 4)): "pieces", ((-inf, 1),): "pieces", ((-inf, 1), (2, 3), (4, inf)): "pieces"}
    for pieces, name in names.items():
        assert shape_of(pieces) == name


def test_a_line_when_nothing_is_released():
    """Noise alone: zero moments are never rejected."""
    made = release(np.zeros(4), np.zeros((4, 4)), 3.0, 2.0)
    for certify in (True, False):
        assert confidence_set(made, certify=certify).shape == "line"
    assert not first_stage(made).bounded


def test_two_regressors_jointly():
    rng = np.random.default_rng(4)
    U = rng.standard_normal((300, 9)) / 3
    made = MomentRelease(
        first=U.sum(axis=0) + 5,
        second=U.T @ U,
        first_scale=1.0,
        second_scale=1.0,
        outcome_weight=2.0,
        regressor_weights=np.array([1.0, 3.0]),
        n=300,
        adjacency="replace-one",
    )
    curve = anderson_rubin_curve(made, rng.standard_normal((5, 2)))
    assert curve.statistic.shape == (5,)
    for call in (confidence_set, point_estimate):
        with pytest.raises(DomainError, match=r"p = 2"):
            call(made)


def two_regressors(q: int, seed: int, strength: float) -> MomentRelease:
    """Moments of y = x_1 - x_2 / 2 up to noise, first stages of this strength."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((200, 3 * q)) / 3
    x = strength * rng.standard_normal((2, q))
    y = x[0] - 0.5 * x[1] + 3 * rng.standard_normal(q)
    return MomentRelease(
        first=np.concatenate([y, *x]),
        second=U.T @ U,
        first_scale=1.0,
        second_scale=0.5,
        outcome_weight=2.0,
        regressor_weights=np.array([1.0, 0.7]),
        n=200,
        adjacency="replace-one",
    )


@pytest.mark.parametrize(("q", "seed"), [(2, 0), (2, 1), (2, 3), (3, 5), (4, 6)])
def test_projections_by_brute_force(q, seed):
    """For coefficients off the ends: the least statistic over a fine grid of the other one, refined, against c."""
    c = float(chdtri(q, 1 - 0.95))
    for strength in (60.0, 14.0):
        made = two_regressors(q, seed, strength)
        regressor = seed % 2
        found = projection(made, regressor)
        assert found.certified
        ends = [end for piece in found.pieces for end in piece if math.isfinite(end)]
        looked = np.tan(np.linspace(-1.5, 1.5, 31)).tolist() + [end + sign * 1e-3 for end in ends for sign in (-1, 1)]
        for coefficient in looked:
            centre, width = 0.0, math.pi / 2
            for _ in range(4):  # ever closer to the best angle
                angles = centre + width * np.linspace(-1, 1, 401)
                others = np.tan(np.clip(angles, -math.pi / 2 + 1e-9, math.pi / 2 - 1e-9))
                pairs = np.column_stack([np.full(401, coefficient), others])[:, [regressor, 1 - regressor]]
                statistics = anderson_rubin_curve(made, pairs, correct=False).statistic
                centre, width = angles[int(np.argmin(statistics))], width / 100
            assert (coefficient in found) == (statistics.min() <= c)


def test_projections_refuse():
    with pytest.raises(DomainError, match="p = 1"):
        projection(MomentRelease(**GOOD))
    with pytest.raises(DomainError, match="regressor = 2"):
        projection(two_regressors(2, 1, 5.0), 2)
    with pytest.raises(DomainError, match="q = 5"):
        projection(two_regressors(5, 1, 5.0))


GOOD = {"first": np.ones(4), "second": np.eye(4), "first_scale": 1.0, "second_scale": 1.0, "outcome_weight": 1.0}
GOOD |= {"regressor_weights": np.ones(1), "n": 10, "adjacency": "zero-out"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"first": np.ones(5), "second": np.eye(5)}, "first"),
        ({"first": np.ones(2), "second": np.eye(2), "regressor_weights": np.ones(1), "n": 0}, "n = 0"),
        ({"first": np.ones(3), "second": np.eye(3), "regressor_weights": np.ones(2)}, "q = 1"),
        ({"second": np.triu(np.ones((4, 4)))}, "symmetric"),
        ({"first": np.array([1.0, math.nan, 1, 1])}, "first"),
        ({"first_scale": -1.0}, "first_scale"),
        ({"second_scale": math.inf}, "second_scale"),
        ({"outcome_weight": 0.0}, "outcome_weight"),
        ({"regressor_weights": np.zeros(1)}, "regressor_weights"),
        ({"adjacency": "add-remove"}, "adjacency"),
    ],
)
def test_what_a_release_refuses(changes, message):
    with pytest.raises(DomainError, match=message):
        MomentRelease(**(GOOD | changes))


def test_what_sets_refuse():
    made = MomentRelease(**GOOD)
    singular = MomentRelease(**(GOOD | {"second": np.zeros((4, 4)), "first_scale": 0.0}))
    for call in (lambda: confidence_set(singular), lambda: anderson_rubin(singular, [1.0])):
        with pytest.raises(DomainError, match="covariance"):
            call()
    for bad in ([1.0, 2.0], [math.nan], []):
        with pytest.raises(DomainError):
            anderson_rubin(made, bad)
    for keywords in ({"level": 0.0}, {"level": 1.0}, {"level": math.nan}, {"certify": True, "honest": True}):
        with pytest.raises(DomainError):
            confidence_set(made, **keywords)
    with pytest.raises(DomainError, match="q = 2"):
        confidence_set(made, honest=True)
    with pytest.raises(DomainError, match="regressor"):
        first_stage(made, 1)


def test_a_block_release_refuses_and_certifies():
    blocks = {"instruments": 50 * np.eye(2), "cross": np.array([[9.0, 8.0], [1.0, 3.0]]), "variables": 40 * np.eye(2)}
    blocks |= {"instrument_scale": 2.0, "cross_scale": 1.0, "variable_scale": 2.0, "outcome_weight": 1.0}
    blocks |= {"regressor_weights": np.ones(1), "n": 100, "adjacency": "replace-one"}
    made = BlockRelease(**blocks)
    plain, certified = confidence_set(made), confidence_set(made, certify=True)
    np.testing.assert_allclose(np.arctan(plain.pieces), np.arctan(certified.pieces), atol=1e-9)
    skewed = np.array([[1.0, 0.5], [0.0, 1.0]])
    for changes in (
        {"instruments": skewed},
        {"variables": skewed},
        {"cross_scale": -1.0},
        {"regressor_weights": np.ones(2)},
    ):
        with pytest.raises(DomainError):
            BlockRelease(**(blocks | changes))
    with pytest.raises(DomainError, match="MomentRelease"):
        confidence_set(made, honest=True)
