"""The terms of Theorems 14, 17 and 25, each by itself, against exact errors in designs of two-point coordinates."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from dpbounds.glm import TwoPointDesign, bounds, privacy
from dpbounds.glm.bounds import Covariance
from verify.checks import Fact, Search, Within
from verify.checks.domains import Real
from verify.papers.glm.tools.bounded_designs import (
    SKEWED,
    SYMMETRIC,
    design_of,
    limit_bias,
    noise_deviation,
    public_deviation,
    signs,
)

FAILURE, DELTA, EPSILON, N = 0.05, 1e-6, 0.5, 10**12


def exact_deviation(p: int, share: float, omega: float, *, link: str = "logistic", n: int = N) -> float:
    """Of one coordinate of w_hat - w* by the printed noise: x_j = +-share / p, radius 1, w* = omega in every one."""
    scales = privacy.noise_scales(EPSILON, DELTA, radius=1.0)
    return noise_deviation(signs(p, share / p), omega, scales, link=link, n=n)[0]


def stated(p: int, share: float, omega: float, *, delta: float = DELTA, failure: float = FAILURE) -> bounds.Rate:
    """Theorem 14 at the same point."""
    variance = (share / p) ** 2
    covariance = Covariance(norm=variance, least=variance, root_row_norm=math.sqrt(variance))
    return bounds.general_rate(omega, covariance, p=p, n=N, m=N, epsilon=EPSILON, delta=delta, failure=failure)


def growing(rng: np.random.Generator) -> Iterator[Within]:
    """The exact deviation over the privacy term, in the paper's own design, w* = 1 / sqrt p in every coordinate."""
    ratio = {p: exact_deviation(p, 1.0, p**-0.5) / float(stated(p, 1.0, p**-0.5).privacy) for p in (4, 64)}
    numbers = {"small": ratio[4], "large": ratio[64], "wide": 64}
    yield Within("the ratio at p = 64 over that at p = 4", ratio[64] / ratio[4], 0.0, 2.0, numbers=numbers)


def _grows(p: float, delta: float, failure: float, *, power: float = 1.0) -> tuple[float, float]:
    """16 p / sqrt log(p / xi^2) against that ratio: c >= 4, lambda = 1 / p^2, and of the noise of x y what is
    orthogonal to w* gives c sigma_2 sqrt((1 - 1 / p) / n) / lambda alone.
    """
    p = round(p)
    scales = privacy.noise_scales(EPSILON, delta, radius=1.0)
    exact, _ = noise_deviation(signs(p, 1.0 / p), p**-0.5, scales, link="logistic", n=N)
    printed = float(stated(p, 1.0, p**-0.5, delta=delta, failure=failure).privacy)
    return 16 * p**power / math.sqrt(math.log(p / failure**2)), exact / printed


_LEVELS = {"delta": Real(1e-12, 0.5, "log"), "failure": Real(1e-6, 0.5, "log")}
GROWS = Search(
    sides=_grows,
    box={"p": Real(2.0, 256.0, "log"), **_LEVELS},
    evaluations=30,
    impostors={"p^2": {"sides": {"power": 2.0}}},
)


def _problem(p: float, share: float, omega: float, skewed: float) -> tuple[TwoPointDesign, float]:
    """A design and omega such that |<x, w*>| <= 2, and 1/2 for p = 1: beyond, M is small or no root exists."""
    dimension = round(p)
    design = design_of(SKEWED if skewed > 0.5 else SYMMETRIC, dimension, share)
    return design, min(omega, (2.0 if dimension > 1 else 0.5) / share)


def _repaired(
    p: float,
    share: float,
    omega: float,
    delta: float,
    skewed: float = 1.0,
    label: float = 1.0,
    *,
    constant: float = 12.0,
    cross: float = 1.0,
    gram: float = 1.0,
    link: str = "logistic",
    squared: bool = False,
) -> tuple[float, float]:
    """The exact deviation against C c sqrt(p) r (B + r sqrt(p) omega / c) eta', r = 1."""
    (design, omega), dimension = _problem(p, share, omega, skewed), round(p)
    scales = privacy.noise_scales(EPSILON, delta, radius=1.0, label_bound=label)
    exact, c = noise_deviation(design, omega, scales, link=link, n=N)
    covariance = Covariance(norm=design.variance, least=design.variance)
    level = bounds.noise_level(covariance, EPSILON, delta, N, dimension, FAILURE, squared=squared)
    bound = c * math.sqrt(dimension) * (cross * label + gram * math.sqrt(dimension) * omega / c) * level
    return exact, constant * bound


