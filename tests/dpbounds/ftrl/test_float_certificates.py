"""The certificate in float64 against balls, against sampling, and where it must not prove anything."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pytest

from dpbounds import AccuracyError
from dpbounds.circle.arcs import Cells, first_cells
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import strongly_convex as sc
from dpbounds.ftrl.strongly_convex import certificate, floats
from dpbounds.ftrl.strongly_convex.certificate import program_fraction, quadratic_fraction
from dpbounds.ftrl.strongly_convex.programs import Quadratics, squared_distance

CORRELATIONS = {
    "independent": c.independent(),
    "nu": c.nu(0.01),
    "small nu": c.nu(1e-6),
    "damped": c.damped_anti_pgd(1e-3),
    "half powers": c.HalfPowers((0.7, 0.2 + 0.3j, 0.999), (0.4, 0.99)),
}
CASES = [
    ("independent", "f", 0.01, 0.1, 20, 0.0),
    ("nu", "f", 0.01, 0.1, 50, 0.7),
    ("nu", "theta", 1e-4, 1.9, 8, 0.0),
    ("small nu", "f", 1e-6, 0.5, 20, 0.0),
    ("damped", "paper", 1e-3, 0.5, 6, 0.0),
    ("half powers", "theta", 0.1, 1.2, 12, 0.3),
    ("half powers", "f", 0.5, 0.5, 0, 0.0),
]


def problem(name: str, program: Any, mu: float, eta: float, sigma: float) -> tuple[sc.Noise, sc.Program]:
    return sc.Noise(correlation=CORRELATIONS[name], rho=0.5, sigma_sgd=sigma), sc.Program(
        name=program, mu=mu, L=1.0, eta=eta
    )


@pytest.mark.parametrize(("name", "program", "mu", "eta", "lags", "sigma"), CASES)
def test_floats_and_balls_enclose_the_same(name, program, mu, eta, lags, sigma):
    noise, constants = problem(name, program, mu, eta, sigma)
    found = sc.bound_program(noise, constants, max_lag=lags, certify=False)
    multipliers = np.array(found.multipliers)
    fast = floats.integrals(noise, constants, found.curvature, multipliers)
    fractions = [
        quadratic_fraction(eta, found.curvature),
        program_fraction(constants, multipliers.tolist()),
    ]
    slow = certificate._integrals(noise, fractions)
    assert fast is not None
    quick, balls = ([*chain.from_iterable(parts), last] for parts, last in (fast, slow))
    pairs = list(zip(quick, balls, strict=True))
    assert len(pairs) == (7 if sigma else 4)
    for first, second in pairs:
        assert first.overlaps(second)
        assert float(first.rad()) < 2e-11 * float(first.mid())  # tighter than balls, which aim at 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_any_multipliers_give_what_balls_give_or_nothing(seed):
    """Random multipliers: D need not be positive, and then neither proves anything."""
    rng = np.random.default_rng(seed)
    noise, constants = problem("nu", rng.choice(["f", "theta"]), 10.0 ** rng.uniform(-3, 0), rng.uniform(0.1, 1.9), 0.0)
    best = np.array(sc.bound_program(noise, constants, max_lag=4, certify=False).multipliers)
    for share in (0.1, 3.0):
        multipliers = best * (1.0 + share * rng.uniform(-1, 1, len(best)))
        fast = floats.integrals(noise, constants, constants.L, multipliers)
        *_, D = Quadratics.on(constants, np.linspace(0.0, np.pi, 4001), (len(best) - 1) // 2).parts(multipliers)
        if fast is None:
            continue
        assert (D > 0).all() or (D < 0).all()
        fraction = program_fraction(constants, multipliers.tolist())
        slow = certificate._integrals(noise, [quadratic_fraction(constants.eta, constants.L), fraction])
        assert fast[0][2][0].overlaps(slow[0][2][0])


def test_a_denominator_of_one_sign_that_is_wrong_is_refused():
    """With multipliers next to 0 the D of `theta` is negative everywhere, with somewhat larger ones it changes sign."""
    noise, constants = problem("nu", "theta", 0.1, 0.5, 0.0)
    for multiplier in (1e-9, 0.3):
        with pytest.raises(AccuracyError, match="denominator"):
            certificate.enclosed(constants, noise, np.array([multiplier]), 0.5)


@pytest.mark.parametrize(("program", "mu", "eta"), [("f", 0.01, 0.3), ("theta", 0.3, 1.8), ("paper", 0.1, 0.5)])
def test_psi_on_discs_holds_psi_at_their_points(program, mu, eta):
    """Real and complex points of the discs, from the definition in complex numbers."""
    _, constants = problem("nu", program, mu, eta, 0.0)
    rng = np.random.default_rng(2)
    best = np.array(
        sc.bound(
            c.nu(0.1), sc.StronglyConvex(mu=mu, L=1.0, eta=eta, rho=0.5), program=program, max_lag=5, certify=False
        ).multipliers
    )
    ratio = floats.Ratio(constants, best)
    points = first_cells(40, 40, 12).discs
    discs = ratio.at(points)
    assert np.isfinite(discs.radius).sum() > 0.8 * len(discs.radius)
    y = first_cells(40, 40, 12).middle
    for _ in range(20):
        edge = rng.choice([-1, 1, 1j, np.exp(1j * rng.uniform(0, 6))]) * rng.choice([1.0, 0.5])
        omega = 2 * np.arctan(np.exp(y)) + edge * points.radius * (1 - 1e-9)
        truth = _psi(constants, best, omega)
        inside = np.abs(truth - discs.centre) <= discs.radius + 1e-9 * np.abs(truth)
        assert (inside | ~np.isfinite(discs.radius)).all()


@pytest.mark.parametrize(("program", "mu", "eta"), [("f", 0.01, 0.3), ("theta", 0.3, 1.8), ("paper", 0.1, 0.5)])
def test_denominators_move_within_discs_as_far_as_is_said(program, mu, eta):
    """The cosine coefficients are those of D; its variation is bounded, and not by much more than it is."""
    _, constants = problem("nu", program, mu, eta, 0.0)
    multipliers = np.random.default_rng(0).uniform(0.0, 1.0, 11)
    found = floats.Ratio(constants, multipliers).harmonics
    omega, t = np.linspace(0.0, np.pi, 100), np.arange(len(found.coefficients))
    *_, D = Quadratics.on(constants, omega, 5).parts(multipliers)
    assert np.cos(np.outer(omega, t)) @ found.coefficients == pytest.approx(D, abs=1e-13)
    assert 1e-16 < found.errors.max() < 1e-12
    cells = first_cells(40, 40, 12)
    middle, radius = 2 * np.arctan(np.exp(cells.middle)), cells.discs.radius
    most = np.zeros_like(radius)
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        moved = np.cos(np.outer(middle + radius * np.exp(1j * angle), t)) - np.cos(np.outer(middle, t))
        most = np.maximum(most, np.abs(moved @ found.coefficients))
    bound = found.variation(cells.discs)
    known = np.isfinite(bound)
    assert known.mean() > 0.9 and (bound > most - 1e-12)[known].all()
    visible = known & (most > 1e-9)
    assert (bound < 1.5 * most)[visible].any() and (bound < 6.0 * most)[visible].all()


@pytest.mark.parametrize("wave", [np.sin, np.cos])
def test_sums_of_waves_move_within_discs_as_far_as_is_said(wave):
    sizes, t, cells = np.array([1.0, 0.3, 0.0, 0.7]), np.arange(1, 5), first_cells(40, 40, 8)
    middle, radius = 2 * np.arctan(np.exp(cells.middle)), cells.discs.radius
    bound = floats._term_by_term(cells.discs, sizes)
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        moved = wave(np.outer(middle + radius * np.exp(1j * angle), t)) - wave(np.outer(middle, t))
        assert (np.abs(moved) @ sizes <= bound + 1e-15).all()
    wide = radius > 0.1
    assert (bound < 10.0)[wide].all()


def _psi(program: sc.Program, multipliers: np.ndarray, omega: np.ndarray) -> np.ndarray:
    """(c c~ - a b) / D for complex frequencies: what is conjugate on the circle is the same function of 1 / w."""
    lags, a, b = len(multipliers) // 2, program.a, program.b
    w, total = np.exp(1j * omega), multipliers.sum()

    def Lambda(w: np.ndarray) -> np.ndarray:
        t = np.arange(1, lags + 1)[:, None]
        return total + program.sign * (multipliers[1 : lags + 1] @ w**t + multipliers[lags + 1 :] @ w**-t)

    def sides(w: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return Lambda(w) + a, 1 - w - program.eta * program.mu, 1 - w - program.eta * program.L

    (c1, u1, v1), (c2, u2, v2) = sides(w), sides(1 / w)
    D = c1 * u2 * v1 + c2 * u1 * v2 - a * u1 * u2 - b * v1 * v2
    return (c1 * c2 - a * b) / D


@pytest.mark.parametrize("fault", ["rounding", "variation", "rule"])
def test_the_bounds_of_errors_are_needed(monkeypatch, fault):
    """Left out one at a time: what comes out then misses the truth, or proves what is false."""
    noise, constants = problem("nu", "f", 0.01, 0.1, 0.0)
    found = sc.bound_program(noise, constants, max_lag=6, certify=False)
    multipliers = np.array(found.multipliers)
    if fault == "rule":  # fewer nodes than the error bound is of
        monkeypatch.setattr(Cells, "weights", property(lambda cells: _trapezoidal(cells)))
        first_cells.cache_clear()
        fast = floats.integrals(noise, constants, found.curvature, multipliers)
        first_cells.cache_clear()
        truth = certificate._integrals(
            noise, [quadratic_fraction(0.1, found.curvature), program_fraction(constants, multipliers.tolist())]
        )
        assert fast is not None and not fast[0][2][0].overlaps(truth[0][2][0])
    elif fault == "variation":  # D is then not seen to vanish between the middles of cells
        monkeypatch.setattr(floats._Harmonics, "variation", lambda self, points: 0.0 * points.radius)
        wide = first_cells(40, 40, 12).discs
        ratio = floats.Ratio(constants, multipliers)
        omega = 2 * np.arctan(np.exp(first_cells(40, 40, 12).middle)) + wide.radius * 0.999
        discs, truth = ratio.at(wide), _psi(constants, multipliers, omega)
        assert (np.abs(truth - discs.centre) > discs.radius + 1e-9 * np.abs(truth)).any()
    else:
        points = first_cells(92, 78, 12).nodes
        exact = _ratio_in_balls(constants, multipliers, points, 40)
        discs = floats.Ratio(constants, multipliers).at(points)
        every = slice(None, None, len(points.radius) // 40)
        missed = np.abs([float(x - centre) for x, centre in zip(exact, discs.centre[every], strict=True)])
        assert (missed > 0).any() and (missed <= discs.radius[every]).all()


def _trapezoidal(cells: Cells) -> np.ndarray:
    return (cells.half[:, None] * np.full(20, 0.1)).ravel()


def _ratio_in_balls(program: sc.Program, multipliers: np.ndarray, points: Any, count: int) -> list[Any]:
    """N / D at the floats that stand for s, in balls: its rounding of s is within the radius of the disc."""
    import flint

    with flint.ctx.workprec(300):
        fraction = program_fraction(program, multipliers.tolist())
        return [fraction.at(flint.arb(s)) for s in points.s.centre[:: len(points.radius) // count].tolist()]


def test_half_powers_on_discs_hold_their_values():
    correlation, rng = CORRELATIONS["half powers"], np.random.default_rng(0)
    assert isinstance(correlation, c.HalfPowers)
    for points in (first_cells(60, 60, 4).discs, first_cells(60, 60, 4).nodes):
        power, inverse = correlation.power_on(points)
        reach = np.where(points.radius > 0, points.disc.radius, 0.0)
        for _ in range(10):
            s = points.disc.centre + reach * rng.uniform(0, 1) * np.exp(2j * np.pi * rng.uniform())
            truth = np.sqrt(_product(correlation.zeros, s) / _product(correlation.poles, s))
            slack = 1e-12 * np.abs(truth)
            good = np.isfinite(power.radius)
            assert good.sum() > 0.5 * len(good)
            assert (np.abs(truth - power.centre)[good] <= (power.radius + slack)[good]).all()
            assert (np.abs(1 / truth - inverse.centre)[good] <= (inverse.radius + 1e-12 / np.abs(truth))[good]).all()


def _product(numbers: tuple[complex, ...], s: np.ndarray) -> np.ndarray:
    product = np.ones_like(s, dtype=complex)
    for q in numbers:
        product *= 4 * q * s + (1 - q) ** 2
        if q.imag:
            product *= 4 * q.conjugate() * s + (1 - q.conjugate()) ** 2
    return product


def test_derived_correlations_and_given_densities_are_left_to_balls():
    class Other(c.NuCorrelation):
        pass

    noise, constants = problem("nu", "f", 0.1, 0.5, 0.0)
    multipliers = np.array(sc.bound_program(noise, constants, max_lag=2, certify=False).multipliers)
    assert floats.integrals(noise, constants, 0.5, multipliers) is not None
    assert floats.integrals(replace(noise, correlation=Other(0.1)), constants, 0.5, multipliers) is None
    found = sc.bound_density(lambda m, s: m.sqrt(m.number(0.01) + 4 * s), 0.1, 1.0, 0.5, max_lag=2)
    assert found.value.certified


def test_squared_distances_of_columns():
    omega, x = np.linspace(0.0, np.pi, 50), np.array([1e-6, 0.3, 1.0, 1.7])
    expected = np.abs(1 - x[:, None] - np.exp(1j * omega)) ** 2
    assert squared_distance(omega, x[:, None]) == pytest.approx(expected, abs=1e-14)
    assert squared_distance(omega, 1.7) == pytest.approx(expected[3], abs=1e-14)
