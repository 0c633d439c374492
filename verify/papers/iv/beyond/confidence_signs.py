"""Beyond the paper: sign curves with the best noise, and the exact law of their test."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from scipy.special import ndtr

from dpbounds.iv.confidence import sign_critical, sign_p_value, sign_set, step_noise
from verify.checks import Agreement, Fact, Holds, Search, Times, Within, refused, taken
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim

# --- the noise ---


def _steps(size: int) -> np.ndarray:
    """All step curves of height 1: a row for each place of the jump."""
    return np.where(np.arange(size)[None, :] < np.arange(size)[:, None], -1.0, 1.0)


def _covariance(size: int) -> np.ndarray:
    """From the spectrum, by its eigenvectors exp(i pi (2 k + 1) g / G)."""
    _, spectrum = step_noise(size)
    g = np.arange(size)
    vectors = np.exp(1j * math.pi * np.outer(g, 2 * g + 1) / size) / math.sqrt(size)
    return np.real((vectors * spectrum) @ vectors.conj().T)


def _noise_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """Every step has norm 1, every point the variance f²; the dual with uniform weights gives f as well, from the
    matrix of steps alone.
    """
    for size in (1, 2, 3, 16, 64):
        factor, _ = step_noise(size)
        covariance, steps = _covariance(size), _steps(size)
        norms = np.einsum("ig,gh,ih->i", steps, np.linalg.inv(covariance), steps)
        yield Fact(f"sensitivity, G = {size}", norms, np.ones(size), 1e-9)
        yield Fact(f"variance at every point, G = {size}", np.diag(covariance), np.full(size, factor**2), 1e-9)
        # min max_g Sigma_gg >= (tr (sum_k w_k c_k c_k')^{1/2})² / G for all weights w that sum to 1
        dual = float(np.sum(np.linalg.svd(steps, compute_uv=False))) / size
        yield Fact(f"dual value, G = {size}", float(factor), dual, 1e-9)
    factor, spectrum = step_noise(300_000)
    stated = [1 / math.sin(k * math.pi / 600_000) for k in (1, 3, 3, 1)]
    yield Fact("ends of the spectrum, G = 3e5", spectrum[[0, 1, -2, -1]] / factor, stated, 1e-14)
    yield Fact("one end and the other, G = 3e5", spectrum[-3:], spectrum[2::-1], 1e-14)
    limit = 2 / math.pi * (math.log(1e5) + np.euler_gamma + math.log(8 / math.pi))
    yield Fact("growth, G = 1e5", float(step_noise(100_000).factor), limit, 1e-9)
    yield Fact("in print", [float(step_noise(size).factor) for size in (16, 64, 1024)], [2.728, 3.61, 5.375], 2e-4)


def _other_noise(size: float, tilt: np.ndarray, mixing: float) -> tuple[float, float]:
    """f² against the largest variance of another covariance, scaled to let every step have norm at most 1."""
    size = int(size)
    best = _covariance(size)
    root = np.diag(np.exp(tilt[:size])) + mixing * np.outer(np.sin(3 * tilt[:size]), np.cos(5 * tilt[:size]))
    other = root @ best @ root.T + 1e-9 * np.eye(size)
    steps = _steps(size)
    worst = float(np.max(np.einsum("ig,gh,ih->i", steps, np.linalg.inv(other), steps)))
    return float(step_noise(size).factor) ** 2, worst * float(np.max(np.diag(other)))


NOISE = Claim(
    id="iv/beyond-confidence-step-noise",
    where="private confidence sets, sign curves",
    kind="number",
    statement=(
        "Among Gaussian noises for which every step curve of height 1 on $G$ points has Mahalanobis norm at most 1, "
        "the least largest standard deviation is $f(G) = 1\\/G sum_j 1 \\/ sin(pi (2 j + 1) \\/ (2 G))$, $approx 2 / "
        "pi (ln G + gamma + ln(8 \\/ pi))$, attained by the negacirculant covariance with eigenvalues $f \\/ "
        "sin(dot)$."
    ),
    checks=(
        Agreement(facts=_noise_facts, impostors={"1 % less": {"facts": Times(0.99)}}),
        Search(
            sides=_other_noise,
            box={"size": Whole(2, 12), "tilt": (Real(-0.3, 0.3), 12), "mixing": Real(-0.5, 0.5)},
            extremal=lambda: [{"size": 8, "tilt": np.zeros(12), "mixing": 0.0}],
            evaluations={"quick": 1_000, "full": 20_000},
            rounding=1e-7,
            impostors={"1 % more": {"sides": Times(1.01, 1)}},
        ),
    ),
)

# --- the law of the statistic ---


def _curve(z: np.ndarray, signs: np.ndarray, probability: float) -> np.ndarray:
    return (z - probability) @ signs


def _law_facts(rng: np.random.Generator) -> Iterator[Fact]:
    """Over all draws of z for given signs: P(|D + noise| >= t) as shipped at pi = 1/2, whatever the signs are."""
    for n, s, t in ((1, 0.7, 0.9), (7, 1.3, 2.1), (10, 0.4, 3.0), (9, 0.0, 2.5), (10, 0.0, 2.0)):
        z = np.array(list(itertools.product((0, 1), repeat=n)))
        for plus in (0, n // 3, n):
            signs = np.where(np.arange(n) < plus, 1.0, -1.0)
            D = _curve(z, signs, 0.5)
            exact = np.mean(ndtr((D - t) / s) + ndtr((-D - t) / s)) if s else np.mean(np.abs(D) >= t)
            yield Fact(f"n = {n}, s = {s}, {plus} plus", float(sign_p_value(t, n, s)), float(exact), 1e-12)
    large = 2 * float(ndtr(-1.7))
    deviation = math.hypot(math.sqrt(1e6) / 2, 800.0)
    yield Fact("n = 1e6", float(sign_p_value(1.7 * deviation, 1_000_000, 800.0)), large, 1e-5)
    for n, s, pi in ((40, 2.0, 0.5), (40, 2.0, 0.2), (3_000, 30.0, 0.1)):
        critical = sign_critical(n, s, pi, 0.9)
        yield Fact(f"critical, n = {n}, pi = {pi}", float(sign_p_value(critical, n, s, pi)), 0.1, 1e-9)


def _worst_case(n: float, pi: float, s: float, plus: float, t: float) -> tuple[float, float]:
    """The exact tail for so many plus signs, by sums over two binomial laws, and the stated p-value."""
    n = int(n)
    m = round(plus * n)
    first, second = _masses(m, pi), _masses(n - m, pi)
    D = np.arange(m + 1)[:, None] - np.arange(n - m + 1)[None, :] - pi * (2 * m - n)
    at = t * math.sqrt(n * pi * (1 - pi) + s**2)
    beyond = ndtr((D - at) / s) + ndtr((-D - at) / s) if s else np.abs(D) >= at
    tail = first @ beyond @ second
    return float(tail), float(sign_p_value(at, n, s, pi)) + 1e-15


def _masses(n: int, pi: float) -> np.ndarray:
    return np.array([math.comb(n, k) * pi**k * (1 - pi) ** (n - k) for k in range(n + 1)])


def _bound_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """The largest of all numbers of plus signs, one by one; beyond 400 records what is left where no tail is: by how
    much one can change between two that are looked at.
    """
    for n, s, pi, t in ((7, 0.8, 0.2, 1.9), (8, 1.7, 0.7, 2.3), (40, 0.0, 0.1, 3.33), (13, 0.0, 0.6, 2.45)):
        unit = t / math.sqrt(n * pi * (1 - pi) + s**2)
        tails = [_worst_case(n, pi, s, m / n, unit)[0] for m in range(n + 1)]
        stated = sign_p_value(t, n, s, pi)
        yield Fact(f"largest tail, n = {n}, s = {s}, pi = {pi}", float(stated), max(tails), 1e-12)
        yield Holds(f"an upper bound at pi = {pi}", stated.kind == "upper")
    for n, s, pi, near in ((640, 6.0, 0.2, 5), (401, 9.0, 0.7, 4), (3_000, 30.0, 0.1, 24)):
        cubed = pi * (1 - pi) ** 3 + (1 - pi) * pi**3
        # sup |phi''| is at 0, where it is phi(0).
        stated = 2 * near * cubed / (3 * s**3 * math.sqrt(2 * math.pi))
        yield Fact(f"where no tail is, n = {n}, pi = {pi}", float(sign_p_value(9.0 * n, n, s, pi)), stated, 1e-12)
        at_half = sign_p_value(9.0 * n, n, s)
        yield Holds(f"pi = 1/2, n = {n}: exact, without it", at_half.kind == "exact" and at_half == 0)
    yield taken("400 records without noise", lambda: sign_p_value(3.0, 400, 0.0, 0.2))
    yield refused("401 records without noise", "deviation", lambda: sign_p_value(3.0, 401, 0.0, 0.2))


def _many_facts(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """Beyond 400 records not every number of plus signs is looked at: the bound is above all of them, and close."""
    n, pi, s, t = 450, 0.2, 6.0, 17.0
    tails = [_worst_case(n, pi, s, m / n, t / math.sqrt(n * pi * (1 - pi) + s**2))[0] for m in range(225, 451, 5)]
    stated = float(sign_p_value(t, n, s, pi))
    yield Within("bound over the largest of any number of plus signs", stated / max(tails), least=1.0)
    yield Fact("close", stated, max(tails), 1e-2)


LAW = Claim(
    id="iv/beyond-confidence-sign-law",
    where="private confidence sets, sign curves",
    kind="number",
    statement=(
        (
            r"At the true coefficient, for $z$ Bernoulli$(1\/2)$ independent of the errors, the curve has the law of "
            r"Binomial$(n, 1\/2) - n \/ 2 + N(0, s^2)$ exactly, for every $n$ and every law of the errors;"
        ),
        "for other $pi$ its tail is at most that for the worst number of plus signs.",
    ),
    checks=(
        Agreement(decides="a", facts=_law_facts, impostors={"1e-4 off": {"facts": Times(1.0001)}}),
        Search(
            decides="b",
            sides=_worst_case,
            box={
                "n": Whole(1, 60),
                "pi": Real(0.03, 0.97),
                "s": Real(0.2, 5.0, "log"),
                "plus": Real(0.0, 1.0),
                "t": Real(0.0, 4.0),
            },
            evaluations={"quick": 250, "full": 10_000},
            impostors={"5 % less": {"sides": Times(1, 0.95)}},
        ),
        Agreement(decides="b", facts=_bound_facts, impostors={"1e-6 off": {"facts": Times(1.000001)}}),
        Agreement(decides="b", facts=_many_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
    ),
)

# --- the set ---


def _kept(curve: np.ndarray, grid: np.ndarray, critical: float) -> list[tuple[float, float]]:
    """Cells (also the two beyond the grid) one of whose ends is accepted, glued together: by cell, one at a time."""
    accepted = np.abs(curve) <= critical
    ends = [-math.inf, *grid, math.inf]
    flags = [False, *accepted, False]
    pieces: list[tuple[float, float]] = []
    for low, high, left, right in zip(ends[:-1], ends[1:], flags[:-1], flags[1:], strict=True):
        if not (left or right):
            continue
        if pieces and pieces[-1][1] == low:
            pieces[-1] = (pieces[-1][0], high)
        else:
            pieces.append((low, high))
    return pieces


def _sign_set_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Curves for every shape, against cells taken one by one."""
    grid = np.linspace(-3, 3, 61)
    curves = {
        "interval": 40 * (grid - 0.3),
        "interval, of two runs": np.where(np.abs(grid) < 0.01, 90.0, 40 * grid),
        "complement": 60 * np.exp(-(grid**2)),
        "line": 3 * np.sin(grid),
        "pieces": 30 * (grid**2 - 1),
        "pieces, two points apart": np.where(np.isin(np.arange(61), (29, 30, 0, 1, 59, 60)), 90.0, grid),
        "line, one point apart": np.where(np.isin(np.arange(61), (17, 30, 44)), 90.0, grid),
        "empty": np.full(61, 90.0),
    }
    for name, curve in curves.items():
        for pi, s in ((0.5, 5.0), (0.3, 8.0)):
            critical = sign_critical(200, s, pi)
            found = sign_set(curve, grid, n=200, deviation=s, probability=pi, refuse_coarse=False)
            expected = _kept(curve, grid, critical)
            yield Fact(f"{name}, pi = {pi}", np.arctan(found.pieces), np.arctan(expected), 1e-12)
            yield Holds(f"shape of {name}, pi = {pi}", found.shape == name.partition(",")[0])


