"""Remarks 10 and 16, footnote 3: two rounds, many losses, when least squares is defined."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import ndtri

from dpbounds.glm import LINKS, privacy, scale
from simulators.engine import Experiment
from simulators.glm import GaussianModel, Settings, estimate, find_scale
from verify.checks import Agreement, Event, Fact, Frequency, Holds, Within
from verify.papers.glm.tools.records import SIGMA, W, streams
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": {"factor": 1.01}}}
Function = Callable[[np.ndarray], Any]
Average = Callable[[Function], float]
# A start from which Newton's iteration for the logistic link does not come back.
FAR = 100.0


FAILURE, N, EPSILON, DELTA = 0.05, 10**6, 0.5, 1e-6


# --- Remarks 10 and 16, footnote 3 ---


def _two_rounds(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """Noise of deviation s' on the projections: the root is that of N(0, s^2 + s'^2), none once that is beyond the
    supremum; a private second round is far beyond.
    """
    model = GaussianModel(link=LINKS["logistic"], w=W, n=40_000, m=0, covariance=SIGMA)
    for scale_of_noise in (0.0, 0.5):
        settings = Settings(estimator="two-round", projection_scale=scale_of_noise)
        run = estimate(model, settings, streams(3), 4)
        for k in range(4):
            w_ols = run["w_ols"][k]
            s = math.sqrt(float(w_ols @ SIGMA @ w_ols) + scale_of_noise**2 * float(w_ols @ w_ols))
            predicted = scale.inverse("logistic", s) / s
            yield Fact(f"scale with noise {scale_of_noise:g}, run {k}", factor * run["scale"][k], predicted, 0.03)
    radius = privacy.radius(1.0, 3, 40_000, FAILURE)
    private = 2 * radius * math.sqrt(2 * math.log(1.25 / DELTA)) / 1.0
    run = estimate(model, Settings(estimator="two-round", projection_scale=private), streams(4), 3)
    yield Holds("no run at epsilon = 1 has a root", not run["has_root"].any())


REM_10 = Claim(
    id="glm/rem-10",
    where="Remark 10",
    kind="algorithm",
    statement=(
        'Two rounds without public data: half the users give $hat(w)^"ols"$;',
        (
            'each other user releases a noisy $tilde(y)_j = chevron.l x_j, hat(w)^"ols" chevron.r$, from which '
            "$hat(c)$ is found;"
        ),
        "the noise may make the error of $hat(c)$ large.",
    ),
    equation="Remark 10",
    setting='Records up to the radius of Algorithm 1, sensitivity $2 R norm(hat(w)^"ols")$.',
    remark=(
        "Worse than that: private noise at $epsilon = 1$ leaves no root at all. $s^2 = b^top A^(-1) b$ gives the "
        "scale without a second round."
    ),
    checks=(
        Agreement(decides="abc", facts=_two_rounds, alpha=1e-8, impostors={"6 % off": {"facts": {"factor": 1.06}}}),
    ),
)


def _many_losses(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact]:
    """From one w_ols, the scale of every link is a function of it and the public records: post-processing."""
    model = GaussianModel(link=LINKS["logistic"], w=W, n=4000, m=3000, covariance=SIGMA)
    run = estimate(model, Settings(gram_scale=0.1, cross_scale=0.1), streams(5), 1)
    given = streams(5)
    model.sums(given.data)
    average = model.public(given.data).average(run["w_ols"][0])
    yield Fact(
        "logistic, from the transcript alone",
        factor * float(find_scale(LINKS["logistic"], average) or 0.0),
        run["scale"][0],
        1e-9,
    )
    for name in ("boosting", "poisson", "cubic", "sigmoid"):
        c = find_scale(LINKS[name], average) or 0.0
        value = c * average(lambda z, c=c, name=name: LINKS[name].slope(c * z))
        yield Fact(f"{name}, the same transcript", factor * value, 1.0, 1e-9)


def _newton(slope: Function, curvature: Function, average: Average, start: float, steps: int) -> float:
    """Newton's iteration for c average(mu'(c y~)) = 1, as printed; inf where it stops at a slope of 0."""
    c = start
    for _ in range(steps):
        value = c * average(lambda z, c=c: slope(c * z)) - 1.0
        steepness = average(lambda z, c=c: slope(c * z) + c * z * curvature(c * z))
        if steepness == 0.0:
            return math.inf
        c -= value / steepness
    return c


def _starts(rng: np.random.Generator, *, steps: int = 60) -> Iterator[Fact | Within]:
    """From c = 0, and c = 1 for the cubic, whose equation is flat at 0, Newton's iteration comes to the root; far
    beyond it, it does not.
    """
    y = 0.3 * ndtri((np.arange(2000) + 0.5) / 2000)  # of other draws some bring that start to the root

    def average(g: Function) -> float:
        return float(np.mean(g(y)))

    for name, link in LINKS.items():
        root = find_scale(link, average)
        for start in (1.0,) if name == "cubic" else (0.0, 0.5 * link.sign):
            c = _newton(link.slope, link.curvature, average, start, steps)
            yield Fact(f"{name}, from {start:g}: c", c, root, 1e-9)
    link = LINKS["logistic"]
    with np.errstate(over="ignore", invalid="ignore"):
        lost = _newton(link.slope, link.curvature, average, FAR, 60)
    root = find_scale(link, average) or 0.0
    label = "logistic, from a start beyond the root: distance to it, over it"
    yield Within(label, abs(lost / root - 1) if math.isfinite(lost) else math.inf, 1.0)


REM_16 = Claim(
    id="glm/rem-16",
    where="Remark 16",
    kind="mc-equality",
    statement=(
        (
            'Private data enter only through $hat(w)^"ols"$, so $T$ losses, up to $T = e^(O(p))$, get the same errors '
            "from the same sample with probability $1 - T e^(-Omega(p)) - xi$;"
        ),
        "parameter-free;",
        "no convexity.",
    ),
    equation="Remark 16",
    remark=(
        "Post-processing and a union bound. For (b): no step size and no number of iterations, and $c = 0$ is a start "
        "for every link but the cubic, for which $c = 1$ is; not every start is, and $zeta$ or $r$ must be given. Each "
        "loss has its own $w^*$ only if labels follow its model."
    ),
    checks=(
        Agreement(decides="ac", facts=_many_losses, impostors=_OFF),
        Agreement(decides="b", facts=_starts, impostors={"one step": {"facts": {"steps": 1}}}),
    ),
)


def _definite(*, share: float = 1.0) -> tuple[Event, ...]:
    """n = 100 p sigma_1^2 / lambda^2: the noise matrix is a fifth of n lambda."""
    size = 1.0
    n = round(share * 100 * 3 * size**2 / float(np.linalg.eigvalsh(SIGMA)[0]) ** 2)
    model = GaussianModel(link=LINKS["logistic"], w=W, n=max(n, 5), m=10, covariance=SIGMA)
    experiment = Experiment(algorithm=estimate, problem=model, settings=Settings(gram_scale=size), block_trials=100)
    return (
        Event(label=f"n = {model.n}", experiment=experiment, occurs=lambda arrays: arrays["definite"], at_least=0.95),
    )


FN_3 = Claim(
    id="glm/fn-3",
    where="Footnote 3",
    kind="mc-rate",
    statement='$hat(w)^"ols"$ is well defined for $n$ large enough.',
    equation="Footnote 3",
    setting="$p = 3$, $sigma_1 = 1$: $A$ positive definite in 95 % of the runs at $n = 100 p sigma_1^2\\/lambda^2$.",
    remark=(
        '$A$ is invertible with probability 1; but $bb(E) norm(hat(w)^"ols") = infinity$ at every $n$, so medians '
        "are what to compare."
    ),
    checks=(
        Frequency(
            events=_definite, trials={"quick": 500, "full": 4000}, impostors={"n / 60": {"events": {"share": 1 / 60}}}
        ),
    ),
)
