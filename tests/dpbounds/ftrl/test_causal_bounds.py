"""The causal bound of gradient descent: against storage functions, spectra and reviewed numbers."""

import numpy as np
import pytest

from dpbounds.arithmetic import FLOATS
from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import HalfPowers, anti_pgd, damped_anti_pgd, from_coefficients, independent, nu
from dpbounds.ftrl.methods import bound_method, gradient_descent
from dpbounds.ftrl.strongly_convex import StronglyConvex, best_nu_causal, bound, bound_causal, least_error
from dpbounds.ftrl.strongly_convex.causal import _waves
from verify.papers.ftrl.tools.method_spectra import two_steps, value


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
    found = bound_causal(nu(damping), problem(kappa))
    assert found.is_certified and found.value == pytest.approx(upper, rel=1e-8)
    assert found.least == pytest.approx(0.01053923574, rel=1e-8) and found.least < found.lower
    assert found.value < bound(nu(damping), problem(kappa), certify=False).value
    if lower is not None:
        assert found.lower == pytest.approx(lower, rel=1e-8)


@pytest.mark.parametrize(("kappa", "damping", "ratio"), [(10.0, 0.0709502, 1.0506), (100.0, 0.0640848, 1.0598)])
def test_the_best_nu(kappa, damping, ratio):
    found = best_nu_causal(problem(kappa))
    assert found.noise.correlation.nu == pytest.approx(damping, rel=1e-3)
    assert float(found.value) / float(found.least) == pytest.approx(ratio, abs=1e-3)


@pytest.mark.parametrize("damping", [0.035354, 0.3, 1.0])
@pytest.mark.parametrize("kappa", [10.0, 100.0])
def test_by_spectra_with_all_multipliers_of_the_future(kappa, damping):
    """The Wiener-Hopf optimum over all m_k is the bound with m_1 alone: no other is needed here."""
    found = bound_causal(nu(damping), problem(kappa))
    weights = nu(damping).coefficients(4096)
    oracle = value(two_steps(0.1, 0.0), weights, 1 / kappa, 1.0, "f", [(None, 0, 1.0)])
    gamma = float(nu(damping).limiting_sensitivity()) ** 2
    assert found.margin == 0.0
    assert found.value == pytest.approx(gamma * oracle, rel=1e-8)


@pytest.mark.parametrize(
    "correlation", [independent(), damped_anti_pgd(0.01), damped_anti_pgd(0.3), from_coefficients([1.0, -0.6, 0.2])]
)
@pytest.mark.parametrize("sigma", [0.0, 0.7])
def test_by_storage_functions(correlation, sigma):
    """Never below the program with more multipliers, and the same where these have nothing to add."""
    found = bound_causal(correlation, problem(sigma_sgd=sigma))
    more = bound_method(problem(sigma_sgd=sigma).noise(correlation), gradient_descent(eta=0.1), mu=0.1, L=1.0)
    assert more.value * (1 - 1e-7) <= found.value <= more.value * (1 + 5e-3)
    assert found.lower == pytest.approx(more.lower, rel=1e-7)


def test_large_steps_need_a_margin_and_white_noise_is_exact_at_one_over_L():
    assert bound_causal(independent(), problem(eta=1.0)).value == pytest.approx(0.5, rel=1e-7)
    large = bound_causal(independent(), problem(eta=1.8))
    assert large.margin > 0
    assert large.value == pytest.approx(1.8 / (2 * (2 - 1.8)), rel=1e-3)  # the stiffest quadratic


@pytest.mark.parametrize("correlation", [nu(0.2), damped_anti_pgd(0.2), from_coefficients([1.0, -0.5, 0.3, 0.1])])
def test_waves_are_the_parts_of_b(correlation):
    omega = np.linspace(0.01, 3.1, 50)
    X, Z = _waves(FLOATS, correlation, np.sin(omega / 2) ** 2)
    B = np.exp(-1j * np.outer(omega, np.arange(300))) @ correlation.coefficients(300)
    assert X + 1j * np.sin(omega) * Z == pytest.approx(B)


def test_estimates_say_so():
    found = bound_causal(nu(0.1), problem(), certify=False)
    assert found.value.kind == "estimate" and not found.is_certified
    assert found.value == pytest.approx(bound_causal(nu(0.1), problem()).value, rel=1e-7)


def test_least_error_in_floats():
    assert least_error(FLOATS, problem(eta=1.0)) == pytest.approx(0.5)
    assert least_error(FLOATS, problem(d=3)) == pytest.approx(3 * 0.01053923574, rel=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bound_causal(anti_pgd(), problem()), "finite limiting sensitivity"),
        (lambda: bound_causal(HalfPowers((0.5, 0.4)), problem()), "correlation = half powers"),
        (lambda: bound_causal(nu(0.1), problem(kappa=1.0)), "mu = 1.0"),
        (lambda: bound_causal(0.1, problem()), "correlation = 0.1"),
        (lambda: bound_causal(nu(0.1), problem(eta=2.5)), "eta = 2.5"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(DomainError, match=message):
        call()


def test_steps_next_to_two_over_l_are_refused_or_bounded():
    try:
        found = bound_causal(nu(0.5), problem(kappa=1e4, eta=1.999))
    except AccuracyError:
        return
    assert found.value >= found.lower