_BOX = {"p": Real(1.0, 64.0, "log"), "share": Real(1e-3, 1.0, "log"), "omega": Real(1e-3, 200.0, "log")}
_SHAPES = {**_BOX, "skewed": Real(0.0, 1.0)}


def repair(link: str, *, squared: bool = False, labels: bool = False) -> Search:
    """The corrected privacy term, `squared`: with eta for eta'; `labels`: with B from 0.1 to 100, skewed designs, else
    B = 1.
    """
    more = {"label": Real(0.1, 100.0, "log")} if labels else {"skewed": _SHAPES["skewed"]}
    return Search(
        sides=partial(_repaired, link=link, squared=squared),
        box={**_BOX, "delta": _LEVELS["delta"], **more},
        evaluations=40,
        impostors={
            "a hundredth of C": {"sides": {"constant": 0.12}},
            "without B" if labels else "without 1": {"sides": {"cross": 0.0}},
            "without r norm(w*) / c": {"sides": {"gram": 0.0}},
        },
    )


def _biased(
    p: float, share: float, omega: float, skewed: float, *, link: str, power: int = 2, constant: float = 0.5
) -> tuple[float, float]:
    """The bias against C omega^2 max{1, omega^2} / sqrt p."""
    design, omega = _problem(p, share, omega, skewed)
    exact = limit_bias(design, np.full(design.p, omega), link=link)
    return exact, constant * omega**power * max(1.0, omega**2) / math.sqrt(design.p)


def _biased_at(w: np.ndarray, share: float, skewed: float, *, link: str, constant: float = 0.5) -> tuple[float, float]:
    """The same for weights of all kinds, none smaller than 0.1 in the largest."""
    w = w + 0.1 * np.sign(w[0] or 1.0) * (np.arange(len(w)) == 0)
    omega = float(np.abs(w).max())
    design = design_of(SKEWED if skewed > 0.5 else SYMMETRIC, len(w), share)
    return limit_bias(design, w, link=link), constant * (omega * max(1.0, omega)) ** 2 / math.sqrt(len(w))


def bias_term(link: str) -> Search:
    """The third term, equal weights in up to 512 dimensions."""
    bent = link not in ("logistic", "sigmoid")
    return Search(
        sides=partial(_biased, link=link),
        box={**_SHAPES, "p": Real(1.0, 512.0, "log")},
        extremal=lambda: (
            {"p": 2.0, "share": 1.0, "omega": 1e-3, "skewed": 1.0},
            {"p": 512.0, "share": 1.0, "omega": 1 / 512, "skewed": 1.0},
            {"p": 2.0, "share": 1.0, "omega": 1.0, "skewed": 0.0},
        ),
        evaluations=60,
        impostors={"a thousandth of C": {"sides": {"constant": 5e-4}}}
        | ({"omega^3": {"sides": {"power": 3}}} if bent else {}),
    )


def bias_by_weights(link: str) -> Search:
    """The third term, weights of all kinds in three dimensions."""
    return Search(
        sides=partial(_biased_at, link=link),
        box={"w": (Real(-2.0, 2.0), 3), "share": Real(1e-2, 1.0, "log"), "skewed": Real(0.0, 1.0)},
        evaluations=30,
        impostors={"a thousandth of C": {"sides": {"constant": 5e-4}}},
    )


def _public(
    p: float, share: float, omega: float, skewed: float, *, link: str, constant: float = 1.0
) -> tuple[float, float]:
    """What m public records add to the error, times sqrt m, against C omega^2 max{1, omega^2} ||Sigma||^{1/2} p."""
    design, omega = _problem(p, share, omega, skewed)
    bound = omega**2 * max(1.0, omega**2) * math.sqrt(design.variance) * design.p
    return public_deviation(design, omega, link=link), constant * bound


def public_term(link: str, constant: float) -> Search:
    """The first term of (7)."""
    return Search(
        sides=partial(_public, link=link, constant=constant),
        box=_SHAPES,
        evaluations=60,
        impostors={"a quarter": {"sides": {"constant": constant / 4}}},
    )


def _public_17(
    p: float, omega: float, m: float, *, link: str = "poisson", constant: float = 1.0
) -> tuple[float, float]:
    """The same against that of (9), x_j = +-1 / p and so mu~ = 1 / p, at m."""
    p, m = round(p), round(m)
    covariance = Covariance(norm=p**-2.0, least=p**-2.0)
    rate = bounds.unbounded_rate(
        omega, covariance, p=p, n=N, m=m, epsilon=EPSILON, delta=DELTA, failure=FAILURE, mu_tilde=1 / p
    )
    return public_deviation(signs(p, 1 / p), omega, link=link) / math.sqrt(m), constant * float(rate.public)


