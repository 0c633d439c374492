"""Section 6: what is said of slopes, and of losses outside the assumptions (Remark 18), in runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dpbounds.glm import asymptotics
from verify.checks import Agreement, Power, Quantiles, Ratio, Reading, Within
from verify.papers.glm.tools.cells import EPSILONS, SIZES, Cell, Noise
from verify.statements.claims import Claim, Correction, Fault

_OFF = {"1 % off": {"facts": {"factor": 1.01}}}
MORE = 10**4

# --- slopes ---


def _signs(link: str = "poisson", p: int = 10) -> Cell:
    return Cell(link=link, p=p, n=SIZES[0], epsilon=10.0)


def _in_n(base: Cell, sizes: Sequence[int], group: str, trials: int, predict: bool) -> list[Reading]:
    return [replace(base, n=n).reading(n, group, trials=trials, predict=predict) for n in sizes]


def _in_epsilon(base: Cell, epsilons: Sequence[float], group: str, trials: int, predict: bool) -> list[Reading]:
    return [replace(base, epsilon=value).reading(value, group, trials=trials, predict=predict) for value in epsilons]


def _in_p(base: Cell, dimensions: Sequence[int], group: str, trials: int) -> list[Reading]:
    return [
        replace(base, p=p).reading(p, group, level="quick" if p <= 10 else "full", trials=trials, predict=True)
        for p in dimensions
    ]


AXIS = "$norm(hat(w) - w^*)_oo^2\\/norm(w^*)_oo^2$"
SMALL_NOISE = "noise below the covariance"


def _not_yet(readings: partial, above: Cell, below: Cell, at_least: float, axis: str) -> Quantiles:
    ratio = Ratio(label="smallest error over largest", above=above.label, below=below.label, at_least=at_least)
    return Quantiles(
        readings=readings,
        ratios=(ratio,),
        axes=(axis, AXIS),
        impostors={"a twentieth": {"ratios": (replace(ratio, at_least=0.0, at_most=0.05),)}},
    )


def _slope(readings: partial, power: float, axis: str, tolerance: float = 0.3) -> Quantiles:
    stated = Power(group=SMALL_NOISE, printed=power, tolerance=tolerance)
    return Quantiles(
        readings=readings,
        powers=(stated,),
        theory="approximate",
        axes=(axis, AXIS),
        impostors={"one power less": {"powers": (replace(stated, printed=power + 1.0),)}},
    )


_FIRST, _LAST = replace(_signs(), epsilon=2.0), replace(_signs(), n=SIZES[-1], epsilon=2.0)
LARGE_SIZES = tuple(MORE * n for n in SIZES)
# Half of the power -1 of n, and the runs on which it is tried.
HALF = (_FIRST.n / _LAST.n) ** 0.5
_AS_STATED = partial(_in_n, _FIRST, (SIZES[0], SIZES[-1]), "as stated", 240, False)
CHOSEN = "$x_j = plus.minus 1\\/p$, Poisson, noise as printed, medians; "

EXP_SLOPE_N = Claim(
    id="glm/exp-slope-n",
    where="Section 6.1",
    kind="mc-rate",
    statement="The squared relative error is proportional to $1\\/n$.",
    equation="Section 6.1",
    setting=CHOSEN + "$p = 10$, $epsilon = 2$ at the stated $n$, and $epsilon = 10$ with $10^4$ times as many users.",
    remark="As printed: falls at least as $n^(-1\\/2)$.",
    given={"first": SIZES[0], "last": SIZES[-1]},
    fault=Fault(
        severity="substantive",
        touches="text",
        finding=(
            "At the stated $n$ the noise of $x x^top$ exceeds the covariance: the median at $n = {last}$ is "
            "${observed:2}$ times that at $n = {first}$."
        ),
        consequence="The power is right where the noise is below the covariance, for about $10^4$ times the users.",
    ),
    correction=Correction(
        statement=(
            "At the stated $n$ the median falls less than $n^(-1\\/2)$;",
            "with $10^4$ times as many users its slope is $-1$ up to the logarithm in $delta = n^(-1.1)$.",
        ),
        ground="Leading order, and runs.",
        checks=(
            replace(_not_yet(_AS_STATED, _LAST, _FIRST, HALF, "$n$, as stated"), decides="a"),
            replace(
                _slope(
                    partial(_in_n, _signs(), (LARGE_SIZES[0], LARGE_SIZES[2], LARGE_SIZES[-1]), SMALL_NOISE, 120, True),
                    -1.0,
                    "$n$, more users",
                ),
                decides="b",
            ),
        ),
    ),
    checks=(
        Quantiles(
            readings=_AS_STATED,
            ratios=(Ratio(label="last over first", above=_LAST.label, below=_FIRST.label, at_most=HALF),),
            axes=("$n$, as stated", AXIS),
        ),
    ),
)

EXP_SLOPE_EPS = Claim(
    id="glm/exp-slope-eps",
    where="Section 6.1",
    kind="mc-rate",
    statement="The squared relative error is proportional to $1\\/epsilon^2$.",
    equation="Section 6.1",
    setting=CHOSEN + "$p = 10$; $n = 10^4$, and $29 dot 10^8$.",
    open=(
        "At $n = 10^4$ the noise of $x x^top$ exceeds the covariance and the median falls more slowly than "
        "$1\\/epsilon$; with enough users the slope is $-2$. (The text at hand prints $1\\/c^2$.)"
    ),
    checks=(
        _not_yet(
            partial(_in_epsilon, _signs(), (2.0, 10.0), "as stated", 160, False),
            _signs(),
            replace(_signs(), epsilon=2.0),
            1 / 5,
            "$epsilon$, as stated",
        ),
        _slope(
            partial(_in_epsilon, replace(_signs(), n=LARGE_SIZES[-1]), EPSILONS, SMALL_NOISE, 120, True),
            -2.0,
            "$epsilon$, more users",
        ),
    ),
)


def _powers(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """Leading-order error of Remark 11 for Gaussian records, Sigma = I, as p goes from 5 to 15: more than linear."""
    totals = {}
    for p in (5, 15):
        cell = Cell(link="logistic", p=p, n=480_000, epsilon=10.0, covariance="identity")
        w = np.ones(p) / math.sqrt(p)
        scales = cell.scales
        terms = asymptotics.error(
            "logistic", w, np.eye(p), n=cell.n, m=cell.n, gram_scale=scales.gram, cross_scale=scales.cross,
            estimator="pooled",
        )  # fmt: skip
        totals[p] = terms.total
    power = math.log(totals[15] / totals[5]) / math.log(3.0)
    yield Within("Gaussian: power of p", power, 2.0 * factor**100)


EXP_SLOPE_P = Claim(
    id="glm/exp-slope-p",
    where="Section 6.1",
    kind="mc-rate",
    statement=(
        "The error grows with $p$, not linearly, as $norm(Sigma)$ and $norm(w^*)_oo$ change too."
    ),
    equation="Section 6.1",
    setting=CHOSEN + "$n = 48 dot 10^4$ as stated, and with 500 times as many users; Gaussian: leading order.",
    remark=(
        "About as $p^5 log p$ for $x_j = plus.minus 1\\/p$ ($p^4$ from $Sigma = I\\/p^2$, $p$ from $norm(w^*)_oo^2$), "
        "as $p^3$ "
        "for $Sigma = I$. The Gaussian runs as printed (Figure 2) show no growth."
    ),
    checks=(
        Agreement(facts=_powers, impostors=_OFF),
        Quantiles(
            readings=partial(_in_p, replace(_signs(), n=480_000), (5, 10), "as stated", 80),
            ratios=(
                Ratio(
                    label="p = 10 over p = 5",
                    above=replace(_signs(), n=480_000).label,
                    below=replace(_signs(p=5), n=480_000).label,
                    at_least=2.0,
                ),
            ),
            impostors={"linear": {"ratios": (
                Ratio(
                    label="p = 10 over p = 5",
                    above=replace(_signs(), n=480_000).label,
                    below=replace(_signs(p=5), n=480_000).label,
                    at_least=1.5,
                    at_most=2.5,
                ),
            )}},
        ),
        _slope(
            partial(_in_p, replace(_signs(), n=500 * 480_000), (5, 10, 12), SMALL_NOISE, 500),
            5.3,
            "$p$, more users",
            0.7,
        ),
    ),
)  # fmt: skip

# --- Remark 18 ---


def _outside(link: str, noise: Noise, at: tuple[float, float]) -> Quantiles:
    cell = replace(_signs(link), n=SIZES[-1], noise=noise)
    ratio = Ratio(label=f"error, {cell.label}", above=cell.label, at_least=at[0], at_most=at[1])
    curve = f"{link}, {'no' if noise == 'none' else noise} noise"
    return Quantiles(
        readings=partial(_in_n, replace(cell, n=SIZES[-1]), (SIZES[0], SIZES[-1]), curve, 80, False),
        ratios=(ratio,),
        axes=("$n$", AXIS),
        impostors={"between": {"ratios": (replace(ratio, at_least=0.2, at_most=0.3),)}},
    )


REM_18 = Claim(
    id="glm/rem-18",
    where="Remark 18",
    kind="mc-rate",
    statement="The algorithms perform quite well for losses outside the assumptions, such as the cubic.",
    equation="Remark 18",
    setting=(
        "Cubic and Poisson, $x_j = plus.minus 1\\/p$, $p = 10$, $epsilon = 10$, $n = 29 dot 10^4$; Remark 11; medians."
    ),
    open=(
        "Without noise the squared relative error is below 0.1; with the printed noise it is above 10; it is below 0.1 "
        "with the printed noise for Poisson and $10^4$ times as many users."
    ),
    checks=(
        _outside("cubic", "none", (0.0, 0.1)),
        _outside("poisson", "none", (0.0, 0.1)),
        _outside("cubic", "printed", (10.0, math.inf)),
        _outside("poisson", "printed", (5.0, math.inf)),
    ),
)
