"""Where the zeros of finitely many weights lie, decided without rounding: Schur-Cohn step-down in balls, then exactly.

B(z) = sum_t beta_t z^t has no zero in the closed unit disc iff every reflection coefficient k_i is below 1 in modulus;
then sum_t c_t^2 of 1 / B = sum_t c_t z^t is 1 / (beta_0^2 prod_i (1 - k_i^2)) (Levinson-Durbin). Floats take a zero at
|z| = 0.9999998 of a sixth-order filter to the wrong side; balls say when they cannot tell, and are then narrowed. What
no precision tells, a zero on the circle itself, is decided in rational numbers.

>>> [step_down(beta).place for beta in ((1.0, -0.5), (1.0, -1.0), (1.0, -2.0))]
['outside', 'circle', 'inside']
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from dpbounds.circle.polynomials import exact
from dpbounds.errors import AccuracyError

Place = Literal["outside", "circle", "inside"]

# Bits at which balls are tried, and the largest degree that is decided in rational numbers.
PRECISIONS = (128, 512, 2048, 8192)
LARGEST_EXACT = 64
# Steps of the step-down, at 512 bits, that one decision may cost: about ten seconds.
MOST_STEPS = 3e7
# Relative width at which an enclosure of the squared norm is one float.
NARROW = 2.0**-60


@dataclass(frozen=True)
class StepDown:
    """`place`: all zeros outside the closed disc, some on the circle and none inside, or some inside the open disc.
    `inverse_norm`: a ball (flint arb) around sqrt(sum_t c_t^2) if all are outside, else None: the sum diverges.
    `reflection`: the reflection coefficients from the last, up to the first that is not below 1 in modulus.
    """

    place: Place
    reflection: tuple[float, ...]
    inverse_norm: Any = None


@lru_cache(maxsize=256)
def step_down(beta: tuple[float, ...]) -> StepDown:
    """Decide where the zeros of sum_t beta_t z^t lie; beta_0 is not 0.

    Raises `AccuracyError` where neither balls of 8192 bits nor, at that degree, rational numbers decide it, and where
    that would take too long (5000 weights, 1300 if they are ill-conditioned).
    """
    import flint

    weights = [exact(weight) for weight in beta]
    for precision in PRECISIONS:
        if len(weights) ** 2 * max(precision / 512, 1.0) > MOST_STEPS:
            raise AccuracyError(
                f"zeros of {len(weights)} weights: to decide with {precision} bits on which side of the unit circle "
                "they lie would take too long; take fewer weights, or another form of the correlation"
            )
        with flint.ctx.workprec(precision):
            found = _in_balls([flint.arb(weight) for weight in weights])
        if found is not None:
            return found
    if len(weights) - 1 > LARGEST_EXACT:
        raise AccuracyError(
            f"zeros of {len(weights)} weights: some lie so near the unit circle that balls of {PRECISIONS[-1]} bits "
            f"cannot tell on which side, and degrees above {LARGEST_EXACT} are not decided exactly; damp the weights"
        )
    return StepDown(*_exactly(weights))


def _in_balls(row: list[Any]) -> StepDown | None:
    """By step-down from the last weight; None where the balls are too wide."""
    energy, reflections = 1 / (row[0] * row[0]), []
    while len(row) > 1:
        reflection = row[-1] / row[0]
        reflections.append(float(reflection))
        left = 1 - reflection * reflection
        if left < 0:
            return StepDown("inside", tuple(reflections))
        if not left > 0:
            return None
        energy /= left
        row = [x - reflection * y for x, y in zip(row[:-1], row[:0:-1], strict=True)]
    narrow = energy.rad() < NARROW * energy.mid()
    return StepDown("outside", tuple(reflections), energy.sqrt()) if narrow else None


def _exactly(row: Sequence[Any]) -> tuple[Place, tuple[float, ...]]:
    """The same in rational numbers. |k| = 1 means that the zeros' moduli multiply to 1: they all lie on the circle, or
    one lies inside. The first needs weights that read the same backwards, up to a sign, and then (Cohn) a derivative
    without zeros outside the closed disc, so that backwards it has none inside.
    """
    row, reflections = list(row), []
    while len(row) > 1:
        reflection = row[-1] / row[0]
        reflections.append(float(reflection.p) / float(reflection.q))
        if reflection * reflection >= 1:
            return ("circle" if _all_on_the_circle(row, reflection) else "inside"), tuple(reflections)
        row = [x - reflection * y for x, y in zip(row[:-1], row[:0:-1], strict=True)]
    return "outside", tuple(reflections)


def _all_on_the_circle(row: Sequence[Any], reflection: Any) -> bool:
    """Where the last reflection coefficient is at least 1 in modulus; else all zeros may be outside."""
    if row != [reflection * weight for weight in reversed(row)]:
        return False
    derivative = [order * weight for order, weight in enumerate(row)][1:]
    return _exactly(derivative[::-1])[0] != "inside"
