"""Beyond the paper: rates with all their factors, rows of a survey, slopes in balls, estimators on given records."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
from scipy import optimize

from dpbounds.arithmetic import balls
from dpbounds.glm import LINKS, assess, asymptotics, bounds, message_rows, messages, predict, privacy, what_helps
from dpbounds.glm.asymptotics import Estimator
from dpbounds.glm.bounds import Covariance
from dpbounds.glm.prediction import best_ratio, least_ratio
from dpbounds.glm.problem import Problem
from dpbounds.glm.scale import scale_slope
from verify.checks import Fact, Holds, refused

COVARIANCE = np.array([[1.5, 0.4, -0.2], [0.4, 0.6, 0.1], [-0.2, 0.1, 0.3]])
P, N, M, EPSILON, DELTA, FAILURE = 5, 900, 400, 0.5, 1e-3, 0.1


def rates(rng: np.random.Generator) -> Iterator[Fact]:
    """Every factor of the theorems, on both sides of eigenvalue 1 and of omega 1."""
    common: dict[str, Any] = {"p": P, "epsilon": EPSILON, "delta": DELTA, "failure": FAILURE}
    plain, squared = (math.sqrt(math.log(1e3) * math.log(ratio)) for ratio in (5 / 0.01, 25 / 0.1))
    for size in (1.0, 30.0):
        one = Covariance.of(size * COVARIANCE)
        norm, varrho, Lambda = one.norm, one.varrho, one.capital_lambda
        for square, factor in ((False, plain), (True, squared)):
            label = f"size {size:g}, l{'' if square else chr(39)}"
            yield Fact(f"{label}: factor", bounds.log_factor(DELTA, P, FAILURE, squared=square), factor)
            level = bounds.noise_level(one, EPSILON, DELTA, N, P, FAILURE, squared=square)
            yield Fact(f"{label}: level", level, factor / (0.5 * Lambda * 30))
        for omega in (0.5, 3.0):
            label = f"size {size:g}, omega {omega:g}"
            for square, inner in ((False, 50), (True, 250)):
                asked = bounds.general_sample_sizes(omega, one, **common, squared=square, constants=(2.0, 3.0))
                shared = (varrho * omega * 5) ** 2 * max(1.0, omega**2) * norm
                stated = [2 * norm * shared * math.log(1e3) * math.log(inner) / (0.5 * Lambda) ** 2, 3 * shared]
                for name, told, by_hand in zip("nm", asked, stated, strict=True):
                    yield Fact(f"{label}, log {inner}: what is asked of {name}", float(told), by_hand)
            found = bounds.unbounded_rate(omega, one, **common, n=N, m=M, mu_tilde=1.7, constants=(2.0, 3.0, 7.0))
            larger = max(1.0, omega)
            stated = [
                2 * 5 * varrho**2 * math.sqrt(norm) * omega * max(1.0, omega**3) * squared / (0.5 * Lambda * 30),
                3 * varrho * omega * larger * 5 * math.sqrt(math.log(400) / 400) / 1.7,
                7 * (varrho * omega * larger) ** 2 / math.sqrt(5),
            ]
            for name, by_hand in zip(("privacy", "public", "bias"), stated, strict=True):
                yield Fact(f"{label}, unbounded slopes: {name}", float(getattr(found, name)), by_hand)
            yield Fact(f"{label}, unbounded slopes: total", float(found.total), sum(stated))
    for share in (0.0, 0.21, 0.249):
        told = privacy.exact_delta(share * 4e8, math.inf, 1e-4, radius=1.0)
        yield Fact(f"delta of mu = 20000 at epsilon = {share:g} mu^2", float(told), 1.0, 0.0)
    told = bounds.bias_bound(0.7, 1.9, p=P, lipschitz=0.3, radius=1.3, kappa=1.1)
    yield Fact("bias", float(told), 16 * 0.3 * 1.3 * 1.1**3 * 1.9 * 0.49 / math.sqrt(5))
    told = bounds.norm_quantile(np.array([2.0, 0.7, 0.3]), 1.7)
    yield Fact("squared length", float(told), 3.0 + 2 * math.sqrt(1.7 * 4.58) + 2 * 1.7 * 2.0)


def messages_mu(rng: np.random.Generator) -> Iterator[Fact]:
    """mu of one message over a grid of pairs of records, and the split of its noise that costs least."""
    for a, b in ((0.6, 1.0), (1.0, 2.4), (2.1, 0.9), (3.0, 1.9), (0.4, 5.0), (0.9, 0.62), (1.428, 1.0)):
        for p in (1, 2, 4):
            told = privacy.release_mu(a * 1.69, b * 1.3 * 0.7, radius=1.3, label_bound=0.7, p=p)
            yield Fact(f"p = {p}, noise {a:g}, {b:g}: mu", float(told), _mu(a, b, p), 1e-7)
        told = privacy.release_mu(a * 1.69, b * 1.3 * 0.7, radius=1.3, label_bound=0.7, p=3, inputs="l1")
        stated = math.sqrt(max(4 / b**2, 2 / a**2 + 2 / b**2))
        yield Fact(f"absolute sums, noise {a:g}, {b:g}: mu", float(told), stated, 1e-12)
    for p, gram, cross in ((1, 0.3, 2.0), (3, 0.3, 2.0), (3, 5.0, 0.4)):

        def noise(log_ratio: float, p: int = p, gram: float = gram, cross: float = cross) -> float:
            return _mu(math.exp(log_ratio), 1.0, p, 4001) ** 2 * (gram * math.exp(2 * log_ratio) + cross)

        told = math.log(least_ratio(gram, cross, p))
        logs = np.linspace(math.log(1e-3), math.log(1e3), 121)
        least = min(noise(one) for one in (*logs, *np.linspace(told - 0.02, told + 0.02, 21)))
        yield Fact(f"p = {p}, {gram:g}, {cross:g}: least noise", noise(told), least, 1e-6)


def predicted(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """A prediction is the error at its noise, which is split for the least error and keeps the budget."""
    for link, noise, n in (("sigmoid", 0.3, 20_000), ("poisson", 0.0, 20_000), ("logistic", 0.0, 10**8)):
        problem = _problem(link, n=n, m=900, epsilon=3.0, noise=noise)
        radius, bound = problem.bounds
        for estimator in get_args(Estimator):
            setting: dict[str, Any] = {"n": n, "m": 900, "noise_variance": noise**2, "estimator": estimator}
            unit = asymptotics.error(link, W, SIGMA, gram_scale=radius**2, cross_scale=radius * bound, **setting)
            ratio = least_ratio(unit.gram_noise, unit.cross_noise, 2)
            kept = estimator != "public-covariance"
            row, label = predict(problem, estimator), f"{link}, {estimator}"
            yield Fact(f"{label}: split", best_ratio(problem, estimator), ratio if kept else 1.0, 1e-9)
            yield Fact(f"{label}: bounds", [row.radius, row.label_bound], [radius, bound])
            own = row.scales.gram * bound / (row.scales.cross * radius)
            yield Fact(f"{label}: split of its noise", own if kept else ratio, ratio, 1e-9)
            gram = row.scales.gram if kept else 0.0
            stated = asymptotics.error(link, W, SIGMA, gram_scale=gram, cross_scale=row.scales.cross, **setting)
            yield Fact(f"{label}: error", [row.terms.total, float(row.relative)], [stated.total, stated.total / 0.65])
            yield Fact(f"{label}: delta", row.delta_within, 1e-6, 1e-6)
            sure = stated.excess <= 0.1 and stated.total / 0.65 <= 0.25
            yield Holds(f"{label}: private, {'' if sure else 'not '}reliable", row.private and row.reliable is sure)
        printed = predict(problem, "paper", "printed")
        radius, label_bound = problem.printed_bounds
        largest = max(label_bound, bound) if link == "poisson" else label_bound
        noises = printed.scales.gram, printed.scales.cross
        stated = privacy.exact_delta(3.0, *noises, radius=radius, label_bound=largest, p=2)
        yield Fact(f"{link}, printed: delta", printed.delta_within, float(stated))
        yield Holds(f"{link}, printed: not private", not printed.private)


def _mu(a: float, b: float, p: int, points: int = 40_001) -> float:
    """Records 1 and -s on the line, or at the cosine t, labels 1 and 1."""
    t = np.linspace(-1, 1, points)
    if p == 1:
        return math.sqrt(np.max((1 - t * t) ** 2 / a**2 + (1 + t) ** 2 / b**2))
    return math.sqrt(np.max((2 - 2 * t * t) / a**2 + (2 - 2 * t) / b**2))


def slopes(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """h' on a wide ball: its value in the middle, and E|W|^3 sup |mu''| times the width about it."""
    import flint

    for middle, width in ((0.8, 1e-3), (0.0, 0.25), (-2.5, 0.1)):
        with balls(60) as m:
            ball = scale_slope(m, LINKS["logistic"], flint.arb(middle, width))
        value = _slope(middle)
        largest = math.sqrt(3) / 18  # of |mu''|
        yield Fact(f"h'({middle:g}): middle", float(ball.mid()), value, 1e-12)
        yield Fact(f"h'({middle:g}): width", float(ball.rad()), 2 * math.sqrt(2 / math.pi) * largest * width, 1e-6)
    with balls(60) as m:
        yield refused("no bound of mu''", "number", lambda: scale_slope(m, LINKS["poisson"], flint.arb(0.8, 1e-3)))