def _coarse_facts(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """What a grid of nine points is too coarse for: bounded pieces of fewer than four cells, and no piece at all."""
    grid = np.array([-4.0, -2.5, -1.0, 0.0, 0.5, 2.0, 3.0, 4.5, 7.0])
    for kept, fits in (
        ((2, 3, 4, 5, 6), True), ((2, 3, 4, 5), False), ((0, 1), True), ((7, 8), True), ((6, 7, 8), True),
        ((1, 2, 3, 4), False), ((4, 5, 6, 7), False), ((3, 4, 5, 6, 7), True), ((0, 1, 4, 5), False), ((), False),
    ):  # fmt: skip
        curve = np.where(np.isin(np.arange(9), kept), 1.0, -99.0)
        call = partial(sign_set, curve, grid, n=50, deviation=4.0, probability=0.3)
        yield taken(f"points {kept}", call) if fits else refused(f"points {kept}", "grid", call)
    for pi, kind in ((0.5, "exact"), (0.4, "lower")):
        found = sign_set(grid, grid, n=50, deviation=4.0, probability=pi, level=0.9).coverage
        yield Fact(f"level, pi = {pi}", float(found), 0.9, 0.0)
        yield Holds(f"{kind} at pi = {pi}", found.kind == kind)


SIGN_SET = Claim(
    id="iv/beyond-confidence-sign-set",
    where="private confidence sets, sign curves",
    kind="number",
    statement=(
        "The set of a sign curve is made of the cells of the grid one of whose ends is accepted, those beyond an end "
        "of the grid included where that end is, and is refused where nothing is accepted or a bounded piece has fewer "
        "than four cells between accepted points."
    ),
    checks=(
        Agreement(facts=_sign_set_facts, impostors={"1 % off": {"facts": Times(1.01)}}),
        Agreement(facts=_coarse_facts, impostors={"another level": {"facts": Times(1.01)}}),
    ),
)