PUBLIC_17 = Search(
    sides=_public_17,
    box={"p": Real(2.0, 64.0, "log"), "omega": Real(1e-3, 2.0, "log"), "m": Real(2.0, 1e9, "log")},
    evaluations=60,
    impostors={"a fiftieth": {"sides": {"constant": 0.02}}},
)


def _definite(
    p: int, share: float, omega: float, *, squared: bool = False, delta: float = DELTA, failure: float = FAILURE
) -> tuple[float, float]:
    """(the n at which 2 sqrt(p n) sigma_1 = n lambda / 2, what Theorem 14 asks for, or Theorem 17)."""
    variance = (share / p) ** 2
    scales = privacy.noise_scales(EPSILON, delta, radius=1.0)
    covariance = Covariance(norm=variance, least=variance)
    asked, _ = bounds.general_sample_sizes(
        omega, covariance, p=p, epsilon=EPSILON, delta=delta, failure=failure, squared=squared
    )
    return 16 * p * scales.gram**2 / variance**2, float(asked)


def _asked_less(
    p: float, delta: float, failure: float, *, squared: bool = False, power: float = 3.0
) -> tuple[float, float]:
    """512 p^3 over the theorem's logarithm against that ratio: 16 p sigma_1^2 / lambda^2 with lambda = 1 / p^2."""
    p = round(p)
    taken, asked = _definite(p, 1.0, 1.0, squared=squared, delta=delta, failure=failure)
    return 512 * p**power / math.log((p * p if squared else p) / failure), taken / asked


def lacking(*, squared: bool = False) -> Search:
    """How far (6), or (8), is too small."""
    return Search(
        sides=partial(_asked_less, squared=squared),
        box={"p": Real(2.0, 1e6, "log"), **_LEVELS},
        evaluations=200,
        impostors={"p^4": {"sides": {"power": 4.0}}},
    )


def printed_17(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """The rate of Theorem 17 as it is printed, term by term, at p = 4, omega = 2, kappa = 1."""
    covariance = Covariance(norm=9.0, least=4.0, varrho=1.5)
    rate = bounds.unbounded_rate(
        2.0, covariance, p=4, n=10**6, m=100, epsilon=0.5, delta=DELTA, failure=FAILURE, mu_tilde=0.5
    )
    eta = math.sqrt(math.log(1 / DELTA) * math.log(16 / FAILURE)) / (0.5 * 2.0 * 1e3)
    yield Fact("privacy", factor * float(rate.privacy), 4 * 2.25 * 3.0 * 2.0 * 8.0 * eta, 1e-12)
    yield Fact("public", factor * float(rate.public), 1.5 * 4.0 * 2.0 * math.sqrt(16 * math.log(100) / 100), 1e-12)
    yield Fact("bias", factor * float(rate.bias), 9.0 * 4.0 / 2.0, 1e-12)


def by_a_logarithm(rng: np.random.Generator, *, power: float = 1.0) -> Iterator[Within]:
    """The m at which the public term of (9) is alpha over that of (7), and n likewise, Sigma, omega and mu~ being 1."""
    one = Covariance(norm=1.0, least=1.0)
    for p, alpha in ((2, 0.1), (16, 0.01), (256, 1e-4)):
        common = {"p": p, "epsilon": EPSILON, "delta": DELTA, "failure": FAILURE}
        fourteen, m = bounds.general_rate(1.0, one, n=N, m=N, **common), 10
        few = (float(fourteen.public) / alpha) ** 2 * N
        for _ in range(60):  # m grows to the fixed point of m = p^2 log m / alpha^2
            found = bounds.unbounded_rate(1.0, one, n=N, m=m, mu_tilde=1.0, **common)
            m = math.ceil((float(found.public) / alpha) ** 2 * m)
        label = f"p = {p}, alpha = {alpha:g}"
        yield Within(f"{label}: m over that of (7) and log m", m / few / math.log(m) ** power, 0.5, 2.0)
        users = (float(found.privacy) / float(fourteen.privacy)) ** 2
        yield Within(f"{label}: n over that of (7)", users, 0.5, 2.0)


def _definite_right(
    p: float, share: float, omega: float, delta: float, *, constant: float = 1200.0
) -> tuple[float, float]:
    """Against C p r^4 log(1 / delta) / (epsilon^2 lambda^2)."""
    dimension = round(p)
    variance = (share / dimension) ** 2
    taken, _ = _definite(dimension, share, omega, delta=delta)
    return taken, constant * dimension * math.log(1 / delta) / (EPSILON * variance) ** 2


SIZES = Search(
    sides=_definite_right,
    box={**_BOX, "delta": _LEVELS["delta"]},
    evaluations=300,
    impostors={"a tenth": {"sides": {"constant": 120.0}}},
)
