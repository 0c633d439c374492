"""Beyond the paper: parts of certificates in floats: the denominator's cosines, psi at nodes, margins of rounding."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any
from unittest import mock

import flint
import mpmath
import numpy as np

from dpbounds import AccuracyError
from dpbounds.circle import floats as circle_floats
from dpbounds.circle.arcs import Cells, Powers, corner
from dpbounds.circle.discs import UNIT, Discs
from dpbounds.elliptic import balls as elliptic
from dpbounds.elliptic import digits
from dpbounds.ftrl import correlations
from dpbounds.ftrl.strongly_convex import Noise, Program, ProgramName, floats
from dpbounds.ftrl.strongly_convex.floats import GROWTH, REACH, Ratio, _distance, _power_of, _term_by_term, integrals
from verify.checks import Agreement, Fact, Holds, Times, Within, refused, taken
from verify.papers.ftrl.beyond.enclosed_bounds import BITS, OURS, _psi
from verify.papers.ftrl.beyond.enclosed_discs import beyond_points
from verify.papers.ftrl.beyond.enclosed_formulas import circles, formulas, polynomials
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}
Laurent = dict[int, Fraction]
# Multipliers that are not symmetric: lambda_0 - sum, then forward, then backward.
MULTIPLIERS: dict[int, tuple[float, ...]] = {
    1: (0.37, 0.11, 0.29),
    3: (0.013, 0.31, 0.0, 0.07, 0.023, 0.17, 0.41),
}
PROGRAMS: tuple[tuple[ProgramName, float, float, float], ...] = (
    ("f", 0.3, 1.7, 0.45),
    ("theta", 0.9, 1.3, 1.1),
    ("f", 1.2, 1.5, 1.3),
    ("paper", 0.2, 1.1, 0.7),
)


# --- the denominator ---


def _times(first: Laurent, second: Laurent) -> Laurent:
    found: Laurent = {}
    for (i, x), (j, y) in ((one, other) for one in first.items() for other in second.items()):
        found[i + j] = found.get(i + j, Fraction(0)) + x * y
    return found


def _plus(*parts: Laurent) -> Laurent:
    return {k: sum((part.get(k, Fraction(0)) for part in parts), Fraction(0)) for part in parts for k in part}


def _cosines(part: Laurent, last: int) -> list[Fraction]:
    """Of the real part on the circle."""
    pairs = [part.get(k, Fraction(0)) + part.get(-k, Fraction(0)) for k in range(last + 1)]
    return [part.get(0, Fraction(0)), *pairs[1:]]


def _even(sizes: Sequence[Fraction]) -> Laurent:
    """sum_t a_t cos(t omega)."""
    return _plus({0: sizes[0]}, *({t: a / 2, -t: a / 2} for t, a in enumerate(sizes) if t))


def _denominators(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """D = 2 Re[c conj(u) v] - a |u|^2 - b |v|^2 multiplied out in fractions, and what is said of its rounding."""
    for (name, *constants), (lags, multipliers) in ((p, m) for p in PROGRAMS for m in MULTIPLIERS.items()):
        program = Program(name=name, mu=constants[0], L=constants[1], eta=constants[2])
        found, label = Ratio(program, np.array(multipliers)).harmonics, f"{name}, mu = {constants[0]:g}, {lags} lags"
        mu, L, eta = map(Fraction, constants)
        a, b, sign = L / 2, mu / 2 if name == "f" else L / 2, 1 if name == "paper" else -1
        margin, *others = map(Fraction, multipliers)
        c: Laurent = {0: a + margin + sum(others)}
        c |= {t: sign * others[t - 1] for t in range(1, lags + 1)}
        c |= {-t: sign * others[lags + t - 1] for t in range(1, lags + 1)}
        u, u_, v, v_ = ({0: 1 - eta * h, way: Fraction(-1)} for h in (mu, L) for way in (1, -1))
        product, squares = _times(_times(c, u_), v), ((-a, _times(u, u_)), (-b, _times(v, v_)))
        D = _plus(product, product, *(_times({0: x}, square) for x, square in squares))
        exact = _cosines(D, lags + 1)
        off = [abs(Fraction(x) - y) for x, y in zip(found.coefficients.tolist(), exact, strict=True)]
        shares = [float(x / Fraction(y)) for x, y in zip(off, found.errors.tolist(), strict=True)]
        yield Within(f"{label}: error over what is said of it", max(shares), least=0.0, most=1.0)
        # sizes of the terms, each taken as positive, and of the constants behind them
        sums = [x + y for x, y in zip(others[:lags], others[lags:], strict=True)]
        turned = [Fraction(0), *(abs(x - y) for x, y in zip(others[:lags], others[lags:], strict=True))]
        real, bend, slope = [margin + sum(sums), *sums], 2 - eta * (mu + L), abs(2 * (a - b) * (1 - eta * L))
        P = _even([abs(bend + eta * eta * mu * L) + abs(bend), abs(bend)])
        pair = (
            _times({0: Fraction(2)}, _times(_even(real), P)),
            _times(_even(turned), {1: 1 * eta * (L - mu), -1: eta * (L - mu)}),
        )
        sizes = _cosines(_plus(*pair, {0: slope, 1: slope}), lags + 1)
        whole = 8 * (sum(real) + sum(turned) + L)
        stated = [float((40 + lags) * Fraction(UNIT) * (size + whole)) for size in sizes]
        yield Fact(f"{label}: what is said of the errors", found.errors, stated)


# --- psi at nodes ---


def _nodes(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within]:
    """psi at Gauss nodes next to 0, between and next to pi, small and large eta mu: held, and to how many digits."""
    settings: tuple[tuple[ProgramName, float, float, float], ...] = (
        ("f", 1e-7, 1.0, 0.6),
        ("theta", 0.2, 1.0, 0.7),
        ("f", 1.9, 1.9999999, 1.0),
        ("theta", 0.9, 1.5, 1.2),
    )
    for name, mu, L, eta in settings:
        program = Program(name=name, mu=mu, L=L, eta=eta)
        multipliers = [3.0 * L, 0.1 * L, 0.0, 0.3 * L, 0.05 * L]
        cells = Cells(np.array([-25.0, -9.0, 0.1875, 9.0, 15.0]), np.zeros(5, dtype=int), 2)
        found, chosen = Ratio(program, np.array(multipliers)).at(cells.nodes), np.arange(3, 100, 20)
        per = len(cells.weights) // 5
        with flint.ctx.workprec(BITS):
            nodes = [flint.arb.legendre_p_root(per, k, weight=True)[0] for k in range(per)]
            ys = [
                flint.arb(float(cells.middle[k // per])) + float(cells.half[k // per]) * nodes[k % per] for k in chosen
            ]
            truth = [_psi(program, multipliers, flint.acb(2 * y.exp().atan())) for y in ys]
            disc = Discs(found.centre[chosen], found.radius[chosen] * share)
            beyond = beyond_points(disc, truth)
        label = f"{name}, mu = {mu:g}, eta L = {eta * L:g}"
        yield Within(f"{label}: radius over error, less 1, least", min(beyond), least=0.0)
        yield Within(f"{label}: relative radius", float(np.max(found.radius / np.abs(found.centre))), most=1e-12)


def _integrals(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Means over the circle against sums over 4096 frequencies; which noises and how many lags have none in floats."""
    w = np.exp(2j * math.pi * (np.arange(4096) + 0.5) / 4096)
    half = correlations.HalfPowers((0.6,), (0.3,))
    cases: tuple[tuple[ProgramName, correlations.ToeplitzCorrelation, Any, float, tuple[float, ...], float], ...] = (
        ("f", correlations.nu(0.3), abs(1 - 0.7 * w), 0.5, (0.37, 0.11, 0.29), 0.8),
        ("theta", half, abs((1 - 0.6 * w) / (1 - 0.3 * w)), 0.0, (2.9, 0.2, 0.07, 0.1, 0.3), 1.9),
        ("f", correlations.damped_anti_pgd(0.4), abs(1 - 0.6 * w) ** 2, 0.3, (1.1,), 1.3),
    )
    for name, correlation, power, sigma, multipliers, h in cases:
        program = Program(name=name, mu=0.7, L=2.0, eta=0.8)
        noise, lags = Noise(correlation=correlation, rho=0.5, sigma_sgd=sigma), len(multipliers) // 2
        found = integrals(noise, program, h, np.array(multipliers))
        assert found is not None
        u, v, c = 1 - w - 0.8 * 0.7, 1 - w - 0.8 * 2.0, 1.0 + multipliers[0] + 0 * w
        for t in range(1, lags + 1):
            c = c + multipliers[t] * (1 - w**t) + multipliers[lags + t] * (1 - w**-t)
        b = 0.35 if name == "f" else 1.0
        psi = (abs(c) ** 2 - b) / (2 * (c * u.conj() * v).real - abs(u) ** 2 - b * abs(v) ** 2)
        spectra = [power, 1 + 0 * power] if sigma else [power]
        stated = [[np.mean(x * y) for x in spectra] for y in (1 + 0 * power, 1 / abs(1 - 0.8 * h - w) ** 2, psi)]
        rows, inverse = [[float(ball.mid()) for ball in row] for row in found[0]], found[1]
        yield Fact(f"{name}, {correlation.name}: means", rows, stated, 1e-10)
        yield Fact(f"{name}, {correlation.name}: of the inverse", float(inverse.mid()), np.mean(1 / power), 1e-10)
        widest = max(float(ball.rad() / ball.mid()) for row in (*found[0], [inverse]) for ball in row)
        yield Within(f"{name}, {correlation.name}: relative radius", widest, least=1e-16, most=1e-10)
    program, white = Program(name="f", mu=0.7, L=2.0, eta=0.8), correlations.nu(0.9)
    wide = correlations.HalfPowers((0.1,) * 102), correlations.HalfPowers((0.1,) * 103)
    asked: list[tuple[int, int]] = []
    with mock.patch.object(floats, "means", side_effect=lambda values, lags, degree: asked.append((lags, degree))):
        for zeros, lags in ((1, 1), (9, 1), (1, 7), (50, 29)):
            noise = Noise(correlation=correlations.HalfPowers((0.1,) * zeros), rho=0.5)
            integrals(noise, program, 1.0, np.r_[2.0, np.zeros(2 * lags)])
    # two lags more than the multipliers, in D too, and what is next above that; polynomials in s by twice that
    yield Holds("lags and degrees of means", asked == [(4, 6), (4, 9), (12, 18), (32, 62)])
    for label, correlation, lags, known in (
        ("100 lags", white, 100, True),
        ("101 lags", white, 101, False),
        ("102 zeros", wide[0], 1, True),
        ("103 zeros", wide[1], 1, False),
        ("two weights", correlations.from_coefficients((1.0, -0.5)), 1, False),
    ):
        multipliers = np.r_[2.0, np.zeros(2 * lags)]
        found = integrals(Noise(correlation=correlation, rho=0.5), program, 1.0, multipliers)
        yield Holds(f"{label}: means in floats {'are' if known else 'are not'} given", (found is not None) == known)


