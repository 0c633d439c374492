"""Counterexamples to Section 3 and Appendix E recomputed by other means, and the check of simulated upper bounds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate

from dpbounds.ftrl import correlations
from dpbounds.ftrl.correlations import nu
from dpbounds.ftrl.strongly_convex import Noise, StronglyConvex, alternation, bound, optimize_correlation, spectral_root
from dpbounds.ftrl.strongly_convex.programs import Program, Quadratics
from simulators.engine import Experiment, seed_sequence
from simulators.ftrl import kinked_quadratic
from verify.checks import BoundedMean, Case, Means, Seed
from verify.checks.base import Level
from verify.checks.evidence import Evidence
from verify.papers.ftrl.paper import se_0_theorem_e_1 as theorem
from verify.papers.ftrl.paper import se_0_theorem_e_1_multipliers as steps
from verify.papers.ftrl.tools.strongly_convex import RHO, Distance, worst_quadratic

# --- (91) ---


def constraint(theta: list[Fraction], right: Fraction, left: Fraction, share: Fraction, sign: int) -> Fraction:
    """2 sum_tau L_tau sum_t p_{t+tau} q_t with L_0 = 1 and L_{+-1} = sign share / 2, for F'' = right or left of 0."""
    mu, smooth = min(right, left), max(right, left)
    gradient = [(right if x > 0 else left) * x for x in theta]
    p = [g - mu * x for g, x in zip(gradient, theta, strict=True)]
    q = [smooth * x - g for g, x in zip(gradient, theta, strict=True)]
    at_once = sum((a * b for a, b in zip(p, q, strict=True)), Fraction(0))
    pairs = [*zip(p[1:], q, strict=False), *zip(p, q[1:], strict=False)]
    return 2 * at_once + sign * share * sum((a * b for a, b in pairs), Fraction(0))


def fractions(*numbers: int) -> list[Fraction]:
    return [Fraction(number) for number in numbers]


def test_plus_signs_are_refuted_by_two_points():
    one, two = fractions(1, 2)
    assert constraint(fractions(1, -1), one, two, one, sign=1) == -1
    assert constraint(fractions(1, -1), one, two, one, sign=-1) == 1
    assert constraint(fractions(1, -1), one, one, one, sign=1) == 0, "a quadratic"


def test_no_shorter_or_corrected_sequence_is_negative():
    curvatures = list(itertools.product(fractions(1, 2, 5), repeat=2))
    for right, left in curvatures:
        for x in fractions(-2, -1, 1, 2):
            assert constraint([x], right, left, Fraction(1), sign=1) >= 0
        for theta in itertools.product(fractions(-2, -1, 1, 2), repeat=3):
            assert constraint(list(theta), right, left, Fraction(1), sign=-1) >= 0


def test_the_claim_evaluates_the_printed_matrix():
    for theta in itertools.product((-2, -1, 1, 2), repeat=2):
        expected = constraint(fractions(*theta), Fraction(1), Fraction(2), Fraction(1), sign=1)
        assert steps._by_hand(theta) == expected
        gradient = [x if x > 0 else 2 * x for x in theta]
        wave = 1 + np.cos(2 * np.pi * np.arange(steps.FREQUENCIES) / steps.FREQUENCIES)
        sequences = (np.array(values, dtype=float)[None, :, None] for values in (theta, gradient))
        assert steps._form(np.ones(1), wave[None], *sequences)[0] == pytest.approx(float(expected), abs=1e-12)


def test_the_tight_sequence_is_an_equality_on_the_line():
    """Curvature 2 up to theta = 1 and 1 beyond, theta = (2, 1), lambda_1 = lambda_0: <p_1, q_1> = <p_2, q_1> > 0."""
    theta, gradient = fractions(2, 1), fractions(3, 2)
    p = [g - x for g, x in zip(gradient, theta, strict=True)]
    q = [2 * x - g for g, x in zip(gradient, theta, strict=True)]
    assert sum(a * b for a, b in zip(p, q, strict=True)) == p[1] * q[0] == 1
    (point,) = steps._tight()
    arrays: dict[str, Any] = {name: np.asarray(value)[None] for name, value in point.items()}
    lags, rest = steps._constraint(**arrays)
    assert lags == pytest.approx(rest, rel=1e-12) and rest > 1


# --- (10) ---


def test_printed_bound_on_a_quadratic_in_fractions():
    """F = theta^2 / 2, B = 1, rho = 1/2, eta = 1/10: mean square eta^2 sum_t (1 - eta)^{2t}, (10) = 2 eta^4 of it."""
    eta = Fraction(1, 10)
    gain = 1 / (1 - (1 - eta) ** 2)
    assert eta**2 * gain / 2 == Fraction(1, 38)
    assert 2 * eta**4 * gain == Fraction(1, 950) == 4 * eta**2 * Fraction(1, 38)


@pytest.mark.parametrize("correlation", [correlations.independent(), correlations.nu(0.05)], ids=lambda c: c.name)
def test_worst_quadratic_by_quadrature(correlation):
    eta, mu, power = 0.5, 0.1, float(correlation.limiting_sensitivity()) ** 2

    def error(h: float) -> float:
        def density(omega: float) -> float:
            spectrum = power * correlation.power_spectrum(np.array([omega]))[0] + 0.09
            return spectrum / abs(1 - eta * h - np.exp(1j * omega)) ** 2

        return h / 2 * eta**2 / np.pi * integrate.quad(density, 0.0, np.pi, points=[eta * h], epsrel=1e-10)[0]

    largest = max(error(h) for h in np.geomspace(mu, 1.0, 25))
    assert worst_quadratic(correlation, mu, eta, sigma_sgd=0.3) == pytest.approx(largest, rel=1e-4)


# --- Theorem E.1 ---


def test_multipliers_of_the_counterexample_are_admissible():
    """lambda_0 + 2 lambda_1 <= 2 lambda_0; and (90) with the stated psi, by eigenvalues on a fine grid."""
    first, second = theorem.NARROW_MULTIPLIERS
    assert 0 <= 2 * second <= first
    mu, eta = theorem.NARROW_MU, theorem.NARROW_ETA
    for omega in np.concatenate([[0.0], np.geomspace(1e-6, np.pi, 4000)]):
        multiplier = first + 2 * second * np.cos(omega)
        inner = multiplier * np.array([[-2 * mu, 1 + mu], [1 + mu, -2.0]])
        outer = np.array([[eta, 0.0], [1 - np.exp(1j * omega), -eta]])
        psi = theorem._narrow_psi(np.array([omega]))[0]
        gap = np.diag([-(eta**2), psi]) - outer.conj().T @ inner @ outer
        assert gap[0, 0].real > 0 and np.linalg.det(gap).real == pytest.approx(0.0, abs=1e-9 * np.abs(gap).max() ** 2)


def test_printed_side_of_the_counterexample():
    """|B|^2 = |1 + 0.94 w|^-6 and 1 / B = (1 + 0.94 z)^3, by the uniform rule, which converges geometrically here."""
    omega = 2 * np.pi * np.arange(200_000) / 200_000
    power = np.sum(np.array([1.0, 3 * 0.94, 3 * 0.94**2, 0.94**3]) ** 2)
    spectrum = 2 * power / np.abs(1 + 0.94 * np.exp(1j * omega)) ** 6
    expected = 2 * np.mean(spectrum * theorem._narrow_psi(omega)) / theorem.NARROW_ETA**2
    assert theorem._narrow_bound() == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("eta", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("mu", [1e-4, 0.2, 0.999])
def test_program_f_covers_the_wrong_signs(mu, eta):
    omega = np.linspace(0.0, np.pi, 1001)
    psi = Quadratics.on(Program(name="f", mu=mu, L=1.0, eta=eta), omega, 0).psi(np.array([0.5]))
    gain = eta**2 / np.abs(1 - eta * np.sqrt(mu) - np.exp(1j * omega)) ** 2
    assert np.all(psi <= 2 * gain * (1 + 1e-12))


def test_distance_is_simulated_in_place_of_the_loss():
    loss = kinked_quadratic(0.1, 1.0, 2)
    wrapped, theta = Distance(loss), np.array([[3.0, -4.0]])
    assert wrapped.suboptimality(theta) == 25.0
    np.testing.assert_array_equal(wrapped.gradient(theta), loss.gradient(theta))
    assert (wrapped.mu, wrapped.L, wrapped.dimension) == (loss.mu, loss.L, 2)


def test_the_counterexample_is_simulated_from_the_minimiser():
    """The start cannot be what lifts the mean above the bound; a tenth of it at most is left in the average."""
    case = theorem._narrow_case(theorem._narrow_bound)
    problem, settings = case.experiment.problem, case.experiment.settings
    assert problem.initial is None and problem.sigma_sgd == 0.0
    left = (1 - theorem.NARROW_ETA * theorem.NARROW_MU) ** settings.average_from
    assert left < 0.1 and settings.steps - settings.average_from >= 3 / (theorem.NARROW_ETA * theorem.NARROW_MU)


@pytest.mark.parametrize("program", ["theta", "f"])
def test_the_optimised_correlation_is_that_of_the_public_function(program):
    """From another start: equal values and equal spectra up to a constant."""
    constants, noise = Program(name=program, mu=1 / 16, L=1.0, eta=0.1), Noise(correlation=nu(0.1), rho=RHO)
    multipliers, _ = alternation(constants, noise, 4, start=lambda omega: nu(0.1 / 16).power_spectrum(omega))
    found = spectral_root(constants, multipliers)
    public = optimize_correlation(
        StronglyConvex(mu=1 / 16, L=1.0, eta=0.1, rho=RHO), program=program, max_lag=4, certify=False
    )
    value = bound(
        found, StronglyConvex(mu=1 / 16, L=1.0, eta=0.1, rho=RHO), program=program, max_lag=4, certify=False
    ).value
    assert float(value) == pytest.approx(float(public.bound.value), rel=1e-6)
    omega = np.linspace(0.0, np.pi, 50)
    ratio = found.power_spectrum(omega) / public.correlation.power_spectrum(omega)
    assert ratio / ratio.mean() == pytest.approx(np.ones(50), abs=1e-2)


def test_large_steps_are_compared_with_the_worst_quadratic_too():
    """The printed value with its factor 2 / eta^2 is 8 times the error of a quadratic or more."""
    for eta, q in ((1.3, 0.5 + 0.5j), (1.7, -0.8 + 0.0j)):
        correlation = correlations.HalfPowers((), (q, q))
        found = bound(
            correlation,
            StronglyConvex(mu=0.05, L=1.0, eta=eta, rho=RHO),
            program="paper",
            max_lag=3,
            nodes=200,
            certify=False,
        )
        assert 2 / eta**2 * float(found.value) >= 8 * (1 - 1e-6) * float(found.lower)


# --- simulated means and upper bounds ---


@dataclass(frozen=True)
class Normal:
    spread: float = 1.0
    skewed: bool = False


def draws(problem, settings, streams, trials):
    values = streams.data.standard_normal(trials)
    return {"value": 10.0 + problem.spread * (np.exp(2 * values) if problem.skewed else values)}


def evidence(*bounds: float, level: Level = "quick", problem: Normal | None = None, scale: float = 1.0) -> Evidence:
    experiment = Experiment(algorithm=draws, problem=problem or Normal(), settings=None, block_trials=64)

    def case(number: int, value: float) -> Case:
        fields = {"experiment": experiment, "output": "value", "relative_std": 1.0, "group": "g", "x": float(number)}
        return Case(label=f"case {number}", predicted=lambda: value, **fields)

    check = BoundedMean(
        means=Means(
            cases=lambda: [case(number, value) for number, value in enumerate(bounds)],
            trials={"quick": 64, "full": 512},
            axes=("$x$", "$y$"),
        ),
        scale=scale,
    )
    seeds = [Seed(0, seed_sequence([0], seed=0)) for _ in check.tasks(level)]
    return check.conclude([check.run(task, seed) for task, seed in zip(check.tasks(level), seeds, strict=True)], level)


def test_bounded_mean_holds_above_and_fails_below():
    found = evidence(12.0, 30.0)
    assert found.outcome == "holds" and found.slack == pytest.approx(1.2, rel=0.05) and found.trials == 128
    assert found.resolution is not None and 0.14 < found.resolution < 0.22, "two arms of about 7 / 8 each, mean 10"
    assert evidence(30.0, 8.0).outcome == "fails"
    assert evidence(12.0, scale=0.5).outcome == "fails"


def test_bounded_mean_cannot_tell_inside_its_interval_or_from_skewed_runs():
    inside, skewed = evidence(10.0), evidence(1e6, problem=Normal(skewed=True))
    assert inside.outcome == skewed.outcome == "unclear" and "trials" in inside.needed


def test_bounded_mean_takes_more_trials_at_higher_levels_and_draws_the_means():
    found = evidence(12.0, level="full")
    assert found.trials == 512 and found.picture is not None
    (series,) = found.picture.series
    assert series.role == "simulated" and series.low[0] < series.y[0] < series.high[0]
