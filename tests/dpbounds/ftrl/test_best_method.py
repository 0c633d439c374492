"""The table of methods at one rate."""

import numpy as np
import pytest

from dpbounds.errors import DomainError
from dpbounds.ftrl.correlations import anti_pgd, independent
from dpbounds.ftrl.methods import (
    GradientNoise,
    SampledGradients,
    best_method,
    best_noise,
    bound_run,
    gradient_descent,
    method_of_rate,
    momentum_gain,
)
from dpbounds.ftrl.strongly_convex import Noise
from dpbounds.showing import rounded


def test_designed_noise_is_as_good_as_reviewed():
    """(method, value with the best noise of one zero and one pole, reviewed by another program)."""
    found = best_method(0.01, 10.0, rho=0.5, methods=("gd", "nesterov"), noises=("arma",), certify=False).rows
    values = {one.method.name: float(one.value) for one in found}
    assert values["gradient descent"] <= 0.0113288 * 1.001 and values["Nesterov"] <= 0.00055956 * 1.001
    assert [one.method.name for one in found] == ["Nesterov", "gradient descent"]
    assert all(one.lower <= one.value for one in found)


def test_budgets_are_said_in_two_ways():
    options = {"methods": ("gd",), "noises": ("white",), "certify": False}
    one = best_method(0.01, 10.0, rho=0.5, **options).best
    other = best_method(0.01, 10.0, epsilon=4.377178, delta=1e-5, **options).best
    assert other.value == pytest.approx(float(one.value), rel=1e-5)


def test_what_is_left_out_is_named_with_the_reason():
    found = best_method(0.21, 10.0, rho=0.5, methods=("gd", "heavy-ball"), noises=("white",), certify=False)
    assert [row.method.name for row in found.rows] == ["heavy ball"]
    ((method, noise, why),) = found.left_out
    assert (method, noise) == ("gd", "white") and "converges" in why


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rate": 1.5}, "rate = 1.5"),
        ({"kappa": 0.5}, "kappa = 0.5"),
        ({"rho": None}, "rho = None .*give one"),
        ({"epsilon": 1.0}, "rho = 0.5 .*give one"),
        ({"methods": ("adam",)}, "name = adam"),
        ({"noises": ("pink",)}, "noises = pink"),
        ({"rate": 0.9, "kappa": 1e4, "methods": ("gd",)}, "rate = 0.9 .*take a smaller one"),
    ],
)
def test_bad_input_is_named(options, message):
    given = {"rate": 0.01, "kappa": 10.0, "rho": 0.5} | options
    with pytest.raises(DomainError, match=message):
        best_method(given.pop("rate"), given.pop("kappa"), **given)


def test_a_rate_belongs_to_a_curvature():
    with pytest.raises(DomainError, match="mu = 0"):
        method_of_rate("gd", 0.1, 0.0)


def test_momentum_pays_where_it_is_proved():
    """At kappa = 100 another program found 5.2 times, with noise that it searched for itself."""
    found = momentum_gain(0.01, 100.0)
    assert found is not None and found.nesterov.is_certified and found.gain == pytest.approx(5.2, rel=0.03)
    assert found.descent == pytest.approx(0.5, rel=1e-12) and found.descent.kind == "lower"
    assert (
        f"at least {rounded(found.gain, 'lower', 3):g} times" in found.sentence
        and "heavy ball no such rate" in found.sentence
    )


def test_momentum_is_said_to_pay_nowhere_else():
    assert momentum_gain(0.2, 10.0) is None  # gradient descent with eta > 1 / L
    for rate, kappa in ((0.0, 10.0), (1.0, 10.0), (0.1, 1.0), (0.1, 0.5)):
        with pytest.raises(DomainError):
            momentum_gain(rate, kappa)


def test_errors_of_gradients_are_counted_on_both_sides():
    """In units of L and of the privacy noise; errors that a state of 0 does not allow add nothing to the least."""
    noise = SampledGradients(eigenvalues=np.array([4.0, 0.4]), batch_size=2, sigma=3.0).noise.scaled(4.0, 0.5)
    assert (noise.co, noise.gradient, noise.variance) == pytest.approx((0.55, 0.5, 9 * 2.2 / 0.5))
    exact, white = momentum_gain(0.01, 10.0), momentum_gain(0.01, 10.0, gradient_noise=GradientNoise(variance=0.01))
    assert exact is not None and white is not None and 1.0 < white.gain < exact.gain
    assert float(white.descent) == pytest.approx(float(exact.descent) + 0.01 * 0.1 / (2 * 1.9), rel=1e-12)
    kept = momentum_gain(0.01, 10.0, gradient_noise=GradientNoise(variance=0.01, gradient=-0.01))
    assert kept is not None and kept.descent == exact.descent and "within one bound" in kept.sentence
    with pytest.raises(DomainError, match="energy"):
        noise.scaled(1.0, 0.0)
    with pytest.raises(DomainError, match="batch_size = 0"):
        SampledGradients(eigenvalues=np.ones(2), batch_size=0)


def test_noise_is_searched_for_methods_that_converge():
    white = Noise(correlation=independent(), rho=0.5, d=3, sigma_sgd=0.1)
    found = best_noise(white, gradient_descent(eta=0.1), mu=0.1, L=1.0, measure="distance")
    assert (found.rho, found.d, found.sigma_sgd) == (0.5, 3, 0.1) and found.correlation != white.correlation
    with pytest.raises(DomainError, match="measure = F"):
        best_noise(white, gradient_descent(eta=0.1), mu=0.1, L=1.0, measure="F")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DomainError, match="spectral radius"):
        best_noise(white, gradient_descent(eta=3.0), mu=0.1, L=1.0)


@pytest.mark.parametrize("changed", [{"initial": 1e300}, {"clip_norm": 1e300}, {"d": 10**300}, {"d": 0}, {"rho": 0.0}])
def test_a_run_is_of_moderate_size(changed):
    with pytest.raises(DomainError, match=next(iter(changed))):
        bound_run(
            independent(), gradient_descent(eta=0.1), 2, **({"mu": 0.1, "L": 1.0, "initial": 1.0, "rho": 0.5} | changed)
        )


def test_a_run_has_the_draws_of_its_budget():
    """gamma_2^2 = 2 for differences, and variances are proportional to d clip_norm^2 / rho."""
    options = {"mu": 0.1, "L": 1.0, "initial": 0.0, "rho": 0.25, "d": 3, "clip_norm": 2.0, "certify": False}
    found = bound_run(anti_pgd(), gradient_descent(eta=0.1), 2, **options)
    assert found.variance == pytest.approx(3 * 4 * 2 / 0.5)
    with pytest.raises(DomainError, match="above 0"):
        bound_run(anti_pgd(), gradient_descent(eta=0.1), 2, **{**options, "mu": 0.0})