def _on_rims(rng: np.random.Generator, share: float = 1.0) -> Iterator[Within | Holds]:
    """Sums of sines and of cosines, squared distances and |B|^2 on discs, against 48 points of each rim."""
    turns = np.exp(2j * math.pi * np.arange(48) / 48)
    for y, x in ((-20.0, 1e-9), (16.0, 2 - 1e-9)):
        nodes = _distance(Discs(x), Cells(np.array([y]), np.zeros(1, dtype=int), 1).nodes)
        digits = float(np.max(nodes.radius / nodes.centre))
        yield Within(f"squared distance from {x:g} at y = {y:g}: relative radius", digits, most=1e-14)
    yield Within("growth of sums over the largest cosh", GROWTH / math.cosh(REACH), 1.0, 1.004)
    for level in (1, 3, 6):
        points = Cells(np.array([-6.0, -1.5, 0.1875, 2.0]), np.full(4, level), 4).discs
        omega, r = 2 * np.arctan(np.exp([-6.0, -1.5, 0.1875, 2.0])), points.radius
        rims = omega[:, None] + r[:, None] * turns
        for lags in (1, 4, 16):
            sizes, t = np.array([0.7, 0.2, 1.1, 0.9] * 4)[:lags], np.arange(1, lags + 1)
            stated = share * _term_by_term(points, sizes)
            moved = [
                np.abs(trig(rims[..., None] * t) - trig(omega[:, None] * t)[:, None]).max(axis=1) @ sizes
                for trig in (np.sin, np.cos)
            ]
            formula = GROWTH * (sizes * t * r[:, None] * (1 + t * r[:, None] / 2)).sum(axis=1)
            for k in range(4):
                label = f"level {level}, place {k}, {lags} lags"
                if r[k] * lags <= REACH:
                    yield Within(f"{label}: stated over farthest", float(stated[k] / max(m[k] for m in moved)), 1.0)
                    yield Within(f"{label}: stated over its formula", float(stated[k] / formula[k]), 1.0, 1.0 + 2e-6)
                else:
                    yield Holds(f"{label}: nothing is stated", math.isinf(stated[k]))
        s = points.disc.centre[:, None] + points.disc.radius[:, None] * turns
        for x in (0.03, 0.9, 1.1, 1.98):
            yield from _held(
                f"squared distance from {x:g}, level {level}",
                _distance(Discs(x), points),
                x * x + 4 * (1 - x) * s,
                share,
            )
        made: Mapping[str, tuple[correlations.ToeplitzCorrelation, np.ndarray]] = {
            "one weight": (correlations.from_coefficients((0.7,)), 0.49 + 0 * s),
            "nu": (correlations.nu(0.2), np.sqrt(0.04 + 3.2 * s)),
            "damped anti-PGD": (correlations.damped_anti_pgd(0.2), 0.04 + 3.2 * s),
            "half powers": (correlations.HalfPowers((0.8,)), np.sqrt(0.04 + 3.2 * s)),
        }
        for label, (correlation, power) in made.items():
            power_of = _power_of(correlation)
            assert power_of is not None
            for told, disc, stated in zip(("", "inverse of "), power_of(points), (power, 1 / power), strict=True):
                most = 1.2 if label == "half powers" else 1 + 1e-6
                yield from _held(f"{told}|B|^2, {label}, level {level}", disc, stated, share, most)

    class Derived(correlations.NuCorrelation):
        """With a spectrum of its own, for all that is known."""

    for label, unknown in (
        ("two weights", correlations.from_coefficients((1.0, -0.5))),
        ("a derived class", Derived(0.2)),
    ):
        yield Holds(f"{label}: no discs of |B|^2", _power_of(unknown) is None)


