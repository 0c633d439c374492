"""The causal program of gradient descent: against storage functions, spectra and reviewed numbers."""

import json

import numpy as np
import pytest

from dpbounds.arithmetic import FLOATS
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import (
    HalfPowers,
    anti_pgd,
    damped_anti_pgd,
    from_coefficients,
    from_power_spectrum,
    independent,
    nu,
)
from dpbounds.ftrl.methods import bound_method, gradient_descent
from dpbounds.ftrl.strongly_convex import (
    StronglyConvex,
    alternation,
    best_nu,
    bound,
    least_error,
    optimize_correlation,
    recertify,
)
from dpbounds.ftrl.strongly_convex.causal import CausalObjective
from dpbounds.ftrl.strongly_convex.programs import Grid
from dpbounds.ftrl.strongly_convex.waves import wave
from verify.papers.ftrl.tools.method_spectra import two_steps, value

MIXED = HalfPowers((0.9, 0.3 + 0.4j), (0.2,))


def problem(kappa=10.0, eta=0.1, **options):
    return StronglyConvex(mu=1.0 / kappa, L=1.0, eta=eta, rho=0.5, **options)


# (kappa, nu, value, worst quadratic): reviewed by another program.
REVIEWED = [
    (10.0, 1.0, 0.0386087965, 0.0263157895),
    (100.0, 1.0, 0.0456884016, 0.0263157895),
    (1000.0, 1.0, 0.0485460440, 0.0263157895),
    (10.0, 0.035354, 0.0116705997, 0.0114577115),
    (100.0, 0.035354, 0.0117406582, 0.0114577115),
    (10.0, 0.0709502, 0.0110718560, None),
    (100.0, 0.0640848, 0.0111686379, None),
]


@pytest.mark.parametrize(("kappa", "damping", "upper", "lower"), REVIEWED)
def test_reviewed_numbers_certified(kappa, damping, upper, lower):
    found = bound(nu(damping), problem(kappa))
    assert found.program.name == "causal" and found.is_certified and found.value == pytest.approx(upper, rel=1e-8)
    assert least_error(FLOATS, problem(kappa)) < found.lower
    assert found.value < bound(nu(damping), problem(kappa), program="f", certify=False).value
    if lower is not None:
        assert found.lower == pytest.approx(lower, rel=1e-8)


@pytest.mark.parametrize(("kappa", "damping", "ratio"), [(10.0, 0.0709502, 1.0506), (100.0, 0.0640848, 1.0598)])
def test_the_best_nu_and_the_best_half_powers(kappa, damping, ratio):
    found = optimize_correlation(problem(kappa), max_lag=1, certify=False)
    least = float(least_error(FLOATS, problem(kappa)))
    assert found.best_nu.nu == pytest.approx(damping, rel=1e-3)
    assert float(found.best_nu.bound.value) / least == pytest.approx(ratio, abs=1e-3)
    assert found.tightest is found.bound and 1.0 < float(found.bound.value) / least < ratio - 1e-3
    assert found.history[0] == pytest.approx(float(found.best_nu.bound.value), rel=1e-6)
    assert found.history[1] == pytest.approx(float(found.bound.value), rel=1e-6)


@pytest.mark.parametrize("damping", [0.035354, 0.3, 1.0])
@pytest.mark.parametrize("kappa", [10.0, 100.0])
def test_by_spectra_with_all_multipliers_of_the_future(kappa, damping):
    """The Wiener-Hopf optimum over all m_k is the bound with m_1 alone: no other is needed here."""
    found = bound(nu(damping), problem(kappa))
    weights = nu(damping).coefficients(4096)
    oracle = value(two_steps(0.1, 0.0), weights, 1 / kappa, 1.0, "f", [(None, 0, 1.0)])
    gamma = float(nu(damping).limiting_sensitivity()) ** 2
    assert found.multipliers == (0.0,)
    assert found.value == pytest.approx(gamma * oracle, rel=1e-8)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -0.99], [1.0, -0.6, 0.2], [2.0, 1.0]])
@pytest.mark.parametrize(("eta", "sigma"), [(0.1, 0.0), (0.1, 0.7), (1.0, 0.0), (1.7, 0.7)])
def test_by_storage_functions(weights, eta, sigma):
    """Never below the program with more multipliers, nor above that of the spectrum alone."""
    asked, correlation = problem(eta=eta, sigma_sgd=sigma), from_coefficients(weights)
    found = bound(correlation, asked, max_lag=3)
    more = bound_method(asked.noise(correlation), gradient_descent(eta=eta), mu=0.1, L=1.0, memory=3)
    assert more.value * (1 - 1e-7) <= found.value <= more.value * 1.2
    assert found.value < bound(correlation, asked, program="f", max_lag=3).value
    assert found.lower == pytest.approx(more.lower, rel=1e-7)


@pytest.mark.parametrize("eta", [0.01, 0.5, 1.0, 1.5, 1.95])
@pytest.mark.parametrize("kappa", [1.0, 1.0 + 1e-9, 1.001, 3.0, 1e3])
def test_between_the_worst_quadratic_and_program_f(kappa, eta):
    for correlation in (independent(), nu(0.05), damped_anti_pgd(0.3), from_coefficients([1.0, 0.0, 0.6]), MIXED):
        found = bound(correlation, problem(kappa, eta), max_lag=5, certify=False)
        spectrum = bound(correlation, problem(kappa, eta), max_lag=5, certify=False, program="f")
        assert found.lower * (1 - 1e-9) <= found.value <= spectrum.value * (1 + 1e-8)
        if kappa < 1.0001:
            assert found.value == pytest.approx(found.lower, rel=1e-4)


