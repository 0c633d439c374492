"""The programs for strongly convex losses at extreme and at bad input."""

import itertools

import numpy as np
import pytest

from dpbounds import DomainError
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import strongly_convex as sc

# --- extremes ---


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize("L", [1e-200, 1e-49, 1.0, 1e49, 1e200])
def test_extreme_losses_are_solved_or_refused(L):
    """No third way, and no warning."""
    shares, rates = [1.0, 1e-3, 1e-6, 1e-12, 1e-13, 1e-300], [1e-300, 1e-12, 1e-5, 0.1, 1.0, 1.9, 2 - 1e-6, 2.0]
    for share, rate in itertools.product(shares, rates):
        mu, eta = share * L, rate / L
        answers = 1e-50 <= L <= 1e50 and share >= 1e-12 and share * rate >= 1e-12 and rate < 2
        if mu > 0 and eta < np.inf and answers:
            found = sc.bound(
                c.nu(0.1),
                sc.StronglyConvex(mu=mu, L=L, eta=eta, rho=0.5),
                max_lag=2,
                nodes=64,
                certify=False,
                program="f",
            )
            assert 0 < found.lower <= found.value * (1 + 1e-9) < np.inf
        else:
            with pytest.raises(DomainError, match=r"^(mu|L|eta) = .* is not allowed"):
                sc.bound(c.nu(0.1), sc.StronglyConvex(mu=mu, L=L, eta=eta, rho=0.5), max_lag=2, nodes=64, program="f")


LOUD = {"rho": (1e-300, -1), "clip_norm": (1e200, 2), "d": (10**400, 1), "sigma_sgd": (1e200, 2)}
QUIET = {"rho": (1e300, -1), "clip_norm": (1e-200, 2)}
EDGE = {"rho": (1e-49, -1), "clip_norm": (1e-24, 2), "d": (10**9, 1)}


@pytest.mark.usefixtures("signatures_unchecked")
@pytest.mark.parametrize("solver", [sc.bound, sc.best_nu, sc.optimize_correlation])
def test_extreme_noise_is_scaled_or_refused(solver):
    options = {"max_lag": 2, "nodes": 64, "certify": False}
    correlation = (c.nu(0.1),) if solver is sc.bound else ()

    def solved(rho=0.5, **noise):
        found = solver(*correlation, sc.StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=rho, **noise), **options)
        return float(getattr(found, "bound", found).grid_value)

    base, bad = solved(), [(name, x) for name in LOUD for x in (np.nan, np.inf, -np.inf, -1, "x", None)]
    for name, (number, power) in EDGE.items():
        unit = 0.5 if name == "rho" else 1.0
        assert solved(**{name: number}) == pytest.approx(base * (number / unit) ** power, rel=1e-6)
    for name, number in [*bad, *((name, x) for extremes in (LOUD, QUIET) for name, (x, _) in extremes.items())]:
        with pytest.raises(DomainError, match=rf"{name}\S* .*is not allowed"):
            solved(**{name: number})


@pytest.mark.parametrize(
    ("correlation", "message"),
    [
        (c.from_coefficients([1e-200]), "squared limiting sensitivity.* = 1e[+]400 .*1e[+]50"),
        (c.from_coefficients([1e200]), "squared limiting sensitivity.* = 1e-400 "),
        (c.damped_anti_pgd(1e-300), "squared limiting sensitivity.* = 1e[+]299 "),
    ],
)
def test_extreme_correlations_are_refused(correlation, message):
    with pytest.raises(DomainError, match=message):
        sc.bound(correlation, sc.StronglyConvex(mu=0.1, L=1.0, eta=0.5, rho=0.5), certify=False, program="f")


# --- bad input ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"eta": 2.0}, "eta = 2.0 .*below 2 / L = 2; gradient descent diverges"),
        ({"mu": 2.0}, "mu = 2.0 .*at most L = 1"),
        ({"mu": 0.0}, "mu = 0.0 .*above 0"),
        ({"mu": float("nan")}, "mu = nan .*finite"),
        ({"rho": 0.0}, "rho = 0.0 .*above 0"),
        ({"d": 0}, "d = 0"),
        ({"clip_norm": -1.0}, "clip_norm = -1.0"),
        ({"sigma_sgd": -1.0}, "sigma_sgd = -1.0"),
        ({"max_lag": -1}, "max_lag = -1"),
        ({"nodes": 5}, "nodes = 5 .*16"),
        ({"method": "scs"}, "method = scs .*newton, cone"),
        ({"program": "g"}, "program = g .*causal, f, theta, paper"),
        ({"method": "cone"}, "method = cone .*newton with program causal"),
        ({"correlation": c.anti_pgd()}, "correlation = anti-PGD .*finite limiting sensitivity"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    given = {"correlation": c.independent(), "mu": 0.1, "L": 1.0, "eta": 0.5, "rho": 0.5} | arguments
    options = {name: given.pop(name) for name in ("max_lag", "nodes", "method", "program") if name in given}
    with pytest.raises(DomainError, match=message):
        sc.bound(given.pop("correlation"), sc.StronglyConvex(**given), **options)


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (lambda m, s: 0.5 - s, "spectrum at frequency .*from 0 to 1e[+]150"),
        (lambda m, s: 1e300 + s, "spectrum at frequency .*from 0 to 1e[+]150"),
        (lambda m, s: 1.0 / s, "positive and integrable"),
        (lambda m, s: s * np.nan, "spectrum at frequency .*nan"),
        (lambda m, s: 0.0 * s, "positive and integrable"),
    ],
)
def test_densities_that_are_none(density, message):
    with pytest.raises(DomainError, match=message):
        sc.bound_density(density, 0.1, 1.0, 0.5)


def test_noise_and_program_as_they_are():
    noise, program = sc.Noise(correlation=c.nu(0.1), rho=0.5, d=2), sc.Program(name="f", mu=0.1, L=1.0, eta=0.3)
    same = sc.bound(
        c.nu(0.1), sc.StronglyConvex(mu=0.1, L=1.0, eta=0.3, rho=0.5, d=2), program="f", max_lag=3, certify=False
    )
    given = sc.bound_program(noise, program, max_lag=3, certify=False)
    assert given.value == same.value and given.noise == same.noise and given.program == same.program
    for name, arguments in (("correlation", (noise, same)), ("problem", (c.nu(0.1), program))):
        with pytest.raises(DomainError, match=f"^{name} = "):
            sc.bound(*arguments, certify=False, program="f")
