"""Filters with zeros next to the unit circle: never a wrong certificate.

Zeros are placed at distances of 1e-3 to 1e-12 from the circle, on both sides and at any angle, some of them repeatedly;
weights are what floats make of their polynomial. Where its zeros are is then found at a precision that tells (mpmath),
and what `dpbounds.ftrl` says is held against it: the ends of `limiting_sensitivity` must hold the sum of all squares,
or it is inf; a filter with a zero inside must be refused; what is called exact or certified of it must hold.

    python -m tests.fuzz.filters --count 2000
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence

import mpmath
import numpy as np

from dpbounds import AccuracyError, DomainError
from dpbounds.ftrl import correlations as c
from dpbounds.ftrl import linear_regression as lr
from dpbounds.ftrl import strongly_convex as sc

DIGITS = 120
MU, L, ETA, RHO = 0.2, 1.0, 0.5, 0.5


def weights(rng: random.Random) -> list[float]:
    """Those of a polynomial in z of degree 1 to 8 with such zeros."""
    degree, coefficients = rng.randint(1, 8), [mpmath.mpf(1)]
    with mpmath.workdps(DIGITS):
        while len(coefficients) <= degree:
            distance = mpmath.mpf(10) ** -rng.uniform(3, 12) * rng.choice((1, 1, 1, -1))
            angle = rng.choice((0.0, math.pi, rng.uniform(0, math.pi)))
            far = rng.random() < 0.3
            radius = mpmath.mpf(rng.uniform(1.1, 3.0)) if far else 1 + distance
            real = angle in (0.0, math.pi) or len(coefficients) == degree
            # 1 - z / q, with its conjugate where q is not real
            inverse = mpmath.cos(angle) / radius
            factor = [1, -inverse] if real else [1, -2 * inverse, 1 / radius**2]
            if real and angle not in (0.0, math.pi):
                factor = [1, -mpmath.mpf(1) / radius]
            for _ in range(rng.choice((1, 1, 2))):
                if len(coefficients) + len(factor) - 2 <= degree:
                    coefficients = _product(coefficients, factor)
        return [float(x) for x in coefficients]


def _product(x: Sequence[mpmath.mpf], y: Sequence[mpmath.mpf]) -> list[mpmath.mpf]:
    result = [mpmath.mpf(0)] * (len(x) + len(y) - 1)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            result[i + j] += a * b
    return result


def nearest(beta: Sequence[float]) -> mpmath.mpf:
    """The least modulus of a zero of the weights as they are, to 30 digits; inf if there is none."""
    trimmed = list(np.trim_zeros(beta, "b"))
    if len(trimmed) == 1:
        return mpmath.inf
    with mpmath.workdps(DIGITS):
        roots = mpmath.polyroots([mpmath.mpf(x) for x in trimmed[::-1]], maxsteps=500, extraprec=2000)
        return min(abs(root) for root in roots)


def energy(beta: Sequence[float]) -> mpmath.mpf:
    """sum c_t^2 of 1 / B, as the variance of the autoregression: Yule and Walker's equations at `DIGITS` digits."""
    with mpmath.workdps(DIGITS):
        size = len(beta)
        # sum_k beta_k r_|t - k| = (t = 0) / beta_0
        matrix = mpmath.zeros(size)
        for t in range(size):
            for k, weight in enumerate(beta):
                matrix[t, abs(t - k)] += mpmath.mpf(weight)
        right = mpmath.zeros(size, 1)
        right[0] = 1 / mpmath.mpf(beta[0])
        return mpmath.lu_solve(matrix, right)[0]


def wrong(beta: list[float]) -> tuple[str, str]:
    """What was said of the filter, and what is wrong in it (empty if nothing is)."""
    stable = nearest(beta) > 1
    try:
        correlation = c.from_coefficients(beta)
    except AccuracyError:
        return "cannot decide", ""
    except DomainError:
        return "refused", "a filter without a zero inside is refused" if stable else ""
    limit = correlation.limiting_sensitivity()
    if not stable:
        # Zeros on the circle itself are admitted, for finite horizons.
        on_circle = nearest(beta) == 1
        if not (on_circle and math.isinf(limit)):
            return "wrong", f"a zero at modulus {mpmath.nstr(nearest(beta), 20)} and gamma = {limit!r}"
        return "on the circle", _no_certificate(correlation)
    if math.isinf(limit):
        return "wrong", f"all zeros beyond {mpmath.nstr(nearest(beta), 20)} and gamma = inf"
    truth = energy(beta)
    low, high = limit.enclosure or (math.inf, -math.inf)
    if not (low <= mpmath.sqrt(truth) <= high):
        return "wrong", f"gamma = {mpmath.nstr(mpmath.sqrt(truth), 20)} outside {limit.enclosure}"
    return _consequences(correlation, beta, truth)


