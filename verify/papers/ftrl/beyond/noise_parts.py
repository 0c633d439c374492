"""Beyond the paper: parts of noise in a stream: short recursions and their errors; blocks against whole products."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.linalg import hankel, toeplitz

from dpbounds.ftrl.correlations import (
    DampedHalfPowers,
    HalfPowers,
    damped_anti_pgd,
    from_coefficients,
    from_matrix,
    from_power_spectrum,
    independent,
    nu,
)
from simulators.noise import Recursion, correlate, correlated_noise, exponentials, short_recursion, tree_noise
from simulators.noise.recursions import _hankel_modes, _summed_error, fast_length
from simulators.noise.stream import _filter, _stored, _support
from verify.checks import Agreement, Fact, Holds, Times, Within, refused
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}


# --- recursions ---


def _nu_weights(value: float, steps: int) -> np.ndarray:
    """beta_t of sqrt(1 - (1 - nu) z), t = 1, ..., steps - 1, by beta_{t+1} / beta_t = (1 - nu) (t - 1/2) / (t + 1)."""
    t = np.arange(1, steps, dtype=np.longdouble)
    return -np.cumprod(np.where(t == 1, 0.5, (t - 1.5) / t) * (1 - np.longdouble(value)))


def _recursions(rng: np.random.Generator) -> Iterator[Fact | Within | Holds]:
    """Weights and their summed errors lag by lag; rows and columns by powers; lengths of transforms by trial."""
    runs = (0.0, 130, 16), (0.3, 300, 9), (0.002, 4096, 23), (0.0, 4097, 25), (1e-4, 9000, 27)
    for value, steps, most in runs:
        recursion, weights = exponentials(value, steps), _nu_weights(value, steps)
        label, off = f"nu = {value:g}, {steps} steps", np.abs(recursion.weights(steps - 1) - weights)
        yield Within(f"{label}: summed error", float(off.sum()), least=0.0, most=5e-11)
        yield Within(f"{label}: states", len(recursion.inlet), most=most)
        yield Fact(f"{label}: the error that is stated", recursion.error, float(off.sum()), 1e-3)
        whole = _summed_error(value, steps, np.zeros(0), np.zeros(0))
        yield Fact(
            f"{label}: the error of nothing", whole, float(np.abs(weights).sum()), 1e-11 if steps < 5000 else 1e-6
        )
    for label, empty in (("one step", exponentials(0.2, 1)), ("nu = 1", exponentials(1.0, 500))):
        sizes = [*empty.transition.shape, len(empty.inlet), len(empty.outlet), empty.error]
        yield Fact(f"{label}: states and error", sizes, [0.0] * 5, 0)
    A, b, c = rng.uniform(-0.4, 0.4, (3, 3)), np.array([1.0, -0.5, 2.0]), np.array([0.3, 0.7, -1.1])
    made, powers = Recursion(A, b, c, 0.0), [np.linalg.matrix_power(A, k) for k in range(700)]
    for lags in (1, 5, 256, 700):
        stated = [c @ power @ b for power in powers[:lags]]
        yield Fact(f"{lags} weights by powers", made.weights(lags), stated)
    yield Fact("rows", made.observability(5), [c @ power for power in powers[:5]])
    yield Fact("columns", made.controllability(4), np.transpose([power @ b for power in powers[3::-1]]))
    t = np.arange(60)
    given = 7.0 * np.concatenate([[2.0], 0.8**t - 0.3 * 0.5**t * np.cos(t)])
    for ends in (True, False):
        found = short_recursion(given if ends else given[:50], ends=ends)
        assert found is not None
        beta = given if ends else given[:50]
        off = np.abs(found.weights(len(beta) - 1) - beta[1:]).sum() / np.linalg.norm(beta)
        yield Within(f"given weights, ends {ends}: summed error", float(off), least=0.0, most=5e-11)
        yield Fact(f"given weights, ends {ends}: the error that is stated", found.error, float(off), 1e-3)
        yield Within(f"given weights, ends {ends}: states", len(found.inlet), least=1, most=60 if ends else 3)
    tail = rng.uniform(-1.0, 1.0, 11)
    for rows, whole in ((11, hankel(tail)), (6, hankel(tail[:6], tail[5:]))):
        values, full, _ = _hankel_modes(tail, rows, rows)
        yield Fact(f"eigenvalues of a Hankel matrix, {rows} rows", np.sort(values), np.linalg.eigvalsh(whole), 1e-12)
        first = full.weights(11 if rows == 11 else 1)
        yield Fact("the first weights of its recursion", first, tail[: len(first)], 1e-12)
    # Of 24 and of 90 states, near the circle: the Hankel matrix needs all of its rows, the basis all of its vectors.
    for states, length in ((24, 51), (24, 50), (90, 400)):
        angles = np.pi * np.linspace(0.03, 0.98, states // 2)
        swinging = np.concatenate([[3.0], np.cos(np.outer(np.arange(length - 1), angles)) @ (0.3 + angles)])
        found = short_recursion(swinging, ends=False)
        sizes = (None, None) if found is None else (len(found.inlet), found.error < 5e-11)
        yield Holds(f"{length} weights of {states} states that go on: {sizes}", sizes == (states, True))
    rough = rng.standard_normal(400)
    yield Holds("rough weights have none", short_recursion(rough) is None)
    yield Holds("nor have 48", short_recursion(0.5 ** np.arange(48)) is None)
    yield Holds("as 49 have", short_recursion(0.5 ** np.arange(49)) is not None)
    lengths = [min(odd << k for odd in (1, 3, 5) for k in range(12) if odd << k >= least) for least in range(1, 200)]
    yield Fact("lengths of transforms", [fast_length(least) for least in range(1, 200)], lengths, 0)


# --- routes ---


class _Asked:
    """Slow weights, and how many were asked for."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def coefficients(self, steps: int) -> np.ndarray:
        self.lengths.append(steps)
        return 0.999 ** np.arange(steps)


