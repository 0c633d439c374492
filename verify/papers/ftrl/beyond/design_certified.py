"""Beyond the paper: the lower bound in balls, whatever weights and roots it is given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from scipy.linalg import sqrtm

from dpbounds import AccuracyError
from dpbounds.ftrl.design import Objective, Participation, lower_bound, optimum
from dpbounds.ftrl.design.certified import certified_bound, gram_in_balls
from verify.checks import Agreement, Fact, Holds, Within, refused
from verify.papers.ftrl.beyond.design_bounds import OURS
from verify.papers.ftrl.tools.design import random_objective
from verify.statements.claims import Claim

# Fewer steps than two cycles of four.
TWICE = Participation.min_separation(2, 3)


def _exact_gram(eigenvalues: list[float], rates: list[float], omega: list[Fraction], m: int) -> np.ndarray:
    """G in rational numbers, from the covariance of theta_t with every draw, for m examples (0: noiseless)."""
    T, d = len(rates), len(eigenvalues)
    lam, eta = [Fraction(x) for x in eigenvalues], [Fraction(x) for x in rates]
    gram = np.full((T, T), Fraction(0), dtype=object)
    for s in range(T):
        # moment[j][u]: E theta_j of the run pushed at s times that of the run pushed at u.
        for u in range(s, T):
            mean = [-eta[s]] * d
            for t in range(s + 1, u):
                mean = [v * (1 - eta[t] * x) for v, x in zip(mean, lam, strict=True)]
            pushed = mean if u == s else [v * (1 - eta[u] * x) for v, x in zip(mean, lam, strict=True)]
            moment = [v * (-eta[u]) for v in pushed]
            for t in range(u, T):
                if t > u:
                    mixed = sum(x * v for x, v in zip(lam, moment, strict=True))
                    share = Fraction(1, m) if m else Fraction(0)
                    moment = [
                        ((1 - eta[t] * x) ** 2 + share * (eta[t] * x) ** 2) * v + share * eta[t] ** 2 * x * mixed
                        for x, v in zip(lam, moment, strict=True)
                    ]
                gram[s, u] += omega[t] / 2 * sum(x * v for x, v in zip(lam, moment, strict=True))
            gram[u, s] = gram[s, u]
    return gram


def _balls_hold(rng: np.random.Generator, factor: Fraction = Fraction(1)) -> Iterator[Fact | Holds]:
    """The balls around G hold its rational entries, and are thin."""
    T = 19
    for m in (0, 2):
        rates = rng.uniform(0.1, 0.4, T).tolist()
        run = Objective(np.array([1.0, 0.3, 0.3]), T, schedule=rates, batch_size=m or None, weights="mean")
        exact = factor * _exact_gram([1.0, 0.3, 0.3], rates, [Fraction(1, T)] * T, m)
        balls = gram_in_balls(run)
        with flint.ctx.workprec(300):
            held = all(balls[s, t].contains(_rational(exact[s, t])) for s in range(T) for t in range(T))
        yield Holds(f"the balls hold every rational entry, m = {m or 'oo'}", held)
        widest = max(float(balls[s, t].rad()) for s in range(T) for t in range(T))
        yield Fact(f"widest ball, m = {m or 'oo'}", widest, 0.0, 1e-25)


def _rational(number: Fraction) -> flint.fmpq:
    return flint.fmpq(number.numerator, number.denominator)


def _hostile(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Within]:
    """Any q: the certified number is below the optimum's value; the best q's is within 1e-5 of it."""
    for T in (5, 23):
        run = random_objective(rng, T)
        value = float(optimum(run).value)
        hostile = (np.ones(T), 1e6 * np.ones(T), rng.uniform(0.01, 1, T), 10 ** rng.uniform(-6, 0, T))
        for number, q in enumerate(hostile):
            bound = certified_bound(run, q=q)
            share = factor * float(bound) / value
            yield Within(f"certified over the optimum, T = {T}, q number {number}", share, most=1 + 1e-15)
        q = rng.uniform(0.9, 1.1, T)
        eigenvalues, vectors = np.linalg.eigh(run.gram() * np.sqrt(np.outer(q, q)))
        for size in (0.99, 1.0, 1.0001):
            guess = size * (vectors * np.sqrt(np.maximum(eigenvalues, 0.0))) @ vectors.T
            reached = float(np.sqrt(np.maximum(eigenvalues, 0.0)).sum()) ** 2 / q.sum()
            bound = _or_nothing(run, q, guess)
            yield Within(f"certified over the norm, Y the root times {size}", factor * bound / reached, most=1 + 1e-12)
        best = factor * float(lower_bound(run, certify=True))
        yield Fact("the best q", best / value, 1.0, 1.5e-5)
    yield from _any_root(rng, factor)


def _any_root(rng: np.random.Generator, factor: float) -> Iterator[Fact | Within]:
    """What a Y proves is (tr Y - T sqrt(eps))^2 / tr Q, eps the largest row sum of |Y^2 - M|, also for Y = c I and
    others that are no roots; and where T = 1 it meets the truth, from below.
    """
    for T in (1, 2, 6):
        run = random_objective(rng, T)
        q = rng.uniform(0.5, 2.0, T)
        M = run.gram() * np.sqrt(np.outer(q, q))
        eigenvalues, vectors = np.linalg.eigh(M)
        root = (vectors * np.sqrt(eigenvalues)) @ vectors.T
        norm = float(np.sqrt(eigenvalues).sum()) ** 2 / q.sum()
        noise = rng.standard_normal((T, T))
        guesses = {
            "2 s I": 2.0 * np.sqrt(np.linalg.norm(M, 2)) * np.eye(T),
            "1000 s I": 1000.0 * np.sqrt(np.linalg.norm(M, 2)) * np.eye(T),
            "the root, disturbed": root + 1e-3 * np.abs(root).max() * (noise + noise.T),
            "the root less a part in 10^6": (1 - 1e-6) * root,
        }
        for name, guess in guesses.items():
            Y = guess.astype(np.longdouble)  # of 1000 s I little is left
            left = np.abs(Y @ Y - M).sum(axis=1).max()
            proved = max(float(np.trace(Y) - T * np.sqrt(left)), 0.0) ** 2 / q.sum()
            found = _or_nothing(run, q, guess)
            yield Fact(f"proved by {name}, T = {T}", found, factor * proved, 1e-8)
            yield Within(f"the same over the norm, T = {T}", factor * found / norm, most=1 + 1e-12)


def _told(rng: np.random.Generator, factor: float = 1.0) -> Iterator[Fact | Holds]:
    """What a bound says of itself, with weights of any sum and in several participations; runs of several blocks of
    steps; what is refused.
    """
    T = 35
    rates = np.linspace(0.7, 0.2, T)
    for m in (None, 3):
        run = Objective(np.array([0.9, 0.25, 0.25]), T, schedule=rates, batch_size=m, weights="tail")
        balls = gram_in_balls(run)
        middles = [[float(balls[s, t].mid()) for t in range(T)] for s in range(T)]
        yield Fact(f"{T} steps, m = {m or 'oo'}: G", middles, factor * run.gram(), 1e-13)
    short = Objective(np.array([0.9, 0.25]), 7, schedule=rates[:7], batch_size=3)
    q = np.array([0.3, 2.0, 0.7, 1.1, 0.9, 0.4, 0.6])
    bound = certified_bound(short, q=q)
    yield Fact("diagonal of Q", bound.dual, factor * q / q.sum(), 1e-14)
    yield Fact("no search where q is given", bound.iterations, 0, 0)
    root = _root_of(short, q)
    reached = factor * float(np.trace(root)) ** 2 / q.sum()
    yield Fact("by the root of M", float(bound), reached, 1e-9)
    for units in (1e-16, 1e16):
        yield Fact(f"q in units of {units:g}", float(certified_bound(short, q=units * q)), reached, 1e-12)
    # One direction, and only the last iterate: M is of rank 1, and the root of its trace is the norm.
    alone = Objective(np.array([0.9]), 7, schedule=rates[:7], noiseless=True, weights="final")
    whole = factor * float(np.trace(alone.gram() * np.diag(q))) / q.sum()
    yield Fact("M of rank 1", float(certified_bound(alone, q=q)), whole, 1e-9)
    above = root + np.triu(np.full((7, 7), 5.0), 1)
    yield Fact("the lower triangle counts", float(certified_bound(short, q=q, guess=above)), reached, 1e-4)
    for label, participation, c in (("cyclic", Participation.cyclic(2, 4), 4), ("apart", TWICE, 3.5)):
        several = certified_bound(short, participation)
        yield Fact(f"{label}: diagonal of Q", several.dual, factor * np.full(7, 1 / c), 1e-14)
        norm = float(np.trace(_root_of(short, np.ones(7))))
        yield Fact(f"{label}: bound", float(several), factor * norm**2 / c, 1e-9)
    own = certified_bound(short)
    yield Fact("its own q: sum", float(own.dual.sum()), factor, 1e-14)
    yield Holds("and evaluations", own.iterations > 1 and own.value.certified and own.value.kind == "lower")
    wrong: tuple[tuple[str, str, Callable[[], Any]], ...] = (
        ("257 steps", "steps", lambda: certified_bound(Objective(np.array([0.9]), 257, 0.3))),
        ("momentum", "momentum", lambda: certified_bound(Objective(np.array([0.9]), 7, 0.3, momentum=0.2))),
        ("q for two participations", "q", lambda: certified_bound(short, TWICE, q=q)),
        ("a q too short", "q", lambda: certified_bound(short, q=q[1:])),
        ("a q with a 0", "q[2]", lambda: certified_bound(short, q=np.where(q == 0.7, 0.0, q))),
        ("a guess too small", "guess", lambda: certified_bound(short, q=q, guess=root[1:, 1:])),
    )
    for label, name, call in wrong:
        yield refused(label, name, call)
    yield Holds("a guess that is no number", _or_nothing(short, q, np.full((7, 7), np.inf)) == 0)


def _root_of(run: Objective, q: np.ndarray) -> np.ndarray:
    """(Q^{1/2} G Q^{1/2})^{1/2}."""
    return np.real(np.asarray(sqrtm(run.gram() * np.sqrt(np.outer(q, q)))))


def _or_nothing(run: Objective, q: np.ndarray, guess: np.ndarray) -> float:
    """The certified bound with this Y, 0 where it shows nothing."""
    try:
        return float(certified_bound(run, q=q, guess=guess))
    except AccuracyError:
        return 0.0


CERTIFIED = Claim(
    id="ftrl/beyond-design-certified-bound",
    where=f"{OURS}: least loss, certified in balls",
    kind="inequality",
    statement=(
        (
            r'For symmetric $Y$ with $Y^2 <= Q^(1\/2) G Q^(1\/2) + epsilon I$, $op("tr") Y - T sqrt(epsilon) <= '
            r'op("tr") (Q^(1\/2) G Q^(1\/2))^(1\/2)$;'
        ),
        "in balls this proves the lower bound, whatever $q$ and $Y$.",
    ),
    checks=(
        Agreement(
            decides="b", facts=_balls_hold, impostors={"1e-15 off": {"facts": {"factor": 1 + Fraction(1, 10**15)}}}
        ),
        Agreement(decides="b", facts=_told, impostors={"1e-3 more": {"facts": {"factor": 1.001}}}),
        Agreement(decides="ab", facts=_hostile, impostors={"1e-4 more": {"facts": {"factor": 1.0001}}}),
    ),
)