def _no_certificate(correlation: c.FiniteImpulse) -> str:
    if not math.isinf(lr.suboptimality(correlation, lr.Regression(eigenvalues=np.array([L, MU]), eta=0.1, rho=RHO))):
        return "a finite suboptimality although gamma is infinite"
    try:
        sc.bound(correlation, sc.StronglyConvex(mu=MU, L=L, eta=ETA, rho=RHO), max_lag=0, program="f")
    except DomainError:
        return ""
    return "certified although gamma is infinite"


def _consequences(correlation: c.FiniteImpulse, beta: list[float], squared: mpmath.mpf) -> tuple[str, str]:
    """Suboptimality against exact sums; a certified bound against the error of quadratics, which it may not miss."""
    eigenvalues = np.array([L, MU])
    found = lr.suboptimality(correlation, lr.Regression(eigenvalues=eigenvalues, eta=0.1, rho=RHO))
    truth = _suboptimality(beta, eigenvalues.tolist(), 0.1, squared)
    if not (found.kind == "exact" and abs(found / truth - 1) < 1e-9):
        return "wrong", f"suboptimality {float(found)!r}, in truth {mpmath.nstr(truth, 15)}"
    try:
        bound = sc.bound(correlation, sc.StronglyConvex(mu=MU, L=L, eta=ETA, rho=RHO), max_lag=0, program="f")
    except (AccuracyError, DomainError):
        return "stable, not certified", ""
    for h in (MU, bound.curvature, L):
        # E F of F = h theta^2 / 2: h eta^2 c(x) / (2 x (2 - x)) times the variance of a draw
        x = mpmath.mpf(ETA) * mpmath.mpf(h)
        error = h * ETA**2 / 2 * _power(beta, x) / (x * (2 - x)) * squared / (2 * RHO)
        if float(bound.best) < error * (1 - mpmath.mpf("1e-12")):
            return "wrong", f"certified {float(bound.best)!r}, but h = {h} has the error {mpmath.nstr(error, 15)}"
        if h == bound.curvature and float(bound.lower) > error * (1 + mpmath.mpf("1e-12")):
            return "wrong", f"lower bound {float(bound.lower)!r}, but its quadratic has {mpmath.nstr(error, 15)}"
    return "certified", ""


def _power(beta: Sequence[float], x: mpmath.mpf) -> mpmath.mpf:
    """sum_{t, s} beta_t beta_s (1 - x)^|t - s|."""
    with mpmath.workdps(DIGITS):
        pairs = ((t, s) for t in range(len(beta)) for s in range(len(beta)))
        return mpmath.fsum(mpmath.mpf(beta[t]) * mpmath.mpf(beta[s]) * (1 - x) ** abs(t - s) for t, s in pairs)


def _suboptimality(beta: Sequence[float], spectrum: Sequence[float], eta: float, squared: mpmath.mpf) -> mpmath.mpf:
    """ftrl eq. (83) for Gaussian inputs, as a 2 x 2 system."""
    with mpmath.workdps(DIGITS):
        eta, noise = mpmath.mpf(eta), squared / (2 * mpmath.mpf(RHO))
        eigenvalues = [mpmath.mpf(x) for x in spectrum]
        matrix, right = mpmath.zeros(len(spectrum)), mpmath.zeros(len(spectrum), 1)
        for j, x in enumerate(eigenvalues):
            for k, y in enumerate(eigenvalues):
                matrix[j, k] = -(eta**2) * x * y
            matrix[j, j] += 2 * eta * x - 2 * (eta * x) ** 2
            right[j] = eta**2 * noise * _power(beta, eta * x)
        second = mpmath.lu_solve(matrix, right)
        return mpmath.fsum(x * s for x, s in zip(eigenvalues, second, strict=True)) / 2


def run(count: int, seed: int = 0) -> tuple[Counter[str], list[str]]:
    """What was said of so many filters, and what was wrong."""
    counts, failures = Counter(), []
    for number in range(count):
        beta = weights(random.Random(f"{seed} {number}"))
        said, failure = wrong(beta)
        counts[said] += 1
        failures += [f"{seed} {number}: {failure}: {beta}"] if failure else []
    return counts, failures


def main(arguments: Sequence[str] | None = None) -> int:
    """Status 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    counts, failures = run(chosen.count, chosen.seed)
    print(f"{chosen.count} filters: {', '.join(f'{count} {said}' for said, count in counts.most_common())}")
    print(f"wrong: {len(failures)}")
    print("\n".join(failures))
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