def _routes(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """How many weights are looked at and kept, where a recursion stands for the rest, and lengths of blocks."""
    slow, fast, turned = (
        HalfPowers((0.98,), (0.9,)),
        HalfPowers((-0.13,), (0.05,)),
        DampedHalfPowers((0.4, 1.7), (0.9,)),
    )
    died = [math.log(1e-18) / math.log(q) + 1 for q in (0.98, 0.13, 0.7)]
    for correlation, steps, stated in (
        (slow, 300, math.ceil(died[0])),
        (slow, 128, 128),
        (fast, 300, math.ceil(died[1])),
        (fast, 100, math.ceil(died[1])),
        (fast, 9, 9),
        (turned, 300, math.ceil(died[2])),
        (HalfPowers((), ()), 300, 1),
        (DampedHalfPowers((), ()), 300, 1),
        (HalfPowers((0.99999,), ()), 300, 300),
        (damped_anti_pgd(0.2), 300, 2),
        (from_coefficients((1.0, 0.3, 0.2)), 300, 3),
        (nu(0.1), 300, 300),
    ):
        yield Fact(f"weights looked at in {steps} steps of {correlation.name}", _support(correlation, steps), stated, 0)
    own = np.random.default_rng(4)
    long = 1e-7 * own.uniform(-1.0, 1.0, 150) * 0.8 ** np.arange(150)
    long[0] = 1e-6
    rest = np.array([float(np.abs(long[k:]).sum()) for k in range(150)])
    kept = int(np.sum(rest > 1e-11 * np.linalg.norm(long)))
    for label, correlation, steps, number, states in (
        ("nu, few steps", nu(0.1), 128, 128, None),
        ("nu, more", nu(0.1), 129, 129, len(exponentials(0.1, 129).inlet)),
        ("nu, many", nu(0.1), 3000, 1024, len(exponentials(0.1, 3000).inlet)),
        ("three weights, two steps", from_coefficients((1.0, 0.3, 0.2)), 2, 2, None),
        ("small weights that die out", from_coefficients(long), 400, kept, None),
        ("slow poles", slow, 300, 300, 25),
        ("weights that go on", HalfPowers((0.99999,), ()), 300, 300, 25),
        ("slow poles, few steps", slow, 100, 100, None),
    ):
        beta, recursion = _filter(correlation, steps)
        found = None if recursion is None else len(recursion.inlet)
        yield Fact(f"{label}: weights kept", len(beta), number, 0)
        yield Holds(f"{label}: states {found}", (found is None) == (states is None) and (found or 0) <= (states or 0))
    # Of twenty equal poles t^9 grows before 0.6^t wins: more weights are looked at than one pole needs.
    for zeros, poles, looked in (((0.98,), (0.9,), 2000), ((), (0.6,) * 20, 300)):
        given, weights = HalfPowers(zeros, poles), _weights_of(zeros, poles, looked)
        rest = np.cumsum(np.abs(weights)[::-1])[::-1]
        ended = int(np.sum(rest > 1e-11 * np.linalg.norm(weights.astype(float))))
        found = _stored(given, _support(given, 300), 300)[0]
        yield Fact(f"weights of {len(poles)} poles, to where they die out", len(found), ended, 0)
    asked = _Asked()
    _stored(asked, 83, 200)  # pyright: ignore[reportArgumentType]
    yield Fact("lengths asked of weights that do not die out in 200 steps", asked.lengths, [83, 166, 200], 0)
    angles = np.pi * np.linspace(0.03, 0.98, 25)
    swinging = np.cos(np.outer(np.arange(300), angles)) @ (0.3 + angles) * 0.9 ** np.arange(300)
    rough = own.standard_normal(150)
    swinging[0], rough[0] = 800.0, 300.0
    for label, correlation, steps, stated in (
        ("few weights", from_coefficients((1.0, -0.5, 0.2)), 110, [48, 48, 14]),
        ("one weight", from_coefficients((0.7,)), 110, [48, 48, 14]),
        ("a recursion of few states", nu(0.1), 200, [48] * 4 + [8]),
        ("one of fifty", from_coefficients(swinging), 200, [64] * 3 + [8]),
        ("transforms in even parts", from_coefficients(rough), 700, [234, 234, 232]),
    ):
        blocks = correlated_noise(correlation, steps, 2, np.random.default_rng(1))
        yield Holds(f"{label}: lengths of blocks", [len(part) for part in blocks] == stated)


# --- streams ---


def _weights_of(zeros: tuple[float, ...], poles: tuple[float, ...], steps: int) -> np.ndarray:
    """By the differential equation of prod (1 - q z)^{1/2} / prod (1 - p z)^{1/2}, in extended precision."""
    t = np.arange(steps)
    total = np.eye(steps, dtype=np.longdouble)[0]
    slope = sum((0.5 * np.longdouble(p) ** t * p for p in poles), np.zeros(steps, dtype=np.longdouble))
    slope = slope - sum((0.5 * np.longdouble(q) ** t * q for q in zeros), np.zeros(steps, dtype=np.longdouble))
    for n in range(1, steps):  # n beta_n = sum_k beta_k (log B)'_{n-1-k}
        total[n] = (total[:n] @ slope[n - 1 :: -1]) / n
    return total


def _streams(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """Blocks, in any length, against one product of all draws with a matrix of weights from elsewhere."""
    long, poles = rng.standard_normal(150) * 0.97 ** np.arange(150), (0.6,) * 7
    long[0] = 40.0
    more = (0.6,) * 20
    B = np.tril(rng.uniform(-0.2, 0.2, (40, 40)), -1) + np.diag(rng.uniform(0.5, 1.5, 40))
    cases: dict[str, tuple[Any, int, Callable[[int], np.ndarray]]] = {
        "one weight": (from_coefficients((0.7,)), 50, lambda n: 0.7 * np.eye(n)[0]),
        "independent": (independent(), 130, lambda n: np.eye(n)[0]),
        "damped anti-PGD": (damped_anti_pgd(0.2), 200, lambda n: np.r_[1, -0.8, np.zeros(n - 2)]),
        "small weights": (
            from_coefficients((1e-7, -5e-8, 2e-8)),
            61,
            lambda n: 1e-7 * np.r_[1, -0.5, 0.2, np.zeros(n - 3)],
        ),
        "three weights": (from_coefficients((1.0, -0.5, 0.2)), 61, lambda n: np.r_[1, -0.5, 0.2, np.zeros(n - 3)]),
        "150 weights": (from_coefficients(long), 400, lambda n: np.r_[long, np.zeros(n - 150)]),
        "nu, few steps": (nu(0.1), 128, lambda n: np.r_[1, _nu_weights(0.1, n)]),
        "nu, more steps": (nu(0.02), 500, lambda n: np.r_[1, _nu_weights(0.02, n)]),
        "many equal poles": (HalfPowers((), poles), 300, lambda n: _weights_of((), poles, n)),
        "more equal poles": (HalfPowers((), more), 300, lambda n: _weights_of((), more, n)),
        "slow poles": (HalfPowers((0.98,), (0.9,)), 300, lambda n: _weights_of((0.98,), (0.9,), n)),
        "fast half powers": (DampedHalfPowers((0.4, 1.6), (0.9,)), 300, lambda n: _weights_of((0.6, -0.6), (0.1,), n)),
        "a spectrum": (from_power_spectrum(lambda x: 1.25 - np.cos(x)), 90, lambda n: np.r_[1, -0.5, np.zeros(n - 2)]),
        "a matrix": (from_matrix(B), 40, lambda n: B),
    }
    for label, (correlation, steps, weights_of) in cases.items():
        weights = np.asarray(weights_of(steps), dtype=float)
        decoder = weights if weights.ndim == 2 else np.tril(toeplitz(weights))
        for shape, block in (((), None), ((3, 2), 7), ((17,), 64)):
            draws = np.random.default_rng(8).standard_normal((steps, *shape))
            stated, told = np.tensordot(decoder, draws, axes=1), f"{label}, {shape}, blocks of {block}"
            blocks = list(correlated_noise(correlation, steps, shape, np.random.default_rng(8), block=block))
            yield Fact(told, np.concatenate(blocks), stated, 1e-10)
            if block is not None:
                sizes = [min(block, steps - start) for start in range(0, steps, block)]
                yield Holds(f"{told}: lengths", [len(part) for part in blocks] == sizes)
            yield Fact(f"{told}, at once", correlate(correlation, draws), stated, 1e-10)
    for steps, block in ((1, 1), (37, 8), (64, 16), (100, 2)):
        draws = np.random.default_rng(3).standard_normal((steps, 2))
        stated = draws.copy()
        for t in range(1, steps + 1):
            stated[t - 1] -= sum((draws[t - 1 - 2**l] for l in range(((t & -t).bit_length()) - 1)), np.zeros(2))
        blocks = list(tree_noise(steps, 2, np.random.default_rng(3), block=block))
        yield Fact(f"tree, {steps} steps in blocks of {block}", np.concatenate(blocks), stated)
        yield Holds(f"tree, {steps} steps: all blocks but the last", all(len(part) == block for part in blocks[:-1]))
    calls: dict[str, tuple[str, Callable[[], Any]]] = {
        "a seed": ("generator", lambda: correlated_noise(nu(0.5), 5, 2, 0)),  # pyright: ignore[reportArgumentType]
        "a block of 1025 steps": ("block", lambda: correlated_noise(nu(0.5), 5, 2, rng, block=1025)),
        "a tree in blocks of 12": ("block", lambda: tree_noise(5, 2, rng, block=12)),
        "a tree in blocks of 2048": ("block", lambda: tree_noise(5, 2, rng, block=2048)),
        "no steps": ("steps", lambda: correlated_noise(nu(0.5), 0, 2, rng)),
        "an axis without entries": ("shape", lambda: correlated_noise(nu(0.5), 5, (2, 0), rng)),
        "no draws": ("draws", lambda: correlate(nu(0.5), np.zeros(0))),
        "a draw": ("draws", lambda: correlate(nu(0.5), np.array(1.0))),
        "draws of a longer run": ("len(draws)", lambda: correlate(from_matrix(B), np.ones(41))),
    }
    for label, (parameter, call) in calls.items():
        yield refused(label, parameter, call)


NOISE_PARTS = Claim(
    id="ftrl/beyond-noise-parts",
    where=f"{OURS}: noise in a stream",
    kind="algorithm",
    statement=(
        "Recursions have the weights that they stand for, and the summed error that they state;",
        (
            "blocks of any length are, in a part in $10^10$ of the largest entry, the product of all draws with the "
            "matrix of weights, and noise of trees is that of its nodes."
        ),
    ),
    setting="Up to 9000 weights of recursions, 500 steps of streams; extended precision.",
    checks=(
        Agreement(decides="a", facts=_recursions, impostors=_OFF),
        Agreement(decides="b", facts=lambda rng: itertools.chain(_routes(rng), _streams(rng)), impostors=_OFF),
    ),
)