def _held(label: str, disc: Discs, values: np.ndarray, share: float, most: float = 1 + 1e-6) -> Iterator[Within]:
    """In each disc that is known, whose rim is reached."""
    radius, off = np.broadcast_arrays(
        share * disc.radius, np.abs(values - np.asarray(disc.centre)[..., None]).max(axis=1)
    )
    known = np.isfinite(radius) & (off > 1e-12)
    if known.any():
        yield Within(f"{label}: radius over farthest, least", float((radius / off)[known].min()), least=1.0 - 1e-9)
        yield Within(f"{label}: most", float((radius / off)[known].max()), most=most)


# --- margins of rounding ---


def _margins(rng: np.random.Generator, less: float = 0.0) -> Iterator[Within]:
    """What is stated of errors is at or above its formula in fractions, by less than a part in 10^12."""
    n = 30
    t, first = np.arange(1, n + 1), np.array([1e-9, 0.03, 1.7])
    rows = 1e-15 * rng.random((3, n)) * np.array([1.0, 2.0, 5.0])[:, None]
    made = Powers(np.zeros((3, n)), np.zeros((3, n)), *rows)
    for lags in (7, n):
        sizes = rng.random(lags)
        a, rounding = [Fraction(x) for x in sizes.tolist()], Fraction((lags + 8) * UNIT)
        error, *shares = ([Fraction(x) for x in row[:lags].tolist()] for row in rows)
        for name, bound, twice, share, power in (
            ("sines", made.error_of_sines, 1, shares[0], 1),
            ("versines", made.error_of_versines, 2, shares[1], 2),
        ):
            absolute = sum((x * (e + twice * rounding) for x, e in zip(a, error, strict=True)), Fraction(0))
            relative = sum(
                (x * (e + rounding * int(k) ** power) for x, e, k in zip(a, share, t, strict=False)), Fraction(0)
            )
            for at, stated in zip(first.tolist(), bound(sizes, first).tolist(), strict=True):
                over = Fraction(stated) * (1 - Fraction(less)) / min(absolute, relative * Fraction(at)) - 1
                yield Within(f"error of {lags} {name} at {at:g} over its formula, less 1", float(over), 0.0, 1e-12)
    for name, bound in (("sines", made.error_of_sines), ("versines", made.error_of_versines)):
        yield Within(f"error of no {name}", float(bound(np.zeros(7), first).min()), least=1e-301, most=1e-290)
    cells = Cells(np.array([-3.0, 0.1875, 1.5]), np.array([1, 0, 2]), 1)
    values = Discs(rng.random(60), 1e-13 * rng.random(60))
    for which in (np.array([True, True, True]), np.array([False, True, True])):
        kept = np.flatnonzero(np.repeat(which, 20)).tolist()
        w, slip, x, r = (
            [Fraction(float(row[k])) for k in kept]
            for row in (cells.measure.centre, cells.measure.radius, values.centre, values.radius)
        )
        total, stated = cells.rounded_sum(values, which)
        exact = sum((p * q for p, q in zip(w, x, strict=True)), Fraction(0))
        parts = sum((r_ * w_ + (x_ + r_) * s_ for w_, s_, x_, r_ in zip(w, slip, x, r, strict=True)), Fraction(0))
        formula = parts + (len(kept) + 8) * Fraction(UNIT) * exact
        yield Within(
            f"sum over {len(kept)} nodes: error in units", float(abs(Fraction(total) - exact) / exact) / UNIT, 0.0, 60.0
        )
        over = float(Fraction(stated) * (1 - Fraction(less)) / formula - 1)
        yield Within(f"sum over {len(kept)} nodes: stated error over its formula, less 1", over, 0.0, 1e-11)
    (end,) = circle_floats._end(lambda points: [Discs(np.ones(1), np.array([0.3]))], 20, 1, low=True)
    formula = Fraction(1.3) * Fraction(float(corner(20, 1, low=True).radius[0]))
    yield Within(
        "an end over its formula, less 1", float(Fraction(end) * (1 - Fraction(less)) / formula - 1), 0.0, 1e-12
    )
    (ball,) = circle_floats._joined([(0.0, 0.0)], [[1.0], [1e-16]]) or [flint.arb("nan")]
    with flint.ctx.workprec(BITS):
        beyond = float(flint.arb(ball.upper()) * (1 - flint.arb(less)) * flint.arb.pi() - 1 - flint.arb(1e-16))
    yield Within("both ends together, less 1 and a bit", beyond, 0.0, 1e-7)
    # cells that all have the error 1, in rounds: sums of ones and units, which rounding may take away again
    with mock.patch.object(Cells, "rounded_sum", return_value=(0.75, 1.0)):
        ((total, error),) = circle_floats._over_cells(lambda points: [Discs(np.ones(len(points.radius)))], cells) or (
            (0.0, 0.0),
        )
    missed = sum(float(circle_floats.gauss_error(half, 1.0, 20, circle_floats.RHO)) for half in cells.half.tolist())
    assert total == 0.75
    least = 1 + Fraction(0.75 * UNIT)
    yield Within(
        "error of all cells, less its parts",
        float(Fraction(error) * (1 - Fraction(less)) - least),
        0.0,
        1e-13 + 9 * missed,
    )


