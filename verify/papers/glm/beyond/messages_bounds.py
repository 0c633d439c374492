"""Beyond the paper: how good any message can be, and for which labels a direction message is as good."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize, stats

from dpbounds.arithmetic import FLOATS
from dpbounds.glm import messages
from verify.checks import Agreement, Fact, Holds, Search, Times, Within
from verify.checks.domains import Real, Whole
from verify.statements.claims import Claim

_OFF = {"1 % off": {"facts": Times(1.01)}}

# --- what a message says ---


def _information(mu: float, seed: int, factor: float = 1.0) -> tuple[float, float]:
    """(I_message, its bound) in one direction, for T and S of up to five equally likely values each drawn at `seed`;
    the message on the line, by quadrature of its mixture.
    """
    rng = np.random.default_rng(int(seed))
    size = int(rng.integers(2, 6))
    t = np.clip(rng.uniform(-1.5, 1.5, size), -1.0, 1.0)
    score = rng.standard_normal(size)
    score -= score.mean()
    sigma = 2.0 / mu
    z = np.linspace(-1.0 - 9 * sigma, 1.0 + 9 * sigma, 4001)
    density = stats.norm.pdf(z[:, None], t, sigma) / size
    total = density.sum(axis=1)
    told = float(np.sum((density @ score) ** 2 / np.maximum(total, 1e-300)) * (z[1] - z[0]))
    bound = messages.information_bound(FLOATS, mu, float(np.mean(score * t)) ** 2, float(np.mean(score**2)))
    return told, factor * float(bound)


def _plane(rng: np.random.Generator) -> Iterator[Within | Fact]:
    """Four messages in the plane, by quadrature; and, for small mu, that the bound is what the message says."""
    t = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, -0.8], [0.3, -0.2]])
    score = np.array([1.0, -0.4, 0.3, -0.9])
    for mu in (0.02, 0.3, 1.0, 2.0):
        sigma = 2.0 / mu
        axis = np.linspace(-1 - 8 * sigma, 1 + 8 * sigma, 801)
        grid = np.stack(np.meshgrid(axis, axis), axis=-1)
        apart = np.sum((grid[..., None, :] - t) ** 2, axis=-1)
        density = np.exp(-apart / (2 * sigma**2)) / (2 * math.pi * sigma**2) / 4
        told = float(
            np.sum((density @ score) ** 2 / np.maximum(density.sum(axis=-1), 1e-300)) * (axis[1] - axis[0]) ** 2
        )
        cross = float(np.sum((score @ t / 4) ** 2))
        bound = float(messages.information_bound(FLOATS, mu, cross, float(np.mean(score**2))))
        yield Within(f"mu = {mu:g}: what the message says over its bound", told / bound, 0.0, 1.0 + 1e-9)
        if mu == 0.02:
            yield Fact("mu = 0.02: and it says nearly as much", told / bound, 1.0, 5e-3)


# --- no message beats ---


def _message(p: int, seed: int, factor: float = 1.0) -> tuple[float, float]:
    """(bound, tr (J'J)^-1) for 4 p equally likely scores, messages of length at most 1 (some of them A S / ||A S||
    disturbed) and an A, all drawn at `seed`.
    """
    rng, p = np.random.default_rng(int(seed)), int(p)
    score = rng.standard_normal((4 * p, p)) @ np.diag(np.exp(rng.uniform(-1.0, 1.0, p)))
    score -= score.mean(axis=0)
    a = _positive(rng, p)
    sent = score @ a + rng.choice([0.0, 0.1, 1.0]) * rng.standard_normal(score.shape)
    sent /= np.linalg.norm(sent, axis=1)[:, None]
    jacobian = sent.T @ score / len(score)
    spread = float(np.trace(np.linalg.inv(jacobian.T @ jacobian)))
    mean = float(np.mean(np.linalg.norm(score @ a, axis=1)))
    return factor * float(np.sum(np.linalg.eigvalsh(a) ** (2 / 3)) ** 3 / mean**2), spread


def _positive(rng: np.random.Generator, p: int) -> np.ndarray:
    turn = np.linalg.qr(rng.standard_normal((p, p)))[0]
    return (turn * np.exp(rng.uniform(-1.5, 1.5, p))) @ turn.T


def _power(a: np.ndarray, power: float) -> np.ndarray:
    values, vectors = np.linalg.eigh(a)
    return (vectors * values**power) @ vectors.T


def _steps(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Within]:
    """The steps of the proof: nuclear norms, tr P^-2 at a given tr P A, concavity of (tr A^{2/3})^{3/2}."""
    for trial in range(40):
        p = 2 + trial % 3
        score, a, b = rng.standard_normal((20, p)), _positive(rng, p), _positive(rng, p)
        sent = rng.standard_normal((20, p))
        sent /= np.maximum(np.linalg.norm(sent, axis=1), 1.0)[:, None]
        if trial < 10:  # where each step is an equality
            turned = score @ a
            sent, b = turned / np.linalg.norm(turned, axis=1)[:, None], _power(a, -1 / 3)
        jacobian = sent.T @ score / 20
        nuclear = float(np.linalg.svd(jacobian @ a, compute_uv=False).sum())
        mean = float(np.mean(np.linalg.norm(score @ a, axis=1)))
        yield Within(f"{trial}: nuclear norm of J A over E ||A S||", factor * nuclear / mean, 0.0, 1.0 + 1e-12)
        values, vectors = np.linalg.eigh(jacobian.T @ jacobian)
        polar = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
        yield Within(
            f"{trial}: tr P A over the nuclear norm", factor * float(np.trace(polar @ a)) / nuclear, -1.0, 1.0 + 1e-12
        )
        least = float(np.sum(np.linalg.eigvalsh(a) ** (2 / 3)) ** 3 / np.trace(b @ a) ** 2)
        spread = float(np.sum(np.linalg.eigvalsh(b) ** -2.0))
        yield Within(f"{trial}: least tr P^-2 at this tr P A over one", factor * least / spread, 0.0, 1.0 + 1e-12)
        sizes = [float(np.sum(np.linalg.eigvalsh(m) ** (2 / 3)) ** 1.5) for m in (a, b, (a + b) / 2)]
        yield Within(
            f"{trial}: mean of (tr A^(2/3))^(3/2) over that at the mean", sum(sizes[:2]) / 2 / sizes[2], 0.0, 1 + 1e-12
        )


# --- what attains it ---


def _attained(rng: np.random.Generator, *, factor: float = 1.0) -> Iterator[Fact | Within | Holds]:
    """unit of the stretched A, from its own quadrature, is the bound; other A are above it; w* = 0."""
    for link in ("logistic", "boosting"):
        for p, norm in ((1, 1.0), (2, 1.0), (5, 1.0), (5, 2.0), (10, 0.5)):
            best = messages.lower_bound(link, p, norm)
            unit = factor * best.unit
            label = f"{link}, p = {p}, |w| = {norm:g}"
            yield Fact(
                f"{label}: unit of A S / ||A S|| over the bound", _unit(link, p, norm, best.stretch) / unit, 1.0, 1e-6
            )
            if p > 1:
                others = [_unit(link, p, norm, share * best.stretch) for share in (0.5, 0.8, 1.25, 2.0)]
                yield Within(f"{label}: least unit at other stretches over the bound", min(others) / unit, 1.0)
                plain = messages.moments(link, p, norm).unit
                yield Within(f"{label}: unit of A = I over the bound", plain / unit, 1.0, 1.35)
    for p in (2, 5):
        small = messages.lower_bound("logistic", p, 1e-3)
        mean = math.sqrt(2.0) * math.gamma((p + 1) / 2) / math.gamma(p / 2)
        yield Fact(f"p = {p}, w near 0: 4 p^3 / (E ||x||)^2", small.unit, factor * 4 * p**3 / mean**2, 1e-5)


def _unit(link: str, p: int, norm: float, stretch: float) -> float:
    w, a = np.zeros(p), np.eye(p)
    w[0], a[0, 0] = norm, stretch
    return float(np.sum(messages.message_law(link, w, np.eye(p), matrix=a).back ** 2))


# --- pure privacy ---


def _pure(rng: np.random.Generator) -> Iterator[Fact | Within]:
    """t* by a search for the best set of scores, and a cap's message beside the bound; w* = 0."""
    for epsilon, stated in ((0.5, 0.03971), (1.0, 0.15798), (2.0, 0.61855), (4.0, 2.29716)):
        gain = math.expm1(epsilon)

        def told(t: float, gain: float = gain) -> float:
            return -gain * float(stats.norm.pdf(t)) / (1 + gain * float(stats.norm.sf(t)))

        found: Any = optimize.minimize_scalar(told, bounds=(0.0, 6.0), method="bounded", options={"xatol": 1e-9})
        best = -float(found.fun)
        yield Fact(f"t* at epsilon = {epsilon:g}", messages.pure_threshold(epsilon), best, 1e-7)
        yield Fact(f"t*^2 at epsilon = {epsilon:g}", messages.pure_threshold(epsilon) ** 2, stated, 3e-4)
        yield Fact("the bound", messages.pure_bound(5, 1000, epsilon), 4 * 25 / (1000 * best**2), 1e-6)
    for p, epsilon, stated in ((5, 1.0, 1.02), (5, 2.0, 1.07), (5, 4.0, 1.29), (10, 2.0, 1.03), (10, 4.0, 1.13)):
        own = messages.moments("logistic", p, 0.0).unit * messages.cap(p, epsilon).trace / p / 1000
        ratio = own / messages.pure_bound(p, 1000, epsilon)
        yield Fact(f"a cap's message over the bound, p = {p}, epsilon = {epsilon:g}", ratio, stated, 6e-3)


BEYOND_MESSAGES_BOUND = Claim(
    id="glm/beyond-messages-bound",
    where="beyond Theorem 8",
    kind="inequality",
    statement=(
        (
            "One round, $T(x, y) + cal(N)(0, sigma^2 I)$, $norm(T) <= 1$, $sigma = 2\\/mu$, score $S$, $J = bb(E) T "
            "S^top$, $I_F = bb(E) S S^top$: the information of a message is at most $e^(mu^2\\/8) {(mu^2\\/4) J^top J "
            "+ 1\\/4 (e^(mu^2) - 1 - mu^2) I_F}$;"
        ),
        'for every $A > 0$: $op("tr") (J^top J)^(-1) >= (op("tr") A^(2\\/3))^3\\/(bb(E) norm(A S))^2$;',
        (
            "for binary labels and $Sigma = I$ the message $(2 y - 1) A x\\/norm(A x)$, $A$ stretched along $w^*$, "
            "attains the largest such bound, so that as $mu -> 0$ no Gaussian message has less error, and $A = I$ has "
            "at most 1.35 times it where tried;"
        ),
        (
            "any $epsilon$-locally private survey for the logistic link at $w^* = 0$, $Sigma = I$ has an error of at "
            "least $4 p^2\\/(n t_*^2)$, $t_* (1 + (e^epsilon - 1) Q(t_*)) = (e^epsilon - 1) phi(t_*)$, of which a "
            "cap's message has 1.02 to 1.29 times at $p = 5$, $epsilon = 1$ to $4$."
        ),
    ),
    hypotheses="Of counts nothing is said: what their best message is depends on $w^*$.",
    setting=(
        "(a) on mixtures of two to five laws on the line, and four in the plane; (b) on random scores, messages and "
        "$A$, and each step of its proof; (c) by a quadrature of its own."
    ),
    checks=(
        Search(
            decides="a",
            sides=_information,
            box={"mu": Real(0.01, 3.0, "log"), "seed": Whole(0, 10**6)},
            evaluations=400,
            impostors={"half of it": {"sides": {"factor": 0.5}}},
        ),
        Agreement(decides="a", facts=_plane, impostors={"1 % off": {"facts": Times(1.01)}}),
        Search(
            decides="b",
            sides=_message,
            box={"p": Whole(2, 4), "seed": Whole(0, 10**6)},
            evaluations=800,
            impostors={"a tenth more": {"sides": {"factor": 1.1}}},
        ),
        Agreement(decides="b", facts=_steps, impostors={"1 % off": {"facts": {"factor": 1.01}}}),
        Agreement(decides="c", facts=_attained, impostors={"1 % more": {"facts": {"factor": 1.01}}}),
        Agreement(decides="d", facts=_pure, impostors=_OFF),
    ),
)