def _slope(t: float) -> float:
    """E[W^2 mu'(t W)] of the logistic link, by equal steps."""
    w = np.linspace(-12.0, 12.0, 2001)
    weights = np.exp(-(w**2) / 2)
    return float(weights @ (w**2 * LINKS["logistic"].slope(t * w)) / weights.sum())


# --- surveys ---

SIGMA, W = np.array([[1.2, 0.3], [0.3, 0.5]]), np.array([0.7, -0.4])


def _problem(link: str, *, n: int, m: int, epsilon: float, noise: float = 0.0, times: float = 1.0) -> Problem:
    return Problem(link=link, w=times * W, covariance=SIGMA, n=n, m=m, epsilon=epsilon, delta=1e-6, noise=noise)  # type: ignore[arg-type]


def survey(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Each row is the forecast over ||w*||^2, at the least predicted cut of counts, and reliable where all is small."""
    for link, noise, n, m, epsilon in (
        ("logistic", 0.0, 30_000, 20, 2.0),
        ("logistic", 0.0, 300_000, 19, 2.0),
        ("logistic", 0.0, 3_000, 3_000, 0.7),
        ("sigmoid", 0.2, 30_000, 5_000, 2.0),
        ("poisson", 0.0, 30_000, 5_000, 2.0),
    ):
        problem, unit = _problem(link, n=n, m=m, epsilon=epsilon, noise=noise), 0.65
        setting: dict[str, Any] = {"n": n, "m": m, "epsilon": epsilon}
        bound: Any = {"sigmoid": 1.2}.get(link)
        if link == "poisson":
            laws = {cut: messages.message_law(link, W, SIGMA, label_bound=cut) for cut in (1, 2, 3, 4, 6, 8, 12, 16)}
            bound = min(laws, key=lambda cut: messages.error_of(laws[cut], **setting, noise="cap").total)
        rows = message_rows(problem)
        yield Fact(f"{link}: kinds of messages", len(rows), 3, 0.0)
        for row in rows:
            label, kind = f"{link}, n = {n}, m = {m}, {row.name}", row.name.split("-")[0]
            delta = 1e-6 if kind == "gaussian" else None
            found = messages.forecast(link, W, SIGMA, **setting, delta=delta, noise=kind, label_bound=bound)  # type: ignore[arg-type]
            told = [row.relative, row.median, row.terms.sampling, row.terms.noise, row.terms.public]
            terms = found.terms
            stated = [found.mean, found.median, terms.sampling, terms.noise, terms.public]
            yield Fact(f"{label}: errors", [float(one) for one in told], np.array(stated) / unit)
            yield Fact(f"{label}: covariance", row.terms.covariance, terms.covariance / unit)
            yield Fact(f"{label}: excess, no root", [row.excess, row.no_root], [found.excess, found.no_root])
            yield Fact(f"{label}: cut", row.label_bound, bound or 1.0, 0.0)
            length = messages.gaussian_scale(epsilon, 1e-6) if delta else messages.sphere(kind, 2, epsilon).scale  # type: ignore[arg-type]
            yield Fact(f"{label}: noise, delta", [row.scale, row.delta], [length, delta or 0.0])
            small = found.excess <= 0.1 and found.mean / unit <= 0.25 and found.no_root <= 1e-3
            yield Holds(f"{label}: {'' if small and m >= 20 else 'not '}reliable", row.reliable is (small and m >= 20))
    for epsilon, size, given in ((50.0, 1.0, True), (51.0, 1.0, False), (1.0, 9.99, True), (1.0, 10.01, False)):
        times = size / math.sqrt(W @ SIGMA @ W)
        rows = message_rows(_problem("logistic", n=30_000, m=50, epsilon=epsilon, times=times))
        label = f"epsilon = {epsilon:g}, |Sigma^1/2 w| = {size:g}"
        yield Holds(f"{label}: {'' if given else 'no '}messages", bool(rows) is given)


def more_records(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Ten times the private records, the public ones, both, where there are any and no more than 10^15; a target."""
    for n, m, stated in (
        (3000, 0, [(30_000, 0)]),
        (3000, 700, [(30_000, 700), (3000, 7000), (30_000, 7000)]),
        (10**15, 700, [(10**15, 7000)] * 2),
    ):
        problem = _problem("logistic", n=n, m=m, epsilon=3.0)
        found = assess(problem, estimators=["no-public-data"], target=0.3 if n == 3000 else None)
        yield Holds(f"n = {n}, m = {m}: {stated}", [(one.n, one.m) for one in found.more] == stated)
        for one in found.more:
            yield Fact(f"n = {one.n}, m = {one.m}: error", one.relative, _alone(problem, one.n, one.m))
        needed = None if found.needed is None else found.needed.proportional
        yield Holds(f"n = {n}, m = {m}: {'a' if n == 3000 else 'no'} target", (needed is None) is (n > 3000))
        if needed is not None:
            ends = [_alone(problem, size, m) for size in (needed, round(needed * 0.998))]
            yield Holds(f"m = {m}: {needed} are needed for 0.3", ends[0] <= 0.3 < ends[1])


def _alone(problem: Problem, n: int, m: int) -> float:
    """The error without public data."""
    return float(predict(dataclasses.replace(problem, n=n, m=m), "no-public-data").relative)


def helps(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The least n and the least epsilon, to 1 %, at which the leading order is a quarter, m in proportion."""
    problem = _problem("logistic", n=500, m=1500, epsilon=0.5)
    law, told = messages.message_law("logistic", W, SIGMA), what_helps(problem)

    def relative(n: float, epsilon: float) -> float:
        errors = (
            messages.error_of(law, n=round(n), m=round(3 * n), epsilon=epsilon, noise=noise).total / 0.65
            for noise in ("hemisphere", "cap")
        )
        return min(errors)

    assert told.n is not None and told.epsilon is not None
    n = optimize.brentq(lambda n: relative(n, 0.5) - 0.25, 500, 10**7)
    epsilon = optimize.brentq(lambda e: relative(500, e) - 0.25, 0.5, 50.0, xtol=1e-6)
    yield Holds(f"n: {told.n} of {n:.6g}", 1 - 1e-3 <= told.n / n <= 1.01)  # type: ignore[operator]
    yield Holds(f"epsilon: {told.epsilon:.4g} of {epsilon:.4g}", 1 - 1e-4 <= told.epsilon / epsilon <= 1.01)  # type: ignore[operator]
    for m, enough in ((1500, True), (25_000, False)):  # public records in proportion: at most 10^15 of all
        found = what_helps(_problem("logistic", n=500, m=m, epsilon=2e-6)).n
        yield Holds(f"epsilon = 2e-6, {m // 500} public records for each: {found}", (found is not None) is enough)
    none = what_helps(_problem("cubic", n=500, m=1500, epsilon=0.5))
    yield Holds("nothing without messages", none.n is None and none.epsilon is None)