# --- elliptic integrals in balls ---


def _ends(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Arguments at the ends of what is allowed, and beyond them."""
    ball = flint.arb
    for label, name, call in (
        ("K of -0.1", "k", lambda: elliptic.K(ball(-0.1))),
        ("K of 1.1", "k", lambda: elliptic.K(ball(1.1))),
        ("E of -0.1", "k", lambda: elliptic.E(ball(-0.1))),
        ("E of 1.1", "k", lambda: elliptic.E(ball(1.1))),
        ("Pi of 1.1 and 0.5", "alpha_squared", lambda: elliptic.Pi(ball(1.1), ball(0.5))),
        ("Pi of 0.5 and 1.1", "k", lambda: elliptic.Pi(ball(0.5), ball(1.1))),
        ("Pi of 0.5 and -0.1", "k", lambda: elliptic.Pi(ball(0.5), ball(-0.1))),
        ("the inverse at -0.1", "a", lambda: elliptic.integral_inverse(ball(-0.1))),
        ("the inverse at 1.1", "a", lambda: elliptic.integral_inverse(ball(1.1))),
        ("the ratio at -0.1 and 0.5", "a", lambda: elliptic.integral_ratio(ball(-0.1), ball(0.5))),
        ("the ratio at 1.1 and 0.5", "a", lambda: elliptic.integral_ratio(ball(1.1), ball(0.5))),
        ("the ratio at 0.5 and -0.1", "b", lambda: elliptic.integral_ratio(ball(0.5), ball(-0.1))),
        ("the ratio at 0.5 and 1.1", "b", lambda: elliptic.integral_ratio(ball(0.5), ball(1.1))),
    ):
        yield refused(label, name, call)
    four = mpmath.MPContext()
    four.dps = 4
    for label, function, known in (("a kink", lambda s: abs(s - four.mpf(1) / 3), False), ("a root", four.sqrt, True)):
        try:
            found = digits.integral(function, context=four)
        except AccuracyError:
            found = None
        yield Holds(f"the integral of {label} is {'known' if known else 'refused'}", (found is not None) == known)
    yield taken("Pi of -3 and 0.5", lambda: elliptic.Pi(ball(-3), ball(0.5)))
    ends = (
        elliptic.K(0),
        elliptic.E(0),
        elliptic.E(1),
        elliptic.Pi(0, 0),
        elliptic.integral_inverse(1),
        elliptic.integral_ratio(0, 1),
    )
    quarter = math.pi / 2
    yield Fact("at the ends", [float(x.mid()) for x in ends], [quarter, quarter, 1.0, quarter, 4 * quarter, 8.0])


PARTS = Claim(
    id="ftrl/beyond-enclosed-parts",
    where=f"{OURS}: parts of certificates",
    kind="inequality",
    statement=(
        "The cosines of $D$ are those of its definition, within errors that are as large as is said;",
        (
            "at nodes $psi$ is known to twelve digits, and on discs sums of sines, distances and $abs(B)^2$ "
            "are in theirs, whose means are those over the circle, and a polynomial on a wide ball reaches as far "
            "as its Taylor series at the middle, with the values of what it stands for on the circle;"
        ),
        "what is stated of errors of powers and sums, of $D$ on discs and of the ends is its formula, not below "
        "it, and cells are added and halved until they are enough;",
        "elliptic integrals in balls refuse what is out of their range, and quadrature in digits what it does not "
        "resolve.",
    ),
    setting="Fractions; 200 bits; points on the rims of discs.",
    checks=(
        Agreement(decides="a", facts=_denominators, impostors=_OFF),
        Agreement(decides="b", facts=_nodes, impostors={"a thousandth as wide": {"facts": {"share": 1e-3}}}),
        Agreement(decides="b", facts=_on_rims, impostors={"a third as wide": {"facts": {"share": 0.3}}}),
        Agreement(decides="b", facts=_integrals, impostors=_OFF),
        Agreement(decides="b", facts=polynomials, impostors=_OFF),
        Agreement(decides="c", facts=_margins, impostors={"a part in $10^11$ less": {"facts": {"less": 1e-11}}}),
        Agreement(decides="c", facts=formulas, impostors={"1e-10 off": {"facts": Times(1 + 1e-10)}}),
        Agreement(decides="c", facts=circles, impostors=_OFF),
        Agreement(decides="d", facts=_ends, impostors=_OFF),
    ),
)
