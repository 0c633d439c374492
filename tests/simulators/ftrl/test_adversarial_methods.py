"""The search for the worst loss of a method: between the worst quadratic and the certified bound, against densities,
scans and the search for gradient descent.

Were the seeds drawn afresh, each of a dozen intervals would alarm falsely at a rate of 1e-9, or a few times that where
the samples are skewed.
"""

from __future__ import annotations

import numpy as np
import pytest

from dpbounds.errors import AccuracyError, DomainError
from dpbounds.ftrl.correlations import HalfPowers, from_coefficients, independent, nu
from dpbounds.ftrl.methods import LinearMethod, bound_method, gradient_descent, heavy_ball, nesterov, triple_momentum
from dpbounds.ftrl.strongly_convex import Noise
from simulators.engine import Experiment
from simulators.ftrl import (
    MethodOnLoss,
    adversarial_method_lower,
    first_order,
    kinked_quadratic,
    method_settings,
    piecewise_quadratic,
)
from tests.simulators.ftrl.strongly_convex_oracles import white_error

ALPHA = 1e-9
pytestmark = pytest.mark.usefixtures("signatures_unchecked")


def search(method, correlation=None, mu=0.1, L=1.0, measure="f", **options):
    """A small search: half a second or less."""
    given = {name: options.pop(name) for name in ("d", "clip_norm", "sigma_sgd", "rho") if name in options}
    noise = Noise(correlation=correlation or independent(), **{"rho": 0.5, **given})
    budget = {"population": 20, "generations": 4, "search_trials": 16, "trials": 600, **options}
    return adversarial_method_lower(noise, method, mu=mu, L=L, measure=measure, **budget)


@pytest.mark.parametrize(
    ("method", "correlation", "measure", "d"),
    [
        (gradient_descent(eta=0.9), from_coefficients([1.0, -0.7, 0.2]), "gradient", 2),
        (heavy_ball(eta=0.1, momentum=0.7), independent(), "f", 1),
        (heavy_ball(eta=0.5, momentum=0.2), from_coefficients([1.0, -0.9]), "distance", 2),
        (nesterov(eta=1.0, momentum=0.5), HalfPowers((0.6, 0.6), (0.2, 0.2)), "f", 2),
        (nesterov(eta=1.0, momentum=0.5), independent(), "gradient", 1),
        (triple_momentum(eta=1.2, b=0.3, g=0.1, d=0.2), from_coefficients([1.0, 0.5]), "f", 1),
        (gradient_descent(eta=1.0).averaged(decay=0.9), from_coefficients([1.0, -0.9]), "f", 1),
        (gradient_descent(eta=1.0).averaged(decay=0.9), independent(), "distance", 1),
    ],
)
def test_the_worst_loss_is_in_the_class_below_the_bound_and_not_better_than_quadratics(method, correlation, measure, d):
    found = search(method, correlation, measure=measure, d=d, sigma_sgd=0.5)
    noise = Noise(correlation=correlation, rho=0.5, d=d, sigma_sgd=0.5)
    bound = bound_method(noise, method, mu=0.1, L=1.0, measure=measure)
    low, high = found.interval(ALPHA)
    assert bound.is_certified
    assert found.value.kind == "estimate"
    assert found.loss.dimension == d
    assert 0.1 * (1.0 - 1e-12) <= found.loss.mu <= found.loss.L <= 1.0 + 1e-12
    assert low <= bound.value
    assert high >= bound.lower
    assert high - low < 0.35 * found.value


def test_white_descent_finds_nearly_the_worst_huber_loss():
    """The stationary density of the loss that it found has the same mean."""
    widths = np.geomspace(0.13, 0.3, 3).tolist()
    hubers = [white_error(piecewise_quadratic((-width, width), (0.05, 1.0, 0.05)), 0.4, 1.0) for width in widths]
    found = search(gradient_descent(eta=0.4), mu=0.05, generations=5)
    low, high = found.interval(ALPHA)
    exact = white_error(found.loss, 0.4, 1.0)
    assert low <= exact <= high
    assert exact > 0.97 * max(hubers)


