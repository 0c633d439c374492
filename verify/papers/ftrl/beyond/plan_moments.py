"""Means of clipped residuals and of clipped gradients, which forecasts of clipped runs are made of."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import sympy
from scipy import integrate, stats

from dpbounds.arithmetic import FLOATS
from dpbounds.ftrl.design.clipped import moments
from dpbounds.ftrl.design.clipped.expectations import GaussianInputs, clipped_gaussian
from verify.checks import Agreement, Fact, Holds, Symbolic, Times, refused
from verify.papers.ftrl.beyond.exact import OURS
from verify.statements.claims import Claim
from verify.statements.derivations import Derivation

# --- one clipped residual ---


def _derivatives(factor: int = 1) -> Iterator[tuple[str, Any]]:
    """By the threshold: of E psi P(r > k) - P(r < -k), of E psi^2 2 k P(|r| > k); all three are 0 at k = 0."""
    a, s, k = sympy.symbols("a s k", positive=True)

    def ndtr(x: Any) -> Any:
        return (1 + sympy.erf(x / sympy.sqrt(2))) / 2

    algebra = replace(FLOATS, name="algebra", sqrt=sympy.sqrt, exp=sympy.exp, pi=sympy.pi, ndtr=ndtr)
    first, kept, second = clipped_gaussian(algebra, a, s, k)
    above, below = ndtr((a - k) / s), ndtr((-a - k) / s)
    yield "the derivative of E psi", sympy.diff(first, k) - factor * (above - below)
    yield "the derivative of E psi²", sympy.diff(second, k) - 2 * factor * k * (above + below)
    yield "P", kept - factor * (1 - above - below)
    for name, each in (("E psi", first), ("E psi²", second)):
        yield f"{name} at k = 0", each.subs(k, 0)


def _quadratures(rng: np.random.Generator) -> Iterator[Fact]:
    """Adaptive, between the kinks; means inside and outside, narrow and wide."""
    for a, s, k in ((0.3, 0.8, 1.0), (-1.0, 0.5, 0.7), (2.0, 0.1, 1.5), (0.0, 9.0, 0.2), (5.0, 2.0, 40.0)):
        ends = sorted({a - 12 * s, a + 12 * s, *(p for p in (-k, k) if abs(p - a) < 12 * s)})
        found = moments(a, s, k)
        for name, observed, function in (
            ("E psi", found.first, lambda r, k=k: min(max(r, -k), k)),
            ("P", found.kept, lambda r, k=k: float(abs(r) < k)),
            ("E psi²", found.second, lambda r, k=k: min(r * r, k * k)),
        ):
            mean = sum(
                integrate.quad(lambda r, f=function, a=a, s=s: f(r) * stats.norm.pdf(r, a, s), low, high)[0]
                for low, high in itertools.pairwise(ends)
            )
            yield Fact(f"{name}, mean {a}, sd {s}, threshold {k}", observed, mean, 1e-8)


def _limits(rng: np.random.Generator) -> Iterator[Fact | Holds]:
    """No spread, none that floats see, no threshold, means far outside: closed forms of the limit, also in arrays."""
    a, k = np.array([-2.5, 0.3, 1.7, 4.0]), 1.7
    cases: dict[str, tuple[Any, tuple[Any, Any, Any]]] = {
        "no spread": (moments(a, 0.0, k), ([-1.7, 0.3, 1.7, 1.7], [0, 1, 0, 0], [2.89, 0.09, 2.89, 2.89])),
        "no threshold": (moments(a, 0.6, math.inf), (a, np.ones(4), a**2 + 0.36)),
        "a far threshold": (moments(a, [[0.6], [0.2]], 60.0), ([a] * 2, np.ones((2, 4)), [a**2 + 0.36, a**2 + 0.04])),
        "a threshold of 0": (moments(a, 0.6, 0.0), (np.zeros(4), np.zeros(4), np.zeros(4))),
        "hardly any spread": (moments(2e150, 1e-165, 1e150), (1e150, 0.0, 1e300)),
        "far outside": (moments([-1e6, 1e6, 3e100], 0.6, k), ([-k, k, k], np.zeros(3), [k**2] * 3)),
    }
    for sd in (1e-9, 1e-19, 1.02e-140):  # half of the mass is inside, however narrow
        ends = np.array([-3.7, 0.2])
        narrow = moments(ends, sd * np.array([3.7, 1.0]), np.abs(ends))
        cases[f"a mean at the threshold, sd {sd:g}"] = narrow, (ends, [0.5, 0.5], ends**2)
    for label, (found, stated) in cases.items():
        for name, one, predicted in zip(("E psi", "P", "E psi²"), found, stated, strict=True):
            yield Fact(f"{label}: {name}", one, predicted, 1e-8 if "1e-09" in label else 1e-12)
    yield from _outside()


def _outside() -> Iterator[Holds]:
    """What is no number, and shapes that do not go together."""
    for name, given in (
        ("mean", (math.inf, 0.6, 1.7)),
        ("mean", (math.nan, 0.6, 1.7)),
        ("sd", (0.3, -1e-9, 1.7)),
        ("sd", (0.3, math.inf, 1.7)),
        ("threshold", (0.3, 0.6, math.nan)),
        ("threshold", (0.3, 0.6, [1.7, -1e-9])),
        ("threshold", ([0.3, 0.4], 0.6, [1.7, 1.8, 1.9])),
    ):
        yield refused(f"{name} of {given}", name, lambda given=given: moments(*given))


MOMENTS = Claim(
    id="ftrl/beyond-plan-moments",
    where=f"{OURS}: means of clipped residuals",
    kind="identity",
    statement=(
        r"For $r tilde cal(N)(a, s^2)$, $psi(r) = max(-k, min(r, k))$, $u = (k - a)\/s$, $l = (-k - a)\/s$ and $P = "
        "Phi(u) - Phi(l)$: $EE psi = a P + s (phi(l) - phi(u)) + k (1 - Phi(u)) - k Phi(l)$ and $EE psi^2 = (a^2 + "
        "s^2) P + 2 a s (phi(l) - phi(u)) + s^2 (l phi(l) - u phi(u)) + k^2 (1 - P)$."
    ),
    hypotheses="$s > 0$, $k >= 0$.",
    checks=(
        Symbolic(residuals=_derivatives, impostors={"twice the tails": {"residuals": {"factor": 2}}}),
        Agreement(facts=_quadratures, role="control", impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(facts=_limits, role="control", impostors={"1e-6 off": {"facts": Times(1 + 1e-6)}}),
    ),
    derivation=Derivation(
        text=(
            "$psi$ is 0 at $k = 0$; by $k$ it has the slope 1 where $r > k$, -1 where $r < -k$ and 0 between, and "
            "$psi^2$ the slope $2 k$ outside. The means of these slopes, $1 - Phi(u) - Phi(l)$ and $2 k (1 - P)$, are "
            "the derivatives by $k$ of the right sides, which are 0 at $k = 0$."
        ),
        lemmas=("linearity",),
    ),
)


# --- Gaussian inputs, by direction ---


def _flat(rng: np.random.Generator) -> Iterator[Fact]:
    """With d equal eigenvalues E (x_j^2 | R) = R / d, R = ||x||^2 with a chi square law: by quadrature over R."""
    for d, eigenvalue, clip_norm, variance in ((4, 0.25, 0.5, 0.25), (16, 1 / 16, 1.0, 0.25), (1, 2.0, 1.0, 3.0)):
        slopes, squares, share = GaussianInputs(np.full(d, eigenvalue), clip_norm).at(variance)
        law, threshold = stats.chi2(d, scale=eigenvalue), clip_norm / math.sqrt(variance)
        kept = _mean(law, lambda R, k=threshold: math.erf(k / math.sqrt(2 * R)))
        slope = _mean(law, lambda R, k=threshold: R * math.erf(k / math.sqrt(2 * R)))
        square = _mean(law, lambda R, k=threshold: R * moments(0.0, 1.0, k / math.sqrt(R)).second)
        label = f"d = {d}, eigenvalue {eigenvalue:.3g}"
        yield Fact(f"mean slope, {label}", slopes, np.full(d, slope / eigenvalue / d), 2e-3)
        yield Fact(f"mean square, {label}", squares, np.full(d, square / eigenvalue / d), 2e-3)
        yield Fact(f"share clipped, {label}", share, 1.0 - kept, 2e-3)


def _mean(law: Any, function: Any) -> float:
    return law.expect(function, lb=0.0, ub=law.ppf(1 - 1e-13))


def _by_gamma_laws(rng: np.random.Generator) -> Iterator[Fact]:
    """Any eigenvalues, by the gamma law of the same mean and variance along each direction: 1000 of its quantiles."""
    at = (np.arange(1000) + 0.5) / 1000
    for eigenvalues, clip_norm, variance in (
        (np.array([0.7, 0.2, 0.05]), 0.8, 0.6),
        (np.array([0.9, 0.4, 0.4, 0.1, 0.3]), 1.3, 1.7),
        (np.full(7, 0.11), 1.1, 2.3),
    ):
        found = GaussianInputs(eigenvalues, clip_norm).at(variance)
        trace, squares = float(eigenvalues.sum()), float(eigenvalues @ eigenvalues)
        slopes, powers = [], []
        for more in (*eigenvalues, 0.0):
            mean, spread = trace + 2 * more, 2 * squares + 4 * more**2
            k = clip_norm / np.sqrt(variance * stats.gamma.ppf(at, mean**2 / spread, scale=spread / mean))
            slope = 2 * stats.norm.cdf(k) - 1
            slopes.append(float(slope.mean()))
            powers.append(float(np.mean(slope - 2 * k * stats.norm.pdf(k) + 2 * k**2 * stats.norm.sf(k))))
        label = f"d = {len(eigenvalues)}, tr H = {trace:.3g}"
        yield Fact(f"mean slopes, {label}", found[0], slopes[:-1], 3e-4)
        yield Fact(f"mean squares, {label}", found[1], powers[:-1], 3e-4)
        yield Fact(f"share clipped, {label}", found[2], 1 - slopes[-1], 3e-4)


def _unequal(rng: np.random.Generator) -> Iterator[Fact]:
    """Eigenvalues 1/k, d = 16, a third clipped: sampled with two more coordinates along j, to .0003.

    False alarms: errors of the gamma law are below .5 % and 1.1 %, and 7 standard errors below .4 % more.
    """
    spectrum = 1.0 / np.arange(1, 17)
    spectrum /= spectrum.sum()
    slopes, squares, _ = GaussianInputs(spectrum, 0.5).at(0.25)
    lengths = rng.standard_normal((200_000, 16)) ** 2 @ spectrum
    for j in (0, 15):
        own = lengths + spectrum[j] * rng.chisquare(2, len(lengths))
        exact = moments(0.0, 1.0, 1.0 / np.sqrt(own))
        yield Fact(f"mean slope along {j + 1}", slopes[j], float(exact.kept.mean()), 0.01)
        yield Fact(f"mean square along {j + 1}", squares[j], float(exact.second.mean()), 0.015)


DIRECTIONS = Claim(
    id="ftrl/beyond-plan-directions",
    where=f"{OURS}: means of clipped gradients by direction",
    kind="algorithm",
    statement=(
        "For $x$ with independent $cal(N)(0, lambda_j)$ entries and residuals $cal(N)(0, v)$, the mean slope $EE x_j^2 "
        "bold(1){norm(x r) <= c} \\/ lambda_j$ and the mean square $EE x_j^2 psi^2 \\/ (lambda_j v)$ of clipped "
        "gradients along $j$ are for equal eigenvalues those that $norm(x)^2$ with two more coordinates of variance "
        "$lambda_j$ gives, and for others those of a gamma law of the same mean and variance.",
        "For eigenvalues $1\\/k$, $d = 16$, a third clipped, it gives them to within 2 %.",
    ),
    checks=(
        Agreement(decides="a", facts=_flat, impostors={"0.5 % off": {"facts": Times(1.005)}}),
        Agreement(decides="a", facts=_by_gamma_laws, impostors={"0.1 % off": {"facts": Times(1.001)}}),
        Agreement(decides="b", facts=_unequal, alpha=1e-12, impostors={"3 % off": {"facts": Times(1.03)}}),
    ),
)
