"""Beyond the paper: what momentum buys under correlated noise, every method as fast on the slowest quadratic."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl.methods import best_method, method_of_rate, momentum_gain
from dpbounds.ftrl.methods.linear import MethodName
from dpbounds.ftrl.strongly_convex import StronglyConvex, least_error
from verify.checks import Agreement, Fact, Holds, Within
from verify.statements.claims import Claim

KAPPA, RATE = 10.0, 0.01
NAMES: tuple[MethodName, ...] = ("gd", "heavy-ball", "nesterov", "triple")


def _gain(rng: np.random.Generator, most: float = 1.0 / 19.0) -> Iterator[Fact | Within | Holds]:
    """Certified: heavy ball with the best noise found against gradient descent with any noise, both of rate 0.01."""
    found = best_method(RATE, KAPPA, rho=0.5, methods=("heavy-ball",), noises=("arma",)).best
    descent = StronglyConvex(mu=1.0 / KAPPA, L=1.0, eta=RATE * KAPPA, rho=0.5)
    share = float(found.value) / float(least_error(FLOATS, descent))
    yield Holds("the bound of heavy ball is certified", found.is_certified)
    yield Within("heavy ball over the least of gradient descent", share, 0.01, most, numbers={"gain": 1.0 / share})


def _white(rng: np.random.Generator, least: float = 0.45) -> Iterator[Within]:
    """Upper ends of both with white noise, at the same rate."""
    white = best_method(RATE, KAPPA, rho=0.5, methods=("gd", "heavy-ball"), noises=("white",), certify=False)
    bounds = {row.method.name: float(row.value) for row in white.rows}
    share = bounds["heavy ball"] / bounds["gradient descent"]
    yield Within("the bound of heavy ball over that of gradient descent", share, least, 0.53)


def _rates(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact]:
    """The slowest mode of each method."""
    for name in NAMES:
        for mu, rate in ((0.1, 0.01), (0.01, 0.1)):
            found = method_of_rate(name, factor * rate, mu).rate(mu, mu)
            yield Fact(f"{name}, mu = {mu:g}, r = {rate:g}", found, rate, 1e-4)


def _careful(rng: np.random.Generator, most: float = 0.25) -> Iterator[Fact | Within | Holds]:
    """Certified: Nesterov's method of rate 0.02 against gradient descent of rate 0.01 with any noise."""
    found = momentum_gain(RATE, KAPPA)
    yield Holds("momentum is proved to pay", found is not None)
    if found is not None:
        yield Holds("its bound is certified", found.nesterov.is_certified)
        yield Fact("its rate", found.nesterov.method.rate(1.0 / KAPPA, 1.0), 2.0 * RATE, 1e-4)
        yield Within("Nesterov over the least of gradient descent", 1.0 / found.gain, 0.01, most)
    yield Holds("nothing is said where gradient descent is too fast", momentum_gain(0.11, KAPPA) is None)


CHOICE = Claim(
    id="ftrl/beyond-methods-choice",
    where="beyond the paper: momentum under correlated noise",
    kind="inequality",
    statement=(
        (
            r"At $kappa = 10$ and $r = 0.01$ heavy ball with noise $(1 - a z)\/(1 - c z)$ has a worst case at most "
            "$1\\/19$ of what gradient descent has with any noise of the same privacy."
        ),
        "With white noise for both the bound of heavy ball is about half of that of gradient descent.",
        r"Gradient descent with $eta = r\/mu$, heavy ball and Nesterov's method with $eta = r^2\/mu$ and triple "
        r"momentum with $eta = r^2 (2 - r)\/mu$ have the rate $r$ on the quadratic of curvature $mu$.",
        r"Nesterov's method of the rate $2 r$ with noise $(1 - a z)\/(1 - c z)$ has a worst case at most $1\/4$ of "
        "what gradient descent of the rate $r$ has with any noise.",
    ),
    hypotheses=(
        r"$F$ $mu$-strongly convex and $L$-smooth, draws independent of the past, no clipping; for heavy ball the "
        "average over time."
    ),
    remark=r"It is ${gain:3}$ times smaller. On the class the methods are not known to be equally fast; "
    r"Nesterov's at $2 r$ is as fast as gradient descent at $r$ as far as is proved, $1 - 2 r <= (1 - r)^2$.",
    checks=(
        Agreement(decides="a", facts=_gain, impostors={"a gain of 25": {"facts": {"most": 1.0 / 25.0}}}),
        Agreement(decides="b", facts=_white, impostors={"above 0.55": {"facts": {"least": 0.55}}}),
        Agreement(decides="c", facts=_rates, impostors={"1 % faster": {"facts": {"factor": 1.01}}}),
        Agreement(decides="d", facts=_careful, impostors={"a gain of 5": {"facts": {"most": 0.2}}}),
    ),
)
