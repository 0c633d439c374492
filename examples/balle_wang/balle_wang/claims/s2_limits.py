"""Section 2: the classical calibration and its limits."""

import numpy as np

from balle_wang import theory
from balle_wang.algorithms import calibrate
from dpbounds.arithmetic import FLOATS
from verify import Claim, Picture, Real, Series
from verify.checks import Agreement, Fact, Identity, Inequality, Times, Within


def classical_delta(m, epsilon, delta):
    return theory.delta(m, epsilon, theory.classical(m, epsilon, delta))


def itself(m, epsilon, delta):
    return delta


CLASSICAL = Claim(
    id="balle_wang/thm-1",
    where="Theorem 1",
    kind="inequality",
    statement="With $sigma = sqrt(2 log(1.25 \\/ delta)) \\/ epsilon$ the Gaussian mechanism is $(epsilon, delta)$-DP.",
    hypotheses="$0 < epsilon, delta < 1$; tried for $epsilon >= 0.01$, $delta >= 10^(-8)$.",
    checks=(
        Inequality(
            smaller=classical_delta,
            larger=itself,
            box={"epsilon": Real(0.01, 1, "log"), "delta": Real(1e-8, 1, "log")},
            certify=False,
            impostors={"an eighth of delta": {"larger": Times("0.125")}},
        ),
    ),
)


def total_variation(m, delta):
    sigma = theory.for_zero_epsilon(m, delta)
    return 2 * m.ndtr(1 / (2 * sigma)) - 1


def all_of_it(m, delta):
    return delta


ZERO = Claim(
    id="balle_wang/zero-epsilon",
    where="Section 2.1",
    kind="inequality",
    statement="With $sigma = 1 \\/ (2 delta)$ the mechanism is $(0, delta)$-DP.",
    hypotheses="$0 < delta < 1$.",
    checks=(
        Inequality(
            smaller=total_variation,
            larger=all_of_it,
            box={"delta": Real(1e-6, 1, "log")},
            impostors={"three quarters of the noise": {"smaller": Times("4/3")}},
        ),
    ),
)

SHARP = Claim(
    id="balle_wang/beyond-zero-epsilon",
    where="beyond Section 2.1",
    kind="identity",
    statement="With $epsilon = 0$ the least $sigma$ is $1 \\/ (2 Phi^(-1)((1 + delta) \\/ 2))$.",
    hypotheses="$0 < delta < 1$.",
    checks=(
        Identity(
            left=lambda m, delta: theory.delta(m, 0 * delta, 1 / (2 * m.ndtri((1 + delta) / 2))),
            right=all_of_it,
            box={"delta": Real(1e-6, 0.99, "log")},
            impostors={"the noise of Section 2.1": {"left": total_variation}},
        ),
    ),
)


def start_bound(m, epsilon):
    """Mills' inequality in the formula of the start."""
    return 0.5 - 1 / m.sqrt(4 * m.pi * epsilon)


LOW_PRIVACY = Claim(
    id="balle_wang/beyond-low-privacy",
    where="beyond Theorem 4, Section 2.3",
    kind="inequality",
    statement=(
        "$sigma = 1 \\/ sqrt(2 epsilon)$ costs at least $delta = 1 \\/ 2 - 1 \\/ sqrt(4 pi epsilon)$, so that below "
        "this $delta$ no smaller $sigma$ is $(epsilon, delta)$-DP.",
    ),
    hypotheses="$epsilon$ from $1 \\/ 2$ to 10; $delta$ falls as $sigma$ grows (Lemma 7).",
    checks=(
        Inequality(
            smaller=start_bound,
            larger=theory.start,
            box={"epsilon": Real(0.5, 10, "log")},
            impostors={"half of the tail": {"smaller": lambda m, epsilon: 0.5 - 1 / m.sqrt(16 * m.pi * epsilon)}},
        ),
    ),
)

EPSILONS, DELTAS, TINY = (0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99), (1e-6, 1e-4, 1e-2), 1e-10


def shares(delta):
    """The variance of Algorithm 1 over that of Theorem 1."""
    return [(calibrate(epsilon, delta) / theory.classical(FLOATS, epsilon, delta)) ** 2 for epsilon in EPSILONS]


def savings(rng, most=2 / 3):
    """Where the claim is decided: at most two thirds are left, and the rest falls with epsilon."""
    for delta in DELTAS:
        left = np.array(shares(delta))
        yield Within(f"variance left at delta = {delta:g}, at most", left.max(), most=most)
        yield Within(f"its growth with epsilon at delta = {delta:g}, at least", np.diff(left).min(), least=0.0)
    yield Within(f"variance left at epsilon = {EPSILONS[-1]:g}, delta = {TINY:g}, at least", shares(TINY)[-1], 2 / 3)
    yield Fact("classical noise at epsilon = 1, delta = 1.25 / e^2", theory.classical(FLOATS, 1.0, 1.25 / np.e**2), 2.0)


def saved():
    """The share that is left, against epsilon."""
    curves = [
        Series(curve=f"$delta = 10^({round(np.log10(delta))})$", role="exact", x=list(EPSILONS), y=shares(delta))
        for delta in DELTAS
    ]
    return Picture(x="$epsilon$", y="variance, analytic over classical", log=("x",), series=curves)


THIRD = Claim(
    id="balle_wang/third",
    where="Abstract",
    kind="number",
    statement="In experiments, analytic calibration removes at least a third of the classical mechanism's variance.",
    hypotheses="$epsilon < 1$; tried for $delta = 10^(-6), 10^(-4), 10^(-2)$.",
    remark="For much smaller $delta$, and $epsilon$ near the end of its range, it removes less.",
    checks=(Agreement(facts=savings, picture=saved, impostors={"at least half": {"facts": {"most": 0.5}}}),),
)