def test_white_noise_is_exact_at_one_over_l_and_above():
    assert bound(independent(), problem(eta=1.0)).value == pytest.approx(0.5, rel=1e-7)
    large = bound(independent(), problem(eta=1.8))
    assert large.value == pytest.approx(1.8 / (2 * (2 - 1.8)), rel=1e-3)  # the stiffest quadratic


@pytest.mark.parametrize(("kappa", "eta"), [(1e6, 1e-6), (1e6, 1e-3), (1e6, 1.9), (10.0, 1e-6), (1e3, 1.999)])
@pytest.mark.parametrize("correlation", [independent(), nu(0.1), damped_anti_pgd(1e-3), from_coefficients([1.0, -0.9])])
def test_extremes_are_certified(kappa, eta, correlation):
    found = bound(correlation, problem(kappa, eta))
    assert found.is_certified and found.lower <= found.best
    if correlation == independent() and eta < 1:
        twice, gap = 2 - eta / kappa, 1 - 1 / kappa
        rest = 2 * gap / (twice + np.sqrt(twice**2 - 4 * gap)) * 2  # twice - root, without cancellation
        assert found.value == pytest.approx(eta / (4 * gap) * rest, rel=1e-5)


@pytest.mark.parametrize(
    "correlation", [nu(0.2), damped_anti_pgd(0.2), from_coefficients([1.0, -0.5, 0.3, 0.1]), MIXED]
)
def test_waves_are_the_parts_of_b(correlation):
    omega = np.linspace(0.01, 3.1, 50)
    X, Z = wave(FLOATS, correlation, np.sin(omega / 2) ** 2)
    B = np.exp(-1j * np.outer(omega, np.arange(400))) @ correlation.coefficients(400)
    assert X + 1j * np.sin(omega) * Z == pytest.approx(B)


@pytest.mark.parametrize("correlation", [nu(0.3), from_coefficients([1.0, 0.3, 0.2]), MIXED])
def test_derivatives(correlation):
    program = problem(100.0, 1.3).program("causal")
    noise = problem(100.0, 1.3, sigma_sgd=0.3).noise(correlation)
    objective = CausalObjective(program, Grid.graded(program, 3, 400), noise, 3)
    at, step = np.array([0.5, 0.01, 0.02, 0.03, 0.01, 0.0, 0.02]), 1e-6 * np.eye(7)
    found, gradient, hessian = objective.derivatives(at)
    assert found == objective.value(at) and np.linalg.eigvalsh(hessian).min() > 0
    slopes = [(objective.value(at + d) - objective.value(at - d)) / 2e-6 for d in step]
    assert gradient == pytest.approx(np.array(slopes), rel=1e-6)
    bends = [(objective.derivatives(at + d)[1] - objective.derivatives(at - d)[1]) / 2e-6 for d in step]
    assert hessian == pytest.approx(np.array(bends), rel=1e-6)


@pytest.mark.parametrize("correlation", [nu(0.1), from_coefficients([2.0, -1.0]), MIXED])
def test_stored_bounds_are_proved_again_and_shifts_only_cost(correlation):
    """Any m gives a bound, the best one the least."""
    found = bound(correlation, problem(eta=1.2, sigma_sgd=0.2), max_lag=2)
    data = json.loads(json.dumps(found.data()))
    assert recertify(data).value == pytest.approx(found.value, rel=1e-9)
    for changed in ([0.0, 0.0], [-found.shifts[0], found.shifts[1]], [2 * found.shifts[0], found.shifts[1]]):
        with pytest.raises(DomainError, match=r"value = .*which its multipliers prove"):
            recertify({**data, "shifts": changed})
    for changed in ([], [0.1], [0.1, 0.1, 0.1], "0.1", [None, 0.0]):
        with pytest.raises(DomainError, match="shifts"):
            recertify({**data, "shifts": changed})
    with pytest.raises(DomainError, match="bound = "):
        recertify({name: value for name, value in data.items() if name != "shifts"})


def test_estimates_say_so():
    found = bound(nu(0.1), problem(), certify=False)
    assert found.value.kind == "estimate" and not found.is_certified
    assert found.value == pytest.approx(bound(nu(0.1), problem()).value, rel=1e-7)


def test_least_error_in_floats():
    assert least_error(FLOATS, problem(eta=1.0)) == pytest.approx(0.5)
    assert least_error(FLOATS, problem(d=3)) == pytest.approx(3 * 0.01053923574, rel=1e-8)


SPECTRUM = from_power_spectrum(lambda omega: 2.0 + np.cos(omega))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound(anti_pgd(), problem()), "finite limiting sensitivity"),
        (lambda: bound(SPECTRUM, problem(), certify=False), "correlation = .*not a spectrum; program f takes any"),
        (lambda: bound(0.1, problem()), "correlation = 0.1"),
        (lambda: bound(nu(0.1), problem(eta=2.5)), "eta = 2.5"),
        (lambda: bound(nu(0.1), problem(), method="cone"), "method = cone"),
        (lambda: best_nu(problem(), program="paper"), "program = paper .*causal, f or theta"),
        (lambda: alternation(problem().program("causal"), problem().noise(nu(0.1))), "program = causal"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(DomainError, match=message):
        call()


def test_steps_next_to_two_over_l_are_refused_or_bounded():
    try:
        found = bound(nu(0.5), problem(kappa=1e4, eta=1.999))
    except AccuracyError:
        return
    assert found.value >= found.lower
