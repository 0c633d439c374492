"""Beyond the paper: for which weights (5) holds, and what it then is, decided without rounding."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from dpbounds.ftrl.correlations import from_coefficients
from dpbounds.ftrl.correlations.step_down import step_down
from verify.checks import Agreement, Fact, Times
from verify.statements.claims import Claim

# Factors whose zeros all lie on the circle, and one with its zero outside.
ON_THE_CIRCLE = ([1, -1], [1, 1], [1, 0, 1], [1, 1, 1], [1, -1.5, 1], [1, -2, 1])


def _ill_conditioned(rng: np.random.Generator) -> np.ndarray:
    """Weights with up to 5 zeros next to the circle, on either side, many close together."""
    zeros = []
    while len(zeros) < rng.integers(1, 6):
        zero = (1 + rng.choice([-1, 1, 1]) * 10 ** rng.uniform(-12, -2)) * np.exp(1j * rng.uniform(0, np.pi))
        zeros += [zero.real] if rng.random() < 0.3 else [zero, zero.conjugate()]
    return np.real(np.poly(1 / np.array(zeros)))


def _isolated(beta: np.ndarray) -> str:
    """Where the zeros lie, by discs that isolate all roots of the same rational polynomial."""
    with flint.ctx.workprec(300):
        exact: Any = flint.fmpq_poly([flint.fmpq(*float(weight).as_integer_ratio()) for weight in beta])
        moduli = [abs(flint.acb(root)) for root, _ in exact.complex_roots()]
    if any(modulus < 1 for modulus in moduli):
        return "inside"
    return "outside" if all(modulus > 1 for modulus in moduli) else "circle"


def _places(rng: np.random.Generator) -> Iterator[Fact]:
    found, isolated = [], []
    for _ in range(200):
        beta = _ill_conditioned(rng)
        found.append(step_down(tuple(beta.tolist())).place)
        isolated.append(_isolated(beta))
    yield Fact("200 filters with zeros next to the circle", found, isolated, 0)
    for first in ON_THE_CIRCLE:
        for second in ON_THE_CIRCLE[:3]:
            for outer, place in (([1, -0.25], "circle"), ([1, -4], "inside"), ([1, -2.5, 1], "inside")):
                beta = np.convolve(np.convolve(first, second), outer).astype(float)
                label = f"zeros of {first}, {second} and {outer}"
                yield Fact(label, step_down(tuple(beta.tolist())).place, place, 0)


def _limits(rng: np.random.Generator) -> Iterator[Fact]:
    """gamma_oo of 1 / ((1 - a z)(1 - b z)) in rational numbers, of long filters by summing the series."""
    a, b = Fraction(1048575, 1048576), Fraction(262143, 262144)
    squared = (1 + a * b) / ((1 - a**2) * (1 - b**2) * (1 - a * b)) / 9
    beta = [3.0, -3 * float(a + b), 3 * float(a * b)]
    yield Fact("zeros at 1 + 1e-6 and 1 + 4e-6", float(squared) ** 0.5, _limit(beta), 1e-15)
    for order in (2, 5, 9):
        beta = np.r_[1.5, 0.6 * rng.uniform(-1, 1, order) / order]
        series = from_coefficients(beta).inverse_coefficients(2000)
        yield Fact(f"order {order}", float(np.linalg.norm(series)), _limit(beta.tolist()), 1e-13)


def _limit(beta: list[float]) -> float:
    return float(from_coefficients(beta).limiting_sensitivity())


MINIMUM_PHASE = Claim(
    id="ftrl/beyond-minimum-phase",
    where="beyond the paper: weights for which the limit is as printed",
    kind="inequality",
    statement=(
        (
            "For finitely many weights (5) holds and is finite if and only if all zeros of $B(z)$ lie outside the "
            "closed unit disc, that is all reflection coefficients $k_i$ are below 1 in modulus;"
        ),
        "then $gamma_oo^(-2) = beta_0^2 product_i (1 - k_i^2)$.",
    ),
    setting="Zeros at distances of $10^(-12)$ to $10^(-2)$ from the circle, on it, and inside.",
    checks=(
        Agreement(
            decides="a",
            facts=_places,
            impostors={
                "all outside": {
                    "facts": lambda rng: [Fact("zeros of 1 - z", step_down((1.0, -1.0)).place, "outside", 0)]
                }
            },
        ),
        Agreement(decides="b", facts=_limits, impostors={"1e-12 off": {"facts": Times(1 + 1e-12)}}),
    ),
)