@pytest.mark.parametrize(("output", "gain"), [("x", 1.4), ("y", 0.95)])
def test_momentum_finds_what_a_scan_of_valleys_finds(output, gain):
    """Nesterov's method, kappa = 10: at theta stiff valleys exceed every quadratic by 40 %; at y they do not.

    Standard errors are about 1 % of the means.
    """
    method = nesterov(eta=1.0, momentum=0.5195).output(output)
    scanned = []
    for width in np.geomspace(0.2, 1.5, 5).tolist():
        problem = MethodOnLoss(loss=piecewise_quadratic([-width, width], [0.1, 1.0, 0.1]), method=method)
        settings = method_settings(problem, independent(), rho=0.5)
        run = Experiment(algorithm=first_order, problem=problem, settings=settings, block_trials=1000)
        scanned.append(run.run_block(0, seed=1)["mean_f"].mean())
    found = search(method, trials=1000)
    quadratic = bound_method(Noise(correlation=independent(), rho=0.5), method, mu=0.1, L=1.0, certify=False).lower
    assert found.value > 0.95 * max(*scanned, float(quadratic))
    assert found.value > gain * float(quadratic)


def test_where_all_losses_are_quadratic_the_error_is_exact():
    found = search(heavy_ball(eta=0.5, momentum=0.3), mu=1.0, population=16, generations=1, trials=4000)
    noise = Noise(correlation=independent(), rho=0.5)
    exact = bound_method(noise, heavy_ball(eta=0.5, momentum=0.3), mu=0.999, L=1.0, certify=False).lower
    low, high = found.interval(ALPHA)
    assert low <= exact <= high
    assert high - low < 0.2 * exact


def test_the_last_runs_can_be_repeated_without_the_search():
    method, correlation = nesterov(eta=1.0, momentum=0.5), from_coefficients([1.0, -0.5])
    options = {"population": 16, "generations": 2, "trials": 50, "sigma_sgd": 0.5, "clip_norm": 2.0}
    found = search(method, correlation, seed=3, **options)
    problem = MethodOnLoss(loss=found.loss, method=method, sigma_sgd=0.5)
    kinked = MethodOnLoss(loss=kinked_quadratic(0.1, 1.0), method=method, sigma_sgd=0.5)
    settings = method_settings(kinked, correlation, 0.5, clip_norm=2.0)
    runs = Experiment(algorithm=first_order, problem=problem, settings=settings, block_trials=50)
    means = runs.run_block(0, seed=3)["mean_f"]
    assert found.value == pytest.approx(means.mean(), rel=1e-12)
    assert found.standard_error == pytest.approx(means.std(ddof=1) / np.sqrt(50), rel=1e-12)
    assert search(method, correlation, seed=3, **options) == found
    assert search(method, correlation, seed=4, **options) != found


def test_a_method_that_leaves_all_floats_is_named():
    """Stable on every quadratic, but the kinked quadratic pumps it: by 9 % a step."""
    method = heavy_ball(eta=3.4472, momentum=0.9895)
    with pytest.raises(AccuracyError, match="heavy ball: it diverges on a loss of the class"):
        search(method, mu=0.08576, population=16, generations=1, search_trials=2, trials=4)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"d": 3}, "^d = 3 .*1 or 2"),
        ({"population": 8}, "^population = "),
        ({"generations": 0}, "^generations = "),
        ({"trials": 1}, "^trials = "),
        ({"search_trials": 0}, "^search_trials = "),
        ({"seed": -1}, "^seed = "),
        ({"mu": 2.0}, "^mu = "),
        ({"mu": 0.0}, "^mu = "),
        ({"measure": "loss"}, "^measure = "),
        ({"correlation": nu(0.2)}, "^correlation = "),
        ({"method": gradient_descent(eta=2.5)}, "^method = gradient descent"),
        ({"method": gradient_descent(eta=1e-6)}, "runs = .*minutes"),
    ],
)
def test_searches_outside_their_ranges_are_refused(options, message):
    with pytest.raises(DomainError, match=message):
        search(**{"method": heavy_ball(eta=0.1, momentum=0.5), **options})


def test_a_method_by_matrices_is_searched_too():
    """Gradient descent whose gradient is taken between the last two iterates."""
    delayed = LinearMethod(
        A=np.array([[1.0, 0.0], [1.0, 0.0]]),
        B=np.array([-0.3, 0.0]),
        C=np.array([0.5, 0.5]),
        row=np.array([1.0, 0.0]),
        name="delayed descent",
    )
    found = search(delayed)
    bound = bound_method(Noise(correlation=independent(), rho=0.5), delayed, mu=0.1, L=1.0)
    low, high = found.interval(ALPHA)
    assert bound.lower <= high and low <= bound.value
